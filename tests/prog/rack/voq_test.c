// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/voq.bpf.h: which VOQ a packet is in, and what its block says. */
#include "voq_case.h"

TestSuite(voq, .init = voq_make_world, .fini = world_drop, .timeout = 60);

static __u16 source_port(const struct frame *f)
{
	return get16(f->b + at_udp(f));
}

/* --- the block --- */

Test(voq, block__says_where_the_packet_is_in_its_voq)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), want;
		__u32 sent = 0;
		int i;

		for (i = 0; i < 2; i++) {
			struct result r = run(EGRESS, &in);

			sent += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = sent, .voq = 1, .voq_tor = TOR,
				    .voq_total = sent, .voq_flows = 1, .voq_prefixlen = 128, .voq_flags = RIDES);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &want);
			expect_counted(STAT_TX_DATA);
			expect_eq(r.out.len, in.len + (v6 ? 40 : 20) + 8 + 12 + 44 + 12);
		}
		expect_eq(voq_get(voq_to_b(v6)).voq.sent, FIRST + sent);
	}
}

/* Both lie behind it, and the tag covers the echo and not the block. */
Test(voq, block__before_echo_and_tag)
{
	static const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	int hops;

	keys_set(&key, 1);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 100 };
		struct frame in = frame_of(s), want;
		struct result r = voq_leaves(s);

		for (hops = 0; hops <= 5; hops++) {
			struct flow f = flow_get(s);
			__u32 seq = f.tx.bytes;

			f.echo = (struct flow_echo){ .version = 2 * hops + 2,
						     .hops = hops,
						     .seq = 7,
						     .nhop_path = hops << 12 | 0x234,
						     .rx_ns = clock_ns(),
						     .hop = { 1, 2, 3, 4, 5 } };
			flow_set(s, &f);
			r = voq_leaves(s);
			seq += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = seq, .voq = 1, .voq_tor = TOR,
				    .voq_total = seq, .voq_flows = 1, .voq_prefixlen = 128, .voq_flags = RIDES,
				    .echo = 1, .echo_hops = hops, .echo_seq = 7, .echo_path = 0x234,
				    .echo_age = get16(r.out.b + at_echo(&r.out) + 4), .echo_hop = { 1, 2, 3, 4, 5 },
				    .key = &key, .auth_seq = get64(r.out.b + at_auth(&r.out)));
			expect_frame(&r.out, &want);
		}
	}
}

Test(voq, block__with_int_md)
{
	struct peer peer = peer_with_voqs();

	peer.encoding = ENCODING_INT_MD;
	peers_change(peer);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), want;
		struct result r = run(EGRESS, &in);

		want = wrap(&in, .sport = source_port(&r.out), .seq = r.out.len, .voq = 1, .voq_tor = TOR,
			    .voq_total = r.out.len, .voq_flows = 1, .voq_prefixlen = 128, .voq_flags = RIDES);
		want = with_int(want, .left = 5);
		expect_frame(&r.out, &want);
	}
}

/* ACKs, and what goes without our header, are in no VOQ. */
Test(voq, block__only_with_payload)
{
	struct ip_spec s = { .payload = 100 };
	struct frame ack = tcp(), big = tcp(.payload = 1000);
	struct port port = port_usual();
	struct flow f;
	struct result r;
	__u64 sent;

	voq_leaves(s);
	f = flow_get(s);
	f.echo = (struct flow_echo){ .version = 2, .hops = 1, .nhop_path = 1 << 12, .rx_ns = clock_ns() };
	flow_set(s, &f);
	sent = voq_get(voq_to_b(0)).voq.sent;
	r = run(EGRESS, &ack);
	expect_eq(r.out.b[at_shim(&r.out) + 6], 1);
	expect_eq(r.out.len, ack.len + 20 + 8 + 12 + 20);
	expect_eq(voq_get(voq_to_b(0)).voq.sent, sent);

	fixture("too large by its block");
	expect_that(world_ended());
	port.mtu = big.len - 14 + 20 + 8 + 12 + 44 + 11;
	port_change(WORLD_IFINDEX, &port);
	hosts_strip();
	expect_untouched(EGRESS, &big, STAT_TX_MTU);
	expect_eq(voq_get(voq_to_b(0)).voq.sent, sent);
	port.mtu++;
	port_change(WORLD_IFINDEX, &port);
	run(EGRESS, &big);
	expect_counted(STAT_TX_DATA);
}

Test(voq, flows__of_a_voq_are_counted)
{
	unsigned int i, round;

	/* An epoch is 8 round trips of 1.25 ms, and this machine may need longer than that for three packets. */
	for (round = 0; round < 100; round++) {
		struct frame last = {};

		for (i = 1; i <= 3; i++)
			last = voq_leaves((struct ip_spec){ .sport = 100 + i, .payload = 10 }).out;
		if (flows_of(&last) == 3)
			return;
		expect_between(flows_of(&last), 1, 3);
	}
	cr_assert(0, "never 3 flows");
}

Test(voq, flows__of_both_versions_go_by_voqs_of_their_own)
{
	struct frame a = voq_leaves((struct ip_spec){ .payload = 100 }).out;
	struct frame b = voq_leaves((struct ip_spec){ .v6 = 1, .payload = 500 }).out;

	expect_eq(total_of(&a), a.len);
	expect_eq(total_of(&b), b.len);
	expect_eq(voq_get(voq_to_b(1)).voq.sent, FIRST + b.len);
}

/* --- no room --- */

Test(voq, full__the_prefix_has_one)
{
	struct voq_key of_prefix[] = { voq_key_of(0, HOST_B, 96 + 16), voq_key_of(1, HOST_B, 32) };
	struct voq zero = {}; /* as the daemon makes them */

	voq_set(of_prefix[0], &zero);
	voq_set(of_prefix[1], &zero);
	voqs_fill();
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 500 };
		struct frame in = frame_of(s), want;
		struct result r;
		__u32 sent = 0;
		struct flow f;
		struct voq v;
		int i;

		for (i = 0; i < 2; i++) {
			hosts_strip();
			r = run(EGRESS, &in);
			sent += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = sent, .voq = 1, .voq_tor = TOR,
				    .voq_total = sent, .voq_flows = 1, .voq_prefixlen = v6 ? 32 : 96 + 16,
				    .voq_flags = RIDES);
			expect_frame(&r.out, &want);
			expect_counted(STAT_TX_DATA, STAT_VOQ_MERGED);
		}
		v = voq_get(of_prefix[v6]);
		expect_eq(v.voq.sent, FIRST + sent);
		expect_eq(v.params.c0, C0);
		expect_eq(v.hop_params.rate_line, LINE);
		expect_eq(v.ifindex, WORLD_IFINDEX);
		expect_eq(flow_get(s).voq.merged, 1);

		fixture("IPv%d, room again", v6 ? 6 : 4);
		voqs_make_room();
		voq_leaves(s);
		expect_counted(STAT_TX_DATA, STAT_VOQ_MERGED);
		expect_eq(voq_exists(voq_to_b(v6)), 0);
		f = flow_get(s);
		f.voq.asked -= 1000;
		flow_set(s, &f);
		r = voq_leaves(s);
		expect_counted(STAT_TX_DATA);
		expect_eq(total_of(&r.out), r.out.len);
		expect_eq(flow_get(s).voq.merged, 0);
	}
}

Test(voq, full__and_no_voq_of_the_prefix)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s), want;
	struct peer peer = peer_with_voqs();
	struct result r;
	struct flow f;
	int i;

	voqs_fill();
	for (i = 0; i < 2; i++) {
		r = run(EGRESS, &in);
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = (i + 1) * r.out.len);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA, STAT_VOQ_FULL);
		f = flow_get(s);
		expect_eq(f.voq.rate_bps, 0);
		f.voq.rate_bps = 1;
		flow_set(s, &f);
	}
	fixture("a prefix of no length");
	peer_set("10.1.0.0", 96 + 16, &peer);
	f = flow_get(s);
	f.voq.asked -= 1000;
	flow_set(s, &f);
	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA, STAT_VOQ_FULL);
}

/* --- parameters --- */

Test(voq, params__follow_the_epoch)
{
	struct ip_spec s = { .payload = 1000 };
	struct peer peer = peer_with_voqs();
	__u64 gap_ns = hiercc_gap_ns(LINE / 10, port_usual().mtu + 14);
	struct voq v;

	voq_leaves(s);
	peer.voq_c0 = 0;
	peer.voq_limit_ns = 0;
	peer.voq_bps = WORLD_BPS / 10;
	peers_change(peer);
	voq_leaves(s);
	v = voq_get(voq_to_b(0));
	expect_eq(v.voq.sent, FIRST + 2 * 1150);
	expect_eq(v.params.c0, LINE / 10 * (MS + gap_ns) / NSEC_PER_SEC);
	expect_eq(v.params.debt_max, 3 * v.params.c0);
	expect_eq(v.params.rate_first, LINE / 10 / 6);
	expect_eq(v.params.limit_ns, 64 * 5 * MS / 4);
	expect_eq(v.params.idle_ns, 128 * 5 * MS / 4);
	expect_eq(v.hop_params.rate_line, LINE);

	fixture("absurd values");
	peer.voq_c0 = ~0ULL;
	peer.voq_limit_ns = ~0ULL;
	peer.voq_bps = ~0ULL;
	peer.voq_period_ns = ~0ULL >> 1;
	peers_change(peer);
	voq_leaves(s);
	v = voq_get(voq_to_b(0));
	expect_between(v.params.c0, 1, HIERCC_BYTES_MAX - 1);
	expect_between(v.params.debt_max, v.params.c0, HIERCC_BYTES_MAX - 1);
	expect_between(v.params.rate_first, 1, HIERCC_RATE_MAX - 1);
	expect_between(v.params.limit_ns, 1, (1ULL << 40) - 1);
	expect_between(v.params.idle_ns, v.params.limit_ns + 1, (1ULL << 40) - 1);
	expect_between(v.params.window_ns, 1, HIERCC_NS_MAX - 1);
}

/* --- off --- */

Test(voq, off__leaves_all_as_it_was)
{
	int i;

	for (i = 0; i < 2; i++) {
		FOR_V4_AND_V6 (v6) {
			struct ip_spec s = { .v6 = v6, .payload = 1000, .sport = 100 + i };
			struct frame in = frame_of(s), want;
			struct result r;

			fixture("IPv%d, %s", v6 ? 6 : 4, i ? "no number of a ToR" : "off");
			tor_set(i ? 0 : TOR);
			peers_change(i ? peer_with_voqs() : peer_usual());
			hosts_strip();
			r = run(EGRESS, &in);
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = r.out.len);
			expect_frame(&r.out, &want);
			expect_eq(r.ctx.tstamp, 0);
			expect_counted(STAT_TX_DATA);
			expect_eq(voq_exists(voq_to_b(v6)), 0);
		}
	}
}

/* The R that a VOQ reported before HierCC was switched off holds no flow. */
Test(voq, off__rate_of_before_is_void)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	__u64 t;

	voq_leaves(s);
	hop_rate_is(0, 1000);
	voq_leaves(s);
	expect_eq(flow_get(s).voq.rate_bps, 8000);
	peers_change(peer_usual());
	clocks_stop(s);
	f = flow_get(s);
	f.cc.rate_bps = 8000000;
	flow_set(s, &f);
	t = clock_ns();
	voq_leaves(s);
	expect_between(flow_get(s).tx.clock_ns, t, clock_ns() + 1150 * 1000);
}
