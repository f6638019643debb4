// SPDX-License-Identifier: GPL-2.0-only
/* Devices on top of others: where packets really leave. */
#include <criterion/criterion.h>
#include <linux/rtnetlink.h>
#include "lib/net.h"
#include "lib/netlink_case.h"

static int keeps_times(__u32 ifindex)
{
	struct qdisc_info q;

	cr_assert(!qdisc_get(ifindex, &q));
	return !link_lacks_times(ifindex, &q);
}

Test(stack, fq_below_a_vlan_keeps_departure_times, .fini = nl_forget)
{
	nl_has_link(2, "", 0, 0, 0);
	nl_has_link(3, "", 0, 0, 0);
	nl_has_link(10, "vlan", 2, 0, 0);
	nl_has_link(11, "macvlan", 10, 0, 0);
	nl_has_link(12, "vlan", 3, 0, 0);
	nl_has_link(13, "veth", 2, 0, 0); /* its other end is not below it */
	nl_has_link(14, "bridge", 0, 0, 0);
	nl_has_qdisc(2, "fq");
	nl_has_qdisc(3, "pfifo");
	nl_has_qdisc(10, "noqueue");
	nl_has_qdisc(11, "noqueue");
	nl_has_qdisc(12, "noqueue");
	nl_has_qdisc(13, "noqueue");
	nl_has_qdisc(14, "noqueue");
	cr_expect(keeps_times(2));
	cr_expect(!keeps_times(3));
	cr_expect(keeps_times(10));
	cr_expect(keeps_times(11));
	cr_expect(!keeps_times(12));
	cr_expect(!keeps_times(13));
	cr_expect(!keeps_times(14));
}

Test(stack, fq_below_a_tunnel_keeps_departure_times, .fini = nl_forget)
{
	nl_has_link(2, "", 0, 0, 0);
	nl_has_link(3, "", 0, 0, 0);
	nl_has_link(10, "vxlan", 2, 0, 0);
	nl_has_link(11, "gretap", 2, 0, 0);
	nl_has_link(12, "vxlan", 0, 0, 0);
	nl_has_link(13, "geneve", 0, 0, 0);
	nl_has_link(14, "vxlan", 3, 0, 0);
	nl_has_qdisc(2, "fq");
	nl_has_qdisc(3, "pfifo");
	for (__u32 i = 10; i < 15; i++)
		nl_has_qdisc(i, "noqueue");
	cr_expect(keeps_times(10));
	cr_expect(keeps_times(11));
	cr_expect(!keeps_times(12));
	cr_expect(!keeps_times(13));
	cr_expect_eq(link_lacks_times(14, &(struct qdisc_info){}), 3);
}

static int may_keep_times(__u32 ifindex, const struct qdisc_info q)
{
	return link_may_keep_times(ifindex, &q);
}

Test(stack, departure_times_may_be_kept_behind_a_virtual_link, .fini = nl_forget)
{
	nl_has_link(2, "", 0, 0, 0);
	nl_has_link(3, "veth", 0, 0, 0);
	cr_expect(!may_keep_times(2, (struct qdisc_info){ .leaves = 2 }));
	cr_expect(may_keep_times(2, (struct qdisc_info){ .leaves = 2, .fq = 1 }));
	cr_expect(may_keep_times(3, (struct qdisc_info){ .leaves = 1 }));
	cr_expect(!may_keep_times(3, (struct qdisc_info){ .leaves = 1, .fq = 1, .ours = 1 }), "sluice with classes");
	cr_expect(!may_keep_times(4, (struct qdisc_info){ .leaves = 1 }), "gone");
}

Test(stack, bond_keeps_them_if_all_its_ports_do, .fini = nl_forget)
{
	nl_has_link(2, "", 0, 8, 0);
	nl_has_link(3, "", 0, 8, 0);
	nl_has_link(4, "", 0, 9, 0);
	nl_has_link(5, "", 0, 9, 0);
	nl_has_link(7, "bond", 0, 0, 0); /* without ports */
	nl_has_link(8, "bond", 0, 0, 0);
	nl_has_link(9, "bond", 0, 0, 0);
	nl_has_link(10, "vlan", 8, 0, 0);
	nl_has_qdisc(2, "fq");
	nl_has_qdisc(3, "fq");
	nl_has_qdisc(4, "fq");
	nl_has_qdisc(5, "fq_codel");
	nl_has_qdisc(7, "noqueue");
	nl_has_qdisc(8, "noqueue");
	nl_has_qdisc(9, "noqueue");
	nl_has_qdisc(10, "noqueue");
	cr_expect(!keeps_times(7));
	cr_expect(keeps_times(8));
	cr_expect(!keeps_times(9));
	cr_expect(keeps_times(10));
	cr_expect_eq(link_lacks_times(9, &(struct qdisc_info){}), 5);
}

/* A loop of devices, which the kernel does not make, ends. */
Test(stack, loop_ends, .fini = nl_forget)
{
	nl_has_link(2, "vlan", 3, 0, 0);
	nl_has_link(3, "vlan", 2, 0, 0);
	nl_has_qdisc(2, "noqueue");
	nl_has_qdisc(3, "noqueue");
	cr_expect(!keeps_times(2));
}

static int is_in(__u32 ifindex, const void *ctx)
{
	return *(const __u32 *)ctx >> ifindex & 1;
}

static void expect_below(int line, __u32 ifindex, __u32 set, enum link_has has, __u32 which, __u32 missing)
{
	struct link_below b;

	link_below_find(ifindex, is_in, &set, &b);
	cr_expect(b.has == has && b.which == which && b.missing == missing, "line %d: %d, by %u, not by %u", line,
		  b.has, b.which, b.missing);
}
#define EXPECT_BELOW(...) expect_below(__LINE__, __VA_ARGS__)

Test(stack, devices_below, .fini = nl_forget)
{
	nl_has_link(2, "", 0, 8, 0);
	nl_has_link(3, "", 0, 8, 0);
	nl_has_link(4, "", 0, 9, 0);
	nl_has_link(5, "tun", 0, 9, 0);
	nl_has_link(8, "bond", 0, 0, 0);
	nl_has_link(9, "bridge", 0, 0, 0);
	nl_has_link(10, "vlan", 9, 0, 0);
	nl_has_link(11, "vlan", 8, 0, 0);
	nl_has_link(12, "veth", 2, 0, 0);
	EXPECT_BELOW(8, 1 << 2 | 1 << 3, LINK_HAS, 2, 0);
	EXPECT_BELOW(8, 1 << 2, LINK_HAS_PARTLY, 2, 3);
	EXPECT_BELOW(8, 1 << 4, LINK_HAS_NOT, 0, 0);
	EXPECT_BELOW(9, 1 << 4, LINK_HAS, 4, 0);
	EXPECT_BELOW(10, 1 << 4, LINK_HAS, 4, 0);
	EXPECT_BELOW(10, 1 << 9, LINK_HAS, 9, 0);
	EXPECT_BELOW(11, 1 << 3, LINK_HAS_PARTLY, 3, 2);
	EXPECT_BELOW(2, 1 << 2, LINK_HAS_NOT, 0, 0); /* it is not below itself */
	EXPECT_BELOW(12, 1 << 2, LINK_HAS_NOT, 0, 0);
}

Test(stack, table_of_a_port_of_a_vrf, .fini = nl_forget)
{
	nl_has_link(2, "", 0, 8, 0);
	nl_has_link(3, "", 0, 9, 0);
	nl_has_link(8, "vrf", 0, 0, 1001);
	nl_has_link(9, "bridge", 0, 0, 0);
	cr_expect_eq(link_table(2), 1001);
	cr_expect_eq(link_table(3), RT_TABLE_MAIN);
	cr_expect_eq(link_table(4), RT_TABLE_MAIN); /* gone */
	cr_expect_eq(link_table(0), RT_TABLE_MAIN);
}
