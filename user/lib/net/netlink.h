/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NET_NETLINK_H
#define SLUICE_NET_NETLINK_H
/* Shared by the files of lib/net: a request to the network stack, and attributes of its answers. */
#include <libmnl/libmnl.h>
#include <linux/types.h>

/*
 * Sends a request and hands every answer to cb; 0, or -errno as the kernel gave it. -EINTR: something changed during
 * each of several dumps, and cb has seen the last of them, which may lack some.
 */
int nl_talk(struct nlmsghdr *nlh, mnl_cb_t cb, void *data);
/* The same for a dump whose attributes the kernel checks, instead of ignoring those that it does not know. */
int nl_talk_strict(struct nlmsghdr *nlh, mnl_cb_t cb, void *data);

/* Rates of shapers (shaper.c): of a tbf, from its TCA_OPTIONS, and of any, from bytes per second. */
__u64 tbf_rate(const struct nlattr *options);
__u64 shaper_bps(__u64 bytes);
/* The rates of the top classes of the htb with this handle (htb.c), together. 0, or -errno. */
int htb_rate(__u32 ifindex, __u32 handle, __u64 *bps);

/* Makes a request about qdiscs, classes or filters of an interface. */
struct tcmsg *tc_request(struct nlmsghdr *nlh, __u16 type, __u16 flags, __u32 ifindex);
/* The filters of an interface's qdisc or hook (filter.c); negative: -errno. */
int filters_of_qdisc(__u32 ifindex, __u32 parent);

/* The number in an attribute; 0 if it is too short for one. */
__u32 attr_u32(const struct nlattr *a);
/* The text in an attribute; "" if the text is not terminated. */
const char *attr_str(const struct nlattr *a);
/* A kernel struct, which may be longer or shorter than ours: missing members are 0. */
void attr_struct(const struct nlattr *attr, void *to, size_t size);

#endif
