// SPDX-License-Identifier: GPL-2.0-only
/* Bytes under way beyond W. */
#include <criterion/criterion.h>
#include "sluice/cc/slack.h"

#define MS 1000000ULL

static __u64 slack_of(q24_t u, __u64 t_ns, __u64 w, __u32 feedbacks)
{
	struct hpcc_state cc = { .u = u };

	return slack_bytes(&cc, t_ns, w, feedbacks);
}

Test(slack, is_a_millisecond_of_r)
{
	/* 100 Mbit/s for 40 ms are 500 KB, and for 1 ms 12.5 KB. */
	cr_assert_eq(slack_of(Q24_ONE / 2, 40 * MS, 500000, 100), 12500);
}

Test(slack, is_a_quarter_of_a_short_window)
{
	cr_assert_eq(slack_of(Q24_ONE / 2, 4 * MS, 50000, 100), 12500);
	cr_assert_eq(slack_of(Q24_ONE / 2, 1000, 50000, 100), 12500);
}

Test(slack, is_no_more_than_the_largest_packet)
{
	cr_assert_eq(slack_of(Q24_ONE / 2, 40 * MS, 1 << 26, 100), 65536);
}

Test(slack, is_none_while_the_port_is_full_or_the_flow_is_new)
{
	cr_assert_eq(slack_of(Q24_ONE, 4 * MS, 50000, 100), 0);
	cr_assert_eq(slack_of(Q24_ONE / 2, 4 * MS, 50000, COMPANION_FIRST - 1), 0);
	cr_assert_eq(slack_of(Q24_ONE / 2, 4 * MS, 50000, COMPANION_FIRST), 12500);
}
