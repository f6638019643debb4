/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_TRACEPOINTS_H
#define SLUICE_ATTACH_TRACEPOINTS_H
#include "lib/config.h"

struct prog_room;

/* Attaches the tracepoints that the configuration wants (want), or removes the others. */
int tracepoints_apply(struct prog_room *prog, const struct config *c, int want);

#endif
