// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes as the kernel has them: those that cover prefixes, our own, and those that meet prefixes. The prefixes that
 * are asked for are sorted, so that those within a route follow one another: each route of a dump is looked up among
 * them once, and only a route that covers one of them is kept.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "lib/net.h"
#include "lib/route.h"
#include "lib/net/netlink.h"
#include "lib/net/route.h"

struct our_route {
	struct peer_key prefix;
	const struct route *route;
};

struct routes {
	struct route_found *found; /* sorted once they are read */
	struct our_route *ours;
	struct route **kept;
	__u32 *tables; /* ended by 0 */
	unsigned int found_n, ours_n, kept_n, tables_n;
	int err;
};

/* Room for one more of size bytes behind the n of *list, which doubles. 0, or -ENOMEM. */
static int list_grow(void *list, unsigned int n, size_t size)
{
	void **at = list, *more;

	if (n & (n - 1) || n == 1)
		return 0;
	more = realloc(*at, (n ? 2 * n : 2) * size);
	if (!more)
		return -ENOMEM;
	*at = more;
	return 0;
}

struct routes *routes_new(void)
{
	return calloc(1, sizeof(struct routes));
}

void routes_free(struct routes *rs)
{
	unsigned int i;

	if (!rs)
		return;
	for (i = 0; i < rs->kept_n; i++)
		free(rs->kept[i]);
	free(rs->kept);
	free(rs->tables);
	free(rs->ours);
	free(rs->found);
	free(rs);
}

const struct route *routes_keep(struct routes *rs, const struct route *r)
{
	struct route *copy = malloc(sizeof(*copy));

	if (!copy || list_grow(&rs->kept, rs->kept_n, sizeof(void *))) {
		free(copy);
		return NULL;
	}
	*copy = *r;
	rs->kept[rs->kept_n++] = copy;
	return copy;
}

static int table_note(struct routes *rs, __u32 table)
{
	unsigned int i = rs->tables_n;
	__u32 *more;

	while (i && rs->tables[i - 1] != table)
		i--;
	if (i)
		return 0;
	more = realloc(rs->tables, (rs->tables_n + 2) * sizeof(table));
	if (!more)
		return -ENOMEM;
	more[rs->tables_n++] = table;
	more[rs->tables_n] = 0;
	rs->tables = more;
	return 0;
}

const __u32 *routes_tables(const struct routes *rs)
{
	static const __u32 none;

	return rs->tables ?: &none;
}

int routes_want(struct routes *rs, const struct peer_key *prefix, __u32 table)
{
	if (table_note(rs, table) || list_grow(&rs->found, rs->found_n, sizeof(*rs->found)))
		return -ENOMEM;
	rs->found[rs->found_n++] = (struct route_found){ .prefix = *prefix, .table = table, .best_len = -1 };
	return 0;
}

static int prefix_is_v4(const struct peer_key *p)
{
	return addr_is_v4(&p->addr) && p->prefixlen >= 96;
}

/* By table, family and address; in the end by length, so that no two are equal. */
static int found_compare(const void *a, const void *b)
{
	const struct route_found *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return prefix_is_v4(&x->prefix) - prefix_is_v4(&y->prefix)			?:
		       memcmp(&x->prefix.addr, &y->prefix.addr, sizeof(x->prefix.addr)) ?:
		       (int)x->prefix.prefixlen - (int)y->prefix.prefixlen;
}

/* The first that is not before the prefix. */
static struct route_found *found_from(const struct routes *rs, const struct peer_key *prefix, __u32 table)
{
	const struct route_found key = { .prefix = *prefix, .table = table };
	unsigned int low = 0, high = rs->found_n;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (found_compare(&rs->found[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return rs->found_n ? rs->found + low : NULL;
}

static struct route_found *found_end(const struct routes *rs)
{
	return rs->found_n ? rs->found + rs->found_n : NULL;
}

struct route_found *routes_find(const struct routes *rs, const struct peer_key *prefix, __u32 table)
{
	struct route_found *f = found_from(rs, prefix, table);

	return f < found_end(rs) && f->table == table && !memcmp(&f->prefix, prefix, sizeof(*prefix)) ? f : NULL;
}

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

void route_parse(const struct nlmsghdr *nlh, struct route_msg *out)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	int family = rt->rtm_family, unclear = 0;
	struct route *r = &out->route;
	const struct nlattr *a;

	*out = (struct route_msg){ .route.table = rt->rtm_table };
	out->prefix.prefixlen = rt->rtm_dst_len + (family == AF_INET ? 96 : 0);
	if (family == AF_INET)
		out->prefix.addr.b[10] = out->prefix.addr.b[11] = 0xff;
	r->protocol = rt->rtm_protocol;
	r->scope = rt->rtm_scope;
	r->onlink = !!(rt->rtm_flags & RTNH_F_ONLINK);
	mnl_attr_for_each (a, nlh, sizeof(*rt)) {
		switch (mnl_attr_get_type(a)) {
		case RTA_TABLE:
			r->table = attr_u32(a);
			break;
		case RTA_DST:
			out->prefix.addr = attr_addr(a, family);
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
			unclear = 1;
			break;
		case RTA_METRICS:
			route_metrics_parse(r, a);
			break;
		}
	}
	/* A route for one TOS, or from one source prefix, covers only some packets: ours would take them from it. */
	if (rt->rtm_tos || rt->rtm_src_len) {
		unclear = 1;
		r->metric = 0;
	}
	/* Several next hops have no single interface; nor have unreachable (IPv6 says lo) and uncopyable routes. */
	if (rt->rtm_type != RTN_UNICAST || unclear)
		r->ifindex = 0;
}

/* Destination and table alone: most routes of a large table cover nothing that is asked for. */
static void destination_parse(const struct nlmsghdr *nlh, struct peer_key *prefix, __u32 *table)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;

	*prefix = (struct peer_key){ .prefixlen = rt->rtm_dst_len + (rt->rtm_family == AF_INET ? 96 : 0) };
	if (rt->rtm_family == AF_INET)
		prefix->addr.b[10] = prefix->addr.b[11] = 0xff;
	*table = rt->rtm_table;
	mnl_attr_for_each (a, nlh, sizeof(*rt)) {
		if (mnl_attr_get_type(a) == RTA_TABLE)
			*table = attr_u32(a);
		if (mnl_attr_get_type(a) == RTA_DST)
			prefix->addr = attr_addr(a, rt->rtm_family);
	}
}

/* m covers f, or is ours to exactly its prefix. */
static int found_take(struct routes *rs, struct route_found *f, struct route_msg *m, const struct rtmsg *rt,
		      const struct route **copy)
{
	struct route *r = &m->route;
	int exact = f->prefix.prefixlen == m->prefix.prefixlen, only_some = rt->rtm_tos || rt->rtm_src_len;

	/* Our own routes say nothing about where packets go. One that got a second next hop is no longer ours alone. */
	if (r->protocol == ROUTE_PROTO && (r->ifindex || !exact))
		return 0;
	if (rt->rtm_dst_len < f->best_len)
		return 0;
	if (rt->rtm_dst_len == f->best_len && f->best && r->metric >= f->best->metric && !only_some)
		return 0;
	*copy = *copy ?: routes_keep(rs, r);
	if (!*copy)
		return -ENOMEM;
	f->best = *copy;
	f->best_len = rt->rtm_dst_len;
	f->exact = exact;
	return 0;
}

static int ours_take(struct routes *rs, const struct route_msg *m)
{
	struct route_found *f = routes_find(rs, &m->prefix, m->route.table);
	const struct route *copy = routes_keep(rs, &m->route);

	if (!copy || list_grow(&rs->ours, rs->ours_n, sizeof(*rs->ours)))
		return -ENOMEM;
	rs->ours[rs->ours_n++] = (struct our_route){ m->prefix, copy };
	if (f)
		f->ours = copy;
	return 0;
}

static int routes_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct routes *rs = data;
	struct route_found *f, *end = found_end(rs);
	const struct route *copy = NULL;
	struct route_msg m;
	__u32 table;

	/* A cloned route is the result of path MTU discovery or a redirect for one address. */
	if (nlh->nlmsg_type != RTM_NEWROUTE || rt->rtm_flags & RTM_F_CLONED ||
	    (rt->rtm_family != AF_INET && rt->rtm_family != AF_INET6) ||
	    rt->rtm_dst_len > (rt->rtm_family == AF_INET ? 32 : 128))
		return MNL_CB_OK;
	destination_parse(nlh, &m.prefix, &table);
	f = found_from(rs, &m.prefix, table);
	if (rt->rtm_protocol != ROUTE_PROTO &&
	    (f == end || f->table != table || !addr_in_prefix(&f->prefix.addr, &m.prefix)))
		return MNL_CB_OK;
	route_parse(nlh, &m);
	if (rt->rtm_protocol == ROUTE_PROTO && m.route.ifindex)
		rs->err = rs->err ?: ours_take(rs, &m);
	for (; f < end && f->table == table && prefix_is_v4(&f->prefix) == (rt->rtm_family == AF_INET) &&
	       addr_in_prefix(&f->prefix.addr, &m.prefix);
	     f++)
		if (f->prefix.prefixlen >= m.prefix.prefixlen)
			rs->err = rs->err ?: found_take(rs, f, &m, rt, &copy);
	return MNL_CB_OK;
}

int routes_read(struct routes *rs, int only_ours)
{
	static const int families[] = { AF_INET, AF_INET6 };
	unsigned int i;
	int err = 0;

	if (rs->found_n)
		qsort(rs->found, rs->found_n, sizeof(*rs->found), found_compare);
	for (i = 0; i < 2 && !err; i++)
		err = routes_dump(families[i], only_ours ? ROUTE_PROTO : 0, routes_cb, rs);
	for (i = 0; i < rs->found_n; i++)
		if (rs->found[i].best && !rs->found[i].best->ifindex)
			rs->found[i].best = NULL;
	return err ?: rs->err;
}

void routes_each_ours(const struct routes *rs, our_route_fn *fn, void *ctx)
{
	unsigned int i;

	for (i = 0; i < rs->ours_n; i++)
		fn(&rs->ours[i].prefix, rs->ours[i].route, ctx);
}

int route_each_ours(our_route_fn *fn, void *ctx)
{
	struct routes *rs = routes_new();
	int err = rs ? routes_read(rs, 1) : -ENOMEM;

	if (!err)
		routes_each_ours(rs, fn, ctx);
	routes_free(rs);
	return err;
}

struct removal {
	__u32 ifindex, table;
	int err;
};

static void route_remove_one(const struct peer_key *prefix, const struct route *r, void *ctx)
{
	struct removal *m = ctx;

	if (r->ifindex == m->ifindex && (r->table == RT_TABLE_MAIN || r->table == m->table))
		m->err = m->err ?: route_remove(prefix, r);
}

int route_remove_ours(__u32 ifindex)
{
	struct removal m = { .ifindex = ifindex, .table = link_table(ifindex) };

	return route_each_ours(route_remove_one, &m) ?: m.err;
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
	const struct nlattr *a;
	struct peer_key key;
	__u32 ifindex = 0, table;
	unsigned int i;

	if (nlh->nlmsg_type != RTM_NEWROUTE || rt->rtm_type != RTN_UNICAST || !rt->rtm_dst_len)
		return MNL_CB_OK;
	destination_parse(nlh, &key, &table);
	mnl_attr_for_each (a, nlh, sizeof(*rt))
		if (mnl_attr_get_type(a) == RTA_OIF)
			ifindex = attr_u32(a);
	if (!ifindex)
		return MNL_CB_OK;
	for (i = 0; i < m->count && !prefixes_meet(&key, &m->prefixes[i]); i++)
		;
	if (i < m->count && (table == RT_TABLE_MAIN || table == link_table(ifindex)))
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
		err = routes_dump(families[i], 0, meeting_cb, &m);
	return err;
}
