/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PACER_BPF_H
#define SLUICE_PACER_BPF_H
/*
 * The departure clock of sluice/pacer.h, shared by the CPUs that send packets of one flow.
 *
 * The race: two CPUs read the same clock, and both depart at it. It costs bandwidth (two packets in
 * the time of one), so the clock is moved by compare-and-swap and the loser tries again with what
 * the winner left. After PACER_TRIES losses in a row the packet leaves unpaced and is counted
 * (clock_lost): a confused clock must not hold traffic back.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/pacer.h"

#define PACER_TRIES 8
#define PACER_HORIZON_NS (10 * 1000 * 1000ULL)

/* Reserves time for bytes at rate_bps; returns the departure time, or now_ns when contended. */
static inline __u64 pacer_reserve(__u64 *clock_ns, __u64 now_ns, __u64 asked_ns, __u32 bytes,
				  __u64 rate_bps, __u64 horizon_ns)
{
	__u64 cost = pacer_cost_ns(bytes, rate_bps);
	int i;

	for (i = 0; i < PACER_TRIES; i++) {
		__u64 seen = *(volatile __u64 *)clock_ns;
		__u64 t = pacer_departure(now_ns, seen, asked_ns);

		/* Where nothing honours departure times the clock would run away for ever. */
		if (t > now_ns + horizon_ns) {
			stats_count(STAT_HORIZON);
			t = now_ns + horizon_ns;
		}
		if (__sync_val_compare_and_swap(clock_ns, seen, t + cost) == seen)
			return t;
	}
	stats_count(STAT_CLOCK_LOST);
	return now_ns;
}

#endif
