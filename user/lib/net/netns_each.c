// SPDX-License-Identifier: GPL-2.0-only
/* The other network namespaces of this machine: those with a name in /run/netns, and those of its processes. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/netns.h"

struct netns_list {
	ino_t *seen; /* by the number of their file; the first is this process's */
	unsigned int n, room;
};

/* Whether it is a new one, which is noted. */
static int netns_note(struct netns_list *l, ino_t ino)
{
	unsigned int i;

	for (i = 0; i < l->n; i++)
		if (l->seen[i] == ino)
			return 0;
	if (l->n == l->room) {
		unsigned int room = l->room ? 2 * l->room : 64;
		ino_t *more = realloc(l->seen, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->seen = more;
		l->room = room;
	}
	l->seen[l->n++] = ino;
	return 1;
}

struct netns_visit {
	int fd, err;
	void (*fn)(void *ctx);
	void *ctx;
};

static void *netns_enter(void *arg)
{
	struct netns_visit *v = arg;

	v->err = setns(v->fd, CLONE_NEWNET) ? -errno : 0;
	if (!v->err)
		v->fn(v->ctx);
	return NULL;
}

/* Enters it in a thread: the others stay where they are. A process that ended meanwhile is no error. */
static int netns_visit(const char *path, void (*fn)(void *ctx), void *ctx)
{
	struct netns_visit v = { .fd = open(path, O_RDONLY | O_CLOEXEC), .fn = fn, .ctx = ctx };
	pthread_t thread;
	int err;

	if (v.fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = -pthread_create(&thread, NULL, netns_enter, &v);
	if (!err) {
		pthread_join(thread, NULL);
		err = v.err;
	}
	close(v.fd);
	return err;
}

int netns_each(void (*fn)(void *ctx), void *ctx, unsigned int *missed)
{
	struct netns_list l = {};
	struct stat st;
	glob_t g = {};
	size_t i;
	int err;

	*missed = 0;
	err = stat("/proc/self/ns/net", &st) ? -errno : netns_note(&l, st.st_ino);
	glob("/run/netns/*", 0, NULL, &g);
	glob("/proc/[0-9]*/ns/net", GLOB_APPEND, NULL, &g);
	for (i = 0; i < g.gl_pathc && err >= 0; i++) {
		/* A process that has ended, or a name whose namespace is not mounted. */
		if (stat(g.gl_pathv[i], &st) || (st.st_mode & S_IFMT) != S_IFREG)
			continue;
		err = netns_note(&l, st.st_ino);
		if (err > 0 && netns_visit(g.gl_pathv[i], fn, ctx))
			(*missed)++;
	}
	globfree(&g);
	free(l.seen);
	return err < 0 ? err : 0;
}
