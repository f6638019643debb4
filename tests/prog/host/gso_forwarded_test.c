// SPDX-License-Identifier: GPL-2.0-only
/* A stripped packet that is forwarded, or sent into a tunnel, still becomes segments with right checksums. */
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

#include "gso_case.h"

TestSuite(gso_forwarded, .init = gso_make, .fini = world_drop, .timeout = 60);

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

Test(gso_forwarded, stripped__is_segmented_again_when_forwarded)
{
	expect_forwarded((struct ip_spec){ .options = 12 }, 4300, 1000, ENCODING_HPCC);
}

/* Grown by a hop while it was one. */
Test(gso_forwarded, int__stripped_is_segmented_again_when_forwarded)
{
	expect_forwarded((struct ip_spec){ .options = 12 }, 4300, 1000, ENCODING_INT_MD);
}

Test(gso_forwarded, stripped__udp_gets_its_checksum_when_forwarded)
{
	expect_forwarded((struct ip_spec){ .udp = 1 }, 1000, 0, ENCODING_HPCC);
}

/* A datagram whose checksum the kernel computes after the header is in front of it. */
Test(gso_forwarded, checksum__of_a_wrapped_datagram)
{
	static const unsigned int payloads[] = { 1, 11, 12, 13, 1300 };
	unsigned int i;
	int fd, far;

	fd = gso_link(&far);
	FOR_V4_AND_V6 (v6) {
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
 * A packet out of a VXLAN device is in a tunnel's headers already, and the kernel adds no second: it
 * leaves as it is, is not held, and does not make its peer unknown to other flows.
 */
Test(gso_forwarded, tunnel__of_the_kernel_is_left_alone)
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
