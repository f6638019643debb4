// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/rate.bpf.h: a host obeys the rate that its switch tells it. */
#include "tor_case.h"

static void make_host(void)
{
	world_make();
	hosts_strip();
	control_set(MODE_ENFORCE, 0);
	port_become(PORT_F_HOST | PORT_F_EDT);
	peers_become(VOQS_TOR);
}

TestSuite(rate, .init = make_host, .fini = world_drop, .timeout = 60);
TestSuite(rate_xdp, .init = make_host, .fini = world_drop, .timeout = 60);

#define ALONE 1

static struct result leaves(int v6)
{
	struct frame in = tcp(.v6 = v6, .payload = 700);

	hosts_strip();
	return run(EGRESS, &in);
}

/* One packet of every period asks; the period is 5 base RTTs. */
Test(rate, egress__leaves_the_block_to_the_switch)
{
	FOR_V4_AND_V6 (v6) {
		struct result r = leaves(v6);
		struct voq v;

		expect_block(&r.out, 0, 0, 0, 128, MARK);
		expect_counted(STAT_TX_DATA, STAT_VOQ_ASKED);
		r = leaves(v6);
		expect_block(&r.out, 0, 0, 0, 128, 0);
		v = voq_get(tor_to_b(v6));
		v.asked_ns = clock_ns() - 5 * WORLD_T_NS;
		voq_set(tor_to_b(v6), &v);
		r = leaves(v6);
		expect_block(&r.out, 0, 0, 0, 128, MARK);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).voq.rate_bps, 0);
		expect_eq(voq_get(tor_to_b(v6)).voq.sent, FIRST);
		world_ended();
	}
}

SinkTest(rate, told__is_obeyed_until_the_limit)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = message(.v6 = v6, .value = 5000000);
		struct voq v;

		leaves(v6);
		expect_that(world_ended());
		expect_verdict(run(sink, &in), VERDICT_DROP);
		expect_counted(STAT_RX_RATE, STAT_RATE_TAKEN);
		leaves(v6);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).voq.rate_bps, 5000000000ULL);
		v = voq_get(tor_to_b(v6));
		v.told_ns = clock_ns() - LIMIT_NS;
		voq_set(tor_to_b(v6), &v);
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
	expect_eq(voq_get(tor_to_b(0)).told_ns, 0);
}

SinkTest(rate, told__with_a_key)
{
	FOR_V4_AND_V6 (v6) {
		struct frame good = message(.v6 = v6, .value = 5000000, .key = &key, .auth_seq = 1ULL << 40), in;

		keys_set(&key, 1);
		leaves(v6);
		expect_that(world_ended());
		expect_that(world_damaged(sink, &good, at_shim(&good) + 4));
		in = message(.v6 = v6, .value = 5000000);
		expect_untouched(sink, &in, STAT_RX_NO_AUTH);
		in = message(.v6 = v6, .value = 5000000, .key = &other_key, .auth_seq = 1ULL << 40);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH);
		expect_eq(voq_get(tor_to_b(v6)).told_ns, 0);
		run(sink, &good);
		expect_counted(STAT_RX_RATE, STAT_RATE_TAKEN);
		run(sink, &good);
		expect_counted(STAT_RX_RATE, STAT_RX_REPLAYED);
		in = message(.v6 = v6, .value = 1, .key = &key, .auth_seq = (1ULL << 40) - 1);
		run(sink, &in);
		expect_counted(STAT_RX_RATE, STAT_RX_REPLAYED);
		keys_set(&key, 0);
		in = message(.v6 = v6, .value = 1, .key = &key, .auth_seq = (1ULL << 40) + 1);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH); /* it cannot be checked */
		expect_eq(voq_get(tor_to_b(v6)).told_bps, 5000000000ULL);
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
