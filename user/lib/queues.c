// SPDX-License-Identifier: GPL-2.0-only
/* Reads the start of each entry of `queues`: what follows is for the kernel alone. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/queues.h"

const char *const queue_verdict_names[QUEUE_VERDICTS] = {
	[QUEUE_TAKEN] = "taken",	   [QUEUE_FULL] = "full",     [QUEUE_FLOW_FULL] = "flow_full",
	[QUEUE_FLOWS_FULL] = "flows_full", [QUEUE_BEYOND] = "beyond", [QUEUE_MEMORY] = "memory",
	[QUEUE_STALE] = "stale",
};

const char *const queue_verdict_help[QUEUE_VERDICTS] = {
	[QUEUE_TAKEN] = "taken",
	[QUEUE_FULL] = "beyond the limit of the qdisc",
	[QUEUE_FLOW_FULL] = "beyond the limit of their flow",
	[QUEUE_FLOWS_FULL] = "beyond the limit of flows",
	[QUEUE_BEYOND] = "beyond the horizon",
	[QUEUE_MEMORY] = "without memory",
	[QUEUE_STALE] = "too late for their horizon, since R had fallen",
};

static int queues_open(const char *pin_dir, const char *name, struct bpf_map_info *info)
{
	__u32 len = sizeof(*info);
	char path[512];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", pin_dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	memset(info, 0, sizeof(*info));
	if (!bpf_obj_get_info_by_fd(fd, info, &len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The version of the registered qdisc. */
static int version_check(const char *pin_dir)
{
	struct bpf_map_info info;
	struct queue_limits l = {};
	int fd = queues_open(pin_dir, "queue_limits", &info), err;
	__u32 zero = 0;

	if (fd < 0)
		return fd;
	err = info.value_size != sizeof(l) ? -EPROTO : bpf_map_lookup_elem(fd, &zero, &l) ? -errno : 0;
	close(fd);
	return err ?: l.version == QUEUE_VERSION ? 0 : -EPROTO;
}

static int queue_order(const void *a, const void *b)
{
	const struct queue_seen *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return (x->parent > y->parent) - (x->parent < y->parent);
}

int queues_list(const char *pin_dir, __u64 netns_cookie, __u32 ifindex, struct queue_seen **list, unsigned int *n)
{
	struct bpf_map_info info;
	__u64 key, *last = NULL;
	struct queue_seen *value;
	unsigned int steps;
	int err = version_check(pin_dir), fd = err ?: queues_open(pin_dir, "queues", &info);

	*n = 0;
	*list = NULL;
	if (fd < 0)
		return fd;
	value = info.value_size >= sizeof(*value) ? calloc(1, info.value_size) : NULL;
	*list = calloc(QUEUES_MAX, sizeof(**list));
	if (!value || !*list)
		err = -ENOMEM;
	/* A qdisc that is deleted meanwhile may begin the walk anew. */
	for (steps = 0; !err && steps < 2 * QUEUES_MAX && *n < QUEUES_MAX && !bpf_map_get_next_key(fd, last, &key);
	     steps++) {
		last = &key;
		if (!bpf_map_lookup_elem(fd, &key, value) && value->netns_cookie == netns_cookie &&
		    (!ifindex || value->ifindex == ifindex))
			(*list)[(*n)++] = *value;
	}
	free(value);
	close(fd);
	if (err) {
		free(*list);
		*list = NULL;
		return err;
	}
	qsort(*list, *n, sizeof(**list), queue_order);
	return 0;
}

void queues_sum(const struct queue_seen *list, unsigned int n, __u64 now_ns, struct queue_seen *sum)
{
	unsigned int i, k;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < n; i++) {
		sum->fresh_flows += list[i].fresh_flows;
		sum->ring_flows += list[i].ring_flows;
		sum->held_flows += list[i].held_flows;
		sum->paused_flows += list[i].paused_flows;
		sum->beside += list[i].beside;
		for (k = 0; k < QUEUE_VERDICTS; k++)
			sum->packets[k] += list[i].packets[k];
		if (queue_held_ns(&list[i], now_ns) && (!sum->next_ns || list[i].next_ns < sum->next_ns))
			sum->next_ns = list[i].next_ns;
	}
}
