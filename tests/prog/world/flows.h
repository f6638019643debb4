/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_FLOWS_H
#define WORLD_FLOWS_H
/* Entries of the flow map when the counters were looked at, and those that a test has put there since. */
extern unsigned int flows_known;

#endif
