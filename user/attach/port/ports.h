/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PORTS_H
#define SLUICE_ATTACH_PORTS_H
#include "attach/state/between.h"
#include "lib/config.h"

struct dataplane;

/* Whether interfaces would be refused: reports all of them, before anything is changed. */
int ports_check(const struct dataplane *dp, const struct config *c);
/*
 * A missing interface is an error only if nothing is attached yet (must_exist). A start ends at the first error; a
 * reload serves the other interfaces, and returns the last.
 */
int ports_apply(struct dataplane *dp, const struct config *c, int must_exist);
/* Handles interfaces that went, came back, or changed name, qdisc, MTU or speed. 1: something was attached anew. */
int ports_follow(struct dataplane *dp, const struct config *c, const struct between *between);
/*
 * Gives the interfaces of the configuration their current names. anew: it has just been read, and a name in it means
 * the interface that has it now; else an attached interface keeps its place.
 */
void ports_name(struct dataplane *dp, struct config *c, int anew);

#endif
