// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl replay: its output. */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model.h"
#include "ctl/replay.h"
#include "trace.h"
#include "replay_case.h"

TestSuite(replay, .timeout = 60);

#define GOLDEN_OUTPUT                                                   \
	OUTPUT "1,first,1.000000,52000.000,52000.000,0,100000000000\n"  \
	       "2,full,0.750000,52000.000,52000.000,1,100000000000\n"   \
	       "3,fast,1.250000,39600.000,52000.000,1,76153846153\n"    \
	       "4,skipped,1.250000,39600.000,52000.000,1,76153846153\n" \
	       "5,full,1.900000,26080.000,26080.000,0,50153846153\n"    \
	       "6,first,1.000000,26080.000,26080.000,0,50153846153\n"

/* Columns of a line to numbers; the rate's last digits and W's last decimal are rounding. */
static void expect_rows_near(const char *got, const char *want)
{
	unsigned long row[2], rate[2];
	double u[2], w[2], wc[2];
	char kind[2][16];
	int stage[2], i;

	cr_assert_eq(lines(got), lines(want), "%s", got);
	cr_assert_eq(strncmp(got, OUTPUT, strlen(OUTPUT)), 0, "%s", got);
	for (;;) {
		got = strchr(got, '\n') + 1;
		want = strchr(want, '\n') + 1;
		if (!*want)
			return;
		for (i = 0; i < 2; i++)
			cr_assert_eq(sscanf(i ? want : got, "%lu,%15[a-z],%lf,%lf,%lf,%d,%lu\n", &row[i], kind[i],
					    &u[i], &w[i], &wc[i], &stage[i], &rate[i]),
				     7, "%s", got);
		cr_expect_eq(row[0], row[1]);
		cr_expect_str_eq(kind[0], kind[1], "row %lu", row[1]);
		cr_expect_float_eq(u[0], u[1], 2e-6, "row %lu: U %f", row[1], u[0]);
		cr_expect_float_eq(w[0], w[1], 0.05, "row %lu: W %f", row[1], w[0]);
		cr_expect_float_eq(wc[0], wc[1], 0.05, "row %lu: Wc %f", row[1], wc[0]);
		cr_expect_eq(stage[0], stage[1], "row %lu: stage %d", row[1], stage[0]);
		cr_expect_float_eq((double)rate[0] / rate[1], 1, 1e-5, "row %lu: R %lu", row[1], rate[0]);
	}
}

Test(replay, cmd_replay__golden_trace)
{
	struct result r = REPLAY(HEADER GOLDEN_ROWS, "-");

	cr_expect_eq(r.code, 0);
	cr_expect_str_empty(r.err);
	expect_rows_near(r.out, GOLDEN_OUTPUT);
	result_free(&r);
}

Test(replay, cmd_replay__reads_a_file)
{
	char name[] = "/tmp/sluice-replay-XXXXXX";
	int fd = mkstemp(name);
	struct result r;

	cr_assert_eq(write(fd, HEADER GOLDEN_ROWS, strlen(HEADER GOLDEN_ROWS)), (ssize_t)strlen(HEADER GOLDEN_ROWS));
	close(fd);
	r = REPLAY("", name);
	unlink(name);
	cr_expect_eq(r.code, 0, "%s", r.err);
	expect_rows_near(r.out, GOLDEN_OUTPUT);
	result_free(&r);
}

Test(replay, cmd_replay__defaults_are_those_of_the_manual)
{
	struct result a = REPLAY(HEADER GOLDEN_ROWS, "-");
	struct result b = REPLAY(HEADER GOLDEN_ROWS, "--base-rtt-ns", "4160", "--nic-bps", "100000000000", "--eta",
				 "0.95", "--max-stage", "5", "--w-ai-bytes", "80", "--w-init-bytes", "52000",
				 "--w-min-bytes", "1000", "-");

	cr_expect_eq(b.code, 0, "%s", b.err);
	cr_expect_str_eq(a.out, b.out);
	result_free(&a);
	result_free(&b);
}

/* Each option does what it says, seen in the row that it changes. */
Test(replay, cmd_replay__options)
{
	static const struct {
		const char *args[6];
		const char *line;
	} t[] = {
		{ { "--w-init-bytes", "40000", "-" }, "\n1,first,1.000000,40000.000,40000.000,0,769230769" },
		{ { "--w-init-bytes=40000.5", "-" }, "\n1,first,1.000000,40000.500,40000.500,0,769240384" },
		{ { "--w-first-bytes", "20000", "-" }, "\n1,first,1.000000,20000.000,20000.000,0,38461538460\n" },
		{ { "--nic-bps", "50000000000", "-" }, "\n1,first,1.000000,26000.000,26000.000,0,50000000000\n" },
		{ { "--nic-bps=5e10", "-" }, "\n1,first,1.000000,26000.000,26000.000,0,50000000000\n" },
		{ { "--base-rtt-ns", "8320", "-" }, "\n1,first,1.000000,104000.000,104000.000,0,100000000000\n" },
		{ { "--base-rtt-ns", "8320", "--w-init-bytes", "52000", "-" },
		  "\n1,first,1.000000,52000.000,52000.000,0,50000000000\n" },
		{ { "--w-ai-bytes", "0", "-" }, "\n5,full,1.900000,26000.000,26000.000,0," },
		{ { "--w-ai-bytes", "1000", "-" }, "\n5,full,1.900000,27000.000,27000.000,0," },
		{ { "--w-min-bytes", "30000", "-" }, "\n5,full,1.900000,30000.000,30000.000,0," },
		{ { "--eta", "1", "-" }, "\n5,full,1.900000,27448.42" },
		/* U = 0.75 at the end of the stages: 52000 * 0.95 / 0.75, clamped, and stage 0 */
		{ { "--max-stage", "0", "-" }, "\n2,full,0.750000,52000.000,52000.000,0," },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct result r = replay_args(HEADER GOLDEN_ROWS, t[i].args);
		char shown[64] = "";

		if (t[i].args[0])
			snprintf(shown, sizeof(shown), "%s", t[i].args[0]);
		cr_expect_eq(r.code, 0, "%s: %s", shown, r.err);
		cr_expect_not_null(strstr(r.out, t[i].line), "%s: no %s in %s", shown, t[i].line, r.out);
		result_free(&r);
	}
}

Test(replay, cmd_replay__variants)
{
	struct result plain = REPLAY(HEADER GOLDEN_ROWS, "-");
	struct result same = REPLAY(HEADER GOLDEN_ROWS, "--variant", "plain", "-");
	struct result vai = REPLAY(HEADER GOLDEN_ROWS, "--variant", "vai-sf", "-");
	struct result high = REPLAY("", "--variant", "high-ai", "-");

	cr_expect_eq(same.code, 0, "%s", same.err);
	cr_expect_str_eq(same.out, plain.out);
	cr_expect_eq(vai.code, 0, "%s", vai.err);
	cr_expect_not_null(strstr(vai.out, "bank_tokens"), "%s", vai.out);
	cr_expect_eq(high.code, 2);
	cr_expect_not_null(strstr(high.err, "--variant high-ai is unknown: give plain or vai-sf"), "%s", high.err);
	result_free(&plain);
	result_free(&same);
	result_free(&vai);
	result_free(&high);
}

/* A round of three T, with U = 0.5: three stages by time, one by rounds. */
Test(replay, cmd_replay__stages)
{
#define STAGE_ROWS                                    \
	"1000,1000,7,1,100000000000,1000,0,0\n"       \
	"2000,60000,7,1,100000000000,13480,78000,0\n" \
	"60001,90000,7,1,100000000000,25960,156000,0\n"
	struct result time = REPLAY(HEADER STAGE_ROWS, "-");
	struct result rounds = REPLAY(HEADER STAGE_ROWS, "--stages", "rounds", "-");
	struct result bad = REPLAY(HEADER STAGE_ROWS, "--stages", "letter", "-");

	cr_expect_not_null(strstr(time.out, "\n2,full,0.500000,52000.000,52000.000,3,"), "%s", time.out);
	cr_expect_eq(rounds.code, 0, "%s", rounds.err);
	cr_expect_not_null(strstr(rounds.out, "\n2,full,0.500000,52000.000,52000.000,1,"), "%s", rounds.out);
	cr_expect_not_null(strstr(rounds.out, "\n3,full,0.500000,52000.000,52000.000,2,"), "%s", rounds.out);
	cr_expect_eq(bad.code, 2);
	cr_expect_not_null(strstr(bad.err, "--stages letter is unknown: give time or rounds"), "%s", bad.err);
	result_free(&time);
	result_free(&rounds);
	result_free(&bad);
}

/*
 * By hand: N = 2600 / 80 = 32, a token is 3250 bytes, s is 5. An RTT stands for 26 feedbacks of two
 * packets, so row 3 commits the decrease that plain HPCC keeps for row 5: 52000 * 0.95 / 1.25 + 80.
 * Row 4: 78000 bytes of queue make 24 tokens and a dampener of 1.5: 39600 / 2 + 80 * 24 / 1.1875.
 */
#define VAI_ROWS                                          \
	"1000,1000,7,1,100000000000,1000,0,13000\n"       \
	"2000,60000,7,1,100000000000,5160,26000,13000\n"  \
	"50000,90000,7,1,100000000000,9320,78000,46800\n" \
	"60001,90000,7,1,100000000000,13480,130000,78000\n"

Test(replay, cmd_replay__variable_ai)
{
	struct result r = REPLAY(HEADER VAI_ROWS, "--variant=vai-sf", "-");
	struct result j = REPLAY(HEADER VAI_ROWS, "--variant=vai-sf", "--json", "-");
	json_object *o, *value;

	cr_expect_eq(r.code, 0, "%s", r.err);
	cr_expect_not_null(strstr(r.out, "row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps,"
					 "bank_tokens,dampener\n"),
			   "%s", r.out);
	cr_expect_not_null(strstr(r.out, "\n3,full,1.250000,39600.000,39600.000,0,"), "%s", r.out);
	cr_expect_not_null(strstr(r.out, "\n4,full,1.900000,21416.5"), "%s", r.out);
	cr_expect_not_null(strstr(r.out, ",0,1.500\n"), "%s", r.out);
	cr_assert_not_null(strstr(j.out, "{\"row\":4,"));
	o = json_tokener_parse(strstr(j.out, "{\"row\":4,"));
	cr_assert(json_object_object_get_ex(o, "variant", &value));
	cr_expect_str_eq(json_object_get_string(value), "vai-sf");
	cr_assert(json_object_object_get_ex(o, "bank_tokens", &value));
	cr_expect_eq(json_object_get_int(value), 0);
	cr_assert(json_object_object_get_ex(o, "dampener", &value));
	cr_expect_float_eq(json_object_get_double(value), 1.5, 1e-9);
	json_object_put(o);
	result_free(&r);
	result_free(&j);
}

/* 52000 bytes * 5 % / 13 are 200 bytes of W_AI in place of 80; with 0 it is that of the options again. */
Test(replay, cmd_replay__flows)
{
	static const char rows[] = ONE_HOP ",flows\n"
					   "1000,1000,7,1,100000000000,1000,0,0,0\n"
					   "2000,60000,7,1,100000000000,5160,104000,0,%s\n"
					   "60001,90000,7,1,100000000000,9320,130000,0,%s\n";
	static const struct {
		const char *n2, *n3, *line;
	} t[] = {
		{ "0", "0", "24860.00" },
		{ "13", "13", "25100.00" },
		{ "13", "0", "24980.00" },
	};
	char text[1000];
	struct result r;
	size_t i;

	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), rows, t[i].n2, t[i].n3);
		r = REPLAY(text, "-");
		cr_expect_eq(r.code, 0);
		cr_expect(strstr(r.out, t[i].line), "%s: %s", t[i].line, r.out);
		result_free(&r);
	}
	snprintf(text, sizeof(text), rows, "13", "24577");
	r = REPLAY(text, "-");
	cr_expect_eq(r.code, 1);
	cr_expect(strstr(r.err, "flows is 24577, out of range"), "%s", r.err);
	result_free(&r);
}

Test(replay, cmd_replay__json_says_the_same)
{
	static const char *const keys[] = { "row", "kind", "u", "w_bytes", "wc_bytes", "inc_stage", "rate_bps" };
	struct result csv = REPLAY(HEADER GOLDEN_ROWS, "-");
	struct result json = REPLAY(HEADER GOLDEN_ROWS, "--json", "-");
	char *json_end, *csv_end, *json_line, *csv_line;

	cr_assert_eq(json.code, 0, "%s", json.err);
	strtok_r(csv.out, "\n", &csv_end);
	json_line = strtok_r(json.out, "\n", &json_end);
	while ((csv_line = strtok_r(NULL, "\n", &csv_end))) {
		json_object *o, *value;
		char *field_end, *field;
		size_t i;

		cr_assert_not_null(json_line);
		o = json_tokener_parse(json_line);
		cr_assert_not_null(o, "%s", json_line);
		cr_expect_eq(json_object_object_length(o), 8);
		cr_assert(json_object_object_get_ex(o, "variant", &value));
		cr_expect_str_eq(json_object_get_string(value), "plain");
		for (i = 0; i < 7; i++) {
			field = strtok_r(i ? NULL : csv_line, ",", &field_end);
			cr_assert(json_object_object_get_ex(o, keys[i], &value), "%s", keys[i]);
			cr_expect_str_eq(json_object_get_string(value), field, "%s", keys[i]);
			cr_expect_eq(json_object_is_type(value, json_type_string), i == 1, "%s", keys[i]);
		}
		json_object_put(o);
		json_line = strtok_r(NULL, "\n", &json_end);
	}
	cr_expect_null(json_line);
	result_free(&csv);
	result_free(&json);
}

Test(replay, cmd_replay__help_is_no_failure)
{
	static const char *const words[] = { "--base-rtt-ns", "--nic-bps",	"--eta",	   "--max-stage",
					     "--w-ai-bytes",  "--w-init-bytes", "--w-min-bytes",   "--json",
					     "ack_seq",	      "skipped",	"--w-first-bytes", "--variant",
					     "--stages" };
	struct result r = REPLAY("", "--help");
	size_t i;

	cr_expect_eq(r.code, 0);
	cr_expect_str_empty(r.err);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cr_expect_not_null(strstr(r.out, words[i]), "%s", words[i]);
	result_free(&r);
}
