// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of ours is attached, by the counters that all of our programs use. This needs no ports map,
 * whose layout may be another version's, and sees other network namespaces too.
 */
#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>
#include "dataplane_int.h"
#include "net.h"

__u32 map_id(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/* The type of a program that uses the map, else 0, which is no type of ours. */
static __u32 prog_type_of_user(__u32 prog_id, __u32 map_id)
{
	int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = {};
	__u32 maps[64], len = sizeof(info), type = 0, i;

	if (fd < 0)
		return 0;
	info.nr_map_ids = sizeof(maps) / sizeof(maps[0]);
	info.map_ids = (uintptr_t)maps;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		for (i = 0; i < info.nr_map_ids && i < sizeof(maps) / sizeof(maps[0]); i++)
			if (maps[i] == map_id)
				type = info.type;
	close(fd);
	return type;
}

int prog_uses(__u32 prog_id, __u32 map_id)
{
	return prog_type_of_user(prog_id, map_id) != 0;
}

static int filter_is_ours(__u32 ifindex, enum bpf_tc_attach_point where, const struct leftover *l)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY);

	return !bpf_tc_query(&hook, &opts) &&
	       (prog_uses(opts.prog_id, l->stats_id) || (l->old_id && prog_uses(opts.prog_id, l->old_id)));
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
		filter_remove(ifindex, BPF_TC_EGRESS);
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
	filter_remove(ifindex, BPF_TC_INGRESS);
	route_remove_ours(ifindex, NULL, NULL);
}

static __u32 pinned_id(const char *dir, const char *name)
{
	char path[512];
	__u32 id;
	int fd;

	pin_path(path, sizeof(path), dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return 0;
	id = map_id(fd);
	close(fd);
	return id;
}

void leftover_find(const char *pin_dir, struct leftover *l)
{
	memset(l, 0, sizeof(*l));
	l->stats_id = pinned_id(pin_dir, "stats");
	l->old_id = pinned_id(pin_dir, "old/stats");
	if (l->stats_id || l->old_id)
		links_each(leftover_count, l);
}
