/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_MAPS_H
#define SLUICE_MAPS_H

/*
 * Access to single entries, for callers that must not miss one. 0: there is none, as in a map that is not open (-1).
 * Any other answer of the kernel (no memory, for example) is -errno, with a message that names the map.
 */
int map_next(int fd, const char *map, const void *key, void *next);  /* 1: the key after key (NULL: the first) */
int map_find(int fd, const char *map, const void *key, void *value); /* 1: it is there */
int map_remove(int fd, const char *map, const void *key); /* 1: it was there */

#endif
