// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/feedback.bpf.h: the positions in the flow, and the hops' clock, that feedback is of. */
#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(feedback_position, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(feedback_position_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

#define WRAP_NS (1ULL << 24)

/* The gap says how often the 24 bits wrapped. */
SinkTest(feedback_position, feedback__after_the_hops_clock_wrapped)
{
	struct feedback fb = { .hops = 1, .seq = 1000 };
	struct peer peer = peer_usual();
	struct port port = port_usual();
	unsigned int wraps;

	/* 1 Gbit/s and 20 ms: 8 RTTs are 160 ms, and the byte counter takes 1 s to wrap */
	peer.t_ns = 20 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	port.speed_bps = 1000000000;
	port_set(WORLD_IFINDEX, &port);
	ingress_flow_runs(0, 1000000);
	fb.hop[0] = ingress_hop_of(2, 0, 0, 0);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	for (wraps = 0; wraps <= 8; wraps++) {
		__u64 ts = fb.hop[0] >> 36 & 0xffffff, tx = (fb.hop[0] >> 16 & 0xfffff) * 128;
		__u64 dt = wraps * WRAP_NS + 3 * MS;

		fixture("%u times", wraps);
		fb.hop[0] = ingress_hop_of(2, ts + dt, tx + dt / 10, 0);
		fb.gap_ns = dt + 2 * MS; /* queueing moved it by that much */
		fb.seq += 10;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN) == HPCC_SKIPPED, 0);
		if (wraps)
			expect_between(flow_get(a_to_b).cc.u, Q24_ONE * 0.79, Q24_ONE * 0.81);
	}
	fixture("reordered by a whole wrap");
	fb.gap_ns = -(__s64)(WRAP_NS - 3 * MS);
	fb.hop[0] = ingress_hop_of(2, (fb.hop[0] >> 36) + 3 * MS, 0, 0);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_SKIPPED);
}

/* 32 bits of the position come back; the bytes sent meanwhile give the rest. */
SinkTest(feedback_position, feedback__position_beyond_4_gb)
{
	static const __u64 sent[] = { 0x1ffffff00, 0x200000000, 0x2000000ff };
	struct feedback fb = { .hops = 1, .hop = { ingress_hop_of(12, 0, 0, 0) } };
	unsigned int i;

	ingress_flow_runs(0, 1000);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	for (i = 0; i < 3; i++) {
		struct flow f = flow_get(a_to_b);

		fixture("%llu bytes sent", sent[i]);
		f.tx.bytes = sent[i];
		f.cc.last_update_seq = sent[i] - 10000;
		flow_set(a_to_b, &f);
		hop_advance(&fb, 0, 1000, 500, 0);
		fb.gap_ns = 1000;
		fb.seq = sent[i] - 10000;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FAST);
		hop_advance(&fb, 0, 1000, 500, 0);
		fb.seq = sent[i] - 9999;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FULL);
		expect_eq(flow_get(a_to_b).cc.last_update_seq, sent[i]);
	}
}

/*
 * A flow that was carried over may hear of packets that it does not know to be sent, or of those of an earlier life:
 * neither is a position that what follows has to reach first.
 */
SinkTest(feedback_position, feedback__position_that_was_not_sent)
{
	static const struct {
		__u64 sent;
		__u32 seq;
		int old; /* 3.5 GiB before what was sent, and less */
	} cases[] = {
		{ 1000000, 1000001, 0 },	{ 1000000, 1500000000, 0 },	{ 1000000, 0x80000000, 0 },
		{ 1000000, 0xfffffff0, 0 },	{ 1000000, 980000, 1 },		{ 0x1fffffff0, 0x10, 0 },
		{ 0x200000000, 1, 0 },		{ 0x200000000, 0x1fffffff, 0 }, { 0x200000000, 0x20000000, 1 },
		{ 0x200000000, 0x80000000, 1 },
	};
	struct frame first = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_hop = { ingress_hop_of(12, 0, 0, 0) }), in;
	unsigned int i;

	ingress_flow_runs(0, 1000);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__u64 sent = cases[i].sent;
		struct flow f = flow_get(a_to_b);

		fixture("%#llx bytes sent, feedback for %#x", sent, cases[i].seq);
		f.tx.bytes = sent;
		f.cc.hops = 0;
		flow_set(a_to_b, &f);
		run(sink, &first);
		f = flow_get(a_to_b);
		f.cc.last_update_seq = sent - 10000;
		f.rx.fb_rx_ns = 0;
		flow_set(a_to_b, &f);
		in = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = cases[i].seq,
			    .echo_hop = { ingress_hop_of(12, 10000, 0, 0) });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST, STAT_RX_DATA, cases[i].old ? STAT_FB_FAST : STAT_FB_FULL);
		expect_eq(flow_get(a_to_b).cc.last_update_seq, cases[i].old ? sent - 10000 : sent);
	}
}

/*
 * A round ends with the first byte that leaves after the update, and not with what has been given to fq and waits there
 * for less than T. At 80 Gbit/s 50 ms are 500 MB; the test takes some of that time.
 */
SinkTest(feedback_position, feedback__round_ends_before_what_still_waits)
{
	struct frame first = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_hop = { ingress_hop_of(12, 0, 0, 0) }),
		     second = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = 20,
				     .echo_hop = { ingress_hop_of(12, 10000, 0, 0) });
	static const struct {
		const char *what;
		__u64 ahead_ms, round;
		__u32 hop_ns;
	} over[] = {
		{ "what waits for longer than T shows no effect of the new W", 150, 1, 15000 },
		{ "a clock that makes no sense is not believed", 70000, 0, 20000 },
	};
	__u64 sent = 10000000000ULL, before;
	unsigned int i;
	struct flow f;

	ingress_flow_runs(0, sent);
	run(sink, &first);
	f = flow_get(a_to_b);
	f.params.t_ns = 100 * MS;
	f.cc.rate_bps = 80000000000ULL;
	f.cc.last_update_seq = 1;
	before = clock_ns();
	f.tx.clock_ns = before + 50 * MS;
	flow_set(a_to_b, &f);
	run(sink, &second);
	expect_counted(STAT_RX_DATA, STAT_FB_FIRST, STAT_RX_DATA, STAT_FB_FULL);
	expect_between(flow_get(a_to_b).cc.last_update_seq, sent - 50 * MS * 10,
		       sent - 50 * MS * 10 + (clock_ns() - before) * 10 + 10);

	for (i = 0; i < sizeof(over) / sizeof(over[0]); i++) {
		fixture("%s", over[i].what);
		f = flow_get(a_to_b);
		f.tx.clock_ns = clock_ns() + over[i].ahead_ms * MS;
		f.cc.last_update_seq = over[i].round;
		flow_set(a_to_b, &f);
		second = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = 20,
				.echo_hop = { ingress_hop_of(12, over[i].hop_ns, 0, 0) });
		run(sink, &second);
		expect_counted(STAT_RX_DATA, STAT_FB_FULL);
		expect_eq(flow_get(a_to_b).cc.last_update_seq, sent);
	}
}

/*
 * The waiting bytes follow from the clock and R. After R has risen they are more than was ever sent: the
 * round then ends with the packet whose feedback this is, and not before the flow began.
 */
SinkTest(feedback_position, feedback__round_when_more_seems_to_wait_than_was_sent)
{
	struct feedback fb = { .hops = 1, .seq = 2000, .hop = { ingress_hop_of(12, 0, 0, 0) } };
	struct flow f;
	struct frame in;

	ingress_flow_runs(0, 3000);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	f = flow_get(a_to_b);
	f.params.t_ns = 1000 * MS;
	f.cc.rate_bps = 80000000000ULL;
	f.cc.last_update_seq = 1;
	f.tx.clock_ns = clock_ns() + 900 * MS;
	flow_set(a_to_b, &f);
	in = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = 2100, .echo_hop = { ingress_hop_of(12, 10000, 0, 0) });
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_FULL);
	expect_eq(flow_get(a_to_b).cc.last_update_seq, 2100);

	fixture("a probe's position is in the flow too");
	in = tcp(.payload = 100);
	expect_eq(get32(run(EGRESS, &in, .clone = 1).out.b + 14 + 28 + 8), 0);
}

/*
 * An echo is read at the length of two hops, which is there in front of any TCP packet, and of any
 * IPv6 packet. A shorter one in front of a shorter datagram is left out, and the datagram stripped.
 */
SinkTest(feedback_position, feedback__before_a_small_datagram)
{
	unsigned int hops, payload;

	FOR_V4_AND_V6 (v6) {
		flow_runs_of((struct ip_spec){ .v6 = v6, .udp = 1, .payload = 100 }, 1000);
		for (hops = 0; hops <= 3; hops++) {
			for (payload = 0; payload <= 20; payload++) {
				struct frame inner = udp(.v6 = v6, .reply = 1, .payload = payload);
				struct frame in = wrap(&inner, .echo = 1, .echo_hops = hops,
						       .echo_hop = { ingress_hop_of(12, 1, 0, 0) });
				unsigned int follows = 12 + 8 * hops + (v6 ? 40 : 20) + 8 + payload;
				struct flow f = flow_get((struct ip_spec){ .v6 = v6, .udp = 1 });
				struct result r;

				fixture("IPv%d, %u hops, %u bytes", v6 ? 6 : 4, hops, payload);
				f.cc.hops = 0; /* a first feedback, each time */
				flow_set((struct ip_spec){ .v6 = v6, .udp = 1 }, &f);
				r = run(sink, &in);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &inner);
				expect_counted(STAT_RX_DATA, hops && follows >= 52 ? STAT_FB_FIRST : STAT_FB_SKIPPED);
			}
		}
	}
}
