/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_MAPS_H
#define WORLD_MAPS_H
struct bpf_map;

/* The test fails where this does. */
void map_set(const struct bpf_map *map, const void *key, const void *value);
/* Whether there is such an entry. */
int map_get(const struct bpf_map *map, const void *key, void *value);

#endif
