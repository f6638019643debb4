/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SPARSE_H
#define SLUICE_SPARSE_H
/*
 * Which packets of a flow collect telemetry: "feedback may be less frequent than every packet", once per
 * RTT or on congestion, because W is committed once per RTT (HPCC++, section 6.1).
 */
#include "sluice/cc/hpcc.h"

enum telemetry_mode {
	TELEMETRY_EVERY,      /* all with payload */
	TELEMETRY_RTT,	      /* one in a round trip */
	TELEMETRY_CONGESTION, /* one in a round trip, and all with payload while U is eta or more */
	TELEMETRY_PROBE,      /* none: a PROBE collects it, one in a base RTT */
	TELEMETRY_COMPANION,  /* none, packets leave as the stack made them: companions collect it (companion.h) */
	TELEMETRY_MODES,      /* others behave as TELEMETRY_EVERY */
};

/* Whether all packets with payload collect telemetry now. */
static inline int telemetry_is_dense(__u32 mode, const struct hpcc_state *st, const struct hpcc_params *p)
{
	switch (mode) {
	case TELEMETRY_RTT:
	case TELEMETRY_PROBE:
	case TELEMETRY_COMPANION:
		return 0;
	case TELEMETRY_CONGESTION:
		return st->hops && st->u >= p->eta;
	default:
		return 1;
	}
}

/*
 * Whether the next packet with payload collects telemetry; the last that did left ago_ns ago, and was answered or
 * not. "Once in a round trip" means that the last is at least T old and was answered: a fixed T would often end just
 * before the feedback of the last commits W, and packets that left before a commit commit nothing, so W would be
 * committed only every second round trip. Without a reply telemetry is collected again after 2 T.
 */
static inline int telemetry_is_due(__u32 mode, const struct hpcc_state *st, const struct hpcc_params *p, __u64 ago_ns,
				   int answered)
{
	if (telemetry_is_dense(mode, st, p))
		return 1;
	if (mode == TELEMETRY_PROBE || mode == TELEMETRY_COMPANION)
		return 0;
	return ago_ns >= 2 * p->t_ns || (ago_ns >= p->t_ns && answered);
}

#endif
