/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BUCKET_BPF_H
#define SLUICE_BUCKET_BPF_H
/*
 * Token buckets that all CPUs share (sluice/bucket.h). The race: a CPU that loses the compare-and-swap too often gets
 * no token, because others have just got theirs.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/bucket.h"
#include "sluice/once.h"

#define BUCKET_TRIES 4

/* Takes a token. Returns whether there was one. */
static inline int bucket_take(__u64 *spent_ns, __u64 now_ns, __u64 token_ns, __u32 burst)
{
	__u64 seen, next;
	int i;

	for (i = 0; i < BUCKET_TRIES; i++) {
		seen = READ_ONCE(*spent_ns);
		next = bucket_spend(seen, now_ns, token_ns, burst);
		if (!next)
			return 0;
		if (__sync_val_compare_and_swap(spent_ns, seen, next) == seen)
			return 1;
	}
	return 0;
}

VERIFIED_ONCE int bucket_strangers(enum bucket_of which, __u64 now_ns)
{
	__u32 key = which;
	__u64 *spent_ns = bpf_map_lookup_elem(&buckets, &key);

	return spent_ns && bucket_take(spent_ns, now_ns, BUCKET_STRANGERS_NS, BUCKET_STRANGERS_BURST);
}

#endif
