// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/rate.bpf.h: the rate of the first hop by Equation 1, in a VOQ. */
#include "voq_case.h"

TestSuite(voq_rate, .init = voq_make_world, .fini = world_drop, .timeout = 60);

/* The first window of the flow has left, and was answered: from then on Equation 1 counts. */
static void first_window_left(struct ip_spec s)
{
	struct flow f = flow_get(s);

	f.tx.bytes = q12_to_bytes(f.params.w_init);
	f.rx.feedbacks = 1;
	flow_set(s, &f);
}

/* Datagrams of 1000 bytes weigh 1138; the horizon is 1 ms. */
Test(voq_rate, rate__paces_udp)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct flow f;
	__u64 t;

	voq_leaves(s);
	first_window_left(s);
	hop_rate_is(0, 2000000);
	clocks_stop(s);
	t = clock_ns();
	voq_leaves(s);
	f = flow_get(s);
	expect_eq(f.voq.rate_bps, 16000000);
	expect_between(f.tx.clock_ns, t + 1138 * 500, clock_ns() + 1138 * 500);
	expect_eq(voq_leaves(s).ctx.tstamp, f.tx.clock_ns);
	expect_eq(flow_get(s).tx.held, HELD_HOP);

	fixture("HPCC has less");
	f = flow_get(s);
	f.cc.rate_bps = 10000000;
	flow_set(s, &f);
	clocks_stop(s);
	t = clock_ns();
	voq_leaves(s);
	f = flow_get(s);
	expect_between(f.tx.clock_ns, t + 1138 * 800, clock_ns() + 1138 * 800);
	hop_rate_is(0, 2000000); /* and credit */
	voq_leaves(s);
	expect_eq(flow_get(s).tx.held, HELD_RATE);
}

/* TCP gets R by its window: packets already in the VOQ must not keep a departure at a low R. */
Test(voq_rate, rate__is_not_that_of_the_clock_of_tcp)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	__u64 t;

	voq_leaves(s);
	f = flow_get(s);
	f.cc.rate_bps = 40000000;
	flow_set(s, &f);
	hop_rate_is(0, 1000000);
	clocks_stop(s);
	t = clock_ns();
	voq_leaves(s);
	f = flow_get(s);
	expect_eq(f.voq.rate_bps, 8000000);
	expect_between(f.tx.clock_ns, t + 1150 * 200, clock_ns() + 1150 * 200);
	voq_leaves(s);
	expect_eq(flow_get(s).tx.held, HELD_RATE);
}

/* B's receive window of 60000 bytes after the cut, for a flow with segments of 1000 bytes that take 1200. */
static unsigned int window_granted(struct ip_spec s)
{
	struct frame ack = tcp(.reply = 1);
	struct flow f = flow_get(s);
	struct result r;

	rwnd_set(1);
	f.tx.mss = 1000;
	f.tx.segment = 1200;
	f.wnd.wscale_known = 1;
	f.wnd.edge_ns = 0;
	f.wnd.seq_known = 0;
	flow_set(s, &f);
	put16(ack.b + 14 + 20 + 14, 60000);
	frame_fix(&ack);
	r = run(INGRESS, &ack);
	expect_verdict(r, VERDICT_PASS);
	return get16(r.out.b + 14 + 20 + 14);
}

/* A short flow waits in the VOQ in turn, and not for an R that is meant for long ones. */
Test(voq_rate, rate__is_not_for_the_first_window)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;

	voq_leaves(s);
	f = flow_get(s);
	f.cc.w = 20 * 1200ULL << 12;
	f.tx.bytes = q12_to_bytes(f.params.w_init) - 2 * 1150;
	flow_set(s, &f);
	hop_rate_is(0, 7 * 1200 * 1000);
	voq_leaves(s);
	expect_eq(window_granted(s), 21 * 1000);
	voq_leaves(s);
	expect_eq(window_granted(s), 8 * 1000);
}

Test(voq_rate, rate__and_window)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;

	voq_leaves(s);
	first_window_left(s);
	f = flow_get(s);
	f.cc.w = 20 * 1200ULL << 12;
	flow_set(s, &f);
	expect_eq(window_granted(s), 21 * 1000);
	hop_rate_is(0, 7 * 1200 * 1000); /* bytes/s: 7 segments in T */
	voq_leaves(s);
	expect_eq(window_granted(s), 8 * 1000);
	hop_rate_is(0, 40 * 1200 * 1000);
	voq_leaves(s);
	expect_eq(window_granted(s), 21 * 1000);
}

/* Equation 1 and credit are all that there is, until credits stop. */
Test(voq_rate, rate__without_hpcc)
{
	struct ip_spec s = { .payload = 1000 };
	struct peer peer = peer_with_voqs();
	struct flow f;
	struct voq v;
	__u64 t, line_ns;

	peer.hpcc_off = 1;
	peers_change(peer);
	voq_leaves(s);
	first_window_left(s);
	f = flow_get(s);
	f.cc.w = 20 * 1200ULL << 12;
	f.cc.rate_bps = hpcc_rate_bps(f.cc.w, f.params.t_ns);
	flow_set(s, &f);
	hop_rate_is(0, 30 * 1200 * 1000);
	clocks_stop(s);
	t = clock_ns();
	voq_leaves(s);
	line_ns = 1150 * 8 * NSEC_PER_SEC / hpcc_rate_bps(f.params.w_init, f.params.t_ns);
	expect_between(flow_get(s).tx.clock_ns, t + line_ns, clock_ns() + line_ns + 1);
	expect_eq(window_granted(s), 31 * 1000);

	fixture("credits have stopped");
	credit_lacks(0, 100);
	clocks_stop(s);
	v = voq_get(voq_to_b(0));
	v.voq.short_ns = clock_ns() - LIMIT_NS;
	voq_set(voq_to_b(0), &v);
	t = clock_ns();
	voq_leaves(s);
	line_ns = 1150 * 8 * NSEC_PER_SEC / f.cc.rate_bps;
	expect_between(flow_get(s).tx.clock_ns, t + line_ns, clock_ns() + line_ns + 1);
	expect_eq(window_granted(s), 21 * 1000);
}

/* With HPCC off, W holds no flow once R can have arrived, even if little was sent. */
Test(voq_rate, rate__without_hpcc_counts_from_the_first_feedback_on)
{
	struct ip_spec s = { .payload = 1000 };
	struct peer peer = peer_with_voqs();
	struct flow f;

	peer.hpcc_off = 1;
	peers_change(peer);
	voq_leaves(s);
	f = flow_get(s);
	f.cc.w = 2 * 1200ULL << 12;
	flow_set(s, &f);
	hop_rate_is(0, 7 * 1200 * 1000); /* bytes/s: 7 segments in T */
	voq_leaves(s);
	expect_eq(window_granted(s), 3 * 1000);
	f = flow_get(s);
	f.rx.feedbacks = 1;
	flow_set(s, &f);
	voq_leaves(s);
	expect_eq(window_granted(s), 8 * 1000);
	expect_between(flow_get(s).tx.bytes, 1, q12_to_bytes(f.params.w_init) - 1);
}

Test(voq_rate, rate__stops_and_resumes)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;

	voq_leaves(s);
	v = voq_get(voq_to_b(0));
	expect_eq(v.hop_params.rate_line, LINE);
	expect_eq(v.hop_params.rtt_ns, MS);
	expect_eq(v.hop_params.q0, LINE / 1000 * 8 / 15);
	hop_rate_is(0, LINE / 2);
	credit_lacks(0, v.hop_params.v_high);
	voq_leaves(s);
	v = voq_get(voq_to_b(0));
	expect_eq(v.hop.stopped, 1);
	expect_eq(flow_get(s).voq.rate_bps, 8 * (LINE / 100)); /* R_min */
	credit_lacks(0, v.hop_params.v_low);
	voq_leaves(s);
	expect_eq(voq_get(voq_to_b(0)).hop.stopped, 1);
	credit_lacks(0, v.hop_params.v_low - 2000);
	voq_leaves(s);
	v = voq_get(voq_to_b(0));
	expect_eq(v.hop.stopped, 0);
	expect_eq(flow_get(s).voq.rate_bps, 4 * LINE);
}

/* With q0 in the queue R is what it was, times the credit that comes, over what arrived. */
Test(voq_rate, rate__once_a_period)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;

	voq_leaves(s);
	credit_lacks(0, LINE / 1000 * 8 / 15 - 1150);
	v = voq_get(voq_to_b(0));
	v.voq.rate = LINE / 10;
	v.hop.rate = LINE / 4;
	v.hop.settling = 0;
	v.hop.mark_ns = clock_ns() - 100 * MS;
	v.hop.mark = v.voq.sent - LINE / 5 / 10 + 1150;
	voq_set(voq_to_b(0), &v);
	voq_leaves(s);
	v = voq_get(voq_to_b(0));
	/* A fifth of the port in 100 ms, or in the little more that the test took. */
	expect_between(v.hop.arrive, LINE / 30, LINE / 5);
	expect_between(v.hop.rate * v.hop.arrive, LINE / 4 * (LINE / 10) / 1000 * 999,
		       LINE / 4 * (LINE / 10) / 1000 * 1001);
	expect_eq(flow_get(s).voq.rate_bps, 8 * v.hop.rate);
	expect_eq(v.hop.settling, 1);
}

Test(voq_rate, rate__takes_what_the_configuration_sets_of_equation_1)
{
	struct peer peer = peer_with_voqs();
	struct voq v;

	peer.voq = (struct hiercc_tuning){ .beta = Q24_ONE / 4, .q0 = 5000, .v_high = 9000, .v_low = 7000, .delta = 512 };
	peers_change(peer);
	voq_leaves((struct ip_spec){ .payload = 1000 });
	v = voq_get(voq_to_b(0));
	expect_eq(v.hop_params.beta, Q24_ONE / 4);
	expect_eq(v.hop_params.period_ns, 4 * v.hop_params.rtt_ns);
	expect_eq(v.hop_params.q0, 5000);
	expect_eq(v.hop_params.v_high, 9000);
	expect_eq(v.hop_params.v_low, 7000);
	expect_eq(v.params.delta, 512);
	expect_eq(v.params.c0, C0);
}
