/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PAUSE_QDISC_H
#define SLUICE_PAUSE_QDISC_H
/*
 * Pauses (sluice/pause/pfc.h) that the qdisc `sluice` obeys when a packet is about to leave. A departure time cannot be
 * taken back, so with fq a pause that XON ends early goes on for the packets that it has delayed, and one that begins does
 * not hold packets that are queued already. In the qdisc both take effect at once:
 *
 *   PFC frame -> ingress: struct queue_pauses of the port -> qdisc: flows whose first packet is of a paused priority wait
 *
 * The map has an entry for each interface with such a qdisc, made by the qdisc itself. Where there is none, or the qdisc
 * is of an older version, egress finds no entry and delays the packets as with fq.
 *
 * Nothing tells a qdisc that XON has come: while flows wait it looks after QUEUE_PAUSE_POLL_NS at the latest.
 */
#include "sluice/once.h"
#include "sluice/pause/pfc.h"
#include "sluice/types.h"

#define QUEUE_PAUSE_POLL_NS (50 * 1000ULL)

struct queue_pauses {
	__u64 until_ns
		[PFC_PRIORITIES]; /* when the pause of a priority ends, CLOCK_MONOTONIC; in the past: there is none */
	__u64 qdiscs;		  /* of this interface; several below mq */
};

/* The classes in wanted (bit n: priority n) that are not paused. */
static inline __u32 queue_pauses_over(const struct queue_pauses *p, __u32 wanted, __u64 now_ns)
{
	__u32 i, over = 0;

	for (i = 0; i < PFC_PRIORITIES; i++)
		if (READ_ONCE(p->until_ns[i]) <= now_ns)
			over |= 1U << i;
	return over & wanted;
}

/* When to look again whether one of the priorities in wanted has resumed; wanted is not 0. */
static inline __u64 queue_pauses_next_ns(const struct queue_pauses *p, __u32 wanted, __u64 now_ns)
{
	__u64 next_ns = now_ns + QUEUE_PAUSE_POLL_NS, until_ns;
	__u32 i;

	for (i = 0; i < PFC_PRIORITIES; i++) {
		until_ns = READ_ONCE(p->until_ns[i]);
		if (wanted >> i & 1 && until_ns < next_ns)
			next_ns = until_ns;
	}
	return next_ns > now_ns ? next_ns : now_ns;
}

#endif
