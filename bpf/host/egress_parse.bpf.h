/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_EGRESS_PARSE_BPF_H
#define SLUICE_EGRESS_PARSE_BPF_H
/*
 * Parses an outgoing packet: TCP, UDP or a tunnel without ports over IPv4 or IPv6, whole and without options; other
 * packets get a counter.
 */
#include "lib/base.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/*
 * The same for nearly every packet, in one pass: TCP or UDP after an IP header without options, unpadded, with all
 * headers in the linear part. 0: egress_parse() has to parse it; nothing was written.
 */
static inline int egress_parse_plain(struct __sk_buff *ctx, struct egress_pkt *p)
{
	const __u8 *mac = (const __u8 *)(long)ctx->data, *ip = mac + WIRE_ETH_BYTES, *l4;
	const struct ipv6hdr *v6 = (const struct ipv6hdr *)ip;
	const struct iphdr *v4 = (const struct iphdr *)ip;
	__u32 l4_bytes, l4_offset;
	__u8 proto;

	if (ip + sizeof(*v6) + sizeof(struct tcphdr) > (const __u8 *)(long)ctx->data_end)
		return 0;
	if (ctx->protocol == bpf_htons(ETH_P_IP)) {
		if (v4->version != 4 || v4->ihl != 5 || v4->frag_off & bpf_htons(IP_MF_OFFSET))
			return 0;
		l4_bytes = bpf_ntohs(v4->tot_len) - sizeof(*v4);
		l4_offset = WIRE_ETH_BYTES + sizeof(*v4);
		l4 = ip + sizeof(*v4);
		proto = v4->protocol;
	} else if (ctx->protocol == bpf_htons(ETH_P_IPV6)) {
		if (v6->version != 6)
			return 0;
		l4_bytes = bpf_ntohs(v6->payload_len);
		l4_offset = WIRE_ETH_BYTES + sizeof(*v6);
		l4 = ip + sizeof(*v6);
		proto = v6->nexthdr;
	} else {
		return 0;
	}
	if (l4_offset + l4_bytes != ctx->len || companion_is_long(l4_bytes))
		return 0;
	if (proto == IPPROTO_TCP) {
		const struct tcphdr *tcp = (const struct tcphdr *)l4;
		__u32 tcp_bytes = tcp->doff * 4;

		if (tcp_bytes > l4_bytes)
			return 0;
		p->hdr_bytes = l4_offset + tcp_bytes;
		p->payload_bytes = l4_bytes - tcp_bytes;
		p->seq = bpf_ntohl(tcp->seq);
		p->syn = tcp->syn;
		p->ack = tcp->ack;
		p->fin = tcp->fin;
		p->rst = tcp->rst;
	} else if (proto == IPPROTO_UDP) {
		const struct udphdr *udp = (const struct udphdr *)l4;

		if (*mac & MAC_GROUP || udp->dest == bpf_htons(wire_port) || l4_bytes < sizeof(*udp))
			return 0;
		p->hdr_bytes = l4_offset + sizeof(*udp);
		p->payload_bytes = l4_bytes - sizeof(*udp);
	} else {
		return 0;
	}
	if (l4_offset == WIRE_ETH_BYTES + sizeof(*v4)) {
		addr_from_v4(&p->key.local, v4->saddr);
		addr_from_v4(&p->key.remote, v4->daddr);
		p->tos = v4->tos;
		p->df = !!(v4->frag_off & bpf_htons(IP_DF));
	} else {
		__builtin_memcpy(&p->key.local, &v6->saddr, sizeof(p->key.local));
		__builtin_memcpy(&p->key.remote, &v6->daddr, sizeof(p->key.remote));
		p->tos = v6->priority << 4 | v6->flow_lbl[0] >> 4;
		p->df = 1;
		p->v6 = 1;
	}
	*(__u32 *)&p->key.local_port = *(const __u32 *)l4;
	p->key.proto = proto;
	p->l4_offset = l4_offset;
	return 1;
}

/* Multicast and broadcast: not every receiver can be probed. */
static inline int egress_is_to_group(struct __sk_buff *ctx)
{
	const __u8 *mac = pkt_bytes(ctx, 0, 1);

	return !mac || *mac & MAC_GROUP;
}

/* RFC 2675: a hop-by-hop header that holds only the length. */
struct ip_jumbo {
	__u8 next;
	__u8 words; /* after the first 8 bytes */
	__u8 option, option_bytes;
	__be32 length;
};

#define IP_JUMBO_OPTION 0xc2

/*
 * The protocol after the IPv6 header of a packet of more than 64 KB (BIG TCP), as Linux up to 6.x makes it: the kernel
 * removes the hop-by-hop header when it makes segments. 0: other extension headers.
 */
static inline __u8 egress_jumbo(struct __sk_buff *ctx, const struct ip_info *ip)
{
	const struct ip_jumbo *jumbo;

	if (!ip->v6 || ip->proto || ip->total > ip->bytes || ctx->len <= 0xffff)
		return 0;
	jumbo = pkt_bytes(ctx, WIRE_ETH_BYTES + sizeof(struct ipv6hdr), sizeof(*jumbo));
	if (!jumbo || jumbo->words || jumbo->option != IP_JUMBO_OPTION || jumbo->option_bytes != sizeof(jumbo->length))
		return 0;
	return jumbo->next == IPPROTO_TCP ? jumbo->next : 0;
}

/* Returns an enum sluice_stat. Global like msg_parse(): p is verified as any packet from there on. */
VERIFIED_ONCE int egress_parse(struct __sk_buff *ctx, struct egress_pkt *p)
{
	__u16 proto = bpf_ntohs(ctx->protocol);
	struct ip_info ip = {};

	if (!p)
		return STAT_TX_OTHER;
	switch (ip_parse(ctx, WIRE_ETH_BYTES, proto, &ip)) {
	case IP_OK:
		break;
	case IP_OPTIONS:
		ip.proto = egress_jumbo(ctx, &ip);
		if (!ip.proto)
			return STAT_TX_IP_OPTIONS;
		p->jumbo_bytes = sizeof(struct ip_jumbo);
		break;
	case IP_FRAGMENT:
		return STAT_TX_FRAGMENT;
	default:
		if (proto == ETH_P_8021Q || proto == ETH_P_8021AD)
			return STAT_TX_VLAN_INBAND;
		return STAT_TX_OTHER;
	}
	p->l4_offset = WIRE_ETH_BYTES + ip.bytes;
	if (companion_is_long(ip.total - ip.bytes)) {
		const struct wire_companion *c = pkt_bytes(ctx, p->l4_offset, sizeof(*c));

		if (c && companion_is_marked(c) && companion_is_of(c, ip.proto))
			return STAT_TX_OWN;
	}
	if (ip.proto == IPPROTO_TCP) {
		const struct tcphdr *tcp = pkt_bytes(ctx, p->l4_offset + p->jumbo_bytes, sizeof(*tcp));

		if (!tcp)
			return STAT_TX_OTHER;
		p->key.local_port = tcp->source;
		p->key.remote_port = tcp->dest;
		p->hdr_bytes = p->l4_offset + tcp->doff * 4;
		p->seq = bpf_ntohl(tcp->seq);
		p->syn = tcp->syn;
		p->ack = tcp->ack;
		p->fin = tcp->fin;
		p->rst = tcp->rst;
	} else if (egress_is_to_group(ctx)) {
		return STAT_TX_OTHER;
	} else if (ip.proto == IPPROTO_UDP) {
		const struct udphdr *udp;

		udp = pkt_bytes(ctx, p->l4_offset, sizeof(*udp));
		if (!udp)
			return STAT_TX_OTHER;
		if (udp->dest == bpf_htons(wire_port))
			return STAT_TX_OWN;
		p->key.local_port = udp->source;
		p->key.remote_port = udp->dest;
		p->hdr_bytes = p->l4_offset + sizeof(*udp);
	} else if (ip_is_tunnel(ip.proto)) {
		p->hdr_bytes = p->l4_offset;
	} else {
		return STAT_TX_OTHER;
	}
	/* The IP header cannot hold the length of a packet of more than 64 KB (BIG TCP) and has 0. */
	if (ip.total > ip.bytes && WIRE_ETH_BYTES + ip.total < ctx->len)
		p->pad_bytes = ctx->len - WIRE_ETH_BYTES - ip.total;
	if (p->hdr_bytes + p->jumbo_bytes > ctx->len - p->pad_bytes)
		return STAT_TX_OTHER;
	p->key.local = ip.src;
	p->key.remote = ip.dst;
	p->key.proto = ip.proto;
	p->payload_bytes = ctx->len - p->pad_bytes - p->jumbo_bytes - p->hdr_bytes;
	p->tos = ip.tos;
	p->df = ip.df;
	p->v6 = ip.v6;
	return STAT_TX_DATA;
}

#endif
