/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_H
#define SLUICE_QUEUE_H
/*
 * What the qdisc `sluice` decides: whether a packet is taken, behind which others it waits, when it may leave, and whose
 * turn it is. bpf/queue/ keeps the packets.
 *
 *  1. Each flow has a FIFO of its own. Packets of a flow leave in the order in which they came, so none leaves before one
 *     that came earlier, whatever its own departure time is.
 *  2. The exception is what is short and due: while data of its flow is held, it has a FIFO beside the data.
 *  3. Flows whose first packet is due take turns by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), as in fq.
 *     Flows that are new go first, for one quantum, but not for ever: see queue_fresh_is_next().
 */
#include "sluice/types.h"

/* What a queue allows; those of fq where there is no reason for others. Times in ns, sizes in bytes. */
struct queue_limits {
	__u32 version;	    /* QUEUE_VERSION of the code that is registered */
	__u32 packets;	    /* of one qdisc, 1 or more */
	__u32 flow_packets; /* of one flow, 1 or more */
	__u32 quantum;	    /* of a turn, 1 to 2^20 */
	__u32 slack_ns;	    /* timers may be so late */
	__u32 pad;
	__u64 horizon_ns; /* what would leave later is dropped */
};

#define QUEUE_VERSION 1 /* is raised with every change of bpf/queue or of this file */
#define QUEUE_LIMITS_PRESET                                                                            \
	{                                                                                              \
		.version = QUEUE_VERSION, .packets = 10000, .flow_packets = 1000, .quantum = 2 * 1514, \
		.slack_ns = 10 * 1000, .horizon_ns = 10 * NSEC_PER_SEC                                 \
	}

/* What may overtake data of its flow: an ACK, a companion with five hops. The longest ACK of IPv6 in a tunnel has 200. */
#define QUEUE_SHORT_BYTES 256
/* Credit of a flow that is new: TCP's first window, as in fq. */
#define QUEUE_FIRST_QUANTA 5
/* New flows go first for so many quanta, then one turn is that of the others. */
#define QUEUE_FRESH_QUANTA 16
/* Who has sent nothing for so long owes nothing any more, as in fq. */
#define QUEUE_REFILL_NS (40 * 1000 * 1000ULL)
/* A flow that has sent nothing for so long is forgotten, with its credit. */
#define QUEUE_IDLE_NS (3 * NSEC_PER_SEC)

/* What becomes of a packet. */
enum queue_verdict {
	QUEUE_TAKEN,
	QUEUE_FULL,	  /* the qdisc has as many packets as it may, */
	QUEUE_FLOW_FULL,  /* or the flow, */
	QUEUE_FLOWS_FULL, /* or there are as many flows as there may be, in all qdiscs together */
	QUEUE_BEYOND,	  /* it would leave beyond the horizon */
	QUEUE_MEMORY,	  /* there is no memory for it */
	QUEUE_VERDICTS,
};

/* The two FIFOs of a flow. */
enum queue_lane {
	QUEUE_DATA,
	QUEUE_SHORT,
};

/* When the packet itself wants to leave: its departure time, or now where it has none, or one that has passed. */
static inline __u64 queue_wanted_ns(__u64 now_ns, __u64 departure_ns)
{
	return departure_ns > now_ns ? departure_ns : now_ns;
}

/* Which FIFO takes it. held: the first packet of the flow's data is not due. */
static inline enum queue_lane queue_lane(__u64 now_ns, __u64 wanted_ns, __u32 bytes, int held)
{
	return held && wanted_ns <= now_ns && bytes <= QUEUE_SHORT_BYTES ? QUEUE_SHORT : QUEUE_DATA;
}

/* Is there room for it? packets: in the qdisc; flow_packets: in its FIFO. */
static inline enum queue_verdict queue_admit(const struct queue_limits *l, __u64 now_ns, __u64 wanted_ns, __u32 packets,
					     __u32 flow_packets)
{
	if (packets >= l->packets)
		return QUEUE_FULL;
	if (flow_packets >= l->flow_packets)
		return QUEUE_FLOW_FULL;
	if (wanted_ns - now_ns > l->horizon_ns)
		return QUEUE_BEYOND;
	return QUEUE_TAKEN;
}

/* When it may leave: not before what came before it. */
static inline __u64 queue_departure_ns(__u64 wanted_ns, __u64 last_ns)
{
	return wanted_ns > last_ns ? wanted_ns : last_ns;
}

/* The credit of a new flow. */
static inline __s64 queue_credit_first(__u32 quantum)
{
	return (__s64)quantum * QUEUE_FIRST_QUANTA;
}

/* The credit of a flow that takes turns again: what it has left, and after a while something for the first of them. */
static inline __s64 queue_credit_back(__s64 credit, __u32 quantum, __u64 now_ns, __u64 last_ns)
{
	return credit < (__s64)quantum && now_ns > last_ns && now_ns - last_ns > QUEUE_REFILL_NS ? quantum : credit;
}

/* Has it been idle for so long that nothing need be known of it? last_ns: when its last packet might leave. */
static inline int queue_is_idle(__u64 now_ns, __u64 last_ns)
{
	return now_ns > last_ns && now_ns - last_ns > QUEUE_IDLE_NS;
}

/*
 * Is the next turn that of the new flows? fresh, others: whether there are any; fresh_bytes: what new flows have sent since
 * the others had a turn.
 */
static inline int queue_fresh_is_next(int fresh, int others, __u64 fresh_bytes, __u32 quantum)
{
	return fresh && (!others || fresh_bytes < (__u64)quantum * QUEUE_FRESH_QUANTA);
}

#endif
