// SPDX-License-Identifier: GPL-2.0-only
/*
 * Converts maps of another SLUICE_ABI to this one, while the programs of the other continue.
 *
 *  1. A daemon pins the layout of its maps beside them: `layout`, its object's BTF. The BTF that the kernel keeps with
 *     a map would do, but needs CAP_SYS_ADMIN.
 *  2. Maps of the same layout are kept. The others are made anew, filled member by member (layout.h), and pinned in
 *     `next`. Up to here the other version loses nothing on an error.
 *  3. `next` is renamed to `new`: from now on the maps are this version's. Pin by pin they replace the others, which
 *     move to `old`. If the daemon dies in between, the next one continues, if its version has pin_swap.c.
 *  4. Programs are replaced; sockets of other network namespaces, which keep the old ones, are put in bypass. `old` is
 *     removed.
 *
 * The races: between the copy of an entry and the replacement of the program, which is milliseconds, the old programs
 * write into maps that nobody reads any more. A flow's position goes back by the bytes it sent then, and a round of
 * HPCC gets that much longer. An entry may be copied in the middle of a feedback: the next one corrects W.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/pins/adopt.h"
#include "attach/pins/pin_swap.h"
#include "attach/pins/pins_room.h"
#include "lib/bpffs.h"
#include "lib/layout.h"
#include "lib/pins.h"
#include "sluice.skel.h"

#define ADOPT_BATCH 256

enum adopt_how {
	ADOPT_SHARED,  /* the same map */
	ADOPT_CARRIED, /* entry by entry */
	ADOPT_STATS,   /* counter by counter, by their names */
	ADOPT_ANEW,    /* filled from the configuration, or by traffic */
};

struct adopt_map {
	const char *name;
	struct bpf_map *to;
	int fd; /* the other version's; -1: it has none */
	enum adopt_how how;
	struct layout_plan key, value;
};

#define ADOPT_COUNT(name) +1
#define ADOPT_MAPS (0 PINS(ADOPT_COUNT))

struct adopt {
	struct btf *btf, *own; /* of the other version, and of this one as published */
	struct adopt_map map[ADOPT_MAPS];
	struct control control;	 /* its contents, in this layout */
	int stat_from[STAT_MAX]; /* -1: the other version does not count it */
	__u64 *stats;		 /* per counter and CPU: the carried value */
	int committed;
};

int adopt_open(struct pins_room *room)
{
	char next[ADOPT_DIR];
	struct btf *btf;
	unsigned int i;

	pin_path(next, sizeof(next), room->dir, "next");
	if (!access(next, F_OK)) { /* adopt_recover() could not remove it, and libbpf would use its maps */
		msg("%s: an upgrade that was interrupted left this directory: remove it, and start sluiced again",
		    next);
		return -EEXIST;
	}
	btf = adopt_layout_read(room->dir);
	if (!btf) {
		msg("%s: the maps there are of another version, and its layout cannot be read (%s): run 'sluiced --detach --pin-dir %s' first",
		    room->dir, strerror(errno), room->dir);
		return -EPROTO;
	}
	room->adopt = calloc(1, sizeof(*room->adopt));
	if (!room->adopt) {
		btf__free(btf);
		return -ENOMEM;
	}
	room->adopt->btf = btf;
	for (i = 0; i < ADOPT_MAPS; i++) {
		room->adopt->map[i].name = pin_names[i];
		room->adopt->map[i].fd = -1;
	}
	return 0;
}

const struct control *adopt_control(const struct pins_room *room)
{
	return &room->adopt->control;
}

int adopt_fill(struct pins_room *room, struct sluice_bpf *s, struct pins *pins)
{
	char next[ADOPT_DIR];
	__u32 zero = 0;
	int err;

	pin_path(next, sizeof(next), room->dir, "next");
	if (bpf_map_update_elem(bpf_map__fd(s->maps.control), &zero, &room->adopt->control, BPF_ANY))
		return -errno;
	err = adopt_layout_pin(s->obj, next);
	return err ?: pins_open(next, pins);
}

/* --- which maps are shared, carried or made anew --- */

/* True for a map that the daemon fills itself at a start: there is nothing to carry. */
static int is_daemons(const char *name)
{
	static const char *const names[] = { "peers",	 "pods",    "domains",	   "arrival_slots",
					     "arrivals", "credits", "credit_rings" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

/* Members that restart: a lock that was held, a half-written entry, a claim that programs have to make themselves. */
static const char *const *members_anew(const char *name)
{
	static const char *const flow[] = { "lock", "echo", "own_cc", "" }, *const voq[] = { "lock", "" };

	return !strcmp(name, "flows") ? flow : !strcmp(name, "voqs") ? voq : NULL;
}

static int stats_plan(struct adopt *a, const struct btf *to)
{
	int f = btf__find_by_name_kind(a->btf, "sluice_stat", BTF_KIND_ENUM);
	int t = btf__find_by_name_kind(to, "sluice_stat", BTF_KIND_ENUM);
	const struct btf_type *from = f > 0 ? btf__type_by_id(a->btf, f) : NULL;
	const struct btf_type *own = t > 0 ? btf__type_by_id(to, t) : NULL;
	unsigned int i, k, same = 0;

	memset(a->stat_from, -1, sizeof(a->stat_from));
	for (i = 0; own && from && i < btf_vlen(own); i++) {
		const char *name = btf__name_by_offset(to, btf_enum(own)[i].name_off) ?: "";

		for (k = 0; k < btf_vlen(from); k++)
			if (!strcmp(name, btf__name_by_offset(a->btf, btf_enum(from)[k].name_off) ?: ""))
				break;
		if (k == btf_vlen(from))
			continue;
		same += btf_enum(from)[k].val == btf_enum(own)[i].val;
		if ((__u32)btf_enum(own)[i].val < STAT_MAX)
			a->stat_from[btf_enum(own)[i].val] = btf_enum(from)[k].val;
	}
	return own && from && same == btf_vlen(own) && same == btf_vlen(from);
}

static int map_plan(struct adopt *a, struct adopt_map *m, const char *dir, const struct btf *to)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), from_key, from_value, key, value;
	int err, same;

	m->how = ADOPT_ANEW;
	m->fd = pin_get(dir, m->name);
	if (m->fd < 0 || layout_map(a->btf, m->name, &from_key, &from_value))
		return 0;
	err = layout_map(to, m->name, &key, &value);
	if (!err && bpf_obj_get_info_by_fd(m->fd, &info, &len))
		err = -errno;
	if (!err)
		err = layout_plan(&m->key, a->btf, from_key, to, key, NULL);
	if (!err)
		err = layout_plan(&m->value, a->btf, from_value, to, value, members_anew(m->name));
	if (!err && (info.key_size != m->key.from_bytes || info.value_size != m->value.from_bytes))
		err = -EPROTO;
	if (err)
		return err;
	same = m->key.same && m->value.same && info.type == bpf_map__type(m->to) &&
	       info.max_entries == bpf_map__max_entries(m->to) && info.map_flags == bpf_map__map_flags(m->to);
	if (!strcmp(m->name, "stats")) {
		same &= stats_plan(a, to);
		m->how = m->value.same ? ADOPT_STATS : ADOPT_ANEW;
	} else if (!strcmp(m->name, "control")) {
		same = 0; /* it identifies the version */
		m->how = ADOPT_CARRIED;
	} else if (!*m->key.lost && m->value.n && !is_daemons(m->name)) {
		m->how = ADOPT_CARRIED;
	}
	if (same)
		m->how = ADOPT_SHARED;
	return 0;
}

/* Reads the other version's current control, in this one's layout. */
static int control_read(const struct adopt_map *m, struct control *control)
{
	__u32 zero = 0;
	char *entry = malloc(m->value.from_bytes);
	int err = !entry ? -ENOMEM : bpf_map_lookup_elem(m->fd, &zero, entry) ? -errno : 0;

	if (!err)
		layout_apply(&m->value, entry, control);
	free(entry);
	return err;
}

static void plans_say(const struct adopt *a, const char *dir)
{
	char list[4][256] = {};
	unsigned int i;

	for (i = 0; i < ADOPT_MAPS; i++) {
		const struct adopt_map *m = &a->map[i];
		enum adopt_how how = m->how == ADOPT_STATS ? ADOPT_CARRIED : m->how;
		size_t n = strlen(list[how]);

		snprintf(list[how] + n, sizeof(list[how]) - n, "%s%s", n ? ", " : "", m->name);
	}
	msg_info("adopting the maps in %s of another version (ABI %u): as they are: %s; entry by entry: %s; anew: %s",
		 dir, a->control.abi, *list[ADOPT_SHARED] ? list[ADOPT_SHARED] : "none", list[ADOPT_CARRIED],
		 *list[ADOPT_ANEW] ? list[ADOPT_ANEW] : "none");
	for (i = 0; i < ADOPT_MAPS; i++) {
		const struct adopt_map *m = &a->map[i];

		if (m->how == ADOPT_ANEW && (*m->key.lost || *m->value.lost) && !is_daemons(m->name))
			msg_info("%s: its entries cannot be carried, because it lacks %s%s%s: they are learned again",
				 m->name, m->key.lost, *m->key.lost && *m->value.lost ? ", " : "", m->value.lost);
		if (m->how == ADOPT_CARRIED && *m->value.lost)
			msg_info("%s: not carried, because this version does not know it in that form: %s", m->name,
				 m->value.lost);
		if (m->how == ADOPT_CARRIED && *m->value.added)
			msg_info("%s: begins at 0, because the other version does not know it in that form: %s",
				 m->name, m->value.added);
	}
}

int adopt_plan(struct pins_room *room, struct bpf_object *obj)
{
	struct adopt *a = room->adopt;
	unsigned int i;
	int err = 0;

	a->own = layout_published(bpf_object__btf(obj));
	if (!a->own) {
		err = -errno;
		msg("describing the maps for other versions: %s", strerror(-err));
		return err;
	}
	for (i = 0; !err && i < ADOPT_MAPS; i++) {
		struct adopt_map *m = &a->map[i];

		m->to = bpf_object__find_map_by_name(obj, m->name);
		err = map_plan(a, m, room->dir, a->own);
		if (!err && m->how == ADOPT_SHARED)
			err = bpf_map__reuse_fd(m->to, m->fd);
		if (!err && !strcmp(m->name, "control"))
			err = control_read(m, &a->control);
	}
	if (err) {
		msg("%s: the maps there are of another version, and %s cannot be understood: %s: run 'sluiced --detach --pin-dir %s' first",
		    room->dir, a->map[i - 1].name, strerror(-err), room->dir);
		return err;
	}
	plans_say(a, room->dir);
	a->control.abi = SLUICE_ABI;
	a->control.cc_abi = 0; /* the previous owner's maps are gone */
	a->control.epoch++;    /* parameters are read from peers anew */
	return 0;
}

/* --- carry --- */

/* Copies all current entries of a map. */
static int entries_carry(const struct adopt_map *m)
{
	DECLARE_LIBBPF_OPTS(bpf_map_batch_opts, opts);
	char *from_keys = calloc(ADOPT_BATCH, m->key.from_bytes), *keys = calloc(ADOPT_BATCH, m->key.to_bytes);
	char *from_values = calloc(ADOPT_BATCH, m->value.from_bytes), *values = calloc(ADOPT_BATCH, m->value.to_bytes);
	__u32 cursor[16], count, i, to = bpf_map__fd(m->to); /* some maps use a key as cursor */
	int err = !from_keys || !keys || !from_values || !values || m->key.from_bytes > sizeof(cursor) ? -ENOMEM : 0;
	int first = 1, done = 0;

	while (!err && !done) {
		count = ADOPT_BATCH;
		if (bpf_map_lookup_batch(m->fd, first ? NULL : cursor, cursor, from_keys, from_values, &count, NULL)) {
			done = errno == ENOENT; /* the end, though fewer than count entries came */
			if (!done) {
				err = -errno;
				break;
			}
		}
		first = 0;
		for (i = 0; i < count; i++) {
			layout_apply(&m->key, from_keys + (size_t)i * m->key.from_bytes,
				     keys + (size_t)i * m->key.to_bytes);
			layout_apply(&m->value, from_values + (size_t)i * m->value.from_bytes,
				     values + (size_t)i * m->value.to_bytes);
		}
		if (count && bpf_map_update_batch(to, keys, values, &count, &opts)) {
			err = -errno;
			if (err == -E2BIG) {
				msg("%s: has less room here: entries that do not fit begin anew", m->name);
				err = 0;
				done = 1;
			}
		}
	}
	free(from_keys);
	free(keys);
	free(from_values);
	free(values);
	return err;
}

/*
 * Carries the counters, and at the end the increments of the old programs since. They are added to counters that new
 * programs already use: an increment may be lost in a race, but a counter never goes back.
 */
static int stats_carry(struct adopt *a, const struct adopt_map *m)
{
	int cpus = libbpf_num_possible_cpus(), cpu, had = !!a->stats, more;
	__u64 *now = cpus > 0 ? calloc(2 * cpus, sizeof(*now)) : NULL, *then, *own;
	int to = bpf_map__fd(m->to), err = now ? 0 : -ENOMEM;
	__u32 i, from;

	if (now && !had)
		a->stats = calloc((size_t)STAT_MAX * cpus, sizeof(*a->stats));
	if (!a->stats)
		err = -ENOMEM;
	for (i = 0; !err && i < STAT_MAX; i++) {
		if (a->stat_from[i] < 0)
			continue;
		from = a->stat_from[i];
		then = a->stats + (size_t)i * cpus;
		own = now + cpus;
		if (bpf_map_lookup_elem(m->fd, &from, now) || bpf_map_lookup_elem(to, &i, own)) {
			err = -errno;
			break;
		}
		for (cpu = 0, more = 0; cpu < cpus; cpu++) {
			own[cpu] += now[cpu] - then[cpu];
			more |= now[cpu] != then[cpu];
			then[cpu] = now[cpu];
		}
		if (more && bpf_map_update_elem(to, &i, own, BPF_ANY))
			err = -errno;
	}
	free(now);
	return err;
}

/* --- commit and end --- */

static const struct adopt_map *map_of(const struct adopt *a, const char *name)
{
	unsigned int i;

	for (i = 0; strcmp(a->map[i].name, name); i++)
		;
	return &a->map[i];
}

/* Sets the ABI number of the maps: 0 tells readers that the pins are about to be swapped. */
static int abi_set(const struct adopt_map *control, __u32 abi)
{
	__u32 zero = 0;
	char *entry = malloc(control->value.from_bytes);
	int err = !entry ? -ENOMEM : bpf_map_lookup_elem(control->fd, &zero, entry) ? -errno : 0;

	if (!err) {
		memcpy(entry, &abi, sizeof(abi)); /* the first member in every version */
		err = bpf_map_update_elem(control->fd, &zero, entry, BPF_ANY) ? -errno : 0;
	}
	free(entry);
	return err;
}

int adopt_commit(struct pins_room *room, struct control *ctl)
{
	struct adopt *a = room->adopt;
	const struct adopt_map *control = map_of(a, "control"), *m;
	struct control now = {};
	char next[ADOPT_DIR], new[ADOPT_DIR];
	unsigned int i;
	int err = 0;

	pin_path(next, sizeof(next), room->dir, "next");
	pin_path(new, sizeof(new), room->dir, "new");
	/* Counters last, because they are watched, and flows before them. */
	for (i = ADOPT_MAPS; !err && i-- > 0;) {
		m = &a->map[i];
		if (m->how == ADOPT_CARRIED && m != control)
			err = entries_carry(m);
		if (err)
			msg("%s: carrying its entries: %s", m->name, strerror(-err));
	}
	/* Somebody may have set bypass while the programs were loaded. */
	if (!err)
		err = control_read(control, &now);
	if (!err) {
		ctl->bypass = now.bypass;
		m = map_of(a, "stats");
		err = m->how == ADOPT_STATS ? stats_carry(a, m) : 0;
	}
	if (!err)
		err = abi_set(control, 0);
	if (!err && rename(next, new)) {
		err = -errno;
		abi_set(control, now.abi);
	}
	if (err) {
		msg("%s: the maps of the other version stay at work: %s: start it again", room->dir, strerror(-err));
		return err;
	}
	a->committed = 1;
	err = pins_swap(room->dir);
	if (!err)
		old_xdp_remove(room->dir);
	return err;
}

void adopt_finish(struct pins_room *room)
{
	const struct adopt_map *stats = room->adopt ? map_of(room->adopt, "stats") : NULL;

	if (stats && stats->how == ADOPT_STATS && stats_carry(room->adopt, stats))
		msg("stats: what was counted meanwhile by the other version's programs is lost");
	old_retire(room->dir);
}

int adopt_is_committed(const struct pins_room *room)
{
	return room->adopt && room->adopt->committed;
}

void adopt_close(struct pins_room *room)
{
	struct adopt *a = room->adopt;
	unsigned int i;

	if (!a)
		return;
	if (!a->committed)
		dir_remove(room->dir, "next");
	for (i = 0; i < ADOPT_MAPS; i++) {
		if (a->map[i].fd >= 0)
			close(a->map[i].fd);
		layout_free(&a->map[i].key);
		layout_free(&a->map[i].value);
	}
	btf__free(a->btf);
	btf__free(a->own);
	free(a->stats);
	free(a);
	room->adopt = NULL;
}
