/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_MAPS_BPF_H
#define SLUICE_MAPS_BPF_H
/*
 * All maps. For each: who writes, who reads, how long an entry lives, what happens when it is full.
 * The daemon pins them by name in its pin directory (/sys/fs/bpf/sluice) and sets their sizes.
 */
#include "lib/base.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/rack/hiercc.h"
#include "sluice/cc/hpcc.h"
#include "sluice/wire/intmd.h"
#include "sluice/abi/stats.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

/*
 * writer: egress and ingress create, each its own fields (abi.h); reader: tcp_cc, daemon, sluicectl
 * life:   until the daemon finds it idle for flow_timeout, or closed
 * full:   the packet passes plain and is counted (tx_flow_full, rx_flow_full)
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

/*
 * State of what is told to senders, of flows whose peer is told U or W; keyed like flows.
 * writer: ingress; reader: ingress, daemon
 * life:   that of the flow, or until its peer is told hops again; the programs'. Not pinned: what begins
 *         anew finds its W in a T
 * full:   the hops are told and it is counted (rx_report_full). It has as many entries as flows
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct flow_key);
	__type(value, struct rx_flow);
} rx_states SEC(".maps");

/*
 * The hosts that were heard: where there is a key, those that have it. Nobody else takes room here.
 * writer: ingress creates, egress and ingress each their own fields (abi.h); reader: the same, tcp_cc, sluicectl
 * life:   least recently used goes first; full: never (LRU). A lost entry is asked for again
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct sluice_addr);
	__type(value, struct host);
} hosts SEC(".maps");

/*
 * When addresses that were never heard were asked last (CLOCK_MONOTONIC): whoever sends to us can have us ask there.
 * writer: egress; ingress removes what is heard; reader: egress, ingress
 * life:   least recently used goes first; full: never (LRU). What is lost may be asked again within the second
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct sluice_addr);
	__type(value, __u64);
} asked SEC(".maps");

/*
 * The window scale that the last SYN of a peer offers, as rwnd_syn_scale() says it, until our side answers; keyed
 * like flows. writer: ingress; reader: egress, with a SYN-ACK
 * life:   least recently used goes first; not pinned. full: never (LRU). The scale of a connection whose SYN is
 *         lost here is looked up in its socket
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_key);
	__type(value, __u32);
} syn_offers SEC(".maps");

enum bucket_of {
	BUCKET_ASKS,	/* PROBEs to addresses that were never heard, */
	BUCKET_ANSWERS, /*   and answers to theirs */
	BUCKETS,
};

/* State of bucket_spend(). writer and reader: egress and ingress; life: the programs'; not pinned. full: never */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} buckets SEC(".maps");

/*
 * writer: daemon, from the configuration; reader: egress and ingress, when a flow is made
 * life:   the configuration's, and a moment longer (leaving); full: those that leave go at once, then the daemon
 *         refuses the configuration
 */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct peer_key);
	__type(value, struct peer);
} peers SEC(".maps");

/*
 * key:    ifindex. writer: daemon (backlog, pod_hop, egress: their fields, see abi.h); reader: all
 * life:   while the interface is managed and a moment longer, or while it is a pod's and has a queue
 * full:   further pods are not stamped, and the daemon says so; there are at most 64 other interfaces
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PORTS_MAX);
	__type(key, __u32);
	__type(value, struct port);
} ports SEC(".maps");

/*
 * key:    ifindex of a port with several queues. writer: daemon (class_dequeue: one field, see abi.h)
 * reader: hop, class_enqueue, class_dequeue; life: while the configuration has classes for it
 * full:   never, there are at most 64 managed interfaces
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct port_classes);
} classes SEC(".maps");

/*
 * writer: daemon makes them, class_enqueue and class_dequeue fill them; reader: hop, sluicectl
 * life:   as of classes; full: never. 16 KB each, so only those that are wanted are allocated
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 64 * CLASSES_MAX);
	__type(key, struct class_key);
	__type(value, struct class_queue);
} class_queues SEC(".maps");

/*
 * The network namespace behind a veth, by the number that this one has for it (`ip netns list-id`).
 * key:    ifindex of the veth. writer: daemon; reader: egress
 * life:   while the veth is there; full: older connections of a pod are paced and not windowed
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __s32);
} pods SEC(".maps");

/* writer: all programs; reader: daemon, sluicectl; life: the pin's; full: never */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STAT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} stats SEC(".maps");

/*
 * writer: daemon, sluicectl (bypass), each field by itself through mmap; reader: all
 * life:   the pin's; full: never
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

/*
 * writer: daemon, a slot that is not in use, before control names it; reader: egress and ingress
 * life:   the programs'; not pinned, so that who may not load programs cannot open it. full: never
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__uint(max_entries, AUTH_SLOTS);
	__type(key, __u32);
	__type(value, struct auth_keys);
} keys SEC(".maps");

/*
 * writer: ingress, what it has to say of flows to which no packet goes back: struct report; reader: daemon
 * life:   until the daemon has read it; not pinned. full: the report is lost and counted (fb_ring_full)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} reports SEC(".maps");

/*
 * What waits to leave to another rack.
 * writer: egress (ingress: credit; daemon: those of whole prefixes, when it begins); reader: the same,
 *         sluicectl
 * life:   until the daemon finds it idle, those of prefixes the configuration's
 * full:   packets go by the VOQ of their peer's prefix, and if there is none by none (voq_full)
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct voq_key);
	__type(value, struct voq);
} voqs SEC(".maps");

/*
 * Slots of VOQs of which packets arrive: indices of arrivals and credits.
 * writer: daemon; reader: ingress; life: until the daemon finds it idle
 * full:   the VOQ gets no credit, so that its packets leave by HPCC alone; the daemon says so
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct arrival_key);
	__type(value, __u32);
} arrival_slots SEC(".maps");

/* writer: ingress, daemon (through mmap), each its own fields; reader: daemon, sluicectl; else as the above */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct arrival);
} arrivals SEC(".maps");

/* writer: daemon (through mmap); reader: sluicectl; likewise */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct hiercc_due);
} credits SEC(".maps");

/*
 * writer: ingress, packets of VOQs that the daemon does not watch, and ports that are other ones than it takes
 *         them for: struct arrival_news; reader: daemon
 * life:   until the daemon has read it; not pinned. full: it is lost and counted (arrival_lost)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} news SEC(".maps");

/*
 * Flows from hosts behind this switch, for F and for marks.
 * writer and reader: hop; life: least recently used goes first; not pinned. full: never (LRU); a flow that
 * was forgotten is counted once more in its epoch
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tor_flow_key);
	__type(value, struct tor_flow);
} tor_flows SEC(".maps");

/*
 * writer: hop, ingress (tor), what hosts behind this switch are to be told: struct tor_news; reader: daemon
 * life:   until the daemon has read it; not pinned. full: it is lost and counted (tor_lost)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} asks SEC(".maps");

/*
 * key:    ifindex of a port with pauses. writer: daemon (pfc: its fields, see abi.h)
 * reader: pfc, egress, hop, pfc_enqueue, pfc_dequeue, daemon, sluicectl; life: while the configuration has
 *         pauses for it; full: never, the configuration has fewer than PFC_SLOTS
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PFC_SLOTS);
	__type(key, __u32);
	__type(value, struct pfc_port);
} pfc_ports SEC(".maps");

/*
 * writer: pfc_enqueue and pfc_dequeue, and the daemon through mmap, each its own fields (abi.h)
 * reader: daemon, sluicectl; life: the pin's; full: never
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PFC_SLOTS);
	__type(key, __u32);
	__type(value, struct pfc_slot);
} pfc_slots SEC(".maps");

/*
 * writer: pfc_enqueue, the number of a slot whose queue got long while the daemon slept; reader: daemon
 * life:   until the daemon has read it; not pinned. full: it is lost: there is one of each slot
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 12);
} pfc_alarms SEC(".maps");

/*
 * writer: egress and ingress, while control says so: struct trace; reader: sluicectl trace, one at a time
 * life:   until it has been read; what nobody read is passed over by who reads next. full: it is lost and
 *         counted (trace_lost)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} trace SEC(".maps");

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
	__u32 quiet; /* ingress: nothing is learned from it, and nothing answered */
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
	__u32 flows; /* N */
	__u32 sound; /* the inner packet is what the message says */
	__u32 deaf;  /* it is not learned from or answered: quiet, or it is from the future */
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

/*
 * What is too large for the 512 bytes of BPF stack. writer and reader: flow_make(), voq_make(),
 * egress and ingress, each field from beginning to end with bottom halves off, so that nobody comes between.
 * Not pinned.
 */
struct scratch_space {
	/* egress_probe(): a clone is to leave by this interface and has not reached egress yet; 0: there is none */
	__u32 probe_ifindex;
	__u32 probe_wrapped; /* that clone was made a PROBE */
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
	struct voq_key voq_key;	    /* of the packet at hand, */
	__u64 voq_departure_ns;	    /*   and when it may leave its VOQ */
	__u64 pause_ns;		    /* when the pause of its port ends; 0: there is none */
	struct wire_voq voq_block;  /* hop: of the packet, */
	struct tor_flow_key tor_key; /*   whose flow this is */
	struct tor_news tor_news;
	struct hpcc_ack ack;
	struct trace_feedback traced; /* what was decided by the last feedback */
	__u8 options[64]; /* of a SYN */
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

static inline void stats_count(enum sluice_stat which)
{
	__u32 key = which;
	__u64 *v = bpf_map_lookup_elem(&stats, &key);

	if (v)
		(*v)++;
}

static inline const struct control *control_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

#endif
