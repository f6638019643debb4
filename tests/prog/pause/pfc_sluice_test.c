// SPDX-License-Identifier: GPL-2.0-only
/* bpf/pause/pfc.bpf.h: where the qdisc `sluice` obeys pauses it is told of them, and of each packet's priority. */
#include "pfc_case.h"

TestSuite(pfc_sluice, .init = pfc_make, .fini = world_drop, .timeout = 60);

static void queue_obeys(void)
{
	struct queue_pauses none = { .qdiscs = 1 };
	struct port port = port_usual();

	port_obeys(MODE_ENFORCE);
	port.flags |= PORT_F_EDT | PORT_F_QUEUE;
	port_change(WORLD_IFINDEX, &port);
	queue_pauses_set(WORLD_IFINDEX, &none);
}

static void expect_note(const struct result *r, __u32 priorities, __u32 kbps)
{
	struct queue_note n = note_of(r);

	expect_eq(queue_note_is_valid(&n), 1);
	expect_eq(queue_note_priorities(n.mark), priorities);
	expect_eq(n.kbps, kbps);
	expect_eq(n.voq_low | n.voq_high, 0);
}

Test(pfc_sluice, pause__and_its_end_are_told_to_the_qdisc)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000), xon = frame_pfc(1 << LOSSLESS, LOSSLESS, 0);
	__u32 i;

	queue_obeys();
	run(INGRESS, &f);
	expect_eq(queue_pauses_get(WORLD_IFINDEX).until_ns[LOSSLESS],
		  pauses_get(WORLD_IFINDEX).obey[LOSSLESS].until_ns);
	for (i = 0; i < PFC_PRIORITIES; i++)
		if (i != LOSSLESS)
			expect_eq(queue_pauses_get(WORLD_IFINDEX).until_ns[i], 0);
	run(INGRESS, &xon);
	expect_eq(queue_pauses_get(WORLD_IFINDEX).until_ns[LOSSLESS], 0);
	expect_counted(STAT_PFC_RX, STAT_PFC_RX);
}

/* The watchdog's end of a storm is that of the qdisc, too. */
Test(pfc_sluice, pause__is_no_longer_than_the_watchdog_allows)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000);
	struct pfc_port p;

	queue_obeys();
	p = pauses_get(WORLD_IFINDEX);
	p.params.storm_ns = 1000;
	pauses_set(WORLD_IFINDEX, &p);
	run(INGRESS, &f);
	expect_eq(queue_pauses_get(WORLD_IFINDEX).until_ns[LOSSLESS],
		  pauses_get(WORLD_IFINDEX).obey[LOSSLESS].since_ns + 1000);
	expect_counted(STAT_PFC_RX);
}

/* A flow keeps its pace: its clock does not move to the end of the pause. */
Test(pfc_sluice, paused_flow__is_left_to_the_qdisc)
{
	int is_udp;

	for (is_udp = 0; is_udp < 2; is_udp++) {
		struct ip_spec s = { .udp = is_udp, .payload = 1000, .tos = TOS };
		struct frame in = frame_of(s);
		struct result r;
		struct flow f;

		fixture(is_udp ? "UDP" : "TCP");
		queue_obeys();
		hosts_strip();
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		f = flow_get(s);
		f.tx.clock_ns = 0;
		f.cc.rate_bps = 100000000;
		flow_set(s, &f);
		pause_for(500 * MS);
		r = run(EGRESS, &in);
		expect_eq(r.ctx.tstamp, 0);
		expect_note(&r, 1 << LOSSLESS, 100000);
		expect_eq(flow_get(s).tx.held, HELD_PAUSE);
		expect_counted(STAT_TX_DATA, STAT_PFC_HELD);
	}
}

/* A pause may begin while it waits, so each packet of the priority has the note; what has no flow has nothing else in it. */
Test(pfc_sluice, packet__has_its_priority_without_a_pause)
{
	struct frame stranger = udp(.to = HOST_STRANGER, .payload = 10, .tos = TOS), other = udp(.payload = 10);
	struct result r;

	queue_obeys();
	r = run(EGRESS, &stranger, .note = 7);
	expect_note(&r, 1 << LOSSLESS, 0);
	r = run(HOP_MAP, &stranger, .note = QUEUE_NOTE_MARK | 7);
	expect_note(&r, 1 << LOSSLESS, 0);
	expect_eq(queue_note_patience_ns(note_of(&r).mark), 0);
	r = run(HOP_MAP, &other);
	expect_eq(note_of(&r).mark, 0);
	expect_counted(STAT_TX_NO_PEER, STAT_HOP_OTHER, STAT_HOP_OTHER);
}
