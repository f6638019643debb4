// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the line of a mistake in the configuration file, and what to write there instead. libcyaml reads the file into
 * structs and forgets the lines; its own messages for a wrong type or name do not tell what would be right. So on an
 * error the file is read once more, as a tree of libyaml's, along the same schema.
 *
 *  1. `config_lint` reads the events of the whole file first: it refuses a second document, which libcyaml would not
 *     read, and deep nesting, for which libyaml takes time that grows with its square. Then it compares the tree with
 *     the schema. Its errors are all -EINVAL, so they can be or-ed.
 *  2. `config_bad` follows the words of its message down the tree, and finds the line.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>
#include "lib/config/lines.h"
#include "lib/names.h"
#include "lib/util.h"

#define DEPTH_MAX 8	/* depth of the search: an alias may lead to its own ancestor */
#define NESTED_MAX 16	/* depth of a file; the deepest key is at 6 */
#define MISTAKES_MAX 20 /* reported for one file: each is searched for in the whole file */

struct lint {
	const char *path;
	yaml_document_t doc;
};

static int document_read(const char *path, yaml_document_t *doc, yaml_parser_t *parser)
{
	FILE *f = fopen(path, "re");
	int ok;

	if (!f)
		return -errno;
	if (!yaml_parser_initialize(parser)) {
		fclose(f);
		return -ENOMEM;
	}
	yaml_parser_set_input_file(parser, f);
	ok = yaml_parser_load(parser, doc);
	fclose(f);
	return ok ? 0 : -EINVAL;
}

static const char *scalar(const yaml_node_t *n)
{
	return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static unsigned int line_of(const yaml_node_t *n)
{
	return n->start_mark.line + 1;
}

static unsigned int mistakes; /* of the file that is being read */

/* Whether another mistake is reported. */
static int mistake_counts(const char *path)
{
	if (++mistakes == MISTAKES_MAX + 1)
		msg("%s: more mistakes follow: correct these first", path);
	return mistakes <= MISTAKES_MAX;
}

/* ---- 1. ---- */

static int not_yaml(const char *path, const yaml_parser_t *parser)
{
	msg("%s: line %zu: this is not YAML: %s: write 'key: value', with spaces and no tabs in front", path,
	    parser->problem_mark.line + 1, parser->problem ?: "it cannot be read");
	return -EINVAL;
}

struct stream {
	unsigned int depth, documents;
	int ended;
};

static int event_check(const char *path, struct stream *s, const yaml_event_t *e)
{
	size_t line = e->start_mark.line + 1;

	switch (e->type) {
	case YAML_STREAM_END_EVENT:
		s->ended = 1;
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		if (!s->documents++)
			return 0;
		msg("%s: line %zu: a second YAML document begins here, and only the first would be read: write all keys in one, without '---' and '...' between them",
		    path, line);
		return -EINVAL;
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		if (++s->depth <= NESTED_MAX)
			return 0;
		msg("%s: line %zu: is nested more than %u deep: no key needs that; close brackets and braces, and use fewer spaces in front",
		    path, line, NESTED_MAX);
		return -EINVAL;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		s->depth--;
		return 0;
	default:
		return 0;
	}
}

/* Reads the whole file once, event by event. */
static int stream_check(const char *path)
{
	FILE *f = fopen(path, "re");
	yaml_parser_t parser;
	struct stream s = {};
	yaml_event_t event;
	int err = 0;

	if (!f)
		return -errno;
	if (!yaml_parser_initialize(&parser)) {
		fclose(f);
		return -ENOMEM;
	}
	yaml_parser_set_input_file(&parser, f);
	while (!err && !s.ended) {
		if (!yaml_parser_parse(&parser, &event)) {
			err = not_yaml(path, &parser);
			break;
		}
		err = event_check(path, &s, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	fclose(f);
	return err;
}

/* where: the path to the node, "interfaces: eth0: ", or "". */
static int lint_bad(const struct lint *l, const yaml_node_t *n, const char *where, const char *what)
{
	if (mistake_counts(l->path))
		msg("%s: line %u: %s%s", l->path, line_of(n), where, what);
	return -EINVAL;
}

static void keys_list(const cyaml_schema_field_t *f, char *buf, size_t size)
{
	size_t n = 0;

	for (*buf = 0; f->key && n < size; f++)
		n += snprintf(buf + n, size - n, "%s%s", !n ? "" : f[1].key ? ", " : " or ", f->key);
}

static int lint_value(struct lint *l, const yaml_node_t *n, const cyaml_schema_value_t *v, const char *where);

/* The value of this key in a mapping, among its pairs before end; NULL: none. */
static const yaml_node_t *value_of(struct lint *l, const yaml_node_t *n, const char *key, const yaml_node_pair_t *end)
{
	const yaml_node_pair_t *p;
	const char *name;

	for (p = n->data.mapping.pairs.start; p < end; p++) {
		name = scalar(yaml_document_get_node(&l->doc, p->key));
		if (name && !strcmp(name, key))
			return yaml_document_get_node(&l->doc, p->value);
	}
	return NULL;
}

static int lint_pair(struct lint *l, const yaml_node_t *n, const yaml_node_pair_t *p,
		     const cyaml_schema_field_t *fields, const char *where)
{
	const yaml_node_t *key = yaml_document_get_node(&l->doc, p->key);
	char what[512], list[320], below[192];
	const cyaml_schema_field_t *f;
	const char *name = scalar(key) ?: "";
	struct nearest near;

	for (f = fields; f->key && strcmp(f->key, name); f++)
		;
	if (!f->key) {
		nearest_begin(&near, name);
		for (f = fields; f->key; f++)
			nearest_offer(&near, f->key);
		keys_list(fields, list, sizeof(list));
		snprintf(what, sizeof(what), "'%.64s' is no key here%s%s%s: write %s", name,
			 near.best ? " (did you mean " : "", near.best ?: "", near.best ? "?)" : "", list);
		return lint_bad(l, key, where, what);
	}
	if (value_of(l, n, name, p)) {
		snprintf(what, sizeof(what), "%s is named twice: leave one", name);
		return lint_bad(l, key, where, what);
	}
	snprintf(below, sizeof(below), "%s%s: ", where, name);
	return lint_value(l, yaml_document_get_node(&l->doc, p->value), &f->value, below);
}

static int lint_mapping(struct lint *l, const yaml_node_t *n, const cyaml_schema_field_t *fields, const char *where)
{
	const yaml_node_pair_t *p;
	const cyaml_schema_field_t *f;
	char what[512];
	int err = 0;

	for (p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top && mistakes <= MISTAKES_MAX; p++)
		err |= lint_pair(l, n, p, fields, where);
	for (f = fields; f->key; f++) {
		if (f->value.flags & CYAML_FLAG_OPTIONAL || value_of(l, n, f->key, n->data.mapping.pairs.top))
			continue;
		snprintf(what, sizeof(what), "%s is missing: write '%s: ...'", f->key, f->key);
		err |= lint_bad(l, n, where, what);
	}
	return err;
}

static int lint_sequence(struct lint *l, const yaml_node_t *n, const cyaml_schema_value_t *v, const char *where)
{
	long count = n->data.sequence.items.top - n->data.sequence.items.start;
	const cyaml_schema_value_t *entry = v->sequence.entry;
	const yaml_node_item_t *item;
	char what[192], named[192];
	const yaml_node_t *one;
	const char *name;
	int err = 0;

	if (count < v->sequence.min || count > v->sequence.max) {
		snprintf(what, sizeof(what), "has %ld entries: write %u to %u%s", count, v->sequence.min,
			 v->sequence.max, count ? "" : ", or leave it out");
		return lint_bad(l, n, where, what);
	}
	for (item = n->data.sequence.items.start; item < n->data.sequence.items.top; item++) {
		/* An interface and a prefix are named by their first value. */
		one = yaml_document_get_node(&l->doc, *item);
		name = entry->type == CYAML_MAPPING && one->type == YAML_MAPPING_NODE ?
			       scalar(value_of(l, one, entry->mapping.fields->key, one->data.mapping.pairs.top)) :
			       NULL;
		snprintf(named, sizeof(named), name ? "%s%.64s: " : "%s", where, name);
		err |= lint_value(l, one, entry, named);
	}
	return err;
}

static int lint_value(struct lint *l, const yaml_node_t *n, const cyaml_schema_value_t *v, const char *where)
{
	char what[512], list[320];
	const char *text = scalar(n);

	if (v->type == CYAML_MAPPING) {
		if (n->type == YAML_MAPPING_NODE)
			return lint_mapping(l, n, v->mapping.fields, where);
		keys_list(v->mapping.fields, list, sizeof(list));
		snprintf(what, sizeof(what), "takes keys with values: write 'key: value' with %s", list);
		return lint_bad(l, n, where, what);
	}
	if (v->type == CYAML_SEQUENCE) {
		return n->type == YAML_SEQUENCE_NODE ?
			       lint_sequence(l, n, v, where) :
			       lint_bad(
				       l, n, where,
				       "takes a list: write it in brackets, [one, two], or each on a line with '- ' in front");
	}
	if (!text)
		return lint_bad(l, n, where, "takes one value: write it without brackets, braces and dashes");
	if (strlen(text) >= v->string.min && strlen(text) <= v->string.max)
		return 0;
	snprintf(what, sizeof(what),
		 *text ? "'%.64s' has %zu characters: write %u to %u" : "%s has %zu characters: write %u to %u",
		 *text ? text : "what is there", strlen(text), v->string.min, v->string.max);
	return lint_bad(l, n, where, what);
}

int config_lint(const char *path, const cyaml_schema_value_t *schema)
{
	struct lint l = { .path = path };
	yaml_parser_t parser;
	yaml_node_t *root;
	int err = stream_check(path);

	mistakes = 0;
	if (err == -EINVAL)
		return err;
	err = err ?: document_read(path, &l.doc, &parser);
	if (err == -EINVAL)
		not_yaml(path, &parser);
	if (err && err != -EINVAL) {
		msg("%s: cannot read the configuration: %s: nothing was changed; try again, or give another file", path,
		    strerror(-err));
		return err;
	}
	if (!err) {
		root = yaml_document_get_root_node(&l.doc);
		err = root ? lint_value(&l, root, schema, "") : 0;
		yaml_document_delete(&l.doc);
	}
	yaml_parser_delete(&parser);
	return err;
}

/* ---- 2. ---- */

/* A scalar with this text at n or below it. */
static const yaml_node_t *below(yaml_document_t *doc, const yaml_node_t *n, const char *text, int depth)
{
	const yaml_node_t *found = NULL;
	const yaml_node_item_t *item;
	const yaml_node_pair_t *p;

	if (scalar(n))
		return strcmp(scalar(n), text) ? NULL : n;
	if (depth > DEPTH_MAX)
		return NULL;
	if (n->type == YAML_SEQUENCE_NODE)
		for (item = n->data.sequence.items.start; !found && item < n->data.sequence.items.top; item++)
			found = below(doc, yaml_document_get_node(doc, *item), text, depth + 1);
	if (n->type == YAML_MAPPING_NODE)
		for (p = n->data.mapping.pairs.start; !found && p < n->data.mapping.pairs.top; p++)
			found = below(doc, yaml_document_get_node(doc, p->value), text, depth + 1);
	return found;
}

/* Steps from *n to the node that the word names, the last of several ("is named twice"); returns its line, 0: none. */
static unsigned int step(yaml_document_t *doc, const yaml_node_t **n, const char *word)
{
	const yaml_node_t *here = *n, *entry;
	const yaml_node_item_t *item;
	const yaml_node_pair_t *p;
	unsigned int line = 0;

	if (here->type == YAML_MAPPING_NODE) {
		for (p = here->data.mapping.pairs.start; p < here->data.mapping.pairs.top; p++) {
			entry = yaml_document_get_node(doc, p->key);
			if (!scalar(entry) || strcmp(scalar(entry), word))
				continue;
			line = line_of(entry);
			*n = yaml_document_get_node(doc, p->value);
		}
	} else if (here->type == YAML_SEQUENCE_NODE) {
		for (item = here->data.sequence.items.start; item < here->data.sequence.items.top; item++) {
			entry = yaml_document_get_node(doc, *item);
			if (!below(doc, entry, word, 0))
				continue;
			line = line_of(entry);
			*n = entry;
		}
	}
	return line;
}

/*
 * The line of a message, which begins with the path to it: "interfaces: eth0: speed 'fast' is ...". Each word is a key,
 * or a value of an entry of a list; a value in quotes is searched for below. 0: the file does not have it.
 */
static unsigned int config_line(const char *path, const char *message)
{
	const char *s = message, *end = message + strlen(message), *quote = strchr(message, '\''), *close;
	unsigned int line = 0, next = 1;
	const yaml_node_t *n, *value;
	yaml_parser_t parser;
	yaml_document_t doc;
	char word[128];
	int err = document_read(path, &doc, &parser);

	if (err) {
		if (err == -EINVAL)
			yaml_parser_delete(&parser);
		return 0;
	}
	n = yaml_document_get_root_node(&doc);
	/* "mode 'fast' ..." and "port 70000 ..." end the path with their first word, "interfaces: " continues. */
	while (n && next && s < end) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(s, " '"), s);
		s += strlen(word);
		if (*word && word[strlen(word) - 1] == ':' && *s == ' ')
			word[strlen(word) - 1] = 0;
		next = step(&doc, &n, word);
		line = next ?: line;
		s += *s == ' ';
	}
	close = quote ? strchr(quote + 1, '\'') : NULL;
	if (n && close && line) {
		snprintf(word, sizeof(word), "%.*s", (int)(close - quote - 1), quote + 1);
		value = below(&doc, n, word, 0);
		line = value ? line_of(value) : line;
	}
	yaml_document_delete(&doc);
	yaml_parser_delete(&parser);
	return line;
}

int config_bad(const char *path, const char *fmt, ...)
{
	char text[512];
	unsigned int line;
	va_list args;

	if (!mistake_counts(path))
		return -EINVAL;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	line = config_line(path, text);
	if (line)
		msg("%s: line %u: %s", path, line, text);
	else
		msg("%s: %s", path, text);
	return -EINVAL;
}
