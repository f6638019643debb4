/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PODS_H
#define SLUICE_ATTACH_PODS_H
#include "lib/config.h"

struct dataplane;

/* Follows the pods of this network namespace. Wants to be called again while pods_changed. */
void pods_follow(struct dataplane *dp, const struct config *c);
/* Forgets the state of pods_follow(): it puts all its programs in place again. */
void pods_forget(struct dataplane *dp);

#endif
