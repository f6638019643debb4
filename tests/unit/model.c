// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>

#include "model.h"

void model_init(struct model *m, const struct model_params *p)
{
	memset(m, 0, sizeof(*m));
	m->u = 1;
	m->w = p->w_init;
	m->wc = p->w_init;
	m->rate_bps = p->w_init * 8e9 / p->t_ns;
}

/* A flow whose W is below a packet is silent between two packets. */
static int paused(const struct model *m, const struct model_params *p, double dt_ns)
{
	if (dt_ns <= p->idle_ns)
		return 0;
	return m->w >= p->packet || dt_ns > 1 << 30 || dt_ns > 4 * p->t_ns * p->packet / m->w;
}

/*
 * Left open by the paper (ALGORITHMS.md, section 1): whether there is anything to take a
 * difference with. MODEL_FAST: there is. When hops disagree, the first on the path decides.
 */
static enum model_kind comparable(const struct model *m, const struct model_params *p, const struct model_ack *ack)
{
	int i;

	if (!ack->hops)
		return MODEL_SKIPPED;
	if (m->hops != ack->hops || m->path_id != ack->path_id)
		return MODEL_FIRST;
	for (i = 0; i < ack->hops; i++) {
		double dt = ack->hop[i].ts_ns - m->last[i].ts_ns;

		if (dt <= 0)
			return MODEL_SKIPPED;
		if (ack->hop[i].bps != m->last[i].bps || paused(m, p, dt) ||
		    ack->hop[i].bps * dt / 8e9 > p->tx_wrap_bytes)
			return MODEL_FIRST;
	}
	return MODEL_FAST;
}

/* Lines 1 to 10. */
static double measure_inflight(struct model *m, const struct model_params *p, const struct model_ack *ack,
			       const struct model_hint *hint)
{
	double u_hop[MODEL_HOPS], u = 0, best = m->u, tau;
	int i, candidates = 0;

	for (i = 0; i < ack->hops; i++) {
		const struct model_hop *now = &ack->hop[i], *old = &m->last[i];
		double bytes_per_ns = now->bps / 8e9;
		double tx_rate = (now->tx_bytes - old->tx_bytes) / (now->ts_ns - old->ts_ns);

		double qlen = fmax(fmin(now->qlen_bytes, old->qlen_bytes) - p->chance, 0);

		u_hop[i] = qlen / (bytes_per_ns * p->t_ns) + tx_rate / bytes_per_ns;
		u = fmax(u, u_hop[i]);
	}
	/* Nothing queued and nothing sent anywhere: no hop sets tau, and U stays. */
	if (u == 0)
		return m->u;
	for (i = 0; i < ack->hops; i++) {
		double smoothed;

		if (hint ? u_hop[i] < u * (1 - MODEL_TIE) : u_hop[i] < u)
			continue;
		tau = fmin(ack->hop[i].ts_ns - m->last[i].ts_ns, p->t_ns);
		smoothed = (1 - tau / p->t_ns) * m->u + tau / p->t_ns * u;
		if (!candidates++ || (hint && fabs(smoothed - hint->u) < fabs(best - hint->u)))
			best = smoothed;
		if (!hint)
			break; /* line 6 has >, not >= */
	}
	return best;
}

/* Lines 11 to 20, and the clamp of ALGORITHMS.md. */
static void compute_wind(struct model *m, const struct model_params *p, int update, const struct model_hint *hint)
{
	int multiplicative = m->u >= p->eta || m->inc_stage >= p->max_stage;
	double stages;

	if (hint && update && m->inc_stage < p->max_stage && fabs(m->u - p->eta) < MODEL_TIE * p->eta &&
	    multiplicative != (hint->inc_stage == 0)) {
		multiplicative = !multiplicative;
		m->ties++;
	}
	if (multiplicative)
		m->w = m->wc / (m->u / p->eta) + p->w_ai;
	else
		m->w = m->wc + p->w_ai;
	m->w = fmax(fmin(m->w, p->w_init), fmax(p->w_min, fmin(fmin(5 * p->w_ai, p->packet), p->w_init)));
	if (update) {
		/* Rounds of several T are as many stages, but for a W below a packet at a port that is used. */
		stages = m->wc < p->packet && m->u >= p->eta / 2 ?
				 1 :
				 fmax(floor((m->round_ns + floor(p->t_ns / 2)) / p->t_ns), 1);
		m->inc_stage = multiplicative ? 0 : (int)fmin(m->inc_stage + stages, p->max_stage);
		m->wc = m->w;
		m->round_ns = 0;
	}
}

/* Algorithm 1 of "Convergence to fairness". */
static void make_tokens(struct model *m, const struct model_params *p)
{
	if (m->measured > p->token_thresh)
		m->bank = fmin(floor(m->measured / p->ai_div) + m->bank, p->bank_cap);
	if (m->measured > p->token_thresh) {
		m->dampener += m->measured / p->token_thresh;
	} else if (m->bank == 0) {
		if (!m->congested)
			m->dampener = 0;
		else if (m->measured < p->token_thresh)
			m->dampener = fmax(m->dampener - 1, 0);
	}
	m->measured = 0;
	m->congested = 0;
}

/* ComputeWind with Algorithm 2 in the place of W_AI: decreases every s feedbacks. */
static enum model_kind compute_wind_vai(struct model *m, const struct model_params *p, const struct model_ack *ack,
					const struct model_hint *hint)
{
	struct model_params with = *p;
	int round = ack->seq > m->last_update_seq, decrease, update, i;
	double tokens, wc = m->wc;

	for (i = 0; i < ack->hops; i++)
		m->measured = fmax(m->measured, ack->hop[i].qlen_bytes);
	m->congested |= hint->u >= p->eta;
	m->feedbacks++;
	if (round)
		make_tokens(m, p);
	tokens = fmin(p->ai_cap, m->bank);
	with.w_ai = p->w_ai * fmax(tokens / (m->dampener / p->dampener_div + 1), 1);
	compute_wind(m, &with, 0, NULL);
	decrease = m->w < wc;
	/* Where W is Wc rounding decides. */
	if (fabs(m->w / wc - 1) < 2e-3 && (decrease ? m->feedbacks >= p->every : round) != hint->full)
		decrease = !decrease;
	update = decrease ? m->feedbacks >= p->every : round;
	if (update) {
		compute_wind(m, &with, 1, hint);
		m->bank = fmax(m->bank - tokens, 0);
		if (decrease)
			m->feedbacks = 0;
	}
	if (round)
		m->last_update_seq = ack->snd_nxt;
	return update ? MODEL_FULL : MODEL_FAST;
}

/* Lines 21 to 27. */
enum model_kind model_new_ack(struct model *m, const struct model_params *p, const struct model_ack *ack,
			      const struct model_hint *hint)
{
	enum model_kind kind = comparable(m, p, ack);

	if (kind == MODEL_SKIPPED)
		return kind;
	if (kind == MODEL_FAST) {
		m->round_ns = fmin(m->round_ns + ack->hop[ack->hops - 1].ts_ns - m->last[ack->hops - 1].ts_ns, 1 << 30);
		m->u = measure_inflight(m, p, ack, hint);
		if (p->vai) {
			kind = compute_wind_vai(m, p, ack, hint);
		} else if (ack->seq > m->last_update_seq) {
			kind = MODEL_FULL;
			compute_wind(m, p, 1, hint);
			m->last_update_seq = ack->snd_nxt;
		} else {
			compute_wind(m, p, 0, hint);
		}
		m->rate_bps = m->w * 8e9 / p->t_ns;
	} else if (m->last_update_seq == 0) {
		m->last_update_seq = ack->snd_nxt;
	}
	if (m->hops != ack->hops || m->path_id != ack->path_id) {
		m->u = 1;
		m->inc_stage = m->round_ns = 0;
	}
	m->path_id = ack->path_id;
	m->hops = ack->hops;
	memcpy(m->last, ack->hop, sizeof(m->last));
	return kind;
}

const char *model_kind_name(enum model_kind kind)
{
	static const char *const names[] = { "first", "fast", "full", "skipped" };

	return names[kind];
}
