// SPDX-License-Identifier: GPL-2.0-only
/* Stands in for the socket to rtnetlink (by --wrap), and answers as the kernel does, filters of dumps included. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include "lib/net.h"
#include "lib/netlink_case.h"
#include "../../fuzz/netlink_socket.h"

#define MESSAGES_MAX 20000
#define MESSAGE_BYTES 160

static struct message {
	char buf[MESSAGE_BYTES] __attribute__((aligned(8)));
} * has;
static unsigned int has_n;
struct nl_asked nl_asked[256];

static struct asked {
	struct nlmsghdr head;
	char rest[256];
} asked;
static unsigned int next; /* message of a dump; past the last: its end */
static int ended;

int __wrap_mnl_socket_close(struct mnl_socket *s)
{
	(void)s;
	return 0;
}

static int is_dump(void)
{
	return (asked.head.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *s, const void *req, size_t bytes)
{
	(void)s;
	cr_assert(bytes <= sizeof(asked));
	memset(&asked, 0, sizeof(asked));
	memcpy(&asked, req, bytes);
	next = ended = 0;
	nl_asked[asked.head.nlmsg_type].dumps += is_dump();
	return bytes;
}

static __u32 attr_of(const struct nlmsghdr *nlh, size_t head, int type)
{
	const struct nlattr *a;

	mnl_attr_for_each (a, nlh, head)
		if (mnl_attr_get_type(a) == type)
			return mnl_attr_get_u32(a);
	return 0;
}

static int is_asked_for(const struct nlmsghdr *nlh)
{
	const void *is = mnl_nlmsg_get_payload(nlh), *want = mnl_nlmsg_get_payload(&asked.head);

	if (nlh->nlmsg_type + 2 != asked.head.nlmsg_type)
		return 0;
	if (nlh->nlmsg_type == RTM_NEWLINK) {
		const struct ifinfomsg *i = is, *w = want;
		__u32 master = attr_of(&asked.head, sizeof(*i), IFLA_MASTER);

		return is_dump() ? !master || attr_of(nlh, sizeof(*i), IFLA_MASTER) == master :
				   i->ifi_index == w->ifi_index;
	}
	if (nlh->nlmsg_type == RTM_NEWROUTE) {
		const struct rtmsg *r = is, *w = want;

		return r->rtm_family == w->rtm_family && (!w->rtm_protocol || r->rtm_protocol == w->rtm_protocol);
	}
	return 1;
}

/* One message at a time, and the end of a dump or the error of a get. */
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *s, void *buf, size_t size)
{
	struct nlmsghdr *nlh = buf;

	(void)s;
	for (; next < has_n; next++)
		if (is_asked_for((void *)has[next].buf))
			break;
	cr_assert(!ended && size >= MESSAGE_BYTES);
	if (next < has_n) {
		memcpy(buf, has[next++].buf, MESSAGE_BYTES);
		nl_asked[asked.head.nlmsg_type].messages++;
	} else {
		memset(buf, 0, 64);
		nlh->nlmsg_type = is_dump() ? NLMSG_DONE : NLMSG_ERROR;
		nlh->nlmsg_len = sizeof(*nlh) + (is_dump() ? sizeof(int) : sizeof(struct nlmsgerr));
		if (!is_dump() && !(asked.head.nlmsg_flags & NLM_F_ACK))
			((struct nlmsgerr *)mnl_nlmsg_get_payload(nlh))->error = -ENODEV;
		ended = 1;
	}
	nlh->nlmsg_seq = asked.head.nlmsg_seq;
	nlh->nlmsg_pid = PORT;
	if (is_dump())
		nlh->nlmsg_flags |= NLM_F_MULTI;
	return nlh->nlmsg_len;
}

static struct nlmsghdr *message_begin(int type)
{
	has = has ?: calloc(MESSAGES_MAX, sizeof(*has));
	cr_assert(has && has_n < MESSAGES_MAX);
	memset(&has[has_n], 0, sizeof(*has));
	mnl_nlmsg_put_header(has[has_n].buf)->nlmsg_type = type;
	return (void *)has[has_n++].buf;
}

void nl_forget(void)
{
	free(has);
	has = NULL;
	has_n = 0;
	memset(nl_asked, 0, sizeof(nl_asked));
}

struct nlmsghdr *nl_has_link(__u32 ifindex, const char *kind, __u32 lower, __u32 master, __u32 table)
{
	struct nlmsghdr *nlh = message_begin(RTM_NEWLINK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	struct nlattr *info, *data;

	m->ifi_index = ifindex;
	if (lower && strcmp(kind, "vxlan"))
		mnl_attr_put_u32(nlh, IFLA_LINK, lower);
	if (master)
		mnl_attr_put_u32(nlh, IFLA_MASTER, master);
	if (!*kind)
		return nlh;
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, kind);
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	if (lower && !strcmp(kind, "vxlan"))
		mnl_attr_put_u32(nlh, IFLA_VXLAN_LINK, lower);
	if (table)
		mnl_attr_put_u32(nlh, IFLA_VRF_TABLE, table);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return nlh;
}

struct nlmsghdr *nl_has_route(const char *prefix, __u32 table, __u32 ifindex, __u32 metric, int protocol)
{
	struct nlmsghdr *nlh = message_begin(RTM_NEWROUTE);
	struct rtmsg *rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	struct peer_key key;
	int v4;

	cr_assert(!prefix_parse(prefix, &key), "%s", prefix);
	v4 = !strchr(prefix, ':');
	table = table ?: RT_TABLE_MAIN;
	rt->rtm_family = v4 ? AF_INET : AF_INET6;
	rt->rtm_dst_len = key.prefixlen - (v4 ? 96 : 0);
	rt->rtm_table = table < 256 ? table : RT_TABLE_COMPAT;
	rt->rtm_protocol = protocol;
	rt->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(nlh, RTA_TABLE, table);
	if (rt->rtm_dst_len)
		mnl_attr_put(nlh, RTA_DST, v4 ? 4 : 16, v4 ? &key.addr.b[12] : key.addr.b);
	if (metric)
		mnl_attr_put_u32(nlh, RTA_PRIORITY, metric);
	if (ifindex)
		mnl_attr_put_u32(nlh, RTA_OIF, ifindex);
	return nlh;
}

struct nlmsghdr *nl_has_qdisc(__u32 ifindex, const char *kind)
{
	struct nlmsghdr *nlh = message_begin(RTM_NEWQDISC);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));

	tc->tcm_ifindex = ifindex;
	tc->tcm_handle = strcmp(kind, "noqueue") ? 0x80010000 : 0;
	tc->tcm_parent = TC_H_ROOT;
	mnl_attr_put_strz(nlh, TCA_KIND, kind);
	return nlh;
}
