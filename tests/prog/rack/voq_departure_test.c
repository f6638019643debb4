// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/voq.bpf.h: packets leave by their credit. */
#include "sluice/queue/queue.h"
#include "voq_case.h"

TestSuite(voq_departure, .init = voq_make_world, .fini = world_drop, .timeout = 60);

Test(voq_departure, departure__by_credit)
{
	struct ip_spec s = { .payload = 1000 };
	struct result r = voq_leaves(s);
	unsigned int len = r.out.len; /* 1150 bytes */
	__u64 t, round_ns = MS + hiercc_gap_ns(LINE, port_usual().mtu + 14);
	struct voq v;

	expect_eq(r.ctx.tstamp, 0);
	expect_eq(flow_get(s).tx.held, HELD_NOT);
	clocks_stop(s);
	expect_eq(voq_leaves(s).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA);

	fixture("no credit has come yet");
	clocks_stop(s);
	r = voq_leaves(s);
	v = voq_get(voq_to_b(0));
	/* A round trip with the time of a packet at both ends, and what is lacking at a sixth of the port. */
	t = v.voq.short_ns + round_ns + (3 * len - C0) * 1000000000ULL / (LINE / 6);
	expect_eq(r.ctx.tstamp, t);
	expect_eq(v.voq.clock_ns, t);
	expect_between(flow_get(s).tx.clock_ns, t, t + 1000);
	expect_eq(flow_get(s).tx.held, HELD_CREDIT);
	expect_counted(STAT_TX_DATA, STAT_VOQ_WAITS, STAT_PACED);

	fixture("another flow, which the receiver has not heard of");
	r = voq_leaves((struct ip_spec){ .payload = 1000, .sport = 7 });
	expect_eq(r.ctx.tstamp, 0);
	expect_eq(flows_of(&r.out), 2);
	expect_eq(total_of(&r.out), 4 * len);
	expect_counted(STAT_TX_DATA);

	fixture("behind both");
	clocks_stop((struct ip_spec){ .sport = 7 });
	r = voq_leaves((struct ip_spec){ .payload = 1000, .sport = 7 });
	t = v.voq.short_ns + round_ns + (5 * len - C0) * 1000000000ULL / (LINE / 6);
	expect_eq(r.ctx.tstamp, t);
	expect_counted(STAT_TX_DATA, STAT_VOQ_WAITS, STAT_PACED);

	fixture("credit has come");
	credit_lacks(0, 0);
	clocks_stop(s);
	v = voq_get(voq_to_b(0));
	v.voq.credit += len;
	voq_set(voq_to_b(0), &v);
	expect_eq(voq_leaves(s).ctx.tstamp, 0);
	expect_eq(flow_get(s).tx.held, HELD_NOT);
	expect_counted(STAT_TX_DATA);
}

Test(voq_departure, departure__not_before_the_flows_clock)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	__u64 clock;

	voq_leaves(s);
	credit_lacks(0, 0);
	f = flow_get(s);
	f.tx.clock_ns = clock = clock_ns() + 2000 * MS;
	f.cc.rate_bps = 100000000;
	flow_set(s, &f);
	expect_eq(voq_leaves(s).ctx.tstamp, clock);
	expect_eq(flow_get(s).tx.held, HELD_RATE);
	expect_between(voq_get(voq_to_b(0)).voq.clock_ns, 1, clock_ns() + 100 * MS);
}

/* The horizon of the flow's clock, 12 ms, does not drop it either. */
Test(voq_departure, departure__never_after_the_limit)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;
	__u64 t;

	voq_leaves(s);
	credit_lacks(0, 0);
	clocks_stop(s);
	v = voq_get(voq_to_b(0));
	v.voq.rate = 1; /* byte/s */
	v.voq.due = 1;
	voq_set(voq_to_b(0), &v);
	t = voq_leaves(s).ctx.tstamp;
	expect_eq(t, voq_get(voq_to_b(0)).voq.short_ns + LIMIT_NS);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_VOQ_WAITS, STAT_PACED);
}

Test(voq_departure, departure__at_once_when_credits_have_stopped)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	struct voq v;

	voq_leaves(s);
	expect_between(flow_get(s).voq.rate_bps, 1, 8 * LINE);
	credit_lacks(0, 0);
	clocks_stop(s);
	v = voq_get(voq_to_b(0));
	v.voq.short_ns = clock_ns() - LIMIT_NS;
	v.voq.rate = 100 * 1000 * 1000;
	voq_set(voq_to_b(0), &v);
	expect_eq(voq_leaves(s).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_VOQ_ALONE);
	v = voq_get(voq_to_b(0));
	expect_eq(v.alone, 1);
	f = flow_get(s);
	expect_eq(f.tx.held, HELD_NOT);
	expect_eq(f.voq.rate_bps, 0);

	fixture("W is the BDP of what credit came for, once");
	expect_eq(q12_to_bytes(f.cc.w), 100 * 1000 * 1000 / 1000 * (WORLD_T_NS / 1000000));
	expect_eq(f.cc.wc, f.cc.w);
	expect_eq(f.cc.rate_bps, hpcc_rate_bps(f.cc.w, WORLD_T_NS));
	f.cc.w = f.cc.wc = f.params.w_init;
	flow_set(s, &f);
	clock_pass(1000000); /* the one before has left */
	voq_leaves(s);
	expect_counted(STAT_TX_DATA, STAT_VOQ_ALONE);
	expect_eq(flow_get(s).cc.w, f.params.w_init);
}

Test(voq_departure, departure__idle_voq_has_c0_again)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;

	voq_leaves(s);
	credit_lacks(0, 100000);
	clocks_stop(s);
	v = voq_get(voq_to_b(0));
	v.voq.short_ns = clock_ns();
	v.voq.last_ns = clock_ns() - 2 * LIMIT_NS - 1000 * MS;
	voq_set(voq_to_b(0), &v);
	expect_eq(voq_leaves(s).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA);
	v = voq_get(voq_to_b(0));
	expect_eq(v.voq.sent, FIRST + 2 * 1150);
	expect_eq(v.voq.credit, FIRST + 1150);
}

/* Times in the future, as after a clock that went back, hold no packet for longer than the limit. */
Test(voq_departure, departure__clock_that_went_back)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	struct voq v;
	__u64 far, t;

	voq_leaves(s);
	credit_lacks(0, 0);
	far = clock_ns() + 3600 * 1000 * MS;
	v = voq_get(voq_to_b(0));
	v.voq.clock_ns = v.voq.last_ns = v.voq.credit_ns = v.voq.short_ns = v.voq.mark_ns = far;
	v.hop.mark_ns = far;
	voq_set(voq_to_b(0), &v);
	f = flow_get(s);
	f.tx.clock_ns = f.tx.telem_ns = far;
	f.voq.mark = 0xffffffff;
	flow_set(s, &f);
	t = voq_leaves(s).ctx.tstamp;
	expect_between(t, 1, clock_ns() + LIMIT_NS + 13 * MS); /* and two packets */
	v = voq_get(voq_to_b(0));
	expect_between(v.voq.clock_ns, 1, clock_ns() + LIMIT_NS);
	expect_between(v.hop.mark_ns, 1, clock_ns());
}

/* A dropped packet counts as never sent. */
Test(voq_departure, departure__beyond_the_horizon_of_udp_is_not_in_s)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	struct result r;
	struct flow f;
	__u64 sent;

	voq_leaves(s);
	f = flow_get(s);
	f.tx.clock_ns = clock_ns() + 900 * MS;
	flow_set(s, &f);
	sent = voq_get(voq_to_b(0)).voq.sent;
	hosts_strip();
	expect_that(world_ended());
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_DROP);
	expect_frame(&r.out, &in);
	expect_counted(STAT_TX_HORIZON);
	expect_eq(voq_get(voq_to_b(0)).voq.sent, sent);
}

/* S and F go along, so that the receiver sees, and nothing waits. */
Test(voq_departure, departure__only_in_mode_enforce_and_with_fq)
{
	struct ip_spec s = { .payload = 1000 };
	struct port port = port_usual();
	int i;

	for (i = 0; i < 3; i++) {
		static const char *const what[] = { "observe", "dry-run", "no fq" };
		struct result r;
		struct flow f;
		__u64 sent;

		fixture("%s", what[i]);
		control_set(i == 0 ? MODE_OBSERVE : i == 1 ? MODE_DRY_RUN : MODE_ENFORCE, 0);
		port.flags = i == 2 ? port.flags & ~PORT_F_EDT : port.flags | PORT_F_EDT;
		port_change(WORLD_IFINDEX, &port);
		voq_leaves(s);
		credit_lacks(0, 100000);
		sent = voq_get(voq_to_b(0)).voq.sent;
		f = flow_get(s);
		f.tx.clock_ns = 0;
		flow_set(s, &f);
		r = voq_leaves(s);
		expect_eq(r.ctx.tstamp, 0);
		expect_eq(total_of(&r.out), (__u32)sent + r.out.len);
		expect_eq(flows_of(&r.out), 1);
		expect_eq(flow_get(s).tx.clock_ns, 0);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA);
	}
}

/* The queue is told the VOQ and the time of credit; only R makes a departure time. Without the flag it is as with fq. */
Test(voq_departure, departure__with_our_qdisc_credit_is_a_note)
{
	struct ip_spec s = { .payload = 1000 };
	struct port port = port_usual();
	int i;

	FOR_V4_AND_V6 (v6)
		for (i = 0; i < 2; i++) {
			struct queue_note n;
			struct result r;
			__u64 credit_ns;

			s.v6 = v6;
			port.flags =
				i ? port.flags | PORT_F_EDT | PORT_F_QUEUE : (port.flags | PORT_F_EDT) & ~PORT_F_QUEUE;
			port_change(WORLD_IFINDEX, &port);
			control_next_epoch();
			voq_leaves(s);
			credit_lacks(v6, 100000);
			clocks_stop(s);
			r = voq_leaves(s);
			n = note_of(&r);
			expect_eq(flow_get(s).tx.held, HELD_CREDIT);
			if (!i) {
				expect_between(r.ctx.tstamp, clock_ns(), clock_ns() + LIMIT_NS);
				expect_eq(n.mark, 0);
				continue;
			}
			credit_ns = queue_note_credit_ns(n.credit, clock_ns());
			expect_eq(queue_note_is_valid(&n), 1);
			expect_eq(!n.voq_high && !n.voq_low, 0);
			expect_between(credit_ns, clock_ns(), clock_ns() + LIMIT_NS);
			expect_between(r.ctx.tstamp, 0, credit_ns - 1);
		}
}

/* With our qdisc what a flow sends first overtakes the others, and its S claims no byte that still waits. */
Test(voq_departure, departure__with_our_qdisc_a_short_flow_overtakes)
{
	struct ip_spec s = { .payload = 1000 };
	struct port port = port_usual();

	port.flags |= PORT_F_EDT | PORT_F_QUEUE;
	port_change(WORLD_IFINDEX, &port);
	control_next_epoch();
	FOR_V4_AND_V6 (v6) {
		struct result r;
		struct flow f;
		struct voq v;

		s.v6 = v6;
		voq_leaves(s);
		credit_lacks(v6, 100000);
		v = voq_get(voq_to_b(v6));
		v.voq.kept = v.voq.sent;
		voq_set(voq_to_b(v6), &v);
		r = voq_leaves(s);
		expect_eq(note_of(&r).mark & QUEUE_NOTE_YOUNG, QUEUE_NOTE_YOUNG);
		expect_eq(total_of(&r.out), (__u32)v.voq.credit + v.params.c0);
		f = flow_get(s);
		f.voq.burst = QUEUE_YOUNG_BYTES;
		f.tx.clock_ns = clock_ns();
		flow_set(s, &f);
		r = voq_leaves(s);
		v = voq_get(voq_to_b(v6));
		expect_eq(note_of(&r).mark & QUEUE_NOTE_YOUNG, 0);
		expect_eq(total_of(&r.out), (__u32)v.voq.sent);
	}
}

/* Words that others have left there name no VOQ. */
Test(voq_departure, departure__of_no_voq_has_no_note)
{
	struct port port = port_usual();
	struct frame other = frame_arp();
	struct result r;

	port.flags |= PORT_F_EDT | PORT_F_QUEUE;
	port_change(WORLD_IFINDEX, &port);
	r = run(EGRESS, &other, .note = QUEUE_NOTE_MARK);
	expect_eq(note_of(&r).mark, 0);
	r = run(HOP, &other, .note = QUEUE_NOTE_MARK);
	expect_eq(note_of(&r).mark, 0);
}

/* Nothing of ours is in a packet to a peer that has not answered yet, and it uses C0 as all others. */
Test(voq_departure, departure__to_a_peer_that_has_not_answered)
{
	struct ip_spec s = { .payload = 1000 };
	struct host unknown = {};
	struct frame in = frame_of(s);
	struct result r;
	__u64 left, t;

	voq_leaves(s);
	credit_lacks(0, 0);
	clocks_stop(s);
	left = voq_get(voq_to_b(0)).voq.sent;
	unknown.asked_ns = clock_ns();
	host_set(0, HOST_B, &unknown);
	r = run(EGRESS, &in);
	t = voq_get(voq_to_b(0)).voq.clock_ns;
	expect_frame(&r.out, &in);
	expect_eq(voq_get(voq_to_b(0)).voq.sent, left + in.len);
	expect_between(t, clock_ns(), clock_ns() + LIMIT_NS);
	expect_eq(r.ctx.tstamp, t);
	expect_counted(STAT_TX_DATA, STAT_TX_PEER_UNKNOWN, STAT_VOQ_WAITS, STAT_PACED);

	fixture("who does not grant holds nobody");
	clocks_stop(s);
	{
		struct voq v = voq_get(voq_to_b(0));

		v.voq.short_ns = clock_ns() - LIMIT_NS;
		voq_set(voq_to_b(0), &v);
	}
	r = run(EGRESS, &in);
	expect_frame(&r.out, &in);
	expect_eq(r.ctx.tstamp, 0);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_VOQ_ALONE);
}
