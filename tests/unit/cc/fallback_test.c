// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/cc/fallback.h"

TestSuite(fallback, .timeout = 60);

#define MS 1000000ULL

struct run {
	struct fallback f;
	struct hpcc_state st;
	__u64 now_ns, t_ns;
};

/* Sends feedbacks at an interval until the control changes; returns their number, 0 for never. */
static int feedbacks(struct run *r, __u32 hops, __u64 every_ns, enum fallback_verdict want)
{
	int i;

	for (i = 1; i < 10000; i++) {
		enum fallback_verdict v;

		r->now_ns += every_ns;
		v = fallback_feedback(&r->f, &r->st, hops, r->now_ns, r->t_ns);
		if (v == want)
			return i;
		cr_assert_eq(v, FALLBACK_STAY);
	}
	return 0;
}

static struct run run_new(__u64 t_ns)
{
	return (struct run){ .now_ns = 5000 * MS, .t_ns = t_ns };
}

Test(fallback, fallback_feedback__a_run_of_16_over_16_rtts)
{
	struct run r = run_new(4 * MS);

	cr_expect_eq(feedbacks(&r, 0, MS, FALLBACK_TO_SWIFT), 65, "64 ms");
	cr_expect_eq(r.f.swift, 1);
	cr_expect_eq(feedbacks(&r, 1, 8 * MS, FALLBACK_TO_HPCC), 16, "feedbacks decide");
	cr_expect_eq(r.f.swift, 0);
	r.t_ns = 4000;
	cr_expect_eq(feedbacks(&r, 0, 4000, FALLBACK_TO_SWIFT), 2501, "10 ms at least");
}

Test(fallback, fallback_feedback__another_begins_the_run_anew)
{
	struct run r = run_new(4 * MS);
	int i, k;

	for (i = 0; i < 100; i++) {
		for (k = 0; k < 15; k++, r.now_ns += 8 * MS)
			cr_assert_eq(fallback_feedback(&r.f, &r.st, 0, r.now_ns, r.t_ns), FALLBACK_STAY);
		cr_assert_eq(fallback_feedback(&r.f, &r.st, 3, r.now_ns, r.t_ns), FALLBACK_STAY);
	}
	cr_expect_gt(feedbacks(&r, 0, 8 * MS, FALLBACK_TO_SWIFT), 0);
	for (i = 0; i < 100; i++) {
		for (k = 0; k < 15; k++, r.now_ns += 8 * MS)
			cr_assert_eq(fallback_feedback(&r.f, &r.st, 2, r.now_ns, r.t_ns), FALLBACK_STAY);
		cr_assert_eq(fallback_feedback(&r.f, &r.st, 0, r.now_ns, r.t_ns), FALLBACK_STAY);
	}
}

/* However long T is and however rare feedback, up to two a second. */
Test(fallback, fallback_feedback__back_with_hpcc_within_2_s)
{
	static const __u64 rtts[] = { 1, 4000, 4 * MS, 100 * MS, 1000 * MS };
	static const __u64 every[] = { 1000, MS, 63 * MS, 125 * MS, 500 * MS };
	size_t t, e;

	for (t = 0; t < 5; t++)
		for (e = 0; e < 5; e++) {
			struct run r = run_new(rtts[t]);
			__u64 from;

			r.f.swift = 1;
			from = r.now_ns;
			while (fallback_feedback(&r.f, &r.st, 1, r.now_ns, r.t_ns) != FALLBACK_TO_HPCC) {
				r.now_ns += every[e];
				cr_assert_leq(r.now_ns - from, 2000 * MS, "T %llu, every %llu", rtts[t], every[e]);
			}
		}
}

Test(fallback, fallback_feedback__windows_go_on_and_the_path_begins_anew)
{
	struct run r = run_new(4 * MS);

	r.st = (struct hpcc_state){
		.w = 1, .wc = 2, .rate_bps = 3, .last_update_seq = 4, .hops = 2, .inc_stage = 5, .u = 6, .u_frac = 7
	};
	cr_expect_gt(feedbacks(&r, 0, 8 * MS, FALLBACK_TO_SWIFT), 0);
	cr_expect_eq(r.st.w, 1);
	cr_expect_eq(r.st.wc, 2);
	cr_expect_eq(r.st.rate_bps, 3);
	cr_expect_eq(r.st.last_update_seq, 4);
	cr_expect_eq(r.st.hops, 0, "the next telemetry is only recorded");
	cr_expect_eq(r.st.inc_stage, 0);
	cr_expect_eq(r.st.u, Q24_ONE);
	cr_expect_eq(r.st.u_frac, 0);
}

Test(fallback, fallback_feedback__a_clock_that_goes_back_waits)
{
	struct run r = run_new(4 * MS);
	int i;

	for (i = 0; i < 100; i++)
		cr_expect_eq(fallback_feedback(&r.f, &r.st, 0, r.now_ns - i * MS, r.t_ns), FALLBACK_STAY);
	cr_expect_eq(fallback_feedback(&r.f, &r.st, 0, r.now_ns + 64 * MS, r.t_ns), FALLBACK_TO_SWIFT);
}
