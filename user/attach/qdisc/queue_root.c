// SPDX-License-Identifier: GPL-2.0-only
/*
 * The root qdisc of an interface: ours, or one that ours can replace.
 *
 * One that the kernel made by itself returns when ours is deleted. One that somebody made is made again with its
 * options, as the kernel described them: so only kinds are replaced for which that works, and never one that limits a
 * rate.
 */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/qdisc/queue_root.h"

#define QUEUE_HANDLE (0x5463U << 16)

static const struct qdisc sluice = { .kind = "sluice" }, mq = { .kind = "mq" };

int root_is_ours(const struct qdisc_tree *t)
{
	return t->root.handle == QUEUE_HANDLE && (!strcmp(t->root.kind, "sluice") || !strcmp(t->root.kind, "mq"));
}

int root_is_sluice(const struct qdisc_tree *t)
{
	return !strcmp(t->root.kind, "sluice") ||
	       (!strcmp(t->root.kind, "mq") && t->children && !t->differ && !strcmp(t->child.kind, "sluice"));
}

/* Whether the kernel's description of it is enough to make it again. */
static int qdisc_is_simple(const struct qdisc *q)
{
	static const char *const simple[] = { "fq", "fq_codel", "pfifo", "bfifo", "pfifo_fast", "noqueue", "sluice" };
	unsigned int i;

	for (i = 0; i < sizeof(simple) / sizeof(simple[0]); i++)
		if (!strcmp(q->kind, simple[i]))
			return !q->options_cut;
	return 0;
}

int root_is_replaceable(const struct qdisc_tree *t)
{
	if (!t->root.handle)
		return 1;
	if (strcmp(t->root.kind, "mq") != 0)
		return qdisc_is_simple(&t->root) && !t->children;
	return !t->deeper && !t->differ && (!t->children || !t->child.handle || qdisc_is_simple(&t->child));
}

const char *root_format(const struct qdisc *root, const struct qdisc *child, char *buf, size_t size)
{
	if (!root->handle)
		snprintf(buf, size, "the kernel's default");
	else
		snprintf(buf, size, "%s%s%s", root->kind, child->handle ? " with " : "",
			 child->handle ? child->kind : "");
	return buf;
}

int classes_fill(__u32 ifindex, const struct qdisc_tree *t, int all)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < t->children; i++)
		if (strcmp(t->at[i].kind, "sluice") != 0 && (all || !t->at[i].chosen))
			err = qdisc_set(ifindex, t->at[i].parent, 0, &sluice);
	return err;
}

int root_install(__u32 ifindex, int alone)
{
	struct qdisc_tree *t;
	int err = alone ? -EOPNOTSUPP : qdisc_set(ifindex, TC_H_ROOT, QUEUE_HANDLE, &mq);

	if (err == -EOPNOTSUPP) /* or it has one transmit queue */
		return qdisc_set(ifindex, TC_H_ROOT, QUEUE_HANDLE, &sluice);
	err = err ?: qdisc_tree_get(ifindex, &t);
	if (err)
		return err;
	err = classes_fill(ifindex, t, 1);
	free(t);
	return err;
}

int root_put_back(__u32 ifindex, const struct qdisc *root, const struct qdisc *child)
{
	struct qdisc_tree *t;
	unsigned int i;
	int err;

	if (!root->handle)
		return qdisc_root_delete(ifindex);
	err = qdisc_set(ifindex, TC_H_ROOT, root->handle, root);
	if (err || !child->handle)
		return err;
	err = qdisc_tree_get(ifindex, &t);
	if (err)
		return err;
	for (i = 0; !err && i < t->children; i++)
		err = qdisc_set(ifindex, t->at[i].parent, 0, child);
	free(t);
	return err;
}

int queue_is_left(__u32 ifindex)
{
	struct qdisc_tree *t;
	int is;

	if (qdisc_tree_get(ifindex, &t))
		return 0;
	is = root_is_ours(t);
	free(t);
	return is;
}
