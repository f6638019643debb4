// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl replay: recorded feedback through the core, to see what a flow would do and why.
 *
 *  1. The options become struct hpcc_params; whatever the core could not hold is a usage error.
 *  2. The header line says which column is what; their order is the file's affair.
 *  3. Each further line becomes a struct hpcc_ack and goes through hpcc_new_ack(), the code of the
 *     data plane; the flow's state after it is one line of output.
 *
 * The file is read once and never held, so its size does not matter. The price: rows before a bad
 * one have been printed when it is found. Every line printed is whole and right, and the exit code
 * tells.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl/replay.h"
#include "lib/util.h"
#include "lib/names.h"
#include "sluice/cc/rx.h"

#define ME "sluicectl replay: "

#define LINE_BYTES 65536 /* of a text file of numbers; longer means that it is something else */
#define COLUMNS_MAX 1024
#define BPS_MAX 10000000000000ULL    /* 10 Tbit/s; the core takes less than 2^44 */
#define TS_MAX_NS ((1ULL << 62) - 1) /* year 2116; differences stay clear of the sign bit */
#define QLEN_MAX_BYTES ((1ULL << 27) - 1)
#define RATE_MAX_BPS 4.5e15 /* hpcc_rate_bps() stays below 2^64 */

/*
 * With 24 bits of clock a step back of a may be a step forward of 16.8 ms - a. A packet overtaken
 * by others of its flow is late by RTTs; below this it is taken as such whatever its sequence says.
 */
#define REORDER_MIN_NS (1ULL << 20)
#define REORDER_MAX_NS (1ULL << 22)

enum opt {
	OPT_BASE_RTT,
	OPT_NIC_BPS,
	OPT_ETA,
	OPT_MAX_STAGE,
	OPT_W_AI,
	OPT_W_INIT,
	OPT_W_MIN,
	OPT_NUMBERS,
	OPT_VARIANT = OPT_NUMBERS,
	OPT_JSON,
	OPT_HELP,
};

static const struct option_number {
	const char *name;
	double min, max, preset;
	int whole;
	const char *help;
} option_numbers[OPT_NUMBERS] = {
	[OPT_BASE_RTT] = { "base-rtt-ns", 1, 1e9, 4160, 1, "T, the RTT without queues" },
	[OPT_NIC_BPS] = { "nic-bps", 1, BPS_MAX, 1e11, 1, "speed of the sender's port" },
	[OPT_ETA] = { "eta", 0.000001, 1, 0.95, 0, "target utilisation" },
	[OPT_MAX_STAGE] = { "max-stage", 0, 255, 5, 1, "additive increases in a row" },
	[OPT_W_AI] = { "w-ai-bytes", 0, HPCC_W_MAX_BYTES, 80, 0, "additive increase" },
	[OPT_W_INIT] = { "w-init-bytes", 1, HPCC_W_MAX_BYTES, 0, 0, "first and largest window" },
	[OPT_W_MIN] = { "w-min-bytes", 1, HPCC_W_MAX_BYTES, 1000, 0, "smallest window" },
};

/* What a column holds: ack_seq.. or COL_HOP + HOP_COLS * hop + bps.. */
enum column { COL_ACK_SEQ, COL_SND_NXT, COL_PATH_ID, COL_HOPS, COL_RANDOM, COL_FLOWS, COL_GAP, COL_HOP };
enum hop_column { HOP_BPS, HOP_TS, HOP_TX, HOP_QLEN, HOP_COLS };

#define COLS (COL_HOP + HOP_COLS * HPCC_MAX_HOPS)
#define COL_OTHER (-1)

static const struct column_kind {
	const char *before, *after; /* the hop's number stands between */
	__u64 min, max;
} column_kinds[] = {
	[COL_ACK_SEQ] = { "ack_seq", NULL, 0, ~0ULL },
	[COL_SND_NXT] = { "snd_nxt", NULL, 0, ~0ULL },
	[COL_PATH_ID] = { "path_id", NULL, 0, 0xffff },
	[COL_HOPS] = { "hops", NULL, 0, HPCC_MAX_HOPS },
	[COL_RANDOM] = { "random", NULL, 0, 0xffffffff },
	[COL_FLOWS] = { "flows", NULL, 0, RX_N_MAX },
	[COL_GAP] = { "gap_ns", NULL, 0, TS_MAX_NS },
	[COL_HOP + HOP_BPS] = { "b", "_bps", 1, BPS_MAX },
	[COL_HOP + HOP_TS] = { "ts", "_ns", 0, TS_MAX_NS },
	[COL_HOP + HOP_TX] = { "tx", "_bytes", 0, ~0ULL },
	[COL_HOP + HOP_QLEN] = { "q", "_bytes", 0, QLEN_MAX_BYTES },
};

/* One row as it stands in the file, before anything is cut to the width of the wire. */
struct row {
	__u64 value[COLS];
};

struct replay {
	const char *name; /* of the file, for messages */
	FILE *in;
	char *line;
	unsigned long line_nr, row_nr;
	int json;
	int column_of[COLUMNS_MAX]; /* field of a line -> column, or COL_OTHER */
	int fields;
	int hops;			  /* that the header has columns for */
	int has_flows, has_gap;		  /* likewise */
	struct hpcc_params params, fixed; /* as they are now, and as the options say */
	__u64 flows;			  /* N of params; 0: they are as the options say */
	struct hpcc_state state;
	struct row recorded; /* the row whose hops the state holds */
};

const char *replay_option(unsigned int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "--%s", i < OPT_NUMBERS ? option_numbers[i].name : "variant");
	return i <= OPT_VARIANT ? name : NULL;
}

static void replay_usage(FILE *to)
{
	char words[96];
	int i;

	fputs("usage: sluicectl replay [options] FILE\n"
	      "\n"
	      "Feeds recorded feedback to the HPCC core and prints its decisions. Needs no root.\n"
	      "\n",
	      to);
	for (i = 0; i < OPT_NUMBERS; i++) {
		const struct option_number *o = &option_numbers[i];

		fprintf(to, "  --%-13s N  %s, %.14g..%.14g ", o->name, o->help, o->min, o->max);
		if (i == OPT_W_INIT)
			fputs("(default nic-bps * base-rtt)\n", to);
		else
			fprintf(to, "(default %.14g)\n", o->preset);
	}
	fprintf(to, "  --variant NAME     %s (default plain)\n", words_list(variant_words, words, sizeof(words)));
	fputs("  --json             one JSON object per line instead of CSV\n"
	      "  --help             this text\n"
	      "\n"
	      "FILE is CSV, - for standard input. Its first line names the columns, in any order:\n"
	      " ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes,b1_bps,...,q4_bytes\n"
	      "With the variant probabilistic also random, the 32 bits by which a decrease is used or\n"
	      "not. With a column flows, N: W_AI is w-init * (1 - eta) / N for that row, where N is not 0.\n"
	      "With a column gap_ns, the time between the arrivals at the receiver of this packet and of the\n"
	      "last that was not skipped, where it is not 0: how often a cut ts wrapped in a pause.\n"
	      "Columns with other names are ignored, as are those of the hops that a row does not\n"
	      "have. ts and tx may be whole or cut to the 24 bits of ns and 27 bits of bytes of\n"
	      "the wire; ack_seq and snd_nxt must not wrap.\n"
	      "\n"
	      "Output: row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps for each row. The kinds:\n"
	      "  first    nothing to compare with (first feedback, other path, pause): W stays\n"
	      "  fast     W computed from the reference window Wc\n"
	      "  full     the same, and Wc = W: once per RTT (vai-sf: decreases more often;\n"
	      "           probabilistic: those decreases that chance picks)\n"
	      "  skipped  ignored: reordered, or without hops\n"
	      "With vai-sf also bank_tokens and dampener, after the row: what it has saved for larger\n"
	      "additive increases, and what divides them (1 + dampener / 8).\n"
	      "\n"
	      "A bad row ends the replay with exit code 1 and a message that names its line; the\n"
	      "rows before it are printed. Exit codes: 0 done, 1 failure, 2 usage.\n",
	      to);
}

static int usage_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int row_fail(const struct replay *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int usage_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs(ME, stderr);
	vfprintf(stderr, fmt, args);
	fputs(" (see sluicectl replay --help)\n", stderr);
	va_end(args);
	return -EINVAL;
}

static int row_fail(const struct replay *r, const char *fmt, ...)
{
	va_list args;

	fflush(stdout); /* what was decided before comes before */
	va_start(args, fmt);
	fprintf(stderr, ME "%s:%lu: ", r->name, r->line_nr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	return -EINVAL;
}

static int option_parse(const struct option_number *o, const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	/* strtod() also likes blanks, "inf", "nan" and hexadecimal. */
	if (end == text || *end || text[strspn(text, "0123456789.eE+-")])
		return usage_fail("--%s %s: not a number: give %s number", o->name, text, o->whole ? "a whole" : "a");
	if (!(*value >= o->min && *value <= o->max))
		return usage_fail("--%s %s: out of range: give %.14g to %.14g", o->name, text, o->min, o->max);
	if (o->whole && *value != floor(*value))
		return usage_fail("--%s %s: not a whole number: leave out the fraction", o->name, text);
	return 0;
}

static int params_set(struct hpcc_params *p, const double *v, int w_init_given, enum hpcc_variant variant)
{
	double w_init = v[OPT_W_INIT];

	if (!w_init_given) {
		w_init = v[OPT_NIC_BPS] * v[OPT_BASE_RTT] / 8e9;
		if (w_init > HPCC_W_MAX_BYTES)
			return usage_fail("--nic-bps * --base-rtt-ns is %.0f bytes, more than %llu: "
					  "give --w-init-bytes",
					  w_init, HPCC_W_MAX_BYTES);
	}
	if (w_init < v[OPT_W_MIN])
		return usage_fail("the first window of %.10g bytes is below the smallest of %.10g: "
				  "give a larger --w-init-bytes or a smaller --w-min-bytes",
				  w_init, v[OPT_W_MIN]);
	if (w_init * 8e9 / v[OPT_BASE_RTT] > RATE_MAX_BPS)
		return usage_fail("%.10g bytes in %.10g ns are more than %.10g bit/s: "
				  "give a smaller --w-init-bytes or a larger --base-rtt-ns",
				  w_init, v[OPT_BASE_RTT], RATE_MAX_BPS);
	memset(p, 0, sizeof(*p));
	p->t_ns = v[OPT_BASE_RTT];
	p->w_init = llround(w_init * Q12_ONE);
	p->w_min = llround(v[OPT_W_MIN] * Q12_ONE);
	p->w_ai = llround(v[OPT_W_AI] * Q12_ONE);
	p->eta = llround(v[OPT_ETA] * Q24_ONE);
	p->max_stage = v[OPT_MAX_STAGE];
	hpcc_params_variant(p, variant);
	return 0;
}

/* Returns 0, -EINVAL, or 1 when the help was all that was wanted. */
static int replay_options_parse(struct replay *r, int argc, char **argv)
{
	struct option options[OPT_HELP + 2] = {
		[OPT_VARIANT] = { "variant", required_argument, NULL, OPT_VARIANT },
		[OPT_JSON] = { "json", no_argument, NULL, OPT_JSON },
		[OPT_HELP] = { "help", no_argument, NULL, OPT_HELP },
	};
	double value[OPT_NUMBERS];
	unsigned int variant = HPCC_PLAIN;
	int w_init_given = 0, i, c, err;
	char words[96];

	for (i = 0; i < OPT_NUMBERS; i++) {
		options[i] = (struct option){ option_numbers[i].name, required_argument, NULL, i };
		value[i] = option_numbers[i].preset;
	}
	optind = 0; /* sluicectl's own options have been through getopt */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (c) {
		case OPT_VARIANT:
			if (word_parse(variant_words, optarg, &variant))
				return usage_fail("--variant %s is unknown: give %s", optarg,
						  words_list(variant_words, words, sizeof(words)));
			break;
		case OPT_JSON:
			r->json = 1;
			break;
		case OPT_HELP:
		case 'h':
			replay_usage(stdout);
			return 1;
		case ':':
			return usage_fail("%s: its value is missing: add it", argv[optind - 1]);
		case '?':
			return usage_fail("%s: no such option, or not clear which: spell it out", argv[optind - 1]);
		default:
			err = option_parse(&option_numbers[c], optarg, &value[c]);
			if (err)
				return err;
			w_init_given |= c == OPT_W_INIT;
		}
	}
	if (optind != argc - 1)
		return usage_fail(optind == argc ? "no FILE: name the trace, or - for standard input" :
						   "more than one FILE: replay them one by one");
	r->name = argv[optind];
	return params_set(&r->params, value, w_init_given, variant);
}

/* The next line without its end. Returns 1, 0 at the end of the file, or -errno. */
static int line_read(struct replay *r)
{
	size_t len = 0;
	int c;

	r->line_nr++;
	errno = 0;
	while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
		if (!c)
			return row_fail(r, "a zero byte: give a text file of comma separated values");
		if (len == LINE_BYTES - 1)
			return row_fail(r, "longer than %d bytes: give a text file of comma separated values",
					LINE_BYTES - 1);
		r->line[len++] = c;
	}
	if (c == EOF && ferror(r->in)) {
		int err = errno ? errno : EIO;

		fflush(stdout);
		fprintf(stderr, ME "%s: cannot read: %s: give a readable file\n", r->name, strerror(err));
		return -err;
	}
	if (len && r->line[len - 1] == '\r')
		len--;
	r->line[len] = '\0';
	return c != EOF || len;
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

/* Only chance needs a random number, and nobody must say N or the gap. */
static int column_is_used(const struct replay *r, int column)
{
	if (column == COL_FLOWS)
		return r->has_flows;
	if (column == COL_GAP)
		return r->has_gap;
	return column != COL_RANDOM || r->params.variant == HPCC_PROBABILISTIC;
}

static int header_parse(struct replay *r)
{
	static const char bom[] = "\xef\xbb\xbf"; /* some spreadsheets put it first */
	char *rest = r->line, *field, name[32];
	int field_of[COLS], column, hop;

	if (!strncmp(rest, bom, strlen(bom)))
		rest += strlen(bom);
	for (column = 0; column < COLS; column++)
		field_of[column] = COL_OTHER;
	for (r->fields = 0; rest; r->fields++) {
		if (r->fields == COLUMNS_MAX)
			return row_fail(r, "more than %d columns: leave out what replay does not use", COLUMNS_MAX);
		field = field_next(&rest);
		r->column_of[r->fields] = COL_OTHER;
		for (column = 0; column < COLS; column++) {
			if (strcmp(field, column_name(column, name, sizeof(name))))
				continue;
			if (field_of[column] != COL_OTHER)
				return row_fail(r, "two columns named %s: leave one out", name);
			field_of[column] = r->fields;
			r->column_of[r->fields] = column;
		}
	}
	r->has_flows = field_of[COL_FLOWS] != COL_OTHER;
	r->has_gap = field_of[COL_GAP] != COL_OTHER;
	/* All of hop 0; of later hops everything or nothing, and none after one that is missing. */
	r->hops = 0;
	for (hop = 0; hop < HPCC_MAX_HOPS; hop++)
		for (column = COL_HOP; column < COL_HOP + HOP_COLS; column++)
			if (field_of[column + hop * HOP_COLS] != COL_OTHER)
				r->hops = hop + 1;
	if (!r->hops)
		r->hops = 1;
	for (column = 0; column < COL_HOP + HOP_COLS * r->hops; column++)
		if (field_of[column] == COL_OTHER && column_is_used(r, column))
			return row_fail(r,
					"no column %s: the first line has to name "
					"ack_seq,snd_nxt,path_id,hops,%sb0_bps,ts0_ns,tx0_bytes,q0_bytes,"
					"...",
					column_name(column, name, sizeof(name)),
					column_is_used(r, COL_RANDOM) ? "random," : "");
	return 0;
}

static int value_parse(const struct replay *r, int column, const char *text, __u64 *value)
{
	const struct column_kind *k = column_kind(column);
	char name[32];

	column_name(column, name, sizeof(name));
	if (!text || !*text)
		return row_fail(r, "%s is empty: give a whole number", name);
	if (text[strspn(text, "0123456789")])
		return row_fail(r, "%s is \"%.40s\": give a whole number", name, text);
	errno = 0;
	*value = strtoull(text, NULL, 10);
	if (errno || *value < k->min || *value > k->max)
		return row_fail(r, "%s is %.40s, out of range: give %llu to %llu", name, text, k->min, k->max);
	return 0;
}

static int row_parse(const struct replay *r, struct row *row)
{
	const char *text[COLS] = { NULL };
	char *rest = r->line;
	int fields, column, err;

	for (fields = 0; rest; fields++) {
		char *field = field_next(&rest);

		if (fields == r->fields)
			return row_fail(r,
					"more fields than the %d columns that the first line names: "
					"leave out \"%.40s\"",
					r->fields, field);
		if (r->column_of[fields] != COL_OTHER)
			text[r->column_of[fields]] = field;
	}
	memset(row, 0, sizeof(*row));
	for (column = 0; column < COL_HOP; column++) {
		if (!column_is_used(r, column))
			continue;
		err = value_parse(r, column, text[column], &row->value[column]);
		if (err)
			return err;
	}
	if (row->value[COL_HOPS] > (__u64)r->hops)
		return row_fail(r, "hops is %llu, but the first line has columns for %d: add the others",
				row->value[COL_HOPS], r->hops);
	for (; column < COL_HOP + HOP_COLS * (int)row->value[COL_HOPS]; column++) {
		err = value_parse(r, column, text[column], &row->value[column]);
		if (err)
			return err;
	}
	return 0;
}

static __u64 row_ts_ns(const struct row *row, int hop)
{
	return row->value[COL_HOP + hop * HOP_COLS + HOP_TS];
}

static int row_is_whole(const struct row *row)
{
	int hop;

	for (hop = 0; hop < (int)row->value[COL_HOPS]; hop++)
		if (row_ts_ns(row, hop) > HPCC_TS_MASK)
			return 1;
	return 0;
}

/*
 * The time since the recorded row, which the core wants in order to count the wraps of 24 bits, and
 * with Sampling Frequency to know for how many feedbacks a row stands.
 *
 * A column may say it, and whole clocks do. Cut ones do not: then the core takes the nearest, and a pause of more than
 * half the wrap would look like a step back and be skipped, as would what follows, until the clock
 * comes round to the old record. The sequence tells the two apart: what was sent later did not go
 * back by milliseconds. A pause of a whole wrap or more leaves no trace in a cut clock.
 */
static __s64 row_gap_ns(const struct replay *r, const struct row *row)
{
	__u64 reorder_ns = 8 * r->params.t_ns, ahead_ns;

	if (row->value[COL_GAP])
		return row->value[COL_GAP];
	if (row_is_whole(row) || row_is_whole(&r->recorded))
		return row_ts_ns(row, 0) - row_ts_ns(&r->recorded, 0);
	if (reorder_ns < REORDER_MIN_NS)
		reorder_ns = REORDER_MIN_NS;
	if (reorder_ns > REORDER_MAX_NS)
		reorder_ns = REORDER_MAX_NS;
	ahead_ns = (row_ts_ns(row, 0) - row_ts_ns(&r->recorded, 0)) & HPCC_TS_MASK;
	if (row->value[COL_ACK_SEQ] > r->recorded.value[COL_ACK_SEQ] && ahead_ns > HPCC_TS_MASK / 2 + 1 &&
	    ahead_ns < HPCC_TS_MASK + 1 - reorder_ns)
		return ahead_ns;
	return hpcc_elapsed(row_ts_ns(&r->recorded, 0), row_ts_ns(row, 0), HPCC_GAP_UNKNOWN);
}

static void row_to_ack(const struct replay *r, const struct row *row, struct hpcc_ack *ack)
{
	int hop;

	memset(ack, 0, sizeof(*ack));
	ack->seq = row->value[COL_ACK_SEQ];
	ack->snd_nxt = row->value[COL_SND_NXT];
	ack->gap_ns = r->state.hops ? row_gap_ns(r, row) : HPCC_GAP_UNKNOWN;
	ack->path_id = row->value[COL_PATH_ID];
	ack->hops = row->value[COL_HOPS];
	ack->random = row->value[COL_RANDOM];
	for (hop = 0; hop < ack->hops; hop++) {
		const __u64 *v = &row->value[COL_HOP + hop * HOP_COLS];

		ack->hop[hop].bps = v[HOP_BPS];
		ack->hop[hop].ts_ns = v[HOP_TS] & HPCC_TS_MASK;
		ack->hop[hop].tx_bytes = v[HOP_TX] & HPCC_TX_MASK;
		ack->hop[hop].qlen_bytes = v[HOP_QLEN];
	}
}

static int json_put(json_object *o, const char *key, json_object *value)
{
	if (value && !json_object_object_add(o, key, value))
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int row_print_json(const struct replay *r, const char *kind, const char *u, const char *w, const char *wc,
			  const char *dampener)
{
	const struct hpcc_state *st = &r->state;
	json_object *o = json_object_new_object();
	int err = -ENOMEM;

	if (!o)
		return err;
	if (json_put(o, "row", json_object_new_uint64(r->row_nr)) ||
	    json_put(o, "kind", json_object_new_string(kind)) ||
	    json_put(o, "u", json_object_new_double_s(atof(u), u)) ||
	    json_put(o, "w_bytes", json_object_new_double_s(atof(w), w)) ||
	    json_put(o, "wc_bytes", json_object_new_double_s(atof(wc), wc)) ||
	    json_put(o, "inc_stage", json_object_new_int(st->inc_stage)) ||
	    json_put(o, "rate_bps", json_object_new_uint64(st->rate_bps)) ||
	    json_put(o, "variant", json_object_new_string(variant_name(r->params.variant))))
		goto out_put;
	if (*dampener && (json_put(o, "bank_tokens", json_object_new_int(st->vai.bank)) ||
			  json_put(o, "dampener", json_object_new_double_s(atof(dampener), dampener))))
		goto out_put;
	err = puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN)) < 0 ? -errno : 0;
out_put:
	json_object_put(o);
	return err;
}

static int row_print(const struct replay *r, const char *kind)
{
	const struct hpcc_state *st = &r->state;
	char u[32], w[32], wc[32], dampener[32] = "", vai[48] = "";

	snprintf(u, sizeof(u), "%.6f", (double)st->u / Q24_ONE);
	snprintf(w, sizeof(w), "%.3f", (double)st->w / Q12_ONE);
	snprintf(wc, sizeof(wc), "%.3f", (double)st->wc / Q12_ONE);
	if (r->params.variant == HPCC_VAI_SF) {
		snprintf(dampener, sizeof(dampener), "%.3f", (double)st->vai.dampener_q8 / VAI_DAMPENER_ONE);
		snprintf(vai, sizeof(vai), ",%u,%s", st->vai.bank, dampener);
	}
	if (r->json)
		return row_print_json(r, kind, u, w, wc, dampener);
	return printf("%lu,%s,%s,%s,%s,%u,%llu%s\n", r->row_nr, kind, u, w, wc, st->inc_stage, st->rate_bps, vai) < 0 ?
		       -errno :
		       0;
}

/* A reader that has seen enough, such as head, is no reason to complain. */
static int output_fail(int err)
{
	if (err != -EPIPE)
		fprintf(stderr, ME "cannot write to standard output: %s: give it room and run again\n", strerror(-err));
	return err;
}

/* W_AI by the N of the row, as of a flow whose receiver counts (sluicectl flows: N). */
static void row_flows(struct replay *r, __u64 flows)
{
	if (flows == r->flows)
		return;
	r->flows = flows;
	if (flows)
		rx_flows(&r->params, flows);
	else
		r->params = r->fixed;
}

static int replay_run(struct replay *r)
{
	struct hpcc_ack ack;
	enum hpcc_kind kind;
	struct row row;
	int err;

	err = line_read(r);
	if (!err)
		err = row_fail(r, "empty: the first line has to name the columns");
	if (err < 0)
		return err;
	err = header_parse(r);
	if (err)
		return err;
	if (!r->json && printf("row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps%s\n",
			       r->params.variant == HPCC_VAI_SF ? ",bank_tokens,dampener" : "") < 0)
		return output_fail(-errno);
	hpcc_init(&r->state, &r->params);
	r->fixed = r->params;
	while ((err = line_read(r)) > 0) {
		if (!r->line[strspn(r->line, " \t")])
			continue;
		err = row_parse(r, &row);
		if (err)
			return err;
		r->row_nr++;
		row_flows(r, row.value[COL_FLOWS]);
		row_to_ack(r, &row, &ack);
		kind = hpcc_new_ack(&r->state, &r->params, &ack);
		if (kind != HPCC_SKIPPED)
			r->recorded = row;
		err = row_print(r, kind_name(kind));
		if (err)
			return output_fail(err);
	}
	if (!err && fflush(stdout))
		err = output_fail(-errno);
	return err;
}

int cmd_replay(int argc, char **argv)
{
	int code = EXIT_FAILED, err;
	struct replay *r;

	signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of a write, not a death */
	r = calloc(1, sizeof(*r));
	if (r)
		r->line = malloc(LINE_BYTES);
	if (!r || !r->line) {
		fputs(ME "out of memory: free some\n", stderr);
		goto out_free;
	}
	err = replay_options_parse(r, argc, argv);
	if (err) {
		code = err < 0 ? EXIT_USAGE : fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
		goto out_free;
	}
	if (strcmp(r->name, "-")) {
		r->in = fopen(r->name, "re");
		if (!r->in) {
			fprintf(stderr, ME "%s: cannot open: %s: give a readable file\n", r->name, strerror(errno));
			goto out_free;
		}
	} else {
		r->name = "stdin";
		r->in = stdin;
	}
	code = replay_run(r) ? EXIT_FAILED : EXIT_DONE;
	if (r->in != stdin)
		fclose(r->in);
out_free:
	if (r)
		free(r->line);
	free(r);
	return code;
}
