// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/probe.bpf.h: the question, in a copy of a packet. */
#include <bpf/bpf.h>
#include <string.h>

#include "egress_case.h"

TestSuite(probe, .init = egress_make, .fini = world_drop, .timeout = 60);

/*
 * The question is the beginning of the packet in a PROBE with room for five hops; the packet itself
 * goes on as it was. Headers and payload are not distinguished: 20 bytes behind the IP header.
 */
Test(probe, probe__is_the_beginning_of_the_packet)
{
	static const struct ip_spec specs[] = {
		{}, /* 20 bytes of header, and nothing else */
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

	FOR_V4_AND_V6 (v6) {
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
			egress_expect_probe(&a, &in, 0);
			expect_between(clock_ns() - host_get(v6, HOST_B).asked_ns, 0, 1000 * MS);
		}
	}
}

/* The bytes of the shortest one, and of one that is cut. */
Test(probe, probe__golden)
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
Test(probe, probe__has_the_flows_source_port)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6 (v6) {
		struct frame in = udp(.v6 = v6, .payload = 100), got;
		struct result r = run(EGRESS, &in, .ifindex = a.ifindex);

		cr_assert(packet_catch(a.fd, &got, 1000), "no PROBE");
		expect_eq(source_port(&got), source_port(&r.out));
	}
}

Test(probe, probe__once_a_second_where_nothing_is_known)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6);
		struct host unknown = {};

		host_set(v6, HOST_B, &unknown);
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
		egress_expect_probe(&a, &in, 0);
		expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
		expect_no_probe(&a);
		unknown.asked_ns = clock_ns() - 1001 * MS;
		host_set(v6, HOST_B, &unknown);
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
		egress_expect_probe(&a, &in, 0);
	}
}

/* Over a link that is down no PROBE left; and not every packet tries again. */
Test(probe, probe__that_could_not_leave_asked_nobody)
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
	expect_between(clock_ns() - flow_get((struct ip_spec){}).tx.probe_ns, 0, 1000 * MS);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
	expect_no_probe(&a);
	clock_pass(201 * MS);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	egress_expect_probe(&a, &in, 0);
	expect_between(clock_ns() - host_get(0, HOST_B).asked_ns, 0, 1000 * MS);
}

/* It was made a PROBE, and the queue had no room for it. */
Test(probe, probe__that_the_queue_drops_asked_nobody)
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

/* When the address of this unheard host was asked; 0: never. */
static __u64 asked_get(int v6, enum who who)
{
	struct host_key a = host_of(v6, who);
	__u64 ns = 0;

	bpf_map_lookup_elem(world_map("asked"), &a, &ns);
	return ns;
}

/* The first packet after the handshake asks. It takes no entry of the hosts map. */
Test(probe, probe__asks_with_the_first_packet_to_a_new_host)
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
	egress_expect_probe(&a, &in, 0);
	expect_between(clock_ns() - asked_get(0, HOST_STRANGER), 0, 60000 * MS);
	expect_eq(host_exists(0, HOST_STRANGER), 0);
	in = tcp(.to = HOST_STRANGER, .sport = 7);
	expect_untouched(EGRESS, &in, STAT_TX_PEER_UNKNOWN, .ifindex = a.ifindex);
	expect_no_probe(&a);
}

/* Its tokens are spent up to a time that does not come; a peer that was heard is asked all the same. */
Test(probe, probe__to_those_never_heard_are_limited)
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
	egress_expect_probe(&a, &known, 0);
	spent_ns = 0;
	cr_assert(!bpf_map_update_elem(world_map("buckets"), &asks, &spent_ns, BPF_ANY));
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	egress_expect_probe(&a, &in, 0);
	bpf_map_lookup_elem(world_map("buckets"), &asks, &spent_ns);
	expect_between(spent_ns, 1, clock_ns());
}

Test(probe, probe__asks_a_known_peer_not_heard_for_a_second)
{
	struct asker a = asker_make();
	struct host h = { .capable = 1 };
	struct frame syn = tcp(.flags = SYN), ack = tcp(), data = tcp(.payload = 100);

	h.heard_ns = clock_ns() - 1001 * MS;
	host_set(0, HOST_B, &h);
	run(EGRESS, &ack, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PLAIN_ACK, STAT_PROBE_SENT);
	egress_expect_probe(&a, &ack, 0);
	host_set(0, HOST_B, &h);
	expect_untouched(EGRESS, &syn, STAT_TX_HANDSHAKE, .ifindex = a.ifindex);
	expect_no_probe(&a);
	run(EGRESS, &data, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
	egress_expect_probe(&a, &data, 0);
	h.heard_ns = clock_ns();
	host_set(0, HOST_B, &h);
	run(EGRESS, &data, .ifindex = a.ifindex);
	expect_counted(STAT_TX_DATA);
	expect_no_probe(&a);
}

/*
 * The position counts bytes that have left: those sent, without those that wait in fq. At 80 Gbit/s 50 ms
 * are 500 MB; the test takes some of that time.
 */
Test(probe, probe__position_is_of_what_has_left)
{
	struct ip_spec s = { .payload = 100 };
	struct frame in = frame_of(s);
	struct flow f;
	struct result r;
	__u64 before;

	run(EGRESS, &in);
	f = flow_get(s);
	f.tx.bytes = 0x2fffffff0;
	flow_set(s, &f);
	r = run(EGRESS, &in, .clone = 1);
	expect_eq(get32(r.out.b + at_shim(&r.out) + 8), 0xfffffff0);
	f.tx.bytes = 3000000000ULL;
	f.cc.rate_bps = 80000000000ULL;
	before = clock_ns();
	f.tx.clock_ns = before + 50 * MS;
	flow_set(s, &f);
	r = run(EGRESS, &in, .clone = 1);
	expect_between(get32(r.out.b + at_shim(&r.out) + 8), 2500000000U,
		       2500000000U + (clock_ns() - before) * 10 + 10);
}

/* The question is asked in between, and the packet keeps the mark that it has. */
Test(probe, probe__leaves_the_packets_mark_alone)
{
	struct asker a = asker_make();
	struct host unknown = {};
	struct frame in = tcp(.payload = 100);

	host_set(0, HOST_B, &unknown);
	expect_eq(run(EGRESS, &in, .ifindex = a.ifindex, .mark = 7).ctx.mark, 7);
	egress_expect_probe(&a, &in, 0);
}
