/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_RIVALS_H
#define SLUICE_SIM_RIVALS_H
/* Other controls, for comparison: DCQCN (SIGCOMM 2015), TIMELY (SIGCOMM 2015), DCTCP (RFC 8257) and CUBIC (RFC 9438). */
#include "sim/flow.h"

/* At most one CNP of a flow, and one decrease, in that time: T_d of HPCC, section 5.1. */
struct dcqcn_rules {
	uint64_t cnp_ns;   /* least time between two CNPs for a flow */
	uint64_t alpha_ns; /* time between two updates of alpha */
	uint64_t timer_ns; /* time between two increases */
	uint32_t fast;	   /* steps of fast recovery */
};
extern struct dcqcn_rules dcqcn_rules;

void dcqcn_begin(struct sim_flow *f);
void dcqcn_window_begin(struct sim_flow *f); /* and at most W_init in flight, as in HPCC, Figure 11 */
void dcqcn_cnp(struct sim_flow *f);
void dcqcn_timer(struct sim_flow *f);
void timely_begin(struct sim_flow *f);
void timely_window_begin(struct sim_flow *f);
void timely_ack(struct sim_flow *f, const struct sim_packet *p);
void dctcp_begin(struct sim_flow *f);
void dctcp_ack(struct sim_flow *f, const struct sim_packet *p);
void dctcp_loss(struct sim_flow *f, int timeout);
void cubic_begin(struct sim_flow *f);
void cubic_ack(struct sim_flow *f, const struct sim_packet *p);
void cubic_loss(struct sim_flow *f, int timeout);

#endif
