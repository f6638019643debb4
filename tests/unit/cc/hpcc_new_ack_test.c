// SPDX-License-Identifier: GPL-2.0-only
/* Feedback: when it is recorded, committed, and ignored. */
#include <criterion/criterion.h>

#include "sluice/cc/hpcc.h"
#include "sluice/wire/telemetry.h"
#include "model.h"
#include "trace.h"
#include "hpcc_case.h"

TestSuite(hpcc_new_ack, .timeout = 60);

Test(hpcc_new_ack, hpcc_new_ack__first_feedback_is_only_recorded)
{
	struct hpcc_state st = flow_new(), want = st;
	struct hpcc_ack ack = feedback(9, 1234, 5678, 90);

	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
	want.path_id = 7;
	want.hops = 1;
	want.last[0] = ack.hop[0];
	want.last_update_seq = ack.snd_nxt;
	cr_expect_arr_eq(&st, &want, sizeof(st), "nothing but the record has changed");
}

/* As the authors' simulator has it: lastUpdateSeq = snd_nxt with the first feedback. */
Test(hpcc_new_ack, hpcc_new_ack__first_commit_is_for_what_was_sent_after_the_first_feedback)
{
	struct hpcc_state st = flow_new();
	struct hpcc_ack ack = feedback(1, 1000, 0, 0);

	ack.snd_nxt = 200;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
	cr_expect_eq(st.last_update_seq, 200);
	ack = feedback(200, 1000 + 130, 800, 0);
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FAST, "sent before the first feedback");
	cr_expect_eq(st.wc, params.w_init);
	ack = feedback(201, 1000 + 260, 1600, 0);
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FULL);
}

Test(hpcc_new_ack, hpcc_new_ack__commits_once_per_rtt)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(100, 1000 + 130, 800, 0);
	q12_t wc;

	ack.snd_nxt = 200;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FULL);
	cr_expect_eq(st.last_update_seq, 200);
	cr_expect_eq(st.wc, st.w);
	wc = st.wc;

	ack = feedback(150, 1000 + 260, 1600, 0);
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FAST, "sent before the new Wc");
	ack = feedback(200, 1000 + 390, 2400, 0);
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FAST, "the last one before it");
	cr_expect_eq(st.wc, wc);
	cr_expect_eq(st.last_update_seq, 200);
	ack = feedback(201, 1000 + 520, 3200, 0);
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FULL, "the first one after it");
	cr_expect_eq(st.last_update_seq, 50201);
}

Test(hpcc_new_ack, hpcc_new_ack__rate_follows_w)
{
	struct hpcc_state st = flow_primed(100000);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 52000, 100000);

	hpcc_new_ack(&st, &params, &ack);
	cr_expect_lt(st.w, params.w_init / 2);
	cr_expect_eq(st.rate_bps, hpcc_rate_bps(st.w, params.t_ns));
}

Test(hpcc_new_ack, hpcc_new_ack__records_what_it_measured)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 2000, 3000, 4000);

	hpcc_new_ack(&st, &params, &ack);
	cr_expect_arr_eq(&st.last[0], &ack.hop[0], sizeof(ack.hop[0]));
}

/* The older record is kept: the next feedback is compared with what was newest. */
Test(hpcc_new_ack, hpcc_new_ack__reordered_feedback_changes_nothing)
{
	static const __s32 steps[] = { 0, -1, -130, -4160, -8388607 };
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct hpcc_state st = flow_primed(0), before = st;
		struct hpcc_ack ack = feedback(2, (1000 + steps[i]) & HPCC_TS_MASK, 999, 9);

		cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_SKIPPED, "step %d", steps[i]);
		cr_expect_arr_eq(&st, &before, sizeof(st), "step %d", steps[i]);
	}
}

Test(hpcc_new_ack, hpcc_new_ack__one_reordered_hop_is_enough)
{
	struct hpcc_ack ack = feedback(1, 1000, 0, 0);
	struct hpcc_state st = flow_new(), before;
	int i;

	ack.hops = HPCC_MAX_HOPS;
	for (i = 1; i < HPCC_MAX_HOPS; i++)
		ack.hop[i] = ack.hop[0];
	hpcc_new_ack(&st, &params, &ack);
	before = st;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		ack.hop[i].ts_ns = i == HPCC_MAX_HOPS - 1 ? 1000 : 2000;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_SKIPPED);
	cr_expect_arr_eq(&st, &before, sizeof(st));
}

Test(hpcc_new_ack, hpcc_new_ack__another_path_starts_anew)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 0xabcdef, 12345, 0);

	ack.path_id = 8;
	st.u = 3 * Q24_ONE;
	st.inc_stage = 4;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
	cr_expect_eq(st.u, Q24_ONE, "U was of another path");
	cr_expect_eq(st.inc_stage, 0);
	cr_expect_eq(st.w, params.w_init);
	cr_expect_eq(st.path_id, 8);
	cr_expect_arr_eq(&st.last[0], &ack.hop[0], sizeof(ack.hop[0]));
	cr_expect_eq(st.last_update_seq, 1, "no commit");
	ack.seq++;
	ack.hop[0].ts_ns += 4160;
	ack.hop[0].tx_bytes += 26000;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FULL);
	cr_expect_float_eq(u_of(&st), 0.5, 1e-6);
}

Test(hpcc_new_ack, hpcc_new_ack__another_hop_count_starts_anew)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 2000, 12345, 67);

	ack.hops = 2;
	ack.hop[1] = ack.hop[0];
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
	cr_expect_eq(st.hops, 2);
	ack.hops = 1;
	ack.hop[0].ts_ns = 3000;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
	cr_expect_eq(st.hops, 1);
}

Test(hpcc_new_ack, hpcc_new_ack__no_hops_and_too_many_are_ignored)
{
	struct hpcc_state st = flow_primed(0), before = st;
	struct hpcc_ack ack = feedback(2, 2000, 12345, 67);

	ack.hops = 0;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_SKIPPED);
	ack.hops = HPCC_MAX_HOPS + 1;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_SKIPPED);
	ack.hops = 255;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_SKIPPED);
	cr_expect_arr_eq(&st, &before, sizeof(st));
}
