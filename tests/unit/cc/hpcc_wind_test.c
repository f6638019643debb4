// SPDX-License-Identifier: GPL-2.0-only
/* W and Wc, from their beginning, and by U. */
#include <criterion/criterion.h>
#include <math.h>

#include "sluice/cc/hpcc.h"
#include "sluice/wire/telemetry.h"
#include "model.h"
#include "trace.h"
#include "hpcc_case.h"

TestSuite(hpcc_wind, .timeout = 60);

Test(hpcc_wind, hpcc_init__starts_at_line_rate_with_one_bdp_in_flight)
{
	struct hpcc_state st = flow_new();

	cr_expect_eq(st.w, params.w_init);
	cr_expect_eq(st.wc, params.w_init);
	cr_expect_eq(st.u, Q24_ONE);
	cr_expect_eq(st.u_frac, 0);
	cr_expect_eq(st.rate_bps, 100 * GBPS);
	cr_expect_eq(st.hops, 0);
	cr_expect_eq(st.inc_stage, 0);
	cr_expect_eq(st.last_update_seq, 0);
}

Test(hpcc_wind, hpcc_cap__keeps_w_and_wc_between_one_packet_and_the_cap)
{
	static const struct {
		q12_t w, cap, want;
	} cases[] = {
		/* in multiples of w_min */
		{ 5, 9, 5 }, { 9, 5, 5 }, { 5, 5, 5 }, { 5, 0, 1 }, { 0, 9, 1 }, { 0, 0, 1 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hpcc_state st = flow_new();

		st.w = cases[i].w * params.w_min;
		st.wc = st.w;
		hpcc_cap(&st, &params, cases[i].cap * params.w_min);
		cr_expect_eq(st.w, cases[i].want * params.w_min, "case %u: W", i);
		cr_expect_eq(st.wc, cases[i].want * params.w_min, "case %u: Wc", i);
		cr_expect_eq(st.rate_bps, hpcc_rate_bps(st.w, params.t_ns), "case %u: R", i);
	}
}

Test(hpcc_wind, hpcc_rate_bps__is_w_over_t)
{
	cr_expect_eq(hpcc_rate_bps(q12_from_bytes(52000), 4160), 100 * GBPS);
	cr_expect_eq(hpcc_rate_bps(q12_from_bytes(50000), 4000000), 100000000);
	cr_expect_eq(hpcc_rate_bps(0, 4160), 0);
	/* the largest window in 10 us, the smallest in a second */
	cr_expect_float_eq(hpcc_rate_bps(q12_from_bytes(HPCC_W_MAX_BYTES), 10000) / 107374181.6e6, 1, 1e-6);
	cr_expect_float_eq(hpcc_rate_bps(q12_from_bytes(1000), 1000000000), 8000, 10);
}

Test(hpcc_wind, hpcc_idle_ns__is_half_the_wrap_or_8_rtts)
{
	cr_expect_eq(hpcc_idle_ns(1), HALF_NS);
	cr_expect_eq(hpcc_idle_ns(4160), HALF_NS);
	cr_expect_eq(hpcc_idle_ns(HALF_NS / 8), HALF_NS);
	cr_expect_eq(hpcc_idle_ns(HALF_NS / 8 + 1), HALF_NS + 8);
	cr_expect_eq(hpcc_idle_ns(50000000), 400000000);
}

static struct hpcc_state flow_at(double wc_bytes, double u, int inc_stage)
{
	struct hpcc_state st = flow_new();

	st.w = st.wc = llround(wc_bytes * Q12_ONE);
	st.u = llround(u * Q24_ONE);
	st.inc_stage = inc_stage;
	return st;
}

Test(hpcc_wind, hpcc_wind__divides_by_u_over_eta)
{
	struct hpcc_state st = flow_at(20000, 1.9, 3);

	hpcc_wind(&st, &params, 1);
	cr_expect_float_eq(bytes(st.w), 20000 / (1.9 / 0.95) + 80, 0.01);
	cr_expect_eq(st.wc, st.w);
	cr_expect_eq(st.inc_stage, 0);
}

Test(hpcc_wind, hpcc_wind__eta_itself_is_multiplicative)
{
	struct hpcc_state st = flow_at(20000, 0.5, 3);

	st.u = params.eta;
	hpcc_wind(&st, &params, 1);
	cr_expect_eq(st.inc_stage, 0);
	cr_expect_float_eq(bytes(st.w), 20080, 0.01);
	st = flow_at(20000, 0.5, 3);
	st.u = params.eta - 1;
	hpcc_wind(&st, &params, 1);
	cr_expect_eq(st.inc_stage, 4);
}

Test(hpcc_wind, hpcc_wind__adds_max_stage_times_and_then_multiplies)
{
	struct hpcc_state st = flow_at(10000, 0.475, 0);
	int i;

	for (i = 1; i <= 5; i++) {
		hpcc_wind(&st, &params, 1);
		cr_expect_eq(st.w, q12_from_bytes(10000 + 80 * i));
		cr_expect_eq(st.inc_stage, i);
	}
	hpcc_wind(&st, &params, 1);
	cr_expect_float_eq(bytes(st.w), 10400 * 2 + 80, 0.01);
	cr_expect_eq(st.inc_stage, 0);
}

Test(hpcc_wind, hpcc_wind__without_update_moves_only_w)
{
	struct hpcc_state st = flow_at(20000, 1.9, 3);

	hpcc_wind(&st, &params, 0);
	cr_expect_float_eq(bytes(st.w), 10080, 0.01);
	cr_expect_eq(st.wc, q12_from_bytes(20000));
	cr_expect_eq(st.inc_stage, 3);
	st.u = Q24_ONE / 2;
	hpcc_wind(&st, &params, 0);
	cr_expect_eq(st.w, q12_from_bytes(20080), "from Wc, not from W");
	cr_expect_eq(st.inc_stage, 3);
}

Test(hpcc_wind, hpcc_wind__stays_between_w_min_and_w_init)
{
	struct hpcc_state st = flow_at(52000, 500, 0);

	hpcc_wind(&st, &params, 1);
	cr_expect_eq(st.w, params.w_min);
	cr_expect_eq(st.wc, params.w_min);
	st = flow_at(51990, 0.1, 0);
	hpcc_wind(&st, &params, 1);
	cr_expect_eq(st.w, params.w_init, "by addition");
	cr_expect_eq(st.wc, params.w_init);
	st = flow_at(20000, 0.1, 5);
	hpcc_wind(&st, &params, 1);
	cr_expect_eq(st.w, params.w_init, "by multiplication");
	st = flow_at(20000, 0, 5);
	hpcc_wind(&st, &params, 1);
	cr_expect_eq(st.w, params.w_init, "by a U of 0");
}

/* Its whole range against floating point: the products must not exceed 2^64. */
Test(hpcc_wind, hpcc_wind__largest_values)
{
	static const double windows[] = { 0.1, 0.6, 1, 1.49, 64, 1500, 52000, 1e6, HPCC_W_MAX_BYTES };
	size_t init, wc;
	int u, eta;

	for (init = 1; init < sizeof(windows) / sizeof(windows[0]); init++)
		for (wc = 0; wc <= init; wc++)
			for (u = 0; u <= 39; u++)
				for (eta = 0; eta < 3; eta++) {
					struct hpcc_params p = params;
					struct hpcc_state st = flow_at(windows[wc], 0, 5);
					double want;

					p.w_init = llround(windows[init] * Q12_ONE);
					p.w_min = 1;
					p.w_ai = 0;
					p.eta = eta ? Q24_ONE >> 3 * (eta - 1) : Q24_ONE * 95 / 100;
					st.u = 1ULL << u;
					want = fmin(fmax(st.wc / ((double)st.u / p.eta), 1), p.w_init);
					hpcc_wind(&st, &p, 0);
					/* eta / U is rounded to 24 bits */
					cr_expect(fabs(st.w - want) <= 1 + want * (double)st.u / p.eta * 0x1p-24,
						  "Wc %.2f of %.2f, U 2^%d, eta %llu: %llu, not %.1f", windows[wc],
						  windows[init], u - 24, p.eta, st.w, want);
				}
}

/* A round of three T is three stages, a W below a packet has one with each. */
Test(hpcc_wind, hpcc_commit__counts_round_trips_of_t)
{
	struct hpcc_params p = params;
	struct hpcc_state st;

	hpcc_init(&st, &p);
	hpcc_round_lasts(&st, 3 * p.t_ns);
	hpcc_commit(&st, &p, 0);
	cr_expect_eq(st.inc_stage, 3);
	cr_expect_eq(st.round_ns, 0);
	hpcc_commit(&st, &p, 0);
	cr_expect_eq(st.inc_stage, 4, "a round of which no time is known is one");
	hpcc_round_lasts(&st, ~0ULL / 2);
	cr_expect_eq(st.round_ns, HPCC_PAUSE_MAX_NS);
	hpcc_commit(&st, &p, 0);
	cr_expect_eq(st.inc_stage, p.max_stage, "no further");
	hpcc_commit(&st, &p, 1);
	cr_expect_eq(st.inc_stage, 0);
	p.packet = 1500;
	st.w = st.wc = q12_from_bytes(700);
	hpcc_round_lasts(&st, 3 * p.t_ns);
	hpcc_commit(&st, &p, 0);
	cr_expect_eq(st.inc_stage, 1);
	st.u = p.eta / 2 - 1;
	hpcc_round_lasts(&st, 3 * p.t_ns);
	hpcc_commit(&st, &p, 0);
	cr_expect_eq(st.inc_stage, 4, "the port is half empty");
}

/* As line 18 of Algorithm 1: one for each commit, however long the round was. */
Test(hpcc_wind, hpcc_commit__counts_rounds)
{
	struct hpcc_params p = params;
	struct hpcc_state st;
	int i;

	p.stages = HPCC_STAGES_ROUNDS;
	hpcc_init(&st, &p);
	for (i = 1; i <= p.max_stage; i++) {
		hpcc_round_lasts(&st, 3 * p.t_ns);
		hpcc_commit(&st, &p, 0);
		cr_expect_eq(st.inc_stage, i);
	}
	hpcc_commit(&st, &p, 1);
	cr_expect_eq(st.inc_stage, 0);
}
