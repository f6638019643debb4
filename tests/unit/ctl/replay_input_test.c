// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl replay: its input. */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "model.h"
#include "ctl/replay.h"
#include "trace.h"
#include "replay_case.h"

TestSuite(replay_input, .timeout = 60);

#define TWO_HOPS ONE_HOP ",b1_bps,ts1_ns,tx1_bytes,q1_bytes\n"

static void expect_output(const char *csv, const char *want)
{
	struct result r = REPLAY(csv, "-");

	cr_expect_eq(r.code, 0, "%s", r.err);
	cr_expect_str_eq(r.out, want);
	cr_expect_str_empty(r.err);
	result_free(&r);
}

#define PLAIN_OUTPUT                                                   \
	OUTPUT "1,first,1.000000,52000.000,52000.000,0,100000000000\n" \
	       "2,full,0.500000,52000.000,52000.000,1,100000000000\n"

Test(replay_input, cmd_replay__forms_of_a_file)
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

Test(replay_input, cmd_replay__rows_without_hops_are_skipped)
{
	expect_output(HEADER "1,50,0,0,,,,\n2,50,0,0\n",
		      OUTPUT "1,skipped,1.000000,52000.000,52000.000,0,100000000000\n"
			     "2,skipped,1.000000,52000.000,52000.000,0,100000000000\n");
}

Test(replay_input, cmd_replay__a_header_alone_is_no_failure)
{
	expect_output(HEADER, OUTPUT);
}

/* ts of the second row, and what it is taken for. The first is at 1000000 with ack_seq 100. */
Test(replay_input, cmd_replay__pauses_and_steps_back)
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
		cr_expect_not_null(strstr(r.out, want), "%s at %s: not %s but %s", t[i].seq, t[i].ts, t[i].kind, r.out);
		result_free(&r);
	}
}

/* With the gap a pause of 15.8 ms differs from a step back of 1 ms; the clock of 24 bits alone cannot tell. */
Test(replay_input, cmd_replay__gap)
{
	static const struct {
		const char *gap, *t_ns, *line;
	} t[] = {
		{ "0", "2000000", "\n2,skipped," },	{ "900000", "2000000", "\n2,skipped," },
		{ "15900000", "2000000", "\n2,full," }, /* it is no pause, below 8 T */
		{ "15900000", "4160", "\n2,first," },	{ "32000000", "2000000", "\n2,first," },
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
Test(replay_input, cmd_replay__gaps_count_from_the_recorded_row)
{
	struct result r = REPLAY(HEADER "100,50,7,1,1000000000,1000000000,0,0\n"
					"90,50,7,1,1000000000,900000000,0,0\n"
					"101,500,7,1,1000000000,1000100000,6250,0\n",
				 "--base-rtt-ns", "100000", "-");

	cr_expect_not_null(strstr(r.out, "\n2,skipped,"), "%s", r.out);
	cr_expect_not_null(strstr(r.out, "\n3,full,0.500000,"), "%s", r.out);
	result_free(&r);
}
