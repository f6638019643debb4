// SPDX-License-Identifier: GPL-2.0-only
/* VOQs whose data leaves as it is: companions carry S, and S stands for the arrivals. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "sluice/rack/hiercc.h"
#include "hiercc_case.h"

TestSuite(hiercc_beside, .timeout = 60);

#define REORDER 100000

static __u32 companion_comes(struct hiercc_seen *s, __u32 total, __u32 flows)
{
	return hiercc_see(s, total, flows, 0, 1, REORDER);
}

Test(hiercc_beside, hiercc_see__s_says_what_arrived)
{
	struct hiercc_seen s = {};

	cr_expect_eq(companion_comes(&s, 0xfffff000, 3), HIERCC_PACKET_MIN, "the first: nothing is known of before");
	cr_expect_eq(s.packets, 1);
	cr_expect_eq(companion_comes(&s, 0x1000, 4), 0x2000, "S goes round");
	cr_expect_eq(companion_comes(&s, 0x1000, 4), 0, "repeated");
	cr_expect_eq(companion_comes(&s, 0x800, 3), 0, "overtaken");
	cr_expect_eq(s.bytes, HIERCC_PACKET_MIN + 0x2000);
	cr_expect_eq(s.packets, 1 + 0x2000 / HIERCC_PACKET_MIN);
	cr_expect_eq(s.claim, 0x1000ULL << 32 | 4);
	cr_expect_eq(companion_comes(&s, 0x1000 - REORDER, 1), HIERCC_PACKET_MIN, "of a sender that began anew");
	cr_expect_eq(s.claim >> 32, (__u32)(0x1000 - REORDER));
}

/* Companions of a sender that obeys, one in an eighth of C0, of which one in four is lost: it is due what it sent. */
Test(hiercc_beside, hiercc_learn__lost_companions_cost_nothing)
{
	struct box *b = box_new();
	__u32 total = 1000, step = b->p.c0 / HIERCC_UNTOLD;
	int i;

	companion_comes(&b->seen[0], total, 1);
	cr_expect_eq(box_learn(b, 0), HIERCC_FIRST);
	for (i = 1; i < 1000; i++) {
		total += step;
		if (i % 4)
			companion_comes(&b->seen[0], total, 1);
		cr_assert_eq(box_learn(b, 0), HIERCC_LEARNED, "companion %d", i);
		box_grant(b, 1 << 20);
		if (i % 4)
			cr_assert_eq((__u32)b->due[0].sent, total);
	}
	cr_expect_eq(b->due[0].flows, 1);
	free(b);
}

/* F goes no further than packets of the smallest size would. */
Test(hiercc_beside, hiercc_learn__f_is_bounded_by_s)
{
	struct box *b = box_new();

	companion_comes(&b->seen[0], 1000, 60000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 1);
	companion_comes(&b->seen[0], 1000 + 10 * HIERCC_PACKET_MIN, 60000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 11);
	free(b);
}

Test(hiercc_beside, hiercc_learn__who_claims_too_much_is_due_debt_max)
{
	struct box *b = box_new();

	companion_comes(&b->seen[0], 1000, 1);
	box_learn(b, 0);
	companion_comes(&b->seen[0], 1000 + (1 << 30), 1);
	cr_expect_eq(box_learn(b, 0), HIERCC_CUT);
	cr_expect_leq(b->due[0].sent - b->due[0].granted, b->p.debt_max);
	free(b);
}

Test(hiercc_beside, hiercc_says__by_bytes_and_by_time)
{
	struct hiercc_params p;

	hiercc_params_init(&p, 1 << 20, 1000000, 100000);
	cr_expect(!hiercc_says(&p, p.c0 / HIERCC_UNTOLD - 1, p.window_ns - 1));
	cr_expect(hiercc_says(&p, p.c0 / HIERCC_UNTOLD, 0));
	cr_expect(hiercc_says(&p, 1, p.window_ns));
}
