/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_RING_H
#define SLUICE_HIERCC_RING_H
/*
 * HierCC (hiercc.h) at the receiver ToR, without a period: credit is granted where a packet of a VOQ arrives.
 *
 *  1. hiercc_ring_enter(): one CPU at a time holds a port's ring, and only while the daemon's lease runs. A packet that
 *     finds it taken does not wait: the next one carries all that it would have told.
 *  2. hiercc_ring_clock(): the port's credit advances by the real time passed, one round trip at most.
 *  3. hiercc_ring_learn(): S, F and the arrived bytes are judged, and the VOQ enters the ring if it is due credit.
 *  4. hiercc_ring_next() and hiercc_ring_grant(), HIERCC_STEPS times at most: the WRR of hiercc_grant(), in two queues of fixed
 *     size. Between the two the caller looks up the hiercc_due of the number: the daemon and the data plane do so in
 *     different ways.
 *  5. Totals ride on the next packet back to that rack. hiercc_ring_untold() and hiercc_ring_tells(): per packet, one
 *     VOQ that has not heard of its credit is told by a message. Without that one in ten of the bursts of
 *     tests/sim/scenarios/racks.yaml left a long flow waiting for the daemon's round.
 *  6. hiercc_ring_leave().
 *
 * The daemon runs the same steps in its round, for VOQs without further arrivals. A ring holds only numbers: two CPUs
 * at one port, after a lock was broken, can lose a VOQ or have it twice, but never read or grant anything that is not
 * theirs; hiercc_ring_clear() and each VOQ's next packet put it right.
 *
 * A VOQ is granted at most its arrived bytes and C0, which is one round trip: S may claim more, and the excess has to
 * arrive first (hiercc_due.held).
 */
#include "sluice/rack/hiercc_grant.h"
#include "sluice/verifier.h"
#include "sluice/trylock.h"

#define HIERCC_RING 256		    /* VOQs that are due credit from one port at once, a power of two */
#define HIERCC_STEPS 4		    /* VOQs that one packet grants credit to */
#define HIERCC_SLICE_MAX (1U << 17) /* RX_FLOWS_MAX of them are below 2^32 */
#define HIERCC_QUIET 4 /* parts of a round of credit: a VOQ that heard nothing for one part is told by a message */

/* VOQs waiting for their turn. */
struct hiercc_queue {
	__u32 first, count; /* positions in slot, modulo HIERCC_RING */
	__u32 slot[HIERCC_RING];
};

/* The credit that a VOQ has heard of; starts as zeros, owned by the holder of its port's ring. */
struct hiercc_told {
	__u64 granted, at_ns;
	__u32 waits; /* it is in hiercc_ring.untold */
	__u32 pad;
};

/* A downstream port; starts with hiercc_ring_init(). All except lock_ns and lease_ns belongs to the holder of the lock. */
struct hiercc_ring {
	__u64 lock_ns;	   /* when the current holder took it; 0: free */
	__u64 lease_ns;	   /* daemon: packets may grant until then */
	__u64 clock_ns;	   /* the time up to which credit was counted; 0: none yet */
	__u64 most_ns;	   /* daemon: most time counted at once, < HIERCC_NS_MAX */
	__u64 rate;	   /* daemon: speed times eta, bytes/s, < HIERCC_RATE_MAX */
	__u64 budget;	   /* bytes that may be granted now */
	__u64 rest;	   /* fraction of a byte of budget, in 10^-9 */
	__u64 turned_away; /* packets whose VOQ found the ring full */
	__u64 broken;	   /* locks broken because their CPU was gone */
	__u64 jumps;	   /* times at which the clock went back, or jumped by more than most_ns while credit was due */
	__u32 delta;	   /* daemon: one credit, bytes */
	__u32 slice;	   /* most that one step grants at this packet */
	__u32 round;	   /* > 0 */
	__u32 turn;	   /* the queue of the VOQs still in this round; the other queue has those that are done */
	__u32 credit;	   /* of this round, bytes: delta, or more if packets come in bulk (GRO): steps are few */
	__u32 pad;
	struct hiercc_queue queue[2];
	struct hiercc_queue untold; /* VOQs with credit that they have not heard of */
};

static inline void hiercc_ring_init(struct hiercc_ring *r, __u64 rate, __u64 most_ns, __u32 delta)
{
	__u64 lease_ns = r->lease_ns;

	*r = (struct hiercc_ring){ .lease_ns = lease_ns,
				   .rate = rate < HIERCC_RATE_MAX ? rate : HIERCC_RATE_MAX - 1,
				   .most_ns = most_ns < HIERCC_NS_MAX ? most_ns : HIERCC_NS_MAX - 1,
				   .delta = delta,
				   .round = 1 };
}

/* Sets a new port speed. Outstanding credit was granted at the old speed, and so is the rest of the budget. */
static inline void hiercc_ring_speed(struct hiercc_ring *r, __u64 rate)
{
	if (rate != r->rate)
		r->budget = r->rest = 0;
	r->rate = rate < HIERCC_RATE_MAX ? rate : HIERCC_RATE_MAX - 1;
}

/* Returns whether the caller now holds the ring; it then calls hiercc_ring_leave() with the same time, which is > 0. */
static inline int hiercc_ring_enter(struct hiercc_ring *r, __u64 now_ns)
{
	enum trylock got = trylock_enter(&r->lock_ns, now_ns);

	r->broken += got == TRYLOCK_BROKEN;
	return got != TRYLOCK_TAKEN;
}

/* Does nothing for a holder whose lock was broken. */
static inline void hiercc_ring_leave(struct hiercc_ring *r, __u64 now_ns)
{
	trylock_leave(&r->lock_ns, now_ns);
}

/* Whether the daemon lets packets grant: not after it has died or stopped. */
static inline int hiercc_ring_leased(const struct hiercc_ring *r, __u64 now_ns)
{
	__u64 until = READ_ONCE(r->lease_ns);

	return until > now_ns;
}

static inline __u32 hiercc_ring_due(const struct hiercc_ring *r)
{
	return r->queue[0].count + r->queue[1].count;
}

/*
 * Advances the budget for the time passed, when `bytes` have arrived in one packet: credit that nobody was due is not
 * saved up, except for one and for the time that this packet took to arrive. If the clock goes back it counts nothing
 * until it catches up, or restarts there after more than most_ns.
 */
static inline void hiercc_ring_clock(struct hiercc_ring *r, __u64 now_ns, __u32 bytes)
{
	__u64 passed = now_ns - r->clock_ns, more, slice;
	__u32 due = hiercc_ring_due(r);

	if (now_ns < r->clock_ns) {
		if (r->clock_ns - now_ns > r->most_ns) {
			r->jumps++;
			r->clock_ns = now_ns;
		}
		passed = 0;
	} else {
		if (passed > r->most_ns) {
			r->jumps += due != 0;
			passed = r->most_ns;
		}
		r->clock_ns = now_ns;
	}
	passed = passed < HIERCC_NS_MAX ? passed : HIERCC_NS_MAX - 1;
	more = r->rate * passed + r->rest; /* < 2^37 * 2^26 + 2^30 */
	r->budget += more / NSEC_PER_SEC;
	r->rest = more % NSEC_PER_SEC;
	bytes = bytes < HIERCC_BYTES_MAX ? bytes : HIERCC_BYTES_MAX - 1;
	if (!due && r->budget > r->delta + bytes)
		r->budget = r->delta + bytes;
	/* Budget beyond most_ns is dropped: steps are bounded, so it would not be used for long. */
	more = r->rate * r->most_ns / NSEC_PER_SEC + r->delta;
	r->budget = r->budget < more ? r->budget : more;
	slice = r->delta ? r->budget / (HIERCC_STEPS * (__u64)r->delta) * r->delta : 0;
	r->slice = slice > r->delta ? slice : r->delta;
}

/* Returns whether there was room. */
static inline int hiercc_queue_put(struct hiercc_queue *q, __u32 i)
{
	if (q->count >= HIERCC_RING)
		return 0;
	q->slot[(q->first + q->count++) & (HIERCC_RING - 1)] = i;
	return 1;
}

/* Appends: all others have their turn first. A VOQ that comes back in a round has the rest of its turn. */
static inline void hiercc_ring_enlist(struct hiercc_ring *r, struct hiercc_due *d, __u32 i)
{
	__u32 queue = r->turn ^ (d->round == r->round && !d->turn);

	if (d->listed)
		return;
	VERIFIER_FORGET(
		queue); /* Linux 6.1 loses the range of the exclusive or, and clang the mask of what it can prove */
	/* Both have room for all: a VOQ that is done moves from one to the other. */
	if (hiercc_ring_due(r) >= HIERCC_RING || !hiercc_queue_put(&r->queue[queue & 1], i)) {
		r->turned_away++;
		return;
	}
	d->listed = 1;
}

/* Bytes that a VOQ may be granted now. < HIERCC_BYTES_MAX plus what is late */
static inline __u64 hiercc_ring_owed(const struct hiercc_due *d)
{
	__u64 most = d->sent - d->held;

	return most > d->granted ? most - d->granted : 0;
}

/*
 * Judges the notes on VOQ i, d, which is then in the ring if it is due credit. To be called after hiercc_ring_clock().
 */
static inline enum hiercc_claim hiercc_ring_learn(struct hiercc_ring *r, struct hiercc_due *d, __u32 i,
						  const struct hiercc_params *p, const struct hiercc_seen *seen,
						  __u64 now_ns)
{
	enum hiercc_claim verdict = hiercc_judge(d, p, seen, now_ns, r->budget);
	__u64 owed = hiercc_ring_owed(d);

	if (verdict == HIERCC_FIRST) /* C0 that it may have used before, which did not arrive here */
		d->unseen = owed > seen->bytes ? owed - seen->bytes : 0;
	d->held = d->unseen > p->c0 ? d->unseen - p->c0 : 0;
	if (hiercc_ring_owed(d))
		hiercc_ring_enlist(r, d, i);
	return verdict;
}

/* The VOQ in turn, for which hiercc_ring_grant() is called next; HIERCC_NONE: no VOQ is due, or no credit is left. */
static inline __u32 hiercc_ring_next(struct hiercc_ring *r)
{
	struct hiercc_queue *q;
	__u32 i, most;

	if (!r->queue[r->turn & 1].count) {
		r->turn = !r->turn;
		r->round++;
		r->round += !r->round;
		most = r->delta ? HIERCC_SLICE_MAX / r->delta * r->delta : 0;
		r->credit = r->slice < most ? r->slice : most;
	}
	q = &r->queue[r->turn & 1];
	if (q->count > HIERCC_RING) /* two CPUs were here */
		q->count = 0;
	if (!q->count || r->budget < r->delta)
		return HIERCC_NONE;
	i = q->slot[q->first & (HIERCC_RING - 1)];
	q->first = (q->first + 1) & (HIERCC_RING - 1);
	q->count--;
	return i;
}

/*
 * Grants its credit: a turn of F credits a round, a slice at a time. Returns the bytes. The credit of a round is the
 * slice with which it began: otherwise a VOQ of one flow whose packets came 64 KB at a time was granted 4 KB with each.
 */
static inline __u32 hiercc_ring_grant(struct hiercc_ring *r, struct hiercc_due *d, __u32 i)
{
	__u64 owed = hiercc_ring_owed(d), bytes;

	d->listed = 0;
	if (d->round != r->round) {
		d->round = r->round;
		d->turn = d->flows * (r->credit ? r->credit : r->delta); /* < 2^14 * 2^17 */
	}
	/* Whole credits. */
	bytes = r->delta ? (owed + r->delta - 1) / r->delta * r->delta : 0;
	bytes = bytes < d->turn ? bytes : d->turn;
	bytes = bytes < r->slice ? bytes : r->slice;
	bytes = bytes < r->budget ? bytes : r->budget;
	d->granted += bytes;
	d->turn -= bytes;
	r->budget -= bytes;
	if (hiercc_ring_owed(d))
		hiercc_ring_enlist(r, d, i);
	return bytes;
}

/* Queues a VOQ with credit that it has not heard of: it is told in turn, unless a packet back to its rack comes first. */
static inline void hiercc_ring_note(struct hiercc_ring *r, struct hiercc_told *t, __u32 i)
{
	if (!t->waits && hiercc_queue_put(&r->untold, i))
		t->waits = 1;
}

/* The VOQ for the next hiercc_ring_tells(), or HIERCC_NONE. */
static inline __u32 hiercc_ring_untold(struct hiercc_ring *r)
{
	struct hiercc_queue *q = &r->untold;

	if (q->count > HIERCC_RING)
		q->count = 0;
	return q->count ? q->slot[q->first & (HIERCC_RING - 1)] : HIERCC_NONE;
}

/*
 * Whether that VOQ is to be told now, by a message: it has not heard of all its credit, and heard nothing for quiet_ns.
 * If so, or if it has heard of all, the next VOQ takes its place.
 */
static inline int hiercc_ring_tells(struct hiercc_ring *r, const struct hiercc_due *d, struct hiercc_told *t,
				    __u64 now_ns, __u64 quiet_ns)
{
	struct hiercc_queue *q = &r->untold;
	int heard = t->granted == d->granted;

	if (!heard && now_ns - t->at_ns < quiet_ns)
		return 0;
	q->first = (q->first + 1) & (HIERCC_RING - 1);
	q->count -= q->count != 0;
	t->waits = 0;
	return !heard;
}

/* Its total is under way. */
static inline void hiercc_told(struct hiercc_told *t, const struct hiercc_due *d, __u64 now_ns)
{
	t->granted = d->granted;
	t->at_ns = now_ns;
}

/* Daemon: removes VOQ i, which is freed or has moved to another port. Returns whether it was there. */
static inline int hiercc_ring_drop(struct hiercc_ring *r, struct hiercc_due *d, __u32 i)
{
	__u32 k, n, at, from, found = 0;

	for (k = 0; k < 2; k++) {
		struct hiercc_queue *q = &r->queue[k];

		n = q->count < HIERCC_RING ? q->count : HIERCC_RING;
		for (at = from = 0; from < n; from++) {
			__u32 slot = q->slot[(q->first + from) & (HIERCC_RING - 1)];

			if (slot != i)
				q->slot[(q->first + at++) & (HIERCC_RING - 1)] = slot;
		}
		found += n - at;
		q->count = at;
	}
	d->listed = 0;
	return found != 0;
}

/* Daemon: empties the ring. VOQs that are due enter it with their next packet, once their `listed` is 0. */
static inline void hiercc_ring_clear(struct hiercc_ring *r)
{
	r->queue[0].first = r->queue[0].count = 0;
	r->queue[1].first = r->queue[1].count = 0;
	r->untold.first = r->untold.count = 0;
	r->budget = 0;
}

#endif
