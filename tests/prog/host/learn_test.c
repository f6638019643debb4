// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/learn.bpf.h: learning from a packet, and the packets from which nothing may be learnt. */
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

static void make_small(void)
{
	world_make_with(.flows = 1);
}

TestSuite(learn, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(learn_xdp, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(learn_small, .init = make_small, .fini = world_drop, .timeout = 60);
TestSuite(learn_small_xdp, .init = make_small, .fini = world_drop, .timeout = 60);

SinkTest(learn, telemetry__with_more_hops_than_room)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int room, nhop;

		for (room = 1; room <= 5; room++) {
			for (nhop = room + 1; nhop < 16; nhop++) {
				struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500),
					     in = wrap(&inner, .room = room, .nhop = nhop);
				struct result r = run(sink, &in);

				fixture("IPv%d, %u hops in room for %u", v6 ? 6 : 4, nhop, room);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &inner);
				expect_counted(STAT_RX_DATA, STAT_RX_BAD_TELEM);
				expect_eq(flow_exists(*ingress_forward(v6)), 0);
			}
		}
	}
}

SinkTest(learn, host__that_sends_telemetry_strips_it_too)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 500, .room = 5);
		struct host h = { .unanswered_ns = 5, .asked_ns = 6 };
		__u64 before = clock_ns();

		run(sink, &in);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_between(host_get(v6, HOST_B).heard_ns, before, clock_ns());
		host_set(v6, HOST_B, &h);
		run(sink, &in);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
		expect_eq(host_get(v6, HOST_B).asked_ns, 6);
		expect_between(host_get(v6, HOST_B).heard_ns, before, clock_ns());
		expect_counted(STAT_RX_DATA, STAT_RX_DATA);
	}
}

/*
 * Data without telemetry, which a peer whose telemetry is beside it may send first, makes the flow, too: a hop to a pod is looked for in it. There is nothing to echo.
 */
SinkTest(learn, bare_data__makes_the_flow)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 100, .seq = 77), inner = tcp(.v6 = v6, .reply = 1, .payload = 100);
		struct result r = run(sink, &in);

		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_exists(*ingress_forward(v6)), 1);
		expect_eq(flow_get(*ingress_forward(v6)).echo.version, 0);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}

SinkTest(learn_small, flow_map_full__is_stripped_and_not_echoed)
{
	struct frame first = from_b(0, 100, .room = 5, .nhop = 1), inner = tcp(.reply = 1, .payload = 100, .dport = 7),
		     second = wrap(&inner, .room = 5, .nhop = 1);
	struct result r;

	run(sink, &first);
	expect_counted(STAT_RX_DATA);
	r = run(sink, &second);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA, STAT_RX_FLOW_FULL);
	expect_eq(flows_count(), 1);
}

SinkTest(learn, no_port__is_stripped_and_makes_no_flow)
{
	struct frame inner = tcp(.reply = 1, .payload = 100), in = wrap(&inner, .room = 5, .nhop = 1);
	struct result r;

	port_remove(WORLD_IFINDEX);
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA);
	expect_eq(flows_count(), 0);
}

SinkTest(learn, bypass__strips_and_learns_nothing)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .tos = ECT0), in, want;
		struct result r;

		control_set(MODE_ENFORCE, 1);
		in = wrap(&inner, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
		expect_eq(flows_count(), 0);
		expect_eq(host_exists(v6, HOST_B), 0);

		fixture("the mark still counts");
		in = frame_with_ecn(in, CE);
		r = run(sink, &in);
		want = frame_with_ecn(inner, CE);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_DATA, STAT_RX_CE);
	}
}

SinkTest(learn, bypass__answers_nothing)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = wrap(&inner, .msg = 2);
		struct host h = { .asked_ns = 5 };
		struct result r;

		control_set(MODE_ENFORCE, 1);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE);
		expect_eq(host_exists(v6, HOST_B), 0);
		host_set(v6, HOST_B, &h);
		in = reply(*ingress_forward(v6), .nhop = 1);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_get(v6, HOST_B).capable, 0);
	}
}

SinkTest(learn, bypass__learns_nothing_from_an_answer)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in;

		control_set(MODE_DRY_RUN, 0);
		three_flows(v6);
		in = reply(three[1], .nhop = 1);
		control_set(MODE_DRY_RUN, 1);
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

SinkTest(learn, bypass__touches_no_flow)
{
	struct frame in = from_b(0, 100, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
	struct flow before, after;

	ingress_flow_runs(0, 1000);
	before = flow_get(a_to_b);
	control_set(MODE_ENFORCE, 1);
	run(sink, &in);
	after = flow_get(a_to_b);
	cr_assert(!memcmp(&before, &after, sizeof(before)));
	expect_counted(STAT_RX_DATA);
}

static void leaves(int port, int leave)
{
	if (port)
		port_leaves(WORLD_IFINDEX, leave);
	else
		peers_leave(leave);
}

/* As with bypass, of a peer and of an interface. */
SinkTest(learn, leaving__strips_and_learns_nothing)
{
	FOR_V4_AND_V6 (v6) {
		for (int port = 0; port < 2; port++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .tos = ECT0), in, want;
			struct result r;

			fixture("IPv%d, %s", v6 ? 6 : 4, port ? "port" : "peer");
			leaves(port, 1);
			in = wrap(&inner, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
			r = run(sink, &in);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA);
			in = frame_with_ecn(in, CE);
			r = run(sink, &in);
			want = frame_with_ecn(inner, CE);
			expect_frame(&r.out, &want);
			expect_counted(STAT_RX_DATA, STAT_RX_CE);
			expect_eq(flows_count(), 0);
			expect_eq(host_exists(v6, HOST_B), 0);
			leaves(port, 0);
		}
	}
}

SinkTest(learn, leaving__answers_nothing)
{
	FOR_V4_AND_V6 (v6) {
		for (int port = 0; port < 2; port++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1), in = wrap(&inner, .msg = 2);
			struct host h = { .asked_ns = 5 };
			struct result r;

			fixture("IPv%d, %s", v6 ? 6 : 4, port ? "port" : "peer");
			leaves(port, 1);
			host_set(v6, HOST_B, &h);
			r = run(sink, &in);
			expect_verdict(r, VERDICT_DROP);
			expect_counted(STAT_RX_PROBE);
			in = reply(*ingress_forward(v6), .nhop = 1);
			r = run(sink, &in);
			expect_verdict(r, VERDICT_DROP);
			expect_counted(STAT_RX_PROBE_REPLY);
			expect_eq(host_get(v6, HOST_B).heard_ns, 0);
			expect_eq(host_get(v6, HOST_B).capable, 0);
			leaves(port, 0);
		}
	}
}

SinkTest(learn, leaving__touches_no_flow)
{
	for (int port = 0; port < 2; port++) {
		struct frame in = from_b(0, 100, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
		struct flow before, after;

		fixture("%s", port ? "port" : "peer");
		ingress_flow_runs(0, 1000);
		before = flow_get(a_to_b);
		leaves(port, 1);
		run(sink, &in);
		after = flow_get(a_to_b);
		cr_assert(!memcmp(&before, &after, sizeof(before)));
		expect_counted(STAT_RX_DATA);
		leaves(port, 0);
	}
}

/* Another port leaves, which does not affect this one. */
SinkTest(learn, leaving__is_told_by_port)
{
	struct frame in = from_b(0, 100, .room = 5);
	struct port port = port_usual();

	port.flags = PORT_F_HOST;
	port_set(WORLD_IFINDEX + 1, &port);
	port_leaves(WORLD_IFINDEX + 1, 1);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FLOW_MADE);
	expect_eq(host_exists(0, HOST_B), 1);
	port_remove(WORLD_IFINDEX + 1);
}

/* A peer that comes back may not strip any more: it is asked. Its own messages answer that, too. */
SinkTest(learn, leaving__peer_is_to_be_asked_again)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100), in = wrap(&inner, .room = 5);
		struct host h = { .asked_ns = 5, .capable = 1, .rx_seq = 7 };

		host_set(v6, HOST_B, &h);
		peers_leave(1);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		expect_eq(host_get(v6, HOST_B).rx_seq, 7);
		peers_leave(0);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FLOW_MADE);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}
