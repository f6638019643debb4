/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_CONTROL_H
#define WORLD_CONTROL_H
/* Whether a port of the configuration is about to leave. */
void ports_leaving_set(int leave);

#endif
