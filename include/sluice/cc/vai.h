/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_VAI_H
#define SLUICE_VAI_H
/*
 * Variable Additive Increase and Sampling Frequency ("convergence to fairness in RDMA congestion
 * control", section IV), for HPCC and Swift alike.
 *
 *  1. A queue as large as the one that a newcomer at line rate makes is a sign that rates are
 *     unequal: vai_round() turns it into tokens, once per RTT (Algorithm 1).
 *  2. vai_factor() spends them: W_AI is multiplied by the tokens at hand, up to a cap, divided by
 *     a dampener that grows while the queue stays (Algorithm 2).
 *  3. vai_commit(): decreases are committed every s feedbacks, so that a flow that sends more gives way more often;
 *     increases stay once per RTT.
 *
 * Congestion is a queue in bytes (HPCC) or a delay in ns (Swift): only the unit differs.
 *
 * Open in the paper, and done here:
 *  - Algorithm 1 makes tokens of all of the congestion, the text of its excess: as printed.
 *  - The dampener keeps 8 fractional bits, and stops at VAI_DAMPENER_MAX.
 *  - Feedbacks count on while the rate does not fall: the first sign of congestion after s of them
 *    is acted upon at once.
 */
#include "sluice/types.h"

#define VAI_DAMPENER_ONE 256U
#define VAI_DAMPENER_MAX (1U << 24)
#define VAI_FACTOR_ONE 256U
#define VAI_TOKENS_MAX ((1 << 15) - 1) /* most tokens that a bank holds or one adjustment uses */

struct vai_params {
	__u32 token_thresh; /* Token_Thresh, bytes or ns, > 0 */
	__u32 ai_div;	    /* AI_DIV: bytes or ns of a token, > 0 */
	__u16 bank_cap;	    /* Bank_Cap, tokens, < 2^15 */
	__u16 ai_cap;	    /* AI_Cap: tokens that one adjustment may use */
	__u16 dampener_div; /* Dampener_Constant, > 0 */
	__u16 every;	    /* s: feedbacks between two decreases */
};

/* The tunables from the configuration; 0: as hpcc_params_variant() derives it. */
struct vai_tuning {
	__u32 token_thresh;
	__u32 ai_div;
	__u16 bank_cap;
	__u16 ai_cap;
	__u16 dampener_div;
	__u16 every;
};

/* The values of tunables that the configuration does not give. */
enum vai_preset {
	VAI_DERIVED, /* from W_init and N: hpcc_params_variant() */
	VAI_PAPER,   /* VAI_TUNING_PAPER */
};

/*
 * The parameters with which the paper simulates HPCC (section VI.A: 100 Gbit/s, a BDP of 50 KB). Its Token_Thresh is the BDP, as
 * derived. Swift keeps its own Token_Thresh and AI_DIV.
 */
#define VAI_TUNING_PAPER \
	((struct vai_tuning){ .ai_div = 1000, .ai_cap = 100, .bank_cap = 1000, .dampener_div = 8, .every = 30 })

static inline void vai_tune(struct vai_params *p, const struct vai_tuning *t)
{
	p->token_thresh = t->token_thresh ? t->token_thresh : p->token_thresh;
	p->ai_div = t->ai_div ? t->ai_div : p->ai_div;
	p->bank_cap = t->bank_cap ? t->bank_cap : p->bank_cap;
	p->ai_cap = t->ai_cap ? t->ai_cap : p->ai_cap;
	p->dampener_div = t->dampener_div ? t->dampener_div : p->dampener_div;
	p->every = t->every ? t->every : p->every;
}

struct vai_state {
	__u32 measured; /* Measured_Congestion: the worst of this RTT, bytes or ns */
	__u32 dampener_q8;
	__u16 bank;	 /* AI_Bank, tokens */
	__u16 feedbacks; /* feedbacks since the last decrease; stops at s */
	__u8 congested;	 /* above the target at some time in this RTT */
	__u8 variant;	 /* variant of the parameters that this state belongs to */
	__u16 pad;
};

/*
 * Takes one feedback: the congestion that it shows, and whether that is above the target. count: the number of
 * feedbacks it stands for, more than 1 if most packets bring none.
 */
static inline void vai_observe(struct vai_state *v, const struct vai_params *p, __u32 congestion, int congested,
			       __u64 count)
{
	if (congestion > v->measured)
		v->measured = congestion;
	v->congested |= congested;
	v->feedbacks = v->feedbacks + count < p->every ? v->feedbacks + count : p->every;
}

/* Algorithm 1, at the end of an RTT. */
static inline void vai_round(struct vai_state *v, const struct vai_params *p)
{
	if (v->measured > p->token_thresh) {
		__u64 bank = v->bank + v->measured / p->ai_div;
		__u64 dampener = v->dampener_q8 + (__u64)v->measured * VAI_DAMPENER_ONE / p->token_thresh;

		v->bank = bank < p->bank_cap ? bank : p->bank_cap;
		v->dampener_q8 = dampener < VAI_DAMPENER_MAX ? dampener : VAI_DAMPENER_MAX;
	} else if (!v->bank) {
		if (!v->congested || (v->measured < p->token_thresh && v->dampener_q8 < VAI_DAMPENER_ONE))
			v->dampener_q8 = 0;
		else if (v->measured < p->token_thresh)
			v->dampener_q8 -= VAI_DAMPENER_ONE;
	}
	v->measured = 0;
	v->congested = 0;
}

/* Tokens that the next adjustment uses. */
static inline __u32 vai_tokens(const struct vai_state *v, const struct vai_params *p)
{
	return v->bank < p->ai_cap ? v->bank : p->ai_cap;
}

/* Algorithm 2: the factor on W_AI in Q8, 1.0 to AI_Cap; < 2^24. */
static inline __u32 vai_factor(const struct vai_state *v, const struct vai_params *p)
{
	__u32 divisor_q8 = v->dampener_q8 / p->dampener_div + VAI_DAMPENER_ONE;
	__u32 factor = (vai_tokens(v, p) << 16) / divisor_q8;

	return factor > VAI_FACTOR_ONE ? factor : VAI_FACTOR_ONE;
}

/*
 * Whether an adjustment is to be committed; if so, its tokens are spent (Algorithm 2, lines 3-5). A
 * decrease is due after s feedbacks, an increase at the end of an RTT.
 */
static inline int vai_commit(struct vai_state *v, const struct vai_params *p, int decrease, int round)
{
	if (decrease ? v->feedbacks < p->every : !round)
		return 0;
	if (decrease)
		v->feedbacks = 0;
	v->bank -= vai_tokens(v, p);
	return 1;
}

#endif
