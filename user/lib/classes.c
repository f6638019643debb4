// SPDX-License-Identifier: GPL-2.0-only
/* Reads the queues of classes from the map of whoever counts them. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/classes.h"

#define CLASSES_PIN "queue_classes"

/* fd, if it is the map of classes of qdiscs, or -1. */
static int classes_or_close(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0)
		return -1;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, CLASSES_PIN) &&
	    info.key_size == sizeof(struct queue_class_key) && info.value_size == sizeof(struct class_seen))
		return fd;
	close(fd);
	return -1;
}

/* The daemon that has registered the qdisc pins the map. Those of other daemons look for it among all maps. */
static int classes_open(const char *pin_dir)
{
	int newest = -1, fd;
	char path[512];
	__u32 id = 0;

	snprintf(path, sizeof(path), "%s/" CLASSES_PIN, pin_dir);
	fd = classes_or_close(bpf_obj_get(path));
	if (fd >= 0)
		return fd;
	while (!bpf_map_get_next_id(id, &id)) {
		fd = classes_or_close(bpf_map_get_fd_by_id(id));
		if (fd < 0)
			continue;
		if (newest >= 0)
			close(newest);
		newest = fd;
	}
	return newest;
}

static void class_of_tracepoints(const struct pins *p, __u32 ifindex, __u32 class, struct class_seen *seen)
{
	struct class_key key = { .ifindex = ifindex, .class = class };
	struct class_queue q;

	if (bpf_map_lookup_elem(p->class_queues, &key, &q))
		return;
	seen->backlog_bytes = q.backlog_bytes;
	seen->tx_bytes = q.tx_bytes;
	seen->sojourn_ns = q.sojourn_ns;
}

/* Reads n classes of a port; unknown ones stay as they are. Returns a bit for each that was there. */
static __u32 classes_read(int fd, __u64 netns_cookie, __u32 ifindex, unsigned int n, struct class_seen *seen)
{
	struct queue_class_key key = { .port = { .netns_cookie = netns_cookie, .ifindex = ifindex } };
	__u32 found = 0;

	for (; fd >= 0 && key.class < n; key.class ++)
		if (!bpf_map_lookup_elem(fd, &key, &seen[key.class]))
			found |= 1U << key.class;
	return found;
}

unsigned int classes_get(const struct pins *p, const char *pin_dir, __u32 ifindex, struct port_classes *c,
			 struct class_seen *seen)
{
	unsigned int i;
	__u32 found;
	int fd;

	memset(seen, 0, CLASSES_MAX * sizeof(*seen));
	if (bpf_map_lookup_elem(p->classes, &ifindex, c) || c->n > CLASSES_MAX)
		return 0;
	fd = classes_open(pin_dir);
	found = classes_read(fd, c->netns_cookie, ifindex, c->n, seen);
	for (i = 0; i < c->n; i++)
		if (!(found >> i & 1))
			class_of_tracepoints(p, ifindex, i, &seen[i]);
	if (fd >= 0)
		close(fd);
	return c->n;
}

unsigned int classes_of_queue(const char *pin_dir, const struct queue_seen *q, struct class_seen *seen)
{
	unsigned int n = q->classes <= CLASSES_MAX ? q->classes : CLASSES_MAX;
	int fd = n ? classes_open(pin_dir) : -1;

	memset(seen, 0, CLASSES_MAX * sizeof(*seen));
	classes_read(fd, q->netns_cookie, q->ifindex, n, seen);
	if (fd >= 0)
		close(fd);
	return n;
}
