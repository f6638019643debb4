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
	const char *instead; /* what to do if a file cannot be read */
	const char *page;    /* documentation page that describes the keys */
	/* private to tables.c */
	void *into;
	const char *
		list; /* path to the list of the current entry, in messages: its first value stands for the entry, right or wrong */
};

/* Fills the zeroed struct of top's fields. Returns 0, or -errno, with a message unless it is -ENOMEM. */
int tables_load(struct tables *t, void *into);
/* Prints the keys, one a line: name, values, default, effect of SIGHUP, meaning. */
void tables_list(FILE *to, const struct config_table *top);
/* Frees the memory that the values own, not the struct. */
void tables_free(const struct config_table *t, void *of);

#endif
