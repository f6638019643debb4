/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ENCAP_BPF_H
#define SLUICE_ENCAP_BPF_H
/*
 * The outer headers of an outgoing packet: IP, UDP, shim, the blocks after them, and the stamp of a node's uplink, the
 * first hop.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/port.bpf.h"
#include "port/queue.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

#define ENCAP_FLAGS(v6)                                           \
	(BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L4_UDP | \
	 ((v6) ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV4))

static inline __u16 csum_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Source port of the tunnel: ECMP keeps a flow on one path, and spreads flows (RFC 7510, 3.1). */
static inline __be16 egress_entropy(const struct flow_key *key)
{
	const __u32 *w = (const __u32 *)key;
	__u32 h = 0;
	int i;

	for (i = 0; i < 8; i++) /* both addresses */
		h = (h ^ w[i]) * 0x9e3779b1;
	h = (h ^ *(const __u32 *)&key->local_port) * 0x9e3779b1;
	h = (h ^ key->proto) * 0x9e3779b1;
	return bpf_htons(0xc000 | h >> 18);
}

static inline __u32 egress_outer_bytes(const struct egress_pkt *p)
{
	return (p->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) + sizeof(struct udphdr);
}

/* Outer IP, UDP and shim. ip_bytes: final size of the IP packet. wire_bytes: from the shim to the inner packet. */
VERIFIED_ONCE int egress_outer(struct egress_head *head, struct egress_pkt *p, __u32 ip_bytes, __u32 wire_bytes)
{
	if (!p || !head)
		return -EINVAL;
	if (p->v6) {
		struct ipv6hdr *h = &head->ip.v6;

		*(__u32 *)h = bpf_htonl(6u << 28 | (__u32)p->tos << 20);
		h->payload_len = bpf_htons(ip_bytes - sizeof(*h));
		h->nexthdr = p->companion ? p->key.proto : IPPROTO_UDP;
		h->hop_limit = 64;
		__builtin_memcpy(&h->saddr, &p->key.local, sizeof(h->saddr));
		__builtin_memcpy(&h->daddr, &p->key.remote, sizeof(h->daddr));
		head->udp.len = h->payload_len;
	} else {
		struct iphdr *h = &head->ip.v4;
		const __u16 *w = (const __u16 *)h;
		__u32 sum = 0;
		int i;

		*(__u16 *)h = bpf_htons(0x4500 | p->tos);
		h->tot_len = bpf_htons(ip_bytes);
		h->id = 0;
		h->frag_off = p->df ? bpf_htons(IP_DF) : 0;
		h->ttl = 64;
		h->protocol = p->companion ? p->key.proto : IPPROTO_UDP;
		h->check = 0;
		h->saddr = *(__be32 *)&p->key.local.b[12];
		h->daddr = *(__be32 *)&p->key.remote.b[12];
		for (i = 0; i < 10; i++)
			sum += w[i];
		h->check = csum_fold(sum);
		head->udp.len = bpf_htons(ip_bytes - sizeof(*h));
	}
	head->udp.source = egress_entropy(&p->key);
	head->udp.dest = bpf_htons(wire_port);
	head->udp.check = 0;
	head->shim.type_npt = WIRE_SHIM_TYPE_NPT;
	head->shim.length_words = (wire_bytes - sizeof(head->shim)) / 4;
	head->shim.reserved = 0;
	head->shim.ip_proto = p->companion ? WIRE_NO_NEXT_HEADER : p->v6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
	return 0;
}

/* Reads the state of a node's uplink; see egress_stamp(). */
static inline int egress_uplink_read(struct __sk_buff *ctx, const struct port *port, struct qdisc_state *s)
{
	if (port_read(ctx, port, 0, qdisc_kfuncs, s)) {
		stats_count(STAT_TX_NO_QUEUE);
		return -ENOTSUP;
	}
	s->tx_bytes += port->unseen_bytes;
	if (port->flags & PORT_F_EDT)
		s->backlog_bytes = 0;
	return 0;
}

/*
 * The hop of a node's uplink, which many pods share: held to eta of its speed they leave its qdisc empty. qLen: packets
 * that wait in fq for their departure time cannot be told from a queue, so with fq leaves it is 0 and U follows from
 * the rate alone, which is 1 when the uplink is full.
 *
 * bytes: the packet's bytes on the wire. The qdisc charges it as it was before this program, without our headers, and a
 * PROBE as the whole packet that it was cloned from: the difference is added.
 */
VERIFIED_ONCE int egress_stamp(struct __sk_buff *ctx, struct egress_head *head, __u32 bytes, int has_telem)
{
	__u32 ifindex = ctx->ifindex;
	struct qdisc_state s = {};
	struct wire_telem *telem;
	struct port *port;

	if (!head)
		return -EINVAL;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port)
		return 0;
	__sync_fetch_and_add(&port->unseen_bytes, (__u64)bytes - ctx->wire_len);
	if (!has_telem)
		return 0;
	if (egress_uplink_read(ctx, port, &s))
		return 0;
	telem = (struct wire_telem *)head->blocks;
	telem->nhop_path = bpf_htons(1 << 12 | (port->switch_id & WIRE_PATH_MASK));
	*(__be64 *)telem->hop[0] =
		bpf_cpu_to_be64(telem_pack(s.speed, bpf_ktime_get_ns(), s.tx_bytes, s.backlog_bytes));
	return 0;
}

/* Stores the first bytes of head after the Ethernet header, where there is room for them. */
static inline int egress_head_store(struct __sk_buff *ctx, const struct egress_pkt *p, const struct egress_head *head,
				    __u32 bytes)
{
	VERIFIER_AT_LEAST(bytes, WIRE_HDR_BYTES, -EINVAL);
	VERIFIER_FORGET(bytes);
	if (p->v6)
		return bytes > sizeof(*head) ? -EINVAL : /* unreachable; the verifier needs the check */
					       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v6, bytes, 0);
	return bytes > sizeof(*head) - sizeof(head->ip.unused) ?
		       -EINVAL :
		       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v4, bytes, 0);
}

#endif
