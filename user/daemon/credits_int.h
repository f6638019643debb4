/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CREDITS_INT_H
#define SLUICE_CREDITS_INT_H
/*
 * Shared by the files of the credit scheduler: credits.c (theory, rounds, sleep, configuration, ageing), credits_slot.c
 * (lists, slots, claims, news, messages), credits_port.c (ports, and their rings, shared by packets and daemon); and by
 * the tests, which call rounds one by one.
 */
#include "daemon/credits.h"
#include "lib/config.h"

#define CREDITS_NONE 0xffffffffU
#define CREDITS_IDLE_EPOCHS 2
#define CREDITS_AGE_STEP 256 /* VOQs of this host that are checked in one step */

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
	int enabled; /* some peer has hiercc */
	int awake;   /* the timer runs, and the ring is checked by its clock */
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

/* --- credits.c --- */

/* One round: learns from the active slots, grants, tells. */
void credits_round(struct credits *c);
/* True if the slot is no longer active. */
int slot_rests(struct credits *c, __u32 i, __u64 now);
void credits_wake(struct credits *c);
void credits_sleep(struct credits *c);

struct voq_age_ctx {
	struct credits *c;
	__u64 now_ns;
};
int voq_age(const struct voq_key *key, const struct voq *v, void *ctx);

/* --- credits_slot.c --- */

/* The configured peer with the longest prefix, or CREDITS_NONE. */
__u32 peer_find(const struct credits *c, const struct sluice_addr *a);
void slot_free(struct credits *c, __u32 i);
void slot_deactivate(struct credits *c, __u32 i);
void slot_watch(struct credits *c, __u32 i, __u32 watched);
/* Forgets all arriving VOQs. */
void slots_forget(struct credits *c);
/* Takes a record of the ring; for ring_buffer__new(). */
int news_take(void *ctx, void *data, size_t size);
/* Takes ingress's notes on the slot's VOQ since the last time. */
void slot_learn(struct credits *c, __u32 i);
/* Tells the VOQ at the end of this round. */
void slot_tell(struct credits *c, __u32 i);
/* Sends the totals of all slots to be told, rack by rack. */
void credits_tell(struct credits *c);

/* --- credits_port.c --- */

/*
 * Waits for the ring of a port: a packet holds it for less than a microsecond, and a lock whose CPU is gone is broken
 * after TRYLOCK_NS. Returns the time, for ring_leave().
 */
__u64 ring_enter(struct credits *c, __u32 port);
void ring_leave(struct credits *c, __u32 port, __u64 since);
/* Adds the port to this round: its packets may grant, and port_grant() follows. */
void port_visit(struct credits *c, __u32 port, __u64 now);
/* Grants the credit that packets have left over; notes which VOQs to tell. */
void port_grant(struct credits *c, __u32 port);
/* Moves the slot to another port; CREDITS_NONE: to none. */
void ring_move(struct credits *c, __u32 i, __u32 port);
/* Sets the parameters of the slot's peer. */
void ring_params(struct credits *c, __u32 i);
void credit_port_read(struct credits *c, struct credit_port *p);
/*
 * Credit is counted in wire bytes. Packets that leave by a pod's veth do not have our headers, so it takes credit for
 * more than its speed to fill it.
 */
void port_rate(struct credits *c, __u32 port);
/* The index of the port, or CREDITS_NONE. */
__u32 port_index(struct credits *c, __u32 ifindex);

#endif
