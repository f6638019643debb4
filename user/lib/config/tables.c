// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a file into a struct, by a table of keys.
 *
 *  1. `document_read` makes a tree of the file. First it reads the events of the whole file: it refuses a second document,
 *     which libyaml would not read, and deep nesting and many anchors, for which libyaml takes time that grows with their
 *     square.
 *  2. `config_bad` reports a mistake with its line: that of a node of the tree, or the one kept for a value.
 *  3. `table_take` walks the tree along the tables, and gives each key its value or its default. It enters nothing that
 *     no table names, and lists have a greatest length: so aliases cannot multiply.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/config/tables.h"
#include "lib/util.h"

#define NESTED_MAX 16	 /* depth of a file; the deepest key is at 6 */
#define ANCHORS_MAX 1024 /* of a file */
#define MISTAKES_MAX 20	 /* reported for one file */
#define WHERE_MAX 192

struct config_line {
	const void *value; /* a field of the struct */
	unsigned int line;
	bool given; /* the file has its key; otherwise the line is that of the section or entry */
};

/* A table of the file that is being read: a section, or an entry of a list. */
struct place {
	const struct config_table *table;
	const yaml_node_t *n; /* its keys; NULL: the file lacks the section */
	void *of;	      /* struct of its fields */
	const char *where;    /* path to it, in messages: "interfaces: eth0: ", or "" */
	const char *list;     /* of an entry, without its name: its first value stands for the entry, right or wrong */
};

/* ---- 1. ---- */

static int not_yaml(const struct tables *t, const yaml_parser_t *parser)
{
	msg("%s: line %zu: this is not YAML: %s: write 'key: value', with spaces and no tabs in front", t->path,
	    parser->problem_mark.line + 1, parser->problem ?: "it cannot be read");
	return -EINVAL;
}

struct stream {
	unsigned int depth, anchors, documents;
	int ended;
};

static int event_check(const struct tables *t, struct stream *s, const yaml_event_t *e)
{
	int begins = e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT;
	size_t line = e->start_mark.line + 1;

	s->ended = e->type == YAML_STREAM_END_EVENT;
	s->documents += e->type == YAML_DOCUMENT_START_EVENT;
	s->depth += begins;
	s->depth -= e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT;
	/* The anchor is the first member of all three. */
	s->anchors += (begins || e->type == YAML_SCALAR_EVENT) && e->data.scalar.anchor;
	if (s->documents > 1)
		msg("%s: line %zu: a second YAML document begins here, and only the first would be read: write all keys in one, without '---' and '...' between them",
		    t->path, line);
	else if (s->depth > NESTED_MAX)
		msg("%s: line %zu: is nested more than %u deep: no key needs that; close brackets and braces, and use fewer spaces in front",
		    t->path, line, NESTED_MAX);
	else if (s->anchors > ANCHORS_MAX)
		msg("%s: line %zu: is one of more than %u anchors: write values without '&' in front", t->path, line,
		    ANCHORS_MAX);
	else
		return 0;
	return -EINVAL;
}

static int events_check(const struct tables *t, yaml_parser_t *parser)
{
	struct stream s = {};
	yaml_event_t event;
	int err = 0;

	while (!err && !s.ended) {
		if (!yaml_parser_parse(parser, &event))
			return not_yaml(t, parser);
		err = event_check(t, &s, &event);
		yaml_event_delete(&event);
	}
	return err;
}

/* Reads the whole file as a tree. doc is NULL: checks its events. */
static int file_parse(const struct tables *t, FILE *f, yaml_document_t *doc)
{
	yaml_parser_t parser;
	int err;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	rewind(f);
	yaml_parser_set_input_file(&parser, f);
	if (doc)
		err = yaml_parser_load(&parser, doc) ? 0 : not_yaml(t, &parser);
	else
		err = events_check(t, &parser);
	yaml_parser_delete(&parser);
	return err;
}

static int document_read(struct tables *t)
{
	struct stat st;
	int err = stat(t->path, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	FILE *f = err ? NULL : fopen(t->path, "re");

	if (!f) {
		err = err ?: -errno;
		msg("%s: cannot read the %s: %s: %s", t->path, t->kind, err == -EINVAL ? "not a file" : strerror(-err),
		    t->instead);
		return err;
	}
	err = file_parse(t, f, NULL) ?: file_parse(t, f, &t->doc);
	fclose(f);
	return err;
}

/* ---- 2. ---- */

/* Keeps the line of a value. Without memory for that its messages have none. */
static void line_keep(struct tables *t, const void *value, const yaml_node_t *n, bool given)
{
	unsigned int count = t->lines_count;
	struct config_line *lines = t->lines;

	if (!(count & (count - 1)))
		lines = realloc(lines, (2 * count ?: 1) * sizeof(*lines));
	if (!lines)
		return;
	lines[count] = (struct config_line){ value, n->start_mark.line + 1, given };
	t->lines = lines;
	t->lines_count++;
}

/* The line of a node of the tree, or of a value; 0: the file does not have it. */
static unsigned int line_of(const struct tables *t, const void *at)
{
	const yaml_node_t *n = at;
	unsigned int i;

	if (n >= t->doc.nodes.start && n < t->doc.nodes.top)
		return n->start_mark.line + 1;
	for (i = 0; i < t->lines_count; i++)
		if (t->lines[i].value == at)
			return t->lines[i].line;
	return 0;
}

bool tables_has(const struct tables *t, const void *at)
{
	unsigned int i;

	for (i = 0; i < t->lines_count; i++)
		if (t->lines[i].value == at)
			return t->lines[i].given;
	return false;
}

int config_bad(struct tables *t, const void *at, const char *fmt, ...)
{
	unsigned int line = t->mistakes < MISTAKES_MAX ? line_of(t, at) : 0;
	char text[1024];
	va_list args;

	if (++t->mistakes == MISTAKES_MAX + 1)
		msg("%s: more mistakes follow: correct these first", t->path);
	if (t->mistakes > MISTAKES_MAX)
		return -EINVAL;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (line)
		msg("%s: line %u: %s", t->path, line, text);
	else
		msg("%s: %s", t->path, text);
	return -EINVAL;
}

/* ---- 3. ---- */

static const yaml_node_t *node(struct tables *t, int id)
{
	return yaml_document_get_node(&t->doc, id);
}

/* The text of a node; NULL: it has none. */
static const char *scalar(const yaml_node_t *n)
{
	return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/* The pair of a mapping with this key; NULL: there is none. */
static const yaml_node_pair_t *pair_of(struct tables *t, const yaml_node_t *n, const char *name)
{
	const yaml_node_pair_t *pair;
	const char *key;

	if (!n || n->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = n->data.mapping.pairs.start; pair < n->data.mapping.pairs.top; pair++) {
		key = scalar(node(t, pair->key));
		if (key && !strcmp(key, name))
			return pair;
	}
	return NULL;
}

/* The error of several values: each has been reported, and a lack of memory ends all. */
static int worse(int a, int b)
{
	return a == -ENOMEM || !b ? a : b;
}

static int text_check(struct tables *t, const yaml_node_t *n, unsigned int most, const char *where)
{
	const char *text = scalar(n);

	if (!text)
		return config_bad(t, n, "%stakes one value: write it without brackets, braces and dashes", where);
	if (*text && strlen(text) <= most)
		return 0;
	return config_bad(t, n,
			  *text ? "%s'%.64s' has %zu characters: write 1 to %u" :
				  "%swhat is there%s has %zu characters: write 1 to %u",
			  where, text, strlen(text), most);
}

static int value_refuse(struct tables *t, const struct config_key *k, const yaml_node_t *n, const char *where, int err)
{
	int number = k->kind == &config_number || k->kind == &config_bits;
	const char *name = k->one ?: k->name, *text = scalar(n);
	char advice[192], range[160], what[192];

	if (err == -ENOMEM)
		return err;
	if (err == -EEXIST)
		return config_bad(t, n, "%s%s %s is named twice: leave one", where, name, text);
	if (number && err == -EINVAL)
		return config_bad(t, n, "%s%s: '%s' is not a number: write digits, for example 1000", where, k->name,
				  text);
	config_key_advice(k, advice, sizeof(advice));
	if (number) {
		snprintf(what, sizeof(what), "is more than %.0f", k->max);
		return config_bad(t, n, "%s%s %s%s%s: write %s", where, name, text,
				  k->refusal && !*k->refusal ? "" : " ", k->refusal ?: what, advice);
	}
	snprintf(what, sizeof(what), k->words ? "is not known" : "is not %s",
		 config_key_range(k, range, sizeof(range)));
	return config_bad(t, n, "%s%s '%s' %s: write %s", where, name, text, k->refusal ?: what, advice);
}

/* Takes one value of the file, or the default. */
static int scalar_take(struct tables *t, const struct place *p, const struct config_key *k, const yaml_node_t *n)
{
	const char *where = p->list && k == p->table->keys ? p->list : p->where, *text = n ? scalar(n) : k->preset;
	char named[WHERE_MAX];
	int err;

	snprintf(named, sizeof(named), "%s%s: ", where, k->name);
	err = n ? text_check(t, n, k->most ?: CONFIG_TEXT_MAX, named) : 0;
	if (!n && k->inherits.size)
		field_set(p->of, &k->field, field_get(t->into, &k->inherits));
	if (err || !text)
		return err;
	err = k->kind->parse(k, text, p->of);
	return err ? value_refuse(t, k, n, where, err) : 0;
}

static int list_take(struct tables *t, const struct place *p, const struct config_key *k, const yaml_node_t *n,
		     const char *where)
{
	const yaml_node_item_t *item;
	int err = 0, e;

	if (!n)
		return k->preset ? k->kind->add(k, k->preset, p->of) : 0;
	for (item = n->data.sequence.items.start; item < n->data.sequence.items.top; item++) {
		const yaml_node_t *one = node(t, *item);

		e = text_check(t, one, CONFIG_TEXT_MAX, where);
		if (!e) {
			e = k->kind->add(k, scalar(one), p->of);
			e = e ? value_refuse(t, k, one, p->where, e) : 0;
		}
		err = worse(err, e);
	}
	return err;
}

static int table_take(struct tables *t, const struct place *p);

/* Takes the entries of a list, each with its own keys. Messages name an entry by its first value, if that is text. */
static int entries_take(struct tables *t, const struct place *p, const struct config_key *k, const yaml_node_t *n,
			const char *where)
{
	unsigned int count = n ? n->data.sequence.items.top - n->data.sequence.items.start : 0, i;
	char named[WHERE_MAX + CONFIG_TEXT_MAX + 4];
	char *list = count ? calloc(count, k->table->size) : NULL;
	const struct config_key *first = k->table->keys;
	const yaml_node_pair_t *pair;
	const char *name;
	int err = 0;

	if (!list)
		return count ? -ENOMEM : 0;
	*(void **)field_at(p->of, &k->field) = list;
	field_set(p->of, &k->count, count);
	for (i = 0; i < count && err != -ENOMEM; i++, list += k->table->size) {
		const struct place entry = { k->table, node(t, n->data.sequence.items.start[i]), list, named, where };

		pair = pair_of(t, entry.n, first->name);
		name = pair && first->kind->parse ? scalar(node(t, pair->value)) : NULL;
		snprintf(named, sizeof(named), name ? "%s%.64s: " : "%s", where, name);
		if (name && k->label.size)
			snprintf(field_at(list, &k->label), k->label.size, "%s", name);
		err = worse(err, table_take(t, &entry));
	}
	return err;
}

static int list_check(struct tables *t, const struct config_key *k, const yaml_node_t *n, const char *where)
{
	long count;

	if (n->type != YAML_SEQUENCE_NODE)
		return config_bad(
			t, n, "%stakes a list: write it in brackets, [one, two], or each on a line with '- ' in front",
			where);
	count = n->data.sequence.items.top - n->data.sequence.items.start;
	if (count && count <= k->most)
		return 0;
	return config_bad(t, n, "%shas %ld entries: write 1 to %u%s", where, count, k->most,
			  count ? "" : ", or leave it out");
}

/* Takes what a key of the table has in the file, or the default. */
static int key_take(struct tables *t, const struct place *p, const struct config_key *k)
{
	const yaml_node_pair_t *pair = pair_of(t, p->n, k->name);
	const yaml_node_t *n = pair ? node(t, pair->value) : NULL, *at = n;
	char where[WHERE_MAX];

	if (pair)
		at = node(t, pair->key);
	else if (*p->where) /* what the top lacks has no line */
		at = p->n;
	if (at && k->field.size)
		line_keep(t, field_at(p->of, &k->field), at, pair);
	if (n && k->given.size)
		field_set(p->of, &k->given, 1);
	if (k->kind->parse)
		return scalar_take(t, p, k, n);
	snprintf(where, sizeof(where), "%s%s: ", p->where, k->name);
	if (k->table && !k->table->size)
		return table_take(t, &(struct place){ k->table, n, p->of, where, NULL });
	if (n && list_check(t, k, n, where))
		return -EINVAL;
	return k->table ? entries_take(t, p, k, n, where) : list_take(t, p, k, n, where);
}

static const char *keys_list(const struct config_table *table, char *buf, size_t size)
{
	const struct config_key *k = table->keys;
	size_t n = 0;

	for (*buf = 0; k->name && n < size; k++)
		n += snprintf(buf + n, size - n, "%s%s", !n ? "" : k[1].name ? ", " : " or ", k->name);
	return buf;
}

static int key_refuse(struct tables *t, const struct place *p, const yaml_node_t *key)
{
	const char *name = scalar(key) ?: "";
	const struct config_key *k;
	struct nearest near;
	char list[320];

	nearest_begin(&near, name);
	for (k = p->table->keys; k->name; k++)
		nearest_offer(&near, k->name);
	return config_bad(t, key, "%s'%.64s' is no key here%s%s%s: write %s", p->where, name,
			  near.best ? " (did you mean " : "", near.best ?: "", near.best ? "?)" : "",
			  keys_list(p->table, list, sizeof(list)));
}

/* Refuses keys that are not in the table, and what is missing. */
static int keys_check(struct tables *t, const struct place *p)
{
	const yaml_node_pair_t *pair;
	const struct config_key *k;
	const yaml_node_t *key;
	int err = 0;

	for (pair = p->n->data.mapping.pairs.start; pair < p->n->data.mapping.pairs.top; pair++) {
		if (t->mistakes > MISTAKES_MAX)
			return -EINVAL;
		key = node(t, pair->key);
		for (k = p->table->keys; k->name && strcmp(k->name, scalar(key) ?: ""); k++)
			;
		if (!k->name)
			err = key_refuse(t, p, key);
		else if (pair_of(t, p->n, k->name) != pair)
			err = config_bad(t, key, "%s%s is named twice: leave one", p->where, k->name);
	}
	for (k = p->table->keys; k->name; k++)
		if (k->required && !pair_of(t, p->n, k->name))
			err = config_bad(t, p->n, "%s%s is missing: write '%s: ...'", p->where, k->name, k->name);
	return err;
}

/* Takes all keys of a table. */
static int table_take(struct tables *t, const struct place *p)
{
	const struct config_key *k;
	char list[320];
	int err = 0;

	if (p->n && p->n->type != YAML_MAPPING_NODE)
		return config_bad(t, p->n, "%stakes keys with values: write 'key: value' with %s", p->where,
				  keys_list(p->table, list, sizeof(list)));
	if (p->n)
		err = keys_check(t, p);
	for (k = p->table->keys; k->name && err != -ENOMEM && t->mistakes <= MISTAKES_MAX; k++)
		err = worse(err, key_take(t, p, k));
	return err;
}

int tables_load(struct tables *t, void *into)
{
	struct place top = { t->top, NULL, into, "", NULL };
	int err = document_read(t);

	if (err)
		return err;
	t->into = into;
	top.n = yaml_document_get_root_node(&t->doc);
	if (top.n) {
		err = table_take(t, &top);
	} else {
		msg("%s: the file is empty: see %s", t->path, t->page);
		err = -EINVAL;
	}
	if (!err && t->check)
		err = t->check(t, into);
	free(t->lines);
	yaml_document_delete(&t->doc);
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
