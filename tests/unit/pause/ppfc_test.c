// SPDX-License-Identifier: GPL-2.0-only
/* P-PFC: parameters and prediction. */
#include <criterion/criterion.h>
#include <math.h>

#include "sluice/pause/ppfc.h"
#include "ppfc_case.h"

TestSuite(ppfc, .timeout = 60);

Test(ppfc, ppfc_params_init__has_the_values_of_the_paper)
{
	struct ppfc_params p;

	ppfc_params_init(&p, 4000000, 9000000, 16, BPS, 1000);
	cr_expect_eq(p.t_thresh_ns, 2 * 112500, "twice Equation 5");
	cr_expect_eq(p.k_max, 200000);
	cr_expect_eq(p.r, Q24_ONE * 4 / 5);
	cr_expect_eq(p.d_ns, 1000);
}

Test(ppfc, ppfc_t_min__stays_in_range_whatever_comes)
{
	static const __u64 odd[] = { 0, 1, 999, 1000, 1ULL << 32, 1ULL << 40, ~0ULL };
	struct ppfc_params p;
	int i, k;

	for (i = 0; i < 7; i++) {
		for (k = 0; k < 7; k++) {
			ppfc_params_init(&p, odd[i], odd[i], odd[k], odd[(i + k) % 7], odd[k]);
			cr_expect_lt(p.t_thresh_ns, PFC_NS_MAX);
			cr_expect_lt(p.d_ns, PFC_NS_MAX);
			cr_expect_lt(p.k_max, PFC_BYTES_MAX);
		}
	}
	cr_expect_eq(ppfc_t_min(500000, 16, LAB_BPS), 2500000);
}

Test(ppfc, ppfc_remaining__is_by_the_time_that_was_measured)
{
	cr_expect_eq(ppfc_remaining(4000000, 75000, 1000), 53333);
	cr_expect_eq(ppfc_remaining(4000000, 750000, 10000), 53333, "a round that was ten times as late");
	cr_expect_eq(ppfc_remaining(4000000, 0, 1000), PPFC_NEVER);
	cr_expect_eq(ppfc_remaining(4000000, -5, 1000), PPFC_NEVER);
	cr_expect_eq(ppfc_remaining(0, 1, 1000), 0);
	cr_expect_eq(ppfc_remaining(~0ULL, 1, ~0ULL), (PPFC_BUFFER_MAX - 1) * (PFC_NS_MAX - 1), "saturates");
}

Test(ppfc, ppfc_predict__acts_when_the_buffer_lasts_for_less_than_t)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q = queue(500000, 10000);

	/* 1125000 bytes at 10000 a us are 112.5 us. */
	cr_expect_eq(ppfc_predict(&q, 1, &p, 1125000, 1000), 0);
	cr_expect_eq(q.acts, 0);
	cr_expect_eq(ppfc_predict(&q, 1, &p, 1124999, 1000), 1);
	cr_expect_eq(q.acts, 1);
	cr_expect_eq(ppfc_predict(&q, 1, &p, 1125000, 1000), 0);
	cr_expect_eq(q.acts, 0, "of this round");
	q = queue(500000, -10000);
	cr_expect_eq(ppfc_predict(&q, 1, &p, 0, 1000), 0, "it gets shorter");
	cr_expect_eq(ppfc_predict(&q, 0, &p, 0, 1000), 0);
}

Test(ppfc, ppfc_predict__a_queue_below_k_max_is_left_to_ecn)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q = queue(200000, 75000);

	cr_expect_eq(ppfc_predict(&q, 1, &p, 3800000, 1000), 0);
	q.bytes = 200001;
	cr_expect_eq(ppfc_predict(&q, 1, &p, 3800000, 1000), 1);
}

/* Figure 8: 16:1, 4:1 and 1:1. */
Test(ppfc, ppfc_predict__who_is_not_to_blame_is_left_alone)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q[3] = { queue(1000, 0), queue(300000, 15000), queue(600000, 75000) };

	cr_expect_eq(ppfc_predict(q, 3, &p, 3000000, 1000), 1);
	cr_expect(q[2].acts && !q[1].acts && !q[0].acts);
	cr_expect_eq(ppfc_predict(q, 3, &p, 1600000, 1000), 1, "5000 bytes a us leave the longest");
	cr_expect(q[2].acts && !q[1].acts && !q[0].acts);
	cr_expect_eq(ppfc_predict(q, 3, &p, 1100000, 1000), 2, "alone it would use the buffer up, too");
	cr_expect(q[2].acts && q[1].acts && !q[0].acts);
}

/* 16:1 is paused: the prediction is its return, and 4:1 is not to blame for that. */
Test(ppfc, ppfc_predict__nobody_stands_in_for_who_is_under_pause)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q[2] = { queue(600000, -5000), queue(300000, 15000) };

	q[0].returning = 80000;
	cr_expect_eq(ppfc_predict(q, 2, &p, 3000000, 1000), 0);
	cr_expect(q[0].taken && !q[0].acts && !q[1].taken);
}

Test(ppfc, ppfc_predict__four_equal_queues_share_the_blame)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q[4] = { queue(300000, 15000), queue(300000, 15000), queue(300000, 15000),
				   queue(300000, 15000) };

	/* 2.8 MB: 60 KB a us take 47 us; without one of them, 45 less the 2.7 that leave it, 66; without two, 24.7, 114. */
	cr_expect_eq(ppfc_predict(q, 4, &p, 2800000, 1000), 2);
	cr_expect_eq(ppfc_predict(q, 4, &p, 2400000, 1000), 3);
}

Test(ppfc, ppfc_leaving__is_what_there_is_at_most_at_the_speed_of_the_port)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q = queue(9000000, 0);

	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 5000);
	q.bytes = 225000; /* 45 of 112.5 us */
	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 2000);
	q.bytes = 0;
	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 0);
	q.bytes = PFC_BYTES_MAX - 1;
	q.bps = 1;
	cr_expect_eq(ppfc_leaving(&q, &p, ~0ULL), 0);
	q.bps = p.t_thresh_ns = 0;
	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 0);
}

Test(ppfc, ppfc_returning__is_what_the_port_did_before_its_pause)
{
	struct ppfc_share s = { .bytes = 50000, .increment = 4600 };
	struct pfc_told t = {};
	__u64 end;

	cr_expect_eq(ppfc_returning(&t, START, -300, 1000), 0, "not paused");
	cr_assert(ppfc_tell(&t, START, 10000, BPS, &s, 1000));
	end = START + pfc_quanta_ns(10000, BPS);
	cr_expect_eq(t.predict_ns, end);
	cr_expect_eq(ppfc_returning(&t, START, -300, 1000), 4900, "however long that takes");
	cr_expect_eq(ppfc_returning(&t, end - 1, 4600, 1000), 0, "it has not stopped yet");
	cr_expect_eq(ppfc_returning(&t, end - 1, 9000, 1000), 0, "it sends more than before");
	cr_expect_eq(ppfc_returning(&t, end - 1, 0, 500), 2300, "a shorter round");
	cr_expect_eq(ppfc_returning(&t, end, -300, 1000), 0, "it is over");
	cr_expect_eq(ppfc_returning(&t, START - PFC_NS_MAX, -300, 1000), 0,
		     "no pause is that long: the clock has jumped");
	cr_expect(ppfc_tell(&t, START - PFC_NS_MAX, 10000, BPS, &s, 1000), "and it is told again");
}
