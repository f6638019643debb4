// SPDX-License-Identifier: GPL-2.0-only
/* Registered objects of struct_ops: congestion controls and qdiscs, by the maps that hold them. */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/prog/struct_ops.h"

/* The value begins with a count and the state, and has the name of the registered object. */
int struct_ops_is_used(int fd, const char *name)
{
	enum { IN_USE = 1 }; /* BPF_STRUCT_OPS_STATE_INUSE, of the kernel's own headers */
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0, *value;
	int used;

	if (bpf_obj_get_info_by_fd(fd, &info, &len) || info.type != BPF_MAP_TYPE_STRUCT_OPS)
		return 0;
	value = calloc(1, info.value_size);
	used = value && !bpf_map_lookup_elem(fd, &zero, value) && value[1] == IN_USE &&
	       (!name || memmem(value, info.value_size, name, strlen(name) + 1));
	free(value);
	return used;
}

static int struct_ops_is(__u32 id, const char *map, const char *name)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id), is;

	if (fd < 0)
		return 0;
	is = !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, map) && struct_ops_is_used(fd, name);
	close(fd);
	return is;
}

int struct_ops_is_ours(__u32 id, const char *name)
{
	return struct_ops_is(id, "tcp_cc", name);
}

__u32 struct_ops_find(const char *map, const char *name)
{
	__u32 id = 0;

	while (!bpf_map_get_next_id(id, &id))
		if (struct_ops_is(id, map, name))
			return id;
	return 0;
}

__u32 struct_ops_by_name(const char *name)
{
	return struct_ops_find("tcp_cc", name);
}
