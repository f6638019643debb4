// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/cc/swift.h"

TestSuite(swift, .timeout = 60);

#define T_NS 4000

/* The paper's network: 100 Gbit/s, 4 us, 50 KB in packets of 1 KB, W_AI 25 bytes. */
static struct hpcc_params params_of(enum hpcc_variant variant)
{
	struct hpcc_params p = {
		.t_ns = T_NS,
		.w_init = 50000 * Q12_ONE,
		.w_min = 1000 * Q12_ONE,
		.packet = 1000,
		.w_ai = 25 * Q12_ONE,
		.eta = Q24_ONE * 95 / 100,
		.max_stage = 5,
	};

	hpcc_params_variant(&p, variant);
	return p;
}

struct run {
	struct hpcc_params p;
	struct swift_params s;
	struct hpcc_state st;
	struct swift_ack ack;
};

static struct run run_new(enum hpcc_variant variant, double wc_bytes)
{
	struct run r = { .p = params_of(variant) };

	memset(&r.st, 0, sizeof(r.st));
	hpcc_init(&r.st, &r.p);
	swift_params_init(&r.s, &r.p, 1);
	r.st.w = r.st.wc = llround(wc_bytes * Q12_ONE);
	return r;
}

/* One of ten samples of an RTT. */
static enum hpcc_kind run_ack(struct run *r, __u32 delay_ns)
{
	r->ack.seq += 1000;
	r->ack.snd_nxt = r->ack.seq + 9000;
	r->ack.delay_ns = delay_ns;
	return swift_new_ack(&r->st, &r->p, &r->s, &r->ack);
}

static double bytes(q12_t w)
{
	return (double)w / Q12_ONE;
}

/* ---- parameters and target ---- */

Test(swift, swift_sqrt__all_of_its_range)
{
	unsigned short rng[3] = { 1, 2, 3 };
	int i;

	for (i = 0; i < 1000000; i++) {
		__u32 v = (__u32)(nrand48(rng) << 1) >> nrand48(rng) % 32, root = swift_sqrt(v);

		cr_assert((__u64)root * root <= v && ((__u64)root + 1) * (root + 1) > v, "%u", v);
	}
	cr_expect_eq(swift_sqrt(0), 0);
	cr_expect_eq(swift_sqrt(0xffffffff), 0xffff);
}

Test(swift, swift_params_init__scales_with_t)
{
	struct hpcc_params p = params_of(HPCC_VAI_SF);
	struct swift_params s;

	swift_params_init(&s, &p, 1);
	cr_expect_eq(s.target_ns, 6000);
	cr_expect_eq(s.vai.token_thresh, 6000, "target + T, less T");
	cr_expect_eq(s.vai.ai_div, 30, "the paper's 30 ns");
	cr_expect_eq(s.vai.every, p.vai.every);
	swift_params_init(&s, &p, 5);
	cr_expect_eq(s.target_ns, 10000);
	p.t_ns = 4000000;
	swift_params_init(&s, &p, 1);
	cr_expect_eq(s.target_ns, 6000000);
	cr_expect_eq(s.vai.ai_div, 30000);
}

/* A configured target moves everything derived from it, and nothing else. */
Test(swift, swift_params_target__in_the_place_of_the_default)
{
	struct hpcc_params p = params_of(HPCC_VAI_SF);
	struct swift_params s, want;

	swift_params_init(&want, &p, 1);
	swift_params_target(&s, &p, 6000);
	cr_expect_eq(memcmp(&s, &want, sizeof(s)), 0);
	swift_params_target(&s, &p, 12000);
	cr_expect_eq(s.target_ns, 12000);
	cr_expect_eq(s.vai.token_thresh, 12000);
	cr_expect_eq(s.fs_range_ns, 60000);
	cr_expect_eq(s.vai.ai_div, want.vai.ai_div);
	swift_params_target(&s, &p, ~0ULL);
	cr_expect_eq(s.target_ns, SWIFT_DELAY_MAX_NS / 4);
}

/* target + alpha / sqrt(W) - alpha / sqrt(max), as Swift has it, in floating point. */
Test(swift, swift_target__grows_for_small_windows)
{
	struct run r = run_new(HPCC_PLAIN, 50000);
	double alpha = 30000 / (1 / sqrt(0.1) - 1 / sqrt(50)), packets;

	for (packets = 0.02; packets < 500; packets *= 1.1) {
		double want = 6000 + fmax(0, fmin(30000, alpha / sqrt(packets) - alpha / sqrt(50)));

		cr_expect_float_eq(swift_target(&r.s, &r.p, packets * 1000 * Q12_ONE), want, 0.01 * want,
				   "%f packets: %u, not %f", packets,
				   swift_target(&r.s, &r.p, packets * 1000 * Q12_ONE), want);
	}
	r.p.variant = HPCC_VAI_SF;
	cr_expect_eq(swift_target(&r.s, &r.p, 0), 6000, "section VI.B: no flow scaling");
	r.p.variant = HPCC_PLAIN;
	r.s.fs_range_ns = 0;
	cr_expect_eq(swift_target(&r.s, &r.p, 0), 6000, "switched off");
}

Test(swift, swift_params_init__extremes)
{
	static const __u64 rtts[] = { 1, 3, 1000, (1 << 30) - 1 };
	static const q12_t windows[] = { 1, Q12_ONE, 50000 * Q12_ONE, HPCC_W_MAX_BYTES * Q12_ONE };
	size_t t, i, m;

	for (t = 0; t < 4; t++)
		for (i = 0; i < 4; i++)
			for (m = 0; m < 4; m++) {
				struct hpcc_params p = { .t_ns = rtts[t],
							 .w_init = windows[i],
							 .packet = windows[m] >> 12,
							 .eta = Q24_ONE };
				struct swift_params s;

				swift_params_init(&s, &p, 255);
				cr_expect(s.target_ns > 0 && s.target_ns < SWIFT_DELAY_MAX_NS);
				cr_expect_gt(s.vai.ai_div, 0);
				cr_expect_gt(s.vai.token_thresh, 0);
				cr_expect_geq(swift_target(&s, &p, 0), s.target_ns);
				cr_expect_leq(swift_target(&s, &p, 0), s.target_ns + s.fs_range_ns);
			}
}

/* ---- swift_new_ack ---- */

Test(swift, swift_new_ack__adds_w_ai_once_per_rtt_below_the_target)
{
	struct run r = run_new(HPCC_PLAIN, 20000);
	int i;

	for (i = 0; i < 100; i++)
		cr_expect_eq(run_ack(&r, 5000), i % 10 ? HPCC_FAST : HPCC_FULL, "%d", i);
	cr_expect_float_eq(bytes(r.st.wc), 20000 + 10 * 25, 0.01);
	cr_expect_eq(r.st.rate_bps, hpcc_rate_bps(r.st.w, T_NS));
}

Test(swift, swift_new_ack__cuts_by_the_excess)
{
	static const struct {
		__u32 delay_ns;
		double mdf;
	} t[] = {
		{ 6000, 1 }, /* the target itself is none */
		{ 7500, 1 - 0.8 * 1500 / 7500 },
		{ 12000, 1 - 0.8 * 6000 / 12000 },
		{ 16000, 0.5 },
		{ 1000000, 0.5 },
		{ 0xffffffff, 0.5 },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct run r = run_new(HPCC_PLAIN, 20000);

		r.s.fs_range_ns = 0;
		cr_expect_eq(run_ack(&r, t[i].delay_ns), HPCC_FULL);
		cr_expect_float_eq(bytes(r.st.wc), 20000 * t[i].mdf + (t[i].mdf == 1 ? 25 : 0), 0.1, "%u ns: %f",
				   t[i].delay_ns, bytes(r.st.wc));
	}
}

Test(swift, swift_new_ack__between_commits_w_comes_from_wc)
{
	struct run r = run_new(HPCC_PLAIN, 40000);

	r.s.fs_range_ns = 0;
	run_ack(&r, 5000);
	run_ack(&r, 12000);
	cr_expect_float_eq(bytes(r.st.w), 40025 * 0.6, 0.1);
	run_ack(&r, 12000);
	cr_expect_float_eq(bytes(r.st.w), 40025 * 0.6, 0.1, "not less for the same congestion");
	run_ack(&r, 5000);
	cr_expect_float_eq(bytes(r.st.w), 40050, 0.1);
	cr_expect_float_eq(bytes(r.st.wc), 40025, 0.1);
}

Test(swift, swift_new_ack__stays_between_the_bounds)
{
	struct run r = run_new(HPCC_PLAIN, 50000);
	int i;

	for (i = 0; i < 200; i++)
		run_ack(&r, 1);
	cr_expect_eq(r.st.w, r.p.w_init);
	for (i = 0; i < 2000; i++)
		run_ack(&r, 1 << 29);
	cr_expect_eq(r.st.w, r.p.w_min);
	cr_expect_eq(r.st.wc, r.p.w_min);
}

Test(swift, swift_new_ack__a_delay_of_0_is_no_sample)
{
	struct run r = run_new(HPCC_PLAIN, 20000), before = r;

	r.ack.seq = before.ack.seq = 1000;
	cr_expect_eq(swift_new_ack(&r.st, &r.p, &r.s, &r.ack), HPCC_SKIPPED);
	cr_expect_arr_eq(&r.st, &before.st, sizeof(r.st));
}

Test(swift, swift_new_ack__vai_sf)
{
	struct run r = run_new(HPCC_VAI_SF, 40000);
	int i;

	/* A newcomer: 8 us of queue; the first sample ends an RTT. 266 tokens, 200 of them used. */
	cr_expect_eq(run_ack(&r, 12000), HPCC_FAST, "a decrease waits for s samples");
	cr_expect_eq(r.st.vai.bank, 8000 / 30);
	cr_expect_float_eq(bytes(r.st.w), 40000 * 0.6 + 25 * 200 / (8. / 6 / 8 + 1), 50,
			   "W_AI is added all the same: %f", bytes(r.st.w));
	for (i = 2; i <= 4; i++)
		cr_expect_eq(run_ack(&r, 12000), HPCC_FAST);
	cr_expect_eq(run_ack(&r, 12000), HPCC_FULL, "s is 5");
	cr_expect_eq(r.st.vai.bank, 66);
	cr_expect_lt(r.st.wc, 30000 * Q12_ONE);
	/* Below the target: once per RTT. */
	for (i = 0; i < 40; i++)
		run_ack(&r, 5000);
	for (i = 0; i < 40; i++)
		cr_expect_eq(run_ack(&r, 5000), (i + 5) % 10 ? HPCC_FAST : HPCC_FULL, "%d", i);
}

Test(swift, swift_new_ack__probabilistic)
{
	struct run r = run_new(HPCC_PROBABILISTIC, 25000);

	r.ack.random = 0x90000000;
	cr_expect_eq(run_ack(&r, 100000), HPCC_FAST);
	cr_expect_eq(run_ack(&r, 100000), HPCC_FAST);
	cr_expect_eq(r.st.wc, 25000 * Q12_ONE);
	r.ack.random = 0x10000000;
	cr_expect_eq(run_ack(&r, 100000), HPCC_FULL);
}

/* Tokens are of bytes there and of ns here. */
Test(swift, swift_new_ack__takes_no_tokens_from_hpcc)
{
	struct run r = run_new(HPCC_VAI_SF, 40000);
	struct hpcc_ack ack = {
		.seq = 1 << 20, .hops = 1, .gap_ns = HPCC_GAP_UNKNOWN, .hop = { { .bps = 100000000000 } }
	};

	r.st.vai.bank = 77;
	run_ack(&r, 5000);
	cr_expect_eq(r.st.vai.bank, 0);
	r.st.vai.bank = 77;
	hpcc_new_ack(&r.st, &r.p, &ack);
	ack.hop[0].ts_ns = 1000;
	cr_expect_neq(hpcc_new_ack(&r.st, &r.p, &ack), HPCC_SKIPPED);
	cr_expect_eq(r.st.vai.bank, 0, "and the other way");
}

/* Against floating point, over samples of any kind. */
Test(swift, swift_new_ack__agrees_with_its_definition)
{
	unsigned short rng[3] = { 1, 2, 3 };
	int seed, i;

	for (seed = 0; seed < 100; seed++) {
		struct run r = run_new(HPCC_PLAIN, 50000);
		double wc = 50000, w, alpha = 30000 / (1 / sqrt(0.1) - 1 / sqrt(50));
		__u64 last = 0;

		for (i = 0; i < 2000; i++) {
			__u32 delay = 1 + nrand48(rng) % (nrand48(rng) % 10 ? 12000 : 100000);
			double target = 6000 + fmax(0, alpha / sqrt(r.st.wc / 4096e3) - alpha / sqrt(50));

			run_ack(&r, delay);
			/* Where delay and target are within what rounds, either is right. */
			target = fabs(delay - target) < 0.01 * target ? (bytes(r.st.w) > wc ? delay : delay - 1) :
									target;
			w = delay > target ? wc * fmax(1 - 0.8 * (delay - target) / delay, 0.5) : wc + 25;
			w = fmin(fmax(w, 1000), 50000);
			cr_assert(fabs(bytes(r.st.w) / w - 1) < 0.02, "%d %d: W %f, not %f", seed, i, bytes(r.st.w), w);
			if (r.ack.seq > last) {
				last = r.ack.snd_nxt;
				cr_assert_eq(r.st.w, r.st.wc);
			}
			wc = bytes(r.st.wc);
		}
	}
}
