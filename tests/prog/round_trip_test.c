// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the source through two switches to the sink: the sink's stack gets the same as the source's
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
	world_make_with(.wire_port = 6081);
	hosts_strip();
}

TestSuite(round_trip, .init = make, .fini = world_drop, .timeout = 120);
TestSuite(round_trip_xdp, .init = make, .fini = world_drop, .timeout = 120);
TestSuite(round_trip_other_port, .init = make_other_port, .fini = world_drop, .timeout = 60);
TestSuite(round_trip_other_port_xdp, .init = make_other_port, .fini = world_drop, .timeout = 60);

/* Where the packet was instrumented, it comes out as it went in; returns its length on the wire. */
static unsigned int expect_same_after_trip(const struct frame *sent)
{
	struct result source = run(EGRESS, sent), first = run(HOP_MAP, &source.out), second = run(HOP_MAP, &first.out),
		      last = run(sink, &second.out);

	expect_verdict(source, VERDICT_PASS);
	expect_verdict(first, VERDICT_PASS);
	expect_verdict(second, VERDICT_PASS);
	expect_verdict(last, VERDICT_PASS);
	expect_frame(&last.out, sent);
	return second.out.len;
}

SinkTest(round_trip, data__of_every_size_without_an_echo)
{
	static const struct ip_spec kinds[] = { {}, { .options = 12 }, { .options = 40 }, { .udp = 1 } };
	unsigned int v6, k, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (k = 0; k < 4; k++) {
			for (n = 0; n <= 1368; n++) {
				unsigned int grow = n ? (v6 ? 40 : 20) + 8 + 12 + 44 : 0;
				struct ip_spec s = kinds[k];
				struct frame sent;

				s.v6 = v6;
				s.payload = n;
				sent = frame_of(s);
				fixture("IPv%d, %s, %u bytes, %u bytes of options", v6 ? 6 : 4, s.udp ? "UDP" : "TCP",
					n, s.options);
				hosts_strip(); /* nobody answers */
				expect_eq(expect_same_after_trip(&sent), sent.len + grow);
				if (n)
					expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA);
				else
					expect_counted(STAT_TX_PLAIN_ACK, STAT_HOP_OTHER, STAT_HOP_OTHER,
						       STAT_RX_OTHER);
			}
		}
	}
}

/* Both ends send: each packet takes along the echo of the one that came before it. */
static void both_ends_send(int v6, int udp)
{
	struct ip_spec back_spec = { .v6 = v6, .udp = udp, .reply = 1, .payload = 1 },
		       there_spec = { .v6 = v6, .udp = udp };
	struct frame first = frame_of(back_spec);
	unsigned int outer = (v6 ? 40 : 20) + 8 + 12, echo = 12 + 16, n;

	fixture("IPv%d, %s", v6 ? 6 : 4, udp ? "UDP" : "TCP");
	expect_same_after_trip(&first);
	world_counted((const int[]){ -1 });
	for (n = 0; n <= 1368; n++) {
		struct frame there, back;

		fixture("IPv%d, %s, %u bytes there, %u back", v6 ? 6 : 4, udp ? "UDP" : "TCP", n, 1368 - n);
		there_spec.payload = n;
		there_spec.options = udp ? 0 : n % 11 * 4;
		back_spec.payload = 1368 - n;
		there = frame_of(there_spec);
		back = frame_of(back_spec);
		/* Room for five hops until a feedback says that there are two. */
		if (n)
			expect_eq(expect_same_after_trip(&there), there.len + outer + (n == 1 ? 44 : 28) + echo);
		else /* the first there-packet is an ACK, and so brings no echo on its way back */
			expect_eq(expect_same_after_trip(&there), there.len + outer + echo);
		expect_eq(expect_same_after_trip(&back), back.len + (n == 0    ? outer + 28 :
								     n == 1368 ? outer + echo :
										 outer + 28 + echo));
	}
	expect_that(world_ended());
}

SinkTest(round_trip, data__of_every_size_with_an_echo)
{
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		both_ends_send(v6, 0);
		both_ends_send(v6, 1);
	}
}

SinkTest(round_trip, hops__arrive_in_the_echo_slot_and_come_back_as_feedback)
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
		run(sink, &r.out);

		f = flow_get(back);
		expect_eq(f.echo.seq, seq);
		expect_eq(f.echo.nhop_path, 2 << 12 | 0xaa5);
		r = run(EGRESS, &ack);
		r = run(sink, &r.out);
		expect_frame(&r.out, &ack);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA, STAT_TX_DATA,
			       STAT_RX_DATA, STAT_FB_FIRST);

		f = flow_get(there);
		expect_eq(f.rx.feedbacks, 1);
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

/*
 * A one-way flow of UDP: its question is stamped on the way out and not on the way back, and what it
 * met is feedback.
 */
SinkTest(round_trip, probe__comes_back_as_feedback)
{
	__u32 ifindex = link_make("");
	unsigned int v6;

	link_attach(EGRESS, LINK_NEAR, 0);
	for (v6 = 0; v6 < 2; v6++) {
		struct ip_spec there = { .v6 = v6, .udp = 1, .payload = 900 };
		struct frame data = frame_of(there);
		struct port p = port_usual();
		struct result r;
		struct flow f;
		__u64 before;

		fixture("IPv%d", v6 ? 6 : 4);
		run(EGRESS, &data, .ifindex = ifindex);
		expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
		r = run(EGRESS, &data, .clone = 1);
		p.switch_id = 0xa5a;
		p.tx_bytes = 777 * 128;
		p.backlog_bytes = 33 * 80;
		port_set(WORLD_IFINDEX, &p);
		before = clock_ns();
		r = run(HOP_MAP, &r.out);
		p.switch_id = 0x0ff;
		p.tx_bytes = 555 * 128;
		p.backlog_bytes = 0;
		port_set(WORLD_IFINDEX, &p);
		r = run(HOP_MAP, &r.out);
		expect_counted_attached(STAT_HOP_STAMPED, STAT_HOP_STAMPED);
		r = run(sink, &r.out);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
		expect_untouched(EGRESS, &r.out, STAT_TX_OWN);
		expect_untouched(HOP_MAP, &r.out, STAT_HOP_OTHER);
		r = run(sink, &r.out);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);

		f = flow_get(there);
		expect_eq(f.rx.feedbacks, 1);
		expect_eq(f.cc.hops, 2);
		expect_eq(f.cc.path_id, 0xaa5);
		expect_eq(f.cc.last[0].tx_bytes, 777 * 128);
		expect_eq(f.cc.last[0].qlen_bytes, 33 * 80);
		expect_between((f.cc.last[0].ts_ns - before) & 0xffffff, 0, clock_ns() - before);
		expect_eq(f.cc.last[1].tx_bytes, 555 * 128);
		expect_eq(f.cc.last[1].qlen_bytes, 0);
		expect_eq(flow_exists((struct ip_spec){ .v6 = v6, .udp = 1, .reply = 1 }), 0);
	}
}

/* Where datagrams come back, their echoes are the feedback, and nobody has to ask. */
SinkTest(round_trip, probe__is_not_needed_where_echoes_come)
{
	struct ip_spec there = { .udp = 1, .payload = 900 }, back = { .udp = 1, .reply = 1, .payload = 50 };
	struct frame data = frame_of(there), answer = frame_of(back);
	struct peer peer = peer_usual();
	__u64 asked;
	int i;

	peer.t_ns = NSEC_PER_SEC;
	peer_set("10.1.0.0", 96 + 16, &peer);
	expect_same_after_trip(&data);
	expect_same_after_trip(&answer);
	expect_eq(flow_get(there).rx.feedbacks, 1);
	for (i = 0; i < 10; i++) {
		struct flow f = flow_get(there);

		asked = clock_ns() - 10 * NSEC_PER_SEC;
		f.tx.probe_ns = asked;
		flow_set(there, &f);
		hosts_strip();
		expect_same_after_trip(&data);
		expect_eq(flow_get(there).tx.probe_ns, asked);
		expect_same_after_trip(&answer);
		expect_eq(flow_get(there).rx.feedbacks, i + 2);
	}
	fixture("and when they no longer come");
	{
		struct flow f = flow_get(there);

		f.rx.fb_ns -= 2 * NSEC_PER_SEC;
		flow_set(there, &f);
	}
	hosts_strip();
	expect_same_after_trip(&data);
	expect_between(clock_ns() - flow_get(there).tx.probe_ns, 0, NSEC_PER_SEC);
}

/* The port of the messages is the configuration's, not a constant. */
SinkTest(round_trip_other_port, data__goes_by_the_configured_port)
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
	expect_untouched(sink, &usual, STAT_RX_OTHER);
}
