// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "sluice/pause/qdisc.h"
#include "sluice/queue/note.h"
#include "sluice/queue/pace.h"

TestSuite(pace, .timeout = 20);
TestSuite(note, .timeout = 20);
TestSuite(pauses, .timeout = 20);

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
	cr_expect(pace_is_stale(&p, g[1].until_ns, t, 2));
	cr_expect_not(pace_is_stale(&p, g[1].until_ns, t, 0), "R of less than a packet in the horizon");
	cr_expect_not(pace_is_stale(&p, g[1].until_ns, NOW + 250 * US, 2));
	cr_expect_not(pace_is_stale(&p, 0, ~0ULL, 2), "no limit");
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
	cr_expect_eq(queue_note_patience_ns(QUEUE_NOTE_MARK | queue_note_patience(1)), 32768);
	cr_expect_eq(queue_note_patience_ns(QUEUE_NOTE_MARK | queue_note_patience(13 * US)), 32768);
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
	n.mark = 0x51c00007; /* of version 7 */
	cr_expect_not(queue_note_is_valid(&n));
}

Test(note, queue_note_class__is_beside_the_patience)
{
	struct queue_note n = { .mark = QUEUE_NOTE_MARK | queue_note_patience(NSEC_PER_SEC) };
	__u32 prio;

	cr_expect_eq(queue_note_priorities(n.mark), 0);
	for (prio = 0; prio < PFC_PRIORITIES; prio++) {
		n.mark = QUEUE_NOTE_MARK | queue_note_class(prio) | queue_note_patience(NSEC_PER_SEC);
		cr_expect(queue_note_is_valid(&n));
		cr_expect_eq(queue_note_priorities(n.mark), 1U << prio);
		cr_expect_geq(queue_note_patience_ns(n.mark), NSEC_PER_SEC);
	}
	cr_expect_eq(queue_note_priorities(~0U), 0, "no such priority");
	n.mark |= QUEUE_NOTE_YOUNG;
	cr_expect(queue_note_is_valid(&n));
	cr_expect_eq(queue_note_priorities(n.mark), 1U << (PFC_PRIORITIES - 1));
	cr_expect_eq(queue_note_patience_ns(n.mark), queue_note_patience_ns(queue_note_patience(NSEC_PER_SEC)));
}

/* A pause of 1 ms, in which four packets become due. */
Test(pace, pace_resume__is_late_and_catches_up_at_twice_the_rate)
{
	struct pace_gap g[4];
	struct pace p;
	__u64 first;
	int i;

	enter_four(&p, g, 0);
	first = pace_resume(&p, NOW, NOW + 1000 * US);
	cr_expect_eq(first, NOW + 1000 * US);
	for (i = 1; i < 4; i++) {
		p.left_ns = first;
		first = pace_front(&p, &g[i]);
		cr_expect_eq(first, NOW + 1000 * US + i * 50 * US, "packet %d", i);
	}
	cr_expect_eq(p.late_ns, 850 * US);
	cr_expect_eq(pace_resume(&p, first, first - 1), first, "not due yet: the pause did not hold it");
	cr_expect_eq(p.late_ns, 850 * US);
}

Test(pace, pace_front__is_on_time_again_when_it_has_caught_up)
{
	struct pace_gap g[4];
	struct pace p;

	enter_four(&p, g, 0);
	p.left_ns = pace_resume(&p, NOW, NOW + 70 * US);
	p.left_ns = pace_front(&p, &g[1]);
	cr_expect_eq(p.left_ns, NOW + 120 * US);
	p.left_ns = pace_front(&p, &g[2]);
	cr_expect_eq(p.left_ns, NOW + 200 * US, "as egress said");
	cr_expect_eq(p.late_ns, 0);
}

Test(pace, pace_is_stale__does_not_count_pauses)
{
	struct pace_gap g[4], later;
	struct pace p;
	__u64 first;

	enter_four(&p, g, 400 * US);
	first = pace_resume(&p, NOW + 100 * US, NOW + 1000 * US);
	cr_expect_not(pace_is_stale(&p, g[1].until_ns, first, 2));
	cr_expect(pace_is_stale(&p, g[1].until_ns, first + 301 * US, 2), "by anything else it is");
	pace_enter(&p, &later, first, first, R,
		   400 * US); /* it comes after the pause, and waits for those that were late */
	cr_expect_not(pace_is_stale(&p, later.until_ns, first + 900 * US, 2));
}

Test(pauses, queue_pauses_over__are_those_whose_time_has_come)
{
	struct queue_pauses p = { .until_ns = { NOW - 1, NOW, NOW + 1, 0, NOW + 70 * US } };

	cr_expect_eq(queue_pauses_over(&p, 0xff, NOW), 0xff & ~(1 << 2 | 1 << 4));
	cr_expect_eq(queue_pauses_over(&p, 1 << 2, NOW), 0);
	cr_expect_eq(queue_pauses_over(&p, 1 << 2, NOW + 1), 1 << 2);
}

Test(pauses, queue_pauses_next_ns__is_the_first_end_or_the_next_look)
{
	struct queue_pauses p = { .until_ns = { NOW + 10 * US, NOW + 20 * US, NOW - 5, NOW + NSEC_PER_SEC } };

	cr_expect_eq(queue_pauses_next_ns(&p, 1 << 1, NOW), NOW + 20 * US);
	cr_expect_eq(queue_pauses_next_ns(&p, 1 << 0 | 1 << 1, NOW), NOW + 10 * US);
	cr_expect_eq(queue_pauses_next_ns(&p, 1 << 2, NOW), NOW, "never in the past");
	cr_expect_eq(queue_pauses_next_ns(&p, 1 << 3, NOW), NOW + QUEUE_PAUSE_POLL_NS, "XON may come");
}
