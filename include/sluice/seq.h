/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SEQ_H
#define SLUICE_SEQ_H
/*
 * The sequence clock: CLOCK_MONOTONIC and a base that makes it real time (bpf/host/auth.bpf.h). Receivers keep the
 * highest sequence, so one wrong clock reading could silence a host for as long as the error.
 *
 *  1. A receiver ignores the sequence of a message from more than SEQ_AHEAD_NS ahead of its own clock.
 *  2. A base in use follows the clock forward, by at most that. It never goes back, and it does not leap: a clock that
 *     leaps is wrong as often as right. A fresh start takes the clock as it is.
 *  3. A base also moves forward, by any step, to what a peer holds of this host: its clock was ahead in an earlier life,
 *     and every message of this one would be old there until it has caught up. Only the answer to a PROBE of ours says
 *     so (ingress_held()), and never further than SEQ_AHEAD_NS beyond the clock, where peers no longer believe it. So
 *     no peer ever accepts a sequence below its newest.
 *  4. A clock before SEQ_SET_NS was never set, as without a battery before NTP. From there the base leaps.
 */
#include "sluice/once.h"
#include "sluice/types.h"
#include "sluice/verifier.h"

#define SEQ_AHEAD_NS (24 * 3600 * NSEC_PER_SEC)
#define SEQ_SET_NS (1767225600 * NSEC_PER_SEC) /* 2026-01-01: Sluice is no older */

/* Whether a sequence is too far ahead to be learnt. own_ns: the sequence that a message of this host would have now. */
static inline int seq_is_future(__u64 seq, __u64 own_ns)
{
	return seq > own_ns + SEQ_AHEAD_NS;
}

/* Whether a base that makes sequences of own_ns, when the clock reads real_ns, moves to make newest_ns. */
static inline int seq_base_catches_up(__u64 newest_ns, __u64 own_ns, __u64 real_ns)
{
	return newest_ns > own_ns && !seq_is_future(newest_ns, real_ns);
}

#define SEQ_TRIES 4

/*
 * Makes seq the newest, by compare-and-swap, if it exceeds *newest or, while that is 0, floor. Returns whether it did.
 * *seen: the newest before, or the current one if 0 is returned. If other CPUs are faster SEQ_TRIES times, *newest has
 * grown as often: seq then counts as old.
 */
VERIFIED_ONCE int seq_take(__u64 *newest, __u64 floor, __u64 seq, __u64 *seen)
{
	__u64 old;
	int i;

	if (!newest || !seen)
		return 0;
	for (i = 0; i < SEQ_TRIES; i++) {
		old = READ_ONCE(*newest);
		*seen = old;
		if (seq <= (old ?: floor))
			return 0;
		if (__sync_val_compare_and_swap(newest, old, seq) == old)
			return 1;
	}
	return 0;
}

enum seq_move {
	SEQ_STAYS,   /* normal, except when the clock is stepped */
	SEQ_FOLLOWS, /* the base moves forward to the clock */
	SEQ_AHEAD,   /* it stays: the clock is ahead by more than a base moves */
	SEQ_BEHIND,  /* it stays: the clock is so far behind that peers would not believe us if it were right */
};

/* The move of a base that makes sequences of own_ns, when the clock reads real_ns. */
static inline enum seq_move seq_base_move(__u64 own_ns, __u64 real_ns)
{
	if (own_ns < SEQ_SET_NS)
		return real_ns > own_ns ? SEQ_FOLLOWS : SEQ_STAYS;
	if (seq_is_future(real_ns, own_ns))
		return SEQ_AHEAD;
	if (seq_is_future(own_ns, real_ns))
		return SEQ_BEHIND;
	return real_ns > own_ns ? SEQ_FOLLOWS : SEQ_STAYS;
}

#endif
