/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_COMPANION_BPF_H
#define SLUICE_COMPANION_BPF_H
/*
 * What makes a companion of a clone (wire.h): of data that leaves, or of an ACK that has come in. When one is due is
 * for sluice/cc/companion.h; probe.bpf.h sends the clone, and answers those of others.
 */
#include "lib/base.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* What becomes of a clone. */
enum probe_kind {
	PROBE_WRAPPED, /* a PROBE of its own */
	PROBE_OF_DATA, /* a companion: the clone is a packet that leaves, */
	PROBE_OF_ACK,  /*   or one that has come in */
};

/*
 * Makes a companion of a clone that has its length: the headers of the flow, and behind them so many bytes of head. The
 * first word of an IPv6 header is that of the data, for its flow label may choose the path.
 */
static inline int companion_write(struct __sk_buff *ctx, const struct egress_pkt *p, const struct flow *f,
				  struct egress_head *head, __u32 wire_bytes)
{
	struct wire_companion c = { .port = { p->key.local_port, p->key.remote_port },
				    .udp_length = bpf_htons(WIRE_COMPANION_LENGTH),
				    .marker = bpf_htonl(WIRE_COMPANION_MARKER) };

	VERIFIER_AT_LEAST(wire_bytes, WIRE_HDR_BYTES, -EINVAL);
	VERIFIER_AT_MOST(wire_bytes, WIRE_HDR_BYTES + sizeof(struct wire_telem) + WIRE_VOQ_BYTES + WIRE_AUTH_BYTES,
			 -EINVAL);
	if (p->v6 && p->companion == PROBE_OF_ACK &&
	    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &f->beside.v6_first, sizeof(f->beside.v6_first), 0))
		return -EINVAL;
	if (p->v6 ? bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + 4, (__u8 *)&head->ip.v6 + 4, sizeof(head->ip.v6) - 4, 0) :
		    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v4, sizeof(head->ip.v4), 0))
		return -EINVAL;
	return bpf_skb_store_bytes(ctx, p->l4_offset, &c, sizeof(c), 0) ?:
		       bpf_skb_store_bytes(ctx, p->l4_offset + sizeof(c), &head->shim, wire_bytes, 0);
}

/* An ACK that has come in, on its way back: addresses and ports change places. */
static inline int ack_turn(struct __sk_buff *ctx, struct egress_pkt *p)
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
	p->key = key;
	return 0;
}

#endif
