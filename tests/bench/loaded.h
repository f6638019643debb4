/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADED_H
#define LOADED_H
/* The programs, and what belongs to them: world.c loads them, scene.c sets their maps. */
#include "world.h"

#include "bench.skel.h"
#include "edt.skel.h"
#include "sluice.skel.h"
#include "sluice_xdp.skel.h"

struct world {
	struct sluice_bpf *sluice;
	struct sluice_xdp_bpf *xdp;
	struct bench_bpf *bench;
	struct edt_bpf *edt;
	struct ring_buffer *ring; /* of what is traced */
	struct head *heads;
	int kernel_clock; /* open: the kernel times programs */
};

#define SPEED_BPS 100000000000ULL
#define MTU 1500

extern struct world world;

void map_set(const struct bpf_map *map, const void *key, const void *value);
void map_get(const struct bpf_map *map, const void *key, void *value);

#endif
