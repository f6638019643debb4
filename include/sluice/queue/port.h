/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_PORT_H
#define SLUICE_QUEUE_PORT_H
/*
 * A port whose qdisc `sluice` has a rate, a limit in bytes, or classes. The daemon writes the setup before it installs the
 * qdisc, and again when the configuration changes; the qdisc looks it up with each packet.
 *
 *  1. Rate: a virtual clock, as of tbf. A packet takes bytes / rate, and the next one leaves when that has passed. A
 *     timer that is late by up to SHAPER_LATE_NS costs nothing: the clock catches up.
 *  2. Classes: each has a FIFO, and a packet's DSCP determines its class. Strict classes leave first, in their order.
 *     The others share what is left by start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996): each class has a
 *     start tag in bytes / share, and the lowest one leaves. It has the shares of deficit round robin without its
 *     rounds, which are long where one packet has 64 KB. A class may use what the others leave. Strict classes have no
 *     part in these tags: what they send would move the tag at which an idle class begins.
 *
 * Sizes in bytes, rates in bit/s, times in ns.
 */
#include "sluice/types.h"

#define QUEUE_CLASSES 8	     /* most of a port: CLASSES_MAX */
#define QUEUE_PORTS_MAX 4096 /* interfaces of the machine: as many as qdiscs */
#define SHAPER_LATE_NS (50 * 1000ULL)
#define QUEUE_SHARE_ALL 1000000 /* the share of a class that has the whole port */

/* An interface of a network namespace. */
struct queue_port {
	__u64 netns_cookie;
	__u32 ifindex;
	__u32 pad;
};

/* The rate, limit and classes of a port by its configuration. */
struct queue_setup {
	__u64 bps;	   /* 0: as fast as the interface takes packets */
	__u64 limit_bytes; /* what may wait in a class, or without classes in the qdisc; 0: no such limit */
	__u32 classes;	   /* up to QUEUE_CLASSES; 0: none, flows take turns */
	__u32 strict;	   /* bit n: class n */
	__u32 share[QUEUE_CLASSES];
	__u8 of_dscp[64]; /* DSCP -> class, all below `classes` */
};

struct queue_class_key {
	struct queue_port port;
	__u64 class;
};

/* A class as `hop`, the daemon and sluicectl see it. The qdisc writes it under its lock; others may see fields one packet apart. */
struct class_seen {
	__u64 backlog_bytes;
	__u64 backlog_packets;
	__u64 tx_bytes;
	__u64 tx_packets;
	__u64 full;	  /* packets dropped beyond a limit */
	__u64 sojourn_ns; /* of the packet that left last */
	__u64 first_ns;	  /* when the first packet that waits came, CLOCK_MONOTONIC */
};

/* --- rate --- */

/* Takes a packet that leaves at now_ns. next_ns: when the port is free again; bytes: below 2^31 */
static inline void shaper_take(__u64 *next_ns, __u64 now_ns, __u64 bps, __u32 bytes)
{
	__u64 earliest_ns = now_ns - SHAPER_LATE_NS;

	if (*next_ns < earliest_ns)
		*next_ns = earliest_ns;
	*next_ns += bytes * 8 * NSEC_PER_SEC / bps;
}

/* --- turns of classes --- */

struct class_turns {
	__u64 now_tag; /* start tag of the packet that left last */
	__u64 start_tag[QUEUE_CLASSES];
};

/* A packet comes to a class in which none waits. class: below QUEUE_CLASSES */
static inline void class_turns_enter(struct class_turns *t, __u32 class)
{
	if (t->start_tag[class] < t->now_tag)
		t->start_tag[class] = t->now_tag;
}

/* The class that leaves next of those in ready (bit n: class n); QUEUE_CLASSES: there is none. */
static inline __u32 class_turns_next(const struct class_turns *t, __u32 ready, __u32 strict)
{
	__u32 i, best = QUEUE_CLASSES;

	for (i = 0; i < QUEUE_CLASSES; i++) {
		if (!(ready >> i & 1))
			continue;
		if (strict >> i & 1)
			return i;
		if (best == QUEUE_CLASSES || t->start_tag[i] < t->start_tag[best])
			best = i;
	}
	return best;
}

/* A packet of the class leaves. share: up to QUEUE_SHARE_ALL; 0: the class is strict */
static inline void class_turns_take(struct class_turns *t, __u32 class, __u32 share, __u32 bytes)
{
	if (!share)
		return;
	t->now_tag = t->start_tag[class];
	t->start_tag[class] += (__u64)bytes * QUEUE_SHARE_ALL / share;
}

_Static_assert(sizeof(struct queue_setup) == 24 + 4 * QUEUE_CLASSES + 64, "queue setup");

#endif
