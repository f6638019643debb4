// SPDX-License-Identifier: GPL-2.0-only
/*
 * In the place of egress: datagrams over IPv4 to port 9 tell themselves what is noted for the qdisc `sluice`, in the first
 * twelve bytes of their payload, three numbers in network byte order: in how many us they are to leave, R in kbit/s, and
 * for how many us they may wait.
 */
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "sluice/queue/note.h"

#define IPPROTO_UDP 17
#define NOTED_PORT 9
#define NOTED_AT 42 /* Ethernet, IPv4 without options, UDP */

SEC("tc")
int noted(struct __sk_buff *ctx)
{
	const __u8 *b = (void *)(long)ctx->data;
	const __u32 *say = (void *)(b + NOTED_AT);

	if (b + NOTED_AT + 12 > (__u8 *)(long)ctx->data_end || b[12] != 8 || b[13] || b[23] != IPPROTO_UDP || b[36] ||
	    b[37] != NOTED_PORT)
		return -1;
	ctx->cb[0] = ctx->cb[1] = ctx->cb[2] = 0;
	ctx->cb[3] = bpf_ntohl(say[1]);
	ctx->cb[4] = QUEUE_NOTE_MARK | queue_note_patience(bpf_ntohl(say[2]) * 1000ULL);
	bpf_skb_set_tstamp(ctx, bpf_ktime_get_ns() + bpf_ntohl(say[0]) * 1000ULL, BPF_SKB_TSTAMP_DELIVERY_MONO);
	return -1; /* TC_ACT_UNSPEC */
}

char LICENSE[] SEC("license") = "GPL";
