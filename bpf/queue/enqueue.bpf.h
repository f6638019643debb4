/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ENQUEUE_BPF_H
#define SLUICE_ENQUEUE_BPF_H
/*
 * Enqueue. A packet goes behind those of its flow; a new flow goes behind other new ones, whenever its packet may
 * leave: the next dequeue checks that. With classes it goes behind those of its class.
 */
#include "queue/class.bpf.h"
#include "queue/fifo.bpf.h"
#include "queue/voq.bpf.h"
#include "sluice/queue/note.h"

/* The packet at hand. */
struct queue_arrival {
	struct queue_key key;
	struct queue_slot *slot; /* of key, if there is one */
	__u64 now_ns, wanted_ns;
	__u32 bytes;
	__u32 packets; /* in the qdisc */
	__u32 kbps;    /* R behind wanted_ns; 0: something else is */
	__u32 prios;   /* bit n: pauses of priority n hold it */
	__u64 patience_ns;
	struct queue_voq_key voq; /* voq.voq 0: none */
	__u64 credit_ns;	  /* when it has credit there */
	__u32 young;		  /* it goes before the others there */
};

/* Takes the flow out of its slot: NULL if there is none. The caller owns it until flow_put_back(). */
static __always_inline struct queue_flow *flow_take(struct queue_arrival *a)
{
	a->slot = bpf_map_lookup_elem(&queue_flows, &a->key);
	return a->slot ? bpf_kptr_xchg(&a->slot->flow, NULL) : NULL;
}

static __always_inline void flow_put_back(struct queue_arrival *a, struct queue_flow *f)
{
	if (a->slot)
		f = bpf_kptr_xchg(&a->slot->flow, f);
	if (f) /* for the verifier: the slot is there, and empty */
		object_drop(f);
}

/* Makes a flow with an empty slot. NULL, and the reason, if that is not possible. */
static __always_inline struct queue_flow *queue_flow_begin(struct queue *q, struct queue_arrival *a, __u32 quantum,
							   enum queue_verdict *verdict)
{
	const struct queue_key *key = &a->key;
	struct queue_slot empty = {};
	struct queue_flow *f;

	all_step(q, a->now_ns);
	all_step(q, a->now_ns);
	*verdict = QUEUE_FLOWS_FULL;
	if (bpf_map_update_elem(&queue_flows, key, &empty, BPF_ANY)) {
		all_reclaim(q);
		if (bpf_map_update_elem(&queue_flows, key, &empty, BPF_ANY))
			return NULL;
	}
	f = object_new(struct queue_flow);
	if (!f) {
		*verdict = QUEUE_MEMORY;
		bpf_map_delete_elem(&queue_flows, key);
		return NULL;
	}
	f->key = *key;
	f->credit = queue_credit_first(quantum);
	f->packets = f->waits = f->gone = 0;
	f->first_ns = f->pace.left_ns = f->pace.tail_ns = f->pace.late_ns = f->pace.paused_ns = f->pace.kbps = 0;
	all_push(q, object_share(f));
	a->slot = bpf_map_lookup_elem(&queue_flows, key);
	return f;
}

/* Whether the first packet of the flow is not due. */
static __always_inline int flow_is_held(const struct queue_flow *f, __u64 now_ns)
{
	return f->packets && f->first_ns > now_ns;
}

/* The flow of the packet's FIFO, or NULL; a->key becomes that FIFO's. */
static __always_inline struct queue_flow *arrival_flow(struct queue_arrival *a)
{
	struct queue_flow *f = flow_take(a);

	if (!f || queue_lane(a->now_ns, a->wanted_ns, a->bytes, flow_is_held(f, a->now_ns)) == QUEUE_DATA)
		return f;
	flow_put_back(a, f);
	a->key.fifo |= (__u64)QUEUE_SHORT << 32;
	return flow_take(a);
}

/* Puts a packet into its flow, or drops it; the flow is found as before. */
static __always_inline enum queue_verdict arrival_push(struct queue *q, struct queue_arrival *a, struct queue_flow *f,
						       __u32 quantum, struct sk_buff *skb,
						       struct bpf_sk_buff_ptr *to_free)
{
	struct queue_packet *p = object_new(struct queue_packet);
	struct pace pace;
	struct pace_gap gap;

	if (!p) {
		bpf_qdisc_skb_drop(skb, to_free);
		flow_put_back(a, f);
		return QUEUE_MEMORY;
	}
	skb = bpf_kptr_xchg(&p->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	if (a->voq.voq && !voq_enter(q, &a->voq, a->credit_ns, a->bytes, quantum)) {
		a->voq.voq = 0;
		a->wanted_ns = a->credit_ns > a->wanted_ns ? a->credit_ns : a->wanted_ns;
		a->kbps = 0;
	}
	if (!f->waits) {
		f->waits = 1;
		f->credit = queue_credit_back(f->credit, quantum, a->now_ns, f->pace.left_ns);
		fresh_push(q, object_share(f));
	}
	pace = f->pace; /* on the stack, as a VOQ's clock */
	pace_enter(&pace, &gap, a->now_ns, a->wanted_ns, a->kbps, a->voq.voq ? 0 : a->patience_ns);
	f->pace = pace;
	p->voq = a->voq.voq;
	p->credit_ns = a->credit_ns;
	p->young = a->young;
	p->prios = a->prios;
	p->bytes = a->bytes;
	flow_push(f, p, &gap);
	flow_put_back(a, f);
	return QUEUE_TAKEN;
}

/* Whether the packet could leave without a flow: nothing holds it, and no other leaves so before it. */
static __always_inline int arrival_may_pass(const struct queue *q, const struct queue_arrival *a)
{
	return a->wanted_ns <= a->now_ns && !a->voq.voq && !q->direct && !pauses_hold(q, a->prios, a->now_ns);
}

/*
 * Whether the packet is the next one to leave in any case: it is due and not paused, the port is free, no flow has a turn
 * or is due for one, and none of its own flow waits. Then it needs no flow.
 */
static __always_inline int arrival_is_next(const struct queue *q, struct queue_arrival *a)
{
	int held = q->seen.held_flows || q->seen.waiting_voqs || q->seen.paused_flows, waits;
	struct queue_flow *f;

	if (!arrival_may_pass(q, a) || q->seen.fresh_flows || q->seen.ring_flows || q->free_ns > a->now_ns ||
	    (held && q->armed_ns <= a->now_ns))
		return 0;
	f = a->packets ? flow_take(a) : NULL;
	if (!f)
		return 1;
	waits = f->packets != 0;
	flow_put_back(a, f);
	return !waits;
}

static __always_inline enum queue_verdict arrival_direct(struct queue *q, struct sk_buff *skb,
							 struct bpf_sk_buff_ptr *to_free)
{
	skb = bpf_kptr_xchg(&q->direct, skb);
	if (skb) /* unreachable: there was none */
		bpf_qdisc_skb_drop(skb, to_free);
	return QUEUE_TAKEN;
}

/*
 * Whether a packet for whose flow there is no room may leave without one. Idle flows of another qdisc may fill the map
 * until that one gets new flows; flows that wait here have their turns all the same.
 */
static __always_inline int arrival_passes_full(struct queue *q, const struct queue_arrival *a, __u32 quantum)
{
	if (!arrival_may_pass(q, a) || !queue_fresh_is_next(1, q->seen.ring_flows != 0, q->seen.fresh_bytes, quantum))
		return 0;
	q->seen.fresh_bytes += a->bytes;
	return 1;
}

/* Decides the fate of a packet, and carries it out. */
static __always_inline enum queue_verdict arrival_take(struct queue *q, struct queue_arrival *a,
						       const struct queue_limits *l, struct sk_buff *skb,
						       struct bpf_sk_buff_ptr *to_free)
{
	struct queue_flow *f = arrival_flow(a);
	enum queue_verdict verdict = queue_admit(l, a->now_ns, a->wanted_ns, a->packets, f ? f->packets : 0);

	if (verdict != QUEUE_TAKEN) {
		bpf_qdisc_skb_drop(skb, to_free);
		if (f)
			flow_put_back(a, f);
		return verdict;
	}
	if (!f)
		f = queue_flow_begin(q, a, l->quantum, &verdict);
	if (f)
		return arrival_push(q, a, f, l->quantum, skb, to_free);
	if (verdict == QUEUE_FLOWS_FULL && arrival_passes_full(q, a, l->quantum))
		return arrival_direct(q, skb, to_free);
	bpf_qdisc_skb_drop(skb, to_free);
	return verdict;
}

/* Reads what egress has noted for the packet, if it has. */
static __always_inline void arrival_note(struct queue_arrival *a, const struct sk_buff *skb)
{
	const struct queue_note *n = (const void *)((const struct qdisc_skb_cb *)skb->cb)->data;

	if (!queue_note_is_valid(n))
		return;
	a->kbps = n->kbps;
	a->prios = queue_note_priorities(n->mark);
	a->patience_ns = queue_note_patience_ns(n->mark);
	a->voq.queue = a->key.queue;
	a->voq.voq = (__u64)n->voq_high << 32 | n->voq_low;
	a->credit_ns = queue_note_credit_ns(n->credit, a->now_ns);
	a->young = n->mark & QUEUE_NOTE_YOUNG;
}

/* Puts the packet into a flow, or in front of all. */
static __always_inline enum queue_verdict arrival_into_flow(struct queue *q, struct queue_arrival *a,
							    const struct queue_limits *l, struct sk_buff *skb,
							    struct bpf_sk_buff_ptr *to_free)
{
	if (a->packets)
		a->key.fifo = bpf_skb_get_hash(skb);
	if (a->packets < l->packets && arrival_is_next(q, a))
		return arrival_direct(q, skb, to_free);
	a->key.fifo = bpf_skb_get_hash(skb);
	return arrival_take(q, a, l, skb, to_free);
}

static __always_inline int queue_take(struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	const struct queue_limits *l = queue_limits_get();
	struct queue *q = queue_get(sch);
	const struct queue_setup *setup = q && q->has_setup ? setup_get(q) : NULL;
	enum queue_verdict verdict;
	struct queue_arrival a = { .key = { .queue = (__u64)sch } };

	if (!q || !l || (q->seen.classes && !setup)) { /* unreachable: init has made it */
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	a.now_ns = bpf_ktime_get_ns();
	a.wanted_ns = queue_wanted_ns(a.now_ns, skb->tstamp);
	a.bytes = queue_bytes(skb);
	a.packets = sch->q.qlen;
	arrival_note(&a, skb);
	if (setup && q->seen.classes) {
		verdict = class_take(q, setup, l, skb, a.now_ns, a.bytes, a.prios, sch, to_free);
	} else if (setup && setup->limit_bytes && sch->qstats.backlog + a.bytes > setup->limit_bytes) {
		bpf_qdisc_skb_drop(skb, to_free);
		verdict = QUEUE_FULL;
	} else {
		verdict = arrival_into_flow(q, &a, l, skb, to_free);
	}
	if (verdict < QUEUE_VERDICTS)
		q->seen.packets[verdict]++;
	if (verdict != QUEUE_TAKEN) {
		sch->qstats.drops++;
		return NET_XMIT_DROP;
	}
	q->seen.beside += a.key.fifo >> 32;
	sch->q.qlen++;
	sch->qstats.backlog += a.bytes;
	return NET_XMIT_SUCCESS;
}

#endif
