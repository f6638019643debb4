// SPDX-License-Identifier: GPL-2.0-only
/* Segments of a packet each have the headers, and must fit one by one. */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "companion_case.h"
#include "gso_case.h"

TestSuite(gso, .init = gso_make, .fini = world_drop, .timeout = 60);

static void segments_carry_headers(struct ip_spec s)
{
	unsigned int outer = s.v6 ? 40 : 20, headers = 14 + outer + (s.udp ? 8 : 20 + s.options);
	unsigned int grow = outer + 8 + 12 + 44, i;
	__u32 seq = 4300 + 5 * (headers + grow);
	int fd = gso_socket(LINK_NEAR), far = packet_socket(LINK_FAR);

	tso_off(fd, LINK_NEAR);
	send_gso(fd, s, 4300, 1000);
	if (s.udp) /* nobody has answered it yet */
		gso_expect_probe(far, s, 4300, 0);
	for (i = 0; i < 5; i++) {
		struct frame got, inner, want;

		fixture("IPv%d, segment %u", s.v6 ? 6 : 4, i + 1);
		cr_assert(packet_catch(far, &got, 1000), "%smissing", world_fixture());
		/* The identification of an IPv4 header that must not be fragmented is free. */
		inner = segment(s, i * 1000, i < 4 ? 1000 : 300, s.v6 ? 0 : get16(got.b + at_hop(&got, 5) + 4));
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
	FOR_V4_AND_V6 (v6)
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

/* The packet is in its VOQ as a whole, and every segment reports that. */
Test(gso, segments__repeat_their_place_in_the_voq)
{
	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	voqs_on();
	FOR_V4_AND_V6 (v6) {
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
				    .voq_tor = 77, .voq_total = seq, .voq_flows = 1, .voq_prefixlen = 128,
				    .voq_flags = RIDES);
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

/* Wrapped, it would be lost where it arrives whole. Only its probe is wrapped. */
Test(gso, segments__of_udp_leave_as_they_are)
{
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1 };
		unsigned int i;

		send_gso(fd, s, 4300, 1000);
		gso_expect_probe(far, s, 4300, 0);
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

/* Without our header no peer would report their arrival. */
Test(gso, segments__of_udp_are_in_no_voq)
{
	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	voqs_on();
	FOR_V4_AND_V6 (v6) {
		int fd = gso_socket(LINK_NEAR), far = packet_socket(LINK_FAR);
		struct ip_spec s = { .v6 = v6, .udp = 1 };

		tso_off(fd, LINK_NEAR);
		hosts_strip();
		send_gso(fd, s, 4300, 1000);
		gso_expect_probe(far, s, 4300, 0);
		expect_counted_attached(STAT_TX_UDP_GSO, STAT_PROBE_SENT);
		expect_eq(voq_exists(voq_key_of(v6, HOST_B, 128)), 0);
		close(fd);
		close(far);
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
	FOR_V4_AND_V6 (v6) {
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

/* A length field has 16 bits. A packet that would need more leaves plain. */
Test(gso, too_long__to_the_byte)
{
	struct frame got;
	unsigned int i;
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6 (v6) {
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

/* BIG TCP: bytes beyond the length in the IP header are no padding. */
Test(gso, too_long__of_a_length_that_is_not_told)
{
	struct frame got;
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6 };

		hosts_strip(); /* not heard for a second it would be asked as well */
		send_gso(fd, s, 100000, 1000);
		expect_counted_attached(STAT_TX_TOO_LONG);
		while (packet_catch(far, &got, 20))
			;
	}
}

/* The same by IPv6 with the header that Linux puts between: it is none of the segments'. */
Test(gso, big_tcp__with_a_header_between)
{
	struct ip_spec s = { .v6 = 1, .jumbo = 1 };
	struct frame got, data, want;
	int fd, far, i;

	fd = gso_link(&far);
	hosts_strip();
	send_gso(fd, s, 100000, 1000);
	expect_counted_attached(STAT_TX_TOO_LONG);
	telemetry_beside();
	while (packet_catch(far, &got, 20))
		;
	send_gso(fd, s, 100000, 1000);
	cr_assert(packet_catch(far, &got, 1000), "no companion");
	for (i = 0; i < 100; i++) {
		cr_assert(packet_catch(far, &data, 1000), "segment %d is missing", i);
		expect_eq(data.len, 14 + 40 + 20 + 1000);
	}
	want = companion_of(&data, 2, 100000 + 100 * (14 + 40 + 20));
	expect_frame(&got, &want);
	expect_counted_attached(STAT_TX_BESIDE, STAT_COMPANION_SENT);
	expect_eq(flow_get(s).tx.bytes, 100000 + 100 * (14 + 40 + 20));
}

/* Other extension headers stay unchanged. */
Test(gso, extension__that_is_no_length)
{
	struct ip_spec s = { .v6 = 1, .jumbo = 1 };
	struct frame in = frame_of(s);

	expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
}
