/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HPCC_H
#define SLUICE_HPCC_H
/*
 * The HPCC sender (HPCC, SIGCOMM 2019, section 3.2, Algorithm 1), in integers.
 *
 *  1. hpcc_elapsed() and hpcc_measure() are MeasureInflight: from the difference between two
 *     feedbacks of each hop they estimate U, the bytes in flight as a multiple of one BDP.
 *  2. hpcc_wind() is ComputeWind: W from the reference window Wc and U.
 *  3. hpcc_new_ack() is NewAck: it commits Wc once per RTT and derives the pacing rate.
 *  4. enum hpcc_variant (hpcc_state.h): "Convergence to fairness in RDMA congestion control" replaces a
 *     constant W_AI and one commit per RTT; hpcc_params_variant() has the defaults.
 *
 * State in, feedback in, decision out: no clock, no map, no helper. The same code runs in the BPF
 * programs, the daemon, `sluicectl replay` and the tests.
 *
 * Open in the paper, and done here:
 *  - The first feedback of a flow, a changed pathID, a changed hop count or a hop of another speed:
 *    there is no earlier record to compare with. The hops are recorded and W stays (HPCC_FIRST); on another path U
 *    and incStage also restart. Paths over which packets take turns have a record each (paths.h).
 *  - A hop whose clock stood still or went back (reordered feedback): the feedback is ignored and
 *    the older record kept (HPCC_SKIPPED), so nothing is ever divided by zero.
 *  - A pause (hpcc_paused()), or a gap in which the hop's byte counter may have wrapped: recorded like a first
 *    feedback, because the difference is meaningless.
 *  - A byte counter that went back, because two CPUs stamped out of order or it was estimated (pod.bpf.h): modulo
 *    2^27 that is a nearly full wrap, a U of hundreds, and W would be one packet. It counts as nothing sent, and the
 *    next difference starts there.
 *  - lastUpdateSeq before the first feedback: that one sets it to snd_nxt without an update, as the
 *    authors' simulator does, so the first commit is for a packet that was sent after the first
 *    feedback had come.
 *  - A queue that flows make by chance is none (hpcc_chance_queue()). With a given W_AI (`w_ai`) N is not known, and
 *    every queue counts, as printed.
 *  - W and Wc are clamped to [hpcc_floor(), w_init]. Below one packet R does the work: a stack keeps a congestion window of
 *    one or two segments, and its packets are packet / W round trips apart (hpcc_w_min()).
 */
#include "sluice/types.h"
#include "sluice/cc/hpcc_state.h"
#include "sluice/cc/vai.h"

/* A flow silent for longer than this starts its record anew: half the clock's wrap, or 8 RTTs. */
static inline __u64 hpcc_idle_ns(__u64 t_ns)
{
	__u64 half = 1ULL << (HPCC_TS_BITS - 1);

	return 8 * t_ns > half ? 8 * t_ns : half;
}

/*
 * Whether the flow paused in the dt_ns between two feedbacks. A W below one packet sends one in packet / W round
 * trips: a gap of up to four times that is no pause. W < 2^28 there, dt_ns <= 2^30, T < 2^30: all products < 2^62.
 */
static inline int hpcc_paused(const struct hpcc_state *st, const struct hpcc_params *p, __u64 dt_ns)
{
	if (dt_ns <= hpcc_idle_ns(p->t_ns))
		return 0;
	return st->w >= q12_from_bytes(p->packet) || dt_ns > HPCC_PAUSE_MAX_NS ||
	       dt_ns * st->w > 4 * p->t_ns * q12_from_bytes(p->packet);
}

/*
 * Nanoseconds by the hop's clock between two reports; <= 0 when reordered. Picks the value that matches the 24 bits
 * on the wire and is nearest to the gap, or to 0 if the gap is unknown.
 */
static inline __s64 hpcc_elapsed(__u32 from_ns, __u32 to_ns, __s64 gap_ns)
{
	__u64 d = (to_ns - from_ns) & HPCC_TS_MASK;

	if (gap_ns == HPCC_GAP_UNKNOWN)
		gap_ns = 0;
	/* Two's complement: rounds down to a multiple of 2^24, also below zero. Unsigned, as a gap may be any number. */
	return d + ((gap_ns - d + (1 << (HPCC_TS_BITS - 1))) & ~HPCC_TS_MASK);
}

/*
 * Bytes that left a port of `bps` bit/s in dt_ns > 0, between two counts modulo 2^27; bps * dt_ns is at most one wrap.
 * 0 if the count went back: a difference beyond what the port can send in that time is read as whichever is nearer,
 * that maximum or a full wrap.
 */
static inline __u64 hpcc_sent(__u32 from, __u32 to, __u64 bps, __u64 dt_ns)
{
	__u64 bytes = (to - from) & HPCC_TX_MASK;

	return 2 * bytes * 8 * NSEC_PER_SEC > bps * dt_ns + (NSEC_PER_SEC * 8 << HPCC_TX_BITS) ? 0 : bytes;
}

/* The current round has lasted ns longer; ns < 2^64. */
static inline void hpcc_round_lasts(struct hpcc_state *st, __u64 ns)
{
	ns += st->round_ns;
	st->round_ns = ns < HPCC_PAUSE_MAX_NS ? ns : HPCC_PAUSE_MAX_NS;
}

/*
 * MeasureInflight (Algorithm 1, lines 1-10): updates st->u. Returns HPCC_FAST when it did,
 * HPCC_FIRST when the hops can only be recorded, HPCC_SKIPPED when the feedback is to be ignored.
 */
static inline enum hpcc_kind hpcc_measure(struct hpcc_state *st, const struct hpcc_params *p,
					  const struct hpcc_ack *ack)
{
	q24_t u = 0, u_hop, weight;
	__u64 tau = 0, passed = 0, chance = p->chance * HPCC_CHANCE_UNIT, sum;
	int i, shift, most = 0;

	for (i = 0; i < HPCC_MAX_HOPS && i < ack->hops; i++) {
		const struct hpcc_hop *now = &ack->hop[i], *old = &st->last[i];
		__s64 dt = hpcc_elapsed(old->ts_ns, now->ts_ns, ack->gap_ns);
		__u64 qlen = now->qlen_bytes < old->qlen_bytes ? now->qlen_bytes : old->qlen_bytes;

		qlen -= qlen < chance ? qlen : chance;
		if (dt <= 0)
			return HPCC_SKIPPED;
		/* bits that fit through the port in dt: the counter must not have wrapped */
		if (!now->bps || now->bps != old->bps || hpcc_paused(st, p, dt) ||
		    (__u64)dt > (NSEC_PER_SEC * 8 << HPCC_TX_BITS) / now->bps)
			return HPCC_FIRST;
		/*
		 * qlen / (B*T) + txRate / B in bits and ns: qlen * 8*10^9 < 2^60. B * T may pass
		 * 2^64, so a B of more than 32 bits goes without its last 10: an error of 2^-22.
		 */
		shift = now->bps >> 32 ? 10 : 0;
		u_hop = q24_ratio(qlen * 8 * NSEC_PER_SEC >> shift, (now->bps >> shift) * p->t_ns) +
			q24_ratio(hpcc_sent(old->tx_bytes, now->tx_bytes, now->bps, dt) * 8 * NSEC_PER_SEC,
				  now->bps * (__u64)dt);
		passed = dt;
		if (u_hop > u) {
			u = u_hop;
			tau = dt;
			most = i;
		}
	}
	hpcc_round_lasts(st, passed);
	if (tau > p->t_ns)
		tau = p->t_ns;
	/*
	 * U = (1 - tau/T) * U + tau/T * u; |u - U| <= 2^39, weight <= 2^24: product <= 2^63. The
	 * sum keeps 48 fractional bits: with feedback every T/1000, steps cut to 24 bits would leave U 3*10^-5 below
	 * u for good, and Wc compounds that every RTT.
	 */
	weight = q24_ratio(tau, p->t_ns);
	sum = st->u << 24 | st->u_frac;
	if (u >= st->u)
		sum += (u - st->u) * weight;
	else
		sum -= (st->u - u) * weight;
	st->u = sum >> 24;
	st->u_frac = sum & (Q24_ONE - 1);
	st->bottleneck = most;
	return HPCC_FAST;
}

/*
 * ComputeWind (Algorithm 1, lines 11-20) without the commit: W from Wc. Returns whether W came from the
 * multiplicative branch.
 */
static inline int hpcc_window(struct hpcc_state *st, const struct hpcc_params *p, q12_t w_ai)
{
	int multiplicative = st->u >= p->eta || st->inc_stage >= p->max_stage;
	q12_t w = st->wc;

	if (multiplicative) {
		/*
		 * Wc * eta / U. Beyond w_init it is clamped below anyway; testing that first keeps Wc * (eta/U) <=
		 * w_init * 2^24 < 2^63, and U = 0 away from the division. Both products are windows times at most
		 * 1.0: < 2^63.
		 */
		if (st->u < p->eta && w * p->eta >= p->w_init * st->u)
			w = p->w_init;
		else
			w = (w * (((p->eta << 24) + st->u / 2) / st->u) + Q24_ONE / 2) >> 24;
	}
	st->w = hpcc_clamp(w + w_ai, hpcc_floor(p), p->w_init);
	return multiplicative;
}

/*
 * Wc = W, and incStage, which counts round trips of T: if the hosts take as long as the network, a round of feedback
 * is two or more of them, and a flow that was cut by bursts stayed low for twice as long (simulated, 35 flows of 10
 * KB every 25 T beside two long ones: use .61, not .64, at 10 Gbit/s, .57, not .74, at 100 Mbit/s). Not with a W
 * below a packet, where all waiting flows would multiply at once, unless less than half of the port is used: else 16
 * flows of 100 KB in that churn took 147 T at 100 Mbit/s, not 108. With HPCC_STAGES_ROUNDS it counts commits, as
 * line 18 of Algorithm 1 does.
 */
static inline void hpcc_commit(struct hpcc_state *st, const struct hpcc_params *p, int multiplicative)
{
	__u32 stages = (st->round_ns + p->t_ns / 2) / p->t_ns, left = p->max_stage - st->inc_stage;

	if (!stages || p->stages == HPCC_STAGES_ROUNDS || (st->wc < q12_from_bytes(p->packet) && st->u >= p->eta / 2))
		stages = 1;
	st->wc = st->w;
	st->inc_stage = multiplicative ? 0 : st->inc_stage + (stages < left ? stages : left);
	st->round_ns = 0;
}

/* ComputeWind. update: commit Wc, true once per RTT. */
static inline void hpcc_wind(struct hpcc_state *st, const struct hpcc_params *p, int update)
{
	int multiplicative = hpcc_window(st, p, p->w_ai);

	if (update)
		hpcc_commit(st, p, multiplicative);
}

/*
 * L = ack.L (Algorithm 1, line 27): the record that the next feedback is compared with. If the path has changed, U
 * and incStage belong to the old one and are reset (HPCC, section 3.2).
 */
static inline void hpcc_record(struct hpcc_state *st, const struct hpcc_ack *ack)
{
	int i;

	if (st->hops != ack->hops || st->path_id != ack->path_id)
		hpcc_forget(st);
	st->path_id = ack->path_id;
	st->hops = ack->hops;
	for (i = 0; i < HPCC_MAX_HOPS && i < ack->hops; i++)
		st->last[i] = ack->hop[i];
}

/* MeasureInflight where the record allows it: the kinds of hpcc_measure(). */
VERIFIED_ONCE enum hpcc_kind hpcc_observe(struct hpcc_state *st, const struct hpcc_params *p,
					  const struct hpcc_ack *ack)
{
	if (!st || !p || !ack || !ack->hops || ack->hops > HPCC_MAX_HOPS)
		return HPCC_SKIPPED;
	if (st->hops != ack->hops || st->path_id != ack->path_id)
		return HPCC_FIRST;
	return hpcc_measure(st, p, ack);
}

/*
 * Whether a feedback that would commit a decrease is used: with probability Wc / w_init. Section III.D disregards it
 * if Wc < rand() % Max_Window; W, which every feedback computes anew from Wc, still follows, and the next feedback is
 * drawn again. Products < 2^63.
 */
static inline int hpcc_chance(const struct hpcc_state *st, const struct hpcc_params *p, __u32 random)
{
	return (random >> 8) * p->w_init < st->wc << 24;
}

/* The longest queue on the path. */
static inline __u32 hpcc_queue(const struct hpcc_ack *ack)
{
	__u32 qlen = 0;
	int i;

	for (i = 0; i < HPCC_MAX_HOPS && i < ack->hops; i++)
		if (ack->hop[i].qlen_bytes > qlen)
			qlen = ack->hop[i].qlen_bytes;
	return qlen;
}

/* The time in the queues that the hops report, ns, at most a second. */
static inline __u32 hpcc_queue_ns(const struct hpcc_ack *ack)
{
	__u64 ns = 0;
	int i;

	for (i = 0; i < HPCC_MAX_HOPS && i < ack->hops; i++)
		if (ack->hop[i].qlen_bytes && ack->hop[i].bps)
			ns += ack->hop[i].qlen_bytes * 8 * NSEC_PER_SEC / ack->hop[i].bps;
	return ns < NSEC_PER_SEC ? ns : NSEC_PER_SEC;
}

/*
 * The number of feedbacks that one stands for: s counts ACKs of two packets, and if telemetry comes once per RTT a
 * decrease every s feedbacks would be one every s RTTs. Between two feedbacks Wc * gap / T was sent. Wc < 2^39, gap
 * cut to 2^24 ns.
 */
static inline __u64 hpcc_stands_for(const struct hpcc_state *st, const struct hpcc_params *p, __s64 gap_ns)
{
	__u64 gap = gap_ns < 0 ? 0 : gap_ns < 1 << 24 ? gap_ns : 1 << 24, count;

	count = p->packet ? (st->wc >> 12) * gap / p->t_ns / (2 * p->packet) : 1;
	return count > 1 ? count : 1;
}

/*
 * ComputeWind and commit with Variable AI and Sampling Frequency. A round, in which tokens are
 * made and an increase is committed, is an RTT as in Algorithm 1. A decrease is any change that makes W, increase
 * included, smaller than Wc, whatever U is: a flow below its share grows under congestion too, once per RTT. Returns
 * whether Wc was committed.
 */
static inline int hpcc_wind_vai(struct hpcc_state *st, const struct hpcc_params *p, const struct hpcc_ack *ack,
				int round)
{
	struct vai_state *v = &st->vai;
	int multiplicative;

	vai_observe(v, &p->vai, hpcc_queue(ack), st->u >= p->eta, hpcc_stands_for(st, p, ack->gap_ns));
	if (round)
		vai_round(v, &p->vai);
	/* w_ai * factor < 2^39 * 2^24 */
	multiplicative = hpcc_window(st, p, p->w_ai * vai_factor(v, &p->vai) >> 8);
	if (!vai_commit(v, &p->vai, st->w < st->wc, round))
		return 0;
	hpcc_commit(st, p, multiplicative);
	return 1;
}

/*
 * Applies a new U: W, the commit of the variant, R. *round: whether an RTT has ended; cleared if the round continues
 * because the feedback that ended it was not used. The fullest path decides; st->u stays that of its own.
 */
static inline enum hpcc_kind hpcc_adjust(struct hpcc_state *st, const struct hpcc_params *p, const struct hpcc_ack *ack,
					 int *round)
{
	q24_t own = st->u;
	int update;

	if (ack->u_other > own)
		st->u = ack->u_other;
	/* The prefix was given another variant: tokens and counts of the old one are void. */
	if (st->vai.variant != p->variant)
		st->vai = (struct vai_state){ .variant = p->variant };
	if (p->variant == HPCC_VAI_SF) {
		update = hpcc_wind_vai(st, p, ack, *round);
	} else {
		if (p->variant == HPCC_PROBABILISTIC && *round && st->u >= p->eta)
			*round = hpcc_chance(st, p, ack->random);
		update = *round;
		hpcc_wind(st, p, update);
	}
	st->u = own;
	st->rate_bps = hpcc_rate_bps(st->w, p->t_ns);
	return update ? HPCC_FULL : HPCC_FAST;
}

/* NewAck (Algorithm 1, lines 21-27). */
static inline enum hpcc_kind hpcc_new_ack(struct hpcc_state *st, const struct hpcc_params *p,
					  const struct hpcc_ack *ack)
{
	enum hpcc_kind kind = hpcc_observe(st, p, ack);

	if (kind == HPCC_SKIPPED)
		return kind;
	if (kind == HPCC_FAST) {
		int round = ack->seq > st->last_update_seq;

		kind = hpcc_adjust(st, p, ack, &round);
		if (round)
			st->last_update_seq = ack->snd_nxt;
	} else if (!st->last_update_seq) {
		st->last_update_seq = ack->snd_nxt;
	}
	hpcc_record(st, ack);
	return kind;
}

#endif
