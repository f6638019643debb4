/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_LINGER_H
#define SLUICE_ATTACH_LINGER_H
#include <time.h>
#include "attach/net/peers.h"

struct dataplane;

#define DP_LINGER_SILENCES 3		    /* number of silences after which peers go plain */
#define DP_SILENT_NS (100 * 1000 * 1000ULL) /* a silence is this long, or base RTTs as below: egress_peer() */
#define DP_SILENT_RTTS 4

/* How long the other side, whose base RTT is assumed to equal ours, may take to notice that we are silent. l: who leaves. */
__u64 linger_ns(const struct dataplane *dp, struct leaving *l);
/* Starts the time of leaving peers and ports: the programs know of them, by the epoch. */
void linger_begin(struct dataplane *dp);
struct timespec timespec_of(__u64 ns);

#endif
