/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_HOP_H
#define SLUICE_HIERCC_HOP_H
/* HierCC (hiercc.h) at the first hop: the rate of each flow into a VOQ. */
#include "sluice/rack/hiercc_params.h"

struct hiercc_hop_params {
	__u64 rate_line; /* R_line, bytes/s, < HIERCC_RATE_MAX */
	__u64 rate_min;	 /* R_min, (0, R_line] */
	__u64 rtt_ns;	 /* RTT_hop, > 0, < HIERCC_NS_MAX */
	__u64 period_ns; /* period of the rate measurement, and of R: 1/beta RTT_hop */
	q24_t beta;	 /* (0, 1.0) */
	__u32 q0;	 /* bytes, all < HIERCC_BYTES_MAX */
	__u32 v_high;
	__u32 v_low;  /* q0 <= V_low < V_high */
	__u32 q_line; /* R is R_line while the queue is below this, [1, q0] */
};

struct hiercc_hop {
	__u64 rate;    /* R, bytes/s; 0 while stopped */
	__u64 before;  /* R before the stop */
	__u64 mark;    /* S at mark_ns */
	__u64 mark_ns; /* 0: never */
	__u64 arrive;  /* R_arrive, bytes/s */
	__u32 stopped;
	__u8 settling; /* R is on its way to the senders: mark is to be set when it gets there */
	__u8 resumed;  /* R has not been computed since the last stop */
	__u16 pad;
};

/*
 * The values of section 5, whose 25 Gbit/s and 12 us are a BDP of 37.5 KB: q0 20 KB, V_high 70 KB, V_low 50 KB, beta
 * 0.2. R_min is a hundredth. bdp: bytes, of the host's link and the end-to-end RTT.
 */
static inline void hiercc_hop_params_init(struct hiercc_hop_params *p, __u64 rate_line, __u64 rtt_ns, __u64 bdp)
{
	bdp = bdp < HIERCC_BYTES_MAX / 2 ? bdp : HIERCC_BYTES_MAX / 2 - 1;
	p->rate_line = rate_line < HIERCC_RATE_MAX ? rate_line : HIERCC_RATE_MAX - 1;
	p->rate_line = p->rate_line ? p->rate_line : 1;
	p->rate_min = p->rate_line / 100 ? p->rate_line / 100 : 1;
	p->rtt_ns = rtt_ns < 1 ? 1 : rtt_ns < HIERCC_NS_MAX ? rtt_ns : HIERCC_NS_MAX - 1;
	p->period_ns = 5 * p->rtt_ns;
	p->beta = Q24_ONE / 5;
	p->q0 = bdp * 8 / 15;
	p->v_high = bdp * 28 / 15;
	p->v_low = bdp * 4 / 3;
	p->q_line = 1;
}

/* R is computed once its last change has taken effect: every 1/beta round trips. */
static inline void hiercc_hop_tune(struct hiercc_hop_params *p, const struct hiercc_tuning *t)
{
	if (t->beta) {
		p->beta = t->beta;
		p->period_ns = (p->rtt_ns << 24) / t->beta;
	}
	p->q0 = t->q0 ? t->q0 : p->q0;
	p->v_high = t->v_high ? t->v_high : p->v_high;
	p->v_low = t->v_low ? t->v_low : p->v_low;
	/* A configured value may exceed a default that follows from the BDP. */
	if (p->v_low < p->q0)
		p->v_low = p->q0;
	if (p->v_high <= p->v_low)
		p->v_high = p->v_low + 1;
}

static inline void hiercc_hop_init(struct hiercc_hop *h, const struct hiercc_hop_params *p)
{
	*h = (struct hiercc_hop){ .rate = p->rate_line, .before = p->rate_line };
}

/*
 * R_arrive from S: whether a period is over and R is to be computed. The first RTT_hop of a period is not measured:
 * packets that arrive then were sent at the previous R, and N = R_arrive / R would mix two rates. arrived < 2^31, *
 * 10^9 < 2^61.
 */
static inline int hiercc_arrival(struct hiercc_hop *h, const struct hiercc_hop_params *p, __u64 now_ns, __u64 sent)
{
	__u64 passed = now_ns - h->mark_ns, arrived = sent - h->mark;
	int known = h->mark_ns && now_ns >= h->mark_ns;

	if (known && h->settling && passed >= p->rtt_ns) {
		h->settling = 0;
		h->mark = sent;
		h->mark_ns = now_ns;
		return 0;
	}
	if (known && (h->settling || passed < p->period_ns - p->rtt_ns))
		return 0;
	h->arrive = 0;
	if (known && passed && arrived < 1U << 31) {
		h->arrive = arrived * NSEC_PER_SEC / passed;
		h->arrive = h->arrive < HIERCC_RATE_MAX ? h->arrive : HIERCC_RATE_MAX - 1;
	}
	h->mark = sent;
	h->mark_ns = now_ns;
	h->settling = 1;
	return 1;
}

/*
 * Checks the queue alone, at every packet: stops the senders above V_high and resumes them below V_low at the earlier
 * rate. Returns R, 0 for a stop.
 */
static inline __u64 hiercc_stop(struct hiercc_hop *h, const struct hiercc_hop_params *p, __u32 q_voq)
{
	if (!h->stopped && q_voq > p->v_high) {
		h->stopped = 1;
		h->before = h->resumed ? h->rate / 2 : h->rate;
		if (h->before < p->rate_min)
			h->before = p->rate_min;
		h->rate = 0;
	} else if (h->stopped && q_voq < p->v_low) {
		h->stopped = 0;
		h->resumed = 1;
		h->rate = h->before;
		h->mark_ns = 0;
	}
	return h->rate;
}

/*
 * Equation 1, once a period: R for each flow of the VOQ, bytes/s. credit: R_credit; q_voq: hiercc_queue().
 * |Q - q0| < 2^28, * beta < 2^52, >> 24, * 10^9 < 2^58; R * step < 2^37 * 2^26.
 */
static inline __u64 hiercc_rate(struct hiercc_hop *h, const struct hiercc_hop_params *p, __u32 q_voq, __u64 credit)
{
	__u64 off = q_voq < p->q0 ? p->q0 - q_voq : q_voq - p->q0, drain, step;

	hiercc_stop(h, p, q_voq);
	if (h->stopped)
		return 0;
	if (q_voq < p->q_line) {
		h->rate = h->rate < p->rate_line / 4 ? 4 * h->rate : p->rate_line;
		return h->rate;
	}
	if (!h->arrive)
		return h->rate;
	h->resumed = 0;
	drain = ((off * p->beta + Q24_ONE / 2) >> 24) * NSEC_PER_SEC / p->rtt_ns;
	if (q_voq < p->q0)
		step = q24_ratio(credit + drain, h->arrive);
	else
		step = drain < credit ? q24_ratio(credit - drain, h->arrive) : 0;
	step = step < 4 * Q24_ONE ? step : 4 * Q24_ONE;
	step = step > Q24_ONE / 4 ? step : Q24_ONE / 4;
	h->rate = h->rate * step >> 24;
	if (h->rate > p->rate_line)
		h->rate = p->rate_line;
	if (h->rate < p->rate_min)
		h->rate = p->rate_min;
	return h->rate;
}

#endif
