// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/probe.bpf.h: a PROBE is answered. */
#include <bpf/bpf.h>

#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(probe_answer, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(probe_answer_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

#define BUCKET_STRANGERS 1 /* of answers */

SinkTest(probe_answer, probe__is_turned_round)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 300, .tos = 0xb8),
			     in = frame_probe(&inner, 0xc777, 0x12345678), want;
		__u64 before = clock_ns();
		struct result r;

		put16(in.b + at_telem(&in), 2 << 12 | 0x321); /* two hops have stamped it */
		put64(in.b + at_hop(&in, 0), 0x1122334455667788);
		put64(in.b + at_hop(&in, 1), 0x99aabbccddeeff00);
		want = frame_turned(in);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_between(host_get(v6, HOST_B).heard_ns, before, clock_ns());
		expect_eq(flows_count(), 0);
		expect_untouched(EGRESS, &r.out, STAT_TX_OWN);
	}
}

/* One question to all would be answered by all. */
SinkTest(probe_answer, probe__to_a_group_is_not_answered)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 10), in = frame_probe(&inner, 0xc777, 0);

		in.b[0] = 0xff;
		expect_verdict(run(sink, &in), VERDICT_DROP);
		in.b[0] = 0x33;
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE, STAT_RX_PROBE);
	}
}

/* With or without what usually follows it. */
SinkTest(probe_answer, probe__of_other_shapes)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 50), in, want;
		struct result r;

		in = wrap(&inner, .msg = 2, .bare = 1);
		want = frame_turned(in);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		in = wrap(&inner, .msg = 2, .room = 5, .echo = 1, .echo_hops = 5);
		want = frame_turned(in);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE, STAT_RX_PROBE);
	}
}

/* Tokens that are spent up to a time that does not come; those of hosts never heard are others. */
SinkTest(probe_answer, probe__answers_are_limited)
{
	const __u64 spent_ns = clock_ns() + 3600000 * MS, none_ns = 0;
	__u32 answers = BUCKET_STRANGERS;

	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = frame_probe(&inner, 0xc777, 0);
		struct host h = { .answers_ns = spent_ns };

		host_set(v6, HOST_B, &h);
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_LIMITED);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		h.answers_ns = 0;
		host_set(v6, HOST_B, &h);
		expect_verdict(run(sink, &in), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
		expect_between(host_get(v6, HOST_B).answers_ns, 1, clock_ns());
	}
	FOR_V4_AND_V6 (v6) {
		struct host_key b = host_of(v6, HOST_B);
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = frame_probe(&inner, 0xc777, 0);

		bpf_map_delete_elem(world_map("hosts"), &b);
		cr_assert(!bpf_map_update_elem(world_map("buckets"), &answers, &spent_ns, BPF_ANY));
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_LIMITED);
		expect_eq(host_exists(v6, HOST_B), 0);
		cr_assert(!bpf_map_update_elem(world_map("buckets"), &answers, &none_ns, BPF_ANY));
		expect_verdict(run(sink, &in), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}

/* The reply leaves through the port by which the question came, and the asker takes it. */
SinkTest(probe_answer, probe__reply_goes_back_over_the_link)
{
	struct frame inner, in, got, want;
	struct host asked = { .asked_ns = 5 };
	struct result r;
	int fd;

	link_make("");
	link_attach(sink, LINK_NEAR, 1);
	link_attach(EGRESS, LINK_NEAR, 0);
	fd = packet_socket(LINK_FAR);
	FOR_V4_AND_V6 (v6) {
		inner = tcp(.v6 = v6, .reply = 1);
		in = frame_probe(&inner, 0xc777, 0);
		packet_send(fd, &in);
		cr_assert(packet_catch(fd, &got, 1000), "%sno reply", world_fixture());
		want = frame_turned(in);
		expect_frame(&got, &want);
		host_set(v6, HOST_A, &asked);
		r = run(sink, &got);
		expect_verdict(r, VERDICT_DROP);
		expect_eq(host_get(v6, HOST_A).capable, 1);
	}
}
