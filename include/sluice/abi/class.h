/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_CLASS_H
#define SLUICE_ABI_CLASS_H
/* The classes of a switch port, and their queues. */
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"

#define CLASSES_MAX 8

/* What a class of a port is sure of, and so reports as its speed. */
struct class_share {
	__u64 bps;
	struct telem_speed speed;
};

/* The classes of a switch port. Written by the daemon, but for emptied_ns. */
struct port_classes {
	__u64 netns_cookie; /* of the network namespace that the interface is in */
	__u64 emptied_ns;   /* class_dequeue: when the root qdisc was empty last */
	__u32 n;
	__u8 of_dscp[64]; /* DSCP -> class, all below n */
	__u32 pad;
	struct class_share share[CLASSES_MAX];
};

struct class_key {
	__u32 ifindex;
	__u32 class;
};

#define CLASS_PACKETS 1024 /* a power of two */

/* A packet that waits in the queue of its class. */
struct class_packet {
	__u64 ns;    /* when it came */
	__u32 bytes; /* what has not left of it */
	__u32 id;    /* of its bytes; 0: several, for which there was no room of their own */
};

/* The queue of a class. Made by the daemon, written by class_enqueue and class_dequeue. */
struct class_queue {
	__u64 tx_bytes; /* what left */
	__u64 backlog_bytes;
	__u64 sojourn_ns; /* of the packet that left last */
	__u64 came_ns;	  /* when the last one came */
	__u32 head;	  /* the packets that wait: from here, free running, */
	__u32 tail;	  /*   to before this */
	__u32 left_id;	  /* id of the packet that left last */
	__u32 pad;
	struct class_packet packet[CLASS_PACKETS];
};

_Static_assert(sizeof(struct port_classes) == 216, "classes");
_Static_assert(sizeof(struct class_queue) == 48 + CLASS_PACKETS * 16, "class queue");

#endif
