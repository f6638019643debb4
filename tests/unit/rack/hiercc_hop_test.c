// SPDX-License-Identifier: GPL-2.0-only
/* The first hop: Equation 1, and stops. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "sluice/rack/hiercc.h"
#include "hiercc_case.h"

TestSuite(hiercc_hop, .timeout = 60);

Test(hiercc_hop, hiercc_hop_params_init__has_the_values_of_the_paper)
{
	struct hiercc_hop_params h;

	hiercc_hop_params_init(&h, RATE, 2000, 37500);
	cr_expect_eq(h.q0, 20000);
	cr_expect_eq(h.v_high, 70000);
	cr_expect_eq(h.v_low, 50000);
	cr_expect_eq(h.period_ns, 10000);
}

/* Thresholds that are set alone, above or below those that follow from the BDP. */
Test(hiercc_hop, hiercc_hop_tune__keeps_the_order)
{
	static const struct hiercc_tuning t[] = {
		{ .q0 = 100000 },    { .v_low = 90000 }, { .v_high = 10000 }, { .q0 = 1, .v_low = 1, .v_high = 2 },
		{ .beta = Q24_ONE / 2 }, {},
	};
	struct hiercc_hop_params h, was;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		hiercc_hop_params_init(&h, RATE, 2000, 37500);
		was = h;
		hiercc_hop_tune(&h, &t[i]);
		cr_expect_leq(h.q_line, h.q0);
		cr_expect_leq(h.q0, h.v_low);
		cr_expect_lt(h.v_low, h.v_high);
		cr_expect_eq(h.q0, t[i].q0 ? t[i].q0 : was.q0);
		cr_expect_eq(h.period_ns, t[i].beta ? 4000 : was.period_ns, "1/beta RTT_hop");
	}
	cr_expect_eq(memcmp(&h, &was, sizeof(h)), 0, "nothing set changes nothing");
}

Test(hiercc_hop, hiercc_params_tune__has_room_for_two_credits)
{
	struct hiercc_params p;

	hiercc_params_init(&p, RATE, 8000, 2000);
	hiercc_params_tune(&p, &(struct hiercc_tuning){ .delta = HIERCC_DELTA_MAX });
	cr_expect_eq(p.delta, HIERCC_DELTA_MAX);
	cr_expect_eq(p.c0, 2 * HIERCC_DELTA_MAX);
	cr_expect_geq(p.debt_max, p.c0);
}

static struct hiercc_hop_params hop_params(void)
{
	struct hiercc_hop_params h;

	hiercc_hop_params_init(&h, RATE, 2000, 37500);
	return h;
}

Test(hiercc_hop, hiercc_rate__is_equation_1)
{
	struct hiercc_hop_params p = hop_params();
	struct hiercc_hop h;
	__u64 rate;

	hiercc_hop_init(&h, &p);
	cr_expect_eq(hiercc_rate(&h, &p, 0, 0), RATE, "an empty queue: R_line, whatever comes");
	h.rate = RATE / 10;
	cr_expect_eq(hiercc_rate(&h, &p, 0, 0), RATE / 10 * 4, "by fourfold steps");
	cr_expect_eq(hiercc_rate(&h, &p, 0, 0), RATE);
	/* four flows at line rate, credit for one: R becomes R/4 */
	h.arrive = 4 * RATE;
	cr_expect_eq(hiercc_rate(&h, &p, p.q0, RATE), RATE / 4);
	/* 10 KB too much, or too little: 0.2 * 10 KB / 2 us = 1 GB/s */
	h.arrive = RATE;
	rate = hiercc_rate(&h, &p, p.q0 + 10000, RATE);
	cr_expect_float_eq(rate, RATE / 4 * 0.68, 1000);
	h.rate = RATE / 4;
	rate = hiercc_rate(&h, &p, p.q0 - 10000, RATE);
	cr_expect_float_eq(rate, RATE / 4 * 1.32, 1000);
	p.q_line = p.q0;
	cr_expect_eq(hiercc_rate(&h, &p, p.q0 - 1, 0), RATE, "the other reading");
}

Test(hiercc_hop, hiercc_rate__is_bounded_and_divides_by_nothing)
{
	struct hiercc_hop_params p = hop_params();
	struct hiercc_hop h;

	hiercc_hop_init(&h, &p);
	h.rate = RATE / 8;
	cr_expect_eq(hiercc_rate(&h, &p, p.q0, RATE), RATE / 8, "nothing arrived: as it was");
	h.arrive = 1;
	cr_expect_eq(hiercc_rate(&h, &p, p.q0, RATE), RATE / 2, "fourfold at most");
	cr_expect_eq(hiercc_rate(&h, &p, p.q0, RATE), RATE, "R_line at most");
	h.arrive = RATE;
	cr_expect_eq(hiercc_rate(&h, &p, p.v_high, 0), RATE / 4, "a quarter at least");
	cr_expect_eq(hiercc_rate(&h, &p, p.q0, 0), RATE / 16);
	h.rate = p.rate_min * 2;
	cr_expect_eq(hiercc_rate(&h, &p, p.q0, 0), p.rate_min, "and R_min");
}

Test(hiercc_hop, hiercc_rate__agrees_with_equation_1_in_double)
{
	unsigned short rng[3] = { 1, 2, 3 };
	struct hiercc_hop_params p;
	int i;

	for (i = 0; i < 200000; i++) {
		__u64 line = 1000000 + (((__u64)nrand48(rng) << 6) % (HIERCC_RATE_MAX - 2000000));
		double want, slack;
		struct hiercc_hop h;
		__u64 credit;
		__u32 q;

		hiercc_hop_params_init(&p, line, 1 + nrand48(rng) % (HIERCC_NS_MAX - 1),
				       nrand48(rng) % (HIERCC_BYTES_MAX / 2));
		hiercc_hop_init(&h, &p);
		h.rate = p.rate_min + erand48(rng) * (p.rate_line - p.rate_min);
		h.arrive = 1 + erand48(rng) * 2 * line;
		credit = erand48(rng) * 2 * line;
		credit = credit < HIERCC_RATE_MAX ? credit : HIERCC_RATE_MAX - 1;
		q = erand48(rng) * p.v_high;
		want = (credit - 0.2 * ((double)q - p.q0) * 1e9 / p.rtt_ns) / h.arrive;
		want = h.rate * (q < p.q_line ? 4 : fmin(4, fmax(0.25, want)));
		want = fmin(line, fmax(p.rate_min, want));
		/* the drain is of whole bytes, and beta has 24 bits */
		slack = 2 + want * 1e-6 + h.rate * 1.2e-7 +
			1e9 * h.rate / h.arrive / p.rtt_ns * (1 + fabs((double)q - p.q0) * 1e-6);
		hiercc_rate(&h, &p, q, credit);
		cr_assert_float_eq(h.rate, want, slack, "%d: %llu, not %.0f", i, h.rate, want);
	}
}

Test(hiercc_hop, hiercc_stop__stops_and_resumes_with_the_rate_of_before)
{
	struct hiercc_hop_params p = hop_params();
	struct hiercc_hop h;
	int i;

	hiercc_hop_init(&h, &p);
	h.rate = 123456789;
	cr_expect_eq(hiercc_stop(&h, &p, p.v_high), 123456789, "not above it yet");
	cr_expect_eq(hiercc_stop(&h, &p, p.v_high + 1), 0);
	cr_expect_eq(hiercc_stop(&h, &p, ~0U), 0);
	h.arrive = RATE;
	cr_expect_eq(hiercc_rate(&h, &p, p.v_low, RATE), 0, "not below it yet");
	cr_expect_eq(hiercc_stop(&h, &p, p.v_low - 1), 123456789);
	cr_expect_eq(h.stopped, 0);
	hiercc_stop(&h, &p, p.v_high + 1);
	cr_expect_eq(hiercc_stop(&h, &p, 0), 123456789 / 2, "at once again: that was too much");
	h.arrive = RATE;
	h.rate = 1000000000;
	hiercc_rate(&h, &p, p.q0, RATE);
	hiercc_stop(&h, &p, p.v_high + 1);
	cr_expect_eq(hiercc_stop(&h, &p, 0), 1000000000, "computed in between");
	for (i = 0; i < 100; i++)
		hiercc_stop(&h, &p, i % 2 ? 0 : ~0U);
	cr_expect_eq(h.rate, p.rate_min);
}

Test(hiercc_hop, hiercc_arrival__measures_whole_periods)
{
	struct hiercc_hop_params p = hop_params();
	struct hiercc_hop h;

	hiercc_hop_init(&h, &p);
	cr_expect_eq(hiercc_arrival(&h, &p, START, 5000), 1);
	cr_expect_eq(h.arrive, 0, "there is nothing to take a difference with");
	cr_expect_eq(hiercc_arrival(&h, &p, START + 1999, 7000), 0);
	cr_expect_eq(hiercc_arrival(&h, &p, START + 2000, 9000), 0, "what came until now is not counted");
	cr_expect_eq(hiercc_arrival(&h, &p, START + 9999, 33999), 0);
	cr_expect_eq(hiercc_arrival(&h, &p, START + 10000, 34000), 1);
	cr_expect_eq(h.arrive, RATE);
	cr_expect_eq(hiercc_arrival(&h, &p, START, 40000), 1, "a clock that went back");
	cr_expect_eq(h.arrive, 0);
	hiercc_arrival(&h, &p, START + 2000, 40000);
	cr_expect_eq(hiercc_arrival(&h, &p, START + 10000, 10), 1, "an S that did");
	cr_expect_eq(h.arrive, 0);
	hiercc_arrival(&h, &p, START + 12000, 10);
	hiercc_arrival(&h, &p, START + 20000, 2000000000);
	cr_expect_eq(h.arrive, HIERCC_RATE_MAX - 1);
}

/* A VOQ of ideal senders, N of them, that follow R one RTT_hop later: to q0, and it stays there. */
Test(hiercc_hop, hiercc_rate__converges_to_q0)
{
	static const int counts[] = { 1, 2, 5, 30 };
	struct hiercc_hop_params p = hop_params();
	size_t c;

	for (c = 0; c < 4; c++) {
		double q = 0, arrived = 0, credit = RATE * 0.6, r = RATE, sum = 0, seen = 0;
		struct hiercc_hop h;
		__u64 now, due = 0;

		hiercc_hop_init(&h, &p);
		for (now = START; now < START + 10000000; now += 100) {
			arrived += counts[c] * r * 1e-7;
			q = fmax(0, q + (counts[c] * r - credit) * 1e-7);
			if (due && now >= due) {
				r = h.rate;
				due = 0;
			}
			if (hiercc_arrival(&h, &p, now, arrived))
				hiercc_rate(&h, &p, q, credit);
			hiercc_stop(&h, &p, q);
			if (!due && h.rate != (__u64)r)
				due = now + p.rtt_ns;
			cr_assert_leq(q, p.v_high + (counts[c] + 1) * RATE * 2.2e-6);
			if (now > START + 5000000) {
				sum += q;
				seen++;
			}
		}
		cr_expect_float_eq(sum / seen, p.q0, 0.2 * p.q0, "%d flows: %.0f", counts[c], sum / seen);
	}
}
