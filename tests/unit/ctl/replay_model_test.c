// SPDX-License-Identifier: GPL-2.0-only
/* The same as the model of the paper in double. */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "model.h"
#include "ctl/replay.h"
#include "trace.h"
#include "replay_case.h"

TestSuite(replay_model, .timeout = 60);

#define COLUMNS (4 + 4 * MODEL_HOPS)

static void column_print(FILE *f, int column, const struct trace_row *row, int wrapped)
{
	const struct trace_hop *h = &row->hop[(column - 4) / 4];
	unsigned long long hop[4] = { h->bps, h->ts_ns, h->tx_bytes, h->qlen_bytes };
	unsigned long long fixed[4] = { row->seq, row->snd_nxt, row->path_id, row->hops };

	if (wrapped) {
		hop[1] &= 0xffffff;
		hop[2] = hop[2] / 128 % (1 << 20) * 128;
		hop[3] = fmin((hop[3] + 40) / 80, 65535) * 80;
	}
	if (column < 4)
		fprintf(f, "%llu", fixed[column]);
	else if ((column - 4) / 4 < (int)row->hops)
		fprintf(f, "%llu", hop[column % 4]);
}

static void header_print(FILE *f, const int *order)
{
	static const char *const fixed[] = { "ack_seq", "snd_nxt", "path_id", "hops" };
	static const char *const hop[] = { "b%d_bps", "ts%d_ns", "tx%d_bytes", "q%d_bytes" };
	int i;

	for (i = 0; i < COLUMNS; i++) {
		if (i)
			fputc(',', f);
		if (order[i] < 4)
			fputs(fixed[order[i]], f);
		else
			fprintf(f, hop[order[i] % 4], (order[i] - 4) / 4);
	}
	fputc('\n', f);
}

/* A trace of everything, through the command and through the model. */
static void expect_agreement(unsigned int seed, unsigned long rows, int wrapped)
{
	struct trace_cfg cfg = { .seed = seed,
				 .load = seed % 3,
				 .t_ns = 4160,
				 .bps_min = 10e9,
				 .bps_max = 400e9,
				 .table_speeds = seed & 1,
				 .interval_ns = 2000,
				 .reorder = 0.01,
				 .still = 0.002,
				 .path = 0.002,
				 .hop_count = 0.002,
				 .speed = 0.001,
				 .pause = 0.005,
				 .pause_ns = wrapped ? 3e6 : 1e9 };
	struct model_params mp = { .t_ns = 4160,
				   .w_init = 52000,
				   .w_min = 60,
				   .packet = 1000,
				   .w_ai = 80,
				   .eta = 0.95,
				   .max_stage = 5,
				   .idle_ns = 1 << 23,
				   .tx_wrap_bytes = 1 << 27 };
	FILE *csv = tmpfile(), *out;
	int order[COLUMNS], i;
	struct trace_row row;
	struct result r;
	struct model m;
	struct trace t;
	unsigned long n;
	char line[256];

	trace_init(&t, &cfg);
	for (i = 0; i < COLUMNS; i++) {
		int other = trace_random(&t, 0, i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	header_print(csv, order);
	for (n = 0; n < rows; n++) {
		trace_next(&t, &row);
		for (i = 0; i < COLUMNS; i++) {
			if (i)
				fputc(',', csv);
			column_print(csv, order[i], &row, wrapped);
		}
		fputc('\n', csv);
	}
	rewind(csv);
	r = replay_to(-1, csv, (const char *const[]){ "-", NULL });
	fclose(csv);
	cr_assert_eq(r.code, 0, "%s", r.err);
	cr_assert_eq(lines(r.out), (int)rows + 1);

	/* The same trace again, for the model. */
	trace_init(&t, &cfg);
	for (i = 0; i < COLUMNS; i++)
		trace_random(&t, 0, 1);
	model_init(&m, &mp);
	out = text_file(r.out, strlen(r.out));
	cr_assert_not_null(fgets(line, sizeof(line), out));
	for (n = 1; n <= rows; n++) {
		unsigned long got_row, rate;
		struct model_hint hint;
		struct model_ack ack;
		double w, wc;
		char kind[16];
		const char *want;

		cr_assert_not_null(fgets(line, sizeof(line), out));
		cr_assert_eq(sscanf(line, "%lu,%15[a-z],%lf,%lf,%lf,%d,%lu\n", &got_row, kind, &hint.u, &w, &wc,
				    &hint.inc_stage, &rate),
			     7, "%s", line);
		trace_next(&t, &row);
		trace_model_ack(&row, wrapped, &ack);
		want = model_kind_name(model_new_ack(&m, &mp, &ack, &hint));
		cr_assert_eq(got_row, n);
		cr_assert_str_eq(kind, want, "seed %u row %lu: %s, not %s", seed, n, kind, want);
		cr_assert(fabs(w / m.w - 1) <= 0.005, "seed %u row %lu: W %.3f, not %.3f", seed, n, w, m.w);
		cr_assert(fabs(wc / m.wc - 1) <= 0.005, "seed %u row %lu: Wc %.3f, not %.3f", seed, n, wc, m.wc);
		cr_assert(fabs(hint.u - m.u) <= 0.001 * m.u + 2e-6, "seed %u row %lu: U %.6f, not %.6f", seed, n,
			  hint.u, m.u);
		cr_assert_eq(hint.inc_stage, m.inc_stage, "seed %u row %lu", seed, n);
		cr_assert(fabs(rate / m.rate_bps - 1) <= 0.005, "seed %u row %lu", seed, n);
	}
	fclose(out);
	result_free(&r);
}

Test(replay_model, cmd_replay__agrees_with_the_paper_on_wrapped_traces)
{
	unsigned int seed;

	for (seed = 1; seed <= 12; seed++)
		expect_agreement(seed, 3000, 1);
}

Test(replay_model, cmd_replay__agrees_with_the_paper_on_whole_traces)
{
	unsigned int seed;

	for (seed = 101; seed <= 112; seed++)
		expect_agreement(seed, 3000, 0);
}

Test(replay_model, cmd_replay__agrees_with_the_paper_for_100000_rows)
{
	expect_agreement(1000, 100000, 1);
}
