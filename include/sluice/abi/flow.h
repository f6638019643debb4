/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_FLOW_H
#define SLUICE_ABI_FLOW_H
/* Flows: the flows map, the receiver's state for its reports, and the reports that it hands to the daemon. */
#include "sluice/abi/addr.h"
#include "sluice/cc/base_rtt.h"
#include "sluice/cc/ceiling.h"
#include "sluice/cc/companion.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/paths.h"
#include "sluice/cc/rival.h"
#include "sluice/cc/rx.h"
#include "sluice/types.h"

/*
 * A flow as its sender sees it: local to remote. Tenants may use the same addresses and ports, each in a routing domain
 * of its own.
 */
struct flow_key {
	struct sluice_addr local;
	struct sluice_addr remote;
	__u16 domain; /* of its port; 0: the host's own. Behind remote: host_of_flow() */
	__u8 proto;
	__u8 pad; /* 0 */
	__be16 local_port;
	__be16 remote_port;
};

static inline const struct host_key *host_of_flow(const struct flow_key *key)
{
	return (const struct host_key *)&key->remote;
}

/* Whether packets of this IP protocol have ports. Tunnels (IPIP, IPv6 in IPv4, GRE) have none: their keys hold 0. */
static inline int flow_has_ports(__u8 proto)
{
	return proto == 6 || proto == 17;
}

/*
 * The echo of the newest telemetry received on the reverse flow, waiting for a packet to carry it. It is due while
 * version is even and differs from sent.
 */
struct flow_echo {
	__u32 version; /* ingress: odd while it writes; egress compares before and after */
	__u32 sent;    /* egress: the version that it echoed last */
	__u32 seq;     /* of the packet that collected it */
	__u16 nhop_path;
	__u8 hops;   /* valid entries of hop[]; 1 if the form is a single value */
	__u8 form;   /* enum rx_feedback */
	__u32 flows; /* N; 0: not told */
	__u32 voq;   /* slot + 1 of the VOQ that brought it, if its sender takes credit from echoes; 0: none */
	__u64 rx_ns; /* arrival, CLOCK_MONOTONIC */
	__u64 hop[HPCC_MAX_HOPS];
};

/* A report that the daemon sends for a flow whose reverse direction is silent: as in struct wire_report. */
struct report {
	struct flow_key key; /* local: that of the receiver */
	__u64 rx_ns;	     /* arrival of the telemetry that it reports */
	__be64 value;
	__u32 seq;
	__u16 nhop_path;
	__u16 flows;
	__u8 flags;
	__u8 pad[7]; /* not written */
};

#define FLOW_F_TELEM 1	     /* packets of this flow leave with telemetry: the peer strips it */
#define FLOW_F_CLOSED 2	     /* a FIN or RST was seen: the entry may go soon */
#define FLOW_F_PAUSE_SHIFT 8 /* four bits: the lossless priority of its last packet, and one; 0: that has none */
#define FLOW_F_PAUSE (0xfU << FLOW_F_PAUSE_SHIFT)
#define FLOW_F_TUNNEL 4 /* a tunnel's (VXLAN, IPIP, GRE): the kernel adds no second header to its packets */

#define FLOW_F_BURSTS \
	8 /* of a flow without a window: packets larger than what its port carries in the T of its prefix */
#define FLOW_BURST_BYTES 65536 /* of these the largest */

/* The constraint that held the last packet of a flow. */
enum flow_held {
	HELD_NOT,
	HELD_RATE,   /* R of HPCC: the flow's own clock */
	HELD_HOP,    /* R of Equation 1 of HierCC, for UDP: the flow's own clock */
	HELD_CREDIT, /* its VOQ */
	HELD_PAUSE,  /* a pause from the neighbour of its port */
	HELD_SOCKET, /* the socket's own pacing, no constraint of ours; only in a trace */
};

/* How much is known of the TCP sequence numbers of a flow whose receive window is cut. */
enum flow_seq {
	FLOW_SEQ_UNKNOWN,
	FLOW_SEQ_SENT, /* seq_end is valid */
	FLOW_SEQ_UNA,  /* seq_end, snd_una and grant_max are valid */
};

#define FLOW_SILENT 0xff    /* unanswered for so long that the flow runs as if its peer had no Sluice */
#define FLOW_ASKED_SHIFT 20 /* flow.tx.asked is in units of 2^20 ns */

#define FLOW_TIMED 4 /* packets in a row whose round trip is timed, see bpf/host/delay.bpf.h */

/* From the peer's prefix and the port, renewed when the epoch changes by the first direction that sees it. */
struct flow_path {
	__u32 epoch;	   /* of the members below, and of params */
	__u32 ifindex;	   /* egress: where the flow leaves */
	__u32 mtu;	   /* of that port */
	__u32 port_flags;  /* of that port: PORT_F_* */
	__u32 pod_ifindex; /* pod_hop: queue through which arriving packets go on to their pod; 0: none */
	__u32 feedback;	   /* enum rx_feedback: how this host reports on the reverse flow */
	__u32 flows_expected;
	__u32 flows_fixed; /* 1: the counted N is ignored */
	__u8 encoding;	   /* of its telemetry: enum sluice_encoding */
	__u8 telemetry;	   /* of the peer: enum telemetry_mode */
	__u8 hiercc;	   /* of the peer: enum voqs_where */
	__u8 hpcc_off;	   /* W and R are not HPCC's */
	__u8 no_peer;	   /* its remote side is no longer a peer: packets leave as they are */
	__u8 delay;	   /* delays and losses that no hop reports bound W */
	/* Egress, with every packet of UDP: of tx.clock_ns. Here because flow_tx fills its cache line. */
	__u8 share; /* sixteenths of R by which the last packet advanced it; 0: all */
	__u8 free;  /* when it was last not ahead, units of 2^21 ns */
};

/* Written by egress with every packet. */
struct flow_tx {
	__u64 bytes;	/* atomic: wire bytes sent; positions in the flow */
	__u64 clock_ns; /* compare-and-swap: departure clock */
	__u64 last_ns;	/* last packet */
	__u64 telem_ns; /* last packet with telemetry */
	__u64 probe_ns; /* last PROBE made from one of its packets */
	__u32 flags;	/* FLOW_F_* */
	__u32 mss;	/* payload of the largest segment seen */
	__u32 segment;	/* wire bytes of that segment */
	__u32 source;	/* ifindex by which its packets enter this machine, which they may; 0: local sender */
	__u32 seq_end;	/* end of the data sent, TCP sequence; valid as wnd.seq_known says */
	__u8 held;	/* enum flow_held of the last packet */
	__u8 own_cc;	/* tcp_cc: the socket itself obeys W */
	__u16 asked;	/* with beside.unanswered: when the first of that left, units of 2^20 ns */
};

/* Written by ingress with every packet, or with every feedback. */
struct flow_rx {
	__u64 last_ns;	 /* last packet with telemetry or echo */
	__u64 fb_ns;	 /* last feedback used */
	__u64 fb_rx_ns;	 /* when the receiver got the telemetry of that feedback */
	__u64 feedbacks; /* feedbacks used */
	__u64 count_ns;	 /* when N is next looked up */
	__u32 counted;	 /* N at the last look */
	__u32 lock;	 /* 1 while a CPU changes params or cc; egress takes it too when the epoch changes */
	__u32 flows;	 /* N behind the current W_AI; 0: W_AI does not depend on N */
	__u32 fb_seq;	 /* seq that the last feedback named */
	__u8 form;	 /* enum rx_feedback of the receiver's last report */
	__u8 told_hops;	 /* hops of its path, where the hops themselves are not reported */
	__u8 own_port;	 /* how certain it is that the last hop is the bottleneck (rx.h) */
	__u8 kept;	 /* there is an entry in rx_states */
	__u8 fb_probe;	 /* the last feedback came in the reply to a PROBE */
	__u8 voq_in;	 /* packets of the reverse flow carry a VOQ block */
	__u8 voq_pod;	 /* the reverse flow's credit is granted by the pod's veth */
	__u8 paths;	 /* over which its packets take turns: there is an entry in flow_paths; HPCC_PATHS + 1: more */
};

/* TCP whose receive window is cut (rwnd.bpf.h). */
struct flow_wnd {
	__u64 edge_ns;	 /* ingress: when a window was last granted; 0: edge is not known */
	__u64 asked_ns;	 /* egress: when its socket was last looked up, for the window scale */
	__u32 edge;	 /* ingress: end of the receive window granted to the sender, TCP sequence */
	__u32 snd_una;	 /* both: the newest acknowledgement that was believed (SND.UNA), TCP sequence */
	__u32 grant_max; /* both: the largest receive window granted to the sender, bytes */
	__u8 seq_known;	 /* enum flow_seq */
	__u8 wscale;	 /* of the windows that the remote side advertises */
	__u8 wscale_known;
	__u8 digest; /* both: its segments have a digest (TCP-MD5, TCP-AO), which covers the window: it is left alone */
};

/* Sequences of authenticated messages (auth.bpf.h); 0: none yet. */
struct flow_auth {
	__u64 telem_seq; /* ingress: newest whose telemetry was taken */
	__u64 telem_ns;	 /* ingress: arrival of the first packet with telem_seq */
	__u64 echo_seq;	 /* ingress: newest whose echo was taken */
	__u64 probe_seq; /* egress: of the last PROBE */
	__u64 reply_seq; /* ingress: newest PROBE that was answered; egress: before the first */
	__u64 asked_seq; /* ingress, compare-and-swap: newest PROBE received on the reverse flow */
};

/* Its VOQ, written by egress. */
struct flow_voq {
	__u64 rate_bps; /* R of Equation 1, bits/s; 0: none */
	__u32 mark;	/* compare-and-swap: epoch in which the flow was counted in its VOQ */
	__u32 asked;	/* when a VOQ was last looked for, units of 2^20 ns */
	__u8 merged;	/* 1: its destination got no VOQ of its own */
	__u8 prefixlen; /* of its VOQ, if merged */
	__u16 burst;	/* egress, with the qdisc sluice: bytes since it was silent, at most 65535: queue_is_young() */
	__u32 count_mark; /* ingress, compare-and-swap: epoch in which the reverse flow was counted */
};

/* The fields of the flow's data that a companion made from an incoming ACK copies. */
struct flow_beside {
	__be32 v6_first; /* egress: first word of the IPv6 header: traffic class and flow label */
	__u8 tos;	 /* egress: DSCP and ECN */
	__u8 wanted;	 /* egress sets it, ingress clears it */
	__u8 echoes;	 /* ingress sets it when an echo waits, egress clears it */
	__u8 unanswered; /* egress adds, ingress clears: telemetry since the last answer, or FLOW_SILENT */
};

/* Round trips of timed packets (delay.bpf.h). */
struct flow_delay {
	__u64 timed[FLOW_TIMED];     /* egress: position << 32 | departure, ns; see timed_count. Companions: 0: free */
	__u64 probed;		     /* egress: the same of a PROBE; 0: none */
	__u32 timed_count;	     /* egress adds, ingress sets to 0 */
	__u32 sample_ns;	     /* ingress: the last sample while no hop was known; 0: none yet */
	struct base_rtt_least least; /* ingress, under the lock: of all samples */
};

/*
 * A flow. Its members are grouped by writer. The ACK of a flow and the data of the reverse flow are handled by
 * different CPUs, so tx and rx have cache lines of their own. The kernel puts 48 bytes in front of the key of a hash
 * map's entry, and lays out entries in multiples of 64 bytes: a value begins 24 bytes into a line, and lines begin at
 * its bytes 40, 104, 168 and so on.
 */
struct flow {
	struct flow_path path;
	struct flow_tx tx;
	struct flow_rx rx;
	struct hpcc_state cc; /* ingress, under the lock; egress and tcp_cc read w and rate_bps */
	struct hpcc_params params;
	struct flow_echo echo;
	__u64 hops_ns; /* ingress, under the lock: when feedback last had hops */
	struct flow_wnd wnd;
	struct flow_auth auth;
	struct flow_voq voq;
	struct flow_delay delay;
	struct companion_state companion; /* egress */
	struct flow_beside beside;
	struct ceiling ceiling; /* ingress and tcp_cc, under the lock; egress reads w */
	struct rival rival;	/* ingress, under the lock; egress and tcp_cc read queue_ns */
};

/* Whether delay alone decides: no hop is known, and its receiver does not compute W. */
static inline int flow_is_bare(const struct flow *f)
{
	return f->path.delay && f->rx.feedbacks && !f->cc.hops && f->rx.form == RX_HOPS;
}

/* A receiver's report state for a flow, keyed as in flows: where the receiver reports W. */
struct rx_flow {
	struct rx_state rx;	   /* under the lock */
	struct hpcc_params params; /* the flow's, with W_AI by N */
	__u64 last_ns;		   /* arrival of the telemetry that was used last */
	__u64 since_ns;		   /* not 0: the flow was already under way; W is measured by arrivals from then on */
	__u32 since_seq;	   /* with since_ns: W is measured after this position */
	__u32 epoch;		   /* of params */
	__u32 flows;		   /* N of params */
	__u32 lock;		   /* 1 while a CPU holds the lock */
	__u32 form;		   /* enum rx_feedback of this state; 0: it has not begun */
	__u8 own_port;
	__u8 pad[3];
	__u64 handed_ns; /* when the daemon was last handed a report */
};

#define FLOW_LINE(member) (__builtin_offsetof(struct flow, member) % 64 == 40)

_Static_assert(sizeof(struct hpcc_params) == 64, "params");
_Static_assert(sizeof(struct hpcc_state) == 192, "cc");
_Static_assert(sizeof(struct flow_key) == 40, "hashed as a whole: no padding");
_Static_assert(__builtin_offsetof(struct flow_key, domain) - __builtin_offsetof(struct flow_key, remote) ==
		       __builtin_offsetof(struct host_key, domain),
	       "host_of_flow()");
_Static_assert(sizeof(struct flow_echo) == 72, "echo");
_Static_assert(sizeof(struct report) == 72, "report");
_Static_assert(FLOW_LINE(tx) && FLOW_LINE(rx) && FLOW_LINE(cc) && FLOW_LINE(params), "cache lines of a flow");
_Static_assert(sizeof(struct flow) == 808, "flow: 40 beyond a multiple of 64");
_Static_assert(sizeof(struct rx_flow) == 320, "rx_flow");

#endif
