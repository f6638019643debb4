// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/ecn.bpf.h: a switch port marks packets of others that find a long queue. */
#include <linux/if_ether.h>

#include "hop_case.h"

TestSuite(ecn, .init = world_make, .fini = world_drop, .timeout = 60);

#define K_BYTES 65000
#define ECT1 1

static void port_of_switch(__u32 ecn_bytes, __u64 backlog_bytes, __u32 flags)
{
	struct port p = port_usual();

	p.flags = PORT_F_SWITCH | flags;
	p.ecn_bytes = ecn_bytes;
	p.backlog_bytes = backlog_bytes;
	port_set(WORLD_IFINDEX, &p);
}

/* The packet passes with CE, and nothing else of it has changed: that is `want`. */
static void expect_marked(enum program p, const struct frame *in, const struct frame *want, __u32 ifindex)
{
	struct result r = run(p, in, .ifindex = ifindex);

	expect_verdict(r, VERDICT_PASS);
	expect_counted(STAT_HOP_OTHER, STAT_HOP_MARKED);
	expect_frame(&r.out, want);
}

/* --- what is marked --- */

Test(ecn, mark__is_for_a_queue_longer_than_k)
{
	static const __u8 capable[] = { ECT0, ECT1 };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < 2; i++) {
			struct frame in = tcp(.v6 = v6, .payload = 700, .tos = capable[i]),
				     want = tcp(.v6 = v6, .payload = 700, .tos = CE);

			fixture("IPv%d, codepoint %d", v6 ? 6 : 4, capable[i]);
			port_of_switch(K_BYTES, K_BYTES, 0);
			expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
			port_of_switch(K_BYTES, K_BYTES + 1, 0);
			expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
			port_of_switch(K_BYTES, ~0U, 0);
			expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
		}
	}
}

/* The checksum of IPv4 is that of a header made with CE: over all DSCPs, and lengths that carry over in its sum. */
Test(ecn, mark__keeps_dscp_and_checksum)
{
	unsigned int dscp, bytes;

	port_of_switch(K_BYTES, 2 * K_BYTES, 0);
	FOR_V4_AND_V6 (v6) {
		for (dscp = 0; dscp < 64; dscp++) {
			for (bytes = 0; bytes < 1400; bytes += 97) {
				struct frame in = udp(.v6 = v6, .payload = bytes, .tos = dscp << 2 | ECT0, .dport = 53),
					     want = udp(.v6 = v6, .payload = bytes, .tos = dscp << 2 | CE, .dport = 53);

				fixture("IPv%d, DSCP %u, %u bytes", v6 ? 6 : 4, dscp, bytes);
				expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
			}
		}
	}
}

Test(ecn, mark__behind_a_vlan_tag)
{
	static const __u16 types[] = { ETH_P_8021Q, ETH_P_8021AD };
	unsigned int i;

	port_of_switch(K_BYTES, 2 * K_BYTES, 0);
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < 2; i++) {
			struct frame in = frame_with_vlan(tcp(.v6 = v6, .payload = 700, .tos = ECT0), types[i]),
				     want = frame_with_vlan(tcp(.v6 = v6, .payload = 700, .tos = CE), types[i]);

			fixture("IPv%d, tag %#x", v6 ? 6 : 4, types[i]);
			expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
		}
	}
}

Test(ecn, mark__of_fragments_and_options)
{
	struct frame plain = tcp(.payload = 100, .tos = ECT0), marked = tcp(.payload = 100, .tos = CE), in, want;

	port_of_switch(K_BYTES, 2 * K_BYTES, 0);
	in = frame_with_fragment(plain, 1, 0), want = frame_with_fragment(marked, 1, 0);
	expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
	in = frame_with_fragment(plain, 0, 800), want = frame_with_fragment(marked, 0, 800);
	expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
	in = frame_with_ipv4_option(plain), want = frame_with_ipv4_option(marked);
	expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
	plain = tcp(.v6 = 1, .payload = 100, .tos = ECT0), marked = tcp(.v6 = 1, .payload = 100, .tos = CE);
	in = frame_with_extension(plain, 0), want = frame_with_extension(marked, 0);
	expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
}

/* K is compared with the queue of the packet's class, as it is stamped: the sojourn time at the rate of the share. */
Test(ecn, mark__by_the_queue_of_the_class)
{
	struct port_classes c = { .n = 2, .of_dscp = { [8] = 1 } };
	struct class_queue q = { .backlog_bytes = 1500, .tail = 1 };
	unsigned int i;

	port_of_switch(K_BYTES, 0, PORT_F_CLASSES);
	for (i = 0; i < 2; i++) {
		c.share[i].bps = 8000000000;
		c.share[i].speed = telem_speed_fit(c.share[i].bps);
		q.sojourn_ns = i ? 70000 : 60000; /* at 1 byte a ns */
		q.packet[0].ns = q.came_ns = clock_ns();
		class_queue_set(WORLD_IFINDEX, i, &q);
	}
	classes_set(WORLD_IFINDEX, &c);
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 700, .tos = ECT0),
			     want = tcp(.v6 = v6, .payload = 700, .tos = 8 << 2 | CE);

		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = tcp(.v6 = v6, .payload = 700, .tos = 8 << 2 | ECT0);
		expect_marked(HOP_MAP, &in, &want, WORLD_IFINDEX);
	}
}

/* `hop` asks the qdisc, which is so slow that it stands still. */
Test(ecn, mark__by_the_qdisc_of_the_port)
{
	struct frame in = tcp(.payload = 700, .tos = ECT0), want = tcp(.payload = 700, .tos = CE);
	struct port p = port_usual();
	__u64 tx, backlog;
	__u32 ifindex;

	world_needs(HOP);
	ifindex = link_make("");
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	p.flags = PORT_F_SWITCH;
	p.ecn_bytes = 30000;
	port_set(ifindex, &p);
	expect_untouched(HOP, &in, STAT_HOP_OTHER, .ifindex = ifindex);
	send_frames(LINK_NEAR, 60, 0, 0);
	qdisc_stats(LINK_NEAR, &tx, &backlog);
	expect_between(backlog, 35000, 41000);
	expect_marked(HOP, &in, &want, ifindex);
	p.ecn_bytes = 45000;
	port_set(ifindex, &p);
	expect_untouched(HOP, &in, STAT_HOP_OTHER, .ifindex = ifindex);
}

/* --- what is not --- */

Test(ecn, other__is_untouched)
{
	struct frame in;

	port_of_switch(K_BYTES, 2 * K_BYTES, 0);
	FOR_V4_AND_V6 (v6) {
		in = tcp(.v6 = v6, .payload = 700, .tos = 46 << 2);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = tcp(.v6 = v6, .payload = 700, .tos = CE);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		in = frame_with_vlan(in, ETH_P_8021Q);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	}
	in = frame_arp();
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}

/* INT governs these, whatever it is: telemetry, a message without it, a companion, and what is malformed. */
Test(ecn, ours__is_not_marked)
{
	port_of_switch(K_BYTES, 2 * K_BYTES, 0);
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 700, .tos = ECT0), in = wrap(&inner, .room = 5),
			     companion = companion_of(&inner, 2, 77), bad = in;
		struct result r = run(HOP_MAP, &in);

		expect_counted(STAT_HOP_STAMPED);
		put16(in.b + at_telem(&in), get16(r.out.b + at_telem(&in)));
		put64(in.b + at_hop(&in, 0), get64(r.out.b + at_hop(&in, 0)));
		expect_frame(&r.out, &in);

		r = run(HOP_MAP, &companion);
		expect_counted(STAT_HOP_STAMPED);
		expect_eq(get16(r.out.b + ETH_HLEN), get16(companion.b + ETH_HLEN));
		expect_eq(get16(companion.b + ETH_HLEN) >> (v6 ? 4 : 0) & CE, ECT0);

		in = wrap(&inner, .echo = 1, .echo_hops = 2);
		expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
		bad.b[at_shim(&bad) + 1] = 0;
		expect_untouched(HOP_MAP, &bad, STAT_HOP_BAD);
	}
}

Test(ecn, port__that_marks_nothing)
{
	struct frame in = tcp(.payload = 700, .tos = ECT0);

	fixture("without ecn");
	port_of_switch(0, ~0U, 0);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	fixture("whose queue cannot be read");
	port_of_switch(K_BYTES, 2 * K_BYTES, PORT_F_NO_QUEUE);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	fixture("with classes that are not there");
	port_of_switch(K_BYTES, 2 * K_BYTES, PORT_F_CLASSES);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	fixture("where packets wait for credit");
	port_of_switch(K_BYTES, 2 * K_BYTES, PORT_F_VOQ_UP | PORT_F_EDT);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	fixture("with bypass");
	port_of_switch(K_BYTES, 2 * K_BYTES, 0);
	control_set(MODE_ENFORCE, 1);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
	fixture("that is unknown");
	control_set(MODE_ENFORCE, 0);
	port_remove(WORLD_IFINDEX);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}
