/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_RECEIVER_H
#define SLUICE_SIM_RECEIVER_H
/* The receivers of flows: see flow.h. */
#include <stdint.h>

/* A packet arrives at its host: data here, answers at the sender of their flow (host.h). */
void receiver_take(uint32_t host, uint32_t packet);

void receiver_on_ack(uint32_t flow); /* EVENT_ACK */

#endif
