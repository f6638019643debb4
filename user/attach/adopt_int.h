/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ADOPT_INT_H
#define SLUICE_ADOPT_INT_H
/*
 * Shared by adopt.c (theory, begin, carry, commit, end), adopt_plan.c (plan per map) and pin_swap.c (pins, swap,
 * recover).
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "lib/layout.h"
#include "lib/pins.h"

#define ADOPT_DIR 300  /* below the pin directory, which has less than 256 */
#define ADOPT_PATH 600 /* with a file name */

enum adopt_how {
	ADOPT_SHARED,  /* the same map */
	ADOPT_CARRIED, /* entry by entry */
	ADOPT_STATS,   /* counter by counter, by their names */
	ADOPT_ANEW,    /* filled from the configuration, or by traffic */
};

struct adopt_map {
	const char *name;
	struct bpf_map *to;
	int fd; /* the other version's; -1: it has none */
	enum adopt_how how;
	struct layout_plan key, value;
};

#define ADOPT_COUNT(name) +1
#define ADOPT_MAPS (0 PINS(ADOPT_COUNT))

struct adopt {
	struct btf *btf, *own; /* of the other version, and of this one as published */
	struct adopt_map map[ADOPT_MAPS];
	struct control control;	 /* its contents, in this layout */
	int stat_from[STAT_MAX]; /* -1: the other version does not count it */
	__u64 *stats;		 /* per counter and CPU: the carried value */
	int committed;
};

/* --- adopt_plan.c --- */

/* Reads the other version's current control, in this one's layout. */
int control_read(const struct adopt_map *m, struct control *control);

/* --- pin_swap.c --- */

/* The first ADOPT_MAPS are the maps of PINS. */
extern const char *const pin_names[];

/* Opens a pin; the fd, or -1 with errno. */
int pin_get(const char *dir, const char *name);
/* Removes a directory below pin_dir, with the pins in it. */
void dir_remove(const char *pin_dir, const char *name);
/*
 * The pins in `new` replace the others. control comes last: it identifies the version. A daemon that was killed after
 * that has left a `new` without it.
 */
int pins_swap(const char *pin_dir);
/* XDP programs are identified by their counters: call this while those are pinned. tc strips telemetry meanwhile. */
void old_xdp_remove(const char *pin_dir);
/*
 * The programs of the congestion control live as long as the sockets that use it, and read W in maps that are no longer
 * written: they fall back to Reno, and if flows are carried entry by entry (own_cc) receive windows are cut down to W.
 */
void old_retire(const char *pin_dir);

#endif
