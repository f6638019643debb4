// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <stdlib.h>

#include "sluice/queue/voq_clock.h"

TestSuite(voq_clock, .timeout = 20);

#define T0 1000000000ULL
#define PACKET 1514

/* The next packet of bytes leaves: when it has credit. */
static __u64 next(struct voq_clock *c, __u64 bytes)
{
	__u64 at_ns = voq_clock_when_ns(c, bytes);

	voq_clock_take(c, bytes);
	return at_ns;
}

Test(voq_clock, packets_in_order_leave_at_their_times)
{
	struct voq_clock c = {};
	int i;

	cr_expect_eq(voq_clock_when_ns(&c, PACKET), 0, "nothing waits");
	for (i = 0; i < 1000; i++)
		voq_clock_add(&c, T0 + i * 120000ULL, PACKET);
	cr_expect_leq(c.n, 2, "an even rate is one span, behind the first packet");
	for (i = 0; i < 1000; i++) {
		__u64 at_ns = next(&c, PACKET), want = T0 + i * 120000ULL;

		cr_assert(at_ns + 1000 >= want && at_ns <= want + 1, "%d: %lld", i, (long long)(at_ns - want));
	}
	cr_expect_eq(c.n, 0);
}

/* A short packet that comes last uses the credit of the first bytes, and the others wait that much longer. */
Test(voq_clock, one_that_came_last_uses_the_first_credit)
{
	struct voq_clock c = {};
	int i;

	voq_clock_add(&c, T0, 64000);
	for (i = 1; i <= 10; i++)
		voq_clock_add(&c, T0 + i * 5120000ULL, 64000);
	voq_clock_add(&c, T0 + 10 * 5120000ULL + 120000, 1500);
	cr_expect_eq(next(&c, 64000), T0);
	cr_expect_eq(next(&c, 1500), T0 + 120000, "it need not wait for ten others");
	for (i = 1; i <= 10; i++)
		cr_expect_eq(next(&c, 64000) / 1000, (T0 + i * 5120000ULL + 120000) / 1000, "%d", i);
	cr_expect_eq(c.n, 0);
}

Test(voq_clock, bytes_that_are_covered_leave_at_once)
{
	struct voq_clock c = {};

	voq_clock_add(&c, T0, PACKET);
	voq_clock_add(&c, T0, PACKET);
	voq_clock_add(&c, T0 - 5, PACKET);
	cr_expect_eq(c.n, 1);
	cr_expect_eq(voq_clock_when_ns(&c, 3 * PACKET), T0 - 5);
	cr_expect_eq(voq_clock_when_ns(&c, 10 * PACKET), T0 - 5, "more than waits: with the last of them");
	voq_clock_add(&c, T0 + 1000000, PACKET);
	cr_expect_eq(voq_clock_when_ns(&c, 3 * PACKET), T0 - 5, "a later one changes nothing");
	cr_expect_eq(voq_clock_when_ns(&c, 4 * PACKET), T0 + 1000000);
}

/* Credit that comes faster than it was expected to serves all that wait. */
Test(voq_clock, credit_that_comes_early_counts_for_all_that_wait)
{
	struct voq_clock c = {};
	int i;

	for (i = 1; i <= 10; i++)
		voq_clock_add(&c, T0 + i * 1000000ULL, PACKET);
	voq_clock_add(&c, T0 + 3000000, PACKET);
	cr_expect_leq(next(&c, PACKET), T0 + 1000000);
	cr_expect_leq(next(&c, PACKET), T0 + 2000000);
	for (i = 3; i <= 11; i++)
		cr_expect_leq(next(&c, PACKET), T0 + 3000000, "packet %d", i);
	cr_expect_eq(c.n, 0);
}

/* Whatever comes: bytes are neither lost nor made, no time goes back, and the last byte leaves with the last credit. */
Test(voq_clock, of_any_packets_no_byte_has_credit_before_its_time)
{
	unsigned short rng[3] = { 1, 2, 3 };
	int round, i;

	for (round = 0; round < 20000; round++) {
		struct voq_clock c = {};
		__u64 last_ns = 0, at_ns = T0, in = 0, out = 0, want;
		int n = 1 + nrand48(rng) % 40;

		for (i = 0; i < n; i++) {
			__u64 bytes = 60 + nrand48(rng) % (nrand48(rng) % 8 ? 1500 : 65536);

			at_ns += nrand48(rng) % 3 ? nrand48(rng) % 1000000 : 0;
			voq_clock_add(&c, at_ns, bytes);
			cr_assert(c.n >= 1 && c.n <= VOQ_SPANS);
			in += bytes;
		}
		while (out < in) {
			__u64 bytes = 60 + nrand48(rng) % 3000;

			bytes = bytes < in - out ? bytes : in - out;
			want = next(&c, bytes);
			cr_assert(want >= last_ns && want >= T0 && want <= at_ns, "%d: %llu, %llu, %llu", round, want,
				  last_ns, at_ns);
			last_ns = want;
			out += bytes;
		}
		cr_assert_eq(c.n, 0, "%d", round);
		cr_assert_eq(last_ns, at_ns);
	}
}
