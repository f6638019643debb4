// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node of pods: bpf/port/pod.bpf.h, the hop between the uplink and a pod, and the uplink's own hop
 * (egress_stamp). A is a pod of this node and B somewhere else, so what B sends arrives for A, and the
 * flow that it teaches something is A to B.
 */
#include <string.h>
#include <unistd.h>

#include "world.h"

static void make(void)
{
	world_make();
	hosts_strip();
}

static void make_old(void)
{
	world_make_with(.no_kfuncs = 1);
	hosts_strip();
}

TestSuite(pod, .init = make, .fini = world_drop, .timeout = 60);
/* Where no program looks at qdiscs, what is in the ports map is the state, and can be told in advance. */
TestSuite(pod_old, .init = make_old, .fini = world_drop, .timeout = 60);

#define MS 1000000ULL
#define NODE_ID 0x123
#define POD_IFINDEX 7000 /* of no device: only the map knows it */
#define TX_BYTES (1000 * 128ULL + 127)
#define BACKLOG_BYTES (50 * 80ULL)
#define STAMP_USUAL (12ULL << 60 | 1000 << 16 | 50) /* without the time */
#define STAMP_TS (0xffffffULL << 36)

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

static const struct ip_spec a_to_b, a_to_b_v6 = { .v6 = 1 };

static const struct ip_spec *forward(int v6)
{
	return v6 ? &a_to_b_v6 : &a_to_b;
}

static void expect_time(__u64 stamp, __u64 before, __u64 after)
{
	cr_assert((((stamp >> 36) - before) & 0xffffff) <= after - before,
		  "%sthe time of the stamp is not that of the packet", world_fixture());
}

/* What B sends to the pod, with so many hops. */
static struct frame from_b(int v6, __u8 room, __u8 nhop)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500);

	return wrap(&inner, .room = room, .nhop = nhop, .path = 0x456,
		    .hop = { 0x1111, 0x2222, 0x3333, 0x4444, 0x5555 });
}

/* A pod's port; sampled in the future, so that nothing has left it since. */
static struct port pod_port(void)
{
	struct port p = port_usual();

	p.flags = PORT_F_POD;
	p.tx_bytes = TX_BYTES;
	p.backlog_bytes = BACKLOG_BYTES;
	p.sampled_ns = clock_ns() + 3600 * NSEC_PER_SEC;
	port_set(POD_IFINDEX, &p);
	return p;
}

/* The flow A to B, which reaches A by the pod's port. */
static void flow_is_taught(int v6)
{
	struct frame in = from_b(v6, 5, 0);
	struct flow f;

	run(INGRESS, &in);
	expect_counted(STAT_RX_DATA);
	f = flow_get(*forward(v6));
	f.pod_ifindex = POD_IFINDEX;
	flow_set(*forward(v6), &f);
}

/* --- pod_hop --- */

static __u32 pod_link(void)
{
	__u32 ifindex = link_make("");
	struct port p = port_usual();

	p.flags = PORT_F_POD;
	port_set(ifindex, &p);
	return ifindex;
}

Test(pod, hop__samples_the_queue_with_the_packet_in_it)
{
	struct frame in = tcp(.reply = 1, .payload = 700);
	__u64 tx, backlog, again_tx, again_backlog, before;
	__u32 ifindex;
	struct port p;

	world_needs(HOP);
	ifindex = pod_link();
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	send_frames(LINK_NEAR, 60, 0, 0);
	do {
		qdisc_stats(LINK_NEAR, &tx, &backlog);
		before = clock_ns();
		expect_untouched(POD_HOP, &in, STAT_POD_SAMPLED, .ifindex = ifindex);
		p = port_get(ifindex);
		qdisc_stats(LINK_NEAR, &again_tx, &again_backlog);
	} while (tx != again_tx || backlog != again_backlog);
	cr_assert(backlog > 30000);
	expect_eq(p.tx_bytes, tx);
	expect_eq(p.backlog_bytes, backlog + in.len);
	expect_between(p.sampled_ns, before, clock_ns());
}

Test(pod, hop__teaches_the_flow)
{
	__u32 ifindex;
	int is_udp;

	world_needs(HOP);
	ifindex = pod_link();
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	FOR_V4_AND_V6(v6) {
		for (is_udp = 0; is_udp < 2; is_udp++) {
			struct ip_spec there = { .v6 = v6, .udp = is_udp }, back = there;
			struct frame inner, in;
			struct flow before, after;

			back.reply = 1;
			back.payload = 100;
			inner = frame_of(back);
			in = wrap(&inner, .room = 5);
			run(INGRESS, &in);
			expect_counted(STAT_RX_DATA);
			before = flow_get(there);
			expect_untouched(POD_HOP, &inner, STAT_POD_SAMPLED, .ifindex = ifindex);
			after = flow_get(there);
			expect_eq(after.pod_ifindex, ifindex);
			before.pod_ifindex = ifindex;
			cr_assert(!memcmp(&before, &after, sizeof(after)), "%ssomething else changed",
				  world_fixture());
			/* The next packet of it has one hop more. */
			run(INGRESS, &in);
			expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
			expect_eq(flow_get(there).echo.hops, 1);
		}
	}
}

Test(pod, hop__of_no_flow_makes_none)
{
	struct frame in;
	__u32 ifindex;

	world_needs(HOP);
	ifindex = pod_link();
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	in = tcp(.reply = 1, .payload = 100);
	expect_untouched(POD_HOP, &in, STAT_POD_SAMPLED, .ifindex = ifindex);
	in = udp(.reply = 1, .payload = 100);
	expect_untouched(POD_HOP, &in, STAT_POD_SAMPLED, .ifindex = ifindex);
	in = frame_arp();
	expect_untouched(POD_HOP, &in, STAT_POD_SAMPLED, .ifindex = ifindex);
	expect_eq(flows_count(), 0);
}

Test(pod, hop__leaves_alone_what_it_cannot_read)
{
	struct frame in = tcp(.reply = 1, .payload = 100), arrives = from_b(0, 5, 0);
	__u32 ifindex;

	world_needs(HOP);
	ifindex = pod_link();
	run(INGRESS, &arrives);
	expect_counted(STAT_RX_DATA);
	fixture("noqueue");
	expect_untouched(POD_HOP, &in, STAT_POD_OTHER, .ifindex = ifindex);
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	fixture("bypass");
	control_set(MODE_ENFORCE, 1);
	expect_untouched(POD_HOP, &in, STAT_POD_OTHER, .ifindex = ifindex);
	control_set(MODE_ENFORCE, 0);
	fixture("no port");
	port_remove(ifindex);
	expect_untouched(POD_HOP, &in, STAT_POD_OTHER, .ifindex = ifindex);
	expect_eq(flow_get(a_to_b).pod_ifindex, 0);
}

/* There the tracepoints keep the state. */
Test(pod_old, hop__only_teaches)
{
	struct frame in = tcp(.reply = 1, .payload = 100), arrives = from_b(0, 5, 0);
	struct port was = pod_port(), p;

	run(INGRESS, &arrives);
	expect_counted(STAT_RX_DATA);
	port_set(WORLD_IFINDEX, &was);
	expect_untouched(POD_HOP, &in, STAT_POD_SAMPLED);
	expect_eq(flow_get(a_to_b).pod_ifindex, WORLD_IFINDEX);
	p = port_get(WORLD_IFINDEX);
	cr_assert(!memcmp(&p, &was, sizeof(p)), "the port changed");
}

/* --- the hop in the echo --- */

Test(pod, echo__has_the_hop_to_the_pod)
{
	FOR_V4_AND_V6(v6) {
		unsigned int n;

		pod_port();
		flow_is_taught(v6);
		for (n = 0; n < 5; n++) {
			struct frame in = from_b(v6, 5, n);
			__u64 before = clock_ns();
			struct flow f;
			unsigned int i;

			fixture("IPv%d, behind %u hops", v6 ? 6 : 4, n);
			run(INGRESS, &in);
			expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
			f = flow_get(*forward(v6));
			expect_eq(f.echo.hops, n + 1);
			expect_eq(f.echo.nhop_path, (n + 1) << 12 | (0x456 ^ NODE_ID));
			expect_eq(f.echo.hop[n] & ~STAMP_TS, STAMP_USUAL);
			expect_time(f.echo.hop[n], before, clock_ns());
			for (i = 0; i < n; i++)
				expect_eq(f.echo.hop[i], 0x1111 * (i + 1));
		}
	}
}

/* Less room in the packet does not matter: the echo has room for five. */
Test(pod, echo__full_packet)
{
	struct frame in;
	unsigned int room;

	pod_port();
	flow_is_taught(0);
	for (room = 1; room < 5; room++) {
		in = from_b(0, room, room);
		run(INGRESS, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
		expect_eq(flow_get(a_to_b).echo.hops, room + 1);
	}
	in = from_b(0, 5, 5);
	run(INGRESS, &in);
	expect_counted(STAT_RX_DATA, STAT_RX_POD_FULL);
	expect_eq(flow_get(a_to_b).echo.nhop_path, 5 << 12 | 0x456);
	expect_eq(flow_get(a_to_b).echo.hops, 5);
	expect_eq(flow_get(a_to_b).echo.hop[4], 0x5555);
}

/* What lay in the queue has been leaving it at the port's speed since. */
Test(pod, echo__drains_the_queue_up_to_now)
{
	struct port p = pod_port();
	struct frame in = from_b(0, 5, 0);
	__u64 stamp, before, after, left;

	flow_is_taught(0);
	p.speed_bps = 10000000; /* 0.8 us a byte, code 0 */
	p.speed = telem_speed_fit(p.speed_bps);
	p.tx_bytes = 0;
	p.backlog_bytes = 200000;
	before = clock_ns();
	p.sampled_ns = before - 40 * MS;
	port_set(POD_IFINDEX, &p);
	run(INGRESS, &in);
	after = clock_ns();
	expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
	stamp = flow_get(a_to_b).echo.hop[0];
	expect_time(stamp, before, after);
	left = ((stamp >> 16) & 0xfffff) * 128;
	expect_between(left, 50000 - 128, 50000 + (after - before) / 800);
	expect_between((stamp & 0xffff) * 80 + left, 200000 - 256, 200000 + 256);

	fixture("and no more than there was");
	p.sampled_ns = 1;
	port_set(POD_IFINDEX, &p);
	run(INGRESS, &in);
	stamp = flow_get(a_to_b).echo.hop[0];
	expect_eq(stamp & 0xffff, 0);
	expect_eq((stamp >> 16) & 0xfffff, 200000 / 128);
	expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
}

Test(pod, echo__forgets_a_port_that_is_gone)
{
	struct port p;
	struct frame in;

	FOR_V4_AND_V6(v6) {
		in = from_b(v6, 5, 2);
		pod_port();
		flow_is_taught(v6);
		port_remove(POD_IFINDEX);
		run(INGRESS, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*forward(v6)).echo.nhop_path, 2 << 12 | 0x456);
		expect_eq(flow_get(*forward(v6)).pod_ifindex, 0);

		fixture("IPv%d, another interface of that number", v6 ? 6 : 4);
		flow_is_taught(v6);
		p = pod_port();
		p.flags = PORT_F_HOST;
		port_set(POD_IFINDEX, &p);
		run(INGRESS, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*forward(v6)).echo.hops, 2);
		expect_eq(flow_get(*forward(v6)).pod_ifindex, 0);
	}
}

/* Packets without telemetry bring no hop, and malformed ones neither. */
Test(pod, echo__only_where_there_is_telemetry)
{
	struct frame in, inner = tcp(.reply = 1, .payload = 500);

	pod_port();
	flow_is_taught(0);
	in = wrap(&inner, .echo = 1, .echo_hops = 0);
	run(INGRESS, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	in = from_b(0, 2, 3);
	run(INGRESS, &in);
	expect_counted(STAT_RX_DATA, STAT_RX_BAD_TELEM);
	expect_eq(flow_get(a_to_b).echo.hops, 0);
}

/* --- the hop in what a question brings back --- */

Test(pod, probe__gets_the_hop_before_it_turns_round)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500),
			     in = frame_probe(&inner, 0xc777, 5), want;
		__u64 before = clock_ns(), stamp;
		struct result r;

		pod_port();
		flow_is_taught(v6);
		put16(in.b + at_telem(&in), 2 << 12 | 0x456);
		want = frame_turned(in);
		r = run(INGRESS, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_RX_POD_HOP);
		stamp = get64(r.out.b + at_hop(&r.out, 2));
		expect_time(stamp, before, clock_ns());
		expect_eq(stamp & ~STAMP_TS, STAMP_USUAL);
		put64(want.b + at_hop(&want, 2), stamp);
		put16(want.b + at_telem(&want), 3 << 12 | (0x456 ^ NODE_ID));
		expect_frame(&r.out, &want);

		fixture("IPv%d, no room", v6 ? 6 : 4);
		put16(in.b + at_telem(&in), 5 << 12 | 0x456);
		want = frame_turned(in);
		r = run(INGRESS, &in);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE, STAT_RX_POD_FULL);

		fixture("IPv%d, less room", v6 ? 6 : 4);
		in = wrap(&inner, .msg = 2, .room = 2, .nhop = 2);
		want = frame_turned(in);
		r = run(INGRESS, &in);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE, STAT_RX_POD_FULL);

		fixture("IPv%d, the veth is gone", v6 ? 6 : 4);
		port_remove(POD_IFINDEX);
		r = run(INGRESS, &in);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE);
	}
}

/* --- the uplink --- */

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
Test(pod_old, uplink__is_the_first_hop)
{
	FOR_V4_AND_V6(v6) {
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

/* What waits in fq waits for its departure time. */
Test(pod_old, uplink__with_fq_has_no_queue)
{
	struct frame in = tcp(.payload = 1000), want = wrap(&in, .room = 5, .seq = in.len + 84);

	uplink(WORLD_IFINDEX, PORT_F_EDT);
	expect_eq(expect_first_hop(&in, 0, 0, want) & 0xffff, 0);
	expect_counted(STAT_TX_DATA);
}

Test(pod_old, uplink__without_a_queue_is_no_hop)
{
	struct frame in = tcp(.payload = 1000), want = wrap(&in, .room = 5, .seq = in.len + 84);
	struct result r;

	uplink(WORLD_IFINDEX, PORT_F_NO_QUEUE);
	r = run(EGRESS, &in);
	put16(want.b + at_udp(&want), get16(r.out.b + at_udp(&r.out)));
	expect_frame(&r.out, &want);
	expect_counted(STAT_TX_DATA, STAT_TX_NO_QUEUE);
}

/* The question weighs less than the packet that it is a copy of, as which it was charged. */
Test(pod_old, uplink__is_the_first_hop_of_a_question)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = udp(.v6 = v6, .payload = 1000), want;
		__u64 unseen;

		uplink(WORLD_IFINDEX, 0);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		unseen = port_get(WORLD_IFINDEX).unseen_bytes;
		want = frame_probe(&in, 0, flow_get((struct ip_spec){ .v6 = v6, .udp = 1 }).tx_bytes);
		expect_first_hop(&in, 0, 1, want);
		unseen += want.len;
		expect_eq(port_get(WORLD_IFINDEX).unseen_bytes, unseen - in.len);
		world_ended();
	}
}

/* An echo alone has no room for hops, but a weight. */
Test(pod_old, uplink__weighs_what_has_no_telemetry)
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
Test(pod_old, uplink__does_not_weigh_plain_packets)
{
	struct frame in = tcp(.payload = 0);

	uplink(WORLD_IFINDEX, 0);
	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
	in = tcp(.to = HOST_STRANGER, .payload = 100);
	expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
	expect_eq(port_get(WORLD_IFINDEX).unseen_bytes, 0);
}

Test(pod, uplink__reads_its_qdisc)
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
