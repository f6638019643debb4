/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H
/*
 * What the BPF programs and the host see alike: keys and values of the pinned maps. SLUICE_ABI goes
 * up with every change of a layout here. A daemon carries entries of another number over by the names of members
 * (user/attach/adopt.c): what changes its meaning, or its unit, gets another name, and numbers of an enum stay what they are.
 */
#include "sluice/types.h"
#include "sluice/cc/fallback.h"
#include "sluice/rack/hiercc.h"
#include "sluice/cc/hpcc.h"
#include "sluice/pause/pfc.h"
#include "sluice/cc/rx.h"
#include "sluice/wire/siphash.h"
#include "sluice/cc/sparse.h"
#include "sluice/cc/swift.h"
#include "sluice/wire/telemetry.h"
#include "sluice/abi/stats.h"

#define SLUICE_ABI 14

/* Addresses are IPv6; an IPv4 address is the mapped ::ffff:a.b.c.d. Network byte order. */
struct sluice_addr {
	__u8 b[16];
};

/* A flow as its sender sees it: local to remote. */
struct flow_key {
	struct sluice_addr local;
	struct sluice_addr remote;
	__be16 local_port;
	__be16 remote_port;
	__u8 proto;
	__u8 pad[3]; /* 0 */
};

/*
 * What is to be told of the newest telemetry received on the reverse flow: it waits here for a packet
 * that takes it along. It is due while version is even and not sent.
 */
struct flow_echo {
	__u32 version; /* ingress: odd while it writes; egress compares before and after */
	__u32 sent;    /* egress: the version that it echoed last */
	__u32 seq;     /* of the packet that collected it */
	__u16 nhop_path;
	__u8 hops;   /* that hop[] has; 1 with a form that is one value */
	__u8 form;   /* enum rx_feedback */
	__u32 flows; /* N; 0: not told */
	__u32 pad;
	__u64 rx_ns; /* arrival, CLOCK_MONOTONIC */
	__u64 hop[HPCC_MAX_HOPS];
};

/* What the daemon is to send, for a flow whose reverse direction is silent: as in struct wire_report. */
struct report {
	struct flow_key key; /* local: that of the receiver */
	__u64 rx_ns;	     /* arrival of what it tells of */
	__be64 value;
	__u32 seq;
	__u16 nhop_path;
	__u16 flows;
	__u8 flags;
	__u8 pad[7]; /* not written */
};

#define FLOW_F_TELEM 1	/* packets of this flow leave with telemetry: the peer strips it */
#define FLOW_F_CLOSED 2 /* a FIN or RST was seen: the entry may go soon */
#define FLOW_F_TUNNEL 4 /* UDP that is a tunnel's (VXLAN): the kernel adds no second header to it */

/* What the last packet of a flow waited for. */
enum flow_held {
	HELD_NOT,
	HELD_RATE,   /* R of HPCC, or of the fallback: the flow's own clock */
	HELD_HOP,    /* R of Equation 1 of HierCC, of UDP: likewise */
	HELD_CREDIT, /* its VOQ */
	HELD_PAUSE,  /* the neighbour of its port */
	HELD_SOCKET, /* pacing of its socket's own: nothing of ours; only in a trace */
};

/* How much is known of the TCP sequence numbers of a flow whose receive window is cut. */
enum flow_seq {
	FLOW_SEQ_UNKNOWN,
	FLOW_SEQ_SENT, /* seq_end is valid */
	FLOW_SEQ_UNA,  /* seq_end, snd_una and grant_max are valid */
};

#define FLOW_TIMED 4 /* packets in a row whose round trip is timed, see bpf/host/delay.bpf.h */

struct flow {
	__u64 tx_bytes;	   /* egress, atomic: wire bytes sent; positions in the flow */
	__u64 clock_ns;	   /* egress, compare-and-swap: departure clock */
	__u64 last_tx_ns;  /* egress */
	__u64 last_rx_ns;  /* ingress: last packet with telemetry or echo */
	__u64 last_fb_ns;  /* ingress: last feedback used */
	__u64 probe_ns;	   /* egress: last PROBE made of a packet of it */
	__u64 asked_ns;	   /* egress: last look for the socket, for its window scale */
	__u64 fb_rx_ns;	   /* ingress: when the receiver got the telemetry of that feedback */
	__u64 feedbacks;   /* ingress: feedbacks used */
	__u32 flags;	   /* egress: FLOW_F_* */
	__u32 epoch;	   /* of the parameters below; both sides refresh under the lock */
	__u32 lock;	   /* 1 while a CPU changes params or cc */
	__u32 ifindex;	   /* egress: where the flow leaves */
	__u32 mtu;	   /* of that port, taken with the parameters */
	__u32 port_flags;  /* likewise: PORT_F_* */
	__u32 mss;	   /* egress: payload of the largest segment seen, and */
	__u32 segment;	   /*   what it weighs on the wire */
	__u32 source;	   /* egress: ifindex by which its packets come to this machine; 0: they are made here */
	__u64 edge_ns;	   /* ingress: when a window was granted last; 0: edge is not known */
	__u32 edge;	   /* ingress: end of the receive window that the sender was granted, TCP sequence */
	__u32 seq_end;	   /* egress: end of what was sent, TCP sequence */
	__u32 snd_una;	   /* both: the newest acknowledgement that was believed (SND.UNA), TCP sequence */
	__u32 grant_max;   /* both: the largest receive window that the sender was granted, bytes */
	__u32 pod_ifindex; /* pod_hop: where what arrives goes on to its pod by a queue; 0: nowhere */
	__u8 seq_known;	   /* enum flow_seq */
	__u8 wscale;	   /* of the windows that the remote side advertises */
	__u8 wscale_known;
	__u8 own_cc; /* tcp_cc: the socket itself obeys W */
	__u8 pad1;
	__u8 form;	  /* ingress: enum rx_feedback, of what its receiver told last */
	__u8 told_hops;	  /* ingress: of its path, where the hops themselves are not told */
	__u8 own_port;	  /* ingress: how certain it is that the last hop is its bottleneck (rx.h) */
	__u8 rx_kept;	  /* ingress: there is an entry in rx_states */
	__u8 encoding;	  /* of its telemetry, taken with the parameters: enum sluice_encoding */
	__u8 telemetry;	  /* of the peer: enum telemetry_mode */
	__u8 fb_probe;	  /* ingress: the last feedback was the answer to a PROBE */
	__u32 flows;	  /* ingress: N by which W_AI is now; 0: it is not by N */
	__u32 fb_seq;	  /* ingress: seq that the last feedback named */
	__u32 count_mark; /* ingress, compare-and-swap: epoch in which the reverse flow was counted */
	/* From the peer's prefix, with params. */
	__u32 feedback; /* enum rx_feedback: what this host tells of the reverse flow */
	__u32 flows_expected;
	__u32 flows_fixed;   /* 1: what is counted changes nothing */
	__u64 telem_tx_ns;   /* egress: last packet with telemetry */
	__u64 count_next_ns; /* ingress: when N is looked up again, */
	__u32 counted;	     /*   and what it was */
	__u8 hiercc;	     /* of the peer, with params: enum voqs_where */
	__u8 hpcc_off;	     /* likewise: W and R are not HPCC's */
	__u8 held;	     /* egress: enum flow_held, of the last packet */
	__u8 voq_prefixlen;  /* egress: of its VOQ, where voq_merged */
	/* Sequences of authenticated messages (auth.bpf.h); 0: none yet. */
	__u64 telem_seq; /* ingress: newest of which the telemetry was taken, */
	__u64 telem_ns;	 /*   and when the first packet with it came */
	__u64 echo_seq;	 /* ingress: newest of which the echo was taken */
	__u64 probe_seq; /* egress: of the last PROBE */
	__u64 reply_seq; /* ingress: newest PROBE that was answered, and egress before the first */
	__u64 asked_seq; /* ingress, compare-and-swap: newest PROBE that came of the reverse flow */
	struct hpcc_params params;
	struct hpcc_state cc; /* ingress, under the lock; tcp_cc reads w and rate_bps */
	struct flow_echo echo;
	struct fallback fallback;  /* ingress, under the lock: which control decides */
	struct swift_params swift; /* target_ns 0: HPCC decides, whatever the path stamps */
	__u64 timed[FLOW_TIMED];   /* egress: position << 32 | departure, ns; see timed_count */
	__u64 probed;		   /* likewise of a PROBE; 0: none */
	__u32 timed_count;	   /* egress adds, ingress sets to 0 */
	__u32 delay_ns;		   /* ingress: the last sample; 0: none yet */
	__u64 hop_rate_bps;	   /* egress: R of Equation 1, bits/s; 0: none */
	__u32 voq_mark;		   /* egress, compare-and-swap: epoch in which it was counted in its VOQ */
	__u32 voq_asked;	   /* egress: when room for a VOQ was looked for last, units of 2^20 ns, where */
	__u8 voq_merged;	   /*   there was none of its destination */
	__u8 voq_in;		   /* ingress: what comes of the reverse flow has a VOQ block, */
	__u8 voq_pod;		   /*   and its credit is of the pod's veth */
	__u8 no_peer;		   /* with params: its remote side is no peer any more: packets leave as they are */
	__u8 pad3[4];
};

/* How this host reports on a flow, keyed as in flows: where it tells U or W. */
struct rx_flow {
	struct rx_state rx;	   /* under the lock */
	struct hpcc_params params; /* the flow's, with W_AI by N */
	__u64 last_ns;		   /* when the telemetry came that was used last */
	__u64 since_ns;		   /* not 0: the flow had been on its way when this was made: from here on, */
	__u32 since_seq;	   /*   and after this position, W is measured by what arrives */
	__u32 epoch;		   /* of params */
	__u32 flows;		   /* N of params */
	__u32 lock;		   /* 1 while a CPU is at it */
	__u32 form;		   /* enum rx_feedback, for which this is; 0: it has not begun */
	__u8 own_port;
	__u8 pad[3];
	__u64 handed_ns; /* last one that the daemon was handed */
};

/* What is known about a remote address. All writers are racy and idempotent. */
struct host {
	__u64 heard_ns;	     /* ingress: last Sluice message from it */
	__u64 unanswered_ns; /* egress: oldest data since then; 0: none */
	__u64 asked_ns;	     /* egress: last question */
	__u32 capable;	     /* it strips telemetry */
	__u32 epoch;	     /* in which it was seen to lie in a peer's prefix */
	__u64 rx_seq;	     /* ingress, compare-and-swap: newest sequence of an authenticated message from it */
	__u64 answers_ns;    /* ingress, compare-and-swap: the bucket of answers to its PROBEs (bucket.h) */
};

/* The keys: the first signs, each is believed. The daemon writes a slot that is not in use (control). */
struct auth_keys {
	struct siphash_key key[2];
	__u32 n;
	__u32 pad;
};

#define AUTH_SLOTS 2

struct peer_key {
	__u32 prefixlen; /* 0..128; IPv4 prefixes plus 96 */
	struct sluice_addr addr;
};

/* How packets to a peer ask for telemetry. What comes is read in either. */
enum sluice_encoding {
	ENCODING_HPCC,
	ENCODING_INT_MD,
};

/* Parameters of a destination prefix, from the configuration. */
struct peer {
	__u64 t_ns; /* base RTT */
	q24_t eta;
	q12_t w_ai;	   /* 0: w_init * (1 - eta) / flows */
	__u32 flows;	   /* N: flows that are expected to share a port; */
	__u32 flows_fixed; /*   1: whatever the receiver counts, or w_ai is set */
	__u32 feedback;	   /* enum rx_feedback: what it is told of what arrives from there */
	__u32 max_stage;
	__u32 variant;	 /* enum hpcc_variant */
	__u32 fallback;	 /* 1: by delay where nothing is stamped */
	__u32 target_ns; /* of that delay; 0: by t_ns */
	__u32 encoding;	 /* enum sluice_encoding */
	__u32 telemetry; /* enum telemetry_mode */
	__u32 hpcc_off;	 /* 1: W and R are not HPCC's */
	__u32 hiercc;	 /* enum voqs_where: packets to it go by VOQs */
	__u64 voq_bps;	 /* speed of its hosts' ports; 0: as fast as the port by which the VOQ leaves */
	__u64 voq_c0;	 /* bytes; 0: the default of hiercc_params_init(), as with all that follow */
	__u64 voq_limit_ns;
	__u64 voq_period_ns; /* between two grants there, not 0 */
	__u32 prefixlen;     /* as in its key, for the VOQ of all of it; 0: there is none */
	__u32 leaving;	     /* 1: no peer any more: it is sent nothing of ours, and what it still sends is stripped */
};

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
};

/* A flow from a host behind this switch, by its outer header. */
struct tor_flow_key {
	struct sluice_addr src, dst;
	__be16 port; /* UDP source: one for each flow */
	__u16 pad;
};

/* CPUs share it; who comes between counts a flow twice, or asks twice. */
struct tor_flow {
	__u64 asked_ns;		   /* when its host was last taken to ask */
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

/* What arrived of a VOQ. Slots are the daemon's; ingress writes those that are watched. */
struct arrival {
	struct hiercc_seen seen;
	__u64 inner_bytes; /* what is left of seen.bytes behind the sink */
	__u64 last_ns;
	struct sluice_addr from; /* of the last packet: where credit is sent to, */
	struct sluice_addr to;	 /*   and who says so */
	struct arrival_key key;	 /* daemon */
	__u32 ifindex;		 /* daemon: the port that grants it */
	__u32 watched;		 /* daemon: 0: it looks only when it is told of a packet (struct arrival_news) */
	__u64 claims_cut, claims_jumped; /* daemon: claims that were not believed */
};

/*
 * A packet of a VOQ that the daemon does not watch. Where it does, but ifindex is not that of the slot: bytes
 * and packets are 0, for the slot has them.
 */
struct arrival_news {
	struct arrival_key key;
	struct sluice_addr from, to;
	__u64 claim; /* S << 32 | F */
	__u32 bytes, inner_bytes;
	__u32 packets;
	__u32 ifindex; /* of the pod's veth, if that has a queue, or by which it came */
};

#define PORT_F_HOST 1
#define PORT_F_SWITCH 2
#define PORT_F_EDT 4	       /* every leaf of the root qdisc is fq */
#define PORT_F_NO_QUEUE 16     /* a leaf is noqueue or pfifo_fast: its length cannot be read */
#define PORT_F_OUR_CLSACT 8    /* the daemon made the clsact qdisc, and takes it away again */
#define PORT_F_POD 32	       /* the node's end of a pod's veth, with a queue */
#define PORT_F_STAMP 64	       /* a node's uplink: the first hop of what leaves by it */
#define PORT_F_XDP 128	       /* the sink is at XDP, in front of tc */
#define PORT_F_XDP_GENERIC 256 /* that is behind the driver, with an skb */
#define PORT_F_XDP_TX 512      /* what XDP sends back there arrives */
#define PORT_F_CLASSES 1024    /* it has several queues, each of which stamps as a port of its own */

#define PORT_F_VOQ_UP 2048   /* of a switch: what hosts behind it send by this port goes by its VOQs */
#define PORT_F_VOQ_DOWN 4096 /* likewise: what leaves by this port is granted credit */

#define PORT_F_LEAVING 8192 /* of no configuration any more: what leaves is plain, and what comes is stripped */
#define PORT_F_LEFT 16384 /* it has left, but for the clsact qdisc that the daemon made: no role, no program of ours */

#define PORTS_MAX 4096 /* managed interfaces and pods with a queue */

/* An interface that is managed, or a pod's. Written by the daemon, but for what names a program. */
struct port {
	__u64 speed_bps;
	struct telem_speed speed; /* how a switch port reports */
	__u32 flags;		  /* PORT_F_* */
	__u32 mtu;
	__u16 switch_id; /* 12 bits, XORed into pathID */
	__u16 pad[3];
	__u64 backlog_bytes;	 /* backlog (kernels without kfuncs), pod_hop: state of the root qdisc */
	__u64 tx_bytes;		 /* likewise: bytes that left it */
	__u64 sampled_ns;	 /* likewise: when it was so */
	__u64 unseen_bytes;	 /* egress, atomic: what the uplink's qdisc did not count of what left it */
	__u64 count_ns;		 /* an epoch in which flows are counted; 0: they are not */
	struct rx_counter count; /* ingress: flows that arrive by it */
	__u64 netns_cookie;	 /* of the network namespace that the interface is in */
	char name[16];		 /* for whoever reads the map from another network namespace */
	char configured[16];	 /* what the configuration calls it: its name when it was attached */
};

#define CLASSES_MAX 8

/* What a class of a port is sure of, and so reports as its speed. */
struct class_share {
	__u64 bps;
	struct telem_speed speed;
};

/* The classes of a switch port. Written by the daemon, but for emptied_ns. */
struct port_classes {
	__u64 netns_cookie; /* of the network namespace that the interface is in */
	__u64 emptied_ns;   /* class_dequeue: when the root qdisc was empty last */
	__u32 n;
	__u8 of_dscp[64]; /* DSCP -> class, all below n */
	__u32 pad;
	struct class_share share[CLASSES_MAX];
};

struct class_key {
	__u32 ifindex;
	__u32 class;
};

#define CLASS_PACKETS 1024 /* a power of two */

/* A packet that waits in the queue of its class. */
struct class_packet {
	__u64 ns;    /* when it came */
	__u32 bytes; /* what has not left of it */
	__u32 id;    /* of its bytes; 0: several, for which there was no room of their own */
};

/* The queue of a class. Made by the daemon, written by class_enqueue and class_dequeue. */
struct class_queue {
	__u64 tx_bytes; /* what left */
	__u64 backlog_bytes;
	__u64 sojourn_ns; /* of the packet that left last */
	__u64 came_ns;	  /* when the last one came */
	__u32 head;	  /* the packets that wait: from here, free running, */
	__u32 tail;	  /*   to before this */
	__u32 left_id;	  /* id of the packet that left last */
	__u32 pad;
	struct class_packet packet[CLASS_PACKETS];
};

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

enum sluice_mode {
	MODE_OBSERVE, /* telemetry goes out and comes back; U is measured, W is not computed */
	MODE_DRY_RUN, /* W and R are computed and shown, and hold nothing back */
	MODE_ENFORCE,
};

/* The live knobs, one entry. */
struct control {
	__u32 abi;	    /* SLUICE_ABI; the first member, in every version. 0: the pins change places just now */
	__u32 mode;	    /* enum sluice_mode */
	__u32 bypass;	    /* 1: egress and hop pass everything untouched; ingress still strips */
	__u32 epoch;	    /* goes up when peers or ports change */
	__u32 pid;	    /* of the daemon that wrote it last */
	__u32 rwnd;	    /* 1: the receive windows that foreign stacks are granted are cut down to W */
	__u32 horizon_mark; /* what would wait for longer: 1 marked CE if ECN capable, 0 dropped */
	__u32 auth;	    /* keys in use: slot + 1; 0: messages are not authenticated */
	__u64 seq_base_ns;  /* what the clock of sequences is ahead of CLOCK_MONOTONIC; never goes back (seq.h) */
	__u64 horizon_ns;   /* how long packets without a window wait; 0: one base RTT */
	__u64 heartbeat_ns;
	__u64 doubt_ns;	      /* a host that was not heard since may have stopped stripping unseen: it is asked anew */
	__u64 credit_ns;      /* daemon: when it dealt out credit last */
	__u64 credit_life_ns; /* for so long after that, ports that do are not told of by their hops */
	__be32 tor;	      /* of this machine as a rack: not 0 */
	__u32 pfc;	      /* daemon: there are ports that obey pauses */
	__u32 cc_abi;	      /* SLUICE_ABI of the daemon that registered it; 0: of another version's maps */
	__u32 trace_pid;      /* of who traces, below */
	__u32 ports_leaving;  /* daemon: so many ports have PORT_F_LEAVING */
	__u32 pad2;
	char cc_name[16];    /* congestion control that is registered; "" for none */
	char cc_default[16]; /* the namespace's default before ours; "" if it was left alone */
	/* sluicectl trace. Of flows with this port (0: any) and a remote address in this prefix */
	__u32 trace_every; /*   one decision of so many, by chance, is recorded, */
	__be16 trace_port;
	__u8 trace_on; /*   if this is 1, and */
	__u8 pad;
	struct sluice_addr trace_addr, trace_mask;
	__u64 trace_until_ns; /* not after that: who traces puts it off; 0: nobody traces */
};

#define TRACE_LEASE_NS (2 * NSEC_PER_SEC)
#define TRACE_PACKET_BYTES 256 /* of a packet: all headers of ours, and mostly those of the inner packet */

enum trace_event {
	TRACE_DEPARTURE,
	TRACE_DROP,
	TRACE_PROBE,
	TRACE_FEEDBACK,
};

/* What egress has decided for a packet. */
struct trace_departure {
	__u64 departure_ns; /* of a drop: that it would have had to wait for */
	__u64 w_bytes;
	__u64 rate_bps;	      /* of the flow's clock */
	__u64 tx_bytes;	      /* of the flow, with this packet */
	__u32 inflight_bytes; /* of its socket, without this packet */
	__u8 inflight_known;
	__u8 held; /* enum flow_held */
	__u8 priority;
	__u8 pad;
};

/* Feedback, and what was decided by it. */
struct trace_feedback {
	__u64 now_ns;	     /* of the packet that brought it */
	struct hpcc_ack ack; /* hop[]: only with RX_HOPS */
	q12_t w_before, w, wc, w_ai;
	q24_t u;
	__u64 rate_before_bps, rate_bps;
	__u64 t_ns;
	__u32 flows;							   /* N by which w_ai was */
	__u32 delay_ns;							   /* 0: it was not timed */
	__u32 ts_before_ns[HPCC_MAX_HOPS], tx_before_bytes[HPCC_MAX_HOPS]; /* of the hops, in the feedback before; */
	__u8 compared;							   /*   0: that was of another path */
	__u8 kind;							   /* enum hpcc_kind */
	__u8 form;							   /* enum rx_feedback */
	__u8 probe;
	__u8 swift;
	__u8 variant;
	__u8 inc_stage;
	__u8 bottleneck;
};

/* A record of the ring: a decision, and the packet that it was for, or that told of what it is by. */
struct trace {
	__u64 ns; /* CLOCK_MONOTONIC */
	struct flow_key key;
	__u32 event;   /* enum trace_event */
	__u32 verdict; /* enum sluice_stat; not of feedback */
	__u32 ifindex;
	__u32 packet_bytes; /* its length, */
	__u32 kept_bytes;   /*   and what there is of it here */
	__u32 pad;
	union {
		struct trace_departure departure;
		struct trace_feedback feedback;
	};
	__u8 packet[TRACE_PACKET_BYTES];
};

_Static_assert(sizeof(struct flow_key) == 40, "hashed as a whole: no padding");
_Static_assert(sizeof(struct report) == 72, "report");
_Static_assert(sizeof(struct flow_echo) == 72, "echo");
_Static_assert(sizeof(struct hpcc_params) == 64, "params");
_Static_assert(sizeof(struct hpcc_state) == 192, "cc");
_Static_assert(sizeof(struct flow) == 696, "flow");
_Static_assert(sizeof(struct rx_flow) == 320, "rx_flow");
_Static_assert(sizeof(struct peer) == 112, "peer");
_Static_assert(sizeof(struct voq_key) == 20, "hashed as a whole: no padding");
_Static_assert(sizeof(struct voq) == 320, "voq");
_Static_assert(sizeof(struct tor_flow_key) == 36, "hashed as a whole: no padding");
_Static_assert(sizeof(struct tor_flow) == 32, "tor_flow");
_Static_assert(sizeof(struct tor_news) == 64, "tor_news");
_Static_assert(sizeof(struct arrival_key) == 24, "hashed as a whole: no padding");
_Static_assert(sizeof(struct arrival) == 120, "arrival");
_Static_assert(sizeof(struct arrival_news) == 80, "arrival_news");
_Static_assert(sizeof(struct port) == 128, "port");
_Static_assert(sizeof(struct port_classes) == 216, "classes");
_Static_assert(sizeof(struct pfc_port) == 496, "pfc port");
_Static_assert(sizeof(struct pfc_slot) == PFC_SLOTS * 64 + 896, "pfc slot");
_Static_assert(sizeof(struct class_queue) == 48 + CLASS_PACKETS * 16, "class queue");
_Static_assert(sizeof(struct trace_feedback) == 280, "trace feedback");
_Static_assert(sizeof(struct trace) == 608, "trace");

#endif
