// SPDX-License-Identifier: GPL-2.0-only
/* Output that the tables of keys alone provide. */
#include <stdio.h>
#include "lib/config.h"
#include "lib/config/keys.h"
#include "lib/config/tables.h"

unsigned int config_keys_count(const struct config_table *t)
{
	unsigned int n = 0;

	while (t->keys[n].name)
		n++;
	return n;
}

const char *config_key_range(const struct config_key *k, char *buf, size_t size)
{
	if (k->range)
		snprintf(buf, size, "%s", k->range);
	else
		words_list(k->words, buf, size);
	return buf;
}

const char *config_key_advice(const struct config_key *k, char *buf, size_t size)
{
	if (k->advice)
		snprintf(buf, size, "%s", k->advice);
	else if (k->words)
		words_list(k->words, buf, size);
	else
		snprintf(buf, size, "for example %s", k->example);
	return buf;
}

/* section: "hpcc: ", "interfaces: classes: ", or "". */
static void table_list(FILE *to, const struct config_table *t, const char *section)
{
	char range[160], below[64];
	const struct config_key *k;

	for (k = t->keys; k->name; k++) {
		snprintf(below, sizeof(below), "%s%s: ", section, k->name);
		if (k->kind != &config_section) {
			fprintf(to, "%s%s\t%s%s%s%s\t", section, k->name, config_key_range(k, range, sizeof(range)),
				k->zero ? " (0: the default)" : "", k->note ? "; " : "", k->note ?: "");
			fprintf(to, k->preset && k->kind->add ? "[%s]" : "%s",
				k->otherwise	    ?:
					k->preset   ?:
					k->required ? "required" :
						      "none");
			fprintf(to, "\t%s\t%s\n", k->reload ?: "", k->meaning);
		}
		if (k->table)
			table_list(to, k->table, below);
	}
}

void tables_list(FILE *to, const struct config_table *top)
{
	table_list(to, top, "");
}

void config_keys_list(FILE *to)
{
	tables_list(to, &config_top);
}
