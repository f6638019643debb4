/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_COMPANION_BPF_H
#define SLUICE_COMPANION_BPF_H
/*
 * Turns a clone into a companion (wire.h). sluice/cc/companion.h decides when one is due; probe.bpf.h sends the clone,
 * and answer.bpf.h answers those of other hosts. The cloned packet is
 *
 *  1. the packet that leaves, if the kernel allows cutting it;
 *  2. for TCP with large packets, the next ACK that comes in (flow.beside.wanted);
 *  3. for a tunnel, the next small packet that comes in from the other end (the map wanted). The kernel does not cut
 *     packets whose offloads are for an inner packet: unless it is a GSO packet or too short, the clone is emptied in
 *     two steps; a GSO packet stays one.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* The result of cloning a packet. */
enum probe_kind {
	PROBE_WRAPPED, /* a PROBE of its own */
	PROBE_OF_DATA, /* a companion: the clone is a packet that leaves */
	PROBE_OF_ACK,  /* a companion: the clone is an ACK of its flow that has come in */
	PROBE_OF_ANY,  /* a companion: the clone is any packet that has come in from the peer */
};

#define COMPANION_ANY_BYTES 256 /* an incoming packet longer than this is not cloned */
#define COMPANION_CLONE_BYTES \
	128 /* bytes after our headers, in the clone of a tunnel's packet: inner headers and 55 more */
#define COMPANION_WANTED_NS (100 * 1000 * 1000ULL)
#define ADJUST_ROOM_BYTES 0xfff /* most that the kernel removes at once */

/* Whether a clone of the packet cannot be cut, or is so short that the kernel would keep an inner checksum in the rest. */
static inline int companion_is_uncut(const struct __sk_buff *ctx, const struct egress_pkt *p, const struct flow *f)
{
	return f->tx.flags & FLOW_F_TUNNEL && (ctx->gso_size || p->payload_bytes < COMPANION_CLONE_BYTES);
}

/* Notes the fields of this packet for a companion that is made from another one. */
static inline int companion_note(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f)
{
	const __be32 *first = pkt_bytes(ctx, WIRE_ETH_BYTES, sizeof(*first));

	if (!first)
		return 0;
	f->beside.v6_first = *first;
	f->beside.tos = p->tos;
	return 1;
}

/*
 * Asks for the next small packet that comes in from the peer. One flow asks at a time; if nothing has come for
 * COMPANION_WANTED_NS the next flow may ask. Returns whether this one asks now.
 */
static inline int companion_want(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
				 struct scratch_space *space)
{
	const struct companion_wanted *w = bpf_map_lookup_elem(&wanted, host_of_flow(&p->key));

	if ((w && w->since_ns && p->now_ns < w->since_ns + COMPANION_WANTED_NS) || !companion_note(ctx, p, f))
		return 0;
	space->wanted.key = p->key;
	space->wanted.since_ns = p->now_ns;
	return !bpf_map_update_elem(&wanted, host_of_flow(&p->key), &space->wanted, BPF_ANY);
}

/*
 * Resizes a clone. TCP's is cut at its end. Others may be a tunnel's, whose inner checksum would later be written into
 * our headers: everything after the IP header is removed, which makes the kernel forget that checksum, and room is made
 * anew. It is first cut if possible, which also makes it a single packet.
 */
static inline int companion_resize(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f, __u32 len)
{
	__u32 rest;
	int i;

	if (p->key.proto == IPPROTO_TCP && !p->jumbo_bytes)
		return ctx->len != len && bpf_skb_change_tail(ctx, len, 0) ? -EINVAL : 0;
	if (bpf_skb_change_tail(ctx, p->l4_offset + COMPANION_ANY_BYTES, 0) && p->companion == PROBE_OF_DATA &&
	    p->key.proto != IPPROTO_TCP) {
		f->tx.flags |= FLOW_F_TUNNEL;
		if (companion_is_uncut(ctx, p, f))
			return -EINVAL;
	}
	for (i = 0; i < 3 && !ctx->gso_size && ctx->len > p->l4_offset; i++) {
		rest = ctx->len - p->l4_offset;
		if (rest > ADJUST_ROOM_BYTES)
			rest = ADJUST_ROOM_BYTES;
		if (bpf_skb_adjust_room(ctx, -(__s32)rest, BPF_ADJ_ROOM_NET, 0))
			break;
	}
	if (ctx->len != p->l4_offset)
		return -EINVAL;
	return bpf_skb_adjust_room(ctx, len - p->l4_offset, BPF_ADJ_ROOM_NET, 0);
}

/*
 * Turns a resized clone into a companion: the headers of the flow, and then the bytes of head. The first word of an
 * IPv6 header is that of the data, because its flow label may choose the path.
 */
static inline int companion_write(struct __sk_buff *ctx, const struct egress_pkt *p, const struct flow *f,
				  struct egress_head *head, __u32 wire_bytes)
{
	struct wire_companion c = { .port = { p->key.local_port, p->key.remote_port },
				    .udp_length = bpf_htons(WIRE_COMPANION_LENGTH),
				    .marker = bpf_htonl(WIRE_COMPANION_MARKER) };

	if (!flow_has_ports(p->key.proto))
		c.port[0] = c.port[1] = bpf_htons(WIRE_COMPANION_NO_PORT);
	VERIFIER_AT_LEAST(wire_bytes, WIRE_HDR_BYTES, -EINVAL);
	VERIFIER_AT_MOST(wire_bytes, WIRE_HDR_BYTES + sizeof(struct wire_telem) + WIRE_VOQ_BYTES + WIRE_AUTH_BYTES,
			 -EINVAL);
	if (p->v6 && p->companion != PROBE_OF_DATA &&
	    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &f->beside.v6_first, sizeof(f->beside.v6_first), 0))
		return -EINVAL;
	if (p->v6 ? bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + 4, (__u8 *)&head->ip.v6 + 4, sizeof(head->ip.v6) - 4, 0) :
		    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v4, sizeof(head->ip.v4), 0))
		return -EINVAL;
	return bpf_skb_store_bytes(ctx, p->l4_offset, &c, sizeof(c), 0) ?:
		       bpf_skb_store_bytes(ctx, p->l4_offset + sizeof(c), &head->shim, wire_bytes, 0);
}

/*
 * Turns an incoming packet back: addresses are swapped. The flow is the reverse of an ACK's flow, or the one that any
 * packet was taken for.
 */
static inline int companion_turn(struct __sk_buff *ctx, struct egress_pkt *p, const struct scratch_space *space)
{
	struct flow_key key = { .local = p->key.remote,
				.remote = p->key.local,
				.local_port = p->key.remote_port,
				.remote_port = p->key.local_port,
				.proto = p->key.proto };
	__u8 mac[12];

	if (bpf_skb_load_bytes(ctx, 0, mac, sizeof(mac)) || bpf_skb_store_bytes(ctx, 0, mac + 6, 6, 0) ||
	    bpf_skb_store_bytes(ctx, 6, mac, 6, 0))
		return -EINVAL;
	p->key = p->companion == PROBE_OF_ANY ? space->wanted.key : key;
	return 0;
}

#endif
