// SPDX-License-Identifier: GPL-2.0-only
/* One epoll. An event is handled before the next one is asked for, so the kernel decides the order. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "daemon/loop.h"

#define LOOP_ENTRIES 16

struct loop_entry {
	void (*fn)(void *ctx);
	void *ctx;
};

struct loop {
	int epoll_fd;
	int stopped;
	unsigned int n;
	struct loop_entry entry[LOOP_ENTRIES];
};

int loop_open(struct loop **loop)
{
	struct loop *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		err = -errno;
		free(l);
		return err;
	}
	*loop = l;
	return 0;
}

void loop_close(struct loop *l)
{
	if (!l)
		return;
	close(l->epoll_fd);
	free(l);
}

int loop_add(struct loop *l, int fd, void (*fn)(void *ctx), void *ctx)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (l->n == LOOP_ENTRIES)
		return -ENOSPC;
	l->entry[l->n] = (struct loop_entry){ fn, ctx };
	ev.data.ptr = &l->entry[l->n];
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	l->n++;
	return 0;
}

int loop_run(struct loop *l)
{
	const struct loop_entry *entry;
	struct epoll_event ev;

	while (!l->stopped) {
		if (epoll_wait(l->epoll_fd, &ev, 1, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		entry = ev.data.ptr;
		entry->fn(entry->ctx);
	}
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stopped = 1;
}
