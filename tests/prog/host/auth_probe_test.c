// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/auth.bpf.h: questions and answers with tags. */
#include "sluice/wire/wire.h"
#include "auth_case.h"

TestSuite(auth_probe, .init = auth_make, .fini = world_drop, .timeout = 120);
TestSuite(auth_probe_xdp, .init = auth_make, .fini = world_drop, .timeout = 120);

static struct frame probe_of_b(int v6, const struct siphash_key *key, __u64 seq)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1);

	return wrap(&inner, .msg = 2, .room = 5, .nhop = 1, .key = key, .auth_seq = seq);
}

SinkTest(auth_probe, probe__is_answered_with_a_tag_of_its_own)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = probe_of_b(v6, &ours[1], 1000), want = frame_turned(in);
		struct host h = {};
		struct result r;

		keys_set(ours, 2);
		host_set(v6, HOST_B, &h);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		frame_sign(&want, &ours[0]);
		expect_frame(&r.out, &want);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_counted(STAT_RX_PROBE);

		fixture("IPv%d, said again", v6 ? 6 : 4);
		h.rx_seq = 1000;
		host_set(v6, HOST_B, &h);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		expect_counted(STAT_RX_PROBE_OLD);
	}
}

/* PROBEs of two flows that overtake each other are both answered, each once; one that is a second older is not. */
SinkTest(auth_probe, probe__is_answered_once)
{
	const __u64 now = 100 * NSEC_PER_SEC;

	FOR_V4_AND_V6 (v6) {
		struct frame data = tcp(.v6 = v6, .reply = 1, .sport = 7), first, late, stale;
		struct host known = { .capable = 1, .rx_seq = now };

		host_set(v6, HOST_B, &known);
		first = probe_of_b(v6, &ours[0], now + 2);
		late = wrap(&data, .msg = 2, .room = 5, .key = &ours[0], .auth_seq = now + 1);
		data = tcp(.v6 = v6, .reply = 1, .sport = 8);
		stale = wrap(&data, .msg = 2, .room = 5, .key = &ours[0], .auth_seq = now + 2 - NSEC_PER_SEC);
		expect_verdict(run(sink, &first), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_FLOW_MADE_PROBE);
		expect_verdict(run(sink, &late), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_FLOW_MADE_PROBE);
		expect_eq(host_get(v6, HOST_B).rx_seq, now + 2);
		expect_verdict(run(sink, &first), VERDICT_DROP);
		expect_verdict(run(sink, &late), VERDICT_DROP);
		expect_verdict(run(sink, &stale), VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_OLD, STAT_RX_PROBE_OLD, STAT_RX_PROBE_OLD);
		first = probe_of_b(v6, &ours[0], now + 3);
		expect_verdict(run(sink, &first), VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE);
	}
}

/* From the header to the tag, with telemetry. */
#define HELD_HDR (sizeof(struct wire_hdr) + sizeof(struct wire_telem))

/* The answer to the PROBE `in`, which is too old: by how much, and nothing of the path. */
static struct frame held_answer(struct frame in, __u32 by)
{
	struct frame want = frame_turned(in);

	want.b[at_auth(&want) - HELD_HDR + 2] |= WIRE_F_HELD;
	put32(want.b + at_auth(&want) - HELD_HDR + 4, by);
	frame_sign(&want, &ours[0]);
	return want;
}

/* A clock that was an hour ahead and was set right: the host is told what is held of it, and nothing is learned. */
SinkTest(auth_probe, probe__of_a_host_whose_clock_was_ahead)
{
	const __u64 now = 5000 * NSEC_PER_SEC, hour = 3600 * NSEC_PER_SEC;

	FOR_V4_AND_V6 (v6) {
		struct frame in = probe_of_b(v6, &ours[0], now), want = held_answer(in, (hour >> WIRE_HELD_SHIFT) + 1);
		struct host known = { .capable = 0, .rx_seq = now + hour };
		struct result r;

		host_set(v6, HOST_B, &known);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE_OLD, STAT_PROBE_HELD);
		expect_eq(host_get(v6, HOST_B).rx_seq, now + hour);
		expect_eq(host_get(v6, HOST_B).capable, 0);
		expect_eq(host_get(v6, HOST_B).heard_ns, 0);
		expect_eq(host_get(v6, HOST_B).old_by, (hour >> WIRE_HELD_SHIFT) + 1);
		expect_eq(flow_exists(auth_forward(v6)), 0);
	}
}

/* The PROBE of A, answered as above: the next one is newer than what B holds. */
SinkTest(auth_probe, probe_reply__that_says_what_is_held)
{
	const __u32 by = (3600 * NSEC_PER_SEC >> WIRE_HELD_SHIFT) + 1;

	FOR_V4_AND_V6 (v6) {
		struct frame data = frame_of(auth_forward(v6)), probe, reply;
		struct host h = { .asked_ns = 1 };
		struct known before;
		__u64 first, moved;
		struct result r;

		seq_base_set(BASE_NS);
		auth_flow_runs(v6);
		host_set(v6, HOST_B, &h);
		r = run(EGRESS, &data, .clone = 1);
		probe = r.out;
		reply = held_answer(probe, by);
		first = get64(probe.b + at_auth(&probe));
		before = known_of(v6);
		world_counted((const int[]){ -1 });
		run(sink, &reply);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_SEQ_MOVED);
		expect_eq(host_get(v6, HOST_B).capable, 1);
		expect_eq(host_get(v6, HOST_B).held_by, by);
		expect_eq(flow_get(auth_forward(v6)).rx.feedbacks, before.f.rx.feedbacks);
		moved = seq_base_get();
		expect_eq(moved + clock_ns(), first + ((__u64)by << WIRE_HELD_SHIFT));

		fixture("IPv%d, said again", v6 ? 6 : 4);
		run(sink, &reply);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_REPLAYED);
		expect_eq(seq_base_get(), moved);
	}
}

/* A recorded answer, one without the key, and one that nobody could believe leave the sequences where they are. */
SinkTest(auth_probe, probe_reply__that_moves_no_sequence)
{
	struct frame data = frame_of(auth_forward(0)), recorded, reply;
	struct host h = { .asked_ns = 1 };
	struct result r;

	seq_base_set(BASE_NS);
	auth_flow_runs(0);
	host_set(0, HOST_B, &h);
	r = run(EGRESS, &data, .clone = 1);
	recorded = held_answer(r.out, 1 << 10);
	put64(recorded.b + at_auth(&recorded), get64(recorded.b + at_auth(&recorded)) - 1);
	frame_sign(&recorded, &ours[0]);
	world_counted((const int[]){ -1 });
	run(sink, &recorded);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_REPLAYED);
	reply = held_answer(r.out, 1 << 10);
	frame_sign(&reply, &theirs);
	run(sink, &reply);
	expect_counted(STAT_RX_BAD_AUTH);
	reply = held_answer(r.out, ((DAY_NS + MARGIN_NS) >> WIRE_HELD_SHIFT));
	run(sink, &reply);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_SEQ_HELD);
	expect_eq(seq_base_get(), BASE_NS);
}

/*
 * Before its first PROBE a flow that is known is measured by its host, too. The answer says what is held, because the
 * clock of the host may have been ahead.
 */
SinkTest(auth_probe, probe__of_a_known_flow_from_long_ago)
{
	struct frame in = probe_of_b(0, &ours[0], 1000);
	struct host known = { .capable = 1, .rx_seq = 100 * NSEC_PER_SEC };

	auth_flow_runs(0);
	host_set(0, HOST_B, &known);
	expect_verdict(run(sink, &in), VERDICT_REDIRECT);
	expect_counted(STAT_RX_PROBE_OLD, STAT_PROBE_HELD);
	expect_eq(flow_get(auth_forward(0)).auth.asked_seq, 0);
}

SinkTest(auth_probe, probe__wrong_or_missing_tag_is_not_answered)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in;

		auth_flow_runs(v6);
		in = probe_of_b(v6, &theirs, 1000);
		expect_refused(&in, v6, STAT_RX_BAD_AUTH);
		in = probe_of_b(v6, NULL, 0);
		expect_refused(&in, v6, STAT_RX_NO_AUTH);
	}
}

SinkTest(auth_probe, probe__from_the_future_is_not_answered)
{
	seq_base_set(BASE_NS);
	FOR_V4_AND_V6 (v6) {
		struct frame in = probe_of_b(v6, &ours[0], BASE_NS + clock_ns() + DAY_NS + MARGIN_NS);
		struct known before;
		struct result r;

		auth_flow_runs(v6);
		before = known_of(v6);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE, STAT_RX_FUTURE);
		expect_nothing_learned(v6, &before);
	}
}

/* Where XDP_TX does not arrive, tc answers, and counts. */
Test(auth_probe, probe__is_left_to_tc_where_nothing_can_be_sent_back)
{
	struct port p = port_usual();

	p.flags &= ~PORT_F_XDP_TX;
	port_set(WORLD_IFINDEX, &p);
	FOR_V4_AND_V6 (v6) {
		struct frame in = probe_of_b(v6, &ours[0], 1000), want = frame_turned(in);
		struct result r = run(INGRESS_XDP, &in);

		frame_sign(&want, &ours[0]);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_frame(&r.out, &want);
		expect_counted(STAT_RX_PROBE);
	}
}

/* The PROBE of A, and the answer of B. */
SinkTest(auth_probe, probe_reply__counts_once)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = frame_of(auth_forward(v6)), reply, first;
		struct host h = { .heard_ns = 1, .asked_ns = 1 };
		struct known before;
		struct result r;
		int i;

		auth_flow_runs(v6);
		for (i = 0; i < 2; i++) {
			host_set(v6, HOST_B, &h);
			r = run(EGRESS, &data, .clone = 1);
			r = run(HOP_MAP, &r.out);
			world_counted((const int[]){ -1 }); /* a PROBE ends in none */
			expect_eq(flow_get(auth_forward(v6)).auth.probe_seq, get64(r.out.b + at_auth(&r.out)));
			reply = frame_turned(r.out);
			expect_refused(&reply, v6, STAT_RX_BAD_AUTH); /* the tag of a PROBE is no reply's */
			frame_sign(&reply, &ours[0]);
			r = run(sink, &reply);
			expect_verdict(r, VERDICT_DROP);
			expect_that(world_ended());
			expect_eq(flow_get(auth_forward(v6)).rx.feedbacks, 1 + i);
			expect_eq(host_get(v6, HOST_B).capable, 1);
			before = known_of(v6);
			run(sink, &reply);
			expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_REPLAYED);
			expect_nothing_learned(v6, &before);
			if (i)
				run(sink, &first);
			else
				first = reply;
			world_counted((const int[]){ -1 });
			expect_nothing_learned(v6, &before);
		}
		fixture("IPv%d, to what was not asked", v6 ? 6 : 4);
		put64(reply.b + at_auth(&reply), flow_get(auth_forward(v6)).auth.probe_seq + 1);
		frame_sign(&reply, &ours[0]);
		before = known_of(v6);
		run(sink, &reply);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_REPLAYED);
		expect_nothing_learned(v6, &before);
	}
}

/* An answer whose PROBE was sent under a clock that has been set since. */
SinkTest(auth_probe, probe_reply__from_the_future)
{
	struct frame data = frame_of(auth_forward(0)), reply;
	struct host h = { .heard_ns = 1, .asked_ns = 1 };
	struct known before;
	struct result r;

	auth_flow_runs(0);
	seq_base_set(BASE_NS + DAY_NS + MARGIN_NS);
	host_set(0, HOST_B, &h);
	r = run(EGRESS, &data, .clone = 1);
	reply = frame_turned(r.out);
	frame_sign(&reply, &ours[0]);
	seq_base_set(BASE_NS);
	before = known_of(0);
	world_counted((const int[]){ -1 });
	run(sink, &reply);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_FUTURE);
	expect_nothing_learned(0, &before);
}

/* A reply from an earlier life of the same ports is older than the first question. */
SinkTest(auth_probe, probe_reply__older_than_the_first_question)
{
	struct frame data = frame_of(auth_forward(0)), reply;
	struct host h = { .asked_ns = 1 };
	struct result r;

	auth_flow_runs(0);
	r = run(EGRESS, &data, .clone = 1);
	reply = frame_turned(r.out);
	put64(reply.b + at_auth(&reply), get64(reply.b + at_auth(&reply)) - 1);
	frame_sign(&reply, &ours[0]);
	host_set(0, HOST_B, &h);
	run(sink, &reply);
	expect_eq(host_get(0, HOST_B).capable, 0);
	expect_eq(flow_get(auth_forward(0)).rx.feedbacks, 0);
}
