// SPDX-License-Identifier: GPL-2.0-only
/* The receiver: credit is granted where packets arrive. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "sluice/rack/hiercc.h"
#include "hiercc_case.h"

#define MOST_NS 150000ULL
#define LEASE_NS 600000ULL

TestSuite(hiercc_ring, .timeout = 60);

/* A port, and what is known of its VOQs. */
struct arrivals {
	struct hiercc_params p;
	struct hiercc_ring ring;
	struct hiercc_due due[VOQS];
	struct hiercc_seen seen[VOQS];
	struct hiercc_told told[VOQS];
	__u32 total[VOQS];
	__u64 given[VOQS]; /* of the port's budget */
	__u64 now;
};

static struct arrivals *arrivals_new(void)
{
	struct arrivals *a = calloc(1, sizeof(*a));

	cr_assert(a);
	hiercc_params_arrival(&a->p, RATE, 8000, 1000, 100000);
	hiercc_ring_init(&a->ring, RATE, MOST_NS, HIERCC_DELTA_BYTES);
	a->now = START;
	a->ring.lease_ns = START + (1ULL << 40);
	a->ring.clock_ns = START;
	return a;
}

static int steps(struct arrivals *a)
{
	int n = 0;
	__u32 i;

	while (n < HIERCC_STEPS && (i = hiercc_ring_next(&a->ring)) != HIERCC_NONE) {
		a->given[i] += hiercc_ring_grant(&a->ring, &a->due[i], i);
		hiercc_ring_note(&a->ring, &a->told[i], i);
		n++;
	}
	return n;
}

/* The port goes on, and nothing arrives: for the time of that many packets. */
static void idle(struct arrivals *a, int packets)
{
	while (packets--) {
		a->now += 500;
		hiercc_ring_clock(&a->ring, a->now, 0);
		cr_assert_leq(steps(a), HIERCC_STEPS);
	}
}

/* A packet of VOQ i that says S and F; `bytes` of it arrive. Returns the turns that it granted, or -1: it was not let in. */
static int says(struct arrivals *a, __u32 i, __u32 total, __u32 flows, __u32 bytes)
{
	int n = -1;

	hiercc_see(&a->seen[i], total, flows, bytes, 1, a->p.debt_max);
	if (!hiercc_ring_enter(&a->ring, a->now))
		return n;
	if (hiercc_ring_leased(&a->ring, a->now)) {
		hiercc_ring_clock(&a->ring, a->now, bytes);
		hiercc_ring_learn(&a->ring, &a->due[i], i, &a->p, &a->seen[i], a->now);
		n = steps(a);
	}
	hiercc_ring_leave(&a->ring, a->now);
	return n;
}

/* An honest one. */
static int packet(struct arrivals *a, __u32 i, __u32 flows)
{
	a->total[i] += PACKET;
	return says(a, i, a->total[i], flows, PACKET);
}

static __u64 granted(const struct arrivals *a, __u32 n)
{
	__u64 sum = 0;

	while (n--)
		sum += a->due[n].granted ? a->due[n].granted - HIERCC_TOTAL_FIRST : 0;
	return sum;
}

Test(hiercc_ring, hiercc_params_arrival__has_no_period_but_its_limits)
{
	struct hiercc_params p, round;

	hiercc_params_arrival(&p, RATE, 8000, 1000, 100000);
	hiercc_params_init(&round, RATE, 8000, 100000);
	cr_expect_eq(p.c0, RATE * 9000 / NSEC_PER_SEC, "one round trip and what packets take");
	cr_expect_eq(p.window_ns, 9000);
	cr_expect_eq(p.rate_first, RATE / 6);
	cr_expect_eq(p.limit_ns, round.limit_ns, "credit has stopped when the rounds have");
	cr_expect_eq(p.idle_ns, round.idle_ns);
}

Test(hiercc_ring, hiercc_ring_grant__a_packet_grants_what_is_due)
{
	struct arrivals *a = arrivals_new();

	a->now += 1000;
	cr_expect_eq(packet(a, 0, 1), 2, "whole credits: two for 1462 bytes");
	cr_expect_eq(granted(a, 1), 2 * HIERCC_DELTA_BYTES);
	cr_expect_eq(hiercc_ring_due(&a->ring), 0);
	cr_expect_not(a->due[0].listed);
	cr_expect_eq(a->ring.lock_ns, 0, "it has left");
	free(a);
}

Test(hiercc_ring, hiercc_ring_clock__grants_never_exceed_the_ports_rate)
{
	struct arrivals *a = arrivals_new();
	unsigned short rng[3] = { 1, 2, 3 };
	__u64 given;
	int k, i;

	for (k = 0; k < 100000; k++) {
		a->now += nrand48(rng) % 600; /* 1462 bytes take 468 ns */
		cr_assert_leq(packet(a, nrand48(rng) % 10, 1 + k % 4), HIERCC_STEPS);
		for (given = 0, i = 0; i < 10; i++)
			given += a->given[i];
		cr_assert_leq(given, RATE * (a->now - START) / NSEC_PER_SEC + 1);
	}
	free(a);
}

/* Packets arrive faster than the port is: all of its credit is dealt out, F by F. */
Test(hiercc_ring, hiercc_ring_grant__flows_share_by_their_number)
{
	struct arrivals *a = arrivals_new();
	__u64 one, three;
	int k;

	a->p.debt_max = 1 << 26;
	for (k = 0; k < 40000; k++) {
		a->now += 300;
		packet(a, k % 2, k % 2 ? 3 : 1);
	}
	one = a->due[0].granted - HIERCC_TOTAL_FIRST;
	three = a->due[1].granted - HIERCC_TOTAL_FIRST;
	cr_expect_float_eq((double)(one + three) / RATE * 1e9 / (a->now - START), 1, 0.01);
	cr_expect_float_eq((double)three / one, 3, 0.06);
	free(a);
}

Test(hiercc_ring, hiercc_ring_clock__what_nobody_was_due_is_not_saved)
{
	struct arrivals *a = arrivals_new();

	a->now += MOST_NS;
	packet(a, 0, 1);
	cr_expect_leq(a->ring.budget + granted(a, 1), HIERCC_DELTA_BYTES + PACKET);
	cr_expect_eq(a->ring.jumps, 0);
	free(a);
}

Test(hiercc_ring, hiercc_ring_leased__nothing_is_granted_when_the_lease_is_over)
{
	struct arrivals *a = arrivals_new();

	a->ring.lease_ns = START + LEASE_NS;
	a->now += LEASE_NS - 1;
	cr_expect_gt(packet(a, 0, 1), 0);
	a->now++;
	cr_expect_eq(packet(a, 0, 1), -1);
	cr_expect_eq(a->due[0].sent, HIERCC_TOTAL_FIRST + PACKET, "not even judged");
	cr_expect_eq(a->seen[0].bytes, 2 * PACKET, "but noted, for a daemon that comes back");
	a->ring.lease_ns = a->now + LEASE_NS;
	a->now += 2000;
	cr_expect_gt(packet(a, 0, 1), 0);
	idle(a, 5);
	cr_expect_geq(a->due[0].granted, HIERCC_TOTAL_FIRST + 3 * PACKET, "what came meanwhile is due");
	free(a);
}

/* A CPU that died between the lease and the grants: both the lease and the lock end. */
Test(hiercc_ring, hiercc_ring_enter__a_lock_of_one_that_is_gone_is_broken)
{
	struct arrivals *a = arrivals_new();
	__u64 since = a->now;

	cr_assert(hiercc_ring_enter(&a->ring, since));
	a->now += TRYLOCK_NS - 1;
	cr_expect_eq(packet(a, 0, 1), -1, "it waits for nobody");
	cr_expect_not(hiercc_ring_enter(&a->ring, since - 100), "a CPU whose clock is behind");
	a->now++;
	cr_expect_gt(packet(a, 0, 1), 0);
	cr_expect_eq(a->ring.broken, 1);
	cr_assert(hiercc_ring_enter(&a->ring, a->now));
	hiercc_ring_leave(&a->ring, since);
	cr_expect_eq(a->ring.lock_ns, a->now, "the one that was gone does not open it for another");
	free(a);
}

/* One of them says S of far more than arrives, the other does not: no further than what arrived, an eighth of it, and C0. */
Test(hiercc_ring, hiercc_ring_learn__a_lie_in_s_is_granted_what_arrived_and_c0)
{
	struct arrivals *a = arrivals_new();
	int k;

	for (k = 0; k < 2000; k++) {
		a->now += 500;
		a->total[0] += 10 * PACKET;
		says(a, 0, a->total[0], 1, 64);
		packet(a, 1, 1);
		cr_assert_leq(a->given[0], a->seen[0].bytes * 9 / 8 + a->p.c0 + HIERCC_DELTA_BYTES);
	}
	cr_expect_geq(a->due[1].granted + HIERCC_DELTA_BYTES, a->due[1].sent - a->p.debt_max);
	cr_expect_geq(a->due[1].granted - HIERCC_TOTAL_FIRST, 1900 * PACKET, "the other's share is its own");
	free(a);
}

Test(hiercc_ring, hiercc_ring_learn__what_has_not_arrived_is_granted_when_it_has)
{
	struct arrivals *a = arrivals_new();
	__u64 most;

	a->now += 1000;
	packet(a, 0, 1);
	/* A packet overtook the two C0 before it. */
	a->total[0] += 2 * a->p.c0 + PACKET;
	a->now += MOST_NS;
	says(a, 0, a->total[0], 1, PACKET);
	most = a->due[0].sent - a->due[0].held;
	cr_expect_leq(most, HIERCC_TOTAL_FIRST + 2 * PACKET + PACKET / 8 + a->p.c0);
	idle(a, 100);
	cr_expect_leq(a->due[0].granted, most + HIERCC_DELTA_BYTES);
	cr_expect_eq(hiercc_ring_due(&a->ring), 0, "it is not in the ring for what is held");
	a->now += 20000;
	says(a, 0, a->total[0], 1, 2 * a->p.c0);
	cr_expect_eq(a->due[0].held, 0);
	idle(a, 100);
	cr_expect_geq(a->due[0].granted, a->due[0].sent);
	free(a);
}

Test(hiercc_ring, hiercc_ring_learn__a_lie_in_f_has_no_more_turns_than_packets)
{
	struct arrivals *a = arrivals_new();

	a->now += 1000;
	packet(a, 0, 60000);
	cr_expect_eq(a->due[0].flows, 1, "one packet came");
	free(a);
}

Test(hiercc_ring, hiercc_ring_enlist__a_full_ring_is_counted_and_gives_way_by_and_by)
{
	struct arrivals *a = arrivals_new();
	__u32 i, turns = 0;
	int n;

	for (i = 0; i < HIERCC_RING + 10; i++)
		packet(a, i, 1); /* no time passes */
	cr_expect_eq(hiercc_ring_due(&a->ring), HIERCC_RING);
	cr_expect_eq(a->ring.turned_away, 10);
	cr_expect_not(a->due[HIERCC_RING].listed);
	for (i = 0; i < 1000 && hiercc_ring_due(&a->ring); i++) {
		a->now += 1000;
		hiercc_ring_clock(&a->ring, a->now, 0);
		n = steps(a);
		cr_assert_leq(n, HIERCC_STEPS);
		turns += n;
	}
	cr_expect_eq(turns, 2 * HIERCC_RING, "a credit in turn");
	a->now += 1000;
	packet(a, HIERCC_RING, 1);
	cr_expect_gt(a->due[HIERCC_RING].granted, HIERCC_TOTAL_FIRST, "its next packet finds room");
	free(a);
}

Test(hiercc_ring, hiercc_ring_speed__a_port_that_changes_forgets_what_it_could_have_granted)
{
	struct arrivals *a = arrivals_new();
	__u64 before;
	__u32 i;

	for (i = 0; i < 20; i++)
		packet(a, 0, 1);
	a->now += 5000;
	hiercc_ring_clock(&a->ring, a->now, 0);
	cr_assert_gt(a->ring.budget, 10000);
	hiercc_ring_speed(&a->ring, RATE / 25);
	cr_expect_eq(a->ring.budget, 0);
	before = granted(a, 1);
	a->now += 10000;
	packet(a, 0, 1);
	cr_expect_leq(granted(a, 1) - before, RATE / 25 * 10000 / NSEC_PER_SEC);
	hiercc_ring_speed(&a->ring, ~0ULL);
	cr_expect_lt(a->ring.rate, HIERCC_RATE_MAX);
	free(a);
}

Test(hiercc_ring, hiercc_ring_clock__one_that_jumps_is_bounded_and_counted)
{
	struct arrivals *a = arrivals_new();
	__u64 most = RATE * MOST_NS / NSEC_PER_SEC + HIERCC_DELTA_BYTES;
	__u32 i;

	for (i = 0; i < 10; i++)
		packet(a, 0, 1);
	a->now += 3600 * NSEC_PER_SEC;
	hiercc_ring_clock(&a->ring, a->now, 0);
	cr_expect_eq(a->ring.jumps, 1);
	cr_expect_leq(a->ring.budget, most);
	hiercc_ring_clock(&a->ring, a->now, 0);
	cr_expect_leq(a->ring.budget, most, "not twice");
	a->now -= MOST_NS / 2;
	hiercc_ring_clock(&a->ring, a->now, 0);
	cr_expect_eq(a->ring.jumps, 1, "another CPU's is a little behind: that is none");
	cr_expect_gt(a->ring.clock_ns, a->now);
	a->now -= 10 * NSEC_PER_SEC;
	hiercc_ring_clock(&a->ring, a->now, 0);
	cr_expect_eq(a->ring.jumps, 2);
	cr_expect_eq(a->ring.clock_ns, a->now, "it goes on from there");
	free(a);
}

Test(hiercc_ring, hiercc_ring_tells__one_that_has_not_heard_is_told_once_it_is_quiet)
{
	struct arrivals *a = arrivals_new();
	__u64 quiet = a->p.window_ns / HIERCC_QUIET;
	__u32 i;

	hiercc_told(&a->told[0], &a->due[0], a->now);
	a->now += 1000;
	packet(a, 0, 1);
	i = hiercc_ring_untold(&a->ring);
	cr_assert_eq(i, 0);
	cr_expect_not(hiercc_ring_tells(&a->ring, &a->due[0], &a->told[0], a->now, quiet), "an answer may have it");
	cr_expect_eq(hiercc_ring_untold(&a->ring), 0);
	a->now += quiet;
	cr_expect(hiercc_ring_tells(&a->ring, &a->due[0], &a->told[0], a->now, quiet));
	hiercc_told(&a->told[0], &a->due[0], a->now);
	cr_expect_eq(hiercc_ring_untold(&a->ring), HIERCC_NONE);
	packet(a, 0, 1);
	a->now += 1000;
	packet(a, 0, 1);
	hiercc_told(&a->told[0], &a->due[0], a->now); /* an answer */
	a->now += quiet;
	cr_expect_not(hiercc_ring_tells(&a->ring, &a->due[0], &a->told[0], a->now, quiet));
	cr_expect_eq(hiercc_ring_untold(&a->ring), HIERCC_NONE, "and it makes room");
	free(a);
}

Test(hiercc_ring, hiercc_ring_drop__takes_one_out_of_either_queue)
{
	struct arrivals *a = arrivals_new();
	__u32 i;

	for (i = 0; i < 5; i++)
		packet(a, i, 1);
	cr_expect(hiercc_ring_drop(&a->ring, &a->due[2], 2));
	cr_expect_not(hiercc_ring_drop(&a->ring, &a->due[2], 2));
	cr_expect_eq(hiercc_ring_due(&a->ring), 4);
	idle(a, 100);
	cr_expect_eq(a->due[2].granted, HIERCC_TOTAL_FIRST);
	cr_expect_geq(a->due[3].granted, a->due[3].sent);
	hiercc_ring_clear(&a->ring);
	cr_expect_eq(hiercc_ring_due(&a->ring), 0);
	free(a);
}

/* Two were at one port, and left it in a state that cannot be. */
Test(hiercc_ring, hiercc_ring_next__a_ring_that_is_torn_holds_nothing)
{
	struct arrivals *a = arrivals_new();

	a->ring.queue[a->ring.turn & 1].count = ~0U;
	a->ring.queue[a->ring.turn & 1].first = ~0U;
	a->ring.budget = 1 << 20;
	cr_expect_eq(hiercc_ring_next(&a->ring), HIERCC_NONE);
	a->ring.untold.count = ~0U;
	cr_expect_eq(hiercc_ring_untold(&a->ring), HIERCC_NONE);
	a->now += 1000;
	cr_expect_gt(packet(a, 0, 1), 0);
	free(a);
}
