// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "sluice/wire/telemetry.h"

#include "model.h"
#include "trace.h"

TestSuite(hpcc, .timeout = 60);

#define GBPS 1000000000ULL
#define WRAP_NS (1LL << 24)
#define HALF_NS (1LL << 23)

/* The flow of issue 2: 100 Gbit/s, 4.16 us, 52000 bytes. */
static const struct hpcc_params params = {
	.t_ns = 4160,
	.w_init = 52000 * Q12_ONE,
	.w_min = 1000 * Q12_ONE,
	.w_ai = 80 * Q12_ONE,
	.eta = Q24_ONE * 95 / 100,
	.max_stage = 5,
};

static double u_of(const struct hpcc_state *st)
{
	return (double)st->u / Q24_ONE;
}

static double bytes(q12_t w)
{
	return (double)w / Q12_ONE;
}

static struct hpcc_state flow_new(void)
{
	struct hpcc_state st;

	memset(&st, 0, sizeof(st)); /* padding too: states are compared as memory */
	hpcc_init(&st, &params);
	return st;
}

/* Feedback of one hop at 100 Gbit/s. */
static struct hpcc_ack feedback(__u64 seq, __u32 ts_ns, __u32 tx_bytes, __u32 qlen_bytes)
{
	struct hpcc_ack ack = {
		.seq = seq,
		.snd_nxt = seq + 50000,
		.gap_ns = HPCC_GAP_UNKNOWN,
		.path_id = 7,
		.hops = 1,
		.hop = { { .bps = 100 * GBPS,
			   .ts_ns = ts_ns,
			   .tx_bytes = tx_bytes,
			   .qlen_bytes = qlen_bytes } },
	};

	return ack;
}

/* A flow with a record of one hop: one packet sent, nothing queued, the clock at 1000. */
static struct hpcc_state flow_primed(__u32 qlen_bytes)
{
	struct hpcc_ack ack = feedback(1, 1000, 0, qlen_bytes);
	struct hpcc_state st = flow_new();

	ack.snd_nxt = ack.seq;
	cr_assert_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
	return st;
}

/* ---- hpcc_init, hpcc_rate_bps, hpcc_idle_ns ---- */

Test(hpcc, hpcc_init__starts_at_line_rate_with_one_bdp_in_flight)
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

Test(hpcc, hpcc_cap__keeps_w_and_wc_between_one_packet_and_the_cap)
{
	static const struct {
		q12_t w, cap, want;
	} cases[] = { /* in multiples of w_min */
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

Test(hpcc, hpcc_rate_bps__is_w_over_t)
{
	cr_expect_eq(hpcc_rate_bps(q12_from_bytes(52000), 4160), 100 * GBPS);
	cr_expect_eq(hpcc_rate_bps(q12_from_bytes(50000), 4000000), 100000000);
	cr_expect_eq(hpcc_rate_bps(0, 4160), 0);
	/* the largest window in 10 us, the smallest in a second */
	cr_expect_float_eq(hpcc_rate_bps(q12_from_bytes(HPCC_W_MAX_BYTES), 10000) / 107374181.6e6,
			   1, 1e-6);
	cr_expect_float_eq(hpcc_rate_bps(q12_from_bytes(1000), 1000000000), 8000, 10);
}

Test(hpcc, hpcc_idle_ns__is_half_the_wrap_or_8_rtts)
{
	cr_expect_eq(hpcc_idle_ns(1), HALF_NS);
	cr_expect_eq(hpcc_idle_ns(4160), HALF_NS);
	cr_expect_eq(hpcc_idle_ns(HALF_NS / 8), HALF_NS);
	cr_expect_eq(hpcc_idle_ns(HALF_NS / 8 + 1), HALF_NS + 8);
	cr_expect_eq(hpcc_idle_ns(50000000), 400000000);
}

/* ---- hpcc_elapsed ---- */

Test(hpcc, hpcc_elapsed__without_a_gap_takes_the_nearest)
{
	static const struct {
		__u32 from, to;
		__s64 want;
	} t[] = {
		{ 0, 0, 0 },
		{ 0, 1, 1 },
		{ 1, 0, -1 },
		{ 1000, 5160, 4160 },
		{ 0xffffff, 0, 1 },
		{ 0, 0xffffff, -1 },
		{ 0xfffff0, 0x10, 0x20 },
		{ 0x10, 0xfffff0, -0x20 },
		{ 0, HALF_NS, HALF_NS },
		{ 0, HALF_NS - 1, HALF_NS - 1 },
		{ 0, HALF_NS + 1, 1 - HALF_NS },
		{ 0xc00000, 0x3fffff, HALF_NS - 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		cr_expect_eq(hpcc_elapsed(t[i].from, t[i].to, HPCC_GAP_UNKNOWN), t[i].want,
			     "from %#x to %#x: %lld", t[i].from, t[i].to,
			     hpcc_elapsed(t[i].from, t[i].to, HPCC_GAP_UNKNOWN));
}

/* Under UBSan: a gap that no clock has, as of a record that is not to be trusted, is a number like any other. */
Test(hpcc, hpcc_elapsed__no_gap_overflows)
{
	cr_expect_eq(hpcc_elapsed(5, 5, 0x7fffffffffffffffLL) & (WRAP_NS - 1), 0);
	cr_expect_eq(hpcc_elapsed(5, 4, 0x7fffffffffffffffLL) & (WRAP_NS - 1), WRAP_NS - 1);
	cr_expect_eq(hpcc_elapsed(5, 4, HPCC_GAP_UNKNOWN + 1) & (WRAP_NS - 1), WRAP_NS - 1);
}

Test(hpcc, hpcc_elapsed__a_gap_counts_the_wraps)
{
	cr_expect_eq(hpcc_elapsed(5, 5, WRAP_NS), WRAP_NS);
	cr_expect_eq(hpcc_elapsed(5, 5, 3 * WRAP_NS + HALF_NS - 1), 3 * WRAP_NS);
	cr_expect_eq(hpcc_elapsed(5, 5, 3 * WRAP_NS - HALF_NS + 1), 3 * WRAP_NS);
	cr_expect_eq(hpcc_elapsed(0, 100, 10 * WRAP_NS), 10 * WRAP_NS + 100);
	cr_expect_eq(hpcc_elapsed(100, 0, 10 * WRAP_NS), 10 * WRAP_NS - 100);
	cr_expect_eq(hpcc_elapsed(5, 5, -WRAP_NS), -WRAP_NS);
	cr_expect_eq(hpcc_elapsed(0, 1, 0), 1);
	cr_expect_eq(hpcc_elapsed(0, HALF_NS + 1, HALF_NS + 1), HALF_NS + 1,
		     "a pause, no step back");
	cr_expect_eq(hpcc_elapsed(0, HALF_NS + 1, 0), 1 - HALF_NS, "a step back");
}

/* Whatever the clocks stand at: right as long as queueing changed by less than half the wrap. */
Test(hpcc, hpcc_elapsed__is_the_truth_within_half_a_wrap_of_the_gap)
{
	unsigned short rng[3] = { 7, 8, 9 };
	int i;

	for (i = 0; i < 1000000; i++) {
		__s64 from = (__s64)nrand48(rng) << 20;
		__s64 passed = ((__s64)nrand48(rng) << 16 >> nrand48(rng) % 48) * (i & 1 ? 1 : -1);
		__s64 noise = nrand48(rng) % (WRAP_NS - 1) - (HALF_NS - 1);

		cr_assert_eq(hpcc_elapsed(from & HPCC_TS_MASK, (from + passed) & HPCC_TS_MASK,
					  passed + noise),
			     passed, "from %lld, %lld passed, gap %lld", from, passed,
			     passed + noise);
	}
}

Test(hpcc, hpcc_elapsed__takes_gaps_of_a_lifetime)
{
	cr_expect_eq(hpcc_elapsed(0, 0, 1LL << 61), 1LL << 61);
	cr_expect_eq(hpcc_elapsed(0, 0, -(1LL << 61)), -(1LL << 61));
}

/* ---- hpcc_measure ---- */

Test(hpcc, hpcc_measure__rate_and_queue_of_one_hop)
{
	struct hpcc_state st = flow_primed(13000);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 26000, 13000);

	/* half of what fits through in T, and a quarter of a BDP queued; tau = T: no memory */
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
	cr_expect_float_eq(u_of(&st), 0.75, 1e-6);
}

Test(hpcc, hpcc_measure__takes_the_smaller_of_two_queues)
{
	struct hpcc_state st = flow_primed(13000);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 26000, 5200);

	hpcc_measure(&st, &params, &ack);
	cr_expect_float_eq(u_of(&st), 0.6, 1e-6, "the later is smaller");
	st = flow_primed(5200);
	ack = feedback(2, 1000 + 4160, 26000, 13000);
	hpcc_measure(&st, &params, &ack);
	cr_expect_float_eq(u_of(&st), 0.6, 1e-6, "the earlier is smaller");
}

Test(hpcc, hpcc_measure__weighs_by_tau_over_t)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 1040, 6500, 0);

	/* u = 0.5 over a quarter of T */
	hpcc_measure(&st, &params, &ack);
	cr_expect_float_eq(u_of(&st), 0.75 * 1 + 0.25 * 0.5, 1e-6);
}

Test(hpcc, hpcc_measure__tau_is_at_most_t)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 41600, 260000, 0);

	hpcc_measure(&st, &params, &ack);
	cr_expect_float_eq(u_of(&st), 0.5, 1e-6);
}

/* Two hops, seen over different times: the loaded one sets u and tau, wherever it is. */
Test(hpcc, hpcc_measure__takes_the_most_loaded_hop_and_its_tau)
{
	int busy;

	for (busy = 0; busy < 2; busy++) {
		struct hpcc_ack ack = feedback(1, 1000, 0, 0);
		struct hpcc_state st = flow_new();

		ack.hops = 2;
		ack.hop[1] = ack.hop[0];
		hpcc_new_ack(&st, &params, &ack);
		ack.hop[busy].ts_ns += 1040;
		ack.hop[busy].tx_bytes += 26000; /* 2.0 */
		ack.hop[!busy].ts_ns += 2080;
		ack.hop[!busy].tx_bytes += 20800; /* 0.8 */
		cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
		cr_expect_float_eq(u_of(&st), 0.75 * 1 + 0.25 * 2, 1e-6, "hop %d is the busy one",
				   busy);
	}
}

Test(hpcc, hpcc_measure__each_hop_by_its_own_speed)
{
	struct hpcc_ack ack = feedback(1, 1000, 0, 0);
	struct hpcc_state st = flow_new();

	ack.hops = 2;
	ack.hop[1] = ack.hop[0];
	ack.hop[1].bps = 10 * GBPS;
	hpcc_new_ack(&st, &params, &ack);
	ack.hop[0].ts_ns += 4160;
	ack.hop[0].tx_bytes += 20800; /* 0.4 of 100 Gbit/s */
	ack.hop[1].ts_ns += 4160;
	ack.hop[1].tx_bytes += 4680; /* 0.9 of 10 Gbit/s */
	hpcc_measure(&st, &params, &ack);
	cr_expect_float_eq(u_of(&st), 0.9, 1e-6);
}

Test(hpcc, hpcc_measure__counters_and_clock_wrap)
{
	struct hpcc_state st = flow_new();
	struct hpcc_ack ack = feedback(1, 0xffffff - 100, (1 << 27) - 1000, 0);

	hpcc_new_ack(&st, &params, &ack);
	ack = feedback(2, 4160 - 101, 25000, 0);
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
	cr_expect_float_eq(u_of(&st), 0.5, 1e-6);
}

/* By one unit of the telemetry and 1 us later, that is 10^6 times what fits through. */
Test(hpcc, hpcc_measure__a_counter_that_goes_back_is_no_rate)
{
	struct hpcc_state st = flow_new();
	struct hpcc_ack ack = feedback(1, 1000, 26000, 0);

	hpcc_new_ack(&st, &params, &ack);
	ack = feedback(2, 1000 + 1040, 26000 - 128, 0);
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FAST);
	cr_expect_leq(st.u, Q24_ONE);
	cr_expect_eq(st.last[0].tx_bytes, 26000 - 128, "the next difference is from there");
	st = flow_new();
	ack = feedback(1, 1000, 100, 0);
	hpcc_new_ack(&st, &params, &ack);
	ack = feedback(2, 1000 + 1040, (1 << 27) - 100, 0);
	hpcc_new_ack(&st, &params, &ack);
	cr_expect_leq(st.u, Q24_ONE, "back over the wrap");
}

Test(hpcc, hpcc_sent__more_than_fits_is_a_burst_or_a_step_back)
{
	/* 13000 bytes fit through 100 Gbit/s in 1040 ns. */
	cr_expect_eq(hpcc_sent(500, 500 + 13000, 100 * GBPS, 1040), 13000);
	cr_expect_eq(hpcc_sent(500, 500, 100 * GBPS, 1040), 0);
	cr_expect_eq(hpcc_sent(0, (1 << 26) + 6500, 100 * GBPS, 1040), (1 << 26) + 6500);
	cr_expect_eq(hpcc_sent(0, (1 << 26) + 6501, 100 * GBPS, 1040), 0);
	/* In the time of a wrap, but for 28 bytes, a step back can only be one of less than half of them. */
	cr_expect_eq(hpcc_sent(14, 0, 800 * GBPS, 1342177), (1 << 27) - 14);
	cr_expect_eq(hpcc_sent(13, 0, 800 * GBPS, 1342177), 0);
}

/* No hop queued or sent anything: none sets tau, and U stays. */
Test(hpcc, hpcc_measure__nothing_moved)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 0, 0);

	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
	cr_expect_eq(st.u, Q24_ONE);
}

Test(hpcc, hpcc_measure__a_pause_too_long_starts_anew)
{
	struct hpcc_params slow = params;
	struct hpcc_ack ack = feedback(2, 0, 1000, 0);
	struct hpcc_state st;

	st = flow_primed(0);
	ack.gap_ns = HALF_NS;
	ack.hop[0].ts_ns = (1000 + HALF_NS) & HPCC_TS_MASK;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST, "half the wrap");
	st = flow_primed(0);
	ack.gap_ns = HALF_NS + 1;
	ack.hop[0].ts_ns = (1000 + HALF_NS + 1) & HPCC_TS_MASK;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FIRST, "more than half the wrap");
	cr_expect_eq(st.u, Q24_ONE);

	/* With an RTT of 50 ms on a slow port 8 RTTs are no pause; with wraps in between. */
	slow.t_ns = 50000000;
	st = flow_primed(0);
	st.last[0].bps = ack.hop[0].bps = GBPS;
	ack.gap_ns = 400000000 + 1234567;
	ack.hop[0].ts_ns = (1000 + 400000000) & HPCC_TS_MASK;
	ack.hop[0].tx_bytes = 25000000;
	cr_expect_eq(hpcc_measure(&st, &slow, &ack), HPCC_FAST, "8 RTTs");
	cr_expect_float_eq(u_of(&st), 0.5, 1e-6);
	st = flow_primed(0);
	st.last[0].bps = GBPS;
	ack.hop[0].ts_ns = (1000 + 400000001) & HPCC_TS_MASK;
	cr_expect_eq(hpcc_measure(&st, &slow, &ack), HPCC_FIRST, "more than 8 RTTs");
}

/* 2^27 bytes pass a port of 800 Gbit/s in 1.342 ms, long before the clock wraps. */
Test(hpcc, hpcc_measure__a_counter_that_may_have_wrapped_starts_anew)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 1342177, 1000, 0);

	st.last[0].bps = ack.hop[0].bps = 800 * GBPS;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
	st = flow_primed(0);
	st.last[0].bps = 800 * GBPS;
	ack.hop[0].ts_ns++;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FIRST);
}

Test(hpcc, hpcc_measure__another_speed_starts_anew)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 26000, 0);

	ack.hop[0].bps = 40 * GBPS;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FIRST);
	st.last[0].bps = ack.hop[0].bps = 0;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FIRST, "no division by a speed of 0");
}

/* The most that there is, in every direction, in the least time; the sanitizers watch. */
Test(hpcc, hpcc_measure__largest_values)
{
	static const __u64 speeds[] = { 1,	    10000000,	(1ULL << 32) - 1,
					1ULL << 32, 800 * GBPS, (1ULL << 44) - 1 };
	static const __u64 rtts[] = { 1, 1000, 4160, 50000000, (1 << 30) - 1 };
	size_t b, t, q;

	for (b = 0; b < sizeof(speeds) / sizeof(speeds[0]); b++)
		for (t = 0; t < sizeof(rtts) / sizeof(rtts[0]); t++)
			for (q = 0; q < 3; q++) {
				struct hpcc_params p = params;
				struct hpcc_state st = flow_primed(0);
				struct hpcc_ack ack = feedback(2, 1001, 1 << 26, 0);
				double want;

				p.t_ns = rtts[t];
				st.last[0].bps = ack.hop[0].bps = speeds[b];
				st.last[0].qlen_bytes = ((1 << 27) - 1) >> 13 * q;
				ack.hop[0].qlen_bytes = ((1 << 27) - 1) >> 13 * q;
				st.u = 1ULL << 39;
				cr_expect_eq(hpcc_measure(&st, &p, &ack), HPCC_FAST);
				want = fmin(ack.hop[0].qlen_bytes * 8e9 / speeds[b] / rtts[t],
					    16384) +
				       fmin((1 << 26) * 8e9 / speeds[b], 16384);
				want = 32768 - (32768 - want) / rtts[t];
				cr_expect_float_eq(u_of(&st) / want, 1, 1e-4,
						   "B %llu T %llu: %f, not %f", speeds[b], rtts[t],
						   u_of(&st), want);
				cr_expect_leq(st.u, 1ULL << 39);
			}
}

/* ---- hpcc_wind ---- */

static struct hpcc_state flow_at(double wc_bytes, double u, int inc_stage)
{
	struct hpcc_state st = flow_new();

	st.w = st.wc = llround(wc_bytes * Q12_ONE);
	st.u = llround(u * Q24_ONE);
	st.inc_stage = inc_stage;
	return st;
}

Test(hpcc, hpcc_wind__divides_by_u_over_eta)
{
	struct hpcc_state st = flow_at(20000, 1.9, 3);

	hpcc_wind(&st, &params, 1);
	cr_expect_float_eq(bytes(st.w), 20000 / (1.9 / 0.95) + 80, 0.01);
	cr_expect_eq(st.wc, st.w);
	cr_expect_eq(st.inc_stage, 0);
}

Test(hpcc, hpcc_wind__eta_itself_is_multiplicative)
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

Test(hpcc, hpcc_wind__adds_max_stage_times_and_then_multiplies)
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

Test(hpcc, hpcc_wind__without_update_moves_only_w)
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

Test(hpcc, hpcc_wind__stays_between_w_min_and_w_init)
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

/* All of its range against floating point: the products must not pass 2^64. */
Test(hpcc, hpcc_wind__largest_values)
{
	static const double windows[] = {
		0.1, 0.6, 1, 1.49, 64, 1500, 52000, 1e6, HPCC_W_MAX_BYTES
	};
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
					want = fmin(fmax(st.wc / ((double)st.u / p.eta), 1),
						    p.w_init);
					hpcc_wind(&st, &p, 0);
					/* eta / U is rounded to 24 bits */
					cr_expect(
						fabs(st.w - want) <=
							1 + want * (double)st.u / p.eta * 0x1p-24,
						"Wc %.2f of %.2f, U 2^%d, eta %llu: %llu, not %.1f",
						windows[wc], windows[init], u - 24, p.eta, st.w,
						want);
				}
}

/* ---- hpcc_new_ack ---- */

Test(hpcc, hpcc_new_ack__first_feedback_is_only_recorded)
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
Test(hpcc, hpcc_new_ack__first_commit_is_for_what_was_sent_after_the_first_feedback)
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

Test(hpcc, hpcc_new_ack__commits_once_per_rtt)
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

Test(hpcc, hpcc_new_ack__rate_follows_w)
{
	struct hpcc_state st = flow_primed(100000);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 52000, 100000);

	hpcc_new_ack(&st, &params, &ack);
	cr_expect_lt(st.w, params.w_init / 2);
	cr_expect_eq(st.rate_bps, hpcc_rate_bps(st.w, params.t_ns));
}

Test(hpcc, hpcc_new_ack__records_what_it_measured)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 2000, 3000, 4000);

	hpcc_new_ack(&st, &params, &ack);
	cr_expect_arr_eq(&st.last[0], &ack.hop[0], sizeof(ack.hop[0]));
}

/* The older record is kept: the next feedback is compared with what was newest. */
Test(hpcc, hpcc_new_ack__reordered_feedback_changes_nothing)
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

Test(hpcc, hpcc_new_ack__one_reordered_hop_is_enough)
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

Test(hpcc, hpcc_new_ack__another_path_starts_anew)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 0xabcdef, 12345, 0);

	ack.path_id = 8;
	cr_expect_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
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

Test(hpcc, hpcc_new_ack__another_hop_count_starts_anew)
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

Test(hpcc, hpcc_new_ack__no_hops_and_too_many_are_ignored)
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

/* Both bound their loops themselves, whatever their callers have checked. AddressSanitizer looks.
 */
Test(hpcc, hpcc_measure__never_looks_beyond_five_hops)
{
	struct hpcc_state *st = malloc(sizeof(*st));
	struct hpcc_ack *ack = malloc(sizeof(*ack));
	int i;

	*st = flow_new();
	*ack = feedback(1, 1000, 0, 0);
	for (i = 1; i < HPCC_MAX_HOPS; i++)
		ack->hop[i] = ack->hop[0];
	ack->hops = 255;
	hpcc_record(st, ack);
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		ack->hop[i].ts_ns = 2000;
	cr_expect_eq(hpcc_measure(st, &params, ack), HPCC_FAST);
	free(st);
	free(ack);
}

/* ---- against the model of the paper ---- */

struct comparison {
	struct trace_cfg trace;
	struct model_params model;
	struct hpcc_params core;
	int quantised; /* through the fields of the telemetry */
	int gap_known; /* of the time between arrivals */
	unsigned long rows;
	unsigned long kinds[HPCC_SKIPPED + 1], ties;
	double worst_w;
};

static void core_ack(const struct comparison *c, const struct trace_row *row, struct hpcc_ack *ack)
{
	unsigned int i;

	memset(ack, 0, sizeof(*ack));
	ack->seq = row->seq;
	ack->snd_nxt = row->snd_nxt;
	ack->gap_ns = HPCC_GAP_UNKNOWN;
	ack->path_id = row->path_id;
	ack->hops = row->hops;
	for (i = 0; i < row->hops; i++) {
		const struct trace_hop *h = &row->hop[i];

		if (c->quantised)
			ack->hop[i] = telem_unpack(telem_pack(telem_speed_fit(h->bps), h->ts_ns,
							      h->tx_bytes, h->qlen_bytes));
		else
			ack->hop[i] = (struct hpcc_hop){ .bps = h->bps,
							 .ts_ns = h->ts_ns & HPCC_TS_MASK,
							 .tx_bytes = h->tx_bytes & HPCC_TX_MASK,
							 .qlen_bytes = h->qlen_bytes };
	}
}

static void params_random(struct comparison *c, struct trace *t)
{
	struct model_params *m = &c->model;
	double nic_bps = trace_random_log(t, c->trace.bps_min, c->trace.bps_max);

	m->t_ns = c->trace.t_ns;
	m->eta = trace_random(t, 0.5, 1);
	m->max_stage = trace_random(t, 0, 8);
	m->w_min = floor(trace_random(t, 60, 1500));
	m->w_init = floor(fmin(fmax(nic_bps * m->t_ns / 8e9, 2 * m->w_min), HPCC_W_MAX_BYTES));
	m->w_ai = m->w_init * (1 - m->eta) / trace_random_log(t, 1, 1000);
	m->idle_ns = fmax(HALF_NS, 8 * m->t_ns);
	m->tx_wrap_bytes = 1 << 27;
	c->core = (struct hpcc_params){ .t_ns = m->t_ns,
					.w_init = llround(m->w_init * Q12_ONE),
					.w_min = llround(m->w_min * Q12_ONE),
					.w_ai = llround(m->w_ai * Q12_ONE),
					.eta = llround(m->eta * Q24_ONE),
					.max_stage = m->max_stage };
}

/* What holds after every feedback, whatever it said. */
static void expect_sane(const struct comparison *c, const struct hpcc_state *st)
{
	cr_assert(st->w >= c->core.w_min && st->w <= c->core.w_init);
	cr_assert(st->wc >= c->core.w_min && st->wc <= c->core.w_init);
	cr_assert_leq(st->u, 1ULL << 39);
	cr_assert_leq(st->inc_stage, c->core.max_stage);
	cr_assert_float_eq(st->rate_bps * c->model.t_ns / (bytes(st->w) * 8e9), 1, 1e-3);
}

static void expect_agreement(struct comparison *c)
{
	int64_t recorded_ns = 0;
	struct hpcc_state st;
	struct model model;
	struct trace t;
	unsigned long n;

	trace_init(&t, &c->trace);
	memset(&st, 0, sizeof(st));
	hpcc_init(&st, &c->core);
	model_init(&model, &c->model);
	for (n = 0; n < c->rows; n++) {
		struct model_ack exact;
		struct model_hint hint;
		struct trace_row row;
		struct hpcc_ack ack;
		enum hpcc_kind kind, want;

		trace_next(&t, &row);
		core_ack(c, &row, &ack);
		trace_model_ack(&row, c->quantised, &exact);
		if (c->gap_known && st.hops)
			ack.gap_ns = row.arrival_ns - recorded_ns;
		kind = hpcc_new_ack(&st, &c->core, &ack);
		if (kind != HPCC_SKIPPED)
			recorded_ns = row.arrival_ns;
		hint = (struct model_hint){ u_of(&st), st.inc_stage, kind == HPCC_FULL };
		want = (enum hpcc_kind)model_new_ack(&model, &c->model, &exact, &hint);

		cr_assert_eq(kind, want, "seed %u row %lu: kind %d, not %d", c->trace.seed, n, kind,
			     want);
		cr_assert(fabs(bytes(st.w) / model.w - 1) <= 0.005,
			  "seed %u row %lu: W %.3f, not %.3f (U %.6f, not %.6f)", c->trace.seed, n,
			  bytes(st.w), model.w, u_of(&st), model.u);
		cr_assert(fabs(bytes(st.wc) / model.wc - 1) <= 0.005,
			  "seed %u row %lu: Wc %.3f, not %.3f", c->trace.seed, n, bytes(st.wc),
			  model.wc);
		/* U is cut to 2^-24: the idle flow's may be smaller than that. */
		cr_assert(fabs(u_of(&st) - model.u) <= 0.001 * model.u + 1e-6,
			  "seed %u row %lu: U %.6f, not %.6f", c->trace.seed, n, u_of(&st),
			  model.u);
		cr_assert_eq(st.inc_stage, model.inc_stage, "seed %u row %lu: stage %u, not %d",
			     c->trace.seed, n, st.inc_stage, model.inc_stage);
		expect_sane(c, &st);
		c->kinds[kind]++;
		c->worst_w = fmax(c->worst_w, fabs(bytes(st.w) / model.w - 1));
	}
	c->ties += model.ties;
}

/* A path of the given load, everything else at random. */
static struct comparison comparison_random(unsigned int seed, enum trace_load load)
{
	struct comparison c = { .trace = { .seed = seed, .load = load } };
	struct trace_cfg *cfg = &c.trace;
	struct trace t;

	trace_init(&t, cfg);
	c.quantised = seed & 1;
	c.gap_known = seed >> 1 & 1;
	c.rows = 3000;
	cfg->table_speeds = c.quantised;
	cfg->t_ns = floor(trace_random_log(&t, 1e3, 5e7));
	/* A BDP below a packet does not exist: T includes a packet's time on the wire. */
	cfg->bps_min = fmax(1e7, 12e12 / cfg->t_ns);
	cfg->bps_max = 8e11;
	cfg->interval_ns = fmax(4, cfg->t_ns * trace_random_log(&t, 0.001, 3));
	cfg->reorder = 0.01;
	cfg->still = 0.002;
	cfg->path = 0.002;
	cfg->hop_count = 0.002;
	cfg->speed = 0.001;
	cfg->pause = 0.005;
	if (c.gap_known) {
		cfg->noise_ns = 2e6;
		cfg->pause_ns = fmax(1e9, 3 * cfg->interval_ns);
	} else {
		/* Nothing tells how often the clock wraps: it must not. */
		cfg->interval_ns = fmin(cfg->interval_ns, 2e5);
		cfg->pause_ns = 3e6;
	}
	params_random(&c, &t);
	return c;
}

static void expect_agreement_under(enum trace_load load, unsigned int seed)
{
	unsigned long kinds[HPCC_SKIPPED + 1] = { 0 }, ties = 0, rows = 0;
	unsigned int end = seed + 60, i;
	double worst = 0;

	for (; seed < end; seed++) {
		struct comparison c = comparison_random(seed, load);

		expect_agreement(&c);
		for (i = 0; i <= HPCC_SKIPPED; i++)
			kinds[i] += c.kinds[i];
		ties += c.ties;
		rows += c.rows;
		worst = fmax(worst, c.worst_w);
	}
	/* The traces have been what they are for, and the model was not led by the hand. */
	for (i = 0; i <= HPCC_SKIPPED; i++)
		cr_expect_gt(kinds[i], rows / 200, "kind %u: only %lu of %lu rows", i, kinds[i],
			     rows);
	cr_expect_lt(ties, rows / 1000, "%lu ties in %lu rows", ties, rows);
	cr_log_info("worst error of W: %.2e", worst);
}

Test(hpcc, hpcc_new_ack__agrees_with_the_paper_under_changing_load)
{
	expect_agreement_under(TRACE_WALK, 1000);
}

Test(hpcc, hpcc_new_ack__agrees_with_the_paper_under_incast)
{
	expect_agreement_under(TRACE_INCAST, 2000);
}

Test(hpcc, hpcc_new_ack__agrees_with_the_paper_when_mostly_idle)
{
	expect_agreement_under(TRACE_IDLE, 3000);
}

/* The defaults of replay, a long flow: tens of wraps of the clock, hundreds of the counter. */
Test(hpcc, hpcc_new_ack__agrees_with_the_paper_for_100000_rows)
{
	unsigned int seed;

	for (seed = 1; seed <= 4; seed++) {
		struct comparison c = {
			.trace = { .seed = seed,
				   .load = seed & 2 ? TRACE_WALK : TRACE_INCAST,
				   .t_ns = 4160,
				   .bps_min = 25e9,
				   .bps_max = 100e9,
				   .table_speeds = 1,
				   .interval_ns = 3000,
				   .reorder = 0.001,
				   .path = 0.0001 },
			.model = { .t_ns = 4160,
				   .w_init = 52000,
				   .w_min = 1000,
				   .w_ai = 80,
				   .eta = 0.95,
				   .max_stage = 5,
				   .idle_ns = HALF_NS,
				   .tx_wrap_bytes = 1 << 27 },
			.core = params,
			.quantised = seed & 1,
			.rows = 100000,
		};

		expect_agreement(&c);
		cr_expect_gt(c.kinds[HPCC_FULL], 10000);
	}
}

/*
 * A load that hardly changes. Wc is multiplied by eta/U once per RTT, and only W_AI pulls it back:
 * whatever is wrong with U in the same direction every time comes out W/W_AI times as large. Found
 * with this: a queue cut to eighths of ns (0.8 % in W with the defaults), and steps of U cut to 24
 * bits (3 % with feedback every T/10000).
 */
static void expect_steady_agreement(double t_ns, double dt_ns, double load, double qlen)
{
	const double bps = 100e9, bdp = floor(bps * t_ns / 8e9);
	struct model_params mp = { .t_ns = t_ns,
				   .w_init = fmin(bdp, 1e8),
				   .w_min = 1000,
				   .eta = 0.95,
				   .w_ai = bdp * 0.05 / 100,
				   .max_stage = 5,
				   .idle_ns = 1e9,
				   .tx_wrap_bytes = 1 << 27 };
	struct hpcc_params p = params;
	struct hpcc_state st;
	struct model model;
	__u64 n, now = 1 << 30, tx;

	if (t_ns == 4160)
		mp.w_ai = 80;
	p.t_ns = t_ns;
	p.w_init = llround(mp.w_init * Q12_ONE);
	p.w_ai = llround(mp.w_ai * Q12_ONE);
	memset(&st, 0, sizeof(st));
	hpcc_init(&st, &p);
	model_init(&model, &mp);
	for (n = 0; n < 500 * (t_ns / dt_ns) && n < 100000; n++) {
		struct model_ack exact = {
			.seq = n, .snd_nxt = n + t_ns / dt_ns, .path_id = 7, .hops = 1
		};
		struct hpcc_ack ack;
		struct model_hint hint;

		now += dt_ns;
		tx = load * bps / 8e9 * (now - (1 << 30));
		exact.hop[0] = (struct model_hop){ bps, now, tx, qlen };
		ack = feedback(n, now & HPCC_TS_MASK, tx & HPCC_TX_MASK, qlen);
		ack.snd_nxt = exact.snd_nxt;
		ack.gap_ns = dt_ns;
		hpcc_new_ack(&st, &p, &ack);
		hint = (struct model_hint){ .u = u_of(&st), .inc_stage = st.inc_stage };
		model_new_ack(&model, &mp, &exact, &hint);
		cr_assert(
			fabs(bytes(st.w) / model.w - 1) <= 0.005,
			"T %.0f, every %.0f ns, load %.4f, queue %.0f, row %llu: W %.1f, not %.1f",
			t_ns, dt_ns, load, qlen, n, bytes(st.w), model.w);
	}
}

Test(hpcc, hpcc_new_ack__does_not_drift_from_the_paper)
{
	static const double rtts[] = { 4160, 13000, 1e6, 4e6, 1e7 };
	static const double loads[] = { 0.5, 0.9, 0.939, 0.951, 0.96, 1 };
	size_t t, l;

	for (t = 0; t < sizeof(rtts) / sizeof(rtts[0]); t++)
		for (l = 0; l < sizeof(loads) / sizeof(loads[0]); l++) {
			expect_steady_agreement(rtts[t], rtts[t], loads[l], 720);
			expect_steady_agreement(rtts[t], 120, loads[l], 0);
			expect_steady_agreement(rtts[t], 1200, loads[l], floor(rtts[t] / 6));
		}
}

/* Feedback that no network would give: the invariants hold, and the sanitizers stay quiet. */
Test(hpcc, hpcc_new_ack__survives_nonsense)
{
	unsigned short rng[3] = { 10, 11, 12 };
	unsigned int seed;
	int i, j;

	for (seed = 0; seed < 40; seed++) {
		struct comparison c = comparison_random(seed, TRACE_WALK);
		struct hpcc_state st;

		memset(&st, 0, sizeof(st));
		hpcc_init(&st, &c.core);
		for (i = 0; i < 10000; i++) {
			struct hpcc_ack ack = { .seq = (__u64)nrand48(rng) << nrand48(rng) % 33,
						.snd_nxt = (__u64)nrand48(rng) << nrand48(rng) % 33,
						.path_id = nrand48(rng) % 50 == 0,
						.hops = nrand48(rng) % 50 ? 2 : nrand48(rng) };

			ack.gap_ns = nrand48(rng) & 1
					     ? HPCC_GAP_UNKNOWN
					     : (__s64)nrand48(rng) * (nrand48(rng) - (1 << 30));
			for (j = 0; j < HPCC_MAX_HOPS; j++)
				ack.hop[j] = (struct hpcc_hop){
					.bps = 1ULL << nrand48(rng) % 2 * 43,
					.ts_ns = nrand48(rng) & HPCC_TS_MASK,
					.tx_bytes = nrand48(rng) & HPCC_TX_MASK,
					.qlen_bytes = nrand48(rng) & HPCC_TX_MASK,
				};
			hpcc_new_ack(&st, &c.core, &ack);
			expect_sane(&c, &st);
		}
	}
}
