// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interfaces with `queue: sluice`: the qdisc is installed, and the previous one is put back.
 *
 *  1. The previous qdisc is stored in the pinned map `queue_was` before it is replaced, so the next daemon and
 *     --detach find it.
 *  2. If somebody replaces or deletes ours, that is reported and stands until SIGHUP or the next start. The same goes
 *     for the previous one, which is put back if ours cannot be installed.
 *  3. Ours is made anew by deleting it first. If the daemon is killed in between, `installing` says that the kernel's
 *     default is not what was there before.
 *  4. Rate, limit and classes of a port are written before the qdisc is installed, which finds its classes there. It
 *     removes the entry when it is deleted.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/qdisc/qdisc_room.h"
#include "attach/qdisc/queue_apply.h"
#include "attach/qdisc/queue_root.h"
#include "lib/bpffs.h"
#include "lib/maps.h"
#include "lib/net.h"
#include "sluice.skel.h"
#include "sluice/queue/port.h"

#define QUEUE_WAS_VERSION 2 /* goes up with every change of struct queue_was */
#define QUEUE_WAS_MAX (4 * CONFIG_INTERFACES)

/* An interface on which we have installed the qdisc. */
struct queue_was {
	__u32 version;
	__u32 taken;	    /* somebody else's qdisc is at the root: it stays, and that has been said */
	__u32 strays;	    /* classes of our mq with a qdisc that somebody chose, as last said */
	__u32 installing;   /* ours is being installed: the kernel's default at the root is not what was there before */
	struct qdisc root;  /* the previous root qdisc; handle 0: the kernel's default */
	struct qdisc child; /* if that is mq: each qdisc below it; handle 0: the kernel's default */
};

/* --- the map --- */

/* The map, or a negative number; make: it is made if it is missing. */
static int was_open(const char *pin_dir, int make)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	char path[512];
	int fd, err;

	pin_path(path, sizeof(path), pin_dir, "queue_was");
	fd = bpf_obj_get(path);
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.value_size == sizeof(struct queue_was))
		return fd;
	if (fd >= 0) {
		msg("%s: is of another version: qdiscs that it replaced are not put back; see 'tc qdisc show'", path);
		close(fd);
		unlink(path);
	} else if (errno != ENOENT) {
		err = -errno;
		msg("%s: %s: which qdiscs were replaced is not known", path, strerror(-err));
		return err;
	}
	if (!make)
		return -ENOENT;
	fd = bpf_map_create(BPF_MAP_TYPE_HASH, "queue_was", sizeof(__u32), sizeof(struct queue_was), QUEUE_WAS_MAX,
			    &opts);
	err = fd < 0 ? -errno : bpf_obj_pin(fd, path) ? -errno : 0;
	if (err) {
		msg("%s: pinning it: %s", path, strerror(-err));
		if (fd >= 0)
			close(fd);
	}
	return err ?: fd;
}

static void was_unpin(const char *pin_dir)
{
	char path[512];

	pin_path(path, sizeof(path), pin_dir, "queue_was");
	if (unlink(path))
		msg("%s: removing the pin: %s: remove it", path, strerror(errno));
}

static int was_write(int fd, __u32 ifindex, struct queue_was *was)
{
	int err;

	was->version = QUEUE_WAS_VERSION;
	err = bpf_map_update_elem(fd, &ifindex, was, BPF_ANY) ? -errno : 0;
	if (err)
		msg("interface %u: the map queue_was: %s: its qdisc stays as it is", ifindex, strerror(-err));
	return err;
}

/* Fills in the interfaces that have an entry, at most QUEUE_WAS_MAX, and returns their number. */
static __u32 was_list(int fd, __u32 *seen)
{
	__u32 n = 0;

	while (n < QUEUE_WAS_MAX && !bpf_map_get_next_key(fd, n ? &seen[n - 1] : NULL, &seen[n]))
		n++;
	return n;
}

/* Removes the entries of interfaces that are gone: one that is made again has another index. */
static void was_forget_gone(int fd)
{
	__u32 seen[QUEUE_WAS_MAX], n = was_list(fd, seen), k;
	char name[IFNAMSIZ];

	for (k = 0; k < n; k++)
		if (!if_indextoname(seen[k], name) && errno == ENXIO)
			map_remove(fd, "queue_was", &seen[k]);
}

void queue_was_each(const char *pin_dir,
		    void (*fn)(__u32 ifindex, const struct qdisc *root, const struct qdisc *child, void *ctx),
		    void *ctx)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), key, *last = NULL;
	struct queue_was was;
	char path[512];
	int fd;

	pin_path(path, sizeof(path), pin_dir, "queue_was");
	fd = bpf_obj_get(path);
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.value_size == sizeof(was))
		for (; !bpf_map_get_next_key(fd, last, &key); last = &key)
			if (!bpf_map_lookup_elem(fd, &key, &was) && !was.taken)
				fn(key, &was.root, &was.child, ctx);
	close(fd);
}

/* --- rate, limit and classes of a port --- */

static int setups_fd(const struct qdisc_room *room)
{
	return bpf_map__fd(room->skel->maps.queue_ports);
}

static struct queue_port setup_key(const struct link_info *link)
{
	return (struct queue_port){ .netns_cookie = link->netns_cookie, .ifindex = link->ifindex };
}

/* Whether the qdisc has to be made anew for what the configuration says. */
static int queue_setup_differs(struct qdisc_room *room, const struct config_interface *i, const struct link_info *link)
{
	struct queue_port key = setup_key(link);
	struct queue_setup was = {};
	int had = !bpf_map_lookup_elem(setups_fd(room), &key, &was);

	return had != config_has_setup(i) || was.classes != i->classes_count;
}

static void queue_setup_remove(struct qdisc_room *room, const struct link_info *link)
{
	struct queue_port key = setup_key(link);

	map_remove(setups_fd(room), "queue_ports", &key);
}

/* Writes or removes the setup. 0, or -errno with a message. */
static int queue_setup_apply(struct qdisc_room *room, const struct config_interface *i, const struct link_info *link)
{
	struct queue_port key = setup_key(link);
	struct queue_setup v = {};
	int err;

	if (!config_has_setup(i)) {
		queue_setup_remove(room, link);
		return 0;
	}
	config_setup_value(i, &v);
	err = bpf_map_update_elem(setups_fd(room), &key, &v, BPF_ANY) ? -errno : 0;
	if (err)
		msg("%s: the map queue_ports: %s: its rate and its classes stay as they were", i->name, strerror(-err));
	return err;
}

/* --- install --- */

static int queue_refuse(const char *name, const struct qdisc_tree *t)
{
	char what[48];

	msg("%s: 'queue: sluice' cannot replace its root qdisc %s and put it back later: write 'queue: fq', or run 'tc qdisc del dev %s root' first",
	    name,
	    t->differ ? "mq, which has different ones below it," : root_format(&t->root, &t->child, what, sizeof(what)),
	    name);
	return -EBUSY;
}

/* Whether we have deleted the root qdisc, and nobody has put another in its place. */
static int root_is_pending(const struct queue_was *was, const struct qdisc_tree *t)
{
	return was->installing && !t->root.handle;
}

/* Installs it, unless err says what failed before. On an error the previous one is put back. */
static int queue_place(struct qdisc_room *room, int fd, const struct config_interface *i, const struct link_info *link,
		       struct queue_was *was, int err)
{
	char what[48];
	int back = 0;

	err = err ?: queue_setup_apply(room, i, link) ?: root_install(link->ifindex, config_has_setup(i));
	if (err) {
		queue_setup_remove(room, link);
		back = root_put_back(link->ifindex, &was->root, &was->child);
		msg("%s: installing the qdisc 'sluice': %s%s: %s %s; SIGHUP tries again", i->name, strerror(-err),
		    err == -ENOENT ? " (its name is registered no more: start sluiced again)" : "",
		    root_format(&was->root, &was->child, what, sizeof(what)),
		    back ? "could not be put back, either" : "is at its root, as before");
	}
	was->taken = err != 0;
	was->installing = back != 0;
	was_write(fd, link->ifindex, was);
	return err;
}

/* Remembers what is there, and replaces it. */
static int queue_replace(struct qdisc_room *room, int fd, const struct config_interface *i,
			 const struct link_info *link, const struct qdisc_tree *t)
{
	struct queue_was was;
	char what[48];
	int known = map_find(fd, "queue_was", &link->ifindex, &was), err;

	if (known < 0)
		return known;
	if (!known || !root_is_pending(&was, t))
		was = (struct queue_was){ .root = t->root, .child = t->child };
	was.installing = 1;
	err = was_write(fd, link->ifindex, &was);
	if (err)
		return err;
	err = queue_place(room, fd, i, link, &was, 0);
	if (!err)
		msg_info("%s: qdisc: %s -> sluice, by 'queue: sluice'", i->name,
			 root_format(&was.root, &was.child, what, sizeof(what)));
	return err;
}

/* Ours is there: with the code that is registered, below each class, and with the setup of the configuration. */
static int queue_renew(struct qdisc_room *room, int fd, const struct config_interface *i, const struct link_info *link,
		       const struct qdisc_tree *t)
{
	struct queue_was was = {};
	int known = map_find(fd, "queue_was", &link->ifindex, &was), err;

	if (known < 0)
		return known;
	if (!known)
		msg("%s: has the qdisc 'sluice' of an earlier sluiced, and what it replaced is not known: the kernel's default comes back",
		    i->name);
	was.taken = was.strays = 0;
	/* The installed one has the code of another version, or other classes. */
	was.installing = room->is_new || queue_setup_differs(room, i, link);
	err = was_write(fd, link->ifindex, &was);
	if (err)
		return err;
	if (was.installing)
		return queue_place(room, fd, i, link, &was, qdisc_root_delete(link->ifindex));
	err = config_has_setup(i) ? queue_setup_apply(room, i, link) : classes_fill(link->ifindex, t, 1);
	if (err)
		msg("%s: installing the qdisc 'sluice': %s", i->name, strerror(-err));
	return err;
}

/* Makes an interface have it. */
static int queue_install(struct qdisc_room *room, int fd, const struct config_interface *i)
{
	struct qdisc_tree *t;
	struct link_info link;
	int err;

	if (link_get(i->name, &link))
		return 0; /* installed as soon as it is there */
	err = qdisc_tree_get(link.ifindex, &t);
	if (err) {
		msg("%s: reading the qdiscs: %s", i->name, strerror(-err));
		return err;
	}
	if (root_is_ours(t))
		err = queue_renew(room, fd, i, &link, t);
	else if (root_is_sluice(t)) /* somebody's own: it stays at the end, too */
		err = was_write(fd, link.ifindex, &(struct queue_was){ .taken = 1 });
	else if (root_is_replaceable(t))
		err = queue_replace(room, fd, i, &link, t);
	else
		err = queue_refuse(i->name, t);
	free(t);
	return err;
}

/* --- put back --- */

static int queue_put_back(int fd, __u32 ifindex)
{
	struct queue_was was;
	struct qdisc_tree *t = NULL;
	char name[IFNAMSIZ] = "", what[48];
	int err = map_find(fd, "queue_was", &ifindex, &was);

	if (err <= 0)
		return err;
	err = 0;
	if (if_indextoname(ifindex, name))
		err = qdisc_tree_get(ifindex, &t);
	root_format(&was.root, &was.child, what, sizeof(what));
	if (t && (root_is_ours(t) || root_is_pending(&was, t))) {
		err = root_put_back(ifindex, &was.root, &was.child);
		if (!err)
			msg_info("%s: qdisc: sluice -> %s, as before", name, what);
	}
	free(t);
	if (err)
		msg("%s: putting its qdisc back, %s: %s: run 'tc qdisc replace dev %s root ...'", name, what,
		    strerror(-err), name);
	else
		map_remove(fd, "queue_was", &ifindex);
	return err;
}

/* The line of the configuration that wants it at this interface; NULL: none. */
static const struct config_interface *queue_wanted(const struct config *c, __u32 ifindex)
{
	char name[IFNAMSIZ];
	unsigned int k;

	for (k = 0; c && if_indextoname(ifindex, name) && k < c->interfaces_count; k++)
		if (c->interfaces[k].queue == CONFIG_QUEUE_SLUICE && !strcmp(c->interfaces[k].name, name))
			return &c->interfaces[k];
	return NULL;
}

static unsigned int queues_wanted(const struct config *c)
{
	unsigned int n = 0, k;

	for (k = 0; c && k < c->entries_count; k++)
		n += c->entries[k].queue == CONFIG_QUEUE_SLUICE;
	return n;
}

/* --- all interfaces --- */

int queues_check(const struct qdisc_room *room, const struct config *c)
{
	struct qdisc_tree *t;
	struct link_info link;
	unsigned int k;
	int err = 0;

	for (k = 0; k < c->entries_count; k++) {
		if (c->entries[k].queue != CONFIG_QUEUE_SLUICE || !*room->why)
			continue;
		msg("%s: 'queue: sluice': %s: write 'queue: fq' for this interface", c->entries[k].name, room->why);
		return -EOPNOTSUPP;
	}
	for (k = 0; !err && k < c->interfaces_count; k++) {
		const struct config_interface *i = &c->interfaces[k];

		if (i->queue != CONFIG_QUEUE_SLUICE || link_get(i->name, &link) || qdisc_tree_get(link.ifindex, &t))
			continue;
		if (!root_is_ours(t) && !root_is_sluice(t) && !root_is_replaceable(t))
			err = queue_refuse(i->name, t);
		free(t);
	}
	return err;
}

int queues_apply(struct qdisc_room *room, const struct config *c)
{
	__u32 seen[QUEUE_WAS_MAX], n;
	int fd = was_open(room->pin_dir, queues_wanted(c) > 0), err = 0, e;
	unsigned int k;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	n = was_list(fd, seen);
	for (k = 0; k < n; k++) {
		e = queue_wanted(c, seen[k]) ? 0 : queue_put_back(fd, seen[k]);
		err = err ?: e;
	}
	for (k = 0; c && k < c->interfaces_count; k++) {
		e = c->interfaces[k].queue == CONFIG_QUEUE_SLUICE ? queue_install(room, fd, &c->interfaces[k]) : 0;
		err = err ?: e;
	}
	room->is_new = 0;
	close(fd);
	if (!c && !err)
		was_unpin(room->pin_dir);
	return err;
}

/* One interface that should have it. */
static void queue_follow(int fd, const char *name, __u32 ifindex, struct queue_was *was)
{
	struct qdisc_tree *t;
	unsigned int i, strays = 0;
	char what[48];

	if (was->taken || qdisc_tree_get(ifindex, &t))
		return;
	for (i = 0; root_is_ours(t) && i < t->children; i++)
		strays += t->at[i].chosen && strcmp(t->at[i].kind, "sluice") != 0;
	if (!root_is_ours(t)) {
		msg("%s: somebody replaced its qdisc 'sluice' by %s: that stays, until SIGHUP installs 'sluice' again; write 'queue: fq' to leave it so",
		    name, root_format(&t->root, &t->child, what, sizeof(what)));
		was->taken = 1;
		was->installing = 0;
		was_write(fd, ifindex, was);
	} else if (strays != was->strays) {
		msg("%s: somebody put other qdiscs in the place of 'sluice' below %u classes of mq: they stay, until SIGHUP",
		    name, strays);
		was->strays = strays;
		was_write(fd, ifindex, was);
	} else if (!strcmp(t->root.kind, "mq") && classes_fill(ifindex, t, 0)) { /* transmit queues that were added */
		msg("%s: a new transmit queue has no qdisc 'sluice': send SIGHUP", name);
	}
	free(t);
}

void queues_follow(struct qdisc_room *room, const struct config *c)
{
	int fd = queues_wanted(c) ? was_open(room->pin_dir, 0) : -1, known;
	struct queue_was was;
	struct link_info link;
	unsigned int k;

	was_forget_gone(fd);
	for (k = 0; fd >= 0 && k < c->interfaces_count; k++) {
		const struct config_interface *i = &c->interfaces[k];

		if (i->queue != CONFIG_QUEUE_SLUICE || link_get(i->name, &link))
			continue;
		known = map_find(fd, "queue_was", &link.ifindex, &was);
		if (known > 0)
			queue_follow(fd, i->name, link.ifindex, &was);
		else if (!known)
			queue_install(room, fd, i);
	}
	if (fd >= 0)
		close(fd);
}
