/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SKB_BPF_H
#define SLUICE_SKB_BPF_H
/* Fields of the kernel's own struct of a packet, for the tracepoints of qdiscs and for the qdisc `sluice`. */
#include "lib/base.bpf.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* A packet in a qdisc. */
struct class_skb {
	__u32 bytes; /* bytes charged by the qdisc */
	__u32 id;    /* from the address of its bytes: until it is freed no other packet has it */
	__u8 tos;
	__u8 pad[7];
};

/* The type of service, from the first two bytes of an IP header. */
VERIFIED_ONCE int class_tos(__u32 first, __u32 second)
{
	return first >> 4 == 6 ? (first & 0xf) << 4 | second >> 4 : first >> 4 == 4 ? second : 0;
}

/*
 * A packet may be gone (a tbf that has cut it into segments frees it before the tracepoint), and an empty qdisc hands
 * out NULL: it is read by probe reads, which may fail.
 */
static inline void class_skb_read(struct sk_buff *skb, struct class_skb *out)
{
	__u32 offset = BPF_CORE_READ(skb, network_header);
	unsigned char *head = BPF_CORE_READ(skb, head);
	__u16 proto = bpf_ntohs(BPF_CORE_READ(skb, protocol));
	__u8 ip[2] = {};

	if (proto == ETH_P_8021Q || proto == ETH_P_8021AD)
		offset += 4;					  /* a VLAN tag inside the frame */
	bpf_core_read(&out->bytes, sizeof(out->bytes), &skb->cb); /* qdisc_skb_cb.pkt_len */
	bpf_probe_read_kernel(ip, sizeof(ip), head + offset);
	out->tos = class_tos(ip[0], ip[1]);
	out->id = (unsigned long)head >> 6;
}

#endif
