// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/host/egress.bpf.h: what leaves a host. The peers strip telemetry unless a test says otherwise.
 */
#include <bpf/bpf.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

static void make(void)
{
	world_make();
	hosts_strip();
}

static void make_small(void)
{
	world_make_with(.flows = 1);
	hosts_strip();
}

TestSuite(egress, .init = make, .fini = world_drop, .timeout = 60);
TestSuite(egress_small, .init = make_small, .fini = world_drop, .timeout = 60);

#define MS 1000000ULL

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

static __u16 source_port(const struct frame *f)
{
	return get16(f->b + at_udp(f));
}

/* That port of the packet that in becomes. */
static __u16 entropy_of(const struct frame *in)
{
	struct result r = run(EGRESS, in);

	return source_port(&r.out);
}

/* Three hops have been collected by a packet of the reverse flow that arrived age_ns ago. */
static void echo_waits(struct ip_spec s, __u64 age_ns)
{
	struct flow f = flow_get(s);

	f.echo.version += 2;
	f.echo.seq = 0x89abcdef;
	f.echo.nhop_path = 3 << 12 | 0xabc;
	f.echo.hops = 3;
	f.echo.rx_ns = clock_ns() - age_ns;
	f.echo.hop[0] = 0x1111222233334444;
	f.echo.hop[1] = 0x5555666677778888;
	f.echo.hop[2] = 0x9999aaaabbbbcccc;
	f.echo.hop[3] = 0xdeadbeefdeadbeef; /* of an earlier packet: not to be sent */
	flow_set(s, &f);
}

/* How the packet with that echo must look; age and source port as they are. */
static struct frame with_echo(const struct frame *in, const struct frame *got, __u8 room, __u32 seq)
{
	return wrap(in, .sport = source_port(got), .room = room, .seq = seq, .echo = 1,
		    .echo_seq = 0x89abcdef, .echo_hops = 3, .echo_path = 0xabc,
		    .echo_age = get16(got->b + at_echo(got) + 4),
		    .echo_hop = { 0x1111222233334444, 0x5555666677778888, 0x9999aaaabbbbcccc });
}

/* --- data --- */

Test(egress, data__gets_outer_headers_and_room_for_five_hops)
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
Test(egress, data__golden_v4)
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

Test(egress, data__golden_v6)
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

Test(egress, data__golden_udp)
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

Test(egress, data__of_udp_is_wrapped_like_tcp)
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
Test(egress, data__of_udp_is_a_flow_of_its_own)
{
	struct frame by_tcp = tcp(.payload = 500), by_udp = udp(.payload = 100);
	struct result r = run(EGRESS, &by_tcp);
	__u16 port = source_port(&r.out);

	r = run(EGRESS, &by_udp);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), r.out.len);
	cr_assert(source_port(&r.out) != port);
	expect_eq(flows_count(), 2);
	expect_eq(flow_get((struct ip_spec){ .udp = 1 }).tx_bytes, r.out.len);
}

Test(egress, data__every_class_and_mark_is_copied)
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

Test(egress, data__df_is_copied)
{
	struct frame in = tcp(.payload = 10, .may_fragment = 1), want;
	struct result r = run(EGRESS, &in);

	want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = r.out.len);
	expect_frame(&r.out, &want);
	expect_eq(get16(r.out.b + 14 + 6), 0);
}

/* All lengths: the outer checksum goes through its carries. */
Test(egress, data__lengths_and_checksum_at_every_size)
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

Test(egress, data__tcp_options_are_headers)
{
	struct frame in = tcp(.payload = 1, .options = 40), want;
	struct result r = run(EGRESS, &in);

	want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = r.out.len);
	expect_frame(&r.out, &want);
	expect_counted(STAT_TX_DATA);

	in = tcp(.options = 40);
	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
}

Test(egress, data__entropy_port_stays_with_the_flow)
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

Test(egress, data__seq_counts_wire_bytes_of_the_flow)
{
	struct frame in = tcp(.payload = 100), other = tcp(.payload = 100, .sport = 7);
	struct result first = run(EGRESS, &in), r;
	struct flow f = flow_get((struct ip_spec){});

	expect_eq(f.tx_bytes, first.out.len);
	in = tcp(.payload = 700);
	r = run(EGRESS, &in);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), first.out.len + r.out.len);
	r = run(EGRESS, &other);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), r.out.len);
	f = flow_get((struct ip_spec){});
	f.tx_bytes = 0x2fffffff0;
	flow_set((struct ip_spec){}, &f);
	r = run(EGRESS, &in);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), (__u32)(0x2fffffff0 + r.out.len));
	expect_eq(flow_get((struct ip_spec){}).tx_bytes, 0x2fffffff0 + r.out.len);
}

/* --- the echo --- */

Test(egress, echo__goes_out_once_with_data)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .payload = 50 };
		struct frame in = frame_of(s), want;
		__u32 seq = run(EGRESS, &in).out.len;
		struct result r;

		echo_waits(s, 0);
		r = run(EGRESS, &in);
		seq += r.out.len;
		want = with_echo(&in, &r.out, 5, seq);
		expect_frame(&r.out, &want);
		expect_eq(r.out.len, in.len + (v6 ? 40 : 20) + 8 + 12 + 44 + 36);
		r = run(EGRESS, &in);
		seq += r.out.len;
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = seq);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
	}
}

Test(egress, echo__goes_out_with_a_pure_ack)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };
		struct frame in = frame_of(s), want;
		struct result r;

		expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
		echo_waits(s, 0);
		r = run(EGRESS, &in);
		want = with_echo(&in, &r.out, 0, r.out.len);
		expect_frame(&r.out, &want);
		expect_eq(r.out.len, in.len + (v6 ? 40 : 20) + 8 + 12 + 36);
		expect_counted(STAT_TX_DATA);
		expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
	}
}

Test(egress, echo__goes_out_with_a_datagram)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1 };
		struct frame data = udp(.v6 = v6, .payload = 50), empty = frame_of(s), want;
		__u32 seq = run(EGRESS, &data).out.len;
		struct result r;

		echo_waits(s, 0);
		r = run(EGRESS, &data);
		seq += r.out.len;
		want = with_echo(&data, &r.out, 5, seq);
		expect_frame(&r.out, &want);
		echo_waits(s, 0);
		r = run(EGRESS, &empty);
		seq += r.out.len;
		want = with_echo(&empty, &r.out, 0, seq);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
	}
}

Test(egress, echo__with_zero_to_five_hops)
{
	struct ip_spec s = {};
	struct frame in = tcp(), want;
	__u32 hops, seq = 0;

	run(EGRESS, &in);
	for (hops = 0; hops <= 5; hops++) {
		struct flow f;
		struct result r;

		fixture("%u hops", hops);
		echo_waits(s, 0);
		f = flow_get(s);
		f.echo.hops = hops;
		f.echo.nhop_path = hops << 12 | 0xabc;
		f.echo.hop[4] = 0x123456789abcdef0;
		flow_set(s, &f);
		r = run(EGRESS, &in);
		seq += r.out.len;
		want = wrap(&in, .sport = source_port(&r.out), .seq = seq, .echo = 1,
			    .echo_seq = 0x89abcdef, .echo_hops = hops, .echo_path = 0xabc,
			    .echo_age = get16(r.out.b + at_echo(&r.out) + 4),
			    .echo_hop = { 0x1111222233334444, 0x5555666677778888, 0x9999aaaabbbbcccc,
					  0xdeadbeefdeadbeef, 0x123456789abcdef0 });
		expect_frame(&r.out, &want);
	}
}

Test(egress, echo__age_in_units_of_1024_ns)
{
	static const __u64 ages_ns[] = { 0, 1024 * 1000, 10 * MS, 60 * MS };
	struct ip_spec s = {};
	struct frame in = tcp();
	unsigned int i;

	run(EGRESS, &in);
	for (i = 0; i < sizeof(ages_ns) / sizeof(ages_ns[0]); i++) {
		__u64 before, after;
		struct result r;

		fixture("%llu ns", ages_ns[i]);
		echo_waits(s, ages_ns[i]);
		before = clock_ns() - flow_get(s).echo.rx_ns;
		r = run(EGRESS, &in);
		after = clock_ns() - flow_get(s).echo.rx_ns;
		expect_between(get16(r.out.b + at_echo(&r.out) + 4), before / 1024, after / 1024);
	}
	fixture("67.2 ms and more do not fit into 16 bits");
	echo_waits(s, 68 * MS);
	expect_eq(get16(run(EGRESS, &in).out.b + 14 + 28 + 12 + 4), 0xffff);
	echo_waits(s, 68 * MS << 8);
	expect_eq(get16(run(EGRESS, &in).out.b + 14 + 28 + 12 + 4), 0xffff);
}

Test(egress, echo__waits_while_it_is_written)
{
	struct ip_spec s = {};
	struct frame in = tcp();
	struct flow f;

	run(EGRESS, &in);
	echo_waits(s, 0);
	f = flow_get(s);
	f.echo.version++;
	flow_set(s, &f);
	expect_counted(STAT_TX_PLAIN_ACK);
	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
	f.echo.version++;
	flow_set(s, &f);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
}

Test(egress, echo__is_kept_when_the_packet_does_not_fit)
{
	struct ip_spec s = { .payload = 100 };
	struct frame data = frame_of(s), ack = tcp();
	struct port port = port_usual();

	run(EGRESS, &data);
	echo_waits(s, 0);
	expect_counted(STAT_TX_DATA);
	port.mtu = data.len - 14 + 28 + 12 + 44 + 31;
	port_change(WORLD_IFINDEX, &port);
	expect_untouched(EGRESS, &data, STAT_TX_MTU);
	run(EGRESS, &ack);
	expect_counted(STAT_TX_DATA);
}

/* --- what stays as it is --- */

Test(egress, handshake__is_plain)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .flags = SYN);

		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
		in = tcp(.v6 = v6, .flags = SYN | ACK);
		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
		in = tcp(.v6 = v6, .flags = SYN, .payload = 100); /* TCP Fast Open */
		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
		in = tcp(.v6 = v6, .flags = RST | ACK);
		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
	}
}

Test(egress, own_message__is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 100), in = wrap(&inner, .room = 5);

		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		in = wrap(&inner, .msg = 3, .bare = 1);
		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		fixture("IPv%d, whatever is in it", v6 ? 6 : 4);
		in = udp(.v6 = v6, .dport = PORT_WIRE, .payload = 100);
		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		in = udp(.v6 = v6, .dport = PORT_WIRE, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		expect_eq(flows_count(), 0);
	}
}

/* From our port is not to our port. */
Test(egress, own_message__is_known_by_its_destination)
{
	struct frame in = udp(.sport = PORT_WIRE, .payload = 100);

	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
}

Test(egress, other__is_untouched)
{
	static const __u8 echo_request[64] = { 8, 0, 0xf7, 0xff }, bytes[32] = { 1 };
	static const __u8 protos[] = { 47, 50, 132, 136 }; /* GRE, ESP, SCTP, UDP-Lite */
	struct frame in = frame_ip(0, 1, echo_request, sizeof(echo_request));
	unsigned int i;

	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	in = frame_ip(1, 58, echo_request, sizeof(echo_request));
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(protos); i++) {
			fixture("IPv%d, protocol %u", v6 ? 6 : 4, protos[i]);
			in = frame_ip(v6, protos[i], bytes, sizeof(bytes));
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
		}
	}
	in = frame_arp();
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	in = tcp(.payload = 100);
	in.b[14] = 0x55; /* says IPv5 */
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	in = tcp(.v6 = 1, .payload = 100);
	in.b[14] = 0x50;
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	expect_eq(flows_count(), 0);
}

/* Nobody can be asked whether all of a group strip. */
Test(egress, group__is_untouched)
{
	static const __u8 first[] = { 0xff, 0x01, 0x33 }; /* everybody, a group of IPv4, one of IPv6 */
	unsigned int i;

	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(first); i++) {
			struct frame in = udp(.v6 = v6, .payload = 100);

			fixture("IPv%d, address %#x:...", v6 ? 6 : 4, first[i]);
			in.b[0] = first[i];
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
			expect_eq(flows_count(), 0);
		}
	}
}

Test(egress, fragment__is_untouched)
{
	struct frame whole = tcp(.payload = 800), in;

	in = frame_with_fragment(whole, 1, 0);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 1, 800);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 0, 8);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 0, 8 * 0x1fff);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = tcp(.v6 = 1, .payload = 800);
	in = frame_with_extension(in, 44);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	expect_eq(flows_count(), 0);
}

Test(egress, fragment__of_a_datagram_is_untouched)
{
	struct frame whole = udp(.payload = 800), in;

	in = frame_with_fragment(whole, 1, 0);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 1, 800);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 0, 8);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = udp(.v6 = 1, .payload = 800);
	in = frame_with_extension(in, 44);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	/* not even one to our own port, whose later fragments have no port */
	in = udp(.dport = PORT_WIRE, .payload = 800);
	in = frame_with_fragment(in, 1, 0);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	expect_eq(flows_count(), 0);
}

Test(egress, ip_options__are_untouched)
{
	static const __u8 extensions[] = { 0, 43, 51, 60 };
	struct frame in = tcp(.payload = 100);
	unsigned int i;

	in = frame_with_ipv4_option(in);
	expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
	in = udp(.payload = 100);
	in = frame_with_ipv4_option(in);
	expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
	for (i = 0; i < sizeof(extensions); i++) {
		fixture("next header %u", extensions[i]);
		in = tcp(.v6 = 1, .payload = 100);
		in = frame_with_extension(in, extensions[i]);
		expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
		in = udp(.v6 = 1, .payload = 100);
		in = frame_with_extension(in, extensions[i]);
		expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
	}
}

Test(egress, vlan_in_band__is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame plain = tcp(.v6 = v6, .payload = 100), in;

		in = frame_with_vlan(plain, 0x8100);
		expect_untouched(EGRESS, &in, STAT_TX_VLAN_INBAND);
		in = frame_with_vlan(plain, 0x88a8);
		expect_untouched(EGRESS, &in, STAT_TX_VLAN_INBAND);
		in = frame_with_vlan(in, 0x8100);
		expect_untouched(EGRESS, &in, STAT_TX_VLAN_INBAND);
	}
}

Test(egress, no_peer__is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100, .to = HOST_STRANGER);

		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		in = tcp(.v6 = v6, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		in = tcp(.v6 = v6, .flags = SYN, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		in = udp(.v6 = v6, .payload = 100, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		expect_eq(flows_count(), 0);
		expect_eq(host_exists(v6, HOST_STRANGER), 0);
	}
}

/* A local address outside the prefixes does not matter: it is the destination that strips. */
Test(egress, no_peer__is_about_the_destination)
{
	struct frame in = tcp(.payload = 100, .from = HOST_STRANGER);

	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
}

Test(egress, no_port__is_untouched)
{
	struct frame in = tcp(.payload = 100);

	port_remove(WORLD_IFINDEX);
	expect_untouched(EGRESS, &in, STAT_TX_NO_PORT);
	expect_eq(flows_count(), 0);
}

Test(egress, bypass__is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100);

		control_set(MODE_ENFORCE, 1);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		in = tcp(.v6 = v6);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		in = tcp(.v6 = v6, .flags = SYN);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		in = udp(.v6 = v6, .payload = 100);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		control_set(MODE_ENFORCE, 0);
		in = tcp(.v6 = v6, .payload = 100);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
	}
}

/* Flows that run go on plainly with the epoch, others are not made; and back. */
Test(egress, leaving_peer__is_sent_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100), other = tcp(.v6 = v6, .sport = 7, .payload = 100);
		struct ip_spec key = { .v6 = v6 };

		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(key).flags & FLOW_F_TELEM, FLOW_F_TELEM);
		peers_leave(1);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		expect_eq(flow_get(key).flags & FLOW_F_TELEM, 0);
		expect_untouched(EGRESS, &other, STAT_TX_NO_PEER);
		peers_leave(0);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(key).flags & FLOW_F_TELEM, FLOW_F_TELEM);
	}
}

/* So it is with an interface. */
Test(egress, leaving_port__wraps_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100), other = tcp(.v6 = v6, .sport = 7, .payload = 100);
		struct ip_spec key = { .v6 = v6 };

		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		port_leaves(WORLD_IFINDEX, 1);
		control_next_epoch();
		expect_untouched(EGRESS, &in, STAT_TX_NO_PORT);
		expect_eq(flow_get(key).flags & FLOW_F_TELEM, 0);
		expect_untouched(EGRESS, &other, STAT_TX_NO_PORT);
		port_leaves(WORLD_IFINDEX, 0);
		control_next_epoch();
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
	}
}

/* Cut after every byte: no header is believed that is not there. */
Test(egress, truncated__is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole = tcp(.v6 = v6, .payload = 20);
		unsigned int ip_bytes = v6 ? 40 : 20, n;

		for (n = 14 + ip_bytes; n < 14 + ip_bytes + 14; n++) {
			struct frame in = frame_cut(whole, n);

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
		}
		whole = udp(.v6 = v6, .payload = 20);
		for (n = 14 + ip_bytes; n < 14 + ip_bytes + 8; n++) {
			struct frame in = frame_cut(whole, n);

			fixture("UDP over IPv%d, %u bytes", v6 ? 6 : 4, n);
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
		}
	}
}

/* A TCP header, or one of UDP, that the IP packet has no room for. An echo that waits does not go with it. */
Test(egress, truncated__header_by_its_own_length)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };
		unsigned int l4 = 14 + (v6 ? 40 : 20), n;
		struct frame in = tcp(.v6 = v6, .payload = 1000);

		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		for (n = 0; n < 40; n++) {
			fixture("IPv%d, %u bytes for 40", v6 ? 6 : 4, n);
			echo_waits(s, 0);
			in = tcp(.v6 = v6, .payload = n);
			in.b[l4 + 12] = 15 << 4;
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
			expect_eq(flow_get(s).mss, 1000);
		}
		fixture("IPv%d, as many", v6 ? 6 : 4);
		in = tcp(.v6 = v6, .payload = n);
		in.b[l4 + 12] = 15 << 4;
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(s).mss, 1000);
		fixture("IPv%d, padding", v6 ? 6 : 4);
		in = udp(.v6 = v6, .payload = 30);
		put16(in.b + (v6 ? 18 : 16), v6 ? 7 : 27);
		expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	}
}

/* Short frames of bridged machines carry padding; the sink tells it from the packet by its length. */
Test(egress, padding__is_not_payload)
{
	struct frame in = tcp(.padding = 6);

	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
}

Test(egress, padding__does_not_stop_the_sink)
{
	struct frame in = tcp(.payload = 1, .padding = 5), want = tcp(.payload = 1);
	struct result sent = run(EGRESS, &in), r;

	expect_counted(STAT_TX_DATA);
	r = run(INGRESS, &sent.out);
	expect_counted(STAT_RX_DATA);
	r.out.len = want.len;
	expect_frame(&r.out, &want);
}

/* --- does the peer strip? --- */

/* A link whose near end asks, and what arrives at its far end. */
struct asker {
	__u32 ifindex;
	int fd;
};

static struct asker asker_make(void)
{
	struct asker a = { .ifindex = link_make("") };

	link_attach(EGRESS, LINK_NEAR, 0);
	a.fd = packet_socket(LINK_FAR);
	return a;
}

/* Exactly one PROBE arrived, made of this packet. */
static void expect_probe(const struct asker *a, const struct frame *in, __u32 seq)
{
	struct frame got, want;

	cr_assert(packet_catch(a->fd, &got, 1000), "%sno PROBE", world_fixture());
	want = frame_probe(in, source_port(&got), seq);
	expect_frame(&got, &want);
	cr_assert(!packet_catch(a->fd, &got, 20), "%sa second PROBE", world_fixture());
}

static void expect_no_probe(const struct asker *a)
{
	struct frame got;

	cr_assert(!packet_catch(a->fd, &got, 20), "%sa PROBE", world_fixture());
}

Test(egress, unknown_peer__gets_plain_data_and_a_question)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100);
		struct host unknown = {};
		struct result r;

		host_set(v6, HOST_B, &unknown);
		r = run(EGRESS, &in, .ifindex = a.ifindex);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &in);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
		expect_probe(&a, &in, 0);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).flags & FLOW_F_TELEM, 0);
	}
}

Test(egress, unknown_peer__becomes_known_when_it_is_heard)
{
	struct frame in = tcp(.payload = 100);
	struct host unknown = {};

	host_set(0, HOST_B, &unknown);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	expect_eq(flow_get((struct ip_spec){}).flags & FLOW_F_TELEM, FLOW_F_TELEM);
}

/* --- the question --- */

/*
 * The question is the beginning of the packet in a PROBE with room for five hops; the packet itself
 * goes on as it was. Between headers and payload nothing is told apart: 20 bytes behind the IP header.
 */
Test(egress, probe__is_the_beginning_of_the_packet)
{
	static const struct ip_spec specs[] = {
		{},				     /* 20 bytes of header, and nothing else */
		{ .payload = 1 },
		{ .payload = 1300, .options = 12 },
		{ .flags = FIN | ACK, .options = 20 },
		{ .tos = 0xb8 | ECT0, .may_fragment = 1, .payload = 40 },
		{ .udp = 1 },
		{ .udp = 1, .payload = 1 },
		{ .udp = 1, .payload = 11 },
		{ .udp = 1, .payload = 12 },
		{ .udp = 1, .payload = 13 },
		{ .udp = 1, .payload = 1400, .tos = 0x28 },
	};
	struct asker a = asker_make();
	struct host unknown = {};
	unsigned int i;

	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
			struct ip_spec s = specs[i];
			struct frame in;
			struct result r;

			fixture("IPv%d, case %u", v6 ? 6 : 4, i);
			s.v6 = v6;
			in = frame_of(s);
			host_set(v6, HOST_B, &unknown);
			r = run(EGRESS, &in, .ifindex = a.ifindex);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &in);
			expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
			expect_probe(&a, &in, 0);
			expect_between(clock_ns() - host_get(v6, HOST_B).asked_ns, 0, 1000 * MS);
		}
	}
}

/* In bytes, of what is shortest and what is cut. */
Test(egress, probe__golden)
{
	static const __u8 v4[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
		/* IPv4: 20 + 8 + 12 + 44 + 29 bytes */
		0x45, 0x00, 0x00, 0x71, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0x78,
		10, 1, 0, 1, 10, 1, 0, 2,
		0xff, 0xff, 0x15, 0x57, 0x00, 0x5d, 0x00, 0x00,
		0x98, 0x0d, 0x00, 0x04,
		/* version 4, PROBE, room for 5, no echo, nothing sent yet */
		0x42, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		/* the datagram whole: 29 bytes, of which one is its payload */
		0x45, 0x00, 0x00, 0x1d, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x14, 0x98,
		10, 1, 0, 1, 10, 1, 0, 2,
		0x9c, 0x40, 0x13, 0x89, 0x00, 0x09, 0x3b, 0x0e, 0x01,
	}, v6[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd,
		/* IPv6: 8 + 12 + 44 + 60 bytes */
		0x60, 0x00, 0x00, 0x00, 0x00, 0x7c, 0x11, 0x40,
		0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0xff, 0xff, 0x15, 0x57, 0x00, 0x7c, 0x00, 0x00,
		0x98, 0x0d, 0x00, 0x29,
		0x42, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		/* of a datagram of 500 bytes the first 20; its lengths still say 500 */
		0x60, 0x00, 0x00, 0x00, 0x01, 0xf4, 0x11, 0x40,
		0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0x9c, 0x40, 0x13, 0x89, 0x01, 0xf4, 0x6b, 0x95,
		1, 8, 15, 22, 29, 36, 43, 50, 57, 64, 71, 78,
	};
	struct asker a = asker_make();
	struct frame in = udp(.payload = 1), in6 = udp(.v6 = 1, .payload = 492), got, want;
	struct host unknown = {};

	host_set(0, HOST_B, &unknown);
	host_set(1, HOST_B, &unknown);
	run(EGRESS, &in, .ifindex = a.ifindex);
	cr_assert(packet_catch(a.fd, &got, 1000), "no PROBE");
	want.len = sizeof(v4);
	memcpy(want.b, v4, sizeof(v4));
	memcpy(want.b + 34, got.b + 34, 2); /* the source port is the flow's */
	expect_frame(&got, &want);

	run(EGRESS, &in6, .ifindex = a.ifindex);
	cr_assert(packet_catch(a.fd, &got, 1000), "no PROBE");
	want.len = sizeof(v6);
	memcpy(want.b, v6, sizeof(v6));
	memcpy(want.b + 54, got.b + 54, 2);
	expect_frame(&got, &want);
}

/* It takes the way of the flow's packets. */
Test(egress, probe__has_the_flows_source_port)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6(v6) {
		struct frame in = udp(.v6 = v6, .payload = 100), got;
		struct result r = run(EGRESS, &in, .ifindex = a.ifindex);

		cr_assert(packet_catch(a.fd, &got, 1000), "no PROBE");
		expect_eq(source_port(&got), source_port(&r.out));
	}
}

Test(egress, probe__once_a_second_where_nothing_is_known)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6);
		struct host unknown = {};

		host_set(v6, HOST_B, &unknown);
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
		expect_probe(&a, &in, 0);
		expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
		expect_no_probe(&a);
		unknown.asked_ns = clock_ns() - 1001 * MS;
		host_set(v6, HOST_B, &unknown);
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
		expect_probe(&a, &in, 0);
	}
}

/* Over a link that is down nobody was asked; and not every packet tries again. */
Test(egress, probe__that_could_not_leave_asked_nobody)
{
	struct asker a = asker_make();
	struct peer peer = peer_usual();
	struct host unknown = {};
	struct frame in = tcp(.payload = 100);

	peer.t_ns = 200 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	host_set(0, HOST_B, &unknown);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
	expect_eq(host_get(0, HOST_B).asked_ns, 0);
	expect_between(clock_ns() - flow_get((struct ip_spec){}).probe_ns, 0, 1000 * MS);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
	expect_no_probe(&a);
	clock_pass(201 * MS);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	expect_probe(&a, &in, 0);
	expect_between(clock_ns() - host_get(0, HOST_B).asked_ns, 0, 1000 * MS);
}

/* It was made a PROBE, and the queue had no room for it. */
Test(egress, probe__that_the_queue_drops_asked_nobody)
{
	struct asker a = asker_make();
	struct frame in = tcp(.payload = 100);
	struct host unknown = {};

	sh("tc qdisc add dev " LINK_NEAR " root bfifo limit 1");
	host_set(0, HOST_B, &unknown);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_FAILED);
	expect_no_probe(&a);
	expect_eq(host_get(0, HOST_B).asked_ns, 0);
}

/* When the address of this host was asked, that was never heard; 0: it was not. */
static __u64 asked_get(int v6, enum who who)
{
	struct sluice_addr a = addr_of(v6, who);
	__u64 ns = 0;

	bpf_map_lookup_elem(world_map("asked"), &a, &ns);
	return ns;
}

/* The first packet behind the handshake asks. Room for what is heard is not taken by it. */
Test(egress, probe__asks_with_the_first_packet_to_a_new_host)
{
	static const __u8 quiet[] = { SYN, SYN | ACK, RST, RST | ACK };
	struct asker a = asker_make();
	struct peer peer = peer_usual();
	struct frame in;
	struct result r;
	unsigned int i;

	peer_set("192.0.2.0", 96 + 24, &peer);
	for (i = 0; i < sizeof(quiet); i++) {
		fixture("flags %#x", quiet[i]);
		in = tcp(.flags = quiet[i], .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE, .ifindex = a.ifindex);
		expect_no_probe(&a);
	}
	in = tcp(.to = HOST_STRANGER);
	r = run(EGRESS, &in, .ifindex = a.ifindex);
	expect_frame(&r.out, &in);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	expect_probe(&a, &in, 0);
	expect_between(clock_ns() - asked_get(0, HOST_STRANGER), 0, 60000 * MS);
	expect_eq(host_exists(0, HOST_STRANGER), 0);
	in = tcp(.to = HOST_STRANGER, .sport = 7);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
	expect_no_probe(&a);
}

/* Its tokens are spent up to a time that does not come; a peer that was heard is asked all the same. */
Test(egress, probe__to_those_never_heard_are_limited)
{
	struct asker a = asker_make();
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100, .to = HOST_STRANGER), known = tcp(.payload = 100);
	struct host silent = {};
	__u64 spent_ns = clock_ns() + 3600000 * MS;
	__u32 asks = 0;

	peer.t_ns = 1;
	peer_set("192.0.2.0", 96 + 24, &peer);
	cr_assert(!bpf_map_update_elem(world_map("buckets"), &asks, &spent_ns, BPF_ANY));
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_LIMITED);
	expect_no_probe(&a);
	expect_eq(asked_get(0, HOST_STRANGER), 0);
	host_set(0, HOST_B, &silent);
	run(EGRESS, &known, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	expect_probe(&a, &known, 0);
	spent_ns = 0;
	cr_assert(!bpf_map_update_elem(world_map("buckets"), &asks, &spent_ns, BPF_ANY));
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	expect_probe(&a, &in, 0);
	bpf_map_lookup_elem(world_map("buckets"), &asks, &spent_ns);
	expect_between(spent_ns, 1, clock_ns());
}

Test(egress, probe__asks_a_known_peer_not_heard_for_a_second)
{
	struct asker a = asker_make();
	struct host h = { .capable = 1 };
	struct frame syn = tcp(.flags = SYN), ack = tcp(), data = tcp(.payload = 100);

	h.heard_ns = clock_ns() - 1001 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &ack, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PLAIN_ACK, STAT_PROBE_SENT);
	expect_probe(&a, &ack, 0);
	host_set(0, HOST_B, &h);
	expect_untouched(EGRESS, &syn, STAT_TX_HANDSHAKE, .ifindex = a.ifindex);
	expect_no_probe(&a);
	run(EGRESS, &data, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
	expect_probe(&a, &data, 0);
	h.heard_ns = clock_ns();
	host_set(0, HOST_B, &h);
	run(EGRESS, &data, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
}

/* For a time nobody could see whether it stopped: only what it said since counts. */
Test(egress, doubt__asks_a_known_peer_and_sends_plainly_until_it_answers)
{
	struct asker a = asker_make();
	struct host h = { .capable = 1 };
	struct frame data = tcp(.payload = 100);
	struct result r;

	h.heard_ns = h.unanswered_ns = clock_ns() - 1 * MS;
	doubt_set(clock_ns());
	host_set(0, HOST_B, &h);
	r = run(EGRESS, &data, .ifindex = a.ifindex);
	expect_frame(&r.out, &data);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	expect_probe(&a, &data, 0);
	expect_eq(host_get(0, HOST_B).capable, 0);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	clock_pass(1);
	h.heard_ns = clock_ns();
	host_set(0, HOST_B, &h);
	run(EGRESS, &data, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_eq(host_get(0, HOST_B).capable, 1);
}

/*
 * The position is that of what has left: what was sent, without what waits in fq. At 80 Gbit/s 50 ms
 * are 500 MB; the test takes some of that time.
 */
Test(egress, probe__position_is_of_what_has_left)
{
	struct ip_spec s = { .payload = 100 };
	struct frame in = frame_of(s);
	struct flow f;
	struct result r;
	__u64 before;

	run(EGRESS, &in);
	f = flow_get(s);
	f.tx_bytes = 0x2fffffff0;
	flow_set(s, &f);
	r = run(EGRESS, &in, .clone = 1);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), 0xfffffff0);
	f.tx_bytes = 3000000000ULL;
	f.cc.rate_bps = 80000000000ULL;
	before = clock_ns();
	f.clock_ns = before + 50 * MS;
	flow_set(s, &f);
	r = run(EGRESS, &in, .clone = 1);
	expect_between(get32(r.out.b + at_shim(&r.out) + 8), 2500000000U,
		       2500000000U + (clock_ns() - before) * 10 + 10);
}

/* --- the copy's second way through the program --- */

Test(egress, probe_copy__is_cut_and_wrapped)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = udp(.v6 = v6, .payload = 700), want;
		__u16 port = entropy_of(&in);
		__u32 seq = flow_get((struct ip_spec){ .v6 = v6, .udp = 1 }).tx_bytes;
		struct result r;

		expect_counted(STAT_TX_DATA);
		r = run(EGRESS, &in, .clone = 1);
		expect_verdict(r, VERDICT_PASS);
		want = frame_probe(&in, port, seq);
		expect_frame(&r.out, &want);
		expect_eq(r.ctx.mark, 0);
		expect_eq(r.ctx.tstamp, 0);
		expect_counted_attached(-1);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6, .udp = 1 }).tx_bytes, seq);
		expect_untouched(EGRESS, &r.out, STAT_TX_OWN);
	}
}

/* An echo that waits does not go out with it: it may be cut off on its way. */
Test(egress, probe_copy__takes_no_echo)
{
	struct ip_spec s = { .udp = 1, .payload = 50 };
	struct frame in = frame_of(s), want;
	__u16 port = entropy_of(&in);
	__u32 seq = flow_get(s).tx_bytes;
	struct result r;

	echo_waits(s, 0);
	r = run(EGRESS, &in, .clone = 1);
	want = frame_probe(&in, port, seq);
	expect_frame(&r.out, &want);
	run(EGRESS, &in);
	expect_eq(flow_get(s).echo.sent, flow_get(s).echo.version);
}

/* What an earlier packet of the same CPU left in the scratch space is not in it. */
Test(egress, probe_copy__has_clean_room)
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
	want = frame_probe(&in, port, flow_get(s).tx_bytes);
	expect_frame(&r.out, &want);
}

/* What cannot become a PROBE must not leave as a second copy of the packet. */
Test(egress, probe_copy__that_cannot_be_wrapped_is_dropped)
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

/* A sender sets any mark; what once told the copy is one like others. */
Test(egress, probe_copy__is_not_told_by_a_mark)
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

/* The question is asked in between, and the packet keeps the mark that it has. */
Test(egress, probe__leaves_the_packets_mark_alone)
{
	struct asker a = asker_make();
	struct host unknown = {};
	struct frame in = tcp(.payload = 100);

	host_set(0, HOST_B, &unknown);
	expect_eq(run(EGRESS, &in, .ifindex = a.ifindex, .mark = 7).ctx.mark, 7);
	expect_probe(&a, &in, 0);
}

/* --- probes for want of feedback --- */

static const struct ip_spec udp_flow = { .udp = 1, .payload = 100 };

/* A base RTT of a second: nothing depends on how fast the test runs. */
static struct asker asker_slow(void)
{
	struct peer peer = peer_usual();

	peer.t_ns = 1000 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	return asker_make();
}

/* The flow's last probe, and its last feedback, so long ago; -1: never. */
static void probed_ago(struct ip_spec s, __s64 probe_ago_ns, __s64 fb_ago_ns)
{
	struct flow f = flow_get(s);

	f.probe_ns = probe_ago_ns < 0 ? 0 : clock_ns() - probe_ago_ns;
	f.last_fb_ns = fb_ago_ns < 0 ? 0 : clock_ns() - fb_ago_ns;
	flow_set(s, &f);
}

Test(egress, feedback_probe__of_udp_once_in_a_base_rtt)
{
	struct asker a = asker_slow();

	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .udp = 1, .v6 = v6, .payload = 100 };
		struct frame in = frame_of(s);
		struct result r;
		__u32 seq;
		int i;

		hosts_strip();
		r = run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
		expect_probe(&a, &in, 0);
		expect_between(clock_ns() - flow_get(s).probe_ns, 0, 1000 * MS);
		seq = r.out.len;
		for (i = 0; i < 5; i++) {
			hosts_strip();
			probed_ago(s, 0, -1);
			seq += run(EGRESS, &in, .ifindex = a.ifindex).out.len;
			expect_counted(STAT_TX_DATA);
		}
		expect_no_probe(&a);
		probed_ago(s, 1001 * MS, -1);
		hosts_strip();
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
		expect_probe(&a, &in, seq);
	}
}

Test(egress, feedback_probe__not_while_there_is_feedback)
{
	struct asker a = asker_slow();
	struct frame in = frame_of(udp_flow);

	run(EGRESS, &in);
	hosts_strip();
	expect_counted(STAT_TX_DATA);
	probed_ago(udp_flow, 1001 * MS, 0);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
	probed_ago(udp_flow, 1001 * MS, 1001 * MS);
	hosts_strip();
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
	fixture("feedback long ago, and a probe that is on its way");
	probed_ago(udp_flow, 0, 5000 * MS);
	hosts_strip();
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
}

/* Its ACKs bring feedback; what it asks is only whether the peer strips. */
Test(egress, feedback_probe__never_of_tcp)
{
	struct asker a = asker_slow();
	struct frame in = tcp(.payload = 100);

	run(EGRESS, &in, .ifindex = a.ifindex);
	hosts_strip();
	expect_counted(STAT_TX_DATA);
	probed_ago((struct ip_spec){}, 5000 * MS, 5000 * MS);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
}

Test(egress, feedback_probe__each_flow_has_its_own)
{
	struct asker a = asker_slow();
	struct frame in = udp(.payload = 100), other = udp(.payload = 100, .sport = 7);

	hosts_strip();
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_probe(&a, &in, 0);
	hosts_strip();
	run(EGRESS, &other, .ifindex = a.ifindex);
	expect_probe(&a, &other, 0);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT, STAT_TX_DATA, STAT_PROBE_SENT);
}

/* What is asked of the host is asked for the flow as well: one question, not two. */
Test(egress, feedback_probe__is_the_question_too)
{
	struct asker a = asker_slow();
	struct host h = { .capable = 1 };
	struct frame in = frame_of(udp_flow);

	h.heard_ns = clock_ns() - 1001 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
	expect_probe(&a, &in, 0);
	expect_between(clock_ns() - flow_get(udp_flow).probe_ns, 0, 1000 * MS);
	expect_between(clock_ns() - host_get(0, HOST_B).asked_ns, 0, 1000 * MS);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
}

/* Not to peers that do not strip: they are asked once a second, all flows together. */
Test(egress, feedback_probe__not_to_an_unknown_peer)
{
	struct asker a = asker_slow();
	struct host unknown = { .asked_ns = clock_ns() };
	struct frame in = frame_of(udp_flow);

	host_set(0, HOST_B, &unknown);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
	expect_no_probe(&a);
}

Test(egress, silence__begins_with_the_first_data)
{
	struct frame data = tcp(.payload = 100), ack = tcp();
	__u64 before = clock_ns(), first;

	run(EGRESS, &ack);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	echo_waits((struct ip_spec){}, 0);
	run(EGRESS, &ack); /* an echo asks for no answer */
	expect_counted(STAT_TX_PLAIN_ACK, STAT_TX_DATA);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	run(EGRESS, &data);
	first = host_get(0, HOST_B).unanswered_ns;
	expect_between(first, before, clock_ns());
	run(EGRESS, &data);
	expect_eq(host_get(0, HOST_B).unanswered_ns, first);
}

/* Nobody answers what he never got as Sluice's. */
Test(egress, silence__does_not_begin_with_what_leaves_plain)
{
	struct frame data = tcp(.payload = 1000), dgram = udp(.payload = 1000);
	struct port port = port_usual();
	struct flow f;

	run(EGRESS, &dgram);
	hosts_strip();
	expect_counted(STAT_TX_DATA);
	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	f = flow_get((struct ip_spec){ .udp = 1 });
	f.clock_ns = clock_ns() + 900 * MS;
	flow_set((struct ip_spec){ .udp = 1 }, &f);
	run(EGRESS, &dgram);
	expect_counted(STAT_TX_HORIZON);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	port.mtu = data.len;
	port_change(WORLD_IFINDEX, &port);
	expect_untouched(EGRESS, &data, STAT_TX_MTU);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	expect_untouched(EGRESS, &data, STAT_TX_ENCAP_FAILED, .gso_size = 500, .gso_segs = 2);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
}

Test(egress, silence__of_100_ms_makes_a_peer_unknown)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100);
		struct host h = { .capable = 1 };

		h.heard_ns = clock_ns();
		h.unanswered_ns = clock_ns() - 60 * MS;
		host_set(v6, HOST_B, &h);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		h.unanswered_ns = clock_ns() - 101 * MS;
		host_set(v6, HOST_B, &h);
		run(EGRESS, &in);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PEER_SILENT);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).flags & FLOW_F_TELEM, 0);
		expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
	}
}

Test(egress, silence__of_four_rtts_where_that_is_longer)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);
	struct host h = { .capable = 1 };

	peer.t_ns = 100 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	h.unanswered_ns = clock_ns() - 300 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	h.unanswered_ns = clock_ns() - 401 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &in);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PEER_SILENT);
}

/* --- does it fit? --- */

Test(egress, mtu__to_the_byte)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .payload = 500 };
		struct frame in = frame_of(s);
		unsigned int grow = (v6 ? 40 : 20) + 8 + 12 + 44;
		struct port port = port_usual();

		port.mtu = in.len - 14 + grow;
		port_change(WORLD_IFINDEX, &port);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(s).flags & FLOW_F_TELEM, FLOW_F_TELEM);
		port.mtu--;
		port_change(WORLD_IFINDEX, &port);
		expect_untouched(EGRESS, &in, STAT_TX_MTU);
		expect_eq(flow_get(s).flags & FLOW_F_TELEM, 0);

		port.mtu += 1 + 36;
		port_change(WORLD_IFINDEX, &port);
		echo_waits(s, 0);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		port.mtu--;
		port_change(WORLD_IFINDEX, &port);
		echo_waits(s, 0);
		expect_untouched(EGRESS, &in, STAT_TX_MTU);
	}
}

/* Not a size that the kernel would segment so: test runs cannot say that it is TCP. gso_test.c can. */
Test(egress, gso__of_unknown_kind_is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 2500);

		expect_untouched(EGRESS, &in, STAT_TX_ENCAP_FAILED, .gso_size = 1000, .gso_segs = 3);
	}
}

Test(egress, gso__it_is_the_segment_that_must_fit)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 3000);
		unsigned int grow = (v6 ? 40 : 20) + 8 + 12 + 44;
		struct port port = port_usual();

		port.mtu = (v6 ? 40 : 20) + 20 + 1000 + grow;
		port_change(WORLD_IFINDEX, &port);
		expect_untouched(EGRESS, &in, STAT_TX_ENCAP_FAILED, .gso_size = 1000, .gso_segs = 3);
		port.mtu--;
		port_change(WORLD_IFINDEX, &port);
		expect_untouched(EGRESS, &in, STAT_TX_MTU, .gso_size = 1000, .gso_segs = 3);
	}
}

/* --- flows --- */

Test(egress, flow__is_made_with_the_parameters_of_peer_and_port)
{
	struct ip_spec s = { .payload = 100 };
	struct frame in = frame_of(s);
	struct flow f;

	control_next_epoch();
	run(EGRESS, &in);
	f = flow_get(s);
	expect_eq(f.params.t_ns, 1000000);
	expect_eq(f.params.w_init, 12500000ULL << 12); /* 100 Gbit/s for 1 ms */
	expect_eq(f.params.w_min, 9014ULL << 12);
	/* W_init * (1 - eta) / N, with eta as the daemon rounds it */
	expect_between(f.params.w_ai, 6249ULL << 12, 6251ULL << 12);
	expect_eq(f.params.eta, Q24_ONE * 95 / 100);
	expect_eq(f.params.max_stage, 5);
	expect_eq(f.cc.w, f.params.w_init);
	expect_eq(f.cc.wc, f.params.w_init);
	expect_eq(f.cc.u, Q24_ONE);
	expect_eq(f.cc.rate_bps, WORLD_BPS);
	expect_eq(f.cc.hops, 0);
	expect_eq(f.epoch, 1);
	expect_eq(f.lock, 0);
	expect_eq(f.ifindex, WORLD_IFINDEX);
	expect_eq(f.feedbacks, 0);
	expect_between(f.last_tx_ns, clock_ns() - 1000 * MS, clock_ns());
	expect_eq(flows_count(), 1);
}

Test(egress, flow__takes_w_ai_and_the_longest_prefix)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);

	peer.w_ai = 80 << 12;
	peer.t_ns = 20000;
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	expect_eq(flow_get((struct ip_spec){}).params.w_ai, 80 << 12);
	expect_eq(flow_get((struct ip_spec){}).params.w_init, 250000ULL << 12);
}

Test(egress, flow__window_has_bounds)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);

	peer.t_ns = 500; /* 6250 bytes: less than a packet */
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	expect_eq(flow_get((struct ip_spec){}).params.w_init, 9014ULL << 12);
	peer.t_ns = 100 * MS; /* 1.25 GB */
	peer_set("10.1.0.2", 128, &peer);
	in = tcp(.payload = 100, .sport = 7);
	run(EGRESS, &in);
	expect_eq(flow_get((struct ip_spec){ .sport = 7 }).params.w_init, ((1ULL << 27) - 1) << 12);
}

Test(egress, flow__takes_new_parameters_with_a_new_epoch)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);
	struct ip_spec s = {};
	struct flow f;

	run(EGRESS, &in);
	peer.t_ns = 20000;
	peer_set("10.1.0.0", 96 + 16, &peer);
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 1000000);
	control_next_epoch();
	run(EGRESS, &in);
	f = flow_get(s);
	expect_eq(f.params.t_ns, 20000);
	expect_eq(f.cc.w, 250000ULL << 12);
	expect_eq(f.cc.wc, 250000ULL << 12);
	expect_eq(f.cc.rate_bps, WORLD_BPS);
	expect_eq(f.epoch, 1);
	expect_eq(f.lock, 0);

	fixture("not while another CPU has the flow");
	f.lock = 1;
	flow_set(s, &f);
	peer.t_ns = 30000;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 20000);
	expect_eq(flow_get(s).lock, 1);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
}

/* Of the longest prefix; with the next epoch a flow that runs changes over, and keeps its window. */
Test(egress, flow__takes_its_peers_variant)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);
	struct ip_spec s = {};
	enum hpcc_variant v;
	__u64 plain_w_ai;
	struct flow f;

	peer.variant = HPCC_PROBABILISTIC;
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(s);
	expect_eq(f.params.variant, HPCC_PROBABILISTIC);
	expect_eq(f.cc.vai.variant, HPCC_PROBABILISTIC);
	plain_w_ai = f.params.w_ai;
	f.cc.w = f.cc.wc = 1000000ULL << 12;
	flow_set(s, &f);
	for (v = HPCC_PLAIN; v < HPCC_VARIANTS; v++) {
		struct hpcc_params want = f.params;

		fixture("variant %u", v);
		peer.variant = v;
		peer_set("10.1.0.2", 128, &peer);
		control_next_epoch();
		run(EGRESS, &in);
		want.w_ai = plain_w_ai;
		hpcc_params_variant(&want, v);
		f = flow_get(s);
		cr_assert(!memcmp(&f.params, &want, sizeof(want)), "%sparameters", world_fixture());
		expect_eq(f.cc.w, 1000000ULL << 12);
		expect_eq(f.cc.wc, 1000000ULL << 12);
		expect_counted(STAT_TX_DATA);
	}
	fixture("another prefix");
	in = tcp(.v6 = 1, .payload = 100);
	run(EGRESS, &in);
	expect_eq(flow_get((struct ip_spec){ .v6 = 1 }).params.variant, HPCC_PLAIN);
}

Test(egress, flow__fin_and_rst_close_it)
{
	struct frame fin = tcp(.flags = FIN | ACK), rst = tcp(.flags = RST, .sport = 7),
		     data = tcp(.payload = 1), other = tcp(.payload = 1, .sport = 7);

	run(EGRESS, &data);
	expect_eq(flow_get((struct ip_spec){}).flags & FLOW_F_CLOSED, 0);
	run(EGRESS, &fin);
	expect_eq(flow_get((struct ip_spec){}).flags & FLOW_F_CLOSED, FLOW_F_CLOSED);
	run(EGRESS, &other);
	run(EGRESS, &rst);
	expect_eq(flow_get((struct ip_spec){ .sport = 7 }).flags & FLOW_F_CLOSED, FLOW_F_CLOSED);
	expect_counted(STAT_TX_DATA, STAT_TX_PLAIN_ACK, STAT_TX_DATA, STAT_TX_HANDSHAKE);
}

/* It answers whoever sends a SYN to a port where nobody listens. */
Test(egress, flow__rst_makes_none)
{
	static const __u8 flags[] = { RST, RST | ACK };
	struct asker a = asker_make();
	unsigned int i;

	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(flags); i++) {
			struct frame rst = tcp(.v6 = v6, .flags = flags[i], .to = v6 ? HOST_B : HOST_STRANGER);
			struct peer peer = peer_usual();

			fixture("IPv%d, flags %#x", v6 ? 6 : 4, flags[i]);
			peer_set("192.0.2.0", 96 + 24, &peer);
			expect_untouched(EGRESS, &rst, STAT_TX_HANDSHAKE, .ifindex = a.ifindex);
			expect_eq(flows_count(), 0);
			expect_no_probe(&a);
		}
	}
}

Test(egress, flow__is_counted_by_what_makes_it)
{
	struct frame syn = tcp(.flags = SYN, .sport = 1), syn_ack = tcp(.flags = SYN | ACK, .sport = 2),
		     data = tcp(.payload = 1, .sport = 3);

	hosts_strip();
	run(EGRESS, &syn);
	expect_counted(STAT_TX_HANDSHAKE, STAT_FLOW_MADE_TX);
	run(EGRESS, &syn_ack);
	expect_counted(STAT_TX_HANDSHAKE, STAT_FLOW_MADE_SYNACK);
	run(EGRESS, &data);
	expect_counted(STAT_TX_DATA, STAT_FLOW_MADE_TX);
	run(EGRESS, &data);
	expect_counted(STAT_TX_DATA);
}

/* A connection by the same ports, in either direction, is a new one. Data alone may have been sent before. */
Test(egress, flow__a_syn_opens_it_again)
{
	static const __u8 syns[] = { SYN, SYN | ACK };
	struct frame rst = tcp(.flags = RST), data = tcp(.payload = 1), syn;
	unsigned int i;

	for (i = 0; i < sizeof(syns); i++) {
		fixture("flags %#x", syns[i]);
		syn = tcp(.flags = syns[i]);
		run(EGRESS, &data);
		run(EGRESS, &rst);
		run(EGRESS, &data);
		expect_eq(flow_get((struct ip_spec){}).flags & FLOW_F_CLOSED, FLOW_F_CLOSED);
		run(EGRESS, &syn);
		expect_eq(flow_get((struct ip_spec){}).flags & FLOW_F_CLOSED, 0);
		expect_counted(STAT_TX_DATA, STAT_TX_HANDSHAKE, STAT_TX_DATA, STAT_TX_HANDSHAKE);
	}
}

Test(egress_small, flow_map_full__is_untouched)
{
	struct frame first = tcp(.payload = 100), second = tcp(.payload = 100, .sport = 7),
		     ack = tcp(.sport = 7);

	run(EGRESS, &first);
	expect_counted(STAT_TX_DATA);
	expect_untouched(EGRESS, &second, STAT_TX_FLOW_FULL);
	expect_untouched(EGRESS, &ack, STAT_TX_FLOW_FULL);
	run(EGRESS, &first);
	expect_counted(STAT_TX_DATA);
	expect_eq(flows_count(), 1);
}

/* --- departure --- */

static struct flow clock_at(struct ip_spec s, __u64 clock, __u64 rate_bps)
{
	struct flow f = flow_get(s);

	f.clock_ns = clock;
	f.cc.rate_bps = rate_bps;
	flow_set(s, &f);
	return f;
}

static void enforce_with_fq(void)
{
	struct port port = port_usual();

	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
}

Test(egress, departure__at_the_flows_clock)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 clock, before;
	struct result r;

	enforce_with_fq();
	before = clock_ns();
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, 0); /* idle: at once */
	expect_between(flow_get(s).clock_ns, before, clock_ns() + 1000);
	expect_counted(STAT_TX_DATA);

	clock = clock_ns() + 5 * MS;
	clock_at(s, clock, 100000000);
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, clock);
	expect_eq(flow_get(s).clock_ns, clock + r.out.len * 80); /* 80 ns a byte at 100 Mbit/s */
	expect_counted(STAT_TX_DATA, STAT_PACED);
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, clock + r.out.len * 80);
	expect_counted(STAT_TX_DATA, STAT_PACED);
}

/* With TCP's own pacing the packet arrives with a departure time already. */
Test(egress, departure__not_before_the_stack_wants)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 asked;
	struct result r;

	enforce_with_fq();
	run(EGRESS, &in);
	clock_at(s, clock_ns() + 1 * MS, 100000000);
	asked = clock_ns() + 5 * MS;
	r = run(EGRESS, &in, .tstamp = asked);
	expect_eq(r.ctx.tstamp, asked);
	expect_eq(flow_get(s).clock_ns, asked + r.out.len * 80);
}

Test(egress, departure__never_beyond_the_horizon)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 before;
	struct result r;

	enforce_with_fq();
	run(EGRESS, &in);
	clock_at(s, clock_ns() + 1000 * MS, 100000000);
	expect_counted(STAT_TX_DATA);
	before = clock_ns();
	r = run(EGRESS, &in);
	/* 10 ms and two base RTTs */
	expect_between(r.ctx.tstamp, before + 12 * MS, clock_ns() + 12 * MS);
	expect_counted(STAT_TX_DATA, STAT_HORIZON, STAT_PACED);
}

/* --- departure of what has no window --- */

static void expect_dropped(const struct frame *in, struct ip_spec s)
{
	struct flow before = flow_get(s);
	struct result r = run(EGRESS, in);

	expect_verdict(r, VERDICT_DROP);
	expect_frame(&r.out, in);
	expect_counted(STAT_TX_HORIZON);
	expect_eq(flow_get(s).clock_ns, before.clock_ns);
	expect_eq(flow_get(s).tx_bytes, before.tx_bytes);
}

Test(egress, departure_udp__at_the_flows_clock)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1000 };
		struct frame in = frame_of(s), want;
		struct result r;
		__u64 clock;

		enforce_with_fq();
		horizon_set(500 * MS, 0);
		hosts_strip();
		r = run(EGRESS, &in);
		expect_eq(r.ctx.tstamp, 0);
		clock = clock_ns() + 400 * MS;
		clock_at(s, clock, 100000000);
		hosts_strip();
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = 2 * r.out.len);
		r = run(EGRESS, &in);
		expect_frame(&r.out, &want);
		expect_eq(r.ctx.tstamp, clock);
		expect_eq(flow_get(s).clock_ns, clock + r.out.len * 80);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_PACED);
	}
}

/* Nothing is cut short: it leaves at its time, or not at all. */
Test(egress, departure_udp__beyond_the_horizon_is_dropped)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1000 };
		struct frame in = frame_of(s), marked = frame_with_ecn(in, ECT0);

		enforce_with_fq();
		horizon_set(300 * MS, 0);
		hosts_strip();
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		clock_at(s, clock_ns() + 600 * MS, 100000000);
		hosts_strip();
		expect_dropped(&in, s);
		expect_dropped(&marked, s); /* ECN is not asked where the policy is to drop */
		clock_at(s, clock_ns() + 200 * MS, 100000000);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA, STAT_PACED);
	}
}

/*
 * A socket that paces itself (SO_TXTIME) says when; the horizon is for what the packet waits beyond
 * that. A train that it spreads over more than the horizon is neither dropped nor pulled together.
 */
Test(egress, departure_udp__when_the_socket_wants)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 asked;
	struct result r;
	int i;

	enforce_with_fq();
	horizon_set(1 * MS, 0);
	asked = clock_ns();
	for (i = 0; i < 5; i++) {
		asked += 100 * MS;
		hosts_strip();
		r = run(EGRESS, &in, .tstamp = asked);
		expect_verdict(r, VERDICT_PASS);
		expect_eq(r.ctx.tstamp, asked);
		expect_counted(STAT_TX_DATA, STAT_PACED);
	}
	fixture("faster than R");
	clock_at(s, asked + 10 * MS, 100000000);
	r = run(EGRESS, &in, .tstamp = asked);
	expect_verdict(r, VERDICT_DROP);
	expect_counted(STAT_TX_HORIZON);
	clock_at(s, asked + MS / 2, 100000000);
	r = run(EGRESS, &in, .tstamp = asked);
	expect_eq(r.ctx.tstamp, asked + MS / 2);
	expect_counted(STAT_TX_DATA, STAT_PACED);
	fixture("a time that makes no sense");
	clock_at(s, 0, 100000000);
	asked = clock_ns();
	r = run(EGRESS, &in, .tstamp = 1ULL << 62);
	expect_between(r.ctx.tstamp, asked + 2 * MS, clock_ns() + 2 * MS);
	expect_counted(STAT_TX_DATA, STAT_PACED, STAT_HORIZON);
}

Test(egress, departure_udp__horizon_is_a_base_rtt_where_none_is_said)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct peer peer = peer_usual();
	struct frame in = frame_of(s);

	peer.t_ns = 300 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	enforce_with_fq();
	horizon_set(0, 0);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	clock_at(s, clock_ns() + 600 * MS, 100000000);
	hosts_strip();
	expect_dropped(&in, s);
	clock_at(s, clock_ns() + 200 * MS, 100000000);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA, STAT_PACED);
}

/* Both headers get the mark, so that it arrives whichever the sink believes. */
Test(egress, departure_udp__beyond_the_horizon_is_marked)
{
	static const __u8 ecns[] = { 1, ECT0, CE };
	unsigned int i;

	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1000, .tos = 0xb8 };
		struct frame in = frame_of(s), marked = frame_with_ecn(in, CE), want;
		struct result r;
		__u32 seq = 0;
		__u64 clock;

		enforce_with_fq();
		horizon_set(300 * MS, 1);
		for (i = 0; i < sizeof(ecns); i++) {
			fixture("IPv%d, ECN %u", v6 ? 6 : 4, ecns[i]);
			hosts_strip();
			in = frame_with_ecn(in, ecns[i]);
			r = run(EGRESS, &in); /* in time */
			seq += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = seq);
			expect_frame(&r.out, &want);
			clock = clock_ns() + 450 * MS;
			clock_at(s, clock, 100000000);
			r = run(EGRESS, &in);
			seq += r.out.len;
			want = wrap(&marked, .sport = source_port(&r.out), .room = 5, .seq = seq);
			expect_frame(&r.out, &want);
			expect_eq(r.ctx.tstamp, clock);
			expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_HORIZON_MARK, STAT_PACED);
			clock_at(s, clock_ns() + 900 * MS, 100000000); /* more than twice */
			expect_dropped(&in, s);
			clock_at(s, 0, 100000000);
		}
		fixture("IPv%d, not ECN capable", v6 ? 6 : 4);
		in = frame_with_ecn(in, 0);
		clock_at(s, clock_ns() + 450 * MS, 100000000);
		expect_dropped(&in, s);
	}
}

/* Of the longest horizon, or after a packet of UDP_SEGMENT at a low R, which costs seconds. */
Test(egress, departure_udp__of_a_clock_that_is_seconds_ahead)
{
	struct ip_spec s = { .udp = 1, .payload = 1000, .tos = ECT0 };
	struct frame in = frame_of(s);
	struct result r;
	__u64 clock;

	enforce_with_fq();
	horizon_set(1000 * MS, 1);
	run(EGRESS, &in);
	clock = clock_ns() + 1900 * MS;
	clock_at(s, clock, 100000000);
	r = run(EGRESS, &in);
	expect_eq(r.ctx.tstamp, clock);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_HORIZON_MARK, STAT_PACED);
	fixture("more than twice the horizon");
	clock_at(s, clock_ns() + 2100 * MS, 100000000);
	expect_dropped(&in, s);
	fixture("the cost of one packet");
	clock_at(s, clock_ns() + 50000 * MS, 100000000);
	expect_dropped(&in, s);
}

/* It has a window of its own. */
Test(egress, departure__tcp_is_never_dropped_or_marked)
{
	struct ip_spec s = { .payload = 1000, .tos = ECT0 };
	struct frame in = frame_of(s), want;
	struct result r;
	int mark;

	enforce_with_fq();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	for (mark = 0; mark < 2; mark++) {
		horizon_set(1 * MS, mark);
		clock_at(s, clock_ns() + 900 * MS, 100000000);
		r = run(EGRESS, &in);
		expect_verdict(r, VERDICT_PASS);
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = (mark + 2) * r.out.len);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA, STAT_PACED, STAT_HORIZON);
	}
}

/* A clock that makes no sense holds nothing back for long. */
Test(egress, departure_udp__of_a_wild_clock)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	__u64 before;
	struct result r;

	enforce_with_fq();
	horizon_set(100 * MS, 0);
	run(EGRESS, &in);
	clock_at(s, clock_ns() + 70000 * MS, 100000000);
	expect_counted(STAT_TX_DATA);
	before = clock_ns();
	r = run(EGRESS, &in);
	expect_between(r.ctx.tstamp, before + 200 * MS, clock_ns() + 200 * MS);
	expect_counted(STAT_TX_DATA, STAT_HORIZON, STAT_PACED);
	before = clock_ns();
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_DROP); /* the clock has come to its senses */
	expect_counted(STAT_TX_HORIZON);
}

/* No room for telemetry, or nobody to strip it: there is no feedback, and R says nothing. */
Test(egress, departure_udp__what_leaves_plain_is_not_held)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s), empty = udp();
	struct port port = port_usual();
	struct host unknown = { .asked_ns = clock_ns() };

	enforce_with_fq();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	clock_at(s, clock_ns() + 900 * MS, 100000000);
	expect_untouched(EGRESS, &empty, STAT_TX_PLAIN_ACK);
	host_set(0, HOST_B, &unknown);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN);
	hosts_strip();
	port.mtu = in.len;
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	expect_untouched(EGRESS, &in, STAT_TX_MTU);
}

Test(egress, departure_udp__without_fq_is_not_held_and_counted)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s), by_tcp = tcp(.payload = 1000), empty = udp();
	__u64 clock = clock_ns() + 900 * MS;
	struct result r;

	run(EGRESS, &in); /* dry-run */
	expect_counted(STAT_TX_DATA);
	control_set(MODE_OBSERVE, 0);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	control_set(MODE_ENFORCE, 0);
	clock_at(s, clock, 100000000);
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_PASS);
	expect_eq(r.ctx.tstamp, 0);
	expect_eq(flow_get(s).clock_ns, clock);
	expect_counted(STAT_TX_DATA, STAT_UNHELD);
	run(EGRESS, &by_tcp);
	expect_counted(STAT_TX_DATA);
	expect_untouched(EGRESS, &empty, STAT_TX_PLAIN_ACK);
}

Test(egress, departure__free_without_fq_or_enforcement_or_payload)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s), ack = tcp();
	__u64 clock = clock_ns() + 1000 * MS;
	struct result r;

	run(EGRESS, &in);
	clock_at(s, clock, 100000000);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0); /* dry-run */
	control_set(MODE_ENFORCE, 0);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0); /* no fq */
	enforce_with_fq();
	echo_waits(s, 0);
	r = run(EGRESS, &ack);
	expect_eq(r.ctx.tstamp, 0);
	control_set(MODE_OBSERVE, 0);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0);
	expect_eq(flow_get(s).clock_ns, clock);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
}

/* Room for one hop more than the last feedback had, and for five without one. */
Test(egress, data__room_follows_the_path)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100);
		struct flow f;
		unsigned int hops;

		hosts_strip();
		run(EGRESS, &in);
		for (hops = 0; hops <= 5; hops++) {
			struct result r;
			struct frame want;

			fixture("IPv%d, %u hops", v6 ? 6 : 4, hops);
			f = flow_get((struct ip_spec){ .v6 = v6 });
			f.cc.hops = hops;
			flow_set((struct ip_spec){ .v6 = v6 }, &f);
			r = run(EGRESS, &in);
			want = wrap(&in, .sport = source_port(&r.out), .room = hops && hops < 5 ? hops + 1 : 5,
				    .seq = f.tx_bytes + r.out.len);
			expect_frame(&r.out, &want);
		}
	}
}

/* --- telemetry less often --- */

/* The peers' telemetry, and a base RTT of a second: nothing depends on how fast the test runs. */
static void telemetry_is(enum telemetry_mode mode)
{
	struct peer peer = peer_usual();

	peer.t_ns = 1000 * MS;
	peer.telemetry = mode;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

/* The flow's last telemetry left, and its last feedback came, so long ago. */
static void telemetry_ago(struct ip_spec s, __u64 telem_ago_ns, __u64 fb_ago_ns)
{
	struct flow f = flow_get(s);

	f.telem_tx_ns = clock_ns() - telem_ago_ns;
	f.last_fb_ns = clock_ns() - fb_ago_ns;
	flow_set(s, &f);
}

#define expect_stamped(s)                                                                          \
	do {                                                                                       \
		struct frame in_ = frame_of(s);                                                    \
		struct result r_ = run(EGRESS, &in_);                                              \
                                                                                                   \
		expect_eq(r_.out.b[at_shim(&r_.out) + 5], 5);                                      \
		expect_counted(STAT_TX_DATA);                                                      \
	} while (0)

/* It is wrapped all the same, in the headers that it would have with telemetry. */
#define expect_bare(s)                                                                             \
	do {                                                                                       \
		struct frame in_ = frame_of(s), want_;                                             \
		__u32 sent_ = flow_get(s).tx_bytes;                                                \
		struct result r_ = run(EGRESS, &in_);                                              \
                                                                                                   \
		want_ = wrap(&in_, .sport = source_port(&r_.out), .seq = sent_ + r_.out.len); \
		expect_frame(&r_.out, &want_);                                                     \
		expect_counted(STAT_TX_DATA, STAT_TX_BARE);                                        \
	} while (0)

Test(egress, telemetry_rtt__when_the_last_was_answered_and_t_is_over)
{
	telemetry_is(TELEMETRY_RTT);
	FOR_V4_AND_V6(v6) {
		struct ip_spec kinds[] = { { .v6 = v6, .payload = 300 },
					   { .v6 = v6, .payload = 300, .udp = 1, .tos = 0xb8 } };
		unsigned int k;

		for (k = 0; k < 2; k++) {
			struct ip_spec s = kinds[k];

			fixture("IPv%d, kind %u", v6 ? 6 : 4, k);
			expect_stamped(s); /* the first of the flow */
			expect_between(clock_ns() - flow_get(s).telem_tx_ns, 0, 1000 * MS);
			expect_bare(s);
			telemetry_ago(s, 1100 * MS, 1200 * MS);
			expect_bare(s); /* not answered */
			telemetry_ago(s, 1100 * MS, 100 * MS);
			expect_stamped(s);
			telemetry_ago(s, 900 * MS, 100 * MS);
			expect_bare(s); /* answered, and too soon */
			telemetry_ago(s, 2100 * MS, 5000 * MS);
			expect_stamped(s); /* it was lost */
			expect_bare(s);
		}
	}
}

Test(egress, telemetry_congestion__while_u_is_eta_or_more)
{
	struct ip_spec s = { .payload = 300 };
	struct flow f;
	int i;

	telemetry_is(TELEMETRY_CONGESTION);
	expect_stamped(s);
	fixture("nothing is known yet");
	expect_bare(s);
	for (i = 0; i < 3; i++) {
		fixture("U above and below eta, time %d", i);
		f = flow_get(s);
		f.cc.hops = 4;
		f.cc.u = f.params.eta;
		flow_set(s, &f);
		telemetry_ago(s, 0, 0);
		expect_stamped(s);
		expect_stamped(s);
		f = flow_get(s);
		f.cc.u--;
		flow_set(s, &f);
		telemetry_ago(s, 0, 0);
		expect_bare(s);
	}
	telemetry_ago(s, 1100 * MS, 100 * MS);
	expect_stamped(s);
}

/* Windows are counted in segments as most of the flow's are. */
Test(egress, telemetry__and_what_a_segment_weighs)
{
	static const unsigned int telem_bytes[] = { 4 + 5 * 8, 0, 0, 0 };
	enum telemetry_mode mode;
	struct ip_spec s = { .payload = 1000 };
	struct flow f;

	for (mode = TELEMETRY_EVERY; mode < TELEMETRY_MODES; mode++) {
		struct frame in = frame_of(s);
		int i;

		telemetry_is(mode);
		for (i = 0; i < 3; i++) {
			fixture("mode %u, packet %d", mode, i);
			run(EGRESS, &in);
			f = flow_get(s);
			expect_eq(f.mss, 1000);
			expect_eq(f.segment, in.len + 20 + 8 + 12 + telem_bytes[mode]);
		}
	}
	fixture("congestion");
	telemetry_is(TELEMETRY_CONGESTION);
	f.cc.hops = 2;
	f.cc.u = Q24_ONE;
	flow_set(s, &f);
	{
		struct frame in = frame_of(s);

		run(EGRESS, &in);
		expect_eq(flow_get(s).segment, in.len + 20 + 8 + 12 + 4 + 3 * 8);
	}
}

/* What nobody answers says nothing about whether the peer lives. */
Test(egress, telemetry__silence_begins_with_what_asks_for_an_answer)
{
	struct ip_spec s = { .payload = 300 };

	telemetry_is(TELEMETRY_RTT);
	expect_stamped(s);
	expect_between(host_get(0, HOST_B).unanswered_ns, 1, clock_ns());
	hosts_strip();
	expect_bare(s);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
}

/* Delay is measured of packets that are answered. */
Test(egress, telemetry__what_has_none_is_not_timed)
{
	struct ip_spec s = { .payload = 300 };
	struct peer peer = peer_usual();

	peer.t_ns = 100 * MS;
	peer.fallback = 1;
	peer.telemetry = TELEMETRY_RTT;
	peer_set("10.1.0.0", 96 + 16, &peer);
	expect_stamped(s);
	telemetry_ago(s, 0, 0);
	expect_bare(s);
	expect_eq(flow_get(s).timed_count, 1);
	telemetry_ago(s, 150 * MS, 0);
	expect_stamped(s);
	expect_eq(flow_get(s).timed_count, 2);
}

Test(egress, telemetry__changes_while_the_flow_runs)
{
	struct ip_spec s = { .payload = 300 };

	telemetry_is(TELEMETRY_EVERY);
	expect_stamped(s);
	expect_stamped(s);
	telemetry_is(TELEMETRY_RTT);
	expect_bare(s);
	telemetry_is(TELEMETRY_EVERY);
	expect_stamped(s);
	telemetry_is(TELEMETRY_MODES);
	expect_stamped(s);
}

Test(egress, telemetry__echo_goes_out_with_bare_data)
{
	struct ip_spec s = { .payload = 300 };
	struct frame in = frame_of(s), want;
	struct result r;

	telemetry_is(TELEMETRY_RTT);
	expect_stamped(s);
	echo_waits(s, 0);
	r = run(EGRESS, &in);
	want = with_echo(&in, &r.out, 0, flow_get(s).tx_bytes);
	expect_frame(&r.out, &want);
	expect_counted(STAT_TX_DATA, STAT_TX_BARE);
}

/* Of TCP, too, whether feedback came or not; it is in the queue of its flow's data, and on its path. */
Test(egress, telemetry_probe__one_in_a_base_rtt)
{
	struct asker a = asker_make();

	telemetry_is(TELEMETRY_PROBE);
	FOR_V4_AND_V6(v6) {
		struct ip_spec kinds[] = { { .v6 = v6, .payload = 300, .tos = 0xb8 },
					   { .v6 = v6, .payload = 300, .tos = 0x28 | ECT0, .udp = 1 } };
		unsigned int k;

		for (k = 0; k < 2; k++) {
			struct ip_spec s = kinds[k];
			struct frame in = frame_of(s), probe, want;
			struct result r;

			fixture("IPv%d, kind %u", v6 ? 6 : 4, k);
			hosts_strip();
			r = run(EGRESS, &in, .ifindex = a.ifindex);
			want = wrap(&in, .sport = source_port(&r.out), .seq = r.out.len);
			expect_frame(&r.out, &want);
			expect_counted(STAT_TX_DATA, STAT_TX_BARE, STAT_PROBE_SENT);
			cr_assert(packet_catch(a.fd, &probe, 1000), "%sno PROBE", world_fixture());
			want = frame_probe(&in, source_port(&r.out), 0);
			expect_frame(&probe, &want);
			/* source and destination, ports, DSCP and ECN: all that a switch chooses by */
			cr_assert(!memcmp(probe.b + at_udp(&probe), r.out.b + at_udp(&r.out), 4));
			cr_assert(!memcmp(probe.b + 14, r.out.b + 14, v6 ? 4 : 2));
			cr_assert(!memcmp(probe.b + (v6 ? 22 : 26), r.out.b + (v6 ? 22 : 26), v6 ? 32 : 8));
			expect_between(clock_ns() - host_get(v6, HOST_B).unanswered_ns, 0, 1000 * MS);

			hosts_strip();
			probed_ago(s, 0, -1);
			run(EGRESS, &in, .ifindex = a.ifindex);
			expect_counted(STAT_TX_DATA, STAT_TX_BARE);
			expect_no_probe(&a);
			expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
			probed_ago(s, 1001 * MS, 0); /* an echo or a reply came just now */
			hosts_strip();
			run(EGRESS, &in, .ifindex = a.ifindex);
			expect_counted(STAT_TX_DATA, STAT_TX_BARE, STAT_PROBE_SENT);
			cr_assert(packet_catch(a.fd, &probe, 1000), "%sno PROBE", world_fixture());
		}
	}
}

/* Of UDP whose replies bring feedback, only not every T; and of UDP without replies. */
Test(egress, telemetry_rtt__asks_for_udp_that_gets_no_feedback)
{
	struct ip_spec s = { .udp = 1, .payload = 300 };
	struct asker a = asker_make();
	struct frame in = frame_of(s);
	static const struct {
		__u64 fb_ago_ms;
		int by_probe, asks;
	} cases[] = { { 500, 0, 0 }, { 1500, 0, 0 }, { 2900, 0, 0 }, { 3100, 0, 1 },
		      { 900, 1, 0 }, { 1100, 1, 1 } };
	unsigned int i;

	telemetry_is(TELEMETRY_RTT);
	run(EGRESS, &in, .ifindex = a.ifindex);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flow f;

		fixture("feedback %llu ms ago, of a PROBE: %d", cases[i].fb_ago_ms, cases[i].by_probe);
		probed_ago(s, 5000 * MS, cases[i].fb_ago_ms * MS);
		f = flow_get(s);
		f.telem_tx_ns = clock_ns();
		f.fb_probe = cases[i].by_probe;
		flow_set(s, &f);
		hosts_strip();
		world_counted((const int[]){ -1 });
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_DATA, STAT_TX_BARE, cases[i].asks ? STAT_PROBE_SENT : -1);
	}
}

/* What has no payload loads no queue that is to be asked about. */
Test(egress, telemetry_probe__not_with_an_ack)
{
	struct asker a = asker_make();
	struct frame in = tcp();

	telemetry_is(TELEMETRY_PROBE);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PLAIN_ACK);
	expect_no_probe(&a);
}

/* --- packets that say that they are another's --- */

#define POD 4711
#define OTHER_POD 4712
#define NO_POD 4713

static void comes_from(int udp, __u32 ifindex, int dropped)
{
	struct frame f = frame_of((struct ip_spec){ .udp = udp, .payload = 100 });
	struct result r = run(EGRESS, &f, .ingress_ifindex = ifindex);

	expect_verdict(r, dropped ? VERDICT_DROP : VERDICT_PASS);
	expect_counted(dropped ? STAT_TX_SPOOFED : STAT_TX_DATA);
}

/* Of two pods the one that has the flow keeps it, until it was silent for a second. */
Test(egress, spoofed__by_another_pod)
{
	int udp;

	hosts_strip();
	pod_set(POD);
	pod_set(OTHER_POD);
	for (udp = 0; udp < 2; udp++) {
		const struct ip_spec spec = { .udp = udp };
		struct flow f;

		fixture(udp ? "UDP" : "TCP");
		comes_from(udp, POD, 0);
		comes_from(udp, OTHER_POD, 1);
		f = flow_get(spec);
		comes_from(udp, OTHER_POD, 1);
		expect_eq(flow_get(spec).clock_ns, f.clock_ns);
		expect_eq(flow_get(spec).tx_bytes, f.tx_bytes);
		comes_from(udp, POD, 0);
		f = flow_get(spec);
		f.last_tx_ns -= NSEC_PER_SEC;
		flow_set(spec, &f);
		comes_from(udp, OTHER_POD, 0);
		comes_from(udp, POD, 1);
	}
}

/* Only where both are pods is it sure that one of them is wrong. */
Test(egress, spoofed__by_who_is_no_pod)
{
	hosts_strip();
	pod_set(POD);
	comes_from(1, POD, 0);
	comes_from(1, NO_POD, 0);
	comes_from(1, POD, 0);
	comes_from(1, 0, 0);
	comes_from(1, POD, 0);
}
