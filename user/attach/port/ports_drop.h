/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PORTS_DROP_H
#define SLUICE_ATTACH_PORTS_DROP_H
#include "lib/config.h"

struct dataplane;

/*
 * Detaches and forgets the ports that the configuration lacks (NULL: all), and those that went away. A host's port
 * begins to leave: ports_leave() completes that.
 */
int ports_drop(struct dataplane *dp, const struct config *c);
/* A port that cannot be detached stays, continues to strip, and is retried with the next reload. */
void ports_leave(struct dataplane *dp);

#endif
