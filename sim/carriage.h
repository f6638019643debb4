/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CARRIAGE_H
#define SLUICE_SIM_CARRIAGE_H
/*
 * How telemetry travels: in each data packet, or in companions. A companion is a small packet of the flow, on the path
 * and in the queues of its data, which the receiver turns round at once.
 */
#include "sim/flow.h"

struct carriage_rules {
	int companions;
	int at_data;	/* a companion is made when data leaves; otherwise when an ACK arrives */
	uint32_t bytes; /* bytes of a companion */
	struct companion_params due;
};
extern struct carriage_rules carriage_rules;

/* Whether a flow is to send a companion now. */
int carriage_is_due(const struct sim_flow *f);
/* Makes a companion, and notes the time. Returns the packet. */
uint32_t companion_new(uint32_t flow);

#endif
