/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_INT_H
#define SLUICE_PPFC_INT_H
/*
 * Shared by ppfc.c (theory, sleep, tick, begin and end), ppfc_round.c (a round, and the frames that it sends),
 * ppfc_packets.c (what packets do between rounds), ppfc_counts.c (what the tracepoints count) and ppfc_apply.c
 * (configuration).
 */
#include <bpf/libbpf.h>
#include <net/if.h>
#include "daemon/ppfc.h"
#include "sluice/pause/ppfc.h"

/* The share of a port in a queue. */
struct cell {
	__u32 bytes;
	__s32 growth; /* since the round before */
};

struct ppfc_port {
	__u32 ifindex; /* 0: the slot is free */
	__u32 flags;   /* PFC_F_* */
	__u64 bps;
	__u8 mac[6];
	char name[IFNAMSIZ];
	struct pfc_params params;
	struct pfc_frame frame; /* what its neighbour is to be told in this round */
	/* What packets had told it by the last round, and by prediction */
	__u64 told_at_packets[PFC_PRIORITIES], predicted_at_packets[PFC_PRIORITIES];
};

#define SUM_TIMES 3

/* By how much a sum of the tracepoints is off, and how often it was by that. */
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
	__u32 used[PFC_SLOTS], count; /* slots of ports that are counted */
	int enabled;		      /* there are ports whose neighbours are paused */
	int awake;
	struct ppfc_params params;
	struct ppfc_random random;
	__u64 shared;	  /* the buffer without headroom */
	__u32 wake_bytes; /* of a queue */
	__u64 round_ns;
	__u64 quiet_ns;						 /* since when all are short; 0: they are not */
	struct cell cells[PFC_SLOTS][PFC_SLOTS][PFC_PRIORITIES]; /* egress, ingress */
	struct ppfc_queue queues[PFC_SLOTS * PFC_PRIORITIES];
	struct queue_name names[PFC_SLOTS * PFC_PRIORITIES];
	__u32 queues_count;
	__u64 totals[PFC_SLOTS]; /* as of the last tick */
	struct sum_error queue_errors[PFC_SLOTS][PFC_PRIORITIES], ingress_errors[PFC_SLOTS][PFC_PRIORITIES], used_error;
	__u64 storms[PFC_SLOTS][PFC_PRIORITIES]; /* as of the last tick; also of ports that are not counted */
	const struct watcher *watcher;		 /* or NULL */
	int silent[PFC_SLOTS];			 /* the NIC has no other counters: nic_follow() */
	struct msg_limit send_limit, storm_limit, buffer_limit, nic_limit;
};

static inline int ppfc_acts(const struct pins *pins)
{
	return pins->ctl->mode == MODE_ENFORCE && !pins->ctl->bypass;
}

/* --- ppfc.c --- */

/* The length of a queue above which its tracepoint rings; 0: none does. */
void alarms_set(struct ppfc *p, __u32 bytes);
void ppfc_wake(struct ppfc *p);

/* --- ppfc_round.c --- */

void ppfc_round(struct ppfc *p);
void frame_begin(struct ppfc_port *port);
/* Sends the frames of all ports that have one to send. */
void frames_send(struct ppfc *p);

/* --- ppfc_packets.c --- */

/* What packets have told the neighbour of the port before is none of this daemon's. */
void packets_begin(struct ppfc_port *port, const struct pfc_slot *s);
/* Packets may pause for another while, if they may at all; */
void lease_extend(struct ppfc *p);
/*   or no more. */
void lease_end(struct ppfc *p);
/* What packets go by, of the configuration that is applied. */
void rule_apply(struct ppfc *p);
/* Whether packets predict for the queue, so that a round does not. */
int packets_predict(const struct ppfc *p, __u32 slot, __u32 prio, __u64 now);
/* What packets have told since the last round is told again where their frames wait in a queue. */
void packets_follow(struct ppfc *p, __u64 now);

/* --- ppfc_counts.c --- */

/* Sums that were off by the same number of bytes SUM_TIMES times are put right. */
void counts_settle(struct ppfc *p);
/* Forgets a queue that was thrown away without an event. */
void queue_forget(struct ppfc *p, __u32 slot);

/* --- ppfc_apply.c --- */

/* Forgets all pauses that the neighbour was told. */
void told_forget(struct pfc_slot *s);
/* Reads what NICs that do PFC counted, and sees to it that they go on with it. */
void nics_follow(struct ppfc *p);

#endif
