// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/flow.bpf.h: nothing comes back for one flow, whose host answers others. */
#include <string.h>

#include "companion_case.h"

TestSuite(silent, .init = egress_make, .fini = world_drop, .timeout = 60);

#define HOST_SILENT (100 * MS)

/* The host was heard just now, by other flows. */
static void host_answers(int v6)
{
	struct host h = host_get(v6, HOST_B);

	h.heard_ns = h.asked_ns = clock_ns();
	h.unanswered_ns = 0;
	h.capable = 1;
	host_set(v6, HOST_B, &h);
}

static int is_telem(struct ip_spec s)
{
	return flow_get(s).tx.flags & FLOW_F_TELEM;
}

/* A companion of the flow comes back, from a hop that was stamped; or the reply to a PROBE. */
static void companion_answers(struct ip_spec s)
{
	struct frame out, in;

	s.reply = 1;
	out = frame_of(s);
	in = companion_of(&out, 3, 1000);
	put16(in.b + companion_at(&in) + COMPANION_TELEM, 1 << 12 | 0x321);
	put64(in.b + companion_at(&in) + COMPANION_TELEM + 4, 12ULL << 60 | (clock_ns() / 1000) << 36);
	expect_verdict(run(INGRESS, &in), VERDICT_DROP);
	world_ended();
}

/* Sends each ms for so long; the other end answers others meanwhile. Returns the companions that left. */
static unsigned int sends_for(const struct asker *a, struct ip_spec s, __u64 ns)
{
	struct frame in = frame_of(s), got;
	__u64 end = clock_ns() + ns;
	unsigned int n = 0;

	while (clock_ns() < end) {
		host_answers(s.v6);
		expect_verdict(run(EGRESS, &in, .ifindex = a->ifindex), VERDICT_PASS);
		world_ended();
		while (packet_catch(a->fd, &got, 0))
			n++;
		clock_pass(1 * MS);
	}
	return n;
}

#define FOR_PROTOCOLS(v6, udp_) \
	FOR_V4_AND_V6 (v6)      \
		for (int udp_ = 0; udp_ < 2; udp_++)

/* It runs as if its peer had no Sluice, is tried ten times a second, and comes back with the first answer. */
Test(silent, flow__whose_companions_vanish)
{
	struct asker a = asker_make();

	telemetry_beside();
	enforce_with_fq();
	FOR_PROTOCOLS(v6, is_udp)
	{
		struct ip_spec s = { .v6 = v6, .udp = is_udp, .payload = 1000 };
		struct frame in = frame_of(s);
		unsigned int n;

		fixture("IPv%d, %s", s.v6 ? 6 : 4, s.udp ? "UDP" : "TCP");
		n = sends_for(&a, s, HOST_SILENT - 5 * MS);
		expect_between(n, 20, 100);
		expect_eq(is_telem(s), FLOW_F_TELEM);
		sends_for(&a, s, 10 * MS);
		expect_eq(is_telem(s), 0);
		n = sends_for(&a, s, 1000 * MS);
		expect_between(n, 9, 10);
		host_answers(s.v6);
		run(EGRESS, &in, .ifindex = a.ifindex);
		world_ended();
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_SILENT);
		expect_eq(is_telem(s), 0);
		companion_answers(s);
		host_answers(s.v6);
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_that(world_ended());
		expect_eq(is_telem(s), FLOW_F_TELEM);
	}
}

/* At an R that would hold it: no departure time, and no packet dropped at the horizon. */
Test(silent, flow__is_not_held)
{
	telemetry_beside();
	enforce_with_fq();
	FOR_PROTOCOLS(v6, is_udp)
	{
		struct ip_spec s = { .v6 = v6, .udp = is_udp, .payload = 1000 };
		struct frame in = frame_of(s);
		struct result r;
		struct flow f;

		run(EGRESS, &in);
		f = clock_at(s, clock_ns() + 500 * MS, 1000000);
		f.rx.feedbacks = 100;
		f.beside.unanswered = FLOW_SILENT;
		f.companion.left_ns = clock_ns();
		flow_set(s, &f);
		world_ended();
		host_answers(s.v6);
		r = run(EGRESS, &in);
		expect_verdict(r, VERDICT_PASS);
		expect_counted(STAT_TX_SILENT);
		expect_eq(r.ctx.tstamp, 0);
		expect_eq(flow_get(s).tx.bytes, f.tx.bytes + in.len);
		/* UDP is not held either, if its host falls silent as well. */
		host_set(s.v6, HOST_B, &(struct host){ .asked_ns = clock_ns() });
		expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
		host_answers(s.v6);
	}
}

/* A few that were lost before the flow was idle say nothing of now. */
Test(silent, flow__that_was_idle)
{
	struct asker a = asker_make();
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	struct flow f;
	int n;

	telemetry_beside();
	for (n = 0; n < 3; n++) {
		run(EGRESS, &in, .ifindex = a.ifindex);
		f = flow_get(s);
		f.tx.bytes = 100000;
		f.beside.unanswered = n;
		f.tx.asked = clock_ns() >> 20;
		f.companion.count = COMPANION_FIRST;
		f.companion.left_ns = clock_ns();
		flow_set(s, &f);
		clock_pass(10000 * MS);
		host_answers(0);
		run(EGRESS, &in, .ifindex = a.ifindex);
		world_ended();
		expect_eq(flow_get(s).beside.unanswered, 1);
		expect_eq(is_telem(s), FLOW_F_TELEM);
	}
}

/* With a long T, four of them. */
Test(silent, flow__with_a_long_t)
{
	struct asker a = asker_make();
	struct ip_spec s = { .payload = 1000 };
	struct peer peer = peer_usual();

	peer.telemetry = TELEMETRY_COMPANION;
	peer.t_ns = 50 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	sends_for(&a, s, 195 * MS);
	expect_eq(is_telem(s), FLOW_F_TELEM);
	sends_for(&a, s, (15 + 50) * MS); /* it is quiet until its next companion */
	expect_eq(is_telem(s), 0);
}

/* The reply to a PROBE shows that the host is there, not that companions pass. The next connection begins anew. */
Test(silent, flow__and_what_ends_it)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s), probe, syn = tcp(.flags = SYN);
	struct flow f;

	telemetry_beside();
	run(EGRESS, &in);
	f = flow_get(s);
	f.beside.unanswered = FLOW_SILENT;
	flow_set(s, &f);
	host_answers(0);
	probe = frame_probe(&in, 0xc000, 1000);
	probe = frame_turned(probe);
	world_ended();
	expect_verdict(run(INGRESS, &probe), VERDICT_DROP);
	world_ended();
	expect_eq(flow_get(s).beside.unanswered, FLOW_SILENT);
	run(EGRESS, &syn);
	world_ended();
	expect_eq(flow_get(s).beside.unanswered, 0);
	f.beside.unanswered = 200;
	flow_set(s, &f);
	companion_answers(s);
	expect_eq(flow_get(s).beside.unanswered, 0);
}

/* Telemetry in the data: an echo is an answer, and so is the reply to a PROBE. */
Test(silent, flow__with_telemetry_in_the_data)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 100 };
		struct frame in = frame_of(s), data = tcp(.v6 = v6, .reply = 1), echo, probe;
		unsigned int n;

		sends_for(&a, s, HOST_SILENT - 5 * MS);
		expect_eq(is_telem(s), FLOW_F_TELEM);
		sends_for(&a, s, 10 * MS);
		expect_eq(is_telem(s), 0);
		n = sends_for(&a, s, 1000 * MS);
		expect_between(n, 9, 10); /* PROBEs; the data is for this interface, too, but leaves by test runs */
		echo = wrap(&data, .msg = 1, .echo = 1, .echo_hops = 1, .echo_seq = 1000, .echo_path = 1 << 12 | 5,
			    .echo_hop = { 12ULL << 60 });
		run(INGRESS, &echo);
		world_ended();
		expect_eq(flow_get(s).beside.unanswered, 0);
		sends_for(&a, s, HOST_SILENT + 10 * MS);
		expect_eq(is_telem(s), 0);
		probe = frame_probe(&in, 0xc000, 1000);
		probe = frame_turned(probe);
		run(INGRESS, &probe);
		world_ended();
		expect_eq(flow_get(s).beside.unanswered, 0);
	}
}
