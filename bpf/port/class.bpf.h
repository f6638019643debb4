/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CLASS_BPF_H
#define SLUICE_CLASS_BPF_H
/*
 * A port with several queues (HPCC++): each class of packets reports its own queue, as if it were a port with the class's
 * guaranteed rate as its speed.
 *
 *  1. A packet's DSCP determines its class, here as in the filters that put it into its queue.
 *  2. The qdisc `sluice` counts its classes itself (queue/class.bpf.h). Other root qdiscs report all their classes
 *     together, and the state of one class is private to each kind of qdisc. So the tracepoints watch every packet that
 *     the root qdisc takes in and hands out, and list those that wait in each class, with arrival time and length.
 *  3. `hop` stamps the class of its packet: B is the share, txBytes the bytes that left the class. qLen is the sojourn
 *     time times B, so that HPCC's qLen / (B * T) becomes sojourn / T.
 *
 * A qdisc may drop packets that it has taken (codel does), and may cut a GSO packet into its segments (tbf does). So a
 * packet that leaves is looked up by the address of its bytes: those in front of it were dropped. One that is not found
 * is a piece of the first. And whenever the root qdisc is empty, so are its classes, whatever was missed.
 *
 * The tracepoints fire for the root qdisc only and under its lock: one writer. `hop` reads without it, field by field:
 * the fields may be one packet apart.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/skb.bpf.h"
#include "port/queue.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"

#define CLASS_LOOK_AHEAD 32 /* most packets dropped between two that left */
#define CLASS_BULK 64	    /* packets that a qdisc hands out at once */
#define CLASS_SOJOURN_MAX_NS NSEC_PER_SEC

/* The queue of a class, as the tracepoints see it; made by the daemon. */
static inline struct class_queue *class_queue_get(const struct port_classes *pc, __u32 ifindex, __u32 class)
{
	struct class_key key = { .ifindex = ifindex, .class = class };

	return bpf_map_lookup_elem(&class_queues, &key);
}

/* The classes of the port that owns a root qdisc; NULL: it has none, or belongs to another namespace. */
static inline struct port_classes *class_port(struct Qdisc *q, __u32 *ifindex)
{
	struct net_device *dev = q->dev_queue->dev;
	struct port_classes *pc;

	*ifindex = dev->ifindex;
	pc = bpf_map_lookup_elem(&classes, ifindex);
	return pc && pc->netns_cookie == dev->nd_net.net->net_cookie ? pc : 0;
}

static inline struct class_packet *class_packet_at(struct class_queue *cq, __u32 n)
{
	return &cq->packet[n & (CLASS_PACKETS - 1)];
}

/* Everything enqueued before emptied_ns is gone. */
static inline int class_is_stale(struct class_queue *cq, __u64 emptied_ns)
{
	return cq->came_ns <= emptied_ns;
}

VERIFIED_ONCE int class_came(struct class_queue *cq, const struct class_skb *skb, __u64 emptied_ns)
{
	struct class_packet *p;

	if (!cq || !skb)
		return 0;
	if (class_is_stale(cq, emptied_ns)) {
		cq->head = cq->tail;
		cq->backlog_bytes = 0;
	}
	cq->came_ns = bpf_ktime_get_ns();
	cq->backlog_bytes += skb->bytes;
	if (cq->tail - cq->head >= CLASS_PACKETS) { /* no room: merged into the last entry */
		p = class_packet_at(cq, cq->tail - 1);
		p->bytes += skb->bytes;
		p->id = 0;
		return 0;
	}
	p = class_packet_at(cq, cq->tail);
	p->ns = cq->came_ns;
	p->bytes = skb->bytes;
	p->id = skb->id;
	cq->tail++;
	return 0;
}

/* Takes n packets off the list. */
VERIFIED_ONCE int class_forget(struct class_queue *cq, __u32 n)
{
	__u32 i;

	if (!cq)
		return 0;
	for (i = 0; i < CLASS_LOOK_AHEAD && i < n; i++) {
		__u32 bytes = class_packet_at(cq, cq->head)->bytes;

		cq->backlog_bytes -= bytes < cq->backlog_bytes ? bytes : cq->backlog_bytes;
		cq->head++;
	}
	return 0;
}

VERIFIED_ONCE int class_left(struct class_queue *cq, const struct class_skb *skb)
{
	struct class_packet *first;
	__u32 waiting, i, bytes;

	if (!cq || !skb)
		return 0;
	waiting = cq->tail - cq->head;
	for (i = 0; i < CLASS_LOOK_AHEAD && i < waiting; i++) {
		struct class_packet *p = class_packet_at(cq, cq->head + i);

		if (p->id != skb->id)
			continue;
		cq->sojourn_ns = bpf_ktime_get_ns() - p->ns;
		class_forget(cq, i + 1);
		goto left;
	}
	if (cq->left_id == skb->id)
		return 0; /* the driver refused it, and it will leave once more */
	if (waiting) {
		first = class_packet_at(cq, cq->head);
		cq->sojourn_ns = bpf_ktime_get_ns() - first->ns;
		bytes = skb->bytes < first->bytes ? skb->bytes : first->bytes;
		first->bytes -= bytes;
		cq->backlog_bytes -= bytes < cq->backlog_bytes ? bytes : cq->backlog_bytes;
		if (!first->bytes)
			cq->head++;
	}
left:
	cq->left_id = skb->id;
	cq->tx_bytes += skb->bytes;
	return 0;
}

static inline int class_enqueued(struct Qdisc *q, struct sk_buff *skb)
{
	struct class_skb s = {};
	struct port_classes *pc;
	__u32 ifindex;

	pc = class_port(q, &ifindex);
	if (!pc)
		return 0;
	class_skb_read(skb, &s);
	class_came(class_queue_get(pc, ifindex, pc->of_dscp[s.tos >> 2]), &s, pc->emptied_ns);
	return 0;
}

static inline int class_dequeued(struct Qdisc *q, int packets, struct sk_buff *skb)
{
	struct port_classes *pc;
	__u32 ifindex;
	int i;

	if (!skb) /* every other time: the qdisc is asked until it has no more packets */
		return 0;
	pc = class_port(q, &ifindex);
	if (!pc)
		return 0;
	for (i = 0; i < CLASS_BULK && i < packets && skb; i++) {
		struct class_skb s = {};

		class_skb_read(skb, &s);
		if (!s.bytes) /* NULL, when the verifier finds the check above redundant */
			break;
		class_left(class_queue_get(pc, ifindex, pc->of_dscp[s.tos >> 2]), &s);
		skb = BPF_CORE_READ(skb, next);
	}
	if (!q->qstats.backlog)
		pc->emptied_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * The sojourn time of the packet that left last. That reflects the queue at its arrival, so the age of the first
 * waiting packet is used if it is longer. first_ns 0: that has just left, on another CPU.
 */
static inline __u64 class_sojourn(__u64 sojourn_ns, __u64 first_ns)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (first_ns && now_ns > first_ns && now_ns - first_ns > sojourn_ns)
		sojourn_ns = now_ns - first_ns;
	return sojourn_ns < CLASS_SOJOURN_MAX_NS ? sojourn_ns : CLASS_SOJOURN_MAX_NS;
}

/* Sets the bytes that have left the class, and the sojourn time in it, 0 if no packet waits. 0, or -ENOTSUP. */
static inline int class_state(const struct port_classes *pc, __u32 ifindex, __u32 class, __u64 *tx_bytes,
			      __u64 *sojourn_ns)
{
	struct queue_class_key key = {
		.port = { .netns_cookie = pc->netns_cookie, .ifindex = ifindex },
		.class = class,
	};
	struct class_seen *seen = bpf_map_lookup_elem(&queue_classes, &key);
	struct class_queue *cq;
	__u32 head;

	if (seen) { /* the qdisc `sluice` has the classes */
		*tx_bytes = seen->tx_bytes;
		*sojourn_ns = seen->backlog_bytes ? class_sojourn(seen->sojourn_ns, seen->first_ns) : 0;
		return 0;
	}
	cq = class_queue_get(pc, ifindex, class);
	if (!cq)
		return -ENOTSUP;
	*tx_bytes = cq->tx_bytes;
	head = cq->head;
	*sojourn_ns = cq->backlog_bytes && !class_is_stale(cq, pc->emptied_ns) ?
			      class_sojourn(cq->sojourn_ns, head == cq->tail ? 0 : class_packet_at(cq, head)->ns) :
			      0;
	return 0;
}

/* The state of the queue for packets with this type of service. */
static inline int class_read(__u32 ifindex, __u8 tos, struct qdisc_state *s)
{
	struct port_classes *pc = bpf_map_lookup_elem(&classes, &ifindex);
	__u64 bytes, sojourn_ns;
	__u32 n;

	if (!pc)
		return -ENOTSUP;
	n = pc->of_dscp[tos >> 2];
	if (n >= CLASSES_MAX || class_state(pc, ifindex, n, &s->tx_bytes, &sojourn_ns))
		return -ENOTSUP;
	s->bps = pc->share[n].bps;
	s->speed = pc->share[n].speed;
	s->queue = n;
	/* bytes/ms * ns < 2^27 * 2^30 */
	bytes = pc->share[n].bps / 8000 * sojourn_ns / 1000000;
	s->backlog_bytes = bytes < 0xffffffff ? bytes : 0xffffffff;
	return 0;
}

#endif
