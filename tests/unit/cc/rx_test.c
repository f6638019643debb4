// SPDX-License-Identifier: GPL-2.0-only
/* The receiver's computation, and what the sender makes of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "sluice/cc/rx.h"
#include "rx_case.h"

TestSuite(rx, .timeout = 60);

#define BPS 100000000000ULL

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
	r->ack.hop[0].tx_bytes = (r->ack.hop[0].tx_bytes + (__u32)(load * 12.5 * dt_ns)) & HPCC_TX_MASK;
	r->ack.hop[0].qlen_bytes = qlen;
	return rx_new_int(&r->rx, &r->p, &r->ack, r->now_ns, &r->report);
}

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

/* The same telemetry, the same rounds: the result that the sender would have computed. */
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
			tx.last_update_seq = r.rx.cc.last_update_seq = r.rx.last_update_ns + r.p.t_ns;
			cr_assert_arr_eq(&tx, &r.rx.cc, sizeof(tx), "variant %d, step %d", v, i);
		}
	}
}

/* The bottleneck is the hop that decided U, whatever the others do. */
Test(rx, rx_new_int__says_which_hop_is_the_bottleneck)
{
	int full, i, k;

	for (full = 0; full < HPCC_MAX_HOPS; full++) {
		struct run r = run_new();

		r.ack.hops = HPCC_MAX_HOPS;
		for (k = 0; k < 3; k++) {
			for (i = 0; i < HPCC_MAX_HOPS; i++) {
				r.ack.hop[i].bps = BPS;
				r.ack.hop[i].ts_ns += 1000;
				r.ack.hop[i].tx_bytes += i == full ? 12500 : 10000;
			}
			r.now_ns += 1000;
			rx_new_int(&r.rx, &r.p, &r.ack, r.now_ns, &r.report);
		}
		cr_expect_eq(r.rx.cc.bottleneck, full);
	}
}

Test(rx, rx_resume__takes_what_arrived_in_t)
{
	static const struct {
		__u32 bytes;
		__u64 passed_ns, w;
	} t[] = {
		{ 20000, 4160, 20000 }, { 20000, 8320, 10000 }, { 0, 4160, 1000 },
		{ 200, 4160, 1000 },	{ ~0U, 4160, 52000 },	{ 20000, 0, 52000 },
	};
	struct rx_state st;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		memset(&st, 0, sizeof(st));
		rx_init(&st, &params);
		rx_resume(&st, &params, t[i].bytes, t[i].passed_ns);
		cr_expect_eq(st.cc.w, t[i].w * Q12_ONE, "%zu", i);
		cr_expect_eq(st.cc.wc, st.cc.w);
	}
}

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
	/* A receiver with a faster port, or with smaller packets, has other bounds: not absurd. */
	cr_expect_eq(rx_window(&st, &params, 60000), RX_TAKEN);
	cr_expect_eq(st.w, params.w_init);
	cr_expect_eq(rx_window(&st, &params, 600), RX_TAKEN);
	cr_expect_eq(st.w, params.w_min);
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
		{ 0, RX_TOO_LOW },	     { 63, RX_TOO_LOW },       { 64, RX_TAKEN },
		{ (1 << 27) - 1, RX_TAKEN }, { 1 << 27, RX_TOO_HIGH }, { 0xffffffff, RX_TOO_HIGH },
		{ 1ULL << 52, RX_TOO_HIGH }, { ~0ULL, RX_TOO_HIGH },
	};
	struct hpcc_state st;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		hpcc_init(&st, &params);
		cr_expect_eq(rx_window(&st, &params, t[i].bytes), t[i].verdict, "%llu", t[i].bytes);
		cr_expect_eq(st.w, t[i].bytes < 1000 ? params.w_min : params.w_init);
		cr_expect_eq(st.wc, st.w);
	}
}
