/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CEILING_H
#define SLUICE_CEILING_H
/*
 * The ceiling of W: what no hop reports. A port that stamps nothing, such as a hardware switch behind hosts that stamp
 * their uplinks, shows its queue in the delay and its end in losses. Algorithm 1 (hpcc.h) stays as it is, and W is
 * never above the ceiling; a flow whose hops explain what it sees has none.
 *
 *  1. The delay that counts is the round trip of a companion, less the queues that its hops report, less the least
 *     round trip of the last CEILING_ROUNDS rounds or T if that is less. No queue is subtracted from that least: where
 *     each flow has a queue of its own (fq_codel) a companion overtakes the queue that its hop reports. Only the way there
 *     counts: the reply has the receiver's clock, and of two replies the difference between the clocks cancels out. Without
 *     that clock both ways count.
 *  2. Each such delay d is held against a target D, T / 5 and no less than what hosts add. (T + D) / (T + d) takes the bytes
 *     under way to those of D at once; the ceiling goes half of that way, because a stack sends a packet or two more than
 *     W, and 16 flows of two packets swung between 0 and 1.3 BDP with all of it. W_AI is added, by which flows become
 *     equal. Like W it is computed with each reply, from a reference that is committed once in a round trip. A ceiling begins
 *     with two d in a row above D, from W, and ends at W_init.
 *  3. While a stamped hop is full and has a queue, delay and loss are its own (`told`): d is at most D.
 *  4. A delay that does not fall while the ceiling falls to a quarter, and to a quarter of the share of N flows, is not the
 *     flow's own: T is too small, the route is longer, or others fill the queue. It counts as part of T for a while, twice as
 *     long each time. A flow that begins with more than its share falls to that while the others keep the queue.
 *  5. Of a window more than CEILING_LOSS_PERCENT lost halve it, once per window, and for some rounds only W_AI is added.
 *     After a retransmission timeout W is one packet, and doubles with each round.
 *  6. A flow to a host whose flows were cut within CEILING_REMEMBERED_NS has its first window as its ceiling, which
 *     doubles with each round.
 *
 * docs/simulator.md has figures.
 */
#include "sluice/cc/companion.h"
#include "sluice/cc/hpcc_state.h"

#define CEILING_SHARE 5		/* D = T / 5 */
#define CEILING_NOISE_NS 50000U /* least D: interrupts and timers of two hosts */
#define CEILING_ROUNDS 256	/* of one of the two minima of the round trip */
#define CEILING_TOLD_ROUNDS 3	/* for which a full stamped hop explains delay and loss */
#define CEILING_TOLD_SHARE 32	/* its queue is T / 32 or more */
#define CEILING_DEAF_ROUNDS 16	/* in which a delay does not fall by a tenth */
#define CEILING_DEAF_SHARE 4	/* although the ceiling has fallen to a quarter, of that and of its share */
#define CEILING_DEAF_RTTS 8	/* most that counts as part of T, in T */
#define CEILING_AWAY_ROUNDS 512 /* for which it does so at first */
#define CEILING_AWAY_TIMES 5
#define CEILING_LOSS_PERCENT 2
#define CEILING_LOSS_ROUNDS 8 /* in which the ceiling grows by W_AI alone */
#define CEILING_CLOCK_SHIFT 6 /* unit of clocks: 64 ns */
#define CEILING_REMEMBERED_NS (60 * NSEC_PER_SEC)

/* The reply of one companion. */
struct ceiling_sample {
	__u64 seq;	/* position that it names */
	__u64 snd_nxt;	/* position after what has left */
	q12_t w;	/* W in force */
	__u32 rtt_ns;	/* its round trip; 0: not known, or no delay */
	__u32 queue_ns; /* of that in queues of stamped hops */
	__u32 there;	/* receiver's clock less the sender's when it left, units of 64 ns */
	__u32 clock;	/* 1: `there` is known */
	__u32 full;	/* 1: a stamped hop has U >= eta */
	__u32 flows;	/* N, as the receiver told it; 0: not told */
};

/* Written under the flow's lock. */
struct ceiling {
	q12_t w;	   /* the ceiling; 0: none */
	q12_t ref;	   /* the reference from which it is computed; 0: none */
	__u64 end;	   /* position that ends the round */
	__u32 delay_ns;	   /* the last delay */
	__u32 least_ns[2]; /* least round trip in this half of the rounds and in the one before; 0: none */
	__u32 there[2];	   /* ceiling_sample.there of these */
	q12_t deaf_w;	   /* the ceiling when the delay had last fallen; 0: the delay is not above D */
	__u32 deaf_ns;	   /* least delay since deaf_w */
	__u32 away_ns;	   /* counts as T while away_rounds is not 0 */
	__u32 by_delay;	   /* cuts */
	__u32 by_loss;
	__u32 by_timeout;
	__u16 rounds; /* of the half */
	__u16 away_rounds;
	__u8 deaf_rounds;
	__u8 away_times; /* doublings of CEILING_AWAY_ROUNDS */
	__u8 told;	 /* rounds left for which a stamped hop explains what is seen */
	__u8 lossy;	 /* rounds left without growth by delay */
	__u8 slow;	 /* 1: it doubles with each round, until it is cut */
};

/* D, ns. */
static inline __u32 ceiling_target_ns(const struct hpcc_params *p)
{
	__u64 ns = p->t_ns / CEILING_SHARE;

	return ns > CEILING_NOISE_NS ? ns : CEILING_NOISE_NS;
}

static inline int ceiling_was_cut(const struct ceiling *c)
{
	return c->by_delay || c->by_loss || c->by_timeout;
}

/* Rule 6: w is the first window. */
static inline void ceiling_begin(struct ceiling *c, const struct hpcc_params *p, q12_t w)
{
	c->w = c->ref = w;
	c->slow = w < p->w_init;
}

/*
 * Under a ceiling a companion leaves with each third of a window, but at least two packets and at most the usual number
 * apart, without waiting for T, and after T with any packet: flows of two packets and of thirty have about as many rounds.
 */
static inline void ceiling_companions(const struct ceiling *c, struct companion_params *due)
{
	__u64 third = (c->w >> 12) / 3;

	due->between = third < due->after ? due->after : third < due->between ? third : due->between;
	due->every_ns /= 4;
	due->late_ns /= 2;
}

/*
 * R under a ceiling. A window is acknowledged a queue later, so it slows a flow down at once when the queue grows. A flow
 * without a window, or with one of two packets or less, which a stack cannot make smaller, is slowed down by R; with a window by
 * half of that: R answers the queue of one or two round trips ago, and 16 flows of two packets swung with a period of 8 T.
 */
static inline __u64 ceiling_rate_bps(const struct ceiling *c, const struct hpcc_params *p, q12_t w, int windowed)
{
	q12_t two = q12_from_bytes(2 * p->packet);
	__u64 delay = c->delay_ns < CEILING_DEAF_RTTS * p->t_ns ? c->delay_ns : CEILING_DEAF_RTTS * p->t_ns;

	if (windowed && two && w > two)
		delay = delay * (two >> 12) / (w >> 12);
	if (windowed)
		delay /= 2;
	return hpcc_rate_bps(w, p->t_ns + delay);
}

/*
 * W and R below the ceiling, if there is one. Additive increases of Algorithm 1 do not hold W there: while U is below eta
 * W is the ceiling.
 */
static inline void ceiling_apply(const struct ceiling *c, const struct hpcc_params *p, struct hpcc_state *st,
				 int windowed)
{
	if (!c->w)
		return;
	if (st->u < p->eta)
		st->w = st->wc = c->w;
	hpcc_cap(st, p, c->w);
	st->rate_bps = ceiling_rate_bps(c, p, st->w, windowed);
}

/* Another path: what is known of its delay is void. */
static inline void ceiling_forget(struct ceiling *c)
{
	c->least_ns[0] = c->least_ns[1] = 0;
	c->rounds = c->away_rounds = 0;
	c->deaf_w = 0;
}

/* Index of the smaller of the two minima. */
static inline int ceiling_least(const struct ceiling *c)
{
	return c->least_ns[1] && (!c->least_ns[0] || c->least_ns[1] < c->least_ns[0]);
}

/* The round trip that is no delay, where least_ns is the smaller minimum. */
static inline __u64 ceiling_base_ns(const struct ceiling *c, const struct hpcc_params *p, __u32 least_ns)
{
	__u64 base = least_ns < p->t_ns ? least_ns : p->t_ns;

	return c->away_rounds && c->away_ns > base ? c->away_ns : base;
}

/*
 * Rule 1: the delay on the way there that no hop reports, ns, or without a clock that of both ways. `there` counts 64 ns modulo 2^32,
 * and its difference is right up to 137 s; a clock that jumped gives a difference beyond the round trip's, which is less.
 */
VERIFIED_ONCE __u32 ceiling_delay(struct ceiling *c, const struct hpcc_params *p, const struct ceiling_sample *s)
{
	__u32 queue, rtt, there, delay;
	__s64 forward;
	__u64 base;
	int i;

	if (!c || !p || !s)
		return 0;
	if (!c->least_ns[0] || s->rtt_ns < c->least_ns[0]) {
		c->least_ns[0] = s->rtt_ns;
		c->there[0] = s->there;
	}
	queue = s->queue_ns < s->rtt_ns ? s->queue_ns : s->rtt_ns;
	rtt = s->rtt_ns - queue;
	there = s->there - (queue >> CEILING_CLOCK_SHIFT);
	i = ceiling_least(c);
	base = ceiling_base_ns(c, p, c->least_ns[i]);
	if (rtt <= base)
		return 0;
	delay = rtt - base;
	if (!s->clock)
		return delay;
	/* The least round trip was c->least_ns[i] - base too long at that time, some of it on the way there. */
	forward = ((__s64)(__s32)(there - c->there[i]) * (1 << CEILING_CLOCK_SHIFT)) + c->least_ns[i] - (__s64)base;
	if (forward < 0)
		return 0;
	return forward < delay ? forward : delay;
}

/* Whether the ceiling has fallen so far that a delay of its own would have fallen too. flows: N; 0: not told. */
static inline int ceiling_is_low(const struct ceiling *c, const struct hpcc_params *p, __u32 flows)
{
	return c->w <= hpcc_floor(p) ||
	       (c->w <= c->deaf_w / CEILING_DEAF_SHARE && c->w * flows < p->w_init / CEILING_DEAF_SHARE);
}

/* Rule 4. d: the delay of the round, above D. */
static inline void ceiling_hear(struct ceiling *c, const struct hpcc_params *p, __u32 d, __u32 flows)
{
	__u64 base, most = CEILING_DEAF_RTTS * p->t_ns;

	if (!c->deaf_w || d < c->deaf_ns - c->deaf_ns / 10) {
		c->deaf_w = c->w;
		c->deaf_ns = d;
		c->deaf_rounds = 0;
		return;
	}
	c->deaf_rounds += c->deaf_rounds < 255;
	if (c->deaf_rounds < CEILING_DEAF_ROUNDS || !ceiling_is_low(c, p, flows))
		return;
	base = ceiling_base_ns(c, p, c->least_ns[ceiling_least(c)]) + c->deaf_ns;
	c->away_ns = base < most ? base : most;
	c->away_rounds = CEILING_AWAY_ROUNDS << c->away_times;
	c->away_times += c->away_times < CEILING_AWAY_TIMES;
	c->deaf_w = 0;
}

/* W_AI, less of it if the receiver told of more flows: the port that is silent need not be one by which N is known. */
static inline q12_t ceiling_step(const struct hpcc_params *p, __u32 flows)
{
	q12_t w_ai = flows ? hpcc_w_ai(p, flows + flows / 2) : p->w_ai;

	return w_ai < p->w_ai ? w_ai : p->w_ai;
}

/* The ceiling that follows from the reference and the delay d. w_init < 2^39, m < 2^12 */
VERIFIED_ONCE q12_t ceiling_wind(const struct ceiling *c, const struct hpcc_params *p, __u32 d, __u32 flows)
{
	__u64 most, m;

	if (!c || !p || !p->t_ns)
		return 0;
	most = ceiling_target_ns(p);
	m = ((p->t_ns + most) << 10) / (p->t_ns + d);
	m = (1024 + (m < 1280 ? m : 1280)) / 2;
	if (c->slow && d <= most)
		m = 2048;
	if (c->lossy && m > 1024)
		m = 1024;
	return hpcc_clamp((c->ref * m >> 10) + ceiling_step(p, flows), hpcc_floor(p), p->w_init);
}

/* The end of a round with the delay d. Returns whether the delay is above D. */
VERIFIED_ONCE int ceiling_commit(struct ceiling *c, const struct hpcc_params *p, __u32 d, __u32 flows)
{
	if (!c || !p)
		return 0;
	if (++c->rounds >= CEILING_ROUNDS) {
		c->rounds = 0;
		c->least_ns[1] = c->least_ns[0];
		c->there[1] = c->there[0];
		c->least_ns[0] = 0;
	}
	c->away_rounds -= !!c->away_rounds;
	c->told -= !!c->told;
	c->lossy -= !!c->lossy;
	c->ref = c->w;
	if (d <= ceiling_target_ns(p) || !c->ref) {
		c->deaf_w = 0;
		if (c->w >= p->w_init) {
			c->w = c->ref = 0;
			c->slow = 0;
		}
		return 0;
	}
	c->slow = 0;
	c->by_delay++;
	ceiling_hear(c, p, d, flows);
	return 1;
}

/*
 * Takes a reply. Returns whether a round ends in which W was cut; W is to be at most c->w, if that is not 0.
 */
VERIFIED_ONCE int ceiling_feedback(struct ceiling *c, const struct hpcc_params *p, const struct ceiling_sample *s)
{
	__u32 d, last;

	if (!c || !p || !s || !p->t_ns)
		return 0;
	if (s->full && s->queue_ns >= p->t_ns / CEILING_TOLD_SHARE)
		c->told = CEILING_TOLD_ROUNDS;
	if (!s->rtt_ns)
		return 0;
	d = ceiling_delay(c, p, s);
	last = c->delay_ns;
	c->delay_ns = d;
	if (c->told && d > ceiling_target_ns(p))
		d = ceiling_target_ns(p);
	if (!c->ref && d > ceiling_target_ns(p) && last > ceiling_target_ns(p))
		c->ref = s->w;
	if (c->ref)
		c->w = ceiling_wind(c, p, d, s->flows);
	if (s->seq <= c->end)
		return 0;
	c->end = s->snd_nxt;
	return ceiling_commit(c, p, d, s->flows);
}

/* Rule 5: more of a window than CEILING_LOSS_PERCENT was lost. Returns whether W is cut. */
static inline int ceiling_lost(struct ceiling *c, const struct hpcc_params *p, q12_t w)
{
	if (c->told)
		return 0;
	w = c->w && c->w < w ? c->w : w;
	c->w = c->ref = w / 2 > hpcc_floor(p) ? w / 2 : hpcc_floor(p);
	c->slow = 0;
	c->lossy = CEILING_LOSS_ROUNDS;
	c->by_loss++;
	return 1;
}

/* Rule 5: a retransmission timeout. */
static inline void ceiling_timeout(struct ceiling *c, const struct hpcc_params *p, q12_t w)
{
	q12_t packet = q12_from_bytes(p->packet);

	c->slow = 1;
	c->w = c->ref = packet < w ? packet : w;
	c->by_timeout++;
}

#endif
