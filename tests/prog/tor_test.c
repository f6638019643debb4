// SPDX-License-Identifier: GPL-2.0-only
/*
 * A switch as a ToR of HierCC, bpf/rack/tor.bpf.h, and the hosts behind it, bpf/rack/rate.bpf.h. A sends to B: the switch
 * has A below and B above it, or, as receiver, the other way round. C0 is 3000 bytes, the limit 5 s.
 */
#include <string.h>

#include "world.h"

#define MS 1000000ULL
#define TOR 0x0a0b0c0d /* of the switch under test, */
#define OTHER 0x01020304 /* and of another */
#define C0 3000
#define LIMIT_NS (5000 * MS)
#define FIRST (1ULL << 32) /* where totals begin */
#define MARK 1
#define ALONE 1

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

static const struct siphash_key key = { 3, 4 }, other_key = { 5, 6 };

static void peers_become(enum voqs_where hiercc)
{
	struct peer peer = peer_usual();

	peer.hiercc = hiercc;
	peer.voq_c0 = C0;
	peer.voq_limit_ns = LIMIT_NS;
	peer.voq_period_ns = MS / 4;
	peer.prefixlen = 96 + 16;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer.prefixlen = 32;
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

static void port_become(__u32 flags)
{
	struct port port = port_usual();

	port.flags = flags;
	port.switch_id = 0x123;
	port_change(WORLD_IFINDEX, &port);
}

static void make_switch(void)
{
	world_make();
	control_set(MODE_ENFORCE, 0);
	tor_set(TOR);
	peers_become(VOQS_HERE);
	port_become(PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT);
}

static void make_host(void)
{
	world_make();
	hosts_strip();
	control_set(MODE_ENFORCE, 0);
	port_become(PORT_F_HOST | PORT_F_EDT);
	peers_become(VOQS_TOR);
}

TestSuite(tor, .init = make_switch, .fini = world_drop, .timeout = 60);
TestSuite(rate, .init = make_host, .fini = world_drop, .timeout = 60);
TestSuite(rate_xdp, .init = make_host, .fini = world_drop, .timeout = 60);

static struct voq_key to_b(int v6)
{
	return voq_key_of(v6, HOST_B, 128);
}

/* A's packet as it comes to its switch, and as it comes from a ToR. */
struct passing {
	int v6;
	__u16 sport; /* 0xc000 */
	int mark, no_block;
	__u32 tor, total;
	__u16 flows;
	__u8 prefixlen; /* 128 */
	unsigned int payload; /* 700 */
};

static struct frame frame_passing(struct passing p)
{
	struct frame inner = tcp(.v6 = p.v6, .payload = p.payload ?: 700);
	struct frame f = wrap(&inner, .sport = p.sport ?: 0xc000, .room = 5, .voq = !p.no_block, .voq_tor = p.tor,
			      .voq_total = p.total, .voq_flows = p.flows, .voq_prefixlen = p.prefixlen ?: 128);

	if (p.mark)
		f.b[at_voq(&f) + 11] = MARK;
	return f;
}
#define passing(...) frame_passing((struct passing){ __VA_ARGS__ })

static void expect_block(const struct frame *f, __u32 tor, __u32 total, __u16 flows, __u8 prefixlen, __u8 flags)
{
	const __u8 *p = f->b + at_voq(f);

	expect_eq(get32(p), tor);
	expect_eq(get32(p + 4), total);
	expect_eq(get16(p + 8), flows);
	expect_eq(p[10], prefixlen);
	expect_eq(p[11], flags);
}

/* The frame but for telemetry and VOQ block, which are the switch's to write. */
static void expect_rest(const struct frame *got, const struct frame *want)
{
	struct frame f = *want;

	memcpy(f.b + at_telem(&f), got->b + at_telem(got), 44 + 12);
	expect_frame(got, &f);
}

/* --- the switch that sends --- */

Test(tor, up__fills_in_the_block)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6);
		__u32 total = 0;
		int i;

		for (i = 0; i < 3; i++) {
			struct result r = run(HOP_MAP, &in);

			total += in.len;
			expect_verdict(r, VERDICT_PASS);
			expect_block(&r.out, TOR, total, 1, 128, 0);
			expect_rest(&r.out, &in);
			expect_eq(voq_get(to_b(v6)).voq.sent, FIRST + total);
			expect_counted(STAT_HOP_STAMPED, STAT_TOR_VOQ);
		}
	}
}

Test(tor, up__counts_flows_by_their_entropy)
{
	FOR_V4_AND_V6(v6) {
		unsigned int i;

		for (i = 0; i < 12; i++) {
			struct frame in = passing(.v6 = v6, .sport = 0xc000 + i % 3);
			struct result r = run(HOP_MAP, &in);

			expect_eq(get16(r.out.b + at_voq(&r.out) + 8), i < 3 ? i + 1 : 3);
		}
	}
}

/* What credit does not cover waits in fq until it is expected; nothing waits where nobody would obey. */
Test(tor, up__holds_what_has_no_credit)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6);
		__u64 before = clock_ns();
		struct result r;
		int i;

		for (i = 0; i < 20; i++)
			r = run(HOP_MAP, &in);
		expect_between(r.ctx.tstamp, before + 1, clock_ns() + LIMIT_NS);
		control_set(MODE_DRY_RUN, 0);
		r = run(HOP_MAP, &in);
		expect_eq(r.ctx.tstamp, 0);
		expect_eq(get32(r.out.b + at_voq(&r.out)), TOR);
		control_set(MODE_ENFORCE, 0);
		port_become(PORT_F_SWITCH | PORT_F_VOQ_UP);
		r = run(HOP_MAP, &in);
		expect_eq(r.ctx.tstamp, 0);
		port_become(PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT);
	}
}

/* A packet that credit covers leaves at once, but not before those of its flow that were there when there was none. */
Test(tor, up__keeps_a_flow_in_order)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6), other = passing(.v6 = v6, .sport = 0xc001);
		struct voq v;
		__u64 last;
		int i;

		for (i = 0; i < 20; i++)
			last = run(HOP_MAP, &in).ctx.tstamp;
		expect_between(last, clock_ns(), clock_ns() + LIMIT_NS);
		v = voq_get(to_b(v6));
		v.voq.credit = v.voq.sent;
		voq_set(to_b(v6), &v);
		expect_eq(run(HOP_MAP, &other).ctx.tstamp, 0);
		expect_eq(run(HOP_MAP, &in).ctx.tstamp, last);
	}
}

/* What waits in fq is no queue of the port: its stamp says 0. */
Test(tor, up__does_not_stamp_what_waits)
{
	struct port port = port_usual();
	struct frame in = passing();
	struct result r;

	port.flags = PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT;
	port.backlog_bytes = 80 * 1000;
	port_change(WORLD_IFINDEX, &port);
	r = run(HOP_MAP, &in);
	expect_eq(get64(r.out.b + at_hop(&r.out, 0)) & 0xffff, 0);
	port.flags = PORT_F_SWITCH | PORT_F_VOQ_UP;
	port_change(WORLD_IFINDEX, &port);
	r = run(HOP_MAP, &in);
	expect_eq(get64(r.out.b + at_hop(&r.out, 0)) & 0xffff, 1000);
}

static void expect_not_filled_in(const struct frame *in)
{
	struct result r = run(HOP_MAP, in);

	expect_eq(memcmp(r.out.b + at_voq(in), in->b + at_voq(in), 12), 0);
	expect_eq(r.ctx.tstamp, 0);
	expect_counted(STAT_HOP_STAMPED);
}

Test(tor, up__leaves_alone_what_is_not_its_own)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6, .tor = OTHER, .total = 5, .flows = 2);

		expect_not_filled_in(&in);
		in = passing(.v6 = v6);
		port_become(PORT_F_SWITCH | PORT_F_EDT);
		expect_not_filled_in(&in);
		port_become(PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT);
		peers_become(VOQS_OFF);
		expect_not_filled_in(&in);
		peers_become(VOQS_HERE);
		tor_set(0);
		expect_not_filled_in(&in);
		tor_set(TOR);
		expect_eq(voq_exists(to_b(v6)), 0);
	}
}

Test(tor, mark__is_told_to_the_daemon)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6, .mark = 1);
		struct sluice_addr a = addr_of(v6, HOST_A), b = addr_of(v6, HOST_B);
		struct tor_news news[4];
		struct result r = run(HOP_MAP, &in);

		expect_block(&r.out, TOR, in.len, 1, 128, 0);
		expect_eq(asks_taken(news, 4), 1);
		expect_eq(news[0].flags, TOR_NEWS_ASKED);
		expect_eq(memcmp(&news[0].host, &a, 16), 0);
		expect_eq(memcmp(&news[0].dst, &b, 16), 0);
		expect_eq(memcmp(&news[0].voq.addr, &b, 16), 0);
		expect_eq(news[0].voq.prefixlen, 128);
		expect_eq(news[0].rate_bps, WORLD_BPS);
		/* The other segments of a packet have the same mark. */
		run(HOP_MAP, &in);
		expect_eq(asks_taken(news, 4), 0);
		in = passing(.v6 = v6);
		run(HOP_MAP, &in);
		expect_eq(asks_taken(news, 4), 0);
	}
}

/* Of a stop and of its end the daemon is told once, if a host has asked. */
Test(tor, stop__is_told_without_being_asked)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6);
		struct tor_news news[4];
		struct voq v;
		int i;

		run(HOP_MAP, &in);
		for (i = 0; i < 2; i++) {
			v = voq_get(to_b(v6));
			v.voq.credit = v.voq.sent - v.hop_params.v_high - 10000;
			v.hop.stopped = 0;
			v.asked_ns = i;
			voq_set(to_b(v6), &v);
			run(HOP_MAP, &in);
			run(HOP_MAP, &in);
			expect_eq(asks_taken(news, 4), i);
		}
		expect_eq(news[0].flags, TOR_NEWS_STOPPED);
		expect_eq(memcmp(&news[0].voq, &(struct voq_key[]){ to_b(v6) }[0], sizeof(struct voq_key)), 0);
		v = voq_get(to_b(v6));
		v.voq.credit = v.voq.sent;
		voq_set(to_b(v6), &v);
		run(HOP_MAP, &in);
		run(HOP_MAP, &in);
		expect_eq(asks_taken(news, 4), 1);
		expect_eq(news[0].flags, 0);
		cr_assert(news[0].rate_bps > 8 * v.hop_params.rate_min);
	}
}

/* --- messages --- */

/* One entry, as in docs/protocol.md, from B to A, of the destination B. */
struct message {
	int v6;
	__u8 type; /* 6: RATE */
	__u32 seq; /* of the header */
	__u32 value;
	__u8 flags;
	__u8 prefixlen; /* 128 */
	const struct siphash_key *key;
	__u64 auth_seq;
};

static struct frame frame_message(struct message m)
{
	unsigned int bytes = 12 + 24 + (m.key ? 16 : 0);
	__u8 at[64] = { 0x98, (bytes - 4) / 4, 0, 59, 0x40 | (m.type ?: 6), 1, m.key ? 2 : 0 };
	struct sluice_addr src = addr_of(m.v6, HOST_B);

	put32(at + 8, m.seq);
	memcpy(at + 12, &src, 16);
	put32(at + 28, m.value);
	at[32] = m.prefixlen ?: 128;
	at[33] = m.flags;
	if (m.key)
		batch_sign(at, bytes, 1, m.v6, m.key, m.auth_seq);
	return frame_of_batch(m.v6, at, bytes);
}
#define message(...) frame_message((struct message){ __VA_ARGS__ })

/* --- credit at the switch --- */

Test(tor, credit__for_this_switch_ends_here)
{
	FOR_V4_AND_V6(v6) {
		struct frame data = passing(.v6 = v6), in;
		struct result r;

		run(HOP_MAP, &data);
		expect_that(world_ended());
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len);
		r = run(TOR_INGRESS, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
		expect_eq(voq_get(to_b(v6)).voq.credit, FIRST + data.len);
	}
}

/* Nor is anything counted of what is none of its business. */
Test(tor, credit__for_others_goes_on)
{
	FOR_V4_AND_V6(v6) {
		struct frame data = passing(.v6 = v6), in[] = {
			message(.v6 = v6, .type = 5, .seq = OTHER, .value = 700),
			message(.v6 = v6, .type = 5, .value = 700),
			message(.v6 = v6, .type = 6, .seq = TOR, .value = 700),
			message(.v6 = v6, .type = 4, .seq = TOR, .value = 700),
			tcp(.v6 = v6, .reply = 1, .payload = 100),
			passing(.v6 = v6),
		};
		unsigned int i;

		run(HOP_MAP, &data);
		expect_that(world_ended());
		for (i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
			struct result r = run(TOR_INGRESS, &in[i]);

			fixture("IPv%d, frame %u", v6 ? 6 : 4, i);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &in[i]);
		}
		world_ended(); /* what is not of this switch is not counted */
		expect_eq(voq_get(to_b(v6)).voq.credit, FIRST);
	}
}

Test(tor, credit__that_is_forged_goes_on)
{
	FOR_V4_AND_V6(v6) {
		struct frame data = passing(.v6 = v6), in;

		run(HOP_MAP, &data);
		expect_that(world_ended());
		keys_set(&key, 1);
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len);
		expect_untouched(TOR_INGRESS, &in, STAT_RX_NO_AUTH);
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len, .key = &other_key, .auth_seq = 1ULL << 40);
		expect_untouched(TOR_INGRESS, &in, STAT_RX_BAD_AUTH);
		expect_eq(voq_get(to_b(v6)).voq.credit, FIRST);
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len, .key = &key, .auth_seq = 1ULL << 40);
		expect_verdict(run(TOR_INGRESS, &in), VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
		expect_verdict(run(TOR_INGRESS, &in), VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED);
		/* It was signed by the clock of a switch: that of the host, in whose name it comes, is another. */
		expect_eq(host_exists(v6, HOST_B), 0);
		keys_set(&key, 0);
		expect_untouched(TOR_INGRESS, &in, STAT_RX_BAD_AUTH); /* nobody can tell whether it is right */
	}
}

/* --- the switch that receives --- */

Test(tor, down__tells_of_what_arrives)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6, .tor = OTHER, .total = 5000, .flows = 3);
		struct sluice_addr a = addr_of(v6, HOST_A), b = addr_of(v6, HOST_B);
		struct arrival_news news[2];
		struct result r;

		port_become(PORT_F_SWITCH | PORT_F_VOQ_DOWN);
		credit_alive(0, 0);
		r = run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED, STAT_ARRIVAL_NEWS);
		expect_eq(memcmp(r.out.b + at_voq(&in), in.b + at_voq(&in), 12), 0);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(news[0].ifindex, WORLD_IFINDEX);
		expect_eq(news[0].claim, 5000ULL << 32 | 3);
		expect_eq(news[0].bytes, in.len);
		expect_eq(news[0].packets, 1);
		expect_eq(news[0].key.tor, __builtin_bswap32(OTHER));
		expect_eq(news[0].key.prefixlen, 128);
		expect_eq(memcmp(&news[0].key.addr, &b, 16), 0);
		expect_eq(memcmp(&news[0].from, &a, 16), 0);
		expect_eq(memcmp(&news[0].to, &b, 16), 0);
		/* Of its own rack, or without a ToR. */
		in = passing(.v6 = v6);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED);
		in = passing(.v6 = v6, .no_block = 1);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED);
		expect_eq(news_taken(news, 2), 0);
	}
}

/* Credit keeps the queue short: nothing is said of it to HPCC. */
Test(tor, down__does_not_stamp_what_has_credit)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = passing(.v6 = v6, .tor = OTHER, .total = 5000, .flows = 3), bare = passing(.v6 = v6);
		struct result r;

		port_become(PORT_F_SWITCH | PORT_F_VOQ_DOWN);
		credit_alive(clock_ns(), 100000 * MS);
		r = run(HOP_MAP, &in);
		expect_frame(&r.out, &in);
		expect_counted(STAT_HOP_CREDIT, STAT_ARRIVAL_NEWS);
		run(HOP_MAP, &bare);
		expect_counted(STAT_HOP_STAMPED);
		credit_alive(clock_ns() - 10 * MS, MS);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED, STAT_ARRIVAL_NEWS);
	}
}

Test(tor, down__knows_its_peers)
{
	struct frame in = passing(.tor = OTHER, .total = 5000, .flows = 3);

	port_become(PORT_F_SWITCH | PORT_F_VOQ_DOWN);
	in.b[14 + 12] ^= 0x40;
	frame_fix(&in);
	put16(in.b + at_udp(&in) + 6, 0);
	run(HOP_MAP, &in);
	expect_counted(STAT_HOP_STAMPED);
}

/* --- the host --- */

static struct result leaves(int v6)
{
	struct frame in = tcp(.v6 = v6, .payload = 700);

	hosts_strip();
	return run(EGRESS, &in);
}

/* One packet of every period asks; the period is 5 base RTTs. */
Test(rate, egress__leaves_the_block_to_the_switch)
{
	FOR_V4_AND_V6(v6) {
		struct result r = leaves(v6);
		struct voq v;

		expect_block(&r.out, 0, 0, 0, 128, MARK);
		expect_counted(STAT_TX_DATA, STAT_VOQ_ASKED);
		r = leaves(v6);
		expect_block(&r.out, 0, 0, 0, 128, 0);
		v = voq_get(to_b(v6));
		v.asked_ns = clock_ns() - 5 * WORLD_T_NS;
		voq_set(to_b(v6), &v);
		r = leaves(v6);
		expect_block(&r.out, 0, 0, 0, 128, MARK);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).voq.rate_bps, 0);
		expect_eq(voq_get(to_b(v6)).voq.sent, FIRST);
		world_ended();
	}
}

SinkTest(rate, told__is_obeyed_until_the_limit)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = message(.v6 = v6, .value = 5000000);
		struct voq v;

		leaves(v6);
		expect_that(world_ended());
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_RATE, STAT_RATE_TAKEN);
		leaves(v6);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).voq.rate_bps, 5000000000ULL);
		v = voq_get(to_b(v6));
		v.told_ns = clock_ns() - LIMIT_NS;
		voq_set(to_b(v6), &v);
		leaves(v6);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).voq.rate_bps, 0);
		world_ended();
	}
}

/* A stop is R_min, a hundredth of the port; and there may be no R. */
SinkTest(rate, told__a_stop_and_none)
{
	struct frame stop = message(.value = 0), slow = message(.value = 1), alone = message(.flags = ALONE);

	leaves(0);
	run(sink, &stop);
	leaves(0);
	expect_eq(flow_get((struct ip_spec){}).voq.rate_bps, WORLD_BPS / 100);
	run(sink, &alone);
	leaves(0);
	expect_eq(flow_get((struct ip_spec){}).voq.rate_bps, 0);
	run(sink, &slow);
	leaves(0);
	expect_eq(flow_get((struct ip_spec){}).voq.rate_bps, WORLD_BPS / 100);
}

SinkTest(rate, told__of_what_was_not_asked)
{
	struct frame in = message(.value = 5000000), other = message(.value = 5000000, .prefixlen = 120);

	run(sink, &in);
	expect_counted(STAT_RX_RATE, STAT_RATE_NO_VOQ);
	leaves(0);
	expect_that(world_ended());
	run(sink, &other);
	expect_counted(STAT_RX_RATE, STAT_RATE_NO_VOQ);
	expect_eq(voq_get(to_b(0)).told_ns, 0);
}

SinkTest(rate, told__with_a_key)
{
	FOR_V4_AND_V6(v6) {
		struct frame good = message(.v6 = v6, .value = 5000000, .key = &key, .auth_seq = 1ULL << 40), in;

		keys_set(&key, 1);
		leaves(v6);
		expect_that(world_ended());
		expect_that(world_damaged(sink, &good, at_shim(&good) + 4));
		in = message(.v6 = v6, .value = 5000000);
		expect_untouched(sink, &in, STAT_RX_NO_AUTH);
		in = message(.v6 = v6, .value = 5000000, .key = &other_key, .auth_seq = 1ULL << 40);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH);
		expect_eq(voq_get(to_b(v6)).told_ns, 0);
		run(sink, &good);
		expect_counted(STAT_RX_RATE, STAT_RATE_TAKEN);
		run(sink, &good);
		expect_counted(STAT_RX_RATE, STAT_RX_REPLAYED);
		in = message(.v6 = v6, .value = 1, .key = &key, .auth_seq = (1ULL << 40) - 1);
		run(sink, &in);
		expect_counted(STAT_RX_RATE, STAT_RX_REPLAYED);
		keys_set(&key, 0);
		in = message(.v6 = v6, .value = 1, .key = &key, .auth_seq = (1ULL << 40) + 1);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH); /* nobody can tell whether it is right */
		expect_eq(voq_get(to_b(v6)).told_bps, 5000000000ULL);
	}
}

/* The switch of this rack counts what arrives, and grants it. */
SinkTest(rate, arrivals__are_the_switchs)
{
	struct frame inner = tcp(.reply = 1, .payload = 500);
	struct frame in = wrap(&inner, .room = 5, .voq = 1, .voq_tor = OTHER, .voq_total = 5000, .voq_flows = 3,
			       .voq_prefixlen = 128);
	struct arrival_news news[1];
	struct result r = run(sink, &in);

	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA);
	expect_eq(news_taken(news, 1), 0);
}
