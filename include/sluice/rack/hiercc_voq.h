/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_VOQ_H
#define SLUICE_HIERCC_VOQ_H
/* HierCC (hiercc.h) at the sender ToR: the place of a packet in its VOQ, and arriving credit. */
#include "sluice/once.h"
#include "sluice/rack/hiercc_params.h"

#define HIERCC_UNTOLD 8 /* this fraction of C0 may be sent before a companion announces it */

/*
 * A VOQ. CPUs share it: S is moved by fetch-and-add, credit and clock by compare-and-swap. The other members are hints,
 * stored one by one: a reader between two stores is off by one message, and only for the packet at hand.
 */
struct hiercc_voq {
	__u64 sent;	 /* S: bytes that were given a departure */
	__u64 credit;	 /* C without C0: granted in all; C0 + credit - sent is left */
	__u64 clock_ns;	 /* departure of its last packet */
	__u64 last_ns;	 /* arrival of the last packet; 0: none yet */
	__u64 credit_ns; /* when credit last advanced, less the delay of the message; or C0 was given */
	__u64 short_ns;	 /* since when packets have waited for overdue credit; 0: not at all */
	__u64 rate;	 /* measured, bytes/s; 0: not known */
	__u64 mark;	 /* credit at mark_ns, when the rate was last measured; mark_ns 0: never */
	__u64 mark_ns;
	__u32 due;	 /* since the rate was measured, the port owed it more than it had to give */
	__u16 mark_at;	 /* when that credit was granted, by the port's clock, units of HIERCC_AT_NS */
	__u16 credit_at; /* when the last advance was granted, by the same clock */
	__u32 told;	 /* F as last told to the receiver, or about to be; 0: nothing yet */
	__u32 kept;	 /* S of the last packet that keeps its place, its lower half: see hiercc_claim() */
};

enum hiercc_sent {
	HIERCC_COVERED, /* credit was there: departs now or after those that wait */
	HIERCC_WAITS,	/* departs when credit is expected */
	HIERCC_ALONE,	/* credits have stopped: departs now */
	HIERCC_LOST,	/* the clock was contended: departs now */
};

/* Starts a VOQ; now_ns > 0, as everywhere. */
static inline void hiercc_voq_init(struct hiercc_voq *v, __u64 now_ns)
{
	*v = (struct hiercc_voq){
		.sent = HIERCC_TOTAL_FIRST, .credit = HIERCC_TOTAL_FIRST, .last_ns = now_ns, .credit_ns = now_ns
	};
}

/* Back to C0. Two CPUs doing so at once do no harm. */
static inline void hiercc_wake(struct hiercc_voq *v, __u64 now_ns)
{
	__u64 sent = READ_ONCE(v->sent), credit = READ_ONCE(v->credit);

	if (credit < sent)
		__sync_val_compare_and_swap(&v->credit, credit, sent);
	v->credit_ns = now_ns;
	v->short_ns = 0;
	v->rate = 0;
	v->mark_ns = 0;
}

/* Q_voq: bytes that entered and that credit does not cover, < HIERCC_BYTES_MAX. */
static inline __u32 hiercc_queue(const struct hiercc_voq *v, const struct hiercc_params *p)
{
	__u64 covered = v->credit + p->c0, sent = v->sent;

	if (sent <= covered)
		return 0;
	return sent - covered < HIERCC_BYTES_MAX ? sent - covered : HIERCC_BYTES_MAX - 1;
}

/* R_credit: the latest rate of credit, bytes/s, > 0. */
static inline __u64 hiercc_credit_rate(const struct hiercc_voq *v, const struct hiercc_params *p)
{
	return v->rate ? v->rate : p->rate_first;
}

/* The rate at which packets at the limit leave: that of credit, which over all VOQs is at most the port's rate. */
static inline __u64 hiercc_limit_rate(const struct hiercc_voq *v, const struct hiercc_params *p)
{
	__u64 rate = hiercc_credit_rate(v, p), least = p->rate_first / 16 + 1;

	return rate > least ? rate : least;
}

/*
 * When credit for `bytes` beyond the current credit is expected, at most limit_ns after credit first lacked. Credit at
 * the measured rate continues from the last message, but for at most two windows without one: with one window and a
 * tenth of all messages lost the port had up to 22 KB at p99, with two 7. If that rate is what the VOQ sent and not its
 * share, credit for new packets comes a round trip later, at up to rate_first. bytes < 2^27: * 10^9 < 2^57.
 */
static inline __u64 hiercc_expected(const struct hiercc_voq *v, const struct hiercc_params *p, __u64 now_ns,
				    __u64 short_ns, __u64 bytes)
{
	__u64 from = v->credit_ns, rate = v->rate, end = short_ns + p->limit_ns, t = end, other;

	if (bytes >= HIERCC_BYTES_MAX)
		return end;
	if (from + HIERCC_BLIND_WINDOWS * p->window_ns < now_ns)
		from = now_ns - HIERCC_BLIND_WINDOWS * p->window_ns;
	if (rate)
		t = from + bytes * NSEC_PER_SEC / rate;
	if (!rate || !v->due) {
		other = short_ns + p->window_ns + bytes * NSEC_PER_SEC / p->rate_first;
		t = other < t ? other : t;
	}
	return t < end ? t : end;
}

/*
 * A packet of `bytes` on the wire, < 2^20, enters the VOQ. *total: S after it, for its header;
 * *departure_ns: when it may leave, at most limit_ns from now, and possibly before others that entered earlier: the
 * caller keeps those of one flow in order.
 */
static inline enum hiercc_sent hiercc_send(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now_ns,
					   __u32 bytes, __u32 *total, __u64 *departure_ns)
{
	enum hiercc_sent verdict = HIERCC_COVERED;
	__u64 covered, short_ns, sent, t = now_ns, end = ~0ULL;
	int i;

	if (v->last_ns + p->idle_ns < now_ns)
		hiercc_wake(v, now_ns);
	v->last_ns = now_ns;
	sent = __sync_fetch_and_add(&v->sent, bytes) + bytes;
	*total = sent;
	*departure_ns = now_ns;
	covered = READ_ONCE(v->credit) + p->c0;
	if (sent > covered) {
		short_ns = v->short_ns;
		if (!short_ns || short_ns > now_ns)
			v->short_ns = short_ns = now_ns;
		if (short_ns + p->limit_ns <= now_ns)
			return HIERCC_ALONE;
		end = short_ns + p->limit_ns;
		t = hiercc_expected(v, p, now_ns, short_ns, sent - covered);
		verdict = HIERCC_WAITS;
	}
	for (i = 0; i < HIERCC_TRIES; i++) {
		__u64 seen = READ_ONCE(v->clock_ns), at = t > now_ns ? t : now_ns;

		if (at >= end && seen >= end)
			at = seen + bytes * NSEC_PER_SEC / hiercc_limit_rate(v, p);
		/* A clock from another time, or from a longer limit, holds no packet back. */
		if (at > now_ns + p->limit_ns)
			at = now_ns + p->limit_ns;
		if ((at <= seen && seen <= now_ns + p->limit_ns) ||
		    __sync_val_compare_and_swap(&v->clock_ns, seen, at) == seen) {
			*departure_ns = at;
			return verdict;
		}
	}
	return HIERCC_LOST;
}

/*
 * After hiercc_send(): the S that a packet claims where some packets leave before others which entered earlier. overtakes:
 * this one does. It must not claim the bytes of those that it leaves behind: the port grants what S claims, and would
 * have as much under way as waits here. Nothing leaves beyond the credit, so no more than that has left; what the
 * packet adds is in the S of the next one that keeps its place. If no such packet waits, nothing is overtaken.
 */
static inline __u32 hiercc_claim(struct hiercc_voq *v, const struct hiercc_params *p, __u32 total, int overtakes)
{
	__u32 covered = READ_ONCE(v->credit) + p->c0;

	if (!overtakes) {
		WRITE_ONCE(v->kept, total);
		return total;
	}
	return (__s32)(total - covered) > 0 && (__s32)(READ_ONCE(v->kept) - covered) > 0 ? covered : total;
}

/*
 * After hiercc_send(): whether this packet does not wait, because it announces F, which has doubled. Its S is ahead by
 * the whole queue, and must not look like a jump.
 */
static inline int hiercc_tells(struct hiercc_voq *v, const struct hiercc_params *p, __u32 flows)
{
	__u32 told = READ_ONCE(v->told);

	if (flows >= told && (flows < 2 * told || hiercc_queue(v, p) > p->debt_max - p->c0))
		return 0;
	v->told = flows;
	return flows > told;
}

/*
 * If data leaves as it is, companions announce S and F: whether one is due with a packet when `untold` bytes of S were
 * not announced for ago_ns. Unannounced bytes are C0 that cannot be used; and a VOQ that sends rarely has one companion
 * in a round of credit, for all of its flows.
 */
static inline int hiercc_says(const struct hiercc_params *p, __u32 untold, __u64 ago_ns)
{
	return untold >= p->c0 / HIERCC_UNTOLD || ago_ns >= p->window_ns;
}

enum hiercc_credit {
	HIERCC_CREDITED,
	HIERCC_OLD,   /* nothing new: repeated, or overtaken by a later message */
	HIERCC_AHEAD, /* more than was ever sent */
	HIERCC_RACED, /* another CPU took a message: the next one has it all */
};

/*
 * The rate from the credit granted since the mark, at least window_ns / 4 ago: the first credit after a pause only sets
 * the mark, or the pause would count. got < 2^31, * 10^9 < 2^61.
 *
 * The time between is taken from the port's clock, if that has not wrapped and shows more than its unit: by arrival
 * three late messages in a row made a quarter of the rate, and packets scheduled by that kept their departures. With a
 * tenth of all messages late the receiver's port had a queue of 72 KB at p99, not 19 (simulated, at 100 Mbit/s and 4
 * ms; 6 without late messages).
 */
static inline void hiercc_measure(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now_ns, __u64 credit,
				  int due, __u16 at)
{
	__u64 passed, granted_ns, got, sample, old = hiercc_credit_rate(v, p), weight;
	int due_throughout;

	if (!v->mark_ns || now_ns < v->mark_ns || credit < v->mark) {
		v->mark = credit;
		v->mark_ns = now_ns;
		v->mark_at = at;
		return;
	}
	passed = now_ns - v->mark_ns;
	granted_ns = (__u64)(__u16)(at - v->mark_at) * HIERCC_AT_NS;
	if (passed < HIERCC_AT_NS << 15 && (passed + HIERCC_AT_NS <= granted_ns || granted_ns + HIERCC_AT_NS <= passed))
		passed = granted_ns;
	if (!due) /* also if it is too early to measure: a pause may follow */
		v->due = 0;
	if (!passed || passed < p->window_ns / 4)
		return;
	got = credit - v->mark;
	sample = got < 1U << 31 ? got * NSEC_PER_SEC / passed : HIERCC_RATE_MAX - 1;
	sample = sample < HIERCC_RATE_MAX ? sample : HIERCC_RATE_MAX - 1;
	/* 2^37 * 2^26 < 2^63 */
	weight = passed < p->window_ns ? passed : p->window_ns;
	due_throughout = due && v->due; /* else the duration of the debt is not known */
	if (due_throughout || sample > old || (!v->rate && !due)) {
		v->rate = (old * (p->window_ns - weight) + sample * weight) / p->window_ns;
		v->rate = v->rate ? v->rate : 1;
	}
	v->due = due;
	v->mark = credit;
	v->mark_ns = now_ns;
	v->mark_at = at;
}

/*
 * When the message would have come with the delay of those before: otherwise waiting packets are expected later, and
 * then leave together. Each time 1/64 of the difference is forgotten, as clocks drift and paths change.
 */
static inline __u64 hiercc_came(const struct hiercc_voq *v, __u64 now_ns, __u16 at)
{
	__u64 passed = now_ns - v->credit_ns, late = passed - (__u64)(__u16)(at - v->credit_at) * HIERCC_AT_NS;

	if (!v->mark_ns || passed >= HIERCC_AT_NS << 15 || late > passed || late < HIERCC_AT_NS)
		return now_ns;
	return now_ns - late + late / 64;
}

/*
 * Takes a message of the receiver: the low 32 bits of Csent, whether Csent < S still, there (the port has less to give
 * than was asked of it, and the rate is the VOQ's share), and the time of that, by the port's clock.
 */
static inline enum hiercc_credit hiercc_credit(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now_ns,
					       __u32 total, int due, __u16 at)
{
	__u64 sent = READ_ONCE(v->sent), old = READ_ONCE(v->credit);
	__u64 credit = hiercc_unwrap(sent, total), came_ns;

	if (credit > sent + p->delta)
		return HIERCC_AHEAD;
	if (credit <= old)
		return HIERCC_OLD;
	if (__sync_val_compare_and_swap(&v->credit, old, credit) != old)
		return HIERCC_RACED;
	came_ns = hiercc_came(v, now_ns, at);
	hiercc_measure(v, p, now_ns, credit, due, at);
	v->credit_ns = came_ns;
	v->credit_at = at;
	v->short_ns = sent > credit + p->c0 ? now_ns : 0;
	return HIERCC_CREDITED;
}

#endif
