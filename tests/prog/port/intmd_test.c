// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/port/intmd.bpf.h: the int-md encoding from the source through two hops to the sink, and what is wrong
 * with it at each of them. The bytes are put together by packet.c from the pictures.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

static const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };

static void make(void)
{
	world_make();
	hosts_strip();
	encoding_set(ENCODING_INT_MD);
}

TestSuite(intmd, .init = make, .fini = world_drop, .timeout = 120);
TestSuite(intmd_xdp, .init = make, .fini = world_drop, .timeout = 120);

#define GROW (4 + 12) /* shim and header of INT-MD */

/* The first word of the newest hop. */
static unsigned int at_stack(const struct frame *f)
{
	return at_shim(f) + GROW;
}

/* A port of 200 Mbit/s with some queue, of switch id. */
static void port_of_switch(__u16 id)
{
	struct port p = port_usual();

	p.flags = PORT_F_SWITCH | PORT_F_XDP_TX;
	p.speed_bps = 200000000;
	p.speed = telem_speed_fit(p.speed_bps);
	p.switch_id = id;
	p.tx_bytes = 777 * 128 + 5;
	p.backlog_bytes = 3300;
	port_set(WORLD_IFINDEX, &p);
}

/* Runs a hop and expects its words and nothing else; returns what leaves it, and the hop in *hop. */
static struct frame expect_hop(enum program p, const struct frame *in, __u16 id, struct int_hop *hop)
{
	__u64 before = clock_ns();
	struct frame want = *in;
	struct result r;
	unsigned int at = at_stack(in), len = 14 + (frame_is_v6(in) ? 4 : 2);

	port_of_switch(id);
	r = run(p, in);
	expect_verdict(r, VERDICT_PASS);
	*hop = (struct int_hop){ .node = id, .queue = 3300, .tx = 777, .kbps = 200000,
				 .ts = get64(r.out.b + at + 8) };
	expect_between(hop->ts, before, clock_ns());
	memmove(want.b + at + 24, want.b + at, want.len - at);
	put32(want.b + at, hop->node);
	put32(want.b + at + 4, hop->queue);
	put64(want.b + at + 8, hop->ts);
	put32(want.b + at + 16, hop->tx);
	put32(want.b + at + 20, hop->kbps);
	want.len += 24;
	want.b[at_shim(in) + 1] += 6;
	want.b[at_shim(in) + 7]--;
	put16(want.b + len, get16(want.b + len) + 24);
	put16(want.b + at_udp(in) + 4, get16(want.b + at_udp(in) + 4) + 24);
	frame_fix(&want);
	expect_frame(&r.out, &want);
	return r.out;
}

/* --- there and back --- */

/* The packet as it leaves the source: Sluice's own part has no telemetry. */
static struct frame expect_source(const struct frame *sent, __u32 seq, __u8 left)
{
	struct result r = run(EGRESS, sent);
	struct frame want = wrap(sent, .sport = get16(r.out.b + at_udp(&r.out)), .seq = seq);

	want = with_int(want, .left = left);
	expect_verdict(r, VERDICT_PASS);
	expect_frame(&r.out, &want);
	return r.out;
}

SinkTest(intmd, trip__every_size_comes_out_as_it_went_in)
{
	static const struct ip_spec kinds[] = { {}, { .options = 12 }, { .options = 40 }, { .udp = 1 } };
	unsigned int v6, k, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (k = 0; k < 4; k++) {
			__u32 seq = 0;

			for (n = 1; n <= 1256; n += 1 + n / 20) {
				unsigned int outer = (v6 ? 40 : 20) + 8 + GROW + 12;
				struct ip_spec s = kinds[k];
				struct frame sent, f;
				struct int_hop hop;
				struct result r;

				s.v6 = v6;
				s.payload = n;
				s.sport = 2000 + k;
				sent = frame_of(s);
				fixture("IPv%d, kind %u, %u bytes", v6 ? 6 : 4, k, n);
				hosts_strip();
				seq += sent.len + outer;
				f = expect_source(&sent, seq, 5);
				f = expect_hop(HOP_MAP, &f, 0x123, &hop);
				f = expect_hop(HOP_MAP, &f, 0x234, &hop);
				expect_eq(f.len, sent.len + outer + 48);
				r = run(sink, &f);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &sent);
				expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA);
			}
		}
	}
}

/* With the program that looks at the qdisc: what it says is the test of hop_test.c; here that it fits. */
Test(intmd, trip__through_hop)
{
	__u32 ifindex;
	int v6;

	world_needs(HOP);
	ifindex = link_make("");
	sh("tc qdisc replace dev " LINK_NEAR " root pfifo");
	for (v6 = 0; v6 < 2; v6++) {
		struct frame sent = tcp(.v6 = v6, .payload = 900);
		struct result r = run(EGRESS, &sent);

		r = run(HOP, &r.out, .ifindex = ifindex);
		expect_eq(get32(r.out.b + at_stack(&r.out)), 0x123);
		expect_eq(get32(r.out.b + at_stack(&r.out) + 20), 100000000);
		r = run(HOP, &r.out, .ifindex = ifindex);
		r = run(INGRESS, &r.out);
		expect_frame(&r.out, &sent);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA);
	}
}

/* What two hops said, in the echo of the next packet and in Algorithm 1. */
static void telemetry_arrives(int v6, int authenticated)
{
	struct ip_spec there = { .v6 = v6, .payload = 900 }, back = { .v6 = v6, .reply = 1 };
	struct frame data = frame_of(there), ack = frame_of(back), f;
	struct int_hop one, two;
	struct result r = run(EGRESS, &data);
	__u32 seq = data.len + (v6 ? 40 : 20) + 8 + GROW + 12 + (authenticated ? 16 : 0);
	struct flow flow;

	fixture("IPv%d%s", v6 ? 6 : 4, authenticated ? ", authenticated" : "");
	f = expect_hop(HOP_MAP, &r.out, 0xa5a, &one);
	f = expect_hop(HOP_MAP, &f, 0x0ff, &two);
	r = run(sink, &f);
	expect_frame(&r.out, &data);
	flow = flow_get(back);
	expect_eq(flow.echo.seq, seq);
	expect_eq(flow.echo.nhop_path, 2 << 12 | 0xaa5);
	/* 1 Gbit/s, and all five times as much */
	expect_eq(flow.echo.hop[0], 2ULL << 60 | (one.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
	expect_eq(flow.echo.hop[1], 2ULL << 60 | (two.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
	expect_eq(flow.echo.hop[2], 0);

	r = run(EGRESS, &ack); /* no payload, no INT-MD */
	expect_eq(r.out.b[at_shim(&r.out)], 0x98);
	r = run(sink, &r.out);
	expect_frame(&r.out, &ack);
	expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_HOP_STAMPED, STAT_RX_DATA, STAT_TX_DATA,
		       STAT_RX_DATA, STAT_FB_FIRST);
	flow = flow_get(there);
	expect_eq(flow.cc.hops, 2);
	expect_eq(flow.cc.path_id, 0xaa5);
	expect_eq(flow.cc.last[0].bps, 1000000000);
	expect_eq(flow.cc.last[0].tx_bytes, 777 * 128 * 5);
	expect_eq(flow.cc.last[1].ts_ns, two.ts & 0xffffff);

	/* The path is known: room for one hop more than that. */
	r = run(EGRESS, &data);
	expect_eq(r.out.b[at_shim(&r.out) + 7], 3);
	expect_counted(STAT_TX_DATA);
}

SinkTest(intmd, trip__telemetry_arrives_and_comes_back_as_feedback)
{
	telemetry_arrives(0, 0);
	telemetry_arrives(1, 0);
}

SinkTest(intmd, trip__authenticated)
{
	keys_set(&key, 1);
	telemetry_arrives(0, 1);
	telemetry_arrives(1, 1);
}

/* Both packets of the flow have INT-MD and an echo. */
SinkTest(intmd, trip__with_an_echo)
{
	FOR_V4_AND_V6(v6) {
		struct frame first = tcp(.v6 = v6, .reply = 1, .payload = 700), there = tcp(.v6 = v6, .payload = 300),
			     f;
		struct int_hop hop;
		struct result r;

		r = run(EGRESS, &first);
		f = expect_hop(HOP_MAP, &r.out, 0x123, &hop);
		run(sink, &f);
		r = run(EGRESS, &there);
		expect_eq(r.out.len, there.len + (v6 ? 40 : 20) + 8 + GROW + 12 + 12 + 8);
		f = expect_hop(HOP_MAP, &r.out, 0x123, &hop);
		r = run(sink, &f);
		expect_frame(&r.out, &there);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_RX_DATA, STAT_TX_DATA, STAT_HOP_STAMPED,
			       STAT_RX_DATA, STAT_FB_FIRST);
	}
}

/* The receiver needs no setting, and one that asks for the other encoding reads this one. */
SinkTest(intmd, trip__receiver_is_set_to_the_other_encoding)
{
	FOR_V4_AND_V6(v6) {
		struct frame data = tcp(.v6 = v6, .payload = 300), f;
		struct int_hop hop;
		struct result r;

		encoding_set(ENCODING_INT_MD);
		r = run(EGRESS, &data);
		f = expect_hop(HOP_MAP, &r.out, 0x123, &hop);
		encoding_set(ENCODING_HPCC);
		r = run(sink, &f);
		expect_frame(&r.out, &data);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6, .reply = 1 }).echo.hops, 1);
		r = run(EGRESS, &data); /* the flow has taken up the change */
		expect_eq(r.out.b[at_shim(&r.out)], 0x98);
		expect_counted(STAT_TX_DATA, STAT_HOP_STAMPED, STAT_RX_DATA, STAT_TX_DATA);
	}
}

/* --- probes --- */

/* A PROBE asks in INT-MD, and has the room for the answer in the other encoding. */
static void probe_returns(int v6, int authenticated)
{
	struct ip_spec there = { .v6 = v6, .udp = 1, .sport = 2000 + authenticated, .payload = 900 };
	struct frame data = frame_of(there), f, want;
	struct int_hop one, two;
	struct result r;
	struct flow flow;

	fixture("IPv%d%s", v6 ? 6 : 4, authenticated ? ", authenticated" : "");
	hosts_strip();
	{
		struct host h = host_get(v6, HOST_B);

		h.asked_ns = clock_ns();
		host_set(v6, HOST_B, &h);
	}
	run(EGRESS, &data); /* makes the flow */
	world_counted((const int[]){ -1 });
	r = run(EGRESS, &data, .clone = 1);
	expect_eq(r.out.b[at_shim(&r.out)], 0x18);
	f = expect_hop(HOP_MAP, &r.out, 0xa5a, &one);
	f = expect_hop(HOP_MAP, &f, 0x0ff, &two);
	expect_counted_attached(STAT_HOP_STAMPED, STAT_HOP_STAMPED);
	if (!authenticated) {
		want = frame_probe(&data, get16(f.b + at_udp(&f)), get32(f.b + at_shim(&f) + GROW + 48 + 8));
		want = with_int(want, .left = 3, .hops = 2, .hop = { one, two });
		expect_frame(&f, &want);
		want = frame_probe(&data, get16(f.b + at_udp(&f)), get32(f.b + at_shim(&f) + GROW + 48 + 8));
		put16(want.b + at_telem(&want), 2 << 12 | 0xaa5);
		put64(want.b + at_hop(&want, 0), 2ULL << 60 | (one.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
		put64(want.b + at_hop(&want, 1), 2ULL << 60 | (two.ts & 0xffffff) << 36 | 777 * 5 << 16 | 206);
		want = frame_turned(want);
	}
	r = run(sink, &f);
	expect_verdict(r, VERDICT_REDIRECT);
	expect_counted(STAT_RX_PROBE);
	if (!authenticated)
		expect_frame(&r.out, &want);
	expect_untouched(HOP_MAP, &r.out, STAT_HOP_OTHER);
	r = run(sink, &r.out);
	expect_verdict(r, VERDICT_DROP);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
	flow = flow_get(there);
	expect_eq(flow.cc.hops, 2);
	expect_eq(flow.cc.path_id, 0xaa5);
	expect_eq(flow.cc.last[1].qlen_bytes, 206 * 80);
}

SinkTest(intmd, probe__comes_back_without_int)
{
	probe_returns(0, 0);
	probe_returns(1, 0);
	keys_set(&key, 1);
	probe_returns(0, 1);
	probe_returns(1, 1);
}

/* What a probe brought and nobody can read is refused by whoever asked. */
SinkTest(intmd, probe__with_what_cannot_be_read)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec there = { .v6 = v6, .udp = 1, .payload = 900 };
		struct frame data = frame_of(there), f;
		struct host h;
		struct result r;

		hosts_strip();
		run(EGRESS, &data);
		h = host_get(v6, HOST_B);
		h.asked_ns = clock_ns();
		host_set(v6, HOST_B, &h);
		world_counted((const int[]){ -1 });
		f = frame_probe(&data, 0xc777, 1);
		f = with_int(f, .ml = 7, .hops = 1, .hop = { { 1, 0, 1000, 5, 1000 } });
		r = run(sink, &f);
		expect_verdict(r, VERDICT_REDIRECT);
		expect_counted(STAT_RX_PROBE, STAT_RX_INT_LENGTH);
		r = run(sink, &r.out);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_BAD_TELEM);
		expect_eq(flow_get(there).feedbacks, 0);
	}
}

/* --- the source --- */

/* It leaves room for what the hops will add. */
Test(intmd, source__fits_with_the_hops_to_the_byte)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = tcp(.v6 = v6, .payload = 1000);
		struct port port = port_usual();
		struct result r;

		hosts_strip();
		port.mtu = in.len - 14 + (v6 ? 40 : 20) + 8 + GROW + 12 + 5 * 24;
		port_change(WORLD_IFINDEX, &port);
		r = run(EGRESS, &in);
		expect_eq(r.out.len, port.mtu + 14 - 5 * 24);
		expect_counted(STAT_TX_DATA);
		port.mtu--;
		port_change(WORLD_IFINDEX, &port);
		expect_untouched(EGRESS, &in, STAT_TX_MTU);
	}
}

/* A node's uplink is the first hop itself. */
Test(intmd, source__of_a_node_is_the_first_hop)
{
	__u32 ifindex;

	world_needs(HOP);
	ifindex = link_make("");
	sh("tc qdisc replace dev " LINK_NEAR " root pfifo");
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .payload = 1000 };
		struct frame in = frame_of(s), want;
		struct port port = port_usual();
		struct int_hop hop = { .node = 0x123, .kbps = 100000000 };
		__u64 before = clock_ns();
		struct result r;

		port.flags = PORT_F_HOST | PORT_F_STAMP;
		port_change(ifindex, &port);
		hosts_strip();
		r = run(EGRESS, &in, .ifindex = ifindex);
		expect_counted(STAT_TX_DATA);
		hop.ts = get64(r.out.b + at_stack(&r.out) + 8);
		hop.tx = get32(r.out.b + at_stack(&r.out) + 16);
		expect_between(hop.ts, before, clock_ns());
		want = wrap(&in, .sport = get16(r.out.b + at_udp(&r.out)), .seq = in.len + (v6 ? 40 : 20) + 8 + 40 + 12);
		want = with_int(want, .left = 4, .hops = 1, .hop = { hop });
		expect_frame(&r.out, &want);
		expect_eq(port_get(ifindex).unseen_bytes, r.out.len - in.len);
		r = run(INGRESS, &r.out);
		expect_frame(&r.out, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6, .reply = 1 }).echo.nhop_path, 1 << 12 | 0x123);
	}
}

Test(intmd, source__of_a_node_whose_queue_cannot_be_read)
{
	struct frame in = tcp(.payload = 1000);
	struct port port = port_usual();
	__u32 ifindex;
	struct result r;

	world_needs(HOP);
	ifindex = link_make("");
	port.flags = PORT_F_HOST | PORT_F_STAMP;
	port_change(ifindex, &port);
	r = run(EGRESS, &in, .ifindex = ifindex);
	expect_counted(STAT_TX_DATA, STAT_TX_NO_QUEUE);
	expect_eq(r.out.b[at_shim(&r.out) + 1], 3);
	expect_eq(r.out.b[at_shim(&r.out) + 7], 5);
}

/* --- the hop --- */

/* A message of A to B with INT-MD. */
#define message(v6_, payload_, ...)                                                                \
	({                                                                                         \
		struct frame inner_ = tcp(.v6 = v6_, .payload = payload_);                         \
		frame_with_int(wrap(&inner_, .seq = 99), (struct int_spec){ __VA_ARGS__ });        \
	})

/* Only a flag is set. */
static void expect_flag(const struct frame *in, enum sluice_stat stat, __u8 flag)
{
	struct result r = run(HOP_MAP, in);
	struct frame want = *in;

	want.b[at_shim(in) + 4] |= flag;
	expect_verdict(r, VERDICT_PASS);
	expect_frame(&r.out, &want);
	expect_counted(stat);
}

Test(intmd, hop__without_a_remaining_hop_sets_e)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = message(v6, 500);

		port_of_switch(1);
		expect_flag(&in, STAT_HOP_FULL, 4);
		in = message(v6, 500, .flags = 0xa);
		expect_flag(&in, STAT_HOP_FULL, 4);
	}
}

Test(intmd, hop__without_room_in_the_mtu_sets_m)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = message(v6, 500, .left = 3), f;
		struct port port;

		port_of_switch(0x321);
		port = port_get(WORLD_IFINDEX);
		port.mtu = in.len - 14 + 23;
		port_set(WORLD_IFINDEX, &port);
		expect_flag(&in, STAT_HOP_MTU, 2);
		port.mtu++;
		port_set(WORLD_IFINDEX, &port);
		f = run(HOP_MAP, &in).out;
		expect_eq(f.len, in.len + 24);
		expect_counted(STAT_HOP_STAMPED);
		/* 255 words are all that a shim can count. */
		in = message(v6, 1100, .left = 3, .length = 250);
		expect_flag(&in, STAT_HOP_BAD, 0);
	}
}

/* What it does not know, it says all ones for; what is asked of another domain likewise. */
Test(intmd, hop__all_ones_for_what_it_cannot_serve)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = message(v6, 500, .left = 3, .domain = 0x1234), f, inner = tcp(.v6 = v6, .payload = 500);
		unsigned int at = at_stack(&in), i;

		port_of_switch(0x321);
		f = run(HOP_MAP, &in).out;
		expect_counted(STAT_HOP_STAMPED);
		expect_eq(f.len, in.len + 24);
		expect_eq(get32(f.b + at), 0x321);
		expect_eq(get32(f.b + at + 4), 3300);
		expect_eq(get64(f.b + at + 16), ~0ULL);
		f = run(INGRESS, &f).out;
		expect_frame(&f, &inner);
		expect_counted(STAT_RX_DATA, STAT_RX_INT_FIELDS);

		in = message(v6, 500, .left = 3, .bitmap = 0xffff, .ml = 18 + 2, .ds = 0xc000);
		f = run(HOP_MAP, &in).out;
		expect_counted(STAT_HOP_BAD); /* bits 0 to 15 are 19 words */
		in = message(v6, 500, .left = 3, .bitmap = 0xffff, .ml = 19 + 2, .ds = 0xc000);
		f = run(HOP_MAP, &in).out;
		expect_counted(STAT_HOP_STAMPED);
		expect_eq(f.len, in.len + 84);
		expect_eq(get32(f.b + at), 0x321);
		/* Bit 3, the queue, is word 3; bits 4 to 6 are two words each; ours are the last but one. */
		for (i = 1; i < 21; i++)
			if (i != 3 && i != 6 && i != 7 && i != 18 && i != 19)
				expect_eq(get32(f.b + at + 4 * i), ~0U);
		expect_eq(get32(f.b + at + 12), 3300);
		expect_eq(get32(f.b + at + 72), 777);
		expect_eq(get32(f.b + at + 76), 200000);
		f = run(INGRESS, &f).out;
		expect_frame(&f, &inner);
		expect_counted(STAT_RX_DATA);
	}
}

/* The next frame, and the VLAN tag beside it, which the kernel has taken out of it. */
static void catch_tagged(int fd, struct frame *f, __u32 *tag)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct iovec iov = { f->b, sizeof(f->b) };
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct tpacket_auxdata aux;
	ssize_t n;

	cr_assert(poll(&ready, 1, 1000) == 1, "%snothing arrived", world_fixture());
	n = recvmsg(fd, &m, 0);
	cr_assert(n > 0 && CMSG_FIRSTHDR(&m), "%s%s", world_fixture(), strerror(errno));
	memcpy(&aux, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(aux));
	f->len = n;
	*tag = aux.tp_status & TP_STATUS_VLAN_VALID ? (__u32)aux.tp_vlan_tpid << 16 | aux.tp_vlan_tci : 0;
}

/* Over a device: it leaves with its tag, and with the hop. */
Test(intmd, hop__of_a_frame_with_a_vlan_tag)
{
	static const __u16 types[] = { 0x8100, 0x88a8 };
	struct port port;
	int near, far, one = 1, i;
	__u32 tag;

	port_of_switch(0x321);
	port = port_get(WORLD_IFINDEX);
	port_set(link_make(""), &port);
	link_attach(HOP_MAP, LINK_NEAR, 0);
	near = packet_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	cr_assert(!setsockopt(far, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)));
	FOR_V4_AND_V6(v6) {
		for (i = 0; i < 2; i++) {
			struct frame in = message(v6, 500, .left = 3), tagged = frame_with_vlan(in, types[i]), got, want;

			packet_send(near, &tagged);
			catch_tagged(far, &got, &tag);
			expect_counted_attached(STAT_HOP_STAMPED);
			expect_eq(tag, (__u32)types[i] << 16 | 42);
			want = message(v6, 500, .left = 2, .hops = 1, .hop = { { 0x321, 3300,
				       get64(got.b + at_stack(&got) + 8), 777, 200000 } });
			expect_frame(&got, &want);
		}
	}
	close(near);
	close(far);
}

Test(intmd, hop__leaves_what_is_unsound)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = message(v6, 500, .left = 3, .version = 3);

		port_of_switch(1);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .ml = 5);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3);
		in.b[at_shim(&in) + 6] = 0;
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .ml = 31);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .length = 2);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .length = 255);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .next = 17);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3);
		put16(in.b + at_udp(&in) + 6, 0x1111);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
	}
}

/* --- the sink --- */

/* A message of B to A. */
#define from_b(v6_, payload_, ...)                                                                 \
	({                                                                                         \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1, .payload = payload_);             \
		frame_with_int(wrap(&inner_, .seq = 99), (struct int_spec){ __VA_ARGS__ });        \
	})

#define HOP_SOUND { 0x123, 1600, 5000000, 100, 1000000 }

/* It is stripped, its telemetry ignored, and that is counted. */
static void expect_ignored(int v6, const struct frame *in, unsigned int payload, enum sluice_stat why)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = payload);
	struct result r = run(sink, in);

	expect_verdict(r, VERDICT_PASS);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA, why);
	expect_eq(flow_exists((struct ip_spec){ .v6 = v6 }), 0);
}

SinkTest(intmd, sink__ignores_what_it_cannot_read)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 500, .version = 1, .hops = 1, .hop = { HOP_SOUND });

		expect_ignored(v6, &in, 500, STAT_RX_INT_VERSION);
		in = from_b(v6, 500, .hops = 1, .hop = { HOP_SOUND });
		in.b[at_shim(&in) + 6] = 0;
		expect_ignored(v6, &in, 500, STAT_RX_INT_LENGTH);
		in = from_b(v6, 500, .ml = 31, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_LENGTH);
		in = from_b(v6, 500, .ml = 7, .bitmap = 0xd400, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_LENGTH); /* six words are no hop of seven */
		in = from_b(v6, 500, .hops = 6, .hop = { HOP_SOUND, HOP_SOUND, HOP_SOUND, HOP_SOUND, HOP_SOUND, HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_HOPS);
		in = from_b(v6, 500, .domain = 1, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_FIELDS);
		in = from_b(v6, 500, .bitmap = 0x9400 | 0x4000, .ds = 0x8000, .hops = 1, .hop = { HOP_SOUND });
		expect_ignored(v6, &in, 500, STAT_RX_INT_FIELDS);
		in = from_b(v6, 500, .hops = 1, .hop = { { 1, 1600, 5000000, 100, 0 } });
		expect_ignored(v6, &in, 500, STAT_RX_INT_VALUES);
		in = from_b(v6, 500, .hops = 2, .hop = { HOP_SOUND, { 1, 1600, 5000000, ~0U, 1000000 } });
		expect_ignored(v6, &in, 500, STAT_RX_INT_VALUES);
		in = from_b(v6, 500, .hops = 1, .hop = { { 1, 1600, ~0ULL, 100, 1000000 } });
		expect_ignored(v6, &in, 500, STAT_RX_INT_VALUES);
	}
}

/* As long as a shim can say: 252 words of stack. */
SinkTest(intmd, sink__strips_the_longest_stack)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in = wrap(&inner, .seq = 99);
		unsigned int at, i;

		in = with_int(in, .ml = 31, .length = 255);
		at = at_stack(&in);
		memmove(in.b + at + 1008, in.b + at, in.len - at);
		for (i = 0; i < 1008; i++)
			in.b[at + i] = i;
		in.len += 1008;
		put16(in.b + 14 + (v6 ? 4 : 2), get16(in.b + 14 + (v6 ? 4 : 2)) + 1008);
		frame_fix(&in);
		expect_ignored(v6, &in, 500, STAT_RX_INT_HOPS);
	}
}

SinkTest(intmd, sink__passes_what_does_not_add_up)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 500, .length = 2, .hops = 1, .hop = { HOP_SOUND });

		expect_untouched(sink, &in, STAT_RX_BAD_LENGTH);
		in = from_b(v6, 500, .length = 8, .hops = 1, .hop = { HOP_SOUND }); /* speed is taken for a shim */
		expect_untouched(sink, &in, STAT_RX_NOT_HPCC);
		in = from_b(v6, 500, .length = 255, .hops = 1, .hop = { HOP_SOUND });
		expect_untouched(sink, &in, STAT_RX_TRUNCATED);
		in = from_b(v6, 500, .next = 17, .hops = 1, .hop = { HOP_SOUND });
		expect_untouched(sink, &in, STAT_RX_NOT_HPCC);
		in = from_b(v6, 500, .hops = 1, .hop = { HOP_SOUND });
		put16(in.b + at_udp(&in) + 6, 0x1111);
		expect_untouched(sink, &in, STAT_RX_NOT_HPCC);
		in = from_b(v6, 500, .hops = 1, .hop = { HOP_SOUND });
		in.len--;
		expect_untouched(sink, &in, STAT_RX_TRUNCATED);
	}
}

SinkTest(intmd, sink__truncated_at_every_length)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 20, .hops = 2, .hop = { HOP_SOUND, HOP_SOUND });
		unsigned int n;

		for (n = at_shim(&in); n < in.len; n++) {
			struct frame cut = frame_cut(in, n);

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			expect_untouched(sink, &cut, STAT_RX_TRUNCATED);
		}
	}
}

/* Hops are missing: those that are there count. */
SinkTest(intmd, sink__takes_what_there_is)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 500, .flags = 4, .hops = 2, .hop = { HOP_SOUND, HOP_SOUND });

		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_INT_FULL);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 2);
		in = from_b(v6, 500, .flags = 2, .left = 3, .hops = 1, .hop = { HOP_SOUND });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_INT_MTU);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 1);
		in = from_b(v6, 500, .left = 5);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 0);
	}
}

/* D: the sink is to throw the packet away when it has read it. */
SinkTest(intmd, sink__drops_a_copy)
{
	FOR_V4_AND_V6(v6) {
		struct frame in = from_b(v6, 500, .flags = 8, .hops = 1, .hop = { HOP_SOUND });
		struct result r = run(sink, &in);

		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_INT_COPY);
		expect_eq(flow_get((struct ip_spec){ .v6 = v6 }).echo.hops, 1);
	}
}

/* A feedback that tells of another number of hops is a new beginning, and W stays. */
SinkTest(intmd, sink__path_that_changes_its_length)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec there = { .v6 = v6, .payload = 900 };
		struct frame data = frame_of(there), ack = tcp(.v6 = v6, .reply = 1);
		unsigned int i;

		for (i = 0; i < 3; i++) {
			unsigned int hops = i == 1 ? 2 : 1, k;
			struct result r;
			struct int_hop hop;
			struct frame f;

			r = run(EGRESS, &data);
			for (f = r.out, k = 0; k < hops; k++)
				f = expect_hop(HOP_MAP, &f, 0x100 + k, &hop);
			run(sink, &f);
			r = run(EGRESS, &ack);
			world_counted((const int[]){ -1 });
			run(sink, &r.out);
			expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
			expect_eq(flow_get(there).cc.hops, hops);
		}
	}
}

/* txBytes goes on unbroken where 32 bits of it wrap, at a speed that is in no table. */
SinkTest(intmd, sink__counter_that_wraps)
{
	static const __u32 tx[] = { -1000, 800 };
	__u32 scaled[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct frame in = from_b(0, 500, .hops = 1, .hop = { { 1, 0, 5000000, tx[i], 1800000 } });

		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		scaled[i] = flow_get((struct ip_spec){}).echo.hop[0] >> 16 & 0xfffff;
	}
	/* 1800 units of a port of 1.8 Gbit/s are 2500 of one of 2.5, rounded down */
	expect_between((scaled[1] - scaled[0]) & 0xfffff, 2499, 2500);
}

SinkTest(intmd, sink__bypass)
{
	struct frame inner = tcp(.reply = 1, .payload = 500), in = from_b(0, 500, .hops = 1, .hop = { HOP_SOUND });
	struct result r;

	control_set(MODE_ENFORCE, 1);
	r = run(sink, &in);
	expect_frame(&r.out, &inner);
	expect_counted(STAT_RX_DATA);
	in = from_b(0, 500, .flags = 8, .hops = 1, .hop = { HOP_SOUND });
	expect_verdict(run(sink, &in), VERDICT_DROP);
}

/* Whatever stands there, one counter ends it and nothing breaks. */
SinkTest(intmd, noise__ends_in_one_counter)
{
	unsigned short seed[3] = { 1, 2, 3 };
	unsigned int i, k;

	for (i = 0; i < 20000; i++) {
		struct frame in = from_b(i & 1, 200, .left = 3, .hops = i % 6, .hop = { HOP_SOUND, HOP_SOUND });

		for (k = nrand48(seed) % 4; k; k--)
			in.b[at_shim(&in) + nrand48(seed) % (GROW + 30)] = nrand48(seed);
		run(sink, &in);
		run(HOP_MAP, &in);
		if (i % 100 == 99)
			expect_that(world_ended());
	}
}
