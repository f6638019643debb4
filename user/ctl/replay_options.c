// SPDX-License-Identifier: GPL-2.0-only
/* The options of sluicectl replay, parameters of the core. A value that the core cannot hold is a usage error. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/out.h"
#include "ctl/replay.h"
#include "ctl/replay_csv.h"
#include "lib/names.h"

#define RATE_MAX_BPS 4.5e15 /* hpcc_rate_bps() stays below 2^64 */

enum opt {
	OPT_BASE_RTT,
	OPT_NIC_BPS,
	OPT_ETA,
	OPT_MAX_STAGE,
	OPT_W_AI,
	OPT_W_INIT,
	OPT_W_FIRST,
	OPT_W_MIN,
	OPT_PACKET,
	OPT_NUMBERS,
	OPT_VARIANT = OPT_NUMBERS,
	OPT_STAGES,
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
	[OPT_NIC_BPS] = { "nic-bps", 1, REPLAY_BPS_MAX, 1e11, 1, "speed of the sender's port" },
	[OPT_ETA] = { "eta", 0.000001, 1, 0.95, 0, "target utilisation" },
	[OPT_MAX_STAGE] = { "max-stage", 0, 255, 5, 1, "additive increases in a row" },
	[OPT_W_AI] = { "w-ai-bytes", 0, HPCC_W_MAX_BYTES, 80, 0, "additive increase" },
	[OPT_W_INIT] = { "w-init-bytes", 1, HPCC_W_MAX_BYTES, 0, 0, "largest window" },
	[OPT_W_FIRST] = { "w-first-bytes", 1, HPCC_W_MAX_BYTES, HPCC_W_MAX_BYTES, 0, "W before the first row" },
	[OPT_W_MIN] = { "w-min-bytes", 1, HPCC_W_MAX_BYTES, 0, 0, "smallest window" },
	[OPT_PACKET] = { "packet-bytes", 0, 65535, 1000, 1, "a full packet on the wire" },
};

const char *replay_option(unsigned int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "--%s",
		 i < OPT_NUMBERS  ? option_numbers[i].name :
		 i == OPT_VARIANT ? "variant" :
				    "stages");
	return i <= OPT_STAGES ? name : NULL;
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
		else if (i == OPT_W_FIRST)
			fputs("(default w-init-bytes)\n", to);
		else if (i == OPT_W_MIN)
			fputs("(default w-init-bytes / 1000, at least 60)\n", to);
		else
			fprintf(to, "(default %.14g)\n", o->preset);
	}
	fprintf(to, "  --variant NAME     %s (default plain)\n", words_list(variant_words, words, sizeof(words)));
	fprintf(to,
		"  --stages NAME      %s: what max-stage counts, round trips of T or rounds of feedback, as Algorithm 1\n"
		"                     is printed (default time)\n",
		words_list(stages_words, words, sizeof(words)));
	fputs("  --json             one JSON object per line instead of CSV\n"
	      "  --help             this text\n"
	      "\n"
	      "FILE is CSV, - for standard input. Its first line names the columns, in any order:\n"
	      " ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes,b1_bps,...,q4_bytes\n"
	      "With a column flows, N: W_AI is w-init * (1 - eta) / N for that row, where N is not 0.\n"
	      "With a column gap_ns, the time between the arrivals at the receiver of this packet and of the\n"
	      "last that was not skipped, where it is not 0: how often a cut ts wrapped in a pause.\n"
	      "Columns with other names are ignored, as are those of the hops that a row does not\n"
	      "have. ts and tx may be whole or cut to the 24 bits of ns and 27 bits of bytes of\n"
	      "the wire; ack_seq and snd_nxt must not wrap.\n"
	      "\n"
	      "Output: row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps for each row. The kinds:\n"
	      "  first    nothing to compare with (first feedback, other path, pause): W stays\n"
	      "  fast     W computed from the reference window Wc\n"
	      "  full     the same, and Wc = W: once per RTT (vai-sf: decreases more often)\n"
	      "  skipped  ignored: reordered, or without hops\n"
	      "With vai-sf also bank_tokens and dampener, after the row: what it has saved for larger\n"
	      "additive increases, and what divides them (1 + dampener / 8).\n"
	      "\n"
	      "A bad row ends the replay with exit code 1 and a message that names its line; the\n"
	      "rows before it are printed. Exit codes: 0 done, 1 failure, 2 usage.\n",
	      to);
}

static int usage_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int usage_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs(REPLAY_ME, stderr);
	vfprintf(stderr, fmt, args);
	fputs(" (see sluicectl replay --help)\n", stderr);
	va_end(args);
	return -EINVAL;
}

static int option_parse(const struct option_number *o, const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	/* strtod() also accepts blanks, "inf", "nan" and hexadecimal. */
	if (end == text || *end || text[strspn(text, "0123456789.eE+-")])
		return usage_fail("--%s %s: not a number: give %s number", o->name, text, o->whole ? "a whole" : "a");
	if (!(*value >= o->min && *value <= o->max))
		return usage_fail("--%s %s: out of range: give %.14g to %.14g", o->name, text, o->min, o->max);
	if (o->whole && *value != floor(*value))
		return usage_fail("--%s %s: not a whole number: leave out the fraction", o->name, text);
	return 0;
}

static int params_set(struct hpcc_params *p, const double *v, int w_init_given, enum hpcc_variant variant,
		      enum hpcc_stages stages)
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
		return usage_fail("the largest window of %.10g bytes is below the smallest of %.10g: "
				  "give a larger --w-init-bytes or a smaller --w-min-bytes",
				  w_init, v[OPT_W_MIN]);
	if (w_init * 8e9 / v[OPT_BASE_RTT] > RATE_MAX_BPS)
		return usage_fail("%.10g bytes in %.10g ns are more than %.10g bit/s: "
				  "give a smaller --w-init-bytes or a larger --base-rtt-ns",
				  w_init, v[OPT_BASE_RTT], RATE_MAX_BPS);
	memset(p, 0, sizeof(*p));
	p->t_ns = v[OPT_BASE_RTT];
	p->w_init = llround(w_init * Q12_ONE);
	p->packet = v[OPT_PACKET];
	p->w_min =
		v[OPT_W_MIN] ? (q12_t)llround(v[OPT_W_MIN] * Q12_ONE) : hpcc_w_min(p->w_init, v[OPT_PACKET], p->t_ns);
	p->w_ai = llround(v[OPT_W_AI] * Q12_ONE);
	p->eta = llround(v[OPT_ETA] * Q24_ONE);
	p->max_stage = v[OPT_MAX_STAGE];
	p->stages = stages;
	hpcc_params_variant(p, variant);
	return 0;
}

int replay_options_parse(int argc, char **argv, const char **name, struct hpcc_params *params, struct hpcc_state *state)
{
	struct option options[OPT_HELP + 2] = {
		[OPT_VARIANT] = { "variant", required_argument, NULL, OPT_VARIANT },
		[OPT_STAGES] = { "stages", required_argument, NULL, OPT_STAGES },
		[OPT_JSON] = { "json", no_argument, NULL, OPT_JSON },
		[OPT_HELP] = { "help", no_argument, NULL, OPT_HELP },
	};
	double value[OPT_NUMBERS];
	unsigned int variant = HPCC_PLAIN, stages = HPCC_STAGES_TIME;
	int w_init_given = 0, i, c, err;
	char words[96];

	for (i = 0; i < OPT_NUMBERS; i++) {
		options[i] = (struct option){ option_numbers[i].name, required_argument, NULL, i };
		value[i] = option_numbers[i].preset;
	}
	out_json = 0;
	optind = 0; /* sluicectl's own options have been through getopt */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (c) {
		case OPT_VARIANT:
			if (word_parse(variant_words, optarg, &variant))
				return usage_fail("--variant %s is unknown: give %s", optarg,
						  words_list(variant_words, words, sizeof(words)));
			break;
		case OPT_STAGES:
			if (word_parse(stages_words, optarg, &stages))
				return usage_fail("--stages %s is unknown: give %s", optarg,
						  words_list(stages_words, words, sizeof(words)));
			break;
		case OPT_JSON:
			out_json = 1;
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
	*name = argv[optind];
	err = params_set(params, value, w_init_given, variant, stages);
	if (err)
		return err;
	hpcc_init(state, params);
	hpcc_cap(state, params, llround(value[OPT_W_FIRST] * Q12_ONE));
	return 0;
}
