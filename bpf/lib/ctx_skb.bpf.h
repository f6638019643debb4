/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CTX_SKB_BPF_H
#define SLUICE_CTX_SKB_BPF_H
/* The operations of ctx.bpf.h on an skb, at tc. */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/wire/wire.h"

typedef struct __sk_buff ctx_t;

#define CTX_IS_XDP 0
#define CTX_PASS TC_ACT_UNSPEC
#define CTX_DROP TC_ACT_SHOT
#define ctx_load bpf_skb_load_bytes
#define ctx_store(ctx, offset, from, len) bpf_skb_store_bytes(ctx, offset, from, len, 0)

static inline __u32 ctx_bytes(const ctx_t *ctx)
{
	return ctx->len;
}

static inline int ctx_pull(ctx_t *ctx, __u32 len)
{
	return bpf_skb_pull_data(ctx, len);
}

/* Payload of a segment if the packet has several; else 0. */
static inline __u32 ctx_gso_size(const ctx_t *ctx)
{
	return ctx->gso_size;
}

static inline __u32 ctx_ifindex(const ctx_t *ctx)
{
	return ctx->ifindex;
}

static inline __u16 ctx_protocol(const ctx_t *ctx)
{
	return bpf_ntohs(ctx->protocol);
}

static inline int ctx_strip(ctx_t *ctx, __u32 bytes)
{
	return bpf_skb_adjust_room(ctx, -(__s32)bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
}

static inline int ctx_set_ce(ctx_t *ctx, int v6)
{
	return bpf_skb_ecn_set_ce(ctx) > 0;
}

static inline int ctx_may_return(ctx_t *ctx)
{
	return 1;
}

static inline int ctx_return(ctx_t *ctx)
{
	return bpf_redirect(ctx->ifindex, 0);
}

static inline int ctx_is_counted(const ctx_t *ctx)
{
	const __u32 *meta = (void *)(long)ctx->data_meta;
	__u32 ifindex = ctx->ifindex;
	const struct port *port;

	if (meta + 1 > (__u32 *)(long)ctx->data || *meta != CTX_COUNTED)
		return 0;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	return port && port->flags & PORT_F_XDP;
}

static inline struct __sk_buff *ctx_skb(ctx_t *ctx)
{
	return ctx;
}

#endif
