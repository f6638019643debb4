/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RX_H
#define SLUICE_RX_H
/*
 * Rx-HPCC (HPCC++, Internet-Draft of December 2021, section 6.2): the receiver runs the sender's
 * functions on the telemetry that it receives. Algorithm 1 is cut in one of two places:
 *
 *	hops	the receiver echoes the hops, the sender does all
 *	window	the receiver does all and reports W, once per T
 *
 *  1. rx_new_int() is NewINT: it does not know the sequence at which an RTT begins, so it commits when T has passed,
 *     and tells when to report W, at most once per T.
 *  2. rx_count() counts the flows that are active at the receiver's port, N, for W_AI (section 6.2,
 *     end). rx_own_port() says whether N is that of the bottleneck.
 *  3. Reports come from another host: rx_window() and rx_flows() clamp them at the sender and return a verdict, so
 *     that absurd reports can be counted.
 */
#include "sluice/cc/hpcc.h"
#include "sluice/once.h"

/* How arrivals from a prefix are reported. */
enum rx_feedback {
	RX_HOPS,
	RX_WINDOW = 2, /* 1 was U, in version 0.1.0 */
	RX_FEEDBACKS,
};

#define RX_FLOWS_MAX 16384U /* a report of more active flows at one port is not believed */
#define RX_N_MAX (RX_FLOWS_MAX + RX_FLOWS_MAX / 2)
#define RX_FLOWS_EXPECTED 12 /* N if nobody counts: see docs/limits.md */
#define RX_COUNT_RTTS 8	     /* a flow that was silent for longer than 8 to 16 RTTs is not active */
#define RX_W_MIN_BYTES 64    /* the smallest Ethernet frame: no sender's W is below */
#define RX_OWN_MAX 8	     /* feedbacks in a row after which the place of the bottleneck is certain */

struct rx_state {
	struct hpcc_state cc; /* last_update_seq is unused */
	__u64 last_update_ns; /* lastUpdateTime, by the clock of now_ns */
	__u64 last_report_ns;
};

static inline void rx_init(struct rx_state *st, const struct hpcc_params *p)
{
	hpcc_init(&st->cc, p);
	st->last_update_ns = 0;
	st->last_report_ns = 0;
}

/*
 * NewINT behind MeasureInflight: W, its commit when T has passed, and whether it is to be reported.
 * Plain HPCC reports with every commit, as in the draft; variants commit at other times too, or later.
 */
static inline enum hpcc_kind rx_adjust(struct rx_state *st, const struct hpcc_params *p, const struct hpcc_ack *ack,
				       __u64 now_ns, int *report)
{
	int round = now_ns > st->last_update_ns + p->t_ns;
	enum hpcc_kind kind = hpcc_adjust(&st->cc, p, ack, &round);

	if (round)
		st->last_update_ns = now_ns;
	*report = now_ns > st->last_report_ns + p->t_ns;
	if (*report)
		st->last_report_ns = now_ns;
	return kind;
}

/*
 * NewINT (lines 28-34). ack: the hops that a packet brought, its gap, path and, for
 * HPCC_PROBABILISTIC, random; seq and snd_nxt are not used. *report: W is to be sent.
 */
static inline enum hpcc_kind rx_new_int(struct rx_state *st, const struct hpcc_params *p, const struct hpcc_ack *ack,
					__u64 now_ns, int *report)
{
	enum hpcc_kind kind = hpcc_observe(&st->cc, p, ack);

	*report = 0;
	if (kind == HPCC_SKIPPED)
		return kind;
	if (kind == HPCC_FAST)
		kind = rx_adjust(st, p, ack, now_ns, report);
	hpcc_record(&st->cc, ack);
	return kind;
}

enum rx_verdict {
	RX_TAKEN,
	RX_TOO_LOW,  /* the lower bound was taken instead */
	RX_TOO_HIGH, /* the upper bound was taken instead */
};

/*
 * Sender: adopts a reported W, in wire bytes. The receiver's bounds follow from its own port and MTU: a W beyond our
 * bounds that could be valid at its end is clamped silently.
 */
static inline enum rx_verdict rx_window(struct hpcc_state *st, const struct hpcc_params *p, __u64 w_bytes)
{
	enum rx_verdict verdict = w_bytes < RX_W_MIN_BYTES   ? RX_TOO_LOW :
				  w_bytes > HPCC_W_MAX_BYTES ? RX_TOO_HIGH :
							       RX_TAKEN;

	st->w = w_bytes > p->w_init >> 12 ? p->w_init : q12_from_bytes(w_bytes);
	if (st->w < p->w_min)
		st->w = p->w_min;
	st->wc = st->w;
	st->rate_bps = hpcc_rate_bps(st->w, p->t_ns);
	return verdict;
}

/*
 * Sender: what follows from a reported N at a bottleneck of bps (0: not reported), and what the variant derives from it.
 */
static inline enum rx_verdict rx_flows(struct hpcc_params *p, __u32 n, __u64 bps)
{
	enum rx_verdict verdict = RX_TAKEN;

	if (n < 1) {
		n = 1;
		verdict = RX_TOO_LOW;
	} else if (n > RX_N_MAX) {
		n = RX_N_MAX;
		verdict = RX_TOO_HIGH;
	}
	hpcc_params_flows(p, n, bps);
	hpcc_params_variant(p, (enum hpcc_variant)p->variant);
	return verdict;
}

/*
 * Receiver: initial W of a state that begins while its flow is already under way, from the bytes that arrived in
 * passed_ns. bytes < 2^32, T < 2^30.
 */
static inline void rx_resume(struct rx_state *st, const struct hpcc_params *p, __u32 bytes, __u64 passed_ns)
{
	__u64 w = passed_ns ? bytes * p->t_ns / passed_ns : p->w_init >> 12;

	st->cc.w = w < p->w_init >> 12 ? q12_from_bytes(w) : p->w_init;
	if (st->cc.w < p->w_min)
		st->cc.w = p->w_min;
	st->cc.wc = st->cc.w;
}

/*
 * Certainty that the last hop is the bottleneck, a number that goes up or down with each feedback: if two hops are
 * equally full the largest u alternates between them. N is certain only at the ends of the range; in between the
 * larger of both N is safe.
 */
static inline __u8 rx_own_port(__u8 certainty, int last_hop)
{
	if (last_hop)
		return certainty < RX_OWN_MAX ? certainty + 1 : RX_OWN_MAX;
	return certainty ? certainty - 1 : 0;
}

/*
 * N of a bottleneck of bps (0: not known), scaled to W_init, which belongs to the sender's port. Flows at a slower
 * bottleneck share the headroom of its own BDP: each gets W_init / BDP times less.
 */
static inline __u32 rx_flows_scale(const struct hpcc_params *p, __u32 n, __u64 bps)
{
	__u64 bdp = hpcc_bdp_bytes(bps, p->t_ns), w = p->w_init >> 12;

	if (!bdp || bdp >= w || n > RX_N_MAX)
		return n;
	w = (n * w + bdp - 1) / bdp; /* 2^24 * 2^27 */
	return w < RX_N_MAX ? w : RX_N_MAX;
}

/*
 * N for W_AI: one and a half times the counted N if the bottleneck is the own port, else the expected N. With exactly
 * N the increases of all flows fill the headroom of eta, and a queue stands: with 64 flows at 100 Mbit/s and 40 ms
 * p50 10 KB and p99 45 KB, with half of N added 4 and 16 KB (tests/sim/check), and with a tiny W_AI 3 and 13 KB.
 */
static inline __u32 rx_flows_choose(__u8 certainty, __u32 expected, __u32 counted)
{
	if (!counted || !certainty)
		return expected;
	counted += counted / 2;
	if (certainty == RX_OWN_MAX)
		return counted;
	return counted > expected ? counted : expected;
}

/*
 * Active flows by epoch: the current one, and the one before. An epoch lasts at least the requested time, and until its
 * flows were seen twice each: if 64 flows share a BDP of 4 packets each sends one in 15 RTTs, and 12 were counted in 8.
 * Start and count are one word, so that several CPUs can count, and a flow counts once per epoch.
 */
struct rx_counter {
	__u64 now;    /* start of the epoch, units of 2^10 ns, << 32 | flows seen in it so far */
	__u32 before; /* flows seen in the last epoch */
	__u32 seen;   /* packets seen in the current epoch */
};

#define RX_COUNT_SHIFT 10
#define RX_COUNT_LATE (1U << 16) /* a CPU whose clock is less than this behind the start is late; others restart */
#define RX_COUNT_LONGEST 32	 /* an epoch ends after this multiple of the requested time, whatever was seen */

/* Whether an epoch with `flows` flows is over after passed_ns. *idle: it ended long ago. */
static inline int rx_epoch_is_over(const struct rx_counter *c, __u32 flows, __u64 passed_ns, __u64 epoch_ns, int *idle)
{
	int told = c->seen >= 2 * flows;

	*idle = passed_ns >= (told ? 2 : RX_COUNT_LONGEST) * epoch_ns;
	return *idle || (told && passed_ns >= epoch_ns);
}

/* A packet of a flow arrived; *mark is the flow's own, 0 at first. */
static inline void rx_count(struct rx_counter *c, __u32 *mark, __u64 now_ns, __u64 epoch_ns)
{
	__u64 word = READ_ONCE(c->now);
	__u32 now = (__u32)(now_ns >> RX_COUNT_SHIFT) | 1, since = word >> 32, passed = now - since, flow;
	int idle = 0;

	if (!epoch_ns || (since && passed > -RX_COUNT_LATE))
		return;
	if (!since || rx_epoch_is_over(c, word, (__u64)passed << RX_COUNT_SHIFT, epoch_ns, &idle)) {
		if (__sync_val_compare_and_swap(&c->now, word, (__u64)now << 32) != word)
			return; /* another CPU counted: the next packet retries */
		c->before = since && !idle ? (__u32)word : 0;
		c->seen = 0;
		since = now;
	}
	c->seen++; /* several CPUs may lose a count */
	flow = READ_ONCE(*mark);
	if (flow != since && __sync_val_compare_and_swap(mark, flow, since) == flow)
		__sync_fetch_and_add(&c->now, 1);
}

/* N to report: an epoch that has just begun has not seen all flows yet. */
static inline __u32 rx_counted(const struct rx_counter *c)
{
	__u32 active = READ_ONCE(c->now), before = c->before;
	__u32 n = active > before ? active : before;

	return n < RX_FLOWS_MAX ? n : RX_FLOWS_MAX;
}

#endif
