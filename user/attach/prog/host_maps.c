// SPDX-License-Identifier: GPL-2.0-only
/*
 * The room of the maps, and how objects share them.
 *
 * Maps that only the programs of a host, and its congestion control, use have 63 MB. Without either they have room for
 * one entry. A reload that adds a host makes them anew, with the programs that it loads, as none that runs has them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "attach/prog/host_maps.h"
#include "attach/prog/prog_room.h"
#include "attach/prog/sets.h"
#include "lib/bpffs.h"
#include "sluice.skel.h"

static const char *const host_map_names[] = { "flows", "rx_states", "hosts", "asked", "syn_offers", "wanted" };
#define HOST_MAPS (sizeof(host_map_names) / sizeof(host_map_names[0]))

/* The room that a host needs; flows and their rx_states have as many as the configuration says. */
static __u32 room_wanted(const struct bpf_map *map, const struct config *c)
{
	const char *name = bpf_map__name(map);

	return !strcmp(name, "flows") || !strcmp(name, "rx_states") ? c->max_flows : bpf_map__max_entries(map);
}

int host_maps_are_used(const struct config *c)
{
	return sets_wanted(c) & SET_BIT(SET_HOST) || c->tcp.name;
}

__u32 map_entries(int fd, const char *name)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		return info.max_entries;
	msg("%s: asking how large the map is: %s: assuming the size in the configuration", name, strerror(errno));
	return 0;
}

__u32 pin_entries(const char *dir, const char *name)
{
	char path[512];
	__u32 has;
	int fd;

	pin_path(path, sizeof(path), dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0) {
		if (errno != ENOENT)
			msg("%s: %s: assuming the size in the configuration", path, strerror(errno));
		return 0;
	}
	has = map_entries(fd, name);
	close(fd);
	return has;
}

__u32 room_kept(__u32 has, __u32 wanted, const char *key)
{
	if (has && has != wanted)
		msg("%s stays %u: its map is in use; stop sluiced or detach to change it", key, has);
	return has ?: wanted;
}

/* One that is pinned keeps its size, unless it is that of an earlier daemon that had no host: then it is made anew. */
static __u32 host_map_room(struct prog_room *prog, const struct bpf_map *map, __u32 room, int used)
{
	__u32 has = bpf_map__pin_path(map) ? pin_entries(prog->pin_dir, bpf_map__name(map)) : 0;
	char path[512];

	if (!has || has == room)
		return room;
	if (!used)
		return has;
	if (has > 1)
		return room_kept(has, room, "max_flows");
	if (prog->adopting) /* the other version's pin goes with its maps */
		return room;
	pin_path(path, sizeof(path), prog->pin_dir, bpf_map__name(map));
	if (unlink(path)) {
		msg("%s: %s: it stays as small as without a host", path, strerror(errno));
		return has;
	}
	prog->lost = !prog->fresh;
	return room;
}

/* The maps that have as many entries as flows. */
static int flow_maps_size(struct sluice_bpf *s, __u32 room)
{
	return bpf_map__set_max_entries(s->maps.rx_states, room) ?: bpf_map__set_max_entries(s->maps.flow_paths, room);
}

int host_maps_size(struct prog_room *prog, const struct config *c)
{
	int used = host_maps_are_used(c), err = 0;
	struct bpf_map *map;
	unsigned int i;
	__u32 room;

	for (i = 0; i < HOST_MAPS && !err; i++) {
		map = bpf_object__find_map_by_name(prog->skel->obj, host_map_names[i]);
		if (!map)
			continue;
		room = host_map_room(prog, map, used ? room_wanted(map, c) : 1, used);
		err = bpf_map__set_max_entries(map, room);
	}
	room = bpf_map__max_entries(prog->skel->maps.flows);
	return err ?: flow_maps_size(prog->skel, room);
}

/* Whether a map of a new object is one of these that is to be made anew, as the one in use has room for one entry. */
static int host_map_is_small(const struct bpf_map *map, const struct bpf_map *in_use)
{
	unsigned int i;

	for (i = 0; i < HOST_MAPS && strcmp(bpf_map__name(map), host_map_names[i]); i++)
		;
	return i < HOST_MAPS && map_entries(bpf_map__fd(in_use), host_map_names[i]) == 1 &&
	       bpf_map__max_entries(map) > 1;
}

int host_maps_grow(struct sluice_bpf *s, const struct config *c)
{
	return bpf_map__set_max_entries(s->maps.flows, c->max_flows) ?: flow_maps_size(s, c->max_flows);
}

/* The file descriptor of a pinned map; -1: it is none. */
static int pins_fd(const struct pins *p, const char *name)
{
#define PINS_NAMED(pin)          \
	if (!strcmp(name, #pin)) \
		return p->pin;
	PINS(PINS_NAMED)
#undef PINS_NAMED
	return -1;
}

/* A map takes the place of a small one: its pin, and the file descriptors by which everybody here knows that. */
static int host_map_replace(struct prog_room *prog, const struct bpf_map *map, int in_use, int pin)
{
	char path[512], next[520];
	int fd = bpf_map__fd(map);

	if (pin >= 0) {
		pin_path(path, sizeof(path), prog->pin_dir, bpf_map__name(map));
		snprintf(next, sizeof(next), "%s_next", path);
		if (bpf_obj_pin(fd, next))
			return -errno;
		if (rename(next, path)) {
			unlink(next);
			return -errno;
		}
		dup3(fd, pin, O_CLOEXEC);
	}
	return dup3(fd, in_use, O_CLOEXEC) < 0 ? -errno : 0;
}

int host_maps_take(struct prog_room *prog)
{
	const struct sluice_bpf *s = prog->of[SET_HOST] ?: prog->skel;
	const struct bpf_map *map, *in_use;
	unsigned int i;
	int err = 0;

	for (i = 0; i < HOST_MAPS && !err && s != prog->skel; i++) {
		map = bpf_object__find_map_by_name(s->obj, host_map_names[i]);
		in_use = bpf_object__find_map_by_name(prog->skel->obj, host_map_names[i]);
		if (!map || !in_use || !host_map_is_small(map, in_use))
			continue;
		err = host_map_replace(prog, map, bpf_map__fd(in_use), pins_fd(prog->pins, host_map_names[i]));
		if (err)
			msg("%s: a map for a host's flows in place of the small one: %s", host_map_names[i],
			    strerror(-err));
	}
	return err;
}

int maps_share(struct bpf_object *to, const struct bpf_object *from, int grow)
{
	struct bpf_map *map, *other;
	int err;

	bpf_object__for_each_map (map, to) {
		other = bpf_object__find_map_by_name(from, bpf_map__name(map));
		if (!other || bpf_map__is_internal(map) || bpf_map__fd(other) < 0 ||
		    (grow && host_map_is_small(map, other)))
			continue;
		err = bpf_map__reuse_fd(map, bpf_map__fd(other));
		if (err)
			return err;
	}
	return 0;
}
