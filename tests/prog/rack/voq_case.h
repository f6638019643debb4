/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VOQ_CASE_H
#define VOQ_CASE_H
/*
 * Shared by the tests of VOQs at a sender. A sends to B, whose prefixes have HierCC with a C0 of 3000 bytes and a limit of 5 s;
 * its port has 100 Gbit/s and fq, and the mode is enforce unless a test says otherwise.
 */
#include "world.h"

#define TOR 0x0a0b0c0d
#define C0 3000
#define LIMIT_NS (5000 * MS)
#define LINE (WORLD_BPS / 8) /* bytes/s */
#define FIRST (1ULL << 32)   /* where totals begin */

struct peer peer_with_voqs(void);
void peers_change(struct peer peer);
void voq_make_world(void);
struct voq_key voq_to_b(int v6);
/* S and F, as the packet says them. */
__u32 total_of(const struct frame *f);
unsigned int flows_of(const struct frame *f);
/* No peer answers here: they are heard anew each time. */
struct result voq_leaves(struct ip_spec s);
/* The VOQ's clock and the flow's are over: nothing waits for what went before. */
void clocks_stop(struct ip_spec s);
/* Credit for all that was sent, except these bytes and C0. */
void credit_lacks(int v6, __u64 bytes);
/* R of the VOQ, which is not computed anew for now. */
void hop_rate_is(int v6, __u64 rate);

#endif
