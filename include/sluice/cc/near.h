/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NEAR_H
#define SLUICE_NEAR_H
/*
 * The congestion window of a socket whose round trips are much shorter than T.
 *
 *  1. W = R * T is what is under way if a round trip takes T. If it takes less, R alone holds the flow, and the rest of
 *     W only lets the stack send more at once: to a peer within 0.5 ms Linux makes GSO packets of 64 KB, or of half its
 *     window, whatever the pacing rate is.
 *  2. If the sender's link is faster than the bottleneck, such a packet is a queue there, and every companion reports
 *     it, because companions leave behind data. One flow at 100 Mbit/s with a T of 15 ms and round trips of 0.3 ms sent
 *     64 KB every 8 ms: its companions found 60 KB, and U was .95 at an R of 65 Mbit/s.
 *  3. So the window is at most twice what R needs for the round trip and for the packet times that T has beyond it
 *     (base_rtt.h), and half as much beyond what is under way (tcp_cc.bpf.h). If T is right W is below that. R, Wc and
 *     U stay those of Algorithm 1.
 */
#include "sluice/types.h"
#include "sluice/cc/base_rtt.h"

#define NEAR_FACTOR 2

/*
 * The largest window, in bytes, of a flow with pacing rate R and smoothed round trips of rtt_us; ~0, no limit, if none
 * was measured yet. R < 2^44 bit/s and a round trip of less than 2^29 us: the product is below 2^60.
 */
static inline __u64 near_window_bytes(__u64 rate_bps, __u32 rtt_us, __u32 packet)
{
	__u64 bytes_per_ms = rate_bps / 8000;

	return rtt_us ? NEAR_FACTOR * (bytes_per_ms * rtt_us / 1000 + BASE_RTT_PACKETS_SMALL * (__u64)packet) : ~0ULL;
}

#endif
