/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CONTROL_H
#define SLUICE_SIM_CONTROL_H
/* The congestion control of this run: a scheme (scheme.h), and its parameters. */
#include "sim/flow.h"

struct scheme {
	const char *name;
	void (*begin)(struct sim_flow *f);
	void (*ack)(struct sim_flow *f, const struct sim_packet *ack);
	void (*cnp)(struct sim_flow *f);	       /* NULL: it has none */
	void (*timer)(struct sim_flow *f);	       /* EVENT_SCHEME */
	void (*loss)(struct sim_flow *f, int timeout); /* NULL: a loss changes nothing */
	/* Data with telemetry has reached its receiver. Returns W in bytes, if it is to be reported, or 0. */
	uint64_t (*arrive)(struct sim_flow *f, const struct sim_packet *p);
	void (*seen)(struct sim_flow *f,
		     struct sim_packet *p); /* a packet has reached its receiver, and may take N back */
	void (*sent)(struct sim_flow *f, uint32_t bytes);
	int telemetry, ecn, cnps; /* required of ACKs; the least time between two CNPs, us */
	uint32_t variant;	  /* enum hpcc_variant */
	/* "SECTION.KEY=VALUE": values of keys that the scenario leaves out, in place of their defaults. Ends with NULL. */
	const char *const *implied;
};

extern const struct scheme *scheme; /* scheme of this run */

/* The parameters of the scenario, for all flows. */
struct scheme_rules {
	struct hpcc_params hpcc; /* T, W_init, W_min, W_AI, eta, maxStage */
	uint32_t flows;		 /* N, as long as it is not counted */
	int count;		 /* N is counted */
	uint32_t told;		 /* N as a receiver would count it: that of W_AI is half as much again */
	uint32_t hops;		 /* hops of the longest path, for Swift's target */
	int per_ack, per_rtt;	 /* HPCC as in Figure 13 of 000: W by each ACK only, or once in an RTT only */
};
extern struct scheme_rules scheme_rules;

/* Builds the input of Algorithm 1 from an echo, as feedback_ack_make() in bpf/host/feedback.bpf.h. */
void control_ack_of(const struct sim_flow *f, const struct sim_packet *p, struct hpcc_ack *ack);
/* R with W_init, which fills the path. */
uint64_t control_line_bps(void);

#endif
