// SPDX-License-Identifier: GPL-2.0-only
/* VOQs on companions: bpf/host/egress.bpf.h and probe.bpf.h say S and F there, bpf/rack/credit.bpf.h takes S for what arrived. */
#include <string.h>

#include "../host/companion_case.h"
#include "../host/egress_case.h"
#include "sluice/cc/companion.h"
#include "voq_case.h"

#define SLOT 5

static void beside_make(void)
{
	struct peer peer = peer_with_voqs();

	voq_make_world();
	peer.telemetry = TELEMETRY_COMPANION;
	peers_change(peer);
}

TestSuite(beside, .init = beside_make, .fini = world_drop, .timeout = 60);
TestSuite(beside_xdp, .init = beside_make, .fini = world_drop, .timeout = 60);

/* Only its bytes count from here on, and F: no round of credit ends, and no epoch. */
static void rounds_are_long(int v6)
{
	struct voq v = voq_get(voq_to_b(v6));

	v.params.window_ns = ~0ULL;
	v.params.epoch_ns = 1ULL << 39;
	voq_set(voq_to_b(v6), &v);
}

/* The flow's own companion is not due for now. */
static void flow_asks_nothing(struct ip_spec s)
{
	struct flow f = flow_get(s);

	f.tx.mss = f.tx.segment = 1 << 20;
	flow_set(s, &f);
}

/* One companion was sent, and has this total and F. */
static void expect_said(const struct asker *a, const struct frame *data, __u32 total, __u16 flows)
{
	struct frame got, want;

	cr_assert(packet_catch(a->fd, &got, 1000), "%sno companion", world_fixture());
	want = companion_of(data, 2, get32(got.b + companion_at(&got) + COMPANION_MESSAGE + 4));
	want = companion_with_voq(want, TOR, total, flows, BESIDE | RIDES);
	ip_sum_take(&got, &want);
	expect_frame(&got, &want);
	cr_assert(!packet_catch(a->fd, &got, 20), "%sa second companion", world_fixture());
}

/* --- source --- */

/* The first packet of a VOQ asks for credit, and then each 8th part of C0, of whatever flow. */
Test(beside, s__is_on_companions)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100), other = tcp(.v6 = v6, .payload = 100, .sport = 7);
		__u32 sent = in.len, said;
		struct frame got;
		struct result r;

		r = run(EGRESS, &in, .ifindex = a.ifindex);
		expect_frame(&r.out, &in);
		expect_counted(STAT_TX_BESIDE, STAT_COMPANION_SENT);
		expect_said(&a, &in, sent, 1);
		rounds_are_long(v6);
		flow_asks_nothing((struct ip_spec){ .v6 = v6 });
		hosts_strip();
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_BESIDE);
		/* A flow more: F has doubled. */
		run(EGRESS, &other, .ifindex = a.ifindex);
		expect_counted(STAT_TX_BESIDE, STAT_COMPANION_SENT);
		said = sent += in.len + other.len;
		expect_said(&a, &other, sent, 2);
		while (sent + in.len < said + C0 / 8) {
			sent += in.len;
			run(EGRESS, &in, .ifindex = a.ifindex);
			expect_counted(STAT_TX_BESIDE);
		}
		cr_assert(!packet_catch(a.fd, &got, 20), "%sone before there is more to say", world_fixture());
		sent += in.len;
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_BESIDE, STAT_COMPANION_SENT);
		expect_said(&a, &in, sent, 2);
		expect_eq(voq_get(voq_to_b(v6)).voq.sent, FIRST + sent);
	}
}

/* A VOQ that sends little reports once in a round of credit. */
Test(beside, s__is_said_in_each_round_of_credit)
{
	struct asker a = asker_make();

	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 10);
		struct voq v;

		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_said(&a, &in, in.len, 1);
		v = voq_get(voq_to_b(v6));
		v.beside_ns = clock_ns() - v.params.window_ns;
		voq_set(voq_to_b(v6), &v);
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_said(&a, &in, 2 * in.len, 1);
		world_ended();
	}
}

/* Of a large GSO packet the next ACK says what its VOQ has sent by then. */
Test(beside, s__is_on_a_companion_of_an_ack)
{
	struct asker a = asker_make();

	rwnd_set(1);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1200 };
		struct frame in = frame_of(s), ack = tcp(.v6 = v6, .reply = 1), got;
		__u32 sent = in.len;
		struct flow f;

		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_said(&a, &in, sent, 1);
		rounds_are_long(v6);
		f = flow_get(s);
		f.companion = (struct companion_state){ .left_ns = 1, .count = COMPANION_FIRST + 1 };
		flow_set(s, &f);
		clocks_stop(s);
		in = frame_of((struct ip_spec){ .v6 = v6, .payload = 600 });
		run(EGRESS, &in, .ifindex = a.ifindex, .gso_size = 60, .gso_segs = 10);
		sent += 600 + 10 * (in.len - 600);
		cr_assert(!packet_catch(a.fd, &got, 20), "%sone of the packet itself", world_fixture());
		expect_eq(flow_get(s).beside.wanted, 1);
		expect_counted(STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_COMPANION_SENT);
		run(INGRESS, &ack, .ifindex = a.ifindex);
		expect_counted(STAT_RX_OTHER, STAT_COMPANION_SENT);
		expect_said(&a, &in, sent, 1);
		expect_eq(voq_get(voq_to_b(v6)).beside_total, sent);
		world_ended();
	}
}

/* A packet that is wrapped to carry an echo reports that S stands for the arrivals. */
Test(beside, s__of_data_with_an_echo)
{
	struct ip_spec s = { .payload = 100 };
	struct frame in = frame_of(s);
	struct result r;

	run(EGRESS, &in);
	world_ended();
	hosts_strip();
	echo_waits(s, 1000);
	r = run(EGRESS, &in);
	expect_counted(STAT_TX_DATA, STAT_TX_BARE);
	expect_eq(r.out.b[at_voq(&r.out) + 11], BESIDE | RIDES);
}

/* A packet that credit does not cover waits, and leaves unchanged. */
Test(beside, data__waits_for_credit)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s);
		__u64 before;
		struct result r;

		run(EGRESS, &in);
		world_ended();
		clocks_stop(s);
		credit_lacks(v6, 5000);
		hosts_strip();
		before = clock_ns();
		r = run(EGRESS, &in);
		expect_frame(&r.out, &in);
		expect_between(r.ctx.tstamp, before + 1, clock_ns() + LIMIT_NS);
		expect_eq(flow_get(s).tx.held, HELD_CREDIT);
		world_ended();
	}
}

/* --- sink --- */

/* B's companion with a VOQ to A. */
static struct frame arriving_beside(int v6, __u32 total, __u16 flows)
{
	struct frame data = tcp(.v6 = v6, .reply = 1, .payload = 100);

	return companion_with_voq(companion_of(&data, 2, 1), 0x0a010002, total, flows, BESIDE);
}

static struct arrival_key key_to_a(int v6)
{
	return (struct arrival_key){ .addr = addr_of(v6, HOST_A),
				     .prefixlen = 128,
				     .tor = __builtin_bswap32(0x0a010002) };
}

static void expect_arrived(__u64 bytes, __u64 packets, __u64 claim)
{
	struct arrival a = arrival_get(SLOT);

	expect_eq(a.seen.bytes, bytes);
	expect_eq(a.inner_bytes, bytes);
	expect_eq(a.seen.packets, packets);
	expect_eq(a.seen.claim, claim);
}

/* S advances to the reported value; a repeated or late report adds nothing. */
SinkTest(beside, companion__says_what_arrived)
{
	FOR_V4_AND_V6 (v6) {
		struct arrival a = { .ifindex = WORLD_IFINDEX, .watched = 1 };
		struct arrival_key k = key_to_a(v6);
		struct frame in = arriving_beside(v6, 1000, 7);

		arrival_slot_set(&k, SLOT);
		arrival_set(SLOT, &a);
		expect_verdict(run(sink, &in), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION);
		expect_arrived(64, 1, 1000ULL << 32 | 7);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).rx.voq_in, 1);
		in = arriving_beside(v6, 1640, 8);
		run(sink, &in);
		run(sink, &in);
		expect_arrived(64 + 640, 11, 1640ULL << 32 | 8);
		in = arriving_beside(v6, 1400, 8);
		run(sink, &in);
		expect_arrived(64 + 640, 11, 1640ULL << 32 | 8);
		/* One of the same flow without a VOQ. */
		in = tcp(.v6 = v6, .reply = 1, .payload = 100);
		in = companion_of(&in, 2, 1);
		run(sink, &in);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).rx.voq_in, 0);
		world_ended();
	}
}

SinkTest(beside, companion__of_an_unknown_voq_is_news)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = arriving_beside(v6, 1000, 7);
		struct arrival_news news[2];
		struct arrival_key want = key_to_a(v6);

		run(sink, &in);
		expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION, STAT_ARRIVAL_NEWS);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(memcmp(&news[0].key, &want, sizeof(want)), 0);
		expect_eq(news[0].claim, 1000ULL << 32 | 7);
		expect_eq(news[0].bytes, 0);
		expect_eq(news[0].packets, 1);
	}
}

/* The block in the reply is that of the asker: nobody's arrival. */
SinkTest(beside, reply__is_no_arrival)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = arriving_beside(v6, 1000, 7);
		struct result r = run(sink, &in);

		expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION, STAT_ARRIVAL_NEWS);
		expect_verdict(run(sink, &r.out), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION);
	}
}

/* The tag covers what the host says of its VOQ, there and back. */
SinkTest(beside, companion__with_a_tag)
{
	static const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	struct asker a = asker_make();

	keys_set(&key, 1);
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 1000), got, wrong;
		struct result r;
		unsigned int i;

		hosts_strip();
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_BESIDE, STAT_COMPANION_SENT);
		cr_assert(packet_catch(a.fd, &got, 1000), "%sno companion", world_fixture());
		expect_eq(got.len, companion_at(&got) + COMPANION_BYTES + 12 + 16);
		for (i = 0; i < 12; i++) {
			fixture("IPv%d, byte %u of the VOQ", v6 ? 6 : 4, i);
			wrong = got;
			wrong.b[companion_at(&got) + COMPANION_VOQ + i] ^= 4;
			expect_untouched(sink, &wrong, STAT_RX_BAD_AUTH);
		}
		r = run(sink, &got);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION, STAT_ARRIVAL_NEWS);
		expect_verdict(run(sink, &r.out), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION, STAT_FB_SKIPPED);
		r.out.b[companion_at(&got) + COMPANION_VOQ + 5] ^= 1;
		expect_untouched(sink, &r.out, STAT_RX_BAD_AUTH);
	}
}

/* A host behind a switch leaves the block to that, and the tag does not cover it; but that it does is covered. */
SinkTest(beside, companion__of_a_host_behind_a_switch)
{
	static const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	struct peer peer = peer_with_voqs();
	struct asker a = asker_make();

	peer.telemetry = TELEMETRY_COMPANION;
	peer.hiercc = VOQS_TOR;
	peers_change(peer);
	keys_set(&key, 1);
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 1000), got, wrong;
		__u8 *voq;

		hosts_strip();
		run(EGRESS, &in, .ifindex = a.ifindex);
		expect_counted(STAT_TX_BESIDE, STAT_COMPANION_SENT, STAT_VOQ_ASKED);
		cr_assert(packet_catch(a.fd, &got, 1000), "%sno companion", world_fixture());
		voq = got.b + companion_at(&got) + COMPANION_VOQ;
		expect_eq(get32(voq), 0);
		expect_eq(get32(voq + 4), in.len);
		expect_eq(voq[10], 128);
		expect_eq(voq[11], BESIDE | SWITCH | 1);
		put32(voq, TOR);
		put32(voq + 4, 4321);
		voq[11] &= ~1;
		wrong = got;
		wrong.b[companion_at(&got) + COMPANION_VOQ + 11] ^= SWITCH;
		expect_untouched(sink, &wrong, STAT_RX_BAD_AUTH);
		expect_verdict(run(sink, &got), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION);
	}
}

/* Each byte from the ports on changed: it ends in one counter. */
SinkTest(beside, companion__damaged)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = arriving_beside(v6, 1000, 7);

		expect_that(world_damaged(sink, &in, companion_at(&in)));
	}
}
