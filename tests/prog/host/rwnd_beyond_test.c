// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/rwnd.bpf.h: stacks that send beyond their window, and windows that somebody else sends (RFC 5961, 5.2). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "rwnd_case.h"

TestSuite(rwnd_beyond, .init = rwnd_make, .fini = world_drop, .timeout = 60);

/* --- stacks that send beyond their window --- */

/* Payload of the local side, from this TCP sequence. */
static struct frame sent(int v6, __u32 seq, unsigned int payload)
{
	struct frame f = tcp(.v6 = v6, .payload = payload);

	put32(f.b + at_tcp(&f) + 4, seq);
	frame_fix(&f);
	return f;
}

static void expect_leaves(int v6, __u32 seq, unsigned int payload)
{
	struct frame f = sent(v6, seq, payload);

	expect_verdict(run(EGRESS, &f), VERDICT_PASS);
	expect_counted(STAT_TX_DATA);
}

static void expect_beyond(int v6, __u32 seq, unsigned int payload)
{
	struct frame f = sent(v6, seq, payload);

	expect_verdict(run(EGRESS, &f), VERDICT_DROP);
	expect_counted(STAT_TX_BEYOND);
}

/* The edge stays fresh, or is older than it may be, whatever the clock of this machine does meanwhile. */
static void edge_is_fresh(int v6, int fresh)
{
	struct flow f = rwnd_flow_of(v6);

	f.wnd.edge_ns = fresh ? clock_ns() + 3600 * NSEC_PER_SEC : 1;
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

/* B acknowledges and grants; the test may take as long as it likes after that. */
static void grant(int v6, __u32 ack, __u16 window)
{
	struct frame f = granted(v6, ack, window);

	window_of(&f);
	edge_is_fresh(v6, 1);
}

/* Up to the edge, and one unit of the window beyond it, where there is one. */
Test(rwnd_beyond, beyond__is_dropped)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int scale;

		for (scale = 0; scale <= 14; scale += 7) {
			__u32 ack = 0xfffff000, edge = ack + 6000, unit = 1 << scale; /* it wraps in between */

			fixture("IPv%d, scale %u", v6 ? 6 : 4, scale);
			flow_governed(v6, 6000, scale);
			flow_sent(v6, ack, ack);
			grant(v6, ack, 0xffff >> scale / 2);
			expect_eq(rwnd_flow_of(v6).wnd.edge, edge);
			expect_leaves(v6, ack, 900);
			expect_leaves(v6, edge - 900, 900);
			expect_beyond(v6, edge - 899 + unit, 900);
			expect_leaves(v6, edge - 900 + unit, 900);
			expect_beyond(v6, edge - 899 + unit, 900);
			expect_beyond(v6, edge + unit + 50000, 1);
			expect_leaves(v6, ack - 100000, 900); /* sent before */
			grant(v6, ack + 1, 0);
			expect_beyond(v6, edge - 899 + unit,
				      900); /* a window of zero takes nothing back, and adds nothing */
			grant(v6, ack + 1000, 0xffff >> scale / 2);
			expect_leaves(v6, edge + unit + 100, 900);
			expect_beyond(v6, edge + unit + 101, 900);
		}
	}
}

/* A FIN takes a sequence number, so its acknowledgement is one more than the payload. */
Test(rwnd_beyond, beyond__with_a_fin)
{
	struct frame fin = sent(0, USUAL_ACK, 900), f = granted(0, USUAL_ACK + 901, 60000);

	fin.b[at_tcp(&fin) + 13] = FIN | ACK;
	frame_fix(&fin);
	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	expect_verdict(run(EGRESS, &fin), VERDICT_PASS);
	expect_counted(STAT_TX_DATA);
	expect_eq(rwnd_flow_of(0).tx.seq_end, USUAL_ACK + 901);
	expect_window(&f, 6000);
	expect_eq(rwnd_flow_of(0).wnd.snd_una, USUAL_ACK + 901);
}

Test(rwnd_beyond, beyond__and_let_through)
{
	const __u32 far = USUAL_ACK + 15000;
	const struct ip_spec spec = {};
	struct frame fin, rst;
	struct flow flow, g;

	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	flow = rwnd_flow_of(0);
	expect_beyond(0, far, 1000);
	fixture("own control");
	g = flow;
	g.tx.own_cc = 1;
	flow_set(spec, &g);
	expect_leaves(0, far, 1000);
	flow_set(spec, &flow);
	fixture("no window was ever seen");
	g = flow;
	g.wnd.edge_ns = 0;
	flow_set(spec, &g);
	expect_leaves(0, far, 1000);
	flow_set(spec, &flow);
	fixture("plain, because its peer is silent");
	g = flow;
	g.tx.flags &= ~FLOW_F_TELEM;
	flow_set(spec, &g);
	expect_leaves(0, far, 1000);
	expect_eq(rwnd_flow_of(0).wnd.seq_known, FLOW_SEQ_SENT);
	expect_eq(rwnd_flow_of(0).wnd.edge_ns, 0);
	flow_set(spec, &flow);
	fixture("receive_window: false");
	rwnd_set(0);
	expect_leaves(0, far, 1000);
	rwnd_set(1);
	fixture("dry-run");
	control_set(MODE_DRY_RUN, 0);
	expect_leaves(0, far, 1000);
	control_set(MODE_ENFORCE, 0);
	fixture("RST");
	rst = sent(0, far, 0);
	rst.b[at_tcp(&rst) + 13] = RST;
	frame_fix(&rst);
	expect_verdict(run(EGRESS, &rst), VERDICT_PASS);
	expect_counted(STAT_TX_HANDSHAKE);
	expect_eq(rwnd_flow_of(0).tx.seq_end, USUAL_ACK); /* it says nothing of what was sent */
	fixture("SYN of the next connection");
	fin = sent(0, far, 0);
	fin.b[at_tcp(&fin) + 13] = SYN;
	frame_fix(&fin);
	expect_verdict(run(EGRESS, &fin), VERDICT_PASS);
	expect_counted(STAT_TX_HANDSHAKE);
	expect_eq(rwnd_flow_of(0).wnd.edge_ns, 0);
	expect_eq(rwnd_flow_of(0).wnd.snd_una, far + 1);
	expect_eq(rwnd_flow_of(0).tx.seq_end, far + 1);
}

/*
 * Where no windows come by any more nothing is held to the last one. Bytes sent meanwhile were granted by
 * somebody, and the sender's limit is unknown until its socket tells.
 */
Test(rwnd_beyond, beyond__with_windows_that_come_by_another_way)
{
	struct frame f = granted(0, USUAL_ACK, 60000);

	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	expect_beyond(0, USUAL_ACK + 15000, 1000);
	edge_is_fresh(0, 0);
	expect_leaves(0, USUAL_ACK + 15000, 900);
	expect_eq(rwnd_flow_of(0).wnd.seq_known, FLOW_SEQ_SENT);
	expect_window(&f, 15900);
	f = granted(0, USUAL_ACK + 15000, 60000);
	expect_window(&f, 6000);
	expect_eq(rwnd_flow_of(0).wnd.edge_ns, 0);
	expect_leaves(0, USUAL_ACK + 15000, 900);
	expect_leaves(0, USUAL_ACK + 95000, 900);
}

/* Half of the sequence space and more behind is not ahead: it was not sent before, but nor is it beyond its window. */
Test(rwnd_beyond, beyond__is_not_what_is_far_behind)
{
	FOR_V4_AND_V6 (v6) {
		fixture("IPv%d", v6 ? 6 : 4);
		flow_governed(v6, 6000, 0);
		grant(v6, USUAL_ACK, 60000);
		expect_leaves(v6, USUAL_ACK - (1u << 30) - 1000 - 1, 1000);
		expect_eq(rwnd_flow_of(v6).wnd.seq_known, FLOW_SEQ_SENT);
		expect_eq(rwnd_flow_of(v6).wnd.edge_ns, 0);
	}
}

/* --- windows in segments that somebody else sends: RFC 5961, 5.2 --- */

/* The ACK changes no state of the flow; its window is cut like any other. */
static void expect_refused(int v6, __u32 ack, __u16 window)
{
	struct frame f = granted(v6, ack, window);
	struct flow before = rwnd_flow_of(v6), after;
	struct result r = run(INGRESS, &f);

	expect_verdict(r, VERDICT_PASS);
	if (get16(r.out.b + at_tcp(&f) + 14) == window)
		expect_counted(STAT_RX_OTHER, STAT_RX_WINDOW_REFUSED);
	else
		expect_counted(STAT_RX_OTHER, STAT_RX_WINDOW_REFUSED, STAT_RX_WINDOW_CUT);
	after = rwnd_flow_of(v6);
	cr_assert(!memcmp(&before, &after, sizeof(before)), "%sthe flow has changed", world_fixture());
}

/* Three forged ACKs once moved the edge round the sequence space, and nothing left any more. */
Test(rwnd_beyond, forged__acks_round_the_sequence_space)
{
	static const __u16 windows[] = { 0, 1, 0xffff };
	unsigned int i, k, round;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
			int idle;

			for (idle = 0; idle < 2; idle++) {
				__u32 end = USUAL_ACK + (idle ? 0 : 3000);
				struct frame f = granted(v6, end, 60000);

				fixture("IPv%d, window %u, idle %d", v6 ? 6 : 4, windows[i], idle);
				flow_governed(v6, 6000, 0);
				grant(v6, USUAL_ACK, 60000);
				if (!idle)
					for (k = 0; k < 5; k++)
						expect_leaves(v6, USUAL_ACK + k * 600, 600);
				edge_is_fresh(v6, !idle);
				for (round = 0; round < 3; round++) {
					for (k = 1; k < 4; k++)
						expect_refused(v6, USUAL_ACK + (k << 30), windows[i]);
					expect_refused(v6, end + 1, windows[i]);
					expect_refused(v6, USUAL_ACK - 0x10000, windows[i]);
				}
				expect_leaves(v6, end, 900);
				expect_leaves(v6, end - 900, 900); /* sent before */
				f = granted(v6, end + 900, 60000);
				expect_window(&f, 6000);
			}
		}
	}
}

/* An overtaken ACK is no forgery, and takes nothing back. */
Test(rwnd_beyond, forged__is_not_what_was_overtaken)
{
	struct frame f = granted(0, USUAL_ACK - 0xffff, 1);
	struct flow before, after;

	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	before = rwnd_flow_of(0);
	expect_window(&f, 1);
	after = rwnd_flow_of(0);
	cr_assert(!memcmp(&before, &after, sizeof(before)), "the flow has changed");
	/* With larger grants one may be older. */
	flow_governed(0, 600000, 4);
	flow_sends_more(0, USUAL_ACK + 300000);
	grant(0, USUAL_ACK, 0xffff);
	grant(0, USUAL_ACK + 300000, 0xffff);
	f = granted(0, USUAL_ACK, 1);
	expect_window(&f, 1);
}

/* Where SND.UNA is not known no ACK makes an edge, and none closes a window in front of what was sent. */
Test(rwnd_beyond, forged__where_una_is_not_known)
{
	unsigned int k;

	FOR_V4_AND_V6 (v6) {
		struct frame f = granted(v6, USUAL_ACK, 60000);
		struct flow flow = flow_governed(v6, 6000, 0);

		fixture("IPv%d", v6 ? 6 : 4);
		flow.wnd.seq_known = FLOW_SEQ_UNKNOWN;
		flow_set((struct ip_spec){ .v6 = v6 }, &flow);
		expect_window(&f, 6000);
		expect_leaves(v6, USUAL_ACK + 8000, 1000);
		expect_eq(rwnd_flow_of(v6).wnd.seq_known, FLOW_SEQ_SENT);
		for (k = 0; k < 4; k++) {
			f = granted(v6, USUAL_ACK + (k << 30), 1);
			expect_window(&f, 1);
		}
		expect_eq(rwnd_flow_of(v6).wnd.edge_ns, 0);
		f = granted(v6, USUAL_ACK, 60000);
		expect_window(&f, 9000);
		expect_leaves(v6, USUAL_ACK + 9000, 1000);
	}
}
