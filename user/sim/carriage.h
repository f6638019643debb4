/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CARRIAGE_H
#define SLUICE_SIM_CARRIAGE_H
/*
 * How telemetry travels: in each packet of data, or in companions beside them. A companion is a small packet of the flow,
 * on the path and in the queues of its data, which the receiver turns round at once.
 */
#include "sim/flow.h"

struct carriage_rules {
	int companions;
	int at_data;	       /* a companion is made when data leaves; otherwise when an ACK arrives */
	uint32_t bytes;	       /* of a companion */
	uint32_t after;	       /* packets that a flow sends before its first one */
	uint32_t packets;      /* sent between two of a flow, at least; */
	uint32_t busy_packets; /* while U is above eta */
	uint64_t every_ns;     /* between two of a flow, at least, unless U is above eta */
	uint32_t first;	       /* companions of a flow that do not wait for every_ns */
};
extern struct carriage_rules carriage_rules;

/* Whether a flow is to send a companion now. */
int companion_is_due(const struct sim_flow *f);
/* Makes it, and notes when. Returns the packet. */
uint32_t companion_new(uint32_t flow);

#endif
