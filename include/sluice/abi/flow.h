/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_FLOW_H
#define SLUICE_ABI_FLOW_H
/* Flows: the map flows, what a receiver keeps for its reports, and what it hands to the daemon. */
#include "sluice/abi/addr.h"
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

_Static_assert(sizeof(struct hpcc_params) == 64, "params");
_Static_assert(sizeof(struct hpcc_state) == 192, "cc");
_Static_assert(sizeof(struct flow_key) == 40, "hashed as a whole: no padding");
_Static_assert(sizeof(struct flow_echo) == 72, "echo");
_Static_assert(sizeof(struct report) == 72, "report");
_Static_assert(sizeof(struct flow) == 696, "flow");
_Static_assert(sizeof(struct rx_flow) == 320, "rx_flow");

#endif
