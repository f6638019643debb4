/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_HOST_MAPS_H
#define SLUICE_ATTACH_HOST_MAPS_H
#include <bpf/libbpf.h>
#include "lib/config.h"

struct prog_room;
struct sluice_bpf;

/* Whether the configuration has use for the maps of a host. */
int host_maps_are_used(const struct config *c);
/* For how many entries a map has room. 0: it is not known, with a message. */
__u32 map_entries(int fd, const char *name);
/* The same for a pin; 0 also if there is none. */
__u32 pin_entries(const char *dir, const char *name);
/* A map in use keeps the room that it has, with a message; has 0: it gets the room that is wanted. */
__u32 room_kept(__u32 has, __u32 wanted, const char *key);

/* Before the programs of prog->skel are loaded: the sizes of the maps. */
int host_maps_size(struct prog_room *prog, const struct config *c);
/* The sizes in the object that a reload loads. */
int host_maps_grow(struct sluice_bpf *s, const struct config *c);
/* When that is loaded, its maps take the place of the small ones. */
int host_maps_take(struct prog_room *prog);
/* Makes the maps of one object those of another, matched by name. grow: small ones of a host are made anew. */
int maps_share(struct bpf_object *to, const struct bpf_object *from, int grow);

#endif
