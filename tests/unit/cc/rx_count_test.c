// SPDX-License-Identifier: GPL-2.0-only
/* N, the number of flows that share a port. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>

#include "sluice/cc/rx.h"
#include "rx_case.h"

TestSuite(rx_count, .timeout = 60);

Test(rx_count, rx_flows__sets_w_ai)
{
	struct hpcc_params p = params;

	cr_expect_eq(rx_flows(&p, 16, 0), RX_TAKEN);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05 / 16, 0.01);
	cr_expect_eq(rx_flows(&p, 1, 0), RX_TAKEN);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05, 0.01);
	cr_expect_eq(rx_flows(&p, 0, 0), RX_TOO_LOW);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05, 0.01, "as for one");
	cr_expect_eq(rx_flows(&p, RX_N_MAX, 0), RX_TAKEN);
	cr_expect_eq(rx_flows_choose(RX_OWN_MAX, 12, RX_FLOWS_MAX), RX_N_MAX);
	cr_expect_gt(p.w_ai, 0);
	cr_expect_eq(rx_flows(&p, RX_N_MAX + 1, 0), RX_TOO_HIGH);
	cr_expect_eq(rx_flows(&p, ~0U, 0), RX_TOO_HIGH);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 52000 * 0.05 / 24576, 0.001);
}

/* The packet in front, and half a packet for each sqrt(N). */
Test(rx_count, rx_flows__sets_the_queue_by_chance)
{
	struct hpcc_params p = params;
	static const struct {
		__u32 n, bytes;
		__u64 bps;
	} cases[] = {
		{ 1, 1500, 0 },		  { 4, 2000, 0 },	  { 15, 2500, 0 }, { 16, 3000, 0 },
		{ 100, 6000, 0 },	  { RX_N_MAX, 79000, 0 }, { 0, 1500, 0 },  { 16, 1500, 100000000000ULL / 16 },
		{ 16, 3000, 1ULL << 43 },
	};
	unsigned int i;

	p.packet = 1000;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rx_flows(&p, cases[i].n, cases[i].bps);
		cr_expect_eq(p.chance, cases[i].bytes / HPCC_CHANCE_UNIT, "N %u at %llu bit/s: %u", cases[i].n,
			     (unsigned long long)cases[i].bps, p.chance * HPCC_CHANCE_UNIT);
	}
	p.packet = 65535;
	rx_flows(&p, RX_N_MAX, 0);
	cr_expect_eq(p.chance, 0xffff);
}

Test(rx_count, rx_flows__keeps_the_variant)
{
	struct hpcc_params p = params;

	hpcc_params_variant(&p, HPCC_HIGH_AI);
	rx_flows(&p, 100, 0);
	rx_flows(&p, 100, 0);
	cr_expect_float_eq((double)p.w_ai / Q12_ONE, 20 * 52000 * 0.05 / 100, 0.1, "20 times, once");
	hpcc_params_variant(&p, HPCC_VAI_SF);
	rx_flows(&p, 16, 0);
	cr_expect_eq(p.variant, HPCC_VAI_SF);
	cr_expect_eq(p.vai.ai_cap, 32);
}

Test(rx_count, rx_own_port__is_certain_after_a_run)
{
	__u8 c = 0;
	int i;

	for (i = 0; i < RX_OWN_MAX - 1; i++) {
		c = rx_own_port(c, 1);
		cr_expect_eq(rx_flows_choose(c, 12, 64), 96, "the larger one is the safe one");
		cr_expect_eq(rx_flows_choose(c, 12, 3), 12);
	}
	c = rx_own_port(c, 1);
	cr_expect_eq(rx_flows_choose(c, 12, 3), 4);
	cr_expect_eq(rx_flows_choose(c, 12, 8), 12);
	cr_expect_eq(rx_flows_choose(c, 12, 1), 1);
	cr_expect_eq(rx_own_port(c, 1), c);
	for (i = 0; i < 1000; i++) { /* two hops, equally full */
		c = rx_own_port(c, i % 2);
		if (i > 0)
			cr_assert_eq(rx_flows_choose(c, 12, 64), 96);
	}
	for (i = 0; i < RX_OWN_MAX; i++)
		c = rx_own_port(c, 0);
	cr_expect_eq(rx_flows_choose(c, 12, 64), 12, "the bottleneck is elsewhere");
	cr_expect_eq(rx_own_port(c, 0), 0);
	cr_expect_eq(rx_flows_choose(RX_OWN_MAX, 12, 0), 12, "not told");
}

Test(rx_count, rx_count__active_flows)
{
	__u64 epoch_ns = RX_COUNT_RTTS * 4160, now = 1000 * epoch_ns;
	struct rx_counter c = {};
	__u32 mark[10] = {};
	int i, round;

	cr_expect_eq(rx_counted(&c), 0);
	for (round = 0; round < 3; round++)
		for (i = 0; i < 10; i++)
			rx_count(&c, &mark[i], now, epoch_ns);
	cr_expect_eq(rx_counted(&c), 10, "each once");
	now += epoch_ns + 2048;
	rx_count(&c, &mark[0], now, epoch_ns);
	cr_expect_eq(rx_counted(&c), 10, "a young epoch does not say less");
	rx_count(&c, &mark[1], now - 1, epoch_ns); /* a CPU that is late */
	cr_expect_eq(rx_counted(&c), 10);
	for (i = 0; i < 8; i++)
		rx_count(&c, &mark[i % 4], now + epoch_ns - 1, epoch_ns);
	now += epoch_ns + 2048;
	rx_count(&c, &mark[0], now, epoch_ns);
	cr_expect_eq(rx_counted(&c), 4, "six have ended");
	rx_count(&c, &mark[0], now, epoch_ns);
	now += 2 * epoch_ns + 2048;
	rx_count(&c, &mark[5], now, epoch_ns);
	cr_expect_eq(rx_counted(&c), 1, "after an epoch of silence");
}

/* 64 flows that take turns, one packet each in two epochs: an epoch goes on until it has seen them. */
Test(rx_count, rx_count__flows_of_less_than_a_packet)
{
	__u64 epoch_ns = RX_COUNT_RTTS * 4160, now = 1000 * epoch_ns;
	struct rx_counter c = {};
	__u32 mark[64] = {};
	int i;

	for (i = 0; i < 64 * 8; i++)
		rx_count(&c, &mark[i % 64], now += epoch_ns / 32, epoch_ns);
	cr_expect_eq(rx_counted(&c), 64);
	/* Flows that are seen once and never again do not hold it permanently. */
	for (i = 0; i < 64 * RX_COUNT_LONGEST; i++) {
		mark[i % 64] = 0;
		rx_count(&c, &mark[i % 64], now += epoch_ns / 32, epoch_ns);
	}
	cr_expect_leq(rx_counted(&c), 32 * RX_COUNT_LONGEST);
	now += 2 * RX_COUNT_LONGEST * epoch_ns;
	rx_count(&c, &mark[0], now, epoch_ns);
	cr_expect_eq(rx_counted(&c), 1, "after silence");
}

/* A clock that is far behind begins anew; one that is a little behind is late. */
Test(rx_count, rx_count__clocks_that_jump)
{
	__u64 epoch_ns = 1000000, now = 1ULL << 43;
	struct rx_counter c = {};
	__u32 mark[4] = {};
	int i;

	for (i = 0; i < 8; i++)
		rx_count(&c, &mark[i % 4], now, epoch_ns);
	rx_count(&c, &mark[0], now - 10000000, epoch_ns);
	cr_expect_eq(rx_counted(&c), 4);
	rx_count(&c, &mark[0], now - 10 * NSEC_PER_SEC, epoch_ns);
	cr_expect_eq(rx_counted(&c), 1);
	for (i = 0; i < 8; i++) /* the units wrap after 73 minutes */
		rx_count(&c, &mark[i % 4], now + (1ULL << 42) + 5000000, epoch_ns);
	cr_expect_eq(rx_counted(&c), 4);
}

/* A configuration with other RTTs: the epochs have other numbers, lower ones too. */
Test(rx_count, rx_count__epochs_of_another_length)
{
	__u64 now = 1000000000;
	struct rx_counter c = {};
	__u32 mark[4] = {};
	int i;

	for (i = 0; i < 4; i++)
		rx_count(&c, &mark[i], now, 33280);
	for (i = 0; i < 4; i++)
		rx_count(&c, &mark[i], now, 33280000);
	cr_expect_eq(rx_counted(&c), 4);
	for (i = 0; i < 2; i++)
		rx_count(&c, &mark[i], now + 2 * 33280000, 33280000);
	cr_expect_eq(rx_counted(&c), 2);
	rx_count(&c, &mark[0], now, 0);
	cr_expect_eq(rx_counted(&c), 2, "where nothing is counted");
}

#define ROUNDS 500

static struct {
	struct rx_counter c;
	__u32 mark[200];
	__u32 counted[ROUNDS]; /* in the epoch of each round */
	__u32 told[ROUNDS];
	pthread_barrier_t gate;
} shared;

static void *count_all(void *first)
{
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&shared.gate);
		for (i = 0; i < 200; i++)
			rx_count(&shared.c, &shared.mark[i], round * 10000, 10000);
		pthread_barrier_wait(&shared.gate);
		if (first) {
			shared.counted[round] = shared.c.now;
			shared.told[round] = rx_counted(&shared.c);
		}
	}
	return NULL;
}

/*
 * Two CPUs see every flow at the same time: no flow counts twice in an epoch, and N is the last two epochs' larger number.
 * They lose a count of packets now and then, and then an epoch begins in the middle of a round, without its first flows.
 */
Test(rx_count, rx_count__several_cpus)
{
	pthread_t t[2];
	int i;

	pthread_barrier_init(&shared.gate, NULL, 2);
	for (i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, count_all, i ? NULL : &shared), 0);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < ROUNDS; i++) {
		cr_assert_leq(shared.counted[i], 200, "round %d: %u", i, shared.counted[i]);
		cr_assert(shared.told[i] >= 180 && shared.told[i] <= 200, "round %d: N is %u", i, shared.told[i]);
	}
}

Test(rx_flows_scale, slower_bottleneck)
{
	struct hpcc_params p = { .t_ns = 2000000, .w_init = 25000ULL << 12 };

	cr_expect_eq(rx_flows_scale(&p, 3, 100000000), 3);
	cr_expect_eq(rx_flows_scale(&p, 3, 0), 3);
	cr_expect_eq(rx_flows_scale(&p, 3, 400000000), 3);
	cr_expect_eq(rx_flows_scale(&p, 3, 20000000), 15);
	cr_expect_eq(rx_flows_scale(&p, 1, 99000000), 2);
	cr_expect_eq(rx_flows_scale(&p, 0, 20000000), 0);
	cr_expect_eq(rx_flows_scale(&p, RX_N_MAX, 20000000), RX_N_MAX);
	cr_expect_eq(rx_flows_scale(&p, 0xffffffff, 1000), 0xffffffff);
	p.t_ns = NSEC_PER_SEC;
	p.w_init = (1ULL << 27) << 12;
	cr_expect_eq(rx_flows_scale(&p, 1000, 800000000000ULL), 1000);
	cr_expect_eq(rx_flows_scale(&p, 1000, 100000000), 10738);
}
