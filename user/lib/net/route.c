// SPDX-License-Identifier: GPL-2.0-only
/* Routes, by rtnetlink: prefixes in routes, and our own routes, which are copies of others with another MTU. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "lib/route.h"
#include "lib/net/netlink.h"
#include "lib/net/route.h"

const __u8 *prefix_bytes(const struct peer_key *p, int *family, int *len, int *bits)
{
	int v4 = addr_is_v4(&p->addr) && p->prefixlen >= 96;

	*family = v4 ? AF_INET : AF_INET6;
	*len = v4 ? 4 : 16;
	*bits = p->prefixlen - (v4 ? 96 : 0);
	return v4 ? &p->addr.b[12] : p->addr.b;
}

struct sluice_addr attr_addr(const struct nlattr *a, int family)
{
	struct sluice_addr addr = {};

	if (mnl_attr_get_payload_len(a) < (family == AF_INET ? 4 : 16))
		return addr;
	if (family == AF_INET) {
		addr.b[10] = addr.b[11] = 0xff;
		memcpy(&addr.b[12], mnl_attr_get_payload(a), 4);
	} else {
		memcpy(&addr, mnl_attr_get_payload(a), 16);
	}
	return addr;
}

int routes_dump(int family, __u8 protocol, mnl_cb_t cb, void *data)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rt;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	rt->rtm_family = family;
	rt->rtm_protocol = protocol;
	return protocol ? nl_talk_strict(nlh, cb, data) : nl_talk(nlh, cb, data);
}

static struct nlmsghdr *route_msg(char *buf, const struct peer_key *prefix, __u32 table, int type, int flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int family, len, bits;
	const __u8 *bytes = prefix_bytes(prefix, &family, &len, &bits);
	struct rtmsg *rt;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	rt->rtm_family = family;
	rt->rtm_dst_len = bits;
	rt->rtm_table = table < 256 ? table : RT_TABLE_COMPAT;
	rt->rtm_protocol = ROUTE_PROTO;
	rt->rtm_type = RTN_UNICAST;
	mnl_attr_put(nlh, RTA_DST, len, bytes);
	mnl_attr_put_u32(nlh, RTA_TABLE, table);
	return nlh;
}

int route_is_alike(const struct route *a, const struct route *b)
{
	return a->ifindex == b->ifindex && a->mtu == b->mtu && a->scope == b->scope && a->onlink == b->onlink &&
	       a->has_gateway == b->has_gateway && !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway)) &&
	       a->has_source == b->has_source && !memcmp(&a->source, &b->source, sizeof(a->source)) &&
	       a->metrics_len == b->metrics_len && !memcmp(a->metrics, b->metrics, a->metrics_len);
}

static void attr_addr_put(struct nlmsghdr *nlh, int type, int family, const struct sluice_addr *addr)
{
	if (family == AF_INET)
		mnl_attr_put(nlh, type, 4, &addr->b[12]);
	else
		mnl_attr_put(nlh, type, 16, addr);
}

int route_add(const struct peer_key *prefix, const struct route *r, int replace)
{
	char buf[MNL_NLMSG_HDRLEN + 512] = {};
	struct nlmsghdr *nlh =
		route_msg(buf, prefix, r->table, RTM_NEWROUTE, NLM_F_CREATE | (replace ? NLM_F_REPLACE : NLM_F_EXCL));
	struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct nlattr *metrics;
	const struct nlattr *attr;

	rt->rtm_scope = r->scope;
	if (r->onlink)
		rt->rtm_flags |= RTNH_F_ONLINK;
	if (r->has_gateway)
		attr_addr_put(nlh, RTA_GATEWAY, rt->rtm_family, &r->gateway);
	if (r->has_source)
		attr_addr_put(nlh, RTA_PREFSRC, rt->rtm_family, &r->source);
	mnl_attr_put_u32(nlh, RTA_OIF, r->ifindex);
	metrics = mnl_attr_nest_start(nlh, RTA_METRICS);
	mnl_attr_put_u32(nlh, RTAX_MTU, r->mtu);
	mnl_attr_for_each_payload ((const void *)r->metrics, r->metrics_len)
		mnl_attr_put(nlh, mnl_attr_get_type(attr), mnl_attr_get_payload_len(attr), mnl_attr_get_payload(attr));
	mnl_attr_nest_end(nlh, metrics);
	return nl_talk(nlh, NULL, NULL);
}

int route_remove(const struct peer_key *prefix, const struct route *r)
{
	char buf[MNL_NLMSG_HDRLEN + 256] = {};
	struct nlmsghdr *nlh = route_msg(buf, prefix, r->table, RTM_DELROUTE, 0);
	struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	int err;

	rt->rtm_scope = RT_SCOPE_NOWHERE;
	mnl_attr_put_u32(nlh, RTA_OIF, r->ifindex);
	err = nl_talk(nlh, NULL, NULL);
	return err == -ESRCH ? 0 : err;
}

const char *route_hop_format(const struct route *r, char *buf)
{
	char text[PREFIX_STRLEN], name[IFNAMSIZ] = "";
	int n = 0;

	if_indextoname(r->ifindex, name);
	if (r->has_gateway)
		n += sprintf(buf, "via %s ", addr_format(&r->gateway, text));
	n += sprintf(buf + n, "dev %s", name);
	if (r->onlink)
		n += sprintf(buf + n, " onlink");
	if (r->has_source)
		sprintf(buf + n, " src %s", addr_format(&r->source, text));
	return buf;
}

const char *route_format(const struct peer_key *prefix, const struct route *r, char *buf)
{
	char text[PREFIX_STRLEN], hop[ROUTE_STRLEN];
	int n;

	n = sprintf(buf, "%s %s", prefix_format(prefix, text), route_hop_format(r, hop));
	/* 'change' drops every attribute that is not repeated, and another metric makes another route. */
	if (r->protocol == RTPROT_KERNEL)
		n += sprintf(buf + n, " proto kernel");
	else if (r->protocol != RTPROT_BOOT)
		n += sprintf(buf + n, " proto %u", r->protocol);
	if (r->table != RT_TABLE_MAIN)
		n += sprintf(buf + n, " table %u", r->table);
	if (r->metric)
		n += sprintf(buf + n, " metric %u", r->metric);
	sprintf(buf + n, " mtu %u", r->mtu);
	return buf;
}
