// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/host/ingress.bpf.h: what arrives at a host. The frames come from B and are for A, so the flow whose
 * telemetry they carry is B to A, and the flow that they have feedback for, and into whose echo slot
 * their telemetry goes, is A to B.
 */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/cc/hpcc.h"
#include "world.h"

static void make_small(void)
{
	world_make_with(.flows = 1);
}

TestSuite(ingress, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(ingress_xdp, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(ingress_small, .init = make_small, .fini = world_drop, .timeout = 60);
TestSuite(ingress_small_xdp, .init = make_small, .fini = world_drop, .timeout = 60);

#define BUCKET_STRANGERS 1 /* of answers */
#define MS 1000000ULL
#define WRAP_NS (1ULL << 24)

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

/* What B sends: a wrapped reply of so many bytes. */
#define from_b(v6_, payload_, ...)                                                                 \
	({                                                                                         \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1, .payload = payload_);             \
		wrap(&inner_, __VA_ARGS__);                                                        \
	})

static const struct ip_spec a_to_b, a_to_b_v6 = { .v6 = 1 };

static const struct ip_spec *forward(int v6)
{
	return v6 ? &a_to_b_v6 : &a_to_b;
}

static void flow_runs(int v6, __u64 tx_bytes)
{
	flow_runs_of((struct ip_spec){ .v6 = v6, .payload = 100 }, tx_bytes);
}

/* --- stripping --- */

SinkTest(ingress, strip__gives_the_stack_what_was_sent)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 1000);
		struct frame in = wrap(&inner, .room = 5, .nhop = 2, .seq = 77);
		struct result r = run(sink, &in);

		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
	}
}

SinkTest(ingress, strip__every_shape)
{
	FOR_V4_AND_V6(v6) {
		unsigned int room, hops, echo, payload;

		for (room = 0; room <= 5; room++) {
			for (echo = 0; echo <= 6; echo++) {
				struct frame inner, in;
				struct result r;

				hops = echo ? echo - 1 : 0;
				payload = room ? 300 + room : 0;
				fixture("IPv%d, room for %u, %s of %u hops", v6 ? 6 : 4, room,
					echo ? "echo" : "no echo", hops);
				inner = tcp(.v6 = v6, .reply = 1, .payload = payload);
				in = wrap(&inner, .room = room, .echo = echo > 0, .echo_hops = hops);
				r = run(sink, &in);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &inner);
				if (room || flow_exists(*forward(v6)))
					world_counted((const int[]){ -1 }); /* see feedback__ */
				else
					expect_counted(STAT_RX_DATA, echo ? STAT_FB_NO_FLOW : -1);
			}
		}
	}
}

SinkTest(ingress, strip__udp_of_every_shape)
{
	static const unsigned int payloads[] = { 0, 1, 2, 3, 4, 7, 11, 12, 13, 500 };

	FOR_V4_AND_V6(v6) {
		unsigned int room, echo, i;

		for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
			for (room = 0; room <= 5; room += 5) {
				for (echo = 0; echo <= 6; echo++) {
					struct frame inner = udp(.v6 = v6, .reply = 1, .payload = payloads[i]);
					struct frame in = wrap(&inner, .room = room, .echo = echo > 0,
							       .echo_hops = echo ? echo - 1 : 0);
					struct result r = run(sink, &in);

					fixture("IPv%d, %u bytes, room for %u, echo %u", v6 ? 6 : 4,
						payloads[i], room, echo);
					expect_verdict(r, VERDICT_PASS);
					expect_frame(&r.out, &inner);
					world_counted((const int[]){ -1 });
				}
			}
		}
		expect_eq(flow_exists((struct ip_spec){ .v6 = v6, .udp = 1 }), 1);
		expect_eq(flow_exists(*forward(v6)), 0);
	}
}

/* An Ethernet frame of 60 bytes and less has padding, which the lengths do not count. */
SinkTest(ingress, strip__with_ethernet_padding)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 1), in = wrap(&inner, .room = 1);
		struct result r;

		in.len += 30;
		r = run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(r.out.len, inner.len + 30);
		r.out.len = inner.len;
		expect_frame(&r.out, &inner);
	}
}

SinkTest(ingress, strip__moves_the_mark_inside)
{
	FOR_V4_AND_V6(v6) {
		unsigned int ecn;

		for (ecn = 0; ecn < 4; ecn++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100,
						 .tos = 0xb8 | ecn),
				     in = wrap(&inner, .room = 5), marked = frame_with_ecn(in, CE), want;
			struct result r;

			fixture("IPv%d, ECN %u", v6 ? 6 : 4, ecn);
			r = run(sink, &in);
			expect_frame(&r.out, &inner);
			if (ecn == CE) /* both marked: nothing to move, but to say so */
				expect_counted(STAT_RX_DATA, STAT_RX_CE);
			else
				expect_counted(STAT_RX_DATA);
			r = run(sink, &marked);
			want = ecn ? frame_with_ecn(inner, CE) : inner;
			expect_frame(&r.out, &want);
			if (ecn)
				expect_counted(STAT_RX_DATA, STAT_RX_CE);
			else
				expect_counted(STAT_RX_DATA);
		}
	}
}

/* --- the echo slot --- */

SinkTest(ingress, slot__has_the_telemetry_of_the_packet)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 500, .room = 5, .nhop = 3, .path = 0x456, .seq = 0xfedcba98,
					 .hop = { 0x0123456789abcdef, 0x1122334455667788, ~0ULL, 4, 5 });
		__u64 before = clock_ns();
		struct flow f;

		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get(*forward(v6));
		expect_eq(f.echo.version, 2);
		expect_eq(f.echo.sent, 0);
		expect_eq(f.echo.seq, 0xfedcba98);
		expect_eq(f.echo.nhop_path, 3 << 12 | 0x456);
		expect_eq(f.echo.hops, 3);
		expect_eq(f.echo.hop[0], 0x0123456789abcdef);
		expect_eq(f.echo.hop[1], 0x1122334455667788);
		expect_eq(f.echo.hop[2], ~0ULL);
		expect_between(f.echo.rx_ns, before, clock_ns());
		expect_eq(f.last_rx_ns, f.echo.rx_ns);
		expect_eq(f.tx_bytes, 0);
		expect_eq(f.feedbacks, 0);
		expect_eq(flow_exists((struct ip_spec){ .v6 = v6, .reply = 1 }), 0);

		in = from_b(v6, 500, .room = 5, .nhop = 1, .path = 7, .seq = 8, .hop = { 9 });
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get(*forward(v6));
		expect_eq(f.echo.version, 4);
		expect_eq(f.echo.seq, 8);
		expect_eq(f.echo.nhop_path, 1 << 12 | 7);
		expect_eq(f.echo.hops, 1);
		expect_eq(f.echo.hop[0], 9);
	}
}

SinkTest(ingress, slot__of_a_path_without_switches)
{
	struct frame in = from_b(0, 500, .room = 5, .seq = 3);

	run(sink, &in);
	expect_eq(flow_get(a_to_b).echo.version, 2);
	expect_eq(flow_get(a_to_b).echo.hops, 0);
}

SinkTest(ingress, slot__is_left_alone_while_another_cpu_writes)
{
	struct frame in = from_b(0, 500, .room = 5, .nhop = 1, .seq = 3);
	struct flow f;

	run(sink, &in);
	f = flow_get(a_to_b);
	f.echo.version++;
	flow_set(a_to_b, &f);
	in = from_b(0, 500, .room = 5, .nhop = 2, .seq = 4);
	run(sink, &in);
	expect_eq(flow_get(a_to_b).echo.version, f.echo.version);
	expect_eq(flow_get(a_to_b).echo.seq, 3);
	expect_counted(STAT_RX_DATA, STAT_RX_DATA);
}

/* An ACK has no telemetry; what waits in the slot stays. */
SinkTest(ingress, slot__is_not_touched_by_an_ack)
{
	struct frame in = from_b(0, 500, .room = 5, .nhop = 1, .seq = 3), ack;

	run(sink, &in);
	ack = from_b(0, 0, .echo = 1, .echo_hops = 1);
	run(sink, &ack);
	expect_eq(flow_get(a_to_b).echo.version, 2);
	expect_eq(flow_get(a_to_b).echo.seq, 3);
	expect_counted(STAT_RX_DATA, STAT_RX_DATA, STAT_FB_FIRST);
}

SinkTest(ingress, telemetry__with_more_hops_than_room)
{
	FOR_V4_AND_V6(v6) {
		unsigned int room, nhop;

		for (room = 1; room <= 5; room++) {
			for (nhop = room + 1; nhop < 16; nhop++) {
				struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500),
					     in = wrap(&inner, .room = room, .nhop = nhop);
				struct result r = run(sink, &in);

				fixture("IPv%d, %u hops in room for %u", v6 ? 6 : 4, nhop, room);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &inner);
				expect_counted(STAT_RX_DATA, STAT_RX_BAD_TELEM);
				expect_eq(flow_exists(*forward(v6)), 0);
			}
		}
	}
}

SinkTest(ingress, host__that_sends_telemetry_strips_it_too)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 500, .room = 5);
		struct host h = { .unanswered_ns = 5, .asked_ns = 6 };
		__u64 before = clock_ns();

		run(sink, &in);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_between(host_get(v6, HOST_B).heard_ns, before, clock_ns());
		host_set(v6, HOST_B, &h);
		run(sink, &in);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
		expect_eq(host_get(v6, HOST_B).asked_ns, 6);
		expect_between(host_get(v6, HOST_B).heard_ns, before, clock_ns());
		expect_counted(STAT_RX_DATA, STAT_RX_DATA);
	}
}

/*
 * Data without telemetry, which a peer whose telemetry is probes sends from the first packet on, makes the
 * flow, too: a hop to a pod is looked for in it. There is nothing to echo.
 */
SinkTest(ingress, bare_data__makes_the_flow)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 100, .seq = 77), inner = tcp(.v6 = v6, .reply = 1, .payload = 100);
		struct result r = run(sink, &in);

		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_exists(*forward(v6)), 1);
		expect_eq(flow_get(*forward(v6)).echo.version, 0);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}

/* What waits to be echoed waits on. */
SinkTest(ingress, bare_data__leaves_the_echo_as_it_is)
{
	FOR_V4_AND_V6(v6) {
		struct frame stamped = from_b(v6, 100, .room = 5, .nhop = 1, .seq = 77, .hop = { 42 }),
			     bare = from_b(v6, 100, .seq = 277);
		struct flow_echo before, after;

		run(sink, &stamped);
		before = flow_get(*forward(v6)).echo;
		run(sink, &bare);
		after = flow_get(*forward(v6)).echo;
		expect_counted(STAT_RX_DATA, STAT_RX_DATA);
		cr_assert(!memcmp(&before, &after, sizeof(before)), "IPv%d: the echo moved", v6 ? 6 : 4);
	}
}

SinkTest(ingress_small, flow_map_full__is_stripped_and_not_echoed)
{
	struct frame first = from_b(0, 100, .room = 5, .nhop = 1),
		     inner = tcp(.reply = 1, .payload = 100, .dport = 7),
		     second = wrap(&inner, .room = 5, .nhop = 1);
	struct result r;

	run(sink, &first);
	expect_counted(STAT_RX_DATA);
	r = run(sink, &second);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA, STAT_RX_FLOW_FULL);
	expect_eq(flows_count(), 1);
}

SinkTest(ingress, no_port__is_stripped_and_makes_no_flow)
{
	struct frame inner = tcp(.reply = 1, .payload = 100), in = wrap(&inner, .room = 5, .nhop = 1);
	struct result r;

	port_remove(WORLD_IFINDEX);
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA);
	expect_eq(flows_count(), 0);
}

/* --- feedback --- */

/* One hop's report as the wire has it, put together from the picture in telemetry.h. */
static __u64 hop_of(unsigned int code, __u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes)
{
	return (__u64)code << 60 | (ts_ns & 0xffffff) << 36 | (tx_bytes / 128 & 0xfffff) << 16 |
	       qlen_bytes / 80;
}

/* What the programs must make of an echo, by the same header on the host. */
struct feedback {
	unsigned int hops;
	__u16 path;
	__u64 hop[5];
	__u32 seq;
	__s64 gap_ns; /* since the last feedback */
	int probe;    /* it comes with a PROBE_REPLY and not as an echo */
	int udp;      /* for the flow of UDP */
};

/* An answer to the question that A asked with a packet like s, with what it collected. */
static struct frame reply_of(struct ip_spec s, struct wire_spec w)
{
	unsigned int len = 14 + (s.v6 ? 40 : 20) + 20;
	struct frame inner = frame_of(s), probe;

	if (inner.len > len)
		inner = frame_cut(inner, len);
	w.msg = 2;
	w.room = 5;
	probe = frame_wrap(&inner, w);
	return frame_turned(probe);
}

#define reply(s, ...) reply_of(s, (struct wire_spec){ __VA_ARGS__ })

static struct hpcc_ack ack_of(const struct feedback *fb, const struct flow *f)
{
	struct hpcc_ack ack = {
		.snd_nxt = f->tx_bytes,
		.gap_ns = f->fb_rx_ns ? fb->gap_ns : HPCC_GAP_UNKNOWN,
		.path_id = fb->path,
		.hops = fb->hops,
	};
	unsigned int i;

	/* the newest position with these 32 bits that is not after the last one sent */
	ack.seq = (f->tx_bytes & ~0xffffffffULL) | fb->seq;
	if (ack.seq > f->tx_bytes)
		ack.seq -= 1ULL << 32;
	for (i = 0; i < 5; i++)
		ack.hop[i] = telem_unpack(i < fb->hops ? fb->hop[i] : 0);
	return ack;
}

/*
 * Sends the feedback, by an ACK or with data or in a PROBE_REPLY, and expects that the flow's state is
 * what hpcc.h makes of it, field by field. Returns the kind.
 */
static enum hpcc_kind expect_feedback(const struct feedback *fb, unsigned int payload,
				      enum sluice_mode mode)
{
	static const enum sluice_stat stat[] = {
		[HPCC_FIRST] = STAT_FB_FIRST,
		[HPCC_FAST] = STAT_FB_FAST,
		[HPCC_FULL] = STAT_FB_FULL,
		[HPCC_SKIPPED] = STAT_FB_SKIPPED,
	};
	struct ip_spec back = { .udp = fb->udp, .reply = 1, .payload = payload },
		       spec = { .udp = fb->udp, .payload = 100 };
	struct frame inner = frame_of(back), in;
	struct flow f = flow_get(spec), now;
	struct hpcc_state want = f.cc;
	struct hpcc_ack ack = ack_of(fb, &f);
	__u64 before, after, age = fb->probe ? 0 : 100 * 1024;
	enum hpcc_kind kind;
	struct result r;

	if (fb->probe)
		in = reply(spec, .nhop = fb->hops, .path = fb->path, .seq = fb->seq,
			   .hop = { fb->hop[0], fb->hop[1], fb->hop[2], fb->hop[3], fb->hop[4] });
	else
		in = wrap(&inner, .room = payload ? 5 : 0, .echo = 1, .echo_hops = fb->hops,
			  .echo_path = fb->path, .echo_seq = fb->seq, .echo_age = 100,
			  .echo_hop = { fb->hop[0], fb->hop[1], fb->hop[2], fb->hop[3], fb->hop[4] });
	if (mode == MODE_OBSERVE) {
		kind = hpcc_observe(&want, &f.params, &ack);
		if (kind != HPCC_SKIPPED)
			hpcc_record(&want, &ack);
	} else {
		kind = hpcc_new_ack(&want, &f.params, &ack);
	}
	if (f.fb_rx_ns) {
		f.fb_rx_ns = clock_ns() - age - fb->gap_ns;
		flow_set(spec, &f);
	}
	before = clock_ns();
	r = run(sink, &in);
	after = clock_ns();
	if (fb->probe) {
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, stat[kind]);
	} else {
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, stat[kind]);
	}
	now = flow_get(spec);
	expect_eq(now.cc.w, want.w);
	expect_eq(now.cc.wc, want.wc);
	expect_eq(now.cc.u, want.u);
	expect_eq(now.cc.u_frac, want.u_frac);
	expect_eq(now.cc.rate_bps, want.rate_bps);
	expect_eq(now.cc.inc_stage, want.inc_stage);
	expect_eq(now.cc.last_update_seq, want.last_update_seq);
	cr_assert(!memcmp(&now.cc, &want, sizeof(want)), "%sthe record of the hops", world_fixture());
	expect_eq(now.lock, 0);
	if (kind == HPCC_SKIPPED) {
		expect_eq(now.feedbacks, f.feedbacks);
		expect_eq(now.fb_rx_ns, f.fb_rx_ns);
		expect_eq(now.last_fb_ns, f.last_fb_ns);
	} else {
		expect_eq(now.feedbacks, f.feedbacks + 1);
		expect_eq(now.fb_probe, fb->probe);
		expect_between(now.fb_rx_ns, before - age, after - age);
		expect_between(now.last_fb_ns, before, after);
	}
	return kind;
}

/* A port of 100 Gbit/s that sends at permille of its speed, with a queue. */
static void hop_advance(struct feedback *fb, unsigned int n, __u64 dt_ns, unsigned int permille,
			__u64 qlen_bytes)
{
	__u64 ts = (fb->hop[n] >> 36 & 0xffffff) + dt_ns;
	__u64 tx = (fb->hop[n] >> 16 & 0xfffff) * 128 + dt_ns * 25 / 2 * permille / 1000;

	fb->hop[n] = hop_of(12, ts, tx, qlen_bytes);
}

SinkTest(ingress, feedback__is_what_hpcc_computes)
{
	struct feedback fb = { .hops = 2, .path = 0x321, .gap_ns = 0 };
	unsigned int kinds[4] = {}, i;

	flow_runs(0, 1000000);
	fb.hop[0] = hop_of(12, 0xfffff0, 0xfffff * 128, 0);
	fb.hop[1] = hop_of(12, 5, 7 * 128, 8000);
	fb.seq = 20000;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	for (i = 0; i < 400; i++) {
		struct flow f = flow_get(a_to_b);
		__u64 dt = 50000 + i % 7 * 1000;

		fixture("feedback %u", i);
		/* Loads from 60 to 130 %, a queue that comes and goes, and the RTT turns every 20th. */
		hop_advance(&fb, 0, dt, 600 + i * 13 % 700, i % 50 < 25 ? 0 : i * 400);
		hop_advance(&fb, 1, dt + 10, 500 + i * 29 % 400, i % 3 * 1600);
		fb.gap_ns = dt;
		fb.seq += 60000;
		f.tx_bytes = fb.seq + 1000000;
		flow_set(a_to_b, &f);
		kinds[expect_feedback(&fb, i % 2 * 100, i % 5 ? MODE_DRY_RUN : MODE_ENFORCE)]++;
	}
	/* The test is worth something only if it saw both. */
	cr_assert(kinds[HPCC_FAST] > 100 && kinds[HPCC_FULL] > 10, "fast %u, full %u",
		  kinds[HPCC_FAST], kinds[HPCC_FULL]);
	cr_assert(flow_get(a_to_b).cc.w < flow_get(a_to_b).params.w_init, "W never moved");
}

/* Where 10.1.0.0/16 has a base RTT of 100 us and this variant; the flow takes it up. */
static void flow_runs_variant(enum hpcc_variant variant)
{
	struct peer peer = peer_usual();

	peer.t_ns = 100000;
	peer.variant = variant;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	flow_runs(0, 1000000);
	expect_eq(flow_get(a_to_b).params.variant, variant);
}

/*
 * The variant changes while the flow runs, and the dampener is gone with it. Feedback comes once per RTT, so
 * that what it stands for (hpcc_stands_for()) is more than s whatever the clock does in the test.
 */
SinkTest(ingress, feedback__is_what_the_peers_variant_computes)
{
	static const enum hpcc_variant variants[] = { HPCC_VAI_SF, HPCC_HIGH_AI, HPCC_VAI_SF,
						      HPCC_PLAIN };
	struct feedback fb = { .hops = 1, .seq = 20000, .hop = { hop_of(12, 0, 0, 0) } };
	unsigned int i, k, full, dampened;

	for (k = 0; k < 4; k++) {
		flow_runs_variant(variants[k]);
		for (i = full = dampened = 0; i < 60; i++) {
			struct flow f = flow_get(a_to_b);

			fixture("variant %u, feedback %u", variants[k], i);
			hop_advance(&fb, 0, 100000 + i % 7 * 1000, 700 + i * 13 % 600,
				    i % 20 < 10 ? 4000000 : 0);
			fb.gap_ns = f.feedbacks ? 100000 + i % 7 * 1000 : 0;
			fb.seq += 600000;
			f.tx_bytes = fb.seq + 1000000;
			f.cc.wc = f.cc.w = 600000ULL << 12;
			flow_set(a_to_b, &f);
			full += expect_feedback(&fb, 0, MODE_DRY_RUN) == HPCC_FULL;
			dampened += flow_get(a_to_b).cc.vai.dampener_q8 > 0;
		}
		cr_assert_gt(full, 20);
		expect_eq(dampened > 0, variants[k] == HPCC_VAI_SF);
	}
}

/* Of the decreases of a flow with 1/8 of the largest window one in eight is committed. */
SinkTest(ingress, feedback__probabilistic)
{
	struct feedback fb = { .hops = 1, .seq = 20000, .hop = { hop_of(12, 0, 0, 0) } };
	unsigned int i, full = 0;

	flow_runs_variant(HPCC_PROBABILISTIC);
	for (i = 0; i < 400; i++) {
		struct frame inner = tcp(.reply = 1), in;
		struct flow f = flow_get(a_to_b);

		f.tx_bytes = fb.seq + 100000; /* each is a round of its own */
		f.cc.wc = f.params.w_init / 8;
		f.cc.u = 2 * Q24_ONE;
		f.fb_rx_ns = 0;
		flow_set(a_to_b, &f);
		in = wrap(&inner, .echo = 1, .echo_hops = 1, .echo_seq = fb.seq,
			  .echo_hop = { fb.hop[0] });
		run(sink, &in);
		full += flow_get(a_to_b).cc.wc != f.cc.wc;
		hop_advance(&fb, 0, 100000, 1300, 0);
		fb.seq += 600000;
	}
	/* 50 on average: either bound is five deviations away. */
	cr_assert(full > 17 && full < 83, "%u of 400", full);
}

SinkTest(ingress, feedback__moves_w_and_r_by_the_paper)
{
	/* One hop at 190 % for one whole RTT: U = 1.9, W = Wc * 0.95 / 1.9 + W_AI. */
	struct feedback fb = { .hops = 1, .seq = 1000, .hop = { hop_of(12, 0, 0, 0) } };
	struct flow f;

	flow_runs(0, 1000000);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	expect_eq(flow_get(a_to_b).cc.w, 12500000ULL << 12);
	hop_advance(&fb, 0, 1000000, 1900, 0);
	fb.gap_ns = 1000000;
	f = flow_get(a_to_b);
	expect_eq(f.cc.last_update_seq, 1000000); /* the first round ends with what is sent from here on */
	f.tx_bytes = 2000000;
	flow_set(a_to_b, &f);
	fb.seq = 1000001;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FULL);
	f = flow_get(a_to_b);
	expect_between(f.cc.u, Q24_ONE * 1.8999, Q24_ONE * 1.9001);
	expect_between(f.cc.w >> 12, 6250000 + 6250 - 700, 6250000 + 6250 + 700);
	expect_eq(f.cc.wc, f.cc.w);
	expect_between(f.cc.rate_bps / 1000000, 50049 - 5, 50049 + 6);
	expect_eq(f.cc.last_update_seq, 2000000);
}

SinkTest(ingress, feedback__kinds_that_change_nothing)
{
	struct feedback fb = { .hops = 2, .path = 5, .seq = 1000 }, same;

	flow_runs(0, 1000000);
	fixture("no hop");
	same = (struct feedback){ .seq = 1 };
	expect_eq(expect_feedback(&same, 0, MODE_DRY_RUN), HPCC_SKIPPED);
	fixture("the first");
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("the same again");
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_SKIPPED);
	fixture("an older one");
	same = fb;
	fb.hop[0] = hop_of(12, -1000, 0, 0);
	fb.hop[1] = hop_of(12, -1000, 0, 0);
	fb.gap_ns = -1000;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_SKIPPED);
	fb = same;
	fixture("another path");
	fb.path = 6;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("another number of hops");
	fb.hops = 3;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("another speed");
	hop_advance(&fb, 0, 1000, 500, 0);
	hop_advance(&fb, 1, 1000, 500, 0);
	fb.hop[2] = hop_of(13, 1000, 1280, 0);
	fb.gap_ns = 1000;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	fixture("after a pause");
	hop_advance(&fb, 0, 9 * MS, 100, 0);
	hop_advance(&fb, 1, 9 * MS, 100, 0);
	fb.hop[2] = hop_of(13, 1000 + 9 * MS, 1280, 0);
	fb.gap_ns = 9 * MS;
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
}

/* The gap says how often the 24 bits wrapped. */
SinkTest(ingress, feedback__after_the_hops_clock_wrapped)
{
	struct feedback fb = { .hops = 1, .seq = 1000 };
	struct peer peer = peer_usual();
	struct port port = port_usual();
	unsigned int wraps;

	/* 1 Gbit/s and 20 ms: 8 RTTs are 160 ms, and the byte counter takes 1 s to wrap */
	peer.t_ns = 20 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	port.speed_bps = 1000000000;
	port_set(WORLD_IFINDEX, &port);
	flow_runs(0, 1000000);
	fb.hop[0] = hop_of(2, 0, 0, 0);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	for (wraps = 0; wraps <= 8; wraps++) {
		__u64 ts = fb.hop[0] >> 36 & 0xffffff, tx = (fb.hop[0] >> 16 & 0xfffff) * 128;
		__u64 dt = wraps * WRAP_NS + 3 * MS;

		fixture("%u times", wraps);
		fb.hop[0] = hop_of(2, ts + dt, tx + dt / 10, 0);
		fb.gap_ns = dt + 2 * MS; /* queueing moved it by that much */
		fb.seq += 10;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN) == HPCC_SKIPPED, 0);
		if (wraps)
			expect_between(flow_get(a_to_b).cc.u, Q24_ONE * 0.79, Q24_ONE * 0.81);
	}
	fixture("reordered by a whole wrap");
	fb.gap_ns = -(__s64)(WRAP_NS - 3 * MS);
	fb.hop[0] = hop_of(2, (fb.hop[0] >> 36) + 3 * MS, 0, 0);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_SKIPPED);
}

/* 32 bits of the position come back; what was sent meanwhile says the rest. */
SinkTest(ingress, feedback__position_beyond_4_gb)
{
	static const __u64 sent[] = { 0x1ffffff00, 0x200000000, 0x2000000ff };
	struct feedback fb = { .hops = 1, .hop = { hop_of(12, 0, 0, 0) } };
	unsigned int i;

	flow_runs(0, 1000);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	for (i = 0; i < 3; i++) {
		struct flow f = flow_get(a_to_b);

		fixture("%llu bytes sent", sent[i]);
		f.tx_bytes = sent[i];
		f.cc.last_update_seq = sent[i] - 10000;
		flow_set(a_to_b, &f);
		hop_advance(&fb, 0, 1000, 500, 0);
		fb.gap_ns = 1000;
		fb.seq = sent[i] - 10000;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FAST);
		hop_advance(&fb, 0, 1000, 500, 0);
		fb.seq = sent[i] - 9999;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FULL);
		expect_eq(flow_get(a_to_b).cc.last_update_seq, sent[i]);
	}
}

/*
 * A flow that was carried over may hear of packets that it does not know to be sent, or of those of an earlier life:
 * neither is a position that what follows has to reach first.
 */
SinkTest(ingress, feedback__position_that_was_not_sent)
{
	static const struct {
		__u64 sent;
		__u32 seq;
		int old; /* 3.5 GiB before what was sent, and less */
	} cases[] = {
		{ 1000000, 1000001, 0 },     { 1000000, 1500000000, 0 },     { 1000000, 0x80000000, 0 },
		{ 1000000, 0xfffffff0, 0 },  { 1000000, 980000, 1 },	     { 0x1fffffff0, 0x10, 0 },
		{ 0x200000000, 1, 0 },	     { 0x200000000, 0x1fffffff, 0 }, { 0x200000000, 0x20000000, 1 },
		{ 0x200000000, 0x80000000, 1 },
	};
	struct frame first = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_hop = { hop_of(12, 0, 0, 0) }), in;
	unsigned int i;

	flow_runs(0, 1000);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__u64 sent = cases[i].sent;
		struct flow f = flow_get(a_to_b);

		fixture("%#llx bytes sent, feedback for %#x", sent, cases[i].seq);
		f.tx_bytes = sent;
		f.cc.hops = 0;
		flow_set(a_to_b, &f);
		run(sink, &first);
		f = flow_get(a_to_b);
		f.cc.last_update_seq = sent - 10000;
		f.fb_rx_ns = 0;
		flow_set(a_to_b, &f);
		in = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = cases[i].seq,
			    .echo_hop = { hop_of(12, 10000, 0, 0) });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST, STAT_RX_DATA, cases[i].old ? STAT_FB_FAST : STAT_FB_FULL);
		expect_eq(flow_get(a_to_b).cc.last_update_seq, cases[i].old ? sent - 10000 : sent);
	}
}

/*
 * A round ends with the first byte that leaves after the update, and not with what has been given to
 * fq and waits there. At 80 Gbit/s 50 ms are 500 MB; the test takes some of that time.
 */
SinkTest(ingress, feedback__round_ends_before_what_still_waits)
{
	struct frame first = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_hop = { hop_of(12, 0, 0, 0) }),
		     second = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = 20,
				     .echo_hop = { hop_of(12, 10000, 0, 0) });
	__u64 sent = 10000000000ULL, before;
	struct flow f;

	flow_runs(0, sent);
	run(sink, &first);
	f = flow_get(a_to_b);
	f.cc.rate_bps = 80000000000ULL;
	f.cc.last_update_seq = 1;
	before = clock_ns();
	f.clock_ns = before + 50 * MS;
	flow_set(a_to_b, &f);
	run(sink, &second);
	expect_counted(STAT_RX_DATA, STAT_FB_FIRST, STAT_RX_DATA, STAT_FB_FULL);
	expect_between(flow_get(a_to_b).cc.last_update_seq, sent - 50 * MS * 10,
		       sent - 50 * MS * 10 + (clock_ns() - before) * 10 + 10);

	fixture("a clock that makes no sense is not believed");
	f = flow_get(a_to_b);
	f.clock_ns = clock_ns() + 70000 * MS;
	f.cc.last_update_seq = 0;
	flow_set(a_to_b, &f);
	second = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = 20,
			.echo_hop = { hop_of(12, 20000, 0, 0) });
	run(sink, &second);
	expect_counted(STAT_RX_DATA, STAT_FB_FULL);
	expect_eq(flow_get(a_to_b).cc.last_update_seq, sent);
}

/*
 * What waits is told from the clock and R. After R has risen that is more than was ever sent: the
 * round then ends with the packet whose feedback this is, and not before the flow began.
 */
SinkTest(ingress, feedback__round_when_more_seems_to_wait_than_was_sent)
{
	struct feedback fb = { .hops = 1, .seq = 2000, .hop = { hop_of(12, 0, 0, 0) } };
	struct flow f;
	struct frame in;

	flow_runs(0, 3000);
	expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
	f = flow_get(a_to_b);
	f.cc.rate_bps = 80000000000ULL;
	f.cc.last_update_seq = 1;
	f.clock_ns = clock_ns() + 900 * MS;
	flow_set(a_to_b, &f);
	in = from_b(0, 0, .echo = 1, .echo_hops = 1, .echo_seq = 2100,
		    .echo_hop = { hop_of(12, 10000, 0, 0) });
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_FULL);
	expect_eq(flow_get(a_to_b).cc.last_update_seq, 2100);

	fixture("a probe's position is in the flow too");
	in = tcp(.payload = 100);
	expect_eq(get32(run(EGRESS, &in, .clone = 1).out.b + 14 + 28 + 8), 0);
}

SinkTest(ingress, feedback__observed_only)
{
	struct feedback fb = { .hops = 1, .seq = 1000, .hop = { hop_of(12, 0, 0, 0) } };
	struct flow before;

	control_set(MODE_OBSERVE, 0);
	flow_runs(0, 1000000);
	before = flow_get(a_to_b);
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FIRST);
	hop_advance(&fb, 0, 1000000, 1900, 0);
	fb.gap_ns = 1000000;
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FAST);
	expect_between(flow_get(a_to_b).cc.u, Q24_ONE * 1.8999, Q24_ONE * 1.9001);
	expect_eq(flow_get(a_to_b).cc.w, before.cc.w);
	expect_eq(flow_get(a_to_b).cc.rate_bps, before.cc.rate_bps);
}

SinkTest(ingress, feedback__not_while_another_cpu_has_the_flow)
{
	struct frame inner = tcp(.reply = 1), in = wrap(&inner, .echo = 1, .echo_hops = 1);
	struct flow f, now;
	struct result r;

	flow_runs(0, 1000000);
	f = flow_get(a_to_b);
	f.lock = 1;
	flow_set(a_to_b, &f);
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA, STAT_FB_CONTENDED);
	now = flow_get(a_to_b);
	expect_eq(now.lock, 1);
	cr_assert(!memcmp(&now.cc, &f.cc, sizeof(f.cc)), "the state moved");
	expect_eq(now.feedbacks, 0);
}

SinkTest(ingress, feedback__for_an_unknown_flow)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1),
			     in = wrap(&inner, .echo = 1, .echo_hops = 2);
		struct result r = run(sink, &in);

		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_FB_NO_FLOW);
		expect_eq(flow_exists(*forward(v6)), 0);
	}
}

/*
 * An echo is read at the length of two hops, which is there in front of any TCP packet, and of any
 * IPv6 packet. A shorter one in front of a shorter datagram is left out, and the datagram stripped.
 */
SinkTest(ingress, feedback__before_a_small_datagram)
{
	unsigned int hops, payload;

	FOR_V4_AND_V6(v6) {
		flow_runs_of((struct ip_spec){ .v6 = v6, .udp = 1, .payload = 100 }, 1000);
		for (hops = 0; hops <= 3; hops++) {
			for (payload = 0; payload <= 20; payload++) {
				struct frame inner = udp(.v6 = v6, .reply = 1, .payload = payload);
				struct frame in = wrap(&inner, .echo = 1, .echo_hops = hops,
						       .echo_hop = { hop_of(12, 1, 0, 0) });
				unsigned int follows = 12 + 8 * hops + (v6 ? 40 : 20) + 8 + payload;
				struct flow f = flow_get((struct ip_spec){ .v6 = v6, .udp = 1 });
				struct result r;

				fixture("IPv%d, %u hops, %u bytes", v6 ? 6 : 4, hops, payload);
				f.cc.hops = 0; /* a first feedback, each time */
				flow_set((struct ip_spec){ .v6 = v6, .udp = 1 }, &f);
				r = run(sink, &in);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &inner);
				expect_counted(STAT_RX_DATA,
					       hops && follows >= 52 ? STAT_FB_FIRST : STAT_FB_SKIPPED);
			}
		}
	}
}

/* With the telemetry in front of it there is always enough. */
SinkTest(ingress, slot__of_the_smallest_datagram)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 1),
			     in = wrap(&inner, .room = 5, .nhop = 5, .seq = 3,
				       .hop = { 1, 2, 3, 4, 0x5555 });
		struct flow f;

		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get((struct ip_spec){ .v6 = v6, .udp = 1 });
		expect_eq(f.echo.version, 2);
		expect_eq(f.echo.hop[4], 0x5555);
	}
}

SinkTest(ingress, feedback__takes_new_parameters_first)
{
	struct frame in = from_b(0, 0, .echo = 1, .echo_hops = 1);
	struct peer peer = peer_usual();

	flow_runs(0, 1000);
	peer.t_ns = 20000;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	run(sink, &in);
	expect_eq(flow_get(a_to_b).params.t_ns, 20000);
	expect_eq(flow_get(a_to_b).cc.w, 250000ULL << 12);
	expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
}

/* --- questions and answers --- */

SinkTest(ingress, probe__is_turned_round)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 300, .tos = 0xb8),
			     in = frame_probe(&inner, 0xc777, 0x12345678), want;
		__u64 before = clock_ns();
		struct result r;

		put16(in.b + at_telem(&in), 2 << 12 | 0x321); /* two hops have stamped it */
		put64(in.b + at_hop(&in, 0), 0x1122334455667788);
		put64(in.b + at_hop(&in, 1), 0x99aabbccddeeff00);
		want = frame_turned(in);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_between(host_get(v6, HOST_B).heard_ns, before, clock_ns());
		expect_eq(flows_count(), 0);
		expect_untouched(EGRESS, &r.out, STAT_TX_OWN);
	}
}

/* One question to all would be answered by all. */
SinkTest(ingress, probe__to_a_group_is_not_answered)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 10),
			     in = frame_probe(&inner, 0xc777, 0);

		in.b[0] = 0xff;
		expect_verdict(run(sink, &in), VERDICT_DROP);
		in.b[0] = 0x33;
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE, STAT_RX_PROBE);
	}
}

/* With or without what usually follows it. */
SinkTest(ingress, probe__of_other_shapes)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 50), in, want;
		struct result r;

		in = wrap(&inner, .msg = 2, .bare = 1);
		want = frame_turned(in);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		in = wrap(&inner, .msg = 2, .room = 5, .echo = 1, .echo_hops = 5);
		want = frame_turned(in);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE, STAT_RX_PROBE);
	}
}

/* Tokens that are spent up to a time that does not come; those of hosts never heard are others. */
SinkTest(ingress, probe__answers_are_limited)
{
	const __u64 spent_ns = clock_ns() + 3600000 * MS, none_ns = 0;
	__u32 answers = BUCKET_STRANGERS;

	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = frame_probe(&inner, 0xc777, 0);
		struct host h = { .answers_ns = spent_ns };

		host_set(v6, HOST_B, &h);
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_LIMITED);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		h.answers_ns = 0;
		host_set(v6, HOST_B, &h);
		expect_verdict(run(sink, &in), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
		expect_between(host_get(v6, HOST_B).answers_ns, 1, clock_ns());
	}
	FOR_V4_AND_V6(v6) {
		struct sluice_addr b = addr_of(v6, HOST_B);
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = frame_probe(&inner, 0xc777, 0);

		bpf_map_delete_elem(world_map("hosts"), &b);
		cr_assert(!bpf_map_update_elem(world_map("buckets"), &answers, &spent_ns, BPF_ANY));
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_LIMITED);
		expect_eq(host_exists(v6, HOST_B), 0);
		cr_assert(!bpf_map_update_elem(world_map("buckets"), &answers, &none_ns, BPF_ANY));
		expect_verdict(run(sink, &in), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}

/* The reply leaves through the port by which the question came, and the asker takes it. */
SinkTest(ingress, probe__reply_goes_back_over_the_link)
{
	struct frame inner, in, got, want;
	struct host asked = { .asked_ns = 5 };
	struct result r;
	int fd;

	link_make("");
	link_attach(sink, LINK_NEAR, 1);
	link_attach(EGRESS, LINK_NEAR, 0);
	fd = packet_socket(LINK_FAR);
	FOR_V4_AND_V6(v6) {
		inner = tcp(.v6 = v6, .reply = 1);
		in = frame_probe(&inner, 0xc777, 0);
		packet_send(fd, &in);
		cr_assert(packet_catch(fd, &got, 1000), "%sno reply", world_fixture());
		want = frame_turned(in);
		expect_frame(&got, &want);
		host_set(v6, HOST_A, &asked);
		r = run(sink, &got);
		expect_verdict(r, VERDICT_DROP);
		expect_eq(host_get(v6, HOST_A).capable, 1);
	}
}

/* --- answers --- */

/* B was asked, a minute ago, and is silent since. */
static void host_asked(int v6)
{
	struct host h = { .asked_ns = clock_ns() - 60000 * MS, .unanswered_ns = 6 };

	host_set(v6, HOST_B, &h);
}

/* Of an address that was never heard only that is known. */
SinkTest(ingress, probe_reply__of_one_that_was_never_heard)
{
	FOR_V4_AND_V6(v6) {
		struct sluice_addr b = addr_of(v6, HOST_B);
		struct frame in = reply(*forward(v6));
		__u64 asked_ns = 5;

		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_exists(v6, HOST_B), 0);
		cr_assert(!bpf_map_update_elem(world_map("asked"), &b, &asked_ns, BPF_ANY));
		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_eq(host_get(v6, HOST_B).asked_ns, 5);
		cr_assert(bpf_map_lookup_elem(world_map("asked"), &b, &asked_ns));
	}
}

/* Both are put together in the same place. */
SinkTest(ingress, probe_reply__leaves_nothing_to_a_report)
{
	struct ip_spec s = { .payload = 100 };
	struct frame in = reply(s, .nhop = 1, .seq = 500);
	__u8 m[12 + 24] = { 0x98, 8, 0, 59, 0x44, 1 };

	flow_runs_of(s, 1000);
	host_asked(0);
	run(sink, &in);
	expect_eq(flow_get(s).fb_probe, 1);
	put16(m + 12, PORT_A);
	put16(m + 14, PORT_B);
	m[16] = 6;
	m[17] = 4; /* W */
	put32(m + 20, 900);
	put16(m + 26, 1 << 12);
	put32(m + 28, 200000);
	in = frame_of_batch(0, m, sizeof(m));
	run(sink, &in);
	expect_eq(flow_get(s).feedbacks, 2);
	expect_eq(flow_get(s).fb_probe, 0);
}

SinkTest(ingress, probe_reply__shows_that_the_peer_strips)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = reply(*forward(v6));
		__u64 before = clock_ns();
		struct result r;
		struct host h;

		host_asked(v6);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY);
		h = host_get(v6, HOST_B);
		expect_eq(h.capable, 1);
		expect_eq(h.unanswered_ns, 0);
		expect_between(h.heard_ns, before, clock_ns());
		expect_eq(flows_count(), 0);
	}
}

/* What it met on its way is feedback like an echo, of TCP and of UDP. */
SinkTest(ingress, probe_reply__is_what_hpcc_computes)
{
	int udp;

	for (udp = 0; udp < 2; udp++) {
		struct feedback fb = { .hops = 2, .path = 0x321, .probe = 1, .udp = udp };
		struct ip_spec s = { .udp = udp, .payload = 100 };
		unsigned int kinds[4] = {}, i;

		fixture("%s", udp ? "UDP" : "TCP");
		flow_runs_of(s, 1000000);
		host_asked(0);
		fb.hop[0] = hop_of(12, 0xfffff0, 0xfffff * 128, 0);
		fb.hop[1] = hop_of(12, 5, 7 * 128, 8000);
		fb.seq = 20000;
		expect_eq(expect_feedback(&fb, 0, MODE_DRY_RUN), HPCC_FIRST);
		for (i = 0; i < 200; i++) {
			struct flow f = flow_get(s);
			__u64 dt = 50000 + i % 7 * 1000;

			fixture("%s, feedback %u", udp ? "UDP" : "TCP", i);
			hop_advance(&fb, 0, dt, 600 + i * 13 % 700, i % 50 < 25 ? 0 : i * 400);
			hop_advance(&fb, 1, dt + 10, 500 + i * 29 % 400, i % 3 * 1600);
			fb.gap_ns = dt;
			fb.seq += 60000;
			fb.probe = i % 4 != 3; /* an echo in between */
			f.tx_bytes = fb.seq + 1000000;
			flow_set(s, &f);
			kinds[expect_feedback(&fb, i % 2 * 100, MODE_DRY_RUN)]++;
		}
		cr_assert(kinds[HPCC_FAST] > 50 && kinds[HPCC_FULL] > 5, "fast %u, full %u",
			  kinds[HPCC_FAST], kinds[HPCC_FULL]);
		cr_assert(flow_get(s).cc.w < flow_get(s).params.w_init, "W never moved");
	}
}

SinkTest(ingress, probe_reply__observed_only)
{
	struct feedback fb = { .hops = 1, .seq = 1000, .probe = 1, .udp = 1,
			       .hop = { hop_of(12, 0, 0, 0) } };
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct flow before;

	control_set(MODE_OBSERVE, 0);
	flow_runs_of(s, 1000000);
	host_asked(0);
	before = flow_get(s);
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FIRST);
	hop_advance(&fb, 0, 1000000, 1900, 0);
	fb.gap_ns = 1000000;
	expect_eq(expect_feedback(&fb, 0, MODE_OBSERVE), HPCC_FAST);
	expect_eq(flow_get(s).cc.w, before.cc.w);
	expect_eq(flow_get(s).cc.rate_bps, before.cc.rate_bps);
}

SinkTest(ingress, probe_reply__of_a_path_without_switches)
{
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct frame in = reply(s);

	flow_runs_of(s, 1000);
	host_asked(0);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_SKIPPED);
	expect_eq(host_get(0, HOST_B).capable, 1);
	expect_eq(flow_get(s).feedbacks, 0);
}

SinkTest(ingress, probe_reply__not_while_another_cpu_has_the_flow)
{
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct frame in = reply(s, .nhop = 1);
	struct flow f;

	flow_runs_of(s, 1000);
	host_asked(0);
	f = flow_get(s);
	f.lock = 1;
	flow_set(s, &f);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_CONTENDED);
	expect_eq(flow_get(s).lock, 1);
	expect_eq(flow_get(s).feedbacks, 0);
}

/* A flow that asks for feedback asks, whether or not anybody had to be asked what he can. */
SinkTest(ingress, probe_reply__to_a_flow_that_asked_for_feedback)
{
	__u32 ifindex = link_make("");

	link_attach(EGRESS, LINK_NEAR, 0);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 100 };
		struct frame out = frame_of(s), in = reply(s, .nhop = 1);

		hosts_strip(); /* B has been heard, and never been asked */
		run(EGRESS, &out, .ifindex = ifindex);
		expect_counted(STAT_TX_DATA, STAT_PROBE_SENT);
		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
		expect_eq(host_get(v6, HOST_B).unanswered_ns, 0);
	}
}

/* Three flows between A and B: all have been asked for, and only one is answered. */
static struct ip_spec three[] = {
	{ .payload = 100 },
	{ .udp = 1, .payload = 100 },
	{ .udp = 1, .payload = 100, .sport = 7 },
};

struct memory {
	struct flow flow[3];
	struct host host;
};

static struct memory remember(int v6)
{
	struct memory m = {};
	int i;

	for (i = 0; i < 3; i++) {
		three[i].v6 = v6;
		if (flow_exists(three[i]))
			m.flow[i] = flow_get(three[i]);
	}
	m.host = host_get(v6, HOST_B);
	return m;
}

static void three_flows(int v6)
{
	int i;

	for (i = 0; i < 3; i++) {
		three[i].v6 = v6;
		flow_runs_of(three[i], 1000);
	}
	host_asked(v6);
}

/* The frame changes no flow and, with host_too, nothing of what is known of B. */
#define expect_nothing_learned(v6, in, host_too, verdict, ...)                                     \
	do {                                                                                       \
		struct memory was_ = remember(v6), is_;                                            \
		unsigned int flows_ = flows_count();                                               \
		struct result r_ = run(sink, in);                                               \
                                                                                                   \
		expect_verdict(r_, verdict);                                                       \
		expect_counted(__VA_ARGS__);                                                       \
		is_ = remember(v6);                                                                \
		cr_assert(!memcmp(was_.flow, is_.flow, sizeof(is_.flow)), "%sa flow changed",      \
			  world_fixture());                                                        \
		if (host_too)                                                                      \
			cr_assert(!memcmp(&was_.host, &is_.host, sizeof(is_.host)),                \
				  "%swhat is known of B changed", world_fixture());                \
		expect_eq(flows_count(), flows_);                                                  \
	} while (0)

SinkTest(ingress, probe_reply__is_for_its_own_flow_only)
{
	FOR_V4_AND_V6(v6) {
		int i, k;

		three_flows(v6);
		for (i = 0; i < 3; i++) {
			struct memory before = remember(v6), after;
			struct frame in = reply(three[i], .nhop = 1, .seq = 500);

			fixture("IPv%d, flow %d", v6 ? 6 : 4, i);
			run(sink, &in);
			expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
			after = remember(v6);
			for (k = 0; k < 3; k++) {
				expect_eq(after.flow[k].feedbacks, before.flow[k].feedbacks + (k == i));
				if (k != i)
					cr_assert(!memcmp(&before.flow[k], &after.flow[k],
							  sizeof(struct flow)));
			}
		}
	}
}

SinkTest(ingress, probe_reply__with_other_ports_is_for_nobody)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole, in;
		unsigned int l4, i;

		three_flows(v6);
		whole = reply(three[1], .nhop = 1);
		l4 = at_hop(&whole, 5) + (v6 ? 40 : 20);
		for (i = 0; i < 4; i++) {
			fixture("IPv%d, byte %u of the ports", v6 ? 6 : 4, i);
			in = whole;
			in.b[l4 + i] ^= 0x40;
			expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		}
		fixture("IPv%d, ports the wrong way round", v6 ? 6 : 4);
		in = whole;
		put16(in.b + l4, PORT_B);
		put16(in.b + l4 + 2, PORT_A);
		expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

/* The inner packet must be ours, to the host that answers. */
SinkTest(ingress, probe_reply__with_other_addresses_inside_is_ignored)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec back = { .v6 = v6, .udp = 1, .reply = 1, .payload = 100 };
		struct frame whole, in;
		unsigned int ip, i, first = v6 ? 8 : 12, last = v6 ? 40 : 20;

		three_flows(v6);
		whole = reply(three[1], .nhop = 1);
		ip = at_hop(&whole, 5);
		for (i = first; i < last; i++) {
			fixture("IPv%d, byte %u", v6 ? 6 : 4, i);
			in = whole;
			in.b[ip + i] ^= 1;
			expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		}
		fixture("IPv%d, a packet of B's", v6 ? 6 : 4);
		in = frame_of(back);
		in = wrap(&in, .msg = 3, .room = 5, .nhop = 1);
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		fixture("IPv%d, neither TCP nor UDP", v6 ? 6 : 4);
		in = whole;
		in.b[ip + (v6 ? 6 : 9)] = 132;
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		fixture("IPv%d, of the other version", v6 ? 6 : 4);
		in = whole;
		in.b[at_shim(&in) + 3] = v6 ? 4 : 41;
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

SinkTest(ingress, probe_reply__that_nobody_asked_for_is_ignored)
{
	FOR_V4_AND_V6(v6) {
		struct host known = { .capable = 1, .unanswered_ns = 5 };
		struct frame in;

		three_flows(v6);
		host_set(v6, HOST_B, &known);
		in = reply(three[1], .nhop = 1);
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

SinkTest(ingress, probe_reply__of_an_unknown_host_is_ignored)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = reply(*forward(v6), .nhop = 1);

		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_exists(v6, HOST_B), 0);
		expect_eq(flows_count(), 0);
	}
}

SinkTest(ingress, probe_reply__with_more_hops_than_room_is_ignored)
{
	FOR_V4_AND_V6(v6) {
		unsigned int nhop;

		three_flows(v6);
		for (nhop = 6; nhop < 16; nhop++) {
			struct frame in = reply(three[1], .nhop = nhop);

			fixture("IPv%d, %u hops", v6 ? 6 : 4, nhop);
			expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY,
					       STAT_RX_BAD_TELEM);
		}
	}
}

SinkTest(ingress, probe_reply__without_room_shows_only_that_the_peer_strips)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner, in;

		three_flows(v6);
		inner = frame_of(three[1]);
		in = wrap(&inner, .msg = 2);
		in = frame_turned(in);
		expect_nothing_learned(v6, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}

/* At the end of the frame, whatever its lengths say; or the copied packet alone. */
SinkTest(ingress, probe_reply__cut_short_is_ignored)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole, inner, in;
		unsigned int n, l4 = 14 + (v6 ? 40 : 20);

		three_flows(v6);
		whole = reply(three[1], .nhop = 1);
		for (n = at_shim(&whole); n < whole.len; n++) {
			fixture("IPv%d, %u of %u bytes", v6 ? 6 : 4, n, whole.len);
			in = frame_cut(whole, n);
			expect_nothing_learned(v6, &in, 1, VERDICT_PASS, STAT_RX_TRUNCATED);
		}
		for (n = 14; n < l4 + 4; n++) {
			fixture("IPv%d, %u bytes of the copied packet", v6 ? 6 : 4, n - 14);
			inner = frame_of(three[1]);
			inner = frame_cut(inner, n);
			in = wrap(&inner, .msg = 2, .room = 5, .nhop = 1);
			in = frame_turned(in);
			/* frame_wrap() took the addresses from where they no longer are */
			memcpy(in.b + 14 + (v6 ? 8 : 12), whole.b + 14 + (v6 ? 8 : 12), v6 ? 32 : 8);
			expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
		}
		fixture("IPv%d, nothing but the ports", v6 ? 6 : 4);
		inner = frame_of(three[1]);
		inner = frame_cut(inner, l4 + 4);
		in = wrap(&inner, .msg = 2, .room = 5, .nhop = 1);
		in = frame_turned(in);
		run(sink, &in);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
	}
}

/* Only DATA brings an echo. */
SinkTest(ingress, probe_reply__with_an_echo)
{
	struct frame inner, in;

	three_flows(0);
	inner = frame_of(three[1]);
	in = wrap(&inner, .msg = 2, .room = 5, .echo = 1, .echo_hops = 2);
	in = frame_turned(in);
	expect_nothing_learned(0, &in, 0, VERDICT_DROP, STAT_RX_PROBE_REPLY, STAT_FB_SKIPPED);
	inner = udp(.reply = 1, .payload = 100);
	in = wrap(&inner, .msg = 2, .echo = 1, .echo_hops = 2);
	expect_nothing_learned(0, &in, 0, VERDICT_REDIRECT, STAT_RX_PROBE);
}

/* --- bypass --- */

SinkTest(ingress, bypass__strips_and_learns_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .tos = ECT0), in, want;
		struct result r;

		control_set(MODE_ENFORCE, 1);
		in = wrap(&inner, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
		expect_eq(flows_count(), 0);
		expect_eq(host_exists(v6, HOST_B), 0);

		fixture("the mark still counts");
		in = frame_with_ecn(in, CE);
		r = run(sink, &in);
		want = frame_with_ecn(inner, CE);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_DATA, STAT_RX_CE);
	}
}

SinkTest(ingress, bypass__answers_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in = wrap(&inner, .msg = 2);
		struct host h = { .asked_ns = 5 };
		struct result r;

		control_set(MODE_ENFORCE, 1);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE);
		expect_eq(host_exists(v6, HOST_B), 0);
		host_set(v6, HOST_B, &h);
		in = reply(*forward(v6), .nhop = 1);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY);
		expect_eq(host_get(v6, HOST_B).capable, 0);
	}
}

SinkTest(ingress, bypass__learns_nothing_from_an_answer)
{
	FOR_V4_AND_V6(v6) {
		struct frame in;

		control_set(MODE_DRY_RUN, 0);
		three_flows(v6);
		in = reply(three[1], .nhop = 1);
		control_set(MODE_DRY_RUN, 1);
		expect_nothing_learned(v6, &in, 1, VERDICT_DROP, STAT_RX_PROBE_REPLY);
	}
}

SinkTest(ingress, bypass__touches_no_flow)
{
	struct frame in = from_b(0, 100, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
	struct flow before, after;

	flow_runs(0, 1000);
	before = flow_get(a_to_b);
	control_set(MODE_ENFORCE, 1);
	run(sink, &in);
	after = flow_get(a_to_b);
	cr_assert(!memcmp(&before, &after, sizeof(before)));
	expect_counted(STAT_RX_DATA);
}

/* --- what the configuration has no more --- */

static void leaves(int port, int leave)
{
	if (port)
		port_leaves(WORLD_IFINDEX, leave);
	else
		peers_leave(leave);
}

/* As with bypass, of a peer and of an interface. */
SinkTest(ingress, leaving__strips_and_learns_nothing)
{
	FOR_V4_AND_V6(v6) {
		for (int port = 0; port < 2; port++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .tos = ECT0), in, want;
			struct result r;

			fixture("IPv%d, %s", v6 ? 6 : 4, port ? "port" : "peer");
			leaves(port, 1);
			in = wrap(&inner, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
			r = run(sink, &in);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA);
			in = frame_with_ecn(in, CE);
			r = run(sink, &in);
			want = frame_with_ecn(inner, CE);
			expect_frame(&r.out, &want);
			expect_counted(STAT_RX_DATA, STAT_RX_CE);
			expect_eq(flows_count(), 0);
			expect_eq(host_exists(v6, HOST_B), 0);
			leaves(port, 0);
		}
	}
}

SinkTest(ingress, leaving__answers_nothing)
{
	FOR_V4_AND_V6(v6) {
		for (int port = 0; port < 2; port++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1), in = wrap(&inner, .msg = 2);
			struct host h = { .asked_ns = 5 };
			struct result r;

			fixture("IPv%d, %s", v6 ? 6 : 4, port ? "port" : "peer");
			leaves(port, 1);
			host_set(v6, HOST_B, &h);
			r = run(sink, &in);
			expect_verdict(r, VERDICT_DROP);
			expect_counted(STAT_RX_PROBE);
			in = reply(*forward(v6), .nhop = 1);
			r = run(sink, &in);
			expect_verdict(r, VERDICT_DROP);
			expect_counted(STAT_RX_PROBE_REPLY);
			expect_eq(host_get(v6, HOST_B).heard_ns, 0);
			expect_eq(host_get(v6, HOST_B).capable, 0);
			leaves(port, 0);
		}
	}
}

SinkTest(ingress, leaving__touches_no_flow)
{
	for (int port = 0; port < 2; port++) {
		struct frame in = from_b(0, 100, .room = 5, .nhop = 1, .echo = 1, .echo_hops = 1);
		struct flow before, after;

		fixture("%s", port ? "port" : "peer");
		flow_runs(0, 1000);
		before = flow_get(a_to_b);
		leaves(port, 1);
		run(sink, &in);
		after = flow_get(a_to_b);
		cr_assert(!memcmp(&before, &after, sizeof(before)));
		expect_counted(STAT_RX_DATA);
		leaves(port, 0);
	}
}

/* Another port leaves, and that is nothing to this one. */
SinkTest(ingress, leaving__is_told_by_port)
{
	struct frame in = from_b(0, 100, .room = 5);
	struct port port = port_usual();

	port.flags = PORT_F_HOST;
	port_set(WORLD_IFINDEX + 1, &port);
	port_leaves(WORLD_IFINDEX + 1, 1);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FLOW_MADE);
	expect_eq(host_exists(0, HOST_B), 1);
	port_remove(WORLD_IFINDEX + 1);
}

/* Whether a peer that comes back still strips nobody knows: it is asked. What it sends says so, too. */
SinkTest(ingress, leaving__peer_is_to_be_asked_again)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100), in = wrap(&inner, .room = 5);
		struct host h = { .asked_ns = 5, .capable = 1, .rx_seq = 7 };

		host_set(v6, HOST_B, &h);
		peers_leave(1);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		expect_eq(host_get(v6, HOST_B).rx_seq, 7);
		peers_leave(0);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FLOW_MADE);
		expect_eq(host_get(v6, HOST_B).capable, 1);
	}
}

/* --- what is not ours, or not sound --- */

/* As expect_untouched(), and nobody and nothing is remembered. */
#define expect_refused(frame, stat)                                                                \
	do {                                                                                       \
		expect_untouched(sink, frame, stat);                                            \
		expect_eq(flows_count(), 0);                                                       \
		expect_eq(host_exists(0, HOST_B) + host_exists(1, HOST_B), 0);                     \
	} while (0)

SinkTest(ingress, other__is_untouched)
{
	struct frame in, wrapped;

	FOR_V4_AND_V6(v6) {
		in = tcp(.v6 = v6, .reply = 1, .payload = 100);
		expect_refused(&in, STAT_RX_OTHER);
		in = udp(.v6 = v6, .dport = 53, .payload = 100);
		expect_refused(&in, STAT_RX_OTHER);
		in = tcp(.v6 = v6, .reply = 1, .payload = 100, .dport = 5463);
		expect_refused(&in, STAT_RX_OTHER);
		wrapped = from_b(v6, 100, .room = 5);
		in = wrapped;
		put16(in.b + at_udp(&in) + 2, 5464);
		expect_refused(&in, STAT_RX_OTHER);
		in = frame_with_vlan(wrapped, 0x8100);
		expect_refused(&in, STAT_RX_OTHER);
	}
	in = frame_arp();
	expect_refused(&in, STAT_RX_OTHER);
	wrapped = from_b(0, 100, .room = 5);
	in = frame_with_ipv4_option(wrapped);
	expect_refused(&in, STAT_RX_OTHER);
	in = frame_with_fragment(wrapped, 1, 0);
	expect_refused(&in, STAT_RX_OTHER);
	in = frame_with_fragment(wrapped, 0, 64);
	expect_refused(&in, STAT_RX_OTHER);
	wrapped = from_b(1, 100, .room = 5);
	in = frame_with_extension(wrapped, 44);
	expect_refused(&in, STAT_RX_OTHER);
}

SinkTest(ingress, foreign__is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .from = HOST_STRANGER, .to = HOST_A, .payload = 100),
			     in = wrap(&inner, .room = 5);

		expect_refused(&in, STAT_RX_FOREIGN);
		in = wrap(&inner, .msg = 2);
		expect_refused(&in, STAT_RX_FOREIGN);
		in = wrap(&inner, .msg = 3, .room = 5);
		expect_refused(&in, STAT_RX_FOREIGN);
		expect_eq(host_exists(v6, HOST_STRANGER), 0);
	}
}

SinkTest(ingress, malformed__shim_and_header)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole = from_b(v6, 300, .room = 5), in;
		unsigned int shim = at_shim(&whole), v;

		for (v = 0; v < 256; v++) {
			fixture("IPv%d, shim type and NPT %#x", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim] = v;
			if (v != 0x98)
				expect_refused(&in, STAT_RX_NOT_HPCC);
			fixture("IPv%d, version and message %#x", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 4] = v;
			if (v >> 4 != 4)
				expect_refused(&in, STAT_RX_BAD_VERSION);
			else if (v == 0x40 || v > 0x46)
				expect_refused(&in, STAT_RX_BAD_MSG);
			else if (v > 0x43) /* five reports, credits or rates would be longer */
				expect_refused(&in, STAT_RX_BAD_LENGTH);
			fixture("IPv%d, length %u words", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 1] = v;
			if (v != 13)
				expect_refused(&in, STAT_RX_BAD_LENGTH);
			fixture("IPv%d, room for %u hops", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 5] = v;
			if (v > 5)
				expect_refused(&in, STAT_RX_BAD_HOPS);
			else if (v < 5)
				expect_refused(&in, STAT_RX_BAD_LENGTH);
			fixture("IPv%d, echo of %u hops", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 7] = v;
			if (v > 5)
				expect_refused(&in, STAT_RX_BAD_HOPS);
			fixture("IPv%d, IP protocol %u", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 3] = v;
			if (v != (v6 ? 41 : 4))
				expect_refused(&in, STAT_RX_MISMATCH);
		}
		fixture("IPv%d, UDP checksum", v6 ? 6 : 4);
		in = whole;
		put16(in.b + shim - 2, 0xffff);
		expect_refused(&in, STAT_RX_NOT_HPCC);
		fixture("IPv%d, an echo that the length does not count", v6 ? 6 : 4);
		in = whole;
		in.b[shim + 6] |= 1;
		expect_refused(&in, STAT_RX_BAD_LENGTH);
		fixture("IPv%d, a length that counts an echo which is not there", v6 ? 6 : 4);
		in = from_b(v6, 300, .room = 5, .echo = 1, .echo_hops = 2);
		in.b[shim + 6] &= ~1;
		expect_refused(&in, STAT_RX_BAD_LENGTH);
	}
}

/* After every byte: the headers of a packet without payload, so that its end is its headers' end. */
SinkTest(ingress, truncated__at_every_length)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole = from_b(v6, 0, .room = 5, .echo = 1, .echo_hops = 5), in;
		unsigned int n;

		for (n = at_udp(&whole); n < whole.len; n++) {
			fixture("IPv%d, %u of %u bytes", v6 ? 6 : 4, n, whole.len);
			in = frame_cut(whole, n);
			expect_refused(&in, n < at_shim(&whole) ? STAT_RX_OTHER : STAT_RX_TRUNCATED);
		}
	}
}

SinkTest(ingress, truncated__probe)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole = from_b(v6, 0, .msg = 2), in;
		unsigned int n;

		for (n = at_shim(&whole); n < at_telem(&whole); n++) {
			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			in = frame_cut(whole, n);
			expect_refused(&in, STAT_RX_TRUNCATED);
		}
	}
}

SinkTest(ingress, mismatch__inner_addresses)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100), whole, in;
		unsigned int ip, first = v6 ? 8 : 12, last = v6 ? 40 : 20, i;

		whole = wrap(&inner, .room = 5);
		ip = at_hop(&whole, 5);
		for (i = first; i < last; i++) {
			fixture("IPv%d, byte %u", v6 ? 6 : 4, i);
			in = whole;
			in.b[ip + i] ^= 1;
			expect_refused(&in, STAT_RX_MISMATCH);
		}
	}
}

SinkTest(ingress, mismatch__lengths)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole = from_b(v6, 100, .room = 5), in;
		unsigned int inner = at_hop(&whole, 5) + (v6 ? 4 : 2), outer = 14 + (v6 ? 4 : 2);

		in = whole;
		put16(in.b + inner, get16(in.b + inner) + 1);
		expect_refused(&in, STAT_RX_MISMATCH);
		put16(in.b + inner, get16(in.b + inner) - 2);
		expect_refused(&in, STAT_RX_MISMATCH);
		in = whole;
		put16(in.b + outer, get16(in.b + outer) - 4);
		expect_refused(&in, STAT_RX_MISMATCH);
		in = whole;
		put16(in.b + outer, get16(in.b + outer) + 4);
		expect_refused(&in, STAT_RX_TRUNCATED);
		/* both speak of bytes that are not there */
		put16(in.b + inner, get16(in.b + inner) + 4);
		expect_refused(&in, STAT_RX_TRUNCATED);
	}
}

SinkTest(ingress, mismatch__inner_is_neither_tcp_nor_udp)
{
	static const __u8 protos[] = { 1, 4, 41, 47, 50, 58, 132, 136 }, bytes[64] = { 8 };
	unsigned int i;

	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(protos); i++) {
			struct frame inner = frame_ip(v6, protos[i], bytes, sizeof(bytes)),
				     in = wrap(&inner, .room = 5);

			fixture("IPv%d, protocol %u", v6 ? 6 : 4, protos[i]);
			expect_refused(&in, STAT_RX_MISMATCH);
		}
	}
}

static struct frame data_of_b(int v6, __u8 flags)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .flags = flags);

	return wrap(&inner, .room = 5);
}

/* Our egress sends these as they are. Stripped here, they would have passed a filter that looks at ports before us. */
SinkTest(ingress, mismatch__inner_opens_or_resets_a_connection)
{
	static const __u8 refused[] = { SYN, SYN | ACK, SYN | FIN, RST, RST | ACK }, fine[] = { ACK, FIN, FIN | ACK };
	unsigned int i;

	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(refused); i++) {
			struct frame in = data_of_b(v6, refused[i]);

			fixture("IPv%d, flags %#x", v6 ? 6 : 4, refused[i]);
			expect_refused(&in, STAT_RX_MISMATCH);
		}
	}
	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(fine); i++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .flags = fine[i]),
				     in = data_of_b(v6, fine[i]);
			struct result r = run(sink, &in);

			fixture("IPv%d, flags %#x", v6 ? 6 : 4, fine[i]);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA);
		}
	}
}

/* A TCP header that the inner packet does not hold is not looked for in what follows it. */
SinkTest(ingress, truncated__inner_tcp_header)
{
	static const __u8 bytes[20] = { 0x13, 0x89, 0x9c, 0x40, [12] = 0x50, [13] = ACK };
	unsigned int n;

	FOR_V4_AND_V6(v6) {
		for (n = 0; n < sizeof(bytes); n++) {
			struct frame inner = frame_ip(v6, 6, bytes, n), in = wrap(&inner, .room = 5);

			fixture("IPv%d, %u bytes of TCP", v6 ? 6 : 4, n);
			expect_refused(&in, STAT_RX_TRUNCATED);
		}
	}
}

/* What is not a plain IP packet inside cannot be checked, so nothing is stripped. */
SinkTest(ingress, mismatch__inner_is_not_plain_ip)
{
	struct frame inner = tcp(.reply = 1, .payload = 100), v6 = tcp(.v6 = 1, .reply = 1, .payload = 100),
		     in;
	struct frame edited = frame_with_ipv4_option(inner);

	in = wrap(&edited, .room = 5);
	expect_refused(&in, STAT_RX_TRUNCATED);
	edited = frame_with_fragment(inner, 1, 0);
	in = wrap(&edited, .room = 5);
	put16(in.b + 14 + 6, 0x4000);
	expect_refused(&in, STAT_RX_TRUNCATED);
	edited = frame_with_extension(v6, 0);
	in = wrap(&edited, .room = 5);
	expect_refused(&in, STAT_RX_TRUNCATED);
	in = wrap(&v6, .room = 5, .next = 4);
	expect_refused(&in, STAT_RX_MISMATCH);
	in = wrap(&inner, .room = 5, .next = 41);
	expect_refused(&in, STAT_RX_MISMATCH);
}

/* A message in a message: the source never does that, so somebody looped it. */
SinkTest(ingress, looped__is_untouched)
{
	FOR_V4_AND_V6(v6) {
		struct frame once = from_b(v6, 100, .room = 5), in = wrap(&once, .room = 5);

		expect_refused(&in, STAT_RX_MISMATCH);
		in = wrap(&in, .room = 5);
		expect_refused(&in, STAT_RX_MISMATCH);
		once = udp(.v6 = v6, .reply = 1, .dport = PORT_WIRE, .payload = 100);
		in = wrap(&once, .room = 5);
		expect_refused(&in, STAT_RX_MISMATCH);
	}
}

/* A thousand frames with random bytes where we look: nothing but counters and what was sound. */
SinkTest(ingress, noise__ends_in_one_counter)
{
	unsigned int i, k;

	srandom(1);
	FOR_V4_AND_V6(v6) {
		for (i = 0; i < 5000; i++) {
			struct frame in = from_b(v6, 100, .room = 5, .echo = 1, .echo_hops = 5);
			unsigned int from = at_udp(&in), span = in.len - from;

			for (k = random() % 4 + 1; k; k--)
				in.b[from + random() % span] = random();
			run(sink, &in);
			run(HOP_MAP, &in);
			run(EGRESS, &in);
		}
	}
	expect_that(world_ended());
}
