// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps of another SLUICE_ABI become this one's, while that one's programs work on.
 *
 *  1. A daemon pins beside its maps how they are laid out: `layout`, its object's BTF. The BTF that the kernel keeps with
 *     a map would do, but takes CAP_SYS_ADMIN.
 *  2. Maps of the same layout are taken as they are. Of others there are new ones, filled member by member (layout.h),
 *     all pinned in `next`. Until here the other version loses nothing by an error.
 *  3. `next` is renamed to `new`: from now on the maps are this version's. Pin by pin they take the place of the others,
 *     which go to `old`. Who dies in between is continued by the next daemon, of any version that has this file.
 *  4. Programs are replaced; what is left with the old ones, sockets of other network namespaces, is put in bypass. `old`
 *     goes.
 *
 * The races: between the copy of an entry and the replacement of the program, which is milliseconds, the old programs
 * write what nobody reads any more. A flow's position goes back by what it sent then, and a round of HPCC
 * is as much longer. An entry may be copied in the middle of a feedback: the next one mends W.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/bpf_id.h"
#include "attach/dataplane_int.h"
#include "lib/layout.h"
#include "lib/net.h"

#define ADOPT_BATCH 256
#define ADOPT_DIR 300  /* below the pin directory, of less than 256 */
#define ADOPT_PATH 600 /* with a name */

enum adopt_how {
	ADOPT_SHARED,  /* the same map */
	ADOPT_CARRIED, /* entry by entry */
	ADOPT_STATS,   /* counter by counter, by their names */
	ADOPT_ANEW,    /* from the configuration, or by what comes */
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
	struct btf *btf, *own; /* the other version's, and this one's as it is published */
	struct adopt_map map[ADOPT_MAPS];
	struct control control; /* what is carried of it */
	int stat_from[STAT_MAX]; /* -1: the other version does not count it */
	__u64 *stats;		 /* of each, and each CPU: what was carried */
	int committed;
};

/* --- pins --- */

static const char *const pin_names[] = {
#define ADOPT_NAME(name) #name,
	PINS(ADOPT_NAME)
#undef ADOPT_NAME
	"backlog_enqueue", "backlog_dequeue", "class_enqueue", "class_dequeue", "pfc_enqueue", "pfc_dequeue", "layout",
};

static int pin_is_ours(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(pin_names) / sizeof(pin_names[0]); i++)
		if (!strcmp(name, pin_names[i]))
			return 1;
	return !strcmp(name, "tcp_cc");
}

/* Calls fn with every name in dir; 0, also if there is no dir, or -errno with a message. */
static int dir_each(const char *dir, void (*fn)(const char *name, void *ctx), void *ctx)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int err;

	if (!d && errno == ENOENT)
		return 0;
	if (!d) {
		err = -errno;
		msg("%s: reading the directory: %s: the pins of another version in it stay", dir, strerror(-err));
		return err;
	}
	while ((e = readdir(d)))
		if (*e->d_name != '.')
			fn(e->d_name, ctx);
	closedir(d);
	return 0;
}

static void entry_unlink(const char *name, void *dir)
{
	char path[ADOPT_PATH];

	pin_path(path, sizeof(path), dir, name);
	if (unlink(path))
		msg("%s: removing the pin: %s: remove it", path, strerror(errno));
}

static void dir_remove(const char *pin_dir, const char *name)
{
	char path[ADOPT_DIR];

	pin_path(path, sizeof(path), pin_dir, name);
	dir_each(path, entry_unlink, path);
	if (rmdir(path) && errno != ENOENT)
		msg("%s: removing the directory: %s: remove it", path, strerror(errno));
}

static int pin_get(const char *dir, const char *name)
{
	char path[ADOPT_PATH];

	pin_path(path, sizeof(path), dir, name);
	return bpf_obj_get(path);
}

struct btf *adopt_layout_read(const char *dir)
{
	int fd = pin_get(dir, "layout");
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0;
	struct btf *btf = NULL;
	void *data = NULL;
	int err;

	if (fd < 0)
		return NULL;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		data = malloc(info.value_size);
	if (data && !bpf_map_lookup_elem(fd, &zero, data))
		btf = btf__new(data, info.value_size);
	err = errno;
	free(data);
	close(fd);
	errno = err;
	return btf;
}

int adopt_layout_pin(struct dataplane *dp, const char *dir)
{
	struct btf *btf;
	const void *data;
	__u32 bytes, zero = 0;
	char path[ADOPT_PATH];
	int fd, err;

	pin_path(path, sizeof(path), dir, "layout");
	if (!access(path, F_OK)) /* of the same ABI */
		return 0;
	btf = layout_published(bpf_object__btf(dp->skel->obj));
	data = btf ? btf__raw_data(btf, &bytes) : NULL;
	fd = data ? bpf_map_create(BPF_MAP_TYPE_ARRAY, "layout", sizeof(zero), bytes, 1, NULL) : -ENOMEM;
	err = fd < 0 ? fd : bpf_map_update_elem(fd, &zero, data, BPF_ANY) || bpf_obj_pin(fd, path) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	btf__free(btf);
	return err;
}

/* Another version may have had others, too; what is not Sluice's stays. */
struct pins_of {
	const char *dir, *to; /* to: where they go; NULL: nowhere */
	struct btf *btf;
};

static void foreign_remove(const char *name, void *ctx)
{
	const struct pins_of *p = ctx;
	char path[ADOPT_PATH], to[ADOPT_PATH];

	if (pin_is_ours(name) || !layout_knows(p->btf, name))
		return;
	pin_path(path, sizeof(path), p->dir, name);
	pin_path(to, sizeof(to), p->to ?: "", name);
	if (p->to ? rename(path, to) : unlink(path))
		msg("%s: %s: remove it, it is of another version", path, strerror(errno));
}

/* --- from one to the other --- */

struct swap {
	char dir[ADOPT_DIR], new[ADOPT_DIR], old[ADOPT_DIR];
	int err;
};

static void pin_swap(const char *name, struct swap *s)
{
	char at[ADOPT_PATH], from[ADOPT_PATH], to[ADOPT_PATH];

	pin_path(at, sizeof(at), s->dir, name);
	pin_path(from, sizeof(from), s->new, name);
	pin_path(to, sizeof(to), s->old, name);
	if ((rename(at, to) && errno != ENOENT) || rename(from, at)) {
		s->err = -errno;
		msg("%s: taking the place of the other version's: %s", at, strerror(errno));
	}
}

static void entry_swap(const char *name, void *ctx)
{
	if (strcmp(name, "control"))
		pin_swap(name, ctx);
}

/* control comes last: it says whose the maps are. Who was killed behind that has left a `new` without it. */
static int pins_swap(const char *pin_dir)
{
	struct swap s = {};
	struct pins_of p = { .dir = pin_dir, .to = s.old };
	char control[ADOPT_PATH];
	int err;

	snprintf(s.dir, sizeof(s.dir), "%s", pin_dir);
	pin_path(s.new, sizeof(s.new), pin_dir, "new");
	pin_path(s.old, sizeof(s.old), pin_dir, "old");
	if (mkdir(s.old, 0700) && errno != EEXIST)
		return -errno;
	err = dir_each(s.new, entry_swap, &s);
	s.err = s.err ?: err;
	pin_path(control, sizeof(control), s.new, "control");
	if (!s.err && !access(control, F_OK))
		pin_swap("control", &s);
	if (s.err)
		return s.err;
	p.btf = adopt_layout_read(s.old);
	if (p.btf)
		dir_each(pin_dir, foreign_remove, &p);
	btf__free(p.btf);
	return rmdir(s.new) && errno != ENOENT ? -errno : 0;
}

/* XDP programs are known by their counters: while those are still pinned. tc takes off telemetry meanwhile. */
static void old_xdp_remove(const char *pin_dir)
{
	struct leftover l = {};
	char old[ADOPT_DIR];
	int fd;

	pin_path(old, sizeof(old), pin_dir, "old");
	fd = pin_get(old, "stats");
	if (fd < 0) {
		if (errno != ENOENT)
			msg("%s/stats: %s: XDP programs of the other version are not looked for: see 'xdp-loader status' and 'xdp-loader unload'",
			    old, strerror(errno));
		return;
	}
	l.stats_id = map_id(fd);
	links_each(leftover_xdp_remove, &l);
	xdp_forget(0, l.stats_id);
	close(fd);
}

/*
 * The programs of the congestion control live as long as the sockets that use it, and read W in maps that nobody writes
 * any more: they go by Reno, and where flows are carried entry by entry (own_cc) receive windows are cut down to W.
 */
static void old_retire(const char *pin_dir)
{
	const struct btf_member *m;
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0, key, value, one = 1;
	struct btf *btf;
	char old[ADOPT_DIR];
	char *entry;
	int fd;

	pin_path(old, sizeof(old), pin_dir, "old");
	if (access(old, F_OK)) {
		if (errno != ENOENT)
			msg("%s: %s: the pins that an upgrade left there stay: remove them", old, strerror(errno));
		return;
	}
	btf = adopt_layout_read(old);
	fd = pin_get(old, "control");
	m = btf && fd >= 0 && !layout_map(btf, "control", &key, &value) ? layout_member(btf, value, "bypass") : NULL;
	entry = m && !bpf_obj_get_info_by_fd(fd, &info, &len) ? malloc(info.value_size) : NULL;
	if (entry && m->offset / 8 + sizeof(one) <= info.value_size && !bpf_map_lookup_elem(fd, &zero, entry)) {
		memcpy(entry + m->offset / 8, &one, sizeof(one));
		bpf_map_update_elem(fd, &zero, entry, BPF_ANY);
	}
	free(entry);
	if (fd >= 0)
		close(fd);
	btf__free(btf);
	dir_remove(pin_dir, "old");
}

/* What a version that left its layout in `where` has pinned in dir. */
static void foreign_pins_remove(const char *dir, const char *where)
{
	struct pins_of p = { .dir = dir, .btf = adopt_layout_read(where) };

	if (!p.btf && errno != ENOENT)
		msg("%s/layout: %s: pins of another version are not looked for", where, strerror(errno));
	if (p.btf)
		dir_each(dir, foreign_remove, &p);
	btf__free(p.btf);
}

void adopt_pins_remove(const char *dir)
{
	static const char *const half_way[] = { "next", "new", "old" };
	char path[ADOPT_PATH], where[ADOPT_DIR];
	unsigned int i;

	/* Between two versions pins of both are in dir, and what is still to change places says which there are. */
	foreign_pins_remove(dir, dir);
	for (i = 0; i < sizeof(half_way) / sizeof(half_way[0]); i++) {
		pin_path(where, sizeof(where), dir, half_way[i]);
		foreign_pins_remove(dir, where);
	}
	dir_remove(dir, "next");
	dir_remove(dir, "new");
	old_retire(dir);
	for (i = 0; i < sizeof(pin_names) / sizeof(pin_names[0]); i++) {
		pin_path(path, sizeof(path), dir, pin_names[i]);
		if (unlink(path) && errno != ENOENT)
			msg("%s: removing the pin: %s: remove it", path, strerror(errno));
	}
	if (rmdir(dir) && errno != ENOENT && errno != ENOTEMPTY) /* what is not Sluice's stays */
		msg("%s: removing the directory: %s: it stays, empty", dir, strerror(errno));
}

int adopt_recover(const char *pin_dir)
{
	char path[ADOPT_PATH];
	int err = 0;

	dir_remove(pin_dir, "next");
	pin_path(path, sizeof(path), pin_dir, "new");
	if (!access(path, F_OK) || errno != ENOENT)
		err = pins_swap(pin_dir);
	if (err)
		msg("%s: an upgrade that was interrupted cannot be completed: %s", pin_dir, strerror(-err));
	else
		old_xdp_remove(pin_dir);
	return err;
}

/* --- what is carried --- */

/* Of what the daemon writes itself at a start there is nothing to be carried. */
static int is_daemons(const char *name)
{
	static const char *const names[] = { "peers", "pods", "arrival_slots", "arrivals", "credits" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

/* A lock that was held, what was half written, and whose programs are to answer for it themselves. */
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
		same = 0; /* it says whose the maps are */
		m->how = ADOPT_CARRIED;
	} else if (!*m->key.lost && m->value.n && !is_daemons(m->name)) {
		m->how = ADOPT_CARRIED;
	}
	if (same)
		m->how = ADOPT_SHARED;
	return 0;
}

/* The other version's control as it is now, in this one's layout. */
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
			msg_info("%s: its entries cannot be carried, as it lacks %s%s%s: what they said is learnt anew",
				 m->name, m->key.lost, *m->key.lost && *m->value.lost ? ", " : "", m->value.lost);
		if (m->how == ADOPT_CARRIED && *m->value.lost)
			msg_info("%s: not carried, as it is not known here, or not in that form: %s", m->name,
				 m->value.lost);
		if (m->how == ADOPT_CARRIED && *m->value.added)
			msg_info("%s: begins at 0, as the other version does not know it, or not in that form: %s",
				 m->name, m->value.added);
	}
}

int adopt_open(struct dataplane *dp)
{
	char next[ADOPT_DIR];
	struct btf *btf;
	unsigned int i;

	pin_path(next, sizeof(next), dp->pin_dir, "next");
	if (!access(next, F_OK)) { /* adopt_recover() could not remove it, and libbpf would take its maps for ours */
		msg("%s: an upgrade that was interrupted left this directory: remove it, and start sluiced again", next);
		return -EEXIST;
	}
	btf = adopt_layout_read(dp->pin_dir);
	if (!btf) {
		msg("%s: the maps there are of another version, and its layout cannot be read (%s): run 'sluiced --detach --pin-dir %s' first",
		    dp->pin_dir, strerror(errno), dp->pin_dir);
		return -EPROTO;
	}
	dp->adopt = calloc(1, sizeof(*dp->adopt));
	if (!dp->adopt) {
		btf__free(btf);
		return -ENOMEM;
	}
	dp->adopt->btf = btf;
	for (i = 0; i < ADOPT_MAPS; i++) {
		dp->adopt->map[i].name = pin_names[i];
		dp->adopt->map[i].fd = -1;
	}
	return 0;
}

int adopt_plan(struct dataplane *dp)
{
	struct adopt *a = dp->adopt;
	unsigned int i;
	int err = 0;

	a->own = layout_published(bpf_object__btf(dp->skel->obj));
	if (!a->own) {
		err = -errno;
		msg("describing the maps for other versions: %s", strerror(-err));
		return err;
	}
	for (i = 0; !err && i < ADOPT_MAPS; i++) {
		struct adopt_map *m = &a->map[i];

		m->to = bpf_object__find_map_by_name(dp->skel->obj, m->name);
		err = map_plan(a, m, dp->pin_dir, a->own);
		if (!err && m->how == ADOPT_SHARED)
			err = bpf_map__reuse_fd(m->to, m->fd);
		if (!err && !strcmp(m->name, "control"))
			err = control_read(m, &a->control);
	}
	if (err) {
		msg("%s: the maps there are of another version, and %s cannot be understood: %s: run 'sluiced --detach --pin-dir %s' first",
		    dp->pin_dir, a->map[i - 1].name, strerror(-err), dp->pin_dir);
		return err;
	}
	plans_say(a, dp->pin_dir);
	a->control.abi = SLUICE_ABI;
	a->control.cc_abi = 0; /* whose it is, its maps were */
	a->control.epoch++;    /* parameters are taken from peers anew */
	return 0;
}

const struct control *adopt_control(const struct dataplane *dp)
{
	return &dp->adopt->control;
}

int adopt_fill(struct dataplane *dp)
{
	char next[ADOPT_DIR];
	__u32 zero = 0;
	int err;

	pin_path(next, sizeof(next), dp->pin_dir, "next");
	if (bpf_map_update_elem(bpf_map__fd(dp->skel->maps.control), &zero, &dp->adopt->control, BPF_ANY))
		return -errno;
	err = adopt_layout_pin(dp, next);
	return err ?: pins_open(next, &dp->pins);
}

/* All entries of a map, as they are now. */
static int entries_carry(const struct adopt_map *m)
{
	DECLARE_LIBBPF_OPTS(bpf_map_batch_opts, opts);
	char *from_keys = calloc(ADOPT_BATCH, m->key.from_bytes), *keys = calloc(ADOPT_BATCH, m->key.to_bytes);
	char *from_values = calloc(ADOPT_BATCH, m->value.from_bytes), *values = calloc(ADOPT_BATCH, m->value.to_bytes);
	__u32 cursor[16], count, i, to = bpf_map__fd(m->to); /* the cursor of some maps is a key */
	int err = !from_keys || !keys || !from_values || !values || m->key.from_bytes > sizeof(cursor) ? -ENOMEM : 0;
	int first = 1, done = 0;

	while (!err && !done) {
		count = ADOPT_BATCH;
		if (bpf_map_lookup_batch(m->fd, first ? NULL : cursor, cursor, from_keys, from_values, &count, NULL)) {
			done = errno == ENOENT; /* the end; count entries came all the same */
			if (!done) {
				err = -errno;
				break;
			}
		}
		first = 0;
		for (i = 0; i < count; i++) {
			layout_apply(&m->key, from_keys + (size_t)i * m->key.from_bytes, keys + (size_t)i * m->key.to_bytes);
			layout_apply(&m->value, from_values + (size_t)i * m->value.from_bytes,
				     values + (size_t)i * m->value.to_bytes);
		}
		if (count && bpf_map_update_batch(to, keys, values, &count, &opts)) {
			err = -errno;
			if (err == -E2BIG) {
				msg("%s: has less room here: what does not fit begins anew", m->name);
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
 * The counters, and at the end what the old programs have counted since. That adds to what new programs count
 * already: one of them may be lost while it is written, and a counter never goes back.
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

static const struct adopt_map *map_of(const struct adopt *a, const char *name)
{
	unsigned int i;

	for (i = 0; strcmp(a->map[i].name, name); i++)
		;
	return &a->map[i];
}

/* The number that says whose the maps are: 0 is nobody's, for who looks at pins that are about to change places. */
static int abi_set(const struct adopt_map *control, __u32 abi)
{
	__u32 zero = 0;
	char *entry = malloc(control->value.from_bytes);
	int err = !entry ? -ENOMEM : bpf_map_lookup_elem(control->fd, &zero, entry) ? -errno : 0;

	if (!err) {
		memcpy(entry, &abi, sizeof(abi)); /* the first member, of any version */
		err = bpf_map_update_elem(control->fd, &zero, entry, BPF_ANY) ? -errno : 0;
	}
	free(entry);
	return err;
}

int adopt_commit(struct dataplane *dp)
{
	struct adopt *a = dp->adopt;
	const struct adopt_map *control = map_of(a, "control"), *m;
	struct control now = {};
	char next[ADOPT_DIR], new[ADOPT_DIR];
	unsigned int i;
	int err = 0;

	pin_path(next, sizeof(next), dp->pin_dir, "next");
	pin_path(new, sizeof(new), dp->pin_dir, "new");
	/* Counters last, as they are watched, and flows before them. */
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
		dp->pins.ctl->bypass = now.bypass;
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
		msg("%s: the maps of the other version stay at work: %s: start it again", dp->pin_dir, strerror(-err));
		return err;
	}
	a->committed = 1;
	err = pins_swap(dp->pin_dir);
	if (!err)
		old_xdp_remove(dp->pin_dir);
	return err;
}

void adopt_finish(struct dataplane *dp)
{
	const struct adopt_map *stats = dp->adopt ? map_of(dp->adopt, "stats") : NULL;

	if (stats && stats->how == ADOPT_STATS && stats_carry(dp->adopt, stats))
		msg("stats: what was counted meanwhile by the other version's programs is lost");
	old_retire(dp->pin_dir);
}

int adopt_is_committed(const struct dataplane *dp)
{
	return dp->adopt && dp->adopt->committed;
}

void adopt_close(struct dataplane *dp)
{
	struct adopt *a = dp->adopt;
	unsigned int i;

	if (!a)
		return;
	if (!a->committed)
		dir_remove(dp->pin_dir, "next");
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
	dp->adopt = NULL;
}
