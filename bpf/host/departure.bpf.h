/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DEPARTURE_BPF_H
#define SLUICE_DEPARTURE_BPF_H
/*
 * When a packet leaves. Packets wait in fq for a departure time, which is the latest of four:
 *
 *  1. now, or the time set by a UDP socket that schedules its packets (SO_TXTIME);
 *  2. the end of a pause of the port (P-PFC), unless the qdisc obeys pauses itself;
 *  3. the time at which its VOQ expects credit for it (HierCC);
 *  4. the flow's clock, which advances by the packet's length at R (HPCC, or Equation 1 of HierCC), or at the rate of a
 *     UDP socket (SO_MAX_PACING_RATE) where that is lower: fq ignores it once a packet has a departure time.
 *
 * The clock continues from there, so a flow that was held does not catch up. It is shared by all CPUs, and moves by
 * compare-and-swap.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/flow.bpf.h"
#include "pause/pfc.bpf.h"
#include "port/queue.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/once.h"
#include "sluice/pacer.h"
#include "sluice/queue/note.h"
#include "sluice/types.h"

/*
 * The race for the clock: two CPUs read it, and both depart at it. It costs bandwidth (two packets in the time of one),
 * so the loser retries with the winner's clock. After PACER_TRIES losses in a row the packet leaves unpaced and is
 * counted (clock_lost): a confused clock must not hold traffic back.
 */
#define PACER_TRIES 8
#define PACER_HORIZON_NS (10 * 1000 * 1000ULL)
/*
 * How long a UDP packet may wait, unless the horizon is configured. Programs send with timers of up to a tenth of a second,
 * and a burst that R carries in that time is below the flow's share: 100 ms. A backlog that stands for twice as long is
 * above it, becomes no shorter by waiting, and what is scheduled for later does not follow R. So the longer it stands the
 * less is added to it, down to a base RTT. Four senders of twice what the port carries, at a T of 4 ms: queue p99
 * 39 KB and utilisation .858 with 100 ms at all times, none and .979 with a base RTT.
 */
#define UDP_STANDS 95			 /* units of 2^21 ns: 200 ms */
#define UDP_SOCKET_NS (8 * NSEC_PER_SEC) /* how far ahead a socket may ask for; fq drops what is 10 s ahead */

/*
 * Reserves cost_ns of the flow's clock; returns the departure time, or now_ns on contention. If nothing honours departure
 * times the clock would run away without limit: it is at most last_ns.
 */
VERIFIED_ONCE __u64 pacer_reserve(__u64 *clock_ns, __u64 now_ns, __u64 asked_ns, __u64 cost_ns, __u64 last_ns)
{
	int i;

	if (!clock_ns)
		return now_ns;
	for (i = 0; i < PACER_TRIES; i++) {
		__u64 seen = READ_ONCE(*clock_ns);
		__u64 t = pacer_departure(now_ns, seen, asked_ns);

		if (t > last_ns) {
			stats_count(STAT_HORIZON);
			t = last_ns;
		}
		if (__sync_val_compare_and_swap(clock_ns, seen, t + cost_ns) == seen)
			return t;
	}
	stats_count(STAT_CLOCK_LOST);
	return now_ns;
}

/* Fills in the pauses that apply to the packet. */
static inline void egress_pause(struct __sk_buff *ctx, struct egress_pkt *p, const struct control *ctl)
{
	if (has_pauses() && ctl->pfc)
		pfc_look(ctx, &p->pause, p->tos);
}

/* Earliest departure requested by the sender: now, or the SO_TXTIME of a UDP socket. */
static inline __u64 egress_from_ns(const struct __sk_buff *ctx, const struct egress_pkt *p)
{
	return p->key.proto != IPPROTO_TCP && ctx->tstamp > p->now_ns && ctx->tstamp - p->now_ns < UDP_SOCKET_NS ?
		       ctx->tstamp :
		       p->now_ns;
}

/*
 * The packet's place in its flow's clock begins there: not before the flow's earlier packets, nor in a pause. The rest
 * of a pause, and the time that the socket asked for, are no wait.
 */
static inline __u64 egress_begins_ns(const struct __sk_buff *ctx, const struct egress_pkt *p)
{
	__u64 from_ns = egress_from_ns(ctx, p);

	return p->pause.departure_ns > from_ns ? p->pause.departure_ns : from_ns;
}

/*
 * Notes what the packet's own socket does: that of a TCP connection in a tunnel sends no more while its packets wait (TSQ),
 * and another may keep a rate, bits/s, if this kernel's programs can read it.
 */
static inline void egress_socket(struct __sk_buff *ctx, struct egress_pkt *p)
{
	struct bpf_sock *own = ctx->sk;
	const struct sock *sk;
	__u64 bytes;

	own = own ? bpf_sk_fullsock(own) : 0;
	if (!own)
		return;
	if (own->protocol == IPPROTO_TCP)
		p->patience_ns = UDP_SOCKET_NS;
	if (own->protocol == IPPROTO_TCP || !qdisc_kfuncs)
		return;
	sk = bpf_rdonly_cast(own, bpf_core_type_id_kernel(struct sock));
	bytes = sk->sk_pacing_rate;
	p->socket_bps = bytes >> 40 ? 0 : bytes * 8; /* ~0: none */
}

/*
 * Whether a UDP packet that leaves at at_ns is beyond its flow's first window (first.h). A path that is silent for
 * FIRST_RTTS is taken to report nothing.
 */
static inline int egress_is_beyond_first(const struct egress_pkt *p, const struct flow *f, __u64 at_ns)
{
	return !f->path.hpcc_off && READ_ONCE(f->tx.bytes) + p->weight > q12_to_bytes(f->cc.w) &&
	       flow_is_first(f, at_ns);
}

/*
 * How long a UDP packet that is behind by ahead_ns may wait because of R. Notes since when the flow is behind. Beyond its first
 * window it may take as long as R is lowered for.
 */
static inline __u64 egress_horizon_ns(const struct egress_pkt *p, struct flow *f, const struct control *ctl,
				      __u64 ahead_ns)
{
	__u8 now = p->now_ns >> 21, stands = ahead_ns ? now - f->path.free : 0;
	__u64 horizon;

	if (stands > UDP_STANDS)
		stands = UDP_STANDS;
	f->path.free = now - stands;
	if (ctl->horizon_ns)
		return ctl->horizon_ns;
	horizon = (__u64)(UDP_STANDS - stands) << 20;
	if (flow_is_first(f, p->now_ns))
		horizon += FIRST_RTTS * f->params.t_ns;
	if (horizon > NSEC_PER_SEC)
		horizon = NSEC_PER_SEC;
	return horizon > f->params.t_ns ? horizon : f->params.t_ns;
}

/* The part of a wait that is due to R, and not to the rate of the socket, which is higher. kbit/s * 2^10 ns < 2^36 * 2^26 */
static inline __u64 egress_waits_by_r(const struct egress_pkt *p, __u64 waits_ns, __u64 rate_bps)
{
	if (!p->socket_bps)
		return waits_ns;
	if (p->socket_bps <= rate_bps)
		return 0;
	return waits_ns - ((waits_ns >> 10) * (rate_bps / 1000) / pacer_kbps(p->socket_bps) << 10);
}

/* A packet is taken as it is, taken and marked, or dropped. */
enum egress_wait {
	WAIT_TAKEN,
	WAIT_MARKED,
	WAIT_REFUSED,
};

/* Whether a UDP packet may wait as long as its clock says. begins_ns: when its place in the clock begins. */
VERIFIED_ONCE enum egress_wait egress_wait(struct egress_pkt *p, struct flow *f, __u64 begins_ns)
{
	const struct control *ctl = control_get();
	__u64 horizon, ahead, cost_ns, rate_bps;

	if (!p || !f || !ctl)
		return WAIT_TAKEN;
	rate_bps = flow_clock_bps(f, 1);
	ahead = egress_waits_by_r(p, flow_waits_ns(f, begins_ns), rate_bps);
	cost_ns = pacer_cost_ns(p->weight, rate_bps);
	horizon = egress_horizon_ns(p, f, ctl, ahead);
	if (horizon < cost_ns)
		horizon = cost_ns;
	p->patience_ns = 2 * horizon;
	if (ahead <= horizon)
		return WAIT_TAKEN;
	return ctl->horizon_mark && p->tos & ECN_MASK && ahead <= 2 * horizon ? WAIT_MARKED : WAIT_REFUSED;
}

/*
 * Whether the packet would have to wait beyond the horizon. TCP has its own window, so its clock is never far ahead.
 * UDP and tunnels have none: a packet that would wait for longer than the horizon is dropped or, if the policy is to mark
 * and the packet is ECN capable, is marked and waits up to twice as long. At an R of less than a packet in the horizon
 * one packet waits for another. The socket of a TCP connection in a tunnel waits instead, as without Sluice.
 */
static inline int egress_is_early(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f)
{
	enum egress_wait wait;

	if (p->key.proto == IPPROTO_TCP || !(f->path.port_flags & PORT_F_EDT))
		return 0;
	egress_socket(ctx, p);
	if (p->patience_ns)
		return 0;
	wait = egress_wait(p, f, egress_begins_ns(ctx, p));
	if (wait != WAIT_MARKED)
		return wait == WAIT_REFUSED;
	bpf_skb_ecn_set_ce(ctx);
	p->tos |= ECN_CE;
	stats_count(STAT_HORIZON_MARK);
	return 0;
}

/* The rate of a UDP packet's place in the clock. from_ns: its place begins there, or at the clock. kbit/s < 2^36 */
static inline __u64 egress_udp_bps(const struct egress_pkt *p, struct flow *f, __u64 rate_bps, __u64 from_ns)
{
	__u64 at_ns = from_ns + flow_waits_ns(f, from_ns), bps;
	__u32 shares;

	if (egress_is_beyond_first(p, f, at_ns))
		shares = flow_first_share(f, at_ns, pacer_cost_ns(p->weight, rate_bps));
	else if (p->patience_ns == UDP_SOCKET_NS) /* TCP in a tunnel has a window of its own */
		shares = FLOW_SHARES;
	else
		shares = flow_overdue(f, p->weight, p->now_ns);
	bps = flow_share_bps(rate_bps, shares);
	if (p->socket_bps && p->socket_bps < bps) {
		bps = p->socket_bps;
		shares = FLOW_SHARES * bps / rate_bps + 1;
	}
	f->path.share = shares;
	return bps;
}

/* Constraints 1 to 3: the latest of the requested times; 0 requests nothing. */
static inline __u64 departure_asked_ns(__u64 socket_ns, __u64 pause_ns, __u64 credit_ns)
{
	__u64 asked_ns = credit_ns > socket_ns ? credit_ns : socket_ns;

	return pause_ns > asked_ns ? pause_ns : asked_ns;
}

/*
 * With the qdisc `sluice` credit is no departure time: the queue is told the VOQ, and when credit for the packet's bytes
 * comes, and chooses which packet of the VOQ uses it. A VOQ is named by its address. young: 0 or QUEUE_NOTE_YOUNG
 */
static inline void queue_note_voq(struct __sk_buff *ctx, const struct voq *v, __u64 credit_ns, __u32 young)
{
	*(volatile __u64 *)&ctx->cb[0] = (__u64)v; /* whole: the verifier lets nobody calculate with an address */
	ctx->cb[2] = queue_note_credit(credit_ns);
	ctx->cb[3] = 0;
	ctx->cb[4] = QUEUE_NOTE_MARK | young;
}

/* The queue is told the R of HPCC behind a departure time; that of Equation 1 changes with nearly each packet. */
static inline void queue_note_rate(struct __sk_buff *ctx, const struct egress_pkt *p, __u32 kbps, __u64 patience_ns)
{
	if (!p->credit_ns)
		*(volatile __u64 *)&ctx->cb[0] = 0;
	ctx->cb[3] = kbps;
	ctx->cb[4] = QUEUE_NOTE_MARK | p->young | queue_note_patience(patience_ns);
}

/* Other packets have none; the words may hold anything. */
static inline void queue_note_none(struct __sk_buff *ctx)
{
	ctx->cb[4] = 0;
}

/*
 * The departure time of the packet, from all four constraints. credit_ns: when credit is expected, at most limit_ns
 * from now; both 0: it needs none.
 */
VERIFIED_ONCE int egress_departure(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f, __u64 credit_ns,
				   __u64 limit_ns)
{
	const struct control *ctl = control_get();
	__u64 horizon, from, asked, rate, own_bps, cost, t;
	int udp;

	if (!p || !f || !ctl)
		return 0;
	udp = p->key.proto != IPPROTO_TCP;
	if (!(f->path.port_flags & PORT_F_EDT)) {
		if (udp)
			stats_count(STAT_UNHELD);
		return 0;
	}
	from = egress_from_ns(ctx, p);
	rate = own_bps = flow_clock_bps(f, udp);
	horizon = 2 * f->params.t_ns + PACER_HORIZON_NS;
	if (udp) {
		rate = egress_udp_bps(p, f, rate, from);
		horizon = p->socket_bps ? UDP_SOCKET_NS : p->patience_ns;
	}
	if (p->pause.departure_ns > from)
		horizon += p->pause.departure_ns - from;
	asked = departure_asked_ns(ctx->tstamp, p->pause.departure_ns, credit_ns);
	cost = pacer_cost_ns(p->weight, rate);
	/* A window holds two packets at least, however long they take at R. */
	t = pacer_reserve(&f->tx.clock_ns, from, asked, cost, from + horizon + limit_ns + 2 * cost);
	if (has_pauses() && ctl->pfc)
		f->tx.flags = (f->tx.flags & ~FLOW_F_PAUSE) | p->pause.class << FLOW_F_PAUSE_SHIFT;
	f->tx.held = p->pause.until_ns > from ? HELD_PAUSE :
		     t <= from		      ? HELD_NOT :
		     rate == p->socket_bps    ? HELD_NOT :
		     t == credit_ns	      ? HELD_CREDIT :
		     rate == flow_hop_bps(f)  ? HELD_HOP :
						HELD_RATE;
	if (f->path.port_flags & PORT_F_QUEUE && asked <= p->now_ns && from == p->now_ns)
		queue_note_rate(ctx, p, own_bps == f->cc.rate_bps && rate != p->socket_bps ? pacer_kbps(own_bps) : 0,
				udp && !p->socket_bps ? horizon + 2 * cost : 0);
	if (t > p->now_ns) {
		bpf_skb_set_tstamp(ctx, t, BPF_SKB_TSTAMP_DELIVERY_MONO);
		stats_count(STAT_PACED);
	}
	return 0;
}

/* Whether the queue decides when it leaves, by credit or the end of a pause, and not its departure time. */
static inline int egress_queue_decides(const struct egress_pkt *p)
{
	return p->credit_ns > p->now_ns || (p->pause.note && p->pause.until_ns);
}

/* When it leaves the queue, by the pacer's or TCP's own departure time and its credit; at once if nothing honours it. */
static inline __u64 egress_leaves_ns(const struct __sk_buff *ctx, const struct egress_pkt *p, const struct flow *f)
{
	__u64 at_ns = p->credit_ns > ctx->tstamp ? p->credit_ns : ctx->tstamp;

	if (!(f->path.port_flags & (PORT_F_EDT | PORT_F_EDT_MAYBE)))
		return p->now_ns;
	return p->now_ns + pacer_wait_ns(p->now_ns, at_ns);
}

#endif
