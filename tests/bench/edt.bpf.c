// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that only paces, for comparison: one look-up by the addresses and ports of the packet, and a departure time
 * (EDT) from the flow's clock. It has no control and no telemetry.
 */
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TC_ACT_UNSPEC (-1)
#define TC_ACT_SHOT 2
#define ETHERNET_BYTES 14
#define HORIZON_NS (2ULL * 1000 * 1000 * 1000)
#define NS_PER_BYTE_Q16 5243 /* 100 Gbit/s: .08 ns a byte */
#define FLOWS 2097152

struct edt_key {
	__u32 address[8];
	__u32 ports;
	__u32 protocol;
};

struct edt_flow {
	__u64 clock_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FLOWS);
	__type(key, struct edt_key);
	__type(value, struct edt_flow);
} edt_flows SEC(".maps");

/* Where it is not TCP or UDP over IP without options: 0. */
static inline int edt_parse(struct __sk_buff *ctx, struct edt_key *key)
{
	struct ipv6hdr v6;
	struct iphdr v4;
	__u32 at;

	if (ctx->protocol == bpf_htons(0x0800)) {
		if (bpf_skb_load_bytes(ctx, ETHERNET_BYTES, &v4, sizeof(v4)))
			return 0;
		key->address[0] = v4.saddr;
		key->address[4] = v4.daddr;
		key->protocol = v4.protocol;
		at = ETHERNET_BYTES + sizeof(v4);
	} else {
		if (ctx->protocol != bpf_htons(0x86dd) || bpf_skb_load_bytes(ctx, ETHERNET_BYTES, &v6, sizeof(v6)))
			return 0;
		__builtin_memcpy(key->address, &v6.saddr, 16);
		__builtin_memcpy(key->address + 4, &v6.daddr, 16);
		key->protocol = v6.nexthdr;
		at = ETHERNET_BYTES + sizeof(v6);
	}
	return (key->protocol == 6 || key->protocol == 17) && !bpf_skb_load_bytes(ctx, at, &key->ports, 4);
}

SEC("tc")
int edt_only(struct __sk_buff *ctx)
{
	struct edt_key key = {};
	struct edt_flow fresh = {}, *f;
	__u64 now_ns, t;

	if (!edt_parse(ctx, &key))
		return TC_ACT_UNSPEC;
	f = bpf_map_lookup_elem(&edt_flows, &key);
	if (!f) {
		bpf_map_update_elem(&edt_flows, &key, &fresh, 0);
		return TC_ACT_UNSPEC;
	}
	now_ns = bpf_ktime_get_ns();
	t = f->clock_ns > now_ns ? f->clock_ns : now_ns;
	if (ctx->tstamp > t)
		t = ctx->tstamp;
	if (t > now_ns + HORIZON_NS)
		return TC_ACT_SHOT;
	f->clock_ns = t + ((__u64)ctx->wire_len * NS_PER_BYTE_Q16 >> 16);
	if (t > now_ns)
		ctx->tstamp = t;
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
