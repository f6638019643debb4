/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOP_CASE_H
#define HOP_CASE_H
/* What the tests of a hop share: a port of a switch, and what its stamp must be. */
#include "world.h"

#define SWITCH_ID 0x123

#endif
