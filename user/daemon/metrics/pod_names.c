// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names of pods. sluicectl reads all bundles for each command (ctl/pods.c); the daemon must not stop for that long,
 * so it remembers them:
 *
 *  1. A bundle has the number of its container as its name and does not change. It is read once, and forgotten when
 *     its directory is gone. A directory of bundles is listed only when its time of change says that one came or went.
 *  2. A bundle that cannot be read yet (a file that is being written, a network namespace without a link to ours) is
 *     tried again, first after a second, then less and less often.
 *  3. A tick reads for NAMES_BUDGET_NS and leaves the rest to the next one.
 *  4. The number of a network namespace is given anew when it is gone, and CRI-O leaves bundles of pods that have ended.
 *     So a name counts only while the path of its network namespace leads to the one that was there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "daemon/metrics/pod_names.h"
#include "lib/netns.h"
#include "lib/sandbox.h"
#include "lib/util.h"

#define NAMES_BUDGET_NS (5 * 1000 * 1000ULL)
#define NAMES_LISTED_NS (2 * NSEC_PER_SEC) /* a change at the moment of a listing may have been missed */
#define NAMES_TRY_TICKS 64		   /* longest time between two tries */
#define NAMES_DIRS 3

enum bundle_state {
	BUNDLE_NEW,   /* to be read, or read again */
	BUNDLE_NAMED, /* it has a name and a number */
	BUNDLE_NONE,  /* it describes no pod */
};

struct bundle {
	char *id;
	char *pod, *namespace, *netns; /* NULL, except with BUNDLE_NAMED */
	dev_t dev;
	ino_t ino; /* of the network namespace */
	__s32 netnsid;
	unsigned int dir;
	__u32 next_tick;
	__u8 state, tries, listed;
};

struct pod_names {
	const char *dirs[NAMES_DIRS + 1];
	char *given;
	struct timespec changed[NAMES_DIRS]; /* when the directory was, by its last listing */
	__u8 listed[NAMES_DIRS];	     /* that is so long ago that it says all */
	struct bundle *bundle;		     /* by directory and id */
	unsigned int n, room, cursor;
	struct bundle **by_netns; /* those with a name; NULL: to be made */
	unsigned int named;
	__u32 tick;
	char *text; /* room for a file */
	struct sandbox sandbox;
	struct msg_limit limit;
};

static int by_bundle(const void *a, const void *b)
{
	const struct bundle *x = a, *y = b;

	return x->dir != y->dir ? (x->dir < y->dir ? -1 : 1) : strcmp(x->id, y->id);
}

static int by_netnsid(const void *a, const void *b)
{
	__s32 x = (*(struct bundle *const *)a)->netnsid, y = (*(struct bundle *const *)b)->netnsid;

	return x < y ? -1 : x > y;
}

static void bundle_unname(struct bundle *b)
{
	free(b->pod);
	free(b->namespace);
	free(b->netns);
	b->pod = b->namespace = b->netns = NULL;
}

static void bundle_free(struct bundle *b)
{
	bundle_unname(b);
	free(b->id);
}

/* --- the directories --- */

static void bundle_add(struct pod_names *n, unsigned int dir, const char *id)
{
	struct bundle *list = n->bundle;
	char *copy;

	if (n->n == SANDBOX_BUNDLES_MAX)
		return;
	if (n->n == n->room) {
		list = realloc(list, (n->room ? 2 * n->room : 64) * sizeof(*list));
		if (!list)
			return;
		n->bundle = list;
		n->room = n->room ? 2 * n->room : 64;
	}
	copy = strdup(id);
	if (copy)
		list[n->n++] = (struct bundle){ .id = copy, .dir = dir, .listed = 1, .next_tick = n->tick };
}

/* Forgets the bundles of a directory that its listing has not found. */
static void bundles_forget(struct pod_names *n, unsigned int dir)
{
	unsigned int i, kept = 0;

	for (i = 0; i < n->n; i++) {
		if (n->bundle[i].dir == dir && !n->bundle[i].listed)
			bundle_free(&n->bundle[i]);
		else
			n->bundle[kept++] = n->bundle[i];
	}
	n->n = kept;
}

/* Whether it was listed. */
static int bundles_list(struct pod_names *n, unsigned int dir)
{
	DIR *d = opendir(n->dirs[dir]);
	struct bundle key = { .dir = dir }, *found;
	unsigned int i, sorted = n->n;
	const struct dirent *e;

	if (!d && errno != ENOENT) {
		msg_limited(&n->limit, 3600, "metrics: pods: %s: %s: the pods there have no names", n->dirs[dir],
			    strerror(errno));
		return 0;
	}
	for (i = 0; i < n->n; i++)
		n->bundle[i].listed &= n->bundle[i].dir != dir;
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		key.id = (char *)e->d_name;
		found = sorted ? bsearch(&key, n->bundle, sorted, sizeof(key), by_bundle) : NULL;
		if (found)
			found->listed = 1;
		else
			bundle_add(n, dir, e->d_name);
	}
	if (d)
		closedir(d);
	bundles_forget(n, dir);
	if (n->n)
		qsort(n->bundle, n->n, sizeof(*n->bundle), by_bundle);
	return 1;
}

/* Lists a directory if it has changed since it was listed. */
static void bundles_look(struct pod_names *n, unsigned int dir)
{
	struct timespec now;
	struct stat st = {};

	if (stat(n->dirs[dir], &st) && errno != ENOENT && errno != ENOTDIR)
		return;
	if (n->listed[dir] && st.st_mtim.tv_sec == n->changed[dir].tv_sec &&
	    st.st_mtim.tv_nsec == n->changed[dir].tv_nsec)
		return;
	if (!bundles_list(n, dir))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	n->changed[dir] = st.st_mtim;
	n->listed[dir] = (__u64)(now.tv_sec - st.st_mtim.tv_sec) > NAMES_LISTED_NS / NSEC_PER_SEC;
	free(n->by_netns);
	n->by_netns = NULL;
}

/* --- the bundles --- */

/* Takes the names, if the network namespace is there and has a number here. */
static int bundle_name(struct bundle *b, const struct sandbox *s)
{
	int fd = open(s->netns, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return 0;
	err = fstat(fd, &st) ? -errno : netns_id(fd, &b->netnsid);
	close(fd);
	if (err)
		return 0;
	b->pod = strdup(s->name);
	b->namespace = strdup(s->namespace);
	b->netns = strdup(s->netns);
	b->dev = st.st_dev;
	b->ino = st.st_ino;
	if (b->pod && b->namespace && b->netns)
		return 1;
	bundle_unname(b);
	return 0;
}

static void bundle_later(struct pod_names *n, struct bundle *b)
{
	unsigned int ticks = 1U << b->tries;

	b->state = BUNDLE_NEW;
	b->next_tick = n->tick + ticks;
	if (ticks < NAMES_TRY_TICKS)
		b->tries++;
}

static void bundle_try(struct pod_names *n, int dir, struct bundle *b)
{
	switch (sandbox_read(dir, b->id, n->text, &n->sandbox)) {
	case SANDBOX_POD:
		if (!bundle_name(b, &n->sandbox))
			return bundle_later(n, b);
		b->state = BUNDLE_NAMED;
		free(n->by_netns);
		n->by_netns = NULL;
		return;
	case SANDBOX_HOST:
	case SANDBOX_OTHER:
	case SANDBOX_LARGE:
		b->state = BUNDLE_NONE;
		return;
	default: /* it may be in the middle of being written */
		bundle_later(n, b);
	}
}

/* Reads the bundles whose time has come, from the one on at which the last tick ended. */
static void bundles_try(struct pod_names *n)
{
	__u64 until = now_ns() + NAMES_BUDGET_NS;
	int fd = -1, dir = -1;
	unsigned int i;

	for (i = 0; i < n->n; i++) {
		struct bundle *b = &n->bundle[(n->cursor + i) % n->n];

		if (b->state != BUNDLE_NEW || (__s32)(n->tick - b->next_tick) < 0)
			continue;
		if (now_ns() > until)
			break;
		if (dir != (int)b->dir) {
			if (fd >= 0)
				close(fd);
			dir = b->dir;
			fd = open(n->dirs[dir], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		}
		if (fd < 0)
			bundle_later(n, b);
		else
			bundle_try(n, fd, b);
	}
	n->cursor = n->n ? (n->cursor + i) % n->n : 0;
	if (fd >= 0)
		close(fd);
}

void pod_names_tick(struct pod_names *n)
{
	unsigned int i, directories = 0;

	n->tick++;
	for (i = 0; n->dirs[i]; i++)
		bundles_look(n, i);
	bundles_try(n);
	for (i = 0; n->dirs[i]; i++)
		directories += n->changed[i].tv_sec || n->changed[i].tv_nsec;
	if (!directories)
		msg_limited(
			&n->limit, 24 * 3600,
			"metrics: pods: %s is not there, so pods are told without their names: 'metrics: bundles' names the directory of another runtime",
			n->dirs[0]);
}

/* --- finding --- */

static void names_index(struct pod_names *n)
{
	unsigned int i;

	n->named = 0;
	n->by_netns = calloc(n->n ?: 1, sizeof(struct bundle *));
	for (i = 0; n->by_netns && i < n->n; i++)
		if (n->bundle[i].state == BUNDLE_NAMED)
			n->by_netns[n->named++] = &n->bundle[i];
	if (n->named)
		qsort(n->by_netns, n->named, sizeof(struct bundle *), by_netnsid);
}

/* Whether its network namespace is the one that it was. */
static int bundle_holds(const struct bundle *b)
{
	struct stat st;

	return !stat(b->netns, &st) && st.st_dev == b->dev && st.st_ino == b->ino;
}

int pod_names_find(struct pod_names *n, __s32 netnsid, struct pod_name *name)
{
	struct bundle key = { .netnsid = netnsid }, *wanted = &key, **at, **end;

	if (!n->by_netns)
		names_index(n);
	if (!n->by_netns || !n->named)
		return 0;
	end = n->by_netns + n->named;
	at = bsearch(&wanted, n->by_netns, n->named, sizeof(struct bundle *), by_netnsid);
	while (at && at > n->by_netns && at[-1]->netnsid == netnsid)
		at--;
	for (; at && at < end && (*at)->netnsid == netnsid; at++) {
		if ((*at)->state == BUNDLE_NAMED && bundle_holds(*at)) {
			*name = (struct pod_name){ (*at)->pod, (*at)->namespace };
			return 1;
		}
		if ((*at)->state != BUNDLE_NAMED)
			continue;
		bundle_unname(*at);
		bundle_later(n, *at);
	}
	return 0;
}

/* --- begin and end --- */

struct pod_names *pod_names_open(const char *bundles)
{
	struct pod_names *n = calloc(1, sizeof(*n));
	unsigned int i;

	if (!n)
		return NULL;
	n->text = malloc(SANDBOX_FILE_MAX);
	n->given = bundles ? strdup(bundles) : NULL;
	if (!n->text || (bundles && !n->given)) {
		pod_names_close(n);
		return NULL;
	}
	n->dirs[0] = n->given;
	for (i = 0; !bundles && i < NAMES_DIRS && sandbox_dirs[i]; i++)
		n->dirs[i] = sandbox_dirs[i];
	return n;
}

int pod_names_are_of(const struct pod_names *n, const char *bundles)
{
	return !strcmp(n->given ?: "", bundles ?: "");
}

void pod_names_close(struct pod_names *n)
{
	unsigned int i;

	if (!n)
		return;
	for (i = 0; i < n->n; i++)
		bundle_free(&n->bundle[i]);
	free(n->bundle);
	free(n->by_netns);
	free(n->text);
	free(n->given);
	free(n);
}
