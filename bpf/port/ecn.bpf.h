/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ECN_BPF_H
#define SLUICE_ECN_BPF_H
/*
 * ECN marks at a switch port, for packets that are not Sluice's: INT governs ours. Step marking (RFC 8257, section 3.1):
 * an ECN capable packet gets CE if the queue in front of it, as the port would stamp it, is longer than K.
 *
 * bpf_skb_ecn_set_ce() is not used: it takes the network header for that of IP, and with a VLAN tag inside the frame that
 * is the tag.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "port/port.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/types.h"
#include "sluice/verifier.h"

/* Writes CE into the IP header at offset, which begins with `first`. Returns 0 or an error. */
static inline int ecn_write(struct __sk_buff *ctx, __u32 offset, __u16 first, int v6)
{
	__u16 marked = first | bpf_htons(v6 ? ECN_CE << 4 : ECN_CE);

	if (!v6 && bpf_l3_csum_replace(ctx, offset + __builtin_offsetof(struct iphdr, check), first, marked, 2))
		return -EINVAL;
	return bpf_skb_store_bytes(ctx, offset, &marked, sizeof(marked), 0);
}

/* Marks a packet whose IP header is at offset. proto: its Ethernet type. */
VERIFIED_ONCE int ecn_mark(struct __sk_buff *ctx, __u32 offset, __u32 proto, int kernel_state)
{
	__u32 ifindex = ctx->ifindex, v6 = proto == ETH_P_IPV6;
	struct qdisc_state s = {};
	const struct port *port;
	const __be16 *ip;
	__u16 first;
	__u8 tos;

	if (proto != ETH_P_IP && !v6)
		return 0;
	ip = pkt_bytes(ctx, offset, sizeof(struct iphdr));
	if (!ip)
		return 0;
	first = *ip;
	tos = v6 ? bpf_ntohs(first) >> 4 : bpf_ntohs(first);
	if (!(tos & ECN_MASK) || (tos & ECN_MASK) == ECN_CE)
		return 0;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port || !port->ecn_bytes || port_read_switch(ctx, port, tos, kernel_state && qdisc_kfuncs, &s))
		return 0;
	if (s.backlog_bytes <= port->ecn_bytes)
		return 0;
	if (ecn_write(ctx, offset, first, v6))
		return 0;
	stats_count(STAT_HOP_MARKED);
	return 1;
}

#endif
