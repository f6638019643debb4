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

	f.tx.telem_ns = clock_ns() - telem_ago_ns;
	f.rx.fb_ns = clock_ns() - fb_ago_ns;
	flow_set(s, &f);
}

#define expect_stamped(s)                                     \
	do {                                                  \
		struct frame in_ = frame_of(s);               \
		struct result r_ = run(EGRESS, &in_);         \
                                                              \
		expect_eq(r_.out.b[at_shim(&r_.out) + 5], 5); \
		expect_counted(STAT_TX_DATA);                 \
	} while (0)

/* It is wrapped all the same, in the headers that it would have with telemetry. */
#define expect_bare(s)                                                                        \
	do {                                                                                  \
		struct frame in_ = frame_of(s), want_;                                        \
		__u32 sent_ = flow_get(s).tx.bytes;                                           \
		struct result r_ = run(EGRESS, &in_);                                         \
                                                                                              \
		want_ = wrap(&in_, .sport = source_port(&r_.out), .seq = sent_ + r_.out.len); \
		expect_frame(&r_.out, &want_);                                                \
		expect_counted(STAT_TX_DATA, STAT_TX_BARE);                                   \
	} while (0)

Test(egress_plan, telemetry_rtt__when_the_last_was_answered_and_t_is_over)
{
	telemetry_is(TELEMETRY_RTT);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec kinds[] = { { .v6 = v6, .payload = 300 },
					   { .v6 = v6, .payload = 300, .udp = 1, .tos = 0xb8 } };
		unsigned int k;

		for (k = 0; k < 2; k++) {
			struct ip_spec s = kinds[k];

			fixture("IPv%d, kind %u", v6 ? 6 : 4, k);
			expect_stamped(s); /* the first of the flow */
			expect_between(clock_ns() - flow_get(s).tx.telem_ns, 0, 1000 * MS);
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

Test(egress_plan, telemetry_congestion__while_u_is_eta_or_more)
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
Test(egress_plan, telemetry__and_what_a_segment_weighs)
{
	/* Of data whose telemetry is beside it nothing is ours. */
	static const unsigned int ours[] = { 20 + 8 + 12 + 4 + 5 * 8, 20 + 8 + 12, 20 + 8 + 12, 20 + 8 + 12, 0 };
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
			expect_eq(f.tx.mss, 1000);
			expect_eq(f.tx.segment, in.len + ours[mode]);
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
		expect_eq(flow_get(s).tx.segment, in.len + 20 + 8 + 12 + 4 + 3 * 8);
	}
}

/* An unanswered packet says nothing about whether the peer lives. */
Test(egress_plan, telemetry__silence_begins_with_what_asks_for_an_answer)
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
Test(egress_plan, telemetry__what_has_none_is_not_timed)
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
	expect_eq(flow_get(s).delay.timed_count, 1);
	telemetry_ago(s, 150 * MS, 0);
	expect_stamped(s);
	expect_eq(flow_get(s).delay.timed_count, 2);
}

Test(egress_plan, telemetry__changes_while_the_flow_runs)
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

Test(egress_plan, telemetry__echo_goes_out_with_bare_data)
{
	struct ip_spec s = { .payload = 300 };
	struct frame in = frame_of(s), want;
	struct result r;

	telemetry_is(TELEMETRY_RTT);
	expect_stamped(s);
	echo_waits(s, 0);
	r = run(EGRESS, &in);
	want = with_echo(&in, &r.out, 0, flow_get(s).tx.bytes);
	expect_frame(&r.out, &want);
	expect_counted(STAT_TX_DATA, STAT_TX_BARE);
}

/* Of TCP, too, whether feedback came or not; it is in the queue of its flow's data, and on its path. */
Test(egress_plan, telemetry_probe__one_in_a_base_rtt)
{
	struct asker a = asker_make();

	telemetry_is(TELEMETRY_PROBE);
	FOR_V4_AND_V6 (v6) {
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
Test(egress_plan, telemetry_rtt__asks_for_udp_that_gets_no_feedback)
{
	struct ip_spec s = { .udp = 1, .payload = 300 };
	struct asker a = asker_make();
	struct frame in = frame_of(s);
	static const struct {
		__u64 fb_ago_ms;
		int by_probe, asks;
	} cases[] = { { 500, 0, 0 }, { 1500, 0, 0 }, { 2900, 0, 0 }, { 3100, 0, 1 }, { 900, 1, 0 }, { 1100, 1, 1 } };
	unsigned int i;

	telemetry_is(TELEMETRY_RTT);
	run(EGRESS, &in, .ifindex = a.ifindex);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flow f;

		fixture("feedback %llu ms ago, of a PROBE: %d", cases[i].fb_ago_ms, cases[i].by_probe);
		probed_ago(s, 5000 * MS, cases[i].fb_ago_ms * MS);
		f = flow_get(s);
		f.tx.telem_ns = clock_ns();
		f.rx.fb_probe = cases[i].by_probe;
		flow_set(s, &f);
		hosts_strip();
		world_counted((const int[]){ -1 });
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_DATA, STAT_TX_BARE, cases[i].asks ? STAT_PROBE_SENT : -1);
	}
}

/* A packet without payload loads no queue, so no PROBE is needed. */
Test(egress_plan, telemetry_probe__not_with_an_ack)
{
	struct asker a = asker_make();
	struct frame in = tcp();

	telemetry_is(TELEMETRY_PROBE);
	run(EGRESS, &in, .ifindex = a.ifindex);
	expect_counted(STAT_TX_PLAIN_ACK);
	expect_no_probe(&a);
}
