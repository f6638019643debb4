/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_PAUSE_H
#define SLUICE_ABI_PAUSE_H
/* Pauses: ports that obey or send them, and what waits there. */
#include "sluice/pause/pfc.h"
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
	__u8 pad[4];
	struct pfc_obey obey[PFC_PRIORITIES]; /* pfc */
	__u64 heard[PFC_PRIORITIES];	      /* pfc: pauses, refreshed or not, */
	__u64 resumed[PFC_PRIORITIES];	      /*   XONs, */
	__u64 storms[PFC_PRIORITIES];	      /*   pauses that the watchdog ended, */
};

#define PFC_SLOTS 64 /* slot 0: of ports without pauses and of this machine, by which nothing leaves */

/* What the daemon has told the neighbour of a port, and by what. */
struct pfc_class {
	struct pfc_told told;
	__u64 in_bytes;	 /* the ingress counter: what came in by the port and is here, bytes, */
	__s64 in_growth; /*   and by how much that grew in the last round */
	__u64 out_bytes; /* the same of the egress queue */
	__s64 out_growth;
	__u64 xoffs, refreshes, xons, predicted; /* sent */
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
	__u64 total;				/* likewise; what tc calls backlog */
	__u64 amended;	  /* likewise: what was not seen to come or go: the qdisc dropped it, say */
	__u32 inexact;	  /* likewise: 1: bytes are not exact until the queue is empty */
	__u32 wake_bytes; /* daemon: it sleeps until total is more. pfc_enqueue: 0, it has been woken */
	struct pfc_class of[PFC_PRIORITIES]; /* daemon */
	struct pfc_nic nic;		     /* daemon */
	/* Daemon; of slot 0: of the whole buffer, as of the last round. */
	__u64 round_ns;
	__u64 elapsed_ns;   /* since the round before */
	__u64 free_bytes;   /* of what is not headroom */
	__u64 remaining_ns; /* how long that lasts (Algorithm 1); ~0: it does not get less */
};

_Static_assert(sizeof(struct pfc_port) == 496, "pfc port");
_Static_assert(sizeof(struct pfc_slot) == PFC_SLOTS * 64 + 896, "pfc slot");

#endif
