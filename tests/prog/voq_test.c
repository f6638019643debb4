// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/rack/voq.bpf.h: what leaves by a VOQ. A sends to B, whose prefixes have HierCC with a C0 of 3000 bytes and a
 * limit of 5 s; its port has 100 Gbit/s and fq, and the mode is enforce unless a test says otherwise.
 */
#include <string.h>

#include "world.h"

#define MS 1000000ULL
#define TOR 0x0a0b0c0d
#define C0 3000
#define LIMIT_NS (5000 * MS)
#define LINE (WORLD_BPS / 8) /* bytes/s */
#define FIRST (1ULL << 32)   /* where totals begin */

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

static struct peer peer_with_voqs(void)
{
	struct peer peer = peer_usual();

	peer.hiercc = 1;
	peer.voq_c0 = C0;
	peer.voq_limit_ns = LIMIT_NS;
	peer.voq_period_ns = MS / 4;
	return peer;
}

static void peers_change(struct peer peer)
{
	peer.prefixlen = 96 + 16;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer.prefixlen = 32;
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

static void make(void)
{
	struct port port = port_usual();

	world_make();
	hosts_strip();
	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	tor_set(TOR);
	peers_change(peer_with_voqs());
}

TestSuite(voq, .init = make, .fini = world_drop, .timeout = 60);

static struct voq_key to_b(int v6)
{
	return voq_key_of(v6, HOST_B, 128);
}

static __u16 source_port(const struct frame *f)
{
	return get16(f->b + at_udp(f));
}

/* S and F, as the packet says them. */
static __u32 total_of(const struct frame *f)
{
	return get32(f->b + at_voq(f) + 4);
}

static unsigned int flows_of(const struct frame *f)
{
	return get16(f->b + at_voq(f) + 8);
}

/* Nobody answers here: the peers are heard anew each time. */
static struct result leaves(struct ip_spec s)
{
	struct frame in = frame_of(s);

	hosts_strip();
	return run(EGRESS, &in);
}

/* The VOQ's clock and the flow's are over: nothing waits for what went before. */
static void clocks_stop(struct ip_spec s)
{
	struct flow f = flow_get(s);
	struct voq v = voq_get(to_b(s.v6));

	f.tx.clock_ns = 0;
	flow_set(s, &f);
	v.voq.clock_ns = 0;
	voq_set(to_b(s.v6), &v);
}

/* Credit for all that was sent, but for so many bytes, and for C0. */
static void credit_lacks(int v6, __u64 bytes)
{
	struct voq v = voq_get(to_b(v6));

	v.voq.credit = v.voq.sent - bytes - C0;
	v.voq.short_ns = 0;
	voq_set(to_b(v6), &v);
}

/* --- the block --- */

Test(voq, block__says_where_the_packet_is_in_its_voq)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), want;
		__u32 sent = 0;
		int i;

		for (i = 0; i < 2; i++) {
			struct result r = run(EGRESS, &in);

			sent += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = sent, .voq = 1,
				    .voq_tor = TOR, .voq_total = sent, .voq_flows = 1, .voq_prefixlen = 128);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &want);
			expect_counted(STAT_TX_DATA);
			expect_eq(r.out.len, in.len + (v6 ? 40 : 20) + 8 + 12 + 44 + 12);
		}
		expect_eq(voq_get(to_b(v6)).voq.sent, FIRST + sent);
	}
}

/* Both lie behind it, and the tag covers the echo and not the block. */
Test(voq, block__before_echo_and_tag)
{
	static const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	int hops;

	keys_set(&key, 1);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .payload = 100 };
		struct frame in = frame_of(s), want;
		struct result r = leaves(s);

		for (hops = 0; hops <= 5; hops++) {
			struct flow f = flow_get(s);
			__u32 seq = f.tx.bytes;

			f.echo = (struct flow_echo){ .version = 2 * hops + 2, .hops = hops, .seq = 7,
						     .nhop_path = hops << 12 | 0x234, .rx_ns = clock_ns(),
						     .hop = { 1, 2, 3, 4, 5 } };
			flow_set(s, &f);
			r = leaves(s);
			seq += r.out.len;
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = seq, .voq = 1,
				    .voq_tor = TOR, .voq_total = seq, .voq_flows = 1, .voq_prefixlen = 128,
				    .echo = 1, .echo_hops = hops, .echo_seq = 7, .echo_path = 0x234,
				    .echo_age = get16(r.out.b + at_echo(&r.out) + 4),
				    .echo_hop = { 1, 2, 3, 4, 5 }, .key = &key,
				    .auth_seq = get64(r.out.b + at_auth(&r.out)));
			expect_frame(&r.out, &want);
		}
	}
}

Test(voq, block__with_int_md)
{
	struct peer peer = peer_with_voqs();

	peer.encoding = ENCODING_INT_MD;
	peers_change(peer);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), want;
		struct result r = run(EGRESS, &in);

		want = wrap(&in, .sport = source_port(&r.out), .seq = r.out.len, .voq = 1, .voq_tor = TOR,
			    .voq_total = r.out.len, .voq_flows = 1, .voq_prefixlen = 128);
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

	leaves(s);
	f = flow_get(s);
	f.echo = (struct flow_echo){ .version = 2, .hops = 1, .nhop_path = 1 << 12, .rx_ns = clock_ns() };
	flow_set(s, &f);
	sent = voq_get(to_b(0)).voq.sent;
	r = run(EGRESS, &ack);
	expect_eq(r.out.b[at_shim(&r.out) + 6], 1);
	expect_eq(r.out.len, ack.len + 20 + 8 + 12 + 20);
	expect_eq(voq_get(to_b(0)).voq.sent, sent);

	fixture("too large by its block");
	expect_that(world_ended());
	port.mtu = big.len - 14 + 20 + 8 + 12 + 44 + 11;
	port_change(WORLD_IFINDEX, &port);
	hosts_strip();
	expect_untouched(EGRESS, &big, STAT_TX_MTU);
	expect_eq(voq_get(to_b(0)).voq.sent, sent);
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
			last = leaves((struct ip_spec){ .sport = 100 + i, .payload = 10 }).out;
		if (flows_of(&last) == 3)
			return;
		expect_between(flows_of(&last), 1, 3);
	}
	cr_assert(0, "never 3 flows");
}

Test(voq, flows__of_both_versions_go_by_voqs_of_their_own)
{
	struct frame a = leaves((struct ip_spec){ .payload = 100 }).out;
	struct frame b = leaves((struct ip_spec){ .v6 = 1, .payload = 500 }).out;

	expect_eq(total_of(&a), a.len);
	expect_eq(total_of(&b), b.len);
	expect_eq(voq_get(to_b(1)).voq.sent, FIRST + b.len);
}

/* --- departure --- */

Test(voq, departure__by_credit)
{
	struct ip_spec s = { .payload = 1000 };
	struct result r = leaves(s);
	unsigned int len = r.out.len; /* 1150 bytes */
	struct voq v;
	__u64 t;

	expect_eq(r.ctx.tstamp, 0);
	expect_eq(flow_get(s).tx.held, HELD_NOT);
	clocks_stop(s);
	expect_eq(leaves(s).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA);

	fixture("no credit has come yet");
	clocks_stop(s);
	r = leaves(s);
	v = voq_get(to_b(0));
	/* A round trip with the time between two grants, and what is lacking at a quarter of the port. */
	t = v.voq.short_ns + MS + MS / 4 + (3 * len - C0) * 1000000000ULL / (LINE / 4);
	expect_eq(r.ctx.tstamp, t);
	expect_eq(v.voq.clock_ns, t);
	expect_between(flow_get(s).tx.clock_ns, t, t + 1000);
	expect_eq(flow_get(s).tx.held, HELD_CREDIT);
	expect_counted(STAT_TX_DATA, STAT_VOQ_WAITS, STAT_PACED);

	fixture("another flow, which the receiver has not heard of");
	r = leaves((struct ip_spec){ .payload = 1000, .sport = 7 });
	expect_eq(r.ctx.tstamp, 0);
	expect_eq(flows_of(&r.out), 2);
	expect_eq(total_of(&r.out), 4 * len);
	expect_counted(STAT_TX_DATA);

	fixture("behind both");
	clocks_stop((struct ip_spec){ .sport = 7 });
	r = leaves((struct ip_spec){ .payload = 1000, .sport = 7 });
	t = v.voq.short_ns + MS + MS / 4 + (5 * len - C0) * 1000000000ULL / (LINE / 4);
	expect_eq(r.ctx.tstamp, t);
	expect_counted(STAT_TX_DATA, STAT_VOQ_WAITS, STAT_PACED);

	fixture("credit has come");
	credit_lacks(0, 0);
	clocks_stop(s);
	v = voq_get(to_b(0));
	v.voq.credit += len;
	voq_set(to_b(0), &v);
	expect_eq(leaves(s).ctx.tstamp, 0);
	expect_eq(flow_get(s).tx.held, HELD_NOT);
	expect_counted(STAT_TX_DATA);
}

Test(voq, departure__not_before_the_flows_clock)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	__u64 clock;

	leaves(s);
	credit_lacks(0, 0);
	f = flow_get(s);
	f.tx.clock_ns = clock = clock_ns() + 2000 * MS;
	f.cc.rate_bps = 100000000;
	flow_set(s, &f);
	expect_eq(leaves(s).ctx.tstamp, clock);
	expect_eq(flow_get(s).tx.held, HELD_RATE);
	expect_between(voq_get(to_b(0)).voq.clock_ns, 1, clock_ns() + 100 * MS);
}

/* Nor at the horizon of the flow's clock, which is 12 ms. */
Test(voq, departure__never_after_the_limit)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;
	__u64 t;

	leaves(s);
	credit_lacks(0, 0);
	clocks_stop(s);
	v = voq_get(to_b(0));
	v.voq.rate = 1; /* byte/s */
	v.voq.due = 1;
	voq_set(to_b(0), &v);
	t = leaves(s).ctx.tstamp;
	expect_eq(t, voq_get(to_b(0)).voq.short_ns + LIMIT_NS);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_VOQ_WAITS, STAT_PACED);
}

Test(voq, departure__at_once_when_credits_have_stopped)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	struct voq v;

	leaves(s);
	expect_between(flow_get(s).voq.rate_bps, 1, 8 * LINE);
	credit_lacks(0, 0);
	clocks_stop(s);
	v = voq_get(to_b(0));
	v.voq.short_ns = clock_ns() - LIMIT_NS;
	v.voq.rate = 100 * 1000 * 1000;
	voq_set(to_b(0), &v);
	expect_eq(leaves(s).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_VOQ_ALONE);
	v = voq_get(to_b(0));
	expect_eq(v.alone, 1);
	f = flow_get(s);
	expect_eq(f.tx.held, HELD_NOT);
	expect_eq(f.voq.rate_bps, 0);

	fixture("W is the BDP of what credit came for, once");
	expect_eq(q12_to_bytes(f.cc.w), 100 * 1000 * 1000 / 1000 * (WORLD_T_NS / 1000000));
	expect_eq(f.cc.wc, f.cc.w);
	expect_eq(f.cc.rate_bps, hpcc_rate_bps(f.cc.w, WORLD_T_NS));
	f.cc.w = f.cc.wc = f.params.w_init;
	flow_set(s, &f);
	clock_pass(1000000); /* the one before has left */
	leaves(s);
	expect_counted(STAT_TX_DATA, STAT_VOQ_ALONE);
	expect_eq(flow_get(s).cc.w, f.params.w_init);
}

Test(voq, departure__idle_voq_has_c0_again)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;

	leaves(s);
	credit_lacks(0, 100000);
	clocks_stop(s);
	v = voq_get(to_b(0));
	v.voq.short_ns = clock_ns();
	v.voq.last_ns = clock_ns() - 2 * LIMIT_NS - 1000 * MS;
	voq_set(to_b(0), &v);
	expect_eq(leaves(s).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA);
	v = voq_get(to_b(0));
	expect_eq(v.voq.sent, FIRST + 2 * 1150);
	expect_eq(v.voq.credit, FIRST + 1150);
}

/* Times from the future, as after a clock that went back, hold nobody for longer than the limit. */
Test(voq, departure__clock_that_went_back)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	struct voq v;
	__u64 far, t;

	leaves(s);
	credit_lacks(0, 0);
	far = clock_ns() + 3600 * 1000 * MS;
	v = voq_get(to_b(0));
	v.voq.clock_ns = v.voq.last_ns = v.voq.credit_ns = v.voq.short_ns = v.voq.mark_ns = far;
	v.hop.mark_ns = far;
	voq_set(to_b(0), &v);
	f = flow_get(s);
	f.tx.clock_ns = f.tx.telem_ns = far;
	f.voq.mark = 0xffffffff;
	flow_set(s, &f);
	t = leaves(s).ctx.tstamp;
	expect_between(t, 1, clock_ns() + LIMIT_NS + 12 * MS);
	v = voq_get(to_b(0));
	expect_between(v.voq.clock_ns, 1, clock_ns() + LIMIT_NS);
	expect_between(v.hop.mark_ns, 1, clock_ns());
}

/* What is dropped was never there. */
Test(voq, departure__beyond_the_horizon_of_udp_is_not_in_s)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	struct result r;
	struct flow f;
	__u64 sent;

	leaves(s);
	f = flow_get(s);
	f.tx.clock_ns = clock_ns() + 900 * MS;
	flow_set(s, &f);
	sent = voq_get(to_b(0)).voq.sent;
	hosts_strip();
	expect_that(world_ended());
	r = run(EGRESS, &in);
	expect_verdict(r, VERDICT_DROP);
	expect_frame(&r.out, &in);
	expect_counted(STAT_TX_HORIZON);
	expect_eq(voq_get(to_b(0)).voq.sent, sent);
}

/* S and F go along, so that the receiver sees, and nothing waits. */
Test(voq, departure__only_in_mode_enforce_and_with_fq)
{
	struct ip_spec s = { .payload = 1000 };
	struct port port = port_usual();
	int i;

	for (i = 0; i < 3; i++) {
		static const char *const what[] = { "observe", "dry-run", "no fq" };
		struct result r;
		struct flow f;
		__u64 sent;

		fixture("%s", what[i]);
		control_set(i == 0 ? MODE_OBSERVE : i == 1 ? MODE_DRY_RUN : MODE_ENFORCE, 0);
		port.flags = i == 2 ? port.flags & ~PORT_F_EDT : port.flags | PORT_F_EDT;
		port_change(WORLD_IFINDEX, &port);
		leaves(s);
		credit_lacks(0, 100000);
		sent = voq_get(to_b(0)).voq.sent;
		f = flow_get(s);
		f.tx.clock_ns = 0;
		flow_set(s, &f);
		r = leaves(s);
		expect_eq(r.ctx.tstamp, 0);
		expect_eq(total_of(&r.out), (__u32)sent + r.out.len);
		expect_eq(flows_of(&r.out), 1);
		expect_eq(flow_get(s).tx.clock_ns, 0);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA);
	}
}

/* --- Equation 1 --- */

/* R of the VOQ, which is not computed anew for now. */
static void hop_rate_is(int v6, __u64 rate)
{
	struct voq v = voq_get(to_b(v6));

	v.hop.rate = rate;
	v.hop.stopped = 0;
	v.hop.settling = 1;
	v.hop.mark_ns = 1;
	v.hop_params.rtt_ns = ~0ULL; /* no period ends */
	v.voq.credit = v.voq.sent + 1000;
	voq_set(to_b(v6), &v);
}

/* The first window of the flow has left: from then on Equation 1 counts. */
static void first_window_left(struct ip_spec s)
{
	struct flow f = flow_get(s);

	f.tx.bytes = q12_to_bytes(f.params.w_init);
	flow_set(s, &f);
}

/* Datagrams of 1000 bytes weigh 1138; the horizon is 1 ms. */
Test(voq, rate__paces_udp)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct flow f;
	__u64 t;

	leaves(s);
	first_window_left(s);
	hop_rate_is(0, 2000000);
	clocks_stop(s);
	t = clock_ns();
	leaves(s);
	f = flow_get(s);
	expect_eq(f.voq.rate_bps, 16000000);
	expect_between(f.tx.clock_ns, t + 1138 * 500, clock_ns() + 1138 * 500);
	expect_eq(leaves(s).ctx.tstamp, f.tx.clock_ns);
	expect_eq(flow_get(s).tx.held, HELD_HOP);

	fixture("HPCC has less");
	f = flow_get(s);
	f.cc.rate_bps = 10000000;
	flow_set(s, &f);
	clocks_stop(s);
	t = clock_ns();
	leaves(s);
	f = flow_get(s);
	expect_between(f.tx.clock_ns, t + 1138 * 800, clock_ns() + 1138 * 800);
	hop_rate_is(0, 2000000); /* and credit */
	leaves(s);
	expect_eq(flow_get(s).tx.held, HELD_RATE);
}

/* TCP hears of it by its window: what has come is in the VOQ, and must not keep a departure at a low R. */
Test(voq, rate__is_not_that_of_the_clock_of_tcp)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	__u64 t;

	leaves(s);
	f = flow_get(s);
	f.cc.rate_bps = 40000000;
	flow_set(s, &f);
	hop_rate_is(0, 1000000);
	clocks_stop(s);
	t = clock_ns();
	leaves(s);
	f = flow_get(s);
	expect_eq(f.voq.rate_bps, 8000000);
	expect_between(f.tx.clock_ns, t + 1150 * 200, clock_ns() + 1150 * 200);
	leaves(s);
	expect_eq(flow_get(s).tx.held, HELD_RATE);
}

/* What B grants of 60000 bytes, to a flow with segments of 1000 bytes that weigh 1200. */
static unsigned int window_granted(struct ip_spec s)
{
	struct frame ack = tcp(.reply = 1);
	struct flow f = flow_get(s);
	struct result r;

	rwnd_set(1);
	f.tx.mss = 1000;
	f.tx.segment = 1200;
	f.wnd.wscale_known = 1;
	f.wnd.edge_ns = 0;
	f.wnd.seq_known = 0;
	flow_set(s, &f);
	put16(ack.b + 14 + 20 + 14, 60000);
	frame_fix(&ack);
	r = run(INGRESS, &ack);
	expect_verdict(r, VERDICT_PASS);
	return get16(r.out.b + 14 + 20 + 14);
}

/* A short flow waits in the VOQ in turn, and not for an R that is meant for long ones. */
Test(voq, rate__is_not_for_the_first_window)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;

	leaves(s);
	f = flow_get(s);
	f.cc.w = 20 * 1200ULL << 12;
	f.tx.bytes = q12_to_bytes(f.params.w_init) - 2 * 1150;
	flow_set(s, &f);
	hop_rate_is(0, 7 * 1200 * 1000);
	leaves(s);
	expect_eq(window_granted(s), 21 * 1000);
	leaves(s);
	expect_eq(window_granted(s), 8 * 1000);
}

Test(voq, rate__and_window)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;

	leaves(s);
	first_window_left(s);
	f = flow_get(s);
	f.cc.w = 20 * 1200ULL << 12;
	flow_set(s, &f);
	expect_eq(window_granted(s), 21 * 1000);
	hop_rate_is(0, 7 * 1200 * 1000); /* bytes/s: 7 segments in T */
	leaves(s);
	expect_eq(window_granted(s), 8 * 1000);
	hop_rate_is(0, 40 * 1200 * 1000);
	leaves(s);
	expect_eq(window_granted(s), 21 * 1000);
}

/* Equation 1 and credit are all that there is, until credits stop. */
Test(voq, rate__without_hpcc)
{
	struct ip_spec s = { .payload = 1000 };
	struct peer peer = peer_with_voqs();
	struct flow f;
	struct voq v;
	__u64 t, line_ns;

	peer.hpcc_off = 1;
	peers_change(peer);
	leaves(s);
	first_window_left(s);
	f = flow_get(s);
	f.cc.w = 8 * 1200ULL << 12;
	f.cc.rate_bps = hpcc_rate_bps(f.cc.w, f.params.t_ns);
	flow_set(s, &f);
	hop_rate_is(0, 30 * 1200 * 1000);
	clocks_stop(s);
	t = clock_ns();
	leaves(s);
	line_ns = 1150 * 8 * NSEC_PER_SEC / hpcc_rate_bps(f.params.w_init, f.params.t_ns);
	expect_between(flow_get(s).tx.clock_ns, t + line_ns, clock_ns() + line_ns + 1);
	expect_eq(window_granted(s), 31 * 1000);

	fixture("credits have stopped");
	credit_lacks(0, 100);
	clocks_stop(s);
	v = voq_get(to_b(0));
	v.voq.short_ns = clock_ns() - LIMIT_NS;
	voq_set(to_b(0), &v);
	t = clock_ns();
	leaves(s);
	line_ns = 1150 * 8 * NSEC_PER_SEC / f.cc.rate_bps;
	expect_between(flow_get(s).tx.clock_ns, t + line_ns, clock_ns() + line_ns + 1);
	expect_eq(window_granted(s), 9 * 1000);
}

Test(voq, rate__stops_and_resumes)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;

	leaves(s);
	v = voq_get(to_b(0));
	expect_eq(v.hop_params.rate_line, LINE);
	expect_eq(v.hop_params.rtt_ns, MS);
	expect_eq(v.hop_params.q0, LINE / 1000 * 8 / 15);
	hop_rate_is(0, LINE / 2);
	credit_lacks(0, v.hop_params.v_high);
	leaves(s);
	v = voq_get(to_b(0));
	expect_eq(v.hop.stopped, 1);
	expect_eq(flow_get(s).voq.rate_bps, 8 * (LINE / 100)); /* R_min */
	credit_lacks(0, v.hop_params.v_low);
	leaves(s);
	expect_eq(voq_get(to_b(0)).hop.stopped, 1);
	credit_lacks(0, v.hop_params.v_low - 2000);
	leaves(s);
	v = voq_get(to_b(0));
	expect_eq(v.hop.stopped, 0);
	expect_eq(flow_get(s).voq.rate_bps, 4 * LINE);
}

/* With q0 in the queue R is what it was, times the credit that comes, over what arrived. */
Test(voq, rate__once_a_period)
{
	struct ip_spec s = { .payload = 1000 };
	struct voq v;

	leaves(s);
	credit_lacks(0, LINE / 1000 * 8 / 15 - 1150);
	v = voq_get(to_b(0));
	v.voq.rate = LINE / 10;
	v.hop.rate = LINE / 4;
	v.hop.settling = 0;
	v.hop.mark_ns = clock_ns() - 100 * MS;
	v.hop.mark = v.voq.sent - LINE / 5 / 10 + 1150;
	voq_set(to_b(0), &v);
	leaves(s);
	v = voq_get(to_b(0));
	/* A fifth of the port in 100 ms, or in the little more that the test took. */
	expect_between(v.hop.arrive, LINE / 30, LINE / 5);
	expect_between(v.hop.rate * v.hop.arrive, LINE / 4 * (LINE / 10) / 1000 * 999,
		       LINE / 4 * (LINE / 10) / 1000 * 1001);
	expect_eq(flow_get(s).voq.rate_bps, 8 * v.hop.rate);
	expect_eq(v.hop.settling, 1);
}

/* --- no room --- */

Test(voq, full__the_prefix_has_one)
{
	struct voq_key of_prefix[] = { voq_key_of(0, HOST_B, 96 + 16), voq_key_of(1, HOST_B, 32) };
	struct voq zero = {}; /* as the daemon makes them */

	voq_set(of_prefix[0], &zero);
	voq_set(of_prefix[1], &zero);
	voqs_fill();
	FOR_V4_AND_V6(v6) {
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
			want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = sent, .voq = 1,
				    .voq_tor = TOR, .voq_total = sent, .voq_flows = 1,
				    .voq_prefixlen = v6 ? 32 : 96 + 16);
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
		leaves(s);
		expect_counted(STAT_TX_DATA, STAT_VOQ_MERGED);
		expect_eq(voq_exists(to_b(v6)), 0);
		f = flow_get(s);
		f.voq.asked -= 1000;
		flow_set(s, &f);
		r = leaves(s);
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
	struct voq v;

	leaves(s);
	peer.voq_c0 = 0;
	peer.voq_limit_ns = 0;
	peer.voq_bps = WORLD_BPS / 10;
	peers_change(peer);
	leaves(s);
	v = voq_get(to_b(0));
	expect_eq(v.voq.sent, FIRST + 2 * 1150);
	expect_eq(v.params.c0, LINE / 10 / 1000 * 5 / 4);
	expect_eq(v.params.debt_max, 3 * v.params.c0);
	expect_eq(v.params.rate_first, LINE / 10 / 4);
	expect_eq(v.params.limit_ns, 64 * 5 * MS / 4);
	expect_eq(v.params.idle_ns, 128 * 5 * MS / 4);
	expect_eq(v.hop_params.rate_line, LINE);

	fixture("absurd values");
	peer.voq_c0 = ~0ULL;
	peer.voq_limit_ns = ~0ULL;
	peer.voq_bps = ~0ULL;
	peer.voq_period_ns = ~0ULL >> 1;
	peers_change(peer);
	leaves(s);
	v = voq_get(to_b(0));
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
		FOR_V4_AND_V6(v6) {
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
			expect_eq(voq_exists(to_b(v6)), 0);
		}
	}
}

/* What a VOQ had told before it was switched off holds nobody. */
Test(voq, off__rate_of_before_is_void)
{
	struct ip_spec s = { .payload = 1000 };
	struct flow f;
	__u64 t;

	leaves(s);
	hop_rate_is(0, 1000);
	leaves(s);
	expect_eq(flow_get(s).voq.rate_bps, 8000);
	peers_change(peer_usual());
	clocks_stop(s);
	f = flow_get(s);
	f.cc.rate_bps = 8000000;
	flow_set(s, &f);
	t = clock_ns();
	leaves(s);
	expect_between(flow_get(s).tx.clock_ns, t, clock_ns() + 1150 * 1000);
}
