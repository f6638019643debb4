/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ANSWER_BPF_H
#define SLUICE_ANSWER_BPF_H
/*
 * Arriving PROBEs, including companions: probe.bpf.h, which sends them, describes the life of one.
 *
 *  1. ingress_takes_probe() decides whether the PROBE of another host is answered, and ingress_probe() turns it round.
 *  2. ingress_reply() takes the answer to ours: the host strips, and the path is feedback like an echo.
 *  3. The PROBE of a host whose clock was ahead once is older than what was heard of it then (ingress_is_held()). Its
 *     answer says by how much, and the host moves its sequences forward (ingress_held()). A peer never lowers the
 *     sequence that it holds: a recorded message stays old.
 */
#include "lib/base.bpf.h"
#include "lib/bucket.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/pod_stamp.bpf.h"
#include "rack/credit.bpf.h"
#include "host/auth.bpf.h"
#include "host/encoding.bpf.h"
#include "host/feedback.bpf.h"
#include "host/flow.bpf.h"
#include "host/peer.bpf.h"
#include "host/report.bpf.h"
#include "host/trace.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/bucket.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/seq.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* --- 1. the PROBE of another host --- */

/* The flow that a PROBE asks for; its entry is made if that is wanted. */
static __always_inline struct flow *ingress_probe_flow(ctx_t *ctx, const struct ingress_pkt *p,
						       const struct control *ctl, int make)
{
	struct flow *f = bpf_map_lookup_elem(&flows, &p->key);

	if (f || !make)
		return f;
	flow_make(&p->key, ctx_ifindex(ctx), ctl->epoch, STAT_FLOW_MADE_PROBE);
	return bpf_map_lookup_elem(&flows, &p->key);
}

/* Notes the VOQ of a companion as that of data. */
static __always_inline void ingress_probe_voq(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p,
					      struct flow *f)
{
	if (has_racks() && m->hdr.flags & WIRE_F_VOQ && arrival_read(ctx, m, p))
		arrival_see(f, ctx_ifindex(ctx), p->now_ns);
	else if (f->rx.voq_in)
		f->rx.voq_in = f->rx.voq_pod = 0;
}

/*
 * Whether a PROBE is answered: STAT_RX_PROBE, or the counter of the reason against it.
 *
 * With a key each is answered once: it must be newer than the last one of its flow. The host's newest message does not
 * decide: PROBEs of several flows take several paths, and the last to arrive took the fullest path, whose feedback
 * counts most. So an unknown flow gets its entry here, if the PROBE is at most AUTH_LATE_NS older than the host's
 * newest message. Without room for an entry only PROBEs newer than that message are answered.
 *
 * Then there is a bucket of answers for each host, and one for all hosts never heard from: an answer is as large as its
 * PROBE, and without a key it goes to an address that may be forged.
 *
 * An answered companion makes the entry of its flow, as data with telemetry does: so the flow counts for N.
 */
static __always_inline enum sluice_stat ingress_takes_probe(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p,
							    struct host *h, const struct control *ctl)
{
	__u64 floor = auth_floor(h), seen = 0;
	struct flow *f = 0;

	if (p->auth_seq) {
		f = ingress_probe_flow(ctx, p, ctl, p->auth_seq > floor);
		if (f && ((!f->auth.asked_seq && p->auth_seq <= floor) ||
			  !seq_take(&f->auth.asked_seq, 0, p->auth_seq, &seen)))
			return STAT_RX_PROBE_OLD;
		if (!f && p->auth_seq <= (h ? h->rx_seq : 0))
			return STAT_RX_PROBE_OLD;
	}
	if (h ? !bucket_take(&h->answers_ns, p->now_ns, ctl->auth ? BUCKET_HOST_KEY_NS : BUCKET_HOST_NS,
			     BUCKET_HOST_BURST) :
		!bucket_strangers(BUCKET_ANSWERS, p->now_ns))
		return STAT_RX_PROBE_LIMITED;
	if (m->companion && !p->auth_seq)
		f = ingress_probe_flow(ctx, p, ctl, 1);
	if (f) {
		f->rx.last_ns = p->now_ns;
		if (m->companion)
			ingress_probe_voq(ctx, m, p, f);
	}
	return STAT_RX_PROBE;
}

/*
 * Whether a PROBE that was not taken is answered all the same, with what is held of its host: it is older than a packet
 * can be late. Nothing is learned from it. A recorded one is answered too, within the host's bucket, and the answer is
 * of no use: its host does not wait for it.
 */
static __always_inline int ingress_is_held(struct ingress_pkt *p, struct host *h)
{
	__u64 by_ns = h && h->rx_seq > p->auth_seq ? h->rx_seq - p->auth_seq : 0;

	if (!p->auth_seq || by_ns <= AUTH_LATE_NS ||
	    !bucket_take(&h->answers_ns, p->now_ns, BUCKET_HOST_KEY_NS, BUCKET_HOST_BURST))
		return 0;
	by_ns = (by_ns >> WIRE_HELD_SHIFT) + 1;
	p->held = by_ns < 0xffffffff ? by_ns : 0xffffffff;
	h->old_by = p->held;
	h->old_at = p->now_ns >> WIRE_HELD_SHIFT;
	stats_count(STAT_PROBE_HELD);
	return 1;
}

/* Adds to a PROBE, before it turns round, what an echo would carry: N, and the hop to the pod. */
static inline void ingress_probe_tell(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	__u32 at = m->offset + WIRE_HDR_BYTES, n;
	const struct control *ctl = control_get();
	struct pod_stamp stamp = {};
	const __be16 *nhop_path;
	struct flow *f;
	__be64 hop;
	__be16 v;

	if (!ctl || !m->hdr.max_hops || !p->sound)
		return;
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (!f)
		return;
	v = bpf_htons(report_flows(f, ctx_ifindex(ctx), p->now_ns, m->companion && !m->hdr.seq));
	ctx_store(ctx, at + sizeof(*nhop_path), &v, sizeof(v));
	if (!arrival_needs_pod_hop(f, ctl, p->now_ns))
		return;
	nhop_path = pkt_bytes(ctx, at, sizeof(*nhop_path));
	if (!nhop_path || !pod_stamp(f, &stamp, bpf_ntohs(*nhop_path), m->hdr.max_hops))
		return;
	n = (stamp.nhop_path >> 12) - 1;
	hop = bpf_cpu_to_be64(stamp.hop);
	v = bpf_htons(stamp.nhop_path);
	if (!ctx_store(ctx, at + 4 + n * WIRE_HOP_BYTES, &hop, sizeof(hop)))
		ctx_store(ctx, at, &v, sizeof(v));
}

/* A companion takes its VOQ's granted total back, in its VOQ block. */
static inline void ingress_probe_credit(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	__u32 at = m->offset + wire_echo_offset(&m->hdr) - WIRE_VOQ_BYTES;
	struct scratch_space *space = scratch_get();
	struct wire_voq *voq;
	__u64 ride;

	if (!has_racks() || !space || !m->companion || !(m->hdr.flags & WIRE_F_VOQ) || !p->voq_slot)
		return;
	voq = (struct wire_voq *)&space->text.echo;
	ride = ctx_load(ctx, at, voq, sizeof(*voq)) ? 0 : grant_ride(p->voq_slot - 1, &p->key.local, p->now_ns);
	if (!ride)
		return;
	voq->total = bpf_htonl((__u32)(ride >> 32));
	voq->flows = bpf_htons((__u16)(ride >> 16));
	voq->flags |= ride & WIRE_CREDIT_DUE ? WIRE_VOQ_CREDIT | WIRE_VOQ_DUE : WIRE_VOQ_CREDIT;
	ctx_store(ctx, at, voq, sizeof(*voq));
}

/*
 * Turns a PROBE round as PROBE_REPLY: addresses swapped, which leaves the IP checksum as it is. The copied packet stays
 * as ballast: cutting it off fails if its checksum is still to be computed (CHECKSUM_PARTIAL over veth:
 * bpf_skb_change_tail() keeps the checksum field).
 */
VERIFIED_APART int ingress_probe(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	__u32 len, src, ports = m->offset - sizeof(struct wire_companion), clock = p->now_ns >> WIRE_CLOCK_SHIFT;
	struct wire_hdr hdr = m->hdr;
	__u8 from[16], to[16];

	hdr.version_msg = WIRE_VERSION << 4 | WIRE_PROBE_REPLY;
	if (p->held) {
		hdr.flags |= WIRE_F_HELD;
		hdr.seq = bpf_htonl(p->held);
	} else {
		ingress_probe_tell(ctx, m, p);
		ingress_probe_credit(ctx, m, p);
	}
	len = m->ip.v6 ? 16 : 4;
	src = WIRE_ETH_BYTES + (m->ip.v6 ? 8 : 12);
	VERIFIER_AT_MOST(len, sizeof(from), CTX_DROP);
	if (ctx_load(ctx, 0, to, 6) || to[0] & MAC_GROUP || ctx_load(ctx, 6, from, 6) || ctx_store(ctx, 0, from, 6) ||
	    ctx_store(ctx, 6, to, 6) || ctx_load(ctx, src, from, len) || ctx_load(ctx, src + len, to, len) ||
	    ctx_store(ctx, src, to, len) || ctx_store(ctx, src + len, from, len) ||
	    ctx_store(ctx, m->offset + sizeof(m->shim), &hdr, sizeof(hdr)))
		return CTX_DROP;
	if (m->companion && (ctx_load(ctx, ports, from, 2) || ctx_load(ctx, ports + 2, to, 2) ||
			     ctx_store(ctx, ports, to, 2) || ctx_store(ctx, ports + 2, from, 2)))
		return CTX_DROP;
	if (m->companion) {
		clock = bpf_htonl(clock ? clock : 1);
		__builtin_memcpy(from, &clock, sizeof(clock));
		if (ctx_store(ctx, ports + __builtin_offsetof(struct wire_companion, clock_high), from, 2) ||
		    ctx_store(ctx, ports + __builtin_offsetof(struct wire_companion, clock_low), from + 2, 2))
			return CTX_DROP;
	}
	if (m->hdr.flags & WIRE_F_AUTH && ingress_answer_sign(ctx, m, &hdr))
		return CTX_DROP;
	return ctx_return(ctx);
}

/* --- 2. the answer to ours --- */

/* Takes the granted total of a VOQ from our companion that comes back. */
static __always_inline void ingress_reply_credit(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p,
						 const struct control *ctl)
{
	const struct wire_voq *voq = pkt_bytes(ctx, m->offset + wire_echo_offset(&m->hdr) - sizeof(*voq), sizeof(*voq));

	if (!voq || !(voq->flags & WIRE_VOQ_CREDIT) || voq->tor != ctl->tor)
		return;
	credit_rides(&p->key.remote,
		     (__u64)bpf_ntohl(voq->total) << 32 | bpf_ntohs(voq->flows) << 16 | voq->prefixlen << 8 |
			     WIRE_CREDIT_ARRIVAL | (voq->flags & WIRE_VOQ_DUE ? WIRE_CREDIT_DUE : 0),
		     p->now_ns);
}

/*
 * A host holds a sequence of ours that is newer than this PROBE, from a time when our clock was ahead: the sequences
 * continue above it, unless they would be too far ahead of the clock. A move that loses its race is made by the next
 * answer.
 */
VERIFIED_APART int ingress_held(const struct msg *m, const struct ingress_pkt *p)
{
	struct control *ctl = (struct control *)control_get();
	struct host *h = bpf_map_lookup_elem(&hosts, host_of_ip(&m->ip));
	__u64 newest, base;

	if (!ctl)
		return 0;
	newest = p->auth_seq + ((__u64)bpf_ntohl(m->hdr.seq) << WIRE_HELD_SHIFT);
	if (h) {
		h->held_by = bpf_ntohl(m->hdr.seq);
		h->held_at = p->now_ns >> WIRE_HELD_SHIFT;
	}
	base = READ_ONCE(ctl->seq_base_ns);
	if (!seq_base_catches_up(newest, base + p->now_ns, ctl->real_base_ns + p->now_ns)) {
		if (newest > base + p->now_ns)
			stats_count(STAT_SEQ_HELD);
		return 0;
	}
	if (__sync_val_compare_and_swap(&ctl->seq_base_ns, base, newest - p->now_ns) == base)
		stats_count(STAT_SEQ_MOVED);
	return 0;
}

/* The receiver's clock in the reply of a companion; 0: not told. */
static __always_inline __u32 ingress_reply_clock(ctx_t *ctx, const struct msg *m)
{
	const struct wire_companion *c = m->companion ? pkt_bytes(ctx, m->offset - sizeof(*c), sizeof(*c)) : 0;

	return c ? (__u32)bpf_ntohs(c->clock_high) << 16 | bpf_ntohs(c->clock_low) : 0;
}

/* Takes the telemetry that our PROBE collected, as from an echo. */
static __always_inline void ingress_reply(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p, struct host *h,
					  const struct control *ctl, struct feedback *fb)
{
	const struct wire_telem *telem;
	struct flow *f;

	if (!p->sound)
		return;
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (p->auth_seq && (!f || !auth_takes_reply(f, p->auth_seq))) {
		stats_count(STAT_RX_REPLAYED);
		return;
	}
	host_heard(host_of_ip(&m->ip), h, p->now_ns, 0);
	if (m->hdr.flags & WIRE_F_HELD) {
		if (p->auth_seq)
			ingress_held(m, p);
		return;
	}
	if (has_racks() && m->companion && m->hdr.flags & WIRE_F_VOQ)
		ingress_reply_credit(ctx, m, p, ctl);
	telem = pkt_bytes(ctx, m->offset + WIRE_HDR_BYTES, sizeof(*telem));
	if (!f || !telem || !m->hdr.max_hops)
		return;
	feedback_begin(fb, ctl, p->now_ns);
	fb->probe = 1;
	fb->seq = p->seq;
	fb->nhop_path = bpf_ntohs(telem->nhop_path);
	fb->hops = fb->nhop_path >> 12;
	fb->flows = bpf_ntohs(telem->flows);
	if (fb->hops > m->hdr.max_hops) {
		stats_count(STAT_RX_BAD_TELEM);
		return;
	}
	if (m->companion || f->path.telemetry != TELEMETRY_COMPANION)
		flow_answered(f);
	feedback_hops(fb, telem->hop);
	fb->clock = ingress_reply_clock(ctx, m);
	feedback_take(f, fb);
	host_note_rate(h, f, p->now_ns);
	if (fb->trace)
		trace_feedback_put(ctx, &p->key, p->now_ns);
}

#endif
