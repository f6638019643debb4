// SPDX-License-Identifier: GPL-2.0-only
/* include/sluice/cc/rival.h: a floor beside flows that do not obey. */
#include <criterion/criterion.h>
#include "sluice/cc/rival.h"

TestSuite(rival, .timeout = 60);

#define MS 1000000ULL
#define BPS 100000000ULL
#define BDP 50000

static const struct hpcc_params params = { .t_ns = 4 * MS, .w_init = (__u64)BDP << 12, .packet = 1514 };

/* The floor in bytes after `ms` of feedback, one each ms, that names this queue. */
static __u64 after(struct rival *r, int ms, __u32 qlen, __u32 n)
{
	struct hpcc_hop hop = { .bps = BPS, .qlen_bytes = qlen };
	q12_t floor = 0;
	int i;

	for (i = 0; i < ms; i++)
		floor = rival_floor(r, &params, &hop, n, MS);
	return floor >> 12;
}

Test(rival, rival_floor__begins_when_a_queue_has_stood)
{
	struct rival r = {};

	cr_expect_eq(after(&r, 255, 100000, 8), 0);
	cr_expect_eq(after(&r, 2, 100000, 8), BDP / 10);
	cr_expect_eq(r.queue_ns / MS, 8);
	cr_expect_eq(r.began, 1);
}

Test(rival, rival_floor__ends_with_the_queue)
{
	struct rival r = {};

	after(&r, 2000, 100000, 8);
	cr_expect_gt(after(&r, 10, 0, 8), 0, "a sawtooth that empties the queue for a moment");
	cr_expect_eq(after(&r, 60, 0, 8), 0);
	cr_expect_eq(r.queue_ns, 0);
}

Test(rival, rival_floor__a_start_or_an_incast_is_none)
{
	struct rival r = {};
	int i;

	for (i = 0; i < 10; i++) {
		cr_assert_eq(after(&r, 100, 200000, 16), 0);
		cr_assert_eq(after(&r, 20, 0, 16), 0);
	}
}

Test(rival, rival_floor__all_floors_leave_room)
{
	__u32 n;

	for (n = 1; n < 16384; n++) {
		struct rival r = { .stood_ns = 1000 * MS };
		__u64 floor = after(&r, 1, 100000, n);

		cr_assert_leq(floor * n, BDP * 4 / 5, "%u flows", n);
		cr_assert(n > 8 || floor == BDP / (n + 2));
	}
}

Test(rival, rival_floor__there_is_none_without_n)
{
	struct rival r = {};

	cr_expect_eq(after(&r, 1000, 100000, 0), 0);
	cr_expect_eq(r.queue_ns, 0);
}
