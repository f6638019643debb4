/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_POD_STAMP_BPF_H
#define SLUICE_POD_STAMP_BPF_H
/* Step 3 of pod.bpf.h: the hop to a pod, for the sink to add to the telemetry of a packet. */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

/* The fields that a hop writes: its stamp, nHop and pathID. */
struct pod_stamp {
	__u64 hop;
	__u16 nhop_path;
	__u8 pad[6];
};

/*
 * The hop to the pod of a flow whose telemetry has room for room hops and holds nhop_path. Returns whether there is
 * one.
 */
VERIFIED_ONCE int pod_stamp(struct flow *f, struct pod_stamp *out, __u32 nhop_path, __u32 room)
{
	__u64 now_ns = bpf_ktime_get_ns(), age_ns = 0, left, backlog;
	const struct port *port;
	__u32 ifindex;

	if (!f || !out)
		return 0;
	ifindex = f->path.pod_ifindex;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port || !(port->flags & PORT_F_POD)) {
		f->path.pod_ifindex = 0; /* the veth is gone, or has no queue any more */
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
	out->nhop_path = (nhop_path & 0xf000) + (1 << 12) + ((nhop_path ^ port->switch_id) & WIRE_PATH_MASK);
	stats_count(STAT_RX_POD_HOP);
	return 1;
}

#endif
