/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DEQUEUE_BPF_H
#define SLUICE_DEQUEUE_BPF_H
/*
 * Dequeue. Held flows that have become due go to the end of the ring; then the flow whose turn it is hands out its
 * first packet, or waits for the end of a pause, or in its VOQ for credit. VOQs that have credit go first, but not indefinitely. If nothing is due
 * a timer asks again when the first flow or VOQ is. A port with a rate gives nothing until it is free again; one with
 * classes has no flows (class.bpf.h).
 */
#include "queue/class.bpf.h"
#include "queue/fifo.bpf.h"
#include "queue/voq.bpf.h"

#define QUEUE_RELEASES 64	  /* most flows released with one packet; the others follow with the next */
#define QUEUE_TURNS 4096	  /* most flows checked for one packet; then a timer asks again at once */
#define QUEUE_FLOWS_MAX (1 << 20) /* more than queue_flows has */

/* Moves flows that are due to the ring. */
static __always_inline void held_release(struct queue *q, __u64 now_ns)
{
	struct queue_flow *f;
	struct bpf_iter_num it;

	bpf_iter_num_new(&it, 0, QUEUE_RELEASES);
	while (bpf_iter_num_next(&it)) {
		f = held_pop(q, now_ns);
		if (!f)
			break;
		ring_push(q, f);
	}
	bpf_iter_num_destroy(&it);
}

/* Takes the flow whose turn it is, and whether it was a new one; NULL: there is none. */
static __always_inline struct queue_flow *turn_next(struct queue *q, __u32 quantum, int *is_fresh)
{
	*is_fresh = queue_fresh_is_next(q->seen.fresh_flows, q->seen.ring_flows, q->seen.fresh_bytes, quantum);
	if (*is_fresh)
		return fresh_pop(q);
	q->seen.fresh_bytes = 0;
	return ring_pop(q);
}

/* Where a flow goes after it has handed out a packet. */
static __always_inline void turn_goes_on(struct queue *q, struct queue_flow *f, int is_fresh)
{
	if (is_fresh && f->packets)
		fresh_keep(q, f);
	else if (is_fresh || !f->packets)
		ring_push(q, f);
	else
		ring_keep(q, f);
}

/* Drops the first packet of the flow: it would leave too late. Others wait behind it. */
static __always_inline void turn_drop(struct queue *q, struct Qdisc *sch, struct queue_flow *f)
{
	struct sk_buff *skb = flow_pop(f, 1);

	if (!skb)
		return;
	q->seen.packets[QUEUE_STALE]++;
	sch->q.qlen--;
	sch->qstats.backlog -= queue_bytes(skb);
	sch->qstats.drops++;
	bpf_kfree_skb(skb);
}

/*
 * Gives the next flow its turn: its first packet, or NULL if none is due, or it has no credit. *done: there is no flow,
 * or one has handed out a packet.
 */
static __always_inline struct sk_buff *turn_take(struct queue *q, struct Qdisc *sch, __u64 now_ns, __u32 quantum,
						 int *done)
{
	struct sk_buff *skb;
	struct queue_flow *f;
	__u32 bytes;
	int is_fresh;

	f = turn_next(q, quantum, &is_fresh);
	if (!f) {
		*done = 1;
		return NULL;
	}
	if (!f->packets) {
		f->waits = 0;
		object_drop(f);
		return NULL;
	}
	if (flow_is_stale(f)) {
		turn_drop(q, sch, f);
		turn_goes_on(q, f, is_fresh);
		return NULL;
	}
	if (f->first_ns > now_ns) {
		held_push(q, f);
		return NULL;
	}
	if (pauses_hold(q, f->first_prios, now_ns)) {
		q->seen.pauses++;
		paused_push(q, f);
		return NULL;
	}
	if (f->first_voq) {
		voq_join(q, f, quantum);
		return NULL;
	}
	if (f->credit <= 0) {
		f->credit += quantum;
		ring_push(q, f);
		return NULL;
	}
	skb = flow_pop(f, 0);
	*done = 1;
	if (!skb) { /* unreachable: it has packets */
		object_drop(f);
		return NULL;
	}
	bytes = queue_bytes(skb);
	f->credit -= bytes;
	if (is_fresh)
		q->seen.fresh_bytes += bytes;
	turn_goes_on(q, f, is_fresh);
	return skb;
}

/* A packet of a VOQ that has credit, or of another flow that is due; NULL, and *done as in turn_take(). */
static __always_inline struct sk_buff *queue_choose(struct queue *q, struct Qdisc *sch, __u64 now_ns, __u32 quantum,
						    int *done)
{
	struct sk_buff *skb;
	int none = 0;

	if (queue_fresh_is_next(q->seen.waiting_voqs, q->seen.fresh_flows + q->seen.ring_flows, q->seen.voq_bytes,
				quantum)) {
		skb = voq_give(q, now_ns, quantum, &none);
		if (!none) {
			*done = skb != NULL;
			return skb;
		}
	}
	q->seen.voq_bytes = 0;
	return turn_take(q, sch, now_ns, quantum, done);
}

/* The earlier of two times; 0: never. */
static __always_inline __u64 earlier_ns(__u64 a_ns, __u64 b_ns)
{
	return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}

/* Counts a packet that leaves, and returns it. */
static __always_inline struct sk_buff *queue_hand_out(struct queue *q, struct Qdisc *sch, struct sk_buff *skb,
						      __u64 now_ns)
{
	const struct queue_setup *setup = q->has_setup ? setup_get(q) : NULL;
	__u32 bytes = queue_bytes(skb);

	if (setup && setup->bps)
		shaper_take(&q->free_ns, now_ns, setup->bps, bytes);
	sch->q.qlen--;
	sch->qstats.backlog -= bytes;
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

/* A packet of a flow that may leave; NULL: there is none, and *next_ns is when to look again, 0: nothing waits. */
static __always_inline struct sk_buff *flows_give(struct queue *q, struct Qdisc *sch, __u64 now_ns, __u64 *next_ns)
{
	const struct queue_limits *l = queue_limits_get();
	struct sk_buff *skb = NULL;
	struct bpf_iter_num it;
	int done = 0;

	if (!l || (q->armed_ns > now_ns && !q->seen.fresh_flows && !q->seen.ring_flows))
		return NULL;
	if (q->seen.held_flows)
		held_release(q, now_ns);
	if (q->seen.paused_flows)
		paused_release(q, now_ns);
	bpf_iter_num_new(&it, 0, QUEUE_TURNS);
	while (bpf_iter_num_next(&it)) {
		skb = queue_choose(q, sch, now_ns, l->quantum, &done);
		if (done)
			break;
	}
	bpf_iter_num_destroy(&it);
	if (skb)
		return skb;
	q->seen.next_ns = done ? earlier_ns(held_next_ns(q), gates_next_ns(q)) : now_ns;
	q->armed_ns = *next_ns = earlier_ns(q->seen.next_ns, paused_next_ns(q, now_ns));
	return NULL;
}

static __always_inline void queue_wake_at(struct Qdisc *sch, __u64 at_ns)
{
	const struct queue_limits *l = queue_limits_get();

	if (l)
		bpf_qdisc_watchdog_schedule(sch, at_ns, l->slack_ns);
}

static __always_inline struct sk_buff *queue_give(struct Qdisc *sch)
{
	const struct queue_setup *setup;
	struct sk_buff *skb = NULL;
	__u64 now_ns, next_ns = 0;
	struct queue *q;

	if (!sch->q.qlen)
		return NULL;
	q = queue_get(sch);
	if (!q)
		return NULL;
	setup = q->has_setup ? setup_get(q) : NULL;
	now_ns = bpf_ktime_get_ns();
	if (q->free_ns > now_ns && setup && setup->bps) {
		q->armed_ns = 0; /* the timer has one time */
		queue_wake_at(sch, q->free_ns);
		return NULL;
	}
	skb = bpf_kptr_xchg(&q->direct, skb);
	if (skb)
		return queue_hand_out(q, sch, skb, now_ns);
	if (setup && q->seen.classes)
		skb = class_give(q, setup, sch, now_ns, &next_ns);
	else
		skb = flows_give(q, sch, now_ns, &next_ns);
	if (skb)
		return queue_hand_out(q, sch, skb, now_ns);
	if (next_ns)
		queue_wake_at(sch, next_ns);
	return NULL;
}

/* Drops all flows of a qdisc and their packets; the kernel sets its counters to 0. */
static __always_inline void queue_flush(struct Qdisc *sch)
{
	struct queue *q = queue_get(sch);
	struct sk_buff *skb = NULL;
	struct queue_flow *f;
	struct queue_voq *v;
	struct bpf_iter_num it;

	if (!q)
		return;
	q->armed_ns = q->resuming = q->free_ns = 0;
	q->seen.paused = 0;
	pauses_forget(q);
	skb = bpf_kptr_xchg(&q->direct, skb);
	if (skb)
		bpf_kfree_skb(skb);
	bpf_iter_num_new(&it, 0, QUEUE_FLOWS_MAX);
	while (bpf_iter_num_next(&it)) {
		f = fresh_pop(q);
		if (!f)
			f = ring_pop(q);
		if (!f)
			f = held_pop(q, ~0ULL);
		if (!f)
			f = paused_pop(q);
		if (f)
			object_drop(f);
		else if (!voq_flush_step(q) && !class_flush_step(q, sch))
			break;
	}
	bpf_iter_num_destroy(&it);
	bpf_iter_num_new(&it, 0, QUEUE_FLOWS_MAX);
	while (bpf_iter_num_next(&it)) {
		v = voqs_pop(q);
		if (!v)
			break;
		voq_forget(v);
	}
	bpf_iter_num_destroy(&it);
	bpf_iter_num_new(&it, 0, QUEUE_FLOWS_MAX);
	while (bpf_iter_num_next(&it)) {
		f = all_pop(q);
		if (!f)
			break;
		flow_forget(f);
	}
	bpf_iter_num_destroy(&it);
}

/* Makes the state of a qdisc, which starts empty. 0, or the error for `tc`. */
static __always_inline int queue_make(struct Qdisc *sch, const void *blank)
{
	__u64 key = (__u64)sch;
	struct queue *q;
	int err = bpf_map_update_elem(&queues, &key, blank, BPF_ANY);

	if (err)
		return err;
	q = queue_get(sch);
	if (q) {
		q->seen.netns_cookie = sch->dev_queue->dev->nd_net.net->net_cookie;
		q->seen.ifindex = sch->dev_queue->dev->ifindex;
		q->seen.parent = sch->parent;
		pauses_begin(q);
		err = classes_make(q, sch);
	}
	return err;
}

static __always_inline void queue_unmake(struct Qdisc *sch)
{
	__u64 key = (__u64)sch;
	struct queue *q = queue_get(sch);

	queue_flush(sch);
	if (q)
		classes_unmake(q, sch, pauses_end(q));
	bpf_map_delete_elem(&queues, &key);
}

#endif
