// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/tor.bpf.h where the data of hosts is beside its companions. */
#include <string.h>

#include "../host/companion_case.h"
#include "tor_case.h"

TestSuite(tor_beside, .init = make_switch, .fini = world_drop, .timeout = 60);

#define EMPTY (BESIDE | SWITCH) /* flags of a block that the switch fills in */

static struct frame companion_passing(int v6, __u32 tor, __u8 flags)
{
	struct frame data = tcp(.v6 = v6, .payload = 700);

	return companion_with_voq(companion_of(&data, 2, 77), tor, 12345, 0, flags);
}

static void expect_said(const struct frame *f, __u32 total, __u16 flows, __u8 flags)
{
	const __u8 *p = f->b + companion_at(f) + COMPANION_VOQ;

	expect_eq(get32(p), TOR);
	expect_eq(get32(p + 4), total);
	expect_eq(get16(p + 8), flows);
	expect_eq(p[10], 128);
	expect_eq(p[11], flags);
}

/* A companion reports its host's data, which is in the VOQ from then on; the next one carries that S. */
Test(tor_beside, up__data_is_known_by_its_companions)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .payload = 700), other = tcp(.v6 = v6, .payload = 100, .sport = 7),
			     ack = tcp(.v6 = v6), padded = ack, in = companion_passing(v6, 0, EMPTY);
		struct result r;

		memset(padded.b + padded.len, 0, 6);
		padded.len += 6; /* 60 bytes, the least of Ethernet, for IPv4 */

		expect_untouched(HOP_MAP, &data, STAT_HOP_OTHER);
		r = run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED, STAT_TOR_VOQ);
		expect_said(&r.out, 0, 1, EMPTY);
		expect_eq(memcmp(r.out.b, in.b, companion_at(&in) + COMPANION_TELEM), 0);
		r = run(HOP_MAP, &data);
		expect_frame(&r.out, &data);
		expect_counted(STAT_HOP_OTHER, STAT_TOR_VOQ);
		run(HOP_MAP, &other);
		expect_counted(STAT_HOP_OTHER, STAT_TOR_VOQ);
		expect_untouched(HOP_MAP, &ack, STAT_HOP_OTHER);
		expect_untouched(HOP_MAP, &padded, STAT_HOP_OTHER);
		expect_eq(voq_get(tor_to_b(v6)).voq.sent, FIRST + data.len + other.len);
		r = run(HOP_MAP, &in);
		expect_said(&r.out, data.len + other.len, 2, EMPTY);
		world_ended();
	}
}

/* All segments of a GSO packet, each with its headers. */
Test(tor_beside, up__counts_segments)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .payload = 700), in = companion_passing(v6, 0, EMPTY);

		run(HOP_MAP, &in);
		run(HOP_MAP, &data, .gso_size = 300, .gso_segs = 3);
		expect_eq(voq_get(tor_to_b(v6)).voq.sent, FIRST + 700 + 3 * (data.len - 700));
		world_ended();
	}
}

Test(tor_beside, up__holds_what_has_no_credit)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .payload = 700), in = companion_passing(v6, 0, EMPTY);
		__u64 before = clock_ns(), held;
		struct result r;
		int i;

		run(HOP_MAP, &in);
		for (i = 0; i < 20; i++)
			r = run(HOP_MAP, &data);
		held = r.ctx.tstamp;
		expect_between(held, before + 1, clock_ns() + LIMIT_NS);
		/* It leaves with what it speaks of. */
		r = run(HOP_MAP, &in);
		expect_between(r.ctx.tstamp, held, clock_ns() + LIMIT_NS);
		world_ended();
	}
}

/* A mark asks for R, on companions too. */
Test(tor_beside, mark__is_told_to_the_daemon)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = companion_passing(v6, 0, EMPTY | MARK);
		struct result r = run(HOP_MAP, &in);

		expect_counted(STAT_HOP_STAMPED, STAT_TOR_VOQ, STAT_TOR_ASKED);
		expect_said(&r.out, 0, 1, EMPTY);
	}
}

/* The answer takes the block back, whoever has filled it in; and what another ToR has filled in is that one's. */
Test(tor_beside, up__leaves_alone_what_is_not_its_own)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = companion_passing(v6, 0, EMPTY);

		in.b[companion_at(&in) + COMPANION_MESSAGE] = 0x43;
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = companion_passing(v6, OTHER, BESIDE);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED);
	}
}

Test(tor_beside, down__is_noted)
{
	port_become(PORT_F_SWITCH | PORT_F_VOQ_DOWN);
	FOR_V4_AND_V6 (v6) {
		struct frame in = companion_passing(v6, OTHER, BESIDE);
		struct arrival_news news[2];

		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED, STAT_ARRIVAL_NEWS);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(news[0].claim >> 32, 12345);
		expect_eq(news[0].bytes, 0);
		expect_eq(news[0].packets, 1);
	}
}
