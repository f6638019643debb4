/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_H
#define SLUICE_HIERCC_H
/*
 * HierCC (APNet 2021, "HierCC: Hierarchical RDMA Congestion Control"), in integers: credits from rack
 * to rack. A VOQ is all traffic from one rack to one host; what leaves it is covered by credit that the
 * port of that host grants.
 *
 *  1. Sender ToR (section 3.2): hiercc_send() gives each packet its place in the VOQ, S, and the time at
 *     which its credit is, or is expected to be, there. hiercc_credit() takes what the port has granted.
 *  2. Receiver ToR (section 3.2): hiercc_see() notes S and F of a packet (data plane); hiercc_learn()
 *     judges what was noted, hiercc_budget() and hiercc_grant() deal out credit by WRR (daemon).
 *  3. First hop (section 3.3, Equation 1): hiercc_rate() is the rate of each flow into the VOQ,
 *     hiercc_arrival() what it needs to know.
 *
 * S and credit are totals of wire bytes since the VOQ began: 64 bits here, the low 32 on the wire. So a
 * message that is lost, repeated or late costs nothing: the next one has it all. F of a VOQ is
 * counted with rx_count() of rx.h.
 *
 * What the paper leaves open, and what is done here:
 *  - A VOQ is due credit while Csent < S, as printed: with C0 to begin with it has at most C0 on the way
 *    that is not granted anew, a window. So one VOQ alone gets C0 per round trip of credit and no
 *    more: 10 KB and 8 us, the paper's values, are 10 of its 25 Gbit/s. hiercc_params_init() takes the BDP
 *    of that round trip, with the time between two grants in it. The bound of section 1, racks times C0,
 *    is as good as that time is short: 133 KB with 4 us in tests/sim/racks.c, 905 KB with 100 us.
 *  - A packet is given its departure when it comes and it cannot be corrected later: without credit it
 *    leaves when the totals, continued at the measured rate, get there. Every message corrects
 *    the line for the packets that come after it, which do not wait behind those of other flows that came when the
 *    rate was lower: after a burst of mice at a quarter of the port two VOQs of a long flow each had half of it, and
 *    sent a quarter until the last packet of the burst had left. A flow's own packets stay in order (its departure
 *    clock, or the switch's tor_flow).
 *  - A round of WRR is F credits for each VOQ, one at a time in turn, not F at once: with turns of nine, one after another,
 *    the rate that a VOQ measured was 17 to 30 Mbit/s, of 25, and what came at 17 waited for too long.
 *  - What is granted to a VOQ that is due no more is only what it sent, and says nothing of what it could
 *    have: a rate measured then would keep itself low for ever (the "wrong under-utilization
 *    equilibrium" of section 3.3; seen in tests/sim/racks.c). So a message says whether more is
 *    due; if not, credit is also expected at rate_first, from a round trip later on, and a rate that was
 *    measured when more was due is not lowered: what S has not told the receiver yet, because it waits for
 *    its departure, cannot be due there. With that lowered three flows of TCP that began together beside one
 *    went round for 250 ms, at times for good: held back by a low rate, not due, a lower rate.
 *  - A packet says F as it was when it came, and the weight of its VOQ is that until later ones leave: a long
 *    flow's q0 left at a weight of 1 of 20, and nine new flows waited behind it. A packet with which F has
 *    doubled leaves at once: one more than C0 for each doubling.
 *  - Credits that stop: no packet waits for longer than limit_ns. When credit has lacked for so long packets leave at once
 *    (HIERCC_ALONE: the flow's own HPCC is all that paces it) until there is some. Those that wait by then, V_high at
 *    most, leave as credit came, as far as that is within limit_ns of their own: those of two VOQs, at 100 Mbit/s and 4 ms,
 *    were a queue of 51 KB together, one by one at rate_first 12 to 57, and are 27 at what each had. The limit is not to be below what V_high takes
 *    at a small share of the port: what waits longer leaves like that.
 *  - A VOQ that was silent for idle_ns has C0 again, whatever got lost.
 *  - A total beyond S, by more than the one credit that rounding may give, is refused.
 *  - The receiver takes what was sent before the first packet that it saw as granted, but for C0, which the VOQ may
 *    have used up: after a restart each would have C0 to spare at once, beside what is on its way already. With two the
 *    port had a queue of 82 KB then, at 100 Mbit/s and 4 ms.
 *  - A VOQ is never due more than debt_max, and what a late loop has yet to grant. What S is ahead of it is taken as granted: credit that
 *    nobody else had to wait for. The same goes for what S claims and nobody saw arrive, beyond
 *    debt_max and 1/8 of what did arrive (losses), and for a jump (a sender that began anew).
 *  - F counts no more than the packets that arrived in an epoch, and RX_FLOWS_MAX.
 *  - Equation 1 is printed with "R_line if Q_voq < 0", which never is. q_line is the number: 1, an empty
 *    queue, is the default. Between it and q0 the other case is used with its sign, which gets out
 *    of the under-utilisation that R_line is there for: N R = R_credit + beta (q0 - Q)/RTT_hop. With
 *    q_line = q0, the other reading, the queue stands 20 % above q0, and 70 to 90 % where four
 *    flows share a VOQ (tests/sim/racks.c, long=4 and long=16).
 *  - R changes at most fourfold in a period, either way, also to R_line. Where a VOQ has a small share of the
 *    port, beta (Q - q0)/RTT_hop is soon more than all of its credit: R falls to R_min, the
 *    queue runs empty, all flows are told R_line, and it is above V_high again. Four flows at a quarter of the
 *    port went round like that, with 50 KB on average; now it is q0 (long=16).
 *  - The rate from before a stop is what caused it, if it was not computed since the last stop: R_line, say,
 *    of 30 flows. Then half of it is told. What arrived until then counts for nothing.
 *  - If nothing arrived R stays: there is nothing to divide by.
 *  - R is computed by time, not only when a packet asks: who was told R_min has few to ask with.
 */
#include "sluice/once.h"
#include "sluice/pacer.h"
#include "sluice/cc/rx.h"

#define HIERCC_DELTA_BYTES 1024	     /* one credit, where the configuration has no other */
#define HIERCC_DELTA_MAX (1U << 16)
#define HIERCC_BYTES_MAX (1U << 27)  /* C0, debt and queues are below: 1 Tbit/s and 1 ms */
#define HIERCC_RATE_MAX (1ULL << 37) /* bytes/s: 1.1 Tbit/s */
#define HIERCC_NS_MAX (1ULL << 26)   /* of all times but limit and idle: products stay below 2^64 */
#define HIERCC_BLIND_WINDOWS 2	     /* for so long a sender goes on without a message at the rate of before */
#define HIERCC_TRIES 8
#define HIERCC_NONE 0xffffffffU
#define HIERCC_AT_NS 1024		/* the clock of a port, in 16 bits: goes round in 67 ms */
#define HIERCC_TOTAL_FIRST (1ULL << 32) /* where totals begin, so that none goes below 0 */

/* The same for all VOQs to hosts of one speed and distance. */
struct hiercc_params {
	__u64 c0;	  /* C0, bytes, (0, HIERCC_BYTES_MAX) */
	__u64 rate_first; /* expected where nothing is measured, bytes/s, (0, HIERCC_RATE_MAX) */
	__u64 window_ns;  /* a round trip of credit; rates are smoothed over it, (0, HIERCC_NS_MAX) */
	__u64 limit_ns;	  /* longest wait for credit, > 0, < 2^40 */
	__u64 idle_ns;	  /* a VOQ silent for longer has C0, > limit_ns, < 2^40 */
	__u64 debt_max;	  /* receiver: most that a VOQ may be due, bytes, [C0, HIERCC_BYTES_MAX) */
	__u64 epoch_ns;	  /* in which flows and packets are counted, > 0, < 2^40 */
	__u64 delta;	  /* one credit, bytes, (0, HIERCC_DELTA_MAX], at most C0 / 2 */
};

/* What the configuration sets of these and of hiercc_hop_params; 0: the default. */
struct hiercc_tuning {
	q24_t beta; /* (0, 1.0) */
	__u32 q0;   /* bytes; q0 <= V_low < V_high < HIERCC_BYTES_MAX, those that are set */
	__u32 v_high;
	__u32 v_low;
	__u32 delta; /* one credit, bytes, [128, HIERCC_DELTA_MAX] */
};

/*
 * The defaults, for a port of so many bytes/s, the round trip between the racks, and the time between
 * two grants. Section 5 has 10 KB for C0: see above why it is more here. rate_first is a quarter of the
 * port: with all of it the burst of tests/sim/racks.c had a queue of 156 KB, not 142; with an eighth
 * 118 KB, but four short flows of one rack, with the port to themselves, took 113 us and not 68.
 */
static inline void hiercc_params_init(struct hiercc_params *p, __u64 rate, __u64 rtt_ns, __u64 period_ns)
{
	__u64 round_ns = rtt_ns + period_ns, c0;

	rate = rate < HIERCC_RATE_MAX ? rate : HIERCC_RATE_MAX - 1;
	round_ns = round_ns < HIERCC_NS_MAX ? round_ns : HIERCC_NS_MAX - 1;
	round_ns = round_ns ? round_ns : 1;
	c0 = rate * round_ns / NSEC_PER_SEC; /* 2^37 * 2^26 */
	c0 = c0 < HIERCC_BYTES_MAX / 4 ? c0 : HIERCC_BYTES_MAX / 4 - 1;
	p->c0 = c0 > 2 * HIERCC_DELTA_BYTES ? c0 : 2 * HIERCC_DELTA_BYTES;
	p->rate_first = rate / 4 ? rate / 4 : 1;
	p->window_ns = round_ns;
	p->limit_ns = 64 * round_ns;
	p->idle_ns = 128 * round_ns;
	p->debt_max = (1 + HIERCC_BLIND_WINDOWS) * p->c0;
	p->epoch_ns = RX_COUNT_RTTS * round_ns;
	p->delta = HIERCC_DELTA_BYTES;
}

/*
 * Another C0 than the default, < HIERCC_BYTES_MAX / 2. Who obeys credit is due C0, and what it sends while messages
 * are late, at most: debt_max.
 */
static inline void hiercc_params_c0(struct hiercc_params *p, __u64 c0)
{
	c0 = c0 < HIERCC_BYTES_MAX / 2 ? c0 : HIERCC_BYTES_MAX / 2 - 1;
	p->debt_max = p->debt_max - p->c0 + c0;
	p->c0 = c0;
}

/* C0 holds at least two credits. */
static inline void hiercc_params_tune(struct hiercc_params *p, const struct hiercc_tuning *t)
{
	p->delta = t->delta ? t->delta : p->delta;
	if (p->c0 < 2 * p->delta)
		hiercc_params_c0(p, 2 * p->delta);
}

/* The total that has these low 32 bits and is nearest to another. */
static inline __u64 hiercc_unwrap(__u64 near, __u32 wire)
{
	return near + (__s64)(__s32)(wire - (__u32)near);
}

/* ---- Sender ToR ---- */

/*
 * A VOQ. CPUs share it: S is moved by fetch-and-add, credit and clock by compare-and-swap. The others are
 * hints that are stored one by one: who reads between two stores is off by one message, and only
 * for the packet at hand.
 */
struct hiercc_voq {
	__u64 sent;	 /* S: bytes that were given a departure */
	__u64 credit;	 /* C without C0: granted in all; C0 + credit - sent is left */
	__u64 clock_ns;	 /* when the last of its packets leaves */
	__u64 last_ns;	 /* arrival of the last packet; 0: none yet */
	__u64 credit_ns; /* when credit last got further, less what the message was late; or C0 was given */
	__u64 short_ns;	 /* since when packets have waited for credit that does not come; 0: none */
	__u64 rate;	 /* measured, bytes/s; 0: not known */
	__u64 mark;	 /* credit at mark_ns, when the rate was last measured; mark_ns 0: never */
	__u64 mark_ns;
	__u32 due;	 /* the port owed it more than it had to give, when the rate was measured and since */
	__u16 mark_at;	 /* when that credit was granted, by the port's clock, units of HIERCC_AT_NS */
	__u16 credit_at; /* likewise the last that got further */
	__u32 told;	 /* F as the receiver has heard it last, or is about to; 0: nothing yet */
	__u32 pad;
};

enum hiercc_sent {
	HIERCC_COVERED, /* credit was there; departs now or behind those who wait */
	HIERCC_WAITS,	/* until credit is expected */
	HIERCC_ALONE,	/* credits have stopped: departs now */
	HIERCC_LOST,	/* the clock was contended: departs now */
};

/* Begins a VOQ; now_ns > 0, as everywhere. */
static inline void hiercc_voq_init(struct hiercc_voq *v, __u64 now_ns)
{
	*v = (struct hiercc_voq){
		.sent = HIERCC_TOTAL_FIRST, .credit = HIERCC_TOTAL_FIRST, .last_ns = now_ns, .credit_ns = now_ns
	};
}

/* Back to C0. That two CPUs do so at once does no harm. */
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

/* Q_voq: bytes that were taken in and that credit does not cover, < HIERCC_BYTES_MAX. */
static inline __u32 hiercc_queue(const struct hiercc_voq *v, const struct hiercc_params *p)
{
	__u64 covered = v->credit + p->c0, sent = v->sent;

	if (sent <= covered)
		return 0;
	return sent - covered < HIERCC_BYTES_MAX ? sent - covered : HIERCC_BYTES_MAX - 1;
}

/* R_credit: the rate at which credit came last, bytes/s, > 0. */
static inline __u64 hiercc_credit_rate(const struct hiercc_voq *v, const struct hiercc_params *p)
{
	return v->rate ? v->rate : p->rate_first;
}

/* At which what waits at the limit leaves: as credit came, which for all VOQs is no more than the port's rate. */
static inline __u64 hiercc_limit_rate(const struct hiercc_voq *v, const struct hiercc_params *p)
{
	__u64 rate = hiercc_credit_rate(v, p), least = p->rate_first / 16 + 1;

	return rate > least ? rate : least;
}

/*
 * When credit for so many more bytes than there is is expected, at most limit_ns after credit first
 * lacked. What comes at the measured rate goes on from the last message, but not for longer than two
 * windows without one: with one window and a tenth of all messages lost the port had up to 22 KB at p99,
 * with two 7. Where that rate is what the VOQ sent and not its share, credit for what it sends now comes a
 * round trip later, at up to rate_first. bytes < 2^27: * 10^9 < 2^57.
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
 * A packet of so many wire bytes, < 2^20, enters the VOQ. *total: S after it, for its header;
 * *departure_ns: when it may leave, at most limit_ns from now, and maybe before others that came earlier: the caller
 * keeps those of one flow in order.
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
		/* The clock of another time, or of a limit that was longer, holds nobody. */
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
 * Behind hiercc_send(): whether this packet is not to wait, because it tells F, which has doubled. Its S is
 * ahead by all of the queue, and is not to look like a jump.
 */
static inline int hiercc_tells(struct hiercc_voq *v, const struct hiercc_params *p, __u32 flows)
{
	__u32 told = READ_ONCE(v->told);

	if (flows >= told && (flows < 2 * told || hiercc_queue(v, p) > p->debt_max - p->c0))
		return 0;
	v->told = flows;
	return flows > told;
}

enum hiercc_credit {
	HIERCC_CREDITED,
	HIERCC_OLD,   /* nothing new: repeated, or overtaken by a later one */
	HIERCC_AHEAD, /* more than was ever sent */
	HIERCC_RACED, /* another CPU took a message: the next one has it all */
};

/*
 * The rate from what was granted since the mark, at least window_ns / 4 ago: the first credit after a
 * pause only sets the mark, or the pause would count. got < 2^31, * 10^9 < 2^61.
 *
 * The time between is that of the port's clock, where that has not gone round and says more than its unit: by
 * arrival three late messages in a row were a quarter of the rate, and what was given a departure by that
 * kept it. With a tenth of all messages late the receiver's port had a queue of 72 KB at p99, not 19
 * (tests/sim/racks.c, reorder=0.1 at 100 Mbit/s and 4 ms; 6 without).
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
	if (!due) /* also where it is too early to measure: a pause may follow */
		v->due = 0;
	if (!passed || passed < p->window_ns / 4)
		return;
	got = credit - v->mark;
	sample = got < 1U << 31 ? got * NSEC_PER_SEC / passed : HIERCC_RATE_MAX - 1;
	sample = sample < HIERCC_RATE_MAX ? sample : HIERCC_RATE_MAX - 1;
	/* 2^37 * 2^26 < 2^63 */
	weight = passed < p->window_ns ? passed : p->window_ns;
	due_throughout = due && v->due; /* else it is not known for how long something was */
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
 * When the message would have come, had it taken as long as those before: else what waits is expected later, and
 * then leaves together. Each time 1/64 of the difference is forgotten, as clocks drift and paths change.
 */
static inline __u64 hiercc_came(const struct hiercc_voq *v, __u64 now_ns, __u16 at)
{
	__u64 passed = now_ns - v->credit_ns, late = passed - (__u64)(__u16)(at - v->credit_at) * HIERCC_AT_NS;

	if (!v->mark_ns || passed >= HIERCC_AT_NS << 15 || late > passed || late < HIERCC_AT_NS)
		return now_ns;
	return now_ns - late + late / 64;
}

/*
 * A message of the receiver: the low 32 bits of Csent, whether Csent < S still, there (the port has
 * less to give than is asked of it, and the rate is the VOQ's share), and when that was so, by the port's clock.
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

/* ---- Receiver ToR ---- */

/* What the data plane noted of a VOQ since the entry was made; begins as zeros. */
struct hiercc_seen {
	__u64 claim; /* S << 32 | F of the packet that is furthest */
	__u64 bytes; /* that arrived, in all */
	__u64 packets;
};

/*
 * A packet arrived, which says S (with itself) and F. One that was overtaken changes nothing; one that
 * is behind by reorder bytes or more is of a sender that began anew. CPUs share this: who loses the
 * race is in the bytes all the same, and the next packet says S again.
 */
static inline void hiercc_see(struct hiercc_seen *s, __u32 total, __u32 flows, __u32 bytes, __u32 packets,
			      __u32 reorder)
{
	__u64 new = (__u64)total << 32 | flows;
	int i;

	for (i = 0; i < HIERCC_TRIES; i++) {
		__u64 old = READ_ONCE(s->claim);
		__s64 ahead = (__s32)(total - (__u32)(old >> 32));

		if (READ_ONCE(s->bytes) && ahead < 0 && ahead > -(__s64)reorder)
			break;
		if (__sync_val_compare_and_swap(&s->claim, old, new) == old)
			break;
	}
	__sync_fetch_and_add(&s->bytes, bytes);
	__sync_fetch_and_add(&s->packets, packets);
}

/* A VOQ as its port keeps it; begins as zeros. Written by one thread. */
struct hiercc_due {
	__u64 sent;		 /* S; 0: nothing is known yet */
	__u64 granted;		 /* Csent: what the sender is told */
	__u64 bytes, packets;	 /* of hiercc_seen, as far as they have been judged */
	__u64 unseen;		 /* bytes of S that were not seen to arrive; 1/8 of what does is forgiven */
	__u64 epoch_ns;		 /* when this epoch began */
	__u32 in_epoch, in_last; /* packets */
	__u32 flows;		 /* F as believed, 1..RX_FLOWS_MAX */
	__u32 turn;		 /* bytes that are left of its turn in `round` */
	__u32 next;		 /* in the port's ring; its own index if it is alone */
	__u32 round;		 /* the last in which it had a turn; 0: none */
	__u8 listed;		 /* 1: it is in a ring of its port */
	__u8 pad[7];
};

/* A downstream port. Its two rings have the VOQs that are due credit, and only those. */
struct hiercc_port {
	__u64 rate;	  /* speed times eta, bytes/s, < HIERCC_RATE_MAX */
	__u64 budget;	  /* bytes that may be granted now */
	__u64 rest;	  /* of a byte, in 10^-9 */
	__u32 before;	  /* the VOQ before the one whose turn it is; HIERCC_NONE: the round is over */
	__u32 done;	  /* the last of those that have had all of this round; HIERCC_NONE: there are none */
	__u32 active;	  /* VOQs in both rings */
	__u32 round;	  /* > 0, of which both rings are */
	__u32 delta;	  /* one credit, bytes, as in hiercc_params */
};

static inline void hiercc_port_init(struct hiercc_port *port, __u64 rate)
{
	*port = (struct hiercc_port){ .rate = rate, .before = HIERCC_NONE, .done = HIERCC_NONE, .round = 1,
				     .delta = HIERCC_DELTA_BYTES };
}

enum hiercc_claim {
	HIERCC_LEARNED, /* S got further, or stayed */
	HIERCC_FIRST,	/* a VOQ that was not known, here or since a restart */
	HIERCC_JUMPED,	/* a sender that began anew, or a claim that cannot be */
	HIERCC_CUT,	/* more than the VOQ may be due was claimed */
};

/* A ring is known by its last one, whose next is the first; HIERCC_NONE: it is empty. */
static inline void hiercc_ring_add(__u32 *last, struct hiercc_due *voqs, __u32 i)
{
	if (*last == HIERCC_NONE) {
		voqs[i].next = i;
	} else {
		voqs[i].next = voqs[*last].next;
		voqs[*last].next = i;
	}
	*last = i;
}

/* Whether VOQ i was there. Looks from the first one on. */
static inline int hiercc_ring_remove(__u32 *last, struct hiercc_due *voqs, __u32 i)
{
	__u32 before = *last;

	if (before == HIERCC_NONE)
		return 0;
	while (voqs[before].next != i) {
		before = voqs[before].next;
		if (before == *last)
			return 0;
	}
	voqs[before].next = voqs[i].next;
	if (*last == i)
		*last = before == i ? HIERCC_NONE : before;
	return 1;
}

/* At the end of a ring: everybody else's turn comes first. Who comes back within a round has what was left of its turn. */
static inline void hiercc_enlist(struct hiercc_port *port, struct hiercc_due *voqs, __u32 i)
{
	struct hiercc_due *d = &voqs[i];

	if (d->listed)
		return;
	d->listed = 1;
	hiercc_ring_add(d->round == port->round && !d->turn ? &port->done : &port->before, voqs, i);
	port->active++;
}

/* Out of its ring. Who is not the first of this round is looked for in both. */
static inline void hiercc_unlist(struct hiercc_port *port, struct hiercc_due *voqs, __u32 i)
{
	struct hiercc_due *d = &voqs[i];

	if (!d->listed)
		return;
	if (!hiercc_ring_remove(&port->before, voqs, i))
		hiercc_ring_remove(&port->done, voqs, i);
	d->listed = 0;
	port->active--;
}

static inline void hiercc_count_packets(struct hiercc_due *d, const struct hiercc_params *p, __u64 now_ns,
					__u64 packets)
{
	if (now_ns - d->epoch_ns >= p->epoch_ns) {
		d->in_last = now_ns - d->epoch_ns < 2 * p->epoch_ns ? d->in_epoch : 0;
		d->in_epoch = 0;
		d->epoch_ns = now_ns;
	}
	packets += d->in_epoch;
	d->in_epoch = packets < RX_FLOWS_MAX ? packets : RX_FLOWS_MAX;
}

/*
 * All that was sent is taken as granted, except for the last `owed` bytes. What was claimed before and not seen to arrive is not
 * forgotten: a jump and a claim of debt_max, in turn, would be granted debt_max each time for two packets of any size.
 */
static inline void hiercc_begin(struct hiercc_due *d, const struct hiercc_params *p, __u32 total, __u64 owed)
{
	d->sent = HIERCC_TOTAL_FIRST + total;
	d->granted = d->sent - (owed < p->debt_max ? owed : p->debt_max);
}

/*
 * Judges what was noted of a VOQ since the last time; now_ns by a clock that does not go back. budget: bytes that
 * the port may grant by now, and many if its loop was late: its senders went on at their rates meanwhile.
 */
static inline enum hiercc_claim hiercc_judge(struct hiercc_due *d, const struct hiercc_params *p,
					     const struct hiercc_seen *seen, __u64 now_ns, __u64 budget)
{
	__u64 arrived, most, owed, late = budget < p->debt_max ? budget : p->debt_max;
	__u64 debt_max = p->debt_max + late / p->delta * p->delta;
	__u32 total = seen->claim >> 32, flows = seen->claim;
	enum hiercc_claim verdict = HIERCC_LEARNED;
	__s64 ahead;

	/* The data plane's entry was made anew: what it has is all new. */
	if (seen->bytes < d->bytes || seen->packets < d->packets)
		d->bytes = d->packets = 0;
	arrived = seen->bytes - d->bytes;
	hiercc_count_packets(d, p, now_ns, seen->packets - d->packets);
	d->bytes = seen->bytes;
	d->packets = seen->packets;
	most = d->in_epoch > d->in_last ? d->in_epoch : d->in_last;
	flows = flows < most ? flows : most;
	d->flows = flows > RX_FLOWS_MAX ? RX_FLOWS_MAX : flows ? flows : 1;

	ahead = (__s32)(total - (__u32)d->sent);
	if (!d->sent) {
		if (!arrived)
			return HIERCC_LEARNED;
		owed = total < p->c0 ? total : p->c0; /* all of it, of one that has only just begun */
		hiercc_begin(d, p, total, owed > arrived ? owed : arrived);
		verdict = HIERCC_FIRST;
	} else if (ahead < -(__s64)p->debt_max || ahead > (__s64)(arrived + p->debt_max)) {
		hiercc_begin(d, p, total, arrived);
		verdict = HIERCC_JUMPED;
	} else if (ahead > 0) {
		d->sent += ahead;
		d->unseen += ahead;
	}
	if (verdict == HIERCC_LEARNED) {
		__u64 forgiven = arrived + arrived / 8;

		d->unseen -= d->unseen < forgiven ? d->unseen : forgiven;
		/* What is too much is less than what S got ahead: Csent stays below S and a credit. */
		if (d->unseen > p->debt_max) {
			d->granted += d->unseen - p->debt_max;
			d->unseen = p->debt_max;
			verdict = HIERCC_CUT;
		}
		if (d->granted + debt_max < d->sent) {
			d->granted = d->sent - debt_max;
			verdict = HIERCC_CUT;
		}
	}
	return verdict;
}

/*
 * The same of VOQ i, which then is in the ring if it is due credit, after hiercc_budget(). voqs: all VOQs of the
 * port.
 */
static inline enum hiercc_claim hiercc_learn(struct hiercc_port *port, struct hiercc_due *voqs, __u32 i,
					     const struct hiercc_params *p, const struct hiercc_seen *seen,
					     __u64 now_ns)
{
	enum hiercc_claim verdict = hiercc_judge(&voqs[i], p, seen, now_ns, port->budget);

	if (voqs[i].granted < voqs[i].sent)
		hiercc_enlist(port, voqs, i);
	return verdict;
}

/*
 * Time has passed: credit leaves at the port's rate. A loop that was away for longer than HIERCC_NS_MAX
 * grants for so long.
 */
static inline void hiercc_budget(struct hiercc_port *port, __u64 elapsed_ns)
{
	__u64 more;

	if (elapsed_ns >= HIERCC_NS_MAX)
		elapsed_ns = HIERCC_NS_MAX - 1;
	more = port->rate * elapsed_ns + port->rest; /* < 2^37 * 2^26 + 2^30 */
	port->budget += more / NSEC_PER_SEC;
	port->rest = more % NSEC_PER_SEC;
}

/*
 * The next VOQ that is granted credit, or HIERCC_NONE when the budget or what is due is at its end: to
 * be called until then, after which the totals of those that were named are sent, and, because a message
 * may get lost, those of all that sent anything in the last epoch. WRR, interleaved: a round is F credits for each
 * VOQ, at most, and over when nobody is due any who has not had them; a call is one credit, or as many as an eighth of the
 * budget has: how what is told at once is divided within a round makes no difference. Each call is one VOQ of the ring, so the work is that of
 * the active ones. What nobody was due is not saved up, but for one credit.
 */
static inline __u32 hiercc_grant(struct hiercc_port *port, struct hiercc_due *voqs)
{
	struct hiercc_due *d;
	__u32 i, bytes, due, slice, delta = port->delta;

	if (port->before == HIERCC_NONE) {
		port->before = port->done;
		port->done = HIERCC_NONE;
		port->round++;
		port->round += !port->round;
	}
	if (port->before == HIERCC_NONE && port->budget > delta)
		port->budget = delta;
	if (port->before == HIERCC_NONE || port->budget < delta)
		return HIERCC_NONE;
	i = voqs[port->before].next;
	d = &voqs[i];
	if (d->round != port->round) {
		d->round = port->round;
		d->turn = d->flows * delta; /* < 2^14 * 2^16 */
	}
	/* Whole credits: what is due < 2^28. */
	due = d->sent > d->granted ? d->sent - d->granted : 0;
	due = (due + delta - 1) / delta * delta;
	bytes = due < d->turn ? due : d->turn;
	slice = port->budget / (8 * delta) * delta; /* budget < 2^34 */
	slice = slice ? slice : delta;
	bytes = bytes < slice ? bytes : slice;
	d->granted += bytes;
	d->turn -= bytes;
	port->budget -= bytes;
	if (d->granted >= d->sent) {
		hiercc_unlist(port, voqs, i);
	} else if (d->turn) {
		port->before = i;
	} else {
		hiercc_ring_remove(&port->before, voqs, i);
		hiercc_ring_add(&port->done, voqs, i);
	}
	return i;
}

/* ---- First hop ---- */

struct hiercc_hop_params {
	__u64 rate_line; /* R_line, bytes/s, < HIERCC_RATE_MAX */
	__u64 rate_min;	 /* R_min, (0, R_line] */
	__u64 rtt_ns;	 /* RTT_hop, > 0, < HIERCC_NS_MAX */
	__u64 period_ns; /* rates are measured, and R computed, so often: 1/beta RTT_hop */
	q24_t beta;	 /* (0, 1.0) */
	__u32 q0;	 /* bytes, all < HIERCC_BYTES_MAX */
	__u32 v_high;
	__u32 v_low;  /* q0 <= V_low < V_high */
	__u32 q_line; /* R is R_line while the queue is below this, [1, q0] */
};

struct hiercc_hop {
	__u64 rate;    /* R, bytes/s; 0 while stopped */
	__u64 before;  /* R before the stop */
	__u64 mark;    /* S at mark_ns */
	__u64 mark_ns; /* 0: never */
	__u64 arrive;  /* R_arrive, bytes/s */
	__u32 stopped;
	__u8 settling; /* R is on its way to the senders: mark is to be set when it is there */
	__u8 resumed;  /* R has not been computed since the last stop */
	__u16 pad;
};

/*
 * Section 5, where 25 Gbit/s and 12 us are a BDP of 37.5 KB: q0 20 KB, V_high 70 KB, V_low 50 KB, beta
 * 0.2. R_min is one in 100. bdp: bytes, of the host's link and the RTT end to end.
 */
static inline void hiercc_hop_params_init(struct hiercc_hop_params *p, __u64 rate_line, __u64 rtt_ns, __u64 bdp)
{
	bdp = bdp < HIERCC_BYTES_MAX / 2 ? bdp : HIERCC_BYTES_MAX / 2 - 1;
	p->rate_line = rate_line < HIERCC_RATE_MAX ? rate_line : HIERCC_RATE_MAX - 1;
	p->rate_line = p->rate_line ? p->rate_line : 1;
	p->rate_min = p->rate_line / 100 ? p->rate_line / 100 : 1;
	p->rtt_ns = rtt_ns < 1 ? 1 : rtt_ns < HIERCC_NS_MAX ? rtt_ns : HIERCC_NS_MAX - 1;
	p->period_ns = 5 * p->rtt_ns;
	p->beta = Q24_ONE / 5;
	p->q0 = bdp * 8 / 15;
	p->v_high = bdp * 28 / 15;
	p->v_low = bdp * 4 / 3;
	p->q_line = 1;
}

/* R is computed when a change of it has taken effect: every 1/beta round trips. */
static inline void hiercc_hop_tune(struct hiercc_hop_params *p, const struct hiercc_tuning *t)
{
	if (t->beta) {
		p->beta = t->beta;
		p->period_ns = (p->rtt_ns << 24) / t->beta;
	}
	p->q0 = t->q0 ? t->q0 : p->q0;
	p->v_high = t->v_high ? t->v_high : p->v_high;
	p->v_low = t->v_low ? t->v_low : p->v_low;
	/* One that is set may have passed a default that follows from the BDP. */
	if (p->v_low < p->q0)
		p->v_low = p->q0;
	if (p->v_high <= p->v_low)
		p->v_high = p->v_low + 1;
}

static inline void hiercc_hop_init(struct hiercc_hop *h, const struct hiercc_hop_params *p)
{
	*h = (struct hiercc_hop){ .rate = p->rate_line, .before = p->rate_line };
}

/*
 * R_arrive from S: whether a period is over and R is to be computed. The first RTT_hop of a period is not
 * measured: what arrives then was sent at the R before, and N = R_arrive / R would be of two rates.
 * arrived < 2^31, * 10^9 < 2^61.
 */
static inline int hiercc_arrival(struct hiercc_hop *h, const struct hiercc_hop_params *p, __u64 now_ns, __u64 sent)
{
	__u64 passed = now_ns - h->mark_ns, arrived = sent - h->mark;
	int known = h->mark_ns && now_ns >= h->mark_ns;

	if (known && h->settling && passed >= p->rtt_ns) {
		h->settling = 0;
		h->mark = sent;
		h->mark_ns = now_ns;
		return 0;
	}
	if (known && (h->settling || passed < p->period_ns - p->rtt_ns))
		return 0;
	h->arrive = 0;
	if (known && passed && arrived < 1U << 31) {
		h->arrive = arrived * NSEC_PER_SEC / passed;
		h->arrive = h->arrive < HIERCC_RATE_MAX ? h->arrive : HIERCC_RATE_MAX - 1;
	}
	h->mark = sent;
	h->mark_ns = now_ns;
	h->settling = 1;
	return 1;
}

/*
 * The queue alone, with every packet: stops the senders above V_high and resumes below V_low with the
 * rate of before. Returns R, 0 for a stop.
 */
static inline __u64 hiercc_stop(struct hiercc_hop *h, const struct hiercc_hop_params *p, __u32 q_voq)
{
	if (!h->stopped && q_voq > p->v_high) {
		h->stopped = 1;
		h->before = h->resumed ? h->rate / 2 : h->rate;
		if (h->before < p->rate_min)
			h->before = p->rate_min;
		h->rate = 0;
	} else if (h->stopped && q_voq < p->v_low) {
		h->stopped = 0;
		h->resumed = 1;
		h->rate = h->before;
		h->mark_ns = 0;
	}
	return h->rate;
}

/*
 * Equation 1, once a period: R for each flow of the VOQ, bytes/s. credit: R_credit; q_voq: hiercc_queue().
 * |Q - q0| < 2^28, * beta < 2^52, >> 24, * 10^9 < 2^58; R * step < 2^37 * 2^26.
 */
static inline __u64 hiercc_rate(struct hiercc_hop *h, const struct hiercc_hop_params *p, __u32 q_voq, __u64 credit)
{
	__u64 off = q_voq < p->q0 ? p->q0 - q_voq : q_voq - p->q0, drain, step;

	hiercc_stop(h, p, q_voq);
	if (h->stopped)
		return 0;
	if (q_voq < p->q_line) {
		h->rate = h->rate < p->rate_line / 4 ? 4 * h->rate : p->rate_line;
		return h->rate;
	}
	if (!h->arrive)
		return h->rate;
	h->resumed = 0;
	drain = ((off * p->beta + Q24_ONE / 2) >> 24) * NSEC_PER_SEC / p->rtt_ns;
	if (q_voq < p->q0)
		step = q24_ratio(credit + drain, h->arrive);
	else
		step = drain < credit ? q24_ratio(credit - drain, h->arrive) : 0;
	step = step < 4 * Q24_ONE ? step : 4 * Q24_ONE;
	step = step > Q24_ONE / 4 ? step : Q24_ONE / 4;
	h->rate = h->rate * step >> 24;
	if (h->rate > p->rate_line)
		h->rate = p->rate_line;
	if (h->rate < p->rate_min)
		h->rate = p->rate_min;
	return h->rate;
}

#endif
