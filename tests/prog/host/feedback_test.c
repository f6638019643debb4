// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/feedback.bpf.h: W and R follow feedback as the algorithm says. */
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(feedback, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(feedback_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

SinkTest(feedback, feedback__is_what_hpcc_computes)
{
	struct feedback fb = { .hops = 2, .path = 0x321, .gap_ns = 0 };
	unsigned int kinds[4] = {}, i;

	ingress_flow_runs(0, 1000000);
	fb.hop[0] = ingress_hop_of(12, 0xfffff0, 0xfffff * 128, 0);
	fb.hop[1] = ingress_hop_of(12, 5, 7 * 128, 8000);
	fb.seq = 20000;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	for (i = 0; i < 400; i++) {
		struct flow f = flow_get(a_to_b);
		__u64 dt = 50000 + i % 7 * 1000;

		fixture("feedback %u", i);
		/* Loads from 60 to 130 %, a queue that comes and goes, and the RTT turns every 20th. */
		hop_advance(&fb, 0, dt, 600 + i * 13 % 700, i % 50 < 25 ? 0 : i * 400);
		hop_advance(&fb, 1, dt + 10, 500 + i * 29 % 400, i % 3 * 1600);
		fb.gap_ns = dt;
		fb.seq += 60000;
		f.tx.bytes = fb.seq + 1000000;
		flow_set(a_to_b, &f);
		kinds[expect_feedback(&fb, i % 2 * 100, i % 5 ? MODE_DRY_RUN : MODE_ENFORCE)]++;
	}
	/* The test is worth something only if it saw both. */
	cr_assert(kinds[HPCC_FAST] > 100 && kinds[HPCC_FULL] > 10, "fast %u, full %u", kinds[HPCC_FAST],
		  kinds[HPCC_FULL]);
	cr_assert(flow_get(a_to_b).cc.w < flow_get(a_to_b).params.w_init, "W never moved");
}

/* Where 10.1.0.0/16 has a base RTT of 100 us and this variant; the flow takes it up. */
static void flow_runs_variant(enum hpcc_variant variant)
{
	struct peer peer = peer_usual();

	peer.t_ns = 100000;
	peer.variant = variant;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	ingress_flow_runs(0, 1000000);
	expect_eq(flow_get(a_to_b).params.variant, variant);
}

/*
 * The variant changes while the flow runs, and the dampener is gone with it. Feedback comes once per RTT, so
 * that what it stands for (hpcc_stands_for()) is more than s whatever the clock does in the test.
 */
SinkTest(feedback, feedback__is_what_the_peers_variant_computes)
{
	static const enum hpcc_variant variants[] = { HPCC_VAI_SF, HPCC_PLAIN, HPCC_VAI_SF };
	struct feedback fb = { .hops = 1, .seq = 20000, .hop = { ingress_hop_of(12, 0, 0, 0) } };
	unsigned int i, k, full, dampened;

	for (k = 0; k < 3; k++) {
		flow_runs_variant(variants[k]);
		for (i = full = dampened = 0; i < 60; i++) {
			struct flow f = flow_get(a_to_b);

			fixture("variant %u, feedback %u", variants[k], i);
			hop_advance(&fb, 0, 100000 + i % 7 * 1000, 700 + i * 13 % 600, i % 20 < 10 ? 4000000 : 0);
			fb.gap_ns = f.rx.feedbacks ? 100000 + i % 7 * 1000 : 0;
			fb.seq += 600000;
			f.tx.bytes = fb.seq + 1000000;
			f.cc.wc = f.cc.w = 600000ULL << 12;
			flow_set(a_to_b, &f);
			full += expect_feedback(&fb, 0, MODE_DRY_RUN) == HPCC_FULL;
			dampened += flow_get(a_to_b).cc.vai.dampener_q8 > 0;
		}
		cr_assert_gt(full, 20);
		expect_eq(dampened > 0, variants[k] == HPCC_VAI_SF);
	}
}

SinkTest(feedback, feedback__moves_w_and_r_by_the_paper)
{
	/* One hop at 190 % for one whole RTT: U = 1.9, W = Wc * 0.95 / 1.9 + W_AI. */
	struct feedback fb = { .hops = 1, .seq = 1000, .hop = { ingress_hop_of(12, 0, 0, 0) } };
	struct flow f;

	ingress_flow_runs(0, 1000000);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	expect_eq(flow_get(a_to_b).cc.w, 12500000ULL << 12);
	hop_advance(&fb, 0, 1000000, 1900, 0);
	fb.gap_ns = 1000000;
	f = flow_get(a_to_b);
	expect_eq(f.cc.last_update_seq, 1000000); /* the first round ends with what is sent from here on */
	f.tx.bytes = 2000000;
	flow_set(a_to_b, &f);
	fb.seq = 1000001;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FULL);
	f = flow_get(a_to_b);
	expect_between(f.cc.u, Q24_ONE * 1.8999, Q24_ONE * 1.9001);
	expect_between(f.cc.w >> 12, 6250000 + 6250 - 700, 6250000 + 6250 + 700);
	expect_eq(f.cc.wc, f.cc.w);
	expect_between(f.cc.rate_bps / 1000000, 50049 - 5, 50049 + 6);
	expect_eq(f.cc.last_update_seq, 2000000);
}

/* The clock of a flow that is held for 2 s by R, at a port with these flags, after R has been halved. */
static void expect_clock(__u32 port_flags, enum flow_held held, __u64 ahead_ns)
{
	struct feedback fb = { .hops = 1, .seq = 1000, .hop = { ingress_hop_of(12, 0, 0, 0) } };
	__u64 begun, took;
	struct flow f;

	ingress_flow_runs(0, 1000000);
	expect_feedback(&fb, 0, MODE_DRY_RUN);
	hop_advance(&fb, 0, 1000000, 1900, 0);
	fb.gap_ns = 1000000;
	fb.seq = 1000001;
	f = flow_get(a_to_b);
	f.tx.bytes = fb.seq; /* what waits does not count as under way */
	f.path.port_flags |= port_flags;
	f.tx.held = held;
	begun = clock_ns();
	f.tx.clock_ns = begun + 2000 * MS;
	flow_set(a_to_b, &f);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FULL);
	took = clock_ns() - begun;
	expect_between(flow_get(a_to_b).tx.clock_ns, begun + ahead_ns - took - MS, begun + ahead_ns + MS);
}

SinkTest(feedback, feedback__leaves_the_clock_of_packets_that_fq_holds)
{
	expect_clock(0, HELD_RATE, 2000 * MS);
}

/* The qdisc `sluice` spaces them by the new R: 12.5 MB by 6.256. */
SinkTest(feedback, feedback__moves_the_clock_of_packets_that_sluice_holds)
{
	expect_clock(PORT_F_QUEUE, HELD_RATE, 3996 * MS);
}

SinkTest(feedback, feedback__leaves_the_clock_of_a_pause)
{
	expect_clock(PORT_F_QUEUE, HELD_PAUSE, 2000 * MS);
}

SinkTest(feedback, feedback__kinds_that_change_nothing)
{
	struct feedback fb = { .hops = 2, .path = 5, .seq = 1000 }, same;

	ingress_flow_runs(0, 1000000);
	fixture("no hop");
	same = (struct feedback){ .seq = 1 };
	expect_eq(expect_feedback(&same, 0, MODE_DRY_RUN), HPCC_SKIPPED);
	fixture("the first");
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("the same again");
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_SKIPPED);
	fixture("an older one");
	same = fb;
	fb.hop[0] = ingress_hop_of(12, -1000, 0, 0);
	fb.hop[1] = ingress_hop_of(12, -1000, 0, 0);
	fb.gap_ns = -1000;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_SKIPPED);
	fb = same;
	fixture("another path");
	fb.path = 6;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("another number of hops");
	fb.hops = 3;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("another speed");
	hop_advance(&fb, 0, 1000, 500, 0);
	hop_advance(&fb, 1, 1000, 500, 0);
	fb.hop[2] = ingress_hop_of(13, 1000, 1280, 0);
	fb.gap_ns = 1000;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("after a pause");
	hop_advance(&fb, 0, 9 * MS, 100, 0);
	hop_advance(&fb, 1, 9 * MS, 100, 0);
	fb.hop[2] = ingress_hop_of(13, 1000 + 9 * MS, 1280, 0);
	fb.gap_ns = 9 * MS;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
}

SinkTest(feedback, feedback__observed_only)
{
	struct feedback fb = { .hops = 1, .seq = 1000, .hop = { ingress_hop_of(12, 0, 0, 0) } };
	struct flow before;

	control_set(MODE_OBSERVE, 0);
	ingress_flow_runs(0, 1000000);
	before = flow_get(a_to_b);
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FIRST);
	hop_advance(&fb, 0, 1000000, 1900, 0);
	fb.gap_ns = 1000000;
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FAST);
	expect_between(flow_get(a_to_b).cc.u, Q24_ONE * 1.8999, Q24_ONE * 1.9001);
	expect_eq(flow_get(a_to_b).cc.w, before.cc.w);
	expect_eq(flow_get(a_to_b).cc.rate_bps, before.cc.rate_bps);
}

SinkTest(feedback, feedback__not_while_another_cpu_has_the_flow)
{
	struct frame inner = tcp(.reply = 1), in = wrap(&inner, .echo = 1, .echo_hops = 1);
	struct flow f, now;
	struct result r;

	ingress_flow_runs(0, 1000000);
	f = flow_get(a_to_b);
	f.rx.lock = 1;
	flow_set(a_to_b, &f);
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA, STAT_FB_CONTENDED);
	now = flow_get(a_to_b);
	expect_eq(now.rx.lock, 1);
	cr_assert(!memcmp(&now.cc, &f.cc, sizeof(f.cc)), "the state moved");
	expect_eq(now.rx.feedbacks, 0);
}

SinkTest(feedback, feedback__for_an_unknown_flow)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = wrap(&inner, .echo = 1, .echo_hops = 2);
		struct result r = run(sink, &in);

		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_FB_NO_FLOW);
		expect_eq(flow_exists(*ingress_forward(v6)), 0);
	}
}

SinkTest(feedback, feedback__takes_new_parameters_first)
{
	struct frame in = from_b(0, 0, .echo = 1, .echo_hops = 1);
	struct peer peer = peer_usual();

	ingress_flow_runs(0, 1000);
	peer.t_ns = 20000;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	run(sink, &in);
	expect_eq(flow_get(a_to_b).params.t_ns, 20000);
	expect_eq(flow_get(a_to_b).cc.w, 250000ULL << 12);
	expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
}

/* Each feedback is of the other path: both have a record, so all but the first of each decide. */
SinkTest(feedback, feedback__of_paths_that_take_turns)
{
	struct feedback path[2] = { { .hops = 2, .path = 0x321 }, { .hops = 2, .path = 0x123 } };
	unsigned int i;

	ingress_flow_runs(0, 1000000);
	world_counted((const int[]){ -1 });
	for (i = 0; i < 2; i++)
		path[i].hop[0] = path[i].hop[1] = ingress_hop_of(12, 1000 * i, 0, 0);
	for (i = 0; i < 40; i++) {
		struct feedback *fb = &path[i % 2];
		struct frame inner = tcp(.reply = 1), in;
		struct flow f = flow_get(a_to_b);

		fixture("feedback %u", i);
		clock_pass(50000);
		hop_advance(fb, 0, 100000, 500, 0);
		hop_advance(fb, 1, 100000, 600, 0);
		f.tx.bytes = 1000000 + 100000 * i;
		flow_set(a_to_b, &f);
		in = wrap(&inner, .echo = 1, .echo_hops = 2, .echo_path = fb->path, .echo_seq = f.tx.bytes,
			  .echo_hop = { fb->hop[0], fb->hop[1] });
		run(sink, &in);
		f = flow_get(a_to_b);
		expect_eq(f.cc.path_id, fb->path);
		if (i < 2)
			expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		else
			expect_counted(STAT_RX_DATA, STAT_FB_PATH_KEPT, STAT_FB_FULL);
		expect_eq(f.rx.paths, i ? 2 : 0);
	}
	cr_expect_lt(flow_get(a_to_b).cc.u, Q24_ONE * 7 / 10);
	/* Only one of them is left: the records go. */
	clock_pass(100000000);
	hop_advance(&path[1], 0, 100000000, 500, 0);
	hop_advance(&path[1], 1, 100000000, 500, 0);
	struct frame inner = tcp(.reply = 1),
		     in = wrap(&inner, .echo = 1, .echo_hops = 2, .echo_path = path[1].path, .echo_seq = 4900000,
			       .echo_hop = { path[1].hop[0], path[1].hop[1] });

	run(sink, &in);
	expect_eq(flow_get(a_to_b).rx.paths, 0);
}
