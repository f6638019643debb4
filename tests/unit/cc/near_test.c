// SPDX-License-Identifier: GPL-2.0-only
/* include/sluice/cc/near.h: the window of a flow whose round trips are much shorter than T. */
#include <criterion/criterion.h>
#include "sluice/cc/near.h"

TestSuite(near, .timeout = 60);

#define PACKET 1514
#define MBIT 1000000ULL

Test(near, near_window__is_twice_what_the_round_trip_needs)
{
	/* 300 us at 100 Mbit/s are 3750 bytes; W of a T of 15 ms is 187500. */
	cr_expect_eq(near_window_bytes(100 * MBIT, 300, PACKET), 2 * (3750 + 4 * PACKET));
	cr_expect_eq(near_window_bytes(50 * MBIT, 300, PACKET), 2 * (1875 + 4 * PACKET), "by R, not by the port");
	cr_expect_eq(near_window_bytes(0, 300, PACKET), 8 * PACKET, "a flow can always send");
}

Test(near, near_window__has_no_limit_without_a_round_trip)
{
	cr_expect_eq(near_window_bytes(100 * MBIT, 0, PACKET), ~0ULL);
	cr_expect_lt(near_window_bytes((1ULL << 44) - 1, (1U << 29) - 1, PACKET), ~0ULL);
	cr_expect_gt(near_window_bytes((1ULL << 44) - 1, (1U << 29) - 1, PACKET), 1ULL << 51, "no product wraps");
}

/* W = R * T with T as base_rtt.h measures it: the round trip of a small packet, and four packet times. */
Test(near, near_window__is_beyond_w_if_t_is_right)
{
	static const __u64 speeds[] = { 10 * MBIT, 100 * MBIT, 1000 * MBIT, 25000 * MBIT, 400000 * MBIT };
	unsigned int i, us;

	for (i = 0; i < sizeof(speeds) / sizeof(*speeds); i++)
		for (us = 1; us < 1000000; us *= 3) {
			double w = speeds[i] / 8e6 * us + BASE_RTT_PACKETS_SMALL * PACKET;

			cr_expect_geq(near_window_bytes(speeds[i], us, PACKET), w, "%llu bit/s, %u us", speeds[i], us);
		}
}
