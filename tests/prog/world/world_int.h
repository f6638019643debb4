/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_INT_H
#define WORLD_INT_H
/*
 * Shared by the files of the world; the tests do not see it. A file takes from those above it: load, run (a frame through
 * a program), expect (counters and complaints); one for each kind of map entries: control, ports, peers, flows, voqs; and
 * below all of them maps and clock.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sluice.skel.h"
#include "world.h"

extern struct sluice_bpf *skel;

/* The time at which the programs' clock stands; 0: it runs. */
extern __u64 held_ns;
/* From now on the programs' clock stands. */
void clock_hold(void);

/* The configuration uses the wings from now on; programs are loaded with those that are used (user/attach/prog/programs.c). */
void wings_use(__u8 wings);

/* Frames that were run since the counters were looked at. */
extern unsigned int frames;
/* Entries of the flow map then, and those that a test has put there since. */
extern unsigned int flows_known;
/* The text of fixture(), followed by a colon. */
extern char fixture_text[256];

/* The test fails where this does. */
void map_set(const struct bpf_map *map, const void *key, const void *value);
/* Whether there is such an entry. */
int map_get(const struct bpf_map *map, const void *key, void *value);
/* Whether a port of the configuration is about to leave. */
void ports_leaving_set(int leave);

#endif
