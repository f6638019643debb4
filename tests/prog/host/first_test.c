// SPDX-License-Identifier: GPL-2.0-only
/* include/sluice/cc/first.h in the data plane: first windows, and UDP before its first feedback. */
#include "sluice/cc/first.h"
#include "egress_case.h"

TestSuite(first, .init = egress_make, .fini = world_drop, .timeout = 60);
TestSuite(first_unknown, .init = world_make, .fini = world_drop, .timeout = 60);

#define LONG_NS (500 * MS) /* a T in which a test is done, whatever else the machine does */

static void peers_are_far(void)
{
	struct peer peer = peer_usual();

	peer.t_ns = LONG_NS;
	peer_set("10.1.0.2", 128, &peer);
	enforce_with_fq();
}

/* The data of one more flow leaves. Returns its W, bytes. */
static __u64 window_of(int udp, unsigned int n)
{
	struct ip_spec s = { .udp = udp, .sport = 2000 + n, .payload = 1000 };
	struct frame in = frame_of(s);

	run(EGRESS, &in);
	return q12_to_bytes(flow_get(s).cc.w);
}

/* Feedback has come, of a flow with that window, 0: the whole, and that T. */
static void heard_at(__u64 t_ns, __u64 w)
{
	struct host h = host_get(0, HOST_B);

	h.rate_bps = hpcc_rate_bps(q12_from_bytes(w ?: 2 * HPCC_W_MAX_BYTES), t_ns);
	h.rate_ns = clock_ns();
	host_set(0, HOST_B, &h);
}

static void heard(__u64 w)
{
	heard_at(LONG_NS, w);
}

Test(first, first__flows_of_a_port_share_a_window)
{
	const __u64 w_init = HPCC_W_MAX_BYTES;
	unsigned int n;

	peers_are_far();
	hosts_strip();
	for (n = 1; n <= 5; n++)
		expect_between(window_of(n & 1, n), w_init / n, w_init / n + 1);
	clock_pass(LONG_NS); /* nothing was heard */
	expect_between(window_of(1, 6), w_init / 6, w_init / 6 + 1);
	clock_pass(FIRST_RTTS * LONG_NS);
	expect_eq(window_of(1, 7), w_init);
	expect_eq(window_of(1, 8), (w_init + 1) / 2);
	expect_eq(window_of(1, 1), w_init); /* this one had begun */
	heard(0);
	expect_between(window_of(0, 9), w_init / 3, w_init / 3 + 1); /* in the same T */
	clock_pass(LONG_NS);
	heard(0);
	expect_eq(window_of(0, 10), w_init);
}

Test(first, first__goes_by_another_flow_to_the_host)
{
	peers_are_far();
	hosts_strip();
	heard(1000000);
	expect_between(window_of(1, 1), 999990, 1000010);
	expect_between(window_of(0, 2), 999990, 1000010);
	heard_at(LONG_NS / 10, 100000); /* T of the new flow is ten times as long */
	expect_between(window_of(0, 11), 999990, 1000010);
	heard(100);
	expect_eq(window_of(0, 3), (HPCC_W_MAX_BYTES + 500) / 1000); /* no less than the smallest W */
}

/* At least as much as TCP begins with: the path may be empty again. */
Test(first, first__goes_by_what_was_heard_long_ago)
{
	struct peer peer = peer_usual();
	struct ip_spec s = { .sport = 2001 };

	peer.t_ns = 4 * MS;
	peer_set("10.1.0.2", 128, &peer);
	enforce_with_fq();
	hosts_strip();
	heard_at(peer.t_ns, 1000000);
	clock_pass(FIRST_KNOWN_RTTS * peer.t_ns);
	expect_between(window_of(0, 1), 999990, 1000010);
	heard_at(peer.t_ns, 20000);
	clock_pass(FIRST_RTTS * peer.t_ns); /* those that begin now do not share with the first */
	clock_pass(FIRST_KNOWN_RTTS * peer.t_ns);
	expect_eq(window_of(0, 2), FIRST_OLD_PACKETS * flow_get(s).params.packet);
}

/* A connection by the same ports shares, too; one that has heard from its path keeps its W. */
Test(first, first__a_new_connection_begins_anew)
{
	struct ip_spec s = { .sport = 2000, .payload = 1000 }, syn = { .sport = 2000, .flags = SYN };
	struct frame in = frame_of(s), first = frame_of(syn);
	struct flow f;

	peers_are_far();
	hosts_strip();
	run(EGRESS, &in);
	f = flow_get(s);
	run(EGRESS, &first);
	expect_eq(flow_get(s).companion.began_us, 0);
	run(EGRESS, &in);
	expect_eq(q12_to_bytes(flow_get(s).cc.w), (q12_to_bytes(f.params.w_init) + 1) / 2);
	f.rx.feedbacks = 1;
	f.companion.began_us = 0;
	flow_set(s, &f);
	run(EGRESS, &in);
	expect_eq(flow_get(s).cc.w, f.cc.w);
}

static struct flow udp_with_window(struct ip_spec s, __u64 bytes)
{
	struct flow f = flow_get(s);

	f.cc.w = q12_from_bytes(bytes);
	f.cc.rate_bps = hpcc_rate_bps(f.params.w_init, f.params.t_ns);
	flow_set(s, &f);
	return f;
}

/* The time that the next packet takes of the flow's clock, in terms of R. */
static double takes(struct ip_spec s)
{
	struct frame in = frame_of(s);
	__u64 before = flow_get(s).tx.clock_ns;
	struct result r;

	if (before < clock_ns())
		before = clock_ns();
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_PASS);
	return (flow_get(s).tx.clock_ns - before) / (r.out.len * 8e9 / flow_get(s).cc.rate_bps);
}

/* Beyond it a flow goes on at an eighth of R, whatever it hands over at once. */
Test(first, first__udp_brings_a_window_before_its_first_feedback)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	struct flow f;
	int i;

	peers_are_far();
	hosts_strip();
	horizon_set(0, 0);
	run(EGRESS, &in);
	f = udp_with_window(s, 20000);
	f.cc.rate_bps = 100000000;
	f.tx.bytes = 19000;
	flow_set(s, &f);
	for (i = 0; i < 100; i++)
		cr_expect_float_eq(takes(s), 8, 0.1);
	fixture("feedback has come");
	f = flow_get(s);
	f.rx.feedbacks = 1;
	f.rx.fb_seq = f.tx.bytes;
	flow_set(s, &f);
	cr_expect_float_eq(takes(s), 1, 0.1);
	fixture("a path that tells nothing");
	f.rx.feedbacks = 0;
	f.tx.bytes = 1 << 30;
	f.tx.clock_ns = 0;
	flow_set(s, &f);
	cr_expect_float_eq(takes(s), 8, 0.1);
	clock_pass(FIRST_RTTS * LONG_NS);
	run(EGRESS, &in);
	cr_expect_lt(flow_get(s).tx.clock_ns, clock_ns() + in.len * 80);
}

/* It goes by when a packet leaves: a new socket schedules its datagrams (SO_TXTIME) and hands them over at once. */
Test(first, first__udp_that_is_scheduled_for_later)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 asked = clock_ns();
	int i;

	enforce_with_fq();
	horizon_set(0, 0);
	hosts_strip();
	run(EGRESS, &in);
	udp_with_window(s, 2000);
	for (i = 0; i < 200; i++) {
		asked += 10 * MS;
		expect_eq(run(EGRESS, &in, .tstamp = asked).ctx.tstamp, asked);
	}
}

/* On a path without feedback the share ends, and does not come back when the units of its time wrap. */
Test(first, first__ends_where_nothing_is_told)
{
	struct ip_spec s = { .udp = 1, .sport = 2002, .payload = 1000 };
	struct frame in = frame_of(s);

	peers_are_far();
	hosts_strip();
	window_of(1, 1);
	expect_between(window_of(1, 2), HPCC_W_MAX_BYTES / 2, HPCC_W_MAX_BYTES / 2 + 1);
	clock_pass((FIRST_RTTS + 1) * LONG_NS);
	expect_eq(window_of(1, 2), HPCC_W_MAX_BYTES);
	expect_eq(flow_get(s).companion.began_us, FIRST_OVER);
	run(EGRESS, &in);
	expect_eq(q12_to_bytes(flow_get(s).cc.w), HPCC_W_MAX_BYTES);
}

/* A peer that is asked may answer; one that does not has no Sluice. */
Test(first_unknown, first__udp_to_an_unknown_peer)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct asker a = asker_make();
	struct frame in = frame_of(s);
	struct flow f;

	peers_are_far();
	run(EGRESS, &in, .ifindex = a.ifindex);
	f = udp_with_window(s, 20000);
	f.cc.rate_bps = 100000000;
	f.tx.bytes = 20000;
	f.path.port_flags |= PORT_F_EDT;
	flow_set(s, &f);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_between(flow_get(s).tx.clock_ns - clock_ns(), in.len * 639,
		       in.len * 700); /* 80 ns a byte, eight times */
	clock_pass((FIRST_RTTS + 1) * LONG_NS);
	run(EGRESS, &in, .ifindex = a.ifindex);
	cr_expect_lt(flow_get(s).tx.clock_ns, clock_ns() + in.len * 80);
}

/*
 * The time that a packet takes of the flow's clock with that many bytes under way, in terms of R. asked_ns: the age of a PROBE
 * that waits for its answer; 0: none does
 */
static double slower(struct ip_spec s, __u32 under_way, __u64 asked_ns)
{
	struct frame in = frame_of(s);
	struct flow f = flow_get(s);
	struct result r;
	__u64 before;

	f.rx.feedbacks = 1;
	f.cc.hops = 1;
	f.tx.clock_ns = 0;
	f.rx.fb_seq = f.tx.bytes - under_way;
	f.delay.probed = asked_ns ? (__u64)f.rx.fb_seq << 32 | (__u32)(clock_ns() - asked_ns) : 0;
	f.cc.rate_bps = 100000000;
	flow_set(s, &f);
	before = clock_ns();
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_PASS);
	return (flow_get(s).tx.clock_ns - before) / (r.out.len * 80.);
}

Test(first, first__udp_slows_down_while_feedback_is_overdue)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 late_ns;
	__u32 untold;
	struct flow f;

	enforce_with_fq();
	horizon_set(500 * MS, 0);
	hosts_strip();
	run(EGRESS, &in);
	f = udp_with_window(s, 20000);
	untold = 4 * 20000 + 8 * f.params.packet;
	late_ns = 8 * f.params.t_ns;
	cr_expect_float_eq(slower(s, 0, late_ns), 1, 0.1);
	cr_expect_float_eq(slower(s, untold, late_ns), 1, 0.1);
	cr_expect_float_eq(slower(s, 2 * untold, late_ns), 2, 0.1);
	cr_expect_float_eq(slower(s, 4 * untold, late_ns), 4, 0.1);
	cr_expect_float_eq(slower(s, 100 * untold, late_ns), 8, 0.1);
	cr_expect_float_eq(slower(s, 100 * untold, 0), 8, 0.1); /* replies may bring it */
	/* A burst after a pause brings its own question: what left before it was not asked about. */
	cr_expect_float_eq(slower(s, 100 * untold, f.params.t_ns), 1, 0.1);
	/* R has risen: more bytes seem to wait in fq than were sent since the companion of the feedback. */
	cr_expect_float_eq(slower(s, -1000, late_ns), 1, 0.1);
	cr_expect_float_eq(slower(s, -1000000, late_ns), 1, 0.1);
	f = flow_get(s);
	f.path.telemetry = TELEMETRY_COMPANION;
	flow_set(s, &f);
	cr_expect_float_eq(slower(s, 100 * untold, 0), 1, 0.1);
}
