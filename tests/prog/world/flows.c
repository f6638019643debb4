// SPDX-License-Identifier: GPL-2.0-only
/* Flows, and what receivers have computed of them. */
#include <string.h>

#include "expect.h"
#include "flows.h"
#include "load.h"
#include "maps.h"

unsigned int flows_known; /* entries of the flow map then, and those that a test has put there since */

struct flow_key flow_key_of(struct ip_spec s)
{
	struct frame f = frame_of(s);
	unsigned int l4 = 14 + (s.v6 ? 40 : 20) + (s.jumbo ? 8 : 0);
	struct flow_key k = { .proto = s.tunnel ?: s.udp ? 17 : 6 };

	k.local = addr_of(s.v6, s.from ?: s.reply ? HOST_B : HOST_A);
	k.remote = addr_of(s.v6, s.to ?: s.reply ? HOST_A : HOST_B);
	if (s.tunnel)
		return k;
	memcpy(&k.local_port, f.b + l4, 2);
	memcpy(&k.remote_port, f.b + l4 + 2, 2);
	return k;
}

int flow_exists(struct ip_spec s)
{
	struct flow_key k = flow_key_of(s);
	struct flow f;

	return map_get(skel->maps.flows, &k, &f);
}

struct flow flow_get(struct ip_spec s)
{
	struct flow_key k = flow_key_of(s);
	struct flow f;

	cr_assert(map_get(skel->maps.flows, &k, &f), "%sno such flow", fixture_text);
	return f;
}

void flow_set(struct ip_spec s, const struct flow *f)
{
	struct flow_key k = flow_key_of(s);

	flows_known += !flow_exists(s);
	map_set(skel->maps.flows, &k, f);
}

unsigned int flows_count(void)
{
	struct flow_key k, next;
	unsigned int n = 0;
	int more = !bpf_map_get_next_key(bpf_map__fd(skel->maps.flows), NULL, &next);

	while (more) {
		n++;
		k = next;
		more = !bpf_map_get_next_key(bpf_map__fd(skel->maps.flows), &k, &next);
	}
	return n;
}

void flow_runs_of(struct ip_spec s, __u64 tx_bytes)
{
	struct frame in = frame_of(s);
	struct flow f;

	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(s);
	f.tx.bytes = tx_bytes;
	flow_set(s, &f);
}

int report_get(struct ip_spec s, struct rx_flow *r)
{
	struct flow_key k = flow_key_of(s);

	return map_get(skel->maps.rx_states, &k, r);
}

void report_set(struct ip_spec s, const struct rx_flow *r)
{
	struct flow_key k = flow_key_of(s);

	map_set(skel->maps.rx_states, &k, r);
}
