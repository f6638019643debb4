// SPDX-License-Identifier: GPL-2.0-only
/* From file and command line to struct scenario. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/config/tables.h"
#include "lib/util.h"
#include "sim/scenario.h"
#include "sim/scenario_keys.h"
#include "sim/scheme.h"

static const struct config_key *key_find(const struct config_table *t, const char *name, size_t length)
{
	const struct config_key *k;

	for (k = t->keys; k->name; k++)
		if (strlen(k->name) == length && !strncmp(k->name, name, length))
			return k;
	return NULL;
}

/* The entry of a list that has that number or, as its first key, that name. */
static void *entry_find(const struct config_key *list, void *of, const char *name, size_t length)
{
	char *entries = *(char **)field_at(of, &list->field), *end;
	unsigned int n = field_get(of, &list->count), i;
	unsigned long number = strtoul(name, &end, 10);

	if (end == name + length && number < n)
		return entries + number * list->table->size;
	for (i = 0; i < n; i++) {
		const char *is = *(char **)field_at(entries + i * list->table->size, &list->table->keys[0].field);

		if (strlen(is) == length && !strncmp(is, name, length))
			return entries + i * list->table->size;
	}
	return NULL;
}

/* "topology.hosts=32", "loads.mice.size=10KB". Returns 0, or -1 with a message. */
static int override(struct scenario *s, const char *text)
{
	const struct config_table *t = &scenario_top;
	const struct config_key *k = NULL;
	const char *at = text, *value = strchr(text, '=');
	void *of = s, *old;
	char advice[192];
	size_t length;

	while (value && t) {
		length = strcspn(at, ".=");
		k = key_find(t, at, length);
		if (!k)
			break;
		at += length + 1;
		t = k->table;
		if (!t || !t->size)
			continue;
		length = strcspn(at, ".=");
		of = at < value ? entry_find(k, of, at, length) : NULL;
		if (!of)
			break;
		at += length + 1;
	}
	if (!k || !of || t || at != value + 1) {
		msg("'%s': no such key: write SECTION.KEY=VALUE, for example topology.hosts=32 or loads.0.size=10KB; "
		    "sluice-sim --list-keys names all",
		    text);
		return -1;
	}
	old = k->kind == &config_string ? *(void **)field_at(of, &k->field) : NULL;
	if (k->kind->parse(k, value + 1, of)) {
		msg("'%s': %s is not %s: write %s", text, value + 1, k->range ?: "one of its words",
		    config_key_advice(k, advice, sizeof(advice)));
		return -1;
	}
	free(old);
	return 0;
}

struct scenario *scenario_load(const char *path, char **overrides, int count)
{
	struct tables t = {
		.path = path,
		.top = &scenario_top,
		.kind = "scenario",
		.instead = "name another file",
		.page = "docs/simulator.md",
	};
	struct scenario *s = calloc(1, sizeof(*s));
	int err = s ? tables_load(&t, s) : -ENOMEM, i;

	if (err == -ENOMEM)
		msg("%s: %s", path, strerror(ENOMEM));
	for (i = 0; i < count && !err; i++)
		err = override(s, overrides[i]);
	if (!err && !scheme_find(s->scheme)) {
		msg("scheme '%s' is not known: sluice-sim --list-schemes names them", s->scheme);
		err = -EINVAL;
	}
	if (!err)
		return s;
	scenario_free(s);
	return NULL;
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	tables_free(&scenario_top, s);
	free(s);
}
