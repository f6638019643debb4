// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maps that the qdisc `sluice` and the programs of all daemons of the machine have in common: pauses, and setup and
 * classes of ports. Whoever registers the qdisc pins them beside the qdisc's other maps. Another daemon finds them among
 * the maps of the registered qdisc's program.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "attach/prog/bpf_id.h"
#include "attach/prog/kernel.h"
#include "attach/prog/queue_shared.h"
#include "attach/prog/struct_ops.h"
#include "lib/bpffs.h"
#include "sluice.skel.h"
#include "sluice/pause/qdisc.h"
#include "sluice/queue/port.h"

struct shared {
	const char *name;
	__u32 key_size, value_size;
};

static const struct shared shared[] = {
	{ "queue_pauses", sizeof(struct queue_port), sizeof(struct queue_pauses) },
	{ "queue_ports", sizeof(struct queue_port), sizeof(struct queue_setup) },
	{ "queue_classes", sizeof(struct queue_class_key), sizeof(struct class_seen) },
};
#define SHARED (sizeof(shared) / sizeof(shared[0]))

/* fd, if it is the map, or a negative number. */
static int shared_or_close(const struct shared *m, int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0)
		return fd;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, m->name) && info.type == BPF_MAP_TYPE_HASH &&
	    info.key_size == m->key_size && info.value_size == m->value_size && info.max_entries == QUEUE_PORTS_MAX)
		return fd;
	close(fd);
	return -ENOENT;
}

static void shared_unknown(const struct shared *m, const char *what)
{
	msg("the map %s of another daemon's qdisc 'sluice': %s: %s: that qdisc is not told of pauses, rates and classes, and egress obeys pauses instead",
	    m->name, what, strerror(errno));
}

/* The map of a program of the qdisc, or a negative number. */
static int shared_of_program(const struct shared *m, __u32 prog_id)
{
	__u32 maps[24], n, i;
	struct bpf_prog_info info = {};
	int fd;

	n = prog_maps(prog_id, maps, sizeof(maps) / sizeof(maps[0]), &info);
	if (info.type != BPF_PROG_TYPE_STRUCT_OPS || strcmp(info.name, "queue_dequeue") != 0)
		return -ENOENT;
	for (i = 0; i < n; i++) {
		fd = bpf_map_get_fd_by_id(maps[i]);
		if (fd < 0)
			shared_unknown(m, "opening a map of its program");
		fd = shared_or_close(m, fd);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* That of the newest one: an older qdisc may still be installed somewhere. */
static int shared_of_other_daemon(const struct shared *m)
{
	int newest = -ENOENT, fd;
	__u32 id = 0;

	if (kernel_btf_has("bpf_struct_ops_Qdisc_ops", BTF_KIND_STRUCT) <= 0 || !struct_ops_find("queue_ops", "sluice"))
		return -ENOENT;
	while (!bpf_prog_get_next_id(id, &id)) {
		fd = shared_of_program(m, id);
		if (fd < 0)
			continue;
		if (newest >= 0)
			close(newest);
		newest = fd;
	}
	if (errno != ENOENT)
		shared_unknown(m, "looking for its program");
	return newest;
}

/* The map that is pinned here, or a negative number: -ENOENT, or what failed, with a message. */
static int shared_of_pin(const struct shared *m, const char *pin_dir)
{
	char path[512];
	int fd;

	pin_path(path, sizeof(path), pin_dir, m->name);
	fd = bpf_obj_get(path);
	if (fd < 0 && fd != -ENOENT)
		msg("%s: %s", path, strerror(-fd));
	return shared_or_close(m, fd);
}

int queue_maps_share(struct sluice_bpf *s, const char *pin_dir)
{
	struct bpf_map *map;
	unsigned int i;
	int fd, err = 0;

	for (i = 0; !err && i < SHARED; i++) {
		fd = shared_of_pin(&shared[i], pin_dir);
		if (fd == -ENOENT)
			fd = shared_of_other_daemon(&shared[i]);
		if (fd == -ENOENT)
			continue; /* the programs make it, and the qdisc takes it from them */
		if (fd < 0)
			return fd;
		map = bpf_object__find_map_by_name(s->obj, shared[i].name);
		err = map ? bpf_map__reuse_fd(map, fd) : -ENOENT;
		close(fd);
	}
	return err;
}

int queue_maps_take(struct bpf_object *queue, struct sluice_bpf *s)
{
	struct bpf_map *from, *to;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < SHARED; i++) {
		from = bpf_object__find_map_by_name(s->obj, shared[i].name);
		to = bpf_object__find_map_by_name(queue, shared[i].name);
		err = from && to ? bpf_map__reuse_fd(to, bpf_map__fd(from)) : -ENOENT;
	}
	return err;
}
