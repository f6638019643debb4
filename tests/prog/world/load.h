/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_LOAD_H
#define WORLD_LOAD_H
/* The programs and their maps; the tests do not see it. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sluice.skel.h"
#include "world.h"

extern struct sluice_bpf *skel;

/* The configuration uses the wings from now on; programs are loaded with those that are used (user/attach/prog/programs.c). */
void wings_use(__u8 wings);

#endif
