/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_HPCC_H
#define TESTS_FUZZ_HPCC_H
/* Parameters and feedback of Algorithm 1 from the input, and what always holds: for a sender as for a receiver. */
#include "fuzz.h"
#include "sluice/cc/hpcc.h"

#define FUZZ_RATE_MAX_BPS 4500000000000000ULL /* hpcc_rate_bps() stays below 2^64 */

/* Whatever the head of hpcc.h allows, and mostly what a path may have. */
static inline void fuzz_hpcc_params(struct fuzz *f, struct hpcc_params *p)
{
	__u64 most;

	memset(p, 0, sizeof(*p));
	p->t_ns = fuzz_in(f, 1, (1ULL << 30) - 1);
	most = FUZZ_RATE_MAX_BPS / 8 * p->t_ns / NSEC_PER_SEC;
	most = most < HPCC_W_MAX_BYTES ? most : HPCC_W_MAX_BYTES;
	p->w_init = fuzz_in(f, 1, q12_from_bytes(most) ?: 1);
	p->w_min = fuzz_in(f, 1, p->w_init);
	p->w_ai = fuzz_in(f, 0, p->w_init);
	p->eta = fuzz_in(f, 1, Q24_ONE);
	p->max_stage = fuzz_u8(f);
	p->packet = fuzz_u16(f);
	hpcc_params_variant(p, fuzz_u8(f) % (HPCC_VARIANTS + 1)); /* also an unknown one */
	FUZZ_ASSERT(p->vai.bank_cap < 1 << 15 && p->vai.token_thresh && p->vai.ai_div && p->vai.dampener_div);
	FUZZ_ASSERT(p->w_ai <= p->w_init);
}

/* The hops continue from the previous ones, as ports do; any other number comes from a raw hop. */
static inline void fuzz_hpcc_ack(struct fuzz *f, struct hpcc_ack *ack)
{
	__u8 shape = fuzz_u8(f);
	__u64 gap = fuzz_any(f);
	int i;

	ack->seq = shape & 1 ? ack->seq + fuzz_u16(f) : fuzz_any(f);
	ack->snd_nxt = shape & 2 ? ack->seq + fuzz_u16(f) : fuzz_any(f);
	ack->gap_ns = shape & 4 ? HPCC_GAP_UNKNOWN : shape & 8 ? -(__s64)gap : (__s64)gap;
	if (shape & 16)
		ack->path_id = fuzz_u16(f);
	if (shape & 32)
		ack->hops = fuzz_u8(f) % (HPCC_MAX_HOPS + 2); /* also one too many */
	ack->random = fuzz_u32(f);
	for (i = 0; i < HPCC_MAX_HOPS && i < ack->hops; i++) {
		struct hpcc_hop *hop = &ack->hop[i];

		if (shape & 64) {
			hop->bps = fuzz_in(f, 0, (1ULL << 44) - 1);
			hop->ts_ns = fuzz_u32(f);
			hop->tx_bytes = fuzz_u32(f);
			hop->qlen_bytes = fuzz_u32(f);
		} else {
			hop->ts_ns += fuzz_in(f, 0, 1 << 25);
			hop->tx_bytes += fuzz_in(f, 0, 1 << 28);
			hop->qlen_bytes = fuzz_in(f, 0, (1 << 27) - 1);
		}
		/* The width to which both encodings cut them. */
		hop->ts_ns &= HPCC_TS_MASK;
		hop->tx_bytes &= HPCC_TX_MASK;
		hop->qlen_bytes &= (1 << 27) - 1;
		if (!hop->bps && !(shape & 64))
			hop->bps = 10000000000ULL;
	}
}

/* With every parameter that the state has met. */
static inline void fuzz_hpcc_holds(const struct hpcc_state *st, const struct hpcc_params *p)
{
	FUZZ_ASSERT(st->w >= p->w_min && st->w <= p->w_init);
	FUZZ_ASSERT(st->wc >= p->w_min && st->wc <= p->w_init);
	FUZZ_ASSERT(st->u <= 1ULL << 39 && st->u_frac < Q24_ONE);
	FUZZ_ASSERT(st->hops <= HPCC_MAX_HOPS && st->bottleneck < HPCC_MAX_HOPS);
	FUZZ_ASSERT(st->inc_stage <= p->max_stage);
	/* The tokens were banked under a cap of this variant, with any N. */
	FUZZ_ASSERT(st->vai.bank <= 10 * HPCC_VAI_N_MAX && st->vai.dampener_q8 <= VAI_DAMPENER_MAX);
	FUZZ_ASSERT(vai_tokens(&st->vai, &p->vai) <= p->vai.ai_cap);
	FUZZ_ASSERT(vai_factor(&st->vai, &p->vai) >= VAI_FACTOR_ONE && vai_factor(&st->vai, &p->vai) < 1 << 24);
	FUZZ_ASSERT(vai_factor(&st->vai, &p->vai) <= VAI_FACTOR_ONE ||
		    vai_factor(&st->vai, &p->vai) <= (__u32)p->vai.ai_cap << 8);
}

static inline void fuzz_hpcc_rate_holds(const struct hpcc_state *st, const struct hpcc_params *p)
{
	unsigned __int128 rate = (unsigned __int128)st->w * 1000000 / p->t_ns * 8000 >> 12;

	FUZZ_ASSERT(rate >> 64 == 0 && st->rate_bps == rate);
}

/* W from Wc by the text of Algorithm 1, line 14 or 16, at full width; within what Q24 rounds. */
static inline void fuzz_hpcc_window_holds(const struct hpcc_state *st, const struct hpcc_params *p, q12_t wc, int stage,
					  q12_t w_ai)
{
	unsigned __int128 w = wc, slack = 2;

	if (st->u >= p->eta || stage >= (int)p->max_stage) {
		w = st->u ? (unsigned __int128)wc * p->eta / st->u : p->w_init;
		slack += wc >> 24;
	}
	w += w_ai;
	if (w > p->w_init)
		w = p->w_init;
	if (w < hpcc_floor(p))
		w = hpcc_floor(p);
	FUZZ_ASSERT(st->w <= w + slack && st->w + slack >= w);
}

/* The utilisation of a hop, by the text of Algorithm 1, line 4, without the queue by chance, each half saturated as q24_ratio() is. */
static inline long double fuzz_hop_u(const struct hpcc_hop *old, const struct hpcc_hop *now,
				     const struct hpcc_params *p, __s64 dt)
{
	__u64 qlen = now->qlen_bytes < old->qlen_bytes ? now->qlen_bytes : old->qlen_bytes;
	__u64 chance = p->chance * HPCC_CHANCE_UNIT;
	long double queue = (qlen > chance ? qlen - chance : 0) * 8e9L / now->bps / p->t_ns, most = 16384;
	long double sent = hpcc_sent(old->tx_bytes, now->tx_bytes, now->bps, dt) * 8e9L / now->bps / dt;

	return (queue < most ? queue : most) + (sent < most ? sent : most);
}

/* U by MeasureInflight, lines 1 to 10; any of several equally full hops may decide. */
static inline void fuzz_hpcc_u_holds(const struct hpcc_state *was, const struct hpcc_state *st,
				     const struct hpcc_params *p, const struct hpcc_ack *ack)
{
	long double before = (was->u + was->u_frac / (long double)Q24_ONE) / Q24_ONE;
	long double u[HPCC_MAX_HOPS], most = 0, got = (st->u + st->u_frac / (long double)Q24_ONE) / Q24_ONE;
	int i, found = 0;

	for (i = 0; i < ack->hops; i++) {
		__s64 dt = hpcc_elapsed(was->last[i].ts_ns, ack->hop[i].ts_ns, ack->gap_ns);

		FUZZ_ASSERT(dt > 0);
		u[i] = fuzz_hop_u(&was->last[i], &ack->hop[i], p, dt);
		most = u[i] > most ? u[i] : most;
	}
	for (i = 0; i < ack->hops && !found; i++) {
		__u64 dt = hpcc_elapsed(was->last[i].ts_ns, ack->hop[i].ts_ns, ack->gap_ns);
		long double weight = dt < p->t_ns ? dt / (long double)p->t_ns : 1, want;

		if (u[i] + 1e-6L + u[i] * 1e-6L < most)
			continue;
		/* All hops empty: no hop decides, and nothing is learnt. */
		want = most < 1e-6L && st->u == was->u ? before : before + (u[i] - before) * weight;
		found = got <= want + 1e-6L * (1 + most + before) && got + 1e-6L * (1 + most + before) >= want;
	}
	FUZZ_ASSERT(found);
}

/* Tokens of one feedback: only the end of a round makes some, and only a commit uses some. */
static inline void fuzz_vai_holds(const struct vai_state *was, const struct vai_state *v, const struct hpcc_params *p)
{
	if (p->variant != HPCC_VAI_SF || was->variant != v->variant)
		return;
	FUZZ_ASSERT(v->bank <= p->vai.bank_cap || v->bank <= was->bank);
	FUZZ_ASSERT(v->feedbacks <= p->vai.every);
}

/* The fields that a kind of feedback may change. */
static inline void fuzz_hpcc_kind_holds(const struct hpcc_state *was, const struct hpcc_state *st, enum hpcc_kind kind)
{
	if (kind == HPCC_SKIPPED)
		FUZZ_ASSERT(!memcmp(was, st, sizeof(*st)));
	if (kind == HPCC_FIRST)
		FUZZ_ASSERT(st->w == was->w && st->wc == was->wc && st->rate_bps == was->rate_bps &&
			    !memcmp(&st->vai, &was->vai, sizeof(st->vai)));
	if (kind == HPCC_FIRST && (st->hops != was->hops || st->path_id != was->path_id))
		FUZZ_ASSERT(st->u == Q24_ONE && !st->u_frac && !st->inc_stage);
	else if (kind == HPCC_FIRST)
		FUZZ_ASSERT(st->u == was->u && st->u_frac == was->u_frac && st->inc_stage == was->inc_stage);
	if (kind == HPCC_FAST)
		FUZZ_ASSERT(st->wc == was->wc && st->inc_stage == was->inc_stage);
	if (kind == HPCC_FULL)
		FUZZ_ASSERT(st->wc == st->w);
}

static inline void fuzz_hpcc_recorded(const struct hpcc_state *st, const struct hpcc_ack *ack)
{
	FUZZ_ASSERT(st->hops == ack->hops && st->path_id == ack->path_id && st->hops);
	FUZZ_ASSERT(!memcmp(st->last, ack->hop, ack->hops * sizeof(ack->hop[0])));
}

#endif
