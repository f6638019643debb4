/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FIRST_H
#define SLUICE_FIRST_H
/*
 * First windows. A flow of which no feedback has come yet has W_init under way, what its port can send in one T (HPCC,
 * section 3.2). Flows of one port that begin within one T, and until something is heard, share that: each of n has W_init / n.
 * The port sends no more in a T anyway, but what their windows hold beyond it would follow in the next ones, whatever the
 * first feedback says: 64 flows of 8 hosts that begin together brought 64 BDPs. Where another flow to the same host has W by its feedback, that is
 * the window: the path is known. It is two packets at least, which leave before a companion does, so that a short flow to a
 * host that many others send to does not wait for many T.
 */
#include "sluice/once.h"
#include "sluice/types.h"

#define FIRST_SHIFT 10 /* units of the time, 2^10 ns */
#define FIRST_PACKETS 2
#define FIRST_KNOWN_RTTS 32 /* W of another flow is that old at most */
#define FIRST_RTTS 16	    /* that the first feedback may take, of paths that are full of first windows */

#define FIRST_OVER 1						   /* a time of a flow whose path tells nothing */
#define FIRST_BEGAN(now_ns) ((__u32)((now_ns) >> FIRST_SHIFT) | 1) /* as a time of a flow: not 0 */

/* Flows of the port that share: when the first one began, << 32 | how many. One word, for several CPUs. */
struct first_flows {
	__u64 word;
};

/* The flows that share, at least 1. */
static inline __u32 first_counted(const struct first_flows *c)
{
	__u32 n = READ_ONCE(c->word);

	return n ? n : 1;
}

/*
 * Another one begins; began: when it did last, which counts once. Those who share are the ones of a T, and while nothing is
 * heard of the path those of FIRST_RTTS: feedback is late where first windows stand in front of it. heard_ns: when feedback
 * came last, of any flow to the host. Returns as first_counted(). Where it begins anew on two CPUs at the same time one
 * flow may be missed.
 */
static inline __u32 first_count(struct first_flows *c, __u32 *began, __u64 now_ns, __u64 t_ns, __u64 heard_ns)
{
	__u64 word = READ_ONCE(c->word), passed_ns;
	__u32 now = FIRST_BEGAN(now_ns), since = word >> 32;

	passed_ns = (__u64)(__u32)(now - since) << FIRST_SHIFT;
	if (!(__u32)word || passed_ns >= FIRST_RTTS * t_ns || (passed_ns >= t_ns && now_ns - heard_ns < passed_ns))
		__sync_val_compare_and_swap(&c->word, word, (__u64)now << 32 | 1);
	else if (!*began || (__s32)(*began - since) < 0)
		__sync_fetch_and_add(&c->word, 1);
	*began = now;
	return first_counted(c);
}

/* The share of each of n, and no more than `known`, W of another flow (0: of none); at least some packets, of that size. */
static inline q12_t first_window(q12_t w_init, __u32 n, q12_t known, __u32 packet)
{
	q12_t w = w_init / (n ? n : 1), least = q12_from_bytes(FIRST_PACKETS * packet);

	if (known && known < w)
		w = known;
	w = w > least ? w : least;
	return w < w_init ? w : w_init;
}

#endif
