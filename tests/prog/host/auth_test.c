// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/auth.bpf.h: messages are signed, and believed with a right tag only. */
#include <stdlib.h>

#include "auth_case.h"

TestSuite(auth, .init = auth_make, .fini = world_drop, .timeout = 120);
TestSuite(auth_xdp, .init = auth_make, .fini = world_drop, .timeout = 120);

/* --- egress --- */

Test(auth, sign__what_is_sent)
{
	static const struct ip_spec kinds[] = { { .payload = 100 },
						{ .payload = 1000, .options = 12 },
						{ .payload = 100, .udp = 1 },
						{ .payload = 1, .udp = 1 } };
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
				f.echo = (struct flow_echo){ .version = 2,
							     .hops = hops,
							     .seq = 7,
							     .nhop_path = 0x1234,
							     .rx_ns = clock_ns(),
							     .hop = { 1, 2, 3, 4, 5 } };
				flow_set(s, &f);
				hosts_strip();
				before = clock_ns();
				r = run(EGRESS, &in);
				seq = get64(r.out.b + at_auth(&r.out));
				expect_between(seq, before, clock_ns());
				want = wrap(&in, .room = 5, .echo = 1, .echo_hops = hops, .echo_seq = 7,
					    .echo_age = get16(r.out.b + at_echo(&r.out) + 4), .echo_path = 0x234,
					    .echo_hop = { 1, 2, 3, 4, 5 }, .sport = get16(r.out.b + at_udp(&r.out)),
					    .key = &ours[0], .seq = get32(r.out.b + at_shim(&r.out) + 8),
					    .auth_seq = seq);
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
	struct frame in = frame_of(auth_forward(0));
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
	expect_eq(flow_get(auth_forward(0)).tx.segment, 14 + 1500);
	expect_counted(STAT_TX_DATA);
	in = tcp(.payload = 1500 - 20 - 20 - 20 - 8 - 12 - 44 - 15);
	expect_untouched(EGRESS, &in, STAT_TX_MTU);
}

/* --- DATA --- */

SinkTest(auth, tag__right_is_believed)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 200), in;
		struct result r;
		struct flow f;

		auth_flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
		f = flow_get(auth_forward(v6));
		expect_eq(f.rx.feedbacks, 1);
		expect_eq(f.echo.seq, 5);
		expect_eq(f.auth.telem_seq, 1000);
		expect_eq(f.auth.echo_seq, 1000);
		expect_eq(host_get(v6, HOST_B).rx_seq, 1000);
	}
}

SinkTest(auth, tag__of_every_shape)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int room, echo, is_udp, n = 0;

		for (is_udp = 0; is_udp < 2; is_udp++) {
			for (room = 0; room <= 5; room++) {
				for (echo = 0; echo <= 6; echo++) {
					struct frame inner = frame_of(
							     (struct ip_spec){ .v6 = v6, .reply = 1, .udp = is_udp }),
						     in;
					struct result r;

					fixture("IPv%d, %s, room for %u, echo %u", v6 ? 6 : 4, is_udp ? "UDP" : "TCP",
						room, echo);
					in = wrap(&inner, .room = room, .echo = echo > 0,
						  .echo_hops = echo ? echo - 1 : 0, .key = &ours[0], .auth_seq = ++n);
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
	FOR_V4_AND_V6 (v6) {
		struct frame in;

		auth_flow_runs(v6);
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
	FOR_V4_AND_V6 (v6) {
		struct frame in = message(v6, &ours[0], 1000, 5);

		keys_set(ours, 0);
		auth_flow_runs(v6);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
	}
}

/* While keys are exchanged both are believed, the first signs. */
SinkTest(auth, rotation__both_keys_and_no_third)
{
	FOR_V4_AND_V6 (v6) {
		struct frame out = frame_of(auth_forward(v6)), in, want;
		struct result r;

		keys_set(ours, 2);
		auth_flow_runs(v6);
		in = message(v6, &ours[1], 1000, 5);
		r = run(sink, &in);
		expect_eq(flow_get(auth_forward(v6)).rx.feedbacks, 1);
		in = message(v6, &ours[0], 1001, 6);
		r = run(sink, &in);
		expect_eq(flow_get(auth_forward(v6)).echo.seq, 6);
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
	FOR_V4_AND_V6 (v6) {
		struct frame whole, in;
		unsigned int at, bit, covered = 0;
		struct known before;

		auth_flow_runs(v6);
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
		expect_eq(flow_get(auth_forward(v6)).rx.feedbacks, 1);
		expect_that(world_ended());
	}
}

/* The tag cannot cover the fields that hops write in place. */
SinkTest(auth, tag__does_not_cover_what_hops_write)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in;
		struct result r;

		auth_flow_runs(v6);
		in = message(v6, &ours[0], 1000, 5);
		r = run(HOP_MAP, &in);
		run(sink, &r.out);
		expect_counted(STAT_HOP_STAMPED, STAT_RX_DATA, STAT_FB_FIRST);
		expect_eq(flow_get(auth_forward(v6)).echo.hops, 2);
	}
}

/* --- all at once --- */

#define ATTACKS 10000
#define RECORDED 100

/* W and all else of a live flow is what it is without them. */
SinkTest(auth, attack__changes_nothing)
{
	FOR_V4_AND_V6 (v6) {
		static struct frame recorded[RECORDED];
		unsigned int i, at, live = 0;
		struct known before;
		struct result r;

		srand(1);
		auth_flow_runs(v6);
		for (i = 0; i < ATTACKS; i++) {
			struct frame in;

			if (i % (ATTACKS / RECORDED) == 0) {
				fixture("IPv%d, message %u of the flow", v6 ? 6 : 4, live);
				recorded[live] = message(v6, &ours[0], 1000 + live, live + 1);
				run(sink, &recorded[live]);
				live++;
				expect_eq(flow_get(auth_forward(v6)).rx.feedbacks, live);
				expect_eq(flow_get(auth_forward(v6)).echo.seq, live);
			}
			before = known_of(v6);
			fixture("IPv%d, attack %u", v6 ? 6 : 4, i);
			in = message(v6, &ours[0], 5000 + i, 5000 + i);
			switch (i % 5) {
			case 0: /* forged */
				put64(in.b + at_auth(&in) + 8, (__u64)rand() << 32 | rand());
				break;
			case 1: /* the sent message, with a bit changed */
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
