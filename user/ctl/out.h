/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_OUT_H
#define SLUICE_OUT_H
#ifdef __bpf__
#error "a header of the host"
#endif
/*
 * A value that is printed as JSON and in a table is named once. Its key is the name of a JSON member, and the table
 * column with the same key shows it:
 *
 *	out_array(NULL);
 *	out_table(columns, COLUMNS);		prints the titles
 *	out_row();				for each line
 *	out_string("interface", name);
 *	out_ns("age_ns", age);			us in the table
 *	out_row_end();
 *	return out_done();
 *
 * A value without a column is only in JSON, and out_cell() writes table-only cells. Without --json all calls except
 * those of the table do nothing: a command prints its sentences itself, if out_json is 0.
 */
#include <linux/types.h>
#include "ctl/terminal.h"

extern int out_json; /* --json was given */

/* Begin a list and an object: a member of the open object, by its key, or an element of the open list. */
void out_array(const char *key);
void out_object(const char *key);
void out_end(void);

void out_u64(const char *key, __u64 v);
void out_s64(const char *key, __s64 v);
void out_bool(const char *key, int v); /* "on" and "off" in the table */
void out_string(const char *key, const char *v);
void out_ns(const char *key, __u64 ns);	   /* us in the table */
void out_rate(const char *key, __u64 bps); /* Mbit/s in the table */
/* JSON only; the second has a fixed number of decimals. */
void out_double(const char *key, double v);
void out_decimal(const char *key, double v, int digits);
/* Table only; it replaces what the same line already has there. */
void out_cell(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints the titles, and then lines. An unwritten cell is "-". */
void out_table(const struct table_column *columns, unsigned int n);
void out_row(void);
void out_row_end(void);

/* Ends everything open and prints it. Returns EXIT_DONE. */
int out_done(void);
/* Ends everything open. Returns it as one line, which out_drop() frees. */
const char *out_line(void);
/* Discards the output. */
void out_drop(void);

/* The time in human-readable form; returns buf, of 32 bytes. */
const char *time_text(__u64 ns, char *buf);

#endif
