// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/egress_plan.bpf.h: which blocks a packet gets, and whether it fits with them. */
#include <string.h>

#include "egress_case.h"

TestSuite(egress_plan, .init = egress_make, .fini = world_drop, .timeout = 60);

/* --- does it fit? --- */

Test(egress_plan, mtu__to_the_byte)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 500 };
		struct frame in = frame_of(s);
		unsigned int grow = (v6 ? 40 : 20) + 8 + 12 + 44;
		struct port port = port_usual();

		port.mtu = in.len - 14 + grow;
		port_change(WORLD_IFINDEX, &port);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(s).tx.flags & FLOW_F_TELEM, FLOW_F_TELEM);
		port.mtu--;
		port_change(WORLD_IFINDEX, &port);
		expect_untouched(EGRESS, &in, STAT_TX_MTU);
		expect_eq(flow_get(s).tx.flags & FLOW_F_TELEM, 0);

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
Test(egress_plan, gso__of_unknown_kind_is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 2500);

		expect_untouched(EGRESS, &in, STAT_TX_ENCAP_FAILED, .gso_size = 1000, .gso_segs = 3);
	}
}

Test(egress_plan, gso__it_is_the_segment_that_must_fit)
{
	FOR_V4_AND_V6 (v6) {
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

/* --- departure of what has no window --- */

/* Room for one hop more than the last feedback had, and for five without one. */
Test(egress_plan, data__room_follows_the_path)
{
	FOR_V4_AND_V6 (v6) {
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
				    .seq = f.tx.bytes + r.out.len);
			expect_frame(&r.out, &want);
		}
	}
}

/* --- telemetry in the data, and beside it --- */

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

#define expect_stamped(s)                                     \
	do {                                                  \
		struct frame in_ = frame_of(s);               \
		struct result r_ = run(EGRESS, &in_);         \
                                                              \
		expect_eq(r_.out.b[at_shim(&r_.out) + 5], 5); \
		expect_counted(STAT_TX_DATA);                 \
	} while (0)

/* Windows are counted in segments as all of the flow's are. */
Test(egress_plan, telemetry__and_what_a_segment_weighs)
{
	/* Of data whose telemetry is beside it nothing is ours. */
	static const struct {
		enum telemetry_mode mode;
		unsigned int ours;
	} cases[] = { { TELEMETRY_EVERY, 20 + 8 + 12 + 4 + 5 * 8 }, { TELEMETRY_COMPANION, 0 } };
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	int i, k;

	for (k = 0; k < 2; k++) {
		telemetry_is(cases[k].mode);
		for (i = 0; i < 3; i++) {
			fixture("mode %u, packet %d", cases[k].mode, i);
			run(EGRESS, &in);
			expect_eq(flow_get(s).tx.mss, 1000);
			expect_eq(flow_get(s).tx.segment, in.len + cases[k].ours);
		}
	}
}

/* Maps of an older version may hold a number that is none any more. */
Test(egress_plan, telemetry__of_any_other_number_is_in_every_packet)
{
	struct ip_spec s = { .payload = 300 };
	unsigned int mode;

	for (mode = 0; mode <= TELEMETRY_MODES; mode++) {
		if (mode == TELEMETRY_COMPANION)
			continue;
		fixture("mode %u", mode);
		telemetry_is(mode);
		expect_stamped(s);
		expect_stamped(s);
	}
}

/* Data that carries an echo and no telemetry asks for no answer: it neither begins a silence nor is it timed. */
Test(egress_plan, telemetry__echo_goes_out_with_bare_data)
{
	struct ip_spec s = { .payload = 300 };
	struct frame in = frame_of(s), want;
	struct peer peer = peer_usual();
	struct result r;

	peer.t_ns = 100 * MS;
	peer.delay = 1;
	peer.telemetry = TELEMETRY_COMPANION;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	run(EGRESS, &in);
	expect_counted(STAT_TX_BESIDE);
	hosts_strip();
	echo_waits(s, 0);
	r = run(EGRESS, &in);
	want = with_echo(&in, &r.out, 0, flow_get(s).tx.bytes);
	expect_frame(&r.out, &want);
	expect_counted(STAT_TX_DATA, STAT_TX_BARE);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	expect_eq(flow_get(s).delay.timed_count, 0);
}
