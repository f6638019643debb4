// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of sluicectl replay. It is read once and never held, so its size does not matter. The price: rows before a
 * bad one have been printed when it is found. Every printed line is whole and right; the exit code tells.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/replay_csv.h"
#include "sluice/cc/rx.h"

#define TS_MAX_NS ((1ULL << 62) - 1) /* year 2116; differences stay clear of the sign bit */
#define QLEN_MAX_BYTES ((1ULL << 27) - 1)
#define COL_OTHER (-1)

static const struct column_kind {
	const char *before, *after; /* the hop's number is between the two */
	__u64 min, max;
} column_kinds[] = {
	[COL_ACK_SEQ] = { "ack_seq", NULL, 0, ~0ULL },
	[COL_SND_NXT] = { "snd_nxt", NULL, 0, ~0ULL },
	[COL_PATH_ID] = { "path_id", NULL, 0, 0xffff },
	[COL_HOPS] = { "hops", NULL, 0, HPCC_MAX_HOPS },
	[COL_FLOWS] = { "flows", NULL, 0, RX_N_MAX },
	[COL_GAP] = { "gap_ns", NULL, 0, TS_MAX_NS },
	[COL_HOP + HOP_BPS] = { "b", "_bps", 1, REPLAY_BPS_MAX },
	[COL_HOP + HOP_TS] = { "ts", "_ns", 0, TS_MAX_NS },
	[COL_HOP + HOP_TX] = { "tx", "_bytes", 0, ~0ULL },
	[COL_HOP + HOP_QLEN] = { "q", "_bytes", 0, QLEN_MAX_BYTES },
};

static int row_fail(const struct csv *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int row_fail(const struct csv *c, const char *fmt, ...)
{
	va_list args;

	fflush(stdout); /* earlier decisions come before the message */
	va_start(args, fmt);
	fprintf(stderr, REPLAY_ME "%s:%lu: ", c->name, c->line_nr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	return -EINVAL;
}

/* The next line without its end. Returns 1, 0 at the end of the file, or -errno. */
static int line_read(struct csv *c)
{
	size_t len = 0;
	int ch;

	c->line_nr++;
	errno = 0;
	while ((ch = getc_unlocked(c->in)) != EOF && ch != '\n') {
		if (!ch)
			return row_fail(c, "a zero byte: give a text file of comma separated values");
		if (len == CSV_LINE_BYTES - 1)
			return row_fail(c, "longer than %d bytes: give a text file of comma separated values",
					CSV_LINE_BYTES - 1);
		c->line[len++] = ch;
	}
	if (ch == EOF && ferror(c->in)) {
		int err = errno ? errno : EIO;

		fflush(stdout);
		fprintf(stderr, REPLAY_ME "%s: cannot read: %s: give a readable file\n", c->name, strerror(err));
		return -err;
	}
	if (len && c->line[len - 1] == '\r')
		len--;
	c->line[len] = '\0';
	return ch != EOF || len;
}

/* The next field of a line, without blanks and quotes around it; *rest is NULL after the last. */
static char *field_next(char **rest)
{
	char *field = *rest, *end = strchr(field, ',');

	*rest = end ? end + 1 : NULL;
	if (!end)
		end = field + strlen(field);
	*end = '\0';
	field += strspn(field, " \t");
	while (end > field && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	if (end - field >= 2 && *field == '"' && end[-1] == '"') {
		*--end = '\0';
		field++;
	}
	return field;
}

static const struct column_kind *column_kind(int column)
{
	return &column_kinds[column < COL_HOP ? column : COL_HOP + (column - COL_HOP) % HOP_COLS];
}

static const char *column_name(int column, char *name, size_t size)
{
	const struct column_kind *k = column_kind(column);

	if (k->after)
		snprintf(name, size, "%s%d%s", k->before, (column - COL_HOP) / HOP_COLS, k->after);
	else
		snprintf(name, size, "%s", k->before);
	return name;
}

/* N and the gap are optional. */
static int column_is_used(const struct csv *c, int column)
{
	if (column == COL_FLOWS)
		return c->has_flows;
	if (column == COL_GAP)
		return c->has_gap;
	return 1;
}

static int header_parse(struct csv *c)
{
	static const char bom[] = "\xef\xbb\xbf"; /* some spreadsheets put it first */
	char *rest = c->line, *field, name[32];
	int field_of[COLS], column, hop;

	if (!strncmp(rest, bom, strlen(bom)))
		rest += strlen(bom);
	for (column = 0; column < COLS; column++)
		field_of[column] = COL_OTHER;
	for (c->fields = 0; rest; c->fields++) {
		if (c->fields == CSV_COLUMNS_MAX)
			return row_fail(c, "more than %d columns: leave out what replay does not use", CSV_COLUMNS_MAX);
		field = field_next(&rest);
		c->column_of[c->fields] = COL_OTHER;
		for (column = 0; column < COLS; column++) {
			if (strcmp(field, column_name(column, name, sizeof(name))))
				continue;
			if (field_of[column] != COL_OTHER)
				return row_fail(c, "two columns named %s: leave one out", name);
			field_of[column] = c->fields;
			c->column_of[c->fields] = column;
		}
	}
	c->has_flows = field_of[COL_FLOWS] != COL_OTHER;
	c->has_gap = field_of[COL_GAP] != COL_OTHER;
	/* All of hop 0; of later hops all or none, and none after a missing one. */
	c->hops = 0;
	for (hop = 0; hop < HPCC_MAX_HOPS; hop++)
		for (column = COL_HOP; column < COL_HOP + HOP_COLS; column++)
			if (field_of[column + hop * HOP_COLS] != COL_OTHER)
				c->hops = hop + 1;
	if (!c->hops)
		c->hops = 1;
	for (column = 0; column < COL_HOP + HOP_COLS * c->hops; column++)
		if (field_of[column] == COL_OTHER && column_is_used(c, column))
			return row_fail(c,
					"no column %s: the first line has to name "
					"ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes,"
					"...",
					column_name(column, name, sizeof(name)));
	return 0;
}

static int value_parse(const struct csv *c, int column, const char *text, __u64 *value)
{
	const struct column_kind *k = column_kind(column);
	char name[32];

	column_name(column, name, sizeof(name));
	if (!text || !*text)
		return row_fail(c, "%s is empty: give a whole number", name);
	if (text[strspn(text, "0123456789")])
		return row_fail(c, "%s is \"%.40s\": give a whole number", name, text);
	errno = 0;
	*value = strtoull(text, NULL, 10);
	if (errno || *value < k->min || *value > k->max)
		return row_fail(c, "%s is %.40s, out of range: give %llu to %llu", name, text, k->min, k->max);
	return 0;
}

static int row_parse(const struct csv *c, struct csv_row *row)
{
	const char *text[COLS] = { NULL };
	char *rest = c->line;
	int fields, column, err;

	for (fields = 0; rest; fields++) {
		char *field = field_next(&rest);

		if (fields == c->fields)
			return row_fail(c,
					"more fields than the %d columns that the first line names: "
					"leave out \"%.40s\"",
					c->fields, field);
		if (c->column_of[fields] != COL_OTHER)
			text[c->column_of[fields]] = field;
	}
	memset(row, 0, sizeof(*row));
	for (column = 0; column < COL_HOP; column++) {
		if (!column_is_used(c, column))
			continue;
		err = value_parse(c, column, text[column], &row->value[column]);
		if (err)
			return err;
	}
	if (row->value[COL_HOPS] > (__u64)c->hops)
		return row_fail(c, "hops is %llu, but the first line has columns for %d: add the others",
				row->value[COL_HOPS], c->hops);
	for (; column < COL_HOP + HOP_COLS * (int)row->value[COL_HOPS]; column++) {
		err = value_parse(c, column, text[column], &row->value[column]);
		if (err)
			return err;
	}
	return 0;
}

int csv_header(struct csv *c)
{
	int err = line_read(c);

	if (!err)
		return row_fail(c, "empty: the first line has to name the columns");
	return err < 0 ? err : header_parse(c);
}

int csv_row(struct csv *c, struct csv_row *row)
{
	int err;

	do {
		err = line_read(c);
	} while (err > 0 && !c->line[strspn(c->line, " \t")]);
	if (err <= 0)
		return err;
	err = row_parse(c, row);
	return err ?: 1;
}
