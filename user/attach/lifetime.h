/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_LIFETIME_H
#define SLUICE_ATTACH_LIFETIME_H
struct dataplane;

struct dataplane *dataplane_new(void);
/* Leaves everything attached (the next daemon adopts it). */
void dataplane_close(struct dataplane *dp);

#endif
