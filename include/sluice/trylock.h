/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TRYLOCK_H
#define SLUICE_TRYLOCK_H
/*
 * A lock in a map, between CPUs and the daemon: the time at which it was taken, 0 while it is free. Nobody waits for
 * it: a packet that finds it taken leaves its work to the next packet. The lock of a holder that is gone is broken
 * after TRYLOCK_NS: so the protected data must be sound in any mixture of two writers, though it may be wrong once.
 */
#include "sluice/once.h"
#include "sluice/types.h"

#define TRYLOCK_NS (1U << 20) /* longer than any packet holds one */

enum trylock {
	TRYLOCK_TAKEN, /* another holder has it */
	TRYLOCK_OURS,
	TRYLOCK_BROKEN, /* taken from a holder that is gone: it is ours */
};

/* now_ns: CLOCK_MONOTONIC, > 0. */
static inline enum trylock trylock_enter(__u64 *lock_ns, __u64 now_ns)
{
	__u64 since = READ_ONCE(*lock_ns);

	/* Another CPU's clock may be a little ahead. */
	if (since && now_ns - since < 1ULL << 63 && now_ns - since < TRYLOCK_NS)
		return TRYLOCK_TAKEN;
	if (since && since - now_ns < TRYLOCK_NS)
		return TRYLOCK_TAKEN;
	if (__sync_val_compare_and_swap(lock_ns, since, now_ns) != since)
		return TRYLOCK_TAKEN;
	return since ? TRYLOCK_BROKEN : TRYLOCK_OURS;
}

/* now_ns: as passed to trylock_enter(). A lock that was broken meanwhile belongs to another holder, and stays taken. */
static inline void trylock_leave(__u64 *lock_ns, __u64 now_ns)
{
	__sync_val_compare_and_swap(lock_ns, now_ns, 0);
}

#endif
