// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that the kernel segments after egress has seen them. A test run cannot say that a packet is
 * TCP with GSO, so these go over a link with the program attached; TSO is off at its near end, so
 * that what arrives at the far end are the segments.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "world.h"

static void make(void)
{
	world_make();
	hosts_strip();
}

TestSuite(gso, .init = make, .fini = world_drop, .timeout = 60);

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

/* Neither segmentation nor checksums by the device: the kernel does both in front of it. */
static void tso_off(int fd, const char *device)
{
	static const __u32 what[] = { ETHTOOL_STSO, ETHTOOL_STXCSUM };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct ethtool_value off = { .cmd = what[i], .data = 0 };
		struct ifreq ifr = { .ifr_data = (void *)&off };

		strcpy(ifr.ifr_name, device);
		cr_assert(!ioctl(fd, SIOCETHTOOL, &ifr), "offloads off: %s", strerror(errno));
	}
}

/* A packet socket whose frames may be larger than the MTU. */
static int gso_socket(const char *device)
{
	int fd = packet_socket(device), one = 1;

	cr_assert(!setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)), "%s",
		  strerror(errno));
	return fd;
}

/* The byte of the payload at a position: frame_of()'s own pattern does not tell segments apart. */
static __u8 byte_at(unsigned int n)
{
	return n * 13 + (n >> 8) * 31;
}

/* Sends what TCP hands down: one packet of many segments whose checksum is still to be computed. */
static void send_gso(int fd, struct ip_spec s, unsigned int payload, unsigned int gso_size)
{
	struct frame head = frame_of(s);
	unsigned int ip_bytes = s.v6 ? 40 : 20, l4 = 14 + ip_bytes, tcp_bytes = 20 + s.options, i;
	struct virtio_net_hdr vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = s.v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = head.len,
		.gso_size = gso_size,
		.csum_start = l4,
		.csum_offset = 16,
	};
	static __u8 data[1 << 16];
	struct iovec iov[] = { { &vnet, sizeof(vnet) }, { head.b, head.len }, { data, payload } };
	__u32 sum = 0;

	for (i = 0; i < payload; i++)
		data[i] = byte_at(i);
	if (s.v6)
		put16(head.b + 18, tcp_bytes + payload);
	else
		put16(head.b + 16, 20 + tcp_bytes + payload);
	frame_fix(&head);
	/* The sum of the pseudo-header is what the segmentation starts from. */
	for (i = s.v6 ? 22 : 26; i < l4; i += 2)
		sum += get16(head.b + i);
	sum += 6 + tcp_bytes + payload;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(head.b + l4 + 16, sum);
	cr_assert(writev(fd, iov, 3) == (ssize_t)(sizeof(vnet) + head.len + payload), "%s%s",
		  world_fixture(), strerror(errno));
}

/* One segment as it must leave: the inner packet that TCP would have sent without GSO. */
static struct frame segment(struct ip_spec s, unsigned int from, unsigned int bytes, int inner_id)
{
	struct frame f;
	unsigned int i;

	s.payload = bytes;
	f = frame_of(s);
	put32(f.b + 14 + (s.v6 ? 40 : 20) + 4, 1000000 + from);
	for (i = 0; i < bytes; i++)
		f.b[f.len - bytes + i] = byte_at(from + i);
	if (!s.v6)
		put16(f.b + 18, inner_id);
	frame_fix(&f);
	return f;
}

Test(gso, segments__each_carry_headers_and_telemetry)
{
	int fd, far;

	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	fd = gso_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .options = 12 };
		unsigned int headers = 14 + (v6 ? 40 : 20) + 32, grow = (v6 ? 40 : 20) + 8 + 12 + 44, i;
		__u32 seq = 4300 + 5 * (headers + grow);

		send_gso(fd, s, 4300, 1000);
		for (i = 0; i < 5; i++) {
			struct frame got, inner, want;

			fixture("IPv%d, segment %u", v6 ? 6 : 4, i + 1);
			cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			/* Of an IPv4 header that must not be fragmented the identification is free. */
			inner = segment(s, i * 1000, i < 4 ? 1000 : 300,
					v6 ? 0 : get16(got.b + at_hop(&got, 5) + 4));
			want = wrap(&inner, .sport = get16(got.b + at_udp(&got)), .room = 5, .seq = seq);
			if (!v6) {
				put16(want.b + 18, get16(got.b + 18));
				frame_fix(&want);
			}
			expect_frame(&got, &want);
		}
		expect_counted_attached(STAT_TX_DATA);
		expect_eq(flow_get(s).tx_bytes, seq);
	}
}

/* A switch sees the packet whole where the link keeps it so: one stamp, in every segment. */
Test(gso, segments__each_carry_the_stamp)
{
	int fd, far;

	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	link_attach(HOP_MAP, LINK_NEAR, 0);
	fd = gso_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	FOR_V4_AND_V6(v6) {
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

Test(gso, segments__must_fit_one_by_one)
{
	struct port port = port_usual();
	__u32 ifindex = link_make("");
	struct frame got;
	int fd, far;

	link_attach(EGRESS, LINK_NEAR, 0);
	fd = gso_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };
		unsigned int grow = (v6 ? 40 : 20) + 8 + 12 + 44;

		port.mtu = (v6 ? 40 : 20) + 20 + 1000 + grow;
		port_change(ifindex, &port);
		send_gso(fd, s, 2000, 1000);
		cr_assert(packet_catch(far, &got, 1000) && packet_catch(far, &got, 1000));
		expect_eq(got.len, port.mtu + 14);
		expect_counted_attached(STAT_TX_DATA);
		port.mtu--;
		port_change(ifindex, &port);
		send_gso(fd, s, 2000, 1000);
		cr_assert(packet_catch(far, &got, 1000) && packet_catch(far, &got, 1000));
		expect_eq(got.len, port.mtu + 1 + 14 - grow);
		expect_counted_attached(STAT_TX_MTU);
	}
}

/* A length field has 16 bits. What would need more goes as it is. */
Test(gso, too_long__to_the_byte)
{
	struct frame got;
	unsigned int i;
	int fd, far;

	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	fd = gso_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };
		unsigned int headers = 14 + (v6 ? 40 : 20) + 20, grow = (v6 ? 40 : 20) + 8 + 12 + 44;
		unsigned int most = 65535 - headers - grow, segments = (most + 999) / 1000;

		send_gso(fd, s, most, 1000);
		for (i = 0; i < segments; i++) {
			fixture("IPv%d, segment %u", v6 ? 6 : 4, i + 1);
			cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			expect_eq(got.len, headers + grow + (i < segments - 1 ? 1000 : most - i * 1000));
			run(INGRESS, &got);
		}
		world_ended();
		expect_eq(flow_get(s).tx_bytes, most + segments * (headers + grow));

		fixture("IPv%d, one byte more", v6 ? 6 : 4);
		send_gso(fd, s, most + 1, 1000);
		cr_assert(packet_catch(far, &got, 1000));
		expect_eq(got.len, headers + 1000);
		expect_counted_attached(STAT_TX_TOO_LONG);
		while (packet_catch(far, &got, 20))
			;
	}
}

/*
 * A sink that forwards, as a node does to its pods: what it stripped while it was one large packet is
 * segmented on the way out, and must not be taken for the tunnel that it no longer is.
 */
Test(gso, stripped__is_segmented_again_when_forwarded)
{
	struct port port = port_usual();
	struct ip_spec s = { .options = 12 };
	unsigned int i;
	int fd, out;

	link_make("address 02:00:00:00:00:02");
	port_set(if_nametoindex(LINK_FAR), &port);
	sh("ip link add out0 mtu 1500 type veth peer name out1 mtu 1500");
	sh("ip link set out0 up && ip link set out1 up");
	sh("ip address add 10.9.0.1/24 dev out0 && ip route add 10.1.0.2 dev out0");
	sh("ip neighbour add 10.1.0.2 lladdr 02:00:00:00:00:03 dev out0");
	sh("ip address add 10.1.0.9/24 dev " LINK_NEAR);
	sh("echo 1 >/proc/sys/net/ipv4/ip_forward");
	link_attach(EGRESS, LINK_FAR, 0);
	link_attach(INGRESS, LINK_NEAR, 1);
	fd = gso_socket(LINK_FAR);
	out = packet_socket("out1");
	tso_off(fd, "out0");

	send_gso(fd, s, 4300, 1000);
	for (i = 0; i < 5; i++) {
		struct frame got, want;

		fixture("segment %u", i + 1);
		cr_assert(packet_catch(out, &got, 1000), "%smissing", world_fixture());
		want = segment(s, i * 1000, i < 4 ? 1000 : 300, get16(got.b + 18));
		memcpy(want.b, got.b, 12);
		want.b[22]--; /* TTL */
		frame_fix(&want);
		expect_frame(&got, &want);
	}
	expect_counted_attached(STAT_TX_DATA, STAT_RX_DATA);
}
