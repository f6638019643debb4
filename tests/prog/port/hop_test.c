// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/hop.bpf.h: a hop stamps what leaves its port. */
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "hop_case.h"

TestSuite(hop, .init = world_make, .fini = world_drop, .timeout = 60);

#define TX_BYTES (1000 * 128ULL + 127) /* 1000 units and a bit */
#define BACKLOG_BYTES (50 * 80ULL)
#define STAMP_USUAL (12ULL << 60 | 1000 << 16 | 50) /* without the time */
#define STAMP_TS (0xffffffULL << 36)

static void port_of_switch(__u64 tx_bytes, __u64 backlog_bytes)
{
	struct port p = port_usual();

	p.flags = PORT_F_SWITCH;
	p.tx_bytes = tx_bytes;
	p.backlog_bytes = backlog_bytes;
	port_set(WORLD_IFINDEX, &p);
}

/* The time in a stamp, 24 bits, must be between two readings of the clock. */
static void expect_time(__u64 stamp, __u64 before, __u64 after)
{
	__u64 since = ((stamp >> 36) - before) & 0xffffff;

	cr_assert(since <= after - before,
		  "%sthe stamp is %llu ns after the first of two readings that are %llu ns apart", world_fixture(),
		  since, after - before);
}

/* Runs the program and expects that nothing changed but the given hop, the count, and the path. */
static struct frame expect_stamp(enum program p, struct frame in, unsigned int nhop, __u64 stamp)
{
	__u64 before = clock_ns(), got;
	struct result r = run(p, &in);
	__u8 *path = in.b + at_telem(&in);

	expect_verdict(r, VERDICT_PASS);
	expect_counted(STAT_HOP_STAMPED);
	got = get64(r.out.b + at_hop(&in, nhop));
	expect_time(got, before, clock_ns());
	expect_eq(got & ~STAMP_TS, stamp);
	put64(in.b + at_hop(&in, nhop), got);
	put16(path, ((get16(path) & 0xfff) ^ SWITCH_ID) | (nhop + 1) << 12);
	expect_frame(&r.out, &in);
	return r.out;
}

/* --- stamps --- */

Test(hop, stamp__five_hops_in_place)
{
	port_of_switch(TX_BYTES, BACKLOG_BYTES);
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 700), f = wrap(&inner, .room = 5);
		unsigned int n;

		for (n = 0; n < 5; n++) {
			fixture("IPv%d, hop %u", v6 ? 6 : 4, n + 1);
			f = expect_stamp(HOP_MAP, f, n, STAMP_USUAL);
			expect_eq(get16(f.b + at_telem(&f)), (n + 1) << 12 | (n & 1 ? 0 : SWITCH_ID));
		}
		fixture("IPv%d, sixth hop", v6 ? 6 : 4);
		expect_untouched(HOP_MAP, &f, STAT_HOP_FULL);
	}
}

Test(hop, stamp__of_several_switches)
{
	static const __u16 ids[] = { 1, 0xfff, 0x800, 0x0f0, 0x555 };
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5, .path = 0);
	struct port p = port_usual();
	__u16 path = 0;
	unsigned int n;

	for (n = 0; n < 5; n++) {
		struct result r;

		p.switch_id = ids[n];
		port_set(WORLD_IFINDEX, &p);
		r = run(HOP_MAP, &f);
		f = r.out;
		path ^= ids[n];
		expect_eq(get16(f.b + at_telem(&f)), (n + 1) << 12 | path);
	}
}

/* In data of TCP and UDP, and in a PROBE; its answer brings back the hops that it collected. */
Test(hop, stamp__of_every_message_that_has_room)
{
	port_of_switch(TX_BYTES, BACKLOG_BYTES);
	FOR_V4_AND_V6 (v6) {
		struct frame inner = udp(.v6 = v6, .payload = 700), f = wrap(&inner, .room = 5), back;
		unsigned int n;

		f = expect_stamp(HOP_MAP, f, 0, STAMP_USUAL);
		expect_stamp(HOP_MAP, f, 1, STAMP_USUAL);

		fixture("IPv%d, PROBE", v6 ? 6 : 4);
		f = frame_probe(&inner, 0xc123, 77);
		for (n = 0; n < 5; n++)
			f = expect_stamp(HOP_MAP, f, n, STAMP_USUAL);
		expect_untouched(HOP_MAP, &f, STAT_HOP_FULL);

		fixture("IPv%d, PROBE_REPLY", v6 ? 6 : 4);
		f = frame_probe(&inner, 0xc123, 77);
		back = frame_turned(f);
		expect_untouched(HOP_MAP, &back, STAT_HOP_OTHER);
		f = expect_stamp(HOP_MAP, f, 0, STAMP_USUAL);
		back = frame_turned(f);
		expect_untouched(HOP_MAP, &back, STAT_HOP_OTHER);
	}
}

Test(hop, stamp__in_less_room)
{
	unsigned int room, n;

	port_of_switch(TX_BYTES, BACKLOG_BYTES);
	for (room = 1; room <= 5; room++) {
		struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = room);

		for (n = 0; n < room; n++) {
			fixture("hop %u of %u", n + 1, room);
			f = expect_stamp(HOP_MAP, f, n, STAMP_USUAL);
		}
		expect_untouched(HOP_MAP, &f, STAT_HOP_FULL);
	}
}

Test(hop, stamp__beside_an_echo)
{
	port_of_switch(TX_BYTES, BACKLOG_BYTES);
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 700);
		struct frame f = wrap(&inner, .room = 2, .echo = 1, .echo_hops = 5,
				      .echo_hop = { ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL });

		f = expect_stamp(HOP_MAP, f, 0, STAMP_USUAL);
		f = expect_stamp(HOP_MAP, f, 1, STAMP_USUAL);
		expect_untouched(HOP_MAP, &f, STAT_HOP_FULL);
	}
}

Test(hop, stamp__in_a_vlan)
{
	static const __u16 types[] = { 0x8100, 0x88a8 };
	unsigned int i;

	port_of_switch(TX_BYTES, BACKLOG_BYTES);
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < 2; i++) {
			struct frame inner = tcp(.v6 = v6, .payload = 700), f = wrap(&inner, .room = 5), want,
				     tagged = frame_with_vlan(f, types[i]);
			struct result r = run(HOP_MAP, &tagged);

			fixture("IPv%d, tag %#x", v6 ? 6 : 4, types[i]);
			expect_verdict(r, VERDICT_PASS);
			expect_counted(STAT_HOP_STAMPED);
			put16(f.b + at_telem(&f), 1 << 12 | SWITCH_ID);
			put64(f.b + at_hop(&f, 0), get64(r.out.b + at_hop(&f, 0) + 4));
			expect_eq(get64(f.b + at_hop(&f, 0)) & ~STAMP_TS, STAMP_USUAL);
			want = frame_with_vlan(f, types[i]);
			expect_frame(&r.out, &want);
		}
	}
}

/* Speeds that are not in the table announce the next faster one and scale what they report. */
Test(hop, stamp__speed_and_scale)
{
	static const struct {
		__u64 bps;
		unsigned int code;
		double factor;
	} cases[] = {
		{ 10000000, 0, 1 },	 { 100000000, 1, 1 },	     { 25000000000, 8, 1 }, { 30000000000, 9, 4.0 / 3 },
		{ 800000000000, 15, 1 }, { 1600000000000, 15, 0.5 }, { 80000000, 1, 1.25 }, { 2000000, 0, 5 },
	};
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5);
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port p = port_usual();
		__u64 stamp;

		fixture("%llu bit/s", cases[i].bps);
		p.speed_bps = cases[i].bps;
		p.speed = telem_speed_fit(cases[i].bps);
		p.tx_bytes = 30000 * 128;
		p.backlog_bytes = 3000 * 80;
		port_set(WORLD_IFINDEX, &p);
		stamp = get64(run(HOP_MAP, &f).out.b + at_hop(&f, 0));
		expect_eq(stamp >> 60, cases[i].code);
		/* the factor has 16 fractional bits, and is cut: a unit in 2^16 of what it multiplies */
		expect_between((stamp >> 16) & 0xfffff, 30000 * cases[i].factor - 1, 30000 * cases[i].factor + 1);
		expect_between(stamp & 0xffff, 3000 * cases[i].factor - 1, 3000 * cases[i].factor + 1);
	}
}

Test(hop, stamp__counters_wrap_and_the_queue_saturates)
{
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5);

	port_of_switch(((1ULL << 20) + 7) * 128, 0xffffULL * 80);
	expect_stamp(HOP_MAP, f, 0, 12ULL << 60 | 7 << 16 | 0xffff);
	port_of_switch((1ULL << 40) + 5 * 128, 10000000);
	expect_stamp(HOP_MAP, f, 0, 12ULL << 60 | 5 << 16 | 0xffff);
	port_of_switch(127, 39);
	expect_stamp(HOP_MAP, f, 0, 12ULL << 60);
	port_of_switch(128, 40); /* queues are rounded to the nearest unit */
	expect_stamp(HOP_MAP, f, 0, 12ULL << 60 | 1 << 16 | 1);
}

/* --- what is not stamped --- */

Test(hop, other__is_untouched)
{
	struct frame in;

	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 100);

		expect_untouched(HOP_MAP, &inner, STAT_HOP_OTHER);
		in = udp(.v6 = v6, .dport = 53, .payload = 200);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = frame_with_vlan(inner, 0x8100);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = wrap(&inner, .echo = 1, .echo_hops = 2); /* an ACK has no telemetry */
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = wrap(&inner, .msg = 2); /* a question without room */
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = wrap(&inner, .msg = 3);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = wrap(&inner, .msg = 3, .room = 5);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = wrap(&inner, .msg = 3, .bare = 1);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	}
	in = frame_arp();
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}

Test(hop, other__outer_fragments_and_options)
{
	struct frame inner = tcp(.payload = 100), whole = wrap(&inner, .room = 5), in;

	in = frame_with_fragment(whole, 1, 0);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	in = frame_with_ipv4_option(whole);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	inner = tcp(.v6 = 1, .payload = 100);
	in = wrap(&inner, .room = 5);
	in = frame_with_extension(in, 0);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}

Test(hop, bypass__is_untouched)
{
	struct frame inner = tcp(.payload = 100), in = wrap(&inner, .room = 5);

	control_set(MODE_ENFORCE, 1);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}

Test(hop, no_port__is_untouched)
{
	struct frame inner = tcp(.payload = 100), in = wrap(&inner, .room = 5);

	port_remove(WORLD_IFINDEX);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}

Test(hop, malformed__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 300), whole = wrap(&inner, .room = 5), in;
		unsigned int shim = at_shim(&whole), v;

		for (v = 0; v < 256; v++) {
			fixture("IPv%d, shim type and NPT %#x", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim] = v;
			if (v != 0x98)
				expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
			fixture("IPv%d, version and message %#x", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 4] = v;
			if (v == 0x43)
				expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
			else if (v != 0x41 && v != 0x42)
				expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
			fixture("IPv%d, length %u words", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 1] = v;
			if (v != 13)
				expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
			fixture("IPv%d, room for %u hops", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 5] = v;
			if (v != 5)
				expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
			if (v > 5) {
				fixture("IPv%d, echo of %u hops", v6 ? 6 : 4, v);
				in = whole;
				in.b[shim + 7] = v;
				expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
			}
		}
		fixture("IPv%d, more hops than room", v6 ? 6 : 4);
		for (v = 6; v < 16; v++) {
			in = whole;
			put16(in.b + at_telem(&in), v << 12);
			expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		}
		in = wrap(&inner, .room = 2, .nhop = 3);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		fixture("IPv%d, UDP checksum", v6 ? 6 : 4);
		in = whole;
		put16(in.b + shim - 2, 1);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		fixture("IPv%d, an echo that the length does not count", v6 ? 6 : 4);
		in = whole;
		in.b[shim + 6] |= 1;
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
	}
}

/* After every byte, with lengths that still speak of the whole. */
Test(hop, truncated__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 1), whole = wrap(&inner, .room = 5), in;
		unsigned int n;

		for (n = at_udp(&whole); n < whole.len; n++) {
			in = frame_cut(whole, n);
			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			expect_untouched(HOP_MAP, &in, n < at_shim(&whole) ? STAT_HOP_OTHER : STAT_HOP_BAD);
		}
		fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
		in = frame_cut(whole, n);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED);
	}
}
