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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/adopt_int.h"
#include "attach/dataplane_int.h"
#include "lib/layout.h"

#define ADOPT_BATCH 256

int adopt_open(struct dataplane *dp)
{
	char next[ADOPT_DIR];
	struct btf *btf;
	unsigned int i;

	pin_path(next, sizeof(next), dp->pin_dir, "next");
	if (!access(next, F_OK)) { /* adopt_recover() could not remove it, and libbpf would use its maps */
		msg("%s: an upgrade that was interrupted left this directory: remove it, and start sluiced again",
		    next);
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
