/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOP_CASE_H
#define HOP_CASE_H
/*
 * Shared by the tests of a hop. hop_map takes the state of the queue from the ports map, so its stamps can be told in
 * advance; hop reads it from the qdisc.
 */
#include "world.h"

#define SWITCH_ID 0x123

#endif
