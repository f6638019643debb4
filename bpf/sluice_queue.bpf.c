// SPDX-License-Identifier: GPL-2.0-only
/*
 * The qdisc `sluice` (Linux 6.16 and newer), as a separate object: it needs a clang that keeps type tags of pointers in
 * objects (16 or newer), and kernels without qdiscs in BPF do not know its types.
 *
 *   host    egress gives each packet its departure time -> sluice: queues by flow, until then -> NIC
 *
 * sluice/queue/queue.h has its decisions, and queue/flow.bpf.h its data structures.
 */
#include "lib/base.bpf.h"
#include "queue/dequeue.bpf.h"
#include "queue/enqueue.bpf.h"

/* The initial state of a qdisc. */
const char queue_blank[sizeof(struct queue)] = {};

SEC("struct_ops/queue_enqueue")
int BPF_PROG(queue_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	return queue_take(skb, sch, to_free);
}

SEC("struct_ops/queue_dequeue")
struct sk_buff *BPF_PROG(queue_dequeue, struct Qdisc *sch)
{
	return queue_give(sch);
}

SEC("struct_ops/queue_init")
int BPF_PROG(queue_init, struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack)
{
	return queue_make(sch, queue_blank);
}

SEC("struct_ops/queue_reset")
void BPF_PROG(queue_reset, struct Qdisc *sch)
{
	queue_flush(sch);
}

SEC("struct_ops/queue_destroy")
void BPF_PROG(queue_destroy, struct Qdisc *sch)
{
	queue_unmake(sch);
}

SEC(".struct_ops")
struct Qdisc_ops queue_ops = {
	.enqueue = (void *)queue_enqueue,
	.dequeue = (void *)queue_dequeue,
	.init = (void *)queue_init,
	.reset = (void *)queue_reset,
	.destroy = (void *)queue_destroy,
	.id = "sluice",
};

char LICENSE[] SEC("license") = "GPL";
