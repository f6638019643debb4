// SPDX-License-Identifier: GPL-2.0-only
/* bpf/pause/arrive.bpf.h: a packet that comes into a queue which grows too fast, or whose port has too much here. */
#include "arrive_case.h"
#include "sluice/trylock.h"

TestSuite(pfc_arrive, .init = pfc_make, .fini = world_drop, .timeout = 60);

static struct frame packet(void)
{
	return udp(.payload = 1000, .tos = TOS);
}

Test(pfc_arrive, window__that_ends_marks_and_tells)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();

	grow(&a, &in);
	expect_counted(STAT_HOP_OTHER);
	expect_no_frame(&a);
	fixture("a window that is too old says nothing");
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER);
	fixture("one that is whole");
	waits(&a, IN, QUEUE + 2 * GROWTH);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_TOLD);
	expect_eq(told(IN).packets.predicted, 1);
	expect_eq(told(IN).paused_for, SLOT);
	expect_eq(told(IN).lock_ns, 0);
	expect_eq(pauses_slot(SLOT).arrivals[LOSSLESS].marked >> IN & 1, 0);
	expect_eq(pauses_slot(SLOT).arrivals[LOSSLESS].lock_ns, 0);
	fixture("not again while it lasts");
	waits(&a, IN, QUEUE + 3 * GROWTH);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER);
	expect_eq(told(IN).packets.predicted, 1);
}

Test(pfc_arrive, queue__that_does_not_grow_pauses_nobody)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();

	waits(&a, IN, QUEUE);
	arrive(&a, &in);
	arrive(&a, &in);
	arrive(&a, &in);
	fixture("it is short");
	waits(&a, IN, 1000);
	arrive(&a, &in);
	waits(&a, IN, ARRIVE_K_MAX - 2000);
	arrive(&a, &in);
	expect_eq(told(IN).packets.predicted, 0);
	expect_no_frame(&a);
	fixture("the buffer lasts");
	a.all.rule.shared_bytes = 1000000000;
	a.all.rule.predict.t_thresh_ns = 1000;
	grow(&a, &in);
	arrive(&a, &in);
	expect_eq(told(IN).packets.predicted, 0);
}

Test(pfc_arrive, nobody__is_paused_without_a_lease)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();
	int i;

	for (i = 0; i < 4; i++) {
		fixture("case %d", i);
		control_set(i == 2 ? MODE_DRY_RUN : MODE_ENFORCE, i == 3);
		port_pauses(a.ifindex, IN);
		lease_set(&a, i ? 10000 * MS : 0);
		if (i == 1) {
			lease_set(&a, MS);
			clock_pass(2 * MS);
		}
		grow(&a, &in);
		arrive(&a, &in);
		expect_no_frame(&a);
		/* A dry run decides and counts. */
		expect_eq(told(IN).packets.predicted, i == 2);
	}
}

Test(pfc_arrive, priority__that_is_not_lossless)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet(), other = udp(.payload = 1000);

	grow(&a, &in);
	arrive(&a, &other);
	expect_no_frame(&a);
	expect_eq(told(IN).packets.predicted, 0);
}

/* Of two ports with the same share of the queue either may be drawn: only the one whose packet comes is paused by it. */
Test(pfc_arrive, port__whose_packet_it_is_not_is_untouched)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();

	a.all.rule.predict.r = Q24_ONE - 1;
	waits(&a, OTHER, QUEUE);
	grow(&a, &in);
	waits(&a, OTHER, QUEUE + GROWTH);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER, STAT_HOP_OTHER, STAT_PFC_TOLD);
	expect_eq(told(IN).packets.predicted, 1);
	expect_eq(told(OTHER).packets.predicted, 0);
	expect_eq(told(OTHER).told.predict_ns, 0);
	expect_eq(pauses_slot(SLOT).arrivals[LOSSLESS].marked, 1ULL << OTHER);
	fixture("its own packet, whose frame cannot leave: it was told nothing");
	waits(&a, OTHER, QUEUE + 2 * GROWTH);
	run(HOP_MAP, &in, .ingress_ifindex = OTHER_IFINDEX);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_UNTOLD);
	expect_eq(told(OTHER).packets.predicted, 0);
	expect_eq(told(OTHER).told.predict_ns, 0);
	expect_eq(told(OTHER).lock_ns, 0);
	expect_no_note();
}

/* A packet that finds the lock taken leaves the work to the next one; a lock that is held for too long is broken. */
Test(pfc_arrive, lock__that_is_taken)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();
	struct pfc_slot s;

	fixture("of the queue");
	grow(&a, &in);
	s = pauses_slot(SLOT);
	s.arrivals[LOSSLESS].lock_ns = clock_ns();
	pauses_slot_set(SLOT, &s);
	arrive(&a, &in);
	expect_eq(pauses_slot(SLOT).arrivals[LOSSLESS].meter.elapsed_ns, 0);
	expect_counted(STAT_HOP_OTHER, STAT_HOP_OTHER);
	s.arrivals[LOSSLESS].lock_ns = 0;
	pauses_slot_set(SLOT, &s);
	fixture("of the neighbour");
	s = pauses_slot(IN);
	s.of[LOSSLESS].lock_ns = clock_ns();
	pauses_slot_set(IN, &s);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER);
	expect_eq(told(IN).told.predict_ns, 0);
	expect_eq(pauses_slot(SLOT).arrivals[LOSSLESS].marked, 1ULL << IN);
	fixture("for too long");
	clock_pass(TRYLOCK_NS);
	pauses_slot(SLOT);
	waits(&a, IN, QUEUE + 2 * GROWTH);
	arrive(&a, &in);
	waits(&a, IN, QUEUE + 3 * GROWTH);
	arrive(&a, &in);
	expect_eq(told(IN).packets.predicted, 1);
	expect_eq(told(IN).lock_ns, 0);
}

Test(pfc_arrive, threshold__is_crossed_by_a_packet)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();
	struct pfc_slot s;

	a.all.rule.predicts = 0;
	waits(&a, IN, QUEUE);
	s = pauses_slot(IN);
	s.thresholds = (struct pfc_params){ .pause_ns = 40 * MS, .xoff = QUEUE + in.len, .gap = 2000 };
	pauses_slot_set(IN, &s);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER);
	expect_eq(told(IN).told.xoff, 0);
	fixture("one byte more");
	waits(&a, IN, QUEUE + 1);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_TOLD);
	expect_eq(told(IN).told.xoff, 1);
	expect_eq(told(IN).packets.xoffs, 1);
	expect_pause(&a, pfc_ns_quanta(40 * MS, ARRIVE_BPS));
	fixture("it is refreshed when half of it is over");
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_TOLD);
	expect_eq(told(IN).packets.refreshes, 1);
	expect_pause(&a, pfc_ns_quanta(40 * MS, ARRIVE_BPS));
	fixture("XON");
	waits(&a, IN, QUEUE - 3000);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_TOLD);
	expect_eq(told(IN).packets.xons, 1);
	expect_eq(told(IN).told.xoff, 0);
	expect_pause(&a, 0);
}

/* The threshold follows the free buffer: with alpha 1 a port has half of it. */
Test(pfc_arrive, threshold__is_what_is_free)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();

	a.all.rule.predicts = 0;
	a.all.rule.shared_bytes = 2 * QUEUE + 2 * in.len;
	waits(&a, IN, QUEUE);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER);
	waits(&a, IN, QUEUE + 1);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_TOLD);
	expect_eq(told(IN).packets.xoffs, 1);
}

/* 63 ports, all in one queue: Algorithm 2 marks those that hold more than R of it, except the one whose packet it is. */
Test(pfc_arrive, ports__as_many_as_there_are_slots)
{
	struct arrivals a = arrivals_make();
	struct frame in = packet();
	struct pfc_slot s;
	__u32 slot, marked;

	a.all.rule.slots = PFC_SLOTS;
	a.all.rule.predicts = ~1ULL;
	for (slot = 1; slot < PFC_SLOTS; slot++) {
		if (slot != IN && slot != SLOT)
			port_pauses(OTHER_IFINDEX + slot, slot);
		waits(&a, slot, 2000);
	}
	arrive(&a, &in);
	for (slot = 1; slot < PFC_SLOTS; slot++)
		waits(&a, slot, 3000);
	arrive(&a, &in);
	s = pauses_slot(SLOT);
	marked = __builtin_popcountll(s.arrivals[LOSSLESS].marked) + told(IN).packets.predicted;
	/* 0.8 of 63 are 50.4; the port at hand has one packet more. */
	expect_between(marked, 50, 51);
	expect_eq(s.arrivals[LOSSLESS].marked & 1, 0);
	expect_eq(s.arrivals[LOSSLESS].increment[63], 1000);
	expect_eq(s.arrivals[LOSSLESS].last[63], 3000);
}
