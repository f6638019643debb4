// SPDX-License-Identifier: GPL-2.0-only
/* The filters of qdiscs and hooks, by rtnetlink. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include "lib/net.h"
#include "lib/net/netlink.h"

/* Hands the filters of a qdisc or hook to cb, message by message. */
static int filter_dump(__u32 ifindex, __u32 parent, mnl_cb_t cb, void *data)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	tc_request(nlh, RTM_GETTFILTER, NLM_F_DUMP, ifindex)->tcm_parent = parent;
	return nl_talk(nlh, cb, data);
}

static int filter_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);

	/* A bpf filter shows up twice: the chain entry has no handle. */
	if (nlh->nlmsg_type == RTM_NEWTFILTER && tc->tcm_handle)
		++*(int *)data;
	return MNL_CB_OK;
}

int filters_of_qdisc(__u32 ifindex, __u32 parent)
{
	int count = 0;

	return filter_dump(ifindex, parent, filter_cb, &count) ?: count;
}

struct filters_ctx {
	void (*fn)(const struct filter_found *f, void *ctx);
	void *ctx;
};

static int filters_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct filter_found f = { .handle = tc->tcm_handle, .priority = tc->tcm_info >> 16, .kind = "", .name = "" };
	const struct nlattr *a, *option, *options = NULL;
	const struct filters_ctx *c = data;

	if (nlh->nlmsg_type != RTM_NEWTFILTER || !tc->tcm_handle)
		return MNL_CB_OK;
	mnl_attr_for_each (a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			f.kind = attr_str(a);
		if (mnl_attr_get_type(a) == TCA_CHAIN)
			f.chain = attr_u32(a);
		if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	if (options && !strcmp(f.kind, "bpf")) {
		mnl_attr_for_each_nested (option, options) {
			if (mnl_attr_get_type(option) == TCA_BPF_ID)
				f.prog_id = attr_u32(option);
			if (mnl_attr_get_type(option) == TCA_BPF_NAME)
				f.name = attr_str(option);
		}
	}
	c->fn(&f, c->ctx);
	return MNL_CB_OK;
}

int filters_each(__u32 ifindex, __u32 parent, void (*fn)(const struct filter_found *f, void *ctx), void *ctx)
{
	struct filters_ctx c = { fn, ctx };

	return filter_dump(ifindex, parent, filters_cb, &c);
}

struct filter_wanted {
	__u32 handle, priority;
	__u32 prog_id; /* found; 0: none */
};

static void filter_bpf_look(const struct filter_found *found, void *ctx)
{
	struct filter_wanted *f = ctx;

	if (found->handle == f->handle && found->priority == f->priority && found->prog_id)
		f->prog_id = found->prog_id;
}

int filter_bpf_find(__u32 ifindex, __u32 parent, __u32 handle, __u32 priority, __u32 *prog_id)
{
	struct filter_wanted f = { .handle = handle, .priority = priority };
	int err = filters_each(ifindex, parent, filter_bpf_look, &f);

	*prog_id = f.prog_id;
	return err ?: f.prog_id ? 0 : -ENOENT;
}

int filters_count(__u32 ifindex)
{
	int in = filters_of_qdisc(ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)), out;

	if (in < 0)
		return in;
	out = filters_of_qdisc(ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	return out < 0 ? out : in + out;
}
