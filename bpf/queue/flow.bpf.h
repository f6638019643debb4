/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_FLOW_BPF_H
#define SLUICE_QUEUE_FLOW_BPF_H
/*
 * The flows of a qdisc, and their packets.
 *
 *   queues[qdisc]        direct --> a packet that is due while no flow has a turn: it leaves next
 *                        fresh ---> list of flows that are new
 *                        ring ----> list of flows that take turns
 *                        held ----> tree of flows by the departure time of their first packet
 *                        all -----> list of all flows
 *                        gates ---> tree of VOQs: see queue/voq.bpf.h
 *                        paused --> list of flows that a pause holds: see queue/paused.bpf.h
 *   queue_flows[flow] -> flow ----> list of packets
 *
 * A flow that has packets is in exactly one of fresh, ring, held and paused, or waits for credit in its VOQ. When its last
 * packet has left it stays in the ring for a turn, and leaves it if it still has none then: so a flow that comes back at
 * once is not new again. The map and the list of all flows hold it until it has been idle for QUEUE_IDLE_NS: each new flow
 * advances through the list by two steps (a clock: flows in use go to the end).
 *
 * All programs of a qdisc run under its root lock. The locks here are for the verifier, which wants them around each access
 * to a list or tree, one at a time; nobody ever waits for them.
 */
#include "queue/kfuncs.bpf.h"
#include "sluice/pause/qdisc.h"
#include "sluice/queue/pace.h"
#include "sluice/queue/port.h"
#include "sluice/queue/queue.h"
#include "sluice/queue/voq_clock.h"

#define QUEUE_RECLAIM 16 /* flows checked when there is no room for another one */

/* A packet that waits. Programs cannot use the kernel's own links in a packet. */
struct queue_packet {
	struct bpf_list_node in_flow;
	struct sk_buff __kptr *skb;
	struct pace_gap gap;
	__u64 voq;		/* its VOQ; 0: none */
	__u64 credit_ns, young; /* in its VOQ: when it has credit by its place, and whether it goes before the others */
	__u64 prios;		/* bit n: pauses of priority n hold it */
	__u64 bytes;
};

struct queue_key {
	__u64 queue; /* of queues */
	__u64 fifo;  /* hash of the packet's flow, as the kernel computes it, and enum queue_lane above its 32 bits */
};

struct queue_flow {
	struct queue_key key;
	struct pace pace;
	__u64 first_ns; /* departure of its first packet, CLOCK_MONOTONIC */
	__u64 first_voq, first_credit_ns, first_young, first_prios, first_bytes,
		first_until_ns; /* of its first packet */
	__s64 credit;		/* bytes left of its turn */
	__u64 packets;
	__u64 waits;		      /* it is in fresh, ring, held, paused or a VOQ */
	__u64 gone;		      /* no longer in the map, or the map has another flow under its key */
	struct bpf_rb_node in_tree;   /* held, or the tree of a VOQ */
	struct bpf_list_node in_list; /* fresh, of the qdisc or of a VOQ, ring, or paused */
	struct bpf_list_node in_all;
	struct bpf_list_head fifo CONTAINS(queue_packet, in_flow);
	struct bpf_spin_lock lock; /* of fifo */
	struct bpf_refcount refs;
};

struct queue_slot {
	struct queue_flow __kptr *flow;
};

/* A VOQ of HierCC (queue/voq.bpf.h). */
struct queue_voq_key {
	__u64 queue; /* of queues */
	__u64 voq;   /* as egress names it */
};

struct queue_voq {
	struct queue_voq_key key;
	struct voq_clock clock;
	__u64 gate_ns; /* when its first flow has credit; valid while it is in gates */
	__u64 young_flows, flows;
	__u64 young_bytes; /* that young flows have sent since the others had a turn */
	__u64 waits;	   /* it is in gates */
	struct bpf_rb_node in_gates;
	struct bpf_list_node in_voqs;
	struct bpf_list_head young CONTAINS(queue_flow, in_list);
	struct bpf_rb_root others CONTAINS(queue_flow, in_tree);
	struct bpf_spin_lock lock; /* of young and others */
	struct bpf_refcount refs;
};

struct queue_voq_slot {
	struct queue_voq __kptr *voq;
};

/* The classes of a qdisc that has some (queue/class.bpf.h). */
struct queue_classes {
	struct class_turns turns;
	__u64 first_prios[QUEUE_CLASSES]; /* of the first packet of a class, as in struct queue_packet */
	__u64 noted;			  /* bit n: a packet of priority n has come */
};

/* A qdisc. */
struct queue {
	struct queue_seen seen;
	__u64 has_setup; /* there is an entry of queue_ports */
	__u64 free_ns;	 /* when the port is free for the next packet, if it has a rate */
	struct queue_classes classes;
	struct sk_buff __kptr *direct; /* the packet that leaves next, without a flow */
	__u64 armed_ns;		       /* nothing held is due before, and the timer is set to it; 0: not known */
	__u64 resuming;		       /* flows of paused that are still to be checked, because a pause has ended */
	struct bpf_spin_lock lock;
	struct bpf_list_head fresh CONTAINS(queue_flow, in_list);
	struct bpf_list_head ring CONTAINS(queue_flow, in_list);
	struct bpf_rb_root held CONTAINS(queue_flow, in_tree);
	struct bpf_list_head all CONTAINS(queue_flow, in_all);
	struct bpf_rb_root gates CONTAINS(queue_voq, in_gates);
	struct bpf_list_head voqs CONTAINS(queue_voq, in_voqs);
	struct bpf_list_head paused CONTAINS(queue_flow, in_list);
};

/*
 * The qdiscs, by the kernel's address of them.
 * writer: the qdisc; reader: the same, the daemon, sluicectl queue (the start of an entry)
 * life:   that of the qdisc; full: no more qdiscs of the kind can be made
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct queue);
} queues SEC(".maps");

/*
 * The flows of all qdiscs that have packets, or had some within QUEUE_IDLE_NS.
 * writer: the qdisc; reader: the same
 * life:   see above; full: of further flows one packet at a time passes, the others are dropped (QUEUE_FLOWS_FULL)
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct queue_key);
	__type(value, struct queue_slot);
} queue_flows SEC(".maps");

/*
 * The limits of all qdiscs.
 * writer: the daemon, when it registers the qdisc; bpftool. reader: the qdisc, with each packet
 * life:   as long as the qdisc is registered
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct queue_limits);
} queue_limits SEC(".maps");

static inline const struct queue_limits *queue_limits_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&queue_limits, &zero);
}

static inline struct queue *queue_get(struct Qdisc *sch)
{
	__u64 key = (__u64)sch;

	return bpf_map_lookup_elem(&queues, &key);
}

/* --- the place of a flow; each takes over the caller's reference --- */

static __always_inline void fresh_push(struct queue *q, struct queue_flow *f)
{
	q->seen.fresh_flows++;
	list_push_back(&q->lock, &q->fresh, &f->in_list);
}

/* The flow continues its turn. */
static __always_inline void fresh_keep(struct queue *q, struct queue_flow *f)
{
	q->seen.fresh_flows++;
	list_push_front(&q->lock, &q->fresh, &f->in_list);
}

static __always_inline void ring_push(struct queue *q, struct queue_flow *f)
{
	q->seen.ring_flows++;
	list_push_back(&q->lock, &q->ring, &f->in_list);
}

static __always_inline void ring_keep(struct queue *q, struct queue_flow *f)
{
	q->seen.ring_flows++;
	list_push_front(&q->lock, &q->ring, &f->in_list);
}

static bool held_is_before(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return object_of(a, struct queue_flow, in_tree)->first_ns < object_of(b, struct queue_flow, in_tree)->first_ns;
}

static __always_inline void held_push(struct queue *q, struct queue_flow *f)
{
	q->seen.held_flows++;
	q->armed_ns = 0;
	bpf_spin_lock(&q->lock);
	bpf_rbtree_add_impl(&q->held, &f->in_tree, held_is_before, NULL, 0);
	bpf_spin_unlock(&q->lock);
}

static __always_inline struct queue_flow *fresh_pop(struct queue *q)
{
	struct bpf_list_node *node = list_pop(&q->lock, &q->fresh);

	if (!node)
		return NULL;
	q->seen.fresh_flows--;
	return object_of(node, struct queue_flow, in_list);
}

static __always_inline struct queue_flow *ring_pop(struct queue *q)
{
	struct bpf_list_node *node = list_pop(&q->lock, &q->ring);

	if (!node)
		return NULL;
	q->seen.ring_flows--;
	return object_of(node, struct queue_flow, in_list);
}

/* When the first held flow is due; 0: none is held. */
static __always_inline __u64 held_next_ns(struct queue *q)
{
	struct bpf_rb_node *node;
	__u64 at_ns = 0;

	bpf_spin_lock(&q->lock);
	node = bpf_rbtree_first(&q->held);
	if (node)
		at_ns = object_of(node, struct queue_flow, in_tree)->first_ns;
	bpf_spin_unlock(&q->lock);
	return at_ns;
}

/* The first held flow, if it is due by then, or NULL. */
static __always_inline struct queue_flow *held_pop(struct queue *q, __u64 due_ns)
{
	struct bpf_rb_node *node;
	struct queue_flow *f;

	bpf_spin_lock(&q->lock);
	node = bpf_rbtree_first(&q->held);
	if (!node) {
		bpf_spin_unlock(&q->lock);
		return NULL;
	}
	f = object_of(node, struct queue_flow, in_tree);
	if (f->first_ns > due_ns) {
		bpf_spin_unlock(&q->lock);
		return NULL;
	}
	node = bpf_rbtree_remove(&q->held, &f->in_tree);
	bpf_spin_unlock(&q->lock);
	if (!node)
		return NULL;
	q->seen.held_flows--;
	return object_of(node, struct queue_flow, in_tree);
}

/* --- all flows --- */

static __always_inline void all_push(struct queue *q, struct queue_flow *f)
{
	list_push_back(&q->lock, &q->all, &f->in_all);
}

static __always_inline struct queue_flow *all_pop(struct queue *q)
{
	struct bpf_list_node *node = list_pop(&q->lock, &q->all);

	return node ? object_of(node, struct queue_flow, in_all) : NULL;
}

/*
 * Removes the flow of a key from the map. The slot is emptied first: a deleted element keeps its pointer until its memory
 * is used again, and with it the flow's packets. TCP never sends a packet again that is still in a queue.
 */
static __always_inline void slot_remove(const struct queue_key *key)
{
	struct queue_slot *slot = bpf_map_lookup_elem(&queue_flows, key);
	struct queue_flow *f = slot ? bpf_kptr_xchg(&slot->flow, NULL) : NULL;

	if (f)
		object_drop(f);
	bpf_map_delete_elem(&queue_flows, key);
}

/* Removes the flow from the map. */
static __always_inline void flow_forget(struct queue_flow *f)
{
	struct queue_key key = f->key;

	slot_remove(&key);
	object_drop(f);
}

/* Checks the next of all flows, and forgets it if it is idle. */
static __always_inline void all_step(struct queue *q, __u64 now_ns)
{
	struct queue_flow *f = all_pop(q);

	if (!f)
		return;
	if (f->gone)
		object_drop(f);
	else if (f->waits || !queue_is_idle(now_ns, f->pace.left_ns))
		all_push(q, f);
	else
		flow_forget(f);
}

/*
 * The map of flows is full: removes flows that wait for a turn without packets, and empty ones, however briefly they
 * have been so.
 */
static __always_inline void all_reclaim(struct queue *q)
{
	struct bpf_iter_num it;
	struct queue_flow *f;
	struct queue_key key;

	bpf_iter_num_new(&it, 0, QUEUE_RECLAIM);
	while (bpf_iter_num_next(&it)) {
		all_step(q, ~0ULL);
		f = ring_pop(q);
		if (!f)
			continue;
		if (f->packets) {
			ring_push(q, f);
			continue;
		}
		f->waits = 0;
		f->gone = 1;
		key = f->key;
		slot_remove(&key);
		object_drop(f);
	}
	bpf_iter_num_destroy(&it);
}

#endif
