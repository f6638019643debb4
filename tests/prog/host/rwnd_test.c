// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/rwnd.bpf.h: windows are cut to W. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "rwnd_case.h"

TestSuite(rwnd, .init = rwnd_make, .fini = world_drop, .timeout = 60);

#define USUAL_SEQ 1000000 /* of tcp() */

static void flow_narrows(int v6, unsigned int w_bytes)
{
	struct flow f = rwnd_flow_of(v6);

	f.cc.w = (__u64)w_bytes << 12;
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

/* Segments of 1200 bytes with 1000 of payload: W is whole segments, and one more. */
Test(rwnd, cut__to_w)
{
	static const struct {
		unsigned int w_bytes, scale;
		__u16 window;
	} cases[] = {
		{ 6000, 0, 6000 }, { 6001, 0, 7000 }, { 5999, 0, 6000 }, { 1, 0, 2000 },  { 6000, 3, 750 },
		{ 6000, 7, 47 },   { 6000, 10, 6 },   { 6000, 14, 1 },	 { 7200, 7, 55 }, { 60000000, 14, 3052 },
	};
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct frame f = granted(v6, USUAL_ACK, 0xfedc);

			fixture("IPv%d, W %u, scale %u", v6 ? 6 : 4, cases[i].w_bytes, cases[i].scale);
			flow_governed(v6, cases[i].w_bytes, cases[i].scale);
			expect_window(&f, cases[i].window);
		}
	}
}

/* Whatever the window was and becomes, the checksum is right: all of the frame is compared. */
Test(rwnd, cut__checksum)
{
	unsigned int w, ack;

	FOR_V4_AND_V6 (v6) {
		for (ack = 0; ack < 60; ack++) {
			for (w = 6001; w < 60000; w += 13441) {
				struct frame f = granted(v6, ack * 0x04030201, 0xffff - 37 * ack);

				flow_governed(v6, w, 0);
				flow_sent(v6, ack * 0x04030201, ack * 0x04030201);
				expect_window(&f, ((w + 1199) / 1200 + 1) * 1000);
			}
		}
	}
}

Test(rwnd, cut__leaves_payload_alone)
{
	static const unsigned int payloads[] = { 1, 2, 3, 100, 1001 };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
			struct frame f = with_window(
				tcp(.v6 = v6, .reply = 1, .payload = payloads[i], .flags = ACK | FIN), 60000);

			flow_governed(v6, 6000, 0);
			expect_window(&f, 6000);
		}
	}
}

Test(rwnd, cut__never_grows)
{
	static const __u16 windows[] = { 0, 1, 46, 47 };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
			struct frame f = granted(v6, USUAL_ACK, windows[i]);

			fixture("IPv%d, window %u", v6 ? 6 : 4, windows[i]);
			flow_governed(v6, 6000, 7);
			expect_window(&f, windows[i]);
		}
	}
}

/* Also after a larger one was granted. */
Test(rwnd, cut__zero_stays_zero)
{
	struct frame open = granted(0, USUAL_ACK, 60000), closed = granted(0, USUAL_ACK, 0);

	flow_governed(0, 6000, 0);
	expect_window(&open, 6000);
	expect_window(&closed, 0);
	expect_window(&open, 6000);
}

/* W falls from 12 segments to 2: acknowledgements come in, and the right edge waits for them. */
Test(rwnd, cut__edge_never_moves_left)
{
	static const __u32 starts[] = {
		5000, 0xffffffff - 6000, 0xffffffff - 11500, 0xffffffff - 13000, 0x7fffffff - 6000, 0x7fffffff - 11500
	};
	unsigned int i;
	int k;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
			__u32 ack = starts[i];
			struct frame f = granted(v6, ack - 1000, 60000);

			fixture("IPv%d, from %u", v6 ? 6 : 4, ack);
			flow_governed(v6, 13200, 0);
			flow_sent(v6, ack - 1000, ack);
			expect_window(&f, 12000);
			f = granted(v6, ack, 60000);
			expect_window(&f, 12000);
			flow_narrows(v6, 1200);
			flow_sends_more(v6, ack + 14 * 999);
			for (k = 1; k <= 14; k++) {
				f = granted(v6, ack + k * 999, 60000);
				expect_window(&f, 12000 - k * 999 > 2000 ? 12000 - k * 999 : 2000);
			}
			flow_narrows(v6, 6000);
			expect_window(&f, 6000);
		}
	}
}

/* The edge is what the receiver granted, not what W would have allowed. */
Test(rwnd, cut__edge_is_that_of_the_receiver)
{
	struct frame little = granted(0, USUAL_ACK, 2500), open = granted(0, USUAL_ACK, 60000);

	flow_governed(0, 6000, 0);
	expect_window(&little, 2500);
	flow_narrows(0, 1200);
	expect_window(&open, 2500);
}

/* A window that closes takes back nothing of what was granted before. */
Test(rwnd, cut__edge_is_kept_while_closed)
{
	struct frame open = granted(0, USUAL_ACK, 60000), closed = granted(0, USUAL_ACK, 0);

	flow_governed(0, 6000, 0);
	expect_window(&open, 6000);
	flow_narrows(0, 1200);
	expect_window(&closed, 0);
	expect_window(&open, 6000);
}

/* An old acknowledgement after a newer one does not move it either. */
Test(rwnd, cut__reordered)
{
	struct frame old = granted(0, USUAL_ACK, 60000), newer = granted(0, USUAL_ACK + 4000, 60000);

	flow_governed(0, 6000, 0);
	flow_sends_more(0, USUAL_ACK + 4000);
	expect_window(&newer, 6000);
	expect_window(&old, 10000);
	expect_window(&newer, 6000);
}

/*
 * Where acknowledgements move by less than the window's unit a smaller W must take hold all the
 * same, within one window; the edge goes back by less than one unit (RFC 7323, 2.4).
 */
Test(rwnd, cut__takes_hold_with_a_coarse_scale)
{
	unsigned int scale, step;

	for (scale = 0; scale <= 14; scale++) {
		static const unsigned int steps[] = { 100, 1000, 1448, 2896 };

		for (step = 0; step < sizeof(steps) / sizeof(steps[0]); step++) {
			unsigned int unit = 1 << scale, k, moved = 0;
			struct frame f = granted(0, USUAL_ACK, 0xffff >> (scale / 2));
			__u32 edge, first;

			fixture("scale %u, steps of %u", scale, steps[step]);
			flow_governed(0, 60000, scale);
			first = edge = USUAL_ACK + window_of(&f) * unit;
			if (first - USUAL_ACK < 51000) /* the receiver grants no more */
				continue;
			flow_narrows(0, 6000);
			for (k = 0; moved < 60000; k++) {
				__u32 now;

				moved += steps[step];
				f = granted(0, USUAL_ACK + moved, 0xffff >> (scale / 2));
				flow_sends_more(0, USUAL_ACK + moved);
				now = USUAL_ACK + moved + window_of(&f) * unit;
				cr_assert((__s32)(edge - now) < (__s32)unit, "%sedge from %u back to %u",
					  world_fixture(), edge, now);
				edge = now;
			}
			cr_assert(edge - USUAL_ACK - moved < 6000 + unit, "%swindow of %u after all was acknowledged",
				  world_fixture(), edge - USUAL_ACK - moved);
		}
	}
}

/* The connection that had this 5-tuple before had another edge, and perhaps another control. */
Test(rwnd, cut__after_a_new_handshake)
{
	struct frame f = granted(0, USUAL_SEQ + 1, 60000);
	int server;

	for (server = 0; server < 2; server++) {
		struct flow old = flow_governed(0, 6000, 0);

		fixture(server ? "server" : "client");
		old.wnd.edge = USUAL_ACK + 50000;
		old.wnd.edge_ns = clock_ns();
		old.tx.own_cc = 1;
		flow_set((struct ip_spec){}, &old);
		if (server)
			syn_arrives(0, 0, 0);
		else
			syn_leaves(0, 0, 0);
		if (server)
			syn_leaves(0, 0, 1);
		else
			syn_arrives(0, 0, 1);
		old = rwnd_flow_of(0);
		expect_eq(old.wnd.edge_ns, 0);
		expect_eq(old.tx.own_cc, 0);
		expect_window(&f, 6000);
	}
}

/* Flows with a socket of ours, unknown ones, and the key switched off. */
Test(rwnd, cut__untouched)
{
	FOR_V4_AND_V6 (v6) {
		const struct ip_spec spec = { .v6 = v6 };
		struct frame f = granted(v6, USUAL_ACK, 60000), rst, fin;
		struct flow flow = flow_governed(v6, 6000, 0), g;

#define untouched(what, ...)                            \
	do {                                            \
		fixture("IPv%d, %s", v6 ? 6 : 4, what); \
		g = flow;                               \
		__VA_ARGS__;                            \
		flow_set(spec, &g);                     \
		expect_window(&f, 60000);               \
	} while (0)
		untouched("scale not known", g.wnd.wscale_known = 0);
		untouched("own control", g.tx.own_cc = 1);
		untouched("plain", g.tx.flags &= ~FLOW_F_TELEM);
		untouched("no segment seen", g.tx.mss = 0);
		untouched("no segment weighed", g.tx.segment = 0);
		untouched("dry-run", control_set(MODE_DRY_RUN, 0));
		untouched("observe", control_set(MODE_OBSERVE, 0));
		untouched("bypass", control_set(MODE_ENFORCE, 1));
		control_set(MODE_ENFORCE, 0);
		untouched("receive_window: false", rwnd_set(0));
#undef untouched
		rwnd_set(1);
		flow_set(spec, &flow);
		rst = with_window(tcp(.v6 = v6, .reply = 1, .flags = RST | ACK), 60000);
		fixture("RST");
		expect_window(&rst, 60000);
		fin = with_window(tcp(.v6 = v6, .reply = 1, .flags = FIN), 60000);
		fixture("without acknowledgement");
		expect_window(&fin, 60000);
		fixture("another flow");
		rst = with_window(tcp(.v6 = v6, .reply = 1, .sport = 77), 60000);
		expect_window(&rst, 60000);
		fixture("UDP");
		fin = udp(.v6 = v6, .reply = 1, .payload = 100);
		expect_untouched(INGRESS, &fin, STAT_RX_OTHER);
		fixture("and the flow itself is cut");
		control_next_epoch(); /* in this epoch its control was its own, which is final */
		expect_window(&f, 6000);
	}
}

/* Ingress keeps passing a flow that it passed once, until egress notes that there is something to cut. */
Test(rwnd, cut__begins_when_the_flow_does)
{
	FOR_V4_AND_V6 (v6) {
		const struct ip_spec spec = { .v6 = v6 };
		struct frame f = granted(v6, USUAL_ACK, 60000), data = tcp(.v6 = v6, .payload = 100);
		struct flow flow;

		fixture("IPv%d", v6 ? 6 : 4);
		expect_window(&f, 60000);
		run(EGRESS, &data);
		world_ended();
		flow = flow_governed(v6, 6000, 0);
		expect_window(&f, 6000);
		flow.tx.mss = 0;
		flow_set(spec, &flow);
		expect_window(&f, 60000);
		flow.wnd.seq_known = FLOW_SEQ_UNKNOWN;
		flow_set(spec, &flow);
		run(EGRESS, &data);
		expect_counted(STAT_TX_DATA);
		flow_governed(v6, 6000, 0);
		expect_window(&f, 6000);
	}
}

Test(rwnd, cut__of_a_syn_is_not_scaled)
{
	struct frame f = with_window(tcp(.reply = 1, .flags = SYN | ACK), 60000);

	flow_governed(0, 6000, 0);
	expect_window(&f, 60000);
}

Test(rwnd, cut__after_stripping)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int payload, echo;

		for (payload = 0; payload < 1000; payload += 333) {
			for (echo = 0; echo < 2; echo++) {
				struct frame inner = with_window(
					tcp(.v6 = v6, .reply = 1, .payload = payload, .options = 12), 60000);
				struct frame want = with_window(inner, 6000);
				struct frame in =
					wrap(&inner, .room = payload ? 5 : 0, .nhop = 0, .echo = echo || !payload);
				struct result r;

				fixture("IPv%d, %u bytes, echo %u", v6 ? 6 : 4, payload, echo);
				flow_governed(v6, 6000, 0);
				r = run(INGRESS, &in);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &want);
				if (echo || !payload)
					expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED, STAT_RX_WINDOW_CUT);
				else
					expect_counted(STAT_RX_DATA, STAT_RX_WINDOW_CUT);
			}
		}
	}
}

Test(rwnd, cut__after_stripping_only_in_force)
{
	struct frame inner = with_window(tcp(.reply = 1, .payload = 100), 60000);
	struct frame in = wrap(&inner, .room = 5);
	int off;

	for (off = 0; off < 4; off++) {
		struct result r;

		fixture("case %d", off);
		control_set(MODE_ENFORCE, 0);
		flow_governed(0, 6000, 0);
		rwnd_set(off != 0);
		control_set(off == 1 ? MODE_DRY_RUN : off == 2 ? MODE_OBSERVE : MODE_ENFORCE, off == 3);
		r = run(INGRESS, &in);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
	}
}
