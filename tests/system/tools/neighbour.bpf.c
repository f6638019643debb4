// SPDX-License-Identifier: GPL-2.0-only
/*
 * Somebody else's programs at the hooks that Sluice uses: they count packets, and those that are TCP, drop what is for one
 * port of TCP, as a network policy does, and leave all others to the next program, or end with "ok", as that of a CNI does.
 */
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IPPROTO_TCP 6
#define TC_ACT_UNSPEC (-1)
#define TC_ACT_OK 0
#define TC_ACT_SHOT 2

const volatile __u16 drop_port;
const volatile __u8 ends;
__u64 seen, tcp, dropped;

/* Ethernet, IPv4 without options, TCP: whether it is for the port. */
static inline int neighbour_drops(void *data, void *end)
{
	const __u8 *b = data;

	__sync_fetch_and_add(&seen, 1);
	if (data + 38 > end || b[12] != 8 || b[13] || b[14] != 0x45 || b[23] != IPPROTO_TCP)
		return 0;
	__sync_fetch_and_add(&tcp, 1);
	if ((b[36] << 8 | b[37]) != drop_port)
		return 0;
	__sync_fetch_and_add(&dropped, 1);
	return 1;
}

SEC("xdp")
int neighbour_xdp(struct xdp_md *ctx)
{
	return neighbour_drops((void *)(long)ctx->data, (void *)(long)ctx->data_end) ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int neighbour_tc(struct __sk_buff *ctx)
{
	if (neighbour_drops((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return TC_ACT_SHOT;
	return ends ? TC_ACT_OK : TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
