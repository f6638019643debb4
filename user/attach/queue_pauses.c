// SPDX-License-Identifier: GPL-2.0-only
/*
 * The map by which ingress tells the qdiscs `sluice` of pauses (sluice/pause/qdisc.h). Whoever registers the qdisc pins
 * it beside the qdisc's other maps. Programs of other daemons on the machine use it, too: they find it among the maps of
 * the registered qdisc's program.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "attach/bpf_id.h"
#include "attach/dataplane_int.h"
#include "sluice.skel.h"
#include "sluice/pause/qdisc.h"

static int map_is_pauses(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, "queue_pauses") &&
	       info.type == BPF_MAP_TYPE_HASH && info.key_size == sizeof(struct queue_port) &&
	       info.value_size == sizeof(struct queue_pauses) && info.max_entries == QUEUE_PAUSES_PORTS;
}

/* fd, if it is the map, or a negative number. */
static int pauses_or_close(int fd)
{
	if (fd < 0 || map_is_pauses(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

static void pauses_untold(const char *what)
{
	msg("the map of pauses of another daemon's qdisc 'sluice': %s: %s: that qdisc is not told of pauses, which egress obeys instead",
	    what, strerror(errno));
}

/* The map of a program of the qdisc, or a negative number. */
static int pauses_of_program(__u32 prog_id)
{
	__u32 maps[16], n, i;
	struct bpf_prog_info info = {};
	int fd;

	n = prog_maps(prog_id, maps, sizeof(maps) / sizeof(maps[0]), &info);
	if (info.type != BPF_PROG_TYPE_STRUCT_OPS || strcmp(info.name, "queue_dequeue") != 0)
		return -ENOENT;
	for (i = 0; i < n; i++) {
		fd = bpf_map_get_fd_by_id(maps[i]);
		if (fd < 0)
			pauses_untold("opening a map of its program");
		fd = pauses_or_close(fd);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* That of the newest one: an older qdisc may still be installed somewhere. */
static int pauses_of_other_daemon(void)
{
	int newest = -ENOENT, fd;
	__u32 id = 0;

	if (kernel_btf_has("bpf_struct_ops_Qdisc_ops", BTF_KIND_STRUCT) <= 0 || !struct_ops_find("queue_ops", "sluice"))
		return -ENOENT;
	while (!bpf_prog_get_next_id(id, &id)) {
		fd = pauses_of_program(id);
		if (fd < 0)
			continue;
		if (newest >= 0)
			close(newest);
		newest = fd;
	}
	if (errno != ENOENT)
		pauses_untold("looking for its program");
	return newest;
}

int queue_pauses_share(struct sluice_bpf *s, const char *pin_dir)
{
	char path[512];
	int fd, err;

	pin_path(path, sizeof(path), pin_dir, "queue_pauses");
	fd = pauses_or_close(bpf_obj_get(path));
	if (fd < 0)
		fd = pauses_of_other_daemon();
	if (fd < 0)
		return 0; /* the programs make it, and the qdisc takes it from them */
	err = bpf_map__reuse_fd(s->maps.queue_pauses, fd);
	close(fd);
	return err;
}
