/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_COMPANION_H
#define SLUICE_COMPANION_H
/*
 * When a flow sends a companion: a small packet on the path and in the queue of the flow's data, which collects
 * telemetry in the place of the data (HPCC++, section 6.1, allows such probes).
 *
 *  1. A flow that ends with its first packets sends none.
 *  2. The first companions follow each other after a few packets. U is computed from two of them, and the second one
 *     has to leave before the queue that it reports delays it. In an incast of 16 at 100 Gbit/s the p95 of the queue
 *     was 820 KB if the second one waited for T, 172 KB if it left 8 packets later, and 98 KB with the first four 2
 *     packets apart. With the first eight 2 packets apart it was 265 KB: those after them waited for T too soon.
 *  3. After that one leaves per T, because W is committed once per T. While U is above eta a queue stands, so as many
 *     leave as the packets allow; with a queue of a BDP or more, one behind every second packet. A round trip takes a
 *     little more than T, so a companion that comes back after a commit had left before it and ends no round: if no
 *     other one would end it, one leaves at once. Without that only every second companion committed, and a flow
 *     whose port became free took 30 ms at a T of 4 ms to use it, not 25.
 *  4. A window of less than a few packets would wait for many T, so after two T any packet triggers one. Of 16 flows
 *     on a port of 10 Gbit/s with a T of 30 us the queue's p99 was 39 KB without that, and 8 KB with it, as with
 *     telemetry in each packet.
 *
 * docs/papers.md has the simulations.
 */
#include "sluice/cc/hpcc.h"

#define COMPANION_AFTER 2   /* packets before the first companion of a flow, and between the first ones */
#define COMPANION_PACKETS 8 /* packets between two, later */
#define COMPANION_EARLY 4   /* companions spaced by COMPANION_AFTER */
#define COMPANION_FIRST 8   /* companions that do not wait for T */
#define COMPANION_LATE 2    /* T after which any packet triggers one */

struct companion_params {
	__u64 after;   /* bytes that a flow sends before its first one, and between the first ones */
	__u64 between; /* bytes between two, at least */
	__u64 busy;    /* bytes between two while U is above eta */
	__u64 every_ns;
	__u64 late_ns; /* after this, one is due with any packet; 0: never */
	__u32 first;   /* companions that do not wait for every_ns */
};

struct companion_state {
	__u64 left_ns;	/* when the last one left, by the clock of now_ns */
	__u64 sent;	/* bytes that the flow had sent by left_ns */
	__u32 count;	/* companions that left; saturates */
	__u32 began_us; /* when the flow's data began to leave (first.h), units of 2^10 ns; 0: not yet */
};

/* The defaults, for the size of a full packet as `sent` counts it. */
static inline void companion_params_init(struct companion_params *c, __u32 packet, __u64 t_ns)
{
	*c = (struct companion_params){
		.after = COMPANION_AFTER * (__u64)packet,
		.between = COMPANION_PACKETS * (__u64)packet,
		.busy = COMPANION_PACKETS * (__u64)packet,
		.every_ns = t_ns,
		.late_ns = COMPANION_LATE * t_ns,
		.first = COMPANION_FIRST,
	};
}

/* 1: a queue stands, because U is above eta; 2: it is a BDP or more. */
static inline int companion_is_busy(const struct hpcc_state *cc, const struct hpcc_params *p)
{
	return !cc->hops || cc->u <= p->eta ? 0 : cc->u <= 2 * p->eta ? 1 : 2;
}

/* W was committed after the last one had left: no companion under way ends the round that has begun. */
static inline int companion_is_spent(const struct companion_state *st, const struct hpcc_state *cc)
{
	return cc->last_update_seq >= st->sent;
}

/* Fewest bytes between the last companion and the next one. */
static inline __u64 companion_between(const struct companion_state *st, const struct companion_params *c, int busy)
{
	return st->count < COMPANION_EARLY || busy > 1 ? c->after : busy ? c->busy : c->between;
}

/* Whether a flow that has sent `sent` bytes is to send one now. If `sent` went back (a flow begun anew), one is due. */
static inline int companion_is_due(const struct companion_state *st, const struct companion_params *c,
				   const struct hpcc_state *cc, const struct hpcc_params *p, __u64 sent, __u64 now_ns)
{
	int busy = companion_is_busy(cc, p);
	__u64 ago_ns = now_ns - st->left_ns;

	if (sent <= c->after)
		return 0;
	if (!st->count || (c->late_ns && ago_ns >= c->late_ns))
		return 1;
	return sent - st->sent >= companion_between(st, c, busy) &&
	       (busy || st->count < c->first || ago_ns >= c->every_ns || companion_is_spent(st, cc));
}

/*
 * How long no companion is due, computed when the last one left, so that packets in between need no look at the flow:
 * never past until_ns; up to from_ns in any case, and after that while fewer than `most` bytes were sent in all. This
 * agrees with companion_is_due() as long as U stays on its side of eta and of 2 eta and W is not committed; a caller
 * that sees either change computes it anew.
 */
struct companion_quiet {
	__u64 most;
	__u64 from_ns;
	__u64 until_ns;
};

/* For a flow that has sent its first companion; before that nothing is quiet. */
static inline void companion_quiet_init(struct companion_quiet *q, const struct companion_state *st,
					const struct companion_params *c, const struct hpcc_state *cc,
					const struct hpcc_params *p)
{
	int busy = companion_is_busy(cc, p);

	q->most = st->sent + companion_between(st, c, busy);
	q->from_ns = busy || st->count < c->first || companion_is_spent(st, cc) ? 0 : st->left_ns + c->every_ns;
	q->until_ns = !st->count ? 0 : c->late_ns ? st->left_ns + c->late_ns : ~0ULL;
}

/* Whether none is due with a packet at now_ns that brings the flow's total to `sent` bytes. */
static inline int companion_is_quiet(const struct companion_quiet *q, __u64 sent, __u64 now_ns)
{
	return now_ns < q->until_ns && (sent < q->most || now_ns < q->from_ns);
}

static inline void companion_left(struct companion_state *st, __u64 sent, __u64 now_ns)
{
	st->left_ns = now_ns;
	st->sent = sent;
	st->count += st->count < ~0U;
}

#endif
