// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/probe.bpf.h: the copy's second way through the program. */
#include <sched.h>

#include "egress_case.h"

TestSuite(probe_copy, .init = egress_make, .fini = world_drop, .timeout = 60);

Test(probe_copy, probe_copy__is_cut_and_wrapped)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = udp(.v6 = v6, .payload = 700), want;
		__u16 port = entropy_of(&in);
		__u32 seq = flow_get((struct ip_spec){ .v6 = v6, .udp = 1 }).tx.bytes;
		struct result r;

		expect_counted(STAT_TX_DATA);
		r = run(EGRESS, &in, .clone = 1);
		expect_verdict(r, VERDICT_PASS);
		want = frame_probe(&in, port, seq);
		expect_frame(&r.out, &want);
		expect_eq(r.ctx.mark, 0);
		expect_eq(r.ctx.tstamp, 0);
		expect_counted_attached(-1);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6, .udp = 1 }).tx.bytes, seq);
		expect_untouched(EGRESS, &r.out, STAT_TX_OWN);
	}
}

/* An echo that waits does not go out with it: it may be cut off on its way. */
Test(probe_copy, probe_copy__takes_no_echo)
{
	struct ip_spec s = { .udp = 1, .payload = 50 };
	struct frame in = frame_of(s), want;
	__u16 port = entropy_of(&in);
	__u32 seq = flow_get(s).tx.bytes;
	struct result r;

	echo_waits(s, 0);
	r = run(EGRESS, &in, .clone = 1);
	want = frame_probe(&in, port, seq);
	expect_frame(&r.out, &want);
	run(EGRESS, &in);
	expect_eq(flow_get(s).echo.sent, flow_get(s).echo.version);
}

/* Bytes that an earlier packet left in the CPU's scratch space are not in it. */
Test(probe_copy, probe_copy__has_clean_room)
{
	struct ip_spec s = { .udp = 1 };
	struct frame in = udp(.payload = 50), empty = frame_of(s), want;
	__u16 port = entropy_of(&in);
	cpu_set_t one;
	struct result r;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert(!sched_setaffinity(0, sizeof(one), &one));
	echo_waits(s, 0);
	run(EGRESS, &empty); /* its echo is where the room is */
	r = run(EGRESS, &in, .clone = 1);
	want = frame_probe(&in, port, flow_get(s).tx.bytes);
	expect_frame(&r.out, &want);
}

/*
 * Its packet's departure time is that of a TCP socket. Where the port has fq, both wait for it, and it is no delay. Elsewhere
 * an fq behind the port might hold the copy too, which is not known here: it has none.
 */
Test(probe_copy, probe_copy__waits_with_its_packet_where_the_port_has_fq)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	struct result r;
	struct flow f;
	__u64 before, asked;

	for (int companion = 0; companion < 2; companion++) {
		for (int fq = 0; fq < 2; fq++) {
			fixture("%s, %s", companion ? "companion" : "PROBE", fq ? "fq" : "no fq");
			run(EGRESS, &in);
			f = flow_get(s);
			f.path.port_flags = fq ? PORT_F_HOST | PORT_F_EDT : PORT_F_HOST;
			f.delay.probed = 0;
			flow_set(s, &f);
			before = clock_ns();
			asked = before + 28 * MS;
			r = run(EGRESS, &in, .clone = companion ? 2 : 1, .tstamp = asked);
			expect_verdict(r, VERDICT_PASS);
			expect_eq(r.ctx.tstamp, fq ? asked : 0);
			if (fq)
				expect_eq((__u32)flow_get(s).delay.probed, (__u32)asked);
			else
				expect_between((__u32)flow_get(s).delay.probed - (__u32)before, 0, clock_ns() - before);
		}
	}
}

/* A clone that cannot become a PROBE must not leave as a second copy of the packet. */
Test(probe_copy, probe_copy__that_cannot_be_wrapped_is_dropped)
{
	struct frame in = udp(.payload = 100);

	fixture("a flow that is gone meanwhile");
	expect_verdict(run(EGRESS, &in, .clone = 1), VERDICT_DROP);
	expect_counted_attached(STAT_PROBE_FAILED);
	fixture("ARP");
	in = frame_arp();
	expect_verdict(run(EGRESS, &in, .clone = 1), VERDICT_DROP);
	expect_counted_attached(STAT_PROBE_FAILED);
	fixture("a fragment");
	in = udp(.payload = 100);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	in = frame_with_fragment(in, 1, 0);
	expect_verdict(run(EGRESS, &in, .clone = 1), VERDICT_DROP);
	expect_counted_attached(STAT_PROBE_FAILED);
}

/* A sender may set any mark; the one that once identified the copy is like any other. */
Test(probe_copy, probe_copy__is_not_told_by_a_mark)
{
	static const __u32 marks[] = { 7, 0x51d1ce5e };
	unsigned int i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		struct frame in = udp(.payload = 100);
		struct result r;

		fixture("mark %#x", marks[i]);
		r = run(EGRESS, &in, .mark = marks[i]);
		expect_verdict(r, VERDICT_PASS);
		expect_counted(STAT_TX_DATA);
		expect_eq(r.ctx.mark, marks[i]);
		expect_eq(run(EGRESS, &in, .mark = marks[i], .clone = 1).ctx.mark, marks[i]);
		expect_counted_attached(-1);
		in = frame_arp();
		expect_untouched(EGRESS, &in, STAT_TX_OTHER, .mark = marks[i]);
	}
}
