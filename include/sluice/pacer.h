/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PACER_H
#define SLUICE_PACER_H
/*
 * The departure clock: a virtual clock that says when the next byte of a flow may leave.
 *
 * A packet departs at max(now, clock) and moves the clock on by its bytes at the rate R. An idle
 * clock lies in the past and is simply overtaken: no credit is saved up, so a flow that comes back
 * does not burst. The clock is one 64-bit word that CPUs share by compare-and-swap; see
 * pacer_reserve() in bpf/host/departure.bpf.h for the race and how it ends.
 */
#include "sluice/types.h"

/* Nanoseconds that bytes take at rate_bps; 0 for an unlimited rate (0). 2^20 bytes * 8*10^9 < 2^54. */
static inline __u64 pacer_cost_ns(__u32 bytes, __u64 rate_bps)
{
	return rate_bps ? (__u64)bytes * 8 * NSEC_PER_SEC / rate_bps : 0;
}

/* When a packet may leave: not before now, the clock, or a time that the stack already asked for. */
static inline __u64 pacer_departure(__u64 now_ns, __u64 clock_ns, __u64 asked_ns)
{
	__u64 t = clock_ns > now_ns ? clock_ns : now_ns;

	return asked_ns > t ? asked_ns : t;
}

/* R in kbit/s, at least 1; 0 stays 0. */
static inline __u32 pacer_kbps(__u64 rate_bps)
{
	__u64 kbps = rate_bps / 1000;

	return kbps >> 32 ? ~0U : kbps ?: !!rate_bps;
}

/* A gap that was computed at an R of was_kbps, at is_kbps, not 0. 4 s and more stay. */
static inline __u64 pacer_rescaled_gap(__u64 gap_ns, __u32 was_kbps, __u32 is_kbps)
{
	return was_kbps == is_kbps || gap_ns >> 32 ? gap_ns : gap_ns * was_kbps / is_kbps;
}

/* A clock that is ahead of now_ns, after R has changed: what it has reserved takes longer, or less long. */
static inline __u64 pacer_rescaled(__u64 now_ns, __u64 clock_ns, __u32 was_kbps, __u32 is_kbps)
{
	return clock_ns > now_ns ? now_ns + pacer_rescaled_gap(clock_ns - now_ns, was_kbps, is_kbps) : clock_ns;
}

/*
 * The wait of a packet that departs at `at_ns`. An absurd time means no wait: one further ahead than UDP can bring
 * its clock, by 8 s of SO_TXTIME, twice a horizon of 1 s, 10 s for credit, and the cost of its last packet. That is
 * about 48 s for 64 KB of UDP_SEGMENT at the lowest R, a segment of 1500 bytes in a T of 1 s.
 */
#define PACER_WAIT_MAX_NS (1ULL << 36)

static inline __u64 pacer_wait_ns(__u64 now_ns, __u64 at_ns)
{
	return at_ns > now_ns && at_ns - now_ns < PACER_WAIT_MAX_NS ? at_ns - now_ns : 0;
}

#endif
