// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/trace.bpf.h: which decisions become records, and that a record says what was decided, with the packet. */
#include <arpa/inet.h>
#include <string.h>

#include "sluice/cc/rx.h"
#include "world.h"

TestSuite(trace, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(trace_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

#define MS 1000000ULL
#define MOST 4000

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

static const struct ip_spec a_to_b = { .payload = 1000 };

static struct control wish(void)
{
	return (struct control){ .trace_on = 1, .trace_every = 1, .trace_until_ns = clock_ns() + 60 * NSEC_PER_SEC };
}

static unsigned int records(void)
{
	static struct trace r[MOST];

	return traces_taken(r, MOST);
}

static void trace_all(void)
{
	struct control w = wish();

	trace_set(&w);
	records();
}

/* The only record since the last time. */
static struct trace the_record(void)
{
	static struct trace r[2];

	expect_eq(traces_taken(r, 2), 1);
	return r[0];
}

/* It is of the flow A to B, now, and has so much of this frame as there is room for. */
static void expect_record(const struct trace *r, struct ip_spec s, const struct frame *f)
{
	struct flow_key k = flow_key_of(s);
	unsigned int kept = f->len < TRACE_PACKET_BYTES ? f->len : TRACE_PACKET_BYTES;

	expect_between(r->ns, clock_ns() - 10 * NSEC_PER_SEC, clock_ns());
	cr_assert(!memcmp(&r->key, &k, sizeof(k)), "%sthe flow is another one", world_fixture());
	expect_eq(r->ifindex, WORLD_IFINDEX);
	expect_eq(r->packet_bytes, f->len);
	expect_eq(r->kept_bytes, kept);
	cr_assert(!memcmp(r->packet, f->b, kept), "%sthe packet is another one", world_fixture());
}

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
	FOR_V4_AND_V6(v6) {
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

/* What observes has decided nothing. */
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

/* --- feedback --- */

static __u64 hop_of(__u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes)
{
	return 12ULL << 60 | (ts_ns & 0xffffff) << 36 | (tx_bytes / 128 & 0xfffff) << 16 | qlen_bytes / 80;
}

/* The nth echo of a path of two hops, of which the second one is full. */
static struct frame echo(int v6, unsigned int n, unsigned int payload)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = payload);

	return wrap(&inner, .echo = 1, .echo_hops = 2, .echo_path = 2 << 12 | 0x123, .echo_seq = 1000 * (n + 1),
		    .echo_hop = { hop_of(n * 1000000, n * 6250000, 8000), hop_of(n * 1000000, n * 12500000, 16000) });
}

SinkTest(trace, feedback__has_what_was_decided_and_by_what)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct flow before, f;
		struct frame in;
		struct trace r;

		flow_runs_of(s, 1000000);
		trace_all();
		in = echo(v6, 0, 500);
		run(sink, &in);
		r = the_record();
		expect_eq(r.event, TRACE_FEEDBACK);
		expect_eq(r.feedback.kind, HPCC_FIRST);
		expect_eq(r.feedback.compared, 0);
		before = flow_get(s);
		before.cc.last_update_seq = 1; /* the first round has ended */
		flow_set(s, &before);
		in = echo(v6, 1, 500);
		run(sink, &in);
		r = the_record();
		f = flow_get(s);
		expect_record(&r, s, &in); /* before it was stripped */
		expect_eq(r.feedback.kind, HPCC_FULL);
		expect_eq(r.feedback.form, RX_HOPS);
		expect_eq(r.feedback.ack.seq, 2000);
		expect_eq(r.feedback.ack.snd_nxt, f.tx.bytes);
		expect_eq(r.feedback.ack.hops, 2);
		expect_eq(r.feedback.ack.path_id, 0x123);
		expect_eq(r.feedback.ack.hop[1].qlen_bytes, 16000);
		expect_eq(r.feedback.ack.hop[0].bps, f.cc.last[0].bps);
		expect_eq(r.feedback.compared, 1);
		expect_eq(r.feedback.tx_before_bytes[1], before.cc.last[1].tx_bytes);
		expect_eq(r.feedback.ts_before_ns[1], before.cc.last[1].ts_ns);
		expect_eq(r.feedback.bottleneck, 1);
		expect_eq(r.feedback.w_before, before.cc.w);
		expect_eq(r.feedback.rate_before_bps, before.cc.rate_bps);
		expect_eq(r.feedback.w, f.cc.w);
		expect_eq(r.feedback.wc, f.cc.wc);
		expect_eq(r.feedback.u, f.cc.u);
		expect_eq(r.feedback.rate_bps, f.cc.rate_bps);
		expect_eq(r.feedback.t_ns, f.params.t_ns);
		expect_eq(r.feedback.w_ai, before.params.w_ai);
		expect_eq(r.feedback.flows, before.rx.flows);
		cr_assert(r.feedback.w != r.feedback.w_before);
		in = echo(v6, 1, 500); /* nothing new */
		run(sink, &in);
		r = the_record();
		expect_eq(r.feedback.kind, HPCC_SKIPPED);
		expect_eq(r.feedback.w, f.cc.w);
		expect_that(world_ended());
	}
}

SinkTest(trace, feedback__that_is_a_window)
{
	struct frame inner = tcp(.reply = 1), in;
	struct trace r;

	flow_runs_of(a_to_b, 1000000);
	trace_all();
	in = wrap(&inner, .echo = 1, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_hop = { 50000ULL << 32 });
	run(sink, &in);
	r = the_record();
	expect_record(&r, a_to_b, &in);
	expect_eq(r.feedback.form, RX_WINDOW);
	expect_eq(q12_to_bytes(r.feedback.w), 50000);
}

SinkTest(trace, feedback__by_the_answer_to_a_probe)
{
	struct frame data = frame_of(a_to_b), probe = frame_probe(&data, 0xc000, 1000), in;
	struct host h;
	struct trace r;

	flow_runs_of(a_to_b, 1000000);
	h = host_get(0, HOST_B);
	h.asked_ns = clock_ns();
	host_set(0, HOST_B, &h);
	trace_all();
	in = frame_turned(probe);
	put16(in.b + at_telem(&in), 1 << 12 | 0x123);
	put64(in.b + at_hop(&in, 0), hop_of(1000000, 1000, 0));
	run(sink, &in);
	r = the_record();
	expect_record(&r, a_to_b, &in);
	expect_eq(r.feedback.probe, 1);
	expect_eq(r.feedback.ack.hops, 1);
	expect_eq(r.feedback.kind, HPCC_FIRST);
}

/* One message for three flows, of which one is none of ours: two records with the same packet. */
SinkTest(trace, feedback__for_several_flows)
{
	__u8 at[12 + 3 * 24] = { 0x98, (sizeof(at) - 4) / 4, 0, 59, 0x44, 3 };
	struct trace r[3];
	struct frame in;
	unsigned int k;

	for (k = 0; k < 2; k++)
		flow_runs_of((struct ip_spec){ .payload = 1000, .sport = PORT_A + k }, 1000000);
	for (k = 0; k < 3; k++) {
		__u8 *one = at + 12 + 24 * k;

		put16(one, k == 1 ? PORT_A + 7 : PORT_A + k / 2);
		put16(one + 2, PORT_B);
		one[4] = 6;
		one[5] = 4; /* W */
		put32(one + 8, 1000);
		put32(one + 16, 40000 + k);
	}
	in = frame_of_batch(0, at, sizeof(at));
	trace_all();
	run(sink, &in);
	expect_eq(traces_taken(r, 3), 2);
	for (k = 0; k < 2; k++) {
		expect_record(&r[k], (struct ip_spec){ .sport = PORT_A + k }, &in);
		expect_eq(q12_to_bytes(r[k].feedback.w), 40000 + 2 * k);
	}
}

/* Data that brings no feedback is no decision, nor is feedback that was not looked at. */
SinkTest(trace, feedback__only_what_was_decided)
{
	struct frame inner = tcp(.reply = 1, .payload = 500), in = wrap(&inner, .room = 5, .nhop = 1, .seq = 1);
	struct flow f;

	flow_runs_of(a_to_b, 1000000);
	trace_all();
	run(sink, &in);
	expect_eq(records(), 0);
	f = flow_get(a_to_b);
	f.rx.lock = 1;
	flow_set(a_to_b, &f);
	in = echo(0, 0, 500);
	run(sink, &in);
	expect_eq(records(), 0);
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
