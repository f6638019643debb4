/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FEEDBACK_BPF_H
#define SLUICE_FEEDBACK_BPF_H
/*
 * Where feedback becomes W and R, however it came: as an echo, by the answer to a PROBE, or in a message of
 * reports.
 *
 *  1. Hops go through all of Algorithm 1 (hpcc.h), U through what is left of it, and W is taken within the
 *     flow's own bounds (rx.h). A flow of which no hop is known goes by delay (swift.h, fallback.h).
 *  2. N, which comes along, becomes W_AI where the receiver's port is the bottleneck.
 *  3. All of it under the flow's lock, which a CPU that finds it taken does not wait for.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/delay.bpf.h"
#include "host/flow.bpf.h"
#include "host/trace.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/fallback.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/cc/swift.h"
#include "sluice/once.h"
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

#define FEEDBACK_BEHIND_MAX 0xe0000000U /* of W, and of what waits in fq: more than 1 s of 25 Gbit/s */

/* Feedback that came just now, by an echo; of which nothing is known yet. */
static inline void feedback_begin(struct feedback *fb, const struct control *ctl, __u64 now_ns)
{
	fb->rx_ns = fb->now_ns = now_ns;
	fb->mode = ctl->mode;
	fb->trace = trace_is_on(ctl);
	fb->form = RX_HOPS;
	fb->probe = 0;
}

static inline void feedback_hops(struct feedback *fb, const __u8 (*hop)[WIRE_HOP_BYTES])
{
	int i;

	for (i = 0; i < HPCC_MAX_HOPS; i++)
		fb->hop[i] = *(const __be64 *)hop[i];
}

/* A delay into Swift; where nothing was timed there is nothing to be said. */
VERIFIED_ONCE int feedback_swift(struct flow *f, const struct hpcc_ack *ack, __u32 delay_ns, __u32 mode)
{
	struct swift_ack sample = { .delay_ns = delay_ns };

	if (!f || !ack || !delay_ns)
		return HPCC_SKIPPED;
	if (mode == MODE_OBSERVE)
		return HPCC_FAST;
	sample.seq = ack->seq;
	sample.snd_nxt = ack->snd_nxt;
	sample.random = ack->random;
	return swift_new_ack(&f->cc, &f->params, &f->swift, &sample);
}

/* W_AI by N, where the receiver's port is the bottleneck, of bps (0: not told). Returns the counter for an N that is absurd. */
static inline enum sluice_stat feedback_flows(struct flow *f, __u32 told, int last_hop, __u64 bps)
{
	__u32 n;

	if (f->path.flows_fixed)
		return STAT_MAX;
	f->rx.own_port = rx_own_port(f->rx.own_port, last_hop);
	n = rx_flows_choose(f->rx.own_port, f->path.flows_expected, rx_flows_scale(&f->params, told, bps));
	if (n == f->rx.flows)
		return STAT_MAX;
	f->rx.flows = n;
	return rx_flows(&f->params, n) == RX_TAKEN ? STAT_MAX : STAT_FB_ABSURD_FLOWS;
}

/*
 * Feedback that is U or W, into what is left of Algorithm 1. ACKs may overtake each other: what names an
 * older position than the last one did is out of date. What is older by more than a few windows is of
 * another life of the flow, and then the last one was.
 */
VERIFIED_ONCE int feedback_value(struct flow *f, const struct feedback *fb, struct hpcc_ack *ack)
{
	enum sluice_stat absurd = STAT_MAX;
	enum hpcc_kind kind;
	__u64 value, v;
	__u32 behind;

	if (!f || !fb || !ack)
		return HPCC_SKIPPED;
	v = bpf_be64_to_cpu(fb->hop[0]);
	value = v >> 32;
	behind = f->rx.fb_seq - fb->seq;
	if (behind && behind < 4 * (f->params.w_init >> 12))
		return HPCC_SKIPPED;
	f->rx.fb_seq = fb->seq;
	f->rx.told_hops = fb->nhop_path >> 12;
	if (fb->form == RX_WINDOW) {
		if (!f->path.flows_fixed && fb->flows)
			f->rx.flows = fb->flows;
		if (fb->mode != MODE_OBSERVE && rx_window(&f->cc, &f->params, value) != RX_TAKEN)
			stats_count(STAT_FB_ABSURD_WINDOW);
		return HPCC_FULL;
	}
	if (fb->mode == MODE_OBSERVE) {
		f->cc.u = value;
		f->cc.u_frac = 0;
		kind = HPCC_FAST;
	} else {
		kind = rx_ratio(&f->cc, &f->params, ack, value);
	}
	absurd = feedback_flows(f, fb->flows, v & WIRE_VALUE_LAST_HOP, 0);
	if (absurd != STAT_MAX)
		stats_count(absurd);
	return kind;
}

/*
 * Does the answer to a PROBE say less than what the receiver tells of the data itself? W comes from one
 * place: what a sender makes of hops on the way would not agree with what the receiver has committed.
 */
static inline int feedback_is_needless(const struct flow *f, const struct feedback *fb)
{
	return fb->probe && f->rx.form != RX_HOPS && fb->now_ns < f->rx.fb_ns + hpcc_idle_ns(f->params.t_ns);
}

/*
 * The position of which the wire has 32 bits: in the FEEDBACK_BEHIND_MAX up to sent, the last packet given out. What is
 * not there is ahead: the flow was carried over by a daemon that did not see its last packets, by less than the other
 * 512 MB. Or it is of another life of the flow, from before the first byte of this one. Either is taken for sent: the
 * network was seen, and a position that nothing reaches would be the end of all rounds.
 */
static inline __u64 feedback_position(__u64 sent, __u32 wire)
{
	__u32 behind = (__u32)sent - wire;

	return behind <= sent && behind <= FEEDBACK_BEHIND_MAX ? sent - behind : sent;
}

/* What Algorithm 1 is told, from the feedback and what the flow has sent. */
static inline void feedback_ack_make(struct hpcc_ack *ack, const struct flow *f, const struct feedback *fb)
{
	__u64 sent = READ_ONCE(f->tx.bytes);
	int i;

	ack->path_id = fb->nhop_path & WIRE_PATH_MASK;
	ack->hops = fb->hops;
	for (i = 0; i < HPCC_MAX_HOPS && i < fb->hops; i++)
		ack->hop[i] = telem_unpack(bpf_be64_to_cpu(fb->hop[i]));
	ack->seq = feedback_position(sent, fb->seq);
	/*
	 * What still waits in fq for its departure time will see the network after this update: a round
	 * ends with the first of it, not with what follows it. What collected this has left.
	 */
	ack->snd_nxt = flow_left_bytes(f, fb->now_ns);
	if (ack->snd_nxt < ack->seq)
		ack->snd_nxt = ack->seq;
	if (f->params.variant == HPCC_PROBABILISTIC)
		ack->random = bpf_get_prandom_u32();
	ack->gap_ns = f->rx.fb_rx_ns ? (__s64)(fb->rx_ns - f->rx.fb_rx_ns) : HPCC_GAP_UNKNOWN;
}

/* Whichever control the flow has, with the feedback in the form in which it came. */
VERIFIED_ONCE int feedback_decide(struct flow *f, const struct feedback *fb, struct hpcc_ack *ack, __u32 delay_ns)
{
	enum hpcc_kind kind;

	if (!f || !fb || !ack || !f->params.t_ns)
		return HPCC_SKIPPED;
	if (f->fallback.swift)
		return feedback_swift(f, ack, delay_ns, fb->mode);
	if (fb->form != RX_HOPS)
		return feedback_value(f, fb, ack);
	if (fb->mode != MODE_OBSERVE)
		return hpcc_new_ack(&f->cc, &f->params, ack);
	kind = hpcc_observe(&f->cc, &f->params, ack);
	if (kind != HPCC_SKIPPED)
		hpcc_record(&f->cc, ack);
	return kind;
}

/* Counts what became of feedback, for a flow that is on Swift or not. */
static inline void feedback_count(const struct feedback *fb, enum hpcc_kind kind, int swift)
{
	if (kind == HPCC_SKIPPED) {
		stats_count(STAT_FB_SKIPPED);
		return;
	}
	if (swift) {
		stats_count(STAT_FB_SWIFT);
		return;
	}
	if (fb->form == RX_WINDOW) {
		stats_count(STAT_FB_WINDOW);
		return;
	}
	if (fb->form == RX_RATIO)
		stats_count(STAT_FB_RATIO);
	stats_count(kind == HPCC_FIRST ? STAT_FB_FIRST : kind == HPCC_FAST ? STAT_FB_FAST : STAT_FB_FULL);
}

/*
 * Feedback into Algorithm 1, or Swift where the path stamps nothing. All of it under the flow's try-lock; what finds that
 * taken is dropped and counted (fb_contended).
 */
VERIFIED_ONCE int feedback_take(struct flow *f, const struct feedback *fb)
{
	struct scratch_space *space = scratch_get();
	enum fallback_verdict change = FALLBACK_STAY;
	enum sluice_stat absurd = STAT_MAX;
	struct hpcc_ack *ack;
	__u32 delay_ns = 0, swift;
	enum hpcc_kind kind;

	if (!f || !fb || !space)
		return 0;
	ack = &space->ack;
	if (!flow_trylock(f)) {
		stats_count(STAT_FB_CONTENDED);
		return 0;
	}
	if (feedback_is_needless(f, fb)) {
		flow_unlock(f);
		stats_count(STAT_FB_SKIPPED);
		return 0;
	}
	if (fb->hops && fb->form != f->rx.form) {
		f->rx.form = fb->form;
		f->rx.told_hops = 0;
		f->rx.fb_seq = fb->seq;
		hpcc_forget(&f->cc);
	}
	feedback_ack_make(ack, f, fb);
	delay_ns = delay_sample(f, fb->seq, fb->rx_ns, fb->now_ns, fb->probe);
	delay_measure(f, fb, ack, delay_ns);
	if (!delay_is_wanted(f))
		delay_ns = 0;
	if (delay_ns)
		f->delay.sample_ns = delay_ns;
	if (f->swift.target_ns)
		change = fallback_feedback(&f->fallback, &f->cc, fb->hops, fb->now_ns, f->params.t_ns);
	if (change == FALLBACK_TO_SWIFT)
		f->rx.told_hops = 0;
	swift = f->fallback.swift;
	if (fb->trace)
		trace_feedback_before(f, delay_ns);
	kind = feedback_decide(f, fb, ack, delay_ns);
	if (fb->form == RX_HOPS && (!fb->probe || fb->flows) && !swift && (kind == HPCC_FAST || kind == HPCC_FULL))
		absurd = feedback_flows(f, fb->flows, f->cc.bottleneck + 1 == fb->hops, flow_bottleneck_bps(&f->cc));
	if (kind != HPCC_SKIPPED) {
		f->rx.fb_rx_ns = fb->rx_ns;
		f->rx.fb_ns = fb->now_ns;
		f->rx.fb_probe = fb->probe;
		f->rx.fb_seq = fb->seq;
		f->rx.feedbacks++;
	}
	if (fb->trace)
		trace_feedback_after(f, fb, kind);
	flow_unlock(f);
	if (change != FALLBACK_STAY)
		stats_count(change == FALLBACK_TO_SWIFT ? STAT_FB_TO_SWIFT : STAT_FB_TO_HPCC);
	if (absurd != STAT_MAX)
		stats_count(absurd);
	feedback_count(fb, kind, swift);
	return 0;
}

#endif
