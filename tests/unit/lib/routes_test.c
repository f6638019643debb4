// SPDX-License-Identifier: GPL-2.0-only
/* Routes to prefixes: which one covers each, in which table, and how often the kernel is asked. */
#include <criterion/criterion.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include "lib/route.h"
#include "lib/netlink_case.h"

static struct routes *rs;

static void begin(void)
{
	rs = routes_new();
	cr_assert(rs);
}

static void end(void)
{
	routes_free(rs);
	nl_forget();
}

static struct peer_key key_of(const char *prefix)
{
	struct peer_key key;

	cr_assert(!prefix_parse(prefix, &key), "%s", prefix);
	return key;
}

static void want(const char *prefix, __u32 table)
{
	struct peer_key key = key_of(prefix);

	cr_assert(!routes_want(rs, &key, table ?: RT_TABLE_MAIN));
}

/* The interface of the route that covers a prefix; 0: none. */
static __u32 best_of(const char *prefix, __u32 table)
{
	struct peer_key key = key_of(prefix);
	const struct route_found *f = routes_find(rs, &key, table ?: RT_TABLE_MAIN);

	cr_assert(f, "%s is not found", prefix);
	return f->best ? f->best->ifindex : 0;
}

#define expect_best(prefix, table, ifindex) \
	cr_expect_eq(best_of(prefix, table), ifindex, "%s by %u", prefix, best_of(prefix, table))

Test(routes, narrowest_that_covers_the_whole_prefix, .init = begin, .fini = end)
{
	nl_has_route("0.0.0.0/0", 0, 1, 0, RTPROT_BOOT);
	nl_has_route("10.0.0.0/8", 0, 2, 0, RTPROT_BOOT);
	nl_has_route("10.1.0.0/16", 0, 3, 0, RTPROT_BOOT);
	nl_has_route("10.1.2.0/24", 0, 4, 0, RTPROT_BOOT);
	nl_has_route("::/0", 0, 5, 0, RTPROT_BOOT);
	nl_has_route("fd00::/16", 0, 6, 0, RTPROT_BOOT);
	want("10.1.2.0/24", 0);
	want("10.1.2.128/25", 0);
	want("10.1.0.0/17", 0);
	want("10.0.0.0/8", 0);
	want("10.0.0.0/7", 0);
	want("192.0.2.1", 0);
	want("fd00:1::/32", 0);
	want("fe00::/16", 0);
	cr_assert(!routes_read(rs, 0));
	expect_best("10.1.2.0/24", 0, 4);
	expect_best("10.1.2.128/25", 0, 4);
	expect_best("10.1.0.0/17", 0, 3);
	expect_best("10.0.0.0/8", 0, 2);
	expect_best("10.0.0.0/7", 0, 1);
	expect_best("192.0.2.1", 0, 1);
	expect_best("fd00:1::/32", 0, 6);
	expect_best("fe00::/16", 0, 5);
}

Test(routes, lowest_metric_and_one_that_is_for_all_packets, .init = begin, .fini = end)
{
	struct nlmsghdr *nlh;

	nl_has_route("10.0.0.0/8", 0, 2, 20, RTPROT_BOOT);
	nl_has_route("10.0.0.0/8", 0, 3, 10, RTPROT_BOOT);
	nl_has_route("10.0.0.0/8", 0, 4, 30, RTPROT_BOOT);
	nl_has_route("11.0.0.0/8", 0, 0, 0, RTPROT_BOOT); /* several next hops */
	nl_has_route("12.0.0.0/8", 0, 2, 0, RTPROT_BOOT);
	nlh = nl_has_route("12.1.0.0/16", 0, 2, 0, RTPROT_BOOT);
	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_tos = 8;
	nlh = nl_has_route("13.0.0.0/8", 0, 2, 0, RTPROT_BOOT);
	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_type = RTN_UNREACHABLE;
	nlh = nl_has_route("14.0.0.0/8", 0, 2, 0, RTPROT_BOOT);
	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_flags = RTM_F_CLONED;
	want("10.1.0.0/16", 0);
	want("11.1.0.0/16", 0);
	want("12.1.1.0/24", 0);
	want("13.1.0.0/16", 0);
	want("14.1.0.0/16", 0);
	cr_assert(!routes_read(rs, 0));
	expect_best("10.1.0.0/16", 0, 3);
	expect_best("11.1.0.0/16", 0, 0);
	expect_best("12.1.1.0/24", 0, 0);
	expect_best("13.1.0.0/16", 0, 0);
	expect_best("14.1.0.0/16", 0, 0);
}

Test(routes, tables_of_vrfs_are_told_apart, .init = begin, .fini = end)
{
	nl_has_route("10.0.0.0/8", 0, 2, 0, RTPROT_BOOT);
	nl_has_route("10.0.0.0/8", 1001, 3, 0, RTPROT_BOOT);
	nl_has_route("10.1.0.0/16", 77, 4, 0, RTPROT_BOOT); /* of policy routing: nobody asked */
	want("10.1.0.0/24", 0);
	want("10.1.0.0/24", 1001);
	cr_assert(!routes_read(rs, 0));
	expect_best("10.1.0.0/24", 0, 2);
	expect_best("10.1.0.0/24", 1001, 3);
	cr_expect_eq(routes_tables(rs)[0], RT_TABLE_MAIN);
	cr_expect_eq(routes_tables(rs)[1], 1001);
	cr_expect_eq(routes_tables(rs)[2], 0);
}

static unsigned int ours_n;

static void our_route(const struct peer_key *prefix, const struct route *r, void *ctx)
{
	(void)prefix;
	(void)ctx;
	ours_n += r->protocol == ROUTE_PROTO;
}

Test(routes, ours_cover_nothing_and_are_found_alone, .init = begin, .fini = end)
{
	struct peer_key key = key_of("10.1.0.0/16");
	struct routes *alone = routes_new();
	unsigned int i;
	char text[32];

	for (i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "20.%u.%u.0/24", i / 256, i % 256);
		nl_has_route(text, 0, 2, 0, i < 1500 ? ROUTE_PROTO : RTPROT_BOOT);
	}
	nl_has_route("10.0.0.0/8", 0, 2, 0, RTPROT_BOOT);
	nl_has_route("10.1.0.0/16", 0, 2, 0, ROUTE_PROTO);
	want("10.1.0.0/16", 0);
	cr_assert(!routes_read(rs, 0));
	expect_best("10.1.0.0/16", 0, 2);
	cr_expect(!routes_find(rs, &key, RT_TABLE_MAIN)->exact);
	cr_expect(routes_find(rs, &key, RT_TABLE_MAIN)->ours);
	routes_each_ours(rs, our_route, NULL);
	cr_expect_eq(ours_n, 1501);
	nl_asked[RTM_GETROUTE].messages = 0;
	cr_assert(!routes_read(alone, 1));
	ours_n = 0;
	routes_each_ours(alone, our_route, NULL);
	cr_expect_eq(ours_n, 1501);
	cr_expect_eq(nl_asked[RTM_GETROUTE].messages, 1501, "%u", nl_asked[RTM_GETROUTE].messages);
	routes_free(alone);
}

/* One for each family, however many prefixes are asked for; and each route is seen once. */
Test(routes, one_dump_for_all_prefixes, .init = begin, .fini = end)
{
	unsigned int i;
	char text[32];

	for (i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "20.%u.%u.0/24", i / 256, i % 256);
		nl_has_route(text, 0, 2 + i % 3, 0, RTPROT_BOOT);
	}
	for (i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "20.%u.%u.128/25", i / 256, i % 256);
		want(text, 0);
	}
	cr_assert(!routes_read(rs, 0));
	for (i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "20.%u.%u.128/25", i / 256, i % 256);
		expect_best(text, 0, 2 + i % 3);
	}
	cr_expect_eq(nl_asked[RTM_GETROUTE].dumps, 2);
	cr_expect_eq(nl_asked[RTM_GETROUTE].messages, 10000);
}

static unsigned int met;

static void route_met(__u32 ifindex, void *ctx)
{
	(void)ctx;
	met |= 1U << ifindex;
}

Test(routes, those_of_pods_may_be_in_a_vrf, .fini = nl_forget)
{
	struct peer_key cidr = key_of("10.1.0.0/16");

	nl_has_link(2, "veth", 0, 0, 0);
	nl_has_link(3, "veth", 0, 9, 0);
	nl_has_link(4, "veth", 0, 0, 0);
	nl_has_link(9, "vrf", 0, 0, 1001);
	nl_has_route("10.1.0.2/32", 0, 2, 0, RTPROT_BOOT);
	nl_has_route("10.1.0.3/32", 1001, 3, 0, RTPROT_BOOT);
	nl_has_route("10.1.0.4/32", 77, 4, 0, RTPROT_BOOT);
	cr_assert(!routes_meeting(&cidr, 1, route_met, NULL));
	cr_expect_eq(met, 1U << 2 | 1U << 3, "%x", met);
}
