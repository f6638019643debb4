/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SLUICE_H
#define SLUICE_SIM_SLUICE_H
/*
 * The scheme `sluice`: what the kernel's programs do with the feedback of a flow (bpf/host/feedback.bpf.h, flow.bpf.h), by the
 * same functions of the core and in the same order.
 *
 *  1. A flow begins with its share of W_init (first.h).
 *  2. Its receiver counts the flows of its port (rx.h) and tells N with the answer to each companion; W_AI follows.
 *  3. Algorithm 1 takes the hops, and delays and losses that no hop reports are a ceiling of W (ceiling.h).
 *  4. TCP has some more than W under way (slack.h).
 *
 * Left out: the handshake, which tells N before the first data (connections are open already), several paths at once (a flow
 * has one here), rivals (all flows have one scheme), and the smaller window where T is much too long (near.h).
 */
#include "sim/flow.h"

/* The keys that model sluiced's defaults and its software. */
extern const char *const sluice_implied[];

void sluice_hosts_begin(void);
void sluice_hosts_end(void);

/* Members of struct scheme. */
void sluice_begin(struct sim_flow *f);
void sluice_sent(struct sim_flow *f, uint32_t bytes);
void sluice_ack(struct sim_flow *f, const struct sim_packet *p);
void sluice_loss(struct sim_flow *f, int timeout);
/* At the receiver: counts the flow, and lets the packet tell N. */
void sluice_seen(struct sim_flow *f, struct sim_packet *p);

#endif
