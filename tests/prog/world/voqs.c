// SPDX-License-Identifier: GPL-2.0-only
/* VOQs of a sender, arrivals at a receiver, and the messages between them. */
#include <errno.h>
#include <string.h>

#include "expect.h"
#include "load.h"
#include "maps.h"

struct voq_key voq_key_of(int v6, enum who who, __u32 prefixlen)
{
	struct voq_key k = { .addr = addr_of(v6, who), .prefixlen = prefixlen };
	unsigned int bit;

	for (bit = prefixlen; bit < 128; bit++)
		k.addr.b[bit / 8] &= ~(0x80 >> bit % 8);
	return k;
}

int voq_exists(struct voq_key k)
{
	struct voq v;

	return map_get(skel->maps.voqs, &k, &v);
}

struct voq voq_get(struct voq_key k)
{
	struct voq v;

	cr_assert(map_get(skel->maps.voqs, &k, &v), "%sno such VOQ", fixture_text);
	return v;
}

void voq_set(struct voq_key k, const struct voq *v)
{
	wings_use(WING_RACKS);
	map_set(skel->maps.voqs, &k, v);
}

static struct voq_key voq_to_nobody(unsigned int n)
{
	struct voq_key k = { .addr.b = { 0xff }, .prefixlen = 128 };

	memcpy(k.addr.b + 1, &n, sizeof(n));
	return k;
}

static unsigned int voqs_nobodys;

void voqs_fill(void)
{
	struct voq_key k = voq_to_nobody(0);
	struct voq v = {};

	while (!bpf_map_update_elem(bpf_map__fd(skel->maps.voqs), &k, &v, BPF_NOEXIST))
		k = voq_to_nobody(++voqs_nobodys);
	cr_assert(errno == E2BIG, "VOQ %u: %s", voqs_nobodys, strerror(errno));
}

void voqs_make_room(void)
{
	struct voq_key k = voq_to_nobody(--voqs_nobodys);

	cr_assert(!bpf_map_delete_elem(bpf_map__fd(skel->maps.voqs), &k), "%s", strerror(errno));
}

void arrival_slot_set(const struct arrival_key *key, __u32 slot)
{
	wings_use(WING_RACKS);
	map_set(skel->maps.arrival_slots, key, &slot);
}

void arrival_set(__u32 slot, const struct arrival *a)
{
	wings_use(WING_RACKS);
	map_set(skel->maps.arrivals, &slot, a);
}

struct arrival arrival_get(__u32 slot)
{
	struct arrival a;

	cr_assert(map_get(skel->maps.arrivals, &slot, &a), "%sthere is no such slot", fixture_text);
	return a;
}

void credit_set(__u32 slot, const struct credit *c)
{
	wings_use(WING_RACKS);
	map_set(skel->maps.credits, &slot, c);
}

struct credit credit_get(__u32 slot)
{
	struct credit c;

	cr_assert(map_get(skel->maps.credits, &slot, &c), "%sthere is no such slot", fixture_text);
	return c;
}

void ring_set(__u32 port, const struct credit_ring *r)
{
	wings_use(WING_RACKS);
	map_set(skel->maps.credit_rings, &port, r);
}

struct credit_ring ring_get(__u32 port)
{
	struct credit_ring r;

	cr_assert(map_get(skel->maps.credit_rings, &port, &r), "%sthere is no such ring", fixture_text);
	return r;
}

void batch_sign(__u8 *at, unsigned int bytes, unsigned int n, int v6, const struct siphash_key *key, __u64 seq)
{
	struct sluice_addr src = addr_of(v6, HOST_B), dst = addr_of(v6, HOST_A);
	__u32 word[204] = {};
	__u8 *text = (__u8 *)word;

	put64(at + bytes - 16, seq);
	memcpy(text, &src, 16);
	memcpy(text + 16, &dst, 16);
	memcpy(text + 32, at + 4, 8);
	put64(text + 40, seq);
	memcpy(text + 48, at + 12, 24 * n);
	put64(at + bytes - 8, siphash(key, word, 12 + 6 * n, 204));
}

struct frame frame_of_batch(int v6, const __u8 *at, unsigned int bytes)
{
	struct frame f = udp(.v6 = v6, .reply = 1, .sport = PORT_WIRE, .dport = PORT_WIRE, .payload = bytes);

	put16(f.b + at_udp(&f) + 6, 0);
	memcpy(f.b + at_udp(&f) + 8, at, bytes);
	return f;
}
