// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/delay.bpf.h: packets are timed, and their round trips are samples of delay. */
#include "delay_case.h"

TestSuite(delay, .init = delay_make, .fini = world_drop, .timeout = 60);
TestSuite(delay_xdp, .init = delay_make, .fini = world_drop, .timeout = 60);

#define AGE_NS 1024ULL

/* --- what is timed --- */

Test(delay, timed__by_the_departure_that_the_pacer_gave)
{
	__u64 clock, before = clock_ns();
	struct result r = delay_leaves(data);
	struct flow f = flow_get(data);

	fixture("it leaves at once");
	expect_eq(f.delay.timed_count, 1);
	expect_eq(f.delay.timed[0] >> 32, r.out.len);
	expect_between((__u32)f.delay.timed[0] - (__u32)before, 0, clock_ns() - before);

	fixture("it waits in fq");
	clock = clock_ns() + 500 * MS;
	f.tx.clock_ns = clock;
	flow_set(data, &f);
	r = delay_leaves(data);
	f = flow_get(data);
	expect_eq(f.delay.timed_count, 2);
	expect_between(r.ctx.tstamp, 1, clock); /* the horizon */
	expect_eq(f.delay.timed[1], word(f.tx.bytes, r.ctx.tstamp));
}

/* Where nothing honours departure times it leaves now, whatever TCP has asked for. */
Test(delay, timed__at_once_without_fq)
{
	struct port port = port_usual();
	struct frame in = frame_of(data);
	__u64 before;

	port_change(WORLD_IFINDEX, &port);
	before = clock_ns();
	run(EGRESS, &in, .tstamp = before + 100 * MS);
	expect_between((__u32)flow_get(data).delay.timed[0] - (__u32)before, 0, clock_ns() - before);
}

/* A socket whose packets meet fq behind the port asks for times that are to come, and its packets wait for them there. */
Test(delay, timed__by_what_TCP_asked_for_where_fq_may_be_behind)
{
	struct port port = port_usual();
	struct frame in = frame_of(data);
	__u64 asked;

	port.flags |= PORT_F_EDT_MAYBE;
	port_change(WORLD_IFINDEX, &port);
	asked = clock_ns() + 100 * MS;
	run(EGRESS, &in, .tstamp = asked);
	expect_eq((__u32)flow_get(data).delay.timed[0], (__u32)asked);
	fixture("and does not wait for R");
	expect_eq(flow_get(data).tx.clock_ns, 0);
}

Test(delay, timed__four_in_a_row_and_then_none)
{
	struct flow f;
	int i;

	for (i = 1; i <= 6; i++) {
		delay_leaves(data);
		f = flow_get(data);
		fixture("packet %d", i);
		expect_eq(f.delay.timed_count, i < FLOW_TIMED ? i : FLOW_TIMED);
		expect_eq(f.delay.timed[f.delay.timed_count - 1] >> 32, f.tx.bytes / i * f.delay.timed_count);
	}
}

Test(delay, timed__only_what_can_have_feedback)
{
	struct frame udp_gso = udp(.payload = 2000);
	struct peer peer = peer_usual();
	struct flow f;

	fixture("an ACK with an echo");
	delay_leaves(data);
	f = flow_get(data);
	f.echo.version = 2;
	flow_set(data, &f);
	delay_leaves((struct ip_spec){});
	expect_eq(flow_get(data).echo.sent, 2);
	expect_eq(flow_get(data).delay.timed_count, 1);
	fixture("datagrams in one packet, which get no telemetry");
	run(EGRESS, &udp_gso, .gso_size = 1000, .gso_segs = 2);
	expect_eq(flow_get(datagram).tx.bytes > 2000, 1);
	expect_eq(flow_get(datagram).delay.timed_count, 0);
	fixture("a flow that knows a hop, for T");
	f = flow_get(data);
	f.cc.hops = 1;
	flow_set(data, &f);
	delay_leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 2);
	fixture("with delay off");
	f.cc.hops = 0;
	f.delay.timed_count = 1;
	flow_set(data, &f);
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	delay_leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 2);
}

Test(delay, timed__anew_after_a_second_without_feedback)
{
	struct flow f;

	delay_leaves(data);
	f = flow_get(data);
	f.delay.timed_count = FLOW_TIMED;
	f.delay.timed[0] = word(7, clock_ns() - 900 * MS);
	flow_set(data, &f);
	delay_leaves(data);
	expect_eq(flow_get(data).delay.timed_count, FLOW_TIMED);
	expect_eq(flow_get(data).delay.timed[0], f.delay.timed[0]);
	f.delay.timed[0] = word(7, clock_ns() - 1001 * MS);
	flow_set(data, &f);
	delay_leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 1);
	expect_eq(flow_get(data).delay.timed[0] >> 32, flow_get(data).tx.bytes);
}

Test(delay, timed__one_probe)
{
	struct frame in = frame_of(datagram);
	__u64 before, first;

	delay_leaves(datagram);
	before = clock_ns();
	run(EGRESS, &in, .clone = 1);
	first = flow_get(datagram).delay.probed;
	expect_between((__u32)first - (__u32)before, 0, clock_ns() - before);
	expect_eq(first >> 32, flow_get(datagram).tx.bytes);
	run(EGRESS, &in, .clone = 1);
	expect_eq(flow_get(datagram).delay.probed, first);
}

/* --- the sample --- */

/* The echo waited 100 units at the receiver: that is not the network's. */
SinkTest(delay, sample__is_of_the_round_trip_without_the_age)
{
	__u64 before, after;
	struct flow f;

	delay_leaves(data);
	before = clock_ns();
	timed_ago(data, 5000, 5000, 3 * MS);
	feedback(data, 5000, 0, 100);
	after = clock_ns();
	f = flow_get(data);
	expect_between(f.delay.sample_ns, 3 * MS - 100 * AGE_NS, 3 * MS - 100 * AGE_NS + after - before);
	expect_eq(f.delay.timed_count, 0);
}

/* 67 ms or more: it cannot be told how much more. */
SinkTest(delay, sample__none_where_the_age_is_saturated)
{
	delay_leaves(data);
	timed_ago(data, 5000, 5000, 200 * MS);
	feedback(data, 5000, 0, 0xffff);
	expect_eq(flow_get(data).delay.sample_ns, 0);
	timed_ago(data, 5000, 5000, 200 * MS);
	feedback(data, 5000, 0, 0xfffe);
	expect_between(flow_get(data).delay.sample_ns, 200 * MS - 0xfffe * AGE_NS, 200 * MS);
}

/* It seems to have come back before it left: a clock of fq that ran ahead. */
SinkTest(delay, sample__none_before_the_departure)
{
	delay_leaves(data);
	timed_ago(data, 5000, 5000, -50 * MS);
	unstamped(data, 5000);
	expect_eq(flow_get(data).delay.sample_ns, 0);
	expect_eq(flow_get(data).delay.timed_count, 0);
}

SinkTest(delay, sample__of_any_of_the_four)
{
	struct flow f;
	int i;

	delay_leaves(data);
	for (i = 0; i < FLOW_TIMED; i++) {
		__u64 now = clock_ns();
		int k;

		fixture("packet %d", i);
		f = flow_get(data);
		f.tx.bytes = 9000;
		for (k = 0; k < FLOW_TIMED; k++)
			f.delay.timed[k] = word(1000 + k, now - (10 - k) * 100 * MS);
		f.delay.timed_count = FLOW_TIMED;
		flow_set(data, &f);
		unstamped(data, 1000 + i);
		f = flow_get(data);
		expect_between(f.delay.sample_ns, (10 - i) * 100 * MS, (10 - i) * 100 * MS + clock_ns() - now);
		expect_eq(f.delay.timed_count, 0);
	}
}

/* A packet that was not sent since is no sample, whatever an earlier one left there. */
SinkTest(delay, sample__none_of_an_earlier_row)
{
	struct flow f;

	delay_leaves(data);
	timed_ago(data, 9000, 5000, 3 * MS);
	f = flow_get(data);
	f.delay.timed[1] = word(6000, clock_ns() - 5 * MS);
	flow_set(data, &f);
	unstamped(data, 6000);
	expect_eq(flow_get(data).delay.sample_ns, 0);
}

/* Of another packet it says nothing; of one behind those that are timed, that they were lost. */
SinkTest(delay, sample__of_a_lost_packet_is_given_up)
{
	delay_leaves(data);
	timed_ago(data, 9000, 5000, 3 * MS);
	unstamped(data, 4999);
	expect_eq(flow_get(data).delay.timed_count, 1);
	expect_eq(flow_get(data).delay.sample_ns, 0);
	unstamped(data, 5001);
	expect_eq(flow_get(data).delay.timed_count, 0);
	expect_eq(flow_get(data).delay.sample_ns, 0);
	delay_leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 1);
}

SinkTest(delay, sample__positions_wrap)
{
	delay_leaves(data);
	fixture("lost before the wrap");
	timed_ago(data, 0x1000001ffULL, 0xffffff00, 3 * MS);
	unstamped(data, 0x100);
	expect_eq(flow_get(data).delay.timed_count, 0);
	fixture("feedback from before the wrap");
	timed_ago(data, 0x1000001ffULL, 0x100, 3 * MS);
	unstamped(data, 0xffffff00);
	expect_eq(flow_get(data).delay.timed_count, 1);
	fixture("and its own");
	unstamped(data, 0x100);
	expect_between(flow_get(data).delay.sample_ns, 3 * MS, 1000 * MS);
}

/* A packet's position may equal the probe's: the way its feedback comes distinguishes them. */
SinkTest(delay, sample__of_a_probe_is_its_own)
{
	struct frame inner = frame_cut(frame_of(datagram), 14 + 20 + 20), probe, in;
	struct host h = { .asked_ns = 1, .capable = 1 };
	struct flow f;
	__u64 now;

	delay_leaves(datagram);
	host_set(0, HOST_B, &h);
	now = clock_ns();
	timed_ago(datagram, 5000, 5000, 700 * MS);
	f = flow_get(datagram);
	f.delay.probed = word(5000, now - 2 * MS);
	flow_set(datagram, &f);
	probe = wrap(&inner, .msg = 2, .room = 5, .seq = 5000);
	in = frame_turned(probe);
	run(sink, &in);
	f = flow_get(datagram);
	expect_between(f.delay.sample_ns, 2 * MS, 2 * MS + clock_ns() - now);
	expect_eq(f.delay.probed, 0);
	expect_eq(f.delay.timed_count, 1);
	unstamped(datagram, 5000);
	expect_between(flow_get(datagram).delay.sample_ns, 700 * MS, 700 * MS + clock_ns() - now);
}

/* Two companions of one position: the first may be lost, and the reply may be to either. */
SinkTest(delay, sample__none_of_a_position_that_two_probes_have)
{
	struct frame inner = frame_cut(frame_of(datagram), 14 + 20 + 20), in;
	struct host h = { .asked_ns = 1, .capable = 1 };
	struct flow f;

	delay_leaves(datagram);
	host_set(0, HOST_B, &h);
	f = flow_get(datagram);
	f.path.telemetry = TELEMETRY_COMPANION;
	f.delay.probed = word(5000, clock_ns() - 6 * MS);
	f.delay.timed[0] = word(5000, clock_ns() - 2 * MS);
	f.delay.timed[1] = word(6000, clock_ns() - 2 * MS);
	flow_set(datagram, &f);
	in = frame_turned(wrap(&inner, .msg = 2, .room = 5, .seq = 5000));
	run(sink, &in);
	f = flow_get(datagram);
	expect_eq(f.delay.sample_ns, 0);
	expect_eq(f.delay.probed, 0);
	expect_eq(f.delay.timed[0], 0);
	fixture("the next position has one");
	expect_eq(f.delay.timed[1] >> 32, 6000);
	in = frame_turned(wrap(&inner, .msg = 2, .room = 5, .seq = 6000));
	run(sink, &in);
	expect_between(flow_get(datagram).delay.sample_ns, 2 * MS, 1000 * MS);
}

/* --- for T --- */

/* A full packet of 9014 bytes takes 722 ns at 100 Gbit/s, and a full one has two of them less than T. */
Test(delay, measured__where_a_hop_is_told)
{
	struct flow f;

	delay_leaves(data);
	timed_ago(data, 60000, 60000, 3 * MS);
	feedback(data, 60000, 5, 0);
	f = flow_get(data);
	expect_between(f.delay.least.ns.most_ns, 3 * MS + 2 * 721, 4 * MS);
	expect_eq(f.delay.least.ns.least_ns, f.delay.least.ns.most_ns);
}

Test(delay, measured__of_a_path_that_tells_no_queue_the_most)
{
	struct flow f;

	delay_leaves(data);
	timed_ago(data, 60000, 60000, 3 * MS);
	unstamped(data, 60000);
	f = flow_get(data);
	expect_between(f.delay.least.ns.most_ns, 3 * MS, 4 * MS);
	expect_eq(f.delay.least.ns.least_ns, BASE_RTT_NONE);
}

/* An echo that claims to be the answer to what has just left: T is what the wire takes. */
Test(delay, measured__no_shorter_than_the_wire)
{
	struct flow f;

	delay_leaves(data);
	timed_ago(data, 60000, 60000, 0);
	feedback(data, 60000, 5, 0xff);
	f = flow_get(data);
	expect_eq(f.delay.least.ns.most_ns == 0 || f.delay.least.ns.most_ns >= 2 * 721, 1);
}
