/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMPANION_CASE_H
#define COMPANION_CASE_H
/* Companions as docs/protocol.md has them, for the tests of who makes, stamps and answers them. */
#include "egress_case.h"

/* All peers have their telemetry beside the data. */
void telemetry_beside(void);
/* The sum of an IPv4 header is right, and is as in want from then on. */
void ip_sum_take(const struct frame *got, struct frame *want);

#endif
