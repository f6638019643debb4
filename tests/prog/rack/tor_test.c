// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/tor.bpf.h: the VOQs of hosts are at their switch. */
#include <string.h>

#include "tor_case.h"

TestSuite(tor, .init = make_switch, .fini = world_drop, .timeout = 60);

/* The frame but for telemetry and VOQ block, which are the switch's to write. */
static void expect_rest(const struct frame *got, const struct frame *want)
{
	struct frame f = *want;

	memcpy(f.b + at_telem(&f), got->b + at_telem(got), 44 + 12);
	expect_frame(got, &f);
}

Test(tor, up__fills_in_the_block)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6);
		__u32 total = 0;
		int i;

		for (i = 0; i < 3; i++) {
			struct result r = run(HOP_MAP, &in);

			total += in.len;
			expect_verdict(r, VERDICT_PASS);
			expect_block(&r.out, TOR, total, 1, 128, 0);
			expect_rest(&r.out, &in);
			expect_eq(voq_get(tor_to_b(v6)).voq.sent, FIRST + total);
			expect_counted(STAT_HOP_STAMPED, STAT_TOR_VOQ);
		}
	}
}

Test(tor, up__counts_flows_by_their_entropy)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int i;

		for (i = 0; i < 12; i++) {
			struct frame in = passing(.v6 = v6, .sport = 0xc000 + i % 3);
			struct result r = run(HOP_MAP, &in);

			expect_eq(get16(r.out.b + at_voq(&r.out) + 8), i < 3 ? i + 1 : 3);
		}
	}
}

/* A packet that credit does not cover waits in fq until it is expected; nothing waits if departure times are not obeyed. */
Test(tor, up__holds_what_has_no_credit)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6);
		__u64 before = clock_ns();
		struct result r;
		int i;

		for (i = 0; i < 20; i++)
			r = run(HOP_MAP, &in);
		expect_between(r.ctx.tstamp, before + 1, clock_ns() + LIMIT_NS);
		control_set(MODE_DRY_RUN, 0);
		r = run(HOP_MAP, &in);
		expect_eq(r.ctx.tstamp, 0);
		expect_eq(get32(r.out.b + at_voq(&r.out)), TOR);
		control_set(MODE_ENFORCE, 0);
		port_become(PORT_F_SWITCH | PORT_F_VOQ_UP);
		r = run(HOP_MAP, &in);
		expect_eq(r.ctx.tstamp, 0);
		port_become(PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT);
	}
}

/* A packet that credit covers leaves at once, but not before those of its flow that were there when there was none. */
Test(tor, up__keeps_a_flow_in_order)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6), other = passing(.v6 = v6, .sport = 0xc001);
		struct voq v;
		__u64 last;
		int i;

		for (i = 0; i < 20; i++)
			last = run(HOP_MAP, &in).ctx.tstamp;
		expect_between(last, clock_ns(), clock_ns() + LIMIT_NS);
		v = voq_get(tor_to_b(v6));
		v.voq.credit = v.voq.sent;
		voq_set(tor_to_b(v6), &v);
		expect_eq(run(HOP_MAP, &other).ctx.tstamp, 0);
		expect_eq(run(HOP_MAP, &in).ctx.tstamp, last);
	}
}

/* The packets in fq are no queue of the port: its stamp says 0. */
Test(tor, up__does_not_stamp_what_waits)
{
	struct port port = port_usual();
	struct frame in = passing();
	struct result r;

	port.flags = PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT;
	port.backlog_bytes = 80 * 1000;
	port_change(WORLD_IFINDEX, &port);
	r = run(HOP_MAP, &in);
	expect_eq(get64(r.out.b + at_hop(&r.out, 0)) & 0xffff, 0);
	port.flags = PORT_F_SWITCH | PORT_F_VOQ_UP;
	port_change(WORLD_IFINDEX, &port);
	r = run(HOP_MAP, &in);
	expect_eq(get64(r.out.b + at_hop(&r.out, 0)) & 0xffff, 1000);
}

static void expect_not_filled_in(const struct frame *in)
{
	struct result r = run(HOP_MAP, in);

	expect_eq(memcmp(r.out.b + at_voq(in), in->b + at_voq(in), 12), 0);
	expect_eq(r.ctx.tstamp, 0);
	expect_counted(STAT_HOP_STAMPED);
}

Test(tor, up__leaves_alone_what_is_not_its_own)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6, .tor = OTHER, .total = 5, .flows = 2);

		expect_not_filled_in(&in);
		in = passing(.v6 = v6);
		port_become(PORT_F_SWITCH | PORT_F_EDT);
		expect_not_filled_in(&in);
		port_become(PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT);
		peers_become(VOQS_OFF);
		expect_not_filled_in(&in);
		peers_become(VOQS_HERE);
		tor_set(0);
		expect_not_filled_in(&in);
		tor_set(TOR);
		expect_eq(voq_exists(tor_to_b(v6)), 0);
	}
}

Test(tor, mark__is_told_to_the_daemon)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6, .mark = 1);
		struct sluice_addr a = addr_of(v6, HOST_A), b = addr_of(v6, HOST_B);
		struct tor_news news[4];
		struct result r = run(HOP_MAP, &in);

		expect_block(&r.out, TOR, in.len, 1, 128, 0);
		expect_eq(asks_taken(news, 4), 1);
		expect_eq(news[0].flags, TOR_NEWS_ASKED);
		expect_eq(memcmp(&news[0].host, &a, 16), 0);
		expect_eq(memcmp(&news[0].dst, &b, 16), 0);
		expect_eq(memcmp(&news[0].voq.addr, &b, 16), 0);
		expect_eq(news[0].voq.prefixlen, 128);
		expect_eq(news[0].rate_bps, WORLD_BPS);
		/* The other segments of a packet have the same mark. */
		run(HOP_MAP, &in);
		expect_eq(asks_taken(news, 4), 0);
		in = passing(.v6 = v6);
		run(HOP_MAP, &in);
		expect_eq(asks_taken(news, 4), 0);
	}
}

/* The daemon is told of a stop and of its end once, if a host has asked. */
Test(tor, stop__is_told_without_being_asked)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6);
		struct tor_news news[4];
		struct voq v;
		int i;

		run(HOP_MAP, &in);
		for (i = 0; i < 2; i++) {
			v = voq_get(tor_to_b(v6));
			v.voq.credit = v.voq.sent - v.hop_params.v_high - 10000;
			v.hop.stopped = 0;
			v.asked_ns = i;
			voq_set(tor_to_b(v6), &v);
			run(HOP_MAP, &in);
			run(HOP_MAP, &in);
			expect_eq(asks_taken(news, 4), i);
		}
		expect_eq(news[0].flags, TOR_NEWS_STOPPED);
		expect_eq(memcmp(&news[0].voq, &(struct voq_key[]){ tor_to_b(v6) }[0], sizeof(struct voq_key)), 0);
		v = voq_get(tor_to_b(v6));
		v.voq.credit = v.voq.sent;
		voq_set(tor_to_b(v6), &v);
		run(HOP_MAP, &in);
		run(HOP_MAP, &in);
		expect_eq(asks_taken(news, 4), 1);
		expect_eq(news[0].flags, 0);
		cr_assert(news[0].rate_bps > 8 * v.hop_params.rate_min);
	}
}
