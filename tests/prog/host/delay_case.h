/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DELAY_CASE_H
#define DELAY_CASE_H
/* Shared by the tests of delays: flows from A to B whose path stamps nothing, and the feedback that B sends back. */
#include "world.h"

/* Peers whose flows delay controls if nothing is stamped; fq, and departure times. */
void delay_make(void);

static const struct ip_spec data = { .payload = 1000 }, datagram = { .udp = 1, .payload = 1000 };

struct result delay_leaves(struct ip_spec s);
__u64 word(__u32 seq, __u64 left_ns);
/* The bytes that the flow has sent; one packet that ends at seq is timed, and left ago_ns before. */
void timed_ago(struct ip_spec s, __u64 tx_bytes, __u32 seq, __u64 ago_ns);
/* Feedback for the packet that ends at seq: of no hop, or of one at 100 Gbit/s with the clock ts. */
void feedback(struct ip_spec s, __u32 seq, __u32 ts, __u16 age);

#define unstamped(s, seq) feedback(s, seq, 0, 0)

#endif
