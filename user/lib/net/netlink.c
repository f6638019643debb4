// SPDX-License-Identifier: GPL-2.0-only
/* A request to the network stack by rtnetlink over libmnl, and its answers. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/net/netlink.h"

/* The size of the fixed part of messages of this type: callbacks read it without a check. */
static size_t nl_head_bytes(__u16 type)
{
	switch (type) {
	case RTM_NEWLINK:
	case RTM_GETLINK:
		return sizeof(struct ifinfomsg);
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
	case RTM_GETROUTE:
		return sizeof(struct rtmsg);
	case RTM_GETADDR:
		return sizeof(struct ifaddrmsg);
	case RTM_GETNSID:
		return sizeof(struct rtgenmsg);
	case RTM_GETDCB:
	case RTM_SETDCB:
		return sizeof(struct dcbmsg);
	default:
		return sizeof(struct tcmsg);
	}
}

#define ERRNO_MAX 4095 /* as the kernel has it */

struct talk {
	mnl_cb_t cb;
	void *data;
	size_t head_bytes;
};

/* A message that is too short is skipped. */
static int talk_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct talk *t = data;

	if (!t->cb || mnl_nlmsg_get_payload_len(nlh) < t->head_bytes)
		return MNL_CB_OK;
	return t->cb(nlh, t->data);
}

/* The error with which a dump ends, which libmnl does not look at; 0: none. */
static int dump_error(const void *buf, int n)
{
	const struct nlmsghdr *nlh;
	int err = 0;

	for (nlh = buf; mnl_nlmsg_ok(nlh, n) && !err; nlh = mnl_nlmsg_next(nlh, &n))
		if (nlh->nlmsg_type == NLMSG_DONE && mnl_nlmsg_get_payload_len(nlh) >= sizeof(int))
			err = *(const int *)mnl_nlmsg_get_payload(nlh);
	return err < 0 && err >= -ERRNO_MAX ? err : 0;
}

static int nl_exchange(struct nlmsghdr *nlh, mnl_cb_t cb, void *data, int strict)
{
	char buf[32768];
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	unsigned int seq = (unsigned int)time(NULL) ^ (unsigned int)rand(), port;
	struct talk talk = { cb, data, nl_head_bytes(nlh->nlmsg_type) };
	int n, err = 0;

	if (!nl)
		return -errno;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = -errno;
		goto close_nl;
	}
	if (strict && mnl_socket_setsockopt(nl, NETLINK_GET_STRICT_CHK, &strict, sizeof(strict))) {
		err = -errno;
		goto close_nl;
	}
	port = mnl_socket_get_portid(nl);
	nlh->nlmsg_seq = seq;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0) {
		err = -errno;
		goto close_nl;
	}
	for (;;) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0) {
			err = -errno;
			break;
		}
		err = dump_error(buf, n);
		n = mnl_cb_run(buf, n, seq, port, talk_cb, &talk);
		if (n < 0) /* from the message, where it may be no error at all */
			err = errno > 0 && errno <= ERRNO_MAX ? -errno : -EPROTO;
		if (n <= 0)
			break;
		if (!(nlh->nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK)))
			break; /* a plain get has one answer */
	}
close_nl:
	mnl_socket_close(nl);
	return err;
}

int nl_talk(struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	return nl_exchange(nlh, cb, data, 0);
}

int nl_talk_strict(struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	return nl_exchange(nlh, cb, data, 1);
}

__u32 attr_u32(const struct nlattr *a)
{
	return mnl_attr_get_payload_len(a) >= sizeof(__u32) ? mnl_attr_get_u32(a) : 0;
}

const char *attr_str(const struct nlattr *a)
{
	const char *text = mnl_attr_get_payload(a);

	return memchr(text, 0, mnl_attr_get_payload_len(a)) ? text : "";
}

void attr_struct(const struct nlattr *attr, void *to, size_t size)
{
	size_t len = mnl_attr_get_payload_len(attr);

	memset(to, 0, size);
	memcpy(to, mnl_attr_get_payload(attr), len < size ? len : size);
}
