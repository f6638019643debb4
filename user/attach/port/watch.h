/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_WATCH_H
#define SLUICE_ATTACH_WATCH_H
#include "lib/config.h"

struct dataplane;

/* Whether programs of a port are gone, and are to be put back now: says so. */
int port_is_touched(struct dataplane *dp, __u32 ifindex, const struct port *port);
/* Whether programs of a pod's veth are gone: then pods_follow() puts all of them in place. */
void pods_watch(struct dataplane *dp);
/* Once a second: whether programs are gone that the kernel does not report. */
int ports_are_touched(struct dataplane *dp);

#endif
