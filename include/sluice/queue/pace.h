/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_PACE_H
#define SLUICE_QUEUE_PACE_H
/*
 * Departures that follow R while packets wait.
 *
 * Egress gives a packet a departure time by its flow's clock, at the R of that moment. The queue keeps how far it is behind
 * the packet in front of it, and when that has left, changes the gap by what R has become since:
 *
 *      arrives at R0       gap = its departure - that of the packet in front    pace_enter()
 *      comes to the front  departure = that of the last one + gap * R0 / R      pace_front()
 *
 * R is that of the newest packet of the flow. Egress's clock changes with R in the same way (pacer_rescale()), so the two
 * agree about how long the flow still waits. A packet that has no R (TCP that paces itself, SO_TXTIME, a pause)
 * leaves at its departure time, or with the packet in front if that is later.
 *
 * After R has fallen a datagram may wait for longer than it was allowed to: it is dropped when it comes to the front,
 * unless it is the last one of its flow. So UDP never waits beyond its horizon, at whatever R.
 *
 * A pause (pause/qdisc.h) makes the flow late against egress's clock, which does not know of it. The flow catches up at no
 * more than 2R, instead of sending all that became due in the pause at once; and no packet is stale because of a pause.
 */
#include "sluice/pacer.h"

struct pace {
	__u64 left_ns;	 /* departure of the last packet that has left */
	__u64 tail_ns;	 /* departure of the last packet that came, by egress's clock at R */
	__u64 late_ns;	 /* how far it is behind egress's clock, because of pauses */
	__u64 paused_ns; /* of all pauses so far */
	__u64 kbps;	 /* R of the newest packet that has one; 0: none had */
};

/* The wait of a packet, fixed when it comes. */
struct pace_gap {
	__u64 departure_ns; /* as egress gave it */
	__u64 gap_ns;	    /* behind the packet in front of it; 0 without kbps */
	__u64 until_ns;	    /* later it need not leave, pauses not counted; 0: no limit */
	__u64 kbps;	    /* R by which it was computed; 0: departure_ns stands */
};

/*
 * Takes a packet that comes at now_ns and is to leave at departure_ns. kbps: R behind that, 0: none; patience_ns: how
 * long it may wait, 0: no limit.
 */
static inline void pace_enter(struct pace *p, struct pace_gap *g, __u64 now_ns, __u64 departure_ns, __u32 kbps,
			      __u64 patience_ns)
{
	if (kbps && p->kbps && kbps != p->kbps)
		p->tail_ns = pacer_rescaled(now_ns, p->tail_ns, p->kbps, kbps);
	if (kbps)
		p->kbps = kbps;
	g->departure_ns = departure_ns;
	g->kbps = kbps;
	g->gap_ns = kbps && departure_ns > p->tail_ns ? departure_ns - p->tail_ns : 0;
	g->until_ns = patience_ns ? now_ns + patience_ns + p->late_ns - p->paused_ns : 0;
	if (departure_ns > p->tail_ns)
		p->tail_ns = departure_ns;
}

/* When the packet leaves that comes to the front. */
static inline __u64 pace_front(struct pace *p, const struct pace_gap *g)
{
	__u64 gap_ns, gain_ns;

	if (!g->kbps)
		return g->departure_ns > p->left_ns ? g->departure_ns : p->left_ns;
	gap_ns = pacer_rescaled_gap(g->gap_ns, g->kbps, p->kbps);
	gain_ns = p->late_ns < gap_ns / 2 ? p->late_ns : gap_ns / 2;
	p->late_ns -= gain_ns;
	return p->left_ns + gap_ns - gain_ns;
}

/* A pause that held the first packet, due at first_ns, ends. Returns when it leaves now. */
static inline __u64 pace_resume(struct pace *p, __u64 first_ns, __u64 now_ns)
{
	if (first_ns >= now_ns)
		return first_ns;
	p->late_ns += now_ns - first_ns;
	p->paused_ns += now_ns - first_ns;
	return now_ns;
}

/* Whether a packet at the front that would leave at departure_ns is dropped. others: packets behind it. */
static inline int pace_is_stale(const struct pace *p, __u64 until_ns, __u64 departure_ns, __u64 others)
{
	return others && until_ns && departure_ns - p->paused_ns > until_ns;
}

#endif
