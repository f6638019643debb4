// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/trace.bpf.h: records of feedback. */
#include "sluice/cc/rx.h"
#include "trace_case.h"

TestSuite(trace_feedback, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(trace_feedback_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

SinkTest(trace_feedback, feedback__has_what_was_decided_and_by_what)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct flow before, f;
		struct frame in;
		struct trace r;

		flow_runs_of(s, 1000000);
		trace_all();
		in = echo(v6, 0, 500);
		run(sink, &in);
		r = the_record();
		expect_eq(r.event, TRACE_FEEDBACK);
		expect_eq(r.feedback.kind, HPCC_FIRST);
		expect_eq(r.feedback.compared, 0);
		before = flow_get(s);
		before.cc.last_update_seq = 1; /* the first round has ended */
		flow_set(s, &before);
		in = echo(v6, 1, 500);
		run(sink, &in);
		r = the_record();
		f = flow_get(s);
		expect_record(&r, s, &in); /* before it was stripped */
		expect_eq(r.feedback.kind, HPCC_FULL);
		expect_eq(r.feedback.form, RX_HOPS);
		expect_eq(r.feedback.ack.seq, 2000);
		expect_eq(r.feedback.ack.snd_nxt, f.tx.bytes);
		expect_eq(r.feedback.ack.hops, 2);
		expect_eq(r.feedback.ack.path_id, 0x123);
		expect_eq(r.feedback.ack.hop[1].qlen_bytes, 16000);
		expect_eq(r.feedback.ack.hop[0].bps, f.cc.last[0].bps);
		expect_eq(r.feedback.compared, 1);
		expect_eq(r.feedback.tx_before_bytes[1], before.cc.last[1].tx_bytes);
		expect_eq(r.feedback.ts_before_ns[1], before.cc.last[1].ts_ns);
		expect_eq(r.feedback.bottleneck, 1);
		expect_eq(r.feedback.w_before, before.cc.w);
		expect_eq(r.feedback.rate_before_bps, before.cc.rate_bps);
		expect_eq(r.feedback.w, f.cc.w);
		expect_eq(r.feedback.wc, f.cc.wc);
		expect_eq(r.feedback.u, f.cc.u);
		expect_eq(r.feedback.rate_bps, f.cc.rate_bps);
		expect_eq(r.feedback.t_ns, f.params.t_ns);
		expect_eq(r.feedback.w_ai, before.params.w_ai);
		expect_eq(r.feedback.flows, before.rx.flows);
		cr_assert(r.feedback.w != r.feedback.w_before);
		in = echo(v6, 1, 500); /* nothing new */
		run(sink, &in);
		r = the_record();
		expect_eq(r.feedback.kind, HPCC_SKIPPED);
		expect_eq(r.feedback.w, f.cc.w);
		expect_that(world_ended());
	}
}

SinkTest(trace_feedback, feedback__that_is_a_window)
{
	struct frame inner = tcp(.reply = 1), in;
	struct trace r;

	flow_runs_of(a_to_b, 1000000);
	trace_all();
	in = wrap(&inner, .echo = 1, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_hop = { 50000ULL << 32 });
	run(sink, &in);
	r = the_record();
	expect_record(&r, a_to_b, &in);
	expect_eq(r.feedback.form, RX_WINDOW);
	expect_eq(q12_to_bytes(r.feedback.w), 50000);
}

SinkTest(trace_feedback, feedback__by_the_answer_to_a_probe)
{
	struct frame data = frame_of(a_to_b), probe = frame_probe(&data, 0xc000, 1000), in;
	struct host h;
	struct trace r;

	flow_runs_of(a_to_b, 1000000);
	h = host_get(0, HOST_B);
	h.asked_ns = clock_ns();
	host_set(0, HOST_B, &h);
	trace_all();
	in = frame_turned(probe);
	put16(in.b + at_telem(&in), 1 << 12 | 0x123);
	put64(in.b + at_hop(&in, 0), trace_hop_of(1000000, 1000, 0));
	run(sink, &in);
	r = the_record();
	expect_record(&r, a_to_b, &in);
	expect_eq(r.feedback.probe, 1);
	expect_eq(r.feedback.ack.hops, 1);
	expect_eq(r.feedback.kind, HPCC_FIRST);
}

/* One message for three flows, of which one is none of ours: two records with the same packet. */
SinkTest(trace_feedback, feedback__for_several_flows)
{
	__u8 at[12 + 3 * 24] = { 0x98, (sizeof(at) - 4) / 4, 0, 59, 0x44, 3 };
	struct trace r[3];
	struct frame in;
	unsigned int k;

	for (k = 0; k < 2; k++)
		flow_runs_of((struct ip_spec){ .payload = 1000, .sport = PORT_A + k }, 1000000);
	for (k = 0; k < 3; k++) {
		__u8 *one = at + 12 + 24 * k;

		put16(one, k == 1 ? PORT_A + 7 : PORT_A + k / 2);
		put16(one + 2, PORT_B);
		one[4] = 6;
		one[5] = 4; /* W */
		put32(one + 8, 1000);
		put32(one + 16, 40000 + k);
	}
	in = frame_of_batch(0, at, sizeof(at));
	trace_all();
	run(sink, &in);
	expect_eq(traces_taken(r, 3), 2);
	for (k = 0; k < 2; k++) {
		expect_record(&r[k], (struct ip_spec){ .sport = PORT_A + k }, &in);
		expect_eq(q12_to_bytes(r[k].feedback.w), 40000 + 2 * k);
	}
}

/* Data without feedback is no decision, and neither is skipped feedback. */
SinkTest(trace_feedback, feedback__only_what_was_decided)
{
	struct frame inner = tcp(.reply = 1, .payload = 500), in = wrap(&inner, .room = 5, .nhop = 1, .seq = 1);
	struct flow f;

	flow_runs_of(a_to_b, 1000000);
	trace_all();
	run(sink, &in);
	expect_eq(records(), 0);
	f = flow_get(a_to_b);
	f.rx.lock = 1;
	flow_set(a_to_b, &f);
	in = echo(0, 0, 500);
	run(sink, &in);
	expect_eq(records(), 0);
}
