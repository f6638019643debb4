/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_VOQ_BPF_H
#define SLUICE_QUEUE_VOQ_BPF_H
/*
 * VOQs as queues. A packet that egress has put into a VOQ names it, and the time of its credit (struct queue_note). Its
 * flow is held until its own departure time, and then waits in the VOQ:
 *
 *   queue_voqs[VOQ] -> VOQ ----> lists of flows that are due, and wait for credit (fresh, ring)
 *   queues[qdisc]      gates --> tree of VOQs that have such flows, by the time when the first one has credit
 *                      voqs ---> list of all VOQs
 *
 * Credit belongs to the VOQ (sluice/queue/voq_clock.h): whichever flow has its turn uses the earliest. Flows take turns
 * by deficit round robin, a new one first. A VOQ is kept until it has been empty when another one is made.
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
	v->gate_ns = v->fresh_flows = v->ring_flows = v->fresh_bytes = v->waits = v->clock.n = 0;
	for (i = 0; i < VOQ_SPANS; i++)
		v->clock.span[i].from_ns = v->clock.span[i].to_ns = v->clock.span[i].bytes = 0;
	voqs_push(q, object_share(v));
	return v;
}

/* A packet of bytes enters the VOQ. Whether there was room for that. */
static __always_inline int voq_enter(struct queue *q, const struct queue_voq_key *key, __u64 credit_ns, __u64 bytes)
{
	struct queue_voq *v = voq_take(key);
	struct voq_clock clock;

	if (!v)
		v = voq_begin(q, key);
	if (!v)
		return 0;
	clock = v->clock; /* on the stack: the verifier wants constant offsets in objects */
	voq_clock_add(&clock, credit_ns, bytes);
	v->clock = clock;
	voq_put_back(key, v);
	return 1;
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

static __always_inline void voq_fresh_push(struct queue_voq *v, struct queue_flow *f)
{
	v->fresh_flows++;
	list_push_back(&v->lock, &v->fresh, &f->in_list);
}

/* The flow continues its turn. */
static __always_inline void voq_fresh_keep(struct queue_voq *v, struct queue_flow *f)
{
	v->fresh_flows++;
	list_push_front(&v->lock, &v->fresh, &f->in_list);
}

static __always_inline void voq_ring_push(struct queue_voq *v, struct queue_flow *f)
{
	v->ring_flows++;
	list_push_back(&v->lock, &v->ring, &f->in_list);
}

static __always_inline void voq_ring_keep(struct queue_voq *v, struct queue_flow *f)
{
	v->ring_flows++;
	list_push_front(&v->lock, &v->ring, &f->in_list);
}

/* Takes the flow whose turn it is, and whether it was a new one; NULL: there is none. */
static __always_inline struct queue_flow *voq_turn(struct queue_voq *v, int is_fresh)
{
	struct bpf_list_node *node;

	bpf_spin_lock(&v->lock);
	node = is_fresh ? bpf_list_pop_front(&v->fresh) : bpf_list_pop_front(&v->ring);
	bpf_spin_unlock(&v->lock);
	if (!node)
		return NULL;
	if (is_fresh)
		v->fresh_flows--;
	else
		v->ring_flows--;
	return object_of(node, struct queue_flow, in_list);
}

/* Bytes of the first packet of the flow that has the next turn; 0: no flow waits. */
static __always_inline __u64 voq_next_bytes(struct queue_voq *v, int is_fresh)
{
	struct bpf_list_node *node;
	__u64 bytes = 0;

	bpf_spin_lock(&v->lock);
	node = is_fresh ? bpf_list_front(&v->fresh) : bpf_list_front(&v->ring);
	if (node)
		bytes = object_of(node, struct queue_flow, in_list)->first_bytes;
	bpf_spin_unlock(&v->lock);
	return bytes;
}

static __always_inline int voq_fresh_is_next(const struct queue_voq *v, __u32 quantum)
{
	return queue_fresh_is_next(v->fresh_flows != 0, v->ring_flows != 0, v->fresh_bytes, quantum);
}

/* Puts the VOQ into gates if flows wait in it. Takes over the caller's reference. */
static __always_inline void voq_waits(struct queue *q, struct queue_voq *v, __u32 quantum)
{
	__u64 bytes = voq_next_bytes(v, voq_fresh_is_next(v, quantum));

	v->waits = bytes != 0;
	v->gate_ns = voq_clock_when_ns(&v->clock, bytes);
	if (bytes)
		gates_push(q, v);
	else
		object_drop(v);
}

/* A flow whose first packet is due waits for credit. */
static __always_inline void voq_join(struct queue *q, struct queue_flow *f, __u32 quantum, int is_fresh)
{
	struct queue_voq_key key = { .queue = f->key.queue, .voq = f->first_voq };
	struct queue_voq *v = voq_take(&key);

	if (!v) { /* unreachable: the packet has entered it */
		f->first_voq = 0;
		ring_push(q, f);
		return;
	}
	if (is_fresh)
		voq_fresh_push(v, f);
	else
		voq_ring_push(v, f);
	if (!v->waits)
		voq_waits(q, object_share(v), quantum);
	voq_put_back(&key, v);
}

/* Where a flow of the VOQ goes after it has handed out a packet. */
static __always_inline void voq_goes_on(struct queue *q, struct queue_voq *v, struct queue_flow *f, __u64 now_ns,
					int is_fresh)
{
	if (!f->packets || f->first_voq != v->key.voq)
		ring_push(q, f);
	else if (f->first_ns > now_ns)
		held_push(q, f);
	else if (f->credit <= 0)
		voq_ring_push(v, f);
	else if (is_fresh)
		voq_fresh_keep(v, f);
	else
		voq_ring_keep(v, f);
}

/* Gives the first VOQ that has credit its turn: a packet of its next flow, or NULL. *none: no VOQ has credit. */
static __always_inline struct sk_buff *voq_give(struct queue *q, __u64 now_ns, __u32 quantum, int *none)
{
	struct queue_voq *v = gates_pop(q, now_ns);
	struct sk_buff *skb = NULL;
	struct queue_flow *f;
	__u64 bytes;
	int is_fresh;

	if (!v) {
		*none = 1;
		return NULL;
	}
	is_fresh = voq_fresh_is_next(v, quantum);
	f = voq_turn(v, is_fresh);
	if (f && f->credit <= 0) {
		f->credit = v->ring_flows ? f->credit + quantum : quantum; /* alone it need not wait for its turn */
		voq_ring_push(v, f);
	} else if (f && pauses_hold(q, f->first_prios, now_ns)) {
		q->seen.pauses++;
		paused_push(q, f);
	} else if (f && voq_clock_when_ns(&v->clock, f->first_bytes) > now_ns) {
		if (is_fresh)
			voq_fresh_keep(v, f);
		else
			voq_ring_keep(v, f);
	} else if (f) {
		bytes = f->first_bytes;
		skb = flow_pop(f, 0);
		voq_clock_take(&v->clock, bytes);
		f->credit -= bytes;
		q->seen.voq_bytes += bytes;
		q->seen.voq_packets++;
		v->fresh_bytes = is_fresh ? v->fresh_bytes + bytes : 0;
		voq_goes_on(q, v, f, now_ns, is_fresh);
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
	f = voq_turn(v, v->fresh_flows != 0);
	if (f)
		object_drop(f);
	voq_waits(q, v, 0);
	return 1;
}

#endif
