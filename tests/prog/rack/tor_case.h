/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TOR_CASE_H
#define TOR_CASE_H
/*
 * Shared by the tests of a switch as a ToR of HierCC, and of the hosts behind it. A sends to B: the switch has A below and B
 * above it, or, as receiver, the other way round. C0 is 3000 bytes, the limit 5 s.
 */
#include "world.h"

#define TOR 0x0a0b0c0d	 /* of the switch under test, */
#define OTHER 0x01020304 /* and of another */
#define LIMIT_NS (5000 * MS)
#define FIRST (1ULL << 32) /* where totals begin */
#define MARK 1

static const struct siphash_key key = { 3, 4 }, other_key = { 5, 6 };

void peers_become(enum voqs_where hiercc);
void port_become(__u32 flags);
void make_switch(void);
struct voq_key tor_to_b(int v6);

/* A's packet as it comes to its switch, and as it comes from a ToR. */
struct passing {
	int v6;
	__u16 sport; /* 0xc000 */
	int mark, no_block;
	__u32 tor, total;
	__u16 flows;
	__u8 prefixlen;	      /* 128 */
	unsigned int payload; /* 700 */
};

struct frame frame_passing(struct passing p);

#define passing(...) frame_passing((struct passing){ __VA_ARGS__ })

void expect_block(const struct frame *f, __u32 tor, __u32 total, __u16 flows, __u8 prefixlen, __u8 flags);

/* One entry, as in docs/messages.md, from B to A, of the destination B. */
struct message {
	int v6;
	__u8 type; /* 6: RATE */
	__u32 seq; /* of the header */
	__u32 value;
	__u8 flags;
	__u8 prefixlen; /* 128 */
	const struct siphash_key *key;
	__u64 auth_seq;
};

struct frame frame_message(struct message m);

#define message(...) frame_message((struct message){ __VA_ARGS__ })

#endif
