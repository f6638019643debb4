/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_LINES_H
#define SLUICE_SIM_LINES_H
/* Reads a text file line by line, in words. Empty lines and what follows a # are skipped. */
#include <stdint.h>
#include <stdio.h>

#define LINE_CHARACTERS 254
#define LINE_WORDS 16

struct lines {
	const char *path;
	FILE *from;
	unsigned int number; /* of the line, from 1 on */
	unsigned int words;
	char *word[LINE_WORDS];		/* NULL after the last one */
	char text[LINE_CHARACTERS + 2]; /* with the end of the line */
};

/* Returns 0, or -1 with a message. what: in the message, what the file is. */
int lines_open(struct lines *l, const char *path, const char *what);
/* The next line that has words. Returns 1; 0 at the end of the file; -1 with a message. */
int lines_next(struct lines *l);
/* Reports a mistake in the line of that number. Returns -1. */
int lines_bad(const struct lines *l, unsigned int number, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A whole number from least to most, as digits_parse() has it. Returns 0, or -1 without a message; text may be NULL. */
int lines_number(const char *text, uint64_t least, uint64_t most, uint64_t *value);
void lines_close(struct lines *l);

#endif
