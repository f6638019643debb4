/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PAUSED_BPF_H
#define SLUICE_PAUSED_BPF_H
/*
 * Flows that a pause of the port holds (sluice/pause/qdisc.h). The note of a packet has its priority, and queue_pauses
 * when that may leave:
 *
 *   due, its priority is paused   -> paused, a list of all such flows
 *   a pause is over, or XON came  -> the flows of that priority go to the end of the ring, a few with each packet
 *
 * A flow that waits for credit is checked when its VOQ has some, and joins the VOQ again after the pause.
 */
#include "lib/queue_maps.bpf.h"
#include "queue/fifo.bpf.h"

#define QUEUE_RESUMES 64 /* most flows checked with one packet; the others follow with the next */

static __always_inline struct queue_pauses *pauses_get(const struct queue *q)
{
	struct queue_port key = { .netns_cookie = q->seen.netns_cookie, .ifindex = q->seen.ifindex };

	return bpf_map_lookup_elem(&queue_pauses, &key);
}

/* Of these priorities those without a pause. Apart: in line the verifier would go through the rest once for each priority. */
VERIFIED_ONCE __u32 pauses_over(__u64 netns_cookie, __u32 ifindex, __u32 prios, __u64 now_ns)
{
	struct queue_port key = { .netns_cookie = netns_cookie, .ifindex = ifindex };
	const struct queue_pauses *p = bpf_map_lookup_elem(&queue_pauses, &key);

	return p ? queue_pauses_over(p, prios, now_ns) : prios;
}

/* Whether packets of these priorities have to wait. */
static __always_inline int pauses_hold(const struct queue *q, __u32 prios, __u64 now_ns)
{
	return prios && !pauses_over(q->seen.netns_cookie, q->seen.ifindex, prios, now_ns);
}

/* A qdisc of the interface begins. */
static __always_inline void pauses_begin(const struct queue *q)
{
	struct queue_port key = { .netns_cookie = q->seen.netns_cookie, .ifindex = q->seen.ifindex };
	struct queue_pauses none = {}, *p;

	bpf_map_update_elem(&queue_pauses, &key, &none, BPF_NOEXIST);
	p = pauses_get(q);
	if (p)
		__sync_fetch_and_add(&p->qdiscs, 1);
}

/* Returns whether it was the last one of the interface. */
static __always_inline int pauses_end(const struct queue *q)
{
	struct queue_port key = { .netns_cookie = q->seen.netns_cookie, .ifindex = q->seen.ifindex };
	struct queue_pauses *p = pauses_get(q);

	if (p && __sync_fetch_and_add(&p->qdiscs, -1) > 1)
		return 0;
	bpf_map_delete_elem(&queue_pauses, &key);
	return 1;
}

/* The kernel empties the qdisc, because the link is down for example: pauses from the neighbour are void. */
static __always_inline void pauses_forget(const struct queue *q)
{
	struct queue_pauses *p = pauses_get(q);
	int i;

	for (i = 0; p && i < PFC_PRIORITIES; i++)
		WRITE_ONCE(p->until_ns[i], 0);
}

/* Takes over the caller's reference to the flow. */
static __always_inline void paused_push(struct queue *q, struct queue_flow *f)
{
	q->seen.paused_flows++;
	q->seen.paused |= f->first_prios;
	q->armed_ns = 0;
	list_push_back(&q->lock, &q->paused, &f->in_list);
}

static __always_inline struct queue_flow *paused_pop(struct queue *q)
{
	struct bpf_list_node *node = list_pop(&q->lock, &q->paused);

	if (!node)
		return NULL;
	q->seen.paused_flows--;
	return object_of(node, struct queue_flow, in_list);
}

/* The pause of the flow is over: its first packet is due now, and the others follow. */
static __always_inline void paused_resume(struct queue *q, struct queue_flow *f, __u64 now_ns)
{
	struct pace pace = f->pace; /* on the stack, as a VOQ's clock */

	f->first_ns = pace_resume(&pace, f->first_ns, now_ns);
	f->pace = pace;
	ring_push(q, f);
}

/* Moves flows whose pause is over to the ring. */
static __always_inline void paused_release(struct queue *q, __u64 now_ns)
{
	__u32 over = pauses_over(q->seen.netns_cookie, q->seen.ifindex, 0xff, now_ns);
	struct bpf_iter_num it;
	struct queue_flow *f;

	if (q->seen.paused & over) {
		q->resuming = q->seen.paused_flows;
		q->seen.paused = 0;
	}
	bpf_iter_num_new(&it, 0, QUEUE_RESUMES);
	while (bpf_iter_num_next(&it)) {
		f = q->resuming ? paused_pop(q) : NULL;
		if (!f) {
			q->resuming = 0;
			break;
		}
		q->resuming--;
		if (f->first_prios & ~(__u64)over)
			paused_push(q, f);
		else
			paused_resume(q, f, now_ns);
	}
	bpf_iter_num_destroy(&it);
}

/* When to look at the pauses again; 0: none holds a flow. */
static __always_inline __u64 paused_next_ns(const struct queue *q, __u64 now_ns)
{
	const struct queue_pauses *p;

	if (!q->seen.paused_flows)
		return 0;
	p = q->resuming ? NULL : pauses_get(q);
	return p ? queue_pauses_next_ns(p, q->seen.paused, now_ns) : now_ns;
}

#endif
