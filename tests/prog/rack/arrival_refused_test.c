// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/credit.bpf.h: arrivals that change nothing. */
#include "credit_case.h"

static void make_small(void)
{
	world_make_with(.flows = 1);
	tor_set(1);
	hosts_strip();
}

TestSuite(arrival_refused, .init = credit_make, .fini = world_drop, .timeout = 60);
TestSuite(arrival_refused_xdp, .init = credit_make, .fini = world_drop, .timeout = 60);
TestSuite(arrival_full, .init = make_small, .fini = world_drop, .timeout = 60);
TestSuite(arrival_full_xdp, .init = make_small, .fini = world_drop, .timeout = 60);

SinkTest(arrival_refused, malformed__is_ignored)
{
	FOR_V4_AND_V6 (v6) {
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
		expect_eq(flow_get(*credit_forward(v6)).rx.voq_in, 0);
		expect_eq(flow_get(*credit_forward(v6)).echo.hop[0], 0x1111);
	}
}

/* Whatever is claimed is noted as it came: the daemon judges it (hiercc_judge). */
SinkTest(arrival_refused, forged_claim__is_noted_as_it_came)
{
	struct frame in = arriving(.total = 0x7fffffff, .flows = 0xffff);

	slot_make(0, 128, 1);
	run(sink, &in);
	expect_counted(STAT_RX_DATA);
	expect_seen(1, in.len, inner_bytes(&in), 0x7fffffffULL << 32 | 0xffff);
}

/* A message that must not be believed changes nothing. */
static void expect_nothing(int v6)
{
	struct arrival_news news[1];

	expect_seen(0, 0, 0, 0);
	expect_eq(news_taken(news, 1), 0);
	if (flow_exists(*credit_forward(v6)))
		expect_eq(flow_get(*credit_forward(v6)).rx.voq_in, 0);
}

SinkTest(arrival_refused, foreign_peer_and_bypass__change_nothing)
{
	FOR_V4_AND_V6 (v6) {
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

SinkTest(arrival_refused, truncated__changes_nothing)
{
	FOR_V4_AND_V6 (v6) {
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

SinkTest(arrival_refused, authentication)
{
	FOR_V4_AND_V6 (v6) {
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
SinkTest(arrival_refused, replayed_without_telemetry__changes_nothing)
{
	struct frame inner = tcp(.reply = 1, .payload = 100), in;
	unsigned int k;

	slot_make(0, 128, 1);
	keys_set(&key, 1);
	for (k = 0; k < 2; k++) {
		in = wrap(&inner, .voq = 1, .voq_tor = TOR, .voq_total = 100 * (k + 1), .voq_flows = 1,
			  .voq_prefixlen = 128, .key = &key, .auth_seq = (1ULL << 40) - k);
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
