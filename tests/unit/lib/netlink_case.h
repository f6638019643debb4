/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NETLINK_CASE_H
#define TESTS_NETLINK_CASE_H
/* A kernel that a case makes up: what rtnetlink is asked, and the messages that it answers with. */
#include <libmnl/libmnl.h>
#include <linux/types.h>

/* A message that answers RTM_GET* of its kind; attributes are put behind it until the next one begins. */
struct nlmsghdr *nl_has_link(__u32 ifindex, const char *kind, __u32 lower, __u32 master, __u32 table);
/* prefix: "10.0.0.0/8"; table 0: main; ifindex 0: several next hops. */
struct nlmsghdr *nl_has_route(const char *prefix, __u32 table, __u32 ifindex, __u32 metric, int protocol);
struct nlmsghdr *nl_has_qdisc(__u32 ifindex, const char *kind);
void nl_forget(void);

/* How many dumps of this RTM_GET* there were, and how many messages they gave. */
extern struct nl_asked {
	unsigned int dumps, messages;
} nl_asked[256];

#endif
