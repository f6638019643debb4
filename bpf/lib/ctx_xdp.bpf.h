/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CTX_XDP_BPF_H
#define SLUICE_CTX_XDP_BPF_H
/* The operations of ctx.bpf.h on an xdp_md. There is no skb yet: tc does everything that needs one. */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/wire/wire.h"

typedef struct xdp_md ctx_t;

#define CTX_IS_XDP 1
#define CTX_PASS XDP_PASS
#define CTX_DROP XDP_DROP
#define ctx_load bpf_xdp_load_bytes
#define ctx_store(ctx, offset, from, len) bpf_xdp_store_bytes(ctx, offset, from, len)

static inline __u32 ctx_bytes(ctx_t *ctx)
{
	return bpf_xdp_get_buff_len(ctx);
}

static inline int ctx_pull(ctx_t *ctx, __u32 len)
{
	return -EINVAL;
}

static inline __u32 ctx_gso_size(const ctx_t *ctx)
{
	return 0;
}

static inline __u32 ctx_ifindex(const ctx_t *ctx)
{
	return ctx->ingress_ifindex;
}

/* The Ethernet type, or that of a VLAN tag that the NIC has left in. */
static inline __u16 ctx_protocol(const ctx_t *ctx)
{
	const __be16 *eth = (void *)(long)ctx->data;

	return eth + 7 <= (__be16 *)(long)ctx->data_end ? bpf_ntohs(eth[6]) : 0;
}

/* Removes bytes after the Ethernet header, which is 8 + 4 + 2 bytes. */
static inline int ctx_strip(ctx_t *ctx, __u32 bytes)
{
	void *eth = (void *)(long)ctx->data;
	__u64 first;
	__u32 second;
	__u16 third;

	if (eth + WIRE_ETH_BYTES > (void *)(long)ctx->data_end)
		return -EINVAL;
	first = *(__u64 *)eth;
	second = *(__u32 *)(eth + 8);
	third = *(__u16 *)(eth + 12);
	if (bpf_xdp_adjust_head(ctx, bytes))
		return -EINVAL;
	eth = (void *)(long)ctx->data;
	if (eth + WIRE_ETH_BYTES > (void *)(long)ctx->data_end) /* unreachable */
		return -EINVAL;
	*(__u64 *)eth = first;
	*(__u32 *)(eth + 8) = second;
	*(__u16 *)(eth + 12) = third;
	return 0;
}

/* As bpf_skb_ecn_set_ce(): 1 if the IP packet is now marked, 0 if it is not ECN capable. */
static inline int ctx_set_ce(ctx_t *ctx, int v6)
{
	__u8 *ip = (void *)(long)ctx->data + WIRE_ETH_BYTES;
	__u32 sum;

	if (ip + sizeof(struct iphdr) > (__u8 *)(long)ctx->data_end)
		return 0;
	if (v6) {
		if (!(ip[1] & ECN_MASK << 4))
			return 0;
		ip[1] |= ECN_CE << 4;
		return 1;
	}
	if (!(ip[1] & ECN_MASK))
		return 0;
	/* RFC 1624, equation 3 */
	sum = (__u16) ~*(__be16 *)(ip + 10) + bpf_htons(ECN_CE - (ip[1] & ECN_MASK));
	*(__be16 *)(ip + 10) = ~(sum + (sum >> 16));
	ip[1] |= ECN_CE;
	return 1;
}

/* Whether a packet may go back the way it came: the daemon knows where XDP_TX arrives. */
static inline int ctx_may_return(ctx_t *ctx)
{
	__u32 ifindex = ctx_ifindex(ctx);
	const struct port *port = bpf_map_lookup_elem(&ports, &ifindex);

	return port && port->flags & PORT_F_XDP_TX;
}

static inline int ctx_return(ctx_t *ctx)
{
	return XDP_TX;
}

/* If another program has metadata, or the driver no room for it, tc counts the packet again. */
static inline void ctx_set_counted(ctx_t *ctx)
{
	__u32 *meta;

	if (ctx->data_meta != ctx->data || bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return;
	meta = (void *)(long)ctx->data_meta;
	if (meta + 1 <= (__u32 *)(long)ctx->data)
		*meta = CTX_COUNTED;
}

/* Removes the mark of a packet that arrived with one: it is not ours. */
static inline void ctx_drop_counted(ctx_t *ctx)
{
	__u32 *meta = (void *)(long)ctx->data_meta;

	if (meta + 1 <= (__u32 *)(long)ctx->data && *meta == CTX_COUNTED)
		*meta = 0;
}

static inline struct __sk_buff *ctx_skb(ctx_t *ctx)
{
	return 0;
}

#endif
