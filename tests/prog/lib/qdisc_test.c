// SPDX-License-Identifier: GPL-2.0-only
/* user/lib/net/qdisc.c: the qdiscs of an interface, as this kernel reports them. */
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net.h"
#include "lib/qdisc.h"
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

static struct qdisc_tree *tree_of(const char *name)
{
	struct qdisc_tree *t = NULL;

	expect_eq(qdisc_tree_get(if_nametoindex(name), &t), 0);
	cr_assert(t);
	return t;
}

static void expect_tree(const char *root, __u32 handle, unsigned int children, unsigned int deeper, int differ)
{
	struct qdisc_tree *t = tree_of("many0");

	cr_expect_str_eq(t->root.kind, root);
	expect_eq(t->root.handle, handle);
	expect_eq(t->children, children);
	expect_eq(t->deeper, deeper);
	expect_eq(t->differ, differ);
	free(t);
}

Test(qdisc, tree__has_what_was_chosen)
{
	struct qdisc_tree *t;

	MANY_MAKE(4);
	expect_tree("mq", 0, 0, 0, 0);
	sh("tc qdisc add dev many0 clsact");
	sh("tc qdisc replace dev many0 root handle 7: mq");
	expect_tree("mq", 7 << 16, 4, 0, 0);
	sh("tc qdisc replace dev many0 parent 7:2 handle 8: tbf rate 1mbit burst 2000 limit 3000");
	expect_tree("mq", 7 << 16, 4, 0, 1);
	sh("tc qdisc replace dev many0 parent 8:1 bfifo limit 7000");
	expect_tree("mq", 7 << 16, 4, 1, 1);
	t = tree_of("many0");
	expect_eq(t->at[0].chosen + t->at[1].chosen + t->at[2].chosen + t->at[3].chosen, 1);
	free(t);
}

Test(qdisc, tree__is_made_again_from_its_description)
{
	__u32 ifindex;
	struct qdisc_tree *was, *is;

	MANY_MAKE(1);
	sh("tc qdisc replace dev many0 root handle 7: bfifo limit 7000");
	ifindex = if_nametoindex("many0");
	was = tree_of("many0");
	expect_eq(qdisc_root_delete(ifindex), 0);
	is = tree_of("many0");
	expect_eq(is->root.handle, 0);
	free(is);
	expect_eq(qdisc_set(ifindex, TC_H_ROOT, was->root.handle, &was->root), 0);
	is = tree_of("many0");
	expect_eq(memcmp(&is->root, &was->root, sizeof(is->root)), 0);
	cr_expect(is->root.options_len && !is->root.options_cut);
	free(is);
	free(was);
}

Test(qdisc, load__is_of_the_root)
{
	struct link_load load;

	MANY_MAKE(1);
	sh("tc qdisc replace dev many0 root handle 7: tbf rate 8kbit burst 2000 limit 3000");
	sh("ip addr add 192.0.2.1/24 dev many0");
	sh("ip neigh add 192.0.2.2 lladdr 2:0:0:0:0:2 dev many0");
	sh("ping -q -c 12 -i 0.01 -W 0.01 -s 900 192.0.2.2 >/dev/null || true");
	expect_eq(link_load_get(if_nametoindex("many0"), &load), 0);
	cr_expect(load.backlog_bytes > 900, "%llu bytes wait", load.backlog_bytes);
	cr_expect(load.drops, "none was dropped");
}
