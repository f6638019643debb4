/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_H
#define SLUICE_QUEUE_H
/*
 * The decisions of the qdisc `sluice`: whether a packet is taken, which others it waits behind, when it may leave, and
 * which flow has the next turn. bpf/queue/ keeps the packets.
 *
 *  1. Each flow has a FIFO of its own. Packets of a flow leave in the order in which they came, so none leaves before one
 *     that came earlier, whatever its own departure time is.
 *  2. The exception is a short packet that is due: while data of its flow is held, it uses a second FIFO.
 *  3. Flows whose first packet is due take turns by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), as in fq.
 *     New flows go first, for one quantum, but not indefinitely: see queue_fresh_is_next().
 */
#include "sluice/types.h"

/* Limits of a queue; those of fq unless there is a reason for others. Times in ns, sizes in bytes. */
struct queue_limits {
	__u32 version;	    /* QUEUE_VERSION of the code that is registered */
	__u32 packets;	    /* per qdisc, 1 or more */
	__u32 flow_packets; /* per flow, 1 or more */
	__u32 quantum;	    /* per turn, 1 to 2^20 */
	__u32 slack_ns;	    /* allowed lateness of timers */
	__u32 pad;
	__u64 horizon_ns; /* a packet that would leave later is dropped */
};

#define QUEUE_VERSION 8 /* goes up with every change of bpf/queue or of this file */
#define QUEUE_LIMITS_PRESET                                                                            \
	{                                                                                              \
		.version = QUEUE_VERSION, .packets = 10000, .flow_packets = 1000, .quantum = 2 * 1514, \
		.slack_ns = 10 * 1000, .horizon_ns = 10 * NSEC_PER_SEC                                 \
	}

/* Size up to which packets overtake data of their flow: ACKs (IPv6 in a tunnel: 200), companions with five hops. */
#define QUEUE_SHORT_BYTES 256
/* Credit of a new flow: TCP's first window, as in fq. */
#define QUEUE_FIRST_QUANTA 5
/* New flows go first for this many quanta, then one turn goes to the others. */
#define QUEUE_FRESH_QUANTA 16
/* A flow that has sent nothing for this long has its debt cancelled, as in fq. */
#define QUEUE_REFILL_NS (40 * 1000 * 1000ULL)
/* The first bytes of a flow, which go before the others of a VOQ: TCP's first window, with headers and telemetry. */
#define QUEUE_YOUNG_BYTES (16 * 1514)
/* A flow that has sent nothing for this long is forgotten, with its credit. */
#define QUEUE_IDLE_NS (3 * NSEC_PER_SEC)

/* The fate of a packet. */
enum queue_verdict {
	QUEUE_TAKEN,
	QUEUE_FULL,	  /* the qdisc is at its packet limit */
	QUEUE_FLOW_FULL,  /* the flow is at its packet limit */
	QUEUE_FLOWS_FULL, /* all qdiscs together are at the flow limit */
	QUEUE_BEYOND,	  /* it would leave beyond the horizon */
	QUEUE_MEMORY,	  /* there is no memory for it */
	QUEUE_STALE,	  /* it was taken; R has fallen since, and it would leave too late (pace.h) */
	QUEUE_VERDICTS,
};

/* The readable part of a qdisc: the start of its entry in the map `queues`. */
struct queue_seen {
	__u64 netns_cookie; /* of the network namespace that the interface is in */
	__u32 ifindex;
	__u32 parent; /* TC_H_ROOT, or a class of mq */
	__u32 fresh_flows, ring_flows, held_flows;
	__u32 waiting_voqs; /* with flows that are due, and wait for credit */
	__u64 next_ns;	    /* when the first held packet is due, as of the last time when none was; 0: none is held */
	__u64 beside;	    /* packets that overtook held data of their flow (QUEUE_SHORT) */
	__u64 fresh_bytes;  /* bytes that new flows have sent since the others had a turn */
	__u64 voq_bytes;    /* bytes that VOQs have sent since the others had a turn */
	__u64 packets[QUEUE_VERDICTS]; /* packets that came, by verdict */
	__u64 voq_packets;	       /* packets that have left by way of a VOQ */
	__u32 paused_flows;	       /* flows that are due, and wait for the end of a pause (pause/qdisc.h) */
	__u32 paused;		       /* bit n: pauses of priority n hold some of them */
	__u64 pauses;		       /* times that a pause has held a flow, or a class */
	__u32 classes;		       /* 0: none; flows take turns (port.h) */
	__u32 waiting_classes;	       /* bit n: packets wait in class n */
};

/* How much longer the first packet waits that is held, or has no credit; 0: none does. */
static inline __u64 queue_held_ns(const struct queue_seen *q, __u64 now_ns)
{
	return (q->held_flows || q->waiting_voqs) && q->next_ns > now_ns ? q->next_ns - now_ns : 0;
}

/* The two FIFOs of a flow. */
enum queue_lane {
	QUEUE_DATA,
	QUEUE_SHORT,
};

/* When the packet wants to leave: at its departure time, or now if that has passed or it has none. */
static inline __u64 queue_wanted_ns(__u64 now_ns, __u64 departure_ns)
{
	return departure_ns > now_ns ? departure_ns : now_ns;
}

/* The FIFO that takes it. held: the first packet of the flow's data is not due. */
static inline enum queue_lane queue_lane(__u64 now_ns, __u64 wanted_ns, __u32 bytes, int held)
{
	return held && wanted_ns <= now_ns && bytes <= QUEUE_SHORT_BYTES ? QUEUE_SHORT : QUEUE_DATA;
}

/* Whether there is room for it. packets: in the qdisc; flow_packets: in its FIFO. */
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

/* The credit of a new flow. */
static inline __s64 queue_credit_first(__u32 quantum)
{
	return (__s64)quantum * QUEUE_FIRST_QUANTA;
}

/* The credit of a flow that takes turns again: the rest of its old credit, or a quantum after QUEUE_REFILL_NS. */
static inline __s64 queue_credit_back(__s64 credit, __u32 quantum, __u64 now_ns, __u64 last_ns)
{
	return credit < (__s64)quantum && now_ns > last_ns && now_ns - last_ns > QUEUE_REFILL_NS ? quantum : credit;
}

/*
 * Whether a packet of bytes goes before the others of its VOQ. *burst: bytes that the flow has sent since it was silent for
 * QUEUE_REFILL_NS; clock_ns: when it may send again after its last packet, by R.
 */
static inline int queue_is_young(__u16 *burst, __u64 now_ns, __u64 clock_ns, __u32 bytes)
{
	__u32 sent = *burst + bytes;

	if (now_ns > clock_ns && now_ns - clock_ns > QUEUE_REFILL_NS)
		sent = bytes;
	*burst = sent < 0xffff ? sent : 0xffff;
	return sent <= QUEUE_YOUNG_BYTES;
}

/* Whether it has been idle long enough to be forgotten. last_ns: departure time of its last packet. */
static inline int queue_is_idle(__u64 now_ns, __u64 last_ns)
{
	return now_ns > last_ns && now_ns - last_ns > QUEUE_IDLE_NS;
}

/*
 * Whether the next turn goes to a new flow. fresh, others: whether there are any; fresh_bytes: bytes that new flows
 * have sent since the others had a turn.
 */
static inline int queue_fresh_is_next(int fresh, int others, __u64 fresh_bytes, __u32 quantum)
{
	return fresh && (!others || fresh_bytes < (__u64)quantum * QUEUE_FRESH_QUANTA);
}

#endif
