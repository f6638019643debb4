/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMPANION_CASE_H
#define COMPANION_CASE_H
/* Companions as docs/protocol.md has them, for the tests of who makes, stamps and answers them. */
#include "egress_case.h"

#define COMPANION_BYTES 76   /* behind the IP header */
#define COMPANION_TELEM 32   /* of these: nHop and pathID */
#define COMPANION_MESSAGE 24 /* version and message */
#define COMPANION_NO_PORT 7  /* both ports where the protocol has none */

/* All peers have their telemetry beside the data. */
void telemetry_beside(void);
/* Where what follows the IP header begins. */
unsigned int companion_at(const struct frame *f);
/* The companion of a packet, byte by byte: message 2 on its way, 3 on its way back. */
struct frame companion_of(const struct frame *data, __u8 message, __u32 seq);
/* The sum of an IPv4 header is right, and is as in want from then on. */
void ip_sum_take(const struct frame *got, struct frame *want);

#endif
