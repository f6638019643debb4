// SPDX-License-Identifier: GPL-2.0-only
/* Access to the entries of BPF maps that distinguishes a missing entry from an error of the kernel. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include "lib/maps.h"
#include "lib/util.h"

int map_next(int fd, const char *map, const void *key, void *next)
{
	int err = fd < 0 ? -ENOENT : bpf_map_get_next_key(fd, key, next) ? -errno : 0;

	if (!err || err == -ENOENT)
		return !err;
	msg("%s: reading the keys of the map: %s: not all of its entries were looked at", map, strerror(-err));
	return err;
}

int map_find(int fd, const char *map, const void *key, void *value)
{
	int err = fd < 0 ? -ENOENT : bpf_map_lookup_elem(fd, key, value) ? -errno : 0;

	if (!err || err == -ENOENT)
		return !err;
	msg("%s: reading an entry of the map: %s: it is left as it is", map, strerror(-err));
	return err;
}

int map_remove(int fd, const char *map, const void *key)
{
	int err = fd < 0 ? -ENOENT : bpf_map_delete_elem(fd, key) ? -errno : 0;

	if (!err || err == -ENOENT)
		return !err;
	msg("%s: removing an entry of the map: %s: it stays", map, strerror(-err));
	return err;
}
