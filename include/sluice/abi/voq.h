/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_VOQ_H
#define SLUICE_ABI_VOQ_H
/* HierCC: VOQs at senders and switches, and their arrivals at receivers. */
#include "sluice/abi/addr.h"
#include "sluice/cc/rx.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"

/* Where the VOQs of packets to a peer are kept. */
enum voqs_where {
	VOQS_OFF,  /* nowhere: there are none */
	VOQS_HERE, /* this machine is the rack, or its switch */
	VOQS_TOR,  /* the switch that this host is behind (bpf/rack/tor.bpf.h) */
};

/* The destination of a VOQ: one host, or a peer's whole prefix if it has too many hosts. */
struct voq_key {
	struct sluice_addr addr; /* 0 after the prefix */
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
	__u32 ifindex;	  /* port by which it leaves */
	__u32 lock;	  /* 1 while a CPU uses hop or params */
	__u32 told_stop;  /* switch: hop.stopped as last told to the hosts */
	__u64 asked_ns;	  /* VOQS_TOR: when R was last asked for; switch: the same, by any host */
	__u64 told_ns;	  /* VOQS_TOR, ingress: when told_bps, the last R, came; 0: there is none */
	__u64 told_bps;
	__u64 beside_ns;    /* egress: when a companion last announced S, where data leaves as it is */
	__u32 beside_total; /* the low 32 bits of S in that companion */
	__u32 pad;
};

/* A flow from a host behind this switch, by its outer header. */
struct tor_flow_key {
	struct sluice_addr src, dst;
	__be16 port; /* UDP source port, one per flow; 0: the two hosts, where a companion reports their flows */
	__u16 pad;
};

/* CPUs share it; a race counts a flow twice, or asks twice. */
struct tor_flow {
	__u64 asked_ns;		   /* when its host was last taken to ask; of two hosts: when the last companion came */
	__u64 clock_ns;		   /* departure of its last packet */
	__u32 epoch;		   /* in which peers was last read; 0: never */
	__u32 voq_mark, voq_asked; /* as in struct flow */
	__u8 voq_merged, voq_prefixlen;
	__u8 hiercc; /* enum voqs_where of its destination */
	__u8 pad;
};

/* News for the daemon of a switch to send: to one host that has asked, or to all that ask, about a stop and its end. */
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
 * Arrivals of a VOQ. The daemon owns the slots; ingress writes those that are watched. The daemon changes ring and
 * params of a watched slot only while it holds the ring (hiercc_ring_enter()); claims are counted the same way.
 */
struct arrival {
	struct hiercc_seen seen;
	__u64 inner_bytes; /* inner bytes of seen.bytes, after the sink */
	__u64 last_ns;
	struct sluice_addr from; /* source of the last packet: credit is sent to it */
	struct sluice_addr to;	 /* destination of the last packet: credit is sent from it */
	struct arrival_key key;	 /* daemon */
	__u32 ifindex;		 /* daemon: the port that grants its credit */
	__u32 watched;		 /* daemon: 0: it looks only when told of a packet (struct arrival_news) */
	__u32 ring;		 /* daemon: index of that port in credit_rings */
	__u32 pad;
	struct hiercc_claims claims;
	struct hiercc_params params; /* daemon: of its peer */
};

/* Credit due to a VOQ, and the credit that it was told of. Owned by the holder of its ring. */
struct credit {
	struct hiercc_due due;
	struct hiercc_told told;
};

#define CREDIT_RINGS 512 /* ports that grant credit; each takes 3 KB */

/* A port that grants credit. */
struct credit_ring {
	struct hiercc_ring ring;
	__u32 ifindex; /* daemon */
	__u32 asked; /* holder of the ring: the daemon was asked to tell (struct arrival_ask), and has not looked yet */
};

/*
 * A packet of a VOQ that the daemon does not watch. If it does watch, but ifindex differs from the slot's, bytes and
 * packets are 0: the slot has counted them.
 */
struct arrival_news {
	struct arrival_key key;
	struct sluice_addr from, to;
	__u64 claim;		  /* S << 32 | F */
	__u32 bytes, inner_bytes; /* 0 with packets: S stands for the arrivals (hiercc_see()) */
	__u32 packets;
	__u32 ifindex; /* of the pod's veth, if it has a queue, or else the ingress interface */
};

/* In the same ring as news, told apart by size: the port of this slot has credit to tell to a VOQ that hears nothing. */
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
