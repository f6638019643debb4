// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/rwnd.bpf.h: segments with a digest (TCP-MD5, TCP-AO) are never changed, and their sender is never dropped. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "companion_case.h"
#include "rwnd_case.h"

TestSuite(rwnd_digest, .init = rwnd_make, .fini = world_drop, .timeout = 60);

/* The options that Linux sends: NOP, NOP, the digest, and for IPv6 also a timestamp behind it. */
static struct frame with_digest(struct ip_spec s, __u8 kind)
{
	__u8 options[32] = { 1, 1, kind, 18 };

	s.options = kind == 29 ? 16 : 20;
	if (kind == 29) { /* TCP-AO with a MAC of 12 bytes needs no padding */
		options[0] = kind;
		options[1] = 16;
		options[2] = 100;
		options[3] = 100;
	}
	if (s.v6) {
		memcpy(options + s.options, (__u8[]){ 1, 1, 8, 10 }, 4);
		s.options += 12;
	}
	return with_options(frame_of(s), options, s.options);
}

static struct frame granted_with_digest(int v6, __u8 kind, __u32 ack)
{
	return with_window(with_ack(with_digest((struct ip_spec){ .v6 = v6, .reply = 1 }, kind), ack), 60000);
}

static struct frame sent_with_digest(int v6, __u8 kind, __u32 seq, unsigned int payload)
{
	struct frame f = with_digest((struct ip_spec){ .v6 = v6, .payload = payload }, kind);

	put32(f.b + at_tcp(&f) + 4, seq);
	frame_fix(&f);
	return f;
}

/* A flow of which no digest is known yet. */
static void flow_begins(int v6)
{
	struct flow f = flow_governed(v6, 6000, 0);

	f.wnd.digest = 0;
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

static void syn_with_digest(int v6, __u8 kind)
{
	struct frame f = with_digest((struct ip_spec){ .v6 = v6, .flags = SYN }, kind);

	hosts_strip();
	expect_verdict(run(EGRESS, &f), VERDICT_PASS);
	expect_counted(STAT_TX_HANDSHAKE, STAT_FLOW_DIGEST);
}

static const __u8 kinds[] = { 19, 29 };
#define FOR_DIGESTS(kind)                                                               \
	for (unsigned int i_ = 0, kind; i_ < sizeof(kinds) && (kind = kinds[i_]); i_++) \
		FOR_V4_AND_V6 (v6)

/* The very segment that tells it is left alone, and so is all that follows, whether it has the option or not. */
Test(rwnd_digest, window__of_a_connection_that_is_older_than_its_flow)
{
	FOR_DIGESTS(kind)
	{
		struct frame f = granted_with_digest(v6, kind, USUAL_ACK), bare = granted(v6, USUAL_ACK, 60000);

		flow_begins(v6);
		expect_verdict(run(INGRESS, &f), VERDICT_PASS);
		expect_counted(STAT_RX_OTHER, STAT_FLOW_DIGEST);
		expect_eq(rwnd_flow_of(v6).wnd.digest, 1);
		expect_eq(rwnd_flow_of(v6).wnd.edge_ns, 0);
		expect_untouched(INGRESS, &f, STAT_RX_OTHER);
		expect_untouched(INGRESS, &bare, STAT_RX_OTHER);
	}
}

/* A blind sender cannot switch windows off; its own segment is left alone, as its peer's would be. */
Test(rwnd_digest, window__in_a_segment_of_somebody_else)
{
	FOR_DIGESTS(kind)
	{
		struct result r;
		struct frame f = granted_with_digest(v6, kind, USUAL_ACK + 1), bare = granted(v6, USUAL_ACK, 60000);

		flow_begins(v6);
		r = run(INGRESS, &f);
		expect_frame(&r.out, &f);
		expect_counted(STAT_RX_OTHER, STAT_RX_WINDOW_REFUSED);
		expect_eq(rwnd_flow_of(v6).wnd.digest, 0);
		expect_window(&bare, 6000);
	}
}

/* Options that only look like one: in the bytes of another option, or behind the end of the list. */
Test(rwnd_digest, window__with_the_numbers_in_other_options)
{
	static const __u8 options[][12] = {
		{ 1, 1, 8, 10, 19, 18, 29, 16, 19, 18, 29, 16 },
		{ 8, 10, 19, 18, 29, 16, 19, 18, 29, 16, 1, 1 },
		{ 0, 19, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ 5, 10, 19, 18, 29, 16, 19, 18, 29, 16, 1, 1 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct frame f = with_window(
			with_ack(with_options(tcp(.reply = 1, .options = 12), options[i], 12), USUAL_ACK), 60000);

		fixture("options %u", i);
		flow_governed(0, 6000, 0);
		expect_window(&f, 6000);
		expect_eq(rwnd_flow_of(0).wnd.digest, 0);
	}
}

/* A segment whose options begin as most do, and go on. */
Test(rwnd_digest, window__behind_a_timestamp)
{
	static const __u8 options[32] = { 1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 19, 18 };
	struct frame f = with_window(
		with_ack(with_options(tcp(.reply = 1, .options = sizeof(options)), options, sizeof(options)),
			 USUAL_ACK),
		60000);

	flow_governed(0, 6000, 0);
	expect_verdict(run(INGRESS, &f), VERDICT_PASS);
	expect_counted(STAT_RX_OTHER, STAT_FLOW_DIGEST);
}

Test(rwnd_digest, window__after_a_handshake_with_it)
{
	FOR_DIGESTS(kind)
	{
		struct frame f = granted(v6, USUAL_ACK, 60000),
			     syn = syn_with_scale((struct ip_spec){ .v6 = v6, .flags = SYN }, 7);
		struct flow flow;

		syn_with_digest(v6, kind);
		expect_eq(rwnd_flow_of(v6).wnd.digest, 1);
		flow = flow_governed(v6, 6000, 0);
		expect_eq(flow.wnd.digest, 1);
		expect_untouched(INGRESS, &f, STAT_RX_OTHER);
		/* The next connection on these ports may be without. */
		expect_untouched(EGRESS, &syn, STAT_TX_HANDSHAKE);
		expect_eq(rwnd_flow_of(v6).wnd.digest, 0);
		flow_governed(v6, 6000, 0);
		expect_window(&f, 6000);
	}
}

Test(rwnd_digest, window__after_a_syn_ack_with_it)
{
	FOR_DIGESTS(kind)
	{
		struct frame f = with_ack(
			with_digest((struct ip_spec){ .v6 = v6, .reply = 1, .flags = SYN | ACK }, kind), USUAL_SEQ + 1);

		syn_leaves(v6, 3, 0);
		expect_verdict(run(INGRESS, &f), VERDICT_PASS);
		expect_counted(STAT_RX_OTHER, STAT_FLOW_DIGEST);
		expect_eq(rwnd_flow_of(v6).wnd.digest, 1);
	}
}

/* Nobody cut its window, so it may use all of it: also where an edge is left from the time before it was known. */
Test(rwnd_digest, sender__is_never_beyond)
{
	FOR_DIGESTS(kind)
	{
		struct frame f = sent_with_digest(v6, kind, USUAL_ACK + 15000, 1000);
		struct frame ack = granted(v6, USUAL_ACK, 60000);
		struct flow flow;

		flow_begins(v6);
		expect_window(&ack, 6000);
		flow = rwnd_flow_of(v6);
		flow.wnd.edge_ns = clock_ns() + 3600 * NSEC_PER_SEC;
		flow_set((struct ip_spec){ .v6 = v6 }, &flow);
		expect_verdict(run(EGRESS, &f), VERDICT_PASS);
		expect_counted(STAT_TX_DATA, STAT_FLOW_DIGEST);
		f = sent_with_digest(v6, kind, USUAL_ACK + 55000, 1000);
		expect_verdict(run(EGRESS, &f), VERDICT_PASS);
		expect_counted(STAT_TX_DATA);
	}
}

/* Where the state of its window is not known, its own segments tell before a socket is looked for. */
Test(rwnd_digest, sender__whose_connection_is_older)
{
	FOR_DIGESTS(kind)
	{
		struct frame f = sent_with_digest(v6, kind, USUAL_ACK, 100);
		struct flow flow;

		flow_begins(v6);
		flow = rwnd_flow_of(v6);
		flow.wnd.wscale_known = 0;
		flow.wnd.asked_ns = 0;
		flow_set((struct ip_spec){ .v6 = v6 }, &flow);
		expect_verdict(run(EGRESS, &f), VERDICT_PASS);
		expect_counted(STAT_TX_DATA, STAT_FLOW_DIGEST);
		expect_eq(rwnd_flow_of(v6).wnd.digest, 1);
	}
}

/* Its companions are those of any flow: no options, no length of a TCP header, so no segment without a digest. */
Test(rwnd_digest, companion__is_no_segment)
{
	telemetry_beside();
	FOR_DIGESTS(kind)
	{
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame data = with_digest(s, kind), want;
		struct result r;
		struct flow f;

		hosts_strip();
		run(EGRESS, &data);
		f = flow_get(s);
		f.tx.bytes = 5000;
		flow_set(s, &f);
		r = run(EGRESS, &data, .clone = 2);
		want = companion_of(&data, 2, 5000);
		ip_sum_take(&r.out, &want);
		expect_frame(&r.out, &want);
		expect_eq(r.out.b[at_tcp(&r.out) + 12] >> 4, 0);
		world_ended();
	}
}
