/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CREDIT_H
#define SLUICE_SIM_CREDIT_H
/*
 * HierCC in the leaves (hiercc.h). A rack is a leaf with its hosts.
 *
 *  1. A packet to a host of another rack passes the VOQ of that host in its sender's leaf, and leaves it at the
 *     departure that credit gives it.
 *  2. The leaf of the receiver notes arrivals, and grants credit for each of its host ports: with each packet, or by a
 *     loop of its daemon (credit_grant.c). Totals ride on packets back to the sender's leaf, or go in messages.
 *  3. The sender's leaf tells the flows of a VOQ the rate of Equation 1, if the scenario has rates.
 */
#include <json-c/json.h>
#include "sim/flow.h"

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

void credit_begin(void);
void credit_end(void);
/* Bytes of memory that it needs for this number of hosts in all leaves. */
double credit_memory(double hosts, double leaves);
/* Whether a packet that a leaf got from one of its hosts waits in a VOQ: then EVENT_VOQ brings it back. */
int credit_holds(uint32_t node, uint32_t packet);
/* A packet leaves its VOQ. */
void credit_left(const struct sim_packet *p);
/* A packet of another rack for a host of this leaf. */
void credit_arrived(uint32_t node, const struct sim_packet *p);
/* A packet to another rack: it takes its VOQ's granted total along, or has brought one. */
void credit_passes(uint32_t node, struct sim_packet *p);
int credit_is_rack_port(uint32_t node, uint32_t port); /* whether it is a leaf's port to one of its hosts */
struct json_object *credit_result(void);	       /* of all VOQs; NULL: there are none */

void credit_on_grant(uint32_t node);	 /* EVENT_GRANT */
void credit_on_message(uint32_t number); /* EVENT_CREDIT */
void credit_on_rate(uint32_t flow);	 /* EVENT_RATE */

#endif
