/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CREDIT_H
#define SLUICE_SIM_CREDIT_H
/*
 * HierCC in the leaves (hiercc.h). A rack is a leaf with its hosts.
 *
 *  1. What a host sends to a host of another rack passes the VOQ of that host in its own leaf, and leaves it at the departure
 *     that credit gives it.
 *  2. The leaf of the receiver notes what arrives, and grants credit for each of its host ports: with each packet, or by a
 *     loop of its daemon (credit_grant.c). Totals ride on what goes back to the sender's leaf, or a message has them.
 *  3. The sender's leaf tells the flows of a VOQ the rate of Equation 1, where the scenario wants that.
 */
#include <json-c/json.h>
#include "sim/flow.h"

struct credit_rules {
	int on, rates;	     /* rates: Equation 1, too */
	int port_free;	     /* HPCC leaves the receiver's port to the credits: that is not stamped */
	int arrival;	     /* packets grant where they arrive, and the loop is the second line */
	uint64_t period_ns;  /* of the loop, */
	uint64_t late_ns;    /* which is late by up to that */
	uint64_t cost_ns;    /* of a message, which those behind it in its round wait for */
	uint64_t c0;	     /* bytes; 0: the default */
	double eta;	     /* of the receiver's port */
	double lose, repeat; /* chances of a message, */
	double reorder;	     /* and of one to be late by three periods */
	uint64_t warmup_ns;  /* VOQs are not counted before */
};
extern struct credit_rules credit_rules;

void credit_begin(void);
void credit_end(void);
/* Bytes that it takes for that many hosts, of all leaves together. */
double credit_memory(double hosts, double leaves);
/* Whether the packet, which a leaf has from one of its hosts, waits in a VOQ: then EVENT_VOQ brings it back. */
int credit_holds(uint32_t node, uint32_t packet);
/* It leaves its VOQ. */
void credit_left(const struct sim_packet *p);
/* A packet of another rack for a host of this leaf. */
void credit_arrived(uint32_t node, const struct sim_packet *p);
/* What goes back to another rack: it takes along what its VOQ was granted, or has brought it. */
void credit_passes(uint32_t node, struct sim_packet *p);
int credit_is_rack_port(uint32_t node, uint32_t port); /* of a leaf, to one of its hosts */
struct json_object *credit_result(void);	       /* of all VOQs; NULL: there are none */

void credit_on_grant(uint32_t node);	 /* EVENT_GRANT */
void credit_on_message(uint32_t number); /* EVENT_CREDIT */
void credit_on_rate(uint32_t flow);	 /* EVENT_RATE */

#endif
