// SPDX-License-Identifier: GPL-2.0-only
/* Queueing disciplines, by rtnetlink. */
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
#include "lib/qdisc.h"
#include "sluice/abi/port.h"

/* --- read --- */

struct qdisc_list {
	__u32 ifindex; /* 0: of all */
	unsigned int n, room;
	struct qdisc_found *q;
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

static void qdisc_options_take(struct qdisc_found *f, const struct nlattr *options)
{
	__u16 len = mnl_attr_get_payload_len(options);

	f->q.options_cut = len > QDISC_OPTIONS_MAX;
	f->q.options_len = f->q.options_cut ? 0 : len;
	memcpy(f->q.options, mnl_attr_get_payload(options), f->q.options_len);
	if (!strcmp(f->q.kind, "tbf"))
		f->tbf_bps = tbf_rate(options);
	if (!strcmp(f->q.kind, "htb"))
		f->htb_default = htb_default(options);
}

static void qdisc_stats_take(struct qdisc_found *f, const struct nlattr *stats)
{
	struct gnet_stats_queue q;
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, stats) {
		if (mnl_attr_get_type(a) != TCA_STATS_QUEUE)
			continue;
		attr_struct(a, &q, sizeof(q));
		f->packets = q.qlen;
		f->bytes = q.backlog;
		f->drops = q.drops;
	}
}

static struct qdisc_found *qdisc_new(struct qdisc_list *l)
{
	if (l->n == l->room) {
		unsigned int room = l->room ? 2 * l->room : 16;
		struct qdisc_found *more = realloc(l->q, room * sizeof(*more));

		if (!more)
			return NULL;
		l->q = more;
		l->room = room;
	}
	memset(&l->q[l->n], 0, sizeof(*l->q));
	return &l->q[l->n++];
}

static int qdisc_take(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *options = NULL;
	struct qdisc_list *l = data;
	struct qdisc_found *f;

	if (nlh->nlmsg_type != RTM_NEWQDISC || (l->ifindex && (__u32)tc->tcm_ifindex != l->ifindex))
		return MNL_CB_OK;
	f = qdisc_new(l);
	if (!f) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	f->ifindex = tc->tcm_ifindex;
	f->parent = tc->tcm_parent;
	f->q.handle = tc->tcm_handle;
	mnl_attr_for_each (a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			strncpy(f->q.kind, attr_str(a), sizeof(f->q.kind) - 1);
		if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
		if (mnl_attr_get_type(a) == TCA_STATS2)
			qdisc_stats_take(f, a);
	}
	if (options)
		qdisc_options_take(f, options);
	return MNL_CB_OK;
}

static int qdiscs_ask(struct qdisc_list *l)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int err;

	tc_request(nlh, RTM_GETQDISC, NLM_F_DUMP, 0);
	err = nl_talk(nlh, qdisc_take, l);
	if (err) {
		free(l->q);
		*l = (struct qdisc_list){};
	}
	return err;
}

static struct {
	unsigned int holds;
	int is_read;
	struct qdisc_list all;
} held;

void qdiscs_hold(void)
{
	held.holds++;
}

void qdiscs_release(void)
{
	if (!--held.holds)
		qdiscs_changed();
}

void qdiscs_changed(void)
{
	free(held.all.q);
	held.all = (struct qdisc_list){};
	held.is_read = 0;
}

/* Takes those of an interface, or of all, from the list that is held. */
static int held_take(struct qdisc_list *l)
{
	int err = held.is_read ? 0 : qdiscs_ask(&held.all);
	const struct qdisc_found *f;
	struct qdisc_found *copy;

	held.is_read = !err;
	for (f = held.all.q; !err && f < held.all.q + held.all.n; f++) {
		if (l->ifindex && f->ifindex != l->ifindex)
			continue;
		copy = qdisc_new(l);
		if (copy)
			*copy = *f;
		else
			err = -ENOMEM;
	}
	return err;
}

int qdiscs_read(__u32 ifindex, struct qdisc_found **list)
{
	struct qdisc_list l = { .ifindex = ifindex };
	int err = held.holds ? held_take(&l) : qdiscs_ask(&l);

	if (err) {
		free(l.q);
		l.q = NULL;
	}
	*list = l.q;
	return err ?: (int)l.n;
}

/* --- what an interface has --- */

/* The kernel's own mq has handle 0, as its children have, whose parents are 0:1, 0:2 ... Only the root has children then. */
static int qdisc_has_children(const struct qdisc_found *list, int n, const struct qdisc_found *f)
{
	int i;

	if (!f->q.handle && f->parent != TC_H_ROOT)
		return 0;
	for (i = 0; i < n; i++)
		if (list[i].parent != TC_H_ROOT && TC_H_MAJ(list[i].parent) == TC_H_MAJ(f->q.handle))
			return 1;
	return 0;
}

static void leaf_count(struct qdisc_info *info, const char *kind)
{
	info->leaves++;
	info->ours += !strcmp(kind, "sluice");
	info->fq += !strcmp(kind, "fq") || !strcmp(kind, "sluice");
	info->unreadable += !strcmp(kind, "noqueue") || !strcmp(kind, "pfifo_fast");
}

int qdisc_get(__u32 ifindex, struct qdisc_info *info)
{
	const struct qdisc_found *f;
	struct qdisc_found *list;
	int n = qdiscs_read(ifindex, &list), err = n < 0 ? n : 0;
	__u32 root = 0;

	memset(info, 0, sizeof(*info));
	for (f = list; n > 0 && f < list + n; f++) {
		if (f->parent == TC_H_CLSACT) {
			info->ingress = !strcmp(f->q.kind, "ingress");
			info->clsact = !info->ingress;
			continue;
		}
		if (f->parent == TC_H_ROOT) {
			memcpy(info->root, f->q.kind, sizeof(info->root));
			info->shaper_bps = f->tbf_bps;
			root = f->q.handle;
		}
		if (!qdisc_has_children(list, n, f))
			leaf_count(info, f->q.kind);
	}
	free(list);
	if (info->leaves > PORT_QUEUES_MAX && (!strcmp(info->root, "mq") || !strcmp(info->root, "mqprio")))
		info->unreadable = info->leaves;
	if (!strcmp(info->root, "htb"))
		err = htb_rate(ifindex, root, &info->shaper_bps);
	return err;
}

static void child_take(struct qdisc_tree *t, const struct qdisc_found *f)
{
	const struct qdisc *q = &f->q;

	if (TC_H_MAJ(f->parent) != TC_H_MAJ(t->root.handle)) {
		t->deeper++;
		return;
	}
	if (!t->children)
		t->child = *q;
	t->differ |= !q->handle != !t->child.handle || strcmp(q->kind, t->child.kind) != 0 ||
		     q->options_len != t->child.options_len ||
		     memcmp(q->options, t->child.options, q->options_len) != 0;
	t->at[t->children].parent = f->parent;
	t->at[t->children].chosen = q->handle != 0;
	memcpy(t->at[t->children].kind, q->kind, sizeof(q->kind));
	t->children++;
}

int qdisc_tree_get(__u32 ifindex, struct qdisc_tree **tree)
{
	struct qdisc_found *list;
	int n = qdiscs_read(ifindex, &list), i;
	struct qdisc_tree *t = n < 0 ? NULL : calloc(1, sizeof(*t) + n * sizeof(t->at[0]));

	for (i = 0; t && i < n; i++)
		if (list[i].parent == TC_H_ROOT)
			t->root = list[i].q;
	for (i = 0; t && t->root.handle && i < n; i++) /* children may come before their root */
		if (list[i].parent != TC_H_ROOT && list[i].parent != TC_H_CLSACT)
			child_take(t, &list[i]);
	free(list);
	*tree = t;
	return n < 0 ? n : t ? 0 : -ENOMEM;
}

/* --- change --- */

int qdisc_set(__u32 ifindex, __u32 parent, __u32 handle, const struct qdisc *q)
{
	char buf[MNL_NLMSG_HDRLEN + QDISC_OPTIONS_MAX + 128] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = tc_request(nlh, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, ifindex);

	tc->tcm_parent = parent;
	tc->tcm_handle = handle;
	mnl_attr_put_strz(nlh, TCA_KIND, q->kind);
	if (q->options_len)
		mnl_attr_put(nlh, TCA_OPTIONS, q->options_len, q->options);
	qdiscs_changed();
	return nl_talk(nlh, NULL, NULL);
}

int qdisc_root_delete(__u32 ifindex)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int err;

	tc_request(nlh, RTM_DELQDISC, NLM_F_ACK, ifindex)->tcm_parent = TC_H_ROOT;
	qdiscs_changed();
	err = nl_talk(nlh, NULL, NULL);
	return err == -ENOENT || err == -EINVAL ? 0 : err; /* there is none that could be deleted */
}

/* --- load --- */

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

/* Fills in the counters of l->ifindex. 0, or -errno. */
static int link_counters_get(struct link_load *l)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *m;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifi_index = l->ifindex;
	return nl_talk(nlh, load_link, l);
}

static int load_compare(const void *a, const void *b)
{
	const struct link_load *x = a, *y = b;

	return x->ifindex < y->ifindex ? -1 : x->ifindex > y->ifindex;
}

/* Fills in the queues of the root qdiscs of n interfaces, in ascending order of ifindex. 0, or -errno. */
static int loads_queue(struct link_load *l, unsigned int n)
{
	struct qdisc_found *list;
	struct link_load *at;
	int count = qdiscs_read(n == 1 ? l->ifindex : 0, &list), i;

	for (i = 0; i < count; i++) {
		if (list[i].parent != TC_H_ROOT)
			continue;
		at = bsearch(&(struct link_load){ .ifindex = list[i].ifindex }, l, n, sizeof(*l), load_compare);
		if (!at)
			continue;
		at->backlog_bytes = list[i].bytes;
		at->drops = list[i].drops;
	}
	free(list);
	return count < 0 ? count : 0;
}

int link_load_get(__u32 ifindex, struct link_load *l)
{
	*l = (struct link_load){ .ifindex = ifindex };
	return link_counters_get(l) ?: loads_queue(l, 1);
}

int link_loads_get(struct link_load *l, unsigned int n)
{
	unsigned int i;
	int err;

	if (!n)
		return 0;
	err = loads_queue(l, n);
	for (i = 0; i < n; i++)
		if (link_counters_get(&l[i]))
			l[i].ifindex = 0;
	return err;
}
