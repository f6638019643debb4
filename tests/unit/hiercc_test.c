// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/rack/hiercc.h"

TestSuite(hiercc, .timeout = 60);

#define PACKET 1462
#define RATE 3125000000ULL /* 25 Gbit/s */
#define START 1000000ULL

/* 25 Gbit/s, 8 us between the racks, a grant every 4 us: C0 is 37500. */
static struct hiercc_params params(void)
{
	struct hiercc_params p;

	hiercc_params_init(&p, RATE, 8000, 4000);
	return p;
}

static struct hiercc_voq voq(void)
{
	struct hiercc_voq v;

	hiercc_voq_init(&v, START);
	return v;
}

struct sent {
	enum hiercc_sent verdict;
	__u64 at;
	__u32 total;
};

static struct sent voq_send(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now,
			    __u32 bytes)
{
	struct sent s;

	s.verdict = hiercc_send(v, p, now, bytes, &s.total, &s.at);
	cr_assert(s.at >= now && s.at <= now + p->limit_ns, "never back, never past the limit");
	return s;
}

/* A message that takes no time: the port's clock is ours. */
static enum hiercc_credit credited(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now, __u32 total,
				   int due)
{
	return hiercc_credit(v, p, now, total, due, now / HIERCC_AT_NS);
}

/* ---- parameters ---- */

Test(hiercc, hiercc_params_init__is_a_round_trip_of_the_port)
{
	struct hiercc_params p = params();

	cr_expect_eq(p.c0, 37500);
	cr_expect_eq(p.debt_max, 3 * 37500);
	hiercc_params_c0(&p, 10000);
	cr_expect_eq(p.c0, 10000);
	cr_expect_eq(p.debt_max, 10000 + 2 * 37500, "and what is sent in two windows");
	hiercc_params_c0(&p, ~0ULL);
	cr_expect_lt(p.debt_max, HIERCC_BYTES_MAX);
	p = params();
	cr_expect_eq(p.window_ns, 12000);
	cr_expect_eq(p.limit_ns, 64 * 12000);
	cr_expect_eq(p.idle_ns, 128 * 12000);
	cr_expect_eq(p.rate_first, RATE / 4);
}

Test(hiercc, hiercc_params_init__stays_in_range_whatever_comes)
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

Test(hiercc, hiercc_hop_params_init__has_the_values_of_the_paper)
{
	struct hiercc_hop_params h;

	hiercc_hop_params_init(&h, RATE, 2000, 37500);
	cr_expect_eq(h.q0, 20000);
	cr_expect_eq(h.v_high, 70000);
	cr_expect_eq(h.v_low, 50000);
	cr_expect_eq(h.period_ns, 10000);
}

Test(hiercc, hiercc_unwrap__is_the_nearest)
{
	__u64 base = 5ULL << 32;

	cr_expect_eq(hiercc_unwrap(base, 7), base + 7);
	cr_expect_eq(hiercc_unwrap(base, 0xfffffff0), base - 16);
	cr_expect_eq(hiercc_unwrap(base + 0xfffffff0, 4), base + (1ULL << 32) + 4);
	cr_expect_eq(hiercc_unwrap(base, 0x7fffffff), base + 0x7fffffff);
	cr_expect_eq(hiercc_unwrap(base, 0x80000000), base - 0x80000000);
}

/* ---- hiercc_send ---- */

Test(hiercc, hiercc_send__c0_leaves_at_once_and_not_a_byte_more)
{
	struct hiercc_params p = params();
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
Test(hiercc, hiercc_send__the_first_credit_is_expected_a_round_trip_later)
{
	struct hiercc_params p = params();
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
Test(hiercc, hiercc_send__goes_on_at_the_measured_rate_from_the_last_message)
{
	struct hiercc_params p = params();
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

/* The same stream with every message, and with nine of ten missing, comes to the same. */
Test(hiercc, hiercc_credit__loss_repetition_and_order_cost_nothing)
{
	struct hiercc_params p = params();
	struct hiercc_voq all = voq(), few = voq();
	unsigned short rng[3] = { 1, 2, 3 };
	__u64 now = START, credit = HIERCC_TOTAL_FIRST;
	int i, k;

	for (i = 0; i < 10000; i++) {
		voq_send(&all, &p, now, 1000);
		voq_send(&few, &p, now, 1000);
		now += 1000;
		credit += 1000;
		cr_assert_eq(credited(&all, &p, now, credit, 1), HIERCC_CREDITED);
		cr_assert_eq(credited(&all, &p, now, credit, 1), HIERCC_OLD);
		cr_assert_eq(credited(&all, &p, now, credit - nrand48(rng) % 100000, 1),
			     HIERCC_OLD);
		if (i % 10 == 9)
			for (k = 0; k < 3; k++)
				credited(&few, &p, now, credit - 1000 * k, 1);
	}
	cr_expect_eq(all.credit, few.credit);
	cr_expect_eq(all.sent, few.sent);
	cr_expect_float_eq(all.rate, 1e9, 1e6);
	cr_expect_float_eq(few.rate, 1e9, 1e6);
}

Test(hiercc, hiercc_credit__more_than_was_sent_is_refused)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq(), before;

	voq_send(&v, &p, START, 10000);
	before = v;
	cr_expect_eq(credited(&v, &p, START + 1, 10000 + HIERCC_DELTA_BYTES + 1, 0),
		     HIERCC_AHEAD);
	cr_expect_eq(credited(&v, &p, START + 1, 0x7fffffff, 0), HIERCC_AHEAD);
	cr_expect_eq(credited(&v, &p, START + 1, 0xffffffff, 0), HIERCC_OLD, "below 0");
	cr_expect_eq(credited(&v, &p, START + 1, 0, 0), HIERCC_OLD);
	cr_expect_arr_eq(&v, &before, sizeof(v), "and nothing has changed");
	cr_expect_eq(credited(&v, &p, START + 1, 10000 + HIERCC_DELTA_BYTES, 0),
		     HIERCC_CREDITED, "the last credit is a whole one");
}

/* Totals pass 2^32 five times. */
Test(hiercc, hiercc_credit__totals_wrap)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	__u64 now = START, sent = 0;
	int i;

	for (i = 0; i < 400000; i++) {
		sent += 50000;
		now += 20000;
		cr_assert_eq(voq_send(&v, &p, now, 50000).total, (__u32)sent);
		cr_assert_eq(credited(&v, &p, now + 12000, sent, 0), HIERCC_CREDITED);
		cr_assert_eq(v.credit, HIERCC_TOTAL_FIRST + sent);
	}
	cr_expect_float_eq(v.rate, 2.5e9, 1e6);
}

/* What is granted to one that asked for little says nothing of what it could have. */
Test(hiercc, hiercc_send__a_rate_that_is_only_ones_own_is_not_believed)
{
	struct hiercc_params p = params();
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

/* 1 MB/s, and of each eight messages three come together with the fourth: the rate is that of the port's clock. */
Test(hiercc, hiercc_credit__late_messages_do_not_change_the_rate)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	__u64 round = 100 * HIERCC_AT_NS, now, total = HIERCC_TOTAL_FIRST, late;
	int i;

	v.sent = HIERCC_TOTAL_FIRST + 1000000000;
	for (i = 0, now = START; i < 2000; i++, now += round) { /* three times around the clock */
		total += round / 1000;
		late = i % 8 > 4 ? (8 - i % 8) * round - (8 - i % 8) : 0;
		cr_assert_eq(hiercc_credit(&v, &p, now + late, total, 1, now / HIERCC_AT_NS), HIERCC_CREDITED);
		if (i > 20)
			cr_assert_float_eq(v.rate, 1e6, 1e4, "message %d: %llu", i, v.rate);
	}
}

/* A message that was late, by 5 rounds here: packets are expected to be covered when they would have been without that. */
Test(hiercc, hiercc_credit__late_messages_hold_nothing_longer)
{
	struct hiercc_params p = params();
	struct hiercc_voq v[2] = { voq(), voq() };
	__u64 round = 2 * HIERCC_AT_NS, now = START, total = HIERCC_TOTAL_FIRST, at[2];
	int i, k;

	for (k = 0; k < 2; k++)
		v[k].sent = HIERCC_TOTAL_FIRST + 10000000;
	for (i = 0; i < 100; i++, now += round) {
		total += round;
		for (k = 0; k < 2; k++)
			cr_assert_eq(credited(&v[k], &p, now, total, 1), HIERCC_CREDITED);
	}
	total += round;
	cr_assert_eq(hiercc_credit(&v[0], &p, now, total, 1, now / HIERCC_AT_NS), HIERCC_CREDITED);
	cr_assert_eq(hiercc_credit(&v[1], &p, now + 5 * round, total, 1, now / HIERCC_AT_NS), HIERCC_CREDITED);
	for (k = 0; k < 2; k++) {
		v[k].sent = total + p.c0; /* all that there is */
		v[k].clock_ns = 0;
		at[k] = voq_send(&v[k], &p, now + 5 * round, 20 * round).at;
	}
	cr_expect_float_eq((double)at[1] - at[0], 5. * round / 64, 2., "%llu, %llu", at[0], at[1]);

	/* What is forgotten each time gets over a path that has become longer. */
	for (i = 1; i < 1000; i++) {
		total += round;
		v[1].sent = total + p.c0;
		credited(&v[1], &p, now + (i + 5) * round, total, 1);
	}
	cr_expect_leq(now + (i + 4) * round - v[1].credit_ns, HIERCC_AT_NS);
}

/* Where the port's clock may have gone round ours is what there is. */
Test(hiercc, hiercc_credit__a_round_of_the_ports_clock_is_not_counted_as_less)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	__u64 round = 33 * 1000 * 1000, now = START, total = HIERCC_TOTAL_FIRST;
	int i;

	for (; round < 200 * 1000 * 1000; round += 7 * 1000 * 1000) {
		voq_send(&v, &p, now, PACKET);
		v.mark_ns = 0;
		for (i = 0; i < 5; i++, now += round) {
			total += round / 1000;
			v.sent = total;
			cr_assert_eq(credited(&v, &p, now, total, 1), HIERCC_CREDITED);
		}
		cr_expect_float_eq(v.rate, 1e6, 1e4, "every %llu ns: %llu", round, v.rate);
	}
}

/* What it got when the port had no more to give is what it can have, until the port has less. */
Test(hiercc, hiercc_credit__only_what_was_due_lowers_the_rate)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	__u64 now = START, credit = HIERCC_TOTAL_FIRST;
	const struct { int due, bytes; double rate; } phase[] = {
		{ 1, 100000, 1e9 }, { 0, 1000, 1e9 }, { 0, 200000, 2e9 }, { 0, 100, 2e9 }, { 1, 1000, 1e7 },
	};
	unsigned int k;
	int i;

	for (k = 0; k < sizeof(phase) / sizeof(phase[0]); k++) {
		for (i = 0; i < 20; i++) {
			now += 100000;
			credit += phase[k].bytes;
			voq_send(&v, &p, now, phase[k].bytes);
			cr_assert_eq(credited(&v, &p, now, credit, phase[k].due), HIERCC_CREDITED);
		}
		cr_expect_float_eq(v.rate, phase[k].rate, phase[k].rate / 100, "phase %u: %llu", k, v.rate);
	}
}

/*
 * A burst every so often, of which the port has all granted each time: the first credit of the next one, with more
 * due, is not the rate of the pause. 37 flows of 10 KB every 100 ms waited for the limit by that. The message with which
 * all is granted may come too early to measure a rate.
 */
Test(hiercc, hiercc_credit__a_pause_is_no_rate)
{
	struct hiercc_params p = params();
	unsigned int k;

	for (k = 0; k < 50; k++) {
		__u64 now = START, credit = HIERCC_TOTAL_FIRST, last_ns = k % 2 ? 4000 : 500;
		__u64 pause = (3 + 2 * k) * p.window_ns;
		struct hiercc_voq v = voq();
		int burst, i;

		for (burst = 0; burst < 5; burst++, now += pause) {
			for (i = 0; i < 20; i++) {
				now += i < 19 ? 4000 : last_ns;
				credit += 6000;
				voq_send(&v, &p, now, 6000);
				cr_assert_eq(credited(&v, &p, now, credit, i < 19), HIERCC_CREDITED);
				cr_assert_geq(hiercc_credit_rate(&v, &p), p.rate_first, "pause %llu", pause);
			}
		}
	}
}

/* With each doubling, so seldom; not where S is so far ahead that it would be taken for a jump. */
Test(hiercc, hiercc_tells__when_f_has_doubled)
{
	static const struct { __u32 flows; int tells; } step[] = {
		{ 1, 1 }, { 1, 0 }, { 2, 1 }, { 3, 0 }, { 4, 1 }, { 7, 0 }, { 9, 1 }, { 5, 0 }, { 9, 0 }, { 10, 1 },
		{ 1, 0 }, { 2, 1 }, { 0, 0 }, { 1, 1 },
	};
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	__u64 bytes = 0;
	unsigned int k;

	for (k = 0; k < sizeof(step) / sizeof(step[0]); k++)
		cr_expect_eq(hiercc_tells(&v, &p, step[k].flows), step[k].tells, "step %u", k);
	for (; bytes + PACKET <= p.debt_max; bytes += PACKET)
		voq_send(&v, &p, START, PACKET);
	cr_expect(hiercc_tells(&v, &p, 2), "debt_max in all, with C0");
	voq_send(&v, &p, START, PACKET);
	cr_expect_not(hiercc_tells(&v, &p, 4));
	cr_expect_not(hiercc_tells(&v, &p, 400), "not before the queue is shorter");
}

/* What came while nothing was due at first says nothing of what the VOQ can have. */
Test(hiercc, hiercc_credit__due_at_the_end_is_no_rate)
{
	struct hiercc_params p = params();
	static const __u32 had[] = { 0, 1000000000 };
	__u64 part;
	int k;

	for (k = 0; k < 2; k++) {
		for (part = 1; part < 20; part++) {
			__u64 now = START, credit = HIERCC_TOTAL_FIRST + 1000;
			struct hiercc_voq v = voq();

			voq_send(&v, &p, now, 100000);
			credited(&v, &p, now, credit, 0);
			v.rate = had[k];
			now += part * p.window_ns / 4;
			credited(&v, &p, now, credit + 1024, 1);
			cr_expect_geq(v.rate, had[k], "after %llu: %llu", now - START, v.rate);
			cr_expect_geq(hiercc_credit_rate(&v, &p), p.rate_first);
		}
	}
}

/* What waits when credits stop leaves as credit came, or at a 16th of rate_first, where its own limit allows that. */
Test(hiercc, hiercc_send__at_the_limit_what_waits_is_spaced)
{
	struct hiercc_params p = params();
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
Test(hiercc, hiercc_send__credits_that_stop_hold_nobody_past_the_limit)
{
	struct hiercc_params p = params();
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
Test(hiercc, hiercc_send__what_is_far_beyond_credit_waits_for_the_limit)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	int shift;

	for (shift = 27; shift < 60; shift++) {
		v = voq();
		v.sent += 1ULL << shift;
		cr_expect_eq(voq_send(&v, &p, START, p.c0 + 1).at, START + p.limit_ns, "2^%d", shift);
	}
}

/* Gone for so long that S went past half of 32 bits. */
Test(hiercc, hiercc_credit__finds_back_after_any_time_alone)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	__u64 now = START;

	while (v.sent < HIERCC_TOTAL_FIRST + (3ULL << 31))
		voq_send(&v, &p, now += 1000, 1 << 19);
	cr_expect_eq(credited(&v, &p, now, (__u32)v.sent - 1000, 0), HIERCC_CREDITED);
	cr_expect_eq(v.credit, v.sent - 1000);
}

Test(hiercc, hiercc_send__who_was_silent_has_c0_again)
{
	struct hiercc_params p = params();
	struct hiercc_voq v = voq();
	__u64 now = START;

	voq_send(&v, &p, now, p.c0);
	cr_expect_eq(voq_send(&v, &p, now + p.idle_ns, 100).verdict, HIERCC_WAITS, "not yet");
	now += 2 * p.idle_ns + 1;
	cr_expect_eq(voq_send(&v, &p, now, p.c0).verdict, HIERCC_COVERED);
	cr_expect_eq(voq_send(&v, &p, now, 1).verdict, HIERCC_WAITS);
	cr_expect_eq(v.rate, 0, "what was measured before says nothing");
}

/* A clock of another boot, or a limit that was longer, holds nobody. */
Test(hiercc, hiercc_send__survives_values_from_elsewhere)
{
	struct hiercc_params p = params();
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
Test(hiercc, hiercc_send__agrees_with_the_line_in_double)
{
	unsigned short rng[3] = { 4, 5, 6 };
	struct hiercc_params p = params();
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
		want = fmax(credit_ns, (double)now - 2 * p.window_ns) +
		       (sent - credit - p.c0) * 1e9 / v.rate;
		want = fmax(want, now);
		cr_assert_float_eq(s.at, want, 2 + want * 1e-12, "%d: %llu, not %.0f", i, s.at, want);
	}
}

/* What came when the rate was lower, and waits until then, holds nobody up once credit comes sooner. */
Test(hiercc, hiercc_send__credit_that_came_early_is_used_at_once)
{
	struct hiercc_params p = params();
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
Test(hiercc, hiercc_send__equal_credit_is_round_robin)
{
	struct hiercc_params p = params();
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
			cr_expect(at[k][i] < at[(k + 1) % 3][i + 1], "packet %d of each, then %d", i,
				  i + 1);
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
Test(hiercc, hiercc_send__is_shared_by_cpus)
{
	struct hiercc_params p = params();
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

/* ---- the receiver ---- */

#define VOQS 1000

struct box {
	struct hiercc_params p;
	struct hiercc_port port;
	struct hiercc_due due[VOQS];
	struct hiercc_seen seen[VOQS];
	__u64 now;
};

static struct box *box_new(void)
{
	struct box *b = calloc(1, sizeof(*b));

	cr_assert(b);
	b->p = params();
	b->now = START;
	hiercc_port_init(&b->port, RATE);
	return b;
}

static enum hiercc_claim box_learn(struct box *b, __u32 i)
{
	return hiercc_learn(&b->port, b->due, i, &b->p, &b->seen[i], b->now);
}

static void box_see(struct box *b, __u32 i, __u32 total, __u32 flows, __u32 bytes)
{
	hiercc_see(&b->seen[i], total, flows, bytes, 1, b->p.debt_max);
}

/* Grants for so long; returns the calls that it took. */
static int box_grant(struct box *b, __u64 elapsed)
{
	int calls = 0;

	hiercc_budget(&b->port, elapsed);
	while (hiercc_grant(&b->port, b->due) != HIERCC_NONE)
		calls++;
	b->now += elapsed;
	return calls;
}

Test(hiercc, hiercc_grant__gives_back_what_was_sent_in_whole_credits)
{
	struct box *b = box_new();

	box_see(b, 0, 1462, 1, 1462);
	cr_expect_eq(box_learn(b, 0), HIERCC_FIRST);
	cr_expect_eq(b->due[0].granted, HIERCC_TOTAL_FIRST, "nothing of it is granted yet");
	box_grant(b, 4000);
	cr_expect_eq(b->due[0].granted, HIERCC_TOTAL_FIRST + 2048, "while Csent < S");
	cr_expect_eq(b->port.active, 0);
	cr_expect_eq(box_grant(b, 4000), 0, "Csent >= S: skipped");
	box_see(b, 0, 2000, 1, 538);
	cr_expect_eq(box_learn(b, 0), HIERCC_LEARNED);
	cr_expect_eq(b->port.active, 0, "still covered");
	free(b);
}

Test(hiercc, hiercc_grant__never_exceeds_the_ports_rate)
{
	struct box *b = box_new();
	unsigned short rng[3] = { 1, 2, 3 };
	__u64 granted = 0, elapsed;
	__u32 total[10] = { 0 };
	int i, k;

	for (i = 0; i < 20000; i++) {
		for (k = 0; k < 10; k++) {
			total[k] += 5000;
			box_see(b, k, total[k], 1 + k, 5000);
			box_learn(b, k);
		}
		for (granted = 0, k = 0; k < 10; k++)
			granted -= b->due[k].granted;
		elapsed = nrand48(rng) % 8000;
		box_grant(b, elapsed);
		for (k = 0; k < 10; k++)
			granted += b->due[k].granted;
		cr_assert_leq(granted, RATE * 8000 / NSEC_PER_SEC + HIERCC_DELTA_BYTES);
	}
	free(b);
}

/* 1 KB at a time, by measured time: rounding loses nothing over a second. */
Test(hiercc, hiercc_budget__keeps_the_rate_in_the_long_run)
{
	struct box *b = box_new();
	__u64 granted = 0, before;
	__u32 total = 0;
	int i;

	b->p.debt_max = 1 << 26;
	for (i = 0; i < 300000; i++) {
		total += 12000;
		box_see(b, 0, total, 1, 12000);
		box_learn(b, 0);
		before = b->due[0].granted;
		box_grant(b, 3333 + i % 2);
		granted += b->due[0].granted - before;
	}
	cr_expect_float_eq(granted / (3333.5 * 300000) * 1e9 / RATE, 1, 1e-5);
	free(b);
}

Test(hiercc, hiercc_budget__what_nobody_was_due_is_not_saved)
{
	struct box *b = box_new();

	box_grant(b, 1 << 25);
	cr_expect_leq(b->port.budget, HIERCC_DELTA_BYTES);
	hiercc_budget(&b->port, ~0ULL);
	cr_expect_leq(b->port.budget, RATE * HIERCC_NS_MAX / NSEC_PER_SEC + HIERCC_DELTA_BYTES,
		      "a loop that was away");
	free(b);
}

/* Goodput by F, to a credit, where all are always due. */
Test(hiercc, hiercc_grant__weights_are_f)
{
	static const __u32 flows[] = { 1, 3, 7, 1, 100 };
	struct box *b = box_new();
	__u64 charged[5] = { 0 };
	__u32 total[5] = { 0 };
	int i, k;

	b->p.debt_max = 1 << 20;
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 5; k++) {
			/* F packets at least */
			total[k] += 200 * 150;
			hiercc_see(&b->seen[k], total[k], flows[k], 200 * 150, 200, 1 << 20);
			box_learn(b, k);
			charged[k] -= b->due[k].granted;
		}
		box_grant(b, 4000);
		for (k = 0; k < 5; k++)
			charged[k] += b->due[k].granted;
	}
	for (k = 0; k < 5; k++)
		cr_expect_float_eq((double)charged[k] / charged[0] / flows[k], 1, 0.02,
				   "VOQ %d: %llu", k, charged[k]);
	free(b);
}

Test(hiercc, hiercc_grant__work_is_that_of_the_active)
{
	struct box *b = box_new();
	int i;

	for (i = 0; i < VOQS; i++) {
		box_see(b, i, 1000, 1, 1000);
		box_learn(b, i);
	}
	box_grant(b, 10000000);
	cr_expect_eq(b->port.active, 0);
	box_see(b, 7, 11000, 1, 10000);
	box_see(b, 900, 11000, 1, 10000);
	box_learn(b, 7);
	box_learn(b, 900);
	cr_expect_eq(b->port.active, 2);
	cr_expect_leq(box_grant(b, 1000000), 24);
	cr_expect_eq(b->port.active, 0);
	free(b);
}

static __u32 ring_count(const struct box *b, __u32 last)
{
	__u32 at = last, count = 0;

	if (last == HIERCC_NONE)
		return 0;
	do {
		at = b->due[at].next;
		count++;
	} while (at != last && count <= VOQS);
	return count;
}

/* The rings, with VOQs that come and go in any order, against who is due. */
Test(hiercc, hiercc_grant__the_ring_has_who_is_due_and_nobody_else)
{
	struct box *b = box_new();
	unsigned short rng[3] = { 7, 8, 9 };
	__u32 total[VOQS] = { 0 }, i, active;
	int round;

	for (round = 0; round < 5000; round++) {
		for (i = 0; i < 20; i++) {
			__u32 k = nrand48(rng) % 50, bytes = 1 + nrand48(rng) % 3000;

			total[k] += bytes;
			box_see(b, k, total[k], 1 + nrand48(rng) % 4, bytes);
			box_learn(b, k);
		}
		box_grant(b, nrand48(rng) % 20000);
		for (active = i = 0; i < 50; i++) {
			cr_assert_eq(b->due[i].listed, b->due[i].granted < b->due[i].sent);
			cr_assert_lt(b->due[i].granted, b->due[i].sent + HIERCC_DELTA_BYTES);
			active += b->due[i].listed;
		}
		cr_assert_eq(active, b->port.active);
		cr_assert_eq(ring_count(b, b->port.before) + ring_count(b, b->port.done), active);
	}
	free(b);
}

/* Of any ten credits in a row, each of ten VOQs with F = 9 has one: what it measures is the same all the time. */
Test(hiercc, hiercc_grant__credits_of_a_round_are_interleaved)
{
	struct box *b = box_new();
	__u64 before[10];
	int i, k;

	b->p.debt_max = 1 << 20;
	for (k = 0; k < 10; k++) {
		hiercc_see(&b->seen[k], 500000, 9, 500000, 500, 1 << 20);
		box_learn(b, k);
	}
	for (i = 0; i < 40; i++) {
		for (k = 0; k < 10; k++)
			before[k] = b->due[k].granted;
		for (k = 0; k < 10; k++)
			box_grant(b, (HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
		for (k = 0; k < 10; k++)
			cr_assert_eq(b->due[k].granted - before[k], HIERCC_DELTA_BYTES, "VOQ %d, %d: %llu", k, i,
				     b->due[k].granted - before[k]);
	}
	free(b);
}

/* Who is due little at a time, but often, has no turn twice in a round: of VOQ 0 a fourth of the port arrives. */
Test(hiercc, hiercc_grant__one_that_comes_back_has_had_its_turn)
{
	struct box *b = box_new();
	static const __u32 flows[] = { 1, 10, 10 }, bytes[] = { 300, 2000, 2000 };
	__u64 first[3], granted;
	__u32 total[3] = { 0 };
	int i, k;

	b->p.debt_max = 1 << 26;
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 3; k++) {
			total[k] += bytes[k];
			hiercc_see(&b->seen[k], total[k], flows[k], bytes[k], 10, 1 << 26);
			box_learn(b, k);
			if (!i)
				first[k] = b->due[k].granted;
		}
		box_grant(b, 1200 * NSEC_PER_SEC / RATE);
	}
	for (k = 0; k < 3; k++) {
		granted = b->due[k].granted - first[k];
		cr_expect_float_eq(granted / 1200.0 / 3000, flows[k] / 21.0, 0.005, "VOQ %d: %llu", k, granted);
	}
	free(b);
}

/* What is left of a turn is for the same round. */
Test(hiercc, hiercc_grant__a_turn_goes_on_after_a_break)
{
	struct box *b = box_new();
	__u64 before;

	b->p.debt_max = 1 << 20;
	hiercc_see(&b->seen[0], 2000, 4, 2000, 4, 1 << 20);
	hiercc_see(&b->seen[1], 500000, 4, 500000, 500, 1 << 20);
	box_learn(b, 0);
	box_learn(b, 1);
	/* Two credits each, by which VOQ 0 has all. */
	box_grant(b, (4 * HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
	cr_expect_eq(b->due[0].listed, 0);
	hiercc_see(&b->seen[0], 100000, 4, 98000, 98, 1 << 20);
	box_learn(b, 0);
	before = b->due[0].granted;
	/* Two are left of VOQ 0, and two of VOQ 1; then a round of four and four begins. */
	box_grant(b, (4 * HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
	cr_expect_eq(b->due[0].granted, before + 2 * HIERCC_DELTA_BYTES);
	box_grant(b, (8 * HIERCC_DELTA_BYTES * NSEC_PER_SEC + RATE - 1) / RATE);
	cr_expect_eq(b->due[0].granted, before + 6 * HIERCC_DELTA_BYTES);
	free(b);
}

/* A budget of many rounds is not dealt out credit by credit. */
Test(hiercc, hiercc_grant__a_large_budget_takes_few_calls)
{
	struct box *b = box_new();
	__u64 before;
	int k;

	b->p.c0 = b->p.debt_max = 1 << 26;
	for (k = 0; k < 2; k++) {
		hiercc_see(&b->seen[k], 1 << 25, 10000, 1 << 25, 30000, 1 << 26);
		box_learn(b, k);
	}
	before = b->due[0].granted + b->due[1].granted;
	cr_expect_leq(box_grant(b, 1000 * HIERCC_DELTA_BYTES * NSEC_PER_SEC / RATE), 64);
	cr_expect_geq(b->due[0].granted + b->due[1].granted, before + 999 * HIERCC_DELTA_BYTES);
	free(b);
}

/* S is far on: the receiver knows nothing of the past. The VOQ may have used up C0; more is not granted anew. */
Test(hiercc, hiercc_learn__a_restart_is_no_flood)
{
	struct box *b = box_new();
	__u32 total = 3000000000U;
	__u64 before;

	box_see(b, 0, total, 2, 1462);
	box_see(b, 0, total + 1462, 2, 1462);
	cr_expect_eq(box_learn(b, 0), HIERCC_FIRST);
	cr_expect_eq(b->due[0].sent - b->due[0].granted, b->p.c0, "nothing to spare");
	before = b->due[0].granted;
	box_grant(b, 1 << 25);
	cr_expect_lt(b->due[0].granted - before, b->p.c0 + HIERCC_DELTA_BYTES);
	cr_expect_lt((__u32)b->due[0].granted - (total + 1462), HIERCC_DELTA_BYTES, "in the sender's terms");
	free(b);
}

Test(hiercc, hiercc_learn__a_sender_that_begins_anew_is_followed)
{
	struct box *b = box_new();

	box_see(b, 0, 3000000000U, 1, 1462);
	box_learn(b, 0);
	box_see(b, 0, 200000, 1, 1462);
	cr_expect_eq(box_learn(b, 0), HIERCC_JUMPED, "so far back that it looks like ahead");
	cr_expect_eq((__u32)b->due[0].sent, 200000);
	box_see(b, 0, 1462, 1, 1462);
	cr_expect_eq(box_learn(b, 0), HIERCC_JUMPED);
	cr_expect_eq((__u32)b->due[0].sent, 1462);
	cr_expect_eq((__u32)b->due[0].granted, 0);
	free(b);
}

/* A VOQ block has no tag: whoever claims a jump, then debt_max, and again, sends 128 bytes for it. */
Test(hiercc, hiercc_learn__jumps_get_no_credit_for_what_does_not_arrive)
{
	struct box *b = box_new();
	__u64 before, granted = 0;
	__u32 total = 1000;
	int i;

	for (i = 0; i < 100; i++) {
		total += i % 2 ? b->p.debt_max : 1U << 30;
		box_see(b, 0, total, 1, 64);
		cr_expect_eq(box_learn(b, 0) == HIERCC_JUMPED, i && i % 2 == 0);
		before = b->due[0].granted;
		box_grant(b, 1 << 25);
		granted += b->due[0].granted - before;
	}
	cr_expect_leq(granted, b->p.c0 + b->p.debt_max + 50 * HIERCC_DELTA_BYTES, "%llu bytes for 6400 that arrived", granted);
	free(b);
}

/* A sender that heeds no credit. */
Test(hiercc, hiercc_learn__nobody_is_due_more_than_debt_max)
{
	struct box *b = box_new();
	__u32 total = 0;
	int i, cut = 0;

	for (i = 0; i < 100; i++) {
		total += 30000;
		box_see(b, 0, total, 1, 30000);
		cut += box_learn(b, 0) == HIERCC_CUT;
		cr_assert_leq(b->due[0].sent - b->due[0].granted, b->p.debt_max);
		box_grant(b, 1000);
	}
	cr_expect_gt(cut, 90);
	free(b);
}

/*
 * A loop that was late by twice what debt_max leaves for lost messages: who went on at the port's rate is not cut. Who sends
 * more than that is.
 */
Test(hiercc, hiercc_learn__a_late_loop_cuts_nobody)
{
	__u32 over;

	for (over = 0; over < 2; over++) {
		struct box *b = box_new();
		__u64 late_ns = 2 * HIERCC_BLIND_WINDOWS * b->p.window_ns;
		__u32 sent = b->p.c0 + RATE * late_ns / NSEC_PER_SEC, total = 1000;

		box_see(b, 0, total, 1, total);
		box_learn(b, 0);
		box_grant(b, 1 << 20);
		total += over ? b->p.debt_max * 2 + 1000 : sent;
		box_see(b, 0, total, 1, total - 1000);
		hiercc_budget(&b->port, late_ns);
		cr_expect_eq(box_learn(b, 0), over ? HIERCC_CUT : HIERCC_LEARNED);
		box_grant(b, 0);
		cr_expect(over || b->due[0].sent - b->due[0].granted <= b->p.c0, "and has what it sent back");
		free(b);
	}
}

Test(hiercc, hiercc_learn__the_data_planes_entry_may_be_made_anew)
{
	struct box *b = box_new();

	box_see(b, 0, 100000, 1, 50000);
	box_learn(b, 0);
	box_grant(b, 1 << 20);
	memset(&b->seen[0], 0, sizeof(b->seen[0]));
	b->due[0].packets = 5;
	box_see(b, 0, 101000, 65535, 1000);
	cr_expect_eq(box_learn(b, 0), HIERCC_LEARNED);
	cr_expect_eq(b->due[0].flows, 1, "of one packet");
	cr_expect_eq((__u32)b->due[0].sent, 101000);
	cr_expect_leq(b->due[0].sent - b->due[0].granted, 1000);
	free(b);
}

Test(hiercc, hiercc_learn__nothing_arrived_is_nothing_known)
{
	struct box *b = box_new();

	cr_expect_eq(box_learn(b, 0), HIERCC_LEARNED);
	cr_expect_eq(b->due[0].sent, 0);
	cr_expect_eq(b->port.active, 0);
	free(b);
}

/* Two VOQs send the same; one claims ten times as much, in steps or at once. It gets no more. */
Test(hiercc, hiercc_learn__claims_are_bounded_by_what_arrives)
{
	static const __u32 steps[] = { 2, 10, 1000, 100000, 1000000000 };
	size_t s;
	int i, k;

	for (s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		struct box *b = box_new();
		__u64 charged[2] = { 0, 0 };
		__u32 total[2] = { 0, 0 };

		for (i = 0; i < 2000; i++) {
			for (k = 0; k < 2; k++) {
				total[k] += 3000 * (k ? steps[s] : 1);
				box_see(b, k, total[k], 1, 3000);
				box_learn(b, k);
				charged[k] -= b->due[k].granted;
			}
			box_grant(b, 4000);
			for (k = 0; k < 2; k++)
				charged[k] += b->due[k].granted;
		}
		cr_expect_leq(charged[1], charged[0] * 115 / 100 + 3 * b->p.debt_max,
			      "steps of %u: %llu and %llu", steps[s], charged[1], charged[0]);
		cr_expect_geq(charged[0], 2000ULL * 3000 - b->p.debt_max, "the honest one has all");
		free(b);
	}
}

/* 5 % of the packets are lost: the totals make up for it. */
Test(hiercc, hiercc_learn__losses_are_granted_anew)
{
	struct box *b = box_new();
	unsigned short rng[3] = { 7, 8, 9 };
	__u32 total = 0;
	int i, cut = 0;

	for (i = 0; i < 50000; i++) {
		total += PACKET;
		if (erand48(rng) < 0.05)
			continue;
		box_see(b, 0, total, 1, PACKET);
		cut += box_learn(b, 0) == HIERCC_CUT;
		box_grant(b, 1000);
	}
	cr_expect_eq(cut, 0);
	box_grant(b, 100000);
	cr_expect_lt((__u32)b->due[0].granted - (__u32)b->due[0].sent, HIERCC_DELTA_BYTES);
	free(b);
}

Test(hiercc, hiercc_learn__f_is_no_more_than_the_packets)
{
	struct box *b = box_new();
	int i;

	box_see(b, 0, 1000, 65535, 1000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 1);
	for (i = 2; i <= 10; i++)
		box_see(b, 0, 1000 * i, 65535, 1000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 10);
	box_see(b, 0, 11000, 4, 1000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 4);
	box_see(b, 0, 12000, 0, 1000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 1, "who sends has a flow");
	hiercc_see(&b->seen[0], 13000, ~0U, 1000, ~0U, 1);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, RX_FLOWS_MAX);
	/* An epoch later, and one more: who was silent has one. */
	b->now += 3 * b->p.epoch_ns;
	box_see(b, 0, 14000, 65535, 1000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 1);
	free(b);
}

Test(hiercc, hiercc_see__who_was_overtaken_changes_no_total)
{
	struct hiercc_seen s = { 0 };

	hiercc_see(&s, 0xfffffff0, 3, 100, 1, 5000);
	cr_expect_eq(s.claim, 0xfffffff0ULL << 32 | 3, "the first is taken as it is");
	hiercc_see(&s, 100, 4, 116, 1, 5000);
	cr_expect_eq(s.claim, 100ULL << 32 | 4, "past 2^32");
	hiercc_see(&s, 50, 9, 100, 1, 5000);
	cr_expect_eq(s.claim, 100ULL << 32 | 4, "overtaken");
	cr_expect_eq(s.bytes, 316, "but it did arrive");
	cr_expect_eq(s.packets, 3);
	hiercc_see(&s, 100 - 5000, 5, 100, 1, 5000);
	cr_expect_eq(s.claim, (__u64)(__u32)(100 - 5000) << 32 | 5, "so far back it is a new sender");
}

/* Both ends and a wire that loses, repeats and reorders a third of all: nobody stalls, all is granted. */
Test(hiercc, hiercc__both_ends_agree_whatever_gets_lost)
{
	unsigned short rng[3] = { 3, 2, 1 };
	struct box *b = box_new();
	struct hiercc_voq v = voq();
	__u64 departed = 0;
	__u32 old = 0;
	int i;

	for (i = 0; i < 50000; i++) {
		struct sent s = voq_send(&v, &b->p, b->now, PACKET);

		cr_assert_neq(s.verdict, HIERCC_ALONE, "packet %d", i);
		departed += s.at == b->now;
		if (nrand48(rng) % 20)
			box_see(b, 0, s.total, 1, PACKET);
		box_learn(b, 0);
		box_grant(b, 1000);
		if (nrand48(rng) % 3)
			credited(&v, &b->p, b->now, b->due[0].granted, b->due[0].listed);
		if (nrand48(rng) % 3 == 0)
			credited(&v, &b->p, b->now, old, 0);
		if (nrand48(rng) % 3 == 0)
			old = b->due[0].granted;
	}
	cr_expect_gt(departed, 45000);
	free(b);
}

/* ---- the first hop ---- */

static struct hiercc_hop_params hop_params(void)
{
	struct hiercc_hop_params h;

	hiercc_hop_params_init(&h, RATE, 2000, 37500);
	return h;
}

Test(hiercc, hiercc_rate__is_equation_1)
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

Test(hiercc, hiercc_rate__is_bounded_and_divides_by_nothing)
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

Test(hiercc, hiercc_rate__agrees_with_equation_1_in_double)
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

Test(hiercc, hiercc_stop__stops_and_resumes_with_the_rate_of_before)
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

Test(hiercc, hiercc_arrival__measures_whole_periods)
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
Test(hiercc, hiercc_rate__converges_to_q0)
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
		cr_expect_float_eq(sum / seen, p.q0, 0.2 * p.q0, "%d flows: %.0f", counts[c],
				   sum / seen);
	}
}
