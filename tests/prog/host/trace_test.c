// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/trace.bpf.h: records of what leaves, and which packets are recorded at all. */
#include <arpa/inet.h>
#include <string.h>

#include "sluice/cc/rx.h"
#include "trace_case.h"

TestSuite(trace, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(trace_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

static void fq(void)
{
	struct port port = port_usual();

	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
}

/* --- egress --- */

Test(trace, departure__is_of_the_packet_as_it_leaves)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000, .tos = 0x68 };
		struct frame in = frame_of(s);
		struct result res;
		struct trace r;
		struct flow f;

		flow_runs_of(s, 5000);
		trace_all();
		res = run(EGRESS, &in);
		r = the_record();
		f = flow_get(s);
		expect_record(&r, s, &res.out);
		cr_assert(res.out.len > in.len);
		expect_eq(r.event, TRACE_DEPARTURE);
		expect_eq(r.verdict, STAT_TX_DATA);
		expect_eq(r.departure.tx_bytes, f.tx.bytes);
		expect_eq(r.departure.w_bytes, q12_to_bytes(f.cc.w));
		expect_eq(r.departure.rate_bps, f.cc.rate_bps);
		expect_eq(r.departure.held, HELD_NOT);
		expect_eq(r.departure.departure_ns, r.ns);
		expect_eq(r.departure.priority, 3);
		expect_eq(r.departure.inflight_known, 0);
		expect_counted(STAT_TX_DATA);
	}
}

Test(trace, departure__short_packets_are_kept_whole)
{
	struct frame in = tcp();
	struct result res;
	struct trace r;

	flow_runs_of(a_to_b, 5000);
	trace_all();
	res = run(EGRESS, &in);
	r = the_record();
	expect_record(&r, a_to_b, &res.out);
	expect_eq(r.verdict, STAT_TX_PLAIN_ACK);
	expect_eq(r.kept_bytes, in.len);
}

Test(trace, departure__held_by_the_rate)
{
	struct frame in = frame_of(a_to_b);
	struct result res;
	struct trace r;
	struct flow f;

	fq();
	flow_runs_of(a_to_b, 5000);
	f = flow_get(a_to_b);
	f.tx.clock_ns = clock_ns() + 5 * MS;
	flow_set(a_to_b, &f);
	trace_all();
	res = run(EGRESS, &in);
	r = the_record();
	expect_eq(r.departure.held, HELD_RATE);
	expect_eq(r.departure.departure_ns, res.ctx.tstamp);
	cr_assert(r.departure.departure_ns > r.ns);
}

/* In mode observe nothing is decided. */
Test(trace, departure__held_by_its_socket)
{
	struct frame in = frame_of(a_to_b);
	__u64 tstamp;
	struct trace r;

	fq();
	control_set(MODE_OBSERVE, 0);
	flow_runs_of(a_to_b, 5000);
	trace_all();
	tstamp = clock_ns() + 100 * MS;
	run(EGRESS, &in, .tstamp = tstamp);
	r = the_record();
	expect_eq(r.departure.held, HELD_SOCKET);
	expect_eq(r.departure.departure_ns, tstamp);
	fixture("more than a second ahead, as SO_TXTIME and a clock behind it may be");
	tstamp = clock_ns() + 3000 * MS;
	run(EGRESS, &in, .tstamp = tstamp);
	r = the_record();
	expect_eq(r.departure.departure_ns, tstamp);
}

Test(trace, departure__held_by_a_pause)
{
	struct pfc_port pauses = { .flags = PFC_F_OBEY, .slot = 1, .lossless = 1 << 3 };
	struct frame data = tcp(.payload = 1000, .tos = 0x60), ack = tcp(.tos = 0x60);
	__u64 now, until;
	struct trace r;

	fq();
	pfc_obey_init(&pauses.params, WORLD_BPS);
	pauses.params.storm_ns = 5000 * MS;
	pauses_set(WORLD_IFINDEX, &pauses);
	pauses_count(1);
	flow_runs_of((struct ip_spec){ .payload = 1000, .tos = 0x60 }, 5000);
	now = clock_ns();
	until = now + 200 * MS;
	pauses = pauses_get(WORLD_IFINDEX);
	pauses.obey[3] = (struct pfc_obey){ .until_ns = until, .since_ns = now, .heard_ns = now, .state = PFC_PAUSED };
	pauses_set(WORLD_IFINDEX, &pauses);
	trace_all();
	run(EGRESS, &data);
	r = the_record();
	expect_eq(r.departure.held, HELD_PAUSE);
	expect_eq(r.departure.priority, 3);
	cr_assert(r.departure.departure_ns >= until);
	run(EGRESS, &ack);
	r = the_record();
	expect_eq(r.departure.held, HELD_PAUSE);
	expect_eq(r.departure.departure_ns, until);
}

Test(trace, drop__is_of_the_packet_as_it_came)
{
	struct ip_spec s = { .udp = 1, .payload = 1000 };
	struct frame in = frame_of(s);
	struct trace r;
	struct flow f;

	fq();
	flow_runs_of(s, 5000);
	f = flow_get(s);
	f.tx.clock_ns = clock_ns() + 900 * MS;
	flow_set(s, &f);
	trace_all();
	expect_verdict(run(EGRESS, &in), VERDICT_DROP);
	r = the_record();
	expect_record(&r, s, &in);
	expect_eq(r.event, TRACE_DROP);
	expect_eq(r.verdict, STAT_TX_HORIZON);
	expect_between(r.departure.departure_ns, r.ns + 500 * MS, f.tx.clock_ns);
}

Test(trace, probe__is_of_what_is_sent_to_ask)
{
	struct frame in = frame_of(a_to_b);
	struct result res;
	struct trace r;

	flow_runs_of(a_to_b, 5000);
	trace_all();
	res = run(EGRESS, &in, .clone = 1);
	r = the_record();
	expect_record(&r, a_to_b, &res.out);
	expect_eq(r.event, TRACE_PROBE);
	expect_eq(r.verdict, STAT_PROBE_SENT);
	expect_eq(r.departure.tx_bytes, flow_get(a_to_b).tx.bytes);
}

/* --- which --- */

static void both_happen(void)
{
	struct frame out = frame_of(a_to_b), in = echo(0, 0, 500);

	run(EGRESS, &out);
	run(sink, &in);
}

SinkTest(trace, nothing__unless_somebody_asks)
{
	struct control w = wish();

	flow_runs_of(a_to_b, 1000000);
	both_happen();
	expect_eq(records(), 0);
	trace_set(&w);
	both_happen();
	expect_eq(records(), 2);
	fixture("who asked is gone");
	w.trace_until_ns = clock_ns();
	trace_set(&w);
	both_happen();
	expect_eq(records(), 0);
	fixture("off");
	w = wish();
	w.trace_on = 0;
	trace_set(&w);
	both_happen();
	expect_eq(records(), 0);
}

SinkTest(trace, filter__by_port_and_peer)
{
	static const struct {
		__u16 port;
		__u8 addr[16], mask[16];
		unsigned int want;
	} tries[] = {
		{ PORT_A, {}, {}, 2 },
		{ PORT_B, {}, {}, 2 },
		{ PORT_B + 1, {}, {}, 0 },
		{ 0, { [10] = 0xff, 0xff, 10, 1, 0, 2 }, { [0 ... 15] = 0xff }, 2 },
		{ 0, { [10] = 0xff, 0xff, 10, 1, 0, 1 }, { [0 ... 15] = 0xff }, 0 },
		{ 0, { [10] = 0xff, 0xff, 10, 1 }, { [0 ... 13] = 0xff }, 2 },
		{ 0, { [10] = 0xff, 0xff, 10, 2 }, { [0 ... 13] = 0xff }, 0 },
		{ PORT_B + 1, { [10] = 0xff, 0xff, 10, 1 }, { [0 ... 13] = 0xff }, 0 },
	};
	struct control w = wish();
	unsigned int i;

	flow_runs_of(a_to_b, 1000000);
	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		fixture("filter %u", i);
		w.trace_port = htons(tries[i].port);
		memcpy(w.trace_addr.b, tries[i].addr, 16);
		memcpy(w.trace_mask.b, tries[i].mask, 16);
		trace_set(&w);
		both_happen();
		expect_eq(records(), tries[i].want);
	}
}

/* 600 by chance 1/3: 200, with a deviation of 11.5. */
Test(trace, every__is_by_chance)
{
	struct frame out = frame_of(a_to_b);
	struct control w = wish();
	unsigned int i;

	flow_runs_of(a_to_b, 1000000);
	w.trace_every = 3;
	trace_set(&w);
	for (i = 0; i < 600; i++)
		run(EGRESS, &out);
	expect_between(records(), 130, 270);
}

Test(trace, lost__is_counted)
{
	struct frame out = frame_of(a_to_b);
	unsigned int room = (1 << 20) / (sizeof(struct trace) + 8), i;

	flow_runs_of(a_to_b, 1000000);
	run(EGRESS, &out);
	expect_counted(STAT_TX_DATA);
	trace_all();
	for (i = 0; i < room; i++)
		run(EGRESS, &out);
	expect_that(world_ended());
	run(EGRESS, &out);
	run(EGRESS, &out);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TRACE_LOST, STAT_TRACE_LOST);
	expect_between(records(), room - 1, room);
	run(EGRESS, &out);
	expect_eq(records(), 1);
	expect_counted(STAT_TX_DATA);
}
