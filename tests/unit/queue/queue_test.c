// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "sluice/queue/queue.h"

TestSuite(queue, .timeout = 20);

static const struct queue_limits limits = QUEUE_LIMITS_PRESET;

#define NOW 1000000000ULL
#define LATER (NOW + 1000000)

Test(queue, queue_wanted_ns__of_none_or_one_that_has_passed_is_now)
{
	cr_expect_eq(queue_wanted_ns(NOW, 0), NOW);
	cr_expect_eq(queue_wanted_ns(NOW, NOW - 1), NOW);
	cr_expect_eq(queue_wanted_ns(NOW, NOW), NOW);
	cr_expect_eq(queue_wanted_ns(NOW, LATER), LATER);
}

Test(queue, queue_lane__of_what_is_short_and_due_is_beside_data_that_is_held)
{
	cr_expect_eq(queue_lane(NOW, NOW, 66, 1), QUEUE_SHORT, "an ACK");
	cr_expect_eq(queue_lane(NOW, NOW, QUEUE_SHORT_BYTES, 1), QUEUE_SHORT);
	cr_expect_eq(queue_lane(NOW, NOW, QUEUE_SHORT_BYTES + 1, 1), QUEUE_DATA, "data is not overtaken by data");
	cr_expect_eq(queue_lane(NOW, LATER, 66, 1), QUEUE_DATA, "it has its own time");
	cr_expect_eq(queue_lane(NOW, NOW, 66, 0), QUEUE_DATA, "nothing holds it up");
}

Test(queue, queue_admit__refuses_what_is_too_much_or_too_late)
{
	__u64 last = NOW + limits.horizon_ns;

	cr_expect_eq(queue_admit(&limits, NOW, NOW, 0, 0), QUEUE_TAKEN);
	cr_expect_eq(queue_admit(&limits, NOW, NOW, limits.packets - 1, limits.flow_packets - 1), QUEUE_TAKEN);
	cr_expect_eq(queue_admit(&limits, NOW, NOW, limits.packets, 0), QUEUE_FULL);
	cr_expect_eq(queue_admit(&limits, NOW, NOW, 0, limits.flow_packets), QUEUE_FLOW_FULL);
	cr_expect_eq(queue_admit(&limits, NOW, last, 0, 0), QUEUE_TAKEN);
	cr_expect_eq(queue_admit(&limits, NOW, last + 1, 0, 0), QUEUE_BEYOND);
	cr_expect_eq(queue_admit(&limits, NOW, ~0ULL, 0, 0), QUEUE_BEYOND, "a wild time");
}

Test(queue, queue_admit__by_a_limit_of_one_takes_one)
{
	struct queue_limits one = limits;

	one.packets = one.flow_packets = 1;
	cr_expect_eq(queue_admit(&one, NOW, NOW, 0, 0), QUEUE_TAKEN);
	cr_expect_eq(queue_admit(&one, NOW, NOW, 1, 0), QUEUE_FULL);
}

Test(queue, queue_fresh_is_next__is_not_so_for_ever)
{
	__u64 most = limits.quantum * QUEUE_FRESH_QUANTA;

	cr_expect_not(queue_fresh_is_next(0, 1, 0, limits.quantum));
	cr_expect(queue_fresh_is_next(1, 1, 0, limits.quantum));
	cr_expect(queue_fresh_is_next(1, 1, most - 1, limits.quantum));
	cr_expect_not(queue_fresh_is_next(1, 1, most, limits.quantum));
	cr_expect(queue_fresh_is_next(1, 0, most, limits.quantum), "nobody else wants a turn");
	cr_expect_not(queue_fresh_is_next(0, 0, 0, limits.quantum));
}

Test(queue, queue_credit_first__is_positive_at_any_quantum)
{
	cr_expect_gt(queue_credit_first(1), 0);
	cr_expect_gt(queue_credit_first(~0U), 0, "no overflow");
}

Test(queue, queue_credit_back__forgives_after_a_while_only)
{
	cr_expect_eq(queue_credit_back(-60000, 3028, NOW, NOW - QUEUE_REFILL_NS), -60000);
	cr_expect_eq(queue_credit_back(-60000, 3028, NOW, NOW - QUEUE_REFILL_NS - 1), 3028);
	cr_expect_eq(queue_credit_back(15140, 3028, NOW, NOW - QUEUE_REFILL_NS - 1), 15140, "it is not taken away");
	cr_expect_eq(queue_credit_back(-1, 3028, NOW, LATER), -1, "its last packet was let out early");
}

Test(queue, queue_is_idle__of_one_whose_last_packet_left_long_ago)
{
	cr_expect_not(queue_is_idle(NOW, LATER));
	cr_expect_not(queue_is_idle(NOW + QUEUE_IDLE_NS, NOW));
	cr_expect(queue_is_idle(NOW + QUEUE_IDLE_NS + 1, NOW));
	cr_expect(queue_is_idle(NOW + QUEUE_IDLE_NS, 0), "it has never sent anything");
}

Test(queue, queue_held_ns__is_of_what_is_held_now)
{
	struct queue_seen q = { .held_flows = 1, .next_ns = NOW + 5 };

	cr_expect_eq(queue_held_ns(&q, NOW), 5);
	cr_expect_eq(queue_held_ns(&q, NOW + 6), 0, "it is due, and has not left");
	q.held_flows = 0;
	cr_expect_eq(queue_held_ns(&q, NOW), 0, "it has left, and no timer was set since");
}

Test(queue, queue_is_young__is_what_a_flow_sends_first_and_again_after_silence)
{
	const __u64 now = NSEC_PER_SEC;
	__u16 burst = 0;
	int i;

	for (i = 0; i < 16; i++)
		cr_expect(queue_is_young(&burst, now, now, 1514), "packet %d", i);
	cr_expect_not(queue_is_young(&burst, now, now, 1514));
	cr_expect_not(queue_is_young(&burst, now + QUEUE_REFILL_NS, now, 64), "not silent for long enough");
	for (i = 0; i < 1000; i++)
		queue_is_young(&burst, now, now + NSEC_PER_SEC, 65226);
	cr_expect_eq(burst, 0xffff, "it does not wrap");
	cr_expect(queue_is_young(&burst, now + QUEUE_REFILL_NS + 1, now, 1514));
	cr_expect_eq(burst, 1514);
	burst = 0;
	cr_expect_not(queue_is_young(&burst, now, now, 65226), "a large packet is no short flow");
}
