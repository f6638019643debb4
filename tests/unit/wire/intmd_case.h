/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INTMD_CASE_H
#define INTMD_CASE_H
/* Shared by the tests of include/sluice/wire/intmd.h: packets with INT-MD. */
#include "sluice/wire/intmd.h"

/* A packet's header and stack. */
struct packet {
	__u8 hdr[INTMD_HDR_BYTES];
	__u8 stack[INTMD_STACK_BYTES_MAX + INTMD_HOP_BYTES_MAX];
	__u32 bytes;
};

struct intmd_values hop_values(int i);
enum intmd_verdict transit(struct packet *p, __u32 room, const struct intmd_values *v);
struct packet packet_after(int hops);
/* Other instructions than Sluice's. */
void ask(struct packet *p, __u32 ml, __u32 bitmap, __u32 domain, __u32 ds);

#endif
