// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/encap.bpf.h: the headers in front of a packet. */
#include <string.h>

#include "egress_case.h"

TestSuite(encap, .init = egress_make, .fini = world_drop, .timeout = 60);

Test(encap, data__gets_outer_headers_and_room_for_five_hops)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 1000);
		struct result r = run(EGRESS, &in);
		struct frame want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = r.out.len);

		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA);
		expect_eq(r.out.len, in.len + (v6 ? 40 : 20) + 8 + 12 + 44);
	}
}

/* The same in bytes, once for each version, so that the tests' own builder is tested too. */
Test(encap, data__golden_v4)
{
	static const __u8 golden[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
		/* IPv4: 20 + 8 + 12 + 44 + 44 bytes, DF, TTL 64, UDP, 10.1.0.1 to 10.1.0.2 */
		0x45, 0xb8, 0x00, 0x80, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x25, 0xb1,
		10, 1, 0, 1, 10, 1, 0, 2,
		/* UDP: to port 5463, 108 bytes, no checksum */
		0xff, 0xff, 0x15, 0x57, 0x00, 0x6c, 0x00, 0x00,
		/* shim: type 9, NPT 2, 13 words, IPv4 follows */
		0x98, 0x0d, 0x00, 0x04,
		/* version 4, DATA, room for 5, no echo, the flow's first 142 bytes */
		0x41, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x8e,
	};
	struct frame in = tcp(.payload = 4, .tos = 0xb8), want = { .len = 14 + 128 };
	struct result r = run(EGRESS, &in);

	memcpy(want.b, golden, sizeof(golden));
	memcpy(want.b + 34, r.out.b + 34, 2); /* the source port is the flow's */
	memcpy(want.b + sizeof(golden) + 44, in.b + 14, in.len - 14);
	expect_frame(&r.out, &want);
}

Test(encap, data__golden_v6)
{
	static const __u8 golden[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd,
		/* IPv6: class 0xb8, 8 + 12 + 44 + 64 bytes, UDP, hop limit 64 */
		0x6b, 0x80, 0x00, 0x00, 0x00, 0x80, 0x11, 0x40,
		0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0xff, 0xff, 0x15, 0x57, 0x00, 0x80, 0x00, 0x00,
		0x98, 0x0d, 0x00, 0x29,
		0x41, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0xb6,
	};
	struct frame in = tcp(.v6 = 1, .payload = 4, .tos = 0xb8), want = { .len = 14 + 168 };
	struct result r = run(EGRESS, &in);

	memcpy(want.b, golden, sizeof(golden));
	memcpy(want.b + 54, r.out.b + 54, 2);
	memcpy(want.b + sizeof(golden) + 44, in.b + 14, in.len - 14);
	expect_frame(&r.out, &want);
}

Test(encap, data__golden_udp)
{
	static const __u8 golden[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
		/* IPv4: 20 + 8 + 12 + 44 + 29 bytes, DF, TTL 64, UDP, 10.1.0.1 to 10.1.0.2 */
		0x45, 0xb8, 0x00, 0x71, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x25, 0xc0,
		10, 1, 0, 1, 10, 1, 0, 2,
		0xff, 0xff, 0x15, 0x57, 0x00, 0x5d, 0x00, 0x00,
		0x98, 0x0d, 0x00, 0x04,
		0x41, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f,
	};
	struct frame in = udp(.payload = 1, .tos = 0xb8), want = { .len = 14 + 113 };
	struct result r = run(EGRESS, &in);

	memcpy(want.b, golden, sizeof(golden));
	memcpy(want.b + 34, r.out.b + 34, 2);
	memcpy(want.b + sizeof(golden) + 44, in.b + 14, in.len - 14);
	expect_frame(&r.out, &want);
}

Test(encap, data__of_udp_is_wrapped_like_tcp)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = udp(.v6 = v6, .payload = 1000), want;
		struct result r = run(EGRESS, &in);

		expect_verdict(r, VERDICT_PASS);
		expect_counted(STAT_TX_DATA);
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = r.out.len);
		expect_frame(&r.out, &want);
		in = udp(.v6 = v6);
		expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
	}
}

/* The same ports by TCP are another flow, with a position and a way of its own. */
Test(encap, data__of_udp_is_a_flow_of_its_own)
{
	struct frame by_tcp = tcp(.payload = 500), by_udp = udp(.payload = 100);
	struct result r = run(EGRESS, &by_tcp);
	__u16 port = source_port(&r.out);

	r = run(EGRESS, &by_udp);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), r.out.len);
	cr_assert(source_port(&r.out) != port);
	expect_eq(flows_count(), 2);
	expect_eq(flow_get((struct ip_spec){ .udp = 1 }).tx.bytes, r.out.len);
}

Test(encap, data__every_class_and_mark_is_copied)
{
	int tos;

	FOR_V4_AND_V6(v6) {
		for (tos = 0; tos < 256; tos++) {
			struct frame in = tcp(.v6 = v6, .payload = 10, .tos = tos), want;
			struct result r = run(EGRESS, &in);

			fixture("IPv%d, TOS %#x", v6 ? 6 : 4, tos);
			hosts_strip();
			want = wrap(&in, .sport = source_port(&r.out), .room = 5,
				    .seq = r.out.len * (tos + 1));
			expect_frame(&r.out, &want);
			expect_counted(STAT_TX_DATA);
		}
	}
}

Test(encap, data__df_is_copied)
{
	struct frame in = tcp(.payload = 10, .may_fragment = 1), want;
	struct result r = run(EGRESS, &in);

	want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = r.out.len);
	expect_frame(&r.out, &want);
	expect_eq(get16(r.out.b + 14 + 6), 0);
}

/* All lengths: the outer checksum goes through its carries. */
Test(encap, data__lengths_and_checksum_at_every_size)
{
	FOR_V4_AND_V6(v6) {
		__u32 seq = 0;
		unsigned int n;

		for (n = 1; n <= 3000; n++) {
			struct frame in = tcp(.v6 = v6, .payload = n), want;
			struct result r = run(EGRESS, &in);

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			hosts_strip(); /* nobody answers, and this takes longer than 100 ms */
			seq += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = seq);
			expect_frame(&r.out, &want);
		}
	}
}

Test(encap, data__tcp_options_are_headers)
{
	struct frame in = tcp(.payload = 1, .options = 40), want;
	struct result r = run(EGRESS, &in);

	want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = r.out.len);
	expect_frame(&r.out, &want);
	expect_counted(STAT_TX_DATA);

	in = tcp(.options = 40);
	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
}

Test(encap, data__entropy_port_stays_with_the_flow)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 10);
		__u16 port = entropy_of(&in), other;
		unsigned int i, same = 0;

		expect_between(port, 0xc000, 0xffff);
		for (i = 0; i < 20; i++) {
			in = tcp(.v6 = v6, .payload = 10 + i * 50, .tos = i * 4);
			expect_eq(entropy_of(&in), port);
		}
		for (i = 0; i < 100; i++) {
			in = tcp(.v6 = v6, .payload = 10, .sport = 20000 + i);
			other = entropy_of(&in);
			expect_between(other, 0xc000, 0xffff);
			same += other == port;
		}
		cr_assert(same < 5, "%u of 100 flows share a port", same);
	}
}

Test(encap, data__seq_counts_wire_bytes_of_the_flow)
{
	struct frame in = tcp(.payload = 100), other = tcp(.payload = 100, .sport = 7);
	struct result first = run(EGRESS, &in), r;
	struct flow f = flow_get((struct ip_spec){});

	expect_eq(f.tx.bytes, first.out.len);
	in = tcp(.payload = 700);
	r = run(EGRESS, &in);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), first.out.len + r.out.len);
	r = run(EGRESS, &other);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), r.out.len);
	f = flow_get((struct ip_spec){});
	f.tx.bytes = 0x2fffffff0;
	flow_set((struct ip_spec){}, &f);
	r = run(EGRESS, &in);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), (__u32)(0x2fffffff0 + r.out.len));
	expect_eq(flow_get((struct ip_spec){}).tx.bytes, 0x2fffffff0 + r.out.len);
}
