/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BASE_RTT_H
#define SLUICE_BASE_RTT_H
/*
 * The measured T: used for a prefix whose base_rtt is auto, and shown beside the configured T of the others.
 *
 *  1. base_rtt_measure(): the bounds that one round trip sets. T is at most the round trip (most_ns). T is at least
 *     the round trip less the queues that its hops reported (least_ns), unless a queue was reported too long. A path
 *     that reports no queues gives no lower bound: BASE_RTT_NONE.
 *  2. T covers a full packet and its delayed ACK. Our small packets serialise faster: a sample of one is extended by
 *     four times the serialisation time of a full packet at the slowest hop, that of a full packet by two. So T is
 *     never below the serialisation time of a packet at each reported hop and at the own port, whatever a forged
 *     reply claims.
 *  3. base_rtt_note() keeps the smallest sample of each flow for BASE_RTT_HOLD_NS or a little more, so that a reader
 *     that looks once a second misses none.
 *  4. base_rtt_tick() decides for the prefix. T goes down at once: a shorter round trip proves it. It goes up, to the
 *     least_ns of the shortest round trip, if nothing contradicted it for a whole window. So a standing queue does
 *     not make T longer: it is reported, and subtracted; and T follows a longer route within BASE_RTT_BOUND_NS.
 *
 * The window covers delays that nobody reports: queues on the way back, and busy hosts. At a T of 4 ms it has 2000
 * round trips of each flow.
 */
#include "sluice/cc/hpcc_state.h"

#define BASE_RTT_NONE 0xffffffffU
#define BASE_RTT_MAX_NS 1000000000U /* the largest configurable T */
#define BASE_RTT_MIN_NS 1000U
#define BASE_RTT_PACKETS_SMALL 4	    /* packet times that T has beyond the round trip of a small packet */
#define BASE_RTT_PACKETS_FULL 2		    /* packet times that T has beyond the round trip of a full packet */
#define BASE_RTT_UNIT_SHIFT 20		    /* unit of base_rtt_least.since: 2^20 ns */
#define BASE_RTT_HOLD_NS (2 * NSEC_PER_SEC) /* more than the second between two looks, and covers a late look */
#define BASE_RTT_FRESH_NS (BASE_RTT_HOLD_NS + 3 * NSEC_PER_SEC / 2)
#define BASE_RTT_WINDOW_NS (8 * NSEC_PER_SEC)
#define BASE_RTT_LOOKS 3 /* looks at flows with new samples, in a window */
#define BASE_RTT_STEP 16 /* T stays while it is off by less than this part of it */
#define BASE_RTT_OFF 4	 /* a configured T that is off by more than this part is reported */
/* The rest of a window, a whole one, and the samples that flows keep from before. */
#define BASE_RTT_BOUND_NS (2 * BASE_RTT_WINDOW_NS + BASE_RTT_FRESH_NS + NSEC_PER_SEC)

/*
 * The least T that is in force where base_rtt is auto: the time of 10 packets at the own port, so that W_init is no less
 * than TCP's first window (RFC 6928). On a slow port a measured T is little more than two packets and their delayed ACK
 * take there: four packets, and the bursts of requests do not share so few. At 100 Mbit/s 8 connections that ask for
 * 4 KB in turn got 1612 answers a second with the 0.49 ms that were measured, 2022 with 2 ms (plain: 2005).
 */
#define BASE_RTT_FLOOR_PACKETS 10

static inline __u64 base_rtt_floor_ns(__u64 port_bps, __u32 packet_bytes)
{
	__u64 t = port_bps ? BASE_RTT_FLOOR_PACKETS * (__u64)packet_bytes * 8 * NSEC_PER_SEC / port_bps : 0;

	return t < BASE_RTT_MAX_NS ? t : BASE_RTT_MAX_NS;
}

/*
 * T until there is a first round trip: the same, but no less than 10 us, because no round trip through two kernels is
 * shorter. If the real T is longer a flow gets less than its share for the moment, but makes no queue, as it would with
 * a T that is too long.
 */
#define BASE_RTT_START_NS 10000U

static inline __u64 base_rtt_start_ns(__u64 port_bps, __u32 packet_bytes)
{
	__u64 t = base_rtt_floor_ns(port_bps, packet_bytes);

	return t < BASE_RTT_START_NS ? BASE_RTT_START_NS : t;
}

struct base_rtt_sample {
	__u32 most_ns;	/* T is not longer; 0: nothing is known */
	__u32 least_ns; /* T is not shorter; BASE_RTT_NONE: nothing is known */
};

/*
 * The bounds on T from a round trip of rtt_ns > 0 of a small packet or a full one; a full one has packet_bytes, and the
 * own port sends at port_bps. told: the hops of ack are those of its path; otherwise queue_ns is the time in its
 * queues, or BASE_RTT_NONE. Packets are below 2^17 bytes and queues below 2^27: the products are below 2^60.
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

/* The smallest sample of a flow. */
struct base_rtt_least {
	struct base_rtt_sample ns;
	__u32 since; /* time of the first sample, units of 2^20 ns */
	__u32 pad;
};

static inline __u32 base_rtt_units(__u64 ns)
{
	return ns >> BASE_RTT_UNIT_SHIFT;
}

/*
 * Keeps the shorter round trip with its own least_ns: it met the shortest queue, and over-reported that queue the
 * least.
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

/* The measured T of a prefix. All zero: nothing was measured. */
struct base_rtt {
	__u64 t_ns;		     /* T as measured; 0: not yet */
	__u64 low_ns;		     /* the smallest T so far */
	__u64 tick_ns, window_ns;    /* time of the last tick, and start of the window */
	struct base_rtt_sample seen; /* smallest since window_ns; most_ns 0: nothing */
	__u32 looks;		     /* ticks that saw a flow with new samples and a lower bound */
	__u32 looked;		     /* 1: this tick saw one */
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
 * Takes a flow's smallest sample. blind: on a path that reports no queues. T then grows only from samples taken while
 * the flow sent as little as it may, and to at most twice the smallest T: a queue there looks like a longer path.
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

/* Once a second, after the looks. T is moved into the measured bounds, and no further than needed. */
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

/* Whether a configured T differs by more than a quarter from measured_ns, which is not 0. */
static inline int base_rtt_is_off(__u64 t_ns, __u64 measured_ns)
{
	__u64 off = t_ns > measured_ns ? t_ns - measured_ns : measured_ns - t_ns;

	return off > measured_ns / BASE_RTT_OFF;
}

#endif
