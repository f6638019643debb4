/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RIVAL_H
#define SLUICE_RIVAL_H
/*
 * Rivals: flows that share the receiver's port and do not obey Algorithm 1, such as CUBIC's. They fill the queue, and a
 * sender that gives way to a queue gives way to them: 8 flows beside one of CUBIC had 4 % of their share.
 *
 *  1. Algorithm 1 empties a queue of its own flows within a few tens of round trips. One that has stood for RIVAL_NS
 *     and RIVAL_RTTS round trips, of which all but a little, is a rival's.
 *  2. Then W has a floor: with n flows of ours on the port, which its host counts, BDP / (n + 2), and at most four fifths
 *     of BDP / n. Nobody counts the rivals: two are assumed. Together flows leave room, so the queue ends with the rivals, and
 *     the floor with the queue.
 *  3. A window is acknowledged a queue later: TCP has so much more under way, and R holds the flow.
 *  4. Only for flows that somebody paces, and only at the last hop, whose flows the receiver counts.
 */
#include "sluice/cc/hpcc_state.h"

#define RIVAL_NS (250 * 1000 * 1000ULL)
#define RIVAL_RTTS 64
#define RIVAL_PACKETS 3 /* a shorter queue does not stand */
#define RIVAL_GONE 8	/* time without a queue counts as much more as this */

/* Written under the flow's lock. */
struct rival {
	__u64 stood_ns; /* how long the queue has stood of late */
	__u32 queue_ns; /* the queue of the last hop, ns; 0: the floor is off */
	__u32 began;	/* how often the floor was set */
};

/* How long a queue stands before it is a rival's. */
static inline __u64 rival_wait_ns(const struct hpcc_params *p)
{
	return RIVAL_RTTS * p->t_ns > RIVAL_NS ? RIVAL_RTTS * p->t_ns : RIVAL_NS;
}

/*
 * Takes a feedback that came gap_ns after the last one, whose last hop has the speed bps and the queue qlen_bytes; n: flows
 * of ours there, 0: not told. Returns the floor of W; 0: there is none. bps < 2^44, qlen < 2^27.
 */
static inline q12_t rival_floor(struct rival *r, const struct hpcc_params *p, const struct hpcc_hop *hop, __u32 n,
				__u64 gap_ns)
{
	__u64 wait = rival_wait_ns(p), bdp, parts, queue;
	int stands = hop->qlen_bytes >= RIVAL_PACKETS * p->packet;

	if (gap_ns > wait / RIVAL_GONE) /* it paused */
		gap_ns = wait / RIVAL_GONE;
	if (stands)
		r->stood_ns = r->stood_ns + gap_ns < 2 * wait ? r->stood_ns + gap_ns : 2 * wait;
	else
		r->stood_ns -= r->stood_ns < RIVAL_GONE * gap_ns ? r->stood_ns : RIVAL_GONE * gap_ns;
	if (!n || !hop->bps || !r->stood_ns || (!r->queue_ns && r->stood_ns < wait)) {
		r->queue_ns = 0;
		return 0;
	}
	r->began += !r->queue_ns;
	queue = hop->qlen_bytes * NSEC_PER_SEC / (hop->bps / 8 + 1) + 1;
	r->queue_ns = queue < NSEC_PER_SEC ? queue : NSEC_PER_SEC;
	bdp = hpcc_bdp_bytes(hop->bps, p->t_ns);
	parts = 4 * n + 8 > 5 * n ? 4 * n + 8 : 5 * n;
	bdp = 4 * bdp / parts;
	return q12_from_bytes(bdp) < p->w_init ? q12_from_bytes(bdp) : p->w_init;
}

#endif
