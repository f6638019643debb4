/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_HOST_H
#define SLUICE_SIM_HOST_H
/* The senders of flows (flow.h), and what leaves their hosts. */
#include "sim/flow.h"

void hosts_begin(void);
void hosts_end(void);
/* The host's next packet for its port, or NONE; then EVENT_HOST comes when there is one. */
uint32_t host_next(uint32_t host);
/* An ACK, or another answer, arrives at the sender of its flow. */
void sender_take(uint32_t packet);
/* A control packet, such as an ACK, which a host sends before all data. */
void host_control(uint32_t host, uint32_t packet);
/* The rate of a flow has changed, and so has the departure of its next packet. */
void flow_rate_changed(uint32_t flow);

void host_on_flow(uint32_t flow);  /* EVENT_FLOW */
void host_on_timer(uint32_t flow); /* EVENT_TIMER */
void host_on_wake(uint32_t host);  /* EVENT_HOST */

#endif
