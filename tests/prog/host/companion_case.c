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
