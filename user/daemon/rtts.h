/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RTTS_H
#define SLUICE_RTTS_H
/* T of each prefix, as the round trips of its flows have it (sluice/cc/base_rtt.h). */
#include "attach/dataplane.h"
#include "lib/config.h"

struct rtts;

int rtts_open(struct rtts **r); /* 0, or -errno */
void rtts_close(struct rtts *r);

/* A configuration that is in force now. What was measured of its prefixes is known still. 0, or -errno: nothing is measured. */
int rtts_apply(struct rtts *r, const struct config *c);

/* Once a second each flow, */
void rtts_flow(struct rtts *r, const struct flow_key *key, const struct flow *f, __u64 now_ns);
/*
 * and then this, by which the prefixes of c, which is the one that was applied, and the maps become what was measured. 1: T
 * that is in force has changed.
 */
int rtts_tick(struct rtts *r, struct dataplane *dp, struct config *c, __u64 now_ns);

#endif
