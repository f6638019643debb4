/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_PORT_H
#define SLUICE_ABI_PORT_H
/* Managed interfaces. */
#include "sluice/cc/first.h"
#include "sluice/cc/rx.h"
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"

#define PORT_F_HOST 1
#define PORT_F_SWITCH 2
#define PORT_F_EDT 4	       /* every leaf of the root qdisc is fq */
#define PORT_F_OUR_CLSACT 8    /* the daemon made the clsact qdisc, and will remove it */
#define PORT_F_NO_QUEUE 16     /* a leaf is noqueue or pfifo_fast: its length cannot be read */
#define PORT_F_POD 32	       /* the node's end of a pod's veth, with a queue */
#define PORT_F_STAMP 64	       /* a node's uplink: the first hop of packets that leave by it */
#define PORT_F_XDP 128	       /* the sink is at XDP, in front of tc */
#define PORT_F_XDP_GENERIC 256 /* the XDP sink runs in generic mode: after the driver, with an skb */
#define PORT_F_XDP_TX 512      /* packets that XDP sends back there arrive */
#define PORT_F_CLASSES 1024    /* it has several queues, each of which stamps as a port of its own */

#define PORT_F_VOQ_UP 2048   /* of a switch: packets that hosts behind it send by this port use its VOQs */
#define PORT_F_VOQ_DOWN 4096 /* of a switch: packets leaving by this port are granted credit */

#define PORT_F_LEAVING 8192 /* no longer configured: packets leave plain, and arriving headers are stripped */
#define PORT_F_QUEUE 32768  /* every leaf of the root qdisc is sluice: VOQs are queues there */
#define PORT_F_LEFT 16384   /* it has left, except for the daemon's clsact qdisc: no role, no program of ours */

#define PORT_F_TCX 65536 /* programs are attached by tcx, else as filters of clsact */

/*
 * Not PORT_F_EDT, but packets may meet fq, at some leaf or behind a virtual link. Only a TCP socket whose packets have met it
 * asks for departure times that are to come.
 */
#define PORT_F_EDT_MAYBE 131072

#define PORT_QUEUES_MAX 64 /* transmit queues below mq, each of which is read for every stamp */

#define PORTS_MAX 4096 /* managed interfaces and pods with a queue */

/* A managed interface, or a pod's. Written by the daemon, except where a field names a program. */
struct port {
	__u64 speed_bps;
	struct telem_speed speed; /* how a switch port reports */
	__u32 flags;		  /* PORT_F_* */
	__u32 mtu;
	__u16 switch_id;	  /* 12 bits, XORed into pathID */
	__u16 domain;		  /* of routing: of its VRF or its bridge (domain.c); 0: the host's own */
	__u32 ecn_bytes;	  /* packets of others that find a longer queue are marked CE; 0: none are */
	__u64 backlog_bytes;	  /* backlog (kernels without kfuncs), pod_hop: state of the root qdisc */
	__u64 tx_bytes;		  /* the same: bytes that left it */
	__u64 sampled_ns;	  /* the same: when it was sampled */
	__u64 unseen_bytes;	  /* egress, atomic: bytes leaving by the uplink that its qdisc did not count */
	__u64 count_ns;		  /* length of an epoch of flow counting; 0: flows are not counted */
	struct rx_counter count;  /* ingress: flows that arrive by it */
	struct first_flows first; /* egress, tcp_cc: flows that leave by it and have begun */
	__u64 promised_ns;	  /* ingress: to flows that begin, up to this time; first_promise() */
	__u64 netns_cookie;	  /* of the network namespace that the interface is in */
	char name[16];		  /* for readers of the map in another network namespace */
	char configured[16];	  /* its name in the configuration and when it was attached */
};

_Static_assert(sizeof(struct port) == 144, "port");

#endif
