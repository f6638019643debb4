// SPDX-License-Identifier: GPL-2.0-only
/* Changes of links, addresses, qdiscs and routes, as the kernel reports them. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/net.h"

int net_watch_open(void)
{
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_TC | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_IFADDR |
			     RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int net_change(__u16 type)
{
	switch (type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		/* An interface that goes down takes its IPv4 routes along, which the kernel does not report. */
		return NET_CHANGED_LINK | NET_CHANGED_ROUTE;
	case RTM_NEWADDR: /* of a bridge: it decides on the domain of its ports */
	case RTM_DELADDR:
		return NET_CHANGED_LINK;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		return NET_CHANGED_ROUTE;
	default:
		return NET_CHANGED_QDISC;
	}
}

int net_watch_read(int fd)
{
	const struct nlmsghdr *nlh;
	char buf[16384];
	int changed = 0, left;
	ssize_t n;

	/* The state is read anew from the kernel after each change, so an overrun (ENOBUFS) is just one more change. */
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 || (n < 0 && errno == ENOBUFS)) {
		if (n < 0)
			changed = NET_CHANGED_LINK | NET_CHANGED_ROUTE | NET_CHANGED_QDISC;
		left = n;
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			changed |= net_change(nlh->nlmsg_type);
	}
	return changed;
}
