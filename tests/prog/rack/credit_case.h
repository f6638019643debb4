/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CREDIT_CASE_H
#define CREDIT_CASE_H
/*
 * Shared by the tests of bpf/rack/credit.bpf.h: packets from a VOQ, and the slots that note them. B sends to A: the flow that
 * is taught something is A to B, and the VOQs for which credit comes are those of A to B.
 */
#include "world.h"

void credit_make(void);

#define TOR 0x0a010002
#define SLOT 5
#define S_FIRST 1000000

static const struct siphash_key key = { 3, 4 }, other_key = { 5, 6 };

static const struct ip_spec a_to_b, a_to_b_v6 = { .v6 = 1 };

const struct ip_spec *credit_forward(int v6);

/* B's packet for A of a VOQ: the fields of its block, and its length. */
struct arriving {
	int v6;
	__u32 total; /* S_FIRST */
	__u16 flows; /* 7 */
	__u32 prefixlen;
	int no_prefix, no_tor; /* malformed */
	int rides;	       /* its sender takes credit that comes along */
	unsigned int payload;  /* 500 */
	const struct siphash_key *key;
	__u64 auth_seq;
};

struct frame frame_arriving(struct arriving a);

#define arriving(...) frame_arriving((struct arriving){ __VA_ARGS__ })

struct arrival_key key_of(int v6, __u32 prefixlen);
/* The daemon has a slot for the VOQ to A, or its prefix. */
void slot_make(int v6, __u32 prefixlen, __u32 watched);
__u32 inner_bytes(const struct frame *f);
/* The slot has these packets and bytes, and the claim of the furthest packet. */
void expect_seen(__u64 packets, __u64 bytes, __u64 inner, __u64 claim);

#define RING 3		 /* the port of SLOT */
#define RATE 12500000ULL /* bytes/s: 100 Mbit/s */
#define C0 50000
#define DELTA 1024
#define ROUND_NS 4000000ULL /* of credit */
#define LEASE_NS (1ULL << 40)

/* The daemon lets a port grant, and has a slot for the VOQ of a rack to A over IPv4, without a key or pods. */
void ring_begin(void);
void slot_begin(__u32 slot, __u32 tor);
/* With both, for SLOT and TOR. */
void grant_make(void);

#endif
