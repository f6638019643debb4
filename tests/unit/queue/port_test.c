// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "sluice/queue/port.h"

TestSuite(shaper, .timeout = 20);
TestSuite(turns, .timeout = 20);

#define NOW 1000000000ULL
#define US 1000ULL
#define MBIT 1000000ULL
#define PERCENT (QUEUE_SHARE_ALL / 100)

Test(shaper, shaper_take__spaces_packets_by_the_rate)
{
	__u64 free_ns = 0, at_ns = NOW;
	int i;

	for (i = 0; i < 1000; i++) {
		shaper_take(&free_ns, at_ns, 100 * MBIT, 1250); /* 100 us each */
		at_ns = free_ns > at_ns ? free_ns : at_ns;
	}
	cr_expect_eq(free_ns, NOW - SHAPER_LATE_NS + 1000 * 100 * US);
}

Test(shaper, shaper_take__catches_up_after_a_late_timer_and_no_further)
{
	__u64 free_ns = NOW;

	shaper_take(&free_ns, NOW + 30 * US, 100 * MBIT, 1250);
	cr_expect_eq(free_ns, NOW + 100 * US, "a timer that is 30 us late costs nothing");
	shaper_take(&free_ns, NOW + 900 * US, 100 * MBIT, 1250);
	cr_expect_eq(free_ns, NOW + 900 * US - SHAPER_LATE_NS + 100 * US, "an idle port saves no more than that");
}

Test(shaper, shaper_take__holds_at_the_ends_of_the_range)
{
	__u64 free_ns = NOW;

	shaper_take(&free_ns, NOW, 100000, 1 << 24);
	cr_expect_eq(free_ns, NOW + (8ULL << 24) * 10000);
	free_ns = NOW;
	shaper_take(&free_ns, NOW, 1000000 * MBIT, 64);
	cr_expect_eq(free_ns, NOW, "0.5 ns are none");
}

/* Lets n packets of a class leave in turns of those in ready; sent[] counts bytes. */
static void turns_run(struct class_turns *t, __u32 ready, const __u32 *share, const __u32 *bytes, int n, __u64 *sent)
{
	__u32 class;

	while (n--) {
		class = class_turns_next(t, ready, 0);
		cr_assert_lt(class, QUEUE_CLASSES);
		class_turns_take(t, class, share[class], bytes[class]);
		sent[class] += bytes[class];
	}
}

Test(turns, class_turns_next__gives_the_shares)
{
	const __u32 share[QUEUE_CLASSES] = { 70 * PERCENT, 25 * PERCENT, 5 * PERCENT };
	const __u32 bytes[QUEUE_CLASSES] = { 1514, 65226, 64 }; /* whatever the packets are */
	__u64 sent[QUEUE_CLASSES] = {}, all;
	struct class_turns t = {};

	turns_run(&t, 7, share, bytes, 1000000, sent);
	all = sent[0] + sent[1] + sent[2];
	cr_expect_float_eq(sent[0] * 100. / all, 70, 0.1);
	cr_expect_float_eq(sent[1] * 100. / all, 25, 0.1);
	cr_expect_float_eq(sent[2] * 100. / all, 5, 0.1);
}

Test(turns, class_turns_enter__saves_nothing_for_a_class_that_was_idle)
{
	const __u32 share[QUEUE_CLASSES] = { 50 * PERCENT, 50 * PERCENT };
	const __u32 bytes[QUEUE_CLASSES] = { 1500, 1500 };
	__u64 sent[QUEUE_CLASSES] = {};
	struct class_turns t = {};

	turns_run(&t, 1, share, bytes, 1000, sent);
	class_turns_enter(&t, 1);
	sent[0] = 0;
	turns_run(&t, 3, share, bytes, 100, sent);
	cr_expect_eq(sent[0], sent[1], "not 100 packets of the second one");
}

Test(turns, class_turns_next__strict_classes_leave_first_in_their_order)
{
	struct class_turns t = { .start_tag = { 0, 900, 800 } };

	cr_expect_eq(class_turns_next(&t, 7, 1 << 1 | 1 << 2), 1);
	cr_expect_eq(class_turns_next(&t, 5, 1 << 1 | 1 << 2), 2);
	cr_expect_eq(class_turns_next(&t, 1, 1 << 1 | 1 << 2), 0);
	cr_expect_eq(class_turns_next(&t, 0, 1 << 1), QUEUE_CLASSES);
}

/*
 * Strict classes have no tags: if each of theirs moved now_tag, a class that becomes busy would wait until the others had
 * caught up with what the strict one has sent.
 */
Test(turns, class_turns__of_a_strict_class_beside_two_others)
{
	const __u32 share[QUEUE_CLASSES] = { 10 * PERCENT, 30 * PERCENT, 60 * PERCENT };
	const __u32 bytes[QUEUE_CLASSES] = { 1500, 1500, 1500 };
	__u64 sent[QUEUE_CLASSES] = {};
	struct class_turns t = {};
	int i;

	for (i = 0; i < 1000; i++) {
		cr_assert_eq(class_turns_next(&t, 3, 1), 0);
		class_turns_take(&t, 0, 0, 1500);
		turns_run(&t, 2, share, bytes, 1, sent); /* while the strict one has nothing */
	}
	class_turns_enter(&t, 2);
	sent[1] = 0;
	turns_run(&t, 6, share, bytes, 90, sent);
	cr_expect_eq(sent[2], 60 * 1500);
	cr_expect_eq(sent[1], 30 * 1500);
}

Test(turns, class_turns__smallest_share_and_largest_packet)
{
	struct class_turns t = {};

	class_turns_take(&t, 0, 1, 0xffff);
	cr_expect_eq(t.start_tag[0], 0xffffULL * QUEUE_SHARE_ALL);
	cr_expect_eq(class_turns_next(&t, 3, 0), 1);
}
