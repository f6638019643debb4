// SPDX-License-Identifier: GPL-2.0-only
/* The sender: packets leave a VOQ by their credit. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>

#include "sluice/rack/hiercc.h"
#include "hiercc_case.h"

TestSuite(hiercc_voq, .timeout = 60);

Test(hiercc_voq, hiercc_params_init__is_a_round_trip_of_the_port)
{
	struct hiercc_params p = voq_params();

	cr_expect_eq(p.c0, 37500);
	cr_expect_eq(p.debt_max, 3 * 37500);
	hiercc_params_c0(&p, 10000);
	cr_expect_eq(p.c0, 10000);
	cr_expect_eq(p.debt_max, 10000 + 2 * 37500, "and what is sent in two windows");
	hiercc_params_c0(&p, ~0ULL);
	cr_expect_lt(p.debt_max, HIERCC_BYTES_MAX);
	p = voq_params();
	cr_expect_eq(p.window_ns, 12000);
	cr_expect_eq(p.limit_ns, 64 * 12000);
	cr_expect_eq(p.idle_ns, 128 * 12000);
	cr_expect_eq(p.rate_first, RATE / 4);
}

Test(hiercc_voq, hiercc_params_init__stays_in_range_whatever_comes)
{
	static const __u64 any[] = { 0, 1, 1000, 1ULL << 26, 1ULL << 37, 1ULL << 62 };
	struct hiercc_hop_params h;
	struct hiercc_params p;
	size_t i, k;

	for (i = 0; i < 6; i++) {
		for (k = 0; k < 6; k++) {
			hiercc_params_init(&p, any[i], any[k], any[k] / 2);
			cr_expect(p.c0 >= 2048 && p.c0 < HIERCC_BYTES_MAX);
			cr_expect(p.debt_max >= p.c0 && p.debt_max < HIERCC_BYTES_MAX);
			cr_expect(p.window_ns > 0 && p.window_ns < HIERCC_NS_MAX);
			cr_expect(p.rate_first > 0 && p.rate_first < HIERCC_RATE_MAX);
			cr_expect_gt(p.idle_ns, p.limit_ns);
			hiercc_hop_params_init(&h, any[i], any[k], any[k]);
			cr_expect(h.rate_min > 0 && h.rate_min <= h.rate_line);
			cr_expect(h.rate_line < HIERCC_RATE_MAX && h.v_high < HIERCC_BYTES_MAX);
			cr_expect(h.q0 <= h.v_low && h.v_low <= h.v_high);
			cr_expect(h.rtt_ns > 0 && h.rtt_ns < HIERCC_NS_MAX);
		}
	}
}

Test(hiercc_voq, hiercc_send__c0_leaves_at_once_and_not_a_byte_more)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	struct sent s;

	s = voq_send(&v, &p, START, p.c0);
	cr_expect_eq(s.verdict, HIERCC_COVERED);
	cr_expect_eq(s.at, START);
	cr_expect_eq(s.total, p.c0, "S with the packet itself");
	cr_expect_eq(hiercc_queue(&v, &p), 0);
	s = voq_send(&v, &p, START, 1);
	cr_expect_eq(s.verdict, HIERCC_WAITS);
	cr_expect_gt(s.at, START);
	cr_expect_eq(hiercc_queue(&v, &p), 1);
}

/* Nothing is known: credit is not expected before a round trip has passed. */
Test(hiercc_voq, hiercc_send__the_first_credit_is_expected_a_round_trip_later)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	struct sent s;
	int i;

	voq_send(&v, &p, START, p.c0);
	for (i = 1; i <= 20; i++) {
		s = voq_send(&v, &p, START, 1000);
		cr_expect_eq(s.verdict, HIERCC_WAITS);
		cr_expect_eq(s.at, START + 12000 + i * 1000 * NSEC_PER_SEC / p.rate_first);
	}
}

/* Credit of 1000 bytes each us: golden, by hand. */
Test(hiercc_voq, hiercc_send__goes_on_at_the_measured_rate_from_the_last_message)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	__u64 now = START, credit = HIERCC_TOTAL_FIRST;
	struct sent s;
	int i;

	voq_send(&v, &p, now, p.c0 + 60000);
	for (i = 0; i < 40; i++) {
		now += 1000;
		credit += 1000;
		cr_assert_eq(credited(&v, &p, now, credit, 1), HIERCC_CREDITED);
	}
	cr_expect_float_eq(v.rate, 1e9, 1e7, "%llu", v.rate);
	v.rate = 1000000000;
	v.clock_ns = 0; /* of what was sent when nothing was known */
	s = voq_send(&v, &p, now + 500, 1000);
	cr_expect_eq(s.verdict, HIERCC_WAITS);
	cr_expect_eq(s.at, now + 21000, "60 KB and 1 lack 40 KB; 1 ns each from the last message");
	s = voq_send(&v, &p, now + 11999, 1000);
	cr_expect_eq(s.at, now + 22000, "also when it is old");
	s = voq_send(&v, &p, now + 30000, 10000);
	cr_expect_eq(s.at, now + 38000, "but not for longer than two windows: 32 KB from 24 us ago on");
}

/* Credit granted to one that asked for little says nothing of what it could have. */
Test(hiercc_voq, hiercc_send__a_rate_that_is_only_ones_own_is_not_believed)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v[2] = { voq(), voq() };
	__u64 now = START, credit = HIERCC_TOTAL_FIRST, at[2];
	int i, k;

	for (i = 0; i < 100; i++) {
		now += 100000;
		credit += 1000;
		for (k = 0; k < 2; k++) {
			voq_send(&v[k], &p, now - 50000, 1000);
			cr_assert_eq(credited(&v[k], &p, now, credit, k), HIERCC_CREDITED);
		}
	}
	for (k = 0; k < 2; k++) {
		cr_expect_float_eq(v[k].rate, 1e7, 1e6);
		voq_send(&v[k], &p, now, p.c0);
		at[k] = voq_send(&v[k], &p, now, 1000).at - now;
	}
	cr_expect_eq(at[0], 12000 + 1000 * NSEC_PER_SEC / p.rate_first, "%llu", at[0]);
	cr_expect_float_eq(at[1], 1e5, 1e4, "the port has no more to give: %llu", at[1]);
}

/* Packets that wait when credits stop leave as credit came, or at a 16th of rate_first, where its own limit allows that. */
Test(hiercc_voq, hiercc_send__at_the_limit_what_waits_is_spaced)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	__u64 now = START, gap = PACKET * 1000000000ULL / (p.rate_first / 16 + 1), end, last;
	struct sent s;
	int i;

	p.limit_ns = 100 * gap;
	voq_send(&v, &p, now, p.c0);
	v.rate = p.rate_first / 10000; /* credit for all of this would come after the limit */
	v.due = 1;
	end = now + p.limit_ns;
	s = voq_send(&v, &p, now, PACKET);
	cr_expect_eq(s.at, end, "the first");
	for (last = s.at, i = 0; i < 20; i++, last = s.at) {
		now += 2 * gap;
		s = voq_send(&v, &p, now, PACKET);
		cr_expect_eq(s.at, last + gap, "packet %d", i);
	}
	s = voq_send(&v, &p, now, PACKET);
	cr_expect_eq(s.at, last + gap, "one that comes with it");
	for (i = 0; i < 100; i++)
		s = voq_send(&v, &p, now, PACKET);
	cr_expect_eq(s.at, now + p.limit_ns, "never past its own limit");
}

/* Credits stop: nothing waits past the limit, which then is over. */
Test(hiercc_voq, hiercc_send__credits_that_stop_hold_nobody_past_the_limit)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	__u64 now, credit, first = 0;
	struct sent s;
	int alone = 0;

	for (now = START; now < START + 3 * p.limit_ns; now += 1000) {
		s = voq_send(&v, &p, now, PACKET);
		if (s.verdict != HIERCC_COVERED && !first)
			first = now;
		if (s.verdict == HIERCC_ALONE) {
			cr_assert_eq(s.at, now);
			alone++;
		}
		cr_assert_eq(s.verdict == HIERCC_ALONE, first && now >= first + p.limit_ns);
	}
	cr_expect_gt(alone, 100);

	/* The receiver is back and has learned S: there is C0 left, no more. */
	credit = v.sent;
	cr_expect_eq(credited(&v, &p, now, credit, 0), HIERCC_CREDITED);
	cr_expect_eq(voq_send(&v, &p, now, p.c0).verdict, HIERCC_COVERED);
	cr_expect_eq(voq_send(&v, &p, now, 1).verdict, HIERCC_WAITS, "no flood");
}

/* Credit for more than 2^27 bytes lacks: that is beyond any line. */
Test(hiercc_voq, hiercc_send__what_is_far_beyond_credit_waits_for_the_limit)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	int shift;

	for (shift = 27; shift < 60; shift++) {
		v = voq();
		v.sent += 1ULL << shift;
		cr_expect_eq(voq_send(&v, &p, START, p.c0 + 1).at, START + p.limit_ns, "2^%d", shift);
	}
}

Test(hiercc_voq, hiercc_send__who_was_silent_has_c0_again)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	__u64 now = START;

	voq_send(&v, &p, now, p.c0);
	cr_expect_eq(voq_send(&v, &p, now + p.idle_ns, 100).verdict, HIERCC_WAITS, "not yet");
	now += 2 * p.idle_ns + 1;
	cr_expect_eq(voq_send(&v, &p, now, p.c0).verdict, HIERCC_COVERED);
	cr_expect_eq(voq_send(&v, &p, now, 1).verdict, HIERCC_WAITS);
	cr_expect_eq(v.rate, 0, "what was measured before says nothing");
}

/* A clock of another boot, or a limit that was longer, holds no packet. */
Test(hiercc_voq, hiercc_send__survives_values_from_elsewhere)
{
	struct hiercc_params p = voq_params();
	unsigned short rng[3] = { 1, 2, 3 };
	struct hiercc_voq v;
	int i, k;

	for (i = 0; i < 20000; i++) {
		__u8 *byte = (__u8 *)&v;
		__u64 now = 1 + nrand48(rng);
		struct sent s;

		for (k = 0; k < (int)sizeof(v); k++)
			byte[k] = nrand48(rng) % 3 ? nrand48(rng) : 0;
		s.verdict = hiercc_send(&v, &p, now, 1 + nrand48(rng) % (1 << 20), &s.total, &s.at);
		cr_assert(s.at >= now && s.at <= now + p.limit_ns);
		credited(&v, &p, now, nrand48(rng), 1);
		cr_assert_gt(hiercc_credit_rate(&v, &p), 0);
		cr_assert_lt(hiercc_queue(&v, &p), HIERCC_BYTES_MAX);
	}
}

/* The model, in double: the line of credits of a VOQ that always lacks. */
Test(hiercc_voq, hiercc_send__agrees_with_the_line_in_double)
{
	unsigned short rng[3] = { 4, 5, 6 };
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	double sent = 0, credit = 0, credit_ns = START, want;
	__u64 now = START;
	int i;

	p.limit_ns = 1ULL << 35;
	p.idle_ns = 1ULL << 36;
	voq_send(&v, &p, now, p.c0);
	sent = p.c0;
	for (i = 0; i < 100000; i++) {
		__u32 bytes = 64 + nrand48(rng) % 1400;
		struct sent s;

		now += nrand48(rng) % 1000;
		if (nrand48(rng) % 3 == 0 && credit + 5000 < sent - p.c0) {
			credit += 1 + nrand48(rng) % 5000;
			cr_assert_eq(credited(&v, &p, now, credit, 1), HIERCC_CREDITED);
			credit_ns = now;
		}
		s = voq_send(&v, &p, now, bytes);
		sent += bytes;
		if (!v.rate)
			continue;
		want = fmax(credit_ns, (double)now - 2 * p.window_ns) + (sent - credit - p.c0) * 1e9 / v.rate;
		want = fmax(want, now);
		cr_assert_float_eq(s.at, want, 2 + want * 1e-12, "%d: %llu, not %.0f", i, s.at, want);
	}
}

/* A packet that came when the rate was lower, and waits until then, delays no other once credit comes sooner. */
Test(hiercc_voq, hiercc_send__credit_that_came_early_is_used_at_once)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	struct sent early, late;
	__u64 now = START;

	p.limit_ns = 1ULL << 30;
	voq_send(&v, &p, now, p.c0);
	v.rate = 1000000; /* 1 ms for 1000 bytes */
	v.due = 1;
	early = voq_send(&v, &p, now, 20000);
	cr_expect_eq(early.at, START + 20000000);
	now += 1000;
	v.rate = 1000000000;
	v.credit_ns = now;
	late = voq_send(&v, &p, now, 1000);
	cr_expect_eq(late.at, now + 21000, "by the rate that it is now: %llu", late.at - now);
	cr_expect_eq(credited(&v, &p, now, v.sent, 0), HIERCC_CREDITED);
	late = voq_send(&v, &p, now, p.c0);
	cr_expect_eq(late.verdict, HIERCC_COVERED);
	cr_expect_eq(late.at, now, "what credit covers leaves at once: %llu", late.at - now);
}

/* Section 3.2: round robin among VOQs that have credit. It follows from the clocks. */
Test(hiercc_voq, hiercc_send__equal_credit_is_round_robin)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v[3] = { voq(), voq(), voq() };
	__u64 at[3][50];
	int i, k;

	p.limit_ns = 1ULL << 30;
	p.idle_ns = 1ULL << 31;
	for (k = 0; k < 3; k++) {
		voq_send(&v[k], &p, START, p.c0);
		/* All packets of one VOQ come before those of the next. */
		for (i = 0; i < 50; i++)
			at[k][i] = voq_send(&v[k], &p, START, PACKET).at;
	}
	for (i = 0; i < 49; i++)
		for (k = 0; k < 3; k++)
			cr_expect(at[k][i] < at[(k + 1) % 3][i + 1], "packet %d of each, then %d", i, i + 1);
}

struct crowd {
	struct hiercc_voq *v;
	struct hiercc_params *p;
	pthread_barrier_t *start;
	unsigned short seed;
	__u64 lost, back;
};

#define CROWD_PACKETS 500000

static void *crowd_send(void *arg)
{
	struct crowd *c = arg;
	__u64 now = START, credit = 0, seen;
	__u32 total;
	__u64 at;
	int i;

	pthread_barrier_wait(c->start);
	for (i = 0; i < CROWD_PACKETS; i++, now += 10) {
		c->lost += hiercc_send(c->v, c->p, now, 100, &total, &at) == HIERCC_LOST;
		if (i % 4 == c->seed)
			credited(c->v, c->p, now, total - 100, 1);
		seen = *(volatile __u64 *)&c->v->credit;
		c->back += seen < credit;
		credit = seen;
	}
	return NULL;
}

/* No byte of S is lost between CPUs, and credit never goes back nor past S. */
Test(hiercc_voq, hiercc_send__is_shared_by_cpus)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	struct crowd crowd[4];
	pthread_barrier_t start;
	pthread_t thread[4];
	int i;

	p.idle_ns = 1ULL << 36;
	pthread_barrier_init(&start, NULL, 4);
	for (i = 0; i < 4; i++) {
		crowd[i] = (struct crowd){ .v = &v, .p = &p, .start = &start, .seed = i };
		pthread_create(&thread[i], NULL, crowd_send, &crowd[i]);
	}
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	cr_expect_eq(v.sent, HIERCC_TOTAL_FIRST + 4ULL * CROWD_PACKETS * 100);
	for (i = 0; i < 4; i++)
		cr_expect_eq(crowd[i].back, 0);
	cr_expect_leq(v.credit, v.sent);
}

/* The S of a packet that leaves first does not claim what still waits. */
Test(hiercc_voq, hiercc_claim__of_one_that_overtakes_is_no_more_than_the_credit)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	struct sent s;

	s = voq_send(&v, &p, START, 1514);
	cr_expect_eq(hiercc_claim(&v, &p, s.total, 1), s.total, "all that entered has credit");
	s = voq_send(&v, &p, START, p.c0 - 1514);
	cr_expect_eq(hiercc_claim(&v, &p, s.total, 0), s.total);
	s = voq_send(&v, &p, START, 10000);
	cr_expect_eq(hiercc_claim(&v, &p, s.total, 1), s.total, "only such packets wait");
	s = voq_send(&v, &p, START, 50000);
	cr_expect_eq(hiercc_claim(&v, &p, s.total, 0), s.total);
	s = voq_send(&v, &p, START, 1514);
	cr_expect_eq(hiercc_claim(&v, &p, s.total, 1), s.total - 61514, "10000 and 50000 wait before it");
}
