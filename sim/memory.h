/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_MEMORY_H
#define SLUICE_SIM_MEMORY_H
#include "sim/scenario.h"

/*
 * Checks that the network and `flows` flows fit into the memory that was available at the first call. It counts the minimum
 * of a run: packets and long queues come on top. Returns 0, or -1 with a message.
 */
int memory_check(const struct scenario *s, double flows);

#endif
