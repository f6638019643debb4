// SPDX-License-Identifier: GPL-2.0-only
/* A pair of devices, and frames over it. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "load.h"

void sh(const char *fmt, ...)
{
	char command[512];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = system(command);
	cr_assert(!status, "%s: status %d", command, status);
}

__u32 link_make(const char *near_options)
{
	struct port port = port_usual();
	__u32 ifindex;

	/* Without IPv6 the kernel itself sends nothing: no neighbour solicitations in between. */
	if (!access("/proc/sys/net/ipv6", F_OK))
		sh("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6");
	sh("ip link add " LINK_NEAR " mtu 9000 %s type veth peer name " LINK_FAR " mtu 9000", near_options);
	sh("ip link set " LINK_NEAR " up && ip link set " LINK_FAR " up");
	ifindex = if_nametoindex(LINK_NEAR);
	port_set(ifindex, &port);
	return ifindex;
}

void qdisc_stats(const char *device, __u64 *tx_bytes, __u64 *backlog_bytes)
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command),
		 "tc -s -j qdisc show dev %s root | jq -r '\"\\([.[].bytes]|add) \\([.[].backlog]|add)\"'", device);
	f = popen(command, "r");
	cr_assert(f && fscanf(f, "%llu %llu", tx_bytes, backlog_bytes) == 2, "%s", command);
	pclose(f);
}

/* `buffer`: SO_RCVBUFFORCE or SO_SNDBUFFORCE, which gets room for 8 MB. */
static int link_socket_at(const char *device, __be16 protocol, int buffer)
{
	struct sockaddr_ll a = {
		.sll_family = AF_PACKET,
		.sll_protocol = protocol,
		.sll_ifindex = if_nametoindex(device),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, protocol), room = 8 << 20;

	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) &&
			  !setsockopt(fd, SOL_SOCKET, buffer, &room, sizeof(room)),
		  "packet socket at %s: %s", device, strerror(errno));
	return fd;
}

int packet_socket(const char *device)
{
	/* Room for all segments of a packet at once: each holds on to the whole. */
	return link_socket_at(device, htons(ETH_P_ALL), SO_RCVBUFFORCE);
}

void packet_send(int fd, const struct frame *f)
{
	cr_assert(send(fd, f->b, f->len, 0) == (ssize_t)f->len, "sending %u bytes: %s", f->len, strerror(errno));
}

void send_frames(const char *device, unsigned int n, __u8 tos, int v6)
{
	struct frame f = udp(.v6 = v6, .dport = 53, .payload = FRAME_BYTES - (v6 ? 62 : 42), .tos = tos);
	/* Waiting packets are charged to the socket, which would block. */
	int fd = link_socket_at(device, 0, SO_SNDBUFFORCE);

	while (n--)
		packet_send(fd, &f);
	/* It ends with the test. */
}

int packet_catch(int fd, struct frame *f, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct sockaddr_ll from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while (poll(&p, 1, wait_ms) == 1) {
		n = recvfrom(fd, f->b, sizeof(f->b), 0, (struct sockaddr *)&from, &len);
		cr_assert(n >= 0, "receiving: %s", strerror(errno));
		if (from.sll_pkttype == PACKET_OUTGOING)
			continue;
		f->len = n;
		return 1;
	}
	if (held_ns)
		clock_pass(wait_ms * 1000000ULL);
	return 0;
}

void link_attach(enum program p, const char *device, int ingress)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = if_nametoindex(device));
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .prog_fd = world_program(p));
	static int priority;
	struct port port;
	int err;

	if (p == INGRESS_XDP) {
		err = bpf_xdp_attach(hook.ifindex, world_program(p), XDP_FLAGS_SKB_MODE, NULL);
		cr_assert(!err, "attaching to XDP: %s", strerror(-err));
		port = port_get(hook.ifindex);
		port.flags |= PORT_F_XDP;
		port_set(hook.ifindex, &port);
		return;
	}
	sh("tc qdisc show dev %s | grep -q clsact || tc qdisc add dev %s clsact", device, device);
	opts.priority = ++priority;
	hook.attach_point = ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS;
	err = bpf_tc_attach(&hook, &opts);
	cr_assert(!err, "attaching: %s", strerror(-err));
}
