/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BUCKET_H
#define SLUICE_BUCKET_H
/*
 * A token bucket that needs no refill: its state is the time up to which its tokens have been spent. A token is worth
 * token_ns, and at most burst tokens are kept. So an all-zero bucket is full.
 */
#include "sluice/types.h"

/* PROBEs to addresses that were never heard from, and replies to them, all together: */
#define BUCKET_STRANGERS_NS (1000 * 1000ULL) /* 1,000 a second are 2 Mbit/s, and probe 10,000 new peers in 10 s */
#define BUCKET_STRANGERS_BURST 1000	     /* 1,000 peers that appear together are probed at once */

/*
 * Answers to a host that was heard from. With a key: a million a second, as many as one CPU can turn around, and
 * enough for 100 flows whose T is 100 us. Without one, where a forged address can aim our replies: a tenth.
 */
#define BUCKET_HOST_KEY_NS 1000ULL
#define BUCKET_HOST_NS (10 * 1000ULL)
#define BUCKET_HOST_BURST 10000

/* The state after one more token at now_ns; 0: there is none. now_ns + token_ns * burst < 2^64. */
static inline __u64 bucket_spend(__u64 spent_ns, __u64 now_ns, __u64 token_ns, __u32 burst)
{
	__u64 kept_ns = token_ns * burst, from_ns = now_ns > kept_ns ? now_ns - kept_ns : 0;

	if (spent_ns < from_ns)
		spent_ns = from_ns;
	spent_ns += token_ns;
	return spent_ns <= now_ns ? spent_ns : 0;
}

#endif
