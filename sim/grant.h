/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_GRANT_H
#define SLUICE_SIM_GRANT_H
/* Credit at the receivers' racks: see rack.h. */
#include <json-c/json.h>
#include "sim/net.h"

void grants_begin(void);
void grants_end(void);
/* Bytes of memory that they need for this number of hosts in all leaves. */
double grants_memory(double hosts, double leaves);
/* Adds theirs to the result of the VOQs. */
void grants_result(struct json_object *o);
/* A packet of another rack for a host of this leaf. */
void grant_arrival(uint32_t node, const struct sim_packet *p);
/* A packet to another rack: it takes its VOQ's granted total along, or has brought one. */
void grant_passes(uint32_t node, struct sim_packet *p);

void grant_on_round(uint32_t node);	/* EVENT_GRANT */
void grant_on_message(uint32_t number); /* EVENT_CREDIT */

#endif
