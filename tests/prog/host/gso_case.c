// SPDX-License-Identifier: GPL-2.0-only
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

#include "gso_case.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5 /* headers of Linux 6.2 */
#endif

void gso_make(void)
{
	world_make_with(.wings = WING_RACKS); /* some attach egress before they use a VOQ */
	hosts_strip();
}

void tso_off(int fd, const char *device)
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

int gso_socket(const char *device)
{
	int fd = packet_socket(device), one = 1;

	cr_assert(!setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)), "%s", strerror(errno));
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
	unsigned int l3 = 14 + (s.v6 ? 40 : 20), l4 = l3 + (s.jumbo ? 8 : 0), len = head.len - l4 + payload, i;
	__u32 sum = (s.udp ? 17 : 6) + len;

	/* A packet that is longer than the field allows (BIG TCP) has the length 0. */
	if (s.v6)
		put16(head.b + 18, len <= 0xffff ? len : 0);
	else
		put16(head.b + 16, 20 + len <= 0xffff ? 20 + len : 0);
	if (s.udp)
		put16(head.b + l4 + 4, len);
	frame_fix(&head);
	if (s.jumbo)
		put32(head.b + l3 + 4, 8 + len);
	for (i = s.v6 ? 22 : 26; i < l3; i += 2)
		sum += get16(head.b + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(head.b + l4 + (s.udp ? 6 : 16), sum);
	return head;
}

void send_gso(int fd, struct ip_spec s, unsigned int payload, unsigned int gso_size)
{
	struct frame head = frame_of(s);
	unsigned int ip_bytes = s.v6 ? s.jumbo ? 48 : 40 : 20, l4 = 14 + ip_bytes, l4_bytes = head.len - l4, i;
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
	cr_assert(n == (ssize_t)(sizeof(vnet) + 14 + ip_bytes + l4_bytes + payload), "%s%s", world_fixture(),
		  strerror(errno));
}

struct frame segment(struct ip_spec s, unsigned int from, unsigned int bytes, int inner_id)
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

void gso_expect_probe(int far, struct ip_spec s, unsigned int payload, __u32 seq)
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

int gso_link(int *far)
{
	int fd;

	link_make("");
	link_attach(EGRESS, LINK_NEAR, 0);
	fd = gso_socket(LINK_NEAR);
	*far = packet_socket(LINK_FAR);
	tso_off(fd, LINK_NEAR);
	return fd;
}
