/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PARSE_BPF_H
#define SLUICE_PARSE_BPF_H
/*
 * From packet bytes to structs. Headers are read in place: on a machine whose calls are guarded
 * against speculation a helper costs 20 ns, and the headers of a packet are five of them. Nothing is
 * written in place, because a program that may do so has the header of every packet that it sees
 * made private, ours or not.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/wire.h"

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88a8
#define IPPROTO_IPIP 4
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_IPV6 41
#define IP_MF_OFFSET 0x3fff /* more fragments, or an offset */
#define IP_DF 0x4000
#define PKT_OFFSET_MAX 1400 /* all headers lie before it; 1024 of them may be INT-MD */
#define TCP_WINDOW_OFFSET 14
#define TCP_CHECK_OFFSET 16
#define MAC_GROUP 1 /* of the first byte: broadcast and multicast */

enum ip_verdict {
	IP_OK,
	IP_OTHER,   /* not IP, or cut short */
	IP_OPTIONS, /* IPv4 options, IPv6 extension headers */
	IP_FRAGMENT,
};

/*
 * len bytes of the packet, readable at the address that is returned; NULL where it is shorter. What
 * lies in page fragments comes into the linear part first, which ends the life of earlier addresses.
 */
static inline void *pkt_bytes(ctx_t *ctx, __u32 offset, __u32 len)
{
	void *at;

	VERIFIER_AT_MOST(offset, PKT_OFFSET_MAX, 0);
	at = (void *)(long)ctx->data + offset;
	VERIFIER_FORGET(at); /* one register for the check and for what is read */
	if (at + len <= (void *)(long)ctx->data_end)
		return at;
	if (offset + len > ctx_bytes(ctx) || ctx_pull(ctx, offset + len))
		return 0;
	at = (void *)(long)ctx->data + offset;
	VERIFIER_FORGET(at);
	return at + len <= (void *)(long)ctx->data_end ? at : 0;
}

static inline void addr_from_v4(struct sluice_addr *a, __be32 v4)
{
	__u32 *w = (__u32 *)a;

	w[0] = 0;
	w[1] = 0;
	w[2] = bpf_htonl(0xffff);
	w[3] = v4;
}

static inline int addr_equal(const struct sluice_addr *a, const struct sluice_addr *b)
{
	const __u32 *x = (const __u32 *)a, *y = (const __u32 *)b;

	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]));
}

/* The IP header at offset; proto is the Ethernet type, ETH_P_IP or ETH_P_IPV6. */
static inline enum ip_verdict ip_parse(ctx_t *ctx, __u32 offset, __u16 proto, struct ip_info *ip)
{
	if (proto == ETH_P_IP) {
		const struct iphdr *h = pkt_bytes(ctx, offset, sizeof(*h));

		if (!h || h->version != 4)
			return IP_OTHER;
		if (h->ihl != 5)
			return IP_OPTIONS;
		if (h->frag_off & bpf_htons(IP_MF_OFFSET))
			return IP_FRAGMENT;
		addr_from_v4(&ip->src, h->saddr);
		addr_from_v4(&ip->dst, h->daddr);
		ip->bytes = sizeof(*h);
		ip->total = bpf_ntohs(h->tot_len);
		ip->proto = h->protocol;
		ip->tos = h->tos;
		ip->df = !!(h->frag_off & bpf_htons(IP_DF));
		ip->v6 = 0;
		return IP_OK;
	}
	if (proto == ETH_P_IPV6) {
		const struct ipv6hdr *h = pkt_bytes(ctx, offset, sizeof(*h));

		if (!h || h->version != 6)
			return IP_OTHER;
		switch (h->nexthdr) {
		case 0:	 /* hop-by-hop */
		case 43: /* routing */
		case 51: /* authentication */
		case 60: /* destination options */
			return IP_OPTIONS;
		case 44:
			return IP_FRAGMENT;
		}
		__builtin_memcpy(&ip->src, &h->saddr, sizeof(ip->src));
		__builtin_memcpy(&ip->dst, &h->daddr, sizeof(ip->dst));
		ip->bytes = sizeof(*h);
		ip->total = sizeof(*h) + bpf_ntohs(h->payload_len);
		ip->proto = h->nexthdr;
		ip->tos = h->priority << 4 | h->flow_lbl[0] >> 4;
		ip->df = 1;
		ip->v6 = 1;
		return IP_OK;
	}
	return IP_OTHER;
}

enum msg_verdict {
	MSG_OK,
	MSG_NOT_OURS,
	MSG_TRUNCATED,
	MSG_BAD, /* see why */
};

/*
 * Whether the packet, whose IP header is at offset, may be one of ours: UDP to our port behind an IP header of the usual
 * length, or not to be read in place. Most packets are not, and nothing else is read of them.
 */
static inline int msg_may_be_ours(ctx_t *ctx, __u32 offset, __u16 proto)
{
	const __u32 v6 = proto == ETH_P_IPV6;
	const __u8 *at;

	if (proto != ETH_P_IP && !v6)
		return 0;
	VERIFIER_AT_MOST(offset, PKT_OFFSET_MAX, 0);
	at = (const __u8 *)(long)ctx->data + offset;
	VERIFIER_FORGET(at);
	if (at + sizeof(struct ipv6hdr) + sizeof(struct udphdr) > (const __u8 *)(long)ctx->data_end)
		return 1;
	if (v6)
		return ((const struct ipv6hdr *)at)->nexthdr == IPPROTO_UDP &&
		       ((const struct udphdr *)(at + sizeof(struct ipv6hdr)))->dest == bpf_htons(wire_port);
	return ((const struct iphdr *)at)->protocol == IPPROTO_UDP &&
	       ((const struct udphdr *)(at + sizeof(struct iphdr)))->dest == bpf_htons(wire_port);
}

/* Is the packet, whose IP header is at offset, one of ours, and is its header sound? */
static inline enum msg_verdict msg_parse_at(ctx_t *ctx, __u32 offset, __u16 proto, struct msg *m)
{
	const struct {
		struct wire_shim shim;
		struct wire_hdr hdr;
	} * w;
	const struct udphdr *udp;
	__u16 checksum;
	__u32 end;

	if (!msg_may_be_ours(ctx, offset, proto) || ip_parse(ctx, offset, proto, &m->ip) != IP_OK ||
	    m->ip.proto != IPPROTO_UDP)
		return MSG_NOT_OURS;
	m->intmd = 0;
	end = offset + m->ip.total;
	offset += m->ip.bytes;
	udp = pkt_bytes(ctx, offset, sizeof(*udp));
	if (!udp || udp->dest != bpf_htons(wire_port))
		return MSG_NOT_OURS;
	checksum = udp->check;
	m->offset = offset + sizeof(*udp);
	w = pkt_bytes(ctx, m->offset, sizeof(*w));
	if (w && w->shim.type_npt == INTMD_SHIM_TYPE_NPT && w->shim.ip_proto == INTMD_NEXT_SLUICE) {
		m->intmd = sizeof(w->shim) + 4 * w->shim.length_words;
		if (m->intmd < INTMD_SOURCE_BYTES) {
			m->why = WIRE_BAD_LENGTH;
			return MSG_BAD;
		}
		m->offset += m->intmd;
		w = pkt_bytes(ctx, m->offset, sizeof(*w));
	}
	if (!w)
		return MSG_TRUNCATED;
	m->shim = w->shim;
	m->hdr = w->hdr;
	m->why = wire_check(&m->shim, &m->hdr);
	if (m->why)
		return MSG_BAD;
	if (m->offset + wire_length(&m->hdr) > end || end > ctx_bytes(ctx))
		return MSG_TRUNCATED;
	/* The UDP checksum would be wrong after a hop's in-place write: our senders leave it 0. */
	if (checksum) {
		m->why = WIRE_NOT_HPCC;
		return MSG_BAD;
	}
	return MSG_OK;
}

/*
 * The same of a packet without a tag. Returns an enum msg_verdict. Global, and m not on the stack: what follows is
 * verified once, not for each way that there is through here.
 */
VERIFIED_ONCE int msg_parse(ctx_t *ctx, struct msg *m)
{
	return m ? msg_parse_at(ctx, WIRE_ETH_BYTES, ctx_protocol(ctx), m) : MSG_NOT_OURS;
}

#endif
