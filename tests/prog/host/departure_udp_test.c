// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/departure.bpf.h: when a datagram leaves, and when it is dropped or marked instead. */
#include <sys/socket.h>
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
	fixture("a second and more");
	clock_at(s, 0, 100000000);
	asked = clock_ns() + 7000 * MS;
	r = run(EGRESS, &in, .tstamp = asked);
	expect_eq(r.ctx.tstamp, asked);
	expect_counted(STAT_TX_DATA, STAT_PACED);
	fixture("a time that makes no sense");
	clock_at(s, 0, 100000000);
	asked = clock_ns();
	r = run(EGRESS, &in, .tstamp = 1ULL << 62);
	expect_between(r.ctx.tstamp, asked + 2 * MS + r.out.len * 160, clock_ns() + 2 * MS + r.out.len * 160);
	expect_counted(STAT_TX_DATA, STAT_PACED, STAT_HORIZON);
}

/* A flow whose path was heard of, at 20 Mbit/s and a base RTT of 1 ms; the horizon is the default. */
static struct frame flow_at_20_mbit(struct ip_spec s)
{
	struct frame in = frame_of(s);
	struct flow f;

	enforce_with_fq();
	horizon_set(0, 0);
	hosts_strip();
	run(EGRESS, &in);
	f = clock_at(s, 0, 20000000);
	f.rx.feedbacks = 1;
	flow_set(s, &f);
	return in;
}

/* How long the flow's next packet would wait. */
static __u64 waits_ns(struct ip_spec s)
{
	__u64 clock = flow_get(s).tx.clock_ns;

	return clock > clock_ns() ? clock - clock_ns() : 0;
}

/* 9 Mbit/s of 20 in all shapes: what R carries in a tenth of a second may come at once. */
Test(departure_udp, departure_udp__burst_below_its_share_is_kept)
{
	static const struct {
		int packets;
		__u64 every_ns;
	} shapes[] = { { 1, 1200000 }, { 10, 12 * MS }, { 40, 48 * MS }, { 80, 96 * MS } };
	unsigned int i;
	int burst, k;

	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1200 };
		struct frame in = flow_at_20_mbit(s);

		for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
			fixture("IPv%d, %d at once", v6 ? 6 : 4, shapes[i].packets);
			for (burst = 0; burst < 5; burst++) {
				hosts_strip();
				for (k = 0; k < shapes[i].packets; k++)
					expect_verdict(run(EGRESS, &in), VERDICT_PASS);
				clock_pass(shapes[i].every_ns);
			}
		}
	}
}

/* How long the flow has been behind is counted in steps of 2 ms, which begin anywhere: each takes 1 ms from the horizon. */
Test(departure_udp, departure_udp__burst_of_a_tenth_of_a_second_is_kept)
{
	struct ip_spec s = { .udp = 1, .payload = 1200 };
	struct frame in = flow_at_20_mbit(s);
	__u64 waits;

	do {
		waits = waits_ns(s);
		cr_assert(waits < 200 * MS);
	} while (run(EGRESS, &in).verdict == VERDICT_PASS);
	expect_between(waits, 98 * MS, 101 * MS);
}

/* Its telemetry was answered a moment ago: a flow without answers is not held. */
static void flow_is_answered(struct ip_spec s)
{
	struct flow f = flow_get(s);

	f.beside.unanswered = 0;
	flow_set(s, &f);
}

/*
 * Twice what R carries: the backlog grows at first, and becomes a base RTT when it has stood for a fifth of a second. So it
 * stays, at R, until the flow has been silent.
 */
Test(departure_udp, departure_udp__backlog_that_stands_is_a_base_rtt)
{
	struct ip_spec s = { .udp = 1, .payload = 1200 };
	struct frame in = flow_at_20_mbit(s);
	__u64 most = 0, cost = 0, before;
	int i, passed = 0;

	for (i = 0; i < 1600; i++) {
		before = waits_ns(s);
		if (run(EGRESS, &in).verdict == VERDICT_PASS) {
			cost = waits_ns(s) - before;
			passed += i >= 1200;
		}
		if (before > most)
			most = before;
		if (i >= 1200)
			expect_between(before, 0, 1 * MS + cost);
		if (i % 100 == 0) {
			hosts_strip();
			flow_is_answered(s);
		}
		clock_pass(cost / 2 - 1000);
	}
	expect_between(most, 50 * MS, 80 * MS);
	expect_between(passed, 190, 210);
	clock_pass(10 * MS);
	for (i = 0; i < 50; i++)
		expect_verdict(run(EGRESS, &in), VERDICT_PASS);
}

/*
 * SO_MAX_PACING_RATE: fq ignores it once a packet has a departure time, so the clock keeps it. The socket would have waited
 * without us, for as long as its buffer takes: that is no wait for the horizon.
 */
Test(departure_udp, departure_udp__at_the_rate_of_its_socket)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	struct asker a = asker_make();
	__u64 bytes = 100000, cost;
	struct flow f;
	int fd, i;

	enforce_with_fq();
	horizon_set(0, 0);
	run(EGRESS, &in, .ifindex = a.ifindex); /* of no such socket */
	f = flow_get(s);
	f.path.port_flags |= PORT_F_EDT;
	f.tx.clock_ns = 0;
	f.rx.feedbacks = 1;
	flow_set(s, &f);
	fd = packet_socket(LINK_NEAR);
	cr_assert(!setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes, sizeof(bytes)));
	packet_send(fd, &in);
	cost = waits_ns(s);
	expect_between(cost, in.len * 10000ULL - 10000, (in.len + 200) * 10000ULL);
	for (i = 0; i < 100; i++)
		packet_send(fd, &in);
	expect_between(waits_ns(s), 100 * cost, 101 * cost);
	expect_eq(flow_get(s).tx.held, HELD_NOT);
	fixture("R is half of it");
	clock_at(s, 0, 400000);
	for (i = 0; i < 200; i++)
		send(fd, in.b, in.len, 0);
	expect_between(waits_ns(s), 195 * MS, 225 * MS); /* a half of that is due to R */
}

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
