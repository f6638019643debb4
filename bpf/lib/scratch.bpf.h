/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SCRATCH_BPF_H
#define SLUICE_SCRATCH_BPF_H
/* What is known of the packet at hand, and the space for what is too large for the stack. */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/hpcc.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

/* An outer IP header in front of what follows it: a smaller one lies at the end of its room. */
union outer_ip {
	struct ipv6hdr v6;
	struct {
		__u8 unused[sizeof(struct ipv6hdr) - sizeof(struct iphdr)];
		struct iphdr v4;
	};
};

/* All that is put in front of the inner packet. */
struct egress_head {
	union outer_ip ip;
	struct udphdr udp;
	struct wire_shim shim;
	struct wire_hdr hdr;
	__u8 blocks[sizeof(struct wire_telem) + sizeof(struct wire_voq) + sizeof(struct wire_echo) +
		    sizeof(struct wire_auth)];
};

/* INT-MD of one packet, as it lies in there from the outer headers to the stack. */
struct intmd_space {
	union outer_ip ip;
	struct udphdr udp;
	struct wire_shim shim;
	__u8 hdr[INTMD_HDR_BYTES];
	__u8 stack[INTMD_STACK_BYTES_MAX]; /* sink: all of it; source and hop: what they add */
	__u32 bytes;			   /* of the stack */
	struct intmd_values values;	   /* of a hop, */
	__u32 room_bytes;		   /*   and by how much the packet may grow there */
	struct intmd_path path;		   /* what a sink read, */
	struct wire_telem telem;	   /*   and the same in the other encoding */
	/* sink, from packet to packet: the speeds of the last path, which are seldom others */
	__u64 fit_bps[HPCC_MAX_HOPS];
	struct telem_speed fit[HPCC_MAX_HOPS];
};

/* An outgoing packet on its way through the stages. */
struct egress_pkt {
	struct flow_key key;
	__u64 now_ns;
	__u32 l4_offset; /* of what follows the IP header */
	__u32 hdr_bytes; /* Ethernet to the end of that: what every segment repeats */
	__u32 payload_bytes;
	__u32 seq;	   /* of TCP */
	__u32 jumbo_bytes; /* between IPv6 and TCP header, of a packet of more than 64 KB; no segment has them */
	__u32 pad_bytes;   /* Ethernet padding behind the IP packet; it stays there */
	/* What comes in front of it; 0: nothing of that */
	__u32 telem_bytes, voq_bytes, echo_bytes, auth_bytes;
	__u32 intmd;	    /* bytes of INT-MD, */
	__u32 growth;	    /*   and by how much hops may lengthen it */
	__u32 room;	    /* hops that telemetry has room for */
	__u32 outer_bytes;  /* outer headers, with INT-MD, */
	__u32 wire_bytes;   /*   what is between them and the inner packet, */
	__u32 weight;	    /*   and all of it on the wire, of all segments */
	__u64 pause_ns;	    /* when the pause of its port ends; 0: there is none */
	__u32 echo_version; /* see egress_echo() */
	__u8 tos;
	__u8 df;
	__u8 v6;
	__u8 syn, ack, fin, rst;
	__u8 beside;	/* it leaves as it was made: its telemetry is beside it */
	__u8 companion; /* a clone that becomes a companion */
};

/* An IP header of either version, without options or extension headers. */
struct ip_info {
	struct sluice_addr src, dst;
	__u32 bytes; /* of the header: 20 or 40 */
	__u32 total; /* bytes of header and payload as the header says */
	__u8 proto;
	__u8 tos; /* DSCP and ECN */
	__u8 df;
	__u8 v6;
};

/* A Sluice message: where it begins and what it announces. */
struct msg {
	struct ip_info ip; /* outer */
	__u16 offset;	   /* of Sluice's shim from the start of the frame */
	__u16 intmd;	   /* bytes of INT-MD in front of that, with a shim of its own; 0: none */
	struct wire_shim shim;
	struct wire_hdr hdr;
	enum wire_check why; /* it is none, with MSG_BAD */
	__u32 quiet;	     /* ingress: nothing is learned from it, and nothing answered */
	__u32 companion;     /* it is one: a PROBE, or its reply, in the headers of its flow */
};

/* What a DATA message carried, read before it is stripped. */
struct ingress_pkt {
	struct flow_key key; /* of the reverse flow: local to remote */
	__u64 now_ns;
	__u32 inner; /* offset of the inner IP header */
	__u16 nhop_path;
	__u8 nhop;
	__u8 form; /* enum rx_feedback, of what is in hop[] by now */
	__u32 seq;
	__u32 flows;	/* N */
	__u32 sound;	/* the inner packet is what the message says */
	__u32 deaf;	/* it is not learned from or answered: quiet, or it is from the future */
	__u32 rides;	/* its VOQ block says WIRE_VOQ_RIDES, */
	__u32 voq_slot; /*   and this is the slot of that VOQ + 1; 0: none */
	__u64 auth_seq; /* 0: messages are not authenticated */
	__u64 hop[HPCC_MAX_HOPS];
};

/* Feedback as it came: the telemetry of which packet, when its receiver got it, and the hops. */
struct feedback {
	__u64 rx_ns, now_ns;
	__u32 seq, mode;
	__u16 nhop_path;
	__u16 flows; /* N; 0: not told */
	__u8 hops;
	__u8 probe; /* it is the answer to a PROBE */
	__u8 form;  /* enum rx_feedback; but for RX_HOPS there is one hop, which is a struct wire_value */
	__u8 trace; /* what is decided by it is noted for trace_feedback_put() */
	__be64 hop[HPCC_MAX_HOPS];
};

/*
 * Of a message of reports, or of credit, what all of them share; key: of the report that is at work, but for
 * its ports.
 */
struct report_from {
	struct flow_key key;
	__u64 now_ns, auth_seq, floor;
	__u32 mode;
	__u32 trace;
};

/* What voq_send() says of a packet: its block, and when it may leave the VOQ. */
struct voq_out {
	struct wire_voq block;
	__u32 tells; /* F, which has doubled */
	__u64 departure_ns;
};

/*
 * What is too large for the 512 bytes of BPF stack. writer and reader: flow_make(), voq_make(),
 * egress and ingress, each field from beginning to end with bottom halves off, so that nobody comes between.
 * Not pinned.
 */
struct scratch_space {
	/* egress_probe(): a clone is to leave by this interface and has not reached egress yet; 0: there is none */
	__u32 probe_ifindex;
	__u32 probe_wrapped; /* that clone was made a PROBE, */
	__u32 probe_beside;  /*   or is to be a companion, */
	__u32 probe_voq;     /*   with the VOQ of voq_out, with which it leaves */
	struct egress_head head;
	struct intmd_space intmd;
	struct wire_auth_text text;
	struct wire_batch_text batch;
	struct report_from from;
	struct feedback feedback; /* of such a message */
	struct msg msg;
	struct ingress_pkt ingress;
	struct arrival_news news; /* of that packet */
	struct flow flow;
	struct rx_flow rx_flow;
	struct voq voq;
	struct voq_key ride_key;     /* grant_ride(): of the packet that goes back */
	struct voq_key voq_key;	     /* of the packet at hand, */
	struct voq_out voq_out;	     /*   and what came of it there */
	struct tor_flow_key tor_key; /* hop: of the packet at hand */
	struct tor_news tor_news;
	struct hpcc_ack ack;
	struct companion_wanted wanted; /* by the flow at hand, or of it */
	struct trace_feedback traced;	/* what was decided by the last feedback */
	__u8 options[64];		/* of a SYN */
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
