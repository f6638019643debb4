// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/intmd.bpf.h: packets with INT-MD from their source to their sink and back, and questions. */
#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>

#include "intmd_case.h"

TestSuite(intmd, .init = intmd_make, .fini = world_drop, .timeout = 120);
TestSuite(intmd_xdp, .init = intmd_make, .fini = world_drop, .timeout = 120);

static const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };

/* --- there and back --- */

/* The packet as it leaves the source: Sluice's own part has no telemetry. */
static struct frame expect_source(const struct frame *sent, __u32 seq, __u8 left)
{
	struct result r = run(EGRESS, sent);
	struct frame want = wrap(sent, .sport = get16(r.out.b + at_udp(&r.out)), .seq = seq);

	want = with_int(want, .left = left);
	expect_verdict(r, VERDICT_PASS);
	expect_frame(&r.out, &want);
	return r.out;
}

SinkTest(intmd, trip__every_size_comes_out_as_it_went_in)
{
	static const struct ip_spec kinds[] = { {}, { .options = 12 }, { .options = 40 }, { .udp = 1 } };
	unsigned int v6, k, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (k = 0; k < 4; k++) {
			__u32 seq = 0;

			for (n = 1; n <= 1256; n += 1 + n / 20) {
				unsigned int outer = (v6 ? 40 : 20) + 8 + GROW + 12;
				struct ip_spec s = kinds[k];
				struct frame sent, f;
				struct int_hop hop;
				struct result r;

				s.v6 = v6;
				s.payload = n;
				s.sport = 2000 + k;
				sent = frame_of(s);
				fixture("IPv%d, kind %u, %u bytes", v6 ? 6 : 4, k, n);
				hosts_strip();
				seq += sent.len + outer;
				f = expect_source(&sent, seq, 5);
				f = expect_hop(HOP_MAP, &f, 0x123, &hop);
				f = expect_hop(HOP_MAP, &f, 0x234, &hop);
				expect_eq(f.len, sent.len + outer + 48);
				r = run(sink, &f);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &sent);
				expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA);
			}
		}
	}
}

/* With the program that reads the qdisc: hop_test.c tests its values; here, that they fit. */
Test(intmd, trip__through_hop)
{
	__u32 ifindex;
	int v6;

	world_needs(HOP);
	ifindex = link_make("");
	sh("tc qdisc replace dev " LINK_NEAR " root pfifo");
	for (v6 = 0; v6 < 2; v6++) {
		struct frame sent = tcp(.v6 = v6, .payload = 900);
		struct result r = run(EGRESS, &sent);

		r = run(HOP, &r.out, .ifindex = ifindex);
		expect_eq(get32(r.out.b + at_stack(&r.out)), 0x123);
		expect_eq(get32(r.out.b + at_stack(&r.out) + 20), 100000000);
		r = run(HOP, &r.out, .ifindex = ifindex);
		r = run(INGRESS, &r.out);
		expect_frame(&r.out, &sent);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA);
	}
}

/* The stamps of two hops, in the echo of the next packet and in Algorithm 1. */
static void telemetry_arrives(int v6, int authenticated)
{
	struct ip_spec there = { .v6 = v6, .payload = 900 }, back = { .v6 = v6, .reply = 1 };
	struct frame data = frame_of(there), ack = frame_of(back), f;
	struct int_hop one, two;
	struct result r = run(EGRESS, &data);
	__u32 seq = data.len + (v6 ? 40 : 20) + 8 + GROW + 12 + (authenticated ? 16 : 0);
	struct flow flow;

	fixture("IPv%d%s", v6 ? 6 : 4, authenticated ? ", authenticated" : "");
	f = expect_hop(HOP_MAP, &r.out, 0xa5a, &one);
	f = expect_hop(HOP_MAP, &f, 0x0ff, &two);
	r = run(sink, &f);
	expect_frame(&r.out, &data);
	flow = flow_get(back);
	expect_eq(flow.echo.seq, seq);
	expect_eq(flow.echo.nhop_path, 2 << 12 | 0xaa5);
	/* 1 Gbit/s, and all five times as much */
	expect_eq(flow.echo.hop[0], 2ULL << 60 | (one.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
	expect_eq(flow.echo.hop[1], 2ULL << 60 | (two.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
	expect_eq(flow.echo.hop[2], 0);

	r = run(EGRESS, &ack); /* no payload, no INT-MD */
	expect_eq(r.out.b[at_shim(&r.out)], 0x98);
	r = run(sink, &r.out);
	expect_frame(&r.out, &ack);
	expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA, STAT_TX_DATA, STAT_RX_DATA,
		       STAT_FB_FIRST);
	flow = flow_get(there);
	expect_eq(flow.cc.hops, 2);
	expect_eq(flow.cc.path_id, 0xaa5);
	expect_eq(flow.cc.last[0].bps, 1000000000);
	expect_eq(flow.cc.last[0].tx_bytes, 777 * 128 * 5);
	expect_eq(flow.cc.last[1].ts_ns, two.ts & 0xffffff);

	/* The path is known: room for one hop more than that. */
	r = run(EGRESS, &data);
	expect_eq(r.out.b[at_shim(&r.out) + 7], 3);
	expect_counted(STAT_TX_DATA);
}

SinkTest(intmd, trip__telemetry_arrives_and_comes_back_as_feedback)
{
	telemetry_arrives(0, 0);
	telemetry_arrives(1, 0);
}

SinkTest(intmd, trip__authenticated)
{
	keys_set(&key, 1);
	telemetry_arrives(0, 1);
	telemetry_arrives(1, 1);
}

/* Both packets of the flow have INT-MD and an echo. */
SinkTest(intmd, trip__with_an_echo)
{
	FOR_V4_AND_V6 (v6) {
		struct frame first = tcp(.v6 = v6, .reply = 1, .payload = 700), there = tcp(.v6 = v6, .payload = 300),
			     f;
		struct int_hop hop;
		struct result r;

		r = run(EGRESS, &first);
		f = expect_hop(HOP_MAP, &r.out, 0x123, &hop);
		run(sink, &f);
		r = run(EGRESS, &there);
		expect_eq(r.out.len, there.len + (v6 ? 40 : 20) + 8 + GROW + 12 + 12 + 8);
		f = expect_hop(HOP_MAP, &r.out, 0x123, &hop);
		r = run(sink, &f);
		expect_frame(&r.out, &there);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_RX_DATA, STAT_TX_DATA, STAT_HOP_STAMPED,
			       STAT_RX_DATA, STAT_FB_FIRST);
	}
}

/* The receiver needs no setting, and one that asks for the other encoding reads this one. */
SinkTest(intmd, trip__receiver_is_set_to_the_other_encoding)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .payload = 300), f;
		struct int_hop hop;
		struct result r;

		encoding_set(ENCODING_INT_MD);
		r = run(EGRESS, &data);
		f = expect_hop(HOP_MAP, &r.out, 0x123, &hop);
		encoding_set(ENCODING_HPCC);
		r = run(sink, &f);
		expect_frame(&r.out, &data);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6, .reply = 1 }).echo.hops, 1);
		r = run(EGRESS, &data); /* the flow has taken up the change */
		expect_eq(r.out.b[at_shim(&r.out)], 0x98);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_RX_DATA, STAT_TX_DATA);
	}
}

/* --- probes --- */

/* A PROBE asks in INT-MD, and has the room for the answer in the other encoding. */
static void probe_returns(int v6, int authenticated)
{
	struct ip_spec there = { .v6 = v6, .udp = 1, .sport = 2000 + authenticated, .payload = 900 };
	struct frame data = frame_of(there), f, want;
	struct int_hop one, two;
	struct result r;
	struct flow flow;

	fixture("IPv%d%s", v6 ? 6 : 4, authenticated ? ", authenticated" : "");
	hosts_strip();
	{
		struct host h = host_get(v6, HOST_B);

		h.asked_ns = clock_ns();
		host_set(v6, HOST_B, &h);
	}
	run(EGRESS, &data); /* makes the flow */
	world_counted((const int[]){ -1 });
	r = run(EGRESS, &data, .clone = 1);
	expect_eq(r.out.b[at_shim(&r.out)], 0x18);
	f = expect_hop(HOP_MAP, &r.out, 0xa5a, &one);
	f = expect_hop(HOP_MAP, &f, 0x0ff, &two);
	expect_counted_attached(STAT_HOP_STAMPED, STAT_HOP_STAMPED);
	if (!authenticated) {
		want = frame_probe(&data, get16(f.b + at_udp(&f)), get32(f.b + at_shim(&f) + GROW + 48 + 8));
		want = with_int(want, .left = 3, .hops = 2, .hop = { one, two });
		expect_frame(&f, &want);
		want = frame_probe(&data, get16(f.b + at_udp(&f)), get32(f.b + at_shim(&f) + GROW + 48 + 8));
		put16(want.b + at_telem(&want), 2 << 12 | 0xaa5);
		put64(want.b + at_hop(&want, 0), 2ULL << 60 | (one.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
		put64(want.b + at_hop(&want, 1), 2ULL << 60 | (two.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
		want = frame_turned(want);
	}
	r = run(sink, &f);
	expect_verdict(r, VERDICT_REDIRECT);
	expect_counted(STAT_RX_PROBE);
	if (!authenticated)
		expect_frame(&r.out, &want);
	expect_untouched(HOP_MAP, &r.out, STAT_HOP_OTHER);
	r = run(sink, &r.out);
	expect_verdict(r, VERDICT_DROP);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
	flow = flow_get(there);
	expect_eq(flow.cc.hops, 2);
	expect_eq(flow.cc.path_id, 0xaa5);
	expect_eq(flow.cc.last[1].qlen_bytes, 206 * 80);
}

SinkTest(intmd, probe__comes_back_without_int)
{
	probe_returns(0, 0);
	probe_returns(1, 0);
	keys_set(&key, 1);
	probe_returns(0, 1);
	probe_returns(1, 1);
}

/* Unreadable telemetry of a PROBE is refused by the host that asked. */
SinkTest(intmd, probe__with_what_cannot_be_read)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec there = { .v6 = v6, .udp = 1, .payload = 900 };
		struct frame data = frame_of(there), f;
		struct host h;
		struct result r;

		hosts_strip();
		run(EGRESS, &data);
		h = host_get(v6, HOST_B);
		h.asked_ns = clock_ns();
		host_set(v6, HOST_B, &h);
		world_counted((const int[]){ -1 });
		f = frame_probe(&data, 0xc777, 1);
		f = with_int(f, .ml = 7, .hops = 1, .hop = { { 1, 0, 1000, 5, 1000 } });
		r = run(sink, &f);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_RX_INT_LENGTH);
		r = run(sink, &r.out);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_BAD_TELEM);
		expect_eq(flow_get(there).rx.feedbacks, 0);
	}
}

/* --- the source --- */

/* It leaves room for what the hops will add. */
Test(intmd, source__fits_with_the_hops_to_the_byte)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 1000);
		struct port port = port_usual();
		struct result r;

		hosts_strip();
		port.mtu = in.len - 14 + (v6 ? 40 : 20) + 8 + GROW + 12 + 5 * 24;
		port_change(WORLD_IFINDEX, &port);
		r = run(EGRESS, &in);
		expect_eq(r.out.len, port.mtu + 14 - 5 * 24);
		expect_counted(STAT_TX_DATA);
		port.mtu--;
		port_change(WORLD_IFINDEX, &port);
		expect_untouched(EGRESS, &in, STAT_TX_MTU);
	}
}

/* A node's uplink is the first hop itself. */
Test(intmd, source__of_a_node_is_the_first_hop)
{
	__u32 ifindex;

	world_needs(HOP);
	ifindex = link_make("");
	sh("tc qdisc replace dev " LINK_NEAR " root pfifo");
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), want;
		struct port port = port_usual();
		struct int_hop hop = { .node = 0x123, .kbps = 100000000 };
		__u64 before = clock_ns();
		struct result r;

		port.flags = PORT_F_HOST | PORT_F_STAMP;
		port_change(ifindex, &port);
		hosts_strip();
		r = run(EGRESS, &in, .ifindex = ifindex);
		expect_counted(STAT_TX_DATA);
		hop.ts = get64(r.out.b + at_stack(&r.out) + 8);
		hop.tx = get32(r.out.b + at_stack(&r.out) + 16);
		expect_between(hop.ts, before, clock_ns());
		want = wrap(&in, .sport = get16(r.out.b + at_udp(&r.out)),
			    .seq = in.len + (v6 ? 40 : 20) + 8 + 40 + 12);
		want = with_int(want, .left = 4, .hops = 1, .hop = { hop });
		expect_frame(&r.out, &want);
		expect_eq(port_get(ifindex).unseen_bytes, r.out.len - in.len);
		r = run(INGRESS, &r.out);
		expect_frame(&r.out, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6, .reply = 1 }).echo.nhop_path, 1 << 12 | 0x123);
	}
}

Test(intmd, source__of_a_node_whose_queue_cannot_be_read)
{
	struct frame in = tcp(.payload = 1000);
	struct port port = port_usual();
	__u32 ifindex;
	struct result r;

	world_needs(HOP);
	ifindex = link_make("");
	port.flags = PORT_F_HOST | PORT_F_STAMP;
	port_change(ifindex, &port);
	r = run(EGRESS, &in, .ifindex = ifindex);
	expect_counted(STAT_TX_DATA, STAT_TX_NO_QUEUE);
	expect_eq(r.out.b[at_shim(&r.out) + 1], 3);
	expect_eq(r.out.b[at_shim(&r.out) + 7], 5);
}
