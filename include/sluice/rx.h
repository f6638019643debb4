/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RX_H
#define SLUICE_RX_H
/*
 * Rx-HPCC (HPCC++, Internet-Draft of December 2021, section 6.2): the receiver runs the sender's
 * functions on the telemetry that it receives, and reports W instead of echoing hops.
 *
 *  1. rx_new_int() is NewINT: it does not know the sequence at which an RTT begins, so it commits
 *     when T has passed, and says when W is to be reported, at most once per T.
 *  2. rx_count() counts the flows that are active at the receiver, N, for W_AI (section 6.2, end).
 *  3. What is reported comes from another host: rx_window() and rx_flows() clamp it at the sender
 *     and tell, so that absurd reports can be counted.
 */
#include "hpcc.h"

#define RX_FLOWS_MAX 65535U /* N: W_AI of the smallest BDP is still above 0 */
#define RX_COUNT_RTTS 8	    /* a flow that was silent for longer than 8 to 16 RTTs is not active */

struct rx_state {
	struct hpcc_state cc;  /* last_update_seq is not used */
	__u64 last_update_ns;  /* lastUpdateTime, of the clock of now_ns */
	__u64 last_report_ns;
};

static inline void rx_init(struct rx_state *st, const struct hpcc_params *p)
{
	hpcc_init(&st->cc, p);
	st->last_update_ns = 0;
	st->last_report_ns = 0;
}

/*
 * NewINT (lines 28-34). ack: the hops that a packet brought, its gap, path and, for
 * HPCC_PROBABILISTIC, random; seq and snd_nxt are not looked at. *report: W is to be sent. In plain
 * HPCC that is with every commit, as in the draft; variants commit at other times too, or later.
 */
static inline enum hpcc_kind rx_new_int(struct rx_state *st, const struct hpcc_params *p,
					const struct hpcc_ack *ack, __u64 now_ns, int *report)
{
	enum hpcc_kind kind = hpcc_observe(&st->cc, p, ack);

	*report = 0;
	if (kind == HPCC_SKIPPED)
		return kind;
	if (kind == HPCC_FAST) {
		int round = now_ns > st->last_update_ns + p->t_ns;

		kind = hpcc_adjust(&st->cc, p, ack, &round);
		if (round)
			st->last_update_ns = now_ns;
		*report = now_ns > st->last_report_ns + p->t_ns;
		if (*report)
			st->last_report_ns = now_ns;
	}
	hpcc_record(&st->cc, ack);
	return kind;
}

enum rx_verdict {
	RX_TAKEN,
	RX_TOO_LOW,  /* the lower bound was taken instead */
	RX_TOO_HIGH, /* likewise the upper */
};

/* Sender: a reported W, in bytes of the wire, becomes the flow's. */
static inline enum rx_verdict rx_window(struct hpcc_state *st, const struct hpcc_params *p,
					__u64 w_bytes)
{
	enum rx_verdict verdict = RX_TAKEN;

	if (w_bytes > p->w_init >> 12) {
		verdict = w_bytes > (p->w_init + Q12_ONE - 1) >> 12 ? RX_TOO_HIGH : RX_TAKEN;
		st->w = p->w_init;
	} else {
		st->w = q12_from_bytes(w_bytes);
	}
	if (st->w < p->w_min) {
		st->w = p->w_min;
		verdict = RX_TOO_LOW;
	}
	st->wc = st->w;
	st->rate_bps = hpcc_rate_bps(st->w, p->t_ns);
	return verdict;
}

/*
 * Sender: W_AI = W_init * (1 - eta) / N for a reported N, and what the variant derives from it.
 * w_init < 2^39, 1 - eta < 2^24.
 */
static inline enum rx_verdict rx_flows(struct hpcc_params *p, __u32 n)
{
	enum rx_verdict verdict = RX_TAKEN;

	if (n < 1) {
		n = 1;
		verdict = RX_TOO_LOW;
	} else if (n > RX_FLOWS_MAX) {
		n = RX_FLOWS_MAX;
		verdict = RX_TOO_HIGH;
	}
	p->w_ai = (p->w_init * (Q24_ONE - p->eta) >> 24) / n;
	hpcc_params_variant(p, (enum hpcc_variant)p->variant);
	return verdict;
}

/* Flows by epochs of RX_COUNT_RTTS RTTs: those of the epoch that runs and of the one before. */
struct rx_counter {
	__u32 epoch;
	__u32 active; /* seen in this epoch so far */
	__u32 before; /* seen in the last one */
};

/* A packet of a flow arrived; *mark is the flow's own, 0 at first. Whoever calls it is alone. */
static inline void rx_count(struct rx_counter *c, __u32 *mark, __u64 now_ns, __u64 t_ns)
{
	__u32 epoch = now_ns / (RX_COUNT_RTTS * t_ns) + 1;

	if (c->epoch != epoch) {
		c->before = c->epoch + 1 == epoch ? c->active : 0;
		c->active = 0;
		c->epoch = epoch;
	}
	if (*mark != epoch) {
		*mark = epoch;
		c->active++;
	}
}

/* N to report: an epoch that has just begun has not seen all yet. */
static inline __u32 rx_counted(const struct rx_counter *c)
{
	return c->active > c->before ? c->active : c->before;
}

#endif
