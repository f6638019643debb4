// SPDX-License-Identifier: GPL-2.0-only
/* Lines and tables for a terminal: if it is too narrow for all columns the most important ones are shown. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "ctl/terminal.h"

#define LAST_MIN 24   /* on a narrower screen a line's last column gets lines of its own */
#define LAST_INDENT 4 /* indent of these lines */

void screen_size(unsigned int *columns, unsigned int *lines)
{
	struct winsize ws;

	*columns = *lines = 0;
	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws)) {
		*columns = ws.ws_col;
		*lines = ws.ws_row;
	}
}

/* --- words --- */

void words_print(const char *text, unsigned int at, unsigned int indent)
{
	unsigned int columns, lines, n;

	screen_size(&columns, &lines);
	if (!columns) {
		printf("%s%s\n", at > indent ? " " : "", text);
		return;
	}
	while (*text) {
		n = strcspn(text, " ");
		if (at > indent && at + 1 + n > columns) {
			printf("\n%*s", indent, "");
			at = indent;
		}
		at += printf("%s%.*s", at > indent ? " " : "", n, text);
		text += n + (text[n] == ' ');
	}
	puts("");
}

/* Leaves one space between words, for lines that do not align anyway; leading blanks stay. */
static void spaces_squeeze(char *text)
{
	char *to = text + strspn(text, " ");
	const char *from = to;

	for (; *from; from++)
		if (*from != ' ' || (from[1] && from[1] != ' '))
			*to++ = *from;
	*to = 0;
}

void line_print(const char *left, const char *last)
{
	unsigned int columns, lines, at = strlen(left), lead;
	char text[256];

	screen_size(&columns, &lines);
	if (!columns || columns >= at + LAST_MIN || columns >= at + strlen(last)) {
		fputs(left, stdout);
		words_print(last, at, at);
		return;
	}
	snprintf(text, sizeof(text), "%s", left);
	spaces_squeeze(text);
	lead = strspn(text, " ");
	if (text[lead])
		words_print(text + lead, printf("%*s", lead, ""), lead);
	words_print(last, printf("%*s", LAST_INDENT, ""), LAST_INDENT);
}

/* --- tables --- */

static unsigned int column_width(const struct table_column *c)
{
	return c->width < 0 ? -c->width : c->width;
}

/* The lowest rank without room on a screen of `room` columns; 0: it is no screen. */
static int rank_shown(const struct table_column *columns, unsigned int n, unsigned int room)
{
	unsigned int used = 0, i;
	int rank;

	for (rank = 0; rank < (int)n; rank++) {
		for (i = 0; i < n; i++)
			if (columns[i].rank == rank)
				used += column_width(&columns[i]) + 1;
		if (room && used > room + 1)
			break;
	}
	return rank;
}

void table_line(const struct table_column *columns, unsigned int n, table_cell *cells)
{
	unsigned int room, lines, width, i, first = 1;
	const char *text;
	int shown;

	screen_size(&room, &lines);
	shown = rank_shown(columns, n, room);
	for (i = 0; i < n; i++) {
		if (columns[i].rank >= shown)
			continue;
		text = cells ? cells[i] : columns[i].title;
		width = column_width(&columns[i]);
		/* Keeps the end of a text that does not fit: it is more telling than the start. */
		if (room && strlen(text) > width)
			text += strlen(text) - width;
		printf(columns[i].width < 0 ? "%s%-*s" : "%s%*s", first ? "" : " ", i + 1 < n || room ? (int)width : 0,
		       text);
		first = 0;
	}
	putchar('\n');
}
