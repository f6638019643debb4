// SPDX-License-Identifier: GPL-2.0-only
/* include/sluice/cc/ceiling.h: what no hop reports. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "sluice/cc/ceiling.h"

TestSuite(ceiling, .timeout = 60);

#define MS 1000000U
#define T_NS (4 * MS)
#define D_NS (T_NS / CEILING_SHARE)
#define W_INIT 50000

struct path {
	struct ceiling c;
	struct hpcc_params p;
	struct ceiling_sample s;
};

static struct path path_new(void)
{
	struct path path = {
		.p = { .t_ns = T_NS, .w_init = q12_from_bytes(W_INIT), .packet = 1514, .eta = Q24_ONE * 95 / 100 }
	};

	path.p.w_min = hpcc_w_min(path.p.w_init, path.p.packet, path.p.t_ns);
	hpcc_params_flows(&path.p, 12, 0);
	path.s = (struct ceiling_sample){ .w = path.p.w_init, .clock = 1 };
	return path;
}

/* A round trip whose delay is there_ns on the way there and back_ns on the way back. Returns the ceiling in bytes. */
static __u64 round_trip(struct path *path, __u32 there_ns, __u32 back_ns)
{
	struct ceiling_sample *s = &path->s;

	s->seq += 2;
	s->snd_nxt = s->seq + 1;
	s->rtt_ns = T_NS + there_ns + back_ns;
	s->there = 12345 + (there_ns >> CEILING_CLOCK_SHIFT);
	ceiling_feedback(&path->c, &path->p, s);
	s->w = path->c.w ? path->c.w : path->p.w_init;
	return path->c.w >> 12;
}

Test(ceiling, ceiling_feedback__there_is_none_without_a_delay)
{
	struct path path = path_new();
	int i;

	for (i = 0; i < 1000; i++)
		cr_assert_eq(round_trip(&path, i % 3 ? 0 : D_NS, 0), 0, "round %d", i);
	cr_expect(!ceiling_was_cut(&path.c));
}

Test(ceiling, ceiling_feedback__a_delay_on_the_way_there_lowers_it)
{
	struct path path = path_new();

	round_trip(&path, 0, 0);
	cr_expect_eq(round_trip(&path, T_NS, 0), 0, "one may be noise");
	cr_expect_leq(round_trip(&path, T_NS, 0), W_INIT);
	cr_expect_lt(round_trip(&path, T_NS, 0), W_INIT * 7 / 10);
	cr_expect_eq(path.c.by_delay, 2);
}

Test(ceiling, ceiling_feedback__a_delay_on_the_way_back_does_not)
{
	struct path path = path_new();
	int i;

	round_trip(&path, 0, 0);
	for (i = 0; i < 100; i++)
		cr_assert_eq(round_trip(&path, 0, 5 * T_NS), 0);
}

/* A peer that does not tell its clock. */
Test(ceiling, ceiling_feedback__without_a_clock_both_ways_count)
{
	struct path path = path_new();
	int i;

	path.s.clock = 0;
	round_trip(&path, 0, 0);
	for (i = 0; i < 3; i++)
		round_trip(&path, T_NS / 2, T_NS / 2);
	cr_expect_eq(path.c.by_delay, 2);
	cr_expect_eq(path.c.delay_ns, T_NS);
	cr_expect_lt(path.c.w >> 12, W_INIT * 7 / 10);
}

Test(ceiling, ceiling_feedback__a_reported_queue_is_no_delay)
{
	struct path path = path_new();
	int i;

	round_trip(&path, 0, 0);
	path.s.queue_ns = 3 * T_NS;
	for (i = 0; i < 100; i++)
		cr_assert_eq(round_trip(&path, 3 * T_NS, 0), 0);
	path.s.full = 1; /* a hop that is full explains more than it reports */
	for (i = 0; i < 100; i++)
		cr_assert_eq(round_trip(&path, 5 * T_NS, 0), 0);
}

/* As behind fq_codel, where each flow has its own queue: that no round trip was shorter still holds afterwards. */
Test(ceiling, ceiling_feedback__a_companion_overtakes_a_reported_queue)
{
	struct path path = path_new();
	int i;

	for (i = 0; i < 100; i++) {
		path.s.queue_ns = i < 10 ? T_NS / 2 : 0;
		cr_assert_eq(round_trip(&path, 0, 0), 0);
	}
}

Test(ceiling, ceiling_feedback__it_ends_without_a_delay)
{
	struct path path = path_new();
	int i;

	round_trip(&path, 0, 0);
	for (i = 0; i < 10; i++)
		round_trip(&path, T_NS, 0);
	cr_expect_lt(path.c.w >> 12, W_INIT / 4);
	for (i = 0; i < 20 && path.c.w; i++)
		round_trip(&path, 0, 0);
	cr_expect_eq(path.c.w, 0);
}

/* T is a half of the round trip: W is low for as long as it takes to see that this does not help. */
Test(ceiling, ceiling_feedback__a_delay_that_stays_is_the_route)
{
	struct path path = path_new();
	__u64 low = 0, rounds = 4000;
	unsigned int i;

	for (i = 0; i < rounds; i++)
		low += round_trip(&path, T_NS, 0) && path.c.w < path.p.w_init * 3 / 4;
	cr_expect_lt(low, rounds / 10, "%llu of %llu rounds", low, rounds);
}

/* Others keep the queue while the flow falls from W_init to its share of 8: that is no route. Without N nobody can tell. */
Test(ceiling, ceiling_feedback__a_delay_that_stays_while_w_is_a_share)
{
	__u32 flows, i;

	for (flows = 0; flows <= 8; flows += 8) {
		struct path path = path_new();

		path.s.flows = flows;
		round_trip(&path, 0, 0);
		for (i = 0; i < 200; i++)
			round_trip(&path, T_NS * 3 / 10, 0);
		cr_expect_eq(path.c.away_times > 0, !flows, "N %u", flows);
	}
}

/* A queue that answers W: d = (W - BDP) / B. */
Test(ceiling, ceiling_feedback__a_lone_flow_keeps_the_queue_near_d)
{
	struct path path = path_new();
	__u32 d = 0, bdp = W_INIT / 4, i;
	__u64 w;

	for (i = 0; i < 1000; i++) {
		w = round_trip(&path, d, 0);
		w = w ? w : W_INIT;
		d = w > bdp ? (__u64)(w - bdp) * T_NS / bdp : 0;
		if (i > 100)
			cr_assert(d > D_NS / 2 && d < 2 * D_NS, "round %u: %u ns", i, d);
	}
}

Test(ceiling, ceiling_feedback__w_is_within_its_bounds_whatever_comes)
{
	struct path path = path_new();
	unsigned int seed = 1, i;

	for (i = 0; i < 100000; i++) {
		path.s.clock = rand_r(&seed) % 4 > 0;
		path.s.full = rand_r(&seed) % 8 == 0;
		path.s.queue_ns = rand_r(&seed);
		path.s.flows = rand_r(&seed) % 3 ? 0 : rand_r(&seed) % 70000;
		path.s.rtt_ns = rand_r(&seed) % 4 ? rand_r(&seed) : 0;
		path.s.there = rand_r(&seed);
		path.s.seq = rand_r(&seed);
		path.s.snd_nxt = path.s.seq + rand_r(&seed) % 100;
		if (rand_r(&seed) % 100 == 0)
			ceiling_lost(&path.c, &path.p, path.s.w);
		if (rand_r(&seed) % 100 == 0)
			ceiling_timeout(&path.c, &path.p, path.s.w);
		ceiling_feedback(&path.c, &path.p, &path.s);
		cr_assert(path.c.w <= path.p.w_init);
		cr_assert(!path.c.w || path.c.w >= path.p.w_min);
		path.s.w = path.c.w ? path.c.w : path.p.w_init;
	}
}

Test(ceiling, ceiling_lost__halves_w_unless_a_hop_explains_it)
{
	struct path path = path_new();

	cr_expect(ceiling_lost(&path.c, &path.p, path.p.w_init));
	cr_expect_eq(path.c.w >> 12, W_INIT / 2);
	path.c.told = 1;
	cr_expect(!ceiling_lost(&path.c, &path.p, path.c.w));
	cr_expect_eq(path.c.by_loss, 1);
}

Test(ceiling, ceiling_timeout__one_packet_and_slow_start)
{
	struct path path = path_new();
	int i;

	round_trip(&path, 0, 0);
	ceiling_timeout(&path.c, &path.p, path.p.w_init);
	cr_expect_eq(path.c.w >> 12, 1514);
	for (i = 0; i < 6; i++)
		round_trip(&path, 0, 0);
	cr_expect_eq(path.c.w, 0, "32 packets after six rounds: %llu", path.c.w >> 12);
}

Test(ceiling, ceiling_begin__doubles_until_a_delay)
{
	struct path path = path_new();
	__u64 first = 2 * 1514;

	ceiling_begin(&path.c, &path.p, q12_from_bytes(first));
	cr_expect_geq(round_trip(&path, 0, 0), 2 * first);
	cr_expect_geq(round_trip(&path, 0, 0), 4 * first);
	round_trip(&path, T_NS, 0);
	cr_expect_eq(path.c.slow, 0);
	cr_expect_lt(round_trip(&path, T_NS, 0), 8 * first);
}

Test(ceiling, ceiling_rate_bps__a_small_window_slows_down_by_r)
{
	struct path path = path_new();
	q12_t small = q12_from_bytes(1514), large = q12_from_bytes(W_INIT);
	__u64 r = hpcc_rate_bps(small, T_NS);

	path.c.delay_ns = T_NS;
	cr_expect_leq(ceiling_rate_bps(&path.c, &path.p, small, 1), r * 2 / 3 + 8);
	cr_expect_gt(ceiling_rate_bps(&path.c, &path.p, large, 1), hpcc_rate_bps(large, T_NS) * 9 / 10);
	cr_expect_leq(ceiling_rate_bps(&path.c, &path.p, large, 0), hpcc_rate_bps(large, T_NS) / 2 + 8);
}

Test(ceiling, ceiling_companions__a_third_of_a_window)
{
	struct companion_params due;
	struct ceiling c = { .w = q12_from_bytes(12 * 1500) };

	companion_params_init(&due, 1500, T_NS);
	ceiling_companions(&c, &due);
	cr_expect_eq(due.between, 4 * 1500);
	companion_params_init(&due, 1500, T_NS);
	c.w = q12_from_bytes(1500);
	ceiling_companions(&c, &due);
	cr_expect_eq(due.between, 2 * 1500);
	companion_params_init(&due, 1500, T_NS);
	c.w = q12_from_bytes(100 * 1500);
	ceiling_companions(&c, &due);
	cr_expect_eq(due.between, 8 * 1500);
}
