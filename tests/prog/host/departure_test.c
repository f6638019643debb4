// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/departure.bpf.h: when a packet with a window behind it leaves. */
#include "egress_case.h"

TestSuite(departure, .init = egress_make, .fini = world_drop, .timeout = 60);

Test(departure, departure__at_the_flows_clock)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 clock, before;
	struct result r;

	enforce_with_fq();
	before = clock_ns();
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, 0); /* idle: at once */
	expect_between(flow_get(s).tx.clock_ns, before, clock_ns() + 1000);
	expect_counted(STAT_TX_DATA);

	clock = clock_ns() + 5 * MS;
	clock_at(s, clock, 100000000);
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, clock);
	expect_eq(flow_get(s).tx.clock_ns, clock + r.out.len * 80); /* 80 ns a byte at 100 Mbit/s */
	expect_counted(STAT_TX_DATA, STAT_PACED);
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, clock + r.out.len * 80);
	expect_counted(STAT_TX_DATA, STAT_PACED);
}

/* With TCP's own pacing the packet arrives with a departure time already. */
Test(departure, departure__not_before_the_stack_wants)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 asked;
	struct result r;

	enforce_with_fq();
	run(EGRESS, &in);
	clock_at(s, clock_ns() + 1 * MS, 100000000);
	asked = clock_ns() + 5 * MS;
	r = run(EGRESS, &in, .tstamp = asked);
	expect_eq(r.ctx.tstamp, asked);
	expect_eq(flow_get(s).tx.clock_ns, asked + r.out.len * 80);
}

Test(departure, departure__never_beyond_the_horizon)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 before;
	struct result r;

	enforce_with_fq();
	run(EGRESS, &in);
	clock_at(s, clock_ns() + 1000 * MS, 100000000);
	expect_counted(STAT_TX_DATA);
	before = clock_ns();
	r = run(EGRESS, &in);
	/* 10 ms, two base RTTs and two packets */
	expect_between(r.ctx.tstamp, before + 12 * MS + r.out.len * 160, clock_ns() + 12 * MS + r.out.len * 160);
	expect_counted(STAT_TX_DATA, STAT_HORIZON, STAT_PACED);
}

/* It has a window of its own. */
Test(departure, departure__tcp_is_never_dropped_or_marked)
{
	struct ip_spec s = { .payload = 1000, .tos = ECT0 };
	struct frame in = frame_of(s), want;
	struct result r;
	int mark;

	enforce_with_fq();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	for (mark = 0; mark < 2; mark++) {
		horizon_set(1 * MS, mark);
		clock_at(s, clock_ns() + 900 * MS, 100000000);
		r = run(EGRESS, &in);
		expect_verdict(r, VERDICT_PASS);
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = (mark + 2) * r.out.len);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA, STAT_PACED, STAT_HORIZON);
	}
}

Test(departure, departure__free_without_fq_or_enforcement_or_payload)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s), ack = tcp();
	__u64 clock = clock_ns() + 1000 * MS;
	struct result r;

	run(EGRESS, &in);
	clock_at(s, clock, 100000000);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0); /* dry-run */
	control_set(MODE_ENFORCE, 0);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0); /* no fq */
	enforce_with_fq();
	echo_waits(s, 0);
	r = run(EGRESS, &ack);
	expect_eq(r.ctx.tstamp, 0);
	control_set(MODE_OBSERVE, 0);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0);
	expect_eq(flow_get(s).tx.clock_ns, clock);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
}
