/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_FIFO_BPF_H
#define SLUICE_QUEUE_FIFO_BPF_H
/* The packets of a flow: a FIFO, with the departure of the first one (sluice/queue/pace.h). */
#include "queue/flow.bpf.h"

/* Bytes as the qdisc charges them: those on the wire, headers of all segments counted. */
static inline __u32 queue_bytes(const struct sk_buff *skb)
{
	return ((const struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

/* Puts a packet at the end; its VOQ, priorities and bytes are set. The caller has to own the flow. */
static __always_inline void flow_push(struct queue_flow *f, struct queue_packet *p, const struct pace_gap *gap)
{
	p->gap = *gap;
	if (!f->packets) {
		f->first_ns = gap->departure_ns > f->pace.left_ns ? gap->departure_ns : f->pace.left_ns;
		if (f->pace.late_ns > f->first_ns - gap->departure_ns)
			f->pace.late_ns = f->first_ns - gap->departure_ns;
		f->first_voq = p->voq;
		f->first_credit_ns = p->credit_ns;
		f->first_young = p->young;
		f->first_prios = p->prios;
		f->first_bytes = p->bytes;
		f->first_until_ns = gap->until_ns;
	}
	f->packets++;
	list_push_back(&f->lock, &f->fifo, &p->in_flow);
}

/* On copies, and apart: in line the verifier would go through the rest once for each way of theirs. */
VERIFIED_ONCE __u64 flow_front(struct pace *pace, const struct pace_gap *gap)
{
	return pace && gap ? pace_front(pace, gap) : 0;
}

/* Takes the first packet out, or NULL, and decides when the next one leaves. stale: it is dropped, and takes no time. */
static __always_inline struct sk_buff *flow_pop(struct queue_flow *f, int stale)
{
	__u64 voq = 0, credit_ns = 0, young = 0, prios = 0, bytes = 0;
	struct bpf_list_node *node, *next;
	struct sk_buff *skb = NULL;
	struct pace_gap gap = {};
	struct queue_packet *p;
	struct pace pace;

	bpf_spin_lock(&f->lock);
	node = bpf_list_pop_front(&f->fifo);
	next = bpf_list_front(&f->fifo);
	if (next) {
		p = object_of(next, struct queue_packet, in_flow);
		gap = p->gap;
		voq = p->voq;
		credit_ns = p->credit_ns;
		young = p->young;
		prios = p->prios;
		bytes = p->bytes;
	}
	bpf_spin_unlock(&f->lock);
	if (!node)
		return NULL;
	p = object_of(node, struct queue_packet, in_flow);
	skb = bpf_kptr_xchg(&p->skb, skb);
	object_drop(p);
	f->packets--;
	if (!stale)
		f->pace.left_ns = f->first_ns;
	if (next) {
		pace = f->pace; /* on the stack, as a VOQ's clock */
		f->first_ns = flow_front(&pace, &gap);
		f->pace.late_ns = pace.late_ns;
	}
	f->first_voq = voq;
	f->first_credit_ns = credit_ns;
	f->first_young = young;
	f->first_prios = prios;
	f->first_bytes = bytes;
	f->first_until_ns = gap.until_ns;
	return skb;
}

/* Whether the first packet of the flow would leave too late for it. */
static inline int flow_is_stale(const struct queue_flow *f)
{
	return pace_is_stale(&f->pace, f->first_until_ns, f->first_ns, f->packets > 1);
}

#endif
