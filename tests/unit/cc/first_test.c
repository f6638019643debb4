// SPDX-License-Identifier: GPL-2.0-only
/* include/sluice/cc/first.h: how flows share first windows. */
#include <criterion/criterion.h>
#include "sluice/cc/first.h"
#include "sluice/cc/rx.h"

TestSuite(first, .timeout = 60);

#define T_NS 4000000ULL

Test(first, first_count__those_of_a_t_or_of_silence)
{
	__u64 now = 1ULL << 42;
	struct first_flows c = {};
	__u32 began[32] = {};
	int i;

	cr_expect_eq(first_counted(&c), 1, "nobody yet");
	for (i = 0; i < 8; i++)
		cr_expect_eq(first_count(&c, &began[i], now + i * 2000, T_NS, 0), (__u32)i + 1);
	cr_expect_eq(first_count(&c, &began[3], now + 20000, T_NS, 0), 8, "it counts once");
	now += 2 * T_NS;
	cr_expect_eq(first_count(&c, &began[8], now, T_NS, 0), 9, "nothing was heard");
	cr_expect_eq(first_count(&c, &began[9], now, T_NS, now - 3 * T_NS), 10, "nor since they began");
	cr_expect_eq(first_count(&c, &began[10], now, T_NS, now - 1000), 1);
	now += FIRST_RTTS * T_NS + 2048;
	cr_expect_eq(first_count(&c, &began[11], now, T_NS, 0), 1, "a path that tells nothing");
	cr_expect_eq(first_counted(&c), 1);
}

Test(first, first_share__bounds)
{
	const q12_t w = q12_from_bytes(50000);

	cr_expect_eq(first_share(w, 1, 0), w);
	cr_expect_eq(first_share(w, 0, 0), w);
	cr_expect_eq(first_share(w, 4, 0), w / 4);
	cr_expect_eq(first_share(w, 1, q12_from_bytes(20000)), q12_from_bytes(20000));
	cr_expect_eq(first_share(w, 4, q12_from_bytes(20000)), w / 4);
}

Test(first, first_told__of_the_port_that_tells)
{
	struct hpcc_params p = { .w_init = q12_from_bytes(50000), .t_ns = T_NS };

	cr_expect_eq(first_told(&p, 4, 100000000), p.w_init / 4);
	cr_expect_eq(first_told(&p, 4, 0), p.w_init / 4, "speed not known");
	cr_expect_eq(first_told(&p, 4, 10000000), p.w_init / 40, "slower than the own port");
	cr_expect_eq(first_told(&p, 4, 1000000000), p.w_init, "faster");
	cr_expect_eq(first_told(&p, 20, 1000000000), p.w_init / 2);
	p.w_init = q12_from_bytes(10000);
	cr_expect_eq(first_told(&p, 5, 100000000), p.w_init, "one flow at 20 Mbit/s, scaled");
}

Test(first, first_promise__sum_of_flows_that_begin_together)
{
	__u64 until = 0, sum = 0, now = 1ULL << 42;
	__u32 k, told;

	for (k = 1; k <= 64; k++) {
		told = first_promise(&until, k, now + k * 40, T_NS);
		cr_expect_geq(told, k);
		cr_expect_leq(told, FIRST_LEAST * k);
		sum += T_NS / told;
	}
	cr_expect_leq(sum, 3 * T_NS, "64 flows, 4.7 without a limit");
	cr_expect_eq(first_promise(&until, 64, until, T_NS), 64, "no flow has begun of late");
	until = 0;
	cr_expect_eq(first_promise(&until, 1, now, T_NS), 1);
	cr_expect_eq(until, now + T_NS);
	cr_expect_eq(first_promise(&until, 2, now + T_NS / 2, T_NS), 2, "half a T later");
	cr_expect_eq(first_promise(&until, 3, now + T_NS / 2, T_NS), 3 * FIRST_LEAST, "the T is full");
}

Test(first, first_promise__bounds)
{
	__u64 until = 0, now = 1ULL << 42;
	int i;

	cr_expect_eq(first_promise(&until, 0, now, T_NS), 1, "nobody is counted");
	cr_expect_geq(first_promise(&until, RX_FLOWS_MAX, now, 1), 1, "the smallest T");
	until = 0;
	for (i = 0; i < 100000; i++)
		first_promise(&until, 1, now, T_NS);
	cr_expect_lt(until, now + (FIRST_RTTS + 1) * T_NS, "a flood of handshakes");
	until = now + 3 * T_NS;
	cr_expect_eq(first_promise(&until, 2, now + FIRST_RTTS * T_NS, T_NS), 2, "and after it");
}

Test(first, first_raise__to_the_share_that_is_told_later)
{
	struct hpcc_params p = { .w_init = q12_from_bytes(50000), .w_min = Q12_ONE, .packet = 1514, .t_ns = T_NS };
	struct hpcc_state st = { .w = q12_from_bytes(3028), .wc = q12_from_bytes(3028) };

	first_raise(&st, &p, 1, p.w_init / 4);
	cr_expect_eq(st.w, p.w_init / 4);
	cr_expect_eq(st.wc, st.w);
	cr_expect_eq(st.rate_bps, hpcc_rate_bps(p.w_init / 4, T_NS));
	first_raise(&st, &p, 8, p.w_init / 4);
	cr_expect_eq(st.w, p.w_init / 8, "of the own port");
	first_raise(&st, &p, 1, 0);
	cr_expect_eq(st.w, q12_from_bytes(2 * 1514), "the least");
}

/* W and R of a flow with that share of w_init bytes, T of 4 ms. */
static struct hpcc_state capped(__u64 w_init, q12_t share)
{
	struct hpcc_params p = { .w_init = q12_from_bytes(w_init), .w_min = Q12_ONE, .packet = 1514, .t_ns = T_NS };
	struct hpcc_state st = { .w = p.w_init, .wc = p.w_init };

	first_cap(&st, &p, share);
	return st;
}

Test(first, first_cap__r_is_the_share_though_w_is_two_packets)
{
	const q12_t w = q12_from_bytes(50000);
	struct hpcc_state st = capped(50000, w / 4);

	cr_expect_eq(st.w, w / 4);
	cr_expect_eq(st.rate_bps, hpcc_rate_bps(w / 4, T_NS));
	st = capped(50000, w / 50);
	cr_expect_eq(st.w, q12_from_bytes(2 * 1514));
	cr_expect_eq(st.wc, st.w);
	cr_expect_eq(st.rate_bps, hpcc_rate_bps(w / 50, T_NS));
	st = capped(1000, q12_from_bytes(500));
	cr_expect_eq(st.w, q12_from_bytes(1000), "a path of less than two packets");
	st = capped(50000, 0);
	cr_expect_eq(st.rate_bps, hpcc_rate_bps(Q12_ONE, T_NS), "no less than the smallest W");
}
