// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/departure.bpf.h: when a datagram leaves, and when it is dropped or marked instead. */
#include "egress_case.h"

TestSuite(departure_udp, .init = egress_make, .fini = world_drop, .timeout = 60);

static void expect_dropped(const struct frame *in, struct ip_spec s)
{
	struct flow before = flow_get(s);
	struct result r = run(EGRESS, in);

	expect_verdict(r, VERDICT_DROP);
	expect_frame(&r.out, in);
	expect_counted(STAT_TX_HORIZON);
	expect_eq(flow_get(s).tx.clock_ns, before.tx.clock_ns);
	expect_eq(flow_get(s).tx.bytes, before.tx.bytes);
}

Test(departure_udp, departure_udp__at_the_flows_clock)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1000 };
		struct frame in = frame_of(s), want;
		struct result r;
		__u64 clock;

		enforce_with_fq();
		horizon_set(500 * MS, 0);
		hosts_strip();
		r = run(EGRESS, &in);
		expect_eq(r.ctx.tstamp, 0);
		clock = clock_ns() + 400 * MS;
		clock_at(s, clock, 100000000);
		hosts_strip();
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = 2 * r.out.len);
		r = run(EGRESS, &in);
		expect_frame(&r.out, &want);
		expect_eq(r.ctx.tstamp, clock);
		expect_eq(flow_get(s).tx.clock_ns, clock + r.out.len * 80);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_PACED);
	}
}

/* Nothing is cut short: it leaves at its time, or not at all. */
Test(departure_udp, departure_udp__beyond_the_horizon_is_dropped)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1000 };
		struct frame in = frame_of(s), marked = frame_with_ecn(in, ECT0);

		enforce_with_fq();
		horizon_set(300 * MS, 0);
		hosts_strip();
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		clock_at(s, clock_ns() + 600 * MS, 100000000);
		hosts_strip();
		expect_dropped(&in, s);
		expect_dropped(&marked, s); /* ECN is not asked where the policy is to drop */
		clock_at(s, clock_ns() + 200 * MS, 100000000);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA, STAT_PACED);
	}
}

/*
 * A socket that paces itself (SO_TXTIME) says when; the horizon is for what the packet waits beyond
 * that. A train that it spreads over more than the horizon is neither dropped nor pulled together.
 */
Test(departure_udp, departure_udp__when_the_socket_wants)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 asked;
	struct result r;
	int i;

	enforce_with_fq();
	horizon_set(1 * MS, 0);
	asked = clock_ns();
	for (i = 0; i < 5; i++) {
		asked += 100 * MS;
		hosts_strip();
		r = run(EGRESS, &in, .tstamp = asked);
		expect_verdict(r, VERDICT_PASS);
		expect_eq(r.ctx.tstamp, asked);
		expect_counted(STAT_TX_DATA, STAT_PACED);
	}
	fixture("faster than R");
	clock_at(s, asked + 10 * MS, 100000000);
	r = run(EGRESS, &in, .tstamp = asked);
	expect_verdict(r, VERDICT_DROP);
	expect_counted(STAT_TX_HORIZON);
	clock_at(s, asked + MS / 2, 100000000);
	r = run(EGRESS, &in, .tstamp = asked);
	expect_eq(r.ctx.tstamp, asked + MS / 2);
	expect_counted(STAT_TX_DATA, STAT_PACED);
	fixture("a time that makes no sense");
	clock_at(s, 0, 100000000);
	asked = clock_ns();
	r = run(EGRESS, &in, .tstamp = 1ULL << 62);
	expect_between(r.ctx.tstamp, asked + 2 * MS + r.out.len * 160, clock_ns() + 2 * MS + r.out.len * 160);
	expect_counted(STAT_TX_DATA, STAT_PACED, STAT_HORIZON);
}

Test(departure_udp, departure_udp__horizon_is_a_base_rtt_where_none_is_said)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct peer peer = peer_usual();
	struct frame in = frame_of(s);

	peer.t_ns = 300 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	enforce_with_fq();
	horizon_set(0, 0);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	clock_at(s, clock_ns() + 600 * MS, 100000000);
	hosts_strip();
	expect_dropped(&in, s);
	clock_at(s, clock_ns() + 200 * MS, 100000000);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA, STAT_PACED);
}

/* Both headers get the mark, so that it arrives whichever the sink believes. */
Test(departure_udp, departure_udp__beyond_the_horizon_is_marked)
{
	static const __u8 ecns[] = { 1, ECT0, CE };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1000, .tos = 0xb8 };
		struct frame in = frame_of(s), marked = frame_with_ecn(in, CE), want;
		struct result r;
		__u32 seq = 0;
		__u64 clock;

		enforce_with_fq();
		horizon_set(300 * MS, 1);
		for (i = 0; i < sizeof(ecns); i++) {
			fixture("IPv%d, ECN %u", v6 ? 6 : 4, ecns[i]);
			hosts_strip();
			in = frame_with_ecn(in, ecns[i]);
			r = run(EGRESS, &in); /* in time */
			seq += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = seq);
			expect_frame(&r.out, &want);
			clock = clock_ns() + 450 * MS;
			clock_at(s, clock, 100000000);
			r = run(EGRESS, &in);
			seq += r.out.len;
			want = wrap(&marked, .sport = source_port(&r.out), .room = 5, .seq = seq);
			expect_frame(&r.out, &want);
			expect_eq(r.ctx.tstamp, clock);
			expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_HORIZON_MARK, STAT_PACED);
			clock_at(s, clock_ns() + 900 * MS, 100000000); /* more than twice */
			expect_dropped(&in, s);
			clock_at(s, 0, 100000000);
		}
		fixture("IPv%d, not ECN capable", v6 ? 6 : 4);
		in = frame_with_ecn(in, 0);
		clock_at(s, clock_ns() + 450 * MS, 100000000);
		expect_dropped(&in, s);
	}
}

/* Of the longest horizon, or after a packet of UDP_SEGMENT at a low R, which costs seconds. */
Test(departure_udp, departure_udp__of_a_clock_that_is_seconds_ahead)
{
	struct ip_spec s = { .udp = 1, .payload = 1000, .tos = ECT0 };
	struct frame in = frame_of(s);
	struct result r;
	__u64 clock;

	enforce_with_fq();
	horizon_set(1000 * MS, 1);
	run(EGRESS, &in);
	clock = clock_ns() + 1900 * MS;
	clock_at(s, clock, 100000000);
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, clock);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_HORIZON_MARK, STAT_PACED);
	fixture("more than twice the horizon");
	clock_at(s, clock_ns() + 2100 * MS, 100000000);
	expect_dropped(&in, s);
	fixture("the cost of one packet");
	clock_at(s, clock_ns() + 50000 * MS, 100000000);
	expect_dropped(&in, s);
}

/* A clock that makes no sense holds nothing back for long. */
Test(departure_udp, departure_udp__of_a_wild_clock)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 before;
	struct result r;

	enforce_with_fq();
	horizon_set(100 * MS, 0);
	run(EGRESS, &in);
	clock_at(s, clock_ns() + 70000 * MS, 100000000);
	expect_counted(STAT_TX_DATA);
	before = clock_ns();
	r = run(EGRESS, &in);
	expect_between(r.ctx.tstamp, before + 200 * MS + r.out.len * 160, clock_ns() + 200 * MS + r.out.len * 160);
	expect_counted(STAT_TX_DATA, STAT_HORIZON, STAT_PACED);
	before = clock_ns();
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_DROP); /* the clock has come to its senses */
	expect_counted(STAT_TX_HORIZON);
}

/* No room for telemetry, or no peer that strips it: there is no feedback, and R means nothing. */
Test(departure_udp, departure_udp__what_leaves_plain_is_not_held)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s), empty = udp();
	struct port port = port_usual();
	struct host unknown = { .asked_ns = clock_ns() };

	enforce_with_fq();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	clock_at(s, clock_ns() + 900 * MS, 100000000);
	expect_untouched(EGRESS, &empty, STAT_TX_PLAIN_ACK);
	host_set(0, HOST_B, &unknown);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
	hosts_strip();
	port.mtu = in.len;
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	expect_untouched(EGRESS, &in, STAT_TX_MTU);
}

Test(departure_udp, departure_udp__without_fq_is_not_held_and_counted)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s), by_tcp = tcp(.payload = 1000), empty = udp();
	__u64 clock = clock_ns() + 900 * MS;
	struct result r;

	run(EGRESS, &in); /* dry-run */
	expect_counted(STAT_TX_DATA);
	control_set(MODE_OBSERVE, 0);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	control_set(MODE_ENFORCE, 0);
	clock_at(s, clock, 100000000);
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_PASS);
	expect_eq(r.ctx.tstamp, 0);
	expect_eq(flow_get(s).tx.clock_ns, clock);
	expect_counted(STAT_TX_DATA, STAT_UNHELD);
	run(EGRESS, &by_tcp);
	expect_counted(STAT_TX_DATA);
	expect_untouched(EGRESS, &empty, STAT_TX_PLAIN_ACK);
}
