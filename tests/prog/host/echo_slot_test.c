// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/echo.bpf.h: the telemetry of a packet comes into the echo slot of its flow. */
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(echo_slot, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(echo_slot_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

SinkTest(echo_slot, slot__has_the_telemetry_of_the_packet)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 500, .room = 5, .nhop = 3, .path = 0x456, .seq = 0xfedcba98,
					 .hop = { 0x0123456789abcdef, 0x1122334455667788, ~0ULL, 4, 5 });
		__u64 before = clock_ns();
		struct flow f;

		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get(*ingress_forward(v6));
		expect_eq(f.echo.version, 2);
		expect_eq(f.echo.sent, 0);
		expect_eq(f.echo.seq, 0xfedcba98);
		expect_eq(f.echo.nhop_path, 3 << 12 | 0x456);
		expect_eq(f.echo.hops, 3);
		expect_eq(f.echo.hop[0], 0x0123456789abcdef);
		expect_eq(f.echo.hop[1], 0x1122334455667788);
		expect_eq(f.echo.hop[2], ~0ULL);
		expect_between(f.echo.rx_ns, before, clock_ns());
		expect_eq(f.rx.last_ns, f.echo.rx_ns);
		expect_eq(f.tx.bytes, 0);
		expect_eq(f.rx.feedbacks, 0);
		expect_eq(flow_exists((struct ip_spec){ .v6 = v6, .reply = 1 }), 0);

		in = from_b(v6, 500, .room = 5, .nhop = 1, .path = 7, .seq = 8, .hop = { 9 });
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get(*ingress_forward(v6));
		expect_eq(f.echo.version, 4);
		expect_eq(f.echo.seq, 8);
		expect_eq(f.echo.nhop_path, 1 << 12 | 7);
		expect_eq(f.echo.hops, 1);
		expect_eq(f.echo.hop[0], 9);
	}
}

SinkTest(echo_slot, slot__of_a_path_without_switches)
{
	struct frame in = from_b(0, 500, .room = 5, .seq = 3);

	run(sink, &in);
	expect_eq(flow_get(a_to_b).echo.version, 2);
	expect_eq(flow_get(a_to_b).echo.hops, 0);
}

SinkTest(echo_slot, slot__is_left_alone_while_another_cpu_writes)
{
	struct frame in = from_b(0, 500, .room = 5, .nhop = 1, .seq = 3);
	struct flow f;

	run(sink, &in);
	f = flow_get(a_to_b);
	f.echo.version++;
	flow_set(a_to_b, &f);
	in = from_b(0, 500, .room = 5, .nhop = 2, .seq = 4);
	run(sink, &in);
	expect_eq(flow_get(a_to_b).echo.version, f.echo.version);
	expect_eq(flow_get(a_to_b).echo.seq, 3);
	expect_counted(STAT_RX_DATA, STAT_RX_DATA);
}

/* An ACK has no telemetry; the echo in the slot stays. */
SinkTest(echo_slot, slot__is_not_touched_by_an_ack)
{
	struct frame in = from_b(0, 500, .room = 5, .nhop = 1, .seq = 3), ack;

	run(sink, &in);
	ack = from_b(0, 0, .echo = 1, .echo_hops = 1);
	run(sink, &ack);
	expect_eq(flow_get(a_to_b).echo.version, 2);
	expect_eq(flow_get(a_to_b).echo.seq, 3);
	expect_counted(STAT_RX_DATA, STAT_RX_DATA, STAT_FB_FIRST);
}

/* The waiting echo keeps waiting. */
SinkTest(echo_slot, bare_data__leaves_the_echo_as_it_is)
{
	FOR_V4_AND_V6 (v6) {
		struct frame stamped = from_b(v6, 100, .room = 5, .nhop = 1, .seq = 77, .hop = { 42 }),
			     bare = from_b(v6, 100, .seq = 277);
		struct flow_echo before, after;

		run(sink, &stamped);
		before = flow_get(*ingress_forward(v6)).echo;
		run(sink, &bare);
		after = flow_get(*ingress_forward(v6)).echo;
		expect_counted(STAT_RX_DATA, STAT_RX_DATA);
		cr_assert(!memcmp(&before, &after, sizeof(before)), "IPv%d: the echo moved", v6 ? 6 : 4);
	}
}

/* With the telemetry in front of it there is always enough. */
SinkTest(echo_slot, slot__of_the_smallest_datagram)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 1),
			     in = wrap(&inner, .room = 5, .nhop = 5, .seq = 3, .hop = { 1, 2, 3, 4, 0x5555 });
		struct flow f;

		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get((struct ip_spec){ .v6 = v6, .udp = 1 });
		expect_eq(f.echo.version, 2);
		expect_eq(f.echo.hop[4], 0x5555);
	}
}
