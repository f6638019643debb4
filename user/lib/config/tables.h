/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_TABLES_H
#define SLUICE_CONFIG_TABLES_H
/* Reads a YAML file by a table of keys. */
#include <stdio.h>
#include <yaml.h>
#include "lib/config/keys.h"

struct tables {
	const char *path;
	const struct config_table *top;
	const char *kind;    /* in messages: "configuration" */
	const char *instead; /* what to do if a file cannot be read */
	const char *page;    /* documentation page that describes the keys */
	/* Checks the values against each other; NULL: nothing to check. */
	int (*check)(struct tables *t, void *into);
	/* private to tables.c */
	void *into;
	yaml_document_t doc;
	struct config_line *lines; /* of the values in the file */
	unsigned int lines_count, mistakes;
};

/* Fills the zeroed struct of top's fields, and checks it. Returns 0, or -errno, with a message unless it is -ENOMEM. */
int tables_load(struct tables *t, void *into);
/*
 * Reports a mistake with its line, and returns -EINVAL. at: a field of the struct that is being filled, whose key has the
 * line; if the file lacks the key, the line is that of its section or entry. Only until tables_load() returns.
 */
int config_bad(struct tables *t, const void *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Whether the file has the key of that field. Only until tables_load() returns. */
bool tables_has(const struct tables *t, const void *at);
/* Prints the keys, one a line: name, values, default, effect of SIGHUP, meaning. */
void tables_list(FILE *to, const struct config_table *top);
/* Frees the memory that the values own, not the struct. */
void tables_free(const struct config_table *t, void *of);

#endif
