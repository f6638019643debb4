/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_TABLES_H
#define SLUICE_CONFIG_TABLES_H
/* Reads a YAML file by a table of keys. */
#include <stdio.h>
#include "lib/config/keys.h"

struct tables {
	const char *path;
	const struct config_table *top;
	const char *kind;    /* in messages: "configuration" */
	const char *instead; /* what to do about a file that cannot be read */
	const char *page;    /* of the documentation that describes the keys */
	/* of tables.c */
	void *into;
	const char *
		list; /* the way to the list of the entry at hand: its first value stands for the entry, right or wrong */
};

/* Into a struct, zero before, that top's fields are of. Returns 0, or -errno; all but -ENOMEM has a message then. */
int tables_load(struct tables *t, void *into);
/* Prints the keys, one a line: name, values, default, what SIGHUP does with it, meaning. */
void tables_list(FILE *to, const struct config_table *top);
/* Frees what the values own, not the struct. */
void tables_free(const struct config_table *t, void *of);

#endif
