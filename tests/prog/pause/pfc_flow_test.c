// SPDX-License-Identifier: GPL-2.0-only
/* bpf/pause/pfc.bpf.h: packets that leave by a paused port. */
#include <net/if.h>
#include <sys/socket.h>

#include "pfc_case.h"

TestSuite(pfc_flow, .init = pfc_make, .fini = world_drop, .timeout = 60);

static void flow_at(struct ip_spec s, __u64 bps)
{
	struct flow f = flow_get(s);

	f.tx.clock_ns = 0;
	f.cc.rate_bps = bps;
	flow_set(s, &f);
}

/* From the end of the pause at R, and not all at once. */
Test(pfc_flow, paused_flow__resumes_without_a_burst)
{
	int is_udp, i;

	for (is_udp = 0; is_udp < 2; is_udp++) {
		struct ip_spec s = { .udp = is_udp, .payload = 1000, .tos = TOS };
		struct frame in = frame_of(s);
		struct result r;
		__u64 end;

		fixture(is_udp ? "UDP" : "TCP");
		port_obeys(MODE_ENFORCE);
		hosts_strip();
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		flow_at(s, 100000000);
		end = pause_for(500 * MS);
		for (i = 0; i < 4; i++) {
			r = run(EGRESS, &in);
			expect_verdict(r, VERDICT_PASS);
			expect_eq(r.ctx.tstamp, end);
			expect_counted(STAT_TX_DATA, STAT_PACED, STAT_PFC_HELD);
			end += r.out.len * 80; /* 80 ns a byte */
			expect_eq(flow_get(s).tx.clock_ns, end);
			expect_eq(flow_get(s).tx.held, HELD_PAUSE);
		}
	}
}

/* A later departure than the end of the pause stays what it is. */
Test(pfc_flow, paused_flow__keeps_its_clock)
{
	struct ip_spec s = { .payload = 1000, .tos = TOS };
	struct frame in = frame_of(s);
	struct flow f;
	__u64 end;

	port_obeys(MODE_ENFORCE);
	run(EGRESS, &in);
	end = pause_for(100 * MS);
	f = flow_get(s);
	f.tx.clock_ns = end + 2 * MS;
	flow_set(s, &f);
	expect_eq(run(EGRESS, &in).ctx.tstamp, end + 2 * MS);
}

/* The horizon begins where the pause ends: a packet that waits for it is not early. */
Test(pfc_flow, paused_flow__of_udp_is_dropped_beyond_the_horizon_only)
{
	struct ip_spec s = { .udp = 1, .payload = 1000, .tos = TOS };
	struct frame in = frame_of(s);
	struct flow f;
	__u64 end;

	port_obeys(MODE_ENFORCE);
	horizon_set(10 * MS, 0);
	run(EGRESS, &in);
	flow_at(s, 100000000);
	end = pause_for(600 * MS);
	run(EGRESS, &in);
	f = flow_get(s);
	f.tx.clock_ns = end + 9 * MS;
	flow_set(s, &f);
	expect_eq(run(EGRESS, &in).ctx.tstamp, end + 9 * MS);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_PACED, STAT_PACED, STAT_PFC_HELD, STAT_PFC_HELD);
	f.tx.clock_ns = end + 11 * MS;
	flow_set(s, &f);
	expect_verdict(run(EGRESS, &in), VERDICT_DROP);
	expect_counted(STAT_TX_HORIZON);
}

Test(pfc_flow, plain_packet__leaves_at_the_end_of_the_pause)
{
	struct frame empty = tcp(.tos = TOS), stranger = udp(.to = HOST_STRANGER, .payload = 10, .tos = TOS);
	struct frame v6 = tcp(.v6 = 1, .to = HOST_STRANGER, .tos = TOS);
	__u64 end;

	port_obeys(MODE_ENFORCE);
	end = pause_for(500 * MS);
	expect_eq(run(EGRESS, &empty).ctx.tstamp, end);
	expect_counted(STAT_TX_PLAIN_ACK, STAT_PFC_HELD);
	expect_eq(run(EGRESS, &stranger).ctx.tstamp, end);
	expect_counted(STAT_TX_NO_PEER, STAT_PFC_HELD);
	expect_eq(run(EGRESS, &v6).ctx.tstamp, end);
	expect_counted(STAT_TX_NO_PEER, STAT_PFC_HELD);
	expect_eq(run(EGRESS, &stranger, .tstamp = end + MS).ctx.tstamp, end + MS);
	expect_counted(STAT_TX_NO_PEER, STAT_PFC_HELD);
}

/* Its telemetry waits here with its packets: nobody could answer. */
Test(pfc_flow, paused_flow__is_not_silent)
{
	struct ip_spec s = { .payload = 1000, .tos = TOS };
	struct frame in = frame_of(s);
	struct host h;
	struct flow f;
	int i;

	port_obeys(MODE_ENFORCE);
	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	pause_for(50 * MS);
	for (i = 0; i < 3; i++) {
		fixture("the pause began %d ms ago, for 50 ms", i * 100);
		f = flow_get(s);
		f.beside.unanswered = FLOW_SILENT - 1;
		f.tx.asked = (clock_ns() - 150 * MS) >> FLOW_ASKED_SHIFT;
		flow_set(s, &f);
		h = host_get(0, HOST_B);
		h.unanswered_ns = clock_ns() - 150 * MS;
		host_set(0, HOST_B, &h);
		run(EGRESS, &in);
		world_ended();
		expect_eq(flow_get(s).tx.flags & FLOW_F_TELEM, i < 2 ? FLOW_F_TELEM : 0);
		expect_eq(host_get(0, HOST_B).capable, i < 2);
		clock_pass(100 * MS);
	}
}

Test(pfc_flow, switch_port__holds_what_it_forwards)
{
	struct frame in = udp(.payload = 100, .tos = TOS), other = udp(.payload = 100);
	__u64 end;

	port_obeys(MODE_ENFORCE);
	end = pause_for(500 * MS);
	expect_eq(run(HOP_MAP, &in).ctx.tstamp, end);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_HELD);
	expect_untouched(HOP_MAP, &other, STAT_HOP_OTHER);
}

Test(pfc_flow, pause__holds_nobody_else)
{
	struct frame paused = udp(.to = HOST_STRANGER, .payload = 10, .tos = TOS);
	struct frame other = udp(.to = HOST_STRANGER, .payload = 10, .tos = (LOSSLESS + 1) << 5);
	struct pfc_port p;

	port_obeys(MODE_ENFORCE);
	pause_for(500 * MS);
	fixture("another priority");
	expect_eq(run(EGRESS, &other).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
	fixture("by PCP, and it has no tag");
	p = pauses_get(WORLD_IFINDEX);
	p.trust = PFC_TRUST_PCP;
	pauses_set(WORLD_IFINDEX, &p);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
	p.trust = PFC_TRUST_DSCP;
	pauses_set(WORLD_IFINDEX, &p);
	fixture("dry run");
	control_set(MODE_DRY_RUN, 0);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
	fixture("bypass");
	control_set(MODE_ENFORCE, 1);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_BYPASS);
	fixture("it is over");
	control_set(MODE_ENFORCE, 0);
	pause_for(0);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
}

Test(pfc_flow, pause__that_cannot_be_kept_is_counted)
{
	struct frame in = udp(.payload = 1000, .tos = TOS), arp = frame_arp();
	struct pfc_port p;
	struct port port = port_usual();

	port_obeys(MODE_ENFORCE);
	p = pauses_get(WORLD_IFINDEX);
	p.lossless |= 1;
	p.obey[0] = (struct pfc_obey){ .until_ns = clock_ns() + 500 * MS, .since_ns = clock_ns(), .state = PFC_PAUSED };
	pauses_set(WORLD_IFINDEX, &p);
	fixture("not IP");
	expect_eq(run(EGRESS, &arp).ctx.tstamp, 0);
	expect_counted(STAT_TX_OTHER, STAT_PFC_UNHELD);
	fixture("no fq");
	pause_for(500 * MS);
	port_change(WORLD_IFINDEX, &port);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_UNHELD, STAT_PFC_UNHELD);
}
