/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_H
#define SLUICE_PPFC_H
/*
 * P-PFC (TPDS 2020, "P-PFC: Reducing Tail Latency with Predictive PFC in Lossless Data Center Networks"), in
 * integers: a switch sees from the growth of its queues that its buffer will run out, and pauses the ports that fill it
 * before standard PFC (pfc.h) would.
 *
 *  1. Prediction (Algorithm 1): ppfc_predict() marks the egress queues that are acted on.
 *  2. Choice (Algorithm 2): ppfc_choose() draws ingress ports by their share of such a queue.
 *  3. Duration (Algorithm 3): ppfc_duration(), never above the bound of Theorem 3.2; ppfc_tell() notes it.
 *
 * A queue belongs to an egress port and priority; its bytes are counted by ingress port. All counts are wire bytes.
 * This is the algorithm in rounds, as the paper has it; the simulator runs it so. The data plane runs the same when a
 * packet is enqueued (arrive.h).
 *
 * Open in the paper, and done here (numbers: simulated, 40 Gbit/s, 4 MB shared, 16:1 of 1 MB, senders that keep their
 * rate, T = 200 us, where not said otherwise; PFC alone: 3974 KB):
 *  - remaining is printed as space / increment: intervals. Here it is ns, by the time that was
 *    measured: a loop that comes late sees a larger increment, not a faster one.
 *  - A paused port does not grow, but it will after the pause: its earlier growth is expected back (ppfc_returning()),
 *    however long the pause. Without it a queue of ports that come and go by ones and twos grows too slowly to be seen
 *    until the buffer is nearly full: 3050 KB, not 604. If only pauses that end within T are counted, T has to be
 *    longer than a pause, which is as long as the queue: with Equation 5 3635 KB, not 1384.
 *  - T: Equation 5 is the time of the worst congestion, all ports into one, and growth measured a little below that is
 *    not acted on before the buffer is half full. The paper's 100 us are twice Equation 5 of its 4 MB shared, and
 *    nearly once that of its 9 MB, most of which is headroom. The default is twice Equation 5 of the actual buffer
 *    (decisions at packet arrival, see arrive.h; 40 Gbit/s; senders begin within 0, 50 and 300 us; DCQCN as in Table 3;
 *    means of five):
 *
 *      T, by Equation 5   16:1, largest queue, KB    pauses of DCQCN at 4:1, 6:1, 16:1
 *      1                  2002, 2178, 2656           0, 0, 16
 *      1.5                768, 1214, 1824            0, 0, 16
 *      2, the default     689, 852, 1262             0, 0, 29
 *      3                  679, 733, 834              0, 6, 29
 *
 *    A queue of PFC has 3945 to 4006 KB there.
 *  - The paper does not say which queue is to blame when the whole buffer is predicted to run out; taken literally, any
 *    above K_max. Here queues are taken by growth, fastest first, until the growth of the others would not use the
 *    buffer up within T: so 4:1 beside 16:1 is left alone (section 5.4), though it is above K_max. Bytes that leave the
 *    taken queues, which nobody adds to, make room for the others (ppfc_leaving()). A queue that gets shorter is not
 *    acted on, whatever is expected.
 *  - increment is the growth of the port's bytes in this queue, not of its ingress counter: a port that fills another
 *    queue meanwhile is not to blame for this one.
 *  - A candidate grows by more than 0. Algorithm 2 has "> 1" (packets), section 4.3 "negative is ruled
 *    out".
 *  - Algorithm 2 does not end if the growing ports hold less than R. Ports are drawn without replacement, those that do
 *    not grow count for R, too, and paused ones are not told again: so one round draws R of the queue, and a loop that
 *    is faster than the pause's round trip does not pause all ports by and by.
 *  - Transmission_speed is not defined. With the egress port's speed, a port with 1/n of the queue is paused for the
 *    time in which 1/n of the queue leaves, all come back when it has hardly got shorter, and standard PFC does the
 *    work: 3855 KB. A port's bytes leave at its share of that speed, bytes / q. Longer pauses for larger shares (bytes
 *    * ports / speed) were tried: then ports with small shares are back sooner and told as often as others: rank
 *    correlation with the share 0.0, not 0.9 (Figure 9; T = 100 us: 0.3; 100 Mbit/s: 0.6).
 *  - increment/speed is to "absorb the packets in flight", which are those of the round trip, 2 d, not those of an
 *    interval: increment * 2 d / elapsed.
 *  - d of Theorem 3.2 is the one-way delay of the pause, without the interval: with half of that included, 1 ms at 100
 *    Mbit/s cost 8 % of the throughput. v and q are those of the queue, v_r the speed of the egress port. If that is
 *    paused itself, v_r is less, and the bound errs on the safe side. The pause is rounded up to quanta, but stays
 *    below the bound: less than a quantum is no pause.
 *  - A port already paused by standard PFC is not paused again: its XON would come before our pause ends.
 *  - Random numbers: xorshift64*, from splitmix64 of the seed. The same calls give the same ports.
 */
#include "sluice/pause/pfc.h"
#include "sluice/verifier.h"

#define PPFC_NEVER (~0ULL)
#define PPFC_BUFFER_MAX (1ULL << 32)
#define PPFC_T_TIMES 2 /* T_thresh, by Equation 5 */

struct ppfc_params {
	__u64 t_thresh_ns; /* T_thresh: act if the buffer lasts for less; < PFC_NS_MAX */
	__u64 d_ns;	   /* from the decision until the neighbour stops, < PFC_NS_MAX */
	q24_t r;	   /* R, (0, 1.0] */
	__u32 k_max;	   /* an egress queue up to this is left alone, < PFC_BYTES_MAX */
	__u32 pad;
};

/* Equation 5: the time in which all ports at full speed fill the buffer. 2^32 * 2^23 / kbit/s. */
static inline __u64 ppfc_t_min(__u64 buffer, __u32 ports, __u64 bps)
{
	__u64 kbps = bps / 1000 * ports, ns;

	buffer = buffer < PPFC_BUFFER_MAX ? buffer : PPFC_BUFFER_MAX - 1;
	ns = kbps ? buffer * 8000000 / kbps : PFC_NS_MAX;
	return ns < PFC_NS_MAX ? ns : PFC_NS_MAX - 1;
}

/* The default of T_thresh: see above. */
static inline __u64 ppfc_t_usual(__u64 buffer, __u32 ports, __u64 bps)
{
	__u64 ns = PPFC_T_TIMES * ppfc_t_min(buffer, ports, bps);

	return ns < PFC_NS_MAX ? ns : PFC_NS_MAX - 1;
}

/*
 * Table 2: R 80 %, K_max that of ECN there, 200 KB of 4 MB. shared: the buffer without what is reserved for
 * headroom; all: with it.
 */
static inline void ppfc_params_init(struct ppfc_params *p, __u64 shared, __u64 all, __u32 ports, __u64 bps, __u64 d_ns)
{
	*p = (struct ppfc_params){ .t_thresh_ns = ppfc_t_usual(all, ports, bps),
				   .d_ns = d_ns < PFC_NS_MAX ? d_ns : PFC_NS_MAX - 1,
				   .r = Q24_ONE * 4 / 5,
				   .k_max = shared / 20 < PFC_BYTES_MAX ? shared / 20 : PFC_BYTES_MAX - 1 };
}

/* ---- Algorithm 1 ---- */

/* An egress port and priority, in one round. */
struct ppfc_queue {
	__u64 bps;	 /* of the egress port, < PFC_BPS_MAX */
	__s64 increment; /* growth since the last round, |x| < PFC_BYTES_MAX */
	__s64 returning; /* growth to be added when pauses end, in the time of a round: ppfc_returning() */
	__u32 bytes;	 /* < PFC_BYTES_MAX */
	__u16 taken;	 /* result: is to blame */
	__u16 acts;	 /* result: Algorithms 2 and 3 are to be run */
};

/* How long the free buffer lasts, ns; PPFC_NEVER if it does not get less. 2^32 * 2^31. */
static inline __u64 ppfc_remaining(__u64 free, __s64 increment, __u64 elapsed_ns)
{
	if (increment <= 0)
		return PPFC_NEVER;
	free = free < PPFC_BUFFER_MAX ? free : PPFC_BUFFER_MAX - 1;
	elapsed_ns = elapsed_ns < PFC_NS_MAX ? elapsed_ns : PFC_NS_MAX - 1;
	return free * elapsed_ns / increment;
}

static inline __s64 ppfc_growth(const struct ppfc_queue *q)
{
	return q->increment + q->returning;
}

/* Whether a pause of P-PFC is in force. One longer than the maximum comes from a clock that has jumped back. */
static inline int ppfc_pauses(const struct pfc_told *t, __u64 now_ns)
{
	return t->predict_ns > now_ns && t->predict_ns - now_ns < PFC_NS_MAX;
}

/* Growth that a paused port will add when its pause ends: its earlier growth, instead of its current increment. */
VERIFIED_ONCE __s64 ppfc_returning(const struct pfc_told *t, __u64 now_ns, __s64 increment, __u64 elapsed_ns)
{
	__u64 then;

	if (!t || !ppfc_pauses(t, now_ns))
		return 0;
	elapsed_ns = elapsed_ns < PFC_NS_MAX ? elapsed_ns : PFC_NS_MAX - 1;
	then = t->kbps * elapsed_ns / 8000000; /* 2^32 * 2^31 */
	then = then < PFC_BYTES_MAX ? then : PFC_BYTES_MAX - 1;
	return (__s64)then > increment ? (__s64)then - increment : 0;
}

/*
 * Bytes that leave a queue in the time of a round, if nobody adds to it for T_thresh: its length, at most at the port's
 * speed. 2^30 * 2^31.
 */
VERIFIED_ONCE __s64 ppfc_leaving(const struct ppfc_queue *q, const struct ppfc_params *p, __u64 elapsed_ns)
{
	__u64 ns;

	if (!q || !p)
		return 0;
	ns = pfc_bytes_ns(q->bytes, q->bps);
	elapsed_ns = elapsed_ns < PFC_NS_MAX ? elapsed_ns : PFC_NS_MAX - 1;
	ns = ns > p->t_thresh_ns ? ns : p->t_thresh_ns;
	return ns ? q->bytes * elapsed_ns / ns : 0;
}

/* free: bytes of the shared buffer. Returns the number of queues that are acted on. */
static inline __u32 ppfc_predict(struct ppfc_queue *queues, __u32 count, const struct ppfc_params *p, __u64 free,
				 __u64 elapsed_ns)
{
	__u32 i, k, acts = 0;
	__s64 total = 0;

	for (i = 0; i < count; i++) {
		queues[i].taken = queues[i].acts = 0;
		total += ppfc_growth(&queues[i]);
	}
	for (k = 0; k < count && ppfc_remaining(free, total, elapsed_ns) < p->t_thresh_ns; k++) {
		struct ppfc_queue *worst = 0;

		for (i = 0; i < count; i++) {
			if (!queues[i].taken && (!worst || ppfc_growth(&queues[i]) > ppfc_growth(worst)))
				worst = &queues[i];
		}
		if (!worst) /* unreachable: k were taken */
			break;
		/* A queue that is not acted on, because it shrinks or is short, can be to blame too. */
		worst->taken = 1;
		total -= ppfc_growth(worst) + ppfc_leaving(worst, p, elapsed_ns);
		worst->acts = worst->bytes > p->k_max && worst->increment > 0;
		acts += worst->acts;
	}
	return acts;
}

/* ---- Algorithm 2 ---- */

/* The share of an ingress port in an egress queue, in one round. */
struct ppfc_share {
	__s64 increment; /* growth since the last round, |x| < PFC_BYTES_MAX */
	__u32 bytes;	 /* < PFC_BYTES_MAX, and so is the sum over a queue */
	__u32 drawn;	 /* result */
};

struct ppfc_random {
	__u64 state; /* not 0 */
};

static inline void ppfc_seed(struct ppfc_random *r, __u64 seed)
{
	seed += 0x9e3779b97f4a7c15ULL;
	seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ULL;
	seed = (seed ^ seed >> 27) * 0x94d049bb133111ebULL;
	seed ^= seed >> 31;
	r->state = seed ? seed : 1;
}

/* Uniform in [0, below), below > 0. */
static inline __u32 ppfc_draw(struct ppfc_random *r, __u32 below)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (r->state * 0x2545f4914f6cdd1dULL >> 32) * below >> 32;
}

/* Clears all draws; returns the sum of the shares. */
static inline __u64 ppfc_draw_begin(struct ppfc_share *shares, __u32 count)
{
	__u64 queue = 0;
	__u32 i;

	for (i = 0; i < count; i++) {
		shares[i].drawn = 0;
		queue += shares[i].bytes;
	}
	return queue;
}

/* Whether the drawn ports, which hold `held` bytes of the queue, are too few. queue < 2^30, << 24. */
static inline int ppfc_draws_on(__u64 held, __u64 queue, const struct ppfc_params *p)
{
	return held < queue && held << 24 <= queue * p->r;
}

/* Draws the port that holds byte `at` among the undrawn ports. Returns its bytes; 0: `at` is beyond all. */
static inline __u32 ppfc_draw_at(struct ppfc_share *shares, __u32 count, __u32 at)
{
	__u32 i;

	for (i = 0; i < count; i++) {
		if (shares[i].drawn)
			continue;
		if (at < shares[i].bytes) {
			shares[i].drawn = 1;
			return shares[i].bytes;
		}
		at -= shares[i].bytes;
	}
	return 0;
}

/*
 * Draws ports by their share of the queue until they hold more than R of it, whether they grow or not. The data plane
 * repeats this loop (pfc_ports_draw()): its verifier accepts the inner loop only as a separate function.
 */
static inline void ppfc_draw_ports(struct ppfc_share *shares, __u32 count, const struct ppfc_params *p,
				   struct ppfc_random *r)
{
	__u64 queue = ppfc_draw_begin(shares, count), held = 0;
	__u32 k;

	for (k = 0; k < count && ppfc_draws_on(held, queue, p); k++)
		held += ppfc_draw_at(shares, count, ppfc_draw(r, queue - held));
}

/* The same, then drawn is left only on those that grow. Returns their number. */
static inline __u32 ppfc_choose(struct ppfc_share *shares, __u32 count, const struct ppfc_params *p,
				struct ppfc_random *r)
{
	__u32 i, drawn = 0;

	ppfc_draw_ports(shares, count, p, r);
	for (i = 0; i < count; i++) {
		shares[i].drawn &= shares[i].increment > 0;
		drawn += shares[i].drawn;
	}
	return drawn;
}

/* ---- Algorithm 3 ---- */

/* Bytes that arrive in ns at a growth of increment in elapsed_ns, < PFC_BYTES_MAX; 2^30 * 2^31. */
static inline __u64 ppfc_in_flight(__s64 increment, __u64 elapsed_ns, __u64 ns)
{
	__u64 bytes;

	if (increment <= 0 || !elapsed_ns)
		return 0;
	bytes = (__u64)increment * (ns < PFC_NS_MAX ? ns : PFC_NS_MAX - 1) / elapsed_ns;
	return bytes < PFC_BYTES_MAX ? bytes : PFC_BYTES_MAX - 1;
}

/* Theorem 3.2: the pause that costs no throughput is below (q + v d) / v_r, ns. */
static inline __u64 ppfc_bound(const struct ppfc_queue *q, const struct ppfc_params *p, __u64 elapsed_ns)
{
	return pfc_bytes_ns(q->bytes + ppfc_in_flight(q->increment, elapsed_ns, p->d_ns), q->bps);
}

/*
 * The pause of a drawn port, in quanta of its own speed, port_bps: (bytes + in flight) divided by the share of the
 * egress port's speed that they leave at, bytes / q. in_flight * q < 2^30 * 2^30.
 */
static inline __u32 ppfc_duration(const struct ppfc_share *s, const struct ppfc_queue *q, const struct ppfc_params *p,
				  __u64 elapsed_ns, __u64 port_bps)
{
	__u64 in_flight = ppfc_in_flight(s->increment, elapsed_ns, 2 * p->d_ns);
	__u64 bytes = q->bytes + (s->bytes ? in_flight * q->bytes / s->bytes : 0);
	__u32 quanta = pfc_ns_quanta(pfc_bytes_ns(bytes, q->bps), port_bps);
	__u32 most = pfc_ns_quanta(ppfc_bound(q, p, elapsed_ns), port_bps);

	/* Below, not at, the bound: it was rounded up to quanta, so one less. */
	most -= most > 0;
	return quanta < most ? quanta : most;
}

/*
 * Whether a drawn port is to be paused; if so the pause is noted. Not while its last pause has not run out.
 */
static inline int ppfc_tell(struct pfc_told *t, __u64 now_ns, __u32 quanta, __u64 port_bps, const struct ppfc_share *s,
			    __u64 elapsed_ns)
{
	__u64 kbps;

	if (!quanta || t->xoff || ppfc_pauses(t, now_ns))
		return 0; /* the bit against repetition is set */
	kbps = s->increment > 0 && elapsed_ns ? (__u64)s->increment * 8000000 / elapsed_ns : 0; /* 2^30 * 2^23 */
	t->kbps = kbps < PFC_BPS_MAX / 1000 ? kbps : PFC_BPS_MAX / 1000;
	t->predict_ns = now_ns + pfc_quanta_ns(quanta, port_bps);
	return 1;
}

#endif
