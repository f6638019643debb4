// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <string.h>

#include "intmd_case.h"

#define ALL_BITS (INTMD_I_NODE | INTMD_I_QUEUE | INTMD_I_EGRESS)

struct intmd_values hop_values(int i)
{
	return (struct intmd_values){
		.ts_ns = 0x1122334455667788ULL + i * 1000,
		.tx_bytes = 0xabcdef012345ULL + i * 1466,
		.bps = 100000000ULL * (i + 1),
		.node_id = 0x101 + i,
		.qlen_bytes = 0x10203 + i,
		.queue_id = 7,
		.serves = ALL_BITS,
		.serves_ds = INTMD_DS_INSTRUCTIONS,
	};
}

enum intmd_verdict transit(struct packet *p, __u32 room, const struct intmd_values *v)
{
	__u8 out[INTMD_HOP_BYTES_MAX];
	enum intmd_verdict err;
	__u32 bytes;

	err = intmd_transit(p->hdr, 3 + p->bytes / 4, room, v, out, &bytes);
	cr_assert_eq(err == INTMD_OK, bytes > 0);
	memmove(p->stack + bytes, p->stack, p->bytes);
	memcpy(p->stack, out, bytes);
	p->bytes += bytes;
	return err;
}

struct packet packet_after(int hops)
{
	struct packet p = {};
	int i;

	intmd_source(p.hdr, 5, 0);
	for (i = 0; i < hops; i++) {
		struct intmd_values v = hop_values(i);

		cr_assert_eq(transit(&p, 1000, &v), INTMD_OK);
	}
	return p;
}

void ask(struct packet *p, __u32 ml, __u32 bitmap, __u32 domain, __u32 ds)
{
	p->hdr[2] = ml;
	intmd_put16(p->hdr + 4, bitmap);
	intmd_put16(p->hdr + 6, domain);
	intmd_put16(p->hdr + 8, ds);
}
