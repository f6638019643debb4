// SPDX-License-Identifier: GPL-2.0-only
/* Flows of HPCC with variable AI, sampling frequency, and chance. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "model.h"
#include "trace.h"
#include "vai_case.h"

TestSuite(vai_flow, .timeout = 60);

static struct hpcc_params params_of(double bps, double t_ns, double n, double packet, enum hpcc_variant variant)
{
	struct hpcc_params p = {
		.t_ns = t_ns,
		.w_init = llround(bps * t_ns / 8e9 * Q12_ONE),
		.w_min = llround(packet * Q12_ONE),
		.packet = packet,
		.eta = Q24_ONE * 95 / 100,
		.max_stage = 5,
	};

	p.w_ai = (p.w_init * (Q24_ONE - p.eta) >> 24) / n;
	hpcc_params_variant(&p, variant);
	return p;
}

Test(vai_flow, hpcc_params_variant__scales_with_the_bdp)
{
	static const struct {
		double bps, t_ns, n, packet;
		struct vai_params want;
	} t[] = {
		/* the paper's network; its AI_Cap is 100, its s 30 */
		{ 100e9, 4000, 100, 1000, { 50000, 1000, 1000, 200, 8, 5 } },
		/* the lab's: the same BDP in fewer packets, and a larger W_AI */
		{ 100e6, 4e6, 16, 1514, { 50000, 6250, 160, 32, 8, 3 } },
		{ 100e9, 13000, 100, 1514, { 162500, 3250, 1000, 200, 8, 10 } },
		{ 100e9, 13000, 1, 9014, { 162500, 325000, 10, 2, 8, 1 } },
		{ 10e6, 1.2e6, 1000, 1500, { 1500, 3, 10000, 2000, 8, 1 } },
		{ 800e9, 1e6, 100, 1514, { 100000000, 2000000, 1000, 200, 8, 30 } },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct hpcc_params p = params_of(t[i].bps, t[i].t_ns, t[i].n, t[i].packet, HPCC_VAI_SF);

		cr_expect_eq(p.variant, HPCC_VAI_SF);
		cr_expect_arr_eq(&p.vai, &t[i].want, sizeof(p.vai), "%zu: %u %u %u %u %u %u", i, p.vai.token_thresh,
				 p.vai.ai_div, p.vai.bank_cap, p.vai.ai_cap, p.vai.dampener_div, p.vai.every);
	}
}

/* With any configuration: no divisor is 0, nothing leaves its range. */
Test(vai_flow, hpcc_params_variant__extremes)
{
	static const q12_t windows[] = { 0, 1, Q12_ONE, 1514 * Q12_ONE, HPCC_W_MAX_BYTES * Q12_ONE };
	size_t init, min, ai;
	int eta;

	for (init = 0; init < 5; init++)
		for (min = 0; min < 5; min++)
			for (ai = 0; ai < 5; ai++)
				for (eta = 0; eta < 2; eta++) {
					struct hpcc_params p = { .t_ns = 1000,
								 .w_init = windows[init],
								 .packet = windows[min] >> 12,
								 .w_ai = windows[ai],
								 .eta = eta ? Q24_ONE : 1 };

					hpcc_params_variant(&p, ai & 1 ? HPCC_HIGH_AI : HPCC_VAI_SF);
					cr_expect_gt(p.vai.token_thresh, 0);
					cr_expect_gt(p.vai.ai_div, 0);
					cr_expect_gt(p.vai.dampener_div, 0);
					cr_expect(p.vai.every >= 1 && p.vai.every <= 30);
					cr_expect(p.vai.bank_cap >= 1 && p.vai.bank_cap < 1 << 15);
					cr_expect(p.vai.ai_cap >= 1);
					cr_expect(p.w_ai <= p.w_init || p.w_ai == windows[ai]);
				}
}

Test(vai_flow, hpcc_params_variant__high_ai_is_20_times_w_ai)
{
	struct hpcc_params plain = params_of(100e9, 4000, 100, 1000, HPCC_PLAIN);
	struct hpcc_params high = params_of(100e9, 4000, 100, 1000, HPCC_HIGH_AI);

	cr_expect_eq(high.w_ai, 20 * plain.w_ai);
	high = params_of(100e9, 4000, 0.1, 1000, HPCC_HIGH_AI);
	cr_expect_eq(high.w_ai, high.w_init, "no more than all");
}

#define BPS 100000000000ULL
#define T_NS 4000

struct run {
	struct hpcc_params p;
	struct hpcc_state st;
	struct hpcc_ack ack;
};

/* A flow of the paper's network, primed. */
static struct run run_new(enum hpcc_variant variant)
{
	struct run r = { .p = params_of(100e9, T_NS, 100, 1000, variant) };

	memset(&r.st, 0, sizeof(r.st));
	hpcc_init(&r.st, &r.p);
	r.ack.gap_ns = HPCC_GAP_UNKNOWN;
	r.ack.hops = 1;
	r.ack.path_id = 7;
	r.ack.hop[0].bps = BPS;
	cr_assert_eq(hpcc_new_ack(&r.st, &r.p, &r.ack), HPCC_FIRST);
	return r;
}

/* One more feedback, T/10 later, with that load of the port and that queue in bytes. */
static enum hpcc_kind run_ack(struct run *r, double load, __u32 qlen)
{
	r->ack.seq += 1000;
	r->ack.snd_nxt = r->ack.seq + 10000; /* ten feedbacks make an RTT */
	r->ack.hop[0].ts_ns = (r->ack.hop[0].ts_ns + T_NS / 10) & HPCC_TS_MASK;
	r->ack.hop[0].tx_bytes += load * 5000;
	r->ack.hop[0].tx_bytes &= HPCC_TX_MASK;
	r->ack.hop[0].qlen_bytes = qlen;
	return hpcc_new_ack(&r->st, &r->p, &r->ack);
}

Test(vai_flow, hpcc_new_ack__decreases_come_every_s_feedbacks_and_increases_every_rtt)
{
	struct run r = run_new(HPCC_VAI_SF);
	int i;

	r.p.vai.every = 7;
	for (i = 1; i <= 70; i++)
		cr_expect_eq(run_ack(&r, 1, 0), i % 7 ? HPCC_FAST : HPCC_FULL, "feedback %d", i);
	/* Empty: U is below eta after some feedbacks, and Wc grows with the rounds. */
	for (i = 0; i < 100; i++)
		run_ack(&r, 0.1, 0);
	cr_expect_lt(r.st.u, r.p.eta);
	for (i = 0; i < 10 && run_ack(&r, 0.1, 0) != HPCC_FULL; i++)
		;
	for (i = 1; i <= 100; i++)
		cr_expect_eq(run_ack(&r, 0.1, 0), i % 11 ? HPCC_FAST : HPCC_FULL, "feedback %d", i);
}

/* A flow so far below its share that W_AI outweighs the decrease grows once per RTT. */
Test(vai_flow, hpcc_new_ack__growth_under_congestion_is_an_increase)
{
	struct run r = run_new(HPCC_VAI_SF);
	q12_t wc;
	int i, commits = 0;

	r.p.vai.every = 2;
	r.st.wc = r.st.w = 1000 * Q12_ONE;
	r.p.w_min = 100 * Q12_ONE;
	r.st.u = Q24_ONE * 96 / 100;
	for (i = 0; i < 44; i++) {
		wc = r.st.wc;
		commits += run_ack(&r, 0.96, 0) == HPCC_FULL;
		cr_expect_geq(r.st.u, r.p.eta);
		cr_expect_geq(r.st.wc, wc);
	}
	cr_expect_eq(commits, 4, "one every 11 feedbacks, not every 2: %d", commits);
}

Test(vai_flow, hpcc_new_ack__tokens_multiply_w_ai_and_are_spent_at_commits)
{
	struct run r = run_new(HPCC_VAI_SF);
	q12_t wc;
	int i;

	r.p.vai.ai_cap = 20;
	r.st.wc = r.st.w = 10000 * Q12_ONE;
	/* the first feedback ends an RTT, with a queue of two BDPs */
	cr_expect_eq(run_ack(&r, 0.5, 100000), HPCC_FULL);
	cr_expect_eq(r.st.vai.bank, 100 - 20);
	cr_expect_float_eq((double)r.st.vai.dampener_q8 / VAI_DAMPENER_ONE, 2, 0.01);
	cr_expect_float_eq((double)(r.st.wc - 10000 * Q12_ONE) / r.p.w_ai, 20 / (2 / 8. + 1), 0.05);
	wc = r.st.wc;
	for (i = 0; i < 9; i++) {
		cr_expect_eq(run_ack(&r, 0.1, 0), HPCC_FAST);
		cr_expect_eq(r.st.vai.bank, 80, "nothing spent between commits");
		cr_expect_eq(r.st.w, wc + r.p.w_ai * 16, "but W has it at once");
	}
}

Test(vai_flow, hpcc_new_ack__plain_is_not_moved_by_the_parameters_of_vai)
{
	struct run a = run_new(HPCC_PLAIN), b = run_new(HPCC_PLAIN);
	unsigned short rng[3] = { 1, 2, 3 };
	int i;

	memset(&a.p.vai, 0, sizeof(a.p.vai));
	b.p.variant = a.p.variant = HPCC_PLAIN;
	for (i = 0; i < 10000; i++) {
		double load = erand48(rng) * 1.1;
		__u32 qlen = nrand48(rng) % 200000;

		b.ack.random = nrand48(rng);
		cr_assert_eq(run_ack(&a, load, qlen), run_ack(&b, load, qlen));
		cr_assert_arr_eq(&a.st, &b.st, sizeof(a.st));
	}
}

/* The choice is the prefix's and may change while a flow runs: windows stay, tokens do not. */
Test(vai_flow, hpcc_new_ack__another_variant_keeps_the_window_and_drops_the_tokens)
{
	struct hpcc_params plain = params_of(100e9, T_NS, 100, 1000, HPCC_PLAIN), vai;
	struct run r = run_new(HPCC_VAI_SF);
	struct hpcc_state want;
	int i;

	r.p.vai.ai_cap = 10;
	vai = r.p;
	for (i = 0; i < 30; i++)
		run_ack(&r, 1, 120000);
	cr_expect_gt(r.st.vai.bank, 0);
	cr_expect_gt(r.st.vai.dampener_q8, 0);
	want = r.st;
	want.vai = (struct vai_state){ .variant = HPCC_PLAIN };
	r.p = plain;
	run_ack(&r, 1, 120000);
	hpcc_new_ack(&want, &plain, &r.ack);
	cr_expect_arr_eq(&r.st, &want, sizeof(want), "as a plain flow with the same window");
	r.p = vai;
	cr_expect_eq(run_ack(&r, 1, 40000), HPCC_FAST);
	cr_expect_eq(r.st.vai.bank, 0, "back again, from nothing");
	cr_expect_eq(r.st.vai.feedbacks, 1);
	cr_expect_eq(r.st.vai.variant, HPCC_VAI_SF);
}

Test(vai_flow, hpcc_chance__is_the_share_of_the_window)
{
	struct run r = run_new(HPCC_PROBABILISTIC);

	r.st.wc = r.p.w_init;
	cr_expect(hpcc_chance(&r.st, &r.p, 0xffffffff), "all of it: always");
	r.st.wc = r.p.w_init / 2;
	cr_expect(hpcc_chance(&r.st, &r.p, 0x7fffffff));
	cr_expect_not(hpcc_chance(&r.st, &r.p, 0x80000000));
	r.st.wc = 0;
	cr_expect_not(hpcc_chance(&r.st, &r.p, 0), "none: never");
	r.p.w_init = HPCC_W_MAX_BYTES << 12;
	r.st.wc = r.p.w_init;
	cr_expect(hpcc_chance(&r.st, &r.p, 0xffffffff), "the largest window: no product wraps");
}

Test(vai_flow, hpcc_new_ack__probabilistic_decreases_wait_for_their_chance)
{
	struct run r = run_new(HPCC_PROBABILISTIC);
	q12_t wc;
	int i;

	r.st.wc = r.st.w = r.p.w_init / 2;
	r.ack.random = 0x90000000;
	for (i = 0; i < 50; i++) {
		cr_expect_eq(run_ack(&r, 1, 40000), HPCC_FAST);
		cr_expect_eq(r.st.wc, r.p.w_init / 2);
	}
	cr_expect_lt(r.st.w, r.p.w_init / 2, "W follows U all the same");
	r.ack.random = 0x70000000;
	cr_expect_eq(run_ack(&r, 1, 40000), HPCC_FULL, "the next feedback has its own chance");
	cr_expect_eq(run_ack(&r, 1, 40000), HPCC_FAST, "and then it is once per RTT");
	/* Increases do not depend on it. */
	r.ack.random = 0xffffffff;
	for (i = 0; i < 30; i++)
		run_ack(&r, 0.1, 0);
	wc = r.st.wc;
	for (i = 0; i < 11; i++)
		run_ack(&r, 0.1, 0);
	cr_expect_gt(r.st.wc, wc);
}

Test(vai_flow, hpcc_new_ack__agrees_with_the_paper)
{
	unsigned long kinds[HPCC_SKIPPED + 1] = { 0 }, tokens = 0, n;
	unsigned int seed;

	for (seed = 1; seed <= 60; seed++) {
		struct trace_cfg cfg = { .seed = seed,
					 .load = seed % 3 ? TRACE_INCAST : TRACE_WALK,
					 .t_ns = seed & 1 ? 4160 : 1e6,
					 .bps_min = 25e9,
					 .bps_max = 100e9,
					 .reorder = 0.001,
					 .path = 0.0005 };
		struct hpcc_params p = params_of(100e9, cfg.t_ns, 10 + seed, 1000, HPCC_VAI_SF);
		struct model_params mp = { .t_ns = cfg.t_ns,
					   .w_init = (double)p.w_init / Q12_ONE,
					   .w_min = (double)p.w_min / Q12_ONE,
					   .w_ai = (double)p.w_ai / Q12_ONE,
					   .eta = (double)p.eta / Q24_ONE,
					   .max_stage = 5,
					   .idle_ns = fmax(1 << 23, 8 * cfg.t_ns),
					   .tx_wrap_bytes = 1 << 27,
					   .vai = 1,
					   .token_thresh = p.vai.token_thresh,
					   .ai_div = p.vai.ai_div,
					   .bank_cap = p.vai.bank_cap,
					   .ai_cap = p.vai.ai_cap,
					   .dampener_div = p.vai.dampener_div,
					   .every = p.vai.every };
		struct hpcc_state st;
		struct model model;
		struct trace t;

		cfg.interval_ns = cfg.t_ns / (seed % 7 * 10 + 3);
		trace_init(&t, &cfg);
		memset(&st, 0, sizeof(st));
		hpcc_init(&st, &p);
		model_init(&model, &mp);
		for (n = 0; n < 5000; n++) {
			struct model_ack exact;
			struct model_hint hint;
			struct trace_row row;
			struct hpcc_ack ack;
			enum hpcc_kind kind;
			unsigned int i;

			trace_next(&t, &row);
			trace_model_ack(&row, 0, &exact);
			memset(&ack, 0, sizeof(ack));
			ack.seq = row.seq;
			ack.snd_nxt = row.snd_nxt;
			ack.gap_ns = HPCC_GAP_UNKNOWN;
			ack.path_id = row.path_id;
			ack.hops = row.hops;
			for (i = 0; i < row.hops; i++)
				ack.hop[i] = (struct hpcc_hop){
					.bps = row.hop[i].bps,
					.ts_ns = row.hop[i].ts_ns & HPCC_TS_MASK,
					.tx_bytes = row.hop[i].tx_bytes & HPCC_TX_MASK,
					.qlen_bytes = row.hop[i].qlen_bytes,
				};
			kind = hpcc_new_ack(&st, &p, &ack);
			hint = (struct model_hint){ (double)st.u / Q24_ONE, st.inc_stage, kind == HPCC_FULL };
			cr_assert_eq(kind, (enum hpcc_kind)model_new_ack(&model, &mp, &exact, &hint),
				     "seed %u row %lu: kind %d", seed, n, kind);
			cr_assert_eq(st.vai.bank, model.bank, "seed %u row %lu: %u tokens, not %g", seed, n,
				     st.vai.bank, model.bank);
			cr_assert(fabs(dampener(&st.vai) - model.dampener) <= 0.01 * model.dampener + 0.05,
				  "seed %u row %lu: dampener %f, not %f", seed, n, dampener(&st.vai), model.dampener);
			cr_assert(fabs((double)st.w / Q12_ONE / model.w - 1) <= 0.01, "seed %u row %lu: W %f, not %f",
				  seed, n, (double)st.w / Q12_ONE, model.w);
			kinds[kind]++;
			tokens += st.vai.bank > 0;
		}
	}
	cr_expect_gt(kinds[HPCC_FULL], 10000);
	cr_expect_gt(kinds[HPCC_FAST], 10000);
	cr_expect_gt(tokens, 10000);
}
