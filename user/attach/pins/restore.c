// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restores missing pins, while the programs that hold their maps still run.
 *
 *  1. Programs list their maps by id, and maps have names. A program belongs to a pin directory if it holds one of the
 *     maps pinned there; if none is pinned, if it is attached at our place, has our name, and its counters are neither
 *     pinned elsewhere nor written by a live daemon.
 *  2. A map that is found is pinned again under its name, and the start, or the detach, continues as if it had never
 *     been missing. The newest program counts: an adoption of another version may have left older ones with sockets.
 *  3. A map that no program holds is gone with its pin, and so are its contents. A start makes it anew.
 *
 * Ids need CAP_SYS_ADMIN, which the unit does not grant.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach/hook/filter.h"
#include "attach/pins/leftover.h"
#include "attach/pins/pin_swap.h"
#include "attach/pins/restore.h"
#include "attach/prog/bpf_id.h"
#include "attach/prog/struct_ops.h"
#include "lib/bpffs.h"
#include "lib/layout.h"
#include "lib/net.h"

#define RESTORE_SILENCE_NS (3 * NSEC_PER_SEC) /* a live daemon writes its heartbeat once a second */

struct restore_pin {
	const char *name;
	__u32 pinned; /* id of the map; 0: none is pinned */
	__u32 found;
	int missing;
};

struct restore {
	const char *dir;
	const struct config *config; /* NULL: any interface of this network namespace */
	struct restore_pin pin[PINS_COUNT];
	__u32 orphan;  /* id of the counters of programs whose pins are all gone; 0: none */
	int ambiguous; /* there are several such programs */
	int filters;   /* filters at our place, of any owner */
	int err;
};

static int pin_number(const char *dir, const char *name, __u32 *id)
{
	char path[512];
	int fd, err = 0;

	pin_path(path, sizeof(path), dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	*id = map_id(fd);
	if (!*id)
		err = -errno;
	close(fd);
	return err;
}

static struct restore_pin *pin_by_name(struct restore *r, const char *name)
{
	unsigned int i;

	for (i = 0; i < PINS_COUNT; i++)
		if (!strcmp(r->pin[i].name, name))
			return &r->pin[i];
	return NULL;
}

/* --- programs whose pins are all gone --- */

/* A daemon that was killed a moment ago looks alive: a live one writes again. */
static int filter_is_alive(__u32 prog_id)
{
	const struct timespec step = { 0, 200 * 1000 * 1000 };
	struct left_filter first = {}, now = {};
	__u64 end = now_ns() + RESTORE_SILENCE_NS;

	if (left_filter_describe(&first, prog_id))
		return 0;
	while (now_ns() < first.heartbeat_ns + RESTORE_SILENCE_NS && now_ns() < end) {
		nanosleep(&step, NULL);
		if (!left_filter_describe(&now, prog_id) && now.heartbeat_ns != first.heartbeat_ns)
			return 1;
	}
	return 0;
}

static void orphan_find(__u32 ifindex, enum bpf_tc_attach_point where, struct restore *r)
{
	struct left_filter f = { .ifindex = ifindex, .where = where };
	__u32 prog_id;
	int err = filter_find(r->dir, ifindex, where, &prog_id);

	if (err && err != -ENOENT)
		r->err = err;
	if (err || left_filter_describe(&f, prog_id) || f.stats_id == r->orphan ||
	    map_owner_find("stats", f.stats_id, f.owner, sizeof(f.owner)) || filter_is_alive(prog_id))
		return;
	r->ambiguous = r->orphan != 0;
	r->orphan = f.stats_id;
}

static int interface_is_wanted(const struct restore *r, __u32 ifindex)
{
	char name[IFNAMSIZ] = "";
	unsigned int k;
	int wanted = !r->config;

	if_indextoname(ifindex, name);
	for (k = 0; r->config && k < r->config->interfaces_count; k++)
		wanted |= !strcmp(name, r->config->interfaces[k].name);
	return wanted;
}

/* Counts filters at our place, which is all that is visible without CAP_SYS_ADMIN. */
static void filters_count_ours(__u32 ifindex, void *ctx)
{
	struct restore *r = ctx;
	__u32 prog_id;

	if (interface_is_wanted(r, ifindex))
		r->filters += !filter_find(r->dir, ifindex, BPF_TC_EGRESS, &prog_id);
}

static void orphans_find(__u32 ifindex, void *ctx)
{
	struct restore *r = ctx;

	if (!interface_is_wanted(r, ifindex))
		return;
	orphan_find(ifindex, BPF_TC_EGRESS, r);
	orphan_find(ifindex, BPF_TC_INGRESS, r);
}

/* --- maps of programs --- */

static int map_is_anchor(const struct restore *r, __u32 id)
{
	unsigned int i;

	for (i = 0; i < PINS_COUNT; i++)
		if (r->pin[i].pinned && r->pin[i].pinned == id)
			return 1;
	return r->orphan && r->orphan == id;
}

static void map_take(struct restore *r, __u32 id)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	struct restore_pin *p;
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0)
		return;
	p = bpf_obj_get_info_by_fd(fd, &info, &len) ? NULL : pin_by_name(r, info.name);
	if (p && p->missing)
		p->found = id;
	close(fd);
}

/* Visits each running program, the oldest first. */
static int programs_look(struct restore *r)
{
	__u32 id = 0, maps[64], n, i;
	int ours;

	while (!bpf_prog_get_next_id(id, &id)) {
		n = prog_maps(id, maps, sizeof(maps) / sizeof(maps[0]), NULL);
		for (i = 0, ours = 0; i < n && !ours; i++)
			ours = map_is_anchor(r, maps[i]);
		for (i = 0; ours && i < n; i++)
			map_take(r, maps[i]);
	}
	return errno == ENOENT ? 0 : -errno;
}

static int map_pin_again(const char *dir, const char *name, __u32 id)
{
	char path[512];
	int fd = bpf_map_get_fd_by_id(id), err = 0;

	pin_path(path, sizeof(path), dir, name);
	if (fd < 0 || bpf_obj_pin(fd, path))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		msg("%s: is missing, and its map %u cannot be pinned again: %s", path, id, strerror(-err));
	else
		msg("%s: is missing: the programs that run hold its map, which is pinned again", path);
	return err;
}

/* --- the congestion control, which no program holds but which is registered under a name --- */

void cc_pin_restore(const char *dir, const struct control *ctl)
{
	char path[512];
	__u32 id;

	pin_path(path, sizeof(path), dir, "tcp_cc");
	id = ctl->cc_name[0] && access(path, F_OK) ? struct_ops_by_name(ctl->cc_name) : 0;
	if (id)
		map_pin_again(dir, "tcp_cc", id);
}

static void cc_restore(const struct restore *r)
{
	struct control ctl;
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0;
	char path[512];
	int fd, err;

	pin_path(path, sizeof(path), r->dir, "control");
	fd = bpf_obj_get(path);
	if (fd < 0) {
		if (errno != ENOENT)
			msg("%s: %s: congestion controls without a pin are not looked for", path, strerror(errno));
		return;
	}
	err = bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : info.value_size != sizeof(ctl) ? -EPROTO : 0;
	if (!err && bpf_map_lookup_elem(fd, &zero, &ctl))
		err = -errno;
	close(fd);
	if (!err && ctl.abi == SLUICE_ABI && ctl.cc_name[0])
		cc_pin_restore(r->dir, &ctl);
	else if (err && err != -EPROTO) /* of another version */
		msg("%s: %s: congestion controls without a pin are not looked for", path, strerror(-err));
}

static void missing_say(const struct restore *r, int looked)
{
	char list[256] = "";
	unsigned int i;
	size_t n;

	for (i = 0; i < PINS_COUNT; i++) {
		n = strlen(list);
		if (r->pin[i].missing && !r->pin[i].found)
			snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", r->pin[i].name);
	}
	if (!*list)
		return;
	if (looked)
		msg("%s: missing, and no running program holds the map: %s: their content is lost", r->dir, list);
	else
		msg("%s: missing: %s: finding these maps among those of running programs needs CAP_SYS_ADMIN: their content is lost; 'sluiced --detach --pin-dir %s' as root before a start loses no packets",
		    r->dir, list, r->dir);
}

int pins_restore(const char *dir, const struct config *c)
{
	static const char *const names[] = {
#define RESTORE_NAME(name) #name,
		PINS(RESTORE_NAME)
#undef RESTORE_NAME
	};
	struct restore r = { .dir = dir, .config = c };
	struct btf *layout = adopt_layout_read(dir);
	unsigned int i, missing = 0;
	int err, looked;
	__u32 id;

	if (!layout && errno != ENOENT)
		msg("%s/layout: %s: maps that another version never had are looked for", dir, strerror(errno));
	for (i = 0; i < PINS_COUNT; i++) {
		r.pin[i].name = names[i];
		err = pin_number(dir, names[i], &r.pin[i].pinned);
		if (err && err != -ENOENT) {
			btf__free(layout);
			msg("%s/%s: %s", dir, names[i], strerror(-err));
			return err;
		}
		/* A version older than this map never had it. */
		r.pin[i].missing = err == -ENOENT && (!layout || layout_knows(layout, names[i]));
		missing += r.pin[i].missing;
	}
	btf__free(layout);
	looked = !bpf_prog_get_next_id(0, &id) || errno == ENOENT;
	if (!looked && errno != EPERM) {
		err = -errno;
		msg("%s: looking for programs that run: %s", dir, strerror(-err));
		return err;
	}
	if (missing == PINS_COUNT && !looked) {
		err = links_each(filters_count_ours, &r);
		if (err)
			msg("%s: nothing is pinned there, and the interfaces cannot be listed: %s", dir, strerror(-err));
		if (!r.filters)
			return err;
	}
	if (missing == PINS_COUNT && looked) {
		err = links_each(orphans_find, &r);
		r.err = r.err ?: err;
		if (r.err) {
			msg("%s: nothing is pinned there, and the filters of the interfaces cannot be read: %s", dir, strerror(-r.err));
			return r.err;
		}
		if (r.ambiguous) {
			msg("%s: nothing is pinned there, and filters of more than one sluiced are pinned nowhere: 'sluicectl clean' removes them",
			    dir);
			return -EEXIST;
		}
		if (!r.orphan)
			return 0;
	}
	if (missing && looked) {
		err = programs_look(&r);
		for (i = 0; !err && i < PINS_COUNT; i++)
			if (r.pin[i].found)
				err = map_pin_again(dir, r.pin[i].name, r.pin[i].found);
		if (err) {
			msg("%s: looking for maps whose pins are missing: %s", dir, strerror(-err));
			return err;
		}
	}
	missing_say(&r, looked);
	if (looked)
		cc_restore(&r);
	return 0;
}
