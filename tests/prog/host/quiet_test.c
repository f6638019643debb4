// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/quiet.bpf.h: the note at a socket counts for one configuration and one interface only. */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "companion_case.h"

TestSuite(quiet, .init = egress_make, .fini = world_drop, .timeout = 60);

/* A socket that tells when its packets leave, as TCP does; so its packets may be quiet. */
static int socket_make(void)
{
	struct sock_txtime txtime = { .clockid = CLOCK_MONOTONIC };
	int fd = packet_socket(LINK_NEAR);

	cr_assert(!setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)), "SO_TXTIME: %s", strerror(errno));
	return fd;
}

static void leaves_by(int fd, const char *device, const struct frame *f)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(device), .sll_halen = 6 };
	union {
		char bytes[CMSG_SPACE(sizeof(__u64))];
		struct cmsghdr align;
	} control = {};
	struct iovec io = { (void *)f->b, f->len };
	struct msghdr m = { .msg_name = &to,
			    .msg_namelen = sizeof(to),
			    .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	struct timespec now;
	__u64 at_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	at_ns = now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_TXTIME;
	head->cmsg_len = CMSG_LEN(sizeof(at_ns));
	memcpy(CMSG_DATA(head), &at_ns, sizeof(at_ns));
	cr_assert(sendmsg(fd, &m, 0) == (ssize_t)f->len, "sending: %s", strerror(errno));
}

/* A socket whose flow was checked just now, and has nothing due for 200 s. */
static int socket_is_quiet(struct ip_spec s, const struct frame *f)
{
	struct port port = port_usual();
	struct peer peer = peer_usual();
	struct timespec now;
	struct flow flow;
	int fd;

	link_make("");
	port_set(if_nametoindex(LINK_FAR), &port);
	clock_release();
	peer.telemetry = TELEMETRY_COMPANION;
	peer.t_ns = 100 * NSEC_PER_SEC;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_set(MODE_ENFORCE, 0);
	control_next_epoch();
	link_attach(EGRESS, LINK_NEAR, 0);
	link_attach(EGRESS, LINK_FAR, 0);
	fd = socket_make();
	leaves_by(fd, LINK_NEAR, f);
	flow = flow_get(s);
	clock_gettime(CLOCK_MONOTONIC, &now);
	flow.tx.own_cc = 1;
	flow.companion = (struct companion_state){ .left_ns = now.tv_sec * NSEC_PER_SEC + now.tv_nsec,
						   .sent = flow.tx.bytes,
						   .count = COMPANION_FIRST };
	flow_set(s, &flow);
	leaves_by(fd, LINK_NEAR, f); /* writes the note */
	flow = flow_get(s);
	leaves_by(fd, LINK_NEAR, f);
	expect_eq(flow_get(s).tx.bytes, flow.tx.bytes); /* only the socket has counted it */
	return fd;
}

Test(quiet, socket__until_the_configuration_changes)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame f = frame_of(s);
	int fd = socket_is_quiet(s, &f);
	__u32 epoch = control_next_epoch();

	leaves_by(fd, LINK_NEAR, &f);
	expect_eq(flow_get(s).path.epoch, epoch);
}

Test(quiet, socket__until_it_sends_by_another_interface)
{
	struct ip_spec s = { .payload = 1000 };
	struct frame f = frame_of(s);
	int fd = socket_is_quiet(s, &f);

	leaves_by(fd, LINK_FAR, &f);
	expect_eq(flow_get(s).path.ifindex, if_nametoindex(LINK_FAR));
}
