/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AUTH_CASE_H
#define AUTH_CASE_H
/*
 * Shared by the tests of bpf/host/auth.bpf.h: messages with tags, and the state that must not change. The frames come from B
 * and are for A, and the flow that they change is A to B.
 */
#include "world.h"

static const struct siphash_key ours[2] = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 },
					    { 0x1111111111111111, 0x2222222222222222 } },
				theirs = { 0x0706050403020101, 0x0f0e0d0c0b0a0908 };

void auth_make(void);

#define from_b(v6_, payload_, ...)                                                     \
	({                                                                             \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1, .payload = payload_); \
		wrap(&inner_, __VA_ARGS__);                                            \
	})

/* A message of B with telemetry and an echo of one hop each, of which the number is part. */
#define message(v6_, key_, seq_, n)                                                                            \
	from_b(v6_, 200, .room = 2, .nhop = 1, .path = 1, .seq = n, .hop = { 12ULL << 60 | (__u64)(n) << 36 }, \
	       .echo = 1, .echo_hops = 1, .echo_seq = 100 + (n), .echo_path = 1,                               \
	       .echo_hop = { 12ULL << 60 | (__u64)(n) << 36 }, .key = key_, .auth_seq = seq_)

struct ip_spec auth_forward(int v6);
/* The flow A to B, and B is known to strip. */
void auth_flow_runs(int v6);

/* All that a message can change. */
struct known {
	struct flow f;
	struct host h;
};

struct known known_of(int v6);
void expect_nothing_learned(int v6, const struct known *before);
void expect_refused(const struct frame *in, int v6, enum sluice_stat stat);

/* The base, and how far a sequence is ahead of what this host would send: margin for the time that the test takes. */
#define BASE_NS (1790000000 * NSEC_PER_SEC)
#define DAY_NS (86400 * NSEC_PER_SEC)
#define MARGIN_NS (3600 * NSEC_PER_SEC)

#endif
