/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SWITCH_H
#define SLUICE_SIM_SWITCH_H
/* A switch's work on a packet: see net.h. */
#include "sim/net.h"

/* Sets buffers and pauses by the rules, after building. */
void switches_begin(void);
/* A packet arrives at a switch by one of its ports. */
void switch_receive(uint32_t node, uint32_t ingress, uint32_t packet);
/* A packet leaves the buffer of the switch. */
void switch_sent(uint32_t port, struct sim_packet *p);
void net_on_voq(uint32_t packet);  /* EVENT_VOQ */
void net_on_pause(uint32_t frame); /* EVENT_PAUSE */
void net_on_round(uint32_t node);  /* EVENT_SWITCH */

#endif
