// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a file into a struct, by a table of keys: config_lint() checks its shape, libcyaml reads it as a tree of texts,
 * and each text gets its value by the row of its key; missing keys get the default. Each error message has its line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/config/lines.h"
#include "lib/config/schema.h"
#include "lib/config/tables.h"
#include "lib/util.h"

#define WHERE_MAX 192

static void scalar_refuse(const struct tables *l, const struct config_key *k, const char *text, const char *where,
			  int err)
{
	char advice[192], range[160], what[192];

	config_key_advice(k, advice, sizeof(advice));
	if (k->kind == &config_number && err == -EINVAL) {
		config_bad(l->path, "%s%s: '%s' is not a number: write digits, for example 1000", where, k->name, text);
	} else if (k->kind == &config_number) {
		snprintf(what, sizeof(what), "is more than %.0f", k->max);
		config_bad(l->path, "%s%s %s%s%s: write %s", where, k->name, text,
			   k->refusal && !*k->refusal ? "" : " ", k->refusal ?: what, advice);
	} else {
		snprintf(what, sizeof(what), k->words ? "is not known" : "is not %s",
			 config_key_range(k, range, sizeof(range)));
		config_bad(l->path, "%s%s '%s' %s: write %s", where, k->name, text, k->refusal ?: what, advice);
	}
}

static void list_refuse(const struct tables *l, const struct config_key *k, const char *text, const char *where,
			int err)
{
	char advice[192];

	config_key_advice(k, advice, sizeof(advice));
	if (err == -EEXIST)
		config_bad(l->path, "%s%s %s is named twice: leave one", where, k->one ?: k->name, text);
	else if (k->kind == &config_bits && err == -EINVAL)
		config_bad(l->path, "%s%s: '%s' is not a number: write digits, for example 1000", where, k->name, text);
	else if (k->kind == &config_bits)
		config_bad(l->path, "%s%s %s %s: write %s", where, k->one ?: k->name, text, k->refusal, advice);
	else
		config_bad(l->path, "%s%s '%s' is not %s: write %s", where, k->one ?: k->name, text, k->range, advice);
}

/* The error of several values: each has been reported, and a lack of memory ends all. */
static int worse(int a, int b)
{
	return a == -ENOMEM || !b ? a : b;
}

/* Takes one value of the file, or the default. */
static int scalar_take(struct tables *l, const struct config_key *k, const char *text, void *of, const char *where)
{
	int err;

	if (!text && k->inherits.size)
		field_set(of, &k->field, field_get(l->into, &k->inherits));
	if (!text && !k->preset)
		return 0;
	err = k->kind->parse(k, text ?: k->preset, of);
	if (err && err != -ENOMEM)
		scalar_refuse(l, k, text ?: k->preset, where, err);
	return err;
}

static int list_take(struct tables *l, const struct config_key *k, const struct config_text *t, void *of,
		     const char *where)
{
	char *const preset = (char *)k->preset, *const *texts = t->is ?: &preset;
	unsigned int n = t->is ? t->count : !!preset, i;
	int err = 0, e;

	for (i = 0; i < n; i++) {
		e = k->kind->add(k, texts[i], of);
		if (e)
			list_refuse(l, k, texts[i], where, e);
		err = worse(err, e);
	}
	return err;
}

static int table_take(struct tables *l, const struct config_table *t, const struct config_text *texts, void *of,
		      const char *where);

/* Takes the entries of a list, each with its own keys. Messages name an entry by its first value, if that is text. */
static int entries_take(struct tables *l, const struct config_key *k, const struct config_text *t, void *of,
			const char *where)
{
	const struct config_text *texts = t->is;
	unsigned int n = config_keys_count(k->table), i;
	char named[WHERE_MAX + CONFIG_TEXT_MAX + 4];
	const char *name;
	int err = 0;
	char *list;

	if (!t->count)
		return 0;
	list = calloc(t->count, k->table->size);
	if (!list)
		return -ENOMEM;
	*(void **)field_at(of, &k->field) = list;
	field_set(of, &k->count, t->count);
	for (i = 0; i < t->count && err != -ENOMEM; i++, texts += n, list += k->table->size) {
		name = k->table->keys[0].kind->parse ? texts[0].is : NULL;
		snprintf(named, sizeof(named), name ? "%s%.64s: " : "%s", where, name);
		if (name && k->label.size)
			snprintf(field_at(list, &k->label), k->label.size, "%s", name);
		l->list = where;
		err = worse(err, table_take(l, k->table, texts, list, named));
	}
	return err;
}

/* Takes all keys of a table; texts is NULL if the file lacks the section. where: "interfaces: eth0: ", or "". */
static int table_take(struct tables *l, const struct config_table *t, const struct config_text *texts, void *of,
		      const char *where)
{
	static const struct config_text absent;
	const struct config_key *k;
	char below[WHERE_MAX];
	int err = 0, e;

	for (k = t->keys; k->name && err != -ENOMEM; k++) {
		const struct config_text *text = texts ? texts++ : &absent;

		if (text->is && k->given.size)
			field_set(of, &k->given, 1);
		snprintf(below, sizeof(below), "%s%s: ", where, k->name);
		if (k->kind->parse)
			e = scalar_take(l, k, text->is, of, t->size && k == t->keys ? l->list : where);
		else if (k->kind->add)
			e = list_take(l, k, text, of, where);
		else if (k->table->size)
			e = entries_take(l, k, text, of, below);
		else
			e = table_take(l, k->table, text->is, of, below);
		err = worse(err, e);
	}
	return err;
}

void tables_free(const struct config_table *t, void *of)
{
	const struct config_key *k;
	unsigned int i;

	for (k = t->keys; k->name; k++) {
		if (k->kind == &config_string)
			free(*(char **)field_at(of, &k->field));
		if (k->table && !k->table->size)
			tables_free(k->table, of);
		if (!k->table || !k->table->size)
			continue;
		for (i = 0; i < field_get(of, &k->count); i++)
			tables_free(k->table, *(char **)field_at(of, &k->field) + i * k->table->size);
		free(*(void **)field_at(of, &k->field));
	}
}

/* libcyaml's own messages ("Unexpected key: ...", with line and column), under our name. */
static void tables_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	char line[512];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = 0;
	msg("%s: %s", (const char *)ctx, line);
}

/* The texts of the file, to be freed by libcyaml. 0, or -errno with a message. */
static int texts_read(const struct tables *t, cyaml_config_t *cy, struct config_text **texts)
{
	const cyaml_schema_value_t *schema = config_schema(t->top);
	const char *path = t->path;
	struct stat st;
	cyaml_err_t e;
	int err = 0;

	if (stat(path, &st) || access(path, R_OK))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	if (err) {
		msg("%s: cannot read the %s: %s: %s", path, t->kind, err == -EINVAL ? "not a file" : strerror(-err),
		    t->instead);
		return err;
	}
	err = config_lint(path, schema);
	if (err)
		return err;
	e = cyaml_load_file(path, cy, schema, (cyaml_data_t **)texts, NULL);
	if (e != CYAML_OK) {
		msg("%s: %s: nothing was changed; the keys are described in %s", path, cyaml_strerror(e), t->page);
		return -EINVAL;
	}
	if (!*texts) {
		msg("%s: the file is empty: see %s", path, t->page);
		return -EINVAL;
	}
	return 0;
}

int tables_load(struct tables *t, void *into)
{
	cyaml_config_t cy = {
		.log_level = CYAML_LOG_ERROR,
		.log_fn = tables_log,
		.log_ctx = (void *)t->path,
		.mem_fn = cyaml_mem,
	};
	struct config_text *texts = NULL;
	int err = texts_read(t, &cy, &texts);

	if (err)
		return err;
	t->into = into;
	err = table_take(t, t->top, texts, into, "");
	cyaml_free(&cy, config_schema(t->top), texts, 0);
	return err;
}
