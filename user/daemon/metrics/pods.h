/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_PODS_H
#define SLUICE_METRICS_PODS_H
/* The busiest pods with a queue, one by one. */
#include <stdio.h>
#include "lib/config.h"
#include "lib/pins.h"

struct metrics;
struct pods_told;

/* Makes room for the busiest pods of the configuration. */
void pods_told_take(struct metrics *m, const struct config *c);
void pods_told_free(struct metrics *m);
/* At the first flow of a tick. */
void pods_told_begin(struct pods_told *p);
/* An active flow. held: index in flow_hold_names; -1: it has no feedback. */
void pods_told_flow(struct pods_told *p, const struct flow *f, int held);
/* After all flows of a tick. */
void pods_told_tick(struct pods_told *p);
/* A veth with a queue, while the text is made. */
void pods_told_port(struct pods_told *p, __u32 ifindex, const struct port *port);
void pods_told_text(FILE *f, const struct metrics *m);

#endif
