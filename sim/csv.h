/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_CSV_H
#define SLUICE_SIM_CSV_H
#include <json-c/json.h>
#include <stdio.h>

/* A field of a line of CSV (RFC 4180): in quotes if it has to be. */
void csv_put(FILE *to, const char *text);
/* Every number and text of an object as a line "path,value": the path of JSON, as in "loads.0.slowdown.p99". */
void csv_flatten(FILE *to, struct json_object *o);

#endif
