// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/peer.bpf.h: does the peer strip telemetry, and is it still there? */
#include "egress_case.h"

TestSuite(peer, .init = egress_make, .fini = world_drop, .timeout = 60);

Test(peer, unknown_peer__gets_plain_data_and_a_question)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100);
		struct host unknown = {};
		struct result r;

		host_set(v6, HOST_B, &unknown);
		r = run(EGRESS, &in, .ifindex = a.ifindex);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &in);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
		egress_expect_probe(&a, &in, 0);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).tx.flags & FLOW_F_TELEM, 0);
	}
}

Test(peer, unknown_peer__becomes_known_when_it_is_heard)
{
	struct frame in = tcp(.payload = 100);
	struct host unknown = {};

	host_set(0, HOST_B, &unknown);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	expect_eq(flow_get((struct ip_spec){}).tx.flags & FLOW_F_TELEM, FLOW_F_TELEM);
}

/* For a time a stop could not be noticed: only its later messages count. */
Test(peer, doubt__asks_a_known_peer_and_sends_plainly_until_it_answers)
{
	struct asker a = asker_make();
	struct host h = { .capable = 1 };
	struct frame data = tcp(.payload = 100);
	struct result r;

	h.heard_ns = h.unanswered_ns = clock_ns() - 1 * MS;
	doubt_set(clock_ns());
	host_set(0, HOST_B, &h);
	r = run(EGRESS, &data, .ifindex = a.ifindex);
	expect_frame(&r.out, &data);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	egress_expect_probe(&a, &data, 0);
	expect_eq(host_get(0, HOST_B).capable, 0);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	clock_pass(1);
	h.heard_ns = clock_ns();
	host_set(0, HOST_B, &h);
	run(EGRESS, &data, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_eq(host_get(0, HOST_B).capable, 1);
}

Test(peer, silence__begins_with_the_first_data)
{
	struct frame data = tcp(.payload = 100), ack = tcp();
	__u64 before = clock_ns(), first;

	run(EGRESS, &ack);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	echo_waits((struct ip_spec){}, 0);
	run(EGRESS, &ack); /* an echo asks for no answer */
	expect_counted(STAT_TX_PLAIN_ACK, STAT_TX_DATA);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	run(EGRESS, &data);
	first = host_get(0, HOST_B).unanswered_ns;
	expect_between(first, before, clock_ns());
	run(EGRESS, &data);
	expect_eq(host_get(0, HOST_B).unanswered_ns, first);
}

/* A host does not answer packets that it never got as Sluice's. */
Test(peer, silence__does_not_begin_with_what_leaves_plain)
{
	struct frame data = tcp(.payload = 1000), dgram = udp(.payload = 1000);
	struct port port = port_usual();
	struct flow f;

	run(EGRESS, &dgram);
	hosts_strip();
	expect_counted(STAT_TX_DATA);
	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	f = flow_get((struct ip_spec){ .udp = 1 });
	f.tx.clock_ns = clock_ns() + 900 * MS;
	flow_set((struct ip_spec){ .udp = 1 }, &f);
	run(EGRESS, &dgram);
	expect_counted(STAT_TX_HORIZON);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	port.mtu = data.len;
	port_change(WORLD_IFINDEX, &port);
	expect_untouched(EGRESS, &data, STAT_TX_MTU);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	expect_untouched(EGRESS, &data, STAT_TX_ENCAP_FAILED, .gso_size = 500, .gso_segs = 2);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
}

Test(peer, silence__of_100_ms_makes_a_peer_unknown)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100);
		struct host h = { .capable = 1 };

		h.heard_ns = clock_ns();
		h.unanswered_ns = clock_ns() - 60 * MS;
		host_set(v6, HOST_B, &h);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		h.unanswered_ns = clock_ns() - 101 * MS;
		host_set(v6, HOST_B, &h);
		run(EGRESS, &in);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PEER_SILENT);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).tx.flags & FLOW_F_TELEM, 0);
		expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
	}
}

Test(peer, silence__of_four_rtts_where_that_is_longer)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);
	struct host h = { .capable = 1 };

	peer.t_ns = 100 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	h.unanswered_ns = clock_ns() - 300 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	h.unanswered_ns = clock_ns() - 401 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &in);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PEER_SILENT);
}
