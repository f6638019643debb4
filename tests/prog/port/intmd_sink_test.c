// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/intmd.bpf.h: the sink takes INT-MD off, and what it cannot read. */
#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "intmd_case.h"

TestSuite(intmd_sink, .init = intmd_make, .fini = world_drop, .timeout = 120);
TestSuite(intmd_sink_xdp, .init = intmd_make, .fini = world_drop, .timeout = 120);

/* A message of B to A. */
#define from_b(v6_, payload_, ...)                                                          \
	({                                                                                  \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1, .payload = payload_);      \
		frame_with_int(wrap(&inner_, .seq = 99), (struct int_spec){ __VA_ARGS__ }); \
	})

#define HOP_SOUND                                  \
	{                                          \
		0x123, 1600, 5000000, 100, 1000000 \
	}

/* It is stripped, its telemetry ignored, and that is counted. */
static void expect_ignored(int v6, const struct frame *in, unsigned int payload, enum sluice_stat why)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = payload);
	struct result r = run(sink, in);

	expect_verdict(r, VERDICT_PASS);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA, why);
	expect_eq(flow_exists((struct ip_spec){ .v6 = v6 }), 0);
}

SinkTest(intmd_sink, sink__ignores_what_it_cannot_read)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 500, .version = 1, .hops = 1, .hop = { HOP_SOUND });

		expect_ignored(v6, &in, 500, STAT_RX_INT_VERSION);
		in = from_b(v6, 500, .hops = 1, .hop = { HOP_SOUND });
		in.b[at_shim(&in) + 6] = 0;
		expect_ignored(v6, &in, 500, STAT_RX_INT_LENGTH);
		in = from_b(v6, 500, .ml = 31, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_LENGTH);
		in = from_b(v6, 500, .ml = 7, .bitmap = 0xd400, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_LENGTH); /* six words are no hop of seven */
		in = from_b(v6, 500, .hops = 6,
			    .hop = { HOP_SOUND, HOP_SOUND, HOP_SOUND, HOP_SOUND, HOP_SOUND, HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_HOPS);
		in = from_b(v6, 500, .domain = 1, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_FIELDS);
		in = from_b(v6, 500, .bitmap = 0x9400 | 0x4000, .ds = 0x8000, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_FIELDS);
		in = from_b(v6, 500, .hops = 1, .hop = { { 1, 1600, 5000000, 100, 0 } });
		expect_ignored(v6, &in, 500, STAT_RX_INT_VALUES);
		in = from_b(v6, 500, .hops = 2, .hop = { HOP_SOUND, { 1, 1600, 5000000, ~0U, 1000000 } });
		expect_ignored(v6, &in, 500, STAT_RX_INT_VALUES);
		in = from_b(v6, 500, .hops = 1, .hop = { { 1, 1600, ~0ULL, 100, 1000000 } });
		expect_ignored(v6, &in, 500, STAT_RX_INT_VALUES);
	}
}

/* The longest that a shim can state: 252 words of stack. */
SinkTest(intmd_sink, sink__strips_the_longest_stack)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in = wrap(&inner, .seq = 99);
		unsigned int at, i;

		in = with_int(in, .ml = 31, .length = 255);
		at = at_stack(&in);
		memmove(in.b + at + 1008, in.b + at, in.len - at);
		for (i = 0; i < 1008; i++)
			in.b[at + i] = i;
		in.len += 1008;
		put16(in.b + 14 + (v6 ? 4 : 2), get16(in.b + 14 + (v6 ? 4 : 2)) + 1008);
		frame_fix(&in);
		expect_ignored(v6, &in, 500, STAT_RX_INT_HOPS);
	}
}

SinkTest(intmd_sink, sink__passes_what_does_not_add_up)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 500, .length = 2, .hops = 1, .hop = { HOP_SOUND });

		expect_untouched(sink, &in, STAT_RX_BAD_LENGTH);
		in = from_b(v6, 500, .length = 8, .hops = 1, .hop = { HOP_SOUND }); /* speed is taken for a shim */
		expect_untouched(sink, &in, STAT_RX_NOT_HPCC);
		in = from_b(v6, 500, .length = 255, .hops = 1, .hop = { HOP_SOUND });
		expect_untouched(sink, &in, STAT_RX_TRUNCATED);
		in = from_b(v6, 500, .next = 17, .hops = 1, .hop = { HOP_SOUND });
		expect_untouched(sink, &in, STAT_RX_NOT_HPCC);
		in = from_b(v6, 500, .hops = 1, .hop = { HOP_SOUND });
		put16(in.b + at_udp(&in) + 6, 0x1111);
		expect_untouched(sink, &in, STAT_RX_NOT_HPCC);
		in = from_b(v6, 500, .hops = 1, .hop = { HOP_SOUND });
		in.len--;
		expect_untouched(sink, &in, STAT_RX_TRUNCATED);
	}
}

SinkTest(intmd_sink, sink__truncated_at_every_length)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 20, .hops = 2, .hop = { HOP_SOUND, HOP_SOUND });
		unsigned int n;

		for (n = at_shim(&in); n < in.len; n++) {
			struct frame cut = frame_cut(in, n);

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			expect_untouched(sink, &cut, STAT_RX_TRUNCATED);
		}
	}
}

/* Hops are missing: those that are there count. */
SinkTest(intmd_sink, sink__takes_what_there_is)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 500, .flags = 4, .hops = 2, .hop = { HOP_SOUND, HOP_SOUND });

		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_INT_FULL);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 2);
		in = from_b(v6, 500, .flags = 2, .left = 3, .hops = 1, .hop = { HOP_SOUND });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_INT_MTU);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 1);
		in = from_b(v6, 500, .left = 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 0);
	}
}

/* D: the sink is to throw the packet away when it has read it. */
SinkTest(intmd_sink, sink__drops_a_copy)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = from_b(v6, 500, .flags = 8, .hops = 1, .hop = { HOP_SOUND });
		struct result r = run(sink, &in);

		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_INT_COPY);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 1);
	}
}

/* A feedback with another number of hops is a new beginning, and W stays. The first path still has its record when it comes back. */
SinkTest(intmd_sink, sink__path_that_changes_its_length)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec there = { .v6 = v6, .payload = 900 };
		struct frame data = frame_of(there), ack = tcp(.v6 = v6, .reply = 1);
		unsigned int i;

		for (i = 0; i < 3; i++) {
			unsigned int hops = i == 1 ? 2 : 1, k;
			struct result r;
			struct int_hop hop;
			struct frame f;

			r = run(EGRESS, &data);
			for (f = r.out, k = 0; k < hops; k++)
				f = expect_hop(HOP_MAP, &f, 0x100 + k, &hop);
			run(sink, &f);
			r = run(EGRESS, &ack);
			world_counted((const int[]){ -1 });
			run(sink, &r.out);
			if (i < 2)
				expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
			else
				expect_counted(STAT_RX_DATA, STAT_FB_PATH_KEPT, STAT_FB_FULL);
			expect_eq(flow_get(there).cc.hops, hops);
		}
	}
}

/* txBytes goes on unbroken where 32 bits of it wrap, at a speed that is in no table. */
SinkTest(intmd_sink, sink__counter_that_wraps)
{
	static const __u32 tx[] = { -1000, 800 };
	__u32 scaled[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct frame in = from_b(0, 500, .hops = 1, .hop = { { 1, 0, 5000000, tx[i], 1800000 } });

		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		scaled[i] = flow_get((struct ip_spec){}).echo.hop[0] >> 16 & 0xfffff;
	}
	/* 1800 units of a port of 1.8 Gbit/s are 2500 of one of 2.5, rounded down */
	expect_between((scaled[1] - scaled[0]) & 0xfffff, 2499, 2500);
}

SinkTest(intmd_sink, sink__bypass)
{
	struct frame inner = tcp(.reply = 1, .payload = 500), in = from_b(0, 500, .hops = 1, .hop = { HOP_SOUND });
	struct result r;

	control_set(MODE_ENFORCE, 1);
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA);
	in = from_b(0, 500, .flags = 8, .hops = 1, .hop = { HOP_SOUND });
	expect_verdict(run(sink, &in), VERDICT_DROP);
}

/* Any content ends in one counter, and nothing breaks. */
SinkTest(intmd_sink, noise__ends_in_one_counter)
{
	unsigned short seed[3] = { 1, 2, 3 };
	unsigned int i, k;

	for (i = 0; i < 20000; i++) {
		struct frame in = from_b(i & 1, 200, .left = 3, .hops = i % 6, .hop = { HOP_SOUND, HOP_SOUND });

		for (k = nrand48(seed) % 4; k; k--)
			in.b[at_shim(&in) + nrand48(seed) % (GROW + 30)] = nrand48(seed);
		run(sink, &in);
		run(HOP_MAP, &in);
		if (i % 100 == 99)
			expect_that(world_ended());
	}
}
