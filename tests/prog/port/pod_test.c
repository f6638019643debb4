// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/pod.bpf.h: the port to a pod is the last hop of what arrives for it. */
#include <string.h>

#include "pod_case.h"

TestSuite(pod, .init = pod_make, .fini = world_drop, .timeout = 60);
/* Where no program looks at qdiscs, what is in the ports map is the state, and can be told in advance. */
TestSuite(pod_old, .init = pod_make_old, .fini = world_drop, .timeout = 60);

#define POD_IFINDEX 7000 /* of no device: only the map knows it */

#define STAMP_USUAL (12ULL << 60 | 1000 << 16 | 50) /* without the time */

static const struct ip_spec a_to_b, a_to_b_v6 = { .v6 = 1 };

static const struct ip_spec *forward(int v6)
{
	return v6 ? &a_to_b_v6 : &a_to_b;
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
	f.path.pod_ifindex = POD_IFINDEX;
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
	FOR_V4_AND_V6 (v6) {
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
			expect_eq(after.path.pod_ifindex, ifindex);
			before.path.pod_ifindex = ifindex;
			cr_assert(!memcmp(&before, &after, sizeof(after)), "%ssomething else changed", world_fixture());
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
	expect_eq(flow_get(a_to_b).path.pod_ifindex, 0);
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
	expect_eq(flow_get(a_to_b).path.pod_ifindex, WORLD_IFINDEX);
	p = port_get(WORLD_IFINDEX);
	cr_assert(!memcmp(&p, &was, sizeof(p)), "the port changed");
}

/* --- the hop in the echo --- */

Test(pod, echo__has_the_hop_to_the_pod)
{
	FOR_V4_AND_V6 (v6) {
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

/* The queue has been draining at the port's speed since. */
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

	FOR_V4_AND_V6 (v6) {
		in = from_b(v6, 5, 2);
		pod_port();
		flow_is_taught(v6);
		port_remove(POD_IFINDEX);
		run(INGRESS, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*forward(v6)).echo.nhop_path, 2 << 12 | 0x456);
		expect_eq(flow_get(*forward(v6)).path.pod_ifindex, 0);

		fixture("IPv%d, another interface of that number", v6 ? 6 : 4);
		flow_is_taught(v6);
		p = pod_port();
		p.flags = PORT_F_HOST;
		port_set(POD_IFINDEX, &p);
		run(INGRESS, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*forward(v6)).echo.hops, 2);
		expect_eq(flow_get(*forward(v6)).path.pod_ifindex, 0);
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
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in = frame_probe(&inner, 0xc777, 5),
			     want;
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
