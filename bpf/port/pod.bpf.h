/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_POD_BPF_H
#define SLUICE_POD_BPF_H
/*
 * The last hop before a pod: the node's end of its veth, if that has a queue.
 *
 *  1. Telemetry is stripped at the uplink, before the packet reaches the veth: the routing between the two (conntrack,
 *     Services, policies) has to see the real packet.
 *  2. `pod_hop`, tc egress of the veth, keeps the state of the queue in the ports map, and notes in the flow which veth
 *     leads to the pod.
 *  3. With the next packet of the flow `ingress` adds that veth as one more hop to the echo, so the echo has one
 *     writer. Nothing was queued since the sample, so the queue has drained at the port's speed, and its state at the
 *     time of the packet is known. (A shaper with tokens left drains faster, one that is woken late slower: then the next
 *     sample shows it, and fewer bytes may have left than were reported, see hpcc_sent().)
 *
 * The race: CPUs that send to one pod at the same time write their samples over one another, and a
 * reader may find the bytes of one with the time of another. They are less than a microsecond apart.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/queue.bpf.h"
#include "host/egress_parse.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"

static inline enum sluice_stat pod_packet(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	__u32 ifindex = ctx->ifindex;
	struct qdisc_state s = {};
	struct egress_pkt p = {};
	struct flow_key key = {};
	struct port *port;
	struct flow *f;

	if (!ctl || ctl->bypass)
		return STAT_POD_OTHER;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port)
		return STAT_POD_OTHER;
	if (qdisc_kfuncs) { /* otherwise backlog does it */
		if (qdisc_read(ctx, &s))
			return STAT_POD_OTHER;
		port->backlog_bytes = s.backlog_bytes + ctx->wire_len;
		port->tx_bytes = s.tx_bytes;
		port->sampled_ns = bpf_ktime_get_ns();
	}
	if (egress_parse(ctx, &p) != STAT_TX_DATA)
		return STAT_POD_SAMPLED;
	key.local = p.key.remote;
	key.remote = p.key.local;
	key.local_port = p.key.remote_port;
	key.remote_port = p.key.local_port;
	key.proto = p.key.proto;
	key.domain = domain_of(ctl, ctx->ingress_ifindex); /* the uplink's, by which the flow leaves */
	f = bpf_map_lookup_elem(&flows, &key);
	if (f && f->path.pod_ifindex != ifindex)
		f->path.pod_ifindex = ifindex;
	return STAT_POD_SAMPLED;
}

static inline int pod_handle(struct __sk_buff *ctx)
{
	stats_count(pod_packet(ctx));
	return TC_ACT_UNSPEC;
}
#endif
