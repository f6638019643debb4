// SPDX-License-Identifier: GPL-2.0-only
/*
 * Telemetry that comes once per RTT, or more rarely (HPCC++, section 6.1):
 * Algorithm 1 as it is, with gaps of several T in which the hop's 24-bit clock wraps.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/cc/hpcc.h"

#include "model.h"

TestSuite(sparse, .timeout = 60);

static struct hpcc_params params_of(double bps, __u64 t_ns)
{
	struct hpcc_params p = { .t_ns = t_ns,
				 .w_init = bps * t_ns / 8e9 * Q12_ONE,
				 .w_min = 1514 * Q12_ONE,
				 .packet = 1514,
				 .eta = Q24_ONE * 95 / 100,
				 .max_stage = 5 };

	p.w_ai = p.w_init / 20 / 16;
	return p;
}

/* A port and a flow through it; feedback is of now. */
struct path {
	struct hpcc_params p;
	struct hpcc_state st;
	double bps;
	__u64 now_ns, tx_bytes, seq, fed_back_ns;
};

static struct path path_new(double bps, __u64 t_ns)
{
	struct path s = { .p = params_of(bps, t_ns), .bps = bps, .now_ns = 0xfff000 };

	memset(&s.st, 0, sizeof(s.st));
	hpcc_init(&s.st, &s.p);
	return s;
}

static void pass(struct path *s, __u64 dt_ns, double load)
{
	s->now_ns += dt_ns;
	s->tx_bytes += load * s->bps / 8e9 * dt_ns;
	s->seq += s->st.rate_bps / 8e9 * dt_ns;
}

/* noise: how much later than after the hop the packet arrived, compared with the last one. */
static struct hpcc_ack collect(const struct path *s, __u32 qlen, __s64 noise_ns)
{
	return (struct hpcc_ack){
		.seq = s->seq,
		.snd_nxt = s->seq + (s->st.w >> 12),
		.gap_ns = s->fed_back_ns ? (__s64)(s->now_ns - s->fed_back_ns) + noise_ns : HPCC_GAP_UNKNOWN,
		.path_id = 7,
		.hops = 1,
		.hop = { { .bps = s->bps,
			   .ts_ns = s->now_ns & HPCC_TS_MASK,
			   .tx_bytes = s->tx_bytes & HPCC_TX_MASK,
			   .qlen_bytes = qlen } },
	};
}

static enum hpcc_kind feed_back(struct path *s, __u32 qlen, __s64 noise_ns)
{
	struct hpcc_ack ack = collect(s, qlen, noise_ns);
	enum hpcc_kind kind = hpcc_new_ack(&s->st, &s->p, &ack);

	if (kind != HPCC_SKIPPED)
		s->fed_back_ns = s->now_ns;
	return kind;
}

/* From several a T to one in 8 T: the bits that the wire cuts off change nothing, however queues vary. */
Test(sparse, hpcc_new_ack__agrees_with_the_paper_at_any_distance)
{
	static const double gaps[] = { 0.3, 0.999, 1, 1.001, 2, 3, 5, 7.9 };
	static const struct {
		double bps;
		__u64 t_ns;
	} nets[] = { { 100e9, 13000 }, { 1e9, 1000000 }, { 100e6, 4000000 }, { 100e6, 20000000 } };
	unsigned short rng[3] = { 1, 2, 3 };
	size_t n, g;
	int i;

	for (n = 0; n < 4; n++)
		for (g = 0; g < 8; g++) {
			struct path s = path_new(nets[n].bps, nets[n].t_ns);
			struct model_params mp = { .t_ns = s.p.t_ns,
						   .w_init = (double)s.p.w_init / Q12_ONE,
						   .w_min = (double)s.p.w_min / Q12_ONE,
						   .w_ai = (double)s.p.w_ai / Q12_ONE,
						   .eta = (double)s.p.eta / Q24_ONE,
						   .max_stage = 5,
						   .idle_ns = hpcc_idle_ns(s.p.t_ns),
						   .tx_wrap_bytes = 1 << 27 };
			__u64 gap_ns = gaps[g] * nets[n].t_ns;
			struct model m;

			model_init(&m, &mp);
			for (i = 0; i < 500; i++) {
				__u32 qlen = nrand48(rng) % 4 ? 0 : nrand48(rng) % 30000;
				struct model_ack exact = { .path_id = 7, .hops = 1 };
				struct model_hint hint;
				enum hpcc_kind kind;

				pass(&s, gap_ns, 0.7 + erand48(rng) * 0.3);
				exact.seq = s.seq;
				exact.snd_nxt = s.seq + (s.st.w >> 12);
				exact.hop[0] = (struct model_hop){ s.bps, s.now_ns, s.tx_bytes, qlen };
				kind = feed_back(&s, qlen, nrand48(rng) % 12000000 - 6000000);
				hint = (struct model_hint){ (double)s.st.u / Q24_ONE, s.st.inc_stage,
							    kind == HPCC_FULL };
				cr_assert_eq(kind, (enum hpcc_kind)model_new_ack(&m, &mp, &exact, &hint),
					     "net %zu, every %g T, row %d: kind %d", n, gaps[g], i, kind);
				cr_assert_eq(kind == HPCC_FIRST, i == 0);
				cr_assert(fabs((double)s.st.w / Q12_ONE / m.w - 1) < 0.005);
				cr_assert(fabs((double)s.st.u / Q24_ONE - m.u) < 0.001);
			}
		}
}

/* tau is T at most: one feedback after a longer gap replaces U, the gap's mean rate and all. */
Test(sparse, hpcc_new_ack__a_gap_of_t_or_more_forgets)
{
	int k;

	for (k = 1; k <= 8; k++) {
		struct path s = path_new(100e6, 4000000);

		feed_back(&s, 0, 0);
		pass(&s, k * 4000000, 0.6);
		/* The first round is one W_init, of which 0.6 leave in T. */
		cr_expect_eq(feed_back(&s, 0, 0), k == 1 ? HPCC_FAST : HPCC_FULL);
		cr_expect_float_eq((double)s.st.u / Q24_ONE, 0.6, 1e-3, "after %d T", k);
	}
}

/*
 * One packet per T is asked: the one that commits was sent after the last commit, so that it saw the
 * network with it. Where queues make the RTT longer than T, that is not every one of them.
 */
Test(sparse, hpcc_new_ack__one_commit_per_rtt_also_when_asked_once_per_t)
{
	double rtt;

	for (rtt = 0.9; rtt < 3; rtt += 0.3) {
		struct path s = path_new(100e6, 4000000), sent[200];
		__u64 committed_ns = 0;
		int i, arrived = 0, commits = 0;

		/* in steps of T/10: sent every 10 steps, back after rtt */
		for (i = 0; i < 2000; i++) {
			pass(&s, 400000, 1);
			if (i % 10 == 0)
				sent[i / 10] = s;
			if (arrived < i / 10 + 1 && s.now_ns >= sent[arrived].now_ns + (__u64)(rtt * 4e6)) {
				struct hpcc_ack ack = collect(&sent[arrived], 10000, 0);

				ack.snd_nxt = s.seq;
				ack.gap_ns = arrived ? 4000000 : HPCC_GAP_UNKNOWN;
				if (hpcc_new_ack(&s.st, &s.p, &ack) == HPCC_FULL) {
					cr_assert_gt(sent[arrived].now_ns, committed_ns);
					committed_ns = s.now_ns;
					commits++;
				}
				arrived++;
			}
		}
		cr_expect(commits >= 200 / ceil(rtt + 0.1) - 3 && commits <= 200 / rtt, "RTT %.1f T: %d", rtt, commits);
	}
}

/* Silence that is longer than the record lasts: the first report is only kept. */
Test(sparse, hpcc_new_ack__after_long_silence)
{
	struct path s = path_new(100e6, 4000000);
	int i;

	feed_back(&s, 0, 0);
	for (i = 0; i < 20; i++) {
		q12_t w = s.st.w;

		pass(&s, 1000000000 + i * 1234567, 0.3);
		cr_expect_eq(feed_back(&s, 60000, 0), HPCC_FIRST);
		cr_expect_eq(s.st.w, w, "no difference to take, no change");
		pass(&s, 400000, 1);
		cr_expect_eq(feed_back(&s, 60000, 0), HPCC_FULL, "the second decides");
		cr_expect(s.st.w < w || s.st.w == s.p.w_min);
		/* A burst of reports: U takes the congestion up by tau/T. */
		for (int k = 0; k < 10; k++) {
			pass(&s, 400000, 1);
			cr_expect_neq(feed_back(&s, 60000, 0), HPCC_FIRST);
		}
		cr_expect_gt(s.st.u, s.p.eta);
	}
}

/* Beyond half the wrap the clock alone means "backwards": the gap decides. */
Test(sparse, hpcc_new_ack__gaps_beyond_half_the_wrap_need_the_gap)
{
	struct path s = path_new(100e6, 4000000), blind;
	struct hpcc_ack ack;
	int ms;

	for (ms = 9; ms <= 32; ms++) {
		s = path_new(100e6, 4000000);
		feed_back(&s, 0, 0);
		pass(&s, ms * 1000000, 0.5);
		blind = s;
		cr_expect_eq(feed_back(&s, 0, 0), HPCC_FULL, "%d ms", ms);
		cr_expect_float_eq((double)s.st.u / Q24_ONE, 0.5, 1e-3, "%d ms", ms);
		ack = collect(&blind, 0, 0);
		ack.gap_ns = HPCC_GAP_UNKNOWN;
		hpcc_new_ack(&blind.st, &blind.p, &ack);
		cr_expect(blind.st.u > Q24_ONE * 6 / 10, "%d ms: without it U is wrong or old", ms);
	}
}

/* ---- Sampling Frequency ---- */

Test(sparse, hpcc_stands_for__the_feedbacks_of_the_gap)
{
	struct path s = path_new(100e6, 4000000);

	s.st.wc = 10 * s.p.w_min;
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, HPCC_GAP_UNKNOWN), 1);
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, -1), 1);
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, 0), 1);
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, 800000), 1, "two packets in T/5");
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, 4000000), 5);
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, 12000000), 15);
	cr_expect_gt(hpcc_stands_for(&s.st, &s.p, 0x7fffffffffffffff), 15);
	s.st.wc = s.p.w_min;
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, 4000000), 1, "less than one is one");
	s.p.packet = 0;
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, 4000000), 1);
	/* the largest product */
	s.p.packet = 1;
	s.p.t_ns = 1;
	s.st.wc = HPCC_W_MAX_BYTES << 12;
	cr_expect_eq(hpcc_stands_for(&s.st, &s.p, 1 << 24), (HPCC_W_MAX_BYTES << 24) / 2);
}

/* Decreases follow what was sent, not how often telemetry comes. */
Test(sparse, hpcc_new_ack__sampling_frequency_at_any_distance)
{
	static const double per_rtt[] = { 10, 5, 2, 1 };
	int decreases[4] = { 0 }, i, k;

	for (k = 0; k < 4; k++) {
		struct path s = path_new(100e6, 4000000);

		hpcc_params_variant(&s.p, HPCC_VAI_SF);
		s.p.vai.every = 30;
		feed_back(&s, 0, 0);
		for (i = 0; i < 300 * per_rtt[k]; i++) {
			s.st.wc = 20 * s.p.w_min;
			pass(&s, 4000000 / per_rtt[k], 1);
			decreases[k] += feed_back(&s, 0, 0) == HPCC_FULL;
		}
	}
	/* 10 of two packets a T, 300 T, s = 30 */
	for (k = 0; k < 4; k++)
		cr_expect(abs(decreases[k] - 100) <= 2, "%g a T: %d", per_rtt[k], decreases[k]);
}
