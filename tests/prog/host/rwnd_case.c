// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "rwnd_case.h"

void rwnd_make(void)
{
	world_make();
	control_set(MODE_ENFORCE, 0);
	rwnd_set(1);
}

#define MSS 1000
#define SEGMENT 1200 /* on the wire */

unsigned int at_tcp(const struct frame *f)
{
	return 14 + (frame_is_v6(f) ? 40 : 20);
}

struct frame with_options(struct frame f, const __u8 *options, unsigned int len)
{
	memcpy(f.b + at_tcp(&f) + 20, options, len);
	frame_fix(&f);
	return f;
}

struct frame syn_with_scale(struct ip_spec s, int scale)
{
	const __u8 options[] = { 2, 4, 5, 180, 1, 3, 3, scale };

	s.options = scale == NO_SCALE ? 4 : 8;
	return with_options(frame_of(s), options, s.options);
}

struct flow rwnd_flow_of(int v6)
{
	return flow_get((struct ip_spec){ .v6 = v6 });
}

struct frame with_ack(struct frame f, __u32 ack)
{
	put32(f.b + at_tcp(&f) + 8, ack);
	frame_fix(&f);
	return f;
}

void syn_leaves(int v6, int scale, int ack)
{
	struct frame f = syn_with_scale((struct ip_spec){ .v6 = v6, .flags = SYN | (ack ? ACK : 0) }, scale);

	hosts_strip();
	expect_untouched(EGRESS, &f, STAT_TX_HANDSHAKE);
}

void syn_arrives(int v6, int scale, int ack)
{
	struct frame f =
		syn_with_scale((struct ip_spec){ .v6 = v6, .reply = 1, .flags = SYN | (ack ? ACK : 0) }, scale);

	if (ack)
		f = with_ack(f, USUAL_SEQ + 1);
	expect_untouched(INGRESS, &f, STAT_RX_OTHER);
}

void expect_scale(int v6, int scale)
{
	struct flow f = rwnd_flow_of(v6);

	expect_eq(f.wnd.wscale_known, 1);
	expect_eq(f.wnd.wscale & 15, scale);
}

void flow_sent(int v6, __u32 una, __u32 end)
{
	struct flow f = rwnd_flow_of(v6);

	f.wnd.snd_una = una;
	f.tx.seq_end = end;
	f.wnd.seq_known = FLOW_SEQ_UNA;
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

void flow_sends_more(int v6, __u32 end)
{
	flow_sent(v6, rwnd_flow_of(v6).wnd.snd_una, end);
}

struct flow flow_governed(int v6, unsigned int w_bytes, unsigned int scale)
{
	struct frame data = tcp(.v6 = v6, .payload = 100);
	struct flow f;

	hosts_strip();
	if (flow_exists((struct ip_spec){ .v6 = v6 })) {
		f = rwnd_flow_of(v6);
		f.wnd.edge_ns = 0;
		flow_set((struct ip_spec){ .v6 = v6 }, &f);
	}
	run(EGRESS, &data);
	expect_counted(STAT_TX_DATA);
	f = rwnd_flow_of(v6);
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

struct frame with_window(struct frame f, __u16 window)
{
	put16(f.b + at_tcp(&f) + 14, window);
	frame_fix(&f);
	return f;
}

struct frame granted(int v6, __u32 ack, __u16 window)
{
	static const __u8 options[24] = { 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 5, 10, 9, 8, 7, 6, 9, 8, 7, 7 };
	struct frame f = tcp(.v6 = v6, .reply = 1, .options = sizeof(options));

	return with_window(with_options(with_ack(f, ack), options, sizeof(options)), window);
}

void expect_window(const struct frame *f, __u16 window)
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

__u16 window_of(const struct frame *f)
{
	struct result r = run(INGRESS, f);

	expect_verdict(r, VERDICT_PASS);
	expect_that(world_ended());
	return get16(r.out.b + at_tcp(&r.out) + 14);
}
