/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_MAPS_BPF_H
#define SLUICE_MAPS_BPF_H
/*
 * All maps. For each: its writers and readers, the life of an entry, and the effect of a full map.
 * The daemon pins them by name in its pin directory (/sys/fs/bpf/sluice) and sets their sizes.
 */
#include "lib/base.bpf.h"
#include "lib/queue_maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/rack/hiercc.h"

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
 * State of the reports to senders, for flows whose peer is told W; keyed like flows.
 * writer: ingress; reader: ingress, daemon
 * life:   that of the flow, or until its peer is told hops again; the programs'. Not pinned: a new state finds its W in
 *         a T
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
 * The records of paths over which a flow's packets take turns (paths.h); keyed like flows.
 * writer: ingress; reader: ingress, daemon
 * life:   while they take turns, at most that of the flow; the programs'. Not pinned: records are a few round trips old
 * full:   feedback of another path than the last decides nothing (fb_first). It has as many entries as flows
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct flow_key);
	__type(value, struct hpcc_paths);
} flow_paths SEC(".maps");

/*
 * The hosts that were heard from: if there is a key, those that have it. No other address takes room here.
 * writer: ingress creates, egress and ingress each their own fields (abi.h); reader: the same, tcp_cc, sluicectl
 * life:   least recently used goes first; full: never (LRU). A lost entry is asked for again
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct host_key);
	__type(value, struct host);
} hosts SEC(".maps");

/*
 * When addresses never heard from were last asked (CLOCK_MONOTONIC): any sender can make us ask an address.
 * writer: egress; ingress removes hosts that it hears from; reader: egress, ingress
 * life:   least recently used goes first; full: never (LRU). A lost address may be asked again within the second
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct host_key);
	__type(value, __u64);
} asked SEC(".maps");

/*
 * The window scale in the last SYN of a peer, as rwnd_syn_scale() returns it, until our side answers; keyed like flows.
 * writer: ingress; reader: egress, with a SYN-ACK
 * life:   least recently used goes first; not pinned. full: never (LRU). The scale of a connection whose SYN is
 *         lost here is looked up in its socket
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_key);
	__type(value, __u32);
} syn_offers SEC(".maps");

/* A flow that waits for a packet to make a companion of (companion.bpf.h). */
struct companion_wanted {
	struct flow_key key;
	__u64 since_ns; /* 0: a packet was found */
};

/*
 * key:    the remote host of the flow. writer: egress, and ingress, which takes it back; reader: the same
 * life:   least recently used goes first; not pinned. full: never (LRU). The flow asks again
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct host_key);
	__type(value, struct companion_wanted);
} wanted SEC(".maps");

enum bucket_of {
	BUCKET_ASKS,	/* PROBEs to addresses never heard from */
	BUCKET_ANSWERS, /* answers to addresses never heard from */
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
 * full:   further pods are not stamped, and the daemon says so; there are at most 1024 other interfaces
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
 * full:   never, a configuration has classes for at most 64 interfaces
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
 * The network namespace behind a veth, by its number in this one (`ip netns list-id`).
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

/*
 * The domain of a VRF in which there is a port.
 * key:    ifindex of the VRF. writer: daemon; reader: tcp_cc, daemon
 * life:   while the port is in it; full: never, there are at most 64 managed interfaces
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} domains SEC(".maps");

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
} auth_keys SEC(".maps");

/*
 * writer: ingress, its reports on flows without packets going back: struct report; reader: daemon
 * life:   until the daemon has read it; not pinned. full: the report is lost and counted (fb_ring_full)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} reports SEC(".maps");

/*
 * VOQs to other racks.
 * writer: egress (ingress: credit; daemon: those of whole prefixes, when it starts); reader: the same, sluicectl
 * life:   until the daemon finds it idle; those of whole prefixes: while they are configured
 * full:   packets go by the VOQ of their peer's prefix, or without a VOQ if there is none (voq_full)
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct voq_key);
	__type(value, struct voq);
} voqs SEC(".maps");

/*
 * Slots of VOQs with arriving packets: indices of arrivals and credits.
 * writer: daemon; reader: ingress; life: until the daemon finds it idle
 * full:   the VOQ gets no credit, so only HPCC governs its packets; the daemon reports it
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct arrival_key);
	__type(value, __u32);
} arrival_slots SEC(".maps");

/* writer: ingress, daemon (mmap), each its own fields; reader: daemon, sluicectl; life, full: as of arrival_slots */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct arrival);
} arrivals SEC(".maps");

/* writer: ingress, hop, egress, daemon (mmap): holder of its ring; reader: sluicectl; life, full: as arrival_slots */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct credit);
} credits SEC(".maps");

/*
 * Ports that grant credit, by their number in the daemon. writer: as of credits; reader: sluicectl
 * life:   until the daemon needs its place for another port. full: VOQs to further ports get no credit (reported)
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CREDIT_RINGS);
	__type(key, __u32);
	__type(value, struct credit_ring);
} credit_rings SEC(".maps");

/*
 * writer: ingress: packets of VOQs that the daemon does not watch, or with another port than it assumes: struct
 *         arrival_news; credit for the daemon to tell: struct arrival_ask; reader: daemon
 * life:   until the daemon has read it; not pinned. full: it is lost and counted (arrival_lost)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} arrival_news SEC(".maps");

/*
 * Flows from hosts behind this switch, for F and for marks.
 * writer and reader: hop; life: least recently used goes first; not pinned. full: never (LRU); a flow that
 * was evicted is counted once more in its epoch
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tor_flow_key);
	__type(value, struct tor_flow);
} tor_flows SEC(".maps");

/*
 * writer: hop, ingress (tor): news for hosts behind this switch: struct tor_news; reader: daemon
 * life:   until the daemon has read it; not pinned. full: it is lost and counted (tor_lost)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} rate_asks SEC(".maps");

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
 * life:   until it has been read; the next reader skips records that nobody read. full: it is lost and
 *         counted (trace_lost)
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} trace SEC(".maps");

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

/* The routing domain of an interface. It is looked up only while there are others than 0. */
static inline __u16 domain_of(const struct control *ctl, __u32 ifindex)
{
	const struct port *port = ctl->domains ? bpf_map_lookup_elem(&ports, &ifindex) : 0;

	return port ? port->domain : 0;
}

#endif
