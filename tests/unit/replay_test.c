// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command as it is called: arguments, files and exit code. Each call runs in a process of its
 * own with its standard streams in files.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model.h"
#include "ctl/replay.h"
#include "trace.h"

TestSuite(replay, .timeout = 60);

#define ONE_HOP "ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes"
#define HEADER ONE_HOP "\n"
#define TWO_HOPS ONE_HOP ",b1_bps,ts1_ns,tx1_bytes,q1_bytes\n"
#define OUTPUT "row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps\n"
#define ARGS 24
#define LEAKED 99

#if defined(__SANITIZE_ADDRESS__)
int __lsan_do_recoverable_leak_check(void);
#else
static int __lsan_do_recoverable_leak_check(void)
{
	return 0;
}
#endif

struct result {
	int code;
	char *out, *err;
};

static char *file_text(FILE *f)
{
	size_t size;
	char *text;

	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	text = calloc(1, size + 1);
	cr_assert_eq(fread(text, 1, size, f), size);
	fclose(f);
	return text;
}

static FILE *text_file(const char *text, size_t size)
{
	FILE *f = tmpfile();

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(text, 1, size, f), size);
	rewind(f);
	return f;
}

/* sluicectl replay args, a NULL after the last; out_fd: where its output goes, or -1 for a file. */
static struct result replay_to(int out_fd, FILE *in, const char *const *args)
{
	char *argv[ARGS + 2] = { "replay" };
	struct result r = { 0 };
	FILE *out = tmpfile(), *err = tmpfile();
	int argc = 1, status;
	pid_t pid;

	while (args[argc - 1]) {
		cr_assert_leq(argc, ARGS);
		argv[argc] = (char *)args[argc - 1];
		argc++;
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		int code;

		if (in)
			dup2(fileno(in), STDIN_FILENO);
		dup2(out_fd >= 0 ? out_fd : fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		code = cmd_replay(argc, argv);
		/* The leak check has much to say even when there is none. */
		cr_assert_not_null(freopen("/dev/null", "w", stderr));
		_exit(__lsan_do_recoverable_leak_check() ? LEAKED : code);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	r.code = WEXITSTATUS(status);
	r.out = file_text(out);
	r.err = file_text(err);
	cr_assert_neq(r.code, LEAKED, "memory leak; %s", r.err);
	return r;
}

/* With csv on standard input. */
static struct result replay_args(const char *csv, const char *const *args)
{
	FILE *in = text_file(csv, strlen(csv));
	struct result r = replay_to(-1, in, args);

	fclose(in);
	return r;
}

#define REPLAY(csv, ...) replay_args(csv, (const char *const[]){ __VA_ARGS__, NULL })

static void result_free(struct result *r)
{
	free(r->out);
	free(r->err);
}

static int lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void expect_output(const char *csv, const char *want)
{
	struct result r = REPLAY(csv, "-");

	cr_expect_eq(r.code, 0, "%s", r.err);
	cr_expect_str_eq(r.out, want);
	cr_expect_str_empty(r.err);
	result_free(&r);
}

/* ---- what comes out ---- */

/*
 * By hand, with the defaults. Row 2: half a BDP of bytes and a quarter queued over T: U = 0.75,
 * below eta, W = 52000 + 80, clamped. Row 3: 1.0 and a queue of 0.9 for T: W = 52000 * 0.95 / 1.9
 * + 80 = 26080, but row 2 committed up to 60000 and this is 50000: fast. Row 4: the same clock.
 * Row 5: 60001, full. Row 6: another path.
 */
#define GOLDEN_ROWS                                                                                \
	"1000,1000,7,1,100000000000,1000,0,13000\n"                                               \
	"2000,60000,7,1,100000000000,5160,26000,13000\n"                                           \
	"50000,90000,7,1,100000000000,9320,78000,46800\n"                                          \
	"50000,90000,7,1,100000000000,9320,78000,46800\n"                                          \
	"60001,90000,7,1,100000000000,13480,130000,46800\n"                                        \
	"60002,90000,8,1,100000000000,13600,130000,46800\n"

#define GOLDEN_OUTPUT                                                                              \
	OUTPUT "1,first,1.000000,52000.000,52000.000,0,100000000000\n"                             \
	       "2,full,0.750000,52000.000,52000.000,1,100000000000\n"                              \
	       "3,fast,1.250000,39600.000,52000.000,1,76153846153\n"                               \
	       "4,skipped,1.250000,39600.000,52000.000,1,76153846153\n"                            \
	       "5,full,1.900000,26080.000,26080.000,0,50153846153\n"                               \
	       "6,first,1.900000,26080.000,26080.000,0,50153846153\n"

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
			cr_assert_eq(sscanf(i ? want : got, "%lu,%15[a-z],%lf,%lf,%lf,%d,%lu\n",
					    &row[i], kind[i], &u[i], &w[i], &wc[i], &stage[i],
					    &rate[i]),
				     7, "%s", got);
		cr_expect_eq(row[0], row[1]);
		cr_expect_str_eq(kind[0], kind[1], "row %lu", row[1]);
		cr_expect_float_eq(u[0], u[1], 2e-6, "row %lu: U %f", row[1], u[0]);
		cr_expect_float_eq(w[0], w[1], 0.05, "row %lu: W %f", row[1], w[0]);
		cr_expect_float_eq(wc[0], wc[1], 0.05, "row %lu: Wc %f", row[1], wc[0]);
		cr_expect_eq(stage[0], stage[1], "row %lu: stage %d", row[1], stage[0]);
		cr_expect_float_eq((double)rate[0] / rate[1], 1, 1e-5, "row %lu: R %lu", row[1],
				   rate[0]);
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

	cr_assert_eq(write(fd, HEADER GOLDEN_ROWS, strlen(HEADER GOLDEN_ROWS)),
		     (ssize_t)strlen(HEADER GOLDEN_ROWS));
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
	struct result b =
		REPLAY(HEADER GOLDEN_ROWS, "--base-rtt-ns", "4160", "--nic-bps", "100000000000",
		       "--eta", "0.95", "--max-stage", "5", "--w-ai-bytes", "80", "--w-init-bytes",
		       "52000", "--w-min-bytes", "1000", "-");

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
		{ { "--w-init-bytes", "40000", "-" },
		  "\n1,first,1.000000,40000.000,40000.000,0,769230769" },
		{ { "--w-init-bytes=40000.5", "-" },
		  "\n1,first,1.000000,40000.500,40000.500,0,769240384" },
		{ { "--nic-bps", "50000000000", "-" },
		  "\n1,first,1.000000,26000.000,26000.000,0,50000000000\n" },
		{ { "--nic-bps=5e10", "-" },
		  "\n1,first,1.000000,26000.000,26000.000,0,50000000000\n" },
		{ { "--base-rtt-ns", "8320", "-" },
		  "\n1,first,1.000000,104000.000,104000.000,0,100000000000\n" },
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
		cr_expect_not_null(strstr(r.out, t[i].line), "%s: no %s in %s", shown, t[i].line,
				   r.out);
		result_free(&r);
	}
}

/* The last row of the golden trace is another path. High AI: 52000 * 0.95 / 1.9 + 20 * 80. */
Test(replay, cmd_replay__variants)
{
	struct result plain = REPLAY(HEADER GOLDEN_ROWS, "-");
	struct result same = REPLAY(HEADER GOLDEN_ROWS, "--variant", "plain", "-");
	struct result high = REPLAY(HEADER GOLDEN_ROWS, "--variant", "high-ai", "-");

	cr_expect_eq(same.code, 0, "%s", same.err);
	cr_expect_str_eq(same.out, plain.out);
	cr_expect_eq(high.code, 0, "%s", high.err);
	cr_expect_not_null(strstr(high.out, "\n5,full,1.900000,27600.000,27600.000,0,"), "%s",
			   high.out);
	result_free(&plain);
	result_free(&same);
	result_free(&high);
}

/*
 * By hand: N = 2600 / 80 = 32, a token is 3250 bytes, s is 5. An RTT stands for 26 feedbacks of two
 * packets, so row 3 commits the decrease that plain HPCC keeps for row 5: 52000 * 0.95 / 1.25 + 80.
 * Row 4: 78000 bytes of queue make 24 tokens and a dampener of 1.5: 39600 / 2 + 80 * 24 / 1.1875.
 */
#define VAI_ROWS                                                                                   \
	"1000,1000,7,1,100000000000,1000,0,13000\n"                                               \
	"2000,60000,7,1,100000000000,5160,26000,13000\n"                                           \
	"50000,90000,7,1,100000000000,9320,78000,46800\n"                                          \
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

/* Wc is half of w_init at the last row: the half of the random numbers that is smaller commits. */
Test(replay, cmd_replay__chance)
{
	static const char rows[] =
		ONE_HOP ",random\n"
			"1000,1000,7,1,100000000000,1000,0,13000,0\n"
			"2000,60000,7,1,100000000000,5160,26000,13000,4294967295\n"
			"60001,90000,7,1,100000000000,9320,78000,46800,4294967295\n"
			"90001,99000,7,1,100000000000,13480,130000,46800,";
	static const struct {
		const char *random, *line;
	} t[] = {
		{ "0\n", "\n4,full," },
		{ "2000000000\n", "\n4,full," },
		{ "4294967295\n", "\n4,fast," },
	};
	char text[1000];
	struct result r;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", rows, t[i].random);
		r = REPLAY(text, "--variant", "probabilistic", "-");
		cr_expect_eq(r.code, 0, "%s", r.err);
		cr_expect_not_null(strstr(r.out, t[i].line), "%s: %s", t[i].random, r.out);
		result_free(&r);
		/* Who leaves nothing to chance does not look at it. */
		r = REPLAY(text, "-");
		cr_expect_not_null(strstr(r.out, "\n4,full,"), "%s", r.out);
		result_free(&r);
	}
	r = REPLAY(HEADER GOLDEN_ROWS, "--variant", "probabilistic", "-");
	cr_expect_eq(r.code, 1);
	cr_expect_not_null(strstr(r.err, "no column random: the first line has to name"), "%s",
			   r.err);
	result_free(&r);
	r = REPLAY("", "--variant", "vai", "-");
	cr_expect_eq(r.code, 2);
	cr_expect_not_null(strstr(r.err, "--variant vai is unknown: give plain, high-ai"), "%s",
			   r.err);
	result_free(&r);
	snprintf(text, sizeof(text), "%s-1\n", rows);
	r = REPLAY(text, "--variant", "probabilistic", "-");
	cr_expect_eq(r.code, 1);
	cr_expect_not_null(strstr(r.err, "stdin:5: random is \"-1\""), "%s", r.err);
	result_free(&r);
}

Test(replay, cmd_replay__json_says_the_same)
{
	static const char *const keys[] = { "row",	"kind",	     "u",	"w_bytes",
					    "wc_bytes", "inc_stage", "rate_bps" };
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
			cr_expect_eq(json_object_is_type(value, json_type_string), i == 1, "%s",
				     keys[i]);
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
	static const char *const words[] = { "--base-rtt-ns", "--nic-bps",    "--eta",
					     "--max-stage",   "--w-ai-bytes", "--w-init-bytes",
					     "--w-min-bytes", "--json",	      "ack_seq",
					     "skipped",	      "--variant",    "random" };
	struct result r = REPLAY("", "--help");
	size_t i;

	cr_expect_eq(r.code, 0);
	cr_expect_str_empty(r.err);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cr_expect_not_null(strstr(r.out, words[i]), "%s", words[i]);
	result_free(&r);
}

/* ---- what goes in ---- */

#define PLAIN_OUTPUT                                                                               \
	OUTPUT "1,first,1.000000,52000.000,52000.000,0,100000000000\n"                             \
	       "2,full,0.500000,52000.000,52000.000,1,100000000000\n"

Test(replay, cmd_replay__forms_of_a_file)
{
	static const char *const forms[] = {
		/* as it should be */
		HEADER "1,50,7,1,100000000000,0,0,0\n51,90,7,1,100000000000,4160,26000,0\n",
		/* no end of line at the end */
		HEADER "1,50,7,1,100000000000,0,0,0\n51,90,7,1,100000000000,4160,26000,0",
		/* from Windows, with a byte order mark */
		"\xef\xbb\xbf"
		"ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes\r\n"
		"1,50,7,1,100000000000,0,0,0\r\n51,90,7,1,100000000000,4160,26000,0\r\n\r\n",
		/* blank lines */
		HEADER "1,50,7,1,100000000000,0,0,0\n\n51,90,7,1,100000000000,4160,26000,0\n\n \n\n",
		/* blanks and quotes around fields */
		"\"ack_seq\", \"snd_nxt\" ,path_id,hops,\tb0_bps,ts0_ns,tx0_bytes,q0_bytes\n"
		"1, 50, 7, 1, 100000000000, 0, 0, 0\n\"51\",\"90\",7,1,100000000000 ,4160,26000,0\n",
		/* another order, and columns of somebody else */
		"time,q0_bytes,tx0_bytes,ts0_ns,b0_bps,hops,path_id,snd_nxt,comment,ack_seq\n"
		"1.5,0,0,0,100000000000,1,7,50,hello,1\n,0,26000,4160,100000000000,1,7,90,-,51\n",
		/* columns of hops that the rows do not have: empty, missing or whatever */
		TWO_HOPS "1,50,7,1,100000000000,0,0,0,,,,\n51,90,7,1,100000000000,4160,26000,0\n",
		TWO_HOPS "1,50,7,1,100000000000,0,0,0,0,x,-,\n"
			 "51,90,7,1,100000000000,4160,26000,0,0,0\n",
		/* leading zeros, and wrapped fields */
		HEADER "1,50,7,1,100000000000,16777215,134217727,0\n"
		       "051,90,007,1,100000000000,4159,25999,0\n",
		/* the same as whole values, after days */
		HEADER "1,50,7,1,100000000000,9007199254740992,18446744073709551600,0\n"
		       "51,90,7,1,100000000000,9007199254745152,25984,0\n",
	};
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		expect_output(forms[i], PLAIN_OUTPUT);
}

Test(replay, cmd_replay__rows_without_hops_are_skipped)
{
	expect_output(HEADER "1,50,0,0,,,,\n2,50,0,0\n",
		      OUTPUT "1,skipped,1.000000,52000.000,52000.000,0,100000000000\n"
			     "2,skipped,1.000000,52000.000,52000.000,0,100000000000\n");
}

Test(replay, cmd_replay__a_header_alone_is_no_failure)
{
	expect_output(HEADER, OUTPUT);
}

/* ts of the second row, and what it is taken for. The first is at 1000000 with ack_seq 100. */
Test(replay, cmd_replay__pauses_and_steps_back)
{
	static const struct {
		const char *seq, *ts, *kind;
	} t[] = {
		{ "101", "1004160", "full" },
		{ "101", "9388608", "full" },  /* half a wrap */
		{ "101", "9388609", "first" }, /* more: a pause, since it was sent later */
		{ "101", "15728000", "first" },
		{ "101", "0", "skipped" },	  /* a step back of 1 ms, or a pause of 15.8 */
		{ "100", "11000000", "skipped" }, /* sent earlier, so no pause */
		{ "101", "1000000", "skipped" },
		{ "101", "999999", "skipped" },
		/* whole clocks say it themselves */
		{ "101", "21000000", "first" },
		{ "101", "17777216", "first" }, /* a wrap, to the nanosecond */
		{ "101", "9001000000", "first" },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char csv[512], want[32];
		struct result r;

		snprintf(csv, sizeof(csv),
			 HEADER "100,50,7,1,10000000000,1000000,0,0\n"
				"%s,500,7,1,10000000000,%s,1000,0\n",
			 t[i].seq, t[i].ts);
		snprintf(want, sizeof(want), "\n2,%s,", t[i].kind);
		r = REPLAY(csv, "-");
		cr_expect_eq(r.code, 0, "%s", r.err);
		cr_expect_not_null(strstr(r.out, want), "%s at %s: not %s but %s", t[i].seq,
				   t[i].ts, t[i].kind, r.out);
		result_free(&r);
	}
}

/* Who knows the gap tells a pause of 15.8 ms from a step back of 1 ms, which the clock of 24 bits does not. */
Test(replay, cmd_replay__gap)
{
	static const struct {
		const char *gap, *t_ns, *line;
	} t[] = {
		{ "0", "2000000", "\n2,skipped," },
		{ "900000", "2000000", "\n2,skipped," },
		{ "15900000", "2000000", "\n2,full," }, /* it is no pause, below 8 T */
		{ "15900000", "4160", "\n2,first," },
		{ "32000000", "2000000", "\n2,first," },
	};
	static const char rows[] = ONE_HOP ",gap_ns\n"
					   "100,50,7,1,10000000000,1000000,0,0,0\n"
					   "101,500,7,1,10000000000,0,1000,0,%s\n";
	char text[400];
	struct result r;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text), rows, t[i].gap);
		r = REPLAY(text, "--base-rtt-ns", t[i].t_ns, "-");
		cr_expect_eq(r.code, 0, "%s", r.err);
		cr_expect_not_null(strstr(r.out, t[i].line), "%s with T %s: %s", t[i].gap, t[i].t_ns, r.out);
		result_free(&r);
	}
	snprintf(text, sizeof(text), rows, "-1");
	r = REPLAY(text, "-");
	cr_expect_eq(r.code, 1);
	cr_expect_not_null(strstr(r.err, "stdin:3: gap_ns is \"-1\""), "%s", r.err);
	result_free(&r);
}

/* A skipped row is not what the next is compared with, nor is its clock. */
Test(replay, cmd_replay__gaps_count_from_the_recorded_row)
{
	struct result r = REPLAY(HEADER "100,50,7,1,1000000000,1000000000,0,0\n"
					"90,50,7,1,1000000000,900000000,0,0\n"
					"101,500,7,1,1000000000,1000100000,6250,0\n",
				 "--base-rtt-ns", "100000", "-");

	cr_expect_not_null(strstr(r.out, "\n2,skipped,"), "%s", r.out);
	cr_expect_not_null(strstr(r.out, "\n3,full,0.500000,"), "%s", r.out);
	result_free(&r);
}

/* ---- against the model of the paper ---- */

struct text {
	char *data;
	size_t size;
	FILE *f;
};

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
				   .w_min = 1000,
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
		cr_assert_eq(sscanf(line, "%lu,%15[a-z],%lf,%lf,%lf,%d,%lu\n", &got_row, kind,
				    &hint.u, &w, &wc, &hint.inc_stage, &rate),
			     7, "%s", line);
		trace_next(&t, &row);
		trace_model_ack(&row, wrapped, &ack);
		want = model_kind_name(model_new_ack(&m, &mp, &ack, &hint));
		cr_assert_eq(got_row, n);
		cr_assert_str_eq(kind, want, "seed %u row %lu: %s, not %s", seed, n, kind, want);
		cr_assert(fabs(w / m.w - 1) <= 0.005, "seed %u row %lu: W %.3f, not %.3f", seed, n,
			  w, m.w);
		cr_assert(fabs(wc / m.wc - 1) <= 0.005, "seed %u row %lu: Wc %.3f, not %.3f", seed,
			  n, wc, m.wc);
		cr_assert(fabs(hint.u - m.u) <= 0.001 * m.u + 2e-6,
			  "seed %u row %lu: U %.6f, not %.6f", seed, n, hint.u, m.u);
		cr_assert_eq(hint.inc_stage, m.inc_stage, "seed %u row %lu", seed, n);
		cr_assert(fabs(rate / m.rate_bps - 1) <= 0.005, "seed %u row %lu", seed, n);
	}
	fclose(out);
	result_free(&r);
}

Test(replay, cmd_replay__agrees_with_the_paper_on_wrapped_traces)
{
	unsigned int seed;

	for (seed = 1; seed <= 12; seed++)
		expect_agreement(seed, 3000, 1);
}

Test(replay, cmd_replay__agrees_with_the_paper_on_whole_traces)
{
	unsigned int seed;

	for (seed = 101; seed <= 112; seed++)
		expect_agreement(seed, 3000, 0);
}

Test(replay, cmd_replay__agrees_with_the_paper_for_100000_rows)
{
	expect_agreement(1000, 100000, 1);
}

/* ---- what is wrong ---- */

static void expect_failure(const struct result *r, int code, const char *words, const char *what)
{
	cr_expect_eq(r->code, code, "%s: exit code %d", what, r->code);
	cr_expect_eq(strncmp(r->err, "sluicectl replay: ", 18), 0, "%s: %s", what, r->err);
	cr_expect_not_null(strstr(r->err, words), "%s: no \"%s\" in %s", what, words, r->err);
	cr_expect_eq(lines(r->err), 1, "%s: more than a line: %s", what, r->err);
}

Test(replay, cmd_replay__usage_errors)
{
	static const struct {
		const char *args[6];
		const char *words;
	} t[] = {
		{ { NULL }, "no FILE" },
		{ { "--json" }, "no FILE" },
		{ { "-", "-" }, "more than one FILE" },
		{ { "--nonsense", "-" }, "--nonsense: no such option" },
		{ { "-x", "-" }, "-x: no such option" },
		{ { "--w", "1", "-" }, "--w: no such option, or not clear" },
		{ { "--json=yes", "-" }, "--json=yes: no such option" },
		{ { "-", "--eta" }, "--eta: its value is missing" },
		{ { "--eta", "", "-" }, "not a number" },
		{ { "--eta", "high", "-" }, "--eta high: not a number" },
		{ { "--eta", "0.95x", "-" }, "not a number" },
		{ { "--eta", " 0.95", "-" }, "not a number" },
		{ { "--eta", "nan", "-" }, "not a number" },
		{ { "--eta", "0x1p-1", "-" }, "not a number" },
		{ { "--eta", "0", "-" }, "out of range" },
		{ { "--eta", "1.01", "-" }, "out of range" },
		{ { "--eta=-0.5", "-" }, "out of range" },
		{ { "--base-rtt-ns", "0", "-" }, "--base-rtt-ns 0: out of range" },
		{ { "--base-rtt-ns", "4160.5", "-" }, "not a whole number" },
		{ { "--base-rtt-ns", "1000000001", "-" }, "out of range" },
		{ { "--base-rtt-ns", "1e999", "-" }, "out of range" },
		{ { "--nic-bps", "0", "-" }, "out of range" },
		{ { "--nic-bps", "100G", "-" }, "not a number" },
		{ { "--max-stage", "256", "-" }, "out of range" },
		{ { "--max-stage", "-1", "-" }, "out of range" },
		{ { "--w-ai-bytes", "-1", "-" }, "out of range" },
		{ { "--w-ai-bytes", "134217728", "-" }, "out of range" },
		{ { "--w-init-bytes", "134217728", "-" }, "out of range" },
		{ { "--w-init-bytes", "0", "-" }, "out of range" },
		{ { "--w-min-bytes", "0", "-" }, "out of range" },
		{ { "--w-init-bytes", "999", "-" }, "below the smallest" },
		{ { "--nic-bps", "10000000", "-" }, "below the smallest" },
		{ { "--base-rtt-ns", "50000000", "-" }, "give --w-init-bytes" },
		{ { "--base-rtt-ns", "1", "--w-init-bytes", "1000000", "-" }, "bit/s" },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct result r = replay_args(HEADER, t[i].args);

		expect_failure(&r, 2, t[i].words, t[i].words);
		cr_expect_str_empty(r.out, "%s", t[i].words);
		result_free(&r);
	}
}

Test(replay, cmd_replay__bad_headers)
{
	static const struct {
		const char *csv, *words;
	} t[] = {
		{ "", "stdin:1: empty" },
		{ "\n", "stdin:1: no column ack_seq" },
		{ "1,50,7,1,100000000000,0,0,0\n", "stdin:1: no column ack_seq" },
		{ "ack_seq,snd_nxt,path_id,hops\n", "no column b0_bps" },
		{ "snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes\n", "no column ack_seq" },
		{ "ack_seq,snd_nxt,path_id,b0_bps,ts0_ns,tx0_bytes,q0_bytes\n", "no column hops" },
		{ "ack_seq,snd_nxt,path_id,hops,b0_bps,tx0_bytes,q0_bytes\n", "no column ts0_ns" },
		{ ONE_HOP ",b1_bps,ts1_ns,tx1_bytes\n", "no column q1_bytes" },
		{ ONE_HOP ",b2_bps,ts2_ns,tx2_bytes,q2_bytes\n", "no column b1_bps" },
		{ ONE_HOP ",ts0_ns\n", "two columns named ts0_ns" },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct result r = REPLAY(t[i].csv, "-");

		expect_failure(&r, 1, t[i].words, t[i].csv);
		cr_expect_str_empty(r.out, "%s", t[i].words);
		result_free(&r);
	}
}

/* A good row, then the bad one on line 3: the good one has been printed. */
Test(replay, cmd_replay__bad_rows)
{
	static const struct {
		const char *row, *words;
	} t[] = {
		{ "x,50,7,1,100000000000,0,0,0", "stdin:3: ack_seq is \"x\": give a whole number" },
		{ ",50,7,1,100000000000,0,0,0", "ack_seq is empty" },
		{ "-1,50,7,1,100000000000,0,0,0", "ack_seq is \"-1\"" },
		{ "+1,50,7,1,100000000000,0,0,0", "ack_seq is \"+1\"" },
		{ "1.5,50,7,1,100000000000,0,0,0", "ack_seq is \"1.5\"" },
		{ "0x1,50,7,1,100000000000,0,0,0", "ack_seq is \"0x1\"" },
		{ "18446744073709551616,50,7,1,100000000000,0,0,0",
		  "ack_seq is 18446744073709551616, out" },
		{ "1,1e3,7,1,100000000000,0,0,0", "snd_nxt is \"1e3\"" },
		{ "1,50,65536,1,100000000000,0,0,0",
		  "path_id is 65536, out of range: give 0 to 65535" },
		{ "1,50,7,6,100000000000,0,0,0", "hops is 6, out of range: give 0 to 5" },
		{ "1,50,7,2,100000000000,0,0,0",
		  "hops is 2, but the first line has columns for 1" },
		{ "1,50,7,1,0,0,0,0", "b0_bps is 0, out of range" },
		{ "1,50,7,1,10000000000001,0,0,0", "b0_bps is 10000000000001, out of range" },
		{ "1,50,7,1,100 000,0,0,0", "b0_bps is \"100 000\"" },
		{ "1,50,7,1,100000000000,4611686018427387904,0,0",
		  "ts0_ns is 4611686018427387904, out" },
		{ "1,50,7,1,100000000000,0,18446744073709551616,0",
		  "tx0_bytes is 18446744073709551616" },
		{ "1,50,7,1,100000000000,0,0,134217728", "q0_bytes is 134217728, out of range" },
		{ "1,50,7,1,100000000000,0,0", "q0_bytes is empty" },
		{ "1,50,7,1", "b0_bps is empty" },
		{ "1,50,7,1,100000000000,0,0,0,5", "more fields than the 8 columns" },
		{ "1,50,7,1,100000000000,0,0,0,", "more fields than the 8 columns" },
		{ "# a comment", "ack_seq is \"# a comment\"" },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char csv[512];
		struct result r;

		snprintf(csv, sizeof(csv),
			 HEADER "1,50,7,1,100000000000,0,0,0\n%s\n"
				"2,50,7,1,100000000000,4160,26000,0\n",
			 t[i].row);
		r = REPLAY(csv, "-");
		expect_failure(&r, 1, t[i].words, t[i].row);
		cr_expect_str_eq(r.out,
				 OUTPUT "1,first,1.000000,52000.000,52000.000,0,100000000000\n",
				 "%s", t[i].row);
		result_free(&r);
	}
}

Test(replay, cmd_replay__bad_bytes)
{
	static const char zero[] = HEADER "1,50,7,1,100000000000,0,0\0,0\n";
	size_t size = 1 << 20;
	char *endless = malloc(size);
	FILE *in;
	struct result r;

	in = text_file(zero, sizeof(zero) - 1);
	r = replay_to(-1, in, (const char *const[]){ "-", NULL });
	expect_failure(&r, 1, "stdin:2: a zero byte", "zero byte");
	result_free(&r);
	fclose(in);

	memset(endless, 'x', size);
	in = text_file(endless, size);
	r = replay_to(-1, in, (const char *const[]){ "-", NULL });
	expect_failure(&r, 1, "stdin:1: longer than", "endless line");
	result_free(&r);
	fclose(in);

	memset(endless, ',', size);
	in = text_file(endless, 60000);
	r = replay_to(-1, in, (const char *const[]){ "-", NULL });
	expect_failure(&r, 1, "stdin:1: more than 1024 columns", "60000 columns");
	result_free(&r);
	fclose(in);
	free(endless);
}

Test(replay, cmd_replay__files_that_cannot_be_read)
{
	struct result r = REPLAY("", "/nonexistent/trace.csv");

	expect_failure(&r, 1, "/nonexistent/trace.csv: cannot open: No such file", "no file");
	cr_expect_str_empty(r.out);
	result_free(&r);
	r = REPLAY("", "/");
	expect_failure(&r, 1, "/: cannot read: Is a directory", "a directory");
	result_free(&r);
}

Test(replay, cmd_replay__a_reader_that_left)
{
	FILE *in = tmpfile();
	struct result r;
	int pipe_fd[2], i;

	fputs(HEADER, in);
	for (i = 0; i < 20000; i++)
		fprintf(in, "%d,50,7,1,100000000000,%d,0,0\n", i, i);
	rewind(in);
	cr_assert_eq(pipe(pipe_fd), 0);
	close(pipe_fd[0]);
	r = replay_to(pipe_fd[1], in, (const char *const[]){ "-", NULL });
	cr_expect_eq(r.code, 1);
	cr_expect_str_empty(r.err);
	/* not even read to its end */
	cr_expect_lt(lseek(fileno(in), 0, SEEK_CUR), 200000);
	result_free(&r);

	/* little enough to stay in the buffer until the end */
	r = REPLAY(HEADER, "-");
	cr_expect_eq(r.code, 0);
	result_free(&r);
	fclose(in);
	in = text_file(HEADER, strlen(HEADER));
	r = replay_to(pipe_fd[1], in, (const char *const[]){ "--json", "--help", NULL });
	cr_expect_eq(r.code, 1);
	cr_expect_str_empty(r.err);
	result_free(&r);
	r = replay_to(pipe_fd[1], in, (const char *const[]){ "-", NULL });
	cr_expect_eq(r.code, 1);
	cr_expect_str_empty(r.err);
	result_free(&r);
	close(pipe_fd[1]);
	fclose(in);
}

Test(replay, cmd_replay__a_full_disk)
{
	static const char *const args[2][3] = { { "-" }, { "--json", "-" } };
	FILE *full = fopen("/dev/full", "w"), *in;
	struct result r;
	int i;

	cr_assert_not_null(full);
	for (i = 0; i < 2; i++) {
		in = text_file(HEADER GOLDEN_ROWS, strlen(HEADER GOLDEN_ROWS));
		r = replay_to(fileno(full), in, args[i]);
		expect_failure(&r, 1, "No space left on device", "/dev/full");
		result_free(&r);
		fclose(in);
	}
	fclose(full);
}
