// SPDX-License-Identifier: GPL-2.0-only
/* Routes of others: the one that covers a prefix, and those that meet prefixes. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include "lib/net.h"
#include "lib/net/netlink.h"
#include "lib/net/route.h"

struct covering {
	const struct peer_key *prefix;
	struct route best, ours;
	int best_len; /* -1: none yet */
};

/* A route by its own attributes; one that we could not copy has no interface. */
struct route_msg {
	struct route route;
	struct sluice_addr dst;
	__u32 table;
	int unclear;
};

static void route_metrics_parse(struct route *r, const struct nlattr *metrics)
{
	const struct nlattr *m;

	mnl_attr_for_each_nested (m, metrics) {
		if (mnl_attr_get_type(m) == RTAX_MTU) {
			r->mtu = attr_u32(m);
		} else if (r->metrics_len + MNL_ALIGN(m->nla_len) <= (int)sizeof(r->metrics)) {
			memcpy(r->metrics + r->metrics_len, m, m->nla_len);
			r->metrics_len += MNL_ALIGN(m->nla_len);
		}
	}
}

static void route_parse(const struct nlmsghdr *nlh, int family, struct route_msg *out)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct route *r = &out->route;
	const struct nlattr *a;

	*out = (struct route_msg){ .table = rt->rtm_table };
	r->protocol = rt->rtm_protocol;
	r->scope = rt->rtm_scope;
	r->onlink = !!(rt->rtm_flags & RTNH_F_ONLINK);
	mnl_attr_for_each (a, nlh, sizeof(*rt)) {
		switch (mnl_attr_get_type(a)) {
		case RTA_TABLE:
			out->table = attr_u32(a);
			break;
		case RTA_DST:
			out->dst = attr_addr(a, family);
			break;
		case RTA_OIF:
			r->ifindex = attr_u32(a);
			break;
		case RTA_PRIORITY:
			r->metric = attr_u32(a);
			break;
		case RTA_GATEWAY:
			r->has_gateway = 1;
			r->gateway = attr_addr(a, family);
			break;
		case RTA_PREFSRC:
			r->has_source = 1;
			r->source = attr_addr(a, family);
			break;
		case RTA_VIA: /* a gateway of the other family */
		case RTA_ENCAP:
			out->unclear = 1;
			break;
		case RTA_METRICS:
			route_metrics_parse(r, a);
			break;
		}
	}
	/* A route for one TOS, or from one source prefix, covers only some packets: ours would take them from it. */
	if (rt->rtm_tos || rt->rtm_src_len) {
		out->unclear = 1;
		r->metric = 0;
	}
	/* Several next hops have no single interface; nor have unreachable (IPv6 says lo) and uncopyable routes. */
	if (rt->rtm_type != RTN_UNICAST || out->unclear)
		r->ifindex = 0;
}

/* True if the first dst_len bits of dst match bytes, the last len bytes of an address. */
static int route_covers(const struct sluice_addr *dst, int dst_len, const __u8 *bytes, int len)
{
	int i;

	for (i = 0; i < dst_len; i++)
		if ((dst->b[16 - len + i / 8] ^ bytes[i / 8]) & (0x80 >> i % 8))
			return 0;
	return 1;
}

static int covering_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct covering *c = data;
	struct route_msg m;
	struct route *r = &m.route;
	int family, len, bits;
	const __u8 *bytes = prefix_bytes(c->prefix, &family, &len, &bits);

	/* A cloned route is the result of path MTU discovery or a redirect for one address. */
	if (nlh->nlmsg_type != RTM_NEWROUTE || rt->rtm_family != family || rt->rtm_dst_len > bits ||
	    rt->rtm_flags & RTM_F_CLONED)
		return MNL_CB_OK;
	route_parse(nlh, family, &m);
	if (m.table != RT_TABLE_MAIN || !route_covers(&m.dst, rt->rtm_dst_len, bytes, len))
		return MNL_CB_OK;
	r->exact = rt->rtm_dst_len == bits;
	/* Our own routes say nothing about where packets go. One that got a second next hop is no longer ours alone. */
	if (r->protocol == ROUTE_PROTO && (r->ifindex || !r->exact)) {
		if (r->exact)
			c->ours = *r;
		return MNL_CB_OK;
	}
	if (rt->rtm_dst_len < c->best_len ||
	    (rt->rtm_dst_len == c->best_len && r->metric >= c->best.metric && !(rt->rtm_tos || rt->rtm_src_len)))
		return MNL_CB_OK;
	c->best = *r;
	c->best_len = rt->rtm_dst_len;
	return MNL_CB_OK;
}

int route_covering(const struct peer_key *prefix, struct route *r, struct route *ours)
{
	struct covering c = { .prefix = prefix, .best_len = -1 };
	int family, len, bits, err;

	prefix_bytes(prefix, &family, &len, &bits);
	err = routes_dump(family, covering_cb, &c);
	*r = c.best;
	if (ours)
		*ours = c.ours;
	return err ?: r->ifindex ? 0 : -ENETUNREACH;
}

struct meeting {
	const struct peer_key *prefixes;
	unsigned int count;
	void (*fn)(__u32 ifindex, void *ctx);
	void *ctx;
};

static int prefixes_meet(const struct peer_key *a, const struct peer_key *b)
{
	__u32 bits = a->prefixlen < b->prefixlen ? a->prefixlen : b->prefixlen, i;

	if (addr_is_v4(&a->addr) != addr_is_v4(&b->addr))
		return 0;
	for (i = 0; i < bits; i++)
		if ((a->addr.b[i / 8] ^ b->addr.b[i / 8]) & (0x80 >> i % 8))
			return 0;
	return 1;
}

static int meeting_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct meeting *m = data;
	__u32 ifindex = 0, table = rt->rtm_table;
	struct peer_key key = {};
	const struct nlattr *a;
	unsigned int i;

	if (nlh->nlmsg_type != RTM_NEWROUTE || rt->rtm_type != RTN_UNICAST || !rt->rtm_dst_len)
		return MNL_CB_OK;
	mnl_attr_for_each (a, nlh, sizeof(*rt)) {
		if (mnl_attr_get_type(a) == RTA_TABLE)
			table = attr_u32(a);
		if (mnl_attr_get_type(a) == RTA_OIF)
			ifindex = attr_u32(a);
		if (mnl_attr_get_type(a) == RTA_DST)
			key.addr = attr_addr(a, rt->rtm_family);
	}
	if (table != RT_TABLE_MAIN || !ifindex)
		return MNL_CB_OK;
	key.prefixlen = rt->rtm_dst_len + (rt->rtm_family == AF_INET ? 96 : 0);
	for (i = 0; i < m->count && !prefixes_meet(&key, &m->prefixes[i]); i++)
		;
	if (i < m->count)
		m->fn(ifindex, m->ctx);
	return MNL_CB_OK;
}

int routes_meeting(const struct peer_key *prefixes, unsigned int count, void (*fn)(__u32 ifindex, void *ctx), void *ctx)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct meeting m = { prefixes, count, fn, ctx };
	unsigned int i;
	int err = 0;

	for (i = 0; i < 2 && !err; i++)
		err = routes_dump(families[i], meeting_cb, &m);
	return err;
}
