/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_QUEUE_APPLY_H
#define SLUICE_ATTACH_QUEUE_APPLY_H
/* Interfaces with `queue: sluice`. */
#include "lib/config.h"
#include "lib/qdisc.h"

struct qdisc_room;

/* Whether one of them would be refused; reports it, before anything is changed. */
int queues_check(const struct qdisc_room *room, const struct config *c);
/*
 * Installs it where the configuration wants it, and puts the previous qdisc back where we have installed it and the
 * configuration (NULL: none) does not want it. The first error, with a message.
 */
int queues_apply(struct qdisc_room *room, const struct config *c);
/* Serves interfaces and transmit queues that came, and reports what somebody else replaced. */
void queues_follow(struct qdisc_room *room, const struct config *c);

/* Calls fn with what was there before, for each interface whose root qdisc the daemon of this directory has replaced. */
void queue_was_each(const char *pin_dir,
		    void (*fn)(__u32 ifindex, const struct qdisc *root, const struct qdisc *child, void *ctx),
		    void *ctx);

#endif
