// SPDX-License-Identifier: GPL-2.0-only
/* Programs and maps by the numbers that the kernel gives them. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "attach/prog/bpf_id.h"
#include "lib/util.h"

__u32 map_id(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

__u32 prog_maps(__u32 prog_id, __u32 *maps, __u32 room, struct bpf_prog_info *about)
{
	int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = { .nr_map_ids = room, .map_ids = (uintptr_t)maps };
	__u32 len = sizeof(info), n = 0;
	int err = fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : 0;

	if (!err) {
		n = info.nr_map_ids < room ? info.nr_map_ids : room;
		if (about)
			*about = info;
	} else if (err != -ENOENT && err != -EPERM) { /* it is gone, or needs CAP_SYS_ADMIN */
		msg("program %u: asking which maps it uses: %s: it counts as none of ours", prog_id, strerror(-err));
	}
	if (fd >= 0)
		close(fd);
	return n;
}

void prog_name(__u32 prog_id, char *name, size_t size)
{
	int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		info.name[0] = 0;
	snprintf(name, size, "%s", info.name);
	if (fd >= 0)
		close(fd);
}

__u32 counters_id(const struct pins *p)
{
	__u32 id = map_id(p->stats);

	if (!id)
		msg("stats: asking for the number of the map: %s: our XDP program is not looked for: see 'xdp-loader status' and 'xdp-loader unload'",
		    strerror(errno));
	return id;
}

__u32 prog_type_of_user(__u32 prog_id, __u32 map_id)
{
	struct bpf_prog_info info = {};
	__u32 maps[64], n = prog_maps(prog_id, maps, sizeof(maps) / sizeof(maps[0]), &info), i;

	for (i = 0; i < n; i++)
		if (maps[i] == map_id)
			return info.type;
	return 0;
}

int prog_uses(__u32 prog_id, __u32 map_id)
{
	return prog_type_of_user(prog_id, map_id) != 0;
}
