// SPDX-License-Identifier: GPL-2.0-only
#include "pod_case.h"

void pod_make(void)
{
	world_make();
	hosts_strip();
}

void pod_make_old(void)
{
	world_make_with(.no_kfuncs = 1);
	hosts_strip();
}

void expect_time(__u64 stamp, __u64 before, __u64 after)
{
	cr_assert((((stamp >> 36) - before) & 0xffffff) <= after - before,
		  "%sthe time of the stamp is not that of the packet", world_fixture());
}

struct frame from_b(int v6, __u8 room, __u8 nhop)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500);

	return wrap(&inner, .room = room, .nhop = nhop, .path = 0x456,
		    .hop = { 0x1111, 0x2222, 0x3333, 0x4444, 0x5555 });
}
