// SPDX-License-Identifier: GPL-2.0-only
/* The root qdisc of an interface and those below mq, by rtnetlink. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include "lib/net/netlink.h"
#include "lib/qdisc_tree.h"

struct tree_ctx {
	__u32 ifindex;
	int want_root; /* the first of two dumps: children may come before their root */
	struct qdisc_tree *tree;
};

static void qdisc_copy(struct qdisc *q, const struct nlmsghdr *nlh)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;

	memset(q, 0, sizeof(*q));
	q->handle = tc->tcm_handle;
	mnl_attr_for_each (a, nlh, sizeof(*tc)) {
		__u16 len = mnl_attr_get_payload_len(a);

		if (mnl_attr_get_type(a) == TCA_KIND)
			strncpy(q->kind, attr_str(a), sizeof(q->kind) - 1);
		if (mnl_attr_get_type(a) != TCA_OPTIONS)
			continue;
		q->options_cut = len > QDISC_OPTIONS_MAX;
		q->options_len = q->options_cut ? 0 : len;
		memcpy(q->options, mnl_attr_get_payload(a), q->options_len);
	}
}

static void child_read(struct qdisc_tree *t, const struct nlmsghdr *nlh)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct qdisc q;

	qdisc_copy(&q, nlh);
	if (!t->children)
		t->child = q;
	t->differ |= !q.handle != !t->child.handle || strcmp(q.kind, t->child.kind) != 0 ||
		     q.options_len != t->child.options_len || memcmp(q.options, t->child.options, q.options_len) != 0;
	if (t->children < QDISC_CHILDREN_MAX) {
		t->at[t->children].parent = tc->tcm_parent;
		t->at[t->children].chosen = q.handle != 0;
		memcpy(t->at[t->children].kind, q.kind, sizeof(q.kind));
	}
	t->children++;
}

static int tree_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct tree_ctx *c = data;

	if (nlh->nlmsg_type != RTM_NEWQDISC || (__u32)tc->tcm_ifindex != c->ifindex || tc->tcm_parent == TC_H_CLSACT)
		return MNL_CB_OK;
	if (c->want_root) {
		if (tc->tcm_parent == TC_H_ROOT)
			qdisc_copy(&c->tree->root, nlh);
		return MNL_CB_OK;
	}
	if (tc->tcm_parent == TC_H_ROOT || !c->tree->root.handle)
		return MNL_CB_OK;
	if (TC_H_MAJ(tc->tcm_parent) == TC_H_MAJ(c->tree->root.handle))
		child_read(c->tree, nlh);
	else
		c->tree->deeper++;
	return MNL_CB_OK;
}

static struct tcmsg *qdisc_request(struct nlmsghdr *nlh, __u16 type, __u16 flags)
{
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcmsg));
}

/* The kernel answers with the qdiscs of all interfaces, whatever the request asks for. */
static int qdiscs_dump(mnl_cb_t cb, void *data)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	qdisc_request(nlh, RTM_GETQDISC, NLM_F_DUMP)->tcm_family = AF_UNSPEC;
	return nl_talk(nlh, cb, data);
}

int qdisc_tree_get(__u32 ifindex, struct qdisc_tree **tree)
{
	struct tree_ctx c = { .ifindex = ifindex, .want_root = 1, .tree = calloc(1, sizeof(**tree)) };
	int err = c.tree ? qdiscs_dump(tree_cb, &c) : -ENOMEM;

	c.want_root = 0;
	if (!err && c.tree->root.handle)
		err = qdiscs_dump(tree_cb, &c);
	if (err) {
		free(c.tree);
		c.tree = NULL;
	}
	*tree = c.tree;
	return err;
}

int qdisc_set(__u32 ifindex, __u32 parent, __u32 handle, const struct qdisc *q)
{
	char buf[MNL_NLMSG_HDRLEN + QDISC_OPTIONS_MAX + 128] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = qdisc_request(nlh, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);

	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	tc->tcm_parent = parent;
	tc->tcm_handle = handle;
	mnl_attr_put_strz(nlh, TCA_KIND, q->kind);
	if (q->options_len)
		mnl_attr_put(nlh, TCA_OPTIONS, q->options_len, q->options);
	return nl_talk(nlh, NULL, NULL);
}

int qdisc_root_delete(__u32 ifindex)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = qdisc_request(nlh, RTM_DELQDISC, NLM_F_ACK);
	int err;

	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	tc->tcm_parent = TC_H_ROOT;
	err = nl_talk(nlh, NULL, NULL);
	return err == -ENOENT || err == -EINVAL ? 0 : err; /* there is none that could be deleted */
}

struct waits_ctx {
	const char *kind;
	struct qdisc_waits *list;
	unsigned int n, max;
};

static int waits_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *nested;
	struct gnet_stats_queue q = {};
	struct waits_ctx *c = data;
	const char *kind = "";

	mnl_attr_for_each (a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			kind = attr_str(a);
		if (mnl_attr_get_type(a) != TCA_STATS2)
			continue;
		mnl_attr_for_each_nested (nested, a)
			if (mnl_attr_get_type(nested) == TCA_STATS_QUEUE)
				attr_struct(nested, &q, sizeof(q));
	}
	if (nlh->nlmsg_type == RTM_NEWQDISC && !strcmp(kind, c->kind) && c->n < c->max)
		c->list[c->n++] = (struct qdisc_waits){ tc->tcm_ifindex, tc->tcm_parent, q.qlen, q.backlog };
	return MNL_CB_OK;
}

int qdiscs_waiting(const char *kind, struct qdisc_waits *list, unsigned int max)
{
	struct waits_ctx c = { .kind = kind, .list = list, .max = max };
	int err = qdiscs_dump(waits_cb, &c);

	return err ?: (int)c.n;
}
