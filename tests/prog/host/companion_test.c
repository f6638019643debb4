// SPDX-License-Identifier: GPL-2.0-only
/* Companions: bpf/host/probe.bpf.h makes and answers them, bpf/port/hop.bpf.h stamps them, bpf/lib/parse.bpf.h knows them. */
#include <bpf/bpf.h>
#include <string.h>

#include "companion_case.h"
#include "sluice/cc/companion.h"
#include "sluice/cc/first.h"
#include "sluice/cc/hpcc.h"
#include "sluice/wire/wire.h"

TestSuite(companion, .init = egress_make, .fini = world_drop, .timeout = 60);
TestSuite(companion_xdp, .init = egress_make, .fini = world_drop, .timeout = 60);

/* --- source --- */

Test(companion, data__leaves_as_it_was_made)
{
	struct asker a = asker_make();
	unsigned int i;

	telemetry_beside();
	FOR_V4_AND_V6 (v6) {
		for (int udp = 0; udp < 2; udp++) {
			struct ip_spec s = { .v6 = v6, .udp = udp, .payload = 1000, .tos = 0xb8 };
			struct frame in = frame_of(s), got, want;
			struct result r;

			fixture("IPv%d, %s", v6 ? 6 : 4, udp ? "UDP" : "TCP");
			for (i = 0; i < COMPANION_AFTER; i++) {
				r = run(EGRESS, &in, .ifindex = a.ifindex);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &in);
				expect_counted(STAT_TX_BESIDE);
			}
			cr_assert(!packet_catch(a.fd, &got, 20), "%sa companion of the first packets", world_fixture());
			r = run(EGRESS, &in, .ifindex = a.ifindex);
			expect_frame(&r.out, &in);
			expect_counted(STAT_TX_BESIDE, STAT_COMPANION_SENT);
			cr_assert(packet_catch(a.fd, &got, 1000), "%sno companion", world_fixture());
			want = companion_of(&in, 2, 3 * in.len);
			ip_sum_take(&got, &want);
			expect_frame(&got, &want);
			expect_eq(flow_get(s).tx.bytes, 3 * in.len);
			expect_eq(flow_get(s).companion.count, 1);
			expect_between(host_get(v6, HOST_B).unanswered_ns, 1, clock_ns());
			for (i = 0; i < COMPANION_AFTER - 1; i++)
				run(EGRESS, &in, .ifindex = a.ifindex);
			cr_assert(!packet_catch(a.fd, &got, 20), "%sa second one", world_fixture());
			run(EGRESS, &in, .ifindex = a.ifindex);
			cr_assert(packet_catch(a.fd, &got, 1000), "%snot once in 2 packets", world_fixture());
			world_ended();
		}
	}
}

/* Between two companions nobody asks whether the peer strips; after two T somebody does. */
Test(companion, data__of_a_flow_that_is_quiet)
{
	telemetry_beside();
	enforce_with_fq();
	for (int udp = 0; udp < 2; udp++) {
		struct ip_spec s = { .udp = udp, .payload = 1000 };
		struct host deaf = { .heard_ns = clock_ns(), .asked_ns = clock_ns() }, peer = host_get(0, HOST_B);
		struct frame in = frame_of(s);
		struct result r;
		struct flow f;

		run(EGRESS, &in);
		f = clock_at(s, clock_ns() + 2 * MS, 1000000000);
		f.companion =
			(struct companion_state){ .left_ns = clock_ns(), .sent = in.len, .count = COMPANION_FIRST };
		flow_set(s, &f);
		host_set(0, HOST_B, &deaf);
		world_ended();
		r = run(EGRESS, &in);
		expect_frame(&r.out, &in);
		expect_counted(STAT_TX_BESIDE, STAT_PACED);
		expect_eq(r.ctx.tstamp, f.tx.clock_ns);
		expect_eq(flow_get(s).tx.bytes, 2 * in.len);
		f = flow_get(s);
		f.companion.left_ns -= 2 * f.params.t_ns;
		flow_set(s, &f);
		run(EGRESS, &in);
		expect_counted(STAT_TX_PEER_UNKNOWN);
		host_set(0, HOST_B, &peer);
	}
}

/* A socket of ours has a note, by which its packets leave without a look at their flow until something is due. */
Test(companion, data__of_a_socket_of_ours)
{
	telemetry_beside();
	control_set(MODE_ENFORCE, 0);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), fin = tcp(.v6 = v6, .payload = 1000, .flags = ACK | FIN);
		struct flow f;

		run(EGRESS, &in);
		f = flow_get(s);
		f.tx.own_cc = 1;
		f.companion =
			(struct companion_state){ .left_ns = clock_ns(), .sent = in.len, .count = COMPANION_FIRST };
		flow_set(s, &f);
		world_ended();
		/* One run is one socket. The first packet writes the note; the flow does not hear of the others, */
		run(EGRESS, &in, .tstamp = clock_ns(), .repeat = 5);
		expect_counted(STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_TX_BESIDE);
		expect_eq(flow_get(s).tx.bytes, 2 * in.len);
		/* unless TCP has set no time, */
		run(EGRESS, &in, .repeat = 5);
		expect_eq(flow_get(s).tx.bytes, 7 * in.len);
		/* the connection ends, */
		run(EGRESS, &fin, .tstamp = clock_ns(), .repeat = 5);
		expect_eq(flow_get(s).tx.bytes, 12 * in.len);
		/* its congestion control is another, */
		f = flow_get(s);
		f.tx.own_cc = 0;
		flow_set(s, &f);
		run(EGRESS, &in, .tstamp = clock_ns(), .repeat = 5);
		expect_eq(flow_get(s).tx.bytes, 17 * in.len);
		/* or a companion is due: then it gets to know of all of them. */
		f.tx.own_cc = 1;
		f.tx.bytes = in.len;
		f.companion = (struct companion_state){ .left_ns = clock_ns(), .sent = in.len, .count = 1000 };
		f.companion.left_ns -= f.params.t_ns;
		flow_set(s, &f);
		world_ended();
		run(EGRESS, &in, .tstamp = clock_ns(), .repeat = COMPANION_PACKETS);
		expect_eq(flow_get(s).companion.count, 1001);
		expect_eq(flow_get(s).companion.sent, (1 + COMPANION_PACKETS) * in.len);
		expect_eq(flow_get(s).tx.bytes, (1 + COMPANION_PACKETS) * in.len);
		world_ended();
	}
}

/* A socket whose congestion control is not heard any more has another one by now: each of its packets is looked at again. */
Test(companion, data__of_a_socket_that_was_ours)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame in = frame_of(s);
	struct flow f;

	telemetry_beside();
	control_set(MODE_ENFORCE, 0);
	run(EGRESS, &in);
	f = flow_get(s);
	f.tx.own_cc = 1;
	f.cc.hops = 1;
	f.cc.u = Q24_ONE; /* a companion with each eighth packet, and a note */
	f.companion = (struct companion_state){ .left_ns = clock_ns(), .sent = in.len, .count = COMPANION_FIRST };
	flow_set(s, &f);
	run(EGRESS, &in, .tstamp = clock_ns(), .repeat = 3 * COMPANION_PACKETS + 5);
	cr_assert_lt(flow_get(s).tx.bytes, (2 + 3 * COMPANION_PACKETS + 4) * in.len,
		     "without a note from the first packet on");
	flow_set(s, &f);
	run(EGRESS, &in, .tstamp = clock_ns(), .repeat = 9 * COMPANION_PACKETS + 5);
	expect_eq(flow_get(s).tx.bytes, (1 + 9 * COMPANION_PACKETS + 5) * in.len);
	world_ended();
}

/* Of a large GSO packet the next ACK is taken, which is small. */
Test(companion, companion__of_an_ack)
{
	struct asker a = asker_make();

	telemetry_beside();
	enforce_with_fq();
	rwnd_set(1);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1200, .tos = 0xb8 };
		struct frame in = frame_of(s), ack = tcp(.v6 = v6, .reply = 1), got, want;
		struct flow f;

		if (v6)
			put32(in.b + 14, 6u << 28 | 0xb8u << 20 | 0x12345);
		run(EGRESS, &in, .ifindex = a.ifindex, .gso_size = 120, .gso_segs = 10);
		world_ended();
		f = flow_get(s);
		f.companion = (struct companion_state){ .left_ns = 1, .count = COMPANION_FIRST + 1 };
		f.tx.clock_ns = 0;
		f.tx.own_cc = 1;
		flow_set(s, &f);
		run(INGRESS, &ack, .ifindex = a.ifindex); /* nothing to do, which is remembered */
		world_ended();
		run(EGRESS, &in, .ifindex = a.ifindex, .gso_size = 120, .gso_segs = 10);
		expect_counted(STAT_TX_BESIDE);
		cr_assert(!packet_catch(a.fd, &got, 20), "%sone of the packet itself", world_fixture());
		expect_eq(flow_get(s).beside.wanted, 1);
		/* By another interface than that of the flow: the companion would leave there. */
		expect_verdict(run(INGRESS, &ack), VERDICT_PASS);
		expect_eq(flow_get(s).beside.wanted, 1);
		world_ended();
		expect_verdict(run(INGRESS, &ack, .ifindex = a.ifindex), VERDICT_PASS);
		cr_assert(packet_catch(a.fd, &got, 1000), "%snone of the ACK", world_fixture());
		want = companion_of(&in, 2, get32(got.b + companion_at(&got) + COMPANION_MESSAGE + 4));
		ip_sum_take(&got, &want);
		expect_frame(&got, &want);
		expect_eq(flow_get(s).beside.wanted, 0);
		world_ended();
		run(INGRESS, &ack, .ifindex = a.ifindex);
		expect_counted(STAT_RX_OTHER);
		cr_assert(!packet_catch(a.fd, &got, 20), "%sanother one", world_fixture());
	}
}

/* Right behind a packet of many segments it would report that packet's own queue. */
Test(companion, companion__of_an_ack_leaves_before_the_next_packet)
{
	struct asker a = asker_make();
	struct ip_spec s = { .payload = 1200 };
	struct frame in = frame_of(s), ack = tcp(.reply = 1), got;
	__u64 clock = clock_ns() + 5 * MS;
	struct flow f;

	telemetry_beside();
	enforce_with_fq();
	rwnd_set(1);
	run(EGRESS, &in, .ifindex = a.ifindex);
	f = flow_get(s);
	f.companion = (struct companion_state){ .left_ns = 1, .count = COMPANION_FIRST + 1 };
	f.beside.wanted = 1;
	f.path.port_flags |= PORT_F_EDT;
	f.tx.clock_ns = clock;
	f.delay.probed = 0;
	flow_set(s, &f);
	run(INGRESS, &ack, .ifindex = a.ifindex);
	cr_assert(packet_catch(a.fd, &got, 1000), "none of the ACK");
	expect_eq((__u32)flow_get(s).delay.probed, (__u32)(clock - 1));

	fixture("nothing of the flow waits");
	f.beside.wanted = 1;
	f.tx.clock_ns = 0;
	flow_set(s, &f);
	clock = clock_ns();
	run(INGRESS, &ack, .ifindex = a.ifindex);
	cr_assert(packet_catch(a.fd, &got, 1000), "none of the ACK");
	expect_between((__u32)flow_get(s).delay.probed - (__u32)clock, 0, clock_ns() - clock);
}

/* A packet with an echo to carry is wrapped, as it would be for any peer. */
Test(companion, data__with_an_echo_is_wrapped)
{
	struct ip_spec s = { .payload = 500 };
	struct frame in = frame_of(s);
	struct result r;

	telemetry_beside();
	run(EGRESS, &in);
	echo_waits(s, 1000);
	r = run(EGRESS, &in);
	expect_counted(STAT_TX_BESIDE, STAT_TX_DATA, STAT_TX_BARE);
	cr_assert(r.out.len > in.len);
}

/* A packet that telemetry would make too long for the MTU is no different, nor is one of the MTU. */
Test(companion, data__needs_no_room)
{
	struct port p = port_usual();
	struct frame in = tcp(.payload = 1446);

	p.mtu = 1500;
	port_change(WORLD_IFINDEX, &p);
	telemetry_beside();
	run(EGRESS, &in);
	expect_counted(STAT_TX_BESIDE);
}

/* --- hop --- */

Test(companion, hop__stamps_it)
{
	struct port p = port_usual();

	p.flags = PORT_F_SWITCH;
	p.backlog_bytes = 50 * 80;
	port_set(WORLD_IFINDEX, &p);
	FOR_V4_AND_V6 (v6) {
		for (int udp = 0; udp < 2; udp++) {
			struct frame data = frame_of((struct ip_spec){ .v6 = v6, .udp = udp, .payload = 100 }),
				     in = companion_of(&data, 2, 77), want = in;
			struct result r = run(HOP_MAP, &in);
			__u8 *telem = want.b + companion_at(&want) + COMPANION_TELEM;

			expect_verdict(r, VERDICT_PASS);
			expect_counted(STAT_HOP_STAMPED);
			put16(telem, 1 << 12 | (port_usual().switch_id & 0xfff));
			memcpy(telem + 4, r.out.b + companion_at(&want) + COMPANION_TELEM + 4, 8);
			expect_frame(&r.out, &want);
			expect_eq(get64(telem + 4) & 0xffff, 50);
			in = companion_of(&data, 3, 77);
			expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		}
	}
}

/* --- sink --- */

SinkTest(companion, companion__is_turned_round)
{
	FOR_V4_AND_V6 (v6) {
		for (int udp = 0; udp < 2; udp++) {
			struct ip_spec s = { .v6 = v6, .udp = udp, .reply = 1, .payload = 100 };
			struct frame data = frame_of(s), in = companion_of(&data, 2, 0x12345678), want = in;
			unsigned int bytes = v6 ? 16 : 4, at = 14 + (v6 ? 8 : 12), l4 = companion_at(&in);
			struct result r;
			__u32 clock;

			put16(in.b + l4 + COMPANION_TELEM, 1 << 12 | 0x321);
			put64(in.b + l4 + COMPANION_TELEM + 4, 0x1122334455667788);
			frame_fix(&data);
			want = in;
			memcpy(want.b, in.b + 6, 6);
			memcpy(want.b + 6, in.b, 6);
			memcpy(want.b + at, in.b + at + bytes, bytes);
			memcpy(want.b + at + bytes, in.b + at, bytes);
			memcpy(want.b + l4, in.b + l4 + 2, 2);
			memcpy(want.b + l4 + 2, in.b + l4, 2);
			want.b[l4 + COMPANION_MESSAGE] = 0x43;
			r = run(sink, &in);
			expect_verdict(r, VERDICT_REDIRECT);
			expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION);
			memcpy(want.b + l4 + COMPANION_TELEM + 2, r.out.b + l4 + COMPANION_TELEM + 2, 2); /* N */
			clock = get16(r.out.b + l4 + COMPANION_CLOCK_HIGH) << 16 |
				get16(r.out.b + l4 + COMPANION_CLOCK_LOW);
			expect_eq((__u32)(clock_ns() >> WIRE_CLOCK_SHIFT) - clock < NSEC_PER_SEC >> WIRE_CLOCK_SHIFT,
				  1);
			put16(want.b + l4 + COMPANION_CLOCK_HIGH, clock >> 16);
			put16(want.b + l4 + COMPANION_CLOCK_LOW, clock);
			expect_frame(&r.out, &want);
			expect_untouched(EGRESS, &r.out, STAT_TX_OWN);
			/* The flow that goes back is known from now on, and counts for N. */
			s.reply = 0;
			expect_eq(flow_get(s).rx.last_ns > 0, 1);
		}
	}
}

/* N as the companion of a handshake brings it back, of position 0, and the companion of data, of another. */
SinkTest(companion, companion__of_a_handshake_is_told_what_is_promised)
{
	struct peer peer = peer_usual();
	struct port port = port_usual();
	unsigned int n, at;

	port.count_ns = 3600000 * MS;
	port_change(WORLD_IFINDEX, &port);
	peer.t_ns = 1000 * MS;
	peer_set("10.1.0.2", 128, &peer);
	for (n = 1; n <= 4; n++) {
		for (unsigned int position = 0; position < 2; position++) {
			struct frame data = tcp(.reply = 1, .dport = 4000 + n, .payload = 100),
				     in = companion_of(&data, 2, position);
			struct result r = run(sink, &in);

			expect_verdict(r, VERDICT_REDIRECT);
			at = companion_at(&r.out) + COMPANION_TELEM + 2;
			if (position || n == 1)
				expect_eq(get16(r.out.b + at), n);
			else
				expect_between(get16(r.out.b + at), n + 1, FIRST_LEAST * n);
			world_ended();
		}
	}
}

/* A packet of s leaves with telemetry beside it, and B was asked just now: returns the packet's bytes. */
static unsigned int asked_beside(struct ip_spec s)
{
	struct host h = host_get(s.v6, HOST_B);
	struct frame out = frame_of(s);

	telemetry_beside();
	run(EGRESS, &out);
	expect_counted(STAT_TX_BESIDE);
	h.asked_ns = clock_ns();
	host_set(s.v6, HOST_B, &h);
	return out.len;
}

SinkTest(companion, reply__is_feedback)
{
	FOR_V4_AND_V6 (v6) {
		for (int udp = 0; udp < 2; udp++) {
			struct ip_spec s = { .v6 = v6, .udp = udp, .payload = 1000 }, back = s;
			struct frame data, in;
			unsigned int l4, out_len;
			int i;

			out_len = asked_beside(s);
			back.reply = 1;
			data = frame_of(back);
			for (i = 0; i < 2; i++) {
				in = companion_of(&data, 3, out_len);
				l4 = companion_at(&in);
				put16(in.b + l4 + COMPANION_TELEM, 1 << 12 | 0x321);
				put16(in.b + l4 + COMPANION_TELEM + 2, 70); /* N */
				put64(in.b + l4 + COMPANION_TELEM + 4, 12ULL << 60 | (1000 + i * 500ULL) << 36);
				expect_verdict(run(sink, &in), VERDICT_DROP);
				expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION,
					       i ? STAT_FB_FAST : STAT_FB_FIRST);
			}
			expect_eq(flow_get(s).rx.feedbacks, 2);
			expect_eq(flow_get(s).rx.fb_probe, 1);
			expect_eq(flow_get(s).cc.hops, 1);
			expect_eq(flow_get(s).rx.flows, 70 + 70 / 2);
		}
	}
}

/* Replies after T and then after 2 T, all of it on the way there or all on the way back. No hop reports a queue, or none stamps. */
SinkTest(companion, reply__that_is_late_on_the_way_there_lowers_w)
{
	const __u64 t_ns = 4 * MS;

	FOR_V4_AND_V6 (v6) {
		for (int k = 0; k < 4; k++) {
			int there = k & 1, hops = k >> 1;
			struct ip_spec s = { .v6 = v6, .sport = 4000 + k, .payload = 1000 },
				       back = { .v6 = v6, .reply = 1, .dport = s.sport, .payload = 1000 };
			struct frame data, in;
			unsigned int l4, clock;
			struct flow f;
			__u64 late_ns;

			asked_beside(s);
			data = frame_of(back);
			for (int i = 0; i < 8; i++) {
				clock_pass(t_ns);
				late_ns = i < 2 ? 0 : t_ns;
				f = flow_get(s);
				f.params.t_ns = t_ns;
				f.path.delay = 1;
				f.tx.bytes += 1000;
				f.delay.probed = f.tx.bytes << 32 | (__u32)(clock_ns() - t_ns - late_ns);
				flow_set(s, &f);
				in = companion_of(&data, 3, f.tx.bytes);
				l4 = companion_at(&in);
				put16(in.b + l4 + COMPANION_TELEM, hops << 12 | 0x321);
				if (hops)
					put64(in.b + l4 + COMPANION_TELEM + 4, 12ULL << 60 | (1000 + i * (t_ns / 1000))
												     << 36);
				clock = (clock_ns() - (there ? 0 : late_ns)) >> WIRE_CLOCK_SHIFT;
				put16(in.b + l4 + COMPANION_CLOCK_HIGH, clock >> 16);
				put16(in.b + l4 + COMPANION_CLOCK_LOW, clock);
				expect_verdict(run(sink, &in), VERDICT_DROP);
				world_ended();
			}
			f = flow_get(s);
			expect_eq(f.rx.feedbacks, 8);
			fixture("hops %d, late there %d", hops, there);
			expect_eq(f.ceiling.by_delay > 0, there);
			expect_eq(f.cc.hops, hops);
			if (there)
				expect_between(f.cc.w, f.params.w_min, f.ceiling.w);
		}
	}
}

/*
 * The companion of a handshake asks for N before the first data leaves, which begins with W_init / N, whether hops stamp or
 * not. N may come late. While it is known, the next connections do not ask.
 */
SinkTest(companion, reply__to_a_handshake_bounds_the_first_window)
{
	struct asker a = asker_make();

	telemetry_beside();
	FOR_V4_AND_V6 (v6) {
		for (int k = 0; k < 3; k++) {
			int late = k == 2, hops = k > 0;
			struct ip_spec s = { .v6 = v6, .sport = 3000 + k, .payload = 1000 },
				       back = { .v6 = v6, .reply = 1, .dport = s.sport };
			struct frame syn = tcp(.v6 = v6, .sport = s.sport, .flags = SYN),
				     next = tcp(.v6 = v6, .sport = 3010, .flags = SYN), data = frame_of(back),
				     in = companion_of(&data, 3, 0), out = frame_of(s), got;
			struct host h = host_get(v6, HOST_B);
			unsigned int l4 = companion_at(&in);
			struct flow f;
			__u64 share;

			h.rate_ns = 0;
			host_set(v6, HOST_B, &h);
			run(EGRESS, &syn, .ifindex = a.ifindex);
			expect_counted(STAT_TX_HANDSHAKE, STAT_COMPANION_SENT);
			cr_assert(packet_catch(a.fd, &got, 1000), "no companion");
			h.asked_ns = clock_ns();
			host_set(v6, HOST_B, &h);
			put16(in.b + l4 + COMPANION_TELEM, hops << 12 | (hops ? 0x321 : 0));
			put16(in.b + l4 + COMPANION_TELEM + 2, 8); /* N */
			if (hops)
				put64(in.b + l4 + COMPANION_TELEM + 4,
				      1ULL << 60 | 1000ULL << 36); /* 100 Mbit/s, 6.25 MB in a T */
			f = flow_get(s);
			f.params.t_ns = 500 * MS; /* in which the test is done */
			f.path.delay = 1;
			flow_set(s, &f);
			if (late)
				run(EGRESS, &out, .ifindex = a.ifindex);
			world_ended();
			run(sink, &in);
			expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION, STAT_FB_FIRST);
			if (!late)
				run(EGRESS, &out, .ifindex = a.ifindex);
			f = flow_get(s);
			expect_eq(f.rx.feedbacks, late);
			share = (hops ? 6250000 : q12_to_bytes(f.params.w_init)) / 8;
			expect_between(q12_to_bytes(f.cc.w), share - 20, share);
			world_ended();
			if (late)
				continue;
			run(EGRESS, &next, .ifindex = a.ifindex);
			expect_counted(STAT_TX_HANDSHAKE);
		}
	}
}

/* A packet that almost is a companion is someone else's, and is left alone. */
SinkTest(companion, companion__that_is_none)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .reply = 1, .payload = 100), good = companion_of(&data, 2, 1), in;
		unsigned int l4 = companion_at(&good), i;
		static const struct {
			unsigned int at;
			__u8 value;
		} changes[] = {
			{ 5, 8 },     /* a UDP length that is right */
			{ 8, 'T' },   /* marker */
			{ 12, 0x50 }, /* a TCP header of five words */
			{ 20, 0x10 }, /* shim of INT-MD */
			{ 21, 12 },   /* its length */
			{ 23, 4 },    /* an inner packet */
			{ 24, 0x41 }, /* DATA */
			{ 24, 0x52 }, /* version 5 */
			{ 25, 4 },    /* room for four hops */
			{ 26, 1 },    /* an echo */
			{ 26, 16 },   /* a VOQ */
		};

		for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
			fixture("IPv%d, byte %u", v6 ? 6 : 4, changes[i].at);
			in = good;
			in.b[l4 + changes[i].at] = changes[i].value;
			expect_untouched(sink, &in, STAT_RX_OTHER);
		}
		fixture("IPv%d, cut", v6 ? 6 : 4);
		in = frame_cut(good, good.len - 1);
		expect_untouched(sink, &in, STAT_RX_OTHER);
		expect_eq(flows_count(), 0);
	}
}

/* Each byte from the ports on changed: it ends in one counter. */
SinkTest(companion, companion__damaged)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .reply = 1, .payload = 100), in = companion_of(&data, 2, 1);

		expect_that(world_damaged(sink, &in, companion_at(&in)));
	}
}

/* Unanswered companions from addresses that were never heard make no flow. */
SinkTest(companion, companion__answers_are_limited)
{
	const __u64 spent_ns = clock_ns() + 3600000000000ULL;
	__u32 answers = 1; /* the bucket of strangers */

	cr_assert(!bpf_map_update_elem(world_map("buckets"), &answers, &spent_ns, BPF_ANY));
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .reply = 1, .payload = 100), in = companion_of(&data, 2, 1);
		struct host_key b = host_of(v6, HOST_B);

		bpf_map_delete_elem(world_map("hosts"), &b);
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_LIMITED, STAT_RX_COMPANION);
		expect_eq(host_exists(v6, HOST_B), 0);
		expect_eq(flows_count(), 0);
	}
}

SinkTest(companion, companion__without_a_tag_where_there_is_a_key)
{
	static const struct siphash_key key = { 1, 2 };

	keys_set(&key, 1);
	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .reply = 1, .payload = 100), in = companion_of(&data, 2, 1);

		expect_untouched(sink, &in, STAT_RX_NO_AUTH);
	}
}

/* One that egress signed is answered once, and its answer is taken once. */
SinkTest(companion, companion__with_a_tag)
{
	static const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	struct asker a = asker_make();

	keys_set(&key, 1);
	telemetry_beside();
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), got;
		struct result r;
		int i;

		for (i = 0; i <= COMPANION_AFTER; i++)
			run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_COMPANION_SENT);
		cr_assert(packet_catch(a.fd, &got, 1000), "%sno companion", world_fixture());
		expect_eq(got.len, companion_at(&got) + COMPANION_BYTES + 16);
		r = run(sink, &got);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION);
		expect_verdict(run(sink, &got), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_OLD, STAT_RX_COMPANION);
		expect_verdict(run(sink, &r.out), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION, STAT_FB_SKIPPED);
		expect_verdict(run(sink, &r.out), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION, STAT_RX_REPLAYED);
		r.out.b[r.out.len - 1] ^= 1;
		expect_untouched(sink, &r.out, STAT_RX_BAD_AUTH);
	}
}
