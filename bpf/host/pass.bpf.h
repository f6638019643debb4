/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PASS_BPF_H
#define SLUICE_PASS_BPF_H
/*
 * Flows whose packets ingress passes without reading their state: their windows are not cut, because they are unknown,
 * or a digest covers them, or their sender is a socket of ours or has sent no data, and no companion waits for one of their ACKs. Ingress enters
 * such flows, and egress removes them when that ends. A flow that is not in here is looked up, so an entry may be
 * replaced at any time. An entry that two CPUs write at once may match a third flow for a moment, which costs one cut
 * of one window.
 */
#include "lib/base.bpf.h"
#include "sluice/abi/abi.h"

#define PASSES 1024

struct pass {
	struct flow_key key;
	__u32 epoch; /* epoch in which it was entered */
	__u32 valid;
	__u8 pad[16];
};

/* writer and reader: ingress and egress; life: the programs'; not pinned. full: an entry gives way to the next */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PASSES);
	__type(key, __u32);
	__type(value, struct pass);
} passes SEC(".maps");

/* The slot of the flow. */
static inline struct pass *pass_of(const struct flow_key *key)
{
	const __u32 *local = (const __u32 *)&key->local, *remote = (const __u32 *)&key->remote;
	__u32 ports = *(const __u32 *)&key->local_port;
	__u32 i = ((local[3] ^ remote[3] ^ local[2] ^ remote[2] ^ ports) * 0x9e3779b1U) >> 22;

	return bpf_map_lookup_elem(&passes, &i);
}

static inline int pass_is_of(const struct pass *e, const struct flow_key *key)
{
	const __u64 *a = (const __u64 *)&e->key, *b = (const __u64 *)key;

	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]));
}

static inline int pass_is_free(const struct flow_key *key, __u32 epoch)
{
	const struct pass *e = pass_of(key);

	return e && e->valid && e->epoch == epoch && pass_is_of(e, key);
}

static inline void pass_enter(const struct flow_key *key, __u32 epoch)
{
	struct pass *e = pass_of(key);

	if (!e)
		return;
	e->valid = 0;
	e->key = *key;
	e->epoch = epoch;
	e->valid = 1;
}

static inline void pass_end(const struct flow_key *key)
{
	struct pass *e = pass_of(key);

	if (e && pass_is_of(e, key))
		e->valid = 0;
}

_Static_assert(PASSES == 1 << (32 - 22), "the bits that pass_of() keeps");
_Static_assert(sizeof(struct pass) == 64, "a cache line");

#endif
