/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CREDITS_STATE_H
#define SLUICE_CREDITS_STATE_H
/*
 * The state of the credit scheduler, without functions. credits.c makes it, and has what is not of a port, which
 * credits_port.c changes, or of a slot, which credits_slot.c does. Tests look into it.
 */
#include <stdbool.h>
#include "daemon/messages.h"
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"

#define CREDITS_NONE 0xffffffffU
enum slot_state {
	SLOT_FREE,
	SLOT_IDLE,
	SLOT_ACTIVE,
};

/* Scheduler-private state of a VOQ slot, indexed like arrivals and credits. */
struct slot {
	__u32 prev, next; /* neighbours in the idle or free list */
	__u32 at;	  /* index in credits.active */
	__u32 port, peer;
	__u32 told_round;
	__u64 bytes, inner_bytes;    /* of the arrival, as of the last look */
	struct hiercc_claims claims; /* claims, as of the last look */
	__u64 base_sent, base_bytes; /* S and bytes at the start of their comparison */
	__u64 refused_ns;
	__u32 refused;
	enum slot_state state;
};

/* Indexed like credit_rings. */
struct credit_port {
	__u64 speed_bps;	  /* 0: it is gone */
	__u64 broken;		  /* broken locks of its ring that were repaired */
	__u64 bytes, inner_bytes; /* arrived bytes, and what they are without our headers at a pod's veth */
	__u32 ifindex;
	__u32 flags; /* PORT_F_* */
	__u32 slots; /* active slots */
	__u32 round;
};

struct credit_peer {
	struct hiercc_params params;
	__u64 rtt_ns;
};

struct slot_list {
	__u32 first, last;
};

struct credits {
	const struct pins *pins;
	const struct config *config;
	struct messages *messages;
	struct ring_buffer *ring;
	int epoll_fd, timer_fd;
	bool enabled; /* some peer has hiercc */
	bool awake;   /* the timer runs, and the ring is checked by its clock */
	__u32 room;
	__u32 round;
	struct arrival *arrivals; /* the mapped arrays */
	struct credit *credits;
	struct credit_ring *rings;
	struct slot *slots;
	struct slot_list free, idle; /* idle: the longest idle is first */
	__u32 *active, active_count;
	__u64 *told; /* rack << 32 | slot */
	__u32 told_count;
	struct credit_port *ports;
	__u32 ports_count;
	__u32 *visited, visited_count; /* ports with active slots in this round */
	struct credit_peer *peers;     /* as in config */
	__u32 voq_cursor;
	const struct watcher *watcher; /* or NULL */
	struct msg_limit full_limit, refused_limit, overrun_limit, ports_limit, id_limit;
};

#endif
