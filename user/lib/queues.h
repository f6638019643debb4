/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUES_H
#define SLUICE_QUEUES_H
/* The pinned map of the qdiscs `sluice`, for programs of user space. */
#include "sluice/queue/queue.h"

#define QUEUES_MAX 4096 /* as the map */

extern const char *const queue_verdict_names[QUEUE_VERDICTS];
extern const char *const queue_verdict_help[QUEUE_VERDICTS];

/*
 * The qdiscs of one network namespace, by interface and class. ifindex 0: of all its interfaces. *list has *n entries,
 * and the caller frees it. -ENOENT: no qdisc is registered there; -EPROTO: that of another version is.
 */
int queues_list(const char *pin_dir, __u64 netns_cookie, __u32 ifindex, struct queue_seen **list, unsigned int *n);
/* The sum of flows and packets, and the earliest next_ns in the future. */
void queues_sum(const struct queue_seen *list, unsigned int n, __u64 now_ns, struct queue_seen *sum);

#endif
