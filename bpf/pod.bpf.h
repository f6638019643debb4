/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_POD_BPF_H
#define SLUICE_POD_BPF_H
/*
 * The last hop before a pod: the node's end of its veth, where that has a queue.
 *
 *  1. The telemetry of a packet is taken out at the uplink, before the packet reaches the veth: what
 *     routes it between the two (conntrack, Services, policies) has to see the real packet.
 *  2. `pod_hop`, tc egress of the veth, keeps the state of the queue in the ports map, and teaches the
 *     flow by which veth its packets reach the pod.
 *  3. With the next packet of the flow `ingress` adds that veth as one more hop to what it echoes, so
 *     the echo has one writer. Nothing was queued since the sample but what is in it, so the queue has
 *     been drained at the port's speed, and the state at the time of the packet is known. (A tbf with
 *     tokens left drains faster, one that is woken late slower: then the next sample shows it, and what left
 *     may be less than was said, see hpcc_sent().)
 *
 * The race: CPUs that send to one pod at the same time write their samples over one another, and a
 * reader may find the bytes of one with the time of another. They are less than a microsecond apart.
 */
/* What a hop writes: its stamp, and nHop and pathID with it. */
struct pod_stamp {
	__u64 hop;
	__u16 nhop_path;
	__u8 pad[6];
};

/*
 * The hop to the pod of a flow whose telemetry has room for so many and holds what nhop_path says.
 * Returns whether there is one.
 */
CORE_GLOBAL int pod_stamp(struct flow *f, struct pod_stamp *out, __u32 nhop_path, __u32 room)
{
	__u64 now_ns = bpf_ktime_get_ns(), age_ns = 0, left, backlog;
	const struct port *port;
	__u32 ifindex;

	if (!f || !out)
		return 0;
	ifindex = f->pod_ifindex;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port || !(port->flags & PORT_F_POD)) {
		f->pod_ifindex = 0; /* the veth is gone, or has no queue any more */
		return 0;
	}
	if (nhop_path >> 12 >= room) {
		stats_count(STAT_RX_POD_FULL);
		return 0;
	}
	if (now_ns > port->sampled_ns)
		age_ns = now_ns - port->sampled_ns;
	if (age_ns > NSEC_PER_SEC)
		age_ns = NSEC_PER_SEC;
	backlog = port->backlog_bytes;
	left = port->speed_bps / 8000 * age_ns / 1000000; /* bytes/ms * ns < 2^27 * 2^30 */
	if (left > backlog)
		left = backlog;
	out->hop = telem_pack(port->speed, now_ns, port->tx_bytes + left, backlog - left);
	out->nhop_path = (nhop_path & 0xf000) + (1 << 12) +
			 ((nhop_path ^ port->switch_id) & WIRE_PATH_MASK);
	stats_count(STAT_RX_POD_HOP);
	return 1;
}

#ifndef SLUICE_XDP
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
	if (qdisc_kfuncs) { /* else backlog does it */
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
	f = bpf_map_lookup_elem(&flows, &key);
	if (f && f->pod_ifindex != ifindex)
		f->pod_ifindex = ifindex;
	return STAT_POD_SAMPLED;
}

SEC("tc")
int pod_hop(struct __sk_buff *ctx)
{
	stats_count(pod_packet(ctx));
	return TC_ACT_UNSPEC;
}
#endif

#endif
