/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HOP_BPF_H
#define SLUICE_HOP_BPF_H
/*
 * tc egress of a switch port: one hop writes {B, ts, txBytes, qLen} into the room that the source
 * left (HPCC, section 4.1 and Figure 7), adds 1 to nHop and XORs its id into pathID.
 *
 * clsact runs before the qdisc, so this is the state of the port at enqueue: qLen counts the bytes in front of the
 * packet, txBytes those that have left the qdisc, ts is now. The paper stamps at dequeue; the difference of two
 * snapshots means the same, and is older by the queueing delay.
 *
 * On a port with several queues it is that of the packet's class (class.bpf.h). Otherwise it comes from the root qdisc
 * itself if programs may read kernel structures (`hop`, Linux 6.2 and later: bpf_cast_to_kern_ctx), or from the ports
 * map, which `backlog` keeps (`hop_map`). Both count as the qdisc does: the frame without its checksum.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/ecn.bpf.h"
#include "port/port.bpf.h"
#include "port/queue.bpf.h"
#include "pause/arrive.bpf.h"
#include "pause/pfc.bpf.h"
#include "pause/tell.bpf.h"
#include "rack/tor.bpf.h"
#include "host/encoding.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* As msg_parse(), after any VLAN tags. */
VERIFIED_ONCE int hop_parse(struct __sk_buff *ctx, __u32 offset, __u32 proto, struct msg *m)
{
	return m ? msg_parse_at(ctx, offset, proto, m) : MSG_NOT_OURS;
}

/* Parses and stamps. */
static inline enum sluice_stat hop_packet(struct __sk_buff *ctx, int kernel_state)
{
	const struct control *ctl = control_get();
	__u32 ifindex = ctx->ifindex, offset = WIRE_ETH_BYTES;
	__u16 proto = bpf_ntohs(ctx->protocol);
	struct scratch_space *space = scratch_get();
	struct qdisc_state s = {};
	const struct port *port;
	const struct msg *m;

	if (!ctl || !space || ctl->bypass)
		return STAT_HOP_OTHER;
	if (proto == ETH_P_8021Q || proto == ETH_P_8021AD) {
		const __be16 *inner = pkt_bytes(ctx, offset + 2, sizeof(*inner));

		if (!inner)
			return STAT_HOP_OTHER;
		proto = bpf_ntohs(*inner);
		offset += 4;
	}
	m = &space->msg;
	switch (msg_may_be_ours(ctx, offset, proto) ? hop_parse(ctx, offset, proto, &space->msg) : MSG_NOT_OURS) {
	case MSG_NOT_OURS:
		if (has_racks() && ctl->tor)
			tor_plain(ctx, offset, proto);
		ecn_mark(ctx, offset, proto, kernel_state);
		return STAT_HOP_OTHER;
	case MSG_OK:
		break;
	default:
		return STAT_HOP_BAD;
	}
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port)
		return STAT_HOP_OTHER;
	if (has_racks() && tor_is_due(m)) {
		if (port->flags & PORT_F_VOQ_UP)
			tor_up(ctx, m);
		if (port->flags & PORT_F_VOQ_DOWN && tor_down(ctx, m))
			return STAT_HOP_CREDIT;
	}
	if (port_read_switch(ctx, port, m->ip.tos, kernel_state, &s))
		return STAT_HOP_NO_QUEUE;
	return encoding_hop(ctx, m, port, &s);
}

static __always_inline int hop_handle(struct __sk_buff *ctx, int kernel_state)
{
	queue_note_none(ctx);
	if (has_pauses() && ctx->ingress_ifindex == ctx->ifindex) {
		int action = pfc_note_take(ctx);

		if (action != TC_ACT_OK)
			return action;
	}
	stats_count(hop_packet(ctx, kernel_state));
	if (has_pauses())
		pfc_arrive(ctx);
	return TC_ACT_UNSPEC;
}

#endif
