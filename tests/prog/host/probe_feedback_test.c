// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/probe.bpf.h: probes if feedback is missing. */
#include "egress_case.h"

TestSuite(probe_feedback, .init = egress_make, .fini = world_drop, .timeout = 60);

static const struct ip_spec udp_flow = { .udp = 1, .payload = 100 };

/* A base RTT of a second: nothing depends on how fast the test runs. */
static struct asker asker_slow(void)
{
	struct peer peer = peer_usual();

	peer.t_ns = 1000 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	return asker_make();
}

Test(probe_feedback, feedback_probe__of_udp_once_in_a_base_rtt)
{
	struct asker a = asker_slow();

	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .udp = 1, .v6 = v6, .payload = 100 };
		struct frame in = frame_of(s);
		struct result r;
		__u32 seq;
		int i;

		hosts_strip();
		r = run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
		egress_expect_probe(&a, &in, 0);
		expect_between(clock_ns() - flow_get(s).tx.probe_ns, 0, 1000 * MS);
		seq = r.out.len;
		for (i = 0; i < 5; i++) {
			hosts_strip();
			probed_ago(s, 0, -1);
			seq += run(EGRESS, &in, .ifindex = a.ifindex).out.len;
			expect_counted(STAT_TX_DATA);
		}
		expect_no_probe(&a);
		probed_ago(s, 1001 * MS, -1);
		hosts_strip();
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
		egress_expect_probe(&a, &in, seq);
	}
}

Test(probe_feedback, feedback_probe__not_while_there_is_feedback)
{
	struct asker a = asker_slow();
	struct frame in = frame_of(udp_flow);

	run(EGRESS, &in);
	hosts_strip();
	expect_counted(STAT_TX_DATA);
	probed_ago(udp_flow, 1001 * MS, 0);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
	probed_ago(udp_flow, 1001 * MS, 1001 * MS);
	hosts_strip();
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
	fixture("feedback long ago, and a probe that is on its way");
	probed_ago(udp_flow, 0, 5000 * MS);
	hosts_strip();
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
}

/* Its ACKs bring feedback; it only asks whether the peer strips. */
Test(probe_feedback, feedback_probe__never_of_tcp)
{
	struct asker a = asker_slow();
	struct frame in = tcp(.payload = 100);

	run(EGRESS, &in, .ifindex = a.ifindex);
	hosts_strip();
	expect_counted(STAT_TX_DATA);
	probed_ago((struct ip_spec){}, 5000 * MS, 5000 * MS);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
}

Test(probe_feedback, feedback_probe__each_flow_has_its_own)
{
	struct asker a = asker_slow();
	struct frame in = udp(.payload = 100), other = udp(.payload = 100, .sport = 7);

	hosts_strip();
	run(EGRESS, &in, .ifindex = a.ifindex);
	egress_expect_probe(&a, &in, 0);
	hosts_strip();
	run(EGRESS, &other, .ifindex = a.ifindex);
	egress_expect_probe(&a, &other, 0);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT, STAT_TX_DATA, STAT_PROBE_SENT);
}

/* The PROBE to the host is the flow's as well: one PROBE, not two. */
Test(probe_feedback, feedback_probe__is_the_question_too)
{
	struct asker a = asker_slow();
	struct host h = { .capable = 1 };
	struct frame in = frame_of(udp_flow);

	h.heard_ns = clock_ns() - 1001 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
	egress_expect_probe(&a, &in, 0);
	expect_between(clock_ns() - flow_get(udp_flow).tx.probe_ns, 0, 1000 * MS);
	expect_between(clock_ns() - host_get(0, HOST_B).asked_ns, 0, 1000 * MS);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
}

/* Not to peers that do not strip: they are asked once a second, all flows together. */
Test(probe_feedback, feedback_probe__not_to_an_unknown_peer)
{
	struct asker a = asker_slow();
	struct host unknown = { .asked_ns = clock_ns() };
	struct frame in = frame_of(udp_flow);

	host_set(0, HOST_B, &unknown);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
	expect_no_probe(&a);
}
