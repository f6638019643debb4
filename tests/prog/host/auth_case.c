// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "auth_case.h"

void auth_make(void)
{
	world_make();
	keys_set(ours, 1);
}

struct ip_spec auth_forward(int v6)
{
	return (struct ip_spec){ .v6 = v6, .payload = 100 };
}

void auth_flow_runs(int v6)
{
	struct frame in = frame_of(auth_forward(v6));
	struct flow f;

	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(auth_forward(v6));
	f.tx.bytes = 1 << 20;
	flow_set(auth_forward(v6), &f);
}

struct known known_of(int v6)
{
	struct known k;

	memset(&k, 0, sizeof(k));
	k.f = flow_get(auth_forward(v6));
	k.h = host_get(v6, HOST_B);
	k.h.epoch = 0;
	return k;
}

void expect_nothing_learned(int v6, const struct known *before)
{
	struct known now = known_of(v6);

	cr_assert(!memcmp(&now, before, sizeof(now)), "%sthe flow or the host is not as it was", world_fixture());
}

void expect_refused(const struct frame *in, int v6, enum sluice_stat stat)
{
	struct known before = known_of(v6);

	expect_untouched(sink, in, stat);
	expect_nothing_learned(v6, &before);
}
