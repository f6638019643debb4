/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SCHEME_H
#define SLUICE_SIM_SCHEME_H
/*
 * Congestion controls. Those of the papers are the core of include/sluice, unchanged; the others are here for
 * comparison, as in their papers.
 */
#include <stdio.h>
#include "sim/control.h"

extern const struct scheme schemes[];

/* The scheme of that name, or NULL. */
const struct scheme *scheme_find(const char *name);
/* Prints their names, one a line, each with what it implies behind a tab. */
void schemes_list(FILE *to);

#endif
