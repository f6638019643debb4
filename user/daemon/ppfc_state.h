/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_STATE_H
#define SLUICE_PPFC_STATE_H
/*
 * The state of the loop that pauses neighbours, without functions. ppfc.c makes it, and has its ports and its clock;
 * ppfc_round.c has what a round reads and counts.
 */
#include <bpf/libbpf.h>
#include <net/if.h>
#include <stdbool.h>
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"
#include "sluice/pause/pfc.h"
#include "sluice/pause/ppfc.h"

#define MTU_UNKNOWN 1500 /* for a link that no longer exists */

/* The share of a port in a queue. */
struct cell {
	__u32 bytes;
	__s32 growth; /* since the previous round */
};

struct ppfc_port {
	__u32 ifindex; /* 0: the slot is free */
	__u32 flags;   /* PFC_F_* */
	__u64 bps;
	__u8 mac[6];
	char name[IFNAMSIZ];
	struct pfc_params params;
	struct pfc_frame frame; /* frame to its neighbour in this round */
	/* Pauses sent to it at packets up to the last round, and predicted ones */
	__u64 told_at_packets[PFC_PRIORITIES], predicted_at_packets[PFC_PRIORITIES];
};

#define SUM_TIMES 3 /* a sum that differs so often by the same number of bytes is wrong */

/* The error of a tracepoint sum, and how often it was the same. */
struct sum_error {
	__s64 bytes;
	__u32 times;
};

/* A queue of this round. */
struct queue_name {
	__u32 slot, prio;
};

struct ppfc {
	const struct pins *pins;
	const struct config *config;
	int epoll_fd, timer_fd, socket_fd;
	struct ring_buffer *ring;
	struct pfc_slot *slots; /* mapped */
	struct ppfc_port ports[PFC_SLOTS];
	__u32 used[PFC_SLOTS], count; /* slots of counted ports */
	bool enabled;		      /* some ports pause their neighbours */
	bool awake;
	bool bypassed; /* it sleeps since bypass is on, and no queue wakes it */
	struct ppfc_params params;
	__u64 shared;	  /* the buffer without headroom */
	__u32 wake_bytes; /* length of a queue that wakes the loop */
	__u64 round_ns;
	__u64 quiet_ns;						 /* since when all queues are short; 0: they are not */
	struct cell cells[PFC_SLOTS][PFC_SLOTS][PFC_PRIORITIES]; /* [egress][ingress][priority] */
	struct ppfc_queue queues[PFC_SLOTS * PFC_PRIORITIES];
	struct queue_name names[PFC_SLOTS * PFC_PRIORITIES];
	__u32 queues_count;
	__u64 totals[PFC_SLOTS]; /* as of the last tick */
	struct sum_error queue_errors[PFC_SLOTS][PFC_PRIORITIES], ingress_errors[PFC_SLOTS][PFC_PRIORITIES], used_error;
	__u64 storms[PFC_SLOTS][PFC_PRIORITIES]; /* as of the last tick; includes ports that are not counted */
	const struct watcher *watcher;		 /* or NULL */
	int silent[PFC_SLOTS];			 /* the NIC has no usable counters: nic_follow() */
	struct msg_limit send_limit, storm_limit, buffer_limit, nic_limit;
};

#endif
