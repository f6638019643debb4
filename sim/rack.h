/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_RACK_H
#define SLUICE_SIM_RACK_H
/*
 * HierCC in the leaves (hiercc.h). A rack is a leaf with its hosts.
 *
 *  1. A packet to a host of another rack passes the VOQ of that host in its sender's leaf, and leaves it at the
 *     departure that credit gives it (voq.h).
 *  2. The leaf of the receiver notes arrivals, and grants credit for each of its host ports: with each packet, or by a
 *     loop of its daemon (grant.h). Totals ride on packets back to the sender's leaf, or go in messages.
 *  3. The sender's leaf tells the flows of a VOQ the rate of Equation 1, if the scenario has rates.
 */
#include "sim/net.h"
#include "sluice/rack/hiercc.h"

struct credit_rules {
	int on, rates;	     /* rates: with Equation 1 */
	int port_free;	     /* HPCC leaves the receiver's port to the credits: that port does not stamp */
	int arrival;	     /* packets grant when they arrive, and the loop is the second line */
	uint64_t period_ns;  /* period of the loop */
	uint64_t late_ns;    /* the loop is late by up to this */
	uint64_t cost_ns;    /* cost of a message, which later ones in its round wait for */
	uint64_t c0;	     /* bytes; 0: the default */
	double eta;	     /* utilisation of the receiver's port */
	double lose, repeat; /* chances that a message is lost, or repeated */
	double reorder;	     /* chance that a message is late by three periods */
	uint64_t warmup_ns;  /* VOQs are not measured before this */
};
extern struct credit_rules credit_rules;

struct sim_racks {
	struct hiercc_params params;
	uint32_t *rack_of; /* leaf of each host */
	uint32_t count;
	uint64_t message_ns; /* delay of a message */
};
extern struct sim_racks racks;

void racks_begin(void);
void racks_end(void);
/* The leaf of a host. */
uint32_t rack_leaf(uint32_t host);
int rack_has_port(uint32_t node, uint32_t port); /* whether it is a leaf's port to one of its hosts */

#endif
