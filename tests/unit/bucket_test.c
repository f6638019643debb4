// SPDX-License-Identifier: GPL-2.0-only
/* Token buckets: include/sluice/bucket.h. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "sluice/bucket.h"

#define TOKEN_NS 1000
#define BURST 5

/* The number of the n tokens that are there at now; the state advances. */
static unsigned int taken(__u64 *spent_ns, __u64 now_ns, unsigned int n)
{
	unsigned int got = 0;
	__u64 next;

	while (n--) {
		next = bucket_spend(*spent_ns, now_ns, TOKEN_NS, BURST);
		if (next) {
			*spent_ns = next;
			got++;
		}
	}
	return got;
}

Test(bucket, spend__begins_full)
{
	__u64 spent_ns = 0;

	cr_assert_eq(taken(&spent_ns, 1000000, 100), BURST);
}

Test(bucket, spend__one_token_each_token_ns)
{
	__u64 spent_ns = 0, now_ns = 1000000;
	unsigned int i;

	taken(&spent_ns, now_ns, BURST);
	for (i = 1; i <= 1000; i++) {
		cr_assert_eq(taken(&spent_ns, now_ns + i * TOKEN_NS - 1, 2), 0);
		cr_assert_eq(taken(&spent_ns, now_ns + i * TOKEN_NS, 2), 1);
	}
}

Test(bucket, spend__keeps_no_more_than_burst)
{
	__u64 spent_ns = 0;

	taken(&spent_ns, 1000000, BURST);
	cr_assert_eq(taken(&spent_ns, 1000000 + 2 * TOKEN_NS, 100), 2);
	cr_assert_eq(taken(&spent_ns, 1000000 + 1000 * TOKEN_NS, 100), BURST);
}

/* The clock begins with the machine: until it has run for a burst's time there are fewer tokens. */
Test(bucket, spend__soon_after_boot)
{
	__u64 spent_ns = 0;

	cr_assert_eq(taken(&spent_ns, TOKEN_NS - 1, 100), 0);
	cr_assert_eq(taken(&spent_ns, 3 * TOKEN_NS, 100), 3);
}

/* In any time no more than burst and what came in it. */
Test(bucket, spend__bound_in_any_time)
{
	__u64 spent_ns = 0, now_ns = 1000000;
	unsigned int i, got = 0;

	srand(1);
	for (i = 0; i < 10000; i++) {
		got += taken(&spent_ns, now_ns, rand() % 3);
		cr_assert_leq(got, BURST + (now_ns - 1000000) / TOKEN_NS);
		now_ns += rand() % (2 * TOKEN_NS);
	}
}
