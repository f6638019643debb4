// SPDX-License-Identifier: GPL-2.0-only
/* P-PFC: which ports are paused, for how long, and what they are told. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "sluice/pause/ppfc.h"
#include "ppfc_case.h"

TestSuite(ppfc_choose, .timeout = 60);

Test(ppfc_choose, ppfc_seed__the_same_seed_gives_the_same_ports)
{
	struct ppfc_random a, b, c;
	int i, same = 0;

	ppfc_seed(&a, 7);
	ppfc_seed(&b, 7);
	ppfc_seed(&c, 8);
	for (i = 0; i < 1000; i++) {
		__u32 x = ppfc_draw(&a, 1000);

		cr_assert_lt(x, 1000);
		cr_assert_eq(x, ppfc_draw(&b, 1000));
		same += x == ppfc_draw(&c, 1000);
	}
	cr_expect_lt(same, 10);
	ppfc_seed(&a, -0x9e3779b97f4a7c15ULL);
	cr_expect_neq(a.state, 0, "xorshift would stay there");
	cr_expect_eq(ppfc_draw(&a, 1), 0);
}

/* The draws of a seed are part of the interface: a run can be repeated elsewhere. */
Test(ppfc_choose, ppfc_draw__golden)
{
	static const __u32 want[] = { 294046, 843291, 371413, 231147, 859043, 2048, 125953, 587615 };
	struct ppfc_random r;
	size_t i;

	ppfc_seed(&r, 1);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		cr_expect_eq(ppfc_draw(&r, 1000000), want[i]);
}

/* Figure 5: A has 80 %, B and C 10 % each. One draw is all if R is small. */
Test(ppfc_choose, ppfc_choose__in_proportion_to_the_share_of_the_queue)
{
	struct ppfc_share s[3] = { { .bytes = 80000 }, { .bytes = 10000 }, { .bytes = 10000 } };
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_random r;
	int count[3] = {}, i, k;

	p.r = Q24_ONE / 100;
	ppfc_seed(&r, 3);
	for (i = 0; i < 100000; i++) {
		for (k = 0; k < 3; k++)
			s[k].increment = 1;
		cr_assert_eq(ppfc_choose(s, 3, &p, &r), 1);
		for (k = 0; k < 3; k++)
			count[k] += s[k].drawn;
	}
	cr_expect(abs(count[0] - 80000) < 800, "%d", count[0]);
	cr_expect(abs(count[1] - 10000) < 500, "%d", count[1]);
	cr_expect(abs(count[2] - 10000) < 500, "%d", count[2]);
}

Test(ppfc_choose, ppfc_choose__until_they_hold_more_than_r)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_share s[16];
	struct ppfc_random r;
	int i, k;

	ppfc_seed(&r, 4);
	for (i = 0; i < 10000; i++) {
		__u64 total = 0, held = 0, most = 0;

		for (k = 0; k < 16; k++) {
			s[k] = (struct ppfc_share){ .bytes = any() % 100000, .increment = 1 };
			total += s[k].bytes;
		}
		ppfc_choose(s, 16, &p, &r);
		for (k = 0; k < 16; k++) {
			held += s[k].drawn ? s[k].bytes : 0;
			most = s[k].drawn && s[k].bytes > most ? s[k].bytes : most;
			cr_assert(!s[k].drawn || s[k].bytes, "has nothing in the queue");
		}
		cr_assert_gt(held << 24, total * p.r);
		cr_assert((held - most) << 24 <= total * p.r, "not more than it takes");
	}
	for (k = 0; k < 16; k++)
		s[k] = (struct ppfc_share){ .bytes = 1000, .increment = 1 };
	cr_expect_eq(ppfc_choose(s, 16, &p, &r), 13, "12 of 16 are 75 %%, 13 are 81 %%");
	p.r = Q24_ONE;
	cr_expect_eq(ppfc_choose(s, 16, &p, &r), 16, "all, and it ends");
}

Test(ppfc_choose, ppfc_choose__only_those_that_grow)
{
	struct ppfc_share s[4] = { { .bytes = 70000, .increment = -1 },
				   { .bytes = 10000, .increment = 0 },
				   { .bytes = 10000, .increment = 1 },
				   { .bytes = 0, .increment = 5 } };
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_random r;
	int i, drawn = 0;

	ppfc_seed(&r, 5);
	for (i = 0; i < 1000; i++) {
		drawn += ppfc_choose(s, 4, &p, &r);
		cr_assert(!s[0].drawn && !s[1].drawn && !s[3].drawn);
	}
	cr_expect(drawn > 100 && drawn < 900, "who does not grow counts for R: %d", drawn);
	cr_expect_eq(ppfc_choose(s, 0, &p, &r), 0);
	cr_expect_eq(ppfc_choose(&s[3], 1, &p, &r), 0, "an empty queue");
}

Test(ppfc_choose, ppfc_duration__is_the_time_in_which_its_bytes_leave)
{
	struct ppfc_params p = ppfc_params_usual();
	struct ppfc_queue q = queue(800000, 0);
	struct ppfc_share s = { .bytes = 50000 };

	/* All that is in the queue leaves in 160 us: 12500 quanta, and one less to be below the bound. */
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 12499);
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS / 4), 3124, "quanta of the port's own speed");
	q.increment = 75000;
	s.increment = 1000;
	/* In flight 2000 of 50000: 160 * 1.04 us. The bound is 875000 bytes, 175 us. */
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 13000);
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS / 4), 3250);
	s.increment = 10000;
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 13671, "the bound, 13671.9 quanta");
	q.bytes = PFC_BYTES_MAX - 1;
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 65534, "16 bits");
	q = queue(0, 0);
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 0);
	q = queue(800000, 0);
	q.bps = 0;
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 0, "no speed, no pause");
}

/* Theorem 3.2, with real numbers, for any input. */
Test(ppfc_choose, ppfc_duration__stays_below_the_bound)
{
	int i, some = 0;

	for (i = 0; i < 200000; i++) {
		struct ppfc_params p = ppfc_params_usual();
		struct ppfc_queue q = queue(any() % (1ULL << any() % 31), any() % (1ULL << any() % 30));
		struct ppfc_share s = { .bytes = any() % (q.bytes + 1ULL), .increment = any() % (1ULL << any() % 30) };
		__u64 elapsed = 1 + any() % (1ULL << any() % 31), port = 1000000 + any() % (BPS << any() % 4);
		long double bound, pause;
		__u32 quanta;

		q.bytes = q.bytes < PFC_BYTES_MAX ? q.bytes : PFC_BYTES_MAX - 1;
		q.bps = 1000000 + any() % (BPS << any() % 4);
		p.d_ns = any() % (1ULL << any() % 31);
		quanta = ppfc_duration(&s, &q, &p, elapsed, port);
		pause = quanta * 512e9L / port;
		bound = (q.bytes + (long double)q.increment * p.d_ns / elapsed) * 8e9L / q.bps;
		cr_assert(quanta <= PFC_QUANTA_MAX && (!quanta || pause < bound), "%Lf %Lf", pause, bound);
		some += quanta && quanta < PFC_QUANTA_MAX - 1;
	}
	cr_expect_gt(some, 50000, "of %d", i);
}

/* A queue that all senders fill and that is then left alone for the pause is never empty while they are away. */
Test(ppfc_choose, ppfc_duration__costs_no_throughput)
{
	struct ppfc_params p = ppfc_params_usual();
	int i;

	for (i = 0; i < 100000; i++) {
		__u64 elapsed = 500 + any() % 5000;
		struct ppfc_queue q = queue(200001 + any() % 4000000, 1 + any() % (80 * elapsed));
		struct ppfc_share s = { .bytes = 1 + any() % q.bytes, .increment = 1 + any() % q.increment };
		__u64 pause = pfc_quanta_ns(ppfc_duration(&s, &q, &p, elapsed, BPS), BPS);
		/* The queue when the last bytes have come, 2 d later: it may stop growing after d. */
		long double there = q.bytes + (long double)q.increment * p.d_ns / elapsed;

		cr_assert(there * 8e9L / BPS + 1 > pause);
		cr_assert_gt(pause, 0);
	}
}

Test(ppfc_choose, ppfc_tell__not_again_before_the_pause_has_run_out)
{
	struct ppfc_share s = { .bytes = 50000, .increment = 4600 };
	struct pfc_told t = {};
	__u64 end = START + pfc_quanta_ns(1000, BPS);

	cr_expect_not(ppfc_tell(&t, START, 0, BPS, &s, 1000), "no pause is no XON");
	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 1000));
	cr_expect_not(ppfc_tell(&t, START + 1, 2000, BPS, &s, 1000));
	cr_expect_not(ppfc_tell(&t, end - 1, 2000, BPS, &s, 1000));
	cr_expect(ppfc_tell(&t, end, 2000, BPS, &s, 1000));
}

Test(ppfc_choose, ppfc_tell__not_who_is_xoff)
{
	struct ppfc_share s = { .bytes = 50000, .increment = 4600 };
	struct pfc_told t = {};
	__u64 pause_ns;

	pfc_ingress(&t, &gate, START, 200000, 0, &pause_ns);
	cr_expect_not(ppfc_tell(&t, START + 1, 1000, BPS, &s, 1000));
	pfc_ingress(&t, &gate, START + 2, 0, 0, &pause_ns);
	cr_expect(ppfc_tell(&t, START + 3, 1000, BPS, &s, 1000));
}

Test(ppfc_choose, ppfc_tell__rates_saturate)
{
	struct ppfc_share s = { .bytes = 50000, .increment = PFC_BYTES_MAX - 1 };
	struct pfc_told t = {};

	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 1));
	cr_expect_leq(t.kbps, PFC_BPS_MAX / 1000);
	t = (struct pfc_told){};
	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 0));
	cr_expect_eq(t.kbps, 0);
	t = (struct pfc_told){};
	s.increment = -5;
	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 1000));
	cr_expect_eq(t.kbps, 0);
	cr_expect_lt(ppfc_in_flight(PFC_BYTES_MAX - 1, 1, ~0ULL), PFC_BYTES_MAX);
}
