// SPDX-License-Identifier: GPL-2.0-only
/* See lines.h. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include "lib/util.h"
#include "sim/lines.h"

#define SPACES " \t\r\n\v\f"

int lines_open(struct lines *l, const char *path, const char *what)
{
	*l = (struct lines){ .path = path, .from = fopen(path, "re") };
	if (l->from)
		return 0;
	msg("%s '%s': %s: name another file", what, path, strerror(errno));
	return -1;
}

int lines_bad(const struct lines *l, unsigned int number, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	msg("%s:%u: %s", l->path, number, text);
	return -1;
}

/* Cuts the line into its words. */
static int words_cut(struct lines *l)
{
	char *at = l->text;

	l->text[strcspn(l->text, "#")] = 0;
	for (l->words = 0; *(at += strspn(at, SPACES)); l->words++) {
		if (l->words == LINE_WORDS - 1)
			return lines_bad(l, l->number, "more than %d words: write a line for each entry",
					 LINE_WORDS - 1);
		l->word[l->words] = at;
		at += strcspn(at, SPACES);
		if (*at)
			*at++ = 0;
	}
	l->word[l->words] = NULL;
	return 0;
}

int lines_next(struct lines *l)
{
	while (fgets(l->text, sizeof(l->text), l->from)) {
		l->number++;
		if (!strchr(l->text, '\n') && !feof(l->from))
			return lines_bad(l, l->number,
					 "not a line of text of at most %d characters: write shorter lines",
					 LINE_CHARACTERS);
		if (words_cut(l))
			return -1;
		if (l->words)
			return 1;
	}
	if (!ferror(l->from))
		return 0;
	msg("%s: %s: name another file", l->path, strerror(errno));
	return -1;
}

int lines_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	__u64 number;

	if (!text || digits_parse(text, &number) || number < least || number > most)
		return -1;
	*value = number;
	return 0;
}

void lines_close(struct lines *l)
{
	fclose(l->from);
}
