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

/* Messages of the kernel, one behind the other. */
struct answer {
	char *buf;
	size_t used, room;
	int ended, interrupted;
};

#define PART_BYTES 32768 /* the kernel sends no more at once */
#define ANSWER_MAX (1U << 30)
#define ASKS_MAX 5

static int answer_make_room(struct answer *a)
{
	size_t room = a->room ? 2 * a->room : PART_BYTES;
	char *buf;

	if (a->room - a->used >= PART_BYTES)
		return 0;
	buf = room <= ANSWER_MAX ? realloc(a->buf, room) : NULL;
	if (!buf)
		return -ENOMEM;
	a->buf = buf;
	a->room = room;
	return 0;
}

/*
 * Adds the messages of a part, which is behind the others. libmnl would stop at the flag of an interrupted dump, and
 * callbacks would not see the rest.
 */
static void part_add(struct answer *a, int n)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)(a->buf + a->used);

	for (; mnl_nlmsg_ok(nlh, n); nlh = mnl_nlmsg_next(nlh, &n)) {
		a->ended |= nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR;
		a->interrupted |= !!(nlh->nlmsg_flags & NLM_F_DUMP_INTR);
		nlh->nlmsg_flags &= ~NLM_F_DUMP_INTR;
	}
	a->used = (char *)nlh - a->buf;
}

static int ask(struct mnl_socket *nl, const struct nlmsghdr *nlh, struct answer *a)
{
	int n, err;

	a->used = a->ended = a->interrupted = 0;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		err = answer_make_room(a);
		if (err)
			return err;
		n = mnl_socket_recvfrom(nl, a->buf + a->used, PART_BYTES);
		if (n < 0)
			return -errno;
		part_add(a, n);
		if (!(nlh->nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK)))
			break; /* a plain get has one answer */
	} while (!a->ended);
	return 0;
}

/* The kernel flags a dump during which something changed: it may lack some, and have others twice. */
static int ask_until_whole(struct mnl_socket *nl, struct nlmsghdr *nlh, struct answer *a)
{
	int tries = (nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP ? ASKS_MAX : 1, err;

	do {
		nlh->nlmsg_seq++;
		err = ask(nl, nlh, a);
	} while (!err && a->interrupted && --tries);
	return err ?: a->interrupted ? -EINTR : 0;
}

/* Once, at the end: callbacks accumulate what they see. */
static int answer_hand_over(const struct answer *a, unsigned int seq, unsigned int port, struct talk *talk)
{
	int err = dump_error(a->buf, a->used);

	/* The number is from the message, where it may be no error at all. */
	if (mnl_cb_run(a->buf, a->used, seq, port, talk_cb, talk) < 0)
		err = errno > 0 && errno <= ERRNO_MAX ? -errno : -EPROTO;
	return err;
}

static int nl_exchange(struct nlmsghdr *nlh, mnl_cb_t cb, void *data, int strict)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct talk talk = { cb, data, nl_head_bytes(nlh->nlmsg_type) };
	struct answer a = {};
	int err, told;

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
	nlh->nlmsg_seq = (unsigned int)time(NULL) ^ (unsigned int)rand();
	err = ask_until_whole(nl, nlh, &a);
	told = answer_hand_over(&a, nlh->nlmsg_seq, mnl_socket_get_portid(nl), &talk);
	if (told)
		err = told;
close_nl:
	mnl_socket_close(nl);
	free(a.buf);
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

struct tcmsg *tc_request(struct nlmsghdr *nlh, __u16 type, __u16 flags, __u32 ifindex)
{
	struct tcmsg *tc;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	return tc;
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
