// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/host/delay.bpf.h and what becomes of its samples: flows from A to B whose path stamps nothing, and
 * the feedback that B sends back.
 */
#include <string.h>

#include "world.h"

#define MS 1000000ULL
#define AGE_NS 1024ULL

/* Peers with whom delay decides where nothing is stamped; fq, and departure times. */
static void make(void)
{
	struct peer peer = peer_usual();
	struct port port = port_usual();

	world_make();
	peer.fallback = 1;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	control_set(MODE_ENFORCE, 0);
	hosts_strip();
}

TestSuite(delay, .init = make, .fini = world_drop, .timeout = 60);
TestSuite(delay_xdp, .init = make, .fini = world_drop, .timeout = 60);

static const struct ip_spec data = { .payload = 1000 }, datagram = { .udp = 1, .payload = 1000 };

static struct result leaves(struct ip_spec s)
{
	struct frame in = frame_of(s);

	return run(EGRESS, &in);
}

static __u64 word(__u32 seq, __u64 left_ns)
{
	return (__u64)seq << 32 | (__u32)left_ns;
}

/* What the flow sent so far; one packet that ends at seq is timed, and left so long ago. */
static void timed_ago(struct ip_spec s, __u64 tx_bytes, __u32 seq, __u64 ago_ns)
{
	struct flow f = flow_get(s);

	f.tx.bytes = tx_bytes;
	f.delay.timed[0] = word(seq, clock_ns() - ago_ns);
	f.delay.timed_count = 1;
	f.delay.sample_ns = 0;
	flow_set(s, &f);
}

/* Feedback for the packet that ends at seq: of no hop, or of one at 100 Gbit/s with the clock ts. */
static void feedback(struct ip_spec s, __u32 seq, __u32 ts, __u16 age)
{
	struct frame inner, in;

	s.reply = 1;
	s.payload = 100;
	inner = frame_of(s);
	in = wrap(&inner, .echo = 1, .echo_seq = seq, .echo_age = age, .echo_hops = !!ts, .echo_path = 5,
		  .echo_hop = { 12ULL << 60 | (__u64)ts << 36 });
	run(sink, &in);
}

#define unstamped(s, seq) feedback(s, seq, 0, 0)
#define stamped(s, seq, ts) feedback(s, seq, ts, 0)

/* The next feedback is the last of a run that speaks for the other control. */
static void run_is_nearly_over(struct ip_spec s, __u32 swift)
{
	struct flow f = flow_get(s);

	f.fallback.swift = swift;
	f.fallback.run = FALLBACK_RUN - 1;
	f.fallback.since_ns = clock_ns() - 16 * WORLD_T_NS;
	flow_set(s, &f);
}

static void swift_decides(struct ip_spec s)
{
	run_is_nearly_over(s, 0);
	world_counted((const int[]){ -1 });
	unstamped(s, 1);
	expect_counted(STAT_RX_DATA, STAT_FB_TO_SWIFT, STAT_FB_SKIPPED);
	expect_eq(flow_get(s).fallback.swift, 1);
}

/* --- what is timed --- */

Test(delay, timed__by_the_departure_that_the_pacer_gave)
{
	__u64 clock, before = clock_ns();
	struct result r = leaves(data);
	struct flow f = flow_get(data);

	fixture("it leaves at once");
	expect_eq(f.delay.timed_count, 1);
	expect_eq(f.delay.timed[0] >> 32, r.out.len);
	expect_between((__u32)f.delay.timed[0] - (__u32)before, 0, clock_ns() - before);

	fixture("it waits in fq");
	clock = clock_ns() + 500 * MS;
	f.tx.clock_ns = clock;
	flow_set(data, &f);
	r = leaves(data);
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

Test(delay, timed__four_in_a_row_and_then_none)
{
	struct flow f;
	int i;

	for (i = 1; i <= 6; i++) {
		leaves(data);
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
	leaves(data);
	f = flow_get(data);
	f.echo.version = 2;
	flow_set(data, &f);
	leaves((struct ip_spec){});
	expect_eq(flow_get(data).echo.sent, 2);
	expect_eq(flow_get(data).delay.timed_count, 1);
	fixture("datagrams in one packet, which get no telemetry");
	run(EGRESS, &udp_gso, .gso_size = 1000, .gso_segs = 2);
	expect_eq(flow_get(datagram).tx.bytes > 2000, 1);
	expect_eq(flow_get(datagram).delay.timed_count, 0);
	fixture("a flow that knows a hop");
	f = flow_get(data);
	f.cc.hops = 1;
	flow_set(data, &f);
	leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 1);
	fixture("with the fallback off");
	f.cc.hops = 0;
	flow_set(data, &f);
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 1);
}

Test(delay, timed__anew_after_a_second_without_feedback)
{
	struct flow f;

	leaves(data);
	f = flow_get(data);
	f.delay.timed_count = FLOW_TIMED;
	f.delay.timed[0] = word(7, clock_ns() - 900 * MS);
	flow_set(data, &f);
	leaves(data);
	expect_eq(flow_get(data).delay.timed_count, FLOW_TIMED);
	expect_eq(flow_get(data).delay.timed[0], f.delay.timed[0]);
	f.delay.timed[0] = word(7, clock_ns() - 1001 * MS);
	flow_set(data, &f);
	leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 1);
	expect_eq(flow_get(data).delay.timed[0] >> 32, flow_get(data).tx.bytes);
}

Test(delay, timed__one_probe)
{
	struct frame in = frame_of(datagram);
	__u64 before, first;

	leaves(datagram);
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

	leaves(data);
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
	leaves(data);
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
	leaves(data);
	timed_ago(data, 5000, 5000, -50 * MS);
	unstamped(data, 5000);
	expect_eq(flow_get(data).delay.sample_ns, 0);
	expect_eq(flow_get(data).delay.timed_count, 0);
}

SinkTest(delay, sample__of_any_of_the_four)
{
	struct flow f;
	int i;

	leaves(data);
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

/* What was not sent since is no sample, whatever an earlier one left there. */
SinkTest(delay, sample__none_of_an_earlier_row)
{
	struct flow f;

	leaves(data);
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
	leaves(data);
	timed_ago(data, 9000, 5000, 3 * MS);
	unstamped(data, 4999);
	expect_eq(flow_get(data).delay.timed_count, 1);
	expect_eq(flow_get(data).delay.sample_ns, 0);
	unstamped(data, 5001);
	expect_eq(flow_get(data).delay.timed_count, 0);
	expect_eq(flow_get(data).delay.sample_ns, 0);
	leaves(data);
	expect_eq(flow_get(data).delay.timed_count, 1);
}

SinkTest(delay, sample__positions_wrap)
{
	leaves(data);
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

/* A packet's position may be the probe's: each is told by how its feedback comes. */
SinkTest(delay, sample__of_a_probe_is_its_own)
{
	struct frame inner = frame_cut(frame_of(datagram), 14 + 20 + 20), probe, in;
	struct host h = { .asked_ns = 1, .capable = 1 };
	struct flow f;
	__u64 now;

	leaves(datagram);
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

/* --- what becomes of it --- */

SinkTest(delay, fallback__over_and_back)
{
	__u64 tx = 1 << 20, delay;
	struct swift_ack ack;
	struct hpcc_state want;
	struct flow f;
	int i;

	leaves(data);
	expect_counted(STAT_TX_DATA);
	unstamped(data, 1);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(flow_get(data).fallback.run, 1);
	swift_decides(data);
	f = flow_get(data);
	expect_eq(f.cc.w, f.params.w_init);
	expect_eq(f.rx.feedbacks, 0);
	expect_eq(f.swift.target_ns, WORLD_T_NS * 3 / 2);

	/* Far above the target and below it: W is what swift.h makes of it. */
	for (i = 0; i < 6; i++) {
		fixture("sample %d", i);
		tx += 100000;
		timed_ago(data, tx, tx, i < 3 ? 20 * MS : WORLD_T_NS / 1000);
		want = flow_get(data).cc;
		unstamped(data, tx);
		expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
		f = flow_get(data);
		delay = f.delay.sample_ns;
		expect_eq(delay > f.swift.target_ns, i < 3);
		ack = (struct swift_ack){ .seq = tx, .snd_nxt = tx, .delay_ns = delay };
		expect_eq(swift_new_ack(&want, &f.params, &f.swift, &ack), HPCC_FULL);
		expect_eq(f.cc.w, want.w);
		expect_eq(f.cc.wc, want.wc);
		expect_eq(f.cc.rate_bps, want.rate_bps);
		expect_eq(f.cc.last_update_seq, want.last_update_seq);
		expect_eq(f.rx.feedbacks, i + 1);
		expect_between(clock_ns() - f.rx.fb_ns, 0, 1000 * MS);
	}
	expect_eq(f.cc.w < f.params.w_init, 1);

	fixture("stamped again");
	stamped(data, tx, 1000);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED); /* not yet, and it was not timed */
	expect_eq(flow_get(data).cc.hops, 0);
	run_is_nearly_over(data, 1);
	stamped(data, tx, 2000);
	expect_counted(STAT_RX_DATA, STAT_FB_TO_HPCC, STAT_FB_FIRST);
	expect_eq(flow_get(data).fallback.swift, 0);
	expect_eq(flow_get(data).cc.w, f.cc.w);
	expect_eq(flow_get(data).cc.hops, 1);
	expect_eq(flow_get(data).cc.u, Q24_ONE);
}

/* Some packets are stamped and some are not: who decides goes on, and delay is taken of both. */
SinkTest(delay, fallback__of_a_path_that_stamps_now_and_then)
{
	__u32 ts = 1000;
	int i;

	leaves(data);
	stamped(data, 1, ts);
	expect_counted(STAT_TX_DATA, STAT_RX_DATA, STAT_FB_FIRST);
	for (i = 0; i < 3; i++) {
		fixture("HPCC, time %d", i);
		run_is_nearly_over(data, 0);
		stamped(data, 1, ts += 1000);
		world_counted((const int[]){ -1 });
		unstamped(data, 1);
		expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
		expect_eq(flow_get(data).fallback.swift, 0);
		expect_eq(flow_get(data).fallback.run, 1);
		expect_eq(flow_get(data).cc.hops, 1);
	}
	swift_decides(data);
	for (i = 0; i < 3; i++) {
		fixture("Swift, time %d", i);
		run_is_nearly_over(data, 1);
		unstamped(data, 1);
		expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
		timed_ago(data, 5000 + i, 5000 + i, 3 * MS);
		stamped(data, 5000 + i, ts += 1000);
		expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
		expect_eq(flow_get(data).fallback.swift, 1);
		expect_eq(flow_get(data).fallback.run, 1);
	}
}

SinkTest(delay, fallback__off_keeps_w)
{
	struct peer peer = peer_usual();
	struct flow f;

	leaves(data);
	swift_decides(data);
	timed_ago(data, 5000, 5000, 100 * MS);
	unstamped(data, 5000);
	expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
	f = flow_get(data);
	expect_eq(f.cc.w < f.params.w_init, 1);

	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	leaves(data);
	world_counted((const int[]){ -1 });
	f = flow_get(data);
	expect_eq(f.fallback.swift, 0);
	expect_eq(f.cc.w, f.params.w_init);
	run_is_nearly_over(data, 0);
	timed_ago(data, 9000, 9000, 100 * MS);
	unstamped(data, 9000);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(flow_get(data).fallback.swift, 0);
	expect_eq(flow_get(data).cc.w, f.params.w_init);
}

/* In mode observe the delay is measured, and who would decide is told. */
SinkTest(delay, fallback__observed)
{
	control_set(MODE_OBSERVE, 0);
	leaves(data);
	swift_decides(data);
	timed_ago(data, 5000, 5000, 100 * MS);
	unstamped(data, 5000);
	expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
	expect_between(flow_get(data).delay.sample_ns, 100 * MS, 900 * MS);
	expect_eq(flow_get(data).cc.w, flow_get(data).params.w_init);
}

SinkTest(delay, fallback__target_of_the_configuration)
{
	struct peer peer = peer_usual();

	peer.fallback = 1;
	peer.target_ns = 7 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	leaves(data);
	expect_eq(flow_get(data).swift.target_ns, 7 * MS);
	expect_eq(flow_get(data).swift.fs_range_ns, 35 * MS);
	fixture("a base RTT whose target swift.h cannot hold");
	peer.target_ns = 0;
	peer.t_ns = 134217729;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	leaves(data);
	expect_eq(flow_get(data).swift.target_ns, 0);
	peer.t_ns--;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	leaves(data);
	expect_eq(flow_get(data).swift.target_ns > peer.t_ns, 1);
}
