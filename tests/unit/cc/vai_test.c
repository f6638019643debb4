// SPDX-License-Identifier: GPL-2.0-only
/* Variable AI: tokens, the bank, and the dampener. */
#include <criterion/criterion.h>

#include "sluice/cc/hpcc.h"
#include "model.h"
#include "trace.h"
#include "vai_case.h"

TestSuite(vai, .timeout = 60);

/* The paper's own (section VI.A): 50 KB, 1 KB, 1000 and 100 tokens, 8, 30. */
static const struct vai_params paper = {
	.token_thresh = 50000,
	.ai_div = 1000,
	.bank_cap = 1000,
	.ai_cap = 100,
	.dampener_div = 8,
	.every = 30,
};

static double factor(const struct vai_state *v)
{
	return (double)vai_factor(v, &paper) / VAI_FACTOR_ONE;
}

/* An RTT in which the queue was once so long. */
static void round_of(struct vai_state *v, __u32 queue, int congested)
{
	vai_observe(v, &paper, queue / 3, 0, 1);
	vai_observe(v, &paper, queue, congested, 1);
	vai_observe(v, &paper, queue / 2, 0, 1);
	vai_round(v, &paper);
}

Test(vai, vai_round__a_newcomers_queue_becomes_tokens)
{
	struct vai_state v = {};

	round_of(&v, 75999, 1);
	cr_expect_eq(v.bank, 75, "of the whole queue, as printed");
	cr_expect_float_eq(dampener(&v), 1.52, 1.0 / 256);
	cr_expect_eq(v.measured, 0);
	cr_expect_eq(v.congested, 0);
	round_of(&v, 60000, 1);
	cr_expect_eq(v.bank, 135, "they add up");
	cr_expect_float_eq(dampener(&v), 2.72, 2.0 / 256);
}

Test(vai, vai_round__the_threshold_itself_makes_none)
{
	struct vai_state v = { .dampener_q8 = 5 * VAI_DAMPENER_ONE };

	round_of(&v, 50000, 1);
	cr_expect_eq(v.bank, 0);
	cr_expect_float_eq(dampener(&v), 5, 0, "line 10 has <, line 5 has >: neither");
	round_of(&v, 50001, 1);
	cr_expect_eq(v.bank, 50);
}

Test(vai, vai_round__bank_and_dampener_have_an_end)
{
	struct vai_state v = {};
	int i;

	for (i = 0; i < 100; i++)
		round_of(&v, (1U << 27) - 1, 1);
	cr_expect_eq(v.bank, 1000);
	cr_expect_eq(v.dampener_q8, VAI_DAMPENER_MAX);
	cr_expect_eq(vai_factor(&v, &paper), VAI_FACTOR_ONE);
}

Test(vai, vai_round__dampener_decays_only_when_the_bank_is_empty)
{
	struct vai_state v = { .bank = 1, .dampener_q8 = 5 * VAI_DAMPENER_ONE };

	round_of(&v, 1000, 1);
	cr_expect_float_eq(dampener(&v), 5, 0, "tokens left");
	round_of(&v, 0, 0);
	cr_expect_float_eq(dampener(&v), 5, 0, "tokens left, no congestion");
	v.bank = 0;
	round_of(&v, 1000, 1);
	cr_expect_float_eq(dampener(&v), 4, 0, "by one for an RTT of some congestion");
	v.dampener_q8 = VAI_DAMPENER_ONE / 2;
	round_of(&v, 1000, 1);
	cr_expect_float_eq(dampener(&v), 0, 0, "not below 0");
	v.dampener_q8 = 5 * VAI_DAMPENER_ONE;
	round_of(&v, 1000, 0);
	cr_expect_float_eq(dampener(&v), 0, 0, "U below eta for all of the RTT");
}

Test(vai, vai_round__one_congested_feedback_spoils_the_rtt)
{
	struct vai_state v = { .dampener_q8 = 5 * VAI_DAMPENER_ONE };

	vai_observe(&v, &paper, 0, 1, 1);
	vai_observe(&v, &paper, 0, 0, 1);
	vai_round(&v, &paper);
	cr_expect_float_eq(dampener(&v), 4, 0);
	vai_round(&v, &paper);
	cr_expect_float_eq(dampener(&v), 0, 0, "the next RTT is judged by itself");
}

Test(vai, vai_factor__tokens_over_dampener)
{
	struct vai_state v = {};

	cr_expect_eq(factor(&v), 1, "no tokens: the base AI");
	v.bank = 1;
	cr_expect_eq(factor(&v), 1);
	v.bank = 40;
	cr_expect_eq(factor(&v), 40);
	v.bank = 400;
	cr_expect_eq(factor(&v), 100, "AI_Cap");
	v.dampener_q8 = 8 * VAI_DAMPENER_ONE;
	cr_expect_eq(factor(&v), 50);
	v.dampener_q8 = 12 * VAI_DAMPENER_ONE;
	cr_expect_eq(factor(&v), 40);
	v.dampener_q8 = 1000 * VAI_DAMPENER_ONE;
	cr_expect_eq(factor(&v), 1, "never below the base AI");
}

Test(vai, vai_commit__spends_what_was_used)
{
	struct vai_state v = { .bank = 130 };

	cr_expect_not(vai_commit(&v, &paper, 0, 0));
	cr_expect_eq(v.bank, 130, "no commit, nothing spent");
	cr_expect(vai_commit(&v, &paper, 0, 1));
	cr_expect_eq(v.bank, 30);
	cr_expect(vai_commit(&v, &paper, 0, 1));
	cr_expect_eq(v.bank, 0);
	cr_expect(vai_commit(&v, &paper, 0, 1));
	cr_expect_eq(v.bank, 0);
}

Test(vai, vai_commit__decreases_wait_for_s_feedbacks)
{
	struct vai_state v = {};
	int i;

	for (i = 0; i < 100000; i++) {
		struct vai_state copy = v;

		cr_assert_eq(vai_commit(&copy, &paper, 1, i & 1), i >= 30);
		cr_assert_eq(copy.feedbacks, i >= 30 ? 0 : i);
		vai_observe(&v, &paper, 0, 0, 1);
	}
	cr_expect_eq(v.feedbacks, 30, "the count stops and never wraps");
	vai_commit(&v, &paper, 0, 1);
	cr_expect_eq(v.feedbacks, 30, "an increase is no decrease");
}
