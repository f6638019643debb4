/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_COMPARE_H
#define SLUICE_SIM_COMPARE_H
/*
 * One scenario under several schemes: a process for each, as many at once as there are CPUs, then one table and one picture.
 */
#include <json-c/json.h>
#include "sim/simulate.h"

#define COMPARED_MAX 16

/* The run of one scheme. Its files are removed after printing. */
struct compared {
	const char *scheme;
	char json[128], series[160];
	struct json_object *result;
	int process; /* 0: none is running */
};

/* Returns an exit status. */
int compare_schemes(struct scenario *s, const struct wanted *w);

/* Checks that gnuplot is there, and the file can be written: 0, or -1 with a message. */
int picture_check(const char *file);
/* Draws slowdown by size, and the longest queue over time. Returns 0, or -1 with a message. */
int picture_draw(const char *file, const struct compared *list, uint32_t count);

#endif
