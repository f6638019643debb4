// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/flow.bpf.h: flows are made, take new parameters, and end. */
#include <string.h>

#include "egress_case.h"

static void make_small(void)
{
	world_make_with(.flows = 1);
	hosts_strip();
}

TestSuite(flow, .init = egress_make, .fini = world_drop, .timeout = 60);
TestSuite(flow_small, .init = make_small, .fini = world_drop, .timeout = 60);

Test(flow, flow__is_made_with_the_parameters_of_peer_and_port)
{
	struct ip_spec s = { .payload = 100 };
	struct frame in = frame_of(s);
	struct flow f;

	control_next_epoch();
	run(EGRESS, &in);
	f = flow_get(s);
	expect_eq(f.params.t_ns, 1000000);
	expect_eq(f.params.w_init, 12500000ULL << 12); /* 100 Gbit/s for 1 ms */
	expect_eq(f.params.w_min, 12500ULL << 12);     /* a thousandth */
	expect_eq(f.params.packet, 9014);
	/* W_init * (1 - eta) / N, with eta as the daemon rounds it */
	expect_between(f.params.w_ai, 6249ULL << 12, 6251ULL << 12);
	expect_eq(f.params.chance, hpcc_chance_queue(9014, 100));
	expect_eq(f.params.eta, Q24_ONE * 95 / 100);
	expect_eq(f.params.max_stage, 5);
	expect_eq(f.cc.w, f.params.w_init);
	expect_eq(f.cc.wc, f.params.w_init);
	expect_eq(f.cc.u, Q24_ONE);
	expect_eq(f.cc.rate_bps, WORLD_BPS);
	expect_eq(f.cc.hops, 0);
	expect_eq(f.path.epoch, 1);
	expect_eq(f.rx.lock, 0);
	expect_eq(f.path.ifindex, WORLD_IFINDEX);
	expect_eq(f.rx.feedbacks, 0);
	expect_between(f.tx.last_ns, clock_ns() - 1000 * MS, clock_ns());
	expect_eq(flows_count(), 1);
}

Test(flow, flow__takes_w_ai_and_the_longest_prefix)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);

	peer.w_ai = 80 << 12;
	peer.t_ns = 20000;
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	expect_eq(flow_get((struct ip_spec){}).params.w_ai, 80 << 12);
	expect_eq(flow_get((struct ip_spec){}).params.chance, 0);
	expect_eq(flow_get((struct ip_spec){}).params.w_init, 250000ULL << 12);
}

/* World's port has 100 Gbit/s and frames of 9014 bytes, ten of which take 7.2 us. */
Test(flow, flow__has_a_first_window_until_t_is_measured)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);
	struct ip_spec s = {};

	peer.t_auto = 1;
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, BASE_RTT_START_NS);
	expect_eq(flow_get(s).params.w_init, 125000ULL << 12);
	fixture("measured: a flow that runs takes it");
	peer.t_ns = peer.measured_ns = 20000;
	peer_set("10.1.0.2", 128, &peer);
	control_next_epoch();
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 20000);
	expect_eq(flow_get(s).params.w_init, 250000ULL << 12);
}

/* 1500 bytes at 100 Mbit/s: a measured T of four packets is raised to ten, which a configured one is not. */
Test(flow, flow__of_a_slow_port_has_a_t_of_ten_packets)
{
	struct peer peer = peer_usual();
	struct port port = port_usual();
	struct frame in = tcp(.payload = 100);
	struct ip_spec s = {};

	port.speed_bps = 100000000;
	port.mtu = 1500;
	port_set(WORLD_IFINDEX, &port);
	peer.t_auto = 1;
	peer.t_ns = peer.measured_ns = 490000;
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 1211200);
	expect_eq(flow_get(s).params.w_init, 15140ULL << 12);
	fixture("a longer one stays");
	peer.t_ns = peer.measured_ns = 4000000;
	peer_set("10.1.0.2", 128, &peer);
	control_next_epoch();
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 4000000);
	fixture("and a configured one");
	peer.t_auto = 0;
	peer.t_ns = 490000;
	peer_set("10.1.0.2", 128, &peer);
	control_next_epoch();
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 490000);
}

/* 250 bytes at 100 Mbit/s: a UDP packet of more than the W_init of 2,640 bytes, and T becomes two of 64 KB. */
Test(flow, flow__whose_packets_are_bursts_has_a_t_of_two)
{
	struct peer peer = peer_usual();
	struct port port = port_usual();
	struct frame in = udp(.payload = 2640 - 42);
	struct ip_spec s = { .udp = 1 };
	__u64 before;

	port.speed_bps = 100000000;
	port.mtu = 250;
	peer.t_auto = 1;
	peer.t_ns = peer.measured_ns = 200000;
	peer_set("10.1.0.2", 128, &peer);
	port_set(WORLD_IFINDEX, &port);
	run(EGRESS, &in);
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 211200);
	fixture("a byte more");
	in = udp(.payload = 2641 - 42);
	run(EGRESS, &in);
	before = flow_get(s).cc.rate_bps;
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 2 * 65536 * 80ULL);
	expect_between(flow_get(s).cc.rate_bps, before * 99 / 100, before);
	fixture("a configured one stays");
	peer.t_auto = 0;
	peer_set("10.1.0.2", 128, &peer);
	control_next_epoch();
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 200000);
}

Test(flow, flow__takes_the_tokens_of_its_peer)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);
	struct vai_params vai;

	peer.vai = (struct vai_tuning){ .ai_div = 1000, .bank_cap = 11, .ai_cap = 12, .dampener_div = 13, .every = 14 };
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	vai = flow_get((struct ip_spec){}).params.vai;
	expect_eq(vai.ai_div, 1000);
	expect_eq(vai.bank_cap, 11);
	expect_eq(vai.ai_cap, 12);
	expect_eq(vai.dampener_div, 13);
	expect_eq(vai.every, 14);
	expect_eq(vai.token_thresh, 12500000); /* a BDP, as usual */
}

Test(flow, flow__window_has_bounds)
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

Test(flow, flow__takes_new_parameters_with_a_new_epoch)
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
	expect_eq(f.path.epoch, 1);
	expect_eq(f.rx.lock, 0);

	fixture("not while another CPU has the flow");
	f.rx.lock = 1;
	flow_set(s, &f);
	peer.t_ns = 30000;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	run(EGRESS, &in);
	expect_eq(flow_get(s).params.t_ns, 20000);
	expect_eq(flow_get(s).rx.lock, 1);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
}

/* The longest prefix counts; with the next epoch a running flow changes over, and keeps its window. */
Test(flow, flow__takes_its_peers_variant)
{
	struct peer peer = peer_usual();
	struct frame in = tcp(.payload = 100);
	struct ip_spec s = {};
	enum hpcc_variant v;
	__u64 plain_w_ai;
	struct flow f;

	peer.variant = HPCC_VAI_SF;
	peer_set("10.1.0.2", 128, &peer);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(s);
	expect_eq(f.params.variant, HPCC_VAI_SF);
	expect_eq(f.cc.vai.variant, HPCC_VAI_SF);
	plain_w_ai = f.params.w_ai;
	f.cc.w = f.cc.wc = 1000000ULL << 12;
	flow_set(s, &f);
	for (v = HPCC_PLAIN; v <= HPCC_VAI_SF; v += HPCC_VAI_SF) {
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

Test(flow, flow__fin_and_rst_close_it)
{
	struct frame fin = tcp(.flags = FIN | ACK), rst = tcp(.flags = RST, .sport = 7), data = tcp(.payload = 1),
		     other = tcp(.payload = 1, .sport = 7);

	run(EGRESS, &data);
	expect_eq(flow_get((struct ip_spec){}).tx.flags & FLOW_F_CLOSED, 0);
	run(EGRESS, &fin);
	expect_eq(flow_get((struct ip_spec){}).tx.flags & FLOW_F_CLOSED, FLOW_F_CLOSED);
	run(EGRESS, &other);
	run(EGRESS, &rst);
	expect_eq(flow_get((struct ip_spec){ .sport = 7 }).tx.flags & FLOW_F_CLOSED, FLOW_F_CLOSED);
	expect_counted(STAT_TX_DATA, STAT_TX_PLAIN_ACK, STAT_TX_DATA, STAT_TX_HANDSHAKE);
}

/* The stack answers a SYN to a port without a listener. */
Test(flow, flow__rst_makes_none)
{
	static const __u8 flags[] = { RST, RST | ACK };
	struct asker a = asker_make();
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
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

Test(flow, flow__is_counted_by_what_makes_it)
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
Test(flow, flow__a_syn_opens_it_again)
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
		expect_eq(flow_get((struct ip_spec){}).tx.flags & FLOW_F_CLOSED, FLOW_F_CLOSED);
		run(EGRESS, &syn);
		expect_eq(flow_get((struct ip_spec){}).tx.flags & FLOW_F_CLOSED, 0);
		expect_counted(STAT_TX_DATA, STAT_TX_HANDSHAKE, STAT_TX_DATA, STAT_TX_HANDSHAKE);
	}
}

Test(flow_small, flow_map_full__is_untouched)
{
	struct frame first = tcp(.payload = 100), second = tcp(.payload = 100, .sport = 7), ack = tcp(.sport = 7);

	run(EGRESS, &first);
	expect_counted(STAT_TX_DATA);
	expect_untouched(EGRESS, &second, STAT_TX_FLOW_FULL);
	expect_untouched(EGRESS, &ack, STAT_TX_FLOW_FULL);
	run(EGRESS, &first);
	expect_counted(STAT_TX_DATA);
	expect_eq(flows_count(), 1);
}
