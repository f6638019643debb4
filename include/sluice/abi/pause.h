/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_PAUSE_H
#define SLUICE_ABI_PAUSE_H
/* Pauses: ports that obey or send them, and what waits there. */
#include "sluice/pause/arrive.h"
#include "sluice/types.h"

/* Where the priority of a packet is from. */
enum pfc_trust {
	PFC_TRUST_DSCP, /* DSCP / 8 */
	PFC_TRUST_PCP,	/* VLAN tag; 0 without one */
};

#define PFC_F_OBEY 1	  /* what the neighbour asks for is obeyed */
#define PFC_F_COUNT 2	  /* the queue of the port is counted */
#define PFC_F_PAUSE 4	  /* the neighbour is paused by thresholds, */
#define PFC_F_PREDICT 8	  /*  and by prediction */
#define PFC_F_DOWN 16	  /* no link: nothing is sent, and what was heard is forgotten */
#define PFC_F_NIC 32	  /* its NIC does PFC, so nothing is obeyed here, */
#define PFC_F_NIC_LLD 64  /*  and somebody else says for which priorities; */
#define PFC_F_NIC_SET 128 /*  or it was told, which is nic_set */

/* A port with pauses. Written by the daemon, but for what names a program. */
struct pfc_port {
	__u64 netns_cookie; /* of the network namespace that the interface is in */
	struct pfc_obey_params params;
	__u32 flags;   /* PFC_F_* */
	__u32 slot;    /* of pfc_slots, not 0 */
	__u8 lossless; /* bit n: priority n is paused */
	__u8 trust;    /* enum pfc_trust */
	__u8 nic_was;  /* PFC of its NIC: bit n: priority n, before it was told, */
	__u8 nic_set;  /*   and what it was told */
	__u8 mac[6];   /* from which its frames come */
	__u8 pad[6];
	struct pfc_obey obey[PFC_PRIORITIES]; /* pfc */
	__u64 heard[PFC_PRIORITIES];	      /* pfc: pauses, refreshed or not, */
	__u64 resumed[PFC_PRIORITIES];	      /*   XONs, */
	__u64 storms[PFC_PRIORITIES];	      /*   pauses that the watchdog ended, */
};

#define PFC_SLOTS 64 /* slot 0: of ports without pauses and of this machine, by which nothing leaves */

/* Pauses that a neighbour was told. */
struct pfc_sent {
	__u64 xoffs, refreshes, xons, predicted;
};

/*
 * What the neighbour of a port was told, by the daemon in a round or by hop at a packet: told, paused_for and packets are
 * written under lock_ns (trylock.h), the rest by the daemon.
 */
struct pfc_class {
	struct pfc_told told;
	__u64 in_bytes;	 /* the ingress counter: what came in by the port and is here, bytes, */
	__s64 in_growth; /*   and by how much that grew in the last round */
	__u64 out_bytes; /* the same of the egress queue */
	__s64 out_growth;
	__u64 xoffs, refreshes, xons, predicted; /* sent in rounds */
	struct pfc_sent packets;		 /* sent at packets */
	__u64 lock_ns;
	__u32 paused_for; /* slot of the queue for which P-PFC paused it last */
	__u32 pad;
};

/*
 * An egress queue of one priority, as its packets see it (arrive.h). Written by hop under lock_ns; random is seeded by the
 * daemon.
 */
struct pfc_arrivals {
	__u64 lock_ns;
	struct ppfc_meter meter;
	struct ppfc_random random;
	__u64 marked;	    /* bit n: the port of slot n */
	__u64 remaining_ns; /* how long the buffer would last, when ports were marked last */
	__u32 known;	    /* 1: last is of the beginning of this window */
	__u32 pad;
	__u32 last[PFC_SLOTS];	    /* what each port had in the queue when this window began, bytes, */
	__s32 increment[PFC_SLOTS]; /* and what it added in the one before */
};

/* What the daemon lets packets do. */
struct pfc_rule {
	__u64 lease_ns; /* they may until then (CLOCK_MONOTONIC); 0: they may not */
	struct ppfc_params predict;
	__u64 shared_bytes; /* the buffer without headroom */
	__u64 fixed_ns;	    /* the length of predicted pauses; 0: as Algorithm 3 has it */
	__u64 predicts;	    /* bit n: the neighbour of slot n is paused by prediction */
	__u32 slots;	    /* above all that are in use */
	__u32 lossless;	    /* bit n: priority n */
};

/* What a NIC that does PFC says of it, as of the last second. */
struct pfc_nic {
	__u8 capability; /* for so many priorities at a time */
	__u8 enabled;	 /* bit n: for priority n */
	__u8 pad[6];
	__u64 requests[PFC_PRIORITIES];	   /* frames that it sent, */
	__u64 indications[PFC_PRIORITIES]; /*   and received */
};

/*
 * A port in the shared buffer. bytes and total are of its queue: under the lock of its root qdisc, by ingress port and
 * priority. Without drops within the qdisc each is exact; with them total is, and each is when the queue is empty.
 */
struct pfc_slot {
	__u64 bytes[PFC_SLOTS][PFC_PRIORITIES]; /* pfc_enqueue, pfc_dequeue, as the qdisc charges them */
	__u64 total;				/* the same two: what tc calls backlog */
	__u64 amended;	  /* the same two: what was not seen to come or go: the qdisc dropped it, say */
	__u32 inexact;	  /* the same two: 1: bytes are not exact until the queue is empty */
	__u32 wake_bytes; /* daemon: it sleeps until total is more. pfc_enqueue: 0, it has been woken */
	/* Sums of bytes, kept with them. The daemon takes off what a lost update leaves (counts_settle()) */
	__u64 queue_bytes[PFC_PRIORITIES];   /* pfc_enqueue, pfc_dequeue: of all ingress ports, */
	__u64 ingress_bytes[PFC_PRIORITIES]; /* the same two, atomic: of this ingress port in all queues, */
	__u64 used_bytes;		     /* the same two, atomic: total of all; of slot 0 */
	struct pfc_class of[PFC_PRIORITIES];
	struct pfc_nic nic; /* daemon */
	/* Daemon; of slot 0: of the whole buffer, as of the last round. */
	__u64 round_ns;
	__u64 elapsed_ns;   /* since the round before */
	__u64 free_bytes;   /* of what is not headroom */
	__u64 remaining_ns; /* how long that lasts (Algorithm 1); ~0: it does not get less */
	/* Daemon: what packets go by, */
	struct pfc_params thresholds;
	__u64 bps;	      /* of the port, */
	__u64 window_ns;      /* ppfc_window_ns(), */
	struct pfc_rule rule; /* and of slot 0: of all */
	struct pfc_arrivals arrivals[PFC_PRIORITIES];
};

_Static_assert(sizeof(struct pfc_port) == 504, "pfc port");
_Static_assert(sizeof(struct pfc_slot) == PFC_SLOTS * 64 + 6136, "pfc slot");

#endif
