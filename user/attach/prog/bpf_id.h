/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_BPF_ID_H
#define SLUICE_ATTACH_BPF_ID_H
#include <bpf/bpf.h>
#include "lib/pins.h"

__u32 map_id(int fd); /* 0: unknown */
/* The id of the counters, which identifies our XDP program; 0: unknown, with a message. */
__u32 counters_id(const struct pins *p);
int prog_uses(__u32 prog_id, __u32 map_id);
/* The ids of the maps that a program holds, and its description unless about is NULL; their number, 0 if unknown. */
__u32 prog_maps(__u32 prog_id, __u32 *maps, __u32 room, struct bpf_prog_info *about);
/* Its name; "": that needs CAP_SYS_ADMIN, or it is gone. */
void prog_name(__u32 prog_id, char *name, size_t size);
/* The type of a program that uses the map, else 0, which is no type of ours. */
__u32 prog_type_of_user(__u32 prog_id, __u32 map_id);

#endif
