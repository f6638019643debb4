// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/probe.bpf.h: an answer that is another's, or not sound, teaches nothing. */
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(probe_reply_foreign, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(probe_reply_foreign_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

SinkTest(probe_reply_foreign, probe_reply__is_for_its_own_flow_only)
{
	FOR_V4_AND_V6 (v6) {
		int i, k;

		three_flows(v6);
		for (i = 0; i < 3; i++) {
			struct memory before = remember(v6), after;
			struct frame in = reply(three[i], .nhop = 1, .seq = 500);

			fixture("IPv%d, flow %d", v6 ? 6 : 4, i);
			run(sink, &in);
			expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
			after = remember(v6);
			for (k = 0; k < 3; k++) {
				expect_eq(after.flow[k].rx.feedbacks, before.flow[k].rx.feedbacks + (k == i));
				if (k != i)
					cr_assert(!memcmp(&before.flow[k], &after.flow[k], sizeof(struct flow)));
			}
		}
	}
}

SinkTest(probe_reply_foreign, probe_reply__with_other_ports_is_for_nobody)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole, in;
		unsigned int l4, i;

		three_flows(v6);
		whole = reply(three[1], .nhop = 1);
		l4 = at_hop(&whole, 5) + (v6 ? 40 : 20);
		for (i = 0; i < 4; i++) {
			fixture("IPv%d, byte %u of the ports", v6 ? 6 : 4, i);
			in = whole;
			in.b[l4 + i] ^= 0x40;
			expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		}
		fixture("IPv%d, ports the wrong way round", v6 ? 6 : 4);
		in = whole;
		put16(in.b + l4, PORT_B);
		put16(in.b + l4 + 2, PORT_A);
		expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

/* The inner packet must be ours, to the host that answers. */
SinkTest(probe_reply_foreign, probe_reply__with_other_addresses_inside_is_ignored)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec back = { .v6 = v6, .udp = 1, .reply = 1, .payload = 100 };
		struct frame whole, in;
		unsigned int ip, i, first = v6 ? 8 : 12, last = v6 ? 40 : 20;

		three_flows(v6);
		whole = reply(three[1], .nhop = 1);
		ip = at_hop(&whole, 5);
		for (i = first; i < last; i++) {
			fixture("IPv%d, byte %u", v6 ? 6 : 4, i);
			in = whole;
			in.b[ip + i] ^= 1;
			expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		}
		fixture("IPv%d, a packet of B's", v6 ? 6 : 4);
		in = frame_of(back);
		in = wrap(&in, .msg = 3, .room = 5, .nhop = 1);
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		fixture("IPv%d, neither TCP nor UDP", v6 ? 6 : 4);
		in = whole;
		in.b[ip + (v6 ? 6 : 9)] = 132;
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		fixture("IPv%d, of the other version", v6 ? 6 : 4);
		in = whole;
		in.b[at_shim(&in) + 3] = v6 ? 4 : 41;
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

SinkTest(probe_reply_foreign, probe_reply__that_nobody_asked_for_is_ignored)
{
	FOR_V4_AND_V6 (v6) {
		struct host known = { .capable = 1, .unanswered_ns = 5 };
		struct frame in;

		three_flows(v6);
		host_set(v6, HOST_B, &known);
		in = reply(three[1], .nhop = 1);
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

SinkTest(probe_reply_foreign, probe_reply__of_an_unknown_host_is_ignored)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = reply(*ingress_forward(v6), .nhop = 1);

		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_exists(v6, HOST_B), 0);
		expect_eq(flows_count(), 0);
	}
}

SinkTest(probe_reply_foreign, probe_reply__with_more_hops_than_room_is_ignored)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int nhop;

		three_flows(v6);
		for (nhop = 6; nhop < 16; nhop++) {
			struct frame in = reply(three[1], .nhop = nhop);

			fixture("IPv%d, %u hops", v6 ? 6 : 4, nhop);
			expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY, STAT_RX_BAD_TELEM);
		}
	}
}

SinkTest(probe_reply_foreign, probe_reply__without_room_shows_only_that_the_peer_strips)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner, in;

		three_flows(v6);
		inner = frame_of(three[1]);
		in = wrap(&inner, .msg = 2);
		in = frame_turned(in);
		expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}

/* At the end of the frame, whatever its lengths say; or the copied packet alone. */
SinkTest(probe_reply_foreign, probe_reply__cut_short_is_ignored)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole, inner, in;
		unsigned int n, l4 = 14 + (v6 ? 40 : 20);

		three_flows(v6);
		whole = reply(three[1], .nhop = 1);
		for (n = at_shim(&whole); n < whole.len; n++) {
			fixture("IPv%d, %u of %u bytes", v6 ? 6 : 4, n, whole.len);
			in = frame_cut(whole, n);
			expect_nothing_learned(v6, &in, 1, VERDICT_PASS, STAT_RX_TRUNCATED);
		}
		for (n = 14; n < l4 + 4; n++) {
			fixture("IPv%d, %u bytes of the copied packet", v6 ? 6 : 4, n - 14);
			inner = frame_of(three[1]);
			inner = frame_cut(inner, n);
			in = wrap(&inner, .msg = 2, .room = 5, .nhop = 1);
			in = frame_turned(in);
			/* frame_wrap() took the addresses from where they no longer are */
			memcpy(in.b + 14 + (v6 ? 8 : 12), whole.b + 14 + (v6 ? 8 : 12), v6 ? 32 : 8);
			expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		}
		fixture("IPv%d, nothing but the ports", v6 ? 6 : 4);
		inner = frame_of(three[1]);
		inner = frame_cut(inner, l4 + 4);
		in = wrap(&inner, .msg = 2, .room = 5, .nhop = 1);
		in = frame_turned(in);
		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
	}
}
