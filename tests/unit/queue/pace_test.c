// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "sluice/queue/note.h"
#include "sluice/queue/pace.h"

TestSuite(pace, .timeout = 20);
TestSuite(note, .timeout = 20);

#define NOW 1000000000ULL
#define US 1000ULL
#define R 100000 /* kbit/s: 12.5 bytes in a us */

/* Packets that egress has spaced by 100 us wait in p, the first at the front. */
static void enter_four(struct pace *p, struct pace_gap *g, __u64 patience_ns)
{
	int i;

	*p = (struct pace){};
	for (i = 0; i < 4; i++)
		pace_enter(p, &g[i], NOW, NOW + i * 100 * US, R, patience_ns);
	p->left_ns = NOW;
}

Test(pace, pace_front__at_an_unchanged_rate_is_what_egress_said)
{
	struct pace_gap g[4];
	struct pace p;
	int i;

	enter_four(&p, g, 0);
	for (i = 1; i < 4; i++) {
		p.left_ns = pace_front(&p, &g[i]);
		cr_expect_eq(p.left_ns, NOW + i * 100 * US, "packet %d", i);
	}
}

Test(pace, pace_front__follows_the_rate_of_the_newest_packet)
{
	struct pace_gap g[4], newest;
	struct pace p;

	enter_four(&p, g, 0);
	pace_enter(&p, &newest, NOW, NOW + 200 * US, 2 * R, 0); /* egress's clock has halved what it had reserved */
	cr_expect_eq(pace_front(&p, &g[1]), NOW + 50 * US);
	cr_expect_eq(newest.gap_ns, 50 * US, "behind the last one, by the new clock");
	pace_enter(&p, &newest, NOW, NOW + 1000 * US, R / 2, 0);
	cr_expect_eq(pace_front(&p, &g[1]), NOW + 200 * US);
}

Test(pace, pace_front__without_a_rate_is_the_departure_time)
{
	struct pace p = {};
	struct pace_gap g;

	pace_enter(&p, &g, NOW, NOW + 70 * US, 0, 0);
	p.left_ns = NOW + 90 * US;
	cr_expect_eq(pace_front(&p, &g), NOW + 90 * US, "not before the packet in front");
	p.left_ns = NOW;
	cr_expect_eq(pace_front(&p, &g), NOW + 70 * US);
	p.kbps = R;
	cr_expect_eq(pace_front(&p, &g), NOW + 70 * US, "another packet's R is not its own");
}

/* With mq a flow's packets may be spread over several qdiscs, each of which sees a part of the clock's time. */
Test(pace, pace_enter__keeps_the_time_of_packets_in_other_queues)
{
	struct pace p = {};
	struct pace_gap g;

	pace_enter(&p, &g, NOW, NOW, R, 0);
	pace_enter(&p, &g, NOW, NOW + 300 * US, R, 0);
	cr_expect_eq(g.gap_ns, 300 * US);
}

Test(pace, pace_enter__of_a_clock_that_went_back_has_no_gap)
{
	struct pace p = {};
	struct pace_gap g;

	pace_enter(&p, &g, NOW, NOW + 100 * US, R, 0);
	pace_enter(&p, &g, NOW, NOW + 40 * US, R, 0);
	cr_expect_eq(g.gap_ns, 0);
	cr_expect_eq(p.tail_ns, NOW + 100 * US);
}

Test(pace, pace_is_stale__spares_the_last_packet)
{
	struct pace_gap g[4];
	struct pace p;
	__u64 t;

	enter_four(&p, g, 250 * US);
	p.kbps = R / 4;
	t = pace_front(&p, &g[1]);
	cr_expect_eq(t, NOW + 400 * US);
	cr_expect(pace_is_stale(g[1].until_ns, t, 2));
	cr_expect_not(pace_is_stale(g[1].until_ns, t, 0), "R of less than a packet in the horizon");
	cr_expect_not(pace_is_stale(g[1].until_ns, NOW + 250 * US, 2));
	cr_expect_not(pace_is_stale(0, ~0ULL, 2), "no limit");
}

Test(pace, pacer_rescaled__changes_what_lies_ahead_only)
{
	cr_expect_eq(pacer_rescaled(NOW, NOW + 100 * US, R, 2 * R), NOW + 50 * US);
	cr_expect_eq(pacer_rescaled(NOW, NOW + 100 * US, R, R / 2), NOW + 200 * US);
	cr_expect_eq(pacer_rescaled(NOW, NOW - 1, R, 1), NOW - 1);
	cr_expect_eq(pacer_rescaled_gap(~0U, ~0U, 1), (__u64)~0U * ~0U, "no overflow");
	cr_expect_eq(pacer_rescaled_gap(1ULL << 32, R, 1), 1ULL << 32, "4 s stay");
}

Test(pace, pacer_kbps__is_not_zero_but_for_no_rate)
{
	cr_expect_eq(pacer_kbps(0), 0);
	cr_expect_eq(pacer_kbps(1), 1);
	cr_expect_eq(pacer_kbps(100000000), 100000);
	cr_expect_eq(pacer_kbps(~0ULL), ~0U);
}

Test(note, queue_note_credit_ns__is_within_16_ns)
{
	__u64 now[] = { 0, NOW, 0xffffffffff0ULL, 1ULL << 36, (1ULL << 36) - 5 };
	__u64 ahead[] = { 0, 1, 15, 16, 12345678, 10 * NSEC_PER_SEC };
	unsigned int i, j;

	for (i = 0; i < sizeof(now) / sizeof(now[0]); i++)
		for (j = 0; j < sizeof(ahead) / sizeof(ahead[0]); j++) {
			__u64 at = now[i] + ahead[j], back = queue_note_credit_ns(queue_note_credit(at), now[i]);

			cr_expect(back + 16 > at && back < at + 16, "%llu ns behind %llu", ahead[j], now[i]);
		}
	cr_expect_leq(queue_note_credit_ns(queue_note_credit(NOW - 5000), NOW), NOW, "credit that is there");
}

Test(note, queue_note_patience__is_rounded_up_and_endless_beyond_a_second)
{
	cr_expect_eq(queue_note_patience(0), 0);
	cr_expect_eq(queue_note_patience_ns(QUEUE_NOTE_MARK | queue_note_patience(1)), 16384);
	cr_expect_eq(queue_note_patience_ns(QUEUE_NOTE_MARK | queue_note_patience(13 * US)), 16384);
	cr_expect_geq(queue_note_patience_ns(queue_note_patience(NSEC_PER_SEC)), NSEC_PER_SEC);
	cr_expect_eq(queue_note_patience(1200000000ULL), 0);
	cr_expect_eq(queue_note_patience(~0ULL >> 1), 0);
}

Test(note, queue_note_is_valid__of_ours_only)
{
	struct queue_note n = { .mark = QUEUE_NOTE_MARK | 7 };

	cr_expect(queue_note_is_valid(&n));
	n.mark = 0;
	cr_expect_not(queue_note_is_valid(&n));
	n.mark = 0x51bccede; /* of version 4 */
	cr_expect_not(queue_note_is_valid(&n));
}
