/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SCRATCH_BPF_H
#define SLUICE_SCRATCH_BPF_H
/* State of the packet at hand, and space for objects too large for the stack. */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/ceiling.h"
#include "sluice/cc/hpcc.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

/* An outer IP header in front of the next header: a smaller one is at the end of its room. */
union outer_ip {
	struct ipv6hdr v6;
	struct {
		__u8 unused[sizeof(struct ipv6hdr) - sizeof(struct iphdr)];
		struct iphdr v4;
	};
};

/* All headers in front of the inner packet. */
struct egress_head {
	union outer_ip ip;
	struct udphdr udp;
	struct wire_shim shim;
	struct wire_hdr hdr;
	__u8 blocks[sizeof(struct wire_telem) + sizeof(struct wire_voq) + sizeof(struct wire_echo) +
		    sizeof(struct wire_auth)];
};

/* INT-MD of one packet, in packet order from the outer headers to the stack. */
struct intmd_space {
	union outer_ip ip;
	struct udphdr udp;
	struct wire_shim shim;
	__u8 hdr[INTMD_HDR_BYTES];
	__u8 stack[INTMD_STACK_BYTES_MAX]; /* sink: the whole stack; source and hop: the words they add */
	__u32 bytes;			   /* bytes of the stack */
	struct intmd_values values;	   /* values of this hop */
	__u32 room_bytes;		   /* how much the packet may grow at this hop */
	struct intmd_path path;		   /* the path as a sink read it */
	struct wire_telem telem;	   /* path in the other encoding */
	/* sink, from packet to packet: the speeds of the last path, which rarely change */
	__u64 fit_bps[HPCC_MAX_HOPS];
	struct telem_speed fit[HPCC_MAX_HOPS];
};

/* The pauses of its port, as they apply to a packet. */
struct pfc_wait {
	__u64 until_ns;	    /* end of the pause of its priority; 0: there is none */
	__u64 departure_ns; /* it leaves no earlier; 0: there is no pause, or the qdisc obeys it */
	__u32 note;	    /* queue_note_class(), if the qdisc obeys; 0: egress delays the packet */
	__u32 class;	    /* its lossless priority, and one; 0: it has none */
};

/* An outgoing packet on its way through the stages. */
struct egress_pkt {
	struct flow_key key;
	__u64 now_ns;
	__u32 l4_offset; /* of the header after the IP header */
	__u32 hdr_bytes; /* Ethernet to the end of the L4 header: repeated in every segment */
	__u32 payload_bytes;
	__u32 seq;	   /* TCP sequence */
	__u32 jumbo_bytes; /* headers between IPv6 and TCP in a packet of more than 64 KB; segments have none */
	__u32 pad_bytes;   /* Ethernet padding after the IP packet; it stays there */
	/* Bytes of each block in front of it; 0: no such block */
	__u32 telem_bytes, voq_bytes, echo_bytes, auth_bytes;
	__u32 intmd;	       /* bytes of INT-MD */
	__u32 growth;	       /* most that hops may lengthen it */
	__u32 room;	       /* hops that telemetry has room for */
	__u32 outer_bytes;     /* outer headers, including INT-MD */
	__u32 wire_bytes;      /* bytes between outer headers and inner packet */
	__u32 weight;	       /* wire bytes of all segments, including our headers */
	struct pfc_wait pause; /* of its port */
	__u64 socket_bps;      /* of a UDP socket that keeps a rate of its own; 0: it has none */
	__u64 patience_ns;     /* UDP: the longest wait that is not cut short */
	__u64 credit_ns;    /* when the queue expects credit for it; 0: its departure time says it, or it needs none */
	__u32 young;	    /* QUEUE_NOTE_YOUNG: it goes before the others of its VOQ; or 0 */
	__u32 echo_version; /* see egress_echo() */
	__u8 tos;
	__u8 df;
	__u8 v6;
	__u8 syn, ack, fin, rst;
	__u8 beside;	/* it leaves as the stack made it: its telemetry is in companions */
	__u8 companion; /* it is a clone that becomes a companion */
};

/* An IP header of either version, without options or extension headers. */
struct ip_info {
	struct sluice_addr dst, src;
	__u16 domain; /* ingress: of its port. Behind src: host_of_ip() */
	__u32 bytes;  /* bytes of the header: 20 or 40 */
	__u32 total;  /* bytes of header and payload according to the header */
	__u8 proto;
	__u8 tos; /* DSCP and ECN */
	__u8 df;
	__u8 v6;
};

static inline const struct host_key *host_of_ip(const struct ip_info *ip)
{
	return (const struct host_key *)&ip->src;
}

_Static_assert(__builtin_offsetof(struct ip_info, domain) - __builtin_offsetof(struct ip_info, src) ==
		       __builtin_offsetof(struct host_key, domain),
	       "host_of_ip()");

/* A Sluice message: where it begins and its announced contents. */
struct msg {
	struct ip_info ip; /* outer */
	__u16 offset;	   /* offset of Sluice's shim from the start of the frame */
	__u16 intmd;	   /* bytes of INT-MD before that, with its own shim; 0: none */
	struct wire_shim shim;
	struct wire_hdr hdr;
	enum wire_check why; /* the error, with MSG_BAD */
	__u32 quiet;	     /* ingress: it is neither learned from nor answered */
	__u32 companion;     /* it is a companion: a PROBE, or its reply, in the headers of its flow */
};

/* The content of a DATA message, read before it is stripped. */
struct ingress_pkt {
	struct flow_key key; /* of the reverse flow: local to remote */
	__u64 now_ns;
	__u32 inner; /* offset of the inner IP header */
	__u16 nhop_path;
	__u8 nhop;
	__u8 form; /* enum rx_feedback of the current hop[] */
	__u32 seq;
	__u32 flows;	/* N */
	__u32 sound;	/* the inner packet matches the message */
	__u32 deaf;	/* it is neither learned from nor answered: quiet, or from the future */
	__u32 rides;	/* its VOQ block has WIRE_VOQ_RIDES */
	__u32 voq_slot; /* slot of its VOQ + 1, with rides; 0: none */
	__u64 auth_seq; /* 0: messages are not authenticated */
	__u32 held;	/* a PROBE that is too old is answered with this: see WIRE_F_HELD; 0: it is not */
	__u32 pad;
	__u64 hop[HPCC_MAX_HOPS];
};

/* Feedback as it came: the packet that collected it, its arrival at the receiver, and the hops. */
struct feedback {
	__u64 rx_ns, now_ns;
	__u32 seq, mode;
	__u32 clock; /* the receiver's, when the companion came, units of 2^WIRE_CLOCK_SHIFT ns; 0: not told */
	__u16 nhop_path;
	__u16 flows; /* N; 0: not told */
	__u8 hops;
	__u8 probe; /* it came in the reply to a PROBE */
	__u8 form;  /* enum rx_feedback; unless RX_HOPS there is one hop, which is a struct wire_value */
	__u8 trace; /* the decision is noted for trace_feedback_put() */
	__be64 hop[HPCC_MAX_HOPS];
};

/* The common part of a FEEDBACK or CREDIT message; key: that of the current report, without its ports. */
struct report_from {
	struct flow_key key;
	__u64 now_ns, auth_seq, floor;
	__u32 mode;
	__u32 trace;
};

/* The result of voq_send(): the packet's block, and its departure from the VOQ. */
struct voq_out {
	struct wire_voq block;
	__u32 tells; /* the packet announces F, which has doubled */
	__u32 alone; /* it leaves without credit, because there is none, or it was not found out */
	__u32 pad;
	__u64 departure_ns;
};

/*
 * Objects too large for the 512 bytes of BPF stack. writer and reader: flow_make(), voq_make(), egress and ingress,
 * each field from first to last use with bottom halves off, so no other packet comes between. Not pinned.
 */
struct scratch_space {
	/* egress_probe(): a clone to leave by this interface has not reached egress yet; 0: there is none */
	__u32 probe_ifindex;
	__u32 probe_wrapped; /* that clone was made a PROBE */
	__u32 probe_beside;  /* that clone is to be a companion */
	__u32 probe_voq;     /* that clone carries the VOQ of voq_out */
	struct egress_head head;
	struct intmd_space intmd;
	struct wire_auth_text text;
	struct wire_batch_text batch;
	struct report_from from;
	struct feedback feedback; /* of the current message */
	struct msg msg;
	struct ingress_pkt ingress;
	struct arrival_news news; /* of the current packet */
	struct flow flow;
	struct rx_flow rx_flow;
	struct host host;	 /* host_heard(): a new entry */
	struct hpcc_paths paths; /* feedback_paths(): a new entry */
	struct voq voq;
	struct voq_key ride_key;     /* grant_ride(): VOQ to the sender of the current packet */
	struct voq_key voq_key;	     /* VOQ of the packet at hand */
	struct voq_out voq_out;	     /* result of voq_send() for that packet */
	struct tor_flow_key tor_key; /* hop: of the packet at hand */
	struct tor_news tor_news;
	struct hpcc_ack ack;
	struct ceiling_sample sample;
	struct companion_wanted wanted; /* request by, or for, the current flow */
	struct trace_feedback traced;	/* the decision on the last feedback */
	__u8 options[64];		/* TCP options of a SYN */
};

_Static_assert(__builtin_offsetof(struct scratch_space, probe_ifindex) == 0, "tests/prog sets it");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch_space);
} scratch SEC(".maps");

static inline struct scratch_space *scratch_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

#endif
