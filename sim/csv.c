// SPDX-License-Identifier: GPL-2.0-only
/* See csv.h. */
#include <string.h>
#include "sim/csv.h"

#define PATH_ROOM 128 /* room for a path of our member names */

void csv_put(FILE *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, to);
		return;
	}
	putc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', to);
		putc(*text, to);
	}
	putc('"', to);
}

/* Writes the value at a path. The text has room after its first length bytes. */
static void flatten(FILE *to, struct json_object *o, char *path, size_t length)
{
	char *end = path + length;
	size_t room = PATH_ROOM - length, i;

	switch (json_object_get_type(o)) {
	case json_type_object: {
		json_object_object_foreach (o, key, member) {
			snprintf(end, room, "%s%s", length ? "." : "", key);
			flatten(to, member, path, strlen(path));
		}
		break;
	}
	case json_type_array:
		for (i = 0; i < json_object_array_length(o); i++) {
			snprintf(end, room, "%s%zu", length ? "." : "", i);
			flatten(to, json_object_array_get_idx(o, i), path, strlen(path));
		}
		break;
	default:
		csv_put(to, path);
		putc(',', to);
		csv_put(to, o ? json_object_get_string(o) : "");
		putc('\n', to);
	}
	*end = 0;
}

void csv_flatten(FILE *to, struct json_object *o)
{
	char path[PATH_ROOM] = "";

	fputs("path,value\n", to);
	flatten(to, o, path, 0);
}
