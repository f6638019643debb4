// SPDX-License-Identifier: GPL-2.0-only
/* The receiver: credit is granted. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "sluice/rack/hiercc.h"
#include "hiercc_case.h"

TestSuite(hiercc_grant, .timeout = 60);

Test(hiercc_grant, hiercc_grant__gives_back_what_was_sent_in_whole_credits)
{
	struct box *b = box_new();

	box_see(b, 0, 1462, 1, 1462);
	cr_expect_eq(box_learn(b, 0), HIERCC_FIRST);
	cr_expect_eq(b->due[0].granted, HIERCC_TOTAL_FIRST, "nothing of it is granted yet");
	box_grant(b, 4000);
	cr_expect_eq(b->due[0].granted, HIERCC_TOTAL_FIRST + 2048, "while Csent < S");
	cr_expect_eq(b->port.active, 0);
	cr_expect_eq(box_grant(b, 4000), 0, "Csent >= S: skipped");
	box_see(b, 0, 2000, 1, 538);
	cr_expect_eq(box_learn(b, 0), HIERCC_LEARNED);
	cr_expect_eq(b->port.active, 0, "still covered");
	free(b);
}

Test(hiercc_grant, hiercc_grant__never_exceeds_the_ports_rate)
{
	struct box *b = box_new();
	unsigned short rng[3] = { 1, 2, 3 };
	__u64 granted = 0, elapsed;
	__u32 total[10] = { 0 };
	int i, k;

	for (i = 0; i < 20000; i++) {
		for (k = 0; k < 10; k++) {
			total[k] += 5000;
			box_see(b, k, total[k], 1 + k, 5000);
			box_learn(b, k);
		}
		for (granted = 0, k = 0; k < 10; k++)
			granted -= b->due[k].granted;
		elapsed = nrand48(rng) % 8000;
		box_grant(b, elapsed);
		for (k = 0; k < 10; k++)
			granted += b->due[k].granted;
		cr_assert_leq(granted, RATE * 8000 / NSEC_PER_SEC + HIERCC_DELTA_BYTES);
	}
	free(b);
}

/* 1 KB at a time, by measured time: rounding loses nothing over a second. */
Test(hiercc_grant, hiercc_budget__keeps_the_rate_in_the_long_run)
{
	struct box *b = box_new();
	__u64 granted = 0, before;
	__u32 total = 0;
	int i;

	b->p.debt_max = 1 << 26;
	for (i = 0; i < 300000; i++) {
		total += 12000;
		box_see(b, 0, total, 1, 12000);
		box_learn(b, 0);
		before = b->due[0].granted;
		box_grant(b, 3333 + i % 2);
		granted += b->due[0].granted - before;
	}
	cr_expect_float_eq(granted / (3333.5 * 300000) * 1e9 / RATE, 1, 1e-5);
	free(b);
}

Test(hiercc_grant, hiercc_budget__what_nobody_was_due_is_not_saved)
{
	struct box *b = box_new();

	box_grant(b, 1 << 25);
	cr_expect_leq(b->port.budget, HIERCC_DELTA_BYTES);
	hiercc_budget(&b->port, ~0ULL);
	cr_expect_leq(b->port.budget, RATE * HIERCC_NS_MAX / NSEC_PER_SEC + HIERCC_DELTA_BYTES, "a loop that was away");
	free(b);
}

/* Goodput by F, to a credit, where all are always due. */
Test(hiercc_grant, hiercc_grant__weights_are_f)
{
	static const __u32 flows[] = { 1, 3, 7, 1, 100 };
	struct box *b = box_new();
	__u64 charged[5] = { 0 };
	__u32 total[5] = { 0 };
	int i, k;

	b->p.debt_max = 1 << 20;
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 5; k++) {
			/* F packets at least */
			total[k] += 200 * 150;
			hiercc_see(&b->seen[k], total[k], flows[k], 200 * 150, 200, 1 << 20);
			box_learn(b, k);
			charged[k] -= b->due[k].granted;
		}
		box_grant(b, 4000);
		for (k = 0; k < 5; k++)
			charged[k] += b->due[k].granted;
	}
	for (k = 0; k < 5; k++)
		cr_expect_float_eq((double)charged[k] / charged[0] / flows[k], 1, 0.02, "VOQ %d: %llu", k, charged[k]);
	free(b);
}

Test(hiercc_grant, hiercc_grant__work_is_that_of_the_active)
{
	struct box *b = box_new();
	int i;

	for (i = 0; i < VOQS; i++) {
		box_see(b, i, 1000, 1, 1000);
		box_learn(b, i);
	}
	box_grant(b, 10000000);
	cr_expect_eq(b->port.active, 0);
	box_see(b, 7, 11000, 1, 10000);
	box_see(b, 900, 11000, 1, 10000);
	box_learn(b, 7);
	box_learn(b, 900);
	cr_expect_eq(b->port.active, 2);
	cr_expect_leq(box_grant(b, 1000000), 24);
	cr_expect_eq(b->port.active, 0);
	free(b);
}

static __u32 ring_count(const struct box *b, __u32 last)
{
	__u32 at = last, count = 0;

	if (last == HIERCC_NONE)
		return 0;
	do {
		at = b->due[at].next;
		count++;
	} while (at != last && count <= VOQS);
	return count;
}

/* The rings, with VOQs that come and go in any order, against who is due. */
Test(hiercc_grant, hiercc_grant__the_ring_has_who_is_due_and_nobody_else)
{
	struct box *b = box_new();
	unsigned short rng[3] = { 7, 8, 9 };
	__u32 total[VOQS] = { 0 }, i, active;
	int round;

	for (round = 0; round < 5000; round++) {
		for (i = 0; i < 20; i++) {
			__u32 k = nrand48(rng) % 50, bytes = 1 + nrand48(rng) % 3000;

			total[k] += bytes;
			box_see(b, k, total[k], 1 + nrand48(rng) % 4, bytes);
			box_learn(b, k);
		}
		box_grant(b, nrand48(rng) % 20000);
		for (active = i = 0; i < 50; i++) {
			cr_assert_eq(b->due[i].listed, b->due[i].granted < b->due[i].sent);
			cr_assert_lt(b->due[i].granted, b->due[i].sent + HIERCC_DELTA_BYTES);
			active += b->due[i].listed;
		}
		cr_assert_eq(active, b->port.active);
		cr_assert_eq(ring_count(b, b->port.before) + ring_count(b, b->port.done), active);
	}
	free(b);
}

/* Of any ten credits in a row, each of ten VOQs with F = 9 has one: its measurement stays the same. */
Test(hiercc_grant, hiercc_grant__credits_of_a_round_are_interleaved)
{
	struct box *b = box_new();
	__u64 before[10];
	int i, k;

	b->p.debt_max = 1 << 20;
	for (k = 0; k < 10; k++) {
		hiercc_see(&b->seen[k], 500000, 9, 500000, 500, 1 << 20);
		box_learn(b, k);
	}
	for (i = 0; i < 40; i++) {
		for (k = 0; k < 10; k++)
			before[k] = b->due[k].granted;
		for (k = 0; k < 10; k++)
			box_grant(b, (HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
		for (k = 0; k < 10; k++)
			cr_assert_eq(b->due[k].granted - before[k], HIERCC_DELTA_BYTES, "VOQ %d, %d: %llu", k, i,
				     b->due[k].granted - before[k]);
	}
	free(b);
}

/* A VOQ that is due little at a time, but often, has no two turns in a round: a fourth of the port arrives from VOQ 0. */
Test(hiercc_grant, hiercc_grant__one_that_comes_back_has_had_its_turn)
{
	struct box *b = box_new();
	static const __u32 flows[] = { 1, 10, 10 }, bytes[] = { 300, 2000, 2000 };
	__u64 first[3], granted;
	__u32 total[3] = { 0 };
	int i, k;

	b->p.debt_max = 1 << 26;
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 3; k++) {
			total[k] += bytes[k];
			hiercc_see(&b->seen[k], total[k], flows[k], bytes[k], 10, 1 << 26);
			box_learn(b, k);
			if (!i)
				first[k] = b->due[k].granted;
		}
		box_grant(b, 1200 * NSEC_PER_SEC / RATE);
	}
	for (k = 0; k < 3; k++) {
		granted = b->due[k].granted - first[k];
		cr_expect_float_eq(granted / 1200.0 / 3000, flows[k] / 21.0, 0.005, "VOQ %d: %llu", k, granted);
	}
	free(b);
}

/* The rest of a turn is for the same round. */
Test(hiercc_grant, hiercc_grant__a_turn_goes_on_after_a_break)
{
	struct box *b = box_new();
	__u64 before;

	b->p.debt_max = 1 << 20;
	hiercc_see(&b->seen[0], 2000, 4, 2000, 4, 1 << 20);
	hiercc_see(&b->seen[1], 500000, 4, 500000, 500, 1 << 20);
	box_learn(b, 0);
	box_learn(b, 1);
	/* Two credits each, by which VOQ 0 has all. */
	box_grant(b, (4 * HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
	cr_expect_eq(b->due[0].listed, 0);
	hiercc_see(&b->seen[0], 100000, 4, 98000, 98, 1 << 20);
	box_learn(b, 0);
	before = b->due[0].granted;
	/* Two are left of VOQ 0, and two of VOQ 1; then a round of four and four begins. */
	box_grant(b, (4 * HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
	cr_expect_eq(b->due[0].granted, before + 2 * HIERCC_DELTA_BYTES);
	box_grant(b, (8 * HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
	cr_expect_eq(b->due[0].granted, before + 6 * HIERCC_DELTA_BYTES);
	free(b);
}

/* Another delta than the default. */
Test(hiercc_grant, hiercc_grant__a_credit_is_as_large_as_configured)
{
	struct box *b = box_new();
	__u64 before;

	b->p.debt_max = 1 << 20;
	b->p.delta = b->port.delta = 4096;
	hiercc_see(&b->seen[0], 500000, 1, 500000, 500, 1 << 20);
	box_learn(b, 0);
	before = b->due[0].granted;
	box_grant(b, (4095 * NSEC_PER_SEC + RATE - 1) / RATE - 1);
	cr_expect_eq(b->due[0].granted, before, "less than a credit is saved up");
	box_grant(b, (9000 * NSEC_PER_SEC + RATE - 1) / RATE);
	cr_expect_eq(b->due[0].granted, before + 3 * 4096);
	free(b);
}

/* A budget of many rounds is not dealt out credit by credit. */
Test(hiercc_grant, hiercc_grant__a_large_budget_takes_few_calls)
{
	struct box *b = box_new();
	__u64 before;
	int k;

	b->p.c0 = b->p.debt_max = 1 << 26;
	for (k = 0; k < 2; k++) {
		hiercc_see(&b->seen[k], 1 << 25, 10000, 1 << 25, 30000, 1 << 26);
		box_learn(b, k);
	}
	before = b->due[0].granted + b->due[1].granted;
	cr_expect_leq(box_grant(b, 1000 * HIERCC_DELTA_BYTES * NSEC_PER_SEC / RATE), 64);
	cr_expect_geq(b->due[0].granted + b->due[1].granted, before + 999 * HIERCC_DELTA_BYTES);
	free(b);
}
