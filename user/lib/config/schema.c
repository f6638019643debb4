// SPDX-License-Identifier: GPL-2.0-only
/* The schema of libcyaml, from the tables of keys. */
#include <string.h>
#include "lib/config/keys.h"
#include "lib/config/schema.h"

#define FIELDS_MAX 128 /* keys and ends of all tables */
#define TABLES_MAX 8   /* tables of entries */

static cyaml_schema_field_t fields[FIELDS_MAX];
static cyaml_schema_value_t entries[TABLES_MAX];
static unsigned int fields_count, entries_count;
static cyaml_schema_value_t schema;
static const struct config_table *made; /* the table that the schema was made from */

static const cyaml_schema_value_t list_entry = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 1, CONFIG_TEXT_MAX),
};

static void schema_table(cyaml_schema_value_t *v, const struct config_table *t, enum cyaml_flag flags);

static void schema_value(cyaml_schema_value_t *v, const struct config_key *k)
{
	enum cyaml_flag flags = CYAML_FLAG_POINTER | (k->required ? 0 : CYAML_FLAG_OPTIONAL);

	v->flags = flags;
	if (k->kind->parse) {
		v->type = CYAML_STRING;
		v->data_size = sizeof(char);
		v->string.min = 1;
		v->string.max = k->most ?: CONFIG_TEXT_MAX;
	} else if (!k->kind->add && !k->table->size) {
		schema_table(v, k->table, flags);
	} else {
		v->type = CYAML_SEQUENCE;
		v->sequence.min = 1;
		v->sequence.max = k->most;
		v->sequence.entry = &list_entry;
		if (!k->kind->add) {
			cyaml_schema_value_t *entry = &entries[entries_count++];

			schema_table(entry, k->table, CYAML_FLAG_DEFAULT);
			v->sequence.entry = entry;
		}
		v->data_size = v->sequence.entry->data_size;
	}
}

/* A mapping with the keys of a table. */
static void schema_table(cyaml_schema_value_t *v, const struct config_table *t, enum cyaml_flag flags)
{
	unsigned int n = config_keys_count(t), i;
	cyaml_schema_field_t *f = &fields[fields_count];

	fields_count += n + 1; /* and an end marker, which is zero */
	v->type = CYAML_MAPPING;
	v->flags = flags;
	v->data_size = n * sizeof(struct config_text);
	v->mapping.fields = f;
	for (i = 0; i < n; i++) {
		f[i].key = t->keys[i].name;
		f[i].data_offset = i * sizeof(struct config_text) + offsetof(struct config_text, is);
		f[i].count_offset = i * sizeof(struct config_text) + offsetof(struct config_text, count);
		f[i].count_size = sizeof(((struct config_text *)0)->count);
		schema_value(&f[i].value, &t->keys[i]);
	}
}

const cyaml_schema_value_t *config_schema(const struct config_table *top)
{
	if (made == top)
		return &schema;
	memset(fields, 0, sizeof(fields));
	memset(entries, 0, sizeof(entries));
	fields_count = entries_count = 0;
	schema_table(&schema, top, CYAML_FLAG_POINTER);
	made = top;
	return &schema;
}
