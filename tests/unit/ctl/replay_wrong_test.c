// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl replay: errors are reported, with their place. */
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

TestSuite(replay_wrong, .timeout = 60);

static void expect_failure(const struct result *r, int code, const char *words, const char *what)
{
	cr_expect_eq(r->code, code, "%s: exit code %d", what, r->code);
	cr_expect_eq(strncmp(r->err, "sluicectl replay: ", 18), 0, "%s: %s", what, r->err);
	cr_expect_not_null(strstr(r->err, words), "%s: no \"%s\" in %s", what, words, r->err);
	cr_expect_eq(lines(r->err), 1, "%s: more than a line: %s", what, r->err);
}

Test(replay_wrong, cmd_replay__usage_errors)
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
		{ { "--w-init-bytes", "999", "--w-min-bytes", "1000", "-" }, "below the smallest" },
		{ { "--nic-bps", "10000000", "--w-min-bytes", "1000", "-" }, "below the smallest" },
		{ { "--packet-bytes", "65536", "-" }, "out of range" },
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

Test(replay_wrong, cmd_replay__bad_headers)
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
Test(replay_wrong, cmd_replay__bad_rows)
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
		{ "18446744073709551616,50,7,1,100000000000,0,0,0", "ack_seq is 18446744073709551616, out" },
		{ "1,1e3,7,1,100000000000,0,0,0", "snd_nxt is \"1e3\"" },
		{ "1,50,65536,1,100000000000,0,0,0", "path_id is 65536, out of range: give 0 to 65535" },
		{ "1,50,7,6,100000000000,0,0,0", "hops is 6, out of range: give 0 to 5" },
		{ "1,50,7,2,100000000000,0,0,0", "hops is 2, but the first line has columns for 1" },
		{ "1,50,7,1,0,0,0,0", "b0_bps is 0, out of range" },
		{ "1,50,7,1,10000000000001,0,0,0", "b0_bps is 10000000000001, out of range" },
		{ "1,50,7,1,100 000,0,0,0", "b0_bps is \"100 000\"" },
		{ "1,50,7,1,100000000000,4611686018427387904,0,0", "ts0_ns is 4611686018427387904, out" },
		{ "1,50,7,1,100000000000,0,18446744073709551616,0", "tx0_bytes is 18446744073709551616" },
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
		cr_expect_str_eq(r.out, OUTPUT "1,first,1.000000,52000.000,52000.000,0,100000000000\n", "%s", t[i].row);
		result_free(&r);
	}
}

Test(replay_wrong, cmd_replay__bad_bytes)
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

Test(replay_wrong, cmd_replay__files_that_cannot_be_read)
{
	struct result r = REPLAY("", "/nonexistent/trace.csv");

	expect_failure(&r, 1, "/nonexistent/trace.csv: cannot open: No such file", "no file");
	cr_expect_str_empty(r.out);
	result_free(&r);
	r = REPLAY("", "/");
	expect_failure(&r, 1, "/: cannot read: Is a directory", "a directory");
	result_free(&r);
}

Test(replay_wrong, cmd_replay__a_reader_that_left)
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

Test(replay_wrong, cmd_replay__a_full_disk)
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
