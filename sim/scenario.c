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
#include "sim/topology_file.h"

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

/* The key of "topology.hosts=32" or "loads.mice.size=10KB", and the struct that it is in. NULL: there is no such key. */
static const struct config_key *scenario_key(struct scenario *s, const char *text, void **of)
{
	const struct config_table *t = &scenario_top;
	const struct config_key *k = NULL;
	const char *at = text, *value = strchr(text, '=');
	size_t length;

	*of = s;
	while (value && t) {
		length = strcspn(at, ".=");
		k = key_find(t, at, length);
		if (!k)
			return NULL;
		at += length + 1;
		t = k->table;
		if (!t || !t->size)
			continue;
		length = strcspn(at, ".=");
		*of = at < value ? entry_find(k, *of, at, length) : NULL;
		if (!*of)
			return NULL;
		at += length + 1;
	}
	return value && at == value + 1 ? k : NULL;
}

/* Returns 0, or -1 with a message. */
static int override(struct scenario *s, const char *text)
{
	void *of, *old;
	const struct config_key *k = scenario_key(s, text, &of);
	const char *value;
	char advice[192];

	if (!k) {
		msg("'%s': no such key: write SECTION.KEY=VALUE, for example topology.hosts=32 or loads.0.size=10KB; "
		    "sluice-sim --list-keys names all",
		    text);
		return -1;
	}
	value = strchr(text, '=') + 1;
	old = k->kind == &config_string ? *(void **)field_at(of, &k->field) : NULL;
	if (k->kind->parse(k, value, of)) {
		msg("'%s': %s is not %s: write %s", text, value, k->range ?: "one of its words",
		    config_key_advice(k, advice, sizeof(advice)));
		return -1;
	}
	free(old);
	return 0;
}

/* A file that is being read. */
struct reading {
	struct tables tables;
	const char *scheme, *topology; /* by the command line; NULL: by the file */
};

/* Keys that the file leaves out get the values that the scheme implies. The command line comes after that. */
static int scheme_imply(struct tables *t, void *into)
{
	struct scenario *s = into;
	const char *name = ((struct reading *)t)->scheme ?: s->scheme, *const * implied;
	const struct scheme *wanted = scheme_find(name);
	const struct config_key *k;
	void *of;

	if (!wanted) {
		msg("scheme '%s' is not known: sluice-sim --list-schemes names them", name);
		return -EINVAL;
	}
	for (implied = wanted->implied; implied && *implied; implied++) {
		k = scenario_key(s, *implied, &of);
		if (!tables_has(t, field_at(of, &k->field)) && override(s, *implied))
			return -EINVAL;
	}
	return 0;
}

/* A file that the scenario names lies beside it. */
static int beside(const char *scenario, char **name)
{
	const char *end = strrchr(scenario, '/');
	char *path;

	if (!*name || **name == '/' || !end)
		return 0;
	if (asprintf(&path, "%.*s/%s", (int)(end - scenario), scenario, *name) < 0)
		return -ENOMEM;
	free(*name);
	*name = path;
	return 0;
}

static int files_find(const char *scenario, struct scenario *s)
{
	int err = beside(scenario, &s->topology.file);
	__u32 i;

	for (i = 0; i < s->loads_count && !err; i++)
		err = beside(scenario, &s->loads[i].file);
	return err;
}

/* Keys of the topology that the scenario leaves out get the values of the topology's own file. */
static int topology_imply(struct tables *t, struct scenario *s)
{
	const struct config_key *k = key_find(&scenario_top, "topology", strlen("topology"))->table->keys;
	const char *path = ((struct reading *)t)->topology ?: s->topology.file;
	struct scenario file = *s;

	if (!path)
		return 0;
	if (topology_file_read(path, &file))
		return -EINVAL;
	for (; k->name; k++)
		if (k->kind != &config_string && !tables_has(t, field_at(s, &k->field)))
			field_set(s, &k->field, field_get(&file, &k->field));
	return 0;
}

static int values_imply(struct tables *t, void *into)
{
	int err = files_find(t->path, into);

	err = err ?: scheme_imply(t, into);
	return err ?: topology_imply(t, into);
}

/* The value of that key on the command line; NULL: there is none. */
static const char *overridden(char **overrides, int count, const char *key)
{
	const char *value = NULL;
	int i;

	for (i = 0; i < count; i++)
		if (!strncmp(overrides[i], key, strlen(key)))
			value = overrides[i] + strlen(key);
	return value;
}

struct scenario *scenario_load(const char *path, char **overrides, int count)
{
	struct reading r = {
		.tables = {
			.path = path,
			.top = &scenario_top,
			.kind = "scenario",
			.instead = "name another file",
			.page = "docs/simulator.md",
			.check = values_imply,
		},
		.scheme = overridden(overrides, count, "scheme="),
		.topology = overridden(overrides, count, "topology.file="),
	};
	struct scenario *s = calloc(1, sizeof(*s));
	int err, i;

	err = s ? tables_load(&r.tables, s) : -ENOMEM;
	if (err == -ENOMEM)
		msg("%s: %s", path, strerror(ENOMEM));
	for (i = 0; i < count && !err; i++)
		err = override(s, overrides[i]);
	if (!err && !s->hpcc.flows && !scheme_find(s->scheme)->seen) {
		msg("hpcc.flows: auto: with the scheme %s nobody counts flows: write a number, or scheme=sluice",
		    s->scheme);
		err = -EINVAL;
	}
	if (!err && s->host.handshake && (!scheme_find(s->scheme)->seen || s->host.carriage != CARRIAGE_COMPANION)) {
		msg("host.handshake: only a companion tells N: leave it out, or write scheme=sluice and host.carriage=companion");
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
