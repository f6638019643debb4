// SPDX-License-Identifier: GPL-2.0-only
#include "delay_case.h"

void delay_make(void)
{
	struct peer peer = peer_usual();
	struct port port = port_usual();

	world_make();
	peer.delay = 1;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	control_set(MODE_ENFORCE, 0);
	hosts_strip();
}

struct result delay_leaves(struct ip_spec s)
{
	struct frame in = frame_of(s);

	return run(EGRESS, &in);
}

__u64 word(__u32 seq, __u64 left_ns)
{
	return (__u64)seq << 32 | (__u32)left_ns;
}

void timed_ago(struct ip_spec s, __u64 tx_bytes, __u32 seq, __u64 ago_ns)
{
	struct flow f = flow_get(s);

	f.tx.bytes = tx_bytes;
	f.delay.timed[0] = word(seq, clock_ns() - ago_ns);
	f.delay.timed_count = 1;
	f.delay.sample_ns = 0;
	flow_set(s, &f);
}

void feedback(struct ip_spec s, __u32 seq, __u32 ts, __u16 age)
{
	struct frame inner, in;

	s.reply = 1;
	s.payload = 100;
	inner = frame_of(s);
	in = wrap(&inner, .echo = 1, .echo_seq = seq, .echo_age = age, .echo_hops = !!ts, .echo_path = 5,
		  .echo_hop = { 12ULL << 60 | (__u64)ts << 36 });
	run(sink, &in);
}
