/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_CLOCK_H
#define WORLD_CLOCK_H
#include <linux/types.h>

/* The time at which the programs' clock stands; 0: it runs. */
extern __u64 held_ns;
/* From now on the programs' clock stands. */
void clock_hold(void);

#endif
