// SPDX-License-Identifier: GPL-2.0-only
/*
 * HierCC at ingress, bpf/rack/credit.bpf.h: what arrives of VOQs, and messages of credit. B sends to A: the flow that
 * is taught something is A to B, and the VOQs for which credit comes are those of A to B.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static void make(void)
{
	world_make();
	tor_set(1);
	hosts_strip();
}

static void make_small(void)
{
	world_make_with(.flows = 1);
	tor_set(1);
	hosts_strip();
}

TestSuite(arrival, .init = make, .fini = world_drop, .timeout = 60);
TestSuite(arrival_xdp, .init = make, .fini = world_drop, .timeout = 60);
TestSuite(arrival_full, .init = make_small, .fini = world_drop, .timeout = 60);
TestSuite(arrival_full_xdp, .init = make_small, .fini = world_drop, .timeout = 60);
TestSuite(credit, .init = make, .fini = world_drop, .timeout = 60);
TestSuite(credit_xdp, .init = make, .fini = world_drop, .timeout = 60);

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

#define TOR 0x0a010002
#define SLOT 5
#define POD_IFINDEX 7000 /* of no device: only the map knows it */
#define S_FIRST 1000000

static const struct siphash_key key = { 3, 4 }, other_key = { 5, 6 };
static const struct ip_spec a_to_b, a_to_b_v6 = { .v6 = 1 };

static const struct ip_spec *forward(int v6)
{
	return v6 ? &a_to_b_v6 : &a_to_b;
}

/* --- arrivals --- */

/* B's packet for A of a VOQ: what stands in it, and what it weighs. */
struct arriving {
	int v6;
	__u32 total; /* S_FIRST */
	__u16 flows; /* 7 */
	__u32 prefixlen;
	int no_prefix, no_tor; /* malformed */
	unsigned int payload; /* 500 */
	const struct siphash_key *key;
	__u64 auth_seq;
};

static struct frame frame_arriving(struct arriving a)
{
	struct frame inner = tcp(.v6 = a.v6, .reply = 1, .payload = a.payload ?: 500);

	return wrap(&inner, .room = 5, .nhop = 1, .path = 0x456, .hop = { 0x1111 }, .voq = 1,
		    .voq_tor = a.no_tor ? 0 : TOR, .voq_total = a.total ?: S_FIRST, .voq_flows = a.flows ?: 7,
		    .voq_prefixlen = a.no_prefix ? 0 : a.prefixlen ?: 128, .key = a.key, .auth_seq = a.auth_seq);
}
#define arriving(...) frame_arriving((struct arriving){ __VA_ARGS__ })

static struct arrival_key key_of(int v6, __u32 prefixlen)
{
	struct arrival_key k = { .addr = addr_of(v6, HOST_A), .prefixlen = prefixlen, .tor = __builtin_bswap32(TOR) };
	unsigned int i;

	for (i = prefixlen; i < 128; i++)
		k.addr.b[i / 8] &= ~(0x80 >> i % 8);
	return k;
}

/* The daemon has a slot for the VOQ to A, or its prefix. */
static void slot_make(int v6, __u32 prefixlen, __u32 watched)
{
	struct arrival a = { .ifindex = WORLD_IFINDEX, .watched = watched };
	struct arrival_key k = key_of(v6, prefixlen);

	arrival_slot_set(&k, SLOT);
	arrival_set(SLOT, &a);
}

static __u32 inner_bytes(const struct frame *f)
{
	return f->len - (at_inner(f) - 14);
}

/* The slot has so many packets and bytes, and the claim of the packet that is furthest. */
static void expect_seen(__u64 packets, __u64 bytes, __u64 inner, __u64 claim)
{
	struct arrival a = arrival_get(SLOT);

	expect_eq(a.seen.packets, packets);
	expect_eq(a.seen.bytes, bytes);
	expect_eq(a.inner_bytes, inner);
	expect_eq(a.seen.claim, claim);
}

static void expect_addr(const struct sluice_addr *got, int v6, enum who who)
{
	struct sluice_addr want = addr_of(v6, who);

	cr_assert(!memcmp(got, &want, sizeof(want)), "%sthe address is another one", world_fixture());
}

SinkTest(arrival, watched__is_noted)
{
	FOR_V4_AND_V6(v6) {
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
		expect_eq(flow_get(*forward(v6)).voq_in, 1);
		/* The telemetry is told as ever. */
		expect_eq(flow_get(*forward(v6)).echo.hop[0], 0x1111);

		in = arriving(.v6 = v6, .total = S_FIRST + 1000, .flows = 8, .payload = 100);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_seen(2, 2 * in.len + 400, 2 * inner_bytes(&in) + 400, (S_FIRST + 1000ULL) << 32 | 8);

		in = tcp(.v6 = v6, .reply = 1, .payload = 500);
		in = wrap(&in, .room = 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(arrival_get(SLOT).seen.packets, 2);
		expect_eq(flow_get(*forward(v6)).voq_in, 0);
	}
}

/* It says neither telemetry nor echo, and the flow is not known yet. */
SinkTest(arrival, without_telemetry__is_noted)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 3);
		struct frame in = wrap(&inner, .voq = 1, .voq_tor = TOR, .voq_total = 9, .voq_flows = 1, .voq_prefixlen = 128);
		struct result r;

		slot_make(v6, 128, 1);
		r = run(sink, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
		expect_seen(1, in.len, inner.len, 9ULL << 32 | 1);
		/* Another flow, with an echo, which alone would make no flow. */
		inner = tcp(.v6 = v6, .reply = 1, .payload = 100);
		in = wrap(&inner, .voq = 1, .voq_tor = TOR, .voq_total = 10, .voq_flows = 2, .voq_prefixlen = 128, .echo = 1,
			  .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(arrival_get(SLOT).seen.packets, 2);
		expect_eq(flow_get(*forward(v6)).voq_in, 1);
	}
}

/* An echo stands behind the block, and is found there. */
SinkTest(arrival, with_echo__both_are_read)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100);
		struct frame in = wrap(&inner, .room = 2, .nhop = 2, .path = 1, .hop = { 1, 2 }, .voq = 1, .voq_tor = TOR,
				       .voq_total = 9, .voq_flows = 1, .voq_prefixlen = 128, .echo = 1, .window = 1,
				       .echo_hops = 1, .echo_hop = { 100000ULL << 32 });
		struct result r;

		slot_make(v6, 128, 1);
		flow_runs_of((struct ip_spec){ .v6 = v6, .payload = 100 }, 1000000);
		r = run(sink, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_seen(1, in.len, inner.len, 9ULL << 32 | 1);
		expect_eq(flow_get(*forward(v6)).cc.w >> 12, 100000);
	}
}

/* All of its segments, the last of which is shorter, each with all headers: as egress counts them. */
Test(arrival, gso__counts_as_on_the_wire)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole = arriving(.v6 = v6, .payload = 2500), one = arriving(.v6 = v6, .payload = 1000);
		struct frame last = arriving(.v6 = v6, .payload = 500);

		slot_make(v6, 128, 1);
		/* A test run cannot say of which protocol the segments are, so the kernel would not shorten it. */
		run(INGRESS, &whole, .gso_size = 1000);
		expect_counted(STAT_RX_STRIP_FAILED);
		expect_seen(3, 2 * one.len + last.len, 2 * inner_bytes(&one) + inner_bytes(&last), (__u64)S_FIRST << 32 | 7);
		run(INGRESS, &one, .gso_size = 1000);
		expect_counted(STAT_RX_STRIP_FAILED);
		expect_seen(4, 3 * one.len + last.len, 3 * inner_bytes(&one) + inner_bytes(&last),
			    (__u64)S_FIRST << 32 | 7);
	}
}

/* Nothing is known of the VOQ, or it has a slot that the daemon does not look at: it is told. */
SinkTest(arrival, unwatched__is_news)
{
	FOR_V4_AND_V6(v6) {
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
			expect_eq(flow_get(*forward(v6)).voq_in, 1);
		}
	}
}

/* A machine without HierCC is no rack: nobody is told. */
SinkTest(arrival, without_hiercc__is_no_news)
{
	FOR_V4_AND_V6(v6) {
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
	FOR_V4_AND_V6(v6) {
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

SinkTest(arrival, malformed__is_ignored)
{
	FOR_V4_AND_V6(v6) {
		static const __u8 bad[] = { 0, 129, 255 };
		struct frame in = arriving(.v6 = v6, .no_tor = 1), inner = tcp(.v6 = v6, .reply = 1, .payload = 500);
		struct arrival_news news[1];
		struct result r;
		unsigned int i;

		slot_make(v6, 128, 1);
		r = run(sink, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, STAT_RX_VOQ_EMPTY);
		for (i = 0; i < sizeof(bad); i++) {
			in = arriving(.v6 = v6, .no_prefix = 1);
			in.b[at_voq(&in) + 10] = bad[i];
			r = run(sink, &in);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA, STAT_RX_BAD_VOQ);
		}
		expect_seen(0, 0, 0, 0);
		expect_eq(news_taken(news, 1), 0);
		expect_eq(flow_get(*forward(v6)).voq_in, 0);
		expect_eq(flow_get(*forward(v6)).echo.hop[0], 0x1111);
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

/* Whatever is claimed is noted as it came: the daemon judges it (hiercc_judge). */
SinkTest(arrival, forged_claim__is_noted_as_it_came)
{
	struct frame in = arriving(.total = 0x7fffffff, .flows = 0xffff);

	slot_make(0, 128, 1);
	run(sink, &in);
	expect_counted(STAT_RX_DATA);
	expect_seen(1, in.len, inner_bytes(&in), 0x7fffffffULL << 32 | 0xffff);
}

/* What is not to be believed is as if nothing had come. */
static void expect_nothing(int v6)
{
	struct arrival_news news[1];

	expect_seen(0, 0, 0, 0);
	expect_eq(news_taken(news, 1), 0);
	if (flow_exists(*forward(v6)))
		expect_eq(flow_get(*forward(v6)).voq_in, 0);
}

SinkTest(arrival, foreign_peer_and_bypass__change_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500, .from = HOST_STRANGER), in;

		slot_make(v6, 128, 1);
		in = wrap(&inner, .room = 5, .voq = 1, .voq_tor = TOR, .voq_total = 1, .voq_flows = 1,
			  .voq_prefixlen = 128);
		expect_untouched(sink, &in, STAT_RX_FOREIGN);
		expect_nothing(v6);
		control_set(MODE_DRY_RUN, 1);
		in = arriving(.v6 = v6);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_nothing(v6);
		control_set(MODE_DRY_RUN, 0);
	}
}

SinkTest(arrival, truncated__changes_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct frame whole = arriving(.v6 = v6), in;
		unsigned int len;

		slot_make(v6, 128, 1);
		for (len = at_shim(&whole) + 12; len < whole.len; len += len < at_inner(&whole) ? 1 : 50) {
			in = frame_cut(whole, len);
			expect_untouched(sink, &in, STAT_RX_TRUNCATED);
		}
		/* The block that the header announces is not there: the lengths do not agree. */
		in = whole;
		in.b[at_shim(&in) + 6] &= ~16;
		expect_untouched(sink, &in, STAT_RX_BAD_LENGTH);
		expect_nothing(v6);
	}
}

SinkTest(arrival, authentication)
{
	FOR_V4_AND_V6(v6) {
		struct frame good = arriving(.v6 = v6, .key = &key, .auth_seq = 1ULL << 40), in;
		__u32 inner = inner_bytes(&good);

		slot_make(v6, 128, 1);
		keys_set(&key, 1);
		in = arriving(.v6 = v6, .key = &other_key, .auth_seq = 1ULL << 40);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH);
		in = arriving(.v6 = v6);
		expect_untouched(sink, &in, STAT_RX_NO_AUTH);
		expect_nothing(v6);
		/* A ToR may write the block: the tag does not cover it. */
		in = good;
		in.b[at_voq(&in) + 9] ^= 1;
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_seen(1, good.len, inner, (__u64)S_FIRST << 32 | 6);
		/* Segments of one packet have one sequence, and each counts. */
		run(sink, &good);
		run(sink, &good);
		expect_counted(STAT_RX_DATA, STAT_RX_DATA);
		expect_seen(3, 3 * good.len, 3 * inner, (__u64)S_FIRST << 32 | 7);
		in = arriving(.v6 = v6, .total = S_FIRST + 1, .key = &key, .auth_seq = (1ULL << 40) + 1);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		run(sink, &good);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		expect_seen(4, 4 * good.len, 4 * inner, (S_FIRST + 1ULL) << 32 | 7);
		keys_set(&key, 0);
	}
}

/* The same of a packet that says nothing but its VOQ. */
SinkTest(arrival, replayed_without_telemetry__changes_nothing)
{
	struct frame inner = tcp(.reply = 1, .payload = 100), in;
	unsigned int k;

	slot_make(0, 128, 1);
	keys_set(&key, 1);
	for (k = 0; k < 2; k++) {
		in = wrap(&inner, .voq = 1, .voq_tor = TOR, .voq_total = 100 * (k + 1), .voq_flows = 1, .voq_prefixlen = 128,
			  .key = &key, .auth_seq = (1ULL << 40) - k);
		run(sink, &in);
	}
	expect_counted(STAT_RX_DATA, STAT_RX_DATA, STAT_RX_REPLAYED);
	expect_seen(1, in.len, inner.len, 100ULL << 32 | 1);
}

/* Without a flow there is nothing by which an old packet would be known. */
SinkTest(arrival_full, without_a_flow__nothing_is_noted)
{
	struct frame other = tcp(.reply = 1, .sport = 9, .payload = 10), in = arriving();

	slot_make(0, 128, 1);
	other = wrap(&other, .room = 5);
	run(sink, &other);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_RX_DATA, STAT_RX_FLOW_FULL);
	expect_nothing(0);
}

/* INT-MD: the block is where Sluice's header says, and a copy is no arrival. */
SinkTest(arrival, int_md)
{
	FOR_V4_AND_V6(v6) {
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

/* --- the hop to the pod --- */

static void pod_port_make(void)
{
	struct port p = port_usual();

	p.flags = PORT_F_POD;
	p.sampled_ns = clock_ns() + 3600 * NSEC_PER_SEC;
	port_set(POD_IFINDEX, &p);
}

static void pod_is_known(int v6)
{
	struct flow f = flow_get(*forward(v6));

	f.pod_ifindex = POD_IFINDEX;
	flow_set(*forward(v6), &f);
}

static void slot_port(__u32 ifindex)
{
	struct arrival a = arrival_get(SLOT);

	a.ifindex = ifindex;
	arrival_set(SLOT, &a);
}

SinkTest(arrival, pod_hop__only_where_no_credit_keeps_its_queue)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = arriving(.v6 = v6);
		__u64 hour = 3600 * NSEC_PER_SEC;

		pod_port_make();
		slot_make(v6, 128, 1);
		credit_alive(0, 0);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		pod_is_known(v6);
		slot_port(POD_IFINDEX);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
		expect_eq(flow_get(*forward(v6)).echo.hops, 2);
		credit_alive(clock_ns(), hour);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*forward(v6)).echo.hops, 1);
		expect_eq(flow_get(*forward(v6)).voq_pod, 1);
		/* The daemon is away. */
		credit_alive(clock_ns() - hour, hour - 1);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
		/* What comes by no VOQ is kept by HPCC alone; */
		credit_alive(clock_ns(), hour);
		in = tcp(.v6 = v6, .reply = 1, .payload = 500);
		in = wrap(&in, .room = 5, .nhop = 1, .hop = { 0x1111 });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
		expect_eq(flow_get(*forward(v6)).voq_pod, 0);
		/* so is a VOQ to which no credit is dealt out, */
		in = arriving(.v6 = v6, .prefixlen = 127);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP);
		/* or that of another port. */
		slot_port(WORLD_IFINDEX);
		in = arriving(.v6 = v6);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP);
		credit_alive(0, 0);
	}
}

SinkTest(arrival, probe_reply__likewise)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in = arriving(.v6 = v6);
		struct port uplink = port_usual();
		struct result r;

		uplink.flags |= PORT_F_XDP_TX;
		port_set(WORLD_IFINDEX, &uplink);
		pod_port_make();
		slot_make(v6, 128, 1);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		pod_is_known(v6);
		slot_port(POD_IFINDEX);
		credit_alive(clock_ns(), 3600 * NSEC_PER_SEC);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		in = frame_probe(&inner, 0xc777, 0);
		r = run(sink, &in);
		expect_counted(STAT_RX_PROBE);
		expect_eq(get16(r.out.b + at_telem(&r.out)) >> 12, 0);
		credit_alive(0, 0);
		r = run(sink, &in);
		expect_counted(STAT_RX_PROBE, STAT_RX_POD_HOP);
		expect_eq(get16(r.out.b + at_telem(&r.out)) >> 12, 1);
	}
}

/* The port of the news is the pod's, where that is known to have a queue. */
SinkTest(arrival, news__name_the_pods_port)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = arriving(.v6 = v6), merged = arriving(.v6 = v6, .prefixlen = 100);
		struct arrival_news news[2];

		pod_port_make();
		run(sink, &in);
		pod_is_known(v6);
		run(sink, &in);
		expect_eq(news_taken(news, 2), 2);
		expect_eq(news[0].ifindex, WORLD_IFINDEX);
		expect_eq(news[1].ifindex, POD_IFINDEX);
		/* That of a prefix is of many pods. */
		run(sink, &merged);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(news[0].ifindex, WORLD_IFINDEX);
		/* The daemon took it for the uplink's: its bytes are in the slot, and the port is told. */
		slot_make(v6, 128, 1);
		expect_counted(STAT_RX_DATA, STAT_RX_DATA, STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_ARRIVAL_NEWS,
			       STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP, STAT_RX_POD_HOP);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(news[0].ifindex, POD_IFINDEX);
		expect_eq(news[0].bytes, 0);
		expect_eq(news[0].inner_bytes, 0);
		expect_eq(news[0].packets, 0);
		expect_seen(1, in.len, inner_bytes(&in), (__u64)S_FIRST << 32 | 7);
		/* The veth is gone. */
		port_remove(POD_IFINDEX);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*forward(v6)).pod_ifindex, 0);
		expect_seen(2, 2 * in.len, 2 * inner_bytes(&in), (__u64)S_FIRST << 32 | 7);
	}
}

/* --- messages of credit --- */

#define F_DUE 1

/* One credit, as in docs/protocol.md: to B, or a prefix of it. */
struct one {
	__u32 total, prefixlen; /* 128 */
	__u8 flags;
	__u16 at;
	unsigned int host; /* the last byte of the address; B's own */
};

struct message {
	int v6;
	__u8 next; /* 59 */
	__u64 auth_seq;
	const struct siphash_key *key;
	unsigned int n;
	struct one one[40];
};

static struct voq_key voq_of(int v6, const struct one *o)
{
	struct voq_key k = { .addr = addr_of(v6, HOST_B), .prefixlen = o->prefixlen ?: 128 };
	unsigned int i;

	if (o->host)
		k.addr.b[15] = o->host;
	for (i = k.prefixlen; i < 128; i++)
		k.addr.b[i / 8] &= ~(0x80 >> i % 8);
	return k;
}

/* From the shim on; returns its length. */
static unsigned int message(const struct message *m, __u8 *at)
{
	unsigned int bytes = 12 + 24 * m->n + (m->key ? 16 : 0), k;

	memset(at, 0, bytes);
	at[0] = 0x98;
	at[1] = (bytes - 4) / 4;
	at[3] = m->next ?: 59;
	at[4] = 0x45;
	at[5] = m->n;
	at[6] = m->key ? 2 : 0;
	for (k = 0; k < m->n; k++) {
		struct voq_key voq = voq_of(m->v6, &m->one[k]);
		__u8 *c = at + 12 + 24 * k;

		memcpy(c, &voq.addr, 16);
		put32(c + 16, m->one[k].total);
		c[20] = voq.prefixlen;
		c[21] = m->one[k].flags;
		put16(c + 22, m->one[k].at);
	}
	if (m->key)
		batch_sign(at, bytes, m->n, m->v6, m->key, m->auth_seq);
	return bytes;
}

static struct frame frame_message(const struct message *m)
{
	__u8 bytes[1100];

	return frame_of_batch(m->v6, bytes, message(m, bytes));
}

#define SENT 1000000 /* bytes that a VOQ has sent, and */
#define GRANTED 900000 /* of which so many were granted */

/* A VOQ to B that has sent something, with the first total of its credit so many bytes from where totals wrap. */
static void voq_make(int v6, struct one o, __u64 from)
{
	struct voq_key k = voq_of(v6, &o);
	struct voq v = {};

	hiercc_params_init(&v.params, 12500000000ULL, 1000000, 250000);
	hiercc_hop_params_init(&v.hop_params, 12500000000ULL, 1000000, 12500000);
	hiercc_hop_init(&v.hop, &v.hop_params);
	hiercc_voq_init(&v.voq, clock_ns());
	v.voq.sent = from + SENT;
	v.voq.credit = from + GRANTED;
	v.voq.credit_ns = 1;
	voq_set(k, &v);
}

static struct voq voq_at(int v6, struct one o)
{
	return voq_get(voq_of(v6, &o));
}

#define TO_B ((struct one){})

SinkTest(credit, taken)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 1, .one = { { .total = GRANTED + 50000, .flags = F_DUE } } };
		struct frame in = frame_message(&m);
		__u64 before = clock_ns();
		struct voq v;
		struct result r;

		voq_make(v6, TO_B, 1ULL << 32);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
		v = voq_at(v6, TO_B);
		expect_eq(v.voq.credit, (1ULL << 32) + GRANTED + 50000);
		expect_eq(v.voq.sent, (1ULL << 32) + SENT);
		expect_between(v.voq.credit_ns, before, clock_ns());
		expect_eq(v.credit_seq, 0);
		/* Equation 1 has been asked. */
		expect_between(v.hop.mark_ns, before, clock_ns());
		expect_eq(v.lock, 0);
	}
}

/* That the port has no more to give is said along with the total, and kept with the rate that is measured. */
SinkTest(credit, due__is_kept)
{
	for (int due = 0; due < 2; due++) {
		struct message m = { .n = 1, .one = { { .total = GRANTED + 50000, .flags = due, .at = 4711 } } };
		struct frame in = frame_message(&m);
		struct voq_key k = voq_of(0, &m.one[0]);
		struct voq v;

		voq_make(0, TO_B, 1ULL << 32);
		v = voq_get(k);
		v.voq.mark = v.voq.credit;
		v.voq.mark_ns = clock_ns() - 1000000;
		v.voq.due = !due;
		voq_set(k, &v);
		run(sink, &in);
		v = voq_get(k);
		expect_eq(v.voq.due, due);
		expect_eq(v.voq.mark_at, 4711);
		/* With nothing due at the mark it is not known. */
		expect_between(v.voq.rate, !due, due ? 0 : v.params.rate_first);
	}
}

SinkTest(credit, total__behind_a_wrap)
{
	struct message m = { .n = 1, .one = { { .total = 999 } } };
	struct frame in = frame_message(&m);

	voq_make(0, TO_B, (5ULL << 32) - GRANTED - 1);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
	expect_eq(voq_at(0, TO_B).voq.credit, (5ULL << 32) + 999);
}

/* Without a key: what is repeated, or was overtaken, says nothing new. */
SinkTest(credit, old__changes_nothing)
{
	struct message m = { .n = 1, .one = { { .total = GRANTED + 50000 } } };
	struct frame in = frame_message(&m);
	struct voq v;

	voq_make(0, TO_B, 1ULL << 32);
	run(sink, &in);
	v = voq_at(0, TO_B);
	run(sink, &in);
	m.one[0].total -= 10000;
	in = frame_message(&m);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_RX_CREDIT, STAT_RX_CREDIT, STAT_CREDIT_TAKEN, STAT_CREDIT_OLD,
		       STAT_CREDIT_OLD);
	expect_eq(voq_at(0, TO_B).voq.credit, v.voq.credit);
	expect_eq(voq_at(0, TO_B).voq.credit_ns, v.voq.credit_ns);
}

/* More than was sent, and by more than the one credit that is rounded up. */
SinkTest(credit, ahead__is_refused)
{
	struct message m = { .n = 1, .one = { { .total = SENT + 1025 } } };
	struct frame in = frame_message(&m);
	struct voq before, after;

	voq_make(0, TO_B, 1ULL << 32);
	before = voq_at(0, TO_B);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_AHEAD);
	after = voq_at(0, TO_B);
	expect_eq(memcmp(&before, &after, sizeof(before)), 0);
	m.one[0].total = SENT + 1024;
	in = frame_message(&m);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
}

/* Another host, and the same address with another prefix: that is not the VOQ. */
SinkTest(credit, unknown_voq)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 2, .one = { { .total = SENT, .host = 77 },
								{ .total = SENT, .prefixlen = 120 } } };
		struct frame in = frame_message(&m);

		voq_make(v6, TO_B, 1ULL << 32);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_NO_VOQ, STAT_CREDIT_NO_VOQ);
		expect_eq(voq_at(v6, TO_B).voq.credit, (1ULL << 32) + GRANTED);
		voq_make(v6, m.one[1], 1ULL << 32);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_NO_VOQ, STAT_CREDIT_TAKEN);
		expect_eq(voq_at(v6, m.one[1]).voq.credit, (1ULL << 32) + SENT);
	}
}

/* A VOQ that the daemon has made and that nothing has gone by yet. */
SinkTest(credit, voq_without_params)
{
	struct message m = { .n = 1, .one = { { .total = 5000 } } };
	struct frame in = frame_message(&m);
	struct voq_key k = voq_of(0, &m.one[0]);
	struct voq empty = {}, after;

	voq_set(k, &empty);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_AHEAD);
	after = voq_get(k);
	expect_eq(memcmp(&empty, &after, sizeof(empty)), 0);
}

/* As many as there may be; one more, or none, is malformed. */
SinkTest(credit, full__message)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 32 };
		struct frame in;
		struct result r;
		unsigned int k;

		for (k = 0; k < 33; k++) {
			m.one[k] = (struct one){ .total = GRANTED + 1 + k, .host = 100 + k };
			voq_make(v6, m.one[k], 1ULL << 32);
		}
		in = frame_message(&m);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		for (k = 0; k < 33; k++)
			expect_eq(voq_at(v6, m.one[k]).voq.credit, (1ULL << 32) + GRANTED + (k < 32 ? 1 + k : 0));
		world_ended();
		m.n = 33;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_BAD_HOPS);
		m.n = 0;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_BAD_HOPS);
	}
}

SinkTest(credit, what_is_wrong__changes_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 2, .one = { { .total = SENT }, { .total = SENT, .host = 77 } } };
		struct frame good = frame_message(&m), in;
		struct voq before, after;
		unsigned int len;

		voq_make(v6, TO_B, 1ULL << 32);
		before = voq_at(v6, TO_B);
		for (len = at_shim(&good) + 12; len < good.len; len++) {
			in = frame_cut(good, len);
			expect_untouched(sink, &in, STAT_RX_TRUNCATED);
		}
		m.next = 4;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_MISMATCH);
		in = good;
		in.b[at_shim(&in) + 4] = 0x35; /* of version 3 */
		expect_untouched(sink, &in, STAT_RX_BAD_VERSION);
		in = good;
		in.b[at_shim(&in) + 5] = 1;
		expect_untouched(sink, &in, STAT_RX_BAD_LENGTH);
		after = voq_at(v6, TO_B);
		expect_eq(memcmp(&before, &after, sizeof(before)), 0);
	}
}

SinkTest(credit, foreign_peer_and_bypass)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 1, .one = { { .total = SENT } } };
		struct frame good = frame_message(&m), in = good;

		voq_make(v6, TO_B, 1ULL << 32);
		control_set(MODE_DRY_RUN, 1);
		expect_verdict(run(sink, &good), VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT);
		control_set(MODE_DRY_RUN, 0);
		in.b[14 + (v6 ? 8 : 12)] ^= 0x40;
		frame_fix(&in);
		put16(in.b + at_udp(&in) + 6, 0);
		expect_untouched(sink, &in, STAT_RX_FOREIGN);
		expect_eq(voq_at(v6, TO_B).voq.credit, (1ULL << 32) + GRANTED);
	}
}

SinkTest(credit, authentication)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 2, .key = &key, .auth_seq = 1ULL << 40,
				     .one = { { .total = GRANTED + 5000 }, { .total = GRANTED + 5000, .host = 77 } } };
		struct frame good = frame_message(&m), in;
		struct host newest = { .capable = 1, .rx_seq = 1ULL << 40 };
		struct one other = m.one[1];
		struct voq before, after;

		keys_set(&key, 1);
		voq_make(v6, TO_B, 1ULL << 32);
		voq_make(v6, other, 1ULL << 32);
		before = voq_at(v6, TO_B);
		/* Any byte of the message, the tag and its sequence among them. */
		expect_that(world_damaged(sink, &good, at_shim(&good) + 4));
		m.key = &other_key;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH);
		m.key = NULL;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_NO_AUTH);
		after = voq_at(v6, TO_B);
		expect_eq(memcmp(&before, &after, sizeof(before)), 0);
		expect_eq(voq_at(v6, other).voq.credit, (1ULL << 32) + GRANTED);

		run(sink, &good);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN, STAT_CREDIT_TAKEN);
		expect_eq(voq_at(v6, TO_B).credit_seq, 1ULL << 40);
		/* The same again; what is older and says more, for one VOQ of the two. */
		run(sink, &good);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED, STAT_RX_REPLAYED);
		after = voq_at(v6, other);
		after.credit_seq = 0;
		voq_set(voq_of(v6, &other), &after);
		m.key = &key;
		m.auth_seq--;
		m.one[0].total = m.one[1].total = GRANTED + 6000;
		in = frame_message(&m);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED, STAT_CREDIT_TAKEN);
		expect_eq(voq_at(v6, TO_B).voq.credit, (1ULL << 32) + GRANTED + 5000);
		expect_eq(voq_at(v6, other).voq.credit, (1ULL << 32) + GRANTED + 6000);
		/* To a VOQ that is new here nothing counts that is older than its host's newest by a second. */
		after.credit_seq = 0;
		voq_set(voq_of(v6, &other), &after);
		host_set(v6, HOST_B, &newest);
		m.auth_seq = (1ULL << 40) - 2 * NSEC_PER_SEC;
		in = frame_message(&m);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED, STAT_RX_REPLAYED);
		keys_set(&key, 0);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH); /* nobody can tell whether it is right */
		expect_eq(voq_at(v6, other).voq.credit, (1ULL << 32) + GRANTED + 5000);
	}
}

SinkTest(credit, from_the_future__is_not_taken)
{
	const __u64 day_ns = 86400 * NSEC_PER_SEC, base_ns = 1790000000 * NSEC_PER_SEC;

	keys_set(&key, 1);
	seq_base_set(base_ns);
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 1, .key = &key, .auth_seq = base_ns + clock_ns() + 2 * day_ns,
				     .one = { { .total = GRANTED + 5000 } } };
		struct frame in = frame_message(&m);
		struct voq before, after;
		struct result r;

		voq_make(v6, TO_B, 1ULL << 32);
		before = voq_at(v6, TO_B);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_RX_FUTURE);
		after = voq_at(v6, TO_B);
		expect_eq(memcmp(&before, &after, sizeof(before)), 0);
		m.auth_seq -= 2 * day_ns;
		in = frame_message(&m);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
	}
}

Test(credit, hop__does_not_stamp_it)
{
	struct message m = { .n = 5, .one = { { .total = SENT } } };
	struct frame in = frame_message(&m);

	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}
