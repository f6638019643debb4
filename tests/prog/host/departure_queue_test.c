// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/departure.bpf.h: what egress notes for the qdisc `sluice` (note.h), which spaces packets that wait by R. */
#include "egress_case.h"

TestSuite(departure_queue, .init = egress_make, .fini = world_drop, .timeout = 60);

static void enforce_with_sluice(void)
{
	struct port port = port_usual();

	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT | PORT_F_QUEUE;
	port_change(WORLD_IFINDEX, &port);
}

Test(departure_queue, departure_queue__is_told_the_rate_and_how_long_a_datagram_may_wait)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1, .payload = 1000 };
		struct frame in = frame_of(s);
		struct queue_note n;
		struct result r;

		enforce_with_sluice();
		horizon_set(100 * MS, 0);
		hosts_strip();
		run(EGRESS, &in);
		clock_at(s, clock_ns() + 50 * MS, 100000000);
		hosts_strip();
		r = run(EGRESS, &in, .note = QUEUE_NOTE_MARK | 5);
		n = note_of(&r);
		expect_eq(queue_note_is_valid(&n), 1);
		expect_eq(n.kbps, 100000);
		expect_eq(n.voq_low | n.voq_high, 0);
		expect_between(queue_note_patience_ns(n.mark), 200 * MS, 201 * MS);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_PACED);
	}
}

/* TCP has its window; what its stack asks for, and times of sockets, are not R's. */
Test(departure_queue, departure_queue__is_told_nothing_of_times_that_are_not_rs)
{
	struct ip_spec t = { .payload = 1000 }, u = { .udp = 1, .payload = 1000 };
	struct frame tcp = frame_of(t), udp = frame_of(u);
	struct queue_note n;
	struct result r;

	enforce_with_sluice();
	hosts_strip();
	run(EGRESS, &tcp);
	clock_at(t, clock_ns() + 5 * MS, 100000000);
	r = run(EGRESS, &tcp);
	n = note_of(&r);
	expect_eq(n.kbps, 100000);
	expect_eq(n.mark, QUEUE_NOTE_MARK);
	r = run(EGRESS, &tcp, .tstamp = clock_ns() + 500 * MS);
	expect_eq(note_of(&r).mark, 0);
	r = run(EGRESS, &udp, .tstamp = clock_ns() + 500 * MS);
	expect_eq(note_of(&r).mark, 0);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_PACED, STAT_PACED, STAT_PACED,
		       STAT_HORIZON);
}
