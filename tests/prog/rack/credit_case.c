// SPDX-License-Identifier: GPL-2.0-only
#include "credit_case.h"

void credit_make(void)
{
	world_make();
	tor_set(1);
	hosts_strip();
}

const struct ip_spec *credit_forward(int v6)
{
	return v6 ? &a_to_b_v6 : &a_to_b;
}

struct frame frame_arriving(struct arriving a)
{
	struct frame inner = tcp(.v6 = a.v6, .reply = 1, .payload = a.payload ?: 500);

	return wrap(&inner, .room = 5, .nhop = 1, .path = 0x456, .hop = { 0x1111 }, .voq = 1,
		    .voq_tor = a.no_tor ? 0 : TOR, .voq_total = a.total ?: S_FIRST, .voq_flows = a.flows ?: 7,
		    .voq_prefixlen = a.no_prefix ? 0 :
				     a.prefixlen ?:
						   128,
		    .voq_flags = a.rides ? RIDES : 0, .key = a.key, .auth_seq = a.auth_seq);
}

struct arrival_key key_of(int v6, __u32 prefixlen)
{
	struct arrival_key k = { .addr = addr_of(v6, HOST_A), .prefixlen = prefixlen, .tor = __builtin_bswap32(TOR) };
	unsigned int i;

	for (i = prefixlen; i < 128; i++)
		k.addr.b[i / 8] &= ~(0x80 >> i % 8);
	return k;
}

void slot_make(int v6, __u32 prefixlen, __u32 watched)
{
	struct arrival a = { .ifindex = WORLD_IFINDEX, .watched = watched };
	struct arrival_key k = key_of(v6, prefixlen);

	arrival_slot_set(&k, SLOT);
	arrival_set(SLOT, &a);
}

__u32 inner_bytes(const struct frame *f)
{
	return f->len - (at_inner(f) - 14);
}

void expect_seen(__u64 packets, __u64 bytes, __u64 inner, __u64 claim)
{
	struct arrival a = arrival_get(SLOT);

	expect_eq(a.seen.packets, packets);
	expect_eq(a.seen.bytes, bytes);
	expect_eq(a.inner_bytes, inner);
	expect_eq(a.seen.claim, claim);
}

static const struct hiercc_params params = {
	.c0 = C0,
	.rate_first = RATE,
	.window_ns = ROUND_NS,
	.limit_ns = 64 * ROUND_NS,
	.idle_ns = 128 * ROUND_NS,
	.debt_max = 3 * C0,
	.epoch_ns = 8 * ROUND_NS,
	.delta = DELTA,
};

void ring_begin(void)
{
	struct credit_ring r = {};

	hiercc_ring_init(&r.ring, RATE, ROUND_NS, DELTA);
	r.ring.lease_ns = clock_ns() + LEASE_NS;
	r.ring.clock_ns = clock_ns();
	ring_set(RING, &r);
}

void slot_begin(__u32 slot, __u32 tor)
{
	struct arrival a = { .ifindex = WORLD_IFINDEX, .watched = 1, .ring = RING, .params = params };
	struct arrival_key k = key_of(0, 128);
	struct credit none = {};

	k.tor = __builtin_bswap32(tor);
	a.key = k;
	arrival_slot_set(&k, slot);
	arrival_set(slot, &a);
	credit_set(slot, &none);
}

void grant_make(void)
{
	credit_make();
	ring_begin();
	slot_begin(SLOT, TOR);
}
