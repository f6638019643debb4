/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_VOQ_BPF_H
#define SLUICE_QUEUE_VOQ_BPF_H
/*
 * VOQs as queues. A packet that egress has put into a VOQ names it, and the time of its credit (struct queue_note). Its
 * flow is held until its own departure time, and then waits in the VOQ:
 *
 *   queue_voqs[VOQ] -> VOQ ----> flows that are due, and wait for credit: a list of young ones, a tree of the others
 *   queues[qdisc]      gates --> tree of VOQs that have such flows, by the time when the first one has credit
 *                      voqs ---> list of all VOQs
 *
 * Credit belongs to the VOQ (sluice/queue/voq_clock.h): whichever flow has its turn uses the earliest. The first packets
 * of a flow go before the others (queue_is_young()). Those leave in the order in which their packets entered: the S of a
 * packet claims all bytes that entered before it, and the receiver grants what is claimed (hiercc_claim()). A VOQ is
 * kept until it has been empty when another one is made.
 */
#include "queue/paused.bpf.h"

/*
 * The VOQs of all qdiscs.
 * writer: the qdisc; reader: the same
 * life:   see queue_flows; full: packets of further VOQs are held by their flow alone, until they have credit
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct queue_voq_key);
	__type(value, struct queue_voq_slot);
} queue_voqs SEC(".maps");

/* Takes the VOQ out of its slot: NULL if there is none. The caller owns it until voq_put_back(). */
static __always_inline struct queue_voq *voq_take(const struct queue_voq_key *key)
{
	struct queue_voq_slot *slot = bpf_map_lookup_elem(&queue_voqs, key);

	return slot ? bpf_kptr_xchg(&slot->voq, NULL) : NULL;
}

static __always_inline void voq_put_back(const struct queue_voq_key *key, struct queue_voq *v)
{
	struct queue_voq_slot *slot = bpf_map_lookup_elem(&queue_voqs, key);

	if (slot)
		v = bpf_kptr_xchg(&slot->voq, v);
	if (v) /* for the verifier: the slot is there, and empty */
		object_drop(v);
}

/* --- all VOQs --- */

static __always_inline void voqs_push(struct queue *q, struct queue_voq *v)
{
	list_push_back(&q->lock, &q->voqs, &v->in_voqs);
}

static __always_inline struct queue_voq *voqs_pop(struct queue *q)
{
	struct bpf_list_node *node = list_pop(&q->lock, &q->voqs);

	return node ? object_of(node, struct queue_voq, in_voqs) : NULL;
}

/* Removes the VOQ from the map; the slot is emptied first, as in slot_remove(). */
static __always_inline void voq_forget(struct queue_voq *v)
{
	struct queue_voq_key key = v->key;
	struct queue_voq *kept = voq_take(&key);

	if (kept)
		object_drop(kept);
	bpf_map_delete_elem(&queue_voqs, &key);
	object_drop(v);
}

/* Checks the next of all VOQs, and forgets it if nothing of it waits. */
static __always_inline void voqs_step(struct queue *q)
{
	struct queue_voq *v = voqs_pop(q);

	if (!v)
		return;
	if (v->waits || v->clock.n)
		voqs_push(q, v);
	else
		voq_forget(v);
}

/* Makes a VOQ with an empty slot; NULL if there is no room. */
static __always_inline struct queue_voq *voq_begin(struct queue *q, const struct queue_voq_key *key)
{
	struct queue_voq_slot empty = {};
	struct queue_voq *v;
	int i;

	voqs_step(q);
	voqs_step(q);
	if (bpf_map_update_elem(&queue_voqs, key, &empty, BPF_ANY))
		return NULL;
	v = object_new(struct queue_voq);
	if (!v) {
		bpf_map_delete_elem(&queue_voqs, key);
		return NULL;
	}
	v->key = *key;
	v->gate_ns = v->young_flows = v->flows = v->young_bytes = v->waits = v->clock.n = 0;
	for (i = 0; i < VOQ_SPANS; i++)
		v->clock.span[i].from_ns = v->clock.span[i].to_ns = v->clock.span[i].bytes = 0;
	voqs_push(q, object_share(v));
	return v;
}

/* --- VOQs that wait --- */

static bool gate_is_before(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return object_of(a, struct queue_voq, in_gates)->gate_ns < object_of(b, struct queue_voq, in_gates)->gate_ns;
}

static __always_inline void gates_push(struct queue *q, struct queue_voq *v)
{
	q->seen.waiting_voqs++;
	q->armed_ns = 0;
	bpf_spin_lock(&q->lock);
	bpf_rbtree_add_impl(&q->gates, &v->in_gates, gate_is_before, NULL, 0);
	bpf_spin_unlock(&q->lock);
}

/* When the first VOQ has credit; 0: none waits. */
static __always_inline __u64 gates_next_ns(struct queue *q)
{
	struct bpf_rb_node *node;
	__u64 at_ns = 0;

	bpf_spin_lock(&q->lock);
	node = bpf_rbtree_first(&q->gates);
	if (node)
		at_ns = object_of(node, struct queue_voq, in_gates)->gate_ns;
	bpf_spin_unlock(&q->lock);
	return at_ns;
}

/* The first VOQ, if it has credit by then, or NULL. */
static __always_inline struct queue_voq *gates_pop(struct queue *q, __u64 due_ns)
{
	struct bpf_rb_node *node;
	struct queue_voq *v;

	bpf_spin_lock(&q->lock);
	node = bpf_rbtree_first(&q->gates);
	if (!node) {
		bpf_spin_unlock(&q->lock);
		return NULL;
	}
	v = object_of(node, struct queue_voq, in_gates);
	if (v->gate_ns > due_ns) {
		bpf_spin_unlock(&q->lock);
		return NULL;
	}
	node = bpf_rbtree_remove(&q->gates, &v->in_gates);
	bpf_spin_unlock(&q->lock);
	if (!node)
		return NULL;
	q->seen.waiting_voqs--;
	return object_of(node, struct queue_voq, in_gates);
}

/* --- flows that wait in a VOQ; each takes over the caller's reference to the flow --- */

static bool credit_is_before(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return object_of(a, struct queue_flow, in_tree)->first_credit_ns <
	       object_of(b, struct queue_flow, in_tree)->first_credit_ns;
}

/* A flow joins those that wait. again: it has handed out a packet, or has had no credit, and keeps its turn. */
static __always_inline void voq_push(struct queue_voq *v, struct queue_flow *f, int again)
{
	if (f->first_young) {
		v->young_flows++;
		if (again)
			list_push_front(&v->lock, &v->young, &f->in_list);
		else
			list_push_back(&v->lock, &v->young, &f->in_list);
		return;
	}
	v->flows++;
	bpf_spin_lock(&v->lock);
	bpf_rbtree_add_impl(&v->others, &f->in_tree, credit_is_before, NULL, 0);
	bpf_spin_unlock(&v->lock);
}

static __always_inline struct queue_flow *voq_pop_young(struct queue_voq *v)
{
	struct bpf_list_node *node = list_pop(&v->lock, &v->young);

	if (!node)
		return NULL;
	v->young_flows--;
	return object_of(node, struct queue_flow, in_list);
}

static __always_inline struct queue_flow *voq_pop_other(struct queue_voq *v)
{
	struct bpf_rb_node *node;

	bpf_spin_lock(&v->lock);
	node = bpf_rbtree_first(&v->others);
	if (!node) {
		bpf_spin_unlock(&v->lock);
		return NULL;
	}
	node = bpf_rbtree_remove(&v->others, node);
	bpf_spin_unlock(&v->lock);
	if (!node)
		return NULL;
	v->flows--;
	return object_of(node, struct queue_flow, in_tree);
}

/* Bytes of the first packet of the flow that has the next turn; 0: no flow waits. */
static __always_inline __u64 voq_next_bytes(struct queue_voq *v, int is_young)
{
	struct bpf_list_node *young;
	struct bpf_rb_node *other;
	__u64 bytes = 0;

	bpf_spin_lock(&v->lock);
	if (is_young) {
		young = bpf_list_front(&v->young);
		if (young)
			bytes = object_of(young, struct queue_flow, in_list)->first_bytes;
	} else {
		other = bpf_rbtree_first(&v->others);
		if (other)
			bytes = object_of(other, struct queue_flow, in_tree)->first_bytes;
	}
	bpf_spin_unlock(&v->lock);
	return bytes;
}

/* Many young flows do not starve the others, as in queue_fresh_is_next(). */
static __always_inline int voq_young_is_next(const struct queue_voq *v, __u32 quantum)
{
	return queue_fresh_is_next(v->young_flows != 0, v->flows != 0, v->young_bytes, quantum);
}

/* Puts the VOQ into gates if flows wait in it. Takes over the caller's reference. */
static __always_inline void voq_waits(struct queue *q, struct queue_voq *v, __u32 quantum)
{
	__u64 bytes = voq_next_bytes(v, voq_young_is_next(v, quantum));

	v->waits = bytes != 0;
	v->gate_ns = voq_clock_when_ns(&v->clock, bytes);
	if (bytes)
		gates_push(q, v);
	else
		object_drop(v);
}

/* Credit comes earlier than was expected: the VOQ has its turn earlier. */
static __always_inline void gates_advance(struct queue *q, struct queue_voq *v, __u32 quantum)
{
	__u64 bytes = v->waits ? voq_next_bytes(v, voq_young_is_next(v, quantum)) : 0;
	__u64 at_ns = voq_clock_when_ns(&v->clock, bytes);
	struct bpf_rb_node *node;
	struct queue_voq *first;

	if (!bytes || at_ns >= v->gate_ns)
		return;
	bpf_spin_lock(&q->lock);
	node = bpf_rbtree_remove(&q->gates, &v->in_gates);
	bpf_spin_unlock(&q->lock);
	if (!node)
		return;
	q->seen.waiting_voqs--;
	first = object_of(node, struct queue_voq, in_gates);
	first->gate_ns = at_ns;
	gates_push(q, first);
}

/* Changes a copy: the verifier wants constant offsets in objects. */
VERIFIED_ONCE int clock_add(struct voq_clock *c, __u64 credit_ns, __u64 bytes)
{
	if (c)
		voq_clock_add(c, credit_ns, bytes);
	return 0;
}

/* A packet of bytes enters the VOQ. Whether there was room for that. */
static __always_inline int voq_enter(struct queue *q, const struct queue_voq_key *key, __u64 credit_ns, __u64 bytes,
				     __u32 quantum)
{
	struct queue_voq *v = voq_take(key);
	struct voq_clock clock;

	if (!v)
		v = voq_begin(q, key);
	if (!v)
		return 0;
	clock = v->clock;
	clock_add(&clock, credit_ns, bytes);
	v->clock = clock;
	gates_advance(q, v, quantum);
	voq_put_back(key, v);
	return 1;
}

/* A flow whose first packet is due waits for credit. */
static __always_inline void voq_join(struct queue *q, struct queue_flow *f, __u32 quantum)
{
	struct queue_voq_key key = { .queue = f->key.queue, .voq = f->first_voq };
	struct queue_voq *v = voq_take(&key);

	if (!v) { /* unreachable: the packet has entered it */
		f->first_voq = 0;
		ring_push(q, f);
		return;
	}
	voq_push(v, f, 0);
	if (!v->waits)
		voq_waits(q, object_share(v), quantum);
	voq_put_back(&key, v);
}

/* Where a flow of the VOQ goes after it has handed out a packet. */
static __always_inline void voq_goes_on(struct queue *q, struct queue_voq *v, struct queue_flow *f, __u64 now_ns)
{
	if (!f->packets || f->first_voq != v->key.voq)
		ring_push(q, f);
	else if (f->first_ns > now_ns)
		held_push(q, f);
	else
		voq_push(v, f, 1);
}

/* Gives the first VOQ that has credit its turn: a packet of its next flow, or NULL. *none: no VOQ has credit. */
static __always_inline struct sk_buff *voq_give(struct queue *q, __u64 now_ns, __u32 quantum, int *none)
{
	struct queue_voq *v = gates_pop(q, now_ns);
	struct sk_buff *skb = NULL;
	struct queue_flow *f;
	__u64 bytes;
	int is_young;

	if (!v) {
		*none = 1;
		return NULL;
	}
	is_young = voq_young_is_next(v, quantum);
	f = is_young ? voq_pop_young(v) : voq_pop_other(v);
	if (f && pauses_hold(q, f->first_prios, now_ns)) {
		q->seen.pauses++;
		paused_push(q, f);
	} else if (f && voq_clock_when_ns(&v->clock, f->first_bytes) > now_ns) {
		voq_push(v, f, 1);
	} else if (f) {
		bytes = f->first_bytes;
		skb = flow_pop(f, 0);
		voq_clock_take(&v->clock, bytes);
		q->seen.voq_bytes += bytes;
		q->seen.voq_packets++;
		v->young_bytes = is_young ? v->young_bytes + bytes : 0;
		voq_goes_on(q, v, f, now_ns);
	}
	voq_waits(q, v, quantum);
	return skb;
}

/* Drops the VOQs of a qdisc that wait, with what waits in them. Whether there was one. */
static __always_inline int voq_flush_step(struct queue *q)
{
	struct queue_voq *v = gates_pop(q, ~0ULL);
	struct queue_flow *f;

	if (!v)
		return 0;
	f = voq_pop_young(v);
	if (!f)
		f = voq_pop_other(v);
	if (f)
		object_drop(f);
	voq_waits(q, v, 0);
	return 1;
}

#endif
