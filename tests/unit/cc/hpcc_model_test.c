// SPDX-License-Identifier: GPL-2.0-only
/* The same as the model of the paper in double. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "sluice/wire/telemetry.h"
#include "model.h"
#include "trace.h"
#include "hpcc_case.h"

TestSuite(hpcc_model, .timeout = 60);

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
			ack->hop[i] =
				telem_unpack(telem_pack(telem_speed_fit(h->bps), h->ts_ns, h->tx_bytes, h->qlen_bytes));
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
	m->packet = floor(trace_random(t, 60, 1500));
	m->w_min = floor(trace_random(t, 10, m->packet));
	m->w_init = floor(fmin(fmax(nic_bps * m->t_ns / 8e9, 2 * m->packet), HPCC_W_MAX_BYTES));
	m->w_ai = m->w_init * (1 - m->eta) / trace_random_log(t, 1, 1000);
	m->chance = HPCC_CHANCE_UNIT * floor(fmax(trace_random(t, -100, 200), 0));
	m->idle_ns = fmax(HALF_NS, 8 * m->t_ns);
	m->tx_wrap_bytes = 1 << 27;
	c->core = (struct hpcc_params){ .t_ns = m->t_ns,
					.w_init = llround(m->w_init * Q12_ONE),
					.w_min = llround(m->w_min * Q12_ONE),
					.w_ai = llround(m->w_ai * Q12_ONE),
					.eta = llround(m->eta * Q24_ONE),
					.max_stage = m->max_stage,
					.packet = m->packet,
					.chance = m->chance / HPCC_CHANCE_UNIT };
}

/* The invariants after every feedback, whatever its content. */
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

		cr_assert_eq(kind, want, "seed %u row %lu: kind %d, not %d", c->trace.seed, n, kind, want);
		cr_assert(fabs(bytes(st.w) / model.w - 1) <= 0.005,
			  "seed %u row %lu: W %.3f, not %.3f (U %.6f, not %.6f)", c->trace.seed, n, bytes(st.w),
			  model.w, u_of(&st), model.u);
		cr_assert(fabs(bytes(st.wc) / model.wc - 1) <= 0.005, "seed %u row %lu: Wc %.3f, not %.3f",
			  c->trace.seed, n, bytes(st.wc), model.wc);
		/* U is cut to 2^-24: the idle flow's may be smaller than that. */
		cr_assert(fabs(u_of(&st) - model.u) <= 0.001 * model.u + 1e-6, "seed %u row %lu: U %.6f, not %.6f",
			  c->trace.seed, n, u_of(&st), model.u);
		cr_assert_eq(st.inc_stage, model.inc_stage, "seed %u row %lu: stage %u, not %d", c->trace.seed, n,
			     st.inc_stage, model.inc_stage);
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
		cr_expect_gt(kinds[i], rows / 200, "kind %u: only %lu of %lu rows", i, kinds[i], rows);
	cr_expect_lt(ties, rows / 1000, "%lu ties in %lu rows", ties, rows);
	cr_log_info("worst error of W: %.2e", worst);
}

Test(hpcc_model, hpcc_new_ack__agrees_with_the_paper_under_changing_load)
{
	expect_agreement_under(TRACE_WALK, 1000);
}

Test(hpcc_model, hpcc_new_ack__agrees_with_the_paper_under_incast)
{
	expect_agreement_under(TRACE_INCAST, 2000);
}

Test(hpcc_model, hpcc_new_ack__agrees_with_the_paper_when_mostly_idle)
{
	expect_agreement_under(TRACE_IDLE, 3000);
}

/* The defaults of replay, a long flow: tens of wraps of the clock, hundreds of the counter. */
Test(hpcc_model, hpcc_new_ack__agrees_with_the_paper_for_100000_rows)
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
		struct model_ack exact = { .seq = n, .snd_nxt = n + t_ns / dt_ns, .path_id = 7, .hops = 1 };
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
		cr_assert(fabs(bytes(st.w) / model.w - 1) <= 0.005,
			  "T %.0f, every %.0f ns, load %.4f, queue %.0f, row %llu: W %.1f, not %.1f", t_ns, dt_ns, load,
			  qlen, n, bytes(st.w), model.w);
	}
}

Test(hpcc_model, hpcc_new_ack__does_not_drift_from_the_paper)
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
Test(hpcc_model, hpcc_new_ack__survives_nonsense)
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

			ack.gap_ns =
				nrand48(rng) & 1 ? HPCC_GAP_UNKNOWN : (__s64)nrand48(rng) * (nrand48(rng) - (1 << 30));
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
