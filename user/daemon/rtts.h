/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RTTS_H
#define SLUICE_RTTS_H
/* T of each prefix, from the round trips of its flows (sluice/cc/base_rtt.h). */
#include "attach/dataplane.h"
#include "lib/config.h"

struct rtts;

int rtts_open(struct rtts **r); /* 0, or -errno */
void rtts_close(struct rtts *r);

/* Applies a configuration that is in force. Measurements of its prefixes are kept. -errno: nothing is measured. */
int rtts_apply(struct rtts *r, const struct config *c);

/* Once a second, for each flow: takes its round trips. */
void rtts_flow(struct rtts *r, const struct flow_key *key, const struct flow *f, __u64 now_ns);
/*
 * Once a second, after all flows: writes the measured T to the prefixes of c, the applied configuration, and to the
 * maps. 1: a T in force has changed.
 */
int rtts_tick(struct rtts *r, struct dataplane *dp, struct config *c, __u64 now_ns);

#endif
