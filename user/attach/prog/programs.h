/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PROGRAMS_H
#define SLUICE_ATTACH_PROGRAMS_H
#include "lib/config.h"

struct control;
struct prog_room;

/* Opens prog->skel, over the maps of the pin directory, or of `next` there while prog->adopting. */
int programs_open(struct prog_room *prog, const struct config *c);
/* Loads the sets that the configuration wants. was: control as the earlier daemon left it; NULL: there was none. */
int programs_load(struct prog_room *prog, const struct config *c, const struct control *was);
/* Loads the sets that it wants beyond those that are loaded. */
int programs_add(struct prog_room *prog, const struct config *c);

/* The parts of the data plane that need not all load. */
#define PARTS_N 8
extern const char *const part_names[PARTS_N]; /* host and switch are the first two */
/* Loads the programs of a part that this kernel supports, or of all (PARTS_N), and discards them: 0, or -errno. */
int programs_try(unsigned int part);

#endif
