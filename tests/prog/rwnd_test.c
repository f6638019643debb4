// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/host/rwnd.bpf.h: the receive windows that foreign stacks are granted. A is the local side, so what B
 * sends arrives at ingress, and the flow whose window that grants is A to B.
 */
#include <bpf/bpf.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

static void rwnd_make(void)
{
	world_make();
	control_set(MODE_ENFORCE, 0);
	rwnd_set(1);
}

TestSuite(rwnd, .init = rwnd_make, .fini = world_drop, .timeout = 60);

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

#define MSS 1000
#define SEGMENT 1200 /* on the wire */
#define NO_SCALE (-1)
#define USUAL_SEQ 1000000 /* of tcp() */
#define USUAL_ACK 2000000 /* of tcp() */

static unsigned int at_tcp(const struct frame *f)
{
	return 14 + (frame_is_v6(f) ? 40 : 20);
}

/* --- the handshake --- */

static struct frame with_options(struct frame f, const __u8 *options, unsigned int len)
{
	memcpy(f.b + at_tcp(&f) + 20, options, len);
	frame_fix(&f);
	return f;
}

/* MSS, and the scale if there is one. */
static struct frame syn_with_scale(struct ip_spec s, int scale)
{
	const __u8 options[] = { 2, 4, 5, 180, 1, 3, 3, scale };

	s.options = scale == NO_SCALE ? 4 : 8;
	return with_options(frame_of(s), options, s.options);
}

static struct flow flow_of(int v6)
{
	return flow_get((struct ip_spec){ .v6 = v6 });
}

static void syn_leaves(int v6, int scale, int ack)
{
	struct frame f = syn_with_scale(
		(struct ip_spec){ .v6 = v6, .flags = SYN | (ack ? ACK : 0) }, scale);

	hosts_strip();
	expect_untouched(EGRESS, &f, STAT_TX_HANDSHAKE);
}

static void syn_arrives(int v6, int scale, int ack)
{
	struct frame f = syn_with_scale(
		(struct ip_spec){ .v6 = v6, .reply = 1, .flags = SYN | (ack ? ACK : 0) }, scale);

	expect_untouched(INGRESS, &f, STAT_RX_OTHER);
}

static void expect_scale(int v6, int scale)
{
	struct flow f = flow_of(v6);

	expect_eq(f.wnd.wscale_known, 1);
	expect_eq(f.wnd.wscale & 15, scale);
}

Test(rwnd, handshake__of_a_client)
{
	FOR_V4_AND_V6(v6) {
		int scale;

		for (scale = 0; scale <= 14; scale++) {
			syn_leaves(v6, 3, 0);
			expect_eq(flow_of(v6).wnd.wscale_known, 0);
			syn_arrives(v6, scale, 1);
			expect_scale(v6, scale);
		}
	}
}

Test(rwnd, handshake__of_a_server)
{
	FOR_V4_AND_V6(v6) {
		int scale;

		for (scale = 0; scale <= 14; scale++) {
			syn_arrives(v6, scale, 0);
			if (scale) /* that of the connection before */
				expect_scale(v6, scale - 1);
			else /* no flow before our side has answered */
				expect_eq(flow_exists((struct ip_spec){ .v6 = v6 }), 0);
			syn_leaves(v6, 3, 1);
			expect_scale(v6, scale);
		}
	}
}

/* The SYN came before the attachment, or went from the map meanwhile: its socket will tell. */
Test(rwnd, handshake__of_a_server_whose_syn_was_not_seen)
{
	syn_arrives(0, 9, 0);
	syn_leaves(0, 3, 1);
	expect_scale(0, 9);
	FOR_V4_AND_V6(v6) {
		struct flow_key key = flow_key_of((struct ip_spec){ .v6 = v6 });

		bpf_map_delete_elem(world_map("syn_offers"), &key);
		syn_leaves(v6, 3, 1);
		expect_eq(flow_of(v6).wnd.wscale_known, 0);
	}
}

Test(rwnd, handshake__repeated)
{
	FOR_V4_AND_V6(v6) {
		syn_leaves(v6, 3, 0);
		syn_leaves(v6, 3, 0);
		syn_arrives(v6, 9, 1);
		syn_arrives(v6, 9, 1);
		expect_scale(v6, 9);
		syn_arrives(v6, 8, 0);
		syn_arrives(v6, 8, 0);
		syn_leaves(v6, 3, 1);
		syn_leaves(v6, 3, 1);
		expect_scale(v6, 8);
	}
}

/* Whoever can send a packet of the flow cannot change the scale of a connection that is there. */
Test(rwnd, handshake__that_nobody_wanted)
{
	FOR_V4_AND_V6(v6) {
		int server;

		for (server = 0; server < 2; server++) {
			if (server) {
				syn_arrives(v6, 9, 0);
				syn_leaves(v6, 3, 1);
			} else {
				syn_leaves(v6, 3, 0);
				syn_arrives(v6, 9, 1);
			}
			fixture("IPv%d, SYN of somebody", v6 ? 6 : 4);
			syn_arrives(v6, 2, 0);
			expect_scale(v6, 9);
			fixture("IPv%d, SYN-ACK of somebody", v6 ? 6 : 4);
			syn_arrives(v6, 2, 1);
			expect_scale(v6, 9);
		}
	}
}

/* RFC 7323, 2.3: more than 14 is 14. */
Test(rwnd, handshake__scale_above_14)
{
	syn_leaves(0, 3, 0);
	syn_arrives(0, 15, 1);
	expect_scale(0, 14);
	syn_arrives(0, 255, 0);
	syn_leaves(0, 3, 1);
	expect_scale(0, 14);
}

/* RFC 7323, 2.2: in force only where both offer it. */
Test(rwnd, handshake__one_side_without)
{
	FOR_V4_AND_V6(v6) {
		fixture("client, none offers it");
		syn_leaves(v6, NO_SCALE, 0);
		syn_arrives(v6, NO_SCALE, 1);
		expect_scale(v6, 0);
		fixture("client, the server does not");
		syn_leaves(v6, 3, 0);
		syn_arrives(v6, NO_SCALE, 1);
		expect_scale(v6, 0);
		fixture("client that does not, a server that does all the same, twice");
		syn_leaves(v6, NO_SCALE, 0);
		syn_arrives(v6, 7, 1);
		syn_arrives(v6, 7, 1);
		expect_scale(v6, 0);
		fixture("then it is a server");
		syn_arrives(v6, 7, 0);
		syn_leaves(v6, 3, 1);
		expect_scale(v6, 7);
		fixture("the next client does");
		syn_leaves(v6, NO_SCALE, 0);
		syn_leaves(v6, 3, 0);
		syn_arrives(v6, 7, 1);
		expect_scale(v6, 7);
		fixture("server, the client does not");
		syn_arrives(v6, NO_SCALE, 0);
		syn_leaves(v6, 3, 1);
		expect_scale(v6, 0);
		fixture("server that does not");
		syn_arrives(v6, 7, 0);
		syn_leaves(v6, NO_SCALE, 1);
		expect_scale(v6, 0);
	}
}

static const struct {
	const char *what;
	unsigned int len;
	__u8 bytes[40];
	int scale;
} option_cases[] = {
	{ "alone, at the very end", 4, { 1, 3, 3, 7 }, 7 },
	{ "first", 8, { 3, 3, 7, 1, 2, 4, 5, 180 }, 7 },
	{ "alone, then the end", 4, { 3, 3, 7, 0 }, 7 },
	{ "as Linux has it", 20,
	  { 2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 3, 3, 0, 0, 0, 0, 1, 3, 3, 7 }, 7 },
	{ "between NOPs", 12, { 1, 1, 1, 1, 3, 3, 7, 1, 1, 1, 1, 1 }, 7 },
	{ "after 37 NOPs", 40,
	  { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 7 }, 7 },
	{ "after an unknown option", 12, { 254, 6, 3, 3, 9, 9, 3, 3, 7, 0, 0, 0 }, 7 },
	{ "behind the end", 8, { 0, 2, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "inside another option", 8, { 254, 8, 1, 3, 3, 7, 1, 1 }, NO_SCALE },
	{ "after an option of length 0", 8, { 254, 0, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "after an option of length 1", 8, { 254, 1, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "after an option that ends behind all", 8, { 254, 200, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "of length 0", 4, { 3, 0, 7, 0 }, NO_SCALE },
	{ "of length 2", 4, { 3, 2, 7, 0 }, NO_SCALE },
	{ "of length 4", 4, { 3, 4, 7, 7 }, NO_SCALE },
	{ "cut off behind its length", 4, { 1, 1, 3, 3 }, NO_SCALE },
	{ "cut off behind its kind", 4, { 1, 1, 1, 3 }, NO_SCALE },
	{ "no options", 0, {}, NO_SCALE },
};

/* The payload looks like the option: it is none. */
Test(rwnd, handshake__options_in_any_order)
{
	static const __u8 decoy[] = { 3, 3, 9, 3, 3, 9 }, decoy_tail[] = { 3, 9, 9, 9 };
	unsigned int i;

	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(option_cases) / sizeof(option_cases[0]); i++) {
			unsigned int len = option_cases[i].len;
			int scale = option_cases[i].scale, tail;

			for (tail = 0; tail < 2; tail++) {
				struct frame f = tcp(.v6 = v6, .reply = 1, .flags = SYN | ACK,
						     .options = len, .payload = 6);

				fixture("IPv%d, %s", v6 ? 6 : 4, option_cases[i].what);
				memcpy(f.b + f.len - 6, tail ? decoy_tail : decoy, tail ? 4 : 6);
				f = with_options(f, option_cases[i].bytes, len);
				syn_leaves(v6, 3, 0);
				expect_untouched(INGRESS, &f, STAT_RX_OTHER);
				expect_scale(v6, scale == NO_SCALE ? 0 : scale);
			}
		}
	}
}

/* Our side's answer is read in the same way. */
Test(rwnd, handshake__options_of_our_side)
{
	unsigned int i;

	for (i = 0; i < sizeof(option_cases) / sizeof(option_cases[0]); i++) {
		struct frame f = tcp(.flags = SYN | ACK, .options = option_cases[i].len);

		fixture("%s", option_cases[i].what);
		f = with_options(f, option_cases[i].bytes, option_cases[i].len);
		hosts_strip();
		syn_arrives(0, 5, 0);
		expect_untouched(EGRESS, &f, STAT_TX_HANDSHAKE);
		expect_scale(0, option_cases[i].scale == NO_SCALE ? 0 : 5);
	}
}

Test(rwnd, handshake__with_a_stranger)
{
	struct frame f = syn_with_scale(
		(struct ip_spec){ .reply = 1, .from = HOST_STRANGER, .flags = SYN }, 7);

	struct flow_key key = flow_key_of((struct ip_spec){ .to = HOST_STRANGER });
	__u32 scale;

	expect_untouched(INGRESS, &f, STAT_RX_OTHER);
	expect_eq(flows_count(), 0);
	expect_eq(bpf_map_lookup_elem(world_map("syn_offers"), &key, &scale) != 0, 1);
}

/* --- the window --- */

/* A has sent up to end, and what is before una is acknowledged. */
static void flow_sent(int v6, __u32 una, __u32 end)
{
	struct flow f = flow_of(v6);

	f.wnd.snd_una = una;
	f.tx.seq_end = end;
	f.wnd.seq_known = FLOW_SEQ_UNA;
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

static void flow_sends_more(int v6, __u32 end)
{
	flow_sent(v6, flow_of(v6).wnd.snd_una, end);
}

/* A flow whose window is w_bytes and whose peer's windows have this scale. All that it sent is acknowledged. */
static struct flow flow_governed(int v6, unsigned int w_bytes, unsigned int scale)
{
	struct frame data = tcp(.v6 = v6, .payload = 100);
	struct flow f;

	hosts_strip();
	if (flow_exists((struct ip_spec){ .v6 = v6 })) {
		f = flow_of(v6);
		f.wnd.edge_ns = 0;
		flow_set((struct ip_spec){ .v6 = v6 }, &f);
	}
	run(EGRESS, &data);
	expect_counted(STAT_TX_DATA);
	f = flow_of(v6);
	f.tx.mss = MSS;
	f.tx.segment = SEGMENT;
	f.wnd.wscale = scale;
	f.wnd.wscale_known = 1;
	f.wnd.edge_ns = 0;
	f.wnd.snd_una = f.tx.seq_end = USUAL_ACK;
	f.wnd.grant_max = 0xffff;
	f.wnd.seq_known = FLOW_SEQ_UNA;
	f.tx.own_cc = 0;
	f.cc.w = (__u64)w_bytes << 12;
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
	return f;
}

static void flow_narrows(int v6, unsigned int w_bytes)
{
	struct flow f = flow_of(v6);

	f.cc.w = (__u64)w_bytes << 12;
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

static struct frame with_window(struct frame f, __u16 window)
{
	put16(f.b + at_tcp(&f) + 14, window);
	frame_fix(&f);
	return f;
}

/* What B acknowledges and grants, with time stamps and SACK. */
static struct frame granted(int v6, __u32 ack, __u16 window)
{
	static const __u8 options[24] = { 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8,
					  1, 1, 5, 10, 9, 8, 7, 6, 9, 8, 7, 7 };
	struct frame f = tcp(.v6 = v6, .reply = 1, .options = sizeof(options));

	put32(f.b + at_tcp(&f) + 8, ack);
	return with_window(with_options(f, options, sizeof(options)), window);
}

/* Runs f through ingress: its window must become this, and nothing else must change. */
static void expect_window(const struct frame *f, __u16 window)
{
	struct frame want = with_window(*f, window);
	struct result r = run(INGRESS, f);

	expect_verdict(r, VERDICT_PASS);
	expect_frame(&r.out, &want);
	if (window == get16(f->b + at_tcp(f) + 14))
		expect_counted(STAT_RX_OTHER);
	else
		expect_counted(STAT_RX_OTHER, STAT_RX_WINDOW_CUT);
}

/* What f grants after ingress, in the window's unit. */
static __u16 window_of(const struct frame *f)
{
	struct result r = run(INGRESS, f);

	expect_verdict(r, VERDICT_PASS);
	expect_that(world_ended());
	return get16(r.out.b + at_tcp(&r.out) + 14);
}

/* Segments of 1200 bytes with 1000 of payload: W is whole segments, and one more. */
Test(rwnd, cut__to_w)
{
	static const struct {
		unsigned int w_bytes, scale;
		__u16 window;
	} cases[] = {
		{ 6000, 0, 6000 }, { 6001, 0, 7000 }, { 5999, 0, 6000 }, { 1, 0, 2000 },
		{ 6000, 3, 750 },  { 6000, 7, 47 },   { 6000, 10, 6 },	 { 6000, 14, 1 },
		{ 7200, 7, 55 },   { 60000000, 14, 3052 },
	};
	unsigned int i;

	FOR_V4_AND_V6(v6) {
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

	FOR_V4_AND_V6(v6) {
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

	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
			struct frame f = with_window(tcp(.v6 = v6, .reply = 1, .payload = payloads[i],
							 .flags = ACK | FIN), 60000);

			flow_governed(v6, 6000, 0);
			expect_window(&f, 6000);
		}
	}
}

Test(rwnd, cut__never_grows)
{
	static const __u16 windows[] = { 0, 1, 46, 47 };
	unsigned int i;

	FOR_V4_AND_V6(v6) {
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
	static const __u32 starts[] = { 5000,		    0xffffffff - 6000,	0xffffffff - 11500,
					0xffffffff - 13000, 0x7fffffff - 6000, 0x7fffffff - 11500 };
	unsigned int i;
	int k;

	FOR_V4_AND_V6(v6) {
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

/* Granted is what the receiver granted, not what W would have allowed. */
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
		old = flow_of(0);
		expect_eq(old.wnd.edge_ns, 0);
		expect_eq(old.tx.own_cc, 0);
		expect_window(&f, 6000);
	}
}

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
	struct flow f = flow_of(v6);

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
Test(rwnd, beyond__is_dropped)
{
	FOR_V4_AND_V6(v6) {
		unsigned int scale;

		for (scale = 0; scale <= 14; scale += 7) {
			__u32 ack = 0xfffff000, edge = ack + 6000, unit = 1 << scale; /* it wraps in between */

			fixture("IPv%d, scale %u", v6 ? 6 : 4, scale);
			flow_governed(v6, 6000, scale);
			flow_sent(v6, ack, ack);
			grant(v6, ack, 0xffff >> scale / 2);
			expect_eq(flow_of(v6).wnd.edge, edge);
			expect_leaves(v6, ack, 900);
			expect_leaves(v6, edge - 900, 900);
			expect_beyond(v6, edge - 899 + unit, 900);
			expect_leaves(v6, edge - 900 + unit, 900);
			expect_beyond(v6, edge - 899 + unit, 900);
			expect_beyond(v6, edge + unit + 50000, 1);
			expect_leaves(v6, ack - 100000, 900); /* sent before */
			grant(v6, ack + 1, 0);
			expect_beyond(v6, edge - 899 + unit, 900); /* a window of zero takes nothing back, and adds nothing */
			grant(v6, ack + 1000, 0xffff >> scale / 2);
			expect_leaves(v6, edge + unit + 100, 900);
			expect_beyond(v6, edge + unit + 101, 900);
		}
	}
}

/* A FIN takes a sequence number, so its acknowledgement is one more than the payload. */
Test(rwnd, beyond__with_a_fin)
{
	struct frame fin = sent(0, USUAL_ACK, 900), f = granted(0, USUAL_ACK + 901, 60000);

	fin.b[at_tcp(&fin) + 13] = FIN | ACK;
	frame_fix(&fin);
	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	expect_verdict(run(EGRESS, &fin), VERDICT_PASS);
	expect_counted(STAT_TX_DATA);
	expect_eq(flow_of(0).tx.seq_end, USUAL_ACK + 901);
	expect_window(&f, 6000);
	expect_eq(flow_of(0).wnd.snd_una, USUAL_ACK + 901);
}

Test(rwnd, beyond__and_let_through)
{
	const __u32 far = USUAL_ACK + 15000;
	const struct ip_spec spec = {};
	struct frame fin, rst;
	struct flow flow, g;

	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	flow = flow_of(0);
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
	expect_eq(flow_of(0).tx.seq_end, USUAL_ACK); /* it says nothing of what was sent */
	fixture("SYN of the next connection");
	fin = sent(0, far, 0);
	fin.b[at_tcp(&fin) + 13] = SYN;
	frame_fix(&fin);
	expect_verdict(run(EGRESS, &fin), VERDICT_PASS);
	expect_counted(STAT_TX_HANDSHAKE);
	expect_eq(flow_of(0).wnd.edge_ns, 0);
	expect_eq(flow_of(0).wnd.snd_una, far + 1);
	expect_eq(flow_of(0).tx.seq_end, far + 1);
}

/*
 * Where no windows come by any more nothing is held to the last one. What was sent meanwhile was granted by
 * somebody, and where the sender may go is not known again before its socket tells.
 */
Test(rwnd, beyond__with_windows_that_come_by_another_way)
{
	struct frame f = granted(0, USUAL_ACK, 60000);

	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	expect_beyond(0, USUAL_ACK + 15000, 1000);
	edge_is_fresh(0, 0);
	expect_leaves(0, USUAL_ACK + 15000, 900);
	expect_eq(flow_of(0).wnd.seq_known, FLOW_SEQ_SENT);
	expect_window(&f, 15900);
	f = granted(0, USUAL_ACK + 15000, 60000);
	expect_window(&f, 6000);
	expect_eq(flow_of(0).wnd.edge_ns, 0);
	expect_leaves(0, USUAL_ACK + 15000, 900);
	expect_leaves(0, USUAL_ACK + 95000, 900);
}

/* --- windows in segments that somebody else sends: RFC 5961, 5.2 --- */

/* Nothing of the flow's state is changed by the ACK; its window is cut like any other. */
static void expect_refused(int v6, __u32 ack, __u16 window)
{
	struct frame f = granted(v6, ack, window);
	struct flow before = flow_of(v6), after;
	struct result r = run(INGRESS, &f);

	expect_verdict(r, VERDICT_PASS);
	if (get16(r.out.b + at_tcp(&f) + 14) == window)
		expect_counted(STAT_RX_OTHER, STAT_RX_WINDOW_REFUSED);
	else
		expect_counted(STAT_RX_OTHER, STAT_RX_WINDOW_REFUSED, STAT_RX_WINDOW_CUT);
	after = flow_of(v6);
	cr_assert(!memcmp(&before, &after, sizeof(before)), "%sthe flow has changed", world_fixture());
}

/* Three forged ACKs carried the edge round the sequence space, and nothing left any more. */
Test(rwnd, forged__acks_round_the_sequence_space)
{
	static const __u16 windows[] = { 0, 1, 0xffff };
	unsigned int i, k, round;

	FOR_V4_AND_V6(v6) {
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

/* One that is overtaken is no forgery, and takes nothing back. */
Test(rwnd, forged__is_not_what_was_overtaken)
{
	struct frame f = granted(0, USUAL_ACK - 0xffff, 1);
	struct flow before, after;

	flow_governed(0, 6000, 0);
	grant(0, USUAL_ACK, 60000);
	before = flow_of(0);
	expect_window(&f, 1);
	after = flow_of(0);
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
Test(rwnd, forged__where_una_is_not_known)
{
	unsigned int k;

	FOR_V4_AND_V6(v6) {
		struct frame f = granted(v6, USUAL_ACK, 60000);
		struct flow flow = flow_governed(v6, 6000, 0);

		fixture("IPv%d", v6 ? 6 : 4);
		flow.wnd.seq_known = FLOW_SEQ_UNKNOWN;
		flow_set((struct ip_spec){ .v6 = v6 }, &flow);
		expect_window(&f, 6000);
		expect_leaves(v6, USUAL_ACK + 8000, 1000);
		expect_eq(flow_of(v6).wnd.seq_known, FLOW_SEQ_SENT);
		for (k = 0; k < 4; k++) {
			f = granted(v6, USUAL_ACK + (k << 30), 1);
			expect_window(&f, 1);
		}
		expect_eq(flow_of(v6).wnd.edge_ns, 0);
		f = granted(v6, USUAL_ACK, 60000);
		expect_window(&f, 9000);
		expect_leaves(v6, USUAL_ACK + 9000, 1000);
	}
}

/* What has a socket of ours, is not known, or is switched off. */
Test(rwnd, cut__untouched)
{
	FOR_V4_AND_V6(v6) {
		const struct ip_spec spec = { .v6 = v6 };
		struct frame f = granted(v6, USUAL_ACK, 60000), rst, fin;
		struct flow flow = flow_governed(v6, 6000, 0), g;

#define untouched(what, ...)                                                                       \
	do {                                                                                       \
		fixture("IPv%d, %s", v6 ? 6 : 4, what);                                            \
		g = flow;                                                                          \
		__VA_ARGS__;                                                                       \
		flow_set(spec, &g);                                                                \
		expect_window(&f, 60000);                                                          \
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
	FOR_V4_AND_V6(v6) {
		unsigned int payload, echo;

		for (payload = 0; payload < 1000; payload += 333) {
			for (echo = 0; echo < 2; echo++) {
				struct frame inner = with_window(
					tcp(.v6 = v6, .reply = 1, .payload = payload, .options = 12), 60000);
				struct frame want = with_window(inner, 6000);
				struct frame in = wrap(&inner, .room = payload ? 5 : 0, .nhop = 0,
						       .echo = echo || !payload);
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

/* --- connections that are older --- */

static socklen_t address_of(struct sockaddr_storage *a, int v6, enum who who, __u16 port)
{
	struct sluice_addr addr = addr_of(v6, who);
	struct sockaddr_in6 *a6 = (void *)a;
	struct sockaddr_in *a4 = (void *)a;

	memset(a, 0, sizeof(*a));
	if (v6) {
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(port);
		memcpy(&a6->sin6_addr, addr.b, 16);
		return sizeof(*a6);
	}
	a4->sin_family = AF_INET;
	a4->sin_port = htons(port);
	memcpy(&a4->sin_addr, addr.b + 12, 4);
	return sizeof(*a4);
}

static int socket_at(int v6, enum who who, __u16 port)
{
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_storage a;
	socklen_t len = address_of(&a, v6, who, port);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, len), "binding: %s", strerror(errno));
	return fd;
}

/* The kernel routes to a new IPv6 address a moment after it has accepted it. */
static void connect_to(int fd, const struct sockaddr_storage *to, socklen_t len)
{
	int tries, failed = 1;

	for (tries = 0; failed && tries < 500; tries++) {
		failed = connect(fd, (const struct sockaddr *)to, len);
		if (failed && errno != ENETUNREACH && errno != EADDRNOTAVAIL)
			break;
		if (failed)
			usleep(10000);
	}
	cr_assert(!failed, "connecting: %s", strerror(errno));
}

/* SND.UNA of a socket with nothing in flight: the next sequence that it sends (TCP_REPAIR tells it). */
static __u32 snd_una_of(int fd)
{
	int on = 1, off = 0, queue = TCP_SEND_QUEUE;
	__u32 seq = 0;
	socklen_t len = sizeof(seq);

	cr_assert(!setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), "%s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue));
	getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &len);
	setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off));
	return seq;
}

static void addresses_make(void)
{
	sh("ip link set lo up && ip address add 10.1.0.1/32 dev lo && ip address add 10.1.0.2/32 dev lo");
	sh("ip address add fd00:1::1/128 dev lo nodad && ip address add fd00:1::2/128 dev lo nodad");
}

/* A's packet, not the first. */
static void data_leaves(int v6, __u32 came_by)
{
	struct frame f = tcp(.v6 = v6, .payload = 100);
	struct flow flow = { 0 };

	hosts_strip();
	if (flow_exists((struct ip_spec){ .v6 = v6 })) {
		flow = flow_of(v6);
		flow.wnd.asked_ns = 0;
		flow_set((struct ip_spec){ .v6 = v6 }, &flow);
	}
	run(EGRESS, &f, .ingress_ifindex = came_by);
	expect_counted(STAT_TX_DATA);
}

Test(rwnd, ask__the_socket)
{
	addresses_make();
	FOR_V4_AND_V6(v6) {
		int listener = socket_at(v6, HOST_B, PORT_B), a = socket_at(v6, HOST_A, PORT_A), b;
		struct sockaddr_storage to;
		socklen_t len = address_of(&to, v6, HOST_B, PORT_B), info_len = sizeof(struct tcp_info);
		struct tcp_info info;
		int small = 1 << 20;

		/* B's windows must have a scale of their own. */
		setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &small, sizeof(small));
		cr_assert(!listen(listener, 1), "%s", strerror(errno));
		data_leaves(v6, 0);
		expect_eq(flow_of(v6).wnd.wscale_known, 0);
		connect_to(a, &to, len);
		b = accept(listener, NULL, NULL);
		cr_assert(!getsockopt(a, IPPROTO_TCP, TCP_INFO, &info, &info_len));
		cr_assert(info.tcpi_snd_wscale > 0 && info.tcpi_snd_wscale != info.tcpi_rcv_wscale,
			  "scales %u and %u prove nothing", info.tcpi_snd_wscale, info.tcpi_rcv_wscale);
		data_leaves(v6, 4711); /* of nobody's veth */
		expect_eq(flow_of(v6).wnd.wscale_known, 0);
		data_leaves(v6, 0);
		expect_scale(v6, info.tcpi_snd_wscale);
		expect_eq(flow_of(v6).wnd.seq_known, FLOW_SEQ_UNA);
		expect_eq(flow_of(v6).wnd.snd_una, snd_una_of(a));
		close(a);
		close(b);
		close(listener);
	}
}

/* A listener at the address has no scale to tell: the connection is not its. */
Test(rwnd, ask__not_a_listener)
{
	addresses_make();
	FOR_V4_AND_V6(v6) {
		int listener = socket_at(v6, HOST_A, PORT_A);

		cr_assert(!listen(listener, 1), "%s", strerror(errno));
		data_leaves(v6, 0);
		expect_eq(flow_of(v6).wnd.wscale_known, 0);
		close(listener);
	}
}

Test(rwnd, ask__not_for_every_packet)
{
	struct frame f = tcp(.payload = 100);
	struct flow flow;

	data_leaves(0, 0);
	flow = flow_of(0);
	expect_between(flow.wnd.asked_ns, 1, clock_ns());
	flow.wnd.asked_ns += 3600 * NSEC_PER_SEC;
	flow_set((struct ip_spec){}, &flow);
	run(EGRESS, &f);
	expect_eq(flow_of(0).wnd.asked_ns, flow.wnd.asked_ns);
	flow.wnd.asked_ns = 1;
	flow_set((struct ip_spec){}, &flow);
	run(EGRESS, &f);
	expect_between(flow_of(0).wnd.asked_ns, flow.wnd.asked_ns + 1, clock_ns());
}

Test(rwnd, ask__only_where_it_matters)
{
	struct frame f = tcp(.payload = 100);
	struct flow flow;
	int own;

	for (own = 0; own < 2; own++) {
		fixture(own ? "own control" : "all known");
		flow = flow_governed(0, 6000, 0);
		flow.tx.own_cc = own;
		flow.wnd.wscale_known = !own;
		flow.wnd.asked_ns = 0;
		flow_set((struct ip_spec){}, &flow);
		run(EGRESS, &f);
		expect_eq(flow_of(0).wnd.asked_ns, 0);
		expect_counted(STAT_TX_DATA);
	}
}
