// SPDX-License-Identifier: GPL-2.0-only
/* The receiver: its knowledge of what was sent, and the bounds of that. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/rack/hiercc.h"
#include "hiercc_case.h"

TestSuite(hiercc_learn, .timeout = 60);

/* S is far on: the receiver knows nothing of the past. The VOQ may have used up C0; more is not granted anew. */
Test(hiercc_learn, hiercc_learn__a_restart_is_no_flood)
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

Test(hiercc_learn, hiercc_learn__a_sender_that_begins_anew_is_followed)
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
Test(hiercc_learn, hiercc_learn__jumps_get_no_credit_for_what_does_not_arrive)
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
	cr_expect_leq(granted, b->p.c0 + b->p.debt_max + 50 * HIERCC_DELTA_BYTES, "%llu bytes for 6400 that arrived",
		      granted);
	free(b);
}

/* A sender that ignores credit. */
Test(hiercc_learn, hiercc_learn__nobody_is_due_more_than_debt_max)
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
 * A loop that was late by twice what debt_max leaves for lost messages: a sender that went on at the port's rate is not cut. One that sends
 * more than that is.
 */
Test(hiercc_learn, hiercc_learn__a_late_loop_cuts_nobody)
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

Test(hiercc_learn, hiercc_learn__the_data_planes_entry_may_be_made_anew)
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

Test(hiercc_learn, hiercc_learn__nothing_arrived_is_nothing_known)
{
	struct box *b = box_new();

	cr_expect_eq(box_learn(b, 0), HIERCC_LEARNED);
	cr_expect_eq(b->due[0].sent, 0);
	cr_expect_eq(b->port.active, 0);
	free(b);
}

/* Two VOQs send the same; one claims ten times as much, in steps or at once. It gets no more. */
Test(hiercc_learn, hiercc_learn__claims_are_bounded_by_what_arrives)
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
		cr_expect_leq(charged[1], charged[0] * 115 / 100 + 3 * b->p.debt_max, "steps of %u: %llu and %llu",
			      steps[s], charged[1], charged[0]);
		cr_expect_geq(charged[0], 2000ULL * 3000 - b->p.debt_max, "the honest one has all");
		free(b);
	}
}

/* 5 % of the packets are lost: the totals make up for it. */
Test(hiercc_learn, hiercc_learn__losses_are_granted_anew)
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

Test(hiercc_learn, hiercc_learn__f_is_no_more_than_the_packets)
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
	/* An epoch later, and one more: a VOQ that was silent has one. */
	b->now += 3 * b->p.epoch_ns;
	box_see(b, 0, 14000, 65535, 1000);
	box_learn(b, 0);
	cr_expect_eq(b->due[0].flows, 1);
	free(b);
}

Test(hiercc_learn, hiercc_see__who_was_overtaken_changes_no_total)
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

/* Both ends and a wire that loses, repeats and reorders a third of all: no VOQ stalls, all is granted. */
Test(hiercc_learn, hiercc__both_ends_agree_whatever_gets_lost)
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
