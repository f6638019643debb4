/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BASE_RTT_H
#define SLUICE_BASE_RTT_H
/*
 * T as it is measured, for a prefix whose base_rtt is auto, and beside what is configured for the others.
 *
 *  1. base_rtt_sample(): what one round trip says. It was long enough for T: T is at most that (most_ns). Without the
 *     queues that the hops on its way told of it would have taken less: T is at least that (least_ns), unless a queue was
 *     told too long. What tells no queues says nothing of the least; there BASE_RTT_NONE stands for it.
 *  2. T is of a full packet and its delayed ACK. A small packet of ours meets less of the wire: four times what a full
 *     packet takes at the slowest hop are added to its round trip, and two to that of a full packet. With that T is never
 *     below what a packet takes at each hop that is told and at the own port, whatever a forged answer claims.
 *  3. base_rtt_note() keeps the smallest of each flow, of BASE_RTT_HOLD_NS or a little more, so that who looks once in a
 *     second misses none.
 *  4. base_rtt_tick() decides for the prefix. T goes down at once: a round trip that was shorter proves it. It goes up when
 *     for a whole window nothing said otherwise, that is to the least_ns of the shortest round trip in it. So a queue that
 *     stands does not make T longer: it is told, and taken off; and T follows a route that became longer in
 *     BASE_RTT_BOUND_NS.
 *
 * The window is for what nobody tells: queues on the way back, and hosts that were busy. At a T of 4 ms it has 2000 round
 * trips of each flow.
 */
#include "sluice/cc/hpcc_state.h"

#define BASE_RTT_NONE 0xffffffffU
#define BASE_RTT_MAX_NS 1000000000U /* as a T that is written */
#define BASE_RTT_MIN_NS 1000U
#define BASE_RTT_PACKETS_SMALL 4	    /* that T has more of than the round trip of a small packet, */
#define BASE_RTT_PACKETS_FULL 2		    /*   and of a full one */
#define BASE_RTT_UNIT_SHIFT 20		    /* of struct base_rtt_least: 2^20 ns */
#define BASE_RTT_HOLD_NS (2 * NSEC_PER_SEC) /* more than a second between two looks, and one that is late */
#define BASE_RTT_FRESH_NS (BASE_RTT_HOLD_NS + 3 * NSEC_PER_SEC / 2)
#define BASE_RTT_WINDOW_NS (8 * NSEC_PER_SEC)
#define BASE_RTT_LOOKS 3 /* of flows that measured anew, in a window */
#define BASE_RTT_STEP 16 /* T stays while it is off by less than this part of it */
#define BASE_RTT_OFF 4	 /* a T that is written and off by more than this part is said */
/* The rest of a window, a whole one, and what flows keep from before. */
#define BASE_RTT_BOUND_NS (2 * BASE_RTT_WINDOW_NS + BASE_RTT_FRESH_NS + NSEC_PER_SEC)

/*
 * Until there is a first round trip: the time of 10 packets at the own port, so that W_init is what TCP begins with on a
 * path of which it knows nothing (RFC 6928), and 10 us, for less is no round trip through two kernels. Where T is longer a
 * flow has less than its share for the moment. It makes no queue, as it would with a T that is too long.
 */
#define BASE_RTT_START_PACKETS 10
#define BASE_RTT_START_NS 10000U

static inline __u64 base_rtt_start_ns(__u64 port_bps, __u32 packet_bytes)
{
	__u64 t = port_bps ? BASE_RTT_START_PACKETS * (__u64)packet_bytes * 8 * NSEC_PER_SEC / port_bps : 0;

	return t < BASE_RTT_START_NS ? BASE_RTT_START_NS : t < BASE_RTT_MAX_NS ? t : BASE_RTT_MAX_NS;
}

struct base_rtt_sample {
	__u32 most_ns;	/* T is not longer; 0: nothing is known */
	__u32 least_ns; /* T is not shorter; BASE_RTT_NONE: nothing is known */
};

/*
 * What a round trip of rtt_ns > 0 says of T, of a small packet or of a full one, which has so many bytes and the own port
 * that speed. told: the hops of ack are those of its way; without, queue_ns is what its queues took, or BASE_RTT_NONE.
 * Packets are below 2^17 bytes and queues below 2^27: the products are below 2^60.
 */
static inline void base_rtt_measure(struct base_rtt_sample *s, const struct hpcc_ack *ack, int told, __u64 rtt_ns,
				    __u64 queue_ns, __u32 packet_bytes, __u64 port_bps, int small)
{
	__u64 bits = (__u64)packet_bytes * 8 * NSEC_PER_SEC, own = port_bps ? bits / port_bps : 0;
	__u64 floor = own, slowest = 0, queues = 0, ns, most, least;
	int i;

	for (i = 0; i < HPCC_MAX_HOPS; i++) {
		__u64 bps = ack->hop[i].bps;

		if (!told || i >= ack->hops || !bps)
			continue;
		ns = bits / bps;
		floor += ns;
		slowest = ns > slowest ? ns : slowest;
		queues += (__u64)ack->hop[i].qlen_bytes * 8 * NSEC_PER_SEC / bps;
	}
	if (!slowest)
		slowest = own;
	if (!told)
		queues = queue_ns;
	most = rtt_ns + (small ? BASE_RTT_PACKETS_SMALL : BASE_RTT_PACKETS_FULL) * slowest;
	least = queues < rtt_ns ? most - queues : most - rtt_ns;
	floor = floor > BASE_RTT_MIN_NS ? floor : BASE_RTT_MIN_NS;
	most = most > floor ? most : floor;
	least = least > floor ? least : floor;
	s->most_ns = most < BASE_RTT_MAX_NS ? most : BASE_RTT_MAX_NS;
	s->least_ns = !told && queue_ns == BASE_RTT_NONE ? BASE_RTT_NONE :
		      least < BASE_RTT_MAX_NS		 ? least :
							   BASE_RTT_MAX_NS;
}

/* The smallest of a flow. */
struct base_rtt_least {
	struct base_rtt_sample ns;
	__u32 since; /* the first of them, units of 2^20 ns */
	__u32 pad;
};

static inline __u32 base_rtt_units(__u64 ns)
{
	return ns >> BASE_RTT_UNIT_SHIFT;
}

/*
 * The shorter round trip counts whole, with its least: it met the least queue, and what its hops tell too long of a queue is
 * the least as well.
 */
static inline void base_rtt_less(struct base_rtt_sample *a, const struct base_rtt_sample *b)
{
	if (!a->most_ns || b->most_ns < a->most_ns)
		*a = *b;
}

static inline void base_rtt_note(struct base_rtt_least *l, const struct base_rtt_sample *s, __u64 now_ns)
{
	if (l->ns.most_ns && base_rtt_units(now_ns) - l->since < base_rtt_units(BASE_RTT_HOLD_NS)) {
		base_rtt_less(&l->ns, s);
		return;
	}
	l->ns = *s;
	l->since = base_rtt_units(now_ns);
}

/* Of a prefix. 0 in all members: nothing was measured. */
struct base_rtt {
	__u64 t_ns;		     /* T, as measured; 0: not yet */
	__u64 low_ns;		     /* the smallest that it has been */
	__u64 tick_ns, window_ns;    /* when the last tick was, and when the window began */
	struct base_rtt_sample seen; /* since then; most_ns 0: nothing */
	__u32 looks;		     /* that saw a flow with measurements of its own, which said the least, too */
	__u32 looked;		     /* in this tick there was one */
};

enum base_rtt_change {
	BASE_RTT_SAME,
	BASE_RTT_FIRST,
	BASE_RTT_SHORTER,
	BASE_RTT_LONGER,
};

static inline void base_rtt_begin(struct base_rtt *b, __u64 now_ns)
{
	b->seen = (struct base_rtt_sample){ 0, BASE_RTT_NONE };
	b->looks = b->looked = 0;
	b->window_ns = now_ns;
}

/*
 * A flow has measured that. blind: on a path that tells no queues. T then grows only by what was measured while the flow
 * sent as little as it may, and to no more than twice the smallest: what stands there nobody can tell from a longer way.
 */
static inline void base_rtt_look(struct base_rtt *b, const struct base_rtt_least *l, int blind, __u64 now_ns)
{
	__u32 age = base_rtt_units(now_ns) - l->since;
	struct base_rtt_sample s = l->ns;

	if (!s.most_ns || age > base_rtt_units(BASE_RTT_FRESH_NS))
		return;
	if (!b->window_ns)
		base_rtt_begin(b, now_ns);
	if (blind && s.least_ns != BASE_RTT_NONE && b->low_ns && s.least_ns > 2 * b->low_ns)
		s.least_ns = 2 * b->low_ns;
	base_rtt_less(&b->seen, &s);
	if (s.least_ns != BASE_RTT_NONE && age <= base_rtt_units(now_ns - b->tick_ns))
		b->looked = 1;
}

static inline enum base_rtt_change base_rtt_set(struct base_rtt *b, __u64 t_ns, enum base_rtt_change how)
{
	b->t_ns = t_ns;
	if (!b->low_ns || t_ns < b->low_ns)
		b->low_ns = t_ns;
	return how;
}

/* Once in a second, behind the looks. T is the smallest and the largest that fits; it is moved no further than it has to. */
static inline enum base_rtt_change base_rtt_tick(struct base_rtt *b, __u64 now_ns)
{
	struct base_rtt_sample seen = b->seen;

	b->looks += b->looked;
	b->looked = 0;
	b->tick_ns = now_ns;
	if (!b->window_ns || !seen.most_ns)
		return BASE_RTT_SAME;
	if (!b->t_ns)
		return base_rtt_set(b, seen.least_ns < seen.most_ns ? seen.least_ns : seen.most_ns, BASE_RTT_FIRST);
	if (seen.most_ns < b->t_ns - b->t_ns / BASE_RTT_STEP)
		return base_rtt_set(b, seen.most_ns, BASE_RTT_SHORTER);
	if (now_ns - b->window_ns < BASE_RTT_WINDOW_NS || b->looks < BASE_RTT_LOOKS)
		return BASE_RTT_SAME;
	base_rtt_begin(b, now_ns);
	if (seen.least_ns == BASE_RTT_NONE || seen.least_ns <= b->t_ns + b->t_ns / BASE_RTT_STEP)
		return BASE_RTT_SAME;
	return base_rtt_set(b, seen.least_ns, BASE_RTT_LONGER);
}

/* Is a T that is written off by more than a quarter from what was measured, which is not 0? */
static inline int base_rtt_is_off(__u64 t_ns, __u64 measured_ns)
{
	__u64 off = t_ns > measured_ns ? t_ns - measured_ns : measured_ns - t_ns;

	return off > measured_ns / BASE_RTT_OFF;
}

#endif
