/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TERMINAL_H
#define SLUICE_TERMINAL_H
/* Lines for somebody who reads them on a terminal. Where stdout is none, a line is never broken. */

/* Of the terminal that stdout is; 0 and 0: it is none. */
void screen_size(unsigned int *columns, unsigned int *lines);
/*
 * The rest of a line of which at columns are printed. Words that do not fit into a terminal's line begin the next one,
 * behind indent columns; elsewhere a line is a line.
 */
void words_print(const char *text, unsigned int at, unsigned int indent);
/* A line whose last column has many words: they are kept within a terminal, if need be below what is left of them. */
void line_print(const char *left, const char *last);
/*
 * A table. rank: 0 for the column that has to be there, then 1, 2, ..., each once: where a terminal has no room for all,
 * the highest are left out. Elsewhere a line is a line.
 */
struct table_column {
	const char *title;
	int width; /* negative: to the left */
	int rank;
	const char *key; /* of the value that it shows, see out.h */
};
typedef char table_cell[64];
void table_line(const struct table_column *columns, unsigned int n, table_cell *cells); /* NULL: the titles */

#endif
