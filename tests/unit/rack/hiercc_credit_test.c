// SPDX-License-Identifier: GPL-2.0-only
/* The sender: credit comes in, and says at which rate. */
#include <criterion/criterion.h>
#include <math.h>

#include "sluice/rack/hiercc.h"
#include "hiercc_case.h"

TestSuite(hiercc_credit, .timeout = 60);

Test(hiercc_credit, hiercc_unwrap__is_the_nearest)
{
	__u64 base = 5ULL << 32;

	cr_expect_eq(hiercc_unwrap(base, 7), base + 7);
	cr_expect_eq(hiercc_unwrap(base, 0xfffffff0), base - 16);
	cr_expect_eq(hiercc_unwrap(base + 0xfffffff0, 4), base + (1ULL << 32) + 4);
	cr_expect_eq(hiercc_unwrap(base, 0x7fffffff), base + 0x7fffffff);
	cr_expect_eq(hiercc_unwrap(base, 0x80000000), base - 0x80000000);
}

/* The same stream with every message, and with nine of ten missing, comes to the same. */
Test(hiercc_credit, hiercc_credit__loss_repetition_and_order_cost_nothing)
{
	struct hiercc_params p = voq_params();
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
		cr_assert_eq(credited(&all, &p, now, credit - nrand48(rng) % 100000, 1), HIERCC_OLD);
		if (i % 10 == 9)
			for (k = 0; k < 3; k++)
				credited(&few, &p, now, credit - 1000 * k, 1);
	}
	cr_expect_eq(all.credit, few.credit);
	cr_expect_eq(all.sent, few.sent);
	cr_expect_float_eq(all.rate, 1e9, 1e6);
	cr_expect_float_eq(few.rate, 1e9, 1e6);
}

Test(hiercc_credit, hiercc_credit__more_than_was_sent_is_refused)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq(), before;

	voq_send(&v, &p, START, 10000);
	before = v;
	cr_expect_eq(credited(&v, &p, START + 1, 10000 + HIERCC_DELTA_BYTES + 1, 0), HIERCC_AHEAD);
	cr_expect_eq(credited(&v, &p, START + 1, 0x7fffffff, 0), HIERCC_AHEAD);
	cr_expect_eq(credited(&v, &p, START + 1, 0xffffffff, 0), HIERCC_OLD, "below 0");
	cr_expect_eq(credited(&v, &p, START + 1, 0, 0), HIERCC_OLD);
	cr_expect_arr_eq(&v, &before, sizeof(v), "and nothing has changed");
	cr_expect_eq(credited(&v, &p, START + 1, 10000 + HIERCC_DELTA_BYTES, 0), HIERCC_CREDITED,
		     "the last credit is a whole one");
}

/* Totals pass 2^32 five times. */
Test(hiercc_credit, hiercc_credit__totals_wrap)
{
	struct hiercc_params p = voq_params();
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

/* 1 MB/s, and of each eight messages three come together with the fourth: the rate is that of the port's clock. */
Test(hiercc_credit, hiercc_credit__late_messages_do_not_change_the_rate)
{
	struct hiercc_params p = voq_params();
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
Test(hiercc_credit, hiercc_credit__late_messages_hold_nothing_longer)
{
	struct hiercc_params p = voq_params();
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

	/* Forgetting a part each time adapts to a path that has become longer. */
	for (i = 1; i < 1000; i++) {
		total += round;
		v[1].sent = total + p.c0;
		credited(&v[1], &p, now + (i + 5) * round, total, 1);
	}
	cr_expect_leq(now + (i + 4) * round - v[1].credit_ns, HIERCC_AT_NS);
}

/* If the port's clock may have wrapped, ours is used. */
Test(hiercc_credit, hiercc_credit__a_round_of_the_ports_clock_is_not_counted_as_less)
{
	struct hiercc_params p = voq_params();
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

/* The rate that it got when the port had no more to give is the rate that it can have, until the port has less. */
Test(hiercc_credit, hiercc_credit__only_what_was_due_lowers_the_rate)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	__u64 now = START, credit = HIERCC_TOTAL_FIRST;
	const struct {
		int due, bytes;
		double rate;
	} phase[] = {
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
 * A burst in each period, all of which the port has granted each time: the first credit of the next one, with more
 * due, is not the rate of the pause. 37 flows of 10 KB every 100 ms waited for the limit by that. The message with which
 * all is granted may come too early to measure a rate.
 */
Test(hiercc_credit, hiercc_credit__a_pause_is_no_rate)
{
	struct hiercc_params p = voq_params();
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

/* With each doubling, so rarely; not if S is so far ahead that it would be taken for a jump. */
Test(hiercc_credit, hiercc_tells__when_f_has_doubled)
{
	static const struct {
		__u32 flows;
		int tells;
	} step[] = {
		{ 1, 1 }, { 1, 0 }, { 2, 1 },  { 3, 0 }, { 4, 1 }, { 7, 0 }, { 9, 1 },
		{ 5, 0 }, { 9, 0 }, { 10, 1 }, { 1, 0 }, { 2, 1 }, { 0, 0 }, { 1, 1 },
	};
	struct hiercc_params p = voq_params();
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

/* Credit that came while nothing was due at first says nothing of what the VOQ can have. */
Test(hiercc_credit, hiercc_credit__due_at_the_end_is_no_rate)
{
	struct hiercc_params p = voq_params();
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

/* Gone for so long that S went past half of 32 bits. */
Test(hiercc_credit, hiercc_credit__finds_back_after_any_time_alone)
{
	struct hiercc_params p = voq_params();
	struct hiercc_voq v = voq();
	__u64 now = START;

	while (v.sent < HIERCC_TOTAL_FIRST + (3ULL << 31))
		voq_send(&v, &p, now += 1000, 1 << 19);
	cr_expect_eq(credited(&v, &p, now, (__u32)v.sent - 1000, 0), HIERCC_CREDITED);
	cr_expect_eq(v.credit, v.sent - 1000);
}
