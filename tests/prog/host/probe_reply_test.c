// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/probe.bpf.h: the content of an answer to a PROBE. */
#include <bpf/bpf.h>

#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(probe_reply, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(probe_reply_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

/* Of an unheard address, only this is known. */
SinkTest(probe_reply, probe_reply__of_one_that_was_never_heard)
{
	FOR_V4_AND_V6 (v6) {
		struct host_key b = host_of(v6, HOST_B);
		struct frame in = reply(*ingress_forward(v6));
		__u64 asked_ns = 5;

		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_exists(v6, HOST_B), 0);
		cr_assert(!bpf_map_update_elem(world_map("asked"), &b, &asked_ns, BPF_ANY));
		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_eq(host_get(v6, HOST_B).asked_ns, 5);
		cr_assert(bpf_map_lookup_elem(world_map("asked"), &b, &asked_ns));
	}
}

/* Both are put together in the same place. */
SinkTest(probe_reply, probe_reply__leaves_nothing_to_a_report)
{
	struct ip_spec s = { .payload = 100 };
	struct frame in = reply(s, .nhop = 1, .seq = 500);
	__u8 m[12 + 24] = { 0x98, 8, 0, 59, 0x44, 1 };

	flow_runs_of(s, 1000);
	host_asked(0);
	run(sink, &in);
	expect_eq(flow_get(s).rx.fb_probe, 1);
	put16(m + 12, PORT_A);
	put16(m + 14, PORT_B);
	m[16] = 6;
	m[17] = 4; /* W */
	put32(m + 20, 900);
	put16(m + 26, 1 << 12);
	put32(m + 28, 200000);
	in = frame_of_batch(0, m, sizeof(m));
	run(sink, &in);
	expect_eq(flow_get(s).rx.feedbacks, 2);
	expect_eq(flow_get(s).rx.fb_probe, 0);
}

SinkTest(probe_reply, probe_reply__shows_that_the_peer_strips)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = reply(*ingress_forward(v6));
		__u64 before = clock_ns();
		struct result r;
		struct host h;

		host_asked(v6);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY);
		h = host_get(v6, HOST_B);
		expect_eq(h.capable, 1);
		expect_eq(h.unanswered_ns, 0);
		expect_between(h.heard_ns, before, clock_ns());
		expect_eq(flows_count(), 0);
	}
}

/* The telemetry of its path is feedback like an echo, for TCP and for UDP. */
SinkTest(probe_reply, probe_reply__is_what_hpcc_computes)
{
	int udp;

	for (udp = 0; udp < 2; udp++) {
		struct feedback fb = { .hops = 2, .path = 0x321, .probe = 1, .udp = udp };
		struct ip_spec s = { .udp = udp, .payload = 100 };
		unsigned int kinds[4] = {}, i;

		fixture("%s", udp ? "UDP" : "TCP");
		flow_runs_of(s, 1000000);
		host_asked(0);
		fb.hop[0] = ingress_hop_of(12, 0xfffff0, 0xfffff * 128, 0);
		fb.hop[1] = ingress_hop_of(12, 5, 7 * 128, 8000);
		fb.seq = 20000;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
		for (i = 0; i < 200; i++) {
			struct flow f = flow_get(s);
			__u64 dt = 50000 + i % 7 * 1000;

			fixture("%s, feedback %u", udp ? "UDP" : "TCP", i);
			hop_advance(&fb, 0, dt, 600 + i * 13 % 700, i % 50 < 25 ? 0 : i * 400);
			hop_advance(&fb, 1, dt + 10, 500 + i * 29 % 400, i % 3 * 1600);
			fb.gap_ns = dt;
			fb.seq += 60000;
			fb.probe = i % 4 != 3; /* an echo in between */
			f.tx.bytes = fb.seq + 1000000;
			flow_set(s, &f);
			kinds[expect_feedback(&fb, i % 2 * 100, MODE_DRY_RUN)]++;
		}
		cr_assert(kinds[HPCC_FAST] > 50 && kinds[HPCC_FULL] > 5, "fast %u, full %u", kinds[HPCC_FAST],
			  kinds[HPCC_FULL]);
		cr_assert(flow_get(s).cc.w < flow_get(s).params.w_init, "W never moved");
	}
}

SinkTest(probe_reply, probe_reply__observed_only)
{
	struct feedback fb = { .hops = 1, .seq = 1000, .probe = 1, .udp = 1, .hop = { ingress_hop_of(12, 0, 0, 0) } };
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct flow before;

	control_set(MODE_OBSERVE, 0);
	flow_runs_of(s, 1000000);
	host_asked(0);
	before = flow_get(s);
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FIRST);
	hop_advance(&fb, 0, 1000000, 1900, 0);
	fb.gap_ns = 1000000;
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FAST);
	expect_eq(flow_get(s).cc.w, before.cc.w);
	expect_eq(flow_get(s).cc.rate_bps, before.cc.rate_bps);
}

SinkTest(probe_reply, probe_reply__of_a_path_without_switches)
{
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct frame in = reply(s);

	flow_runs_of(s, 1000);
	host_asked(0);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_SKIPPED);
	expect_eq(host_get(0, HOST_B).capable, 1);
	expect_eq(flow_get(s).rx.feedbacks, 0);
}

SinkTest(probe_reply, probe_reply__not_while_another_cpu_has_the_flow)
{
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct frame in = reply(s, .nhop = 1);
	struct flow f;

	flow_runs_of(s, 1000);
	host_asked(0);
	f = flow_get(s);
	f.rx.lock = 1;
	flow_set(s, &f);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_CONTENDED);
	expect_eq(flow_get(s).rx.lock, 1);
	expect_eq(flow_get(s).rx.feedbacks, 0);
}

/* A flow that needs feedback sends a PROBE, whether or not its host had to be asked. */
SinkTest(probe_reply, probe_reply__to_a_flow_that_asked_for_feedback)
{
	__u32 ifindex = link_make("");

	link_attach(EGRESS, LINK_NEAR, 0);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 100 };
		struct frame out = frame_of(s), in = reply(s, .nhop = 1);

		hosts_strip(); /* B has been heard, and never been asked */
		run(EGRESS, &out, .ifindex = ifindex);
		expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
	}
}

/* Only DATA brings an echo. */
SinkTest(probe_reply, probe_reply__with_an_echo)
{
	struct frame inner, in;

	three_flows(0);
	inner = frame_of(three[1]);
	in = wrap(&inner, .msg = 2, .room = 5, .echo = 1, .echo_hops = 2);
	in = frame_turned(in);
	expect_nothing_learned(0, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY, STAT_FB_SKIPPED);
	inner = udp(.reply = 1, .payload = 100);
	in = wrap(&inner, .msg = 2, .echo = 1, .echo_hops = 2);
	expect_nothing_learned(0, &in, 0, VERDICT_REDIRECT, STAT_RX_PROBE);
}
