// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/rx.h"

TestSuite(rx, .timeout = 60);

#define BPS 100000000000ULL

/* The flow of the paper's simulations: 100 Gbit/s, 4.16 us, 52000 bytes. */
static const struct hpcc_params params = {
	.t_ns = 4160,
	.w_init = 52000 * Q12_ONE,
	.w_min = 1000 * Q12_ONE,
	.w_ai = 80 * Q12_ONE,
	.eta = Q24_ONE * 95 / 100,
	.max_stage = 5,
};

struct run {
	struct hpcc_params p;
	struct rx_state rx;
	struct hpcc_ack ack;
	__u64 now_ns;
	int report;
};

static struct run run_new(void)
{
	struct run r = { .p = params, .now_ns = 1000000 };

	memset(&r.rx, 0, sizeof(r.rx));
	rx_init(&r.rx, &r.p);
	r.ack.gap_ns = HPCC_GAP_UNKNOWN;
	r.ack.hops = 1;
	r.ack.hop[0].bps = BPS;
	cr_assert_eq(rx_new_int(&r.rx, &r.p, &r.ack, r.now_ns, &r.report), HPCC_FIRST);
	cr_assert_eq(r.report, 0, "there is no W to report");
	return r;
}

/* Telemetry dt later, of a port loaded so. */
static enum hpcc_kind run_int(struct run *r, __u64 dt_ns, double load, __u32 qlen)
{
	r->now_ns += dt_ns;
	r->ack.hop[0].ts_ns = (r->ack.hop[0].ts_ns + dt_ns) & HPCC_TS_MASK;
	r->ack.hop[0].tx_bytes =
		(r->ack.hop[0].tx_bytes + (__u32)(load * 12.5 * dt_ns)) & HPCC_TX_MASK;
	r->ack.hop[0].qlen_bytes = qlen;
	return rx_new_int(&r->rx, &r->p, &r->ack, r->now_ns, &r->report);
}

/* ---- rx_new_int ---- */

Test(rx, rx_new_int__commits_and_reports_when_t_has_passed)
{
	struct run r = run_new();
	int i;

	cr_expect_eq(run_int(&r, 416, 1, 0), HPCC_FULL);
	cr_expect_eq(r.report, 1);
	for (i = 1; i <= 110; i++) {
		/* now > lastUpdateTime + T: ten steps are T, not more */
		cr_expect_eq(run_int(&r, 416, 1, 0), i % 11 ? HPCC_FAST : HPCC_FULL, "step %d", i);
		cr_expect_eq(r.report, i % 11 == 0, "step %d", i);
	}
}

Test(rx, rx_new_int__reports_at_most_once_per_t_whatever_comes)
{
	unsigned short rng[3] = { 1, 2, 3 };
	__u64 last_ns = 0;
	int v, i, reports;

	for (v = 0; v < HPCC_VARIANTS; v++) {
		struct run r = run_new();

		hpcc_params_variant(&r.p, v);
		r.p.vai.every = 3;
		for (i = reports = 0; i < 20000; i++) {
			r.ack.random = nrand48(rng) << 1;
			r.ack.path_id = nrand48(rng) % 100 == 0;
			run_int(&r, nrand48(rng) % 1000, erand48(rng) * 1.1, nrand48(rng) % 50000);
			if (!r.report)
				continue;
			cr_assert(!reports || r.now_ns > last_ns + r.p.t_ns);
			last_ns = r.now_ns;
			reports++;
		}
		cr_expect_gt(reports, 1000, "variant %d: %d", v, reports);
	}
}

Test(rx, rx_new_int__sparse_packets_commit_each)
{
	struct run r = run_new();
	int i;

	for (i = 0; i < 20; i++) {
		cr_expect_eq(run_int(&r, 3 * 4160, 0.5, 0), HPCC_FULL);
		cr_expect_eq(r.report, 1);
	}
	cr_expect_float_eq((double)r.rx.cc.u / Q24_ONE, 0.5, 1e-3);
}

Test(rx, rx_new_int__what_is_ignored_is_not_reported)
{
	struct run r = run_new();
	struct rx_state before;

	run_int(&r, 10000, 1, 0);
	before = r.rx;
	r.now_ns += 10000;
	cr_expect_eq(rx_new_int(&r.rx, &r.p, &r.ack, r.now_ns, &r.report), HPCC_SKIPPED);
	cr_expect_eq(r.report, 0);
	cr_expect_arr_eq(&r.rx, &before, sizeof(before), "the clock of the hop stood still");
	r.ack.path_id++;
	cr_expect_eq(run_int(&r, 10000, 1, 0), HPCC_FIRST);
	cr_expect_eq(r.report, 0);
}

/* The same telemetry, the same rounds: what the sender would have computed. */
Test(rx, rx_new_int__agrees_with_the_sender)
{
	unsigned short rng[3] = { 4, 5, 6 };
	int v, i;

	for (v = 0; v < HPCC_VARIANTS; v++) {
		struct run r = run_new();
		struct hpcc_state tx;

		hpcc_params_variant(&r.p, v);
		tx = r.rx.cc;
		for (i = 0; i < 20000; i++) {
			__u64 dt = 1 + nrand48(rng) % 2000;
			enum hpcc_kind kind;

			r.ack.random = nrand48(rng) << 1;
			/* the sender's round ends with the packet that comes more than T later */
			r.ack.seq = r.now_ns + dt;
			r.ack.snd_nxt = r.ack.seq + r.p.t_ns;
			kind = run_int(&r, dt, erand48(rng) * 1.2, nrand48(rng) % 100000);
			cr_assert_eq(hpcc_new_ack(&tx, &r.p, &r.ack), kind);
			tx.last_update_seq = r.rx.cc.last_update_seq =
				r.rx.last_update_ns + r.p.t_ns;
			cr_assert_arr_eq(&tx, &r.rx.cc, sizeof(tx), "variant %d, step %d", v, i);
		}
	}
}

/* ---- rx_window ---- */

Test(rx, rx_window__takes_what_is_between_the_bounds)
{
	struct hpcc_params odd = params;
	struct hpcc_state st;

	hpcc_init(&st, &params);
	cr_expect_eq(rx_window(&st, &params, 20000), RX_TAKEN);
	cr_expect_eq(st.w, 20000 * Q12_ONE);
	cr_expect_eq(st.wc, st.w);
	cr_expect_eq(st.rate_bps, hpcc_rate_bps(st.w, params.t_ns));
	cr_expect_eq(rx_window(&st, &params, 1000), RX_TAKEN);
	cr_expect_eq(rx_window(&st, &params, 52000), RX_TAKEN);
	/* Reports are whole bytes, the bound need not be. */
	odd.w_init += Q12_ONE / 2;
	cr_expect_eq(rx_window(&st, &odd, 52001), RX_TAKEN);
	cr_expect_eq(st.w, odd.w_init);
}

Test(rx, rx_window__clamps_the_absurd_and_tells)
{
	static const struct {
		__u64 bytes;
		enum rx_verdict verdict;
	} t[] = {
		{ 0, RX_TOO_LOW },	{ 999, RX_TOO_LOW },	    { 52001, RX_TOO_HIGH },
		{ 1ULL << 52, RX_TOO_HIGH }, { ~0ULL, RX_TOO_HIGH },
	};
	struct hpcc_state st;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		hpcc_init(&st, &params);
		cr_expect_eq(rx_window(&st, &params, t[i].bytes), t[i].verdict, "%llu",
			     t[i].bytes);
		cr_expect_eq(st.w, t[i].verdict == RX_TOO_LOW ? params.w_min : params.w_init);
		cr_expect_eq(st.wc, st.w);
	}
}

/* ---- rx_flows ---- */

Test(rx, rx_flows__sets_w_ai)
{
	struct hpcc_params p = params;

	cr_expect_eq(rx_flows(&p, 16), RX_TAKEN);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05 / 16, 0.01);
	cr_expect_eq(rx_flows(&p, 1), RX_TAKEN);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05, 0.01);
	cr_expect_eq(rx_flows(&p, 0), RX_TOO_LOW);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05, 0.01, "as for one");
	cr_expect_eq(rx_flows(&p, RX_FLOWS_MAX), RX_TAKEN);
	cr_expect_gt(p.w_ai, 0);
	cr_expect_eq(rx_flows(&p, RX_FLOWS_MAX + 1), RX_TOO_HIGH);
	cr_expect_eq(rx_flows(&p, ~0U), RX_TOO_HIGH);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05 / 65535, 0.001);
}

Test(rx, rx_flows__keeps_the_variant)
{
	struct hpcc_params p = params;

	hpcc_params_variant(&p, HPCC_HIGH_AI);
	rx_flows(&p, 100);
	rx_flows(&p, 100);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 20 * 52000 * 0.05 / 100, 0.1,
			   "20 times, once");
	hpcc_params_variant(&p, HPCC_VAI_SF);
	rx_flows(&p, 16);
	cr_expect_eq(p.variant, HPCC_VAI_SF);
	cr_expect_eq(p.vai.ai_cap, 32);
}

/* ---- rx_count ---- */

Test(rx, rx_count__active_flows)
{
	struct rx_counter c = {};
	__u64 epoch_ns = RX_COUNT_RTTS * 4160, now = 1000 * epoch_ns;
	__u32 mark[10] = {};
	int i, round;

	cr_expect_eq(rx_counted(&c), 0);
	for (round = 0; round < 3; round++)
		for (i = 0; i < 10; i++)
			rx_count(&c, &mark[i], now, 4160);
	cr_expect_eq(rx_counted(&c), 10, "each once");
	now += epoch_ns;
	rx_count(&c, &mark[0], now, 4160);
	cr_expect_eq(rx_counted(&c), 10, "a young epoch does not say less");
	for (i = 0; i < 4; i++)
		rx_count(&c, &mark[i], now + epoch_ns - 1, 4160);
	now += epoch_ns;
	rx_count(&c, &mark[0], now, 4160);
	cr_expect_eq(rx_counted(&c), 4, "six have ended");
	now += 2 * epoch_ns;
	rx_count(&c, &mark[5], now, 4160);
	cr_expect_eq(rx_counted(&c), 1, "after an epoch of silence");
}
