// SPDX-License-Identifier: GPL-2.0-only
/* Tables of commands: a terminal that is too narrow for all columns shows those that say most. */
#include <stdio.h>
#include <string.h>
#include "show.h"

static unsigned int column_width(const struct table_column *c)
{
	return c->width < 0 ? -c->width : c->width;
}

/* The lowest rank that has no room in so many columns of a screen; 0 of them: it is no screen. */
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
		/* The end of what does not fit says more than its beginning. */
		if (room && strlen(text) > width)
			text += strlen(text) - width;
		printf(columns[i].width < 0 ? "%s%-*s" : "%s%*s", first ? "" : " ", i + 1 < n || room ? (int)width : 0, text);
		first = 0;
	}
	putchar('\n');
}
