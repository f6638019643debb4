// SPDX-License-Identifier: GPL-2.0-only
/* P-PFC where a packet is put into the queue. */
#include <criterion/criterion.h>

#include "sluice/pause/arrive.h"
#include "ppfc_case.h"

TestSuite(arrive, .timeout = 60);

Test(arrive, ppfc_window_ns__is_the_interval_of_the_paper_or_a_frame)
{
	cr_expect_eq(ppfc_window_ns(BPS, 1514), 1000);
	cr_expect_eq(ppfc_window_ns(LAB_BPS, 1514), 121120);
	cr_expect_eq(ppfc_window_ns(0, 1514), 1000, "a speed that is not known");
	cr_expect_lt(ppfc_window_ns(1, ~0U) * PPFC_WINDOWS_MAX, PFC_NS_MAX);
}

Test(arrive, ppfc_meter_step__a_window_ends_with_a_packet)
{
	struct ppfc_meter m = {};

	cr_expect_eq(ppfc_meter_step(&m, START, 1000, 1000), PPFC_STEP_BEGINS);
	cr_expect_eq(ppfc_meter_growth(&m, START, 1000, 1000), 0, "nothing is known");
	cr_expect_eq(ppfc_meter_step(&m, START + 999, 9000, 1000), PPFC_STEP_NONE);
	cr_expect_eq(ppfc_meter_step(&m, START + 1500, 4000, 1000), PPFC_STEP_ENDS);
	cr_expect_eq(m.increment, 3000);
	cr_expect_eq(m.elapsed_ns, 1500);
	cr_expect_eq(ppfc_meter_growth(&m, START + 1500, 4000, 1000), 2000, "in the time of another window");
	cr_expect_eq(ppfc_meter_growth(&m, START + 2000, 9000, 1500), 3000, "the last that is whole");
}

Test(arrive, ppfc_meter_step__a_window_that_got_too_old_says_nothing)
{
	struct ppfc_meter m = {};

	ppfc_meter_step(&m, START, 0, 1000);
	cr_expect_eq(ppfc_meter_step(&m, START + 16000, 100000, 1000), PPFC_STEP_ENDS);
	cr_expect_eq(ppfc_meter_step(&m, START + 32001, 900000, 1000), PPFC_STEP_BEGINS);
	cr_expect_eq(m.elapsed_ns, 0);
	cr_expect_eq(m.increment, 0);
}

Test(arrive, ppfc_meter_step__a_clock_that_jumps_begins_anew)
{
	struct ppfc_meter m = {};

	ppfc_meter_step(&m, START, 0, 1000);
	ppfc_meter_step(&m, START + 1000, 5000, 1000);
	cr_expect_eq(ppfc_meter_growth(&m, 1, 9000, 1000), 5000, "back: the last window is what there is");
	cr_expect_eq(ppfc_meter_step(&m, START - MS, 9000, 1000), PPFC_STEP_BEGINS, "back");
	cr_expect_eq(ppfc_meter_growth(&m, START - MS, 9000, 1000), 0);
	cr_expect_eq(ppfc_meter_step(&m, ~0ULL, 9000, 1000), PPFC_STEP_BEGINS, "forth");
	cr_expect_eq(ppfc_meter_step(&m, 5, 9000, 1000), PPFC_STEP_BEGINS, "around");
}

/* The port gets slower, and with it the window longer: measurements are per time, and stay right. */
Test(arrive, ppfc_meter_step__a_port_may_change_its_speed)
{
	struct ppfc_meter m = {};

	ppfc_meter_step(&m, START, 0, ppfc_window_ns(BPS, 1514));
	cr_expect_eq(ppfc_meter_step(&m, START + 1000, 5000, ppfc_window_ns(LAB_BPS, 1514)), PPFC_STEP_NONE);
	cr_expect_eq(ppfc_meter_step(&m, START + 121120, 12112, ppfc_window_ns(LAB_BPS, 1514)), PPFC_STEP_ENDS);
	cr_expect_eq(ppfc_meter_growth(&m, START + 121120, 12112, 10000), 1000);
}

Test(arrive, ppfc_meter_growth__a_queue_to_which_nothing_comes_gets_shorter)
{
	struct ppfc_meter m = {};

	ppfc_meter_step(&m, START, 100000, 1000);
	ppfc_meter_step(&m, START + 1000, 175000, 1000);
	cr_expect_eq(ppfc_meter_growth(&m, START + 11000, 125000, 1000), -5000);
	cr_expect_eq(ppfc_meter_growth(&m, START + 11000, 125000, ~0ULL), -(__s64)(PFC_BYTES_MAX - 1), "saturates");
}

Test(arrive, ppfc_seen__who_is_paused_returns)
{
	struct ppfc_meter m = {};
	struct ppfc_queue q;

	ppfc_meter_step(&m, START, 500000, 1000);
	ppfc_meter_step(&m, START + 1000, 495000, 1000);
	q = ppfc_seen(&m, START + 1000, 495000, BPS, 1000);
	ppfc_seen_end(&q);
	cr_expect_eq(ppfc_growth(&q), -5000);
	q.returning = 75000;
	ppfc_seen_end(&q);
	cr_expect_eq(ppfc_growth(&q), 75000, "what leaves it now was there before the pause, too");
}

Test(arrive, ppfc_share_now__a_port_that_comes_back_grows_with_its_first_packet)
{
	cr_expect_eq(ppfc_share_now(31514, 30000, -5000).increment, 1514);
	cr_expect_eq(ppfc_share_now(31514, 30000, 4500).increment, 4500, "the window before was a whole one");
	cr_expect_leq(ppfc_share_now(29000, 30000, -5000).increment, 0);
}

/* Against Algorithm 1 for all queues at once. */
Test(arrive, ppfc_blames__says_what_ppfc_predict_says)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q[12];
	__u32 round, i, k, acts = 0;

	for (round = 0; round < 20000; round++) {
		__u64 free = any() % 4000000, elapsed_ns = 500 + any() % 2000;
		__u32 count = any() % 13;

		for (i = 0; i < count; i++) {
			q[i] = queue(any() % 800000, (__s64)(any() % 9) * 5000 - 10000);
			q[i].returning = any() % 3 ? 0 : any() % 20000;
		}
		acts += ppfc_predict(q, count, &p, free, elapsed_ns);
		for (i = 0; i < count; i++) {
			struct ppfc_blame b = {};

			for (k = 0; k < count; k++)
				if (k != i)
					ppfc_blame_add(&b, &q[i], &q[k], k < i, &p, elapsed_ns);
			cr_assert_eq(ppfc_blames(&b, &q[i], &p, free, elapsed_ns), q[i].acts, "round %u", round);
		}
	}
	cr_expect_gt(acts, 1000);
}
