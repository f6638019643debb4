/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SIMULATE_H
#define SLUICE_SIM_SIMULATE_H
#include "sim/scenario.h"

/* Options of the command line besides the scenario. */
struct wanted {
	enum { AS_TABLE, AS_JSON, AS_CSV } result;
	const char *series;  /* file */
	int series_in_short; /* without single ports and flows */
	char *schemes;	     /* schemes to compare, separated by commas; NULL: one run, of the scenario's scheme */
	const char *picture; /* file */
};

/* Runs a scenario, once per process, and prints its result. Returns an exit status. */
int simulate(const struct scenario *s, const struct wanted *w);

#endif
