/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CLASS_BPF_H
#define SLUICE_CLASS_BPF_H
/*
 * A port with several queues (HPCC++): each class of packets reports its own queue, as if it were a port with the class's
 * guaranteed rate as its speed.
 *
 *  1. A packet's DSCP determines its class, here as in the filters that put it into its queue.
 *  2. Root qdiscs report all their classes together, and the state of one class is private to each kind of qdisc. So
 *     the tracepoints watch every packet that the root qdisc takes in and hands out, and list those that wait in each
 *     class, with arrival time and length.
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
#include "port/queue.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"

#define CLASS_LOOK_AHEAD 32 /* most packets dropped between two that left */
#define CLASS_BULK 64	    /* packets that a qdisc hands out at once */
#define CLASS_SOJOURN_MAX_NS NSEC_PER_SEC

/* A packet as the tracepoints see it. */
struct class_skb {
	__u32 bytes; /* bytes charged by the qdisc */
	__u32 id;    /* from the address of its bytes: until it is freed no other packet has it */
	__u8 tos;
	__u8 pad[7];
};

/* The type of service, from the first two bytes of an IP header. */
VERIFIED_ONCE int class_tos(__u32 first, __u32 second)
{
	return first >> 4 == 6 ? (first & 0xf) << 4 | second >> 4 : first >> 4 == 4 ? second : 0;
}

/*
 * A packet may be gone (a tbf that has cut it into segments frees it before the tracepoint), and an empty qdisc hands
 * out NULL: it is read by probe reads, which may fail.
 */
static inline void class_skb_read(struct sk_buff *skb, struct class_skb *out)
{
	__u32 offset = BPF_CORE_READ(skb, network_header);
	unsigned char *head = BPF_CORE_READ(skb, head);
	__u16 proto = bpf_ntohs(BPF_CORE_READ(skb, protocol));
	__u8 ip[2] = {};

	if (proto == ETH_P_8021Q || proto == ETH_P_8021AD)
		offset += 4;					  /* a VLAN tag inside the frame */
	bpf_core_read(&out->bytes, sizeof(out->bytes), &skb->cb); /* qdisc_skb_cb.pkt_len */
	bpf_probe_read_kernel(ip, sizeof(ip), head + offset);
	out->tos = class_tos(ip[0], ip[1]);
	out->id = (unsigned long)head >> 6;
}

/* The queue of a class, made by the daemon. */
static inline struct class_queue *class_queue_get(const struct port_classes *pc, __u32 ifindex, __u8 tos)
{
	struct class_key key = { .ifindex = ifindex, .class = pc->of_dscp[tos >> 2] };

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
	class_came(class_queue_get(pc, ifindex, s.tos), &s, pc->emptied_ns);
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
		class_left(class_queue_get(pc, ifindex, s.tos), &s);
		skb = BPF_CORE_READ(skb, next);
	}
	if (!q->qstats.backlog)
		pc->emptied_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * The sojourn time of the packet that left last. That reflects the queue at its arrival, so the age of the first
 * waiting packet is used if it is longer; 0 if no packet waits.
 */
static inline __u64 class_sojourn(struct class_queue *cq, __u64 emptied_ns)
{
	__u64 now_ns = bpf_ktime_get_ns(), waits_ns = 0, ns;

	if (!cq->backlog_bytes || class_is_stale(cq, emptied_ns))
		return 0;
	ns = class_packet_at(cq, cq->head)->ns;
	if (now_ns > ns)
		waits_ns = now_ns - ns;
	if (cq->sojourn_ns > waits_ns)
		waits_ns = cq->sojourn_ns;
	return waits_ns < CLASS_SOJOURN_MAX_NS ? waits_ns : CLASS_SOJOURN_MAX_NS;
}

/* The state of the queue for packets with this type of service. */
static inline int class_read(__u32 ifindex, __u8 tos, struct qdisc_state *s)
{
	struct port_classes *pc = bpf_map_lookup_elem(&classes, &ifindex);
	struct class_queue *cq;
	__u64 bytes;
	__u32 n;

	if (!pc)
		return -ENOTSUP;
	cq = class_queue_get(pc, ifindex, tos);
	n = pc->of_dscp[tos >> 2];
	if (!cq || n >= CLASSES_MAX)
		return -ENOTSUP;
	s->bps = pc->share[n].bps;
	s->speed = pc->share[n].speed;
	s->queue = n;
	s->tx_bytes = cq->tx_bytes;
	/* bytes/ms * ns < 2^27 * 2^30 */
	bytes = pc->share[n].bps / 8000 * class_sojourn(cq, pc->emptied_ns) / 1000000;
	s->backlog_bytes = bytes < 0xffffffff ? bytes : 0xffffffff;
	return 0;
}

#endif
