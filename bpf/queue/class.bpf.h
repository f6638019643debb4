/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_CLASS_BPF_H
#define SLUICE_QUEUE_CLASS_BPF_H
/*
 * A qdisc with classes, at a switch port (sluice/queue/port.h has their turns): a FIFO for each, and no flows.
 *
 *   queues[qdisc] --> turns, and which classes have packets
 *   queue_fifos[qdisc, class] --> list of packets
 *   queue_classes[port, class] --> what `hop` stamps: the queue of the class, with no tracepoint
 *
 * A pause holds a class whose first packet is of a paused priority.
 */
#include "lib/queue_maps.bpf.h"
#include "lib/skb.bpf.h"
#include "queue/flow.bpf.h"
#include "queue/paused.bpf.h"

/* A packet that waits in a class. */
struct class_waiter {
	struct bpf_list_node in_fifo;
	struct sk_buff __kptr *skb;
	__u64 came_ns;
	__u64 bytes;
	__u64 prios; /* as in struct queue_packet */
};

struct queue_fifo_key {
	__u64 queue; /* of queues */
	__u64 class;
};

struct queue_fifo {
	struct bpf_spin_lock lock;
	struct bpf_list_head packets CONTAINS(class_waiter, in_fifo);
};

/*
 * The classes of all qdiscs.
 * writer, reader: the qdisc; life: that of the qdisc; full: the qdisc is not made
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, QUEUE_PORTS_MAX);
	__type(key, struct queue_fifo_key);
	__type(value, struct queue_fifo);
} queue_fifos SEC(".maps");

/* Initial states. */
const char queue_fifo_blank[sizeof(struct queue_fifo)] = {};
const char class_seen_blank[sizeof(struct class_seen)] = {};

/* The setup of the qdisc's port; NULL: it has none. */
static __always_inline const struct queue_setup *setup_get(const struct queue *q)
{
	struct queue_port key = { .netns_cookie = q->seen.netns_cookie, .ifindex = q->seen.ifindex };

	return bpf_map_lookup_elem(&queue_ports, &key);
}

static __always_inline struct class_seen *class_seen_get(const struct queue *q, __u32 class)
{
	struct queue_class_key key = {
		.port = { .netns_cookie = q->seen.netns_cookie, .ifindex = q->seen.ifindex },
		.class = class,
	};

	return bpf_map_lookup_elem(&queue_classes, &key);
}

static __always_inline struct queue_fifo *class_fifo_get(struct Qdisc *sch, __u32 class)
{
	struct queue_fifo_key key = { .queue = (__u64)sch, .class = class };

	return bpf_map_lookup_elem(&queue_fifos, &key);
}

/* The class of a packet. */
static __always_inline __u32 class_of(const struct queue *q, const struct queue_setup *setup, struct sk_buff *skb)
{
	struct class_skb k = {};
	__u32 class;

	class_skb_read(skb, &k);
	class = setup->of_dscp[k.tos >> 2];
	return class < q->seen.classes && class < QUEUE_CLASSES ? class : 0;
}

/* Puts a packet into the FIFO of its class, or drops it. */
static __always_inline enum queue_verdict class_take(struct queue *q, const struct queue_setup *setup,
						     const struct queue_limits *l, struct sk_buff *skb, __u64 now_ns,
						     __u32 bytes, __u32 prios, struct Qdisc *sch,
						     struct bpf_sk_buff_ptr *to_free)
{
	__u32 class = class_of(q, setup, skb);
	struct class_seen *seen = class_seen_get(q, class);
	struct queue_fifo *fifo = class_fifo_get(sch, class);
	struct class_waiter *w;

	if (class >= QUEUE_CLASSES || !seen || !fifo) { /* unreachable: init has made them */
		bpf_qdisc_skb_drop(skb, to_free);
		return QUEUE_MEMORY;
	}
	if (seen->backlog_packets >= l->packets ||
	    (setup->limit_bytes && seen->backlog_bytes + bytes > setup->limit_bytes)) {
		seen->full++;
		bpf_qdisc_skb_drop(skb, to_free);
		return QUEUE_FULL;
	}
	w = object_new(struct class_waiter);
	if (!w) {
		bpf_qdisc_skb_drop(skb, to_free);
		return QUEUE_MEMORY;
	}
	w->came_ns = now_ns;
	w->bytes = bytes;
	w->prios = prios;
	skb = bpf_kptr_xchg(&w->skb, skb);
	if (skb) /* unreachable: it is new */
		bpf_qdisc_skb_drop(skb, to_free);
	if (!(q->seen.waiting_classes >> class & 1)) {
		seen->first_ns = now_ns;
		q->classes.first_prios[class] = prios;
		q->seen.waiting_classes |= 1U << class;
		class_turns_enter(&q->classes.turns, class);
	}
	q->classes.noted |= prios;
	seen->backlog_packets++;
	seen->backlog_bytes += bytes;
	list_push_back(&fifo->lock, &fifo->packets, &w->in_fifo);
	return QUEUE_TAKEN;
}

/* Those of the waiting classes (bit n: class n) whose first packet is of a priority in over, which no pause holds. */
VERIFIED_ONCE int classes_ready(const struct queue_classes *c, __u32 waiting, __u32 over)
{
	__u32 ready = 0, i;

	if (!c)
		return 0;
	for (i = 0; i < QUEUE_CLASSES; i++)
		if (!(c->first_prios[i] & ~(__u64)over))
			ready |= 1U << i;
	return ready & waiting;
}

VERIFIED_ONCE int classes_turn(const struct queue_classes *c, __u32 ready, __u32 strict)
{
	return c ? class_turns_next(&c->turns, ready, strict) : QUEUE_CLASSES;
}

/* Takes the first packet of a class out of its FIFO. share: as for class_turns_take() */
static __always_inline struct sk_buff *class_pop(struct queue *q, struct Qdisc *sch, __u32 class, __u64 now_ns,
						 __u32 share)
{
	struct class_seen *seen = class_seen_get(q, class);
	struct queue_fifo *fifo = class_fifo_get(sch, class);
	struct bpf_list_node *node, *next;
	__u64 first_ns = 0, prios = 0;
	struct sk_buff *skb = NULL;
	struct class_waiter *w;

	if (class >= QUEUE_CLASSES || !seen || !fifo)
		return NULL;
	bpf_spin_lock(&fifo->lock);
	node = bpf_list_pop_front(&fifo->packets);
	next = bpf_list_front(&fifo->packets);
	if (next) {
		w = object_of(next, struct class_waiter, in_fifo);
		first_ns = w->came_ns;
		prios = w->prios;
	}
	bpf_spin_unlock(&fifo->lock);
	if (!next)
		q->seen.waiting_classes &= ~(1U << class);
	if (!node)
		return NULL;
	w = object_of(node, struct class_waiter, in_fifo);
	seen->backlog_packets--;
	seen->backlog_bytes -= w->bytes;
	seen->tx_packets++;
	seen->tx_bytes += w->bytes;
	seen->sojourn_ns = now_ns - w->came_ns;
	seen->first_ns = first_ns;
	q->classes.first_prios[class] = prios;
	class_turns_take(&q->classes.turns, class, share, w->bytes);
	skb = bpf_kptr_xchg(&w->skb, skb);
	object_drop(w);
	return skb;
}

/* A packet of the class that has the next turn; NULL: none may leave. *next_ns: when to look again; 0: nothing waits. */
static __always_inline struct sk_buff *class_give(struct queue *q, const struct queue_setup *setup, struct Qdisc *sch,
						  __u64 now_ns, __u64 *next_ns)
{
	const struct queue_pauses *p = q->classes.noted ? pauses_get(q) : NULL;
	__u32 over = p ? queue_pauses_over(p, 0xff, now_ns) : 0xff, share = 0;
	__u32 ready = classes_ready(&q->classes, q->seen.waiting_classes, over);
	__u32 class = classes_turn(&q->classes, ready, setup->strict);

	if (class < QUEUE_CLASSES) {
		if (!(setup->strict >> class & 1))
			share = setup->share[class] ? setup->share[class] : QUEUE_SHARE_ALL;
		return class_pop(q, sch, class, now_ns, share);
	}
	if (p && q->seen.waiting_classes) {
		q->seen.pauses++;
		*next_ns = queue_pauses_next_ns(p, ~over & 0xff, now_ns);
	}
	return NULL;
}

/* Drops a packet of some class. Whether there was one. */
static __always_inline int class_flush_step(struct queue *q, struct Qdisc *sch)
{
	struct sk_buff *skb;
	__u32 class = classes_turn(&q->classes, q->seen.waiting_classes, 0);

	if (class >= QUEUE_CLASSES)
		return 0;
	skb = class_pop(q, sch, class, 0, 0);
	if (skb)
		bpf_kfree_skb(skb);
	return 1;
}

/* Makes the classes of a new qdisc, if its port has any. 0, or an error. */
static __always_inline int classes_make(struct queue *q, struct Qdisc *sch)
{
	const struct queue_setup *setup = setup_get(q);
	struct queue_fifo_key fifo = { .queue = (__u64)sch };
	struct queue_class_key seen = {
		.port = { .netns_cookie = q->seen.netns_cookie, .ifindex = q->seen.ifindex },
	};
	__u32 i;
	int err;

	if (!setup)
		return 0;
	q->has_setup = 1;
	for (i = 0; i < QUEUE_CLASSES && i < setup->classes; i++) {
		fifo.class = seen.class = i;
		err = bpf_map_update_elem(&queue_fifos, &fifo, queue_fifo_blank, BPF_ANY);
		if (!err)
			err = bpf_map_update_elem(&queue_classes, &seen, class_seen_blank, BPF_NOEXIST);
		if (err && err != -EEXIST) /* it exists as long as this qdisc replaces another one */
			return err;
		q->seen.classes = i + 1;
	}
	return 0;
}

/* last: the interface has no other one of ours. */
static __always_inline void classes_unmake(struct queue *q, struct Qdisc *sch, int last)
{
	struct queue_fifo_key fifo = { .queue = (__u64)sch };
	struct queue_class_key seen = {
		.port = { .netns_cookie = q->seen.netns_cookie, .ifindex = q->seen.ifindex },
	};
	__u32 i;

	for (i = 0; i < QUEUE_CLASSES && i < q->seen.classes; i++) {
		fifo.class = seen.class = i;
		bpf_map_delete_elem(&queue_fifos, &fifo);
		if (last)
			bpf_map_delete_elem(&queue_classes, &seen);
	}
	if (last)
		bpf_map_delete_elem(&queue_ports, &seen.port);
}

#endif
