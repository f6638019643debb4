/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PORT_BPF_H
#define SLUICE_PORT_BPF_H
/* A port's report on its queue: of a class (class.bpf.h), the root qdisc (queue.bpf.h), or its copy (backlog.bpf.h). */
#include "lib/base.bpf.h"
#include "port/class.bpf.h"
#include "port/queue.bpf.h"
#include "sluice/abi/abi.h"

/*
 * The state of the port's queue for a packet with this type of service. kernel_state: from the qdisc itself, else from
 * the ports map.
 */
static inline int port_read(struct __sk_buff *ctx, const struct port *port, __u8 tos, int kernel_state,
			    struct qdisc_state *s)
{
	if (port->flags & PORT_F_CLASSES)
		return port->flags & PORT_F_NO_QUEUE ? -ENOTSUP : class_read(ctx->ifindex, tos, s);
	s->bps = port->speed_bps;
	s->speed = port->speed;
	if (kernel_state)
		return qdisc_read(ctx, s);
	if (port->flags & PORT_F_NO_QUEUE)
		return -ENOTSUP;
	s->backlog_bytes = port->backlog_bytes;
	s->tx_bytes = port->tx_bytes;
	return 0;
}

/*
 * The same of a switch port, as it is stamped. Packets waiting for credit are no queue of this port: as with a node's uplink
 * (egress_stamp()).
 */
static inline int port_read_switch(struct __sk_buff *ctx, const struct port *port, __u8 tos, int kernel_state,
				   struct qdisc_state *s)
{
	if (port_read(ctx, port, tos, kernel_state, s))
		return -ENOTSUP;
	if (port->flags & PORT_F_VOQ_UP && port->flags & PORT_F_EDT)
		s->backlog_bytes = 0;
	return 0;
}

#endif
