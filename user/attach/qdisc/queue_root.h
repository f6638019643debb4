/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_QUEUE_ROOT_H
#define SLUICE_ATTACH_QUEUE_ROOT_H
#include <stddef.h>
#include "lib/qdisc.h"

/* Ours is `sluice`, or mq with a `sluice` below each class, and has a handle of its own. */
int root_is_ours(const struct qdisc_tree *t);
/* Whether it is `sluice`, by whoever installed it. */
int root_is_sluice(const struct qdisc_tree *t);
/* Whether root_put_back() can make it again. */
int root_is_replaceable(const struct qdisc_tree *t);
/* "mq with fq", "fq", "the kernel's default". */
const char *root_format(const struct qdisc *root, const struct qdisc *child, char *buf, size_t size);

/* These return 0 or -errno. Ours in the place of any other; alone: no mq above it, as one qdisc has the rate and classes of a port. */
int root_install(__u32 ifindex, int alone);
/* The previous one, with what was below it, in the place of ours. */
int root_put_back(__u32 ifindex, const struct qdisc *root, const struct qdisc *child);
/* Puts `sluice` below each class of our mq that has another; all: also where somebody chose that. */
int classes_fill(__u32 ifindex, const struct qdisc_tree *t, int all);

/* Whether the interface has ours. */
int queue_is_left(__u32 ifindex);

#endif
