// SPDX-License-Identifier: GPL-2.0-only
/* Values with their keys, as JSON or as cells of a table. Only this file uses the JSON library. */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "ctl/out.h"
#include "lib/util.h"

#define OUT_DEPTH 8
#define OUT_COLUMNS 20

int out_json;

static struct json_object *open_objects[OUT_DEPTH]; /* outermost first, each inside the one before */
static unsigned int depth;

static const struct table_column *columns; /* NULL: there is no table */
static unsigned int columns_count;
static table_cell cells[OUT_COLUMNS];

/* --- JSON --- */

static void member_add(const char *key, struct json_object *v)
{
	struct json_object *in = open_objects[depth - 1];

	if (json_object_is_type(in, json_type_array))
		json_object_array_add(in, v);
	else
		json_object_object_add(in, key, v);
}

static void member_open(const char *key, struct json_object *v)
{
	if (depth)
		member_add(key, v);
	open_objects[depth++] = v;
}

void out_array(const char *key)
{
	if (out_json)
		member_open(key, json_object_new_array());
}

void out_object(const char *key)
{
	if (out_json)
		member_open(key, json_object_new_object());
}

void out_end(void)
{
	if (out_json)
		depth--;
}

int out_done(void)
{
	if (out_json)
		puts(json_object_to_json_string_ext(open_objects[0],
						    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	out_drop();
	return EXIT_DONE;
}

const char *out_line(void)
{
	return json_object_to_json_string_ext(open_objects[0], JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void out_drop(void)
{
	json_object_put(open_objects[0]);
	open_objects[0] = NULL;
	depth = 0;
}

/* --- values --- */

void out_u64(const char *key, __u64 v)
{
	if (out_json)
		member_add(key, json_object_new_uint64(v));
	else
		out_cell(key, "%llu", v);
}

void out_s64(const char *key, __s64 v)
{
	if (out_json)
		member_add(key, json_object_new_int64(v));
	else
		out_cell(key, "%lld", v);
}

void out_bool(const char *key, int v)
{
	if (out_json)
		member_add(key, json_object_new_boolean(!!v));
	else
		out_cell(key, "%s", v ? "on" : "off");
}

void out_string(const char *key, const char *v)
{
	if (out_json)
		member_add(key, json_object_new_string(v));
	else
		out_cell(key, "%s", v);
}

void out_ns(const char *key, __u64 ns)
{
	if (out_json)
		out_u64(key, ns);
	else
		out_cell(key, "%llu", ns / 1000);
}

void out_rate(const char *key, __u64 bps)
{
	if (out_json)
		out_u64(key, bps);
	else
		out_cell(key, "%.3f", bps / 1e6);
}

/* Nine digits: more than any of these values is worth, and none of its 17 is of the binary fraction alone. */
void out_double(const char *key, double v)
{
	char text[40];

	snprintf(text, sizeof(text), "%.9g", v);
	if (out_json)
		member_add(key, json_object_new_double_s(v, text));
}

void out_decimal(const char *key, double v, int digits)
{
	char text[40];

	snprintf(text, sizeof(text), "%.*f", digits, v);
	if (out_json)
		member_add(key, json_object_new_double_s(v, text));
}

/* --- the table --- */

void out_cell(const char *key, const char *fmt, ...)
{
	unsigned int i;
	va_list args;

	for (i = 0; i < columns_count; i++) {
		if (strcmp(columns[i].key, key))
			continue;
		va_start(args, fmt);
		vsnprintf(cells[i], sizeof(cells[i]), fmt, args);
		va_end(args);
	}
}

void out_table(const struct table_column *of, unsigned int n)
{
	if (out_json)
		return;
	columns = of;
	columns_count = n < OUT_COLUMNS ? n : OUT_COLUMNS;
	table_line(columns, columns_count, NULL);
}

void out_row(void)
{
	unsigned int i;

	out_object(NULL);
	for (i = 0; i < columns_count; i++)
		snprintf(cells[i], sizeof(cells[i]), "-");
}

void out_row_end(void)
{
	out_end();
	if (columns)
		table_line(columns, columns_count, cells);
}

const char *time_text(__u64 ns, char *buf)
{
	if (ns < 1000000)
		snprintf(buf, 32, "%.0f us", ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, 32, "%.1f ms", ns / 1e6);
	else
		snprintf(buf, 32, "%.1f s", ns / 1e9);
	return buf;
}
