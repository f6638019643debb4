/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_VOQ_H
#define SLUICE_SIM_VOQ_H
/* The VOQs of the senders' racks: see rack.h. */
#include <json-c/json.h>
#include "sim/net.h"

void voqs_begin(void);
void voqs_end(void);
/* Bytes of memory that they need for this number of hosts in all leaves. */
double voqs_memory(double hosts, double leaves);
struct json_object *voqs_result(void); /* of all VOQs; NULL: there are none */
/* Whether a packet that a leaf got from one of its hosts waits in a VOQ: then EVENT_VOQ brings it back. */
int voq_holds(uint32_t node, uint32_t packet);
/* A packet leaves its VOQ. */
void voq_leave(const struct sim_packet *p);
/* The total that the port of a host has granted to a rack reaches that rack. */
void voq_credit(uint32_t rack, uint32_t host, uint32_t total, int due, uint16_t at);

void voq_on_rate(uint32_t flow); /* EVENT_RATE */

#endif
