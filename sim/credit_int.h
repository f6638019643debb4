/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CREDIT_INT_H
#define SLUICE_SIM_CREDIT_INT_H
/* Shared by credit.c (the sender's rack, common parts) and credit_grant.c (the receiver's). */
#include "sim/credit.h"
#include "sim/net.h"
#include "sluice/rack/hiercc.h"

#define MESSAGE_BYTES 100

struct credit_racks {
	struct hiercc_params params;
	uint32_t *rack_of; /* leaf of each host */
	uint32_t count;
	uint64_t message_ns; /* delay of a message */
};
extern struct credit_racks credit_racks;

/* The leaf of a host. */
uint32_t credit_leaf(uint32_t host);
/* The total that the port of a host has granted to a rack reaches that rack. */
void credit_reaches(uint32_t rack, uint32_t host, uint32_t total, int due, uint16_t at);

void grants_begin(void);
void grants_end(void);
double grants_memory(double hosts, double leaves);
void grants_result(struct json_object *o);

#endif
