// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl replay: runs recorded feedback through the core, to show the decisions for a flow and their reasons.
 *
 *  1. The options become struct hpcc_params (replay_options.c).
 *  2. The header line names the columns, in any order (replay_csv.c).
 *  3. Each further line becomes a struct hpcc_ack and goes through hpcc_new_ack(), the code of the
 *     data plane; the flow's state after it is one line of output.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/out.h"
#include "ctl/replay.h"
#include "ctl/replay_csv.h"
#include "lib/names.h"
#include "lib/util.h"
#include "sluice/cc/rx.h"

/*
 * With 24 bits of clock a step back of a may be a step forward of 16.8 ms - a. A packet overtaken by others of its flow
 * is late by RTTs; a step back below this limit counts as such whatever its sequence.
 */
#define REORDER_MIN_NS (1ULL << 20)
#define REORDER_MAX_NS (1ULL << 22)

struct replay {
	struct csv csv;
	unsigned long row_nr;
	struct hpcc_params params, fixed; /* current, and as set by the options */
	__u64 flows;			  /* N behind params; 0: params are as set by the options */
	struct hpcc_state state;
	struct csv_row recorded; /* the row whose hops are in the state */
};

static __u64 row_ts_ns(const struct csv_row *row, int hop)
{
	return row->value[COL_HOP + hop * HOP_COLS + HOP_TS];
}

static int row_is_whole(const struct csv_row *row)
{
	int hop;

	for (hop = 0; hop < (int)row->value[COL_HOPS]; hop++)
		if (row_ts_ns(row, hop) > HPCC_TS_MASK)
			return 1;
	return 0;
}

/*
 * The time since the recorded row, which the core needs to count the wraps of 24 bits and, with Sampling Frequency, the
 * number of feedbacks that a row stands for.
 *
 * A column may give it, and so do full-width clocks. Truncated clocks do not: then the core takes the nearest value,
 * and a pause of more than half the wrap would look like a step back and be skipped, as would later rows, until the
 * clock passes the old record again. The sequence distinguishes the two: a later packet did not go back by
 * milliseconds. A pause of a whole wrap or more leaves no trace in a truncated clock.
 */
static __s64 row_gap_ns(const struct replay *r, const struct csv_row *row)
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

static void row_to_ack(const struct replay *r, const struct csv_row *row, struct hpcc_ack *ack)
{
	int hop;

	memset(ack, 0, sizeof(*ack));
	ack->seq = row->value[COL_ACK_SEQ];
	ack->snd_nxt = row->value[COL_SND_NXT];
	ack->gap_ns = r->state.hops ? row_gap_ns(r, row) : HPCC_GAP_UNKNOWN;
	ack->path_id = row->value[COL_PATH_ID];
	ack->hops = row->value[COL_HOPS];
	for (hop = 0; hop < ack->hops; hop++) {
		const __u64 *v = &row->value[COL_HOP + hop * HOP_COLS];

		ack->hop[hop].bps = v[HOP_BPS];
		ack->hop[hop].ts_ns = v[HOP_TS] & HPCC_TS_MASK;
		ack->hop[hop].tx_bytes = v[HOP_TX] & HPCC_TX_MASK;
		ack->hop[hop].qlen_bytes = v[HOP_QLEN];
	}
}

/* The CSV output has the columns that were recorded, so it is separate from JSON. */
static int row_print(const struct replay *r, const char *kind)
{
	const struct hpcc_state *st = &r->state;
	double u = (double)st->u / Q24_ONE, w = (double)st->w / Q12_ONE, wc = (double)st->wc / Q12_ONE;
	double dampener = (double)st->vai.dampener_q8 / VAI_DAMPENER_ONE;
	int has_vai = r->params.variant == HPCC_VAI_SF, err;
	char vai[48] = "";

	if (!out_json) {
		if (has_vai)
			snprintf(vai, sizeof(vai), ",%u,%.3f", st->vai.bank, dampener);
		return printf("%lu,%s,%.6f,%.3f,%.3f,%u,%llu%s\n", r->row_nr, kind, u, w, wc, st->inc_stage,
			      st->rate_bps, vai) < 0 ?
			       -errno :
			       0;
	}
	out_object(NULL);
	out_u64("row", r->row_nr);
	out_string("kind", kind);
	out_decimal("u", u, 6);
	out_decimal("w_bytes", w, 3);
	out_decimal("wc_bytes", wc, 3);
	out_u64("inc_stage", st->inc_stage);
	out_u64("rate_bps", st->rate_bps);
	out_string("variant", variant_name(r->params.variant));
	if (has_vai) {
		out_u64("bank_tokens", st->vai.bank);
		out_decimal("dampener", dampener, 3);
	}
	err = puts(out_line()) < 0 ? -errno : 0;
	out_drop();
	return err;
}

/* A reader that has seen enough, such as head, is no error. */
static int output_fail(int err)
{
	if (err != -EPIPE)
		fprintf(stderr, REPLAY_ME "cannot write to standard output: %s: give it room and run again\n",
			strerror(-err));
	return err;
}

/* Sets W_AI by the N of the row, as for a flow whose receiver counts (sluicectl flows: N). */
static void row_flows(struct replay *r, __u64 flows)
{
	if (flows == r->flows)
		return;
	r->flows = flows;
	if (flows)
		rx_flows(&r->params, flows, r->state.last[r->state.bottleneck].bps);
	else
		r->params = r->fixed;
}

static int replay_run(struct replay *r)
{
	struct csv_row row;
	struct hpcc_ack ack;
	enum hpcc_kind kind;
	int err;

	err = csv_header(&r->csv);
	if (err)
		return err;
	if (!out_json && printf("row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps%s\n",
				r->params.variant == HPCC_VAI_SF ? ",bank_tokens,dampener" : "") < 0)
		return output_fail(-errno);
	r->fixed = r->params;
	while ((err = csv_row(&r->csv, &row)) > 0) {
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

	signal(SIGPIPE, SIG_IGN); /* a closed stdout becomes a write error instead of killing the process */
	r = calloc(1, sizeof(*r));
	if (r)
		r->csv.line = malloc(CSV_LINE_BYTES);
	if (!r || !r->csv.line) {
		fputs(REPLAY_ME "out of memory: free some\n", stderr);
		goto out_free;
	}
	err = replay_options_parse(argc, argv, &r->csv.name, &r->params, &r->state);
	if (err) {
		code = err < 0 ? EXIT_USAGE : fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
		goto out_free;
	}
	if (strcmp(r->csv.name, "-")) {
		r->csv.in = fopen(r->csv.name, "re");
		if (!r->csv.in) {
			fprintf(stderr, REPLAY_ME "%s: cannot open: %s: give a readable file\n", r->csv.name,
				strerror(errno));
			goto out_free;
		}
	} else {
		r->csv.name = "stdin";
		r->csv.in = stdin;
	}
	code = replay_run(r) ? EXIT_FAILED : EXIT_DONE;
	if (r->csv.in != stdin)
		fclose(r->csv.in);
out_free:
	if (r)
		free(r->csv.line);
	free(r);
	return code;
}
