// SPDX-License-Identifier: GPL-2.0-only
/* Algorithm 1 to the letter: with stages: rounds the core is what the paper prints. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "hpcc_case.h"

TestSuite(hpcc_printed, .timeout = 60);

#define PRINTED_T_NS 4160.0
#define PRINTED_ETA 0.95
#define PRINTED_MAX_STAGE 5
#define PRINTED_W_INIT 52000.0
#define PRINTED_W_AI 80.0
#define PRINTED_W_MIN 1000.0 /* the authors' simulator also keeps the rate between two bounds */

/* The variables of Algorithm 1 under their names there. */
struct printed {
	double U, W, Wc;
	int incStage;
	double lastUpdateSeq;
	struct trace_row L;
};

/* Lines 1 to 10. */
static double printed_measure_inflight(struct printed *s, const struct trace_row *ack)
{
	double u = 0, tau = 0;
	unsigned int i;

	for (i = 0; i < ack->hops; i++) {
		const struct trace_hop *now = &ack->hop[i], *old = &s->L.hop[i];
		double bytes_per_ns = now->bps / 8e9, ns = now->ts_ns - old->ts_ns;
		double txRate = (now->tx_bytes - old->tx_bytes) / ns;
		double qlen = now->qlen_bytes < old->qlen_bytes ? now->qlen_bytes : old->qlen_bytes;
		double u_hop = qlen / (bytes_per_ns * PRINTED_T_NS) + txRate / bytes_per_ns;

		if (u_hop > u) {
			u = u_hop;
			tau = ns;
		}
	}
	tau = fmin(tau, PRINTED_T_NS);
	s->U = (1 - tau / PRINTED_T_NS) * s->U + tau / PRINTED_T_NS * u;
	return s->U;
}

/* Lines 11 to 20. multiplicative: the branch of line 12, which a test may force where U is eta but for rounding. */
static double printed_compute_wind(struct printed *s, int multiplicative, int updateWc)
{
	double W = multiplicative ? s->Wc / (s->U / PRINTED_ETA) + PRINTED_W_AI : s->Wc + PRINTED_W_AI;

	W = fmax(fmin(W, PRINTED_W_INIT), PRINTED_W_MIN);
	if (updateWc) {
		s->incStage = multiplicative ? 0 : s->incStage + 1;
		s->Wc = W;
	}
	return W;
}

/* Lines 21 to 27; got: the core after the same ACK. Returns whether rounding could have decided either way. */
static int printed_new_ack(struct printed *s, const struct trace_row *ack, const struct hpcc_state *got)
{
	double U = printed_measure_inflight(s, ack);
	int updateWc = ack->seq > s->lastUpdateSeq;
	int multiplicative = U >= PRINTED_ETA || s->incStage >= PRINTED_MAX_STAGE;
	int tie = updateWc && s->incStage < PRINTED_MAX_STAGE && fabs(U / PRINTED_ETA - 1) < 1e-6;

	if (tie)
		multiplicative = !got->inc_stage;
	s->W = printed_compute_wind(s, multiplicative, updateWc);
	if (updateWc)
		s->lastUpdateSeq = ack->snd_nxt;
	s->L = *ack;
	return tie;
}

static struct hpcc_ack printed_core_ack(const struct trace_row *row, const struct trace_row *last)
{
	struct hpcc_ack ack = { .seq = row->seq, .snd_nxt = row->snd_nxt, .path_id = 7, .hops = row->hops };
	unsigned int i;

	ack.gap_ns = last->hops ? (__s64)(row->hop[0].ts_ns - last->hop[0].ts_ns) : HPCC_GAP_UNKNOWN;
	for (i = 0; i < row->hops; i++)
		ack.hop[i] = (struct hpcc_hop){ .bps = row->hop[i].bps,
						.ts_ns = row->hop[i].ts_ns & HPCC_TS_MASK,
						.tx_bytes = row->hop[i].tx_bytes & HPCC_TX_MASK,
						.qlen_bytes = row->hop[i].qlen_bytes };
	return ack;
}

/*
 * Plays a trace, of many ACKs in a T if the seed is odd, of one in one and a half T if it is even. Returns the largest
 * relative difference of W.
 */
static double printed_play(unsigned int seed, enum trace_load load, enum hpcc_stages stages, unsigned long rows,
			   unsigned long *ties)
{
	const struct trace_cfg cfg = { .seed = seed,
				       .load = load,
				       .t_ns = PRINTED_T_NS,
				       .bps_min = 25e9,
				       .bps_max = 100e9,
				       /* Two full queues would be a tie, which rounding decides. */
				       .hops = load == TRACE_INCAST ? 1 : 3,
				       .interval_ns = seed & 1 ? 300 : 6000 };
	struct printed s = { .U = 1, .W = PRINTED_W_INIT, .Wc = PRINTED_W_INIT };
	struct hpcc_params p = params;
	struct hpcc_state st = {};
	struct trace_row row;
	struct hpcc_ack ack;
	double worst = 0;
	unsigned long n;
	struct trace t;

	p.stages = stages;
	trace_init(&t, &cfg);
	hpcc_init(&st, &p);
	for (n = 0; n < rows; n++) {
		trace_next(&t, &row);
		ack = printed_core_ack(&row, &s.L);
		/* A hop whose clock did not advance: the paper does not say, and it cannot divide by it. */
		if (hpcc_new_ack(&st, &p, &ack) == HPCC_SKIPPED)
			continue;
		if (!s.L.hops) { /* nothing to take a difference with */
			s.L = row;
			s.lastUpdateSeq = row.snd_nxt;
			continue;
		}
		*ties += printed_new_ack(&s, &row, &st);
		worst = fmax(worst, fabs(bytes(st.w) / s.W - 1));
	}
	return worst;
}

Test(hpcc_printed, stages_rounds__is_algorithm_1_to_the_letter)
{
	static const enum trace_load loads[] = { TRACE_WALK, TRACE_INCAST };
	unsigned long ties = 0, rows = 110000;
	unsigned int seed, l;
	double worst;

	for (l = 0; l < 2; l++)
		for (seed = 1; seed <= 3; seed++) {
			worst = printed_play(seed, loads[l], HPCC_STAGES_ROUNDS, rows, &ties);
			cr_expect_lt(worst, 1e-4, "seed %u, load %u: W is off by %.2e", seed, l, worst);
		}
	cr_expect_lt(ties, rows / 10000, "%lu ties", ties);
}

/* And the default is not: it is another algorithm wherever a round takes longer than T. */
Test(hpcc_printed, stages_time__differs)
{
	unsigned long ties = 0;

	cr_expect_gt(printed_play(2, TRACE_INCAST, HPCC_STAGES_TIME, 20000, &ties), 0.1);
}
