// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/credit.bpf.h: arrivals from a VOQ are noted for the daemon. */
#include <string.h>

#include "credit_case.h"

TestSuite(arrival, .init = credit_make, .fini = world_drop, .timeout = 60);
TestSuite(arrival_xdp, .init = credit_make, .fini = world_drop, .timeout = 60);

static void expect_addr(const struct sluice_addr *got, int v6, enum who who)
{
	struct sluice_addr want = addr_of(v6, who);

	cr_assert(!memcmp(got, &want, sizeof(want)), "%sthe address is another one", world_fixture());
}

SinkTest(arrival, watched__is_noted)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = arriving(.v6 = v6), inner = tcp(.v6 = v6, .reply = 1, .payload = 500);
		__u64 before = clock_ns();
		struct arrival a;
		struct result r;

		slot_make(v6, 128, 1);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
		expect_seen(1, in.len, inner.len, (__u64)S_FIRST << 32 | 7);
		a = arrival_get(SLOT);
		expect_between(a.last_ns, before, clock_ns());
		expect_addr(&a.from, v6, HOST_B);
		expect_addr(&a.to, v6, HOST_A);
		expect_eq(a.watched, 1);
		expect_eq(flow_get(*credit_forward(v6)).rx.voq_in, 1);
		/* The telemetry is echoed as always. */
		expect_eq(flow_get(*credit_forward(v6)).echo.hop[0], 0x1111);

		in = arriving(.v6 = v6, .total = S_FIRST + 1000, .flows = 8, .payload = 100);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_seen(2, 2 * in.len + 400, 2 * inner_bytes(&in) + 400, (S_FIRST + 1000ULL) << 32 | 8);

		in = tcp(.v6 = v6, .reply = 1, .payload = 500);
		in = wrap(&in, .room = 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(arrival_get(SLOT).seen.packets, 2);
		expect_eq(flow_get(*credit_forward(v6)).rx.voq_in, 0);
	}
}

/* It says neither telemetry nor echo, and the flow is not known yet. */
SinkTest(arrival, without_telemetry__is_noted)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 3);
		struct frame in =
			wrap(&inner, .voq = 1, .voq_tor = TOR, .voq_total = 9, .voq_flows = 1, .voq_prefixlen = 128);
		struct result r;

		slot_make(v6, 128, 1);
		r = run(sink, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
		expect_seen(1, in.len, inner.len, 9ULL << 32 | 1);
		/* Another flow, with an echo, which alone would make no flow. */
		inner = tcp(.v6 = v6, .reply = 1, .payload = 100);
		in = wrap(&inner, .voq = 1, .voq_tor = TOR, .voq_total = 10, .voq_flows = 2, .voq_prefixlen = 128,
			  .echo = 1, .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(arrival_get(SLOT).seen.packets, 2);
		expect_eq(flow_get(*credit_forward(v6)).rx.voq_in, 1);
	}
}

/* An echo stands behind the block, and is found there. */
SinkTest(arrival, with_echo__both_are_read)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100);
		struct frame in = wrap(&inner, .room = 2, .nhop = 2, .path = 1, .hop = { 1, 2 }, .voq = 1,
				       .voq_tor = TOR, .voq_total = 9, .voq_flows = 1, .voq_prefixlen = 128, .echo = 1,
				       .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 });
		struct result r;

		slot_make(v6, 128, 1);
		flow_runs_of((struct ip_spec){ .v6 = v6, .payload = 100 }, 1000000);
		r = run(sink, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_seen(1, in.len, inner.len, 9ULL << 32 | 1);
		expect_eq(flow_get(*credit_forward(v6)).cc.w >> 12, 100000);
	}
}

/* All of its segments, the last of which is shorter, each with all headers: as egress counts them. */
Test(arrival, gso__counts_as_on_the_wire)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole = arriving(.v6 = v6, .payload = 2500), one = arriving(.v6 = v6, .payload = 1000);
		struct frame last = arriving(.v6 = v6, .payload = 500);

		slot_make(v6, 128, 1);
		/* A test run cannot say of which protocol the segments are, so the kernel would not shorten it. */
		run(INGRESS, &whole, .gso_size = 1000);
		expect_counted(STAT_RX_STRIP_FAILED);
		expect_seen(3, 2 * one.len + last.len, 2 * inner_bytes(&one) + inner_bytes(&last),
			    (__u64)S_FIRST << 32 | 7);
		run(INGRESS, &one, .gso_size = 1000);
		expect_counted(STAT_RX_STRIP_FAILED);
		expect_seen(4, 3 * one.len + last.len, 3 * inner_bytes(&one) + inner_bytes(&last),
			    (__u64)S_FIRST << 32 | 7);
	}
}

/* The VOQ is unknown, or has a slot that the daemon does not read: the daemon is told. */
SinkTest(arrival, unwatched__is_news)
{
	FOR_V4_AND_V6 (v6) {
		for (int slot = 0; slot < 2; slot++) {
			struct frame in = arriving(.v6 = v6, .total = 0xfffffff0);
			struct arrival_key want = key_of(v6, 128);
			struct arrival_news news[2];

			fixture("IPv%d, %s slot", v6 ? 6 : 4, slot ? "a" : "no");
			if (slot)
				slot_make(v6, 128, 0);
			run(sink, &in);
			expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS);
			expect_eq(news_taken(news, 2), 1);
			expect_eq(memcmp(&news[0].key, &want, sizeof(want)), 0);
			expect_addr(&news[0].from, v6, HOST_B);
			expect_addr(&news[0].to, v6, HOST_A);
			expect_eq(news[0].claim, 0xfffffff0ULL << 32 | 7);
			expect_eq(news[0].bytes, in.len);
			expect_eq(news[0].inner_bytes, inner_bytes(&in));
			expect_eq(news[0].packets, 1);
			expect_eq(news[0].ifindex, WORLD_IFINDEX);
			if (slot)
				expect_seen(0, 0, 0, 0);
			expect_eq(flow_get(*credit_forward(v6)).rx.voq_in, 1);
		}
	}
}

/* A machine without HierCC is no rack: the daemon is not told. */
SinkTest(arrival, without_hiercc__is_no_news)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = arriving(.v6 = v6, .total = 0xfffffff0);

		tor_set(0);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		tor_set(1);
	}
}

/* Another ToR's VOQ to the same host is another one. */
SinkTest(arrival, other_tor__is_another_voq)
{
	struct frame in = arriving();

	slot_make(0, 128, 1);
	in.b[at_voq(&in)] ^= 1;
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS);
	expect_seen(0, 0, 0, 0);
}

#define NEWS 3000 /* a few more than 256 KB have room for, 88 bytes each */

SinkTest(arrival, news__that_find_no_room_are_counted)
{
	static struct arrival_news news[NEWS];
	static int counts[2 * NEWS + 1];
	struct frame in = arriving();
	unsigned int i, told;

	for (i = 0; i < NEWS; i++)
		run(sink, &in);
	told = news_taken(news, NEWS);
	expect_between(told, NEWS - 100, NEWS - 1);
	for (i = 0; i < NEWS; i++) {
		counts[2 * i] = STAT_RX_DATA;
		counts[2 * i + 1] = i < told ? STAT_ARRIVAL_NEWS : STAT_ARRIVAL_LOST;
	}
	counts[2 * NEWS] = -1;
	expect_that(world_counted(counts));
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS);
}

/* Every length of a prefix: the slot is found by it, and its own bits are those of the address. */
SinkTest(arrival, merged__goes_by_its_prefix)
{
	FOR_V4_AND_V6 (v6) {
		for (__u32 len = 1; len <= 128; len++) {
			struct frame in = arriving(.v6 = v6, .prefixlen = len);

			fixture("IPv%d, /%u", v6 ? 6 : 4, len);
			slot_make(v6, len, 1);
			run(sink, &in);
			expect_counted(STAT_RX_DATA);
			expect_seen(1, in.len, inner_bytes(&in), (__u64)S_FIRST << 32 | 7);
		}
	}
}

/* S that was overtaken changes nothing; S from behind that is a sender that began anew. */
SinkTest(arrival, claims__that_go_back)
{
	struct frame in = arriving(.total = 100000);
	__u32 bytes = in.len, inner = inner_bytes(&in), reorder;

	slot_make(0, 128, 1);
	run(sink, &in);
	in = arriving(.total = 90000, .flows = 1);
	run(sink, &in);
	expect_seen(2, 2 * bytes, 2 * inner, 100000ULL << 32 | 7);
	reorder = 64 * (flow_get(a_to_b).params.w_init >> 12);
	in = arriving(.total = 100000 - reorder + 1, .flows = 2);
	run(sink, &in);
	expect_seen(3, 3 * bytes, 3 * inner, 100000ULL << 32 | 7);
	in = arriving(.total = 100000 - reorder, .flows = 3);
	run(sink, &in);
	expect_seen(4, 4 * bytes, 4 * inner, (__u64)(__u32)(100000 - reorder) << 32 | 3);
}

/* INT-MD: the block is where Sluice's header says, and a copy is no arrival. */
SinkTest(arrival, int_md)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in, copy;
		struct int_hop hop = { .node = 1, .ts = 1000, .tx = 1, .kbps = 100000 };

		slot_make(v6, 128, 1);
		in = wrap(&inner, .voq = 1, .voq_tor = TOR, .voq_total = 77, .voq_flows = 3, .voq_prefixlen = 128);
		copy = with_int(in, .left = 3, .hops = 1, .hop = { hop }, .flags = 8);
		in = with_int(in, .left = 3, .hops = 1, .hop = { hop });
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_seen(1, in.len, inner.len, 77ULL << 32 | 3);
		run(sink, &copy);
		expect_counted(STAT_RX_INT_COPY);
		expect_seen(1, in.len, inner.len, 77ULL << 32 | 3);
	}
}
