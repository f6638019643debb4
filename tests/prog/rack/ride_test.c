// SPDX-License-Identifier: GPL-2.0-only
/* Credit that comes along: with echoes (bpf/host/echo.bpf.h, learn.bpf.h) and with companions (answer.bpf.h). */
#include <string.h>

#include "../host/companion_case.h"
#include "credit_case.h"

#define F_RIDE 32
#define CREDIT 16 /* flags of a VOQ block */
#define BLOCK_DUE 32
#define ARRIVAL 2 /* flags of credit */
#define DUE 1

TestSuite(ride, .init = grant_make, .fini = world_drop, .timeout = 60);
TestSuite(ride_xdp, .init = grant_make, .fini = world_drop, .timeout = 60);

/* A's packet to B, which has an echo to take along. */
static struct result ack_leaves(void)
{
	struct frame out = tcp(.payload = 0);

	return run(EGRESS, &out);
}

static __u64 ride_of(const struct frame *f)
{
	const __u8 *head = f->b + at_shim(f) + 4;

	return get64(f->b + at_echo(f) + 12 + 8 * (head[3] - 1));
}

SinkTest(ride, echo__takes_credit_along)
{
	struct frame in = arriving(.rides = 1);
	struct hiercc_due d;
	struct result r;
	__u64 ride;

	run(sink, &in);
	clock_pass(1000000);
	r = ack_leaves();
	expect_eq(r.out.b[at_shim(&r.out) + 6], 1 | F_RIDE);
	expect_eq(r.out.b[at_shim(&r.out) + 7], 2);
	ride = ride_of(&r.out);
	d = credit_get(SLOT).due;
	/* It was a moment to grant, too: 12,500 bytes. */
	expect_between(d.sent - d.granted, C0 - 14 * DELTA, C0 - 9 * DELTA);
	expect_eq(ride >> 32, (__u32)d.granted);
	expect_eq(ride & 0xffff, 128 << 8 | ARRIVAL | DUE);
	expect_between(ride >> 16 & 0xffff, ((clock_ns() - 2000) / HIERCC_AT_NS) & 0xffff,
		       (clock_ns() / HIERCC_AT_NS) & 0xffff);
	expect_eq(credit_get(SLOT).told.granted, d.granted);
	expect_eq(ring_get(RING).ring.lock_ns, 0);
	/* The echo in front of it is as ever. */
	expect_eq(get64(r.out.b + at_echo(&r.out) + 12), 0x1111);
}

/* A rack that does not announce support gets messages. */
SinkTest(ride, echo__without_credit)
{
	struct frame in = arriving();
	struct credit_ring ring;
	struct arrival a;
	struct result r;
	int i;

	for (i = 0; i < 4; i++) {
		fixture("case %d", i);
		run(sink, &in);
		a = arrival_get(SLOT);
		ring = ring_get(RING);
		if (i == 1)
			a.watched = 0;
		if (i == 2)
			a.key.addr.b[15] ^= 1; /* another VOQ's by now */
		if (i == 3)
			ring.ring.lease_ns = 1;
		arrival_set(SLOT, &a);
		ring_set(RING, &ring);
		r = ack_leaves();
		expect_eq(r.out.b[at_shim(&r.out) + 6], 1);
		expect_eq(r.out.b[at_shim(&r.out) + 7], 1);
		ring_begin();
		slot_begin(SLOT, TOR);
		in = arriving(.rides = 1);
	}
}

/* Another CPU is at the port: the credit that it has granted is told all the same. */
SinkTest(ride, echo__beside_another_cpu)
{
	struct frame in = arriving(.rides = 1);
	struct credit_ring ring;
	struct result r;

	run(sink, &in);
	ring = ring_get(RING);
	ring.ring.lock_ns = clock_ns();
	ring_set(RING, &ring);
	r = ack_leaves();
	expect_eq(r.out.b[at_shim(&r.out) + 6], 1 | F_RIDE);
	expect_eq(ride_of(&r.out) >> 32, (__u32)credit_get(SLOT).due.granted);
	expect_eq(ring_get(RING).ring.lock_ns, ring.ring.lock_ns);
}

#define SENT 1000000
#define GRANTED 900000

static struct voq_key voq_make(void)
{
	struct voq_key k = voq_key_of(0, HOST_B, 128);
	struct voq v = { .epoch = 1 };

	v.voq.sent = HIERCC_TOTAL_FIRST + SENT;
	v.voq.credit = HIERCC_TOTAL_FIRST + GRANTED;
	v.voq.last_ns = v.voq.credit_ns = clock_ns();
	v.params = arrival_get(SLOT).params;
	v.hop_params = (struct hiercc_hop_params){ .rate_line = RATE,
						   .rate_min = 1,
						   .rtt_ns = ROUND_NS,
						   .period_ns = ROUND_NS,
						   .beta = Q24_ONE / 5,
						   .q0 = 1000,
						   .v_high = 3000,
						   .v_low = 2000,
						   .q_line = 1 };
	voq_set(k, &v);
	return k;
}

static __u64 ride_to(__u32 granted, __u8 flags)
{
	return (__u64)granted << 32 | 7ULL << 16 | 128 << 8 | flags;
}

SinkTest(ride, echo__brings_credit)
{
	struct voq_key k = voq_make();
	struct frame inner = tcp(.reply = 1, .payload = 100), in;
	struct result r;

	flow_runs_of((struct ip_spec){ .payload = 100 }, 1000000);
	in = wrap(&inner, .echo = 1, .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 },
		  .ride = ride_to(GRANTED + 5000, ARRIVAL | DUE));
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_RIDE, STAT_CREDIT_TAKEN);
	expect_eq(voq_get(k).voq.credit, HIERCC_TOTAL_FIRST + GRANTED + 5000);
	expect_eq(voq_get(k).voq.credit_at, 7);
	expect_eq(flow_get(a_to_b).cc.w >> 12, 100000);
	/* Once more, and more than was ever sent. */
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_RIDE, STAT_CREDIT_OLD);
	in = wrap(&inner, .echo = 1, .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 },
		  .ride = ride_to(SENT + 50000, ARRIVAL));
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_RIDE, STAT_CREDIT_AHEAD);
	expect_eq(voq_get(k).voq.credit, HIERCC_TOTAL_FIRST + GRANTED + 5000);
}

/* Without a hop in front of it; and a header that says that there is one, where there is nothing. */
SinkTest(ride, echo__of_nothing_else)
{
	struct voq_key k = voq_make();
	struct frame inner = tcp(.reply = 1, .payload = 100), in;
	struct result r;

	in = wrap(&inner, .room = 1, .echo = 1, .ride = ride_to(GRANTED + 5000, ARRIVAL));
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_eq(voq_get(k).voq.credit, HIERCC_TOTAL_FIRST + GRANTED + 5000);
	in = wrap(&inner, .room = 1, .echo = 1);
	in.b[at_shim(&in) + 6] |= F_RIDE;
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	in = wrap(&inner, .room = 1);
	in.b[at_shim(&in) + 6] |= F_RIDE;
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_eq(voq_get(k).voq.credit, HIERCC_TOTAL_FIRST + GRANTED + 5000);
}

/* The tag covers it, and what was heard before brings nothing. */
SinkTest(ride, echo__with_a_tag)
{
	struct voq_key k = voq_make();
	struct frame inner = tcp(.reply = 1, .payload = 100), in, wrong;
	__u64 seq = clock_ns();

	keys_set(&key, 1);
	flow_runs_of((struct ip_spec){ .payload = 100 }, 1000000);
	in = wrap(&inner, .echo = 1, .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 },
		  .ride = ride_to(GRANTED + 5000, ARRIVAL), .key = &key, .auth_seq = seq);
	wrong = in;
	wrong.b[at_echo(&in) + 12 + 8 + 3] ^= 1;
	run(sink, &wrong);
	expect_counted(STAT_RX_BAD_AUTH);
	run(sink, &in);
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_RIDE, STAT_CREDIT_TAKEN);
	run(sink, &in);
	expect_eq(voq_get(k).voq.credit, HIERCC_TOTAL_FIRST + GRANTED + 5000);
}

static struct frame companion_arriving(__u8 flags)
{
	struct frame data = tcp(.reply = 1, .payload = 100);

	return companion_with_voq(companion_of(&data, 2, 1), TOR, S_FIRST, 7, flags);
}

SinkTest(ride, companion__takes_credit_back)
{
	struct frame in = companion_arriving(BESIDE | RIDES);
	const __u8 *block;
	struct result r;

	r = run(sink, &in);
	block = r.out.b + companion_at(&r.out) + COMPANION_VOQ;
	expect_eq(get32(block), TOR);
	expect_eq(get32(block + 4), (__u32)credit_get(SLOT).due.granted);
	expect_between(get16(block + 8), ((clock_ns() - 2000) / HIERCC_AT_NS) & 0xffff,
		       (clock_ns() / HIERCC_AT_NS) & 0xffff);
	expect_eq(block[10], 128);
	expect_eq(block[11], BESIDE | RIDES | CREDIT | BLOCK_DUE);
	expect_eq(credit_get(SLOT).told.granted, credit_get(SLOT).due.granted);
	/* A sender that does not announce support, and what a switch has filled in. */
	in = companion_arriving(BESIDE);
	r = run(sink, &in);
	expect_eq(r.out.b[companion_at(&r.out) + COMPANION_VOQ + 11], BESIDE);
	expect_eq(get32(r.out.b + companion_at(&r.out) + COMPANION_VOQ + 4), S_FIRST);
	in = companion_arriving(BESIDE | RIDES | 4);
	r = run(sink, &in);
	expect_eq(r.out.b[companion_at(&r.out) + COMPANION_VOQ + 11], BESIDE | RIDES | 4);
}

SinkTest(ride, companion__brings_credit)
{
	struct frame data = tcp(.reply = 1, .payload = 100), in;
	struct voq_key k = voq_make();
	struct host h = { .heard_ns = clock_ns(), .asked_ns = clock_ns(), .capable = 1 };

	flow_runs_of((struct ip_spec){ .payload = 100 }, 1000000);
	host_set(0, HOST_B, &h);
	in = companion_of(&data, 3, 1);
	in = companion_with_voq(in, 1, GRANTED + 5000, 7, BESIDE | RIDES | CREDIT | BLOCK_DUE);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION, STAT_FB_SKIPPED, STAT_RX_RIDE, STAT_CREDIT_TAKEN);
	expect_eq(voq_get(k).voq.credit, HIERCC_TOTAL_FIRST + GRANTED + 5000);
}
