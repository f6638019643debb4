// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "sluice/pacer.h"

TestSuite(pacer, .timeout = 20);

Test(pacer, pacer_cost_ns__is_the_time_on_the_wire)
{
	cr_expect_eq(pacer_cost_ns(1500, 1000000000), 12000);
	cr_expect_eq(pacer_cost_ns(1514, 100000000), 121120);
	cr_expect_eq(pacer_cost_ns(65536, 100000000000), 5242);
	cr_expect_eq(pacer_cost_ns(1, 8), NSEC_PER_SEC);
	cr_expect_eq(pacer_cost_ns(0, 1000), 0);
}

Test(pacer, pacer_cost_ns__is_nothing_without_a_limit)
{
	cr_expect_eq(pacer_cost_ns(1500, 0), 0);
}

Test(pacer, pacer_cost_ns__holds_the_largest_packet_at_the_lowest_rate)
{
	cr_expect_eq(pacer_cost_ns(1 << 20, 1), (8 * NSEC_PER_SEC) << 20);
}

Test(pacer, pacer_departure__is_the_latest_of_three)
{
	cr_expect_eq(pacer_departure(300, 200, 100), 300, "an idle clock is overtaken");
	cr_expect_eq(pacer_departure(200, 300, 100), 300, "a busy clock delays");
	cr_expect_eq(pacer_departure(100, 200, 300), 300, "the stack's own time is kept");
	cr_expect_eq(pacer_departure(100, 300, 200), 300);
	cr_expect_eq(pacer_departure(200, 100, 300), 300);
	cr_expect_eq(pacer_departure(300, 100, 200), 300);
	cr_expect_eq(pacer_departure(7, 7, 7), 7);
	cr_expect_eq(pacer_departure(5, 0, 0), 5, "neither clock nor wish");
}

Test(pacer, pacer_wait_ns__of_a_wild_time_is_none)
{
	cr_expect_eq(pacer_wait_ns(1000, 1000), 0);
	cr_expect_eq(pacer_wait_ns(1000, 999), 0);
	cr_expect_eq(pacer_wait_ns(1000, 0), 0);
	cr_expect_eq(pacer_wait_ns(1000, 1001), 1);
	cr_expect_eq(pacer_wait_ns(1000, 999 + PACER_WAIT_MAX_NS), PACER_WAIT_MAX_NS - 1);
	cr_expect_eq(pacer_wait_ns(1000, 1000 + PACER_WAIT_MAX_NS), 0);
	cr_expect_eq(pacer_wait_ns(1000, ~0ULL), 0);
}

/* A flow that sends at once, pauses, and sends again: no credit from the pause. */
Test(pacer, pacer_departure__saves_up_no_credit)
{
	__u64 clock = 0, now = 1000, last = 0, t;
	int i;

	for (i = 0; i < 10; i++) {
		t = pacer_departure(now, clock, 0);
		cr_expect_eq(t, 1000 + 12000ULL * i);
		clock = t + pacer_cost_ns(1500, 1000000000);
		last = t;
	}
	now = last + NSEC_PER_SEC;
	for (i = 0; i < 10; i++) {
		t = pacer_departure(now, clock, 0);
		cr_expect_eq(t, now + 12000ULL * i, "packet %d after the pause", i);
		clock = t + pacer_cost_ns(1500, 1000000000);
	}
}

/* The long run keeps to the rate: rounding down may not add up to more than a nanosecond each. */
Test(pacer, pacer_cost_ns__keeps_the_rate_in_the_long_run)
{
	__u64 rate = 97300000, clock = 0, bits = 0;
	int i;

	for (i = 0; i < 100000; i++) {
		clock += pacer_cost_ns(1514, rate);
		bits += 1514 * 8;
	}
	cr_expect_float_eq((double)bits * NSEC_PER_SEC / clock / rate, 1, 1e-4);
}
