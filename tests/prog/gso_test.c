// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that the kernel segments, or whose checksum it computes, after egress has seen them. A test
 * run cannot say that a packet is such a one, so these go over a link with the program attached; the
 * offloads of its near end are off, so that what arrives at the far end is what a wire would carry.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "world.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5 /* headers of Linux 6.2 */
#endif

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

/* The headers of that packet. The sum of the pseudo-header is what the rest starts from. */
static struct frame unfinished(struct ip_spec s, unsigned int payload)
{
	struct frame head = frame_of(s);
	unsigned int l4 = 14 + (s.v6 ? 40 : 20), len = head.len - l4 + payload, i;
	__u32 sum = (s.udp ? 17 : 6) + len;

	/* Of a packet that is longer than the field can say (BIG TCP) the length is 0. */
	if (s.v6)
		put16(head.b + 18, len <= 0xffff ? len : 0);
	else
		put16(head.b + 16, 20 + len <= 0xffff ? 20 + len : 0);
	if (s.udp)
		put16(head.b + l4 + 4, len);
	frame_fix(&head);
	for (i = s.v6 ? 22 : 26; i < l4; i += 2)
		sum += get16(head.b + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(head.b + l4 + (s.udp ? 6 : 16), sum);
	return head;
}

/*
 * Sends what TCP or UDP hands down: a packet whose checksum is still to be computed, of many segments
 * for a gso_size.
 */
static void send_gso(int fd, struct ip_spec s, unsigned int payload, unsigned int gso_size)
{
	struct frame head = frame_of(s);
	unsigned int ip_bytes = s.v6 ? 40 : 20, l4 = 14 + ip_bytes, l4_bytes = head.len - l4, i;
	struct virtio_net_hdr vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = !gso_size ? VIRTIO_NET_HDR_GSO_NONE :
			    s.udp     ? VIRTIO_NET_HDR_GSO_UDP_L4 :
			    s.v6      ? VIRTIO_NET_HDR_GSO_TCPV6 :
					VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = head.len,
		.gso_size = gso_size,
		.csum_start = l4,
		.csum_offset = s.udp ? 6 : 16,
	};
	static __u8 data[1 << 17];
	struct iovec iov[] = { { &vnet, sizeof(vnet) }, { head.b, head.len }, { data, payload } };
	ssize_t n;

	for (i = 0; i < payload; i++)
		data[i] = byte_at(i);
	head = unfinished(s, payload);
	n = writev(fd, iov, 3);
	if (n < 0 && errno == EINVAL && s.udp && gso_size)
		cr_skip_test("this kernel has no packet sockets for UDP with GSO (Linux 6.2)");
	cr_assert(n == (ssize_t)(sizeof(vnet) + 14 + ip_bytes + l4_bytes + payload), "%s%s",
		  world_fixture(), strerror(errno));
}

/* One segment as it must leave: the inner packet that would have been sent without GSO. */
static struct frame segment(struct ip_spec s, unsigned int from, unsigned int bytes, int inner_id)
{
	struct frame f;
	unsigned int i;

	s.payload = bytes;
	f = frame_of(s);
	if (!s.udp)
		put32(f.b + 14 + (s.v6 ? 40 : 20) + 4, 1000000 + from);
	for (i = 0; i < bytes; i++)
		f.b[f.len - bytes + i] = byte_at(from + i);
	if (!s.v6)
		put16(f.b + 18, inner_id);
	frame_fix(&f);
	return f;
}

/* The next frame is the PROBE of a packet of so many bytes of payload, whose checksum is anything. */
static void expect_probe(int far, struct ip_spec s, unsigned int payload, __u32 seq)
{
	struct frame head = unfinished(s, payload), got, want;
	unsigned int l4 = 14 + (s.v6 ? 40 : 20), i;

	for (i = 0; i < payload && head.len < l4 + 20; i++)
		head.b[head.len++] = byte_at(i);
	cr_assert(packet_catch(far, &got, 1000), "%sno PROBE", world_fixture());
	want = frame_probe(&head, get16(got.b + at_udp(&got)), seq);
	l4 += at_hop(&want, 5) - 14;
	memcpy(want.b + l4 + (s.udp ? 6 : 16), got.b + l4 + (s.udp ? 6 : 16), 2);
	expect_frame(&got, &want);
}

static void segments_carry_headers(struct ip_spec s)
{
	unsigned int outer = s.v6 ? 40 : 20, headers = 14 + outer + (s.udp ? 8 : 20 + s.options);
	unsigned int grow = outer + 8 + 12 + 44, i;
	__u32 seq = 4300 + 5 * (headers + grow);
	int fd = gso_socket(LINK_NEAR), far = packet_socket(LINK_FAR);

	tso_off(fd, LINK_NEAR);
	send_gso(fd, s, 4300, 1000);
	if (s.udp) /* nobody has answered it yet */
		expect_probe(far, s, 4300, 0);
	for (i = 0; i < 5; i++) {
		struct frame got, inner, want;

		fixture("IPv%d, segment %u", s.v6 ? 6 : 4, i + 1);
		cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
		/* Of an IPv4 header that must not be fragmented the identification is free. */
		inner = segment(s, i * 1000, i < 4 ? 1000 : 300,
				s.v6 ? 0 : get16(got.b + at_hop(&got, 5) + 4));
		want = wrap(&inner, .sport = get16(got.b + at_udp(&got)), .room = 5, .seq = seq);
		if (!s.v6) {
			put16(want.b + 18, get16(got.b + 18));
			frame_fix(&want);
		}
		expect_frame(&got, &want);
	}
	if (s.udp)
		expect_counted_attached(STAT_TX_DATA, STAT_PROBE_SENT);
	else
		expect_counted_attached(STAT_TX_DATA);
	expect_eq(flow_get(s).tx.bytes, seq);
	close(fd);
	close(far);
}

Test(gso, segments__each_carry_headers_and_telemetry)
{
	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	FOR_V4_AND_V6(v6)
		segments_carry_headers((struct ip_spec){ .v6 = v6, .options = 12 });
}

static void voqs_on(void)
{
	struct peer peer = peer_usual();

	tor_set(77);
	peer.hiercc = 1;
	peer.voq_period_ns = 1000;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

/* The packet is in its VOQ as a whole, and every segment says so. */
Test(gso, segments__repeat_their_place_in_the_voq)
{
	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	voqs_on();
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };
		unsigned int outer = v6 ? 40 : 20, i;
		__u32 seq = 4300 + 5 * (14 + outer + 20 + outer + 8 + 12 + 44 + 12);
		int fd = gso_socket(LINK_NEAR), far = packet_socket(LINK_FAR);

		tso_off(fd, LINK_NEAR);
		hosts_strip();
		send_gso(fd, s, 4300, 1000);
		for (i = 0; i < 5; i++) {
			struct frame got, inner, want;

			fixture("IPv%d, segment %u", v6 ? 6 : 4, i + 1);
			cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			inner = segment(s, i * 1000, i < 4 ? 1000 : 300, v6 ? 0 : get16(got.b + at_inner(&got) + 4));
			want = wrap(&inner, .sport = get16(got.b + at_udp(&got)), .room = 5, .seq = seq, .voq = 1,
				    .voq_tor = 77, .voq_total = seq, .voq_flows = 1, .voq_prefixlen = 128);
			if (!v6) {
				put16(want.b + 18, get16(got.b + 18));
				frame_fix(&want);
			}
			expect_frame(&got, &want);
		}
		expect_eq(voq_get(voq_key_of(v6, HOST_B, 128)).voq.sent, (1ULL << 32) + seq);
		close(fd);
		close(far);
	}
}

/* Egress at the near end, without TSO. Returns the socket to send by; *far is what catches at the other end. */
static int gso_link(int *far)
{
	int fd;

	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	fd = gso_socket(LINK_NEAR);
	*far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	return fd;
}

/* Wrapped, it would be lost where it arrives whole. Only its probe is wrapped. */
Test(gso, segments__of_udp_leave_as_they_are)
{
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1 };
		unsigned int i;

		send_gso(fd, s, 4300, 1000);
		expect_probe(far, s, 4300, 0);
		for (i = 0; i < 5; i++) {
			struct frame got, want;

			fixture("IPv%d, segment %u", v6 ? 6 : 4, i + 1);
			cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			want = segment(s, i * 1000, i < 4 ? 1000 : 300, v6 ? 0 : get16(got.b + 18));
			expect_frame(&got, &want);
		}
		expect_counted_attached(STAT_TX_UDP_GSO, STAT_PROBE_SENT);
	}
	close(fd);
	close(far);
}

/* Without our header nobody would say that they have arrived. */
Test(gso, segments__of_udp_are_in_no_voq)
{
	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	voqs_on();
	FOR_V4_AND_V6(v6) {
		int fd = gso_socket(LINK_NEAR), far = packet_socket(LINK_FAR);
		struct ip_spec s = { .v6 = v6, .udp = 1 };

		tso_off(fd, LINK_NEAR);
		hosts_strip();
		send_gso(fd, s, 4300, 1000);
		expect_probe(far, s, 4300, 0);
		expect_counted_attached(STAT_TX_UDP_GSO, STAT_PROBE_SENT);
		expect_eq(voq_exists(voq_key_of(v6, HOST_B, 128)), 0);
		close(fd);
		close(far);
	}
}

/* Of a packet of many segments one small question, and of one whose checksum is not there yet. */
Test(gso, probe__of_a_packet_that_is_not_finished)
{
	static const struct {
		struct ip_spec s;
		unsigned int payload, gso_size;
	} cases[] = {
		{ {}, 60000, 1000 },
		{ { .options = 12 }, 3000, 1000 },
		{ {}, 500, 0 },
		{ {}, 0, 0 },
		{ { .udp = 1 }, 60000, 1000 },
		{ { .udp = 1 }, 1300, 0 },
		{ { .udp = 1 }, 1, 0 },
		{ { .udp = 1 }, 24, 12 },
	};
	unsigned int i;
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6(v6) {
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct ip_spec s = cases[i].s;
			struct host unknown = {};
			struct frame got;
			unsigned int n, packets = cases[i].gso_size ?
							  cases[i].payload / cases[i].gso_size : 1;

			fixture("IPv%d, case %u", v6 ? 6 : 4, i);
			s.v6 = v6;
			host_set(v6, HOST_B, &unknown);
			send_gso(fd, s, cases[i].payload, cases[i].gso_size);
			expect_probe(far, s, cases[i].payload, 0);
			expect_counted_attached(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
			for (n = 0; n < packets; n++) {
				struct frame want;

				cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
				want = segment(s, n * cases[i].gso_size,
					       cases[i].gso_size ?: cases[i].payload, get16(got.b + 18));
				expect_frame(&got, &want);
			}
			cr_assert(!packet_catch(far, &got, 20), "%sone too many", world_fixture());
		}
	}
}

/* There and back over a link that leaves checksums to be computed later: both ends have offloads. */
Test(gso, probe__comes_back_unfinished)
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
	FOR_V4_AND_V6(v6) {
		for (udp = 0; udp < 2; udp++) {
			for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
				struct ip_spec s = { .v6 = v6, .udp = udp };
				struct host unknown = {};
				struct frame got;

				fixture("IPv%d, %s, %u bytes", v6 ? 6 : 4, udp ? "UDP" : "TCP",
					payloads[i]);
				host_set(v6, HOST_B, &unknown);
				send_gso(fd, s, payloads[i], payloads[i] > 2000 ? 1000 : 0);
				cr_assert(packet_catch(near, &got, 1000), "%sno answer",
					  world_fixture());
				expect_eq(got.b[at_shim(&got) + 4], 0x43);
				while (packet_catch(near, &got, 5)) /* it is on its way to ingress */
					;
				expect_eq(host_get(v6, HOST_B).capable, 1);
				expect_counted_attached(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT,
							STAT_RX_OTHER, STAT_RX_PROBE, STAT_TX_OWN,
							STAT_RX_PROBE_REPLY, STAT_FB_SKIPPED);
			}
		}
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

/*
 * In INT-MD the switch makes the packet longer while it is one, and all segments get it: their headers
 * say their own lengths, and what is in them is what was sent.
 */
Test(gso, int__segments_each_carry_the_hop)
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
	FOR_V4_AND_V6(v6) {
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
Test(gso, int__hop_goes_by_the_mtu_of_a_segment)
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
	FOR_V4_AND_V6(v6) {
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

	fd = gso_link(&far);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };
		unsigned int headers = 14 + (v6 ? 40 : 20) + 20, grow = (v6 ? 40 : 20) + 8 + 12 + 44;
		unsigned int most = 65535 - headers - grow, segments = (most + 999) / 1000;

		hosts_strip(); /* not heard for a second it would be asked as well */
		send_gso(fd, s, most, 1000);
		for (i = 0; i < segments; i++) {
			fixture("IPv%d, segment %u", v6 ? 6 : 4, i + 1);
			cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			expect_eq(got.len, headers + grow + (i < segments - 1 ? 1000 : most - i * 1000));
			run(INGRESS, &got);
		}
		world_ended();
		expect_eq(flow_get(s).tx.bytes, most + segments * (headers + grow));

		fixture("IPv%d, one byte more", v6 ? 6 : 4);
		hosts_strip();
		send_gso(fd, s, most + 1, 1000);
		cr_assert(packet_catch(far, &got, 1000));
		expect_eq(got.len, headers + 1000);
		expect_counted_attached(STAT_TX_TOO_LONG);
		while (packet_catch(far, &got, 20))
			;
	}
}

/* BIG TCP: what the IP header cannot say the length of is no padding. */
Test(gso, too_long__of_a_length_that_is_not_told)
{
	struct frame got;
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };

		hosts_strip(); /* not heard for a second it would be asked as well */
		send_gso(fd, s, 100000, 1000);
		expect_counted_attached(STAT_TX_TOO_LONG);
		while (packet_catch(far, &got, 20))
			;
	}
}

/*
 * A sink that forwards, as a node does to its pods: what it stripped while it was one large packet is
 * segmented on the way out, and must not be taken for the tunnel that it no longer is.
 */
static void expect_forwarded(struct ip_spec s, unsigned int payload, unsigned int gso_size,
			     enum sluice_encoding encoding)
{
	struct port port = port_usual();
	unsigned int i, n = 0, segments = gso_size ? (payload + gso_size - 1) / gso_size : 1;
	int fd, out, stats[16];

	link_make("address 02:00:00:00:00:02");
	port_set(if_nametoindex(LINK_FAR), &port);
	sh("ip link add out0 mtu 1500 type veth peer name out1 mtu 1500");
	sh("ip link set out0 up && ip link set out1 up");
	sh("ip address add 10.9.0.1/24 dev out0 && ip route add 10.1.0.2 dev out0");
	sh("ip neighbour add 10.1.0.2 lladdr 02:00:00:00:00:03 dev out0");
	sh("ip address add 10.1.0.9/24 dev " LINK_NEAR);
	sh("echo 1 >/proc/sys/net/ipv4/ip_forward");
	link_attach(EGRESS, LINK_FAR, 0);
	if (encoding == ENCODING_INT_MD) {
		link_attach(HOP_MAP, LINK_FAR, 0);
		stats[n++] = STAT_HOP_STAMPED;
	}
	encoding_set(encoding);
	link_attach(INGRESS, LINK_NEAR, 1);
	fd = gso_socket(LINK_FAR);
	out = packet_socket("out1");
	tso_off(fd, "out0");
	if (s.udp && gso_size) /* see below */
		tso_off(fd, LINK_FAR);

	send_gso(fd, s, payload, gso_size);
	for (i = 0; i < segments; i++) {
		unsigned int bytes = gso_size && i < segments - 1 ? gso_size : payload - i * gso_size;
		struct frame got, want;

		fixture("segment %u", i + 1);
		cr_assert(packet_catch(out, &got, 1000), "%smissing", world_fixture());
		want = segment(s, i * gso_size, bytes, get16(got.b + 18));
		memcpy(want.b, got.b, 12);
		want.b[22]--; /* TTL */
		frame_fix(&want);
		expect_frame(&got, &want);
	}
	stats[n++] = STAT_TX_DATA;
	for (i = 0; i < (s.udp ? segments : 1); i++)
		stats[n++] = STAT_RX_DATA;
	if (s.udp) {
		stats[n++] = STAT_PROBE_SENT;
		stats[n++] = STAT_RX_PROBE;
	}
	stats[n] = -1;
	expect_that(world_counted_attached(stats));
}

Test(gso, stripped__is_segmented_again_when_forwarded)
{
	expect_forwarded((struct ip_spec){ .options = 12 }, 4300, 1000, ENCODING_HPCC);
}

/* Grown by a hop while it was one. */
Test(gso, int__stripped_is_segmented_again_when_forwarded)
{
	expect_forwarded((struct ip_spec){ .options = 12 }, 4300, 1000, ENCODING_INT_MD);
}

Test(gso, stripped__udp_gets_its_checksum_when_forwarded)
{
	expect_forwarded((struct ip_spec){ .udp = 1 }, 1000, 0, ENCODING_HPCC);
}

/* A datagram whose checksum the kernel computes after the header is in front of it. */
Test(gso, checksum__of_a_wrapped_datagram)
{
	static const unsigned int payloads[] = { 1, 11, 12, 13, 1300 };
	unsigned int i;
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1 };
		__u32 seq = 0;

		for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
			struct frame got, inner = segment(s, 0, payloads[i], 0x1234), want;
			struct flow f;

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, payloads[i]);
			hosts_strip();
			send_gso(fd, s, payloads[i], 0);
			do
				cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
			while (got.b[at_shim(&got) + 4] == 0x42);
			seq += got.len;
			want = wrap(&inner, .sport = get16(got.b + at_udp(&got)), .room = 5, .seq = seq);
			expect_frame(&got, &want);
			f = flow_get(s);
			expect_eq(f.tx.bytes, seq);
		}
	}
}

/*
 * What comes out of a VXLAN device is in a tunnel's headers already, and the kernel adds no second: it
 * leaves as it is, is not held, and does not make its peer unknown to everybody else.
 */
Test(gso, tunnel__of_the_kernel_is_left_alone)
{
	static const struct ip_spec vxlan = { .udp = 1, .sport = 40000, .dport = 4789 };
	struct frame got, ack = tcp();
	struct host unknown = {};
	struct port port = port_usual();
	struct flow f;
	__u32 ifindex = link_make("address 02:00:00:00:00:01");
	int far = packet_socket(LINK_FAR), i;

	if (system("ip link add vx0 type vxlan id 7 local 10.1.0.1 remote 10.1.0.2 dstport 4789 "
		   "srcport 40000 40001 dev " LINK_NEAR " 2>&-"))
		cr_skip_test("this kernel has no VXLAN");
	sh("ip address add 10.1.0.1/24 dev " LINK_NEAR);
	sh("ip neighbour add 10.1.0.2 lladdr 02:00:00:00:00:02 dev " LINK_NEAR);
	sh("ip link set vx0 mtu 1400 up && ip address add 10.88.0.1/24 dev vx0");
	sh("ip neighbour add 10.88.0.2 lladdr 02:00:00:00:00:88 dev vx0");
	while (packet_catch(far, &got, 20)) /* what the devices say when they come up */
		;
	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(ifindex, &port);
	link_attach(EGRESS, LINK_NEAR, 0);

	fixture("to a peer that is not known");
	host_set(0, HOST_B, &unknown);
	world_counted((const int[]){ -1 });
	for (i = 0; i < 3; i++) {
		sh("bash -c 'echo hello >/dev/udp/10.88.0.2/9'");
		cr_assert(packet_catch(far, &got, 1000), "%snothing left", world_fixture());
		expect_eq(get16(got.b + at_udp(&got) + 2), 4789);
		cr_assert(!packet_catch(far, &got, 20), "%sa PROBE", world_fixture());
	}
	expect_counted_attached(STAT_TX_PEER_UNKNOWN, STAT_PROBE_FAILED, STAT_TX_ENCAP_FAILED, STAT_TX_ENCAP_FAILED);
	expect_eq(host_get(0, HOST_B).asked_ns, 0);
	run(EGRESS, &ack, .ifindex = ifindex);
	expect_counted_attached(STAT_TX_PEER_UNKNOWN, STAT_PROBE_SENT);
	cr_assert(packet_catch(far, &got, 1000), "%sno PROBE", world_fixture());

	fixture("to a peer that strips");
	hosts_strip();
	sh("bash -c 'echo hello >/dev/udp/10.88.0.2/9'");
	cr_assert(packet_catch(far, &got, 1000), "%snothing left", world_fixture());
	expect_eq(get16(got.b + at_udp(&got) + 2), 4789);
	expect_counted_attached(STAT_TX_ENCAP_FAILED);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);

	fixture("seen without a probe");
	f = flow_get(vxlan);
	f.tx.flags = 0;
	f.tx.probe_ns = clock_ns() + 1000000000;
	flow_set(vxlan, &f);
	sh("bash -c 'echo hello >/dev/udp/10.88.0.2/9'");
	cr_assert(packet_catch(far, &got, 1000), "%snothing left", world_fixture());
	expect_counted_attached(STAT_TX_ENCAP_FAILED);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	expect_eq(flow_get(vxlan).tx.flags & FLOW_F_TUNNEL, FLOW_F_TUNNEL);
}
