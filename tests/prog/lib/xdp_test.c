// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sink at XDP, where it differs from tc. Their common tests are in ingress_test.c and round_trip_test.c.
 */
#include <string.h>
#include <unistd.h>

#include "world.h"

static void make_frags(void)
{
	world_make_with(.frags = 1);
}

TestSuite(xdp, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(xdp_frags, .init = make_frags, .fini = world_drop, .timeout = 60);

/* Where XDP_TX does not arrive, tc answers. */
Test(xdp, probe__is_left_to_tc_where_nothing_can_be_sent_back)
{
	struct port p = port_usual();

	p.flags &= ~PORT_F_XDP_TX;
	port_set(WORLD_IFINDEX, &p);
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = frame_probe(&inner, 0xc777, 0);
		struct result r = run(INGRESS_XDP, &in);

		expect_verdict(r, VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
	}
}

Test(xdp, vlan__in_the_frame_is_left_to_tc)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100), in = wrap(&inner, .room = 5);

		in = frame_with_vlan(in, 0x8100);
		expect_untouched(INGRESS_XDP, &in, STAT_RX_OTHER);
	}
}

Test(xdp, counted__only_what_was_stripped)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100), in = wrap(&inner, .room = 5);

		expect_eq(run(INGRESS_XDP, &in).counted, 1);
		expect_eq(run(INGRESS_XDP, &inner).counted, 0);
		in = frame_probe(&inner, 0xc777, 0);
		expect_eq(run(INGRESS_XDP, &in).counted, 0);
	}
}

/* Packets that the other end of a veth sends by XDP_TX may come with metadata, and so with our mark. */
Test(xdp, counted__mark_that_comes_along_is_taken_away)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100), in = wrap(&inner, .room = 5);
		struct result r;

		run(INGRESS_XDP, &inner, .marked = 1);
		expect_counted(STAT_RX_OTHER);
		r = run(INGRESS_XDP, &in, .marked = 1);
		expect_frame(&r.out, &inner);
		expect_counted_attached(STAT_RX_DATA, STAT_RX_XDP, STAT_RX_OTHER);
	}
}

/* Long enough that headers and payload are not contiguous. */
Test(xdp_frags, strip__of_a_jumbo_frame_in_fragments)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 3300), in = wrap(&inner, .room = 5);
		struct result r = run(INGRESS_XDP, &in, .linear = 400);

		expect_verdict(r, VERDICT_PASS);
		expect_eq(r.counted, 1);
		expect_frame(&r.out, &inner);
	}
}

/* Over a device: packets that XDP counted come to tc, which knows them by their mark and does not count again. */
Test(xdp, link__counts_a_packet_once)
{
	struct frame inner, in, got;
	int far, near;

	link_make("");
	link_attach(INGRESS_XDP, LINK_NEAR, 1);
	link_attach(INGRESS, LINK_NEAR, 1);
	far = packet_socket(LINK_FAR);
	near = packet_socket(LINK_NEAR);
	FOR_V4_AND_V6 (v6) {
		inner = tcp(.v6 = v6, .reply = 1, .payload = 500);
		in = wrap(&inner, .room = 5, .nhop = 2);
		packet_send(far, &in);
		cr_assert(packet_catch(near, &got, 1000), "%snothing arrived", world_fixture());
		expect_frame(&got, &inner);
		usleep(20000); /* taps are in front of tc */
		expect_counted_attached(STAT_RX_DATA, STAT_RX_XDP);
		packet_send(far, &inner);
		cr_assert(packet_catch(near, &got, 1000), "%snothing arrived", world_fixture());
		expect_frame(&got, &inner);
		usleep(20000);
		expect_counted_attached(STAT_RX_OTHER);
	}
}

/* An interface whose sink is at tc has no XDP of ours that could have counted. */
Test(xdp, link__mark_is_believed_only_behind_a_sink_at_xdp)
{
	struct frame inner = tcp(.reply = 1, .payload = 500), in = wrap(&inner, .room = 5, .nhop = 2), got;
	__u32 ifindex = link_make("");
	struct port port;
	int far, near;

	link_attach(INGRESS_XDP, LINK_NEAR, 1);
	link_attach(INGRESS, LINK_NEAR, 1);
	port = port_get(ifindex);
	port.flags &= ~PORT_F_XDP;
	port_set(ifindex, &port);
	far = packet_socket(LINK_FAR);
	near = packet_socket(LINK_NEAR);
	packet_send(far, &in);
	cr_assert(packet_catch(near, &got, 1000), "nothing arrived");
	usleep(20000); /* taps are in front of tc */
	expect_counted_attached(STAT_RX_DATA, STAT_RX_XDP, STAT_RX_OTHER);
}

/* The window is cut at tc, both in packets that XDP stripped and in plain ones. */
Test(xdp, link__cuts_the_window_of_what_was_stripped)
{
	struct frame there = tcp(.payload = 1000), inner = tcp(.reply = 1, .payload = 500), in, got;
	struct flow f;
	int far, near;

	control_set(MODE_ENFORCE, 0);
	rwnd_set(1);
	hosts_strip();
	run(EGRESS, &there);
	f = flow_get((struct ip_spec){});
	f.wnd.wscale_known = 1;
	f.tx.mss = 1000;
	f.tx.segment = 1200;
	f.cc.w = q12_from_bytes(2400);
	flow_set((struct ip_spec){}, &f);
	expect_counted(STAT_TX_DATA);

	link_make("");
	link_attach(INGRESS_XDP, LINK_NEAR, 1);
	link_attach(INGRESS, LINK_NEAR, 1);
	far = packet_socket(LINK_FAR);
	near = packet_socket(LINK_NEAR);
	put16(inner.b + 14 + 20 + 14, 60000);
	frame_fix(&inner);
	in = wrap(&inner, .room = 5);
	packet_send(far, &in);
	cr_assert(packet_catch(near, &got, 1000), "nothing arrived");
	usleep(20000); /* taps are in front of tc */
	expect_counted_attached(STAT_RX_DATA, STAT_RX_XDP, STAT_RX_WINDOW_CUT);
}
