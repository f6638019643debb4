/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SWIFT_H
#define SLUICE_SWIFT_H
/*
 * Swift (SIGCOMM 2020), for paths that stamp no telemetry: the delay of a round trip against a
 * target, in the form that "Convergence to fairness in RDMA congestion control" gives it (sections
 * II and V), so that W and R are enforced as HPCC's are.
 *
 *  1. swift_target(): the target, larger for small windows (flow scaling). Topology scaling is in
 *     the parameter, because nobody counts hops here.
 *  2. swift_window(): W from the reference window Wc with every sample: less by mdf above the
 *     target, more by W_AI below.
 *  3. swift_new_ack(): commits Wc once per RTT; with HPCC_VAI_SF decreases every s samples, W_AI by
 *     tokens and always added, and no flow scaling.
 *
 * State is HPCC's: W, Wc, R, lastUpdateSeq and the tokens. So a flow keeps its window when it switches between the
 * two; the tokens, which count ns here, are not kept.
 */
#include "sluice/cc/hpcc.h"

#define SWIFT_BETA (Q24_ONE * 8 / 10) /* section III.D */
#define SWIFT_MAX_MDF (Q24_ONE / 2)
#define SWIFT_TAG 0x80 /* in vai.variant: the state is Swift's */
#define SWIFT_DELAY_MAX_NS (1U << 30)

struct swift_params {
	__u32 target_ns;   /* target for a round trip, with the hops' share, > 0, < 2^30 */
	__u32 fs_range_ns; /* the most that flow scaling adds; 0: none */
	__u32 fs_alpha_ns; /* added = alpha / sqrt(W / packet) - offset */
	__u32 fs_offset_ns;
	struct vai_params vai; /* for HPCC_VAI_SF, in ns of queueing */
};

struct swift_ack {
	__u64 seq, snd_nxt; /* as in struct hpcc_ack */
	__u32 delay_ns;	    /* from a packet's departure to its feedback, > 0 */
	__u32 random;	    /* for HPCC_PROBABILISTIC */
};

/*
 * Square root, rounded down, by digits. Without branches: the verifier walks every path, and 2^16
 * of them are too many.
 */
VERIFIED_ONCE __u32 swift_sqrt(__u32 v)
{
	__s64 rest = v, root = 0, bit = 1 << 30, less;
	int i;

	for (i = 0; i < 16; i++) {
		less = ~((rest - root - bit) >> 63); /* all ones where the digit is 1 */
		VERIFIER_FORGET(less);		     /* or clang 19 makes it a branch */
		rest -= (root + bit) & less;
		root = (root >> 1) + (bit & less);
		bit >>= 2;
	}
	return root;
}

/* Square root of W in packets, Q8: at least 0.1 packets' (Swift's smallest), at most 2^8. */
static inline __u32 swift_root_q8(q12_t w, __u32 packet)
{
	__u64 packets_q16 = packet ? (w << 4) / packet : 0;

	if (packets_q16 > 0xffffffffULL)
		packets_q16 = 0xffffffffULL;
	if (packets_q16 < (1 << 16) / 10)
		packets_q16 = (1 << 16) / 10;
	return swift_sqrt(packets_q16);
}

/*
 * The defaults, derived from a complete p. The paper's path has 4 us and 50 KB:
 *
 *	target		5 us + 2 us a hop: here T + T/4 and T/4 a hop, as T has the hops' wires
 *	flow scaling	5 targets at most, between 0.1 and as many packets as the BDP has (50)
 *	Token_Thresh	target + 4 us: what a BDP in the queue takes, T
 *	AI_DIV		30 ns of queueing: 133 tokens a BDP where HPCC makes 50, so 3/4 T / N
 */
static inline void swift_params_target(struct swift_params *s, const struct hpcc_params *p, __u64 target)
{
	__u64 t = p->t_ns < SWIFT_DELAY_MAX_NS / 8 ? p->t_ns : SWIFT_DELAY_MAX_NS / 8;
	__u64 n = p->vai.ai_cap / 2, div, inverse_q16;

	target = target < SWIFT_DELAY_MAX_NS / 4 ? target : SWIFT_DELAY_MAX_NS / 4;
	s->target_ns = target;
	/* 1 / sqrt(0.1) - 1 / sqrt(BDP), of a BDP of at least a packet: 2.16 to 3.16 */
	inverse_q16 = (1 << 24) / swift_root_q8(p->w_init, p->packet);
	inverse_q16 = inverse_q16 < 1 << 16 ? inverse_q16 : 1 << 16;
	s->fs_range_ns = 5 * target < SWIFT_DELAY_MAX_NS ? 5 * target : SWIFT_DELAY_MAX_NS;
	s->fs_alpha_ns = ((__u64)s->fs_range_ns << 16) / (207243 - inverse_q16);
	s->fs_offset_ns = s->fs_alpha_ns * inverse_q16 >> 16;
	s->vai = p->vai;
	s->vai.token_thresh = target;
	div = 3 * t / (4 * (n ? n : 1));
	s->vai.ai_div = div ? div : 1;
}

static inline void swift_params_init(struct swift_params *s, const struct hpcc_params *p, __u32 hops)
{
	__u64 t = p->t_ns < SWIFT_DELAY_MAX_NS / 8 ? p->t_ns : SWIFT_DELAY_MAX_NS / 8;

	swift_params_target(s, p, t + t / 4 + hops * (t / 4));
}

/* Target delay for the current window. alpha * 2^8 < 2^39. */
static inline __u32 swift_target(const struct swift_params *s, const struct hpcc_params *p, q12_t w)
{
	__u64 more;

	if (!s->fs_range_ns || p->variant == HPCC_VAI_SF)
		return s->target_ns;
	more = ((__u64)s->fs_alpha_ns << 8) / swift_root_q8(w, p->packet);
	more = more > s->fs_offset_ns ? more - s->fs_offset_ns : 0;
	return s->target_ns + (more < s->fs_range_ns ? more : s->fs_range_ns);
}

/*
 * W from Wc. mdf = max(1 - beta * (delay - target) / delay, max_mdf), Q24; Wc * mdf < 2^63. The paper adds W_AI
 * "regardless of congestion" for HPCC_VAI_SF only (section V.B).
 */
static inline void swift_window(struct hpcc_state *st, const struct hpcc_params *p, __u32 delay_ns, __u32 target_ns,
				q12_t w_ai)
{
	q12_t w = st->wc;

	if (delay_ns > target_ns) {
		q24_t cut = SWIFT_BETA * (delay_ns - target_ns) / delay_ns; /* < 2^24 * 2^30 */
		q24_t mdf = Q24_ONE - cut > SWIFT_MAX_MDF ? Q24_ONE - cut : SWIFT_MAX_MDF;

		w = w * mdf >> 24;
	}
	if (delay_ns <= target_ns || p->variant == HPCC_VAI_SF)
		w += w_ai;
	if (w > p->w_init)
		w = p->w_init;
	if (w < hpcc_floor(p))
		w = hpcc_floor(p);
	st->w = w;
}

/* A sample: HPCC_FAST, HPCC_FULL if Wc was committed, HPCC_SKIPPED for a delay of 0. */
static inline enum hpcc_kind swift_new_ack(struct hpcc_state *st, const struct hpcc_params *p,
					   const struct swift_params *s, const struct swift_ack *ack)
{
	__u32 delay = ack->delay_ns < SWIFT_DELAY_MAX_NS ? ack->delay_ns : SWIFT_DELAY_MAX_NS;
	__u8 variant = SWIFT_TAG | (p->variant & ~SWIFT_TAG);
	int round = ack->seq > st->last_update_seq, update = round;
	__u32 target = swift_target(s, p, st->wc);
	struct vai_state *v = &st->vai;

	if (!delay)
		return HPCC_SKIPPED;
	if (v->variant != variant)
		*v = (struct vai_state){ .variant = variant };
	if (p->variant == HPCC_VAI_SF) {
		vai_observe(v, &s->vai, delay > p->t_ns ? delay - p->t_ns : 0, delay > target, 1);
		if (round)
			vai_round(v, &s->vai);
		swift_window(st, p, delay, target, p->w_ai * vai_factor(v, &s->vai) >> 8);
		update = vai_commit(v, &s->vai, st->w < st->wc, round);
	} else {
		if (p->variant == HPCC_PROBABILISTIC && round && delay > target)
			update = round = hpcc_chance(st, p, ack->random);
		swift_window(st, p, delay, target, p->w_ai);
	}
	if (update)
		st->wc = st->w;
	if (round)
		st->last_update_seq = ack->snd_nxt;
	st->rate_bps = hpcc_rate_bps(st->w, p->t_ns);
	return update ? HPCC_FULL : HPCC_FAST;
}

#endif
