/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_PARAMS_H
#define SLUICE_HIERCC_PARAMS_H
/* HierCC (hiercc.h): limits, the parameters of a VOQ, and totals on the wire. */
#include "sluice/pacer.h"
#include "sluice/cc/rx.h"

#define HIERCC_DELTA_BYTES 1024 /* one credit, unless the configuration has another */
#define HIERCC_DELTA_MAX (1U << 16)
#define HIERCC_BYTES_MAX (1U << 27)	/* C0, debt and queues are below this: 1 Tbit/s and 1 ms */
#define HIERCC_RATE_MAX (1ULL << 37)	/* bytes/s: 1.1 Tbit/s */
#define HIERCC_NS_MAX (1ULL << 26)	/* of all times except limit and idle: products stay below 2^64 */
#define HIERCC_BLIND_WINDOWS 2		/* windows for which a sender continues at its rate without a message */
#define HIERCC_TRIES 8			/* attempts of a compare-and-swap */
#define HIERCC_AT_NS 1024		/* unit of a port's clock of 16 bits, which wraps in 67 ms */
#define HIERCC_TOTAL_FIRST (1ULL << 32) /* where totals start, so that none goes below 0 */

/* Shared by all VOQs to hosts of one speed and distance. */
struct hiercc_params {
	__u64 c0;	  /* C0, bytes, (0, HIERCC_BYTES_MAX) */
	__u64 rate_first; /* rate expected until one is measured, bytes/s, (0, HIERCC_RATE_MAX) */
	__u64 window_ns;  /* a round trip of credit; rates are smoothed over it, (0, HIERCC_NS_MAX) */
	__u64 limit_ns;	  /* longest wait for credit, > 0, < 2^40 */
	__u64 idle_ns;	  /* a VOQ silent for longer has C0, > limit_ns, < 2^40 */
	__u64 debt_max;	  /* receiver: most that a VOQ may be due, bytes, [C0, HIERCC_BYTES_MAX) */
	__u64 epoch_ns;	  /* in which flows and packets are counted, > 0, < 2^40 */
	__u64 delta;	  /* one credit, bytes, (0, HIERCC_DELTA_MAX], at most C0 / 2 */
};

/* The members of these and of hiercc_hop_params that can be configured; 0: the default. */
struct hiercc_tuning {
	q24_t beta; /* (0, 1.0) */
	__u32 q0;   /* bytes; q0 <= V_low < V_high < HIERCC_BYTES_MAX, as far as they are set */
	__u32 v_high;
	__u32 v_low;
	__u32 delta; /* one credit, bytes, [128, HIERCC_DELTA_MAX] */
};

/*
 * The defaults, for a port of `rate` bytes/s, the round trip between the racks, and the time between
 * two grants. Section 5 has 10 KB for C0: hiercc.h explains why it is more here. rate_first is a quarter of the port:
 * with the whole port the burst of tests/sim/scenarios/racks.yaml had a queue of 153 KB, not 146; with an eighth 118
 * KB, but four short flows of one rack, with the port to themselves, took 113 us and not 68.
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

/* gap_ns of hiercc_params_arrival(): a packet of this size at the ports of both ends. */
static inline __u64 hiercc_gap_ns(__u64 rate, __u32 bytes)
{
	return rate ? 2ULL * bytes * NSEC_PER_SEC / rate : 0;
}

/*
 * The same if credit is granted with each packet that arrives (hiercc_ring.h): a round of credit is the round trip and
 * gap_ns, the time of a packet at the ports on its way. A VOQ alone gets .98 of its port with this C0, at 10, 25 and
 * 100 Gbit/s, and .94 with 85 % of it (simulated). rate_first is a sixth of the port: credit comes a round trip later,
 * so it is a guess for packets that entered before that, which keep their departures. With a quarter the burst of
 * tests/sim/scenarios/racks.yaml had queues of 127, 148 and 528 KB at 25, 10 and 100 Gbit/s, with a sixth 102, 114 and
 * 421, with an eighth 96, 101 and 366; four short flows of one rack, with the port to themselves, took 80, 111 and 142
 * us. period_ns is that of the daemon's rounds, the second line: credit has stopped when they have, so they set the
 * limits.
 */
static inline void hiercc_params_arrival(struct hiercc_params *p, __u64 rate, __u64 rtt_ns, __u64 gap_ns,
					 __u64 period_ns)
{
	__u64 limit_ns, idle_ns;

	hiercc_params_init(p, rate, rtt_ns, period_ns);
	limit_ns = p->limit_ns;
	idle_ns = p->idle_ns;
	hiercc_params_init(p, rate, rtt_ns, gap_ns);
	p->limit_ns = limit_ns > p->limit_ns ? limit_ns : p->limit_ns;
	p->idle_ns = idle_ns > p->idle_ns ? idle_ns : p->idle_ns;
	rate = rate < HIERCC_RATE_MAX ? rate : HIERCC_RATE_MAX - 1;
	p->rate_first = rate / 6 ? rate / 6 : 1;
}

/*
 * Sets a C0 other than the default, < HIERCC_BYTES_MAX / 2. A sender that obeys credit is due at most debt_max: C0, and
 * the bytes that it sends while messages are late.
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

/* The total with these low 32 bits that is nearest to another. */
static inline __u64 hiercc_unwrap(__u64 near, __u32 wire)
{
	return near + (__s64)(__s32)(wire - (__u32)near);
}

#endif
