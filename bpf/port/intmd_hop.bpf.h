/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_INTMD_HOP_BPF_H
#define SLUICE_INTMD_HOP_BPF_H
/* Source and hop of the `int-md` encoding: steps 1 and 2 of intmd.bpf.h. */
#include "lib/base.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/intmd.bpf.h"
#include "port/queue.bpf.h"
#include "sluice/abi/stats.h"
#include "sluice/types.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/wire.h"

/* Shim and header of a source. */
static inline void intmd_begin(struct intmd_space *s, __u32 hops)
{
	s->shim.type_npt = INTMD_SHIM_TYPE_NPT;
	s->shim.length_words = INTMD_HDR_BYTES / 4;
	s->shim.reserved = 0;
	s->shim.ip_proto = INTMD_NEXT_SLUICE;
	intmd_source(s->hdr, hops, 0);
	s->bytes = 0;
}

/* Fills s->values for the port; for intmd_stamp(). */
static inline void intmd_values(struct intmd_space *s, const struct port *port, const struct qdisc_state *state)
{
	struct intmd_values *v = &s->values;

	v->ts_ns = bpf_ktime_get_ns();
	v->tx_bytes = state->tx_bytes;
	v->bps = state->bps;
	v->node_id = port->switch_id;
	v->qlen_bytes = state->backlog_bytes;
	v->queue_id = state->queue;
	v->serves = INTMD_INSTRUCTIONS;
	v->serves_ds = INTMD_DS_INSTRUCTIONS;
}

/* One hop: puts its s->bytes words into s->stack; an enum intmd_verdict. */
VERIFIED_ONCE int intmd_stamp(struct intmd_space *s)
{
	int verdict;

	if (!s)
		return INTMD_BAD_LENGTH;
	verdict = intmd_transit(s->hdr, s->shim.length_words, s->room_bytes, &s->values, s->stack, &s->bytes);
	if (verdict == INTMD_OK)
		s->shim.length_words += s->bytes / 4;
	return verdict;
}

/*
 * How much the packet, or each segment of a GSO packet, may grow on this port. 0 if several datagrams were merged into
 * one (UDP GRO): only the first of them would get the hop.
 */
static inline __u32 intmd_room(struct __sk_buff *ctx, const struct msg *m, const struct port *port)
{
	__u32 inner = m->offset + wire_length(&m->hdr), bytes = m->ip.total, before, total;
	const __u8 *in;

	before = inner - (m->offset - m->intmd - WIRE_UDP_BYTES - m->ip.bytes);
	if (ctx->gso_size && m->ip.v6) {
		in = pkt_bytes(ctx, inner, sizeof(struct ipv6hdr) + sizeof(struct tcphdr));
		if (!in)
			return 0;
		total = sizeof(struct ipv6hdr) + intmd_get16(in + 4);
		bytes = before + sizeof(struct ipv6hdr) + (in[sizeof(struct ipv6hdr) + 12] >> 4) * 4 + ctx->gso_size;
	} else if (ctx->gso_size) {
		in = pkt_bytes(ctx, inner, sizeof(struct iphdr) + sizeof(struct tcphdr));
		if (!in)
			return 0;
		total = intmd_get16(in + 2);
		bytes = before + sizeof(struct iphdr) + (in[sizeof(struct iphdr) + 12] >> 4) * 4 + ctx->gso_size;
	}
	if (ctx->gso_size && before + total != m->ip.total)
		return 0;
	if (m->ip.total + INTMD_HOP_BYTES_MAX > 0xffff || bytes > port->mtu)
		return 0;
	return port->mtu - bytes;
}

/* A hop that found no room, of either kind, sets a flag and passes the packet as it is. */
static inline int intmd_flag(struct __sk_buff *ctx, const struct msg *m, __u8 flags)
{
	return bpf_skb_store_bytes(ctx, m->offset - m->intmd + sizeof(struct wire_shim), &flags, 1, 0);
}

/*
 * Lengthens the packet between its Ethernet and its outer IP header. The kernel refuses that with a VLAN tag in the
 * frame; so the tag is moved to the skb, which the device takes it from.
 */
VERIFIED_APART int intmd_lengthen(struct __sk_buff *ctx, __u32 bytes)
{
	__u16 proto = ctx->protocol;
	const __be16 *tag;
	__u16 tci;
	int err;

	if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
		return bpf_skb_adjust_room(ctx, bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	tag = pkt_bytes(ctx, WIRE_ETH_BYTES, sizeof(*tag));
	if (!tag || ctx->vlan_present) /* one is there already */
		return -EINVAL;
	tci = bpf_ntohs(*tag);
	if (bpf_skb_vlan_pop(ctx))
		return -EINVAL;
	err = bpf_skb_adjust_room(ctx, bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	return bpf_skb_vlan_push(ctx, proto, tci) ? -EINVAL : err;
}

/* Stamps a message that has INT-MD. */
static inline enum sluice_stat intmd_hop(struct __sk_buff *ctx, const struct msg *m, const struct port *port,
					 const struct qdisc_state *state)
{
	__u32 bytes;
	struct scratch_space *space = scratch_get();
	struct intmd_space *s;
	__u8 flags;

	if (!space || wire_message(&m->hdr) == WIRE_PROBE_REPLY)
		return STAT_HOP_OTHER;
	s = &space->intmd;
	if (intmd_load(ctx, m, s))
		return STAT_HOP_BAD;
	intmd_values(s, port, state);
	s->room_bytes = intmd_room(ctx, m, port);
	flags = s->hdr[0];
	switch (intmd_stamp(s)) {
	case INTMD_OK:
		break;
	case INTMD_HOPS_EXCEEDED:
		return intmd_flag(ctx, m, s->hdr[0]) ? STAT_HOP_BAD : STAT_HOP_FULL;
	case INTMD_MTU_EXCEEDED:
		return intmd_flag(ctx, m, s->hdr[0]) ? STAT_HOP_BAD : STAT_HOP_MTU;
	default:
		return STAT_HOP_BAD;
	}
	bytes = s->bytes;
	if (intmd_lengthen(ctx, bytes))
		return intmd_flag(ctx, m, flags | INTMD_M) ? STAT_HOP_BAD : STAT_HOP_MTU;
	intmd_resize(s, m->ip.v6, bytes);
	VERIFIER_AT_MOST(bytes, INTMD_HOP_BYTES_MAX, STAT_HOP_BAD);
	if (m->ip.v6 ? bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &s->ip.v6,
					   sizeof(s->ip.v6) + sizeof(s->udp) + INTMD_SOURCE_BYTES + bytes, 0) :
		       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &s->ip.v4,
					   sizeof(s->ip.v4) + sizeof(s->udp) + INTMD_SOURCE_BYTES + bytes, 0))
		return STAT_HOP_BAD;
	return STAT_HOP_STAMPED;
}

#endif
