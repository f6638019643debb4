// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/report.bpf.h: N, the number of flows that share a port, is counted and told. */
#include "sluice/cc/rx.h"
#include "companion_case.h"
#include "report_case.h"

TestSuite(report_flows, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(report_flows_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

#define ENDLESS_NS (1ULL << 40) /* an epoch that does not end in a test */

/* Flows that were seen, each twice, in an epoch that began so long ago; 0: none has begun. */
static void port_counts(__u64 count_ns, __u64 ago_ns, __u32 seen)
{
	struct port port = port_usual();

	port.count_ns = count_ns;
	port.count.seen = 2 * seen;
	if (ago_ns)
		port.count.now = ((clock_ns() - ago_ns) >> RX_COUNT_SHIFT | 1) << 32 | seen;
	port_change(WORLD_IFINDEX, &port);
}

static void flow_arrives(int v6, unsigned int n)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500, .dport = 1000 + n),
		     in = wrap(&inner, .room = 5, .nhop = 1, .hop = { report_hop_of(0, 0, 0) });

	clock_pass(WORLD_T_NS / 8 + 1000); /* N is looked up anew */
	run(sink, &in);
}

static __u32 flows_told(int v6, unsigned int n)
{
	struct ip_spec s = { .v6 = v6, .sport = 1000 + n };

	return flow_get(s).echo.flows;
}

SinkTest(report_flows, flows__are_counted_at_the_port)
{
	unsigned int i, round;

	flow_arrives(0, 1);
	expect_eq(flows_told(0, 1), 0); /* no host counts */
	FOR_V4_AND_V6 (v6) {
		port_counts(ENDLESS_NS, 0, 0);
		for (round = 0; round < 3; round++)
			for (i = 0; i < 20; i++)
				flow_arrives(v6, i);
		flow_arrives(v6, 3);
		expect_eq(flows_told(v6, 3), 20);

		fixture("IPv%d: five were active in the epoch before", v6 ? 6 : 4);
		port_counts(ENDLESS_NS, ENDLESS_NS * 3 / 2, 5);
		for (i = 20; i < 27; i++) {
			flow_arrives(v6, i);
			expect_eq(flows_told(v6, i), i - 19 < 5 ? 5 : i - 19);
		}
		fixture("IPv%d: nobody was in the epoch before", v6 ? 6 : 4);
		port_counts(ENDLESS_NS, ENDLESS_NS * 3, 5);
		flow_arrives(v6, 27);
		expect_eq(flows_told(v6, 27), 1);
	}
}

/* Data that is beside its companions is not seen: those count the flow, and N is in the answer to each. */
SinkTest(report_flows, flows__are_told_in_answers_to_companions)
{
	unsigned int i, round;

	FOR_V4_AND_V6 (v6) {
		port_counts(ENDLESS_NS, 0, 0);
		for (round = 0; round < 3; round++) {
			for (i = 0; i < 20; i++) {
				struct frame data = tcp(.v6 = v6, .reply = 1, .payload = 500, .dport = 1000 + i),
					     in = companion_of(&data, 2, 1);
				struct result r;

				clock_pass(WORLD_T_NS / 8 + 1000);
				r = run(sink, &in);
				expect_verdict(r, VERDICT_REDIRECT);
				expect_eq(get16(r.out.b + companion_at(&r.out) + COMPANION_TELEM + 2), round ? 20 : i + 1);
			}
		}
	}
}

SinkTest(report_flows, flows__of_a_pod_are_counted_at_its_veth)
{
	struct port port = port_usual();
	unsigned int i;

	port_counts(ENDLESS_NS, 0, 0);
	port.flags = PORT_F_POD;
	port.count_ns = ENDLESS_NS;
	port_set(7, &port);
	for (i = 0; i < 6; i++)
		flow_arrives(0, i);
	for (i = 0; i < 2; i++) {
		struct ip_spec s = { .sport = 1000 + i };
		struct flow f = flow_get(s);

		f.path.pod_ifindex = 7;
		f.voq.count_mark = 0;
		flow_set(s, &f);
	}
	for (i = 0; i < 6; i++)
		flow_arrives(0, i);
	flow_arrives(0, 0);
	expect_eq(flows_told(0, 0), 2);
	expect_eq(flows_told(0, 5), 6);
	fixture("a veth of 20 Gbit/s, whose stamps say 25");
	port = port_get(7);
	port.speed = (struct telem_speed){ .code = 8, .scale_q16 = 5 << 14 };
	port_set(7, &port);
	flow_arrives(0, 0);
	expect_eq(flows_told(0, 0), 3);
}

/* Two hops, of which one is full, and N. */
static void hops_told(unsigned int n, unsigned int full, __u16 flows)
{
	struct wire_spec w = telemetry(n, full);

	feedback(0, .echo_hops = 2, .echo_path = 0x123, .echo_seq = 1000 * n, .echo_flows = flows,
		 .echo_hop = { w.hop[0], w.hop[1] });
}

static void expect_flows(__u32 n)
{
	struct flow f = report_flow_of(0);

	expect_eq(f.rx.flows, n);
	expect_between(f.params.w_ai, f.params.w_init * .05 / n * .999, f.params.w_init * .05 / n * 1.001);
}

SinkTest(report_flows, flows__set_w_ai_where_the_last_hop_is_the_bottleneck)
{
	unsigned int n = 0, i;
	struct peer peer = peer_usual();

	report_flow_runs(0, 1000000);
	expect_flows(100);
	for (i = 0; i < 12; i++)
		hops_told(n++, 0, 400);
	expect_flows(100);
	for (i = 0; i < 12; i++)
		hops_told(n++, 1, 400);
	expect_flows(600);
	hops_told(n++, 1, 7);
	expect_flows(10);
	hops_told(n++, 1, 0); /* a peer that does not count */
	expect_flows(100);
	for (i = 0; i < 20; i++) /* two hops, equally full */
		hops_told(n++, i % 2, 7);
	expect_flows(100);
	hops_told(n++, 1, 400);
	hops_told(n++, 1, 400);
	expect_flows(600);
	world_counted((const int[]){ -1 });
	hops_told(n++, 1, 65535);
	expect_counted(STAT_RX_DATA, STAT_FB_FAST, STAT_FB_ABSURD_FLOWS);
	expect_between(report_flow_of(0).params.w_ai, report_flow_of(0).params.w_init * .05 / 24576 * .9,
		       report_flow_of(0).params.w_init * .05 / 24576 * 1.1);

	fixture("a number of the configuration's");
	peer.flows_fixed = 1;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	for (i = 0; i < 12; i++)
		hops_told(n++, 1, 400);
	expect_flows(100);
}

/* A flow gets N with the answers to its PROBEs. */
SinkTest(report_flows, flows__are_told_by_the_answer_to_a_probe)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500, .dport = 1003),
			     head = frame_cut(inner, 14 + (v6 ? 40 : 20) + 20), in;
		struct result r;
		unsigned int i;

		port_counts(ENDLESS_NS, 0, 0);
		for (i = 0; i < 6; i++)
			flow_arrives(v6, i);
		in = wrap(&head, .msg = 2, .room = 5, .nhop = 1, .seq = 500, .hop = { report_hop_of(0, 0, 0) });
		clock_pass(WORLD_T_NS / 8 + 1000);
		r = run(sink, &in);
		expect_eq(get16(r.out.b + at_telem(&r.out)), get16(in.b + at_telem(&in)));
		expect_eq(get16(r.out.b + at_telem(&r.out) + 2), 6);
	}
}

SinkTest(report_flows, flows__by_the_answer_to_a_probe_set_w_ai)
{
	struct frame first = tcp(.payload = 100), head = frame_cut(first, 14 + 20 + 20);
	struct host h = { .heard_ns = clock_ns(), .capable = 1, .asked_ns = clock_ns() };
	unsigned int i;

	report_flow_runs(0, 1000000);
	host_set(0, HOST_B, &h);
	for (i = 0; i < 12; i++) {
		struct frame probe = wrap(&head, .msg = 2, .room = 5, .nhop = 1, .seq = 500 + i,
					  .hop = { report_hop_of(i * 1000000, i * 12500000ULL, 8000) }),
			     in;

		put16(probe.b + at_telem(&probe) + 2, 30);
		in = frame_turned(probe);
		run(sink, &in);
	}
	expect_flows(45);
}

/* In window mode the receiver's own W_AI is by N. */
SinkTest(report_flows, flows__in_the_receivers_own_computation)
{
	struct rx_flow r;
	unsigned int n;

	peers_tell(RX_WINDOW, LONG_T_NS);
	port_counts(ENDLESS_NS, 0, 0);
	for (n = 0; n < 12; n++)
		arrives(0, telemetry(n, 0));
	cr_assert(report_get((struct ip_spec){}, &r));
	expect_eq(r.flows, 100);
	for (; n < 24; n++)
		arrives(0, telemetry(n, 1));
	cr_assert(report_get((struct ip_spec){}, &r));
	expect_eq(r.flows, 1);
	expect_between(r.params.w_ai, r.params.w_init * .0499, r.params.w_init * .0501);
}
