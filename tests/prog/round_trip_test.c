// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the source through two switches to the sink: what the sink's stack gets is what the source's
 * stack sent, byte for byte, and what was collected on the way arrives where it belongs.
 */
#include <string.h>

#include "world.h"

static void make(void)
{
	world_make();
	hosts_strip();
}

static void make_other_port(void)
{
	world_make_wire_port(6081);
	hosts_strip();
}

TestSuite(round_trip, .init = make, .fini = world_drop, .timeout = 120);
TestSuite(round_trip_other_port, .init = make_other_port, .fini = world_drop, .timeout = 60);

/* Where the packet was instrumented, it comes out as it went in; returns its length on the wire. */
static unsigned int expect_same_after_trip(const struct frame *sent)
{
	struct result source = run(EGRESS, sent), first = run(HOP_MAP, &source.out),
		      second = run(HOP_MAP, &first.out), sink = run(INGRESS, &second.out);

	expect_verdict(source, VERDICT_PASS);
	expect_verdict(first, VERDICT_PASS);
	expect_verdict(second, VERDICT_PASS);
	expect_verdict(sink, VERDICT_PASS);
	expect_frame(&sink.out, sent);
	return second.out.len;
}

Test(round_trip, data__of_every_size_without_an_echo)
{
	static const unsigned int options[] = { 0, 12, 40 };
	unsigned int v6, o, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (o = 0; o < 3; o++) {
			for (n = 0; n <= 1368; n++) {
				struct frame sent = tcp(.v6 = v6, .payload = n, .options = options[o]);
				unsigned int grow = n ? (v6 ? 40 : 20) + 8 + 12 + 44 : 0;

				fixture("IPv%d, %u bytes, %u bytes of options", v6 ? 6 : 4, n, options[o]);
				hosts_strip(); /* nobody answers */
				expect_eq(expect_same_after_trip(&sent), sent.len + grow);
				if (n)
					expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED,
						       STAT_RX_DATA);
				else
					expect_counted(STAT_TX_PLAIN_ACK, STAT_HOP_OTHER, STAT_HOP_OTHER,
						       STAT_RX_OTHER);
			}
		}
	}
}

/* Both ends send: each packet takes along the echo of the one that came before it. */
Test(round_trip, data__of_every_size_with_an_echo)
{
	unsigned int v6, n;

	for (v6 = 0; v6 < 2; v6++) {
		struct frame first = tcp(.v6 = v6, .reply = 1, .payload = 1);
		unsigned int outer = (v6 ? 40 : 20) + 8 + 12, echo = 8 + 16;

		fixture("IPv%d", v6 ? 6 : 4);
		expect_same_after_trip(&first);
		world_counted((const int[]){ -1 });
		for (n = 0; n <= 1368; n++) {
			struct frame there = tcp(.v6 = v6, .payload = n, .options = n % 11 * 4);
			struct frame back = tcp(.v6 = v6, .reply = 1, .payload = 1368 - n);

			fixture("IPv%d, %u bytes there, %u back", v6 ? 6 : 4, n, 1368 - n);
			if (n)
				expect_eq(expect_same_after_trip(&there), there.len + outer + 44 + echo);
			else /* the first there-packet is an ACK, and so brings no echo on its way back */
				expect_eq(expect_same_after_trip(&there), there.len + outer + echo);
			expect_eq(expect_same_after_trip(&back),
				  back.len + (n == 0 ? outer + 44 : n == 1368 ? outer + echo :
									 outer + 44 + echo));
		}
		expect_that(world_ended());
	}
}

Test(round_trip, hops__arrive_in_the_echo_slot_and_come_back_as_feedback)
{
	unsigned int v6;

	for (v6 = 0; v6 < 2; v6++) {
		struct ip_spec there = { .v6 = v6, .payload = 900 }, back = { .v6 = v6, .reply = 1 };
		struct frame data = frame_of(there), ack = frame_of(back);
		struct port p = port_usual();
		struct result r = run(EGRESS, &data);
		__u32 seq = r.out.len;
		struct flow f;
		__u64 before;

		fixture("IPv%d", v6 ? 6 : 4);
		p.switch_id = 0xa5a;
		p.tx_bytes = 777 * 128;
		p.backlog_bytes = 33 * 80;
		port_set(WORLD_IFINDEX, &p);
		before = clock_ns();
		r = run(HOP_MAP, &r.out);
		p.switch_id = 0x0ff;
		p.speed = telem_speed_fit(25000000000ULL);
		p.tx_bytes = 555 * 128;
		p.backlog_bytes = 0;
		port_set(WORLD_IFINDEX, &p);
		r = run(HOP_MAP, &r.out);
		run(INGRESS, &r.out);

		f = flow_get(back);
		expect_eq(f.echo.seq, seq);
		expect_eq(f.echo.nhop_path, 2 << 12 | 0xaa5);
		r = run(EGRESS, &ack);
		r = run(INGRESS, &r.out);
		expect_frame(&r.out, &ack);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA,
			       STAT_TX_DATA, STAT_RX_DATA, STAT_FB_FIRST);

		f = flow_get(there);
		expect_eq(f.feedbacks, 1);
		expect_eq(f.cc.hops, 2);
		expect_eq(f.cc.path_id, 0xaa5);
		expect_eq(f.cc.last[0].bps, 100000000000ULL);
		expect_eq(f.cc.last[0].tx_bytes, 777 * 128);
		expect_eq(f.cc.last[0].qlen_bytes, 33 * 80);
		expect_between((f.cc.last[0].ts_ns - before) & 0xffffff, 0, clock_ns() - before);
		expect_eq(f.cc.last[1].bps, 25000000000ULL);
		expect_eq(f.cc.last[1].tx_bytes, 555 * 128);
		expect_eq(f.cc.last[1].qlen_bytes, 0);
	}
}

/* The port of the messages is the configuration's, not a constant. */
Test(round_trip_other_port, data__goes_by_the_configured_port)
{
	struct frame sent = tcp(.payload = 100), usual = wrap(&sent, .room = 5);
	struct result r = run(EGRESS, &sent);

	expect_eq(get16(r.out.b + at_udp(&r.out) + 2), 6081);
	expect_counted(STAT_TX_DATA);
	expect_same_after_trip(&sent);
	expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA);
	expect_untouched(EGRESS, &r.out, STAT_TX_OWN);
	run(EGRESS, &usual); /* somebody else's datagram */
	expect_counted(STAT_TX_DATA);
	expect_untouched(HOP_MAP, &usual, STAT_HOP_OTHER);
	expect_untouched(INGRESS, &usual, STAT_RX_OTHER);
}
