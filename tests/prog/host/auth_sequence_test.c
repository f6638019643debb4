// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/auth.bpf.h: a message counts once, in its order, and not from the future. */
#include <string.h>

#include "auth_case.h"

TestSuite(auth_sequence, .init = auth_make, .fini = world_drop, .timeout = 120);
TestSuite(auth_sequence_xdp, .init = auth_make, .fini = world_drop, .timeout = 120);

SinkTest(auth_sequence, sequence__old_is_stripped_and_not_learned_from)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200), in;
		struct known before;
		struct result r;

		auth_flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		before = known_of(v6);
		in = message(v6, &ours[0], 999, 4);
		r = run(sink, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		expect_nothing_learned(v6, &before);
	}
}

/* The segments of a GSO packet: one sequence, one echo, and telemetry for each. */
SinkTest(auth_sequence, sequence__of_segments)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in;
		struct known before;
		struct flow f;

		auth_flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		before = known_of(v6);
		put64(in.b + at_hop(&in, 0), 0xc0ffee);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get(auth_forward(v6));
		expect_eq(f.echo.hop[0], 0xc0ffee);
		expect_eq(memcmp(&f.cc, &before.f.cc, sizeof(f.cc)), 0);
		expect_eq(f.rx.feedbacks, 1);

		fixture("IPv%d, and said again later", v6 ? 6 : 4);
		f.auth.telem_ns -= 9 * MS;
		flow_set(auth_forward(v6), &f);
		before = known_of(v6);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		expect_nothing_learned(v6, &before);
	}
}

/* The same of data without telemetry; an ACK has no segments. */
SinkTest(auth_sequence, sequence__of_segments_without_telemetry)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int payload;

		auth_flow_runs(v6);
		for (payload = 0; payload <= 2; payload++) {
			__u64 seq = 1000 + payload;
			struct frame in = from_b(v6, payload, .seq = 5, .echo = 1, .echo_hops = 1, .echo_seq = 100,
						 .key = &ours[0], .auth_seq = seq),
				     old = from_b(v6, payload, .seq = 4, .echo = 1, .echo_hops = 1, .echo_seq = 99,
						  .key = &ours[0], .auth_seq = seq - 1);
			struct known before;

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, payload);
			run(sink, &in);
			world_counted((const int[]){ -1 });
			before = known_of(v6);
			run(sink, &in);
			expect_counted(STAT_RX_DATA, payload ? -1 : STAT_RX_REPLAYED);
			run(sink, &old);
			expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
			expect_nothing_learned(v6, &before);
		}
	}
}

/* An ACK does not wait in fq: it comes before the data that was sent before it. */
SinkTest(auth_sequence, sequence__an_ack_overtakes_data)
{
	FOR_V4_AND_V6 (v6) {
		struct frame ack = from_b(v6, 0, .echo = 1, .echo_hops = 1, .echo_seq = 200, .key = &ours[0],
					  .auth_seq = 2000),
			     data = from_b(v6, 500, .room = 2, .nhop = 1, .seq = 77, .key = &ours[0], .auth_seq = 1000);
		struct flow f;

		auth_flow_runs(v6);
		run(sink, &ack);
		run(sink, &data);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST, STAT_RX_DATA);
		expect_eq(flow_get(auth_forward(v6)).echo.seq, 77);
		run(sink, &ack);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		f = flow_get(auth_forward(v6));
		expect_eq(f.rx.feedbacks, 1);
	}
}

/* A flow that is new here is measured by its host. */
SinkTest(auth_sequence, sequence__of_a_new_flow)
{
	FOR_V4_AND_V6 (v6) {
		__u64 newest = 1700000000 * NSEC_PER_SEC;
		struct host h = { .rx_seq = newest };
		struct frame in;

		seq_base_set(newest);
		host_set(v6, HOST_B, &h);
		in = message(v6, &ours[0], newest - NSEC_PER_SEC, 5);
		run(sink, &in);
		expect_eq(flow_exists(auth_forward(v6)), 0);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		world_counted((const int[]){ -1 });
		in = message(v6, &ours[0], newest - NSEC_PER_SEC + 1, 5);
		run(sink, &in);
		expect_eq(flow_exists(auth_forward(v6)), 1);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		in = message(v6, &ours[0], newest + 1, 6);
		run(sink, &in);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_eq(host_get(v6, HOST_B).rx_seq, newest + 1);
	}
}

/* A host that was started again goes on above its last: nobody needs to forget it first. */
SinkTest(auth_sequence, sequence__of_a_host_that_was_restarted)
{
	struct frame sent = tcp(.reply = 1, .payload = 200), in;
	__u64 base = 1700000000 * NSEC_PER_SEC;
	struct result r;
	int i;

	auth_flow_runs(0);
	for (i = 0; i < 3; i++) {
		fixture("start %d", i + 1);
		seq_base_set(base + i * NSEC_PER_SEC);
		hosts_strip();
		r = run(EGRESS, &sent);
		in = r.out;
		r = run(sink, &in);
		expect_counted(STAT_TX_DATA, STAT_RX_DATA);
		expect_eq(flow_get(auth_forward(0)).auth.telem_seq, get64(in.b + at_auth(&in)));
	}
}

static const __u64 ahead_ns[] = { DAY_NS + MARGIN_NS, 73 * 365 * DAY_NS };

/* It is taken off, so that nothing is lost, and that is all. */
SinkTest(auth_sequence, sequence__from_the_future_is_stripped_and_not_learned_from)
{
	unsigned int i;

	seq_base_set(BASE_NS);
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200), in;
		struct known before;
		struct result r;

		auth_flow_runs(v6);
		before = known_of(v6);
		for (i = 0; i < 2; i++) {
			fixture("IPv%d, %llu s ahead", v6 ? 6 : 4, ahead_ns[i] / NSEC_PER_SEC);
			in = message(v6, &ours[0], BASE_NS + clock_ns() + ahead_ns[i], 5);
			r = run(sink, &in);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA, STAT_RX_FUTURE);
			expect_nothing_learned(v6, &before);
		}
		fixture("IPv%d, and what is right counts after it", v6 ? 6 : 4);
		in = message(v6, &ours[0], BASE_NS + clock_ns(), 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		fixture("IPv%d, less than a day ahead", v6 ? 6 : 4);
		in = message(v6, &ours[0], BASE_NS + clock_ns() + DAY_NS - MARGIN_NS, 6);
		run(sink, &in);
		expect_eq(flow_get(auth_forward(v6)).rx.feedbacks, 2);
		world_counted((const int[]){ -1 });
	}
}

SinkTest(auth_sequence, sequence__from_the_future_of_a_new_flow)
{
	unsigned int i;

	seq_base_set(BASE_NS);
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < 2; i++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200),
				     in = message(v6, &ours[0], BASE_NS + clock_ns() + ahead_ns[i], 5);
			struct result r = run(sink, &in);

			fixture("IPv%d, %llu s ahead", v6 ? 6 : 4, ahead_ns[i] / NSEC_PER_SEC);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA, STAT_RX_FUTURE);
			expect_eq(flow_exists(auth_forward(v6)), 0);
			expect_eq(host_exists(v6, HOST_B), 0);
		}
	}
}

/* Before NTP a host without a battery is in 1970: all that its peers send is from the future, and nothing is lost. */
SinkTest(auth_sequence, sequence__from_the_future_of_a_clock_that_was_set_since)
{
	struct frame in = message(0, &ours[0], BASE_NS, 5);

	auth_flow_runs(0);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_RX_FUTURE);
	seq_base_set(BASE_NS);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
}

SinkTest(auth_sequence, sequence__does_not_matter_without_a_key)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = message(v6, NULL, 0, 5);

		keys_set(ours, 0);
		auth_flow_runs(v6);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
	}
}
