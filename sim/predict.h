/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_PREDICT_H
#define SLUICE_SIM_PREDICT_H
/*
 * P-PFC in a switch: counts the bytes of each ingress port in each queue, and pauses ports before the buffer is full,
 * as packets arrive (arrive.h) or in each round (ppfc.h). PFC remains as the fallback.
 */
#include "sim/net.h"
#include "sluice/pause/arrive.h"

struct predict_rules {
	uint64_t t_thresh_ns; /* 0: the default of ppfc_params_init() */
	uint64_t fixed_ns;    /* length of all pauses; 0: Algorithm 3 */
	uint64_t k_max;	      /* bytes; 0: the default of ppfc_params_init() */
	double r;
	uint64_t seed;
};
extern struct predict_rules predict_rules;

void predict_begin(void);
void predict_end(void);
/* The bytes of a port in a queue grow or shrink. */
void predict_count(const struct sim_port *out, const struct sim_port *in, uint32_t class, int32_t bytes);
/* A packet has entered a queue. tell() pauses the neighbour that it came from. */
void predict_arrival(const struct sim_port *egress, struct sim_port *in, uint32_t class, uint64_t free,
		     void (*tell)(struct sim_port *in, uint32_t class, uint64_t ns));
/* One round of a switch over its queues. tell() pauses the neighbour at a port for that long. */
void predict_round(uint32_t node, uint64_t free, void (*tell)(struct sim_port *in, uint32_t class, uint64_t ns));

#endif
