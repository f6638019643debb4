// SPDX-License-Identifier: GPL-2.0-only
/* How often the qdiscs of all interfaces are read. */
#include <criterion/criterion.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include "lib/net.h"
#include "lib/netlink_case.h"
#include "lib/qdisc.h"

#define PORTS 448

static void ports_have(const char *kind)
{
	__u32 ifindex;

	nl_forget();
	for (ifindex = 1; ifindex <= PORTS; ifindex++)
		nl_has_qdisc(ifindex, kind);
}

static unsigned int dumps_of_all(const char *kind)
{
	struct qdisc_info info;
	__u32 ifindex;

	for (ifindex = 1; ifindex <= PORTS; ifindex++) {
		cr_assert(!qdisc_get(ifindex, &info));
		cr_expect_str_eq(info.root, kind);
		cr_expect_eq(info.leaves, 1);
	}
	return nl_asked[RTM_GETQDISC].dumps;
}

Test(qdisc, list__is_read_once_while_it_is_held, .fini = nl_forget)
{
	ports_have("fq");
	cr_expect_eq(dumps_of_all("fq"), PORTS);
	ports_have("fq");
	qdiscs_hold();
	cr_expect_eq(dumps_of_all("fq"), 1);
	qdiscs_release();
	cr_expect_eq(dumps_of_all("fq"), 1 + PORTS);
}

Test(qdisc, list__is_read_again_after_a_change, .fini = nl_forget)
{
	const struct qdisc fq = { .kind = "fq" };

	ports_have("pfifo");
	qdiscs_hold();
	cr_expect_eq(dumps_of_all("pfifo"), 1);
	ports_have("fq");
	cr_expect(!qdisc_set(1, TC_H_ROOT, 0, &fq));
	cr_expect_eq(dumps_of_all("fq"), 1);
	ports_have("pfifo");
	qdiscs_hold();
	cr_expect(!qdisc_root_delete(1));
	cr_expect_eq(dumps_of_all("pfifo"), 1);
	qdiscs_release();
	cr_expect_eq(dumps_of_all("pfifo"), 1, "a hold in a hold");
	qdiscs_release();
}
