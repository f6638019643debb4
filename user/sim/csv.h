/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CSV_H
#define SLUICE_SIM_CSV_H
#include <stdio.h>

/* A field of a line of CSV (RFC 4180): in quotes if it has to be. */
void csv_put(FILE *to, const char *text);

#endif
