// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/grant.bpf.h: a port grants credit with each packet that arrives. */
#include <string.h>

#include "credit_case.h"

TestSuite(grant, .init = grant_make, .fini = world_drop, .timeout = 60);
TestSuite(grant_xdp, .init = grant_make, .fini = world_drop, .timeout = 60);

static struct hiercc_due due(void)
{
	return credit_get(SLOT).due;
}

static __u64 owed(__u32 slot)
{
	struct hiercc_due d = credit_get(slot).due;

	return d.sent > d.granted ? d.sent - d.granted : 0;
}

static __u32 asks_of_daemon(void)
{
	struct arrival_ask ask[64];
	unsigned int n = asks_to_tell(ask, 64), i;

	for (i = 0; i < n; i++)
		expect_eq(ask[i].slot, SLOT);
	return n;
}

/* S as it begins is owed but for what was sent before, and the port pays it as time passes. */
SinkTest(grant, packet__brings_credit)
{
	struct frame in = arriving(.total = S_FIRST);
	__u64 before;

	run(sink, &in);
	expect_counted(STAT_RX_DATA);
	expect_eq(due().sent, HIERCC_TOTAL_FIRST + S_FIRST);
	expect_between(owed(SLOT), C0 - 2 * DELTA, C0);
	before = due().granted;
	clock_pass(1000000); /* 12,500 bytes */
	in = arriving(.total = S_FIRST + in.len);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_ARRIVAL_ASK);
	expect_between(due().granted - before, 11 * DELTA, 13 * DELTA);
	expect_eq(ring_get(RING).ring.lock_ns, 0);
	expect_eq(arrival_get(SLOT).claims.jumped + arrival_get(SLOT).claims.cut, 0);
}

SinkTest(grant, without_lease__is_noted_only)
{
	struct credit_ring r = ring_get(RING);
	struct frame in = arriving();

	r.ring.lease_ns = clock_ns();
	ring_set(RING, &r);
	run(sink, &in);
	expect_counted(STAT_RX_DATA);
	expect_eq(due().sent, 0);
	expect_eq(arrival_get(SLOT).seen.packets, 1);
	expect_eq(ring_get(RING).ring.lock_ns, 0);
}

/* Of a port without a ring. */
SinkTest(grant, without_ring__is_noted_only)
{
	struct arrival a = arrival_get(SLOT);
	struct frame in = arriving();

	a.ring = CREDIT_RINGS;
	arrival_set(SLOT, &a);
	run(sink, &in);
	expect_counted(STAT_RX_DATA);
	expect_eq(due().sent, 0);
	expect_eq(arrival_get(SLOT).seen.packets, 1);
}

/* Another CPU is at the port: nobody waits. Its CPU is gone: the lock is broken. */
SinkTest(grant, lock__of_another_and_of_nobody)
{
	struct credit_ring r = ring_get(RING);
	struct frame in = arriving();

	r.ring.lock_ns = clock_ns();
	ring_set(RING, &r);
	run(sink, &in);
	expect_eq(due().sent, 0);
	expect_eq(ring_get(RING).ring.lock_ns, r.ring.lock_ns);
	clock_pass(2 * TRYLOCK_NS);
	run(sink, &in);
	expect_eq(due().sent, HIERCC_TOTAL_FIRST + S_FIRST);
	r = ring_get(RING);
	expect_eq(r.ring.lock_ns, 0);
	expect_eq(r.ring.broken, 1);
}

SinkTest(grant, wrr__is_by_flows)
{
	__u32 total[2] = { S_FIRST, S_FIRST }, i, k;
	__u64 first[2] = {}, got[2];

	slot_begin(SLOT + 1, TOR ^ 1);
	for (k = 0; k < 2; k++) { /* no claim is cut */
		struct arrival a = arrival_get(SLOT + k);

		a.params.debt_max = 1 << 26;
		arrival_set(SLOT + k, &a);
	}
	for (i = 0; i < 400; i++) {
		for (k = 0; k < 2; k++) {
			struct frame in = arriving(.total = total[k], .flows = k ? 1 : 3, .payload = 1400);

			if (k)
				in.b[at_voq(&in) + 3] ^= 1;
			run(sink, &in);
			total[k] += in.len;
			clock_pass(in.len * NSEC_PER_SEC / RATE / 2); /* twice what the port has */
		}
		if (i == 100)
			for (k = 0; k < 2; k++)
				first[k] = credit_get(SLOT + k).due.granted;
	}
	for (k = 0; k < 2; k++)
		got[k] = credit_get(SLOT + k).due.granted - first[k];
	expect_between(100 * got[0] / got[1], 280, 320);
	expect_between(got[0] + got[1], 290 * 1500, 330 * 1500);
}

SinkTest(grant, ring__that_is_full)
{
	struct credit_ring r = ring_get(RING);
	struct frame in = arriving();
	__u32 i;

	for (i = 0; i < HIERCC_RING; i++)
		r.ring.queue[0].slot[i] = 100 + i;
	r.ring.queue[0].count = HIERCC_RING;
	ring_set(RING, &r);
	run(sink, &in);
	r = ring_get(RING);
	expect_eq(r.ring.turned_away, 1);
	expect_counted(STAT_RX_DATA, STAT_ARRIVAL_AWAY);
	expect_eq(due().listed, 0);
	expect_eq(due().sent, HIERCC_TOTAL_FIRST + S_FIRST);
	/* Those are due nothing, and make room. */
	for (i = 0; i < HIERCC_RING; i++) {
		clock_pass(100000);
		run(sink, &in);
	}
	expect_eq(due().granted >= due().sent || due().listed, 1);
}

/* Whatever stands in a ring, nothing else is read or written. */
SinkTest(grant, ring__of_nonsense)
{
	struct frame in = arriving();
	unsigned int i;

	for (i = 0; i < 50; i++) {
		struct credit_ring r = ring_get(RING);

		memset(&r.ring.queue, i & 1 ? 0xff : i, sizeof(r.ring.queue));
		memset(&r.ring.untold, i & 2 ? 0xff : i, sizeof(r.ring.untold));
		r.ring.turn = ~i;
		r.ring.round = -i;
		ring_set(RING, &r);
		clock_pass(1000000);
		run(sink, &in);
		expect_eq(ring_get(RING).ring.lock_ns, 0);
	}
}

/* The daemon is asked once for each port, and again when it has looked. */
SinkTest(grant, quiet__is_told_by_the_daemon)
{
	struct frame in = arriving();
	struct credit_ring r;
	__u32 i;

	for (i = 0; i < 4; i++) {
		run(sink, &in);
		clock_pass(ROUND_NS);
	}
	expect_eq(asks_of_daemon(), 1);
	r = ring_get(RING);
	expect_eq(r.asked, 1);
	r.asked = 0;
	ring_set(RING, &r);
	run(sink, &in);
	expect_eq(asks_of_daemon(), 1);
	/* It has just heard, by whatever way. */
	r = ring_get(RING);
	r.asked = 0;
	ring_set(RING, &r);
	for (i = 0; i < 8; i++) {
		struct credit c = credit_get(SLOT);

		hiercc_told(&c.told, &c.due, clock_ns());
		credit_set(SLOT, &c);
		clock_pass(ROUND_NS / HIERCC_QUIET / 2);
		run(sink, &in);
	}
	expect_eq(asks_of_daemon(), 0);
}

/* Judged by the packet, and counted for the daemon to say. */
SinkTest(grant, claims__that_are_refused)
{
	struct frame in = arriving(.total = S_FIRST);

	run(sink, &in);
	in = arriving(.total = S_FIRST + 10 * C0);
	run(sink, &in);
	expect_eq(arrival_get(SLOT).claims.jumped, 1);
	in = arriving(.total = S_FIRST + 12 * C0);
	run(sink, &in);
	in = arriving(.total = S_FIRST + 14 * C0);
	run(sink, &in);
	expect_eq(arrival_get(SLOT).claims.jumped, 1);
	expect_eq(arrival_get(SLOT).claims.cut, 1);
	expect_eq(arrival_get(SLOT).claims.unseen, 1);
	expect_between(owed(SLOT), 0, 3 * C0);
}
