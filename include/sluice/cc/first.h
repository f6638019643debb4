/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FIRST_H
#define SLUICE_FIRST_H
/*
 * First windows. A flow without feedback has W_init under way, the bytes that its port can send in one T (HPCC,
 * section 3.2). Flows of one port that begin within one T, and before feedback comes, share it: each of n has W_init /
 * n. The port sends no more in a T anyway, but the rest of their windows would follow in the next ones, whatever the
 * first feedback says: 64 flows of 8 hosts that begin together brought 64 BDPs. If another flow to the same host
 * already has R from feedback, the share is R x T: the path is known. If that was long ago, it is FIRST_OLD_PACKETS at
 * least, as many as TCP begins with. W is two packets at least, because two leave before a companion does: a short flow
 * to a busy host then does not wait for many T. R stays that of the share: 30 flows with two packets each in every T
 * would fill a path that holds 33.
 *
 * Flows of other hosts count too: SYN and SYN-ACK to a host that strips, and to which no R is known, have a companion,
 * whose answer brings N of the receiver's port before the first data, for all flows that begin in the next
 * FIRST_KNOWN_RTTS, and the first feedback brings it again. The k-th of flows that begin together is told k, or more
 * where too much is promised. With 8 senders at 100 Mbit/s and 4 ms the queue of the start had 348 KB without it, and has
 * 10 KB.
 */
#include "sluice/cc/hpcc_state.h"
#include "sluice/once.h"
#include "sluice/types.h"

#define FIRST_SHIFT 10 /* unit of time, 2^10 ns */
#define FIRST_PACKETS 2
#define FIRST_KNOWN_RTTS 32  /* age up to which another flow's R is recent */
#define FIRST_OLD_PACKETS 10 /* initial window of TCP, RFC 6928 */
#define FIRST_RTTS 16	     /* T that the first feedback may take on paths that are full of first windows */

#define FIRST_LEAST 2 /* part of its share that a flow has where a T is promised already */

#define FIRST_OVER 2						   /* as a flow's time: its path reports nothing */
#define FIRST_BEGAN(now_ns) ((__u32)((now_ns) >> FIRST_SHIFT) | 1) /* as a flow's time: odd */

/* Flows of the port that share: start of the first << 32 | number. One word, because several CPUs write it. */
struct first_flows {
	__u64 word;
};

/* The number of flows that share, at least 1. */
static inline __u32 first_counted(const struct first_flows *c)
{
	__u32 n = READ_ONCE(c->word);

	return n ? n : 1;
}

/*
 * Counts a flow that begins; began: its last start, so that it counts once. Flows that begin within one T share, and
 * those within FIRST_RTTS while no feedback has come: first windows in front of it delay feedback. heard_ns: last
 * feedback of any flow to the host. Returns first_counted(). If two CPUs restart the count at the same time, one flow
 * may be missed.
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

/* The share of each of n flows, at most `known`, R of another flow x T (0: none). */
static inline q12_t first_share(q12_t w_init, __u32 n, q12_t known)
{
	q12_t share = w_init / (n ? n : 1);

	return known && known < share ? known : share;
}

/*
 * The share of each of `told` flows, >= 1, at a port of bps bit/s (0: not known; of W_init / T). Telemetry scales both where no
 * code has the port's speed, and the quotient is right.
 */
static inline q12_t first_told(const struct hpcc_params *p, __u32 told, __u64 bps)
{
	q12_t bdp = bps ? q12_from_bytes(hpcc_bdp_bytes(bps, p->t_ns)) : p->w_init;

	return first_share(bdp, told, p->w_init);
}

/*
 * Receiver's port: N as a flow is told before its first data. Of flows that begin together the k-th would have 1 / k of a T
 * of the port, and 16 of them 3.4 in all. Once a T is promised, those after have half of that each: with a quarter 16 flows
 * of 10 KB took 1.4 times as long, with all of it 16 of 64 KB had 2.5 times the queue. n: flows that are counted, with this
 * one. *until_ns: the time up to which the port is promised; if several CPUs promise at the same time, one may be missed.
 */
static inline __u32 first_promise(__u64 *until_ns, __u32 n, __u64 now_ns, __u64 t_ns)
{
	__u64 until = READ_ONCE(*until_ns), ahead, share = t_ns / (n ? n : 1), least = share / FIRST_LEAST;

	ahead = until > now_ns ? until - now_ns : 0;
	if (ahead + share > t_ns)
		share = ahead + least < t_ns ? t_ns - ahead : least;
	if (ahead < FIRST_RTTS * t_ns)
		WRITE_ONCE(*until_ns, now_ns + ahead + share);
	return share ? t_ns / share : n;
}

/* W is at most the share, or FIRST_PACKETS packets; R is the share's in either case. */
static inline void first_cap(struct hpcc_state *st, const struct hpcc_params *p, q12_t share)
{
	q12_t least = q12_from_bytes(FIRST_PACKETS * p->packet);
	__u64 rate_bps = hpcc_rate_bps(share > p->w_min ? share : p->w_min, p->t_ns);

	least = least < p->w_init ? least : p->w_init;
	hpcc_cap(st, p, share > least ? share : least);
	if (st->rate_bps > rate_bps)
		st->rate_bps = rate_bps;
}

/*
 * The same, but W may have been less: it was what a handshake is promised, and now N is told. n: flows that share the own
 * port, first_counted().
 */
static inline void first_raise(struct hpcc_state *st, const struct hpcc_params *p, __u32 n, q12_t share)
{
	st->w = st->wc = p->w_init;
	first_cap(st, p, first_share(p->w_init, n, share ? share : 1));
}

#endif
