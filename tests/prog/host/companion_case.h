/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMPANION_CASE_H
#define COMPANION_CASE_H
/* What the tests of companions share: companions, byte by byte as docs/protocol.md has them. */
#include "world.h"

#define BYTES 76      /* behind the IP header */
#define TELEM_AT 32   /* of these: nHop and pathID, */
#define MESSAGE_AT 24 /*   version and message, */
#define VOQ_AT 76     /*   and the VOQ, where there is one */
#define BESIDE 2      /* of its flags */
#define SWITCH 4

unsigned int at_l4(const struct frame *f);
/* The companion of a packet: message 2 on its way, 3 on its way back. */
struct frame companion_of(const struct frame *data, __u8 message, __u32 seq);
/* The same with a VOQ to one host. */
struct frame companion_with_voq(struct frame companion, __u32 tor, __u32 total, __u16 flows, __u8 flags);
/* The sum of an IPv4 header is right, and is as in want from then on. */
void ip_sum_take(const struct frame *got, struct frame *want);

#endif
