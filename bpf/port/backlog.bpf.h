/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BACKLOG_BPF_H
#define SLUICE_BACKLOG_BPF_H
/*
 * The state of the root qdisc of a port that stamps, for kernels before 6.2, whose tc programs cannot read it: after
 * every enqueue and dequeue the tracepoints copy backlog and bytes into the ports map. Only the daemon's ports have an
 * entry, so any other device costs one look-up. Interface numbers repeat across network namespaces and the tracepoints
 * see all of them, so the port names its namespace.
 *
 * The tracepoints fire for the root qdisc only (a child is not enqueued to by the core), and under
 * its lock, so the copy is exact until the next packet.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"

static inline void backlog_copy(struct Qdisc *q)
{
	struct net_device *dev = q->dev_queue->dev;
	__u32 ifindex = dev->ifindex;
	struct port *port = bpf_map_lookup_elem(&ports, &ifindex);

	if (!port || !(port->flags & (PORT_F_SWITCH | PORT_F_STAMP | PORT_F_POD)) ||
	    port->netns_cookie != dev->nd_net.net->net_cookie)
		return;
	port->backlog_bytes = q->qstats.backlog;
	port->tx_bytes = q->bstats.bytes.v.a.a.counter;
	port->sampled_ns = bpf_ktime_get_ns();
}

#endif
