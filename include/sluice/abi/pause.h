/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_PAUSE_H
#define SLUICE_ABI_PAUSE_H
/* Pauses: ports that obey or send them, and the bytes that wait there. */
#include "sluice/pause/arrive.h"
#include "sluice/types.h"

/* The source of a packet's priority. */
enum pfc_trust {
	PFC_TRUST_DSCP, /* DSCP / 8 */
	PFC_TRUST_PCP,	/* VLAN tag; 0 without one */
};

#define PFC_F_OBEY 1	  /* pauses from the neighbour are obeyed */
#define PFC_F_COUNT 2	  /* the queue of the port is counted */
#define PFC_F_PAUSE 4	  /* the neighbour is paused by thresholds */
#define PFC_F_PREDICT 8	  /* the neighbour is paused by prediction */
#define PFC_F_DOWN 16	  /* no link: nothing is sent, and received pauses are forgotten */
#define PFC_F_NIC 32	  /* the NIC does PFC, so nothing is obeyed here */
#define PFC_F_NIC_LLD 64  /* with PFC_F_NIC: the daemon cannot set its priorities (DCBX) */
#define PFC_F_NIC_SET 128 /* with PFC_F_NIC: the daemon set its priorities to nic_set */

/* A port with pauses. Written by the daemon, except where a field names a program. */
struct pfc_port {
	__u64 netns_cookie; /* of the network namespace that the interface is in */
	struct pfc_obey_params params;
	__u32 flags;   /* PFC_F_* */
	__u32 slot;    /* of pfc_slots, not 0 */
	__u8 lossless; /* bit n: priority n is paused */
	__u8 trust;    /* enum pfc_trust */
	__u8 nic_was;  /* bit n: PFC of the NIC for priority n before the daemon set it */
	__u8 nic_set;  /* bit n: PFC of the NIC for priority n as the daemon set it */
	__u8 mac[6];   /* source address of its frames */
	__u8 pad[6];
	struct pfc_obey obey[PFC_PRIORITIES]; /* pfc */
	__u64 heard[PFC_PRIORITIES];	      /* pfc: pauses, refreshed or not */
	__u64 resumed[PFC_PRIORITIES];	      /* pfc: XONs */
	__u64 storms[PFC_PRIORITIES];	      /* pfc: pauses that the watchdog ended */
};

#define PFC_SLOTS 64 /* slot 0: ports without pauses and this machine itself, never an egress port */

/* Pauses sent to a neighbour. */
struct pfc_sent {
	__u64 xoffs, refreshes, xons, predicted;
};

/*
 * Pauses sent to the neighbour of a port, by the daemon in a round or by hop at a packet: told, paused_for and
 * packets are written under lock_ns (trylock.h), the rest by the daemon.
 */
struct pfc_class {
	struct pfc_told told;
	__u64 in_bytes;	 /* the ingress counter: bytes that came in by the port and are still here */
	__s64 in_growth; /* growth of in_bytes in the last round */
	__u64 out_bytes; /* the egress queue, bytes */
	__s64 out_growth;
	__u64 xoffs, refreshes, xons; /* sent in rounds */
	struct pfc_sent packets;      /* sent at packets */
	__u64 lock_ns;
	__u32 paused_for; /* slot of the queue for which P-PFC paused it last */
	__u32 pad;
};

/*
 * An egress queue of one priority, as its packets see it (arrive.h). Written by hop under lock_ns; random is seeded
 * by the daemon.
 */
struct pfc_arrivals {
	__u64 lock_ns;
	struct ppfc_meter meter;
	struct ppfc_random random;
	__u64 marked;	    /* bit n: the port of slot n */
	__u64 remaining_ns; /* how long the buffer would last, at the last marking */
	__u32 known;	    /* 1: last is from the beginning of this window */
	__u32 pad;
	__u32 last[PFC_SLOTS];	    /* bytes of each port in the queue when this window began */
	__s32 increment[PFC_SLOTS]; /* growth of each port in the window before */
};

/* Permission and parameters from the daemon for decisions at packets. */
struct pfc_rule {
	__u64 lease_ns; /* packets may decide until then (CLOCK_MONOTONIC); 0: they may not */
	struct ppfc_params predict;
	__u64 shared_bytes; /* the buffer without headroom */
	__u64 fixed_ns;	    /* the length of predicted pauses; 0: Algorithm 3 decides */
	__u64 predicts;	    /* bit n: the neighbour of slot n is paused by prediction */
	__u32 slots;	    /* above all slots in use */
	__u32 lossless;	    /* bit n: priority n */
};

/* State and counters of a NIC that does PFC, read once a second. */
struct pfc_nic {
	__u8 capability; /* number of priorities that it can do at once */
	__u8 enabled;	 /* bit n: for priority n */
	__u8 pad[6];
	__u64 requests[PFC_PRIORITIES];	   /* frames sent */
	__u64 indications[PFC_PRIORITIES]; /* frames received */
};

/*
 * A port in the shared buffer. bytes and total count its queue, under the lock of its root qdisc, bytes by ingress port
 * and priority. Both are exact unless the qdisc drops packets itself: then bytes is exact only in an empty queue.
 */
struct pfc_slot {
	__u64 bytes[PFC_SLOTS][PFC_PRIORITIES]; /* pfc_enqueue, pfc_dequeue, as the qdisc charges them */
	__u64 total;				/* the same two: the backlog in tc */
	__u64 amended;	  /* the same two: bytes that were not seen to come or go, such as drops by the qdisc */
	__u32 inexact;	  /* the same two: 1: bytes are not exact until the queue is empty */
	__u32 wake_bytes; /* daemon: it sleeps until total exceeds this. pfc_enqueue: 0, it has been woken */
	/* Sums of bytes, kept with them. The daemon removes the error of a lost update (counts_settle()) */
	__u64 queue_bytes[PFC_PRIORITIES];   /* pfc_enqueue, pfc_dequeue: of all ingress ports */
	__u64 ingress_bytes[PFC_PRIORITIES]; /* the same two, atomic: of this ingress port in all queues */
	__u64 used_bytes;		     /* the same two, atomic: total of all ports; in slot 0 */
	struct pfc_class of[PFC_PRIORITIES];
	struct pfc_nic nic; /* daemon */
	/* Daemon; in slot 0: of the whole buffer, as of the last round. */
	__u64 round_ns;
	__u64 elapsed_ns;   /* since the round before */
	__u64 free_bytes;   /* of the buffer without headroom */
	__u64 remaining_ns; /* how long free_bytes lasts (Algorithm 1); ~0: it is not shrinking */
	/* Daemon: parameters that hop uses at packets. */
	struct pfc_params thresholds;
	__u64 bps;	      /* speed of the port */
	__u64 window_ns;      /* ppfc_window_ns() of the port */
	struct pfc_rule rule; /* in slot 0: for all ports */
	struct pfc_arrivals arrivals[PFC_PRIORITIES];
};

_Static_assert(sizeof(struct pfc_port) == 504, "pfc port");
_Static_assert(sizeof(struct pfc_slot) == PFC_SLOTS * 64 + 6072, "pfc slot");

#endif
