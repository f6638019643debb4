/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HPCC_STATE_H
#define SLUICE_HPCC_STATE_H
/* HPCC (hpcc.h): feedback, parameters with their variants, and the state of a flow. */
#include "sluice/types.h"
#include "sluice/verifier.h"
#include "sluice/cc/vai.h"

#define HPCC_MAX_HOPS 5
#define HPCC_TS_BITS 24 /* width of a hop's clock, ns: wraps in 16.8 ms */
#define HPCC_TX_BITS 27 /* width of a hop's byte counter: 20 bits of 128 bytes */
#define HPCC_TS_MASK ((1ULL << HPCC_TS_BITS) - 1)
#define HPCC_TX_MASK ((1ULL << HPCC_TX_BITS) - 1)
#define HPCC_W_MAX_BYTES ((1ULL << 27) - 1) /* products in hpcc_wind() stay below 2^64 */
#define HPCC_HIGH_AI_FACTOR 20		    /* 1 Gbit/s instead of 50 Mbit/s, as in section III.D */
#define HPCC_VAI_N_MAX 3000		    /* Bank_Cap stays below 2^15 */
#define HPCC_PAUSE_MAX_NS (1ULL << 30)	    /* a flow that is still sending is never silent for longer */
#define HPCC_FLOOR_AI 5			    /* multiple of W_AI in hpcc_floor() */
#define HPCC_W_MIN_BYTES 60		    /* least W of hpcc_w_min() */
#define HPCC_CHANCE_UNIT 64
#define HPCC_GAP_UNKNOWN (-0x7fffffffffffffffLL - 1)

/* One hop's report, as parsed from either encoding. */
struct hpcc_hop {
	__u64 bps;	  /* B: speed of the egress port, bit/s, > 0, < 2^44 */
	__u32 ts_ns;	  /* modulo 2^24 */
	__u32 tx_bytes;	  /* bytes sent by the port, modulo 2^27 */
	__u32 qlen_bytes; /* backlog of the port, < 2^27 */
	__u32 pad;
};

/* The content of one acknowledgement: ack.L of Algorithm 1, with its position and time. */
struct hpcc_ack {
	__u64 seq;     /* position in the flow of the packet that collected the hops */
	__u64 snd_nxt; /* position after the last packet sent */
	/*
	 * Time between the arrivals, at the receiver, of the packets of this and of the last feedback,
	 * by any clock wider than 24 bits; HPCC_GAP_UNKNOWN without one. It tells how often the hop's clock wrapped,
	 * if queueing changed by less than half the wrap (8.4 ms) in between.
	 */
	__s64 gap_ns;
	__u16 path_id;
	__u8 hops; /* 0..HPCC_MAX_HOPS */
	__u8 pad;
	__u32 random;  /* uniform in 32 bits; only HPCC_PROBABILISTIC uses it */
	q24_t u_other; /* the largest U of the other paths over which the flow's packets take turns (paths.h); 0: none */
	struct hpcc_hop hop[HPCC_MAX_HOPS];
};

/*
 * How flows come to equal rates ("Convergence to fairness", sections III.D and IV). The second and the third are for
 * comparison, in the simulator: the configuration does not offer them.
 */
enum hpcc_variant {
	HPCC_PLAIN,	    /* Algorithm 1 as it is */
	HPCC_HIGH_AI,	    /* a larger constant W_AI; differs in the parameters only */
	HPCC_PROBABILISTIC, /* decreases are committed with probability Wc / w_init */
	HPCC_VAI_SF,	    /* Variable AI and Sampling Frequency */
	HPCC_VARIANTS,
};

/* The unit of incStage. */
enum hpcc_stages {
	HPCC_STAGES_TIME,   /* round trips of T: see hpcc_commit() */
	HPCC_STAGES_ROUNDS, /* commits, as Algorithm 1 is printed */
};

/* Shared by all flows of a destination prefix and an interface. */
struct hpcc_params {
	__u64 t_ns;	       /* T: base RTT, > 0, < 2^30 */
	q12_t w_init;	       /* B_nic * T; also the upper bound of W. At most HPCC_W_MAX_BYTES */
	q12_t w_min;	       /* lower bound of W; it may be less than a packet */
	q12_t w_ai;	       /* W_AI */
	q24_t eta;	       /* target utilisation, (0, 1.0] */
	__u16 max_stage;       /* additive increases before a multiplicative one */
	__u16 packet;	       /* a full packet on the wire, bytes; 0: W is at least one */
	__u8 variant;	       /* enum hpcc_variant; others behave as HPCC_PLAIN */
	__u8 stages;	       /* enum hpcc_stages */
	__u16 chance;	       /* hpcc_chance_queue(), units of HPCC_CHANCE_UNIT bytes; 0: every queue counts */
	struct vai_params vai; /* for HPCC_VAI_SF, in bytes of queue */
};

/* State of one flow. A caller of hpcc_new_ack() needs exclusive access. */
struct hpcc_state {
	q12_t w;	       /* W */
	q12_t wc;	       /* Wc, the reference window */
	q24_t u;	       /* U */
	__u64 rate_bps;	       /* R = W / T, bit/s */
	__u64 last_update_seq; /* lastUpdateSeq */
	__u16 path_id;
	__u8 hops; /* 0: no feedback yet */
	__u8 inc_stage;
	__u32 u_frac;	 /* the 24 bits of U below those of u */
	__u8 bottleneck; /* index of the hop with the largest u in the last feedback */
	__u8 pad[3];
	__u32 round_ns; /* length of the current round so far, by the clock of the last hop, <= HPCC_PAUSE_MAX_NS */
	struct vai_state vai;
	struct hpcc_hop last[HPCC_MAX_HOPS]; /* L */
};

enum hpcc_kind {
	HPCC_FIRST,   /* recorded, W unchanged */
	HPCC_FAST,    /* W computed from Wc */
	HPCC_FULL,    /* W computed and Wc committed */
	HPCC_SKIPPED, /* ignored */
};

/*
 * The default floor of W for a full packet of `packet` bytes: a thousandth of the BDP, so that a thousand flows can
 * share a port, but no less than 60 bytes or a packet in half a second. With 64 flows at 100 Mbit/s and 4 ms, 12 to
 * 60 bytes made no difference, and 200 were too many (simulated). T < 2^30.
 */
static inline q12_t hpcc_w_min(q12_t w_init, __u32 packet, __u64 t_ns)
{
	q12_t w = w_init / 1000, least = q12_from_bytes(HPCC_W_MIN_BYTES), slow = q12_from_bytes(packet) * t_ns >> 29;

	w = w > least ? w : least;
	w = w > slow ? w : slow;
	return w < w_init ? w : w_init;
}

/*
 * The smallest W that feedback sets. While a queue drains each feedback cuts W again, and at the floor a flow gets
 * feedback once in packet / W round trips: of 16 flows that had made a queue of 16 BDPs the last one finished 12 %
 * later than with a floor of a packet. Five W_AI are about a quarter of the flow's share, W_init * eta / N: a queue
 * drains at three quarters of the port's speed, and feedback comes soon. If N is not known they are at most a packet.
 */
static inline q12_t hpcc_floor(const struct hpcc_params *p)
{
	q12_t w = HPCC_FLOOR_AI * p->w_ai, packet = q12_from_bytes(p->packet);

	w = w < packet ? w : packet;
	w = w < p->w_init ? w : p->w_init;
	return w > p->w_min ? w : p->w_min;
}

/* R = W / T in bit/s. W * 10^6 < 2^59; R < 2^52, or the last product passes 2^64. */
static inline __u64 hpcc_rate_bps(q12_t w, __u64 t_ns)
{
	return ((w * 1000000 / t_ns) * 8000) >> 12;
}

/* B * T in bytes. bps < 2^44, T < 2^30 */
static inline __u64 hpcc_bdp_bytes(__u64 bps, __u64 t_ns)
{
	return bps / 1000 * t_ns / 8000000;
}

static inline void hpcc_init(struct hpcc_state *st, const struct hpcc_params *p)
{
	st->w = p->w_init;
	st->wc = p->w_init;
	st->u = Q24_ONE;
	st->rate_bps = hpcc_rate_bps(p->w_init, p->t_ns);
	st->last_update_seq = 0;
	st->path_id = 0;
	st->hops = 0;
	st->inc_stage = 0;
	st->round_ns = 0;
	st->u_frac = 0;
	st->bottleneck = 0;
	st->vai = (struct vai_state){ .variant = p->variant };
}

static inline q12_t hpcc_clamp(q12_t w, q12_t least, q12_t most)
{
	return w < least ? least : w > most ? most : w;
}

/*
 * Brings W and Wc into [w_min, w], where w is at least w_min: used when another constraint held the
 * flow while W kept growing, and when the parameters have changed.
 */
static inline void hpcc_cap(struct hpcc_state *st, const struct hpcc_params *p, q12_t w)
{
	w = w > p->w_min ? w : p->w_min;
	st->w = hpcc_clamp(st->w, p->w_min, w);
	st->wc = hpcc_clamp(st->wc, p->w_min, w);
	st->rate_bps = hpcc_rate_bps(st->w, p->t_ns);
}

/* Forgets the path when feedback changes its kind: W is kept. */
static inline void hpcc_forget(struct hpcc_state *st)
{
	st->hops = 0;
	st->inc_stage = 0;
	st->round_ns = 0;
	st->u = Q24_ONE;
	st->u_frac = 0;
}

/*
 * Sets the variant of p, which is complete otherwise. The defaults of section VI.A are for a BDP of 50 KB, packets of
 * 1 KB that are acknowledged one by one, W_AI = BDP/2000, and eta = 95 %; expressed in those terms they hold for any
 * other path, with N = w_init * (1 - eta) / W_AI:
 *
 *	Token_Thresh	50 KB	one BDP
 *	AI_DIV		1 KB	a queue of one BDP makes N/2 tokens: half the headroom, in W_AI
 *	AI_Cap		100	N; here 2 N, with which flows are equal sooner where N is small
 *	Bank_Cap	1000	10 N
 *	s		30	0.6 of the ACKs of a BDP; here 0.2, and of ACKs of two packets
 *
 * With 0.6, decreases came so late that the queue's p99 was twice that of plain HPCC
 * (simulated: 100 Mbit/s, 4 ms, and 100 Gbit/s, 13 us).
 */
static inline void hpcc_params_variant(struct hpcc_params *p, enum hpcc_variant variant)
{
	__u64 bdp = p->w_init >> 12, n, every;

	if (variant == HPCC_HIGH_AI) {
		p->w_ai *= HPCC_HIGH_AI_FACTOR;
		if (p->w_ai > p->w_init)
			p->w_ai = p->w_init;
	}
	n = p->w_ai ? (p->w_init * (Q24_ONE - p->eta) >> 24) / p->w_ai : 1;
	n = n < 1 ? 1 : n > HPCC_VAI_N_MAX ? HPCC_VAI_N_MAX : n;
	every = p->packet ? (p->w_init >> 12) / (10 * p->packet) : 1;
	p->variant = variant;
	p->vai = (struct vai_params){
		.token_thresh = bdp ? bdp : 1,
		.ai_div = 2 * bdp / n ? 2 * bdp / n : 1,
		.bank_cap = 10 * n,
		.ai_cap = 2 * n,
		.dampener_div = 8,
		.every = every < 1  ? 1 :
			 every > 30 ? 30 :
				      every,
	};
}

/*
 * The queue that n flows make by chance while the port is not full, in units of HPCC_CHANCE_UNIT: the packet in front of the
 * one with the telemetry, and sqrt(n) / 2 that arrived together. As a part of U it kept the port idle, and the more of
 * it the fewer packets a BDP has: of 100 Mbit/s and .5 ms 8, 16 and 32 flows used .90, .86 and .83, and use .98, .98
 * and .97 without it, with a p99 of the queue of 2, 5 and 7 packets, not 3, 4 and 5 (simulated). n < 2^16.
 */
static inline __u16 hpcc_chance_queue(__u32 packet, __u32 n)
{
	__u32 root = 0, bit, bytes;

	for (bit = 128; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= n)
			root += bit;
	bytes = packet * (2 + root) / 2;
	return bytes < 0xffff * HPCC_CHANCE_UNIT ? bytes / HPCC_CHANCE_UNIT : 0xffff;
}

/* W_AI by which n >= 1 flows share the headroom of eta. w_init < 2^39, 1 - eta < 2^24. */
static inline q12_t hpcc_w_ai(const struct hpcc_params *p, __u32 n)
{
	return (p->w_init * (Q24_ONE - p->eta) >> 24) / n;
}

/*
 * Sets what follows from N, the flows that share a bottleneck of bps bit/s (0: of W_init / T), >= 1 and scaled to W_init
 * (rx_flows_scale()). n < 2^15.
 */
VERIFIED_ONCE int hpcc_params_flows(struct hpcc_params *p, __u32 n, __u64 bps)
{
	__u64 bdp, w;

	if (!p || !n)
		return 0;
	bdp = hpcc_bdp_bytes(bps, p->t_ns);
	w = p->w_init >> 12;
	p->w_ai = hpcc_w_ai(p, n);
	p->chance = hpcc_chance_queue(p->packet, bdp && bdp < w ? n * bdp / w : n);
	return 0;
}

#endif
