// SPDX-License-Identifier: GPL-2.0-only
/* Files of a lab, and lines KEY=VALUE in them. */
#include "sum.h"

FILE *file_open(const char *dir, const char *name, const char *mode)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, mode);
	if (!file && *mode == 'w')
		die("lab-sum: cannot write %s: %s", path, strerror(errno));
	return file;
}

void file_close(FILE *file)
{
	if (fclose(file))
		die("lab-sum: writing: %s", strerror(errno));
}

void value_read(const char *line, const char *key, char *text, size_t size)
{
	size_t length = strlen(key);

	if (strncmp(line, key, length) || line[length] != '=')
		return;
	snprintf(text, size, "%s", line + length + 1);
	text[strcspn(text, "\n")] = 0;
}

void number_read(const char *line, const char *key, uint64_t *number)
{
	char text[64] = "";

	value_read(line, key, text, sizeof(text));
	if (*text)
		*number = number_parse(key, text);
}
