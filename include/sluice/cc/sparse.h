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
	TELEMETRY_CONGESTION, /* the same, and all with payload while U is eta or more */
	TELEMETRY_PROBE,      /* none: a PROBE does, one in a base RTT */
	TELEMETRY_COMPANION,  /* none, and they leave as the stack made them: companions do (companion.h) */
	TELEMETRY_MODES,      /* others behave as TELEMETRY_EVERY */
};

/* Whether all packets with payload do now. */
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
 * Whether the next packet with payload does; the last that did left ago_ns ago, and there has been
 * feedback since then, or not. Once in a round trip is when the last is T ago and was answered: every T
 * would often be just before the feedback of the last commits W, and what left before that commits
 * nothing, so that W would be committed in every second round trip only. What gets no answer is asked
 * again after 2 T.
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
