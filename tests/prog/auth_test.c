// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/host/auth.bpf.h: who is believed. As in ingress_test.c the frames come from B and are for A, and the
 * flow that they change is A to B.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

static const struct siphash_key ours[2] = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 },
					    { 0x1111111111111111, 0x2222222222222222 } },
				theirs = { 0x0706050403020101, 0x0f0e0d0c0b0a0908 };

static void make(void)
{
	world_make();
	keys_set(ours, 1);
}

TestSuite(auth, .init = make, .fini = world_drop, .timeout = 120);
TestSuite(auth_xdp, .init = make, .fini = world_drop, .timeout = 120);

#define MS 1000000ULL

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

#define from_b(v6_, payload_, ...)                                                                 \
	({                                                                                         \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1, .payload = payload_);             \
		wrap(&inner_, __VA_ARGS__);                                                        \
	})

/* A message of B with telemetry and an echo of one hop each, of which the number is part. */
#define message(v6_, key_, seq_, n)                                                                \
	from_b(v6_, 200, .room = 2, .nhop = 1, .path = 1, .seq = n,                                \
	       .hop = { 12ULL << 60 | (__u64)(n) << 36 }, .echo = 1, .echo_hops = 1,               \
	       .echo_seq = 100 + (n), .echo_path = 1, .echo_hop = { 12ULL << 60 | (__u64)(n) << 36 }, \
	       .key = key_, .auth_seq = seq_)

static struct ip_spec forward(int v6)
{
	return (struct ip_spec){ .v6 = v6, .payload = 100 };
}

/* The flow A to B, and B is known to strip. */
static void flow_runs(int v6)
{
	struct frame in = frame_of(forward(v6));
	struct flow f;

	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(forward(v6));
	f.tx.bytes = 1 << 20;
	flow_set(forward(v6), &f);
}

/* All that a message can change. */
struct known {
	struct flow f;
	struct host h;
};

static struct known known_of(int v6)
{
	struct known k;

	memset(&k, 0, sizeof(k));
	k.f = flow_get(forward(v6));
	k.h = host_get(v6, HOST_B);
	k.h.epoch = 0;
	return k;
}

static void expect_nothing_learned(int v6, const struct known *before)
{
	struct known now = known_of(v6);

	cr_assert(!memcmp(&now, before, sizeof(now)), "%sthe flow or the host is not as it was",
		  world_fixture());
}

static void expect_refused(const struct frame *in, int v6, enum sluice_stat stat)
{
	struct known before = known_of(v6);

	expect_untouched(sink, in, stat);
	expect_nothing_learned(v6, &before);
}

/* --- egress --- */

Test(auth, sign__what_is_sent)
{
	static const struct ip_spec kinds[] = { { .payload = 100 }, { .payload = 1000, .options = 12 },
						{ .payload = 100, .udp = 1 }, { .payload = 1, .udp = 1 } };
	unsigned int v6, k, hops;

	hosts_strip();
	for (v6 = 0; v6 < 2; v6++) {
		for (k = 0; k < 4; k++) {
			for (hops = 0; hops <= 5; hops++) {
				struct ip_spec s = kinds[k];
				struct frame in, want;
				struct result r;
				__u64 before, seq;
				struct flow f;

				s.v6 = v6;
				s.sport = 1000 + hops;
				in = frame_of(s);
				fixture("IPv%d, kind %u, echo of %u hops", v6 ? 6 : 4, k, hops);
				run(EGRESS, &in);
				f = flow_get(s);
				f.echo = (struct flow_echo){ .version = 2, .hops = hops, .seq = 7,
							     .nhop_path = 0x1234, .rx_ns = clock_ns(),
							     .hop = { 1, 2, 3, 4, 5 } };
				flow_set(s, &f);
				hosts_strip();
				before = clock_ns();
				r = run(EGRESS, &in);
				seq = get64(r.out.b + at_auth(&r.out));
				expect_between(seq, before, clock_ns());
				want = wrap(&in, .room = 5, .echo = 1, .echo_hops = hops, .echo_seq = 7,
					    .echo_age = get16(r.out.b + at_echo(&r.out) + 4),
					    .echo_path = 0x234, .echo_hop = { 1, 2, 3, 4, 5 },
					    .sport = get16(r.out.b + at_udp(&r.out)), .key = &ours[0],
					    .seq = get32(r.out.b + at_shim(&r.out) + 8), .auth_seq = seq);
				put16(want.b + at_echo(&want) + 6, 0x1234);
				frame_sign(&want, &ours[0]);
				expect_frame(&r.out, &want);
			}
		}
	}
}

/* Real time, so that a host that was restarted goes on above what it sent before. */
Test(auth, sign__sequences_go_on_above_the_base)
{
	struct frame in = frame_of(forward(0));
	__u64 before = clock_ns(), first;
	struct result r;

	hosts_strip();
	seq_base_set(1700000000 * NSEC_PER_SEC);
	r = run(EGRESS, &in);
	first = get64(r.out.b + at_auth(&r.out));
	expect_between(first, before + 1700000000 * NSEC_PER_SEC, clock_ns() + 1700000000 * NSEC_PER_SEC);
	r = run(EGRESS, &in);
	expect_between(get64(r.out.b + at_auth(&r.out)), first + 1, ~0ULL);
}

Test(auth, sign__the_window_and_the_mtu_count_the_tag)
{
	struct frame in = tcp(.payload = 1500 - 20 - 20 - 20 - 8 - 12 - 44 - 16);
	struct port port = port_usual();
	struct result r;

	port.mtu = 1500;
	port_set(WORLD_IFINDEX, &port);
	hosts_strip();
	r = run(EGRESS, &in);
	expect_eq(r.out.len, 14 + 1500);
	expect_eq(flow_get(forward(0)).tx.segment, 14 + 1500);
	expect_counted(STAT_TX_DATA);
	in = tcp(.payload = 1500 - 20 - 20 - 20 - 8 - 12 - 44 - 15);
	expect_untouched(EGRESS, &in, STAT_TX_MTU);
}

/* --- DATA --- */

SinkTest(auth, tag__right_is_believed)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200), in;
		struct result r;
		struct flow f;

		flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		f = flow_get(forward(v6));
		expect_eq(f.rx.feedbacks, 1);
		expect_eq(f.echo.seq, 5);
		expect_eq(f.auth.telem_seq, 1000);
		expect_eq(f.auth.echo_seq, 1000);
		expect_eq(host_get(v6, HOST_B).rx_seq, 1000);
	}
}

SinkTest(auth, tag__of_every_shape)
{
	FOR_V4_AND_V6(v6) {
		unsigned int room, echo, is_udp, n = 0;

		for (is_udp = 0; is_udp < 2; is_udp++) {
			for (room = 0; room <= 5; room++) {
				for (echo = 0; echo <= 6; echo++) {
					struct frame inner = frame_of((struct ip_spec){
							     .v6 = v6, .reply = 1, .udp = is_udp }), in;
					struct result r;

					fixture("IPv%d, %s, room for %u, echo %u", v6 ? 6 : 4,
						is_udp ? "UDP" : "TCP", room, echo);
					in = wrap(&inner, .room = room, .echo = echo > 0,
						  .echo_hops = echo ? echo - 1 : 0, .key = &ours[0],
						  .auth_seq = ++n);
					r = run(sink, &in);
					expect_frame(&r.out, &inner);
					world_counted((const int[]){ -1 });
				}
			}
		}
	}
}

SinkTest(auth, tag__wrong_missing_or_foreign_is_refused)
{
	FOR_V4_AND_V6(v6) {
		struct frame in;

		flow_runs(v6);
		in = message(v6, &theirs, 1000, 5);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
		in = message(v6, &ours[1], 1000, 5);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
		in = message(v6, NULL, 1000, 5);
		expect_refused(&in, v6, STAT_RX_NO_AUTH);
		in = message(v6, &ours[0], 0, 5);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
	}
}

SinkTest(auth, tag__where_there_is_no_key_is_refused)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = message(v6, &ours[0], 1000, 5);

		keys_set(ours, 0);
		flow_runs(v6);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
	}
}

/* While keys are exchanged both are believed, the first signs. */
SinkTest(auth, rotation__both_keys_and_no_third)
{
	FOR_V4_AND_V6(v6) {
		struct frame out = frame_of(forward(v6)), in, want;
		struct result r;

		keys_set(ours, 2);
		flow_runs(v6);
		in = message(v6, &ours[1], 1000, 5);
		r = run(sink, &in);
		expect_eq(flow_get(forward(v6)).rx.feedbacks, 1);
		in = message(v6, &ours[0], 1001, 6);
		r = run(sink, &in);
		expect_eq(flow_get(forward(v6)).echo.seq, 6);
		world_counted((const int[]){ -1 });
		in = message(v6, &theirs, 1002, 7);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
		r = run(EGRESS, &out);
		want = r.out;
		frame_sign(&want, &ours[0]);
		expect_frame(&r.out, &want);
		keys_set(ours, 1);
		world_counted((const int[]){ -1 });
		in = message(v6, &ours[1], 1003, 8);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
	}
}

/* Is a byte of the frame covered by the tag? */
static int is_covered(const struct frame *f, unsigned int at)
{
	int v6 = frame_is_v6(f);
	unsigned int ip = 14, inner = at_inner(f);

	if (at >= ip + (v6 ? 8 : 12) && at < ip + (v6 ? 40 : 20)) /* outer addresses */
		return 1;
	if (at >= at_shim(f) + 4 && at < at_shim(f) + 12) /* header */
		return 1;
	if (at >= at_echo(f) && at < inner) /* echo, sequence, tag */
		return 1;
	if (at == inner + (v6 ? 6 : 9)) /* protocol */
		return 1;
	at -= inner + (v6 ? 40 : 20);
	return at < 4; /* ports */
}

SinkTest(auth, tag__covers_every_bit)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole, in;
		unsigned int at, bit, covered = 0;
		struct known before;

		flow_runs(v6);
		whole = message(v6, &ours[0], 1000, 5);
		before = known_of(v6);
		for (at = 0; at < whole.len; at++) {
			if (!is_covered(&whole, at))
				continue;
			covered++;
			for (bit = 0; bit < 8; bit++) {
				struct result r;

				fixture("IPv%d, bit %u of byte %u", v6 ? 6 : 4, bit, at);
				in = whole;
				in.b[at] ^= 1 << bit;
				r = run(sink, &in);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &in);
				expect_nothing_learned(v6, &before);
				expect_that(world_ended());
			}
		}
		expect_eq(covered, (v6 ? 32 : 8) + 8 + 16 + 20 + 1 + 4);
		fixture("IPv%d, and as it was", v6 ? 6 : 4);
		run(sink, &whole);
		expect_eq(flow_get(forward(v6)).rx.feedbacks, 1);
		expect_that(world_ended());
	}
}

/* What hops write in place cannot be covered. */
SinkTest(auth, tag__does_not_cover_what_hops_write)
{
	FOR_V4_AND_V6(v6) {
		struct frame in;
		struct result r;

		flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		r = run(HOP_MAP, &in);
		run(sink, &r.out);
		expect_counted(STAT_HOP_STAMPED, STAT_RX_DATA, STAT_FB_FIRST);
		expect_eq(flow_get(forward(v6)).echo.hops, 2);
	}
}

/* --- sequences --- */

SinkTest(auth, sequence__old_is_stripped_and_not_learned_from)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200), in;
		struct known before;
		struct result r;

		flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		before = known_of(v6);
		in = message(v6, &ours[0], 999, 4);
		r = run(sink, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		expect_nothing_learned(v6, &before);
	}
}

/* The segments of a GSO packet: one sequence, one echo, and telemetry for each. */
SinkTest(auth, sequence__of_segments)
{
	FOR_V4_AND_V6(v6) {
		struct frame in;
		struct known before;
		struct flow f;

		flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		before = known_of(v6);
		put64(in.b + at_hop(&in, 0), 0xc0ffee);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		f = flow_get(forward(v6));
		expect_eq(f.echo.hop[0], 0xc0ffee);
		expect_eq(memcmp(&f.cc, &before.f.cc, sizeof(f.cc)), 0);
		expect_eq(f.rx.feedbacks, 1);

		fixture("IPv%d, and said again later", v6 ? 6 : 4);
		f.auth.telem_ns -= 9 * MS;
		flow_set(forward(v6), &f);
		before = known_of(v6);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		expect_nothing_learned(v6, &before);
	}
}

/* The same of data without telemetry; an ACK has no segments. */
SinkTest(auth, sequence__of_segments_without_telemetry)
{
	FOR_V4_AND_V6(v6) {
		unsigned int payload;

		flow_runs(v6);
		for (payload = 0; payload <= 2; payload++) {
			__u64 seq = 1000 + payload;
			struct frame in = from_b(v6, payload, .seq = 5, .echo = 1, .echo_hops = 1, .echo_seq = 100,
						 .key = &ours[0], .auth_seq = seq),
				     old = from_b(v6, payload, .seq = 4, .echo = 1, .echo_hops = 1,
						  .echo_seq = 99, .key = &ours[0], .auth_seq = seq - 1);
			struct known before;

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, payload);
			run(sink, &in);
			world_counted((const int[]){ -1 });
			before = known_of(v6);
			run(sink, &in);
			expect_counted(STAT_RX_DATA, payload ? -1 : STAT_RX_REPLAYED);
			run(sink, &old);
			expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
			expect_nothing_learned(v6, &before);
		}
	}
}

/* An ACK does not wait in fq: it comes before the data that was sent before it. */
SinkTest(auth, sequence__an_ack_overtakes_data)
{
	FOR_V4_AND_V6(v6) {
		struct frame ack = from_b(v6, 0, .echo = 1, .echo_hops = 1, .echo_seq = 200, .key = &ours[0],
					  .auth_seq = 2000),
			     data = from_b(v6, 500, .room = 2, .nhop = 1, .seq = 77, .key = &ours[0],
					   .auth_seq = 1000);
		struct flow f;

		flow_runs(v6);
		run(sink, &ack);
		run(sink, &data);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST, STAT_RX_DATA);
		expect_eq(flow_get(forward(v6)).echo.seq, 77);
		run(sink, &ack);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		f = flow_get(forward(v6));
		expect_eq(f.rx.feedbacks, 1);
	}
}

/* A flow that is new here is measured by its host. */
SinkTest(auth, sequence__of_a_new_flow)
{
	FOR_V4_AND_V6(v6) {
		__u64 newest = 1700000000 * NSEC_PER_SEC;
		struct host h = { .rx_seq = newest };
		struct frame in;

		seq_base_set(newest);
		host_set(v6, HOST_B, &h);
		in = message(v6, &ours[0], newest - NSEC_PER_SEC, 5);
		run(sink, &in);
		expect_eq(flow_exists(forward(v6)), 0);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		world_counted((const int[]){ -1 });
		in = message(v6, &ours[0], newest - NSEC_PER_SEC + 1, 5);
		run(sink, &in);
		expect_eq(flow_exists(forward(v6)), 1);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		in = message(v6, &ours[0], newest + 1, 6);
		run(sink, &in);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_eq(host_get(v6, HOST_B).rx_seq, newest + 1);
	}
}

/* A host that was started again goes on above its last: nobody needs to forget it first. */
SinkTest(auth, sequence__of_a_host_that_was_restarted)
{
	struct frame sent = tcp(.reply = 1, .payload = 200), in;
	__u64 base = 1700000000 * NSEC_PER_SEC;
	struct result r;
	int i;

	flow_runs(0);
	for (i = 0; i < 3; i++) {
		fixture("start %d", i + 1);
		seq_base_set(base + i * NSEC_PER_SEC);
		hosts_strip();
		r = run(EGRESS, &sent);
		in = r.out;
		r = run(sink, &in);
		expect_counted(STAT_TX_DATA, STAT_RX_DATA);
		expect_eq(flow_get(forward(0)).auth.telem_seq, get64(in.b + at_auth(&in)));
	}
}

/* The base, and how far a sequence is ahead of what this host would send: margin for the time that the test takes. */
#define BASE_NS (1790000000 * NSEC_PER_SEC)
#define DAY_NS (86400 * NSEC_PER_SEC)
#define MARGIN_NS (3600 * NSEC_PER_SEC)

static const __u64 ahead_ns[] = { DAY_NS + MARGIN_NS, 73 * 365 * DAY_NS };

/* It is taken off, so that nothing is lost, and that is all. */
SinkTest(auth, sequence__from_the_future_is_stripped_and_not_learned_from)
{
	unsigned int i;

	seq_base_set(BASE_NS);
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200), in;
		struct known before;
		struct result r;

		flow_runs(v6);
		before = known_of(v6);
		for (i = 0; i < 2; i++) {
			fixture("IPv%d, %llu s ahead", v6 ? 6 : 4, ahead_ns[i] / NSEC_PER_SEC);
			in = message(v6, &ours[0], BASE_NS + clock_ns() + ahead_ns[i], 5);
			r = run(sink, &in);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA, STAT_RX_FUTURE);
			expect_nothing_learned(v6, &before);
		}
		fixture("IPv%d, and what is right counts after it", v6 ? 6 : 4);
		in = message(v6, &ours[0], BASE_NS + clock_ns(), 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		fixture("IPv%d, less than a day ahead", v6 ? 6 : 4);
		in = message(v6, &ours[0], BASE_NS + clock_ns() + DAY_NS - MARGIN_NS, 6);
		run(sink, &in);
		expect_eq(flow_get(forward(v6)).rx.feedbacks, 2);
		world_counted((const int[]){ -1 });
	}
}

SinkTest(auth, sequence__from_the_future_of_a_new_flow)
{
	unsigned int i;

	seq_base_set(BASE_NS);
	FOR_V4_AND_V6(v6) {
		for (i = 0; i < 2; i++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200),
				     in = message(v6, &ours[0], BASE_NS + clock_ns() + ahead_ns[i], 5);
			struct result r = run(sink, &in);

			fixture("IPv%d, %llu s ahead", v6 ? 6 : 4, ahead_ns[i] / NSEC_PER_SEC);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA, STAT_RX_FUTURE);
			expect_eq(flow_exists(forward(v6)), 0);
			expect_eq(host_exists(v6, HOST_B), 0);
		}
	}
}

/* Before NTP a host without a battery is in 1970: all that its peers send is from the future, and nothing is lost. */
SinkTest(auth, sequence__from_the_future_of_a_clock_that_was_set_since)
{
	struct frame in = message(0, &ours[0], BASE_NS, 5);

	flow_runs(0);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_RX_FUTURE);
	seq_base_set(BASE_NS);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
}

SinkTest(auth, sequence__does_not_matter_without_a_key)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = message(v6, NULL, 0, 5);

		keys_set(ours, 0);
		flow_runs(v6);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
	}
}

/* --- PROBE and PROBE_REPLY --- */

static struct frame probe_of_b(int v6, const struct siphash_key *key, __u64 seq)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1);

	return wrap(&inner, .msg = 2, .room = 5, .nhop = 1, .key = key, .auth_seq = seq);
}

SinkTest(auth, probe__is_answered_with_a_tag_of_its_own)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = probe_of_b(v6, &ours[1], 1000), want = frame_turned(in);
		struct host h = {};
		struct result r;

		keys_set(ours, 2);
		host_set(v6, HOST_B, &h);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		frame_sign(&want, &ours[0]);
		expect_frame(&r.out, &want);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_counted(STAT_RX_PROBE);

		fixture("IPv%d, said again", v6 ? 6 : 4);
		h.rx_seq = 1000;
		host_set(v6, HOST_B, &h);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		expect_counted(STAT_RX_PROBE_OLD);
	}
}

/* PROBEs of two flows that overtake each other are answered both, each once; what is a second older is not. */
SinkTest(auth, probe__is_answered_once)
{
	const __u64 now = 100 * NSEC_PER_SEC;

	FOR_V4_AND_V6(v6) {
		struct frame data = tcp(.v6 = v6, .reply = 1, .sport = 7), first, late, stale;
		struct host known = { .capable = 1, .rx_seq = now };

		host_set(v6, HOST_B, &known);
		first = probe_of_b(v6, &ours[0], now + 2);
		late = wrap(&data, .msg = 2, .room = 5, .key = &ours[0], .auth_seq = now + 1);
		data = tcp(.v6 = v6, .reply = 1, .sport = 8);
		stale = wrap(&data, .msg = 2, .room = 5, .key = &ours[0], .auth_seq = now + 2 - NSEC_PER_SEC);
		expect_verdict(run(sink, &first), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_FLOW_MADE_PROBE);
		expect_verdict(run(sink, &late), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_FLOW_MADE_PROBE);
		expect_eq(host_get(v6, HOST_B).rx_seq, now + 2);
		expect_verdict(run(sink, &first), VERDICT_DROP);
		expect_verdict(run(sink, &late), VERDICT_DROP);
		expect_verdict(run(sink, &stale), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_OLD, STAT_RX_PROBE_OLD, STAT_RX_PROBE_OLD);
		first = probe_of_b(v6, &ours[0], now + 3);
		expect_verdict(run(sink, &first), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
	}
}

/* Before its first PROBE a flow that is known is measured by its host, too. */
SinkTest(auth, probe__of_a_known_flow_from_long_ago)
{
	struct frame in = probe_of_b(0, &ours[0], 1000);
	struct host known = { .capable = 1, .rx_seq = 100 * NSEC_PER_SEC };

	flow_runs(0);
	host_set(0, HOST_B, &known);
	expect_verdict(run(sink, &in), VERDICT_DROP);
	expect_counted(STAT_RX_PROBE_OLD);
}

SinkTest(auth, probe__wrong_or_missing_tag_is_not_answered)
{
	FOR_V4_AND_V6(v6) {
		struct frame in;

		flow_runs(v6);
		in = probe_of_b(v6, &theirs, 1000);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
		in = probe_of_b(v6, NULL, 0);
		expect_refused(&in, v6, STAT_RX_NO_AUTH);
	}
}

SinkTest(auth, probe__from_the_future_is_not_answered)
{
	seq_base_set(BASE_NS);
	FOR_V4_AND_V6(v6) {
		struct frame in = probe_of_b(v6, &ours[0], BASE_NS + clock_ns() + DAY_NS + MARGIN_NS);
		struct known before;
		struct result r;

		flow_runs(v6);
		before = known_of(v6);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE, STAT_RX_FUTURE);
		expect_nothing_learned(v6, &before);
	}
}

/* Where XDP_TX does not arrive, tc answers, and counts. */
Test(auth, probe__is_left_to_tc_where_nothing_can_be_sent_back)
{
	struct port p = port_usual();

	p.flags &= ~PORT_F_XDP_TX;
	port_set(WORLD_IFINDEX, &p);
	FOR_V4_AND_V6(v6) {
		struct frame in = probe_of_b(v6, &ours[0], 1000), want = frame_turned(in);
		struct result r = run(INGRESS_XDP, &in);

		frame_sign(&want, &ours[0]);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE);
	}
}

/* What A asks, and B answers. */
SinkTest(auth, probe_reply__counts_once)
{
	FOR_V4_AND_V6(v6) {
		struct frame data = frame_of(forward(v6)), reply, first;
		struct host h = { .heard_ns = 1, .asked_ns = 1 };
		struct known before;
		struct result r;
		int i;

		flow_runs(v6);
		for (i = 0; i < 2; i++) {
			host_set(v6, HOST_B, &h);
			r = run(EGRESS, &data, .clone = 1);
			r = run(HOP_MAP, &r.out);
			world_counted((const int[]){ -1 }); /* a PROBE ends in none */
			expect_eq(flow_get(forward(v6)).auth.probe_seq, get64(r.out.b + at_auth(&r.out)));
			reply = frame_turned(r.out);
			expect_refused(&reply, v6, STAT_RX_BAD_AUTH); /* the tag of a PROBE is no reply's */
			frame_sign(&reply, &ours[0]);
			r = run(sink, &reply);
			expect_verdict(r, VERDICT_DROP);
			expect_that(world_ended());
			expect_eq(flow_get(forward(v6)).rx.feedbacks, 1 + i);
			expect_eq(host_get(v6, HOST_B).capable, 1);
			before = known_of(v6);
			run(sink, &reply);
			expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_REPLAYED);
			expect_nothing_learned(v6, &before);
			if (i)
				run(sink, &first);
			else
				first = reply;
			world_counted((const int[]){ -1 });
			expect_nothing_learned(v6, &before);
		}
		fixture("IPv%d, to what was not asked", v6 ? 6 : 4);
		put64(reply.b + at_auth(&reply), flow_get(forward(v6)).auth.probe_seq + 1);
		frame_sign(&reply, &ours[0]);
		before = known_of(v6);
		run(sink, &reply);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_REPLAYED);
		expect_nothing_learned(v6, &before);
	}
}

/* One whose question was asked by a clock that is no more. */
SinkTest(auth, probe_reply__from_the_future)
{
	struct frame data = frame_of(forward(0)), reply;
	struct host h = { .heard_ns = 1, .asked_ns = 1 };
	struct known before;
	struct result r;

	flow_runs(0);
	seq_base_set(BASE_NS + DAY_NS + MARGIN_NS);
	host_set(0, HOST_B, &h);
	r = run(EGRESS, &data, .clone = 1);
	reply = frame_turned(r.out);
	frame_sign(&reply, &ours[0]);
	seq_base_set(BASE_NS);
	before = known_of(0);
	world_counted((const int[]){ -1 });
	run(sink, &reply);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_FUTURE);
	expect_nothing_learned(0, &before);
}

/* A reply from an earlier life of the same ports is older than the first question. */
SinkTest(auth, probe_reply__older_than_the_first_question)
{
	struct frame data = frame_of(forward(0)), reply;
	struct host h = { .asked_ns = 1 };
	struct result r;

	flow_runs(0);
	r = run(EGRESS, &data, .clone = 1);
	reply = frame_turned(r.out);
	put64(reply.b + at_auth(&reply), get64(reply.b + at_auth(&reply)) - 1);
	frame_sign(&reply, &ours[0]);
	host_set(0, HOST_B, &h);
	run(sink, &reply);
	expect_eq(host_get(0, HOST_B).capable, 0);
	expect_eq(flow_get(forward(0)).rx.feedbacks, 0);
}

/* --- all at once --- */

#define ATTACKS 10000
#define RECORDED 100

/* W and all else of a live flow is what it is without them. */
SinkTest(auth, attack__changes_nothing)
{
	FOR_V4_AND_V6(v6) {
		static struct frame recorded[RECORDED];
		unsigned int i, at, live = 0;
		struct known before;
		struct result r;

		srand(1);
		flow_runs(v6);
		for (i = 0; i < ATTACKS; i++) {
			struct frame in;

			if (i % (ATTACKS / RECORDED) == 0) {
				fixture("IPv%d, message %u of the flow", v6 ? 6 : 4, live);
				recorded[live] = message(v6, &ours[0], 1000 + live, live + 1);
				run(sink, &recorded[live]);
				live++;
				expect_eq(flow_get(forward(v6)).rx.feedbacks, live);
				expect_eq(flow_get(forward(v6)).echo.seq, live);
			}
			before = known_of(v6);
			fixture("IPv%d, attack %u", v6 ? 6 : 4, i);
			in = message(v6, &ours[0], 5000 + i, 5000 + i);
			switch (i % 5) {
			case 0: /* forged */
				put64(in.b + at_auth(&in) + 8, (__u64)rand() << 32 | rand());
				break;
			case 1: /* what was sent, with a bit changed */
				in = recorded[live - 1];
				do
					at = rand() % in.len;
				while (!is_covered(&in, at));
				in.b[at] ^= 1 << rand() % 8;
				break;
			case 2: /* somebody else's key */
				frame_sign(&in, &theirs);
				break;
			case 3: /* replayed */
				if (live < 2)
					continue;
				in = recorded[rand() % (live - 1)];
				break;
			case 4: /* as if nothing had to be signed */
				in = message(v6, NULL, 0, 5000 + i);
				break;
			}
			r = run(sink, &in);
			expect_verdict(r, VERDICT_PASS);
			expect_nothing_learned(v6, &before);
		}
		expect_eq(live, RECORDED);
		expect_that(world_ended());
	}
}
