/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_CLASS_H
#define SLUICE_ABI_CLASS_H
/* The classes of a switch port, and their queues. */
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"

#define CLASSES_MAX 8

/* The rate that a class of a port is guaranteed, and so reports as its speed. */
struct class_share {
	__u64 bps;
	struct telem_speed speed;
};

/* The classes of a switch port. Written by the daemon, except for emptied_ns. */
struct port_classes {
	__u64 netns_cookie; /* of the network namespace that the interface is in */
	__u64 emptied_ns;   /* class_dequeue: when the root qdisc was last empty */
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

/* A packet waiting in its class queue. */
struct class_packet {
	__u64 ns;    /* when it arrived */
	__u32 bytes; /* its bytes that have not left yet */
	__u32 id;    /* 0: several packets that had no entry of their own */
};

/* A class queue. Made by the daemon, written by class_enqueue and class_dequeue. */
struct class_queue {
	__u64 tx_bytes; /* bytes that have left */
	__u64 backlog_bytes;
	__u64 sojourn_ns; /* of the last packet that left */
	__u64 came_ns;	  /* when the last packet arrived */
	__u32 head;	  /* the waiting packets start here, free running */
	__u32 tail;	  /* the waiting packets end before this */
	__u32 left_id;	  /* id of the last packet that left */
	__u32 pad;
	struct class_packet packet[CLASS_PACKETS];
};

_Static_assert(sizeof(struct port_classes) == 216, "classes");
_Static_assert(sizeof(struct class_queue) == 48 + CLASS_PACKETS * 16, "class queue");

#endif
