// SPDX-License-Identifier: GPL-2.0-only
/* Queueing disciplines and the filters on them, by rtnetlink. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include "lib/net.h"
#include "lib/net/netlink.h"
#include "sluice/abi/port.h"

struct qdisc_list {
	__u32 ifindex;
	unsigned int n;
	__u64 tbf_bps; /* of the root */
	struct {
		__u32 handle, parent;
		char kind[16];
	} q[1024];
};

static int qdisc_cb(const struct nlmsghdr *nlh, void *data)
{
	struct qdisc_list *l = data;
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *options = NULL;

	if (nlh->nlmsg_type != RTM_NEWQDISC || (__u32)tc->tcm_ifindex != l->ifindex ||
	    l->n == sizeof(l->q) / sizeof(l->q[0]))
		return MNL_CB_OK;
	l->q[l->n].handle = tc->tcm_handle;
	l->q[l->n].parent = tc->tcm_parent;
	mnl_attr_for_each (a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			strncpy(l->q[l->n].kind, attr_str(a), sizeof(l->q[0].kind) - 1);
		if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	if (tc->tcm_parent == TC_H_ROOT && options && !strcmp(l->q[l->n].kind, "tbf"))
		l->tbf_bps = tbf_rate(options);
	l->n++;
	return MNL_CB_OK;
}

/* The kernel answers with the qdiscs of all interfaces, whatever the request asks for. */
static int qdisc_dump(mnl_cb_t cb, void *data)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;

	nlh->nlmsg_type = RTM_GETQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_family = AF_UNSPEC;
	return nl_talk(nlh, cb, data);
}

/* The kernel's own mq has handle 0, as its children have, whose parents are 0:1, 0:2 ... Only the root has children then. */
static int qdisc_has_children(const struct qdisc_list *l, unsigned int i)
{
	unsigned int k;

	if (!l->q[i].handle && l->q[i].parent != TC_H_ROOT)
		return 0;
	for (k = 0; k < l->n; k++)
		if (l->q[k].parent != TC_H_ROOT && TC_H_MAJ(l->q[k].parent) == TC_H_MAJ(l->q[i].handle))
			return 1;
	return 0;
}

int qdisc_get(__u32 ifindex, struct qdisc_info *info)
{
	struct qdisc_list *l = calloc(1, sizeof(*l));
	unsigned int i;
	__u32 root = 0;
	int err;

	memset(info, 0, sizeof(*info));
	if (!l)
		return -ENOMEM;
	l->ifindex = ifindex;
	err = qdisc_dump(qdisc_cb, l);
	for (i = 0; !err && i < l->n; i++) {
		if (l->q[i].parent == TC_H_CLSACT || l->q[i].parent == TC_H_INGRESS) {
			info->ingress = !strcmp(l->q[i].kind, "ingress");
			info->clsact = !info->ingress;
			continue;
		}
		if (l->q[i].parent == TC_H_ROOT) {
			memcpy(info->root, l->q[i].kind, sizeof(info->root));
			root = l->q[i].handle;
		}
		if (qdisc_has_children(l, i))
			continue;
		info->leaves++;
		info->ours += !strcmp(l->q[i].kind, "sluice");
		info->fq += !strcmp(l->q[i].kind, "fq") || !strcmp(l->q[i].kind, "sluice");
		info->unreadable += !strcmp(l->q[i].kind, "noqueue") || !strcmp(l->q[i].kind, "pfifo_fast");
	}
	if (info->leaves > PORT_QUEUES_MAX && (!strcmp(info->root, "mq") || !strcmp(info->root, "mqprio")))
		info->unreadable = info->leaves;
	info->shaper_bps = l->tbf_bps;
	if (!err && !strcmp(info->root, "htb"))
		err = htb_rate(ifindex, root, &info->shaper_bps);
	free(l);
	return err;
}

struct qdiscs_ctx {
	void (*fn)(const struct qdisc_found *q, void *ctx);
	void *ctx;
};

static __u32 htb_default(const struct nlattr *options)
{
	struct tc_htb_glob glob = {};
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, options)
		if (mnl_attr_get_type(a) == TCA_HTB_INIT)
			attr_struct(a, &glob, sizeof(glob));
	return glob.defcls;
}

static int qdiscs_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct qdisc_found found = {
		.ifindex = tc->tcm_ifindex, .handle = tc->tcm_handle, .parent = tc->tcm_parent, .kind = ""
	};
	const struct nlattr *a, *options = NULL;
	const struct qdiscs_ctx *q = data;

	if (nlh->nlmsg_type != RTM_NEWQDISC)
		return MNL_CB_OK;
	mnl_attr_for_each (a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			found.kind = attr_str(a);
		if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	if (options && !strcmp(found.kind, "tbf"))
		found.tbf_bps = tbf_rate(options);
	if (options && !strcmp(found.kind, "htb"))
		found.htb_default = htb_default(options);
	q->fn(&found, q->ctx);
	return MNL_CB_OK;
}

int qdiscs_each(void (*fn)(const struct qdisc_found *q, void *ctx), void *ctx)
{
	struct qdiscs_ctx q = { fn, ctx };

	return qdisc_dump(qdiscs_cb, &q);
}

/* Hands the filters of a qdisc or hook to cb, message by message. */
static int filter_dump(__u32 ifindex, __u32 parent, mnl_cb_t cb, void *data)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;

	nlh->nlmsg_type = RTM_GETTFILTER;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	tc->tcm_parent = parent;
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

static int load_link(const struct nlmsghdr *nlh, void *data)
{
	struct link_load *l = data;
	const struct nlattr *attr;
	struct rtnl_link_stats64 s;

	mnl_attr_for_each (attr, nlh, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(attr) != IFLA_STATS64)
			continue;
		attr_struct(attr, &s, sizeof(s));
		l->tx_bytes = s.tx_bytes;
		l->rx_bytes = s.rx_bytes;
	}
	return MNL_CB_OK;
}

static int load_qdisc(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr, *nested;
	struct gnet_stats_queue q;
	struct link_load *l = data;

	if (tc->tcm_ifindex != (int)l->ifindex || tc->tcm_parent != TC_H_ROOT)
		return MNL_CB_OK;
	mnl_attr_for_each (attr, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(attr) != TCA_STATS2)
			continue;
		mnl_attr_for_each_nested (nested, attr) {
			if (mnl_attr_get_type(nested) != TCA_STATS_QUEUE)
				continue;
			attr_struct(nested, &q, sizeof(q));
			l->backlog_bytes = q.backlog;
			l->drops = q.drops;
		}
	}
	return MNL_CB_OK;
}

int link_load_get(__u32 ifindex, struct link_load *l)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *m;
	int err;

	memset(l, 0, sizeof(*l));
	l->ifindex = ifindex;
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifi_index = ifindex;
	err = nl_talk(nlh, load_link, l);
	return err ?: qdisc_dump(load_qdisc, l);
}
