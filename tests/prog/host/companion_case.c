// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "companion_case.h"

void telemetry_beside(void)
{
	struct peer peer = peer_usual();

	peer.telemetry = TELEMETRY_COMPANION;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

struct frame companion_with_voq(struct frame f, __u32 tor, __u32 total, __u16 flows, __u8 flags)
{
	__u8 *l4 = f.b + companion_at(&f);

	f.len += 12;
	put16(f.b + 14 + (frame_is_v6(&f) ? 4 : 2), f.len - 14 - (frame_is_v6(&f) ? 40 : 0));
	l4[21] += 3;
	l4[COMPANION_MESSAGE + 2] |= 16;
	put32(l4 + COMPANION_VOQ, tor);
	put32(l4 + COMPANION_VOQ + 4, total);
	put16(l4 + COMPANION_VOQ + 8, flows);
	l4[COMPANION_VOQ + 10] = 128;
	l4[COMPANION_VOQ + 11] = flags;
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
