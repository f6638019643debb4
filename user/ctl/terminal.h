/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TERMINAL_H
#define SLUICE_TERMINAL_H
/* Lines for reading on a terminal. If stdout is not a terminal, lines are never broken. */

/* Size of the terminal at stdout; 0 and 0: it is none. */
void screen_size(unsigned int *columns, unsigned int *lines);
/*
 * Prints the rest of a line that already has `at` columns. Words that do not fit into a terminal's line begin the next
 * one, after indent columns; elsewhere lines are not broken.
 */
void words_print(const char *text, unsigned int at, unsigned int indent);
/* A line whose last column has many words: they are wrapped to fit a terminal, if necessary below the other columns. */
void line_print(const char *left, const char *last);
/*
 * A table. rank: 0 for the required column, then 1, 2, ..., each once: if a terminal has no room for all, the highest
 * are left out. Elsewhere lines are not broken.
 */
struct table_column {
	const char *title;
	int width; /* negative: left aligned */
	int rank;
	const char *key; /* of the value that it shows, see out.h */
};
typedef char table_cell[320]; /* a pod with its namespace is the longest text */
void table_line(const struct table_column *columns, unsigned int n, table_cell *cells); /* NULL: the titles */

#endif
