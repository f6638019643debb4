// SPDX-License-Identifier: GPL-2.0-only
/* user/lib/net/qdisc.c: the qdiscs of an interface, as this kernel reports them. */
#include <net/if.h>
#include <string.h>

#include "lib/net.h"
#include "sluice/abi/port.h"
#include "world.h"

TestSuite(qdisc, .init = world_make, .fini = world_drop, .timeout = 60);

/* An interface that is up, for which the kernel has made an mq of its own, with handle 0:. A veth gets none. */
#define MANY_MAKE(queues) \
	sh("ip link add many0 numtxqueues " #queues " numrxqueues 1 type ifb"); \
	sh("ip link set many0 up")

static void expect_leaves(const char *root, unsigned int leaves)
{
	struct qdisc_info q;

	expect_eq(qdisc_get(if_nametoindex("many0"), &q), 0);
	cr_expect_str_eq(q.root, root);
	expect_eq(q.leaves, leaves);
}

Test(qdisc, mq_of_the_kernel__is_no_leaf)
{
	MANY_MAKE(4);
	expect_leaves("mq", 4);
	sh("tc qdisc add dev many0 clsact");
	expect_leaves("mq", 4);
	sh("tc qdisc replace dev many0 root handle 7: mq");
	expect_leaves("mq", 4);
	sh("tc qdisc replace dev many0 root pfifo");
	expect_leaves("pfifo", 1);
}

Test(qdisc, mq_of_the_kernel__has_as_many_queues_as_are_read)
{
	MANY_MAKE(64);
	expect_leaves("mq", PORT_QUEUES_MAX);
}

Test(qdisc, more_than_a_thousand_queues__are_all_counted)
{
	MANY_MAKE(1500);
	expect_leaves("mq", 1500);
}
