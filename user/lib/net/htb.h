/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NET_HTB_H
#define SLUICE_NET_HTB_H
/* The classes of one htb, and what they make of its packets. */
#include <libmnl/libmnl.h>
#include <linux/types.h>
#include "lib/net.h"

struct htb_class {
	__u32 id, parent; /* TC_H_ROOT: none */
	__u64 rate_bps, ceil_bps;
	int is_leaf;
};

struct htb {
	__u32 handle; /* of the qdisc: other qdiscs of the interface have classes, too */
	struct htb_class *class;
	unsigned int n, room;
};

/* Takes a class from an answer of the kernel; ctx: struct htb. */
int htb_take(const struct nlmsghdr *nlh, void *ctx);

/* The rates of the classes without a parent, together. */
__u64 htb_top_bps(const struct htb *h);

unsigned int htb_leaves(const struct htb *h);

/*
 * Judges where packets go that no filter takes: to the class with this minor number. bps: the rate at which a queue
 * of that class drains while nothing else is sent; 0 unless HTB_SHAPED.
 */
enum htb_verdict htb_judge(const struct htb *h, __u32 default_minor, int has_filters, __u64 *bps);

#endif
