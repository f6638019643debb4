// SPDX-License-Identifier: GPL-2.0-only
/* Decides which maps of another version are shared, carried or made anew, and reports it. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/adopt_int.h"
#include "attach/dataplane_int.h"
#include "lib/layout.h"

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

int control_read(const struct adopt_map *m, struct control *control)
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
	a->control.cc_abi = 0; /* the previous owner's maps are gone */
	a->control.epoch++;    /* parameters are read from peers anew */
	return 0;
}
