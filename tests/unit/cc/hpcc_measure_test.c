// SPDX-License-Identifier: GPL-2.0-only
/* How much was in flight, by the telemetry of each hop. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "sluice/cc/hpcc.h"
#include "sluice/wire/telemetry.h"
#include "model.h"
#include "trace.h"
#include "hpcc_case.h"

TestSuite(hpcc_measure, .timeout = 60);

#define WRAP_NS (1LL << 24)

Test(hpcc_measure, hpcc_elapsed__without_a_gap_takes_the_nearest)
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
		cr_expect_eq(hpcc_elapsed(t[i].from, t[i].to, HPCC_GAP_UNKNOWN), t[i].want, "from %#x to %#x: %lld",
			     t[i].from, t[i].to, hpcc_elapsed(t[i].from, t[i].to, HPCC_GAP_UNKNOWN));
}

/* Under UBSan: a gap that no clock has, as of a record that is not to be trusted, is a number like any other. */
Test(hpcc_measure, hpcc_elapsed__no_gap_overflows)
{
	cr_expect_eq(hpcc_elapsed(5, 5, 0x7fffffffffffffffLL) & (WRAP_NS - 1), 0);
	cr_expect_eq(hpcc_elapsed(5, 4, 0x7fffffffffffffffLL) & (WRAP_NS - 1), WRAP_NS - 1);
	cr_expect_eq(hpcc_elapsed(5, 4, HPCC_GAP_UNKNOWN + 1) & (WRAP_NS - 1), WRAP_NS - 1);
}

Test(hpcc_measure, hpcc_elapsed__a_gap_counts_the_wraps)
{
	cr_expect_eq(hpcc_elapsed(5, 5, WRAP_NS), WRAP_NS);
	cr_expect_eq(hpcc_elapsed(5, 5, 3 * WRAP_NS + HALF_NS - 1), 3 * WRAP_NS);
	cr_expect_eq(hpcc_elapsed(5, 5, 3 * WRAP_NS - HALF_NS + 1), 3 * WRAP_NS);
	cr_expect_eq(hpcc_elapsed(0, 100, 10 * WRAP_NS), 10 * WRAP_NS + 100);
	cr_expect_eq(hpcc_elapsed(100, 0, 10 * WRAP_NS), 10 * WRAP_NS - 100);
	cr_expect_eq(hpcc_elapsed(5, 5, -WRAP_NS), -WRAP_NS);
	cr_expect_eq(hpcc_elapsed(0, 1, 0), 1);
	cr_expect_eq(hpcc_elapsed(0, HALF_NS + 1, HALF_NS + 1), HALF_NS + 1, "a pause, no step back");
	cr_expect_eq(hpcc_elapsed(0, HALF_NS + 1, 0), 1 - HALF_NS, "a step back");
}

/* Whatever the clocks stand at: right as long as queueing changed by less than half the wrap. */
Test(hpcc_measure, hpcc_elapsed__is_the_truth_within_half_a_wrap_of_the_gap)
{
	unsigned short rng[3] = { 7, 8, 9 };
	int i;

	for (i = 0; i < 1000000; i++) {
		__s64 from = (__s64)nrand48(rng) << 20;
		__s64 passed = ((__s64)nrand48(rng) << 16 >> nrand48(rng) % 48) * (i & 1 ? 1 : -1);
		__s64 noise = nrand48(rng) % (WRAP_NS - 1) - (HALF_NS - 1);

		cr_assert_eq(hpcc_elapsed(from & HPCC_TS_MASK, (from + passed) & HPCC_TS_MASK, passed + noise), passed,
			     "from %lld, %lld passed, gap %lld", from, passed, passed + noise);
	}
}

Test(hpcc_measure, hpcc_elapsed__takes_gaps_of_a_lifetime)
{
	cr_expect_eq(hpcc_elapsed(0, 0, 1LL << 61), 1LL << 61);
	cr_expect_eq(hpcc_elapsed(0, 0, -(1LL << 61)), -(1LL << 61));
}

Test(hpcc_measure, hpcc_measure__rate_and_queue_of_one_hop)
{
	struct hpcc_state st = flow_primed(13000);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 26000, 13000);

	/* half of what fits through in T, and a quarter of a BDP queued; tau = T: no memory */
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
	cr_expect_float_eq(u_of(&st), 0.75, 1e-6);
}

Test(hpcc_measure, hpcc_measure__takes_the_smaller_of_two_queues)
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

Test(hpcc_measure, hpcc_measure__weighs_by_tau_over_t)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 1040, 6500, 0);

	/* u = 0.5 over a quarter of T */
	hpcc_measure(&st, &params, &ack);
	cr_expect_float_eq(u_of(&st), 0.75 * 1 + 0.25 * 0.5, 1e-6);
}

Test(hpcc_measure, hpcc_measure__tau_is_at_most_t)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 41600, 260000, 0);

	hpcc_measure(&st, &params, &ack);
	cr_expect_float_eq(u_of(&st), 0.5, 1e-6);
}

/* Two hops, seen over different times: the loaded one sets u and tau, wherever it is. */
Test(hpcc_measure, hpcc_measure__takes_the_most_loaded_hop_and_its_tau)
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
		cr_expect_float_eq(u_of(&st), 0.75 * 1 + 0.25 * 2, 1e-6, "hop %d is the busy one", busy);
	}
}

Test(hpcc_measure, hpcc_measure__each_hop_by_its_own_speed)
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

Test(hpcc_measure, hpcc_measure__counters_and_clock_wrap)
{
	struct hpcc_state st = flow_new();
	struct hpcc_ack ack = feedback(1, 0xffffff - 100, (1 << 27) - 1000, 0);

	hpcc_new_ack(&st, &params, &ack);
	ack = feedback(2, 4160 - 101, 25000, 0);
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
	cr_expect_float_eq(u_of(&st), 0.5, 1e-6);
}

/* By one unit of the telemetry and 1 us later, that is 10^6 times what fits through. */
Test(hpcc_measure, hpcc_measure__a_counter_that_goes_back_is_no_rate)
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

Test(hpcc_measure, hpcc_sent__more_than_fits_is_a_burst_or_a_step_back)
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
Test(hpcc_measure, hpcc_measure__nothing_moved)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 0, 0);

	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FAST);
	cr_expect_eq(st.u, Q24_ONE);
}

Test(hpcc_measure, hpcc_measure__a_pause_too_long_starts_anew)
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
Test(hpcc_measure, hpcc_measure__a_counter_that_may_have_wrapped_starts_anew)
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

Test(hpcc_measure, hpcc_measure__another_speed_starts_anew)
{
	struct hpcc_state st = flow_primed(0);
	struct hpcc_ack ack = feedback(2, 1000 + 4160, 26000, 0);

	ack.hop[0].bps = 40 * GBPS;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FIRST);
	st.last[0].bps = ack.hop[0].bps = 0;
	cr_expect_eq(hpcc_measure(&st, &params, &ack), HPCC_FIRST, "no division by a speed of 0");
}

/* The most that there is, in every direction, in the least time; the sanitizers watch. */
Test(hpcc_measure, hpcc_measure__largest_values)
{
	static const __u64 speeds[] = { 1, 10000000, (1ULL << 32) - 1, 1ULL << 32, 800 * GBPS, (1ULL << 44) - 1 };
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
				want = fmin(ack.hop[0].qlen_bytes * 8e9 / speeds[b] / rtts[t], 16384) +
				       fmin((1 << 26) * 8e9 / speeds[b], 16384);
				want = 32768 - (32768 - want) / rtts[t];
				cr_expect_float_eq(u_of(&st) / want, 1, 1e-4, "B %llu T %llu: %f, not %f", speeds[b],
						   rtts[t], u_of(&st), want);
				cr_expect_leq(st.u, 1ULL << 39);
			}
}

/* Both bound their loops themselves, whatever their callers have checked. AddressSanitizer looks.
 */
Test(hpcc_measure, hpcc_measure__never_looks_beyond_five_hops)
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
