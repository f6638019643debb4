/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_CONTROL_H
#define SLUICE_ATTACH_CONTROL_H
#include "lib/config.h"

struct prog_room;

/* The configuration is in force, and the programs read it anew. */
void epoch_next(struct prog_room *prog, const struct config *c);
/* Moves the base of sequences (seq.h). A clock that is off is reported at once on request, else once an hour. */
void seq_base_follow(struct prog_room *prog, const struct config *c, int asked);
/*
 * Stores the configuration's keys in the unused slot. A new daemon has its own slots: it uses the current number,
 * because the programs of the previous one read that, too.
 */
int keys_apply(struct prog_room *prog, const struct config *c);

#endif
