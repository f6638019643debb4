/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_RUN_H
#define WORLD_RUN_H
/* Frames that were run since the counters were looked at. */
extern unsigned int frames;

#endif
