/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_MEMORY_H
#define SLUICE_SIM_MEMORY_H
#include "sim/scenario.h"

/*
 * Whether the network and that many flows fit into the memory that was available when this was asked first. It counts what a
 * run takes at least: packets and long queues come on top. Returns 0, or -1 with a message.
 */
int memory_check(const struct scenario *s, double flows);
/* That many runs go on at once, and share it. */
void memory_divide(__u32 runs);

#endif
