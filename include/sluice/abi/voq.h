/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_VOQ_H
#define SLUICE_ABI_VOQ_H
/* HierCC: VOQs at senders and switches, and what arrives of them. */
#include "sluice/abi/addr.h"
#include "sluice/cc/rx.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"

/* Who keeps the VOQs by which packets to a peer leave. */
enum voqs_where {
	VOQS_OFF,  /* nobody: there are none */
	VOQS_HERE, /* this machine is the rack, or its switch */
	VOQS_TOR,  /* the switch that this host is behind (bpf/rack/tor.bpf.h) */
};

/* The destination of a VOQ: one host, or all of a peer's prefix where there are too many of those. */
struct voq_key {
	struct sluice_addr addr; /* 0 behind the prefix */
	__u32 prefixlen;	 /* 1..128; IPv4 prefixes plus 96 */
};

/* A VOQ at the sender. */
struct voq {
	struct hiercc_voq voq;
	struct hiercc_hop hop;	 /* under the lock */
	struct rx_counter count; /* F */
	struct hiercc_params params;
	struct hiercc_hop_params hop_params;
	__u64 credit_seq; /* ingress: sequence of the newest CREDIT, or RATE; 0: none yet */
	__u64 alone;	  /* packets that left because credits had stopped */
	__u32 epoch;	  /* of params */
	__u32 ifindex;	  /* by which it leaves */
	__u32 lock;	  /* 1 while a CPU is at hop or params */
	__u32 told_stop;  /* switch: what the hosts were told last of hop.stopped */
	__u64 asked_ns;	  /* VOQS_TOR: when R was asked for last; switch: likewise, by any host */
	__u64 told_ns;	  /* VOQS_TOR, ingress: when R was told last, and told_bps is it; 0: there is none */
	__u64 told_bps;
	__u64 beside_ns;    /* egress: when a companion said S last, where data leaves as it is, */
	__u32 beside_total; /*   and the low 32 bits of that */
	__u32 by_period; /* ingress: 1: it is granted credit once a period only, by a daemon that does not say more */
};

/* A flow from a host behind this switch, by its outer header. */
struct tor_flow_key {
	struct sluice_addr src, dst;
	__be16 port; /* UDP source: one for each flow; 0: the two hosts, where a companion tells of their flows */
	__u16 pad;
};

/* CPUs share it; who comes between counts a flow twice, or asks twice. */
struct tor_flow {
	__u64 asked_ns;		   /* when its host was last taken to ask; of two hosts: when the last companion came */
	__u64 clock_ns;		   /* departure of its last packet */
	__u32 epoch;		   /* in which peers was looked at; 0: never */
	__u32 voq_mark, voq_asked; /* as in struct flow */
	__u8 voq_merged, voq_prefixlen;
	__u8 hiercc; /* enum voqs_where of its destination */
	__u8 pad;
};

/* What the daemon of a switch is to tell: one host that has asked, or all that do, of a stop and its end. */
struct tor_news {
	struct voq_key voq;
	__u32 flags;		      /* TOR_NEWS_* */
	struct sluice_addr host, dst; /* with TOR_NEWS_ASKED */
	__u64 rate_bps;		      /* R; 0: there is none */
};

#define TOR_NEWS_ASKED 1
#define TOR_NEWS_STOPPED 2

/* A VOQ at the receiver. */
struct arrival_key {
	struct sluice_addr addr; /* as in voq_key */
	__u32 prefixlen;
	__be32 tor;
};

/*
 * What arrived of a VOQ. Slots are the daemon's; ingress writes those that are watched. What the daemon moves while a slot
 * is watched, ring and params, it moves while it is at the ring (hiercc_ring_enter()), as claims are counted.
 */
struct arrival {
	struct hiercc_seen seen;
	__u64 inner_bytes; /* what is left of seen.bytes behind the sink */
	__u64 last_ns;
	struct sluice_addr from; /* of the last packet: where credit is sent to, */
	struct sluice_addr to;	 /*   and who says so */
	struct arrival_key key;	 /* daemon */
	__u32 ifindex;		 /* daemon: the port that grants it */
	__u32 watched;		 /* daemon: 0: it looks only when it is told of a packet (struct arrival_news) */
	__u32 ring;		 /* daemon: of that port, in credit_rings */
	__u32 pad;
	struct hiercc_claims claims;
	struct hiercc_params params; /* daemon: of its peer */
};

/* What a VOQ is due, and what it has heard of that: of who is at its ring. */
struct credit {
	struct hiercc_due due;
	struct hiercc_told told;
};

#define CREDIT_RINGS 512 /* ports that grant credit; each takes 3 KB */

/* A port that grants credit. */
struct credit_ring {
	struct hiercc_ring ring;
	__u32 ifindex; /* daemon */
	__u32 asked; /* whoever is at the ring: the daemon was asked to tell (struct arrival_ask), and has not looked yet */
};

/*
 * A packet of a VOQ that the daemon does not watch. Where it does, but ifindex is not that of the slot: bytes
 * and packets are 0, for the slot has them.
 */
struct arrival_news {
	struct arrival_key key;
	struct sluice_addr from, to;
	__u64 claim;		  /* S << 32 | F */
	__u32 bytes, inner_bytes; /* 0 with packets: S says what arrived (hiercc_see()) */
	__u32 packets;
	__u32 ifindex; /* of the pod's veth, if that has a queue, or by which it came */
};

/* In the same ring as news, of another size: the port of this slot has credit to tell, to a VOQ that hears nothing. */
struct arrival_ask {
	__u32 slot;
	__u32 pad;
};

_Static_assert(sizeof(struct voq_key) == 20, "hashed as a whole: no padding");
_Static_assert(sizeof(struct voq) == 344, "voq");
_Static_assert(sizeof(struct tor_flow_key) == 36, "hashed as a whole: no padding");
_Static_assert(sizeof(struct tor_flow) == 32, "tor_flow");
_Static_assert(sizeof(struct tor_news) == 64, "tor_news");
_Static_assert(sizeof(struct arrival_key) == 24, "hashed as a whole: no padding");
_Static_assert(sizeof(struct arrival) == 200, "arrival");
_Static_assert(sizeof(struct credit) == 104, "credit");
_Static_assert(sizeof(struct credit_ring) == 3208, "credit_ring");
_Static_assert(sizeof(struct arrival_ask) < sizeof(struct arrival_news), "they are told apart by it");
_Static_assert(sizeof(struct arrival_news) == 80, "arrival_news");

#endif
