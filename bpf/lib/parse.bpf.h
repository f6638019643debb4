/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PARSE_BPF_H
#define SLUICE_PARSE_BPF_H
/*
 * From packet bytes to structs. Headers are read in place: on a machine with speculation mitigations a helper call
 * costs 20 ns, and a packet's headers would take five. Nothing is written in place: for a program that may do so the
 * kernel makes the header of every packet private, ours or not.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/wire.h"

#define IPPROTO_IPIP 4
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_IPV6 41
#define IPPROTO_GRE 47
#define IP_MF_OFFSET 0x3fff /* more fragments, or an offset */
#define IP_DF 0x4000
#define PKT_OFFSET_MAX 1400 /* all headers are before it; up to 1024 bytes of them are INT-MD */
#define TCP_WINDOW_OFFSET 14
#define TCP_CHECK_OFFSET 16
#define MAC_GROUP 1 /* in the first byte: broadcast and multicast */

enum ip_verdict {
	IP_OK,
	IP_OTHER,   /* not IP, or truncated */
	IP_OPTIONS, /* IPv4 options, IPv6 extension headers */
	IP_FRAGMENT,
};

/*
 * The address of len readable bytes of the packet; NULL if it is shorter. Bytes in page fragments are first pulled into
 * the linear part, which invalidates earlier addresses.
 */
static inline void *pkt_bytes(ctx_t *ctx, __u32 offset, __u32 len)
{
	void *at;

	VERIFIER_AT_MOST(offset, PKT_OFFSET_MAX, 0);
	at = (void *)(long)ctx->data + offset;
	VERIFIER_FORGET(at); /* one register for the check and for the access */
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

static inline void ip_from_v6(struct ip_info *ip, const struct ipv6hdr *h)
{
	__builtin_memcpy(&ip->src, &h->saddr, sizeof(ip->src));
	__builtin_memcpy(&ip->dst, &h->daddr, sizeof(ip->dst));
	ip->bytes = sizeof(*h);
	ip->total = sizeof(*h) + bpf_ntohs(h->payload_len);
	ip->proto = h->nexthdr;
	ip->tos = h->priority << 4 | h->flow_lbl[0] >> 4;
	ip->df = 1;
	ip->v6 = 1;
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
		ip_from_v6(ip, h);
		switch (h->nexthdr) {
		case 0:	 /* hop-by-hop */
		case 43: /* routing */
		case 51: /* authentication */
		case 60: /* destination options */
			return IP_OPTIONS;
		case 44:
			return IP_FRAGMENT;
		}
		return IP_OK;
	}
	return IP_OTHER;
}

/* Tunnels without ports: their packets are flows between addresses. */
static inline int ip_is_tunnel(__u8 proto)
{
	return proto == IPPROTO_IPIP || proto == IPPROTO_IPV6 || proto == IPPROTO_GRE;
}

enum msg_verdict {
	MSG_OK,
	MSG_NOT_OURS,
	MSG_TRUNCATED,
	MSG_BAD, /* see why */
};

/* Whether an IP packet with `bytes` after its header may be a companion. */
static inline int companion_is_long(__u32 bytes)
{
	return bytes == WIRE_COMPANION_BYTES || bytes == WIRE_COMPANION_BYTES + WIRE_AUTH_BYTES ||
	       bytes == WIRE_COMPANION_BYTES + WIRE_VOQ_BYTES ||
	       bytes == WIRE_COMPANION_BYTES + WIRE_VOQ_BYTES + WIRE_AUTH_BYTES;
}

static inline int companion_is_marked(const struct wire_companion *c)
{
	return c->marker == bpf_htonl(WIRE_COMPANION_MARKER) && !c->tcp_words &&
	       c->udp_length == bpf_htons(WIRE_COMPANION_LENGTH);
}

/* Whether a packet with the companion marker is one in this IP protocol. */
static inline int companion_is_of(const struct wire_companion *c, __u8 proto)
{
	return flow_has_ports(proto) || (ip_is_tunnel(proto) && c->port[0] == bpf_htons(WIRE_COMPANION_NO_PORT) &&
					 c->port[1] == bpf_htons(WIRE_COMPANION_NO_PORT));
}

/*
 * Whether the packet, whose IP header is at offset, may be one of ours: UDP to our port after an IP header of the usual
 * length, a companion, or not readable in place. Most packets are not ours, and nothing else is read of them.
 */
static inline int msg_may_be_ours(ctx_t *ctx, __u32 offset, __u16 proto)
{
	const __u32 v6 = proto == ETH_P_IPV6;
	const struct udphdr *udp;
	const __u8 *at;
	__u32 bytes;

	if (proto != ETH_P_IP && !v6)
		return 0;
	VERIFIER_AT_MOST(offset, PKT_OFFSET_MAX, 0);
	at = (const __u8 *)(long)ctx->data + offset;
	VERIFIER_FORGET(at);
	if (at + sizeof(struct ipv6hdr) + sizeof(*udp) > (const __u8 *)(long)ctx->data_end)
		return 1;
	if (v6) {
		bytes = bpf_ntohs(((const struct ipv6hdr *)at)->payload_len);
		udp = (const struct udphdr *)(at + sizeof(struct ipv6hdr));
		if (((const struct ipv6hdr *)at)->nexthdr == IPPROTO_UDP && udp->dest == bpf_htons(wire_port))
			return 1;
	} else {
		bytes = bpf_ntohs(((const struct iphdr *)at)->tot_len) - sizeof(struct iphdr);
		udp = (const struct udphdr *)(at + sizeof(struct iphdr));
		if (((const struct iphdr *)at)->protocol == IPPROTO_UDP && udp->dest == bpf_htons(wire_port))
			return 1;
	}
	if (!companion_is_long(bytes))
		return 0;
	return (const __u8 *)udp + sizeof(struct wire_companion) > (const __u8 *)(long)ctx->data_end ||
	       companion_is_marked((const struct wire_companion *)udp);
}

/* Reads shim and header at m->offset, up to end. Returns an enum msg_verdict. */
static inline enum msg_verdict msg_check(ctx_t *ctx, struct msg *m, __u32 end)
{
	const struct {
		struct wire_shim shim;
		struct wire_hdr hdr;
	} * w;

	w = pkt_bytes(ctx, m->offset, sizeof(*w));
	if (w && w->shim.type_npt == INTMD_SHIM_TYPE_NPT && w->shim.ip_proto == INTMD_NEXT_SLUICE && !m->companion) {
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
	return MSG_OK;
}

/* Parses a companion. A packet with the marker that is not a whole PROBE or reply belongs to its flow, not to us. */
static inline enum msg_verdict msg_parse_companion(ctx_t *ctx, __u32 l4, __u32 end, struct msg *m)
{
	const struct wire_companion *c = pkt_bytes(ctx, l4, sizeof(*c));

	if (!c || !companion_is_marked(c) || !companion_is_of(c, m->ip.proto) ||
	    !companion_is_long(m->ip.total - m->ip.bytes))
		return MSG_NOT_OURS;
	m->companion = 1;
	m->offset = l4 + sizeof(*c);
	if (msg_check(ctx, m, end) != MSG_OK || m->shim.ip_proto != WIRE_NO_NEXT_HEADER ||
	    (wire_message(&m->hdr) != WIRE_PROBE && wire_message(&m->hdr) != WIRE_PROBE_REPLY) ||
	    m->hdr.flags & WIRE_F_ECHO || m->offset + wire_length(&m->hdr) != end)
		return MSG_NOT_OURS;
	return MSG_OK;
}

/* Recognises and validates a Sluice message that passed msg_may_be_ours(). */
static inline enum msg_verdict msg_parse_at(ctx_t *ctx, __u32 offset, __u16 proto, struct msg *m)
{
	const struct udphdr *udp;
	enum msg_verdict verdict;
	__u16 checksum;
	__u32 end;

	if (ip_parse(ctx, offset, proto, &m->ip) != IP_OK)
		return MSG_NOT_OURS;
	m->intmd = 0;
	m->companion = 0;
	end = offset + m->ip.total;
	offset += m->ip.bytes;
	udp = pkt_bytes(ctx, offset, sizeof(*udp));
	if (!udp || m->ip.proto != IPPROTO_UDP || udp->dest != bpf_htons(wire_port))
		return msg_parse_companion(ctx, offset, end, m);
	checksum = udp->check;
	m->offset = offset + sizeof(*udp);
	verdict = msg_check(ctx, m, end);
	/* The UDP checksum would be wrong after a hop's in-place write: our senders leave it 0. */
	if (verdict == MSG_OK && checksum) {
		m->why = WIRE_NOT_HPCC;
		return MSG_BAD;
	}
	return verdict;
}

/*
 * The same for a packet without a VLAN tag. Returns an enum msg_verdict. Global, and m is not on the stack: the code
 * after it is verified once, not for each path through here.
 */
VERIFIED_ONCE int msg_parse(ctx_t *ctx, struct msg *m)
{
	return m ? msg_parse_at(ctx, WIRE_ETH_BYTES, ctx_protocol(ctx), m) : MSG_NOT_OURS;
}

#endif
