// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "sluice/types.h"

TestSuite(types, .timeout = 20);

/* The exact ratio, rounded to the nearest, by arithmetic of another kind. */
static double exact(__u64 num, __u64 den)
{
	return (double)((long double)num / den * Q24_ONE);
}

static void expect_ratio(__u64 num, __u64 den)
{
	double want = exact(num, den), got = q24_ratio(num, den);

	/*
	 * Half a unit for the rounding; and of a large divisor and its remainder 27 bits are kept,
	 * an eighth of a unit for the one and a relative error for the other.
	 */
	if (want < 0x1p38 - 1)
		cr_assert(fabs(got - want) <= 0.6251 + want * 0x1p-27, "%llu / %llu: %.0f, not %.1f", num, den, got,
			  want);
}

Test(types, q12_from_bytes__shifts)
{
	cr_expect_eq(q12_from_bytes(0), 0);
	cr_expect_eq(q12_from_bytes(52000), 52000 * Q12_ONE);
	cr_expect_eq(q12_from_bytes((1 << 27) - 1), 0x7ffffff000ULL);
}

Test(types, q12_to_bytes__rounds_to_the_nearest)
{
	cr_expect_eq(q12_to_bytes(0), 0);
	cr_expect_eq(q12_to_bytes(Q12_ONE / 2 - 1), 0);
	cr_expect_eq(q12_to_bytes(Q12_ONE / 2), 1);
	cr_expect_eq(q12_to_bytes(3 * Q12_ONE + 1), 3);
	cr_expect_eq(q12_to_bytes(q12_from_bytes(1460)), 1460);
}

Test(types, q24_ratio__exact_where_it_can_be)
{
	cr_expect_eq(q24_ratio(0, 5), 0);
	cr_expect_eq(q24_ratio(5, 5), Q24_ONE);
	cr_expect_eq(q24_ratio(1, 2), Q24_ONE / 2);
	cr_expect_eq(q24_ratio(7, 2), 7 * Q24_ONE / 2);
	cr_expect_eq(q24_ratio(~0ULL, ~0ULL), Q24_ONE);
	cr_expect_eq(q24_ratio(1ULL << 63, 1ULL << 62), 2 * Q24_ONE);
}

Test(types, q24_ratio__rounds_to_the_nearest)
{
	cr_expect_eq(q24_ratio(1, 3), 5592405);	 /* 5592405.33 */
	cr_expect_eq(q24_ratio(2, 3), 11184811); /* 11184810.67 */
	cr_expect_eq(q24_ratio(1, 1ULL << 25), 1);
	cr_expect_eq(q24_ratio(1, (1ULL << 25) + 1), 0);
}

Test(types, q24_ratio__nothing_divided_by_nothing)
{
	cr_expect_eq(q24_ratio(0, 0), 0);
	cr_expect_eq(q24_ratio(~0ULL, 0), 0);
}

Test(types, q24_ratio__saturates)
{
	cr_expect_eq(q24_ratio(16383, 1), 16383 * Q24_ONE);
	cr_expect_eq(q24_ratio(16384, 1), 1ULL << 38);
	cr_expect_eq(q24_ratio(20000, 1), 1ULL << 38);
	cr_expect_eq(q24_ratio(~0ULL, 1), 1ULL << 38);
	cr_expect_leq(q24_ratio((1ULL << 54) - 1, 1ULL << 40), 1ULL << 38);
}

/*
 * Divisors just below a power of two, and a remainder just below the divisor: the sum of the
 * shifted remainder and half the divisor is at its largest there.
 */
Test(types, q24_ratio__survives_the_edges_of_its_scaling)
{
	int bit, below, rest;

	for (bit = 1; bit < 64; bit++)
		for (below = 0; below < 3; below++)
			for (rest = 0; rest < 3; rest++) {
				__u64 den = (1ULL << bit) - below;

				if (den < 4)
					continue;
				expect_ratio(den - 1 - rest, den);
				if (bit < 63)
					expect_ratio(den + rest, den);
			}
}

Test(types, q24_ratio__agrees_with_floating_point)
{
	unsigned short rng[3] = { 1, 2, 3 };
	int i;

	for (i = 0; i < 1000000; i++) {
		__u64 num = (__u64)nrand48(rng) << 33 ^ (__u64)nrand48(rng) << 11 ^ nrand48(rng);
		__u64 den = (__u64)nrand48(rng) << 33 ^ (__u64)nrand48(rng) << 11 ^ nrand48(rng);

		num >>= nrand48(rng) % 64;
		den >>= nrand48(rng) % 64;
		if (den)
			expect_ratio(num, den);
	}
}
