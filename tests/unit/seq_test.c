// SPDX-License-Identifier: GPL-2.0-only
/* The clock of sequences: which sequences are believed, and how a base reacts when the clock was set. */
#include <criterion/criterion.h>

#include "sluice/seq.h"

TestSuite(seq, .timeout = 60);

#define DAY_NS (86400 * NSEC_PER_SEC)
#define NOW_NS (1790000000 * NSEC_PER_SEC) /* September 2026 */
#define YEAR_2099_NS (4070908800 * NSEC_PER_SEC)

Test(seq, future__begins_a_day_ahead)
{
	cr_assert(!seq_is_future(0, NOW_NS));
	cr_assert(!seq_is_future(NOW_NS, NOW_NS));
	cr_assert(!seq_is_future(NOW_NS + DAY_NS, NOW_NS));
	cr_assert(seq_is_future(NOW_NS + DAY_NS + 1, NOW_NS));
	cr_assert(seq_is_future(YEAR_2099_NS, NOW_NS));
	cr_assert(seq_is_future(~0ULL, NOW_NS));
	cr_assert(!seq_is_future(NOW_NS, YEAR_2099_NS));
}

Test(seq, base__of_a_fresh_start_is_the_clock)
{
	cr_assert_eq(seq_base_move(1, NOW_NS), SEQ_FOLLOWS);
	cr_assert_eq(seq_base_move(1, YEAR_2099_NS), SEQ_FOLLOWS);
	cr_assert_eq(seq_base_move(100 * NSEC_PER_SEC, 50 * NSEC_PER_SEC), SEQ_STAYS);
}

/* Without a battery the clock begins in 1970, or with the day on which the system was built. */
Test(seq, base__leaps_from_a_clock_that_was_never_set)
{
	cr_assert_eq(seq_base_move(60 * NSEC_PER_SEC, NOW_NS), SEQ_FOLLOWS);
	cr_assert_eq(seq_base_move(SEQ_SET_NS - 1, NOW_NS), SEQ_FOLLOWS);
	cr_assert_eq(seq_base_move(SEQ_SET_NS, NOW_NS), SEQ_AHEAD);
}

Test(seq, base__follows_a_step_forward_of_up_to_a_day)
{
	cr_assert_eq(seq_base_move(NOW_NS, NOW_NS), SEQ_STAYS);
	cr_assert_eq(seq_base_move(NOW_NS, NOW_NS + 1), SEQ_FOLLOWS);
	cr_assert_eq(seq_base_move(NOW_NS, NOW_NS + DAY_NS), SEQ_FOLLOWS);
	cr_assert_eq(seq_base_move(NOW_NS, NOW_NS + DAY_NS + 1), SEQ_AHEAD);
	cr_assert_eq(seq_base_move(NOW_NS, YEAR_2099_NS), SEQ_AHEAD);
}

Test(seq, base__never_goes_back)
{
	cr_assert_eq(seq_base_move(NOW_NS, NOW_NS - 1), SEQ_STAYS);
	cr_assert_eq(seq_base_move(NOW_NS, NOW_NS - DAY_NS), SEQ_STAYS);
	cr_assert_eq(seq_base_move(NOW_NS, NOW_NS - DAY_NS - 1), SEQ_BEHIND);
	cr_assert_eq(seq_base_move(YEAR_2099_NS, NOW_NS), SEQ_BEHIND);
	cr_assert_eq(seq_base_move(NOW_NS, 0), SEQ_BEHIND);
}

/* To what a peer holds, by any step, but no further ahead of the clock than peers believe. */
Test(seq, base__catches_up_with_what_is_held)
{
	cr_assert(seq_base_catches_up(NOW_NS + DAY_NS / 24, NOW_NS, NOW_NS));
	cr_assert(seq_base_catches_up(NOW_NS + DAY_NS, NOW_NS, NOW_NS));
	cr_assert_not(seq_base_catches_up(NOW_NS + DAY_NS + 1, NOW_NS, NOW_NS));
	cr_assert_not(seq_base_catches_up(NOW_NS + DAY_NS + 1, NOW_NS + DAY_NS, NOW_NS), "not step by step either");
	cr_assert_not(seq_base_catches_up(NOW_NS, NOW_NS, NOW_NS));
	cr_assert_not(seq_base_catches_up(NOW_NS - 1, NOW_NS, NOW_NS), "never back");
}
