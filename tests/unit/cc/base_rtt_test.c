// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/cc/base_rtt.h"

TestSuite(base_rtt, .timeout = 60);

#define US 1000ULL
#define MS 1000000ULL
#define PACKET 1514
#define MBIT 1000000ULL
#define WIRE_100MBIT_NS 121120 /* of a full packet */

/* Two hops of 100 Mbit/s with these bytes in front of the packet. */
static struct hpcc_ack two_hops(__u32 first, __u32 second)
{
	struct hpcc_ack ack = { .hops = 2 };

	ack.hop[0] = (struct hpcc_hop){ .bps = 100 * MBIT, .qlen_bytes = first };
	ack.hop[1] = (struct hpcc_hop){ .bps = 100 * MBIT, .qlen_bytes = second };
	return ack;
}

static struct base_rtt_sample told(__u32 first, __u32 second, __u64 rtt_ns, int small)
{
	struct hpcc_ack ack = two_hops(first, second);
	struct base_rtt_sample s;

	base_rtt_measure(&s, &ack, 1, rtt_ns, 0, PACKET, 100 * MBIT, small);
	return s;
}

static struct base_rtt_sample untold(__u64 rtt_ns, __u64 queue_ns)
{
	struct hpcc_ack ack = two_hops(100000, 0); /* which is not looked at */
	struct base_rtt_sample s;

	base_rtt_measure(&s, &ack, 0, rtt_ns, queue_ns, PACKET, 100 * MBIT, 1);
	return s;
}

Test(base_rtt, base_rtt_measure__a_small_packet_lacks_four_full_ones)
{
	struct base_rtt_sample s = told(0, 0, 3500 * US, 1);

	cr_assert_eq(s.most_ns, 3500 * US + 4 * WIRE_100MBIT_NS);
	cr_assert_eq(s.least_ns, s.most_ns);
	s = told(0, 0, 3500 * US, 0);
	cr_assert_eq(s.most_ns, 3500 * US + 2 * WIRE_100MBIT_NS);
}

Test(base_rtt, base_rtt_measure__queues_that_are_told_are_taken_off)
{
	struct base_rtt_sample s = told(12500, 25000, 6500 * US, 1);

	cr_assert_eq(s.most_ns, 6500 * US + 4 * WIRE_100MBIT_NS);
	cr_assert_eq(s.least_ns, 3500 * US + 4 * WIRE_100MBIT_NS);
	/* A queue that was reported too long leaves no less than the time of the wire. */
	s = told(12500000, 0, 6500 * US, 1);
	cr_assert_eq(s.least_ns, 4 * WIRE_100MBIT_NS);
}

Test(base_rtt, base_rtt_measure__no_answer_is_faster_than_the_wire)
{
	struct hpcc_ack ack = { .hops = 5 };
	struct base_rtt_sample s = told(0, 0, 1, 1);
	int i;

	cr_assert_eq(s.most_ns, 1 + 4 * WIRE_100MBIT_NS);
	/* Forged hops, faster than any: the own port is known. */
	for (i = 0; i < 5; i++)
		ack.hop[i].bps = 800000 * MBIT;
	base_rtt_measure(&s, &ack, 1, 1, 0, PACKET, 100 * MBIT, 1);
	cr_assert_geq(s.most_ns, WIRE_100MBIT_NS);
	cr_assert_geq(s.least_ns, WIRE_100MBIT_NS);
	/* A port whose speed is unknown, and hops without a speed. */
	memset(&ack, 0, sizeof(ack));
	ack.hops = 5;
	base_rtt_measure(&s, &ack, 1, 1, 0, PACKET, 0, 1);
	cr_assert_eq(s.most_ns, BASE_RTT_MIN_NS);
	base_rtt_measure(&s, &ack, 1, ~0U, 0, PACKET, 0, 1);
	cr_assert_eq(s.most_ns, BASE_RTT_MAX_NS);
}

Test(base_rtt, base_rtt_measure__a_path_that_tells_no_queue_says_no_least)
{
	struct base_rtt_sample s = untold(3500 * US, BASE_RTT_NONE);

	cr_assert_eq(s.most_ns, 3500 * US + 4 * WIRE_100MBIT_NS);
	cr_assert_eq(s.least_ns, BASE_RTT_NONE);
	s = untold(3500 * US, 500 * US);
	cr_assert_eq(s.least_ns, 3000 * US + 4 * WIRE_100MBIT_NS);
}

Test(base_rtt, base_rtt_start_ns__ten_packets_but_not_less_than_kernels_take)
{
	cr_assert_eq(base_rtt_start_ns(1000 * MBIT, PACKET), 121120);
	cr_assert_eq(base_rtt_start_ns(100000 * MBIT, PACKET), BASE_RTT_START_NS);
	cr_assert_eq(base_rtt_start_ns(100000, PACKET), BASE_RTT_MAX_NS);
	cr_assert_eq(base_rtt_start_ns(0, PACKET), BASE_RTT_START_NS);
}

Test(base_rtt, base_rtt_floor_ns__the_first_window_of_tcp)
{
	cr_assert_eq(base_rtt_floor_ns(100 * MBIT, PACKET), 10 * WIRE_100MBIT_NS);
	cr_assert_eq(base_rtt_floor_ns(100000 * MBIT, PACKET), 1211, "far below any round trip");
	cr_assert_eq(base_rtt_floor_ns(100000, PACKET), BASE_RTT_MAX_NS);
	cr_assert_eq(base_rtt_floor_ns(0, PACKET), 0, "a port of unknown speed");
}

Test(base_rtt, base_rtt_note__the_smallest_of_two_seconds)
{
	struct base_rtt_least l = {};
	struct base_rtt_sample s = { 4000, 3000 };

	base_rtt_note(&l, &s, 100 * NSEC_PER_SEC);
	s = (struct base_rtt_sample){ 5000, 2500 };
	base_rtt_note(&l, &s, 101 * NSEC_PER_SEC);
	cr_assert_eq(l.ns.most_ns, 4000);
	cr_assert_eq(l.ns.least_ns, 3000);
	base_rtt_note(&l, &s, 100 * NSEC_PER_SEC + BASE_RTT_HOLD_NS + 2 * MS);
	cr_assert_eq(l.ns.most_ns, 5000);
}

/* --- a prefix --- */

struct run {
	struct base_rtt b;
	struct base_rtt_least flow;
	__u64 now_ns;
	int blind;
};

static struct run run_new(void)
{
	return (struct run){ .now_ns = 5000 * NSEC_PER_SEC };
}

/* A second with a hundred round trips, of at least one that long, with such a queue in each. Returns what changed. */
static enum base_rtt_change second(struct run *r, __u32 rtt_ns, __u32 queue_ns)
{
	struct base_rtt_sample s;
	int i;

	for (i = 0; i < 100; i++) {
		s.most_ns = rtt_ns + queue_ns + rand() % (rtt_ns / 2) * !!i;
		s.least_ns = s.most_ns - queue_ns;
		r->now_ns += NSEC_PER_SEC / 100;
		base_rtt_note(&r->flow, &s, r->now_ns);
	}
	base_rtt_look(&r->b, &r->flow, r->blind, r->now_ns);
	return base_rtt_tick(&r->b, r->now_ns);
}

/* Seconds until T is within a sixteenth of rtt_ns; 1000: never. */
static int seconds_until(struct run *r, __u32 rtt_ns, __u32 queue_ns)
{
	int i;

	for (i = 1; i < 1000; i++) {
		second(r, rtt_ns, queue_ns);
		if (r->b.t_ns >= rtt_ns - rtt_ns / 16 && r->b.t_ns <= rtt_ns + rtt_ns / 16)
			break;
	}
	return i;
}

Test(base_rtt, base_rtt_tick__the_first_second_says_t)
{
	struct run r = run_new();

	cr_assert_eq(base_rtt_tick(&r.b, r.now_ns), BASE_RTT_SAME);
	cr_assert_eq(second(&r, 4000000, 0), BASE_RTT_FIRST);
	cr_assert_eq(r.b.t_ns, 4000000);
	cr_assert_eq(second(&r, 4000000, 0), BASE_RTT_SAME);
}

Test(base_rtt, base_rtt_tick__under_a_queue_from_the_start_as_well)
{
	struct run r = run_new();

	cr_assert_eq(second(&r, 4000000, 8000000), BASE_RTT_FIRST);
	cr_assert_eq(r.b.t_ns, 4000000);
}

Test(base_rtt, base_rtt_tick__a_queue_that_stands_makes_t_no_longer)
{
	struct run r = run_new();
	int i;

	second(&r, 4000000, 0);
	for (i = 0; i < 600; i++)
		cr_assert_eq(second(&r, 4000000, 1000000 + rand() % 20000000), BASE_RTT_SAME);
	cr_assert_eq(r.b.t_ns, 4000000);
}

Test(base_rtt, base_rtt_tick__a_longer_route_within_the_bound_a_shorter_one_at_once)
{
	struct run r = run_new();
	int i, queue;

	for (queue = 0; queue < 2; queue++) {
		for (i = 0; i < 60; i++) {
			seconds_until(&r, 4000000, queue * 2000000);
			second(&r, 4000000, queue * 2000000);
			cr_assert_leq(seconds_until(&r, 9000000, queue * 2000000),
				      (int)(BASE_RTT_BOUND_NS / NSEC_PER_SEC));
		}
	}
	/* Flows keep the least of two seconds, and a shorter one counts at once. */
	second(&r, 9000000, 0);
	cr_assert_eq(second(&r, 2000000, 0), BASE_RTT_SHORTER);
	cr_assert_eq(r.b.t_ns, 2000000);
}

Test(base_rtt, base_rtt_tick__what_is_silent_for_an_hour_says_nothing_of_now)
{
	struct run r = run_new();

	second(&r, 4000000, 0);
	r.now_ns += 3600 * NSEC_PER_SEC;
	/* One slow round trip, and silence: not enough to be believed. */
	second(&r, 9000000, 0);
	for (int i = 0; i < 30; i++) {
		r.now_ns += NSEC_PER_SEC;
		base_rtt_look(&r.b, &r.flow, 0, r.now_ns);
		cr_assert_eq(base_rtt_tick(&r.b, r.now_ns), BASE_RTT_SAME);
	}
	cr_assert_eq(r.b.t_ns, 4000000);
}

Test(base_rtt, base_rtt_look__blind_t_grows_to_twice_the_smallest)
{
	struct run r = run_new();
	int i;

	r.blind = 1;
	second(&r, 4000000, 0);
	for (i = 0; i < 300; i++)
		second(&r, 4000000 + i * 100000, 0);
	cr_assert(r.b.t_ns > 7000000 && r.b.t_ns <= 8000000);
	/* A report without a least does not make it longer. */
	r = run_new();
	second(&r, 4000000, 0);
	for (i = 0; i < 60; i++) {
		struct base_rtt_least l = { .ns = { 9000000, BASE_RTT_NONE }, .since = base_rtt_units(r.now_ns) };

		r.now_ns += NSEC_PER_SEC;
		base_rtt_look(&r.b, &l, 1, r.now_ns);
		base_rtt_tick(&r.b, r.now_ns);
	}
	cr_assert_eq(r.b.t_ns, 4000000);
}

Test(base_rtt, base_rtt_tick__a_clock_that_jumps_is_survived)
{
	struct run r = run_new();
	int i;

	second(&r, 4000000, 0);
	r.now_ns -= 4000 * NSEC_PER_SEC; /* our clocks never do this */
	second(&r, 4000000, 0);
	cr_assert_eq(r.b.t_ns, 4000000);
	r.now_ns += 100000 * NSEC_PER_SEC;
	for (i = 0; i < 60; i++)
		second(&r, 4000000, 0);
	cr_assert_eq(r.b.t_ns, 4000000);
	cr_assert_leq(seconds_until(&r, 9000000, 0), (int)(BASE_RTT_BOUND_NS / NSEC_PER_SEC));
}

/* Any numbers at all: T stays in its range. */
Test(base_rtt, base_rtt_tick__whatever_is_forged)
{
	struct run r = run_new();
	struct base_rtt_sample s;
	struct hpcc_ack ack;
	int i, k;

	srand(7);
	for (i = 0; i < 200000; i++) {
		for (k = 0; k < (int)sizeof(ack); k++)
			((__u8 *)&ack)[k] = rand();
		for (k = 0; k < HPCC_MAX_HOPS; k++) {
			ack.hop[k].bps &= (1ULL << 44) - 1;
			ack.hop[k].qlen_bytes &= (1U << 27) - 1;
		}
		base_rtt_measure(&s, &ack, rand() & 1, (__u32)rand() >> rand() % 31 | 1,
				 rand() & 1 ? BASE_RTT_NONE : (__u32)rand(), PACKET, 1000 * MBIT, rand() & 1);
		cr_assert(s.most_ns >= 12112 && s.most_ns <= BASE_RTT_MAX_NS);
		cr_assert(s.least_ns == BASE_RTT_NONE || (s.least_ns >= 12112 && s.least_ns <= s.most_ns));
		r.now_ns += rand() % (200 * MS);
		base_rtt_note(&r.flow, &s, r.now_ns);
		base_rtt_look(&r.b, &r.flow, rand() & 1, r.now_ns);
		base_rtt_tick(&r.b, r.now_ns);
		cr_assert(!r.b.t_ns || (r.b.t_ns >= 12112 && r.b.t_ns <= BASE_RTT_MAX_NS));
	}
}

Test(base_rtt, base_rtt_is_off__a_quarter)
{
	cr_assert(!base_rtt_is_off(4000, 4000));
	cr_assert(!base_rtt_is_off(5000, 4000) && !base_rtt_is_off(3000, 4000));
	cr_assert(base_rtt_is_off(5001, 4000) && base_rtt_is_off(2999, 4000));
}
