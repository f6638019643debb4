// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds our attached programs by the counters that all of them use. This needs no ports map, whose layout may be
 * another version's, and covers other network namespaces too.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/hook/filter.h"
#include "attach/hook/xdp.h"
#include "attach/pins/leftover.h"
#include "attach/prog/bpf_id.h"
#include "lib/bpffs.h"
#include "lib/layout.h"
#include "lib/net.h"
#include "lib/route.h"

static int filter_is_ours(__u32 ifindex, enum bpf_tc_attach_point where, const struct leftover *l)
{
	__u32 prog_id;
	int err = filter_find(l->pin_dir, ifindex, where, &prog_id);

	if (err && err != -ENOENT)
		msg("interface %u: reading its %s filters: %s: they count as none of ours", ifindex,
		    where == BPF_TC_EGRESS ? "egress" : "ingress", strerror(-err));
	return !err && (prog_uses(prog_id, l->stats_id) || (l->old_id && prog_uses(prog_id, l->old_id)));
}

static void leftover_count(__u32 ifindex, void *ctx)
{
	struct leftover *l = ctx;

	l->interfaces += filter_is_ours(ifindex, BPF_TC_EGRESS, l) || filter_is_ours(ifindex, BPF_TC_INGRESS, l);
}

int leftover_anywhere(const struct leftover *l)
{
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id))
		if (prog_type_of_user(id, l->stats_id) == BPF_PROG_TYPE_SCHED_CLS ||
		    (l->old_id && prog_type_of_user(id, l->old_id) == BPF_PROG_TYPE_SCHED_CLS))
			return 1;
	return 0;
}

void leftover_egress_remove(__u32 ifindex, void *ctx)
{
	const struct leftover *l = ctx;

	if (filter_is_ours(ifindex, BPF_TC_EGRESS, l))
		filter_remove(l->pin_dir, ifindex, BPF_TC_EGRESS);
}

void leftover_xdp_remove(__u32 ifindex, void *ctx)
{
	const struct leftover *l = ctx;

	xdp_remove(ifindex, l->stats_id);
	if (l->old_id)
		xdp_remove(ifindex, l->old_id);
}

void leftover_ingress_remove(__u32 ifindex, void *ctx)
{
	const struct leftover *l = ctx;

	if (!filter_is_ours(ifindex, BPF_TC_INGRESS, l))
		return;
	filter_remove(l->pin_dir, ifindex, BPF_TC_INGRESS);
	route_remove_ours(ifindex);
}

static __u32 pinned_id(const char *dir, const char *name)
{
	char path[512];
	__u32 id;
	int fd;

	pin_path(path, sizeof(path), dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0) {
		if (errno != ENOENT)
			msg("%s: %s: its filters are not looked for", path, strerror(errno));
		return 0;
	}
	id = map_id(fd);
	if (!id)
		msg("%s: asking for its number: %s: its filters are not looked for", path, strerror(errno));
	close(fd);
	return id;
}

void leftover_find(const char *pin_dir, struct leftover *l)
{
	memset(l, 0, sizeof(*l));
	l->pin_dir = pin_dir;
	l->stats_id = pinned_id(pin_dir, "stats");
	l->old_id = pinned_id(pin_dir, "old/stats");
	if (l->stats_id || l->old_id)
		links_each(leftover_count, l);
}

/* --- attached programs whose pins are gone --- */

static __u32 pinned_map_id(const char *path)
{
	int fd = bpf_obj_get(path);
	__u32 id = fd < 0 ? 0 : map_id(fd);

	if (fd >= 0)
		close(fd);
	return id;
}

int map_owner_find(const char *name, __u32 map, char *dir, size_t size)
{
	char pattern[64] = "/sys/fs/bpf";
	int depth, found = 0;
	size_t i;
	glob_t g;

	for (depth = 0; depth < 3 && !found; depth++) {
		size_t len = strlen(pattern);

		snprintf(pattern + len, sizeof(pattern) - len, "/*/%s", name);
		if (!glob(pattern, 0, NULL, &g)) {
			for (i = 0; i < g.gl_pathc && !found; i++) {
				found = pinned_map_id(g.gl_pathv[i]) == map;
				if (found)
					snprintf(dir, size, "%.*s", (int)(strlen(g.gl_pathv[i]) - strlen(name) - 1),
						 g.gl_pathv[i]);
			}
			globfree(&g);
		}
		pattern[len + 2] = 0;
	}
	return found;
}

/* When the daemon of these maps was last alive, whichever version has made them; 0: that is not known. */
static __u64 heartbeat_of(int fd, const struct bpf_map_info *map)
{
	struct btf *btf = btf__load_from_kernel_by_id(map->btf_id);
	const struct btf_member *m = btf ? layout_member(btf, map->btf_value_type_id, "heartbeat_ns") : NULL;
	void *value = m ? calloc(1, map->value_size) : NULL;
	__u32 zero = 0;
	__u64 ns = 0;

	if (value && m->offset / 8 + sizeof(ns) <= map->value_size && !bpf_map_lookup_elem(fd, &zero, value))
		memcpy(&ns, (char *)value + m->offset / 8, sizeof(ns));
	free(value);
	btf__free(btf);
	return ns;
}

int left_filter_describe(struct left_filter *f, __u32 prog_id)
{
	static const char *const names[] = { "egress", "ingress", "hop", "hop_map", "pod_hop", "tor", "pfc" };
	struct bpf_prog_info info = {};
	__u32 maps[64], n = prog_maps(prog_id, maps, sizeof(maps) / sizeof(maps[0]), &info), len, i;
	int fd, ours = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ours |= !strcmp(info.name, names[i]);
	snprintf(f->program, sizeof(f->program), "%.15s", info.name);
	for (i = 0; ours && i < n; i++) {
		struct bpf_map_info map = {};

		len = sizeof(map);
		fd = bpf_map_get_fd_by_id(maps[i]);
		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &map, &len)) {
			if (!strcmp(map.name, "stats"))
				f->stats_id = map.id;
			if (!strcmp(map.name, "control"))
				f->heartbeat_ns = heartbeat_of(fd, &map);
		}
		close(fd);
	}
	return f->stats_id ? 0 : -ENOENT;
}
