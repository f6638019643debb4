// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "companion_case.h"

unsigned int at_l4(const struct frame *f)
{
	return 14 + (frame_is_v6(f) ? 40 : 20);
}

struct frame companion_of(const struct frame *data, __u8 message, __u32 seq)
{
	static const __u8 mark[] = { 0, 4, 0, 0, 'S', 'L', 'C', '2', 0, 0, 0, 0, 0, 0, 0, 0, 0x98, 13, 0, 59 };
	struct frame f = *data;
	__u8 *l4 = f.b + at_l4(data);

	f.len = at_l4(data) + BYTES;
	if (frame_is_v6(data)) {
		put16(f.b + 14 + 4, BYTES);
		f.b[14 + 7] = 64;
	} else {
		put16(f.b + 14 + 2, 20 + BYTES);
		put16(f.b + 14 + 4, 0);
		f.b[14 + 8] = 64;
	}
	memset(l4 + 4, 0, BYTES - 4);
	memcpy(l4 + 4, mark, sizeof(mark));
	l4[MESSAGE_AT] = 0x40 | message;
	l4[MESSAGE_AT + 1] = 5;
	put32(l4 + MESSAGE_AT + 4, seq);
	return f;
}

struct frame companion_with_voq(struct frame f, __u32 tor, __u32 total, __u16 flows, __u8 flags)
{
	__u8 *l4 = f.b + at_l4(&f);

	f.len += 12;
	put16(f.b + 14 + (frame_is_v6(&f) ? 4 : 2), f.len - 14 - (frame_is_v6(&f) ? 40 : 0));
	l4[21] += 3;
	l4[MESSAGE_AT + 2] |= 16;
	put32(l4 + VOQ_AT, tor);
	put32(l4 + VOQ_AT + 4, total);
	put16(l4 + VOQ_AT + 8, flows);
	l4[VOQ_AT + 10] = 128;
	l4[VOQ_AT + 11] = flags;
	return f;
}

void ip_sum_take(const struct frame *got, struct frame *want)
{
	__u32 sum = 0;
	int i;

	if (frame_is_v6(got))
		return;
	for (i = 0; i < 20; i += 2)
		sum += get16(got->b + 14 + i);
	sum = (sum & 0xffff) + (sum >> 16);
	expect_eq(((sum & 0xffff) + (sum >> 16)) & 0xffff, 0xffff);
	memcpy(want->b + 24, got->b + 24, 2);
}
