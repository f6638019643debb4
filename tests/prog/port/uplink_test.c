// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/pod.bpf.h: the uplink of a node is the first hop of its pods. */
#include "pod_case.h"

/* Where no program looks at qdiscs, what is in the ports map is the state, and can be told in advance. */
TestSuite(uplink_old, .init = pod_make_old, .fini = world_drop, .timeout = 60);
TestSuite(uplink, .init = pod_make, .fini = world_drop, .timeout = 60);

static struct port uplink(__u32 ifindex, __u32 flags)
{
	struct port p = port_usual();

	p.flags = PORT_F_HOST | PORT_F_STAMP | flags;
	p.tx_bytes = TX_BYTES;
	p.backlog_bytes = BACKLOG_BYTES;
	port_change(ifindex, &p);
	return p;
}

/* Runs egress, and expects that the first hop and nothing else is there; returns its stamp. */
static __u64 expect_first_hop(const struct frame *in, __u32 ifindex, int clone, struct frame want)
{
	__u64 before = clock_ns(), stamp;
	struct result r = run(EGRESS, in, .ifindex = ifindex, .clone = clone);

	expect_verdict(r, VERDICT_PASS);
	stamp = get64(r.out.b + at_hop(&r.out, 0));
	expect_time(stamp, before, clock_ns());
	put16(want.b + at_udp(&want), get16(r.out.b + at_udp(&r.out)));
	put64(want.b + at_hop(&want, 0), stamp);
	put16(want.b + at_telem(&want), 1 << 12 | NODE_ID);
	expect_frame(&r.out, &want);
	return stamp & ~STAMP_TS;
}

/* The qdisc charged the packet as it came, so what was put in front of it is added. */
Test(uplink_old, uplink__is_the_first_hop)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 1000), want;
		unsigned int added = (v6 ? 40 : 20) + 8 + 12 + 44, n;
		struct port p;

		p = uplink(WORLD_IFINDEX, 0);
		for (n = 1; n <= 3; n++) {
			want = wrap(&in, .room = 5, .seq = n * (in.len + added));
			expect_eq(expect_first_hop(&in, 0, 0, want),
				  12ULL << 60 | (TX_BYTES + n * added) / 128 << 16 | 50);
			expect_counted(STAT_TX_DATA);
			expect_eq(port_get(WORLD_IFINDEX).unseen_bytes, n * added);
		}
		expect_eq(port_get(WORLD_IFINDEX).tx_bytes, p.tx_bytes);
	}
}

/* Packets in fq wait for their departure time. */
Test(uplink_old, uplink__with_fq_has_no_queue)
{
	struct frame in = tcp(.payload = 1000), want = wrap(&in, .room = 5, .seq = in.len + 84);

	uplink(WORLD_IFINDEX, PORT_F_EDT);
	expect_eq(expect_first_hop(&in, 0, 0, want) & 0xffff, 0);
	expect_counted(STAT_TX_DATA);
}

Test(uplink_old, uplink__without_a_queue_is_no_hop)
{
	struct frame in = tcp(.payload = 1000), want = wrap(&in, .room = 5, .seq = in.len + 84);
	struct result r;

	uplink(WORLD_IFINDEX, PORT_F_NO_QUEUE);
	r = run(EGRESS, &in);
	put16(want.b + at_udp(&want), get16(r.out.b + at_udp(&r.out)));
	expect_frame(&r.out, &want);
	expect_counted(STAT_TX_DATA, STAT_TX_NO_QUEUE);
}

/* The PROBE has fewer bytes than the packet that it is a copy of, whose bytes were charged. */
Test(uplink_old, uplink__is_the_first_hop_of_a_question)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = udp(.v6 = v6, .payload = 1000), want;
		__u64 unseen;

		uplink(WORLD_IFINDEX, 0);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		unseen = port_get(WORLD_IFINDEX).unseen_bytes;
		want = frame_probe(&in, 0, flow_get((struct ip_spec){ .v6 = v6, .udp = 1 }).tx.bytes);
		expect_first_hop(&in, 0, 1, want);
		unseen += want.len;
		expect_eq(port_get(WORLD_IFINDEX).unseen_bytes, unseen - in.len);
		world_ended();
	}
}

/* An echo alone has no room for hops, but a weight. */
Test(uplink_old, uplink__weighs_what_has_no_telemetry)
{
	struct frame in = tcp(.payload = 0), arrives = from_b(0, 5, 1);
	struct result r;

	uplink(WORLD_IFINDEX, 0);
	run(INGRESS, &arrives);
	expect_counted(STAT_RX_DATA);
	r = run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	expect_eq(port_get(WORLD_IFINDEX).unseen_bytes, r.out.len - in.len);
	expect_eq(get16(r.out.b + at_shim(&r.out) + 4 + 8 + 6), 1 << 12 | 0x456); /* the echo's */
}

/* Plain packets are charged right. */
Test(uplink_old, uplink__does_not_weigh_plain_packets)
{
	struct frame in = tcp(.payload = 0);

	uplink(WORLD_IFINDEX, 0);
	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
	in = tcp(.to = HOST_STRANGER, .payload = 100);
	expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
	expect_eq(port_get(WORLD_IFINDEX).unseen_bytes, 0);
}

Test(uplink, uplink__reads_its_qdisc)
{
	struct frame in = tcp(.payload = 1000), want = wrap(&in, .room = 5, .seq = in.len + 84);
	__u64 tx, backlog, again_tx, again_backlog, stamp;
	__u32 ifindex;
	unsigned int n = 0;

	world_needs(HOP);
	ifindex = link_make("");
	uplink(ifindex, 0);
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	send_frames(LINK_NEAR, 60, 0, 0);
	do {
		qdisc_stats(LINK_NEAR, &tx, &backlog);
		n++;
		put32(want.b + at_shim(&want) + 8, n * (in.len + 84));
		stamp = expect_first_hop(&in, ifindex, 0, want);
		expect_counted(STAT_TX_DATA);
		qdisc_stats(LINK_NEAR, &again_tx, &again_backlog);
	} while (tx != again_tx || backlog != again_backlog);
	cr_assert(backlog > 30000);
	expect_eq((stamp >> 16) & 0xfffff, (tx + n * 84) / 128);
	expect_eq(stamp & 0xffff, (backlog + 40) / 80);
}
