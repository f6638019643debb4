// SPDX-License-Identifier: GPL-2.0-only
/* Segments with telemetry, and with the stamps of hops. */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "gso_case.h"

TestSuite(gso_int, .init = gso_make, .fini = world_drop, .timeout = 60);

/* One small PROBE for a packet of many segments, and for one whose checksum is not computed yet. */
Test(gso_int, probe__of_a_packet_that_is_not_finished)
{
	static const struct {
		struct ip_spec s;
		unsigned int payload, gso_size;
	} cases[] = {
		{ {}, 60000, 1000 },	{ { .options = 12 }, 3000, 1000 }, { {}, 500, 0 },
		{ {}, 0, 0 },		{ { .udp = 1 }, 60000, 1000 },	   { { .udp = 1 }, 1300, 0 },
		{ { .udp = 1 }, 1, 0 }, { { .udp = 1 }, 24, 12 },
	};
	unsigned int i;
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct ip_spec s = cases[i].s;
			struct host unknown = {};
			struct frame got;
			unsigned int n, packets = cases[i].gso_size ? cases[i].payload / cases[i].gso_size : 1;

			fixture("IPv%d, case %u", v6 ? 6 : 4, i);
			s.v6 = v6;
			host_set(v6, HOST_B, &unknown);
			send_gso(fd, s, cases[i].payload, cases[i].gso_size);
			gso_expect_probe(far, s, cases[i].payload, 0);
			expect_counted_attached(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
			for (n = 0; n < packets; n++) {
				struct frame want;

				cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
				want = segment(s, n * cases[i].gso_size, cases[i].gso_size ?: cases[i].payload,
					       get16(got.b + 18));
				expect_frame(&got, &want);
			}
			cr_assert(!packet_catch(far, &got, 20), "%sone too many", world_fixture());
		}
	}
}

/* There and back over a link that leaves checksums to be computed later: both ends have offloads. */
Test(gso_int, probe__comes_back_unfinished)
{
	static const unsigned int payloads[] = { 1, 12, 13, 1300, 8000 };
	struct port port = port_usual();
	unsigned int i;
	int udp, fd, near;

	link_make("");
	port_set(if_nametoindex(LINK_FAR), &port);
	link_attach(EGRESS, LINK_NEAR, 0);
	link_attach(INGRESS, LINK_NEAR, 1);
	link_attach(INGRESS, LINK_FAR, 1);
	link_attach(EGRESS, LINK_FAR, 0);
	fd = gso_socket(LINK_NEAR);
	near = packet_socket(LINK_NEAR);
	FOR_V4_AND_V6 (v6) {
		for (udp = 0; udp < 2; udp++) {
			for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
				struct ip_spec s = { .v6 = v6, .udp = udp };
				struct host unknown = {};
				struct frame got;

				fixture("IPv%d, %s, %u bytes", v6 ? 6 : 4, udp ? "UDP" : "TCP", payloads[i]);
				host_set(v6, HOST_B, &unknown);
				send_gso(fd, s, payloads[i], payloads[i] > 2000 ? 1000 : 0);
				cr_assert(packet_catch(near, &got, 1000), "%sno answer", world_fixture());
				expect_eq(got.b[at_shim(&got) + 4], 0x43);
				while (packet_catch(near, &got, 5)) /* it is on its way to ingress */
					;
				expect_eq(host_get(v6, HOST_B).capable, 1);
				expect_counted_attached(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT, STAT_RX_OTHER,
							STAT_RX_PROBE, STAT_TX_OWN, STAT_RX_PROBE_REPLY,
							STAT_FB_SKIPPED);
			}
		}
	}
}

/* A switch sees the packet whole where the link keeps it so: one stamp, in every segment. */
Test(gso_int, segments__each_carry_the_stamp)
{
	int fd, far;

	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	link_attach(HOP_MAP, LINK_NEAR, 0);
	fd = gso_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6 };
		__u64 stamp = 0;
		unsigned int i;

		send_gso(fd, s, 3000, 1000);
		for (i = 0; i < 3; i++) {
			struct frame got;
			struct result r;

			fixture("IPv%d, segment %u", v6 ? 6 : 4, i + 1);
			cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			expect_eq(get16(got.b + at_telem(&got)), 1 << 12 | 0x123);
			stamp = stamp ?: get64(got.b + at_hop(&got, 0));
			expect_eq(get64(got.b + at_hop(&got, 0)), stamp);
			if (i)
				continue;
			expect_counted_attached(STAT_TX_DATA, STAT_HOP_STAMPED);
			r = run(INGRESS, &got);
			expect_counted(STAT_RX_DATA);
			expect_eq(r.out.len, 14 + (v6 ? 40 : 20) + 20 + 1000);
		}
	}
}

/*
 * In INT-MD the switch makes the packet longer while it is one, and all segments get it: their headers
 * say their own lengths, and what is in them is what was sent.
 */
Test(gso_int, int__segments_each_carry_the_hop)
{
	struct port port = port_usual();
	int fd, far;

	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	link_attach(HOP_MAP, LINK_NEAR, 0);
	encoding_set(ENCODING_INT_MD);
	fd = gso_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .options = 12 };
		unsigned int i;
		__u32 seq = 0;

		port.tx_bytes = 5000;
		port_change(if_nametoindex(LINK_NEAR), &port);
		send_gso(fd, s, 2500, 1000);
		for (i = 0; i < 3; i++) {
			struct frame got, inner, want;
			unsigned int at;

			fixture("IPv%d, segment %u", v6 ? 6 : 4, i + 1);
			cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			at = at_shim(&got) + 16;
			seq = seq ?: 2500U + 3 * (14 + (v6 ? 40 : 20) + 32 + (v6 ? 40 : 20) + 8 + 16 + 12);
			inner = segment(s, i * 1000, i < 2 ? 1000 : 500, v6 ? 0 : get16(got.b + at + 24 + 12 + 4));
			want = wrap(&inner, .sport = get16(got.b + at_udp(&got)), .seq = seq);
			want = with_int(want, .left = 4, .hops = 1,
					.hop = { { 0x123, 0, get64(got.b + at + 8), 5000 / 128, 100000000 } });
			if (!v6) {
				put16(want.b + 18, get16(got.b + 18));
				frame_fix(&want);
			}
			expect_frame(&got, &want);
		}
		expect_counted_attached(STAT_TX_DATA, STAT_HOP_STAMPED);
	}
}

/* Room is what each segment has, not the packet that they make together. */
Test(gso_int, int__hop_goes_by_the_mtu_of_a_segment)
{
	struct port port = port_usual();
	__u32 ifindex = link_make("");
	struct frame got;
	int fd, far, full;

	link_attach(EGRESS, LINK_NEAR, 0);
	encoding_set(ENCODING_INT_MD);
	fd = gso_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	FOR_V4_AND_V6 (v6) {
		for (full = 0; full < 2; full++) {
			struct ip_spec s = { .v6 = v6 };

			/* The source is content with 1000 bytes, 16 + 12, and five hops; the hop has its own port. */
			port.mtu = 2 * (v6 ? 40 : 20) + 20 + 1000 + 8 + 16 + 12 + 5 * 24;
			port_change(ifindex, &port);
			send_gso(fd, s, 0, 0); /* takes up the MTU */
			packet_catch(far, &got, 1000);
			if (!full)
				link_attach(HOP_MAP, LINK_NEAR, 0);
			port.mtu -= 4 * 24 + full;
			port_set(ifindex, &port);
			world_counted_attached((const int[]){ -1 });
			send_gso(fd, s, 2000, 1000);
			cr_assert(packet_catch(far, &got, 1000) && packet_catch(far, &got, 1000));
			expect_eq(got.b[at_shim(&got) + 4], full ? 0x22 : 0x20);
			expect_eq(got.len, 14 + port.mtu - (full ? 23 : 0));
			if (full)
				expect_counted_attached(STAT_TX_DATA, STAT_HOP_MTU);
			else
				expect_counted_attached(STAT_TX_DATA, STAT_HOP_STAMPED);
		}
		sh("tc filter del dev " LINK_NEAR " egress");
		link_attach(EGRESS, LINK_NEAR, 0);
	}
}
