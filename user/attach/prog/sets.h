/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_SETS_H
#define SLUICE_ATTACH_SETS_H
#include "lib/config.h"

struct prog_room;

/* The sets that a configuration wants, as bits. */
unsigned int sets_wanted(const struct config *c);
__u8 wings_wanted(const struct config *c);
/* Of these sets those that have to be loaded to have all wings, too. */
unsigned int sets_missing(const struct prog_room *prog, unsigned int sets, __u8 wings);

#endif
