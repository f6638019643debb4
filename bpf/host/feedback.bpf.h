/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FEEDBACK_BPF_H
#define SLUICE_FEEDBACK_BPF_H
/*
 * Turns feedback into W and R, whichever way it came: as an echo, in the answer to a PROBE, or in a FEEDBACK message.
 *
 *  1. Hops go through all of Algorithm 1 (hpcc.h), with a record for each path in use (paths.h), U through the rest of
 *     it, and W is taken within the flow's own bounds (rx.h).
 *  2. N, which comes along, sets W_AI if the receiver's port is the bottleneck.
 *  3. Delays and losses that no hop reports are a ceiling of W (ceiling.h), and rivals at the receiver's port give it a floor
 *     (rival.h). Of a flow whose path stamps nothing, W is the ceiling.
 *  4. All of this runs under the flow's try-lock; on contention the feedback is dropped and counted (fb_contended).
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/delay.bpf.h"
#include "host/flow.bpf.h"
#include "host/trace.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/ceiling.h"
#include "sluice/cc/first.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/paths.h"
#include "sluice/cc/rival.h"
#include "sluice/cc/rx.h"
#include "sluice/once.h"
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

_Static_assert(WIRE_CLOCK_SHIFT == CEILING_CLOCK_SHIFT, "one unit of clocks");

#define FEEDBACK_BEHIND_MAX 0xe0000000U /* limit for W plus the bytes in fq: more than 1 s of 25 Gbit/s */

/* Starts a feedback that came just now, by an echo, with nothing known yet. */
static inline void feedback_begin(struct feedback *fb, const struct control *ctl, __u64 now_ns)
{
	fb->rx_ns = fb->now_ns = now_ns;
	fb->mode = ctl->mode;
	fb->trace = trace_is_on(ctl);
	fb->form = RX_HOPS;
	fb->probe = 0;
	fb->clock = 0;
}

static inline void feedback_hops(struct feedback *fb, const __u8 (*hop)[WIRE_HOP_BYTES])
{
	int i;

	for (i = 0; i < HPCC_MAX_HOPS; i++)
		fb->hop[i] = *(const __be64 *)hop[i];
}

/* Sets W_AI by N if the receiver's port, of bps (0: not told), is the bottleneck. Returns the counter of an absurd N. */
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
	return rx_flows(&f->params, n, bps) == RX_TAKEN ? STAT_MAX : STAT_FB_ABSURD_FLOWS;
}

/*
 * Takes the receiver's W. ACKs may overtake each other: feedback for an older position than the last is out of date. If
 * it is older by more than a few windows, the last one was from an earlier life of the flow.
 */
VERIFIED_ONCE int feedback_window(struct flow *f, const struct feedback *fb)
{
	__u32 behind;

	if (!f || !fb)
		return HPCC_SKIPPED;
	behind = f->rx.fb_seq - fb->seq;
	if (behind && behind < 4 * (f->params.w_init >> 12))
		return HPCC_SKIPPED;
	f->rx.fb_seq = fb->seq;
	f->rx.told_hops = fb->nhop_path >> 12;
	if (!f->path.flows_fixed && fb->flows)
		f->rx.flows = fb->flows;
	if (fb->mode != MODE_OBSERVE && rx_window(&f->cc, &f->params, bpf_be64_to_cpu(fb->hop[0]) >> 32) != RX_TAKEN)
		stats_count(STAT_FB_ABSURD_WINDOW);
	return HPCC_FULL;
}

/*
 * Whether the answer to a PROBE adds nothing to the receiver's reports on the data itself. W comes from one place: a W
 * that the sender computes from hops would not agree with the receiver's commits.
 */
static inline int feedback_is_needless(const struct flow *f, const struct feedback *fb)
{
	return fb->probe && f->rx.form != RX_HOPS && fb->now_ns < f->rx.fb_ns + hpcc_idle_ns(f->params.t_ns);
}

/*
 * The full position for 32 bits on the wire: within the FEEDBACK_BEHIND_MAX up to sent, the last packet given out. A
 * position outside is ahead: the flow was carried over by a daemon that did not see its last packets, by less than the
 * other 512 MB. Or it belongs to an earlier life of the flow, before the first byte of this one. Either is taken for
 * sent: the network state is valid, and a position that is never reached would end all rounds.
 */
static inline __u64 feedback_position(__u64 sent, __u32 wire)
{
	__u32 behind = (__u32)sent - wire;

	return behind <= sent && behind <= FEEDBACK_BEHIND_MAX ? sent - behind : sent;
}

/*
 * Where the round that begins now ends: with the first packet that has not left. A packet that waits in fq keeps its
 * departure time when R changes; where they wait for longer than T (UDP, which has no window) no effect of the new W can
 * be seen before one that is not sent yet: two UDP flows that had been cut to 8 Mbit/s with 40 ms of packets in fq took
 * 90 of 100 Mbit/s each in three rounds, and the queue was 4 BDP when those were gone.
 */
static inline __u64 feedback_round_end(const struct flow *f, __u64 sent, __u64 now_ns)
{
	if (!(f->path.port_flags & PORT_F_QUEUE) && flow_waits_ns(f, now_ns) > f->params.t_ns)
		return sent;
	return flow_left_bytes(f, now_ns);
}

/* Builds the input of Algorithm 1 from the feedback and the flow's sent bytes. */
static inline void feedback_ack_make(struct hpcc_ack *ack, const struct flow *f, const struct feedback *fb)
{
	__u64 sent = READ_ONCE(f->tx.bytes);
	int i;

	ack->u_other = 0;
	ack->path_id = fb->nhop_path & WIRE_PATH_MASK;
	ack->hops = fb->hops;
	for (i = 0; i < HPCC_MAX_HOPS && i < fb->hops; i++)
		ack->hop[i] = telem_unpack(bpf_be64_to_cpu(fb->hop[i]));
	ack->seq = feedback_position(sent, fb->seq);
	ack->snd_nxt = feedback_round_end(f, sent, fb->now_ns);
	if (ack->snd_nxt < ack->seq)
		ack->snd_nxt = ack->seq;
	ack->gap_ns = f->rx.fb_rx_ns ? (__s64)(fb->rx_ns - f->rx.fb_rx_ns) : HPCC_GAP_UNKNOWN;
}

/* The records of the flow at hand, made if need be. Hops come in packets with its key. */
static __always_inline struct hpcc_paths *feedback_paths_get(struct scratch_space *space)
{
	struct hpcc_paths *ps = bpf_map_lookup_elem(&flow_paths, &space->ingress.key);

	if (ps)
		return ps;
	__builtin_memset(&space->paths, 0, sizeof(space->paths));
	bpf_map_update_elem(&flow_paths, &space->ingress.key, &space->paths, BPF_NOEXIST);
	return bpf_map_lookup_elem(&flow_paths, &space->ingress.key);
}

/*
 * Puts the record of this feedback's path into the flow if its packets take turns over several. Returns an enum
 * hpcc_turn. *u: the U of the others.
 */
VERIFIED_ONCE int feedback_paths(struct flow *f, const struct feedback *fb, q24_t *u)
{
	struct scratch_space *space = scratch_get();
	struct hpcc_paths_at at = {};
	enum hpcc_turn turn;
	struct hpcc_paths *ps;

	if (!f || !fb || !u || !space || fb->form != RX_HOPS || !fb->hops)
		return HPCC_TURN_NONE;
	at.path_id = fb->nhop_path & WIRE_PATH_MASK;
	at.hops = fb->hops;
	if (!f->rx.paths && (!f->cc.hops || (f->cc.path_id == at.path_id && f->cc.hops == at.hops)))
		return HPCC_TURN_NONE;
	ps = feedback_paths_get(space);
	if (!ps)
		return HPCC_TURN_NONE;
	at.now_ns = fb->now_ns;
	at.t_ns = f->params.t_ns;
	turn = hpcc_paths_turn(ps, &f->cc, &at, f->rx.fb_ns, &f->rx.fb_rx_ns);
	*u = hpcc_paths_u(ps, &at);
	f->rx.paths = hpcc_paths_used(ps, &at);
	if (f->rx.paths > 1)
		return turn;
	f->rx.paths = 0;
	bpf_map_delete_elem(&flow_paths, &space->ingress.key);
	return turn;
}

/*
 * W and R are at most the share of the N that the feedback tells. A flow whose handshake was told N began with what it was
 * promised (first.h): its share may be more.
 */
static inline void feedback_first_share(struct flow *f, const struct feedback *fb)
{
	__u32 last = fb->hops - 1, ifindex = f->path.ifindex;
	const struct port *port = 0;
	q12_t share;
	__u64 bps;

	VERIFIER_FORGET(last);
	if (f->path.flows_fixed || !fb->flows)
		return;
	bps = last < HPCC_MAX_HOPS ? telem_unpack(bpf_be64_to_cpu(fb->hop[last])).bps : 0;
	share = first_told(&f->params, fb->flows, bps);
	if (f->companion.began_us && f->rx.fb_ns)
		port = bpf_map_lookup_elem(&ports, &ifindex);
	if (port)
		first_raise(&f->cc, &f->params, first_counted(&port->first), share);
	else
		first_cap(&f->cc, &f->params, share);
}

/* The first feedback of a flow has no earlier record, so it gives no U, but N brings W down. */
static inline void feedback_first(struct flow *f, const struct feedback *fb)
{
	if (fb->form == RX_HOPS && fb->mode != MODE_OBSERVE)
		feedback_first_share(f, fb);
	if (f->ceiling.slow)
		ceiling_begin(&f->ceiling, &f->params, f->cc.w);
}

/*
 * The counter of feedback that no control takes, or STAT_MAX. Before the first data the answer to the companion of a handshake
 * tells N.
 */
static inline enum sluice_stat feedback_aside(struct flow *f, const struct feedback *fb)
{
	if (feedback_is_needless(f, fb))
		return STAT_FB_SKIPPED;
	if (f->rx.feedbacks || f->companion.began_us || READ_ONCE(f->tx.bytes) || fb->form != RX_HOPS)
		return STAT_MAX;
	if (!fb->hops && (!fb->flows || !f->path.delay))
		return STAT_FB_SKIPPED;
	feedback_first(f, fb);
	f->rx.fb_ns = fb->now_ns;
	return STAT_FB_FIRST;
}

/*
 * Whether nothing is known of the hops: this feedback has none that can be compared, and the last that had some is older than
 * a record lasts. A path that stamps some packets is known by those.
 */
static inline int feedback_is_bare(struct flow *f, const struct feedback *fb, enum hpcc_turn turn)
{
	if (fb->hops && turn != HPCC_TURN_CROWDED) {
		f->hops_ns = fb->now_ns;
		return 0;
	}
	if (fb->form != RX_HOPS || (f->hops_ns && fb->now_ns - f->hops_ns <= hpcc_idle_ns(f->params.t_ns)))
		return 0;
	if (f->cc.hops || f->rx.told_hops) {
		hpcc_forget(&f->cc);
		ceiling_forget(&f->ceiling);
	}
	f->rx.form = RX_HOPS;
	f->rx.told_hops = 0;
	return 1;
}

/* Runs the flow's control on the feedback, in the form in which it came. bare: a delay is all that there is. */
VERIFIED_ONCE int feedback_decide(struct flow *f, const struct feedback *fb, struct hpcc_ack *ack, __u32 bare)
{
	struct scratch_space *space = scratch_get();
	enum hpcc_kind kind;

	if (!f || !fb || !ack || !space || !f->params.t_ns)
		return HPCC_SKIPPED;
	if (bare)
		return f->path.delay && space->sample.rtt_ns ? HPCC_FAST : HPCC_SKIPPED;
	if (fb->form != RX_HOPS)
		return feedback_window(f, fb);
	if (fb->mode != MODE_OBSERVE)
		return hpcc_new_ack(&f->cc, &f->params, ack);
	kind = hpcc_observe(&f->cc, &f->params, ack);
	if (kind != HPCC_SKIPPED)
		hpcc_record(&f->cc, ack);
	return kind;
}

/* The floor of W beside rivals at the last hop. n: flows of ours there. */
static inline q12_t feedback_floor(struct flow *f, const struct feedback *fb, const struct hpcc_ack *ack)
{
	__u32 last = ack->hops - 1, n = f->path.flows_fixed ? f->path.flows_expected : fb->flows;
	int paced = f->tx.own_cc || f->path.port_flags & PORT_F_EDT;

	VERIFIER_FORGET(last);
	if (last >= HPCC_MAX_HOPS || !paced || f->path.hiercc || n > RX_FLOWS_MAX || !f->rx.fb_ns) {
		f->rival.queue_ns = 0;
		return 0;
	}
	return rival_floor(&f->rival, &f->params, &ack->hop[last], n, fb->now_ns - f->rx.fb_ns);
}

/* W without hops: none has told what it is to be, and the ceiling of a new flow is its first window. */
static inline void feedback_bare(struct flow *f, const struct feedback *fb)
{
	if (!f->rx.feedbacks) {
		feedback_first(f, fb);
		ceiling_begin(&f->ceiling, &f->params, f->cc.w);
	}
	f->cc.u = 0;
	if (!f->ceiling.w) {
		f->cc.w = f->cc.wc = f->params.w_init;
		f->cc.rate_bps = hpcc_rate_bps(f->cc.w, f->params.t_ns);
	}
	f->rival.queue_ns = 0;
}

/*
 * Whether the round trip that is noted shows what no hop reports. With several paths at once its least is none of this path, a
 * companion that waits in the qdisc `sluice` is late by that, and without the receiver's clock the way back counts too. Where
 * nothing else is known the round trip counts all the same, but not while packets wait in that qdisc: they leave as R says by
 * then, and a lower R would show as a delay, which lowers it further.
 */
static inline int feedback_is_timed(const struct flow *f, const struct feedback *fb, int bare)
{
	int waits = !!(f->path.port_flags & PORT_F_QUEUE);

	if (bare)
		return !waits || flow_waits_ns(f, fb->now_ns) <= f->params.t_ns / 16;
	return fb->clock && !f->rx.paths && !waits;
}

/* Bounds W, which the hops gave, by the delay that they do not report: of a round trip that is noted in the scratch space. */
VERIFIED_ONCE int feedback_bounds(struct flow *f, const struct feedback *fb, const struct hpcc_ack *ack, __u32 bare)
{
	struct scratch_space *space = scratch_get();
	struct ceiling_sample *s;
	int windowed;
	q12_t floor;

	if (!f || !fb || !ack || !space || fb->form != RX_HOPS || fb->mode == MODE_OBSERVE || f->path.hpcc_off ||
	    !f->path.delay)
		return 0;
	s = &space->sample;
	s->seq = ack->seq;
	s->snd_nxt = ack->snd_nxt;
	s->w = f->cc.w;
	if (bare)
		feedback_bare(f, fb);
	s->full = f->cc.u >= f->params.eta;
	s->flows = f->path.flows_fixed ? 0 : fb->flows;
	s->rtt_ns = feedback_is_timed(f, fb, bare) ? s->rtt_ns : 0;
	s->queue_ns = !bare && (s->rtt_ns || s->full) ? hpcc_queue_ns(ack) : 0;
	s->clock = !!fb->clock;
	s->there = fb->clock - (__u32)((fb->rx_ns - s->rtt_ns) >> WIRE_CLOCK_SHIFT);
	if (ceiling_feedback(&f->ceiling, &f->params, s))
		stats_count(STAT_FB_CUT_DELAY);
	floor = bare ? 0 : feedback_floor(f, fb, ack);
	if (f->cc.w < floor || f->cc.wc < floor) {
		f->cc.w = f->cc.w > floor ? f->cc.w : floor;
		f->cc.wc = f->cc.wc > floor ? f->cc.wc : floor;
		f->cc.rate_bps = hpcc_rate_bps(f->cc.w, f->params.t_ns);
	}
	windowed = f->tx.own_cc || (f->wnd.wscale_known && !f->wnd.digest);
	ceiling_apply(&f->ceiling, &f->params, &f->cc, windowed);
	return 0;
}

/* R was was_bps. The qdisc `sluice` spaces the packets that wait by the new one (pace.h), and so does the flow's clock. */
static inline void feedback_clock(struct flow *f, __u64 now_ns, __u64 was_bps)
{
	__u64 seen = READ_ONCE(f->tx.clock_ns);
	__u32 was = pacer_kbps(was_bps), is = pacer_kbps(f->cc.rate_bps);

	if (f->path.port_flags & PORT_F_QUEUE && f->tx.held == HELD_RATE && was && is)
		__sync_val_compare_and_swap(&f->tx.clock_ns, seen, pacer_rescaled(now_ns, seen, was, is));
}

/* Counts by s, unless that is STAT_MAX. */
static inline void feedback_count_if(enum sluice_stat s)
{
	if (s != STAT_MAX)
		stats_count(s);
}

/* Counts the fate of feedback, with hops or without. */
static inline void feedback_count(const struct feedback *fb, enum hpcc_kind kind, int bare)
{
	if (kind == HPCC_SKIPPED) {
		stats_count(STAT_FB_SKIPPED);
		return;
	}
	if (bare) {
		stats_count(STAT_FB_DELAY);
		return;
	}
	if (fb->form == RX_WINDOW) {
		stats_count(STAT_FB_WINDOW);
		return;
	}
	stats_count(kind == HPCC_FIRST ? STAT_FB_FIRST : kind == HPCC_FAST ? STAT_FB_FAST : STAT_FB_FULL);
}

/*
 * Feeds Algorithm 1, or the ceiling alone if the path stamps nothing. Runs under the flow's try-lock; on contention the feedback is
 * dropped and counted (fb_contended).
 */
VERIFIED_ONCE int feedback_take(struct flow *f, const struct feedback *fb)
{
	struct scratch_space *space = scratch_get();
	enum sluice_stat absurd;
	__u64 was_bps;
	struct hpcc_ack *ack;
	__u32 delay_ns = 0, bare;
	enum hpcc_kind kind;
	enum hpcc_turn turn;
	q24_t u_other = 0;

	if (!f || !fb || !space)
		return 0;
	ack = &space->ack;
	if (!fb->probe)
		flow_answered(f);
	if (!flow_trylock(f)) {
		stats_count(STAT_FB_CONTENDED);
		return 0;
	}
	absurd = feedback_aside(f, fb);
	if (absurd != STAT_MAX) {
		flow_unlock(f);
		stats_count(absurd);
		return 0;
	}
	if (fb->hops && fb->form != f->rx.form) {
		f->rx.form = fb->form;
		f->rx.told_hops = 0;
		f->rx.fb_seq = fb->seq;
		hpcc_forget(&f->cc);
	}
	turn = feedback_paths(f, fb, &u_other);
	feedback_ack_make(ack, f, fb);
	ack->u_other = u_other;
	delay_ns = delay_sample(f, fb->seq, fb->rx_ns, fb->now_ns, fb->probe);
	space->sample.rtt_ns = delay_ns;
	delay_measure(f, fb, ack, delay_ns);
	bare = feedback_is_bare(f, fb, turn);
	if (!bare)
		delay_ns = 0;
	f->delay.sample_ns = delay_ns ?: f->delay.sample_ns;
	if (fb->trace)
		trace_feedback_before(f, delay_ns);
	was_bps = f->cc.rate_bps;
	if (!bare && (f->cc.hops != ack->hops || f->cc.path_id != ack->path_id))
		ceiling_forget(&f->ceiling);
	kind = feedback_decide(f, fb, ack, bare);
	if (kind == HPCC_FIRST && !f->rx.feedbacks)
		feedback_first(f, fb);
	if (kind != HPCC_SKIPPED)
		feedback_bounds(f, fb, ack, bare);
	feedback_clock(f, fb->now_ns, was_bps);
	if (fb->form == RX_HOPS && (!fb->probe || fb->flows) && !bare && (kind == HPCC_FAST || kind == HPCC_FULL))
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
	feedback_count_if(absurd);
	feedback_count_if(turn == HPCC_TURN_KNOWN && !bare ? STAT_FB_PATH_KEPT : STAT_MAX);
	feedback_count(fb, kind, bare);
	return 0;
}

#endif
