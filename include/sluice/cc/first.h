/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FIRST_H
#define SLUICE_FIRST_H
/*
 * First windows. A flow of which no feedback has come yet has W_init under way, what its port can send in one T (HPCC,
 * section 3.2). Flows of one port that begin within one T share that: each of n has W_init / n. The port sends no more in
 * that T anyway, but what their windows hold beyond it would follow in the next ones, whatever the first feedback says:
 * 64 flows of 8 hosts that begin together brought 64 BDPs.
 */
#include "sluice/once.h"
#include "sluice/types.h"

#define FIRST_SHIFT 10 /* units of the time, 2^10 ns */
#define FIRST_RTTS 16  /* that the first feedback may take, of paths that are full of first windows */

#define FIRST_BEGAN(now_ns) ((__u32)((now_ns) >> FIRST_SHIFT) | 1) /* as a time of a flow: not 0 */

/* Flows of the port that began in the T that runs: when it began, << 32 | how many. One word, for several CPUs. */
struct first_flows {
	__u64 word;
};

/* The flows that share the T that runs, at least 1. */
static inline __u32 first_counted(const struct first_flows *c)
{
	__u32 n = READ_ONCE(c->word);

	return n ? n : 1;
}

/*
 * Another one begins; began: when it did last, which counts once in a T. Returns as first_counted(). A T that begins on two
 * CPUs at the same time may miss one flow of both.
 */
static inline __u32 first_count(struct first_flows *c, __u32 *began, __u64 now_ns, __u64 t_ns)
{
	__u64 word = READ_ONCE(c->word);
	__u32 now = FIRST_BEGAN(now_ns), since = word >> 32;

	if (!(__u32)word || (__u64)(__u32)(now - since) << FIRST_SHIFT >= t_ns)
		__sync_val_compare_and_swap(&c->word, word, (__u64)now << 32 | 1);
	else if (!*began || (__s32)(*began - since) < 0)
		__sync_fetch_and_add(&c->word, 1);
	*began = now;
	return first_counted(c);
}

/* The share of each of n, at least a packet. */
static inline q12_t first_window(q12_t w_init, __u32 n, __u32 packet)
{
	q12_t w = w_init / (n ? n : 1), least = q12_from_bytes(packet);

	w = w > least ? w : least;
	return w < w_init ? w : w_init;
}

#endif
