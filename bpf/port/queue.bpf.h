/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_BPF_H
#define SLUICE_QUEUE_BPF_H
/*
 * The state of a qdisc, read from the kernel's own structures if programs may do so (Linux 6.2 and later:
 * bpf_cast_to_kern_ctx). Before that `backlog` keeps a copy in the ports map.
 */
#include "lib/base.bpf.h"
#include "sluice/abi/port.h"
#include "sluice/wire/telemetry.h"

/* 1: tc programs may read qdiscs (Linux 6.2). If it is 0 the verifier skips that code. */
const volatile __u8 qdisc_kfuncs = 0;

/* A hop's report on the queue of a packet. */
struct qdisc_state {
	__u64 bps;
	struct telem_speed speed; /* the same, as a hop reports it */
	__u64 tx_bytes;
	__u32 backlog_bytes;
	__u32 queue; /* number of the class; 0 without classes */
};

#define TCQ_F_NOLOCK 0x100 /* per-CPU statistics: not readable as one number */
#define TCQ_F_CPUSTATS 0x20
#define TCQ_F_MQROOT 0x8 /* mq, mqprio: the queues have qdiscs of their own */

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

static inline int qdisc_add(struct Qdisc *q, struct qdisc_state *s)
{
	if (!q || !q->enqueue /* noqueue */ || q->flags & (TCQ_F_NOLOCK | TCQ_F_CPUSTATS))
		return -ENOTSUP;
	s->backlog_bytes += q->qstats.backlog;
	s->tx_bytes += q->bstats.bytes.v.a.a.counter;
	return 0;
}

/*
 * The root qdisc of the packet's device; below mq the sum over the queues in use. A device may have more, one for each
 * possible CPU: those have the kernel's pfifo_fast, whatever the others have, and carry no packets.
 */
static inline int qdisc_read(struct __sk_buff *ctx, struct qdisc_state *s)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct net_device *dev = skb->dev;
	struct Qdisc *root;
	__u64 txq;
	__u32 i;

	if (!dev)
		return -ENOTSUP;
	root = dev->qdisc;
	if (!root || !(root->flags & TCQ_F_MQROOT))
		return qdisc_add(root, s);
	txq = (__u64)dev->_tx;
	if (dev->real_num_tx_queues > PORT_QUEUES_MAX) /* a part of them would not be the queue length */
		return -ENOTSUP;
	for (i = 0; i < PORT_QUEUES_MAX && i < dev->real_num_tx_queues; i++) {
		struct netdev_queue *nq = bpf_rdonly_cast((void *)(txq + i * bpf_core_type_size(struct netdev_queue)),
							  bpf_core_type_id_kernel(struct netdev_queue));

		if (qdisc_add(nq->qdisc, s))
			return -ENOTSUP;
	}
	return 0;
}

#endif
