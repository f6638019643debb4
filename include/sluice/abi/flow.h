/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_FLOW_H
#define SLUICE_ABI_FLOW_H
/* Flows: the map flows, what a receiver keeps for its reports, and what it hands to the daemon. */
#include "sluice/abi/addr.h"
#include "sluice/cc/base_rtt.h"
#include "sluice/cc/companion.h"
#include "sluice/cc/fallback.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/cc/swift.h"
#include "sluice/types.h"

/* A flow as its sender sees it: local to remote. */
struct flow_key {
	struct sluice_addr local;
	struct sluice_addr remote;
	__be16 local_port;
	__be16 remote_port;
	__u8 proto;
	__u8 pad[3]; /* 0 */
};

/* Whether packets of this IP protocol have ports. Those of a tunnel (IPIP, IPv6 in IPv4, GRE) have not: 0 in their key. */
static inline int flow_has_ports(__u8 proto)
{
	return proto == 6 || proto == 17;
}

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
	__u32 voq;   /* slot + 1 of the VOQ by which it came, if its sender takes credit from echoes; 0: none */
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
#define FLOW_F_TUNNEL 4 /* a tunnel's (VXLAN, IPIP, GRE): the kernel adds no second header to its packets */

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

/* From the peer's prefix and the port, whenever the epoch moves; both directions read it, and whichever comes first writes it. */
struct flow_path {
	__u32 epoch;	   /* of what follows, and of params */
	__u32 ifindex;	   /* egress: where the flow leaves */
	__u32 mtu;	   /* of that port */
	__u32 port_flags;  /* of that port: PORT_F_* */
	__u32 pod_ifindex; /* pod_hop: where what arrives goes on to its pod by a queue; 0: nowhere */
	__u32 feedback;	   /* enum rx_feedback: what this host tells of the reverse flow */
	__u32 flows_expected;
	__u32 flows_fixed; /* 1: what is counted changes nothing */
	__u8 encoding;	   /* of its telemetry: enum sluice_encoding */
	__u8 telemetry;	   /* of the peer: enum telemetry_mode */
	__u8 hiercc;	   /* of the peer: enum voqs_where */
	__u8 hpcc_off;	   /* W and R are not HPCC's */
	__u8 no_peer;	   /* its remote side is no peer any more: packets leave as they are */
	__u8 pad[3];
};

/* Written by egress with every packet. */
struct flow_tx {
	__u64 bytes;	/* atomic: wire bytes sent; positions in the flow */
	__u64 clock_ns; /* compare-and-swap: departure clock */
	__u64 last_ns;	/* last packet */
	__u64 telem_ns; /* last packet with telemetry */
	__u64 probe_ns; /* last PROBE made of a packet of it */
	__u32 flags;	/* FLOW_F_* */
	__u32 mss;	/* payload of the largest segment seen, and */
	__u32 segment;	/*   what it weighs on the wire */
	__u32 source;	/* ifindex by which its packets come to this machine; 0: they are made here */
	__u32 seq_end;	/* end of what was sent, TCP sequence; valid as wnd.seq_known says */
	__u8 held;	/* enum flow_held, of the last packet */
	__u8 own_cc;	/* tcp_cc: the socket itself obeys W */
	__u8 pad[2];
};

/* Written by ingress with every packet, or with every feedback. */
struct flow_rx {
	__u64 last_ns;	 /* last packet with telemetry or echo */
	__u64 fb_ns;	 /* last feedback used */
	__u64 fb_rx_ns;	 /* when the receiver got the telemetry of that feedback */
	__u64 feedbacks; /* feedbacks used */
	__u64 count_ns;	 /* when N is looked up again, */
	__u32 counted;	 /*   and what it was */
	__u32 lock;	 /* 1 while a CPU changes params or cc; egress takes it, too, when the epoch moves */
	__u32 flows;	 /* N by which W_AI is now; 0: it is not by N */
	__u32 fb_seq;	 /* seq that the last feedback named */
	__u8 form;	 /* enum rx_feedback, of what its receiver told last */
	__u8 told_hops;	 /* of its path, where the hops themselves are not told */
	__u8 own_port;	 /* how certain it is that the last hop is its bottleneck (rx.h) */
	__u8 kept;	 /* there is an entry in rx_states */
	__u8 fb_probe;	 /* the last feedback was the answer to a PROBE */
	__u8 voq_in;	 /* what comes of the reverse flow has a VOQ block, */
	__u8 voq_pod;	 /*   and its credit is of the pod's veth */
	__u8 pad;
};

/* TCP, where the receive window is cut (rwnd.bpf.h). */
struct flow_wnd {
	__u64 edge_ns;	 /* ingress: when a window was granted last; 0: edge is not known */
	__u64 asked_ns;	 /* egress: last look for the socket, for its window scale */
	__u32 edge;	 /* ingress: end of the receive window that the sender was granted, TCP sequence */
	__u32 snd_una;	 /* both: the newest acknowledgement that was believed (SND.UNA), TCP sequence */
	__u32 grant_max; /* both: the largest receive window that the sender was granted, bytes */
	__u8 seq_known;	 /* enum flow_seq */
	__u8 wscale;	 /* of the windows that the remote side advertises */
	__u8 wscale_known;
	__u8 pad;
};

/* Sequences of authenticated messages (auth.bpf.h); 0: none yet. */
struct flow_auth {
	__u64 telem_seq; /* ingress: newest of which the telemetry was taken, */
	__u64 telem_ns;	 /*   and when the first packet with it came */
	__u64 echo_seq;	 /* ingress: newest of which the echo was taken */
	__u64 probe_seq; /* egress: of the last PROBE */
	__u64 reply_seq; /* ingress: newest PROBE that was answered, and egress before the first */
	__u64 asked_seq; /* ingress, compare-and-swap: newest PROBE that came of the reverse flow */
};

/* Its VOQ, written by egress. */
struct flow_voq {
	__u64 rate_bps; /* R of Equation 1, bits/s; 0: none */
	__u32 mark;	/* compare-and-swap: epoch in which the flow was counted in its VOQ */
	__u32 asked;	/* when room for a VOQ was looked for last, units of 2^20 ns, where */
	__u8 merged;	/*   there was none of its destination */
	__u8 prefixlen; /* of its VOQ, where merged */
	__u8 pad[2];
	__u32 count_mark; /* ingress, compare-and-swap: epoch in which the reverse flow was counted */
};

/* What a companion has of the flow's data where it is made of an ACK that comes in. */
struct flow_beside {
	__be32 v6_first; /* egress: first word of the IPv6 header: traffic class and flow label */
	__u8 tos;	 /* egress: DSCP and ECN */
	__u8 wanted;	 /* egress sets it, ingress takes it back */
	__u8 echoes;	 /* ingress sets it with an echo that waits, egress takes it back */
	__u8 pad;
};

/* Round trips of packets that are timed (delay.bpf.h). */
struct flow_delay {
	__u64 timed[FLOW_TIMED];     /* egress: position << 32 | departure, ns; see timed_count */
	__u64 probed;		     /* egress: the same of a PROBE; 0: none */
	__u32 timed_count;	     /* egress adds, ingress sets to 0 */
	__u32 sample_ns;	     /* ingress: the last sample that was for Swift; 0: none yet */
	struct base_rtt_least least; /* ingress, under the lock: of all samples */
};

/*
 * A flow. Its members stand together by who writes them. The ACK of a flow leaves by another CPU than data of
 * the reverse flow comes in by, so that tx and rx are on cache lines of their own. The kernel puts 48 bytes in
 * front of the key of a hash map's entry, and entries of a multiple of 64 bytes one behind another: a value
 * begins 24 bytes into a line, and lines begin at its bytes 40, 104, 168 and so on.
 */
struct flow {
	struct flow_path path;
	struct flow_tx tx;
	struct flow_rx rx;
	struct hpcc_state cc; /* ingress, under the lock; egress and tcp_cc read w and rate_bps */
	struct hpcc_params params;
	struct flow_echo echo;
	struct fallback fallback;  /* ingress, under the lock: which control decides */
	struct swift_params swift; /* target_ns 0: HPCC decides, whatever the path stamps */
	struct flow_wnd wnd;
	struct flow_auth auth;
	struct flow_voq voq;
	struct flow_delay delay;
	struct companion_state companion; /* egress */
	struct flow_beside beside;
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

#define FLOW_LINE(member) (__builtin_offsetof(struct flow, member) % 64 == 40)

_Static_assert(sizeof(struct hpcc_params) == 64, "params");
_Static_assert(sizeof(struct hpcc_state) == 192, "cc");
_Static_assert(sizeof(struct flow_key) == 40, "hashed as a whole: no padding");
_Static_assert(sizeof(struct flow_echo) == 72, "echo");
_Static_assert(sizeof(struct report) == 72, "report");
_Static_assert(FLOW_LINE(tx) && FLOW_LINE(rx) && FLOW_LINE(cc) && FLOW_LINE(params), "cache lines of a flow");
_Static_assert(sizeof(struct flow) == 744, "flow: 40 beyond a multiple of 64");
_Static_assert(sizeof(struct rx_flow) == 320, "rx_flow");

#endif
