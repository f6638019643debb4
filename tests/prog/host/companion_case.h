/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMPANION_CASE_H
#define COMPANION_CASE_H
/* Companions as docs/messages.md has them, for the tests of who makes, stamps and answers them. */
#include "egress_case.h"

#define COMPANION_VOQ 76 /* where the VOQ is, if there is one; of its flags: */
#define BESIDE 2
#define SWITCH 4

/* All peers have their telemetry beside the data. */
void telemetry_beside(void);
/* A companion with a VOQ to one host. */
struct frame companion_with_voq(struct frame companion, __u32 tor, __u32 total, __u16 flows, __u8 flags);
/* The sum of an IPv4 header is right, and is as in want from then on. */
void ip_sum_take(const struct frame *got, struct frame *want);

#endif
