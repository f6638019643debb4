// SPDX-License-Identifier: GPL-2.0-only
/* The operator's tool: a table of commands. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "completion.h"
#include "probe.h"
#include "replay.h"
#include "show.h"
#include "util.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *arguments;
	const char *help;
} commands[] = {
	{ "probe", cmd_probe, "[IFACE]...", "what kernel, interfaces and qdiscs can do, and how to mend" },
	{ "check", cmd_check, "FILE", "a configuration, and whether its interfaces can do what it wants" },
	{ "status", cmd_status, "", "mode, daemon, interfaces" },
	{ "flows", cmd_flows, "[OPTION]...", "window, rate and last telemetry of every flow" },
	{ "why", cmd_why, "FLOW", "what holds a flow back, its last feedback and what was decided by it" },
	{ "trace", cmd_trace, "[OPTION]...", "decisions for single packets, as they are made, and these packets" },
	{ "int", cmd_int, "", "the hops of every path: speed, rate, queue, and how many flows go there" },
	{ "top", cmd_top, "", "totals, ports with their queues and flows on the whole screen" },
	{ "voqs", cmd_voqs, "", "HierCC: what goes to other racks, its credit and queue" },
	{ "credits", cmd_credits, "", "HierCC: what comes from other racks, and what it was granted" },
	{ "ports", cmd_ports, "", "pauses by port and priority: queues, what was heard, what was sent" },
	{ "stats", cmd_stats, "[--all]", "counters, one for each thing that can happen to a packet" },
	{ "set", cmd_set, "[KEY VALUE]", "the knobs that can be turned while it runs, until the configuration is read again" },
	{ "bypass", cmd_bypass, "on|off", "pass every packet untouched, or work again" },
	{ "clean", cmd_clean, "[--dry-run]", "take off what a sluiced left that is gone" },
	{ "support", cmd_support, "[OPTION]... [FILE]", "all that others want to see of this machine, in one archive" },
	{ "replay", cmd_replay, "[OPTION]... FILE", "recorded feedback through Algorithm 1 (no root)" },
	{},
};

/* What --help of a command says of its options. */
static const struct {
	int (*run)(int argc, char **argv);
	const char *text;
} command_options[] = {
	{ cmd_flows,
	  "  --sort KEY          sent, rate, w, u, queue, bytes, feedbacks, last or ends; -KEY: the smallest first\n"
	  "  --peer PREFIX       whose remote address is or lies there\n"
	  "  --port N            whose local or remote port it is\n"
	  "  --held-by WHY       rate, hop, credit, pause, window or none: the column WHY\n"
	  "  --top N             only so many (those that send most, or by --sort)\n"
	  "  --watch [SECONDS]   again and again, with what each sends: a terminal is redrawn, else lines with their time\n" },
	{ cmd_trace,
	  "  --peer PREFIX       of flows whose remote address is or lies there\n"
	  "  --port N            of flows whose local or remote port it is\n"
	  "  --every N           one of so many, by chance\n"
	  "  --count N           no more than that\n"
	  "  --for SECONDS       no longer than that; else until it is interrupted\n"
	  "  --write FILE        the packets as pcapng, each with its line as comment; FILE may not be there yet\n" },
	{ cmd_support,
	  "  FILE                sluice-support-HOST-TIME.tar in this directory; it may not be there yet\n"
	  "  --config FILE       the configuration of sluiced (/etc/sluice/sluice.yaml)\n" },
	{},
};

static void command_usage(const struct command *c)
{
	unsigned int i;

	printf("usage: sluicectl %s %s\n%s\n", c->name, c->arguments, c->help);
	for (i = 0; command_options[i].run; i++)
		if (command_options[i].run == c->run)
			fputs(command_options[i].text, stdout);
}

static void usage(FILE *to)
{
	const struct command *c;

	fputs("usage: sluicectl [--json] [--pin-dir DIR] COMMAND [ARGUMENT]...\n\n", to);
	for (c = commands; c->name; c++)
		fprintf(to, "  %-8s %-18s %s\n", c->name, c->arguments, c->help);
	fputs("\n"
	      "  --json          output as JSON; keys carry their unit\n"
	      "  --pin-dir DIR   where the maps are pinned (" SLUICE_PIN_DIR ")\n"
	      "  --completion    a completion for bash, for its directory or: source <(sluicectl --completion)\n"
	      "  --help, --version\n"
	      "\n"
	      "A command may be shortened as long as it stays unique.\n"
	      "Exit codes: 0 done, 1 failed, 2 usage, 3 not supported here, 4 failed and undone.\n",
	      to);
}

static const struct command *command_find(const char *name)
{
	const struct command *c, *found = NULL;

	for (c = commands; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
		if (strncmp(c->name, name, strlen(name)))
			continue;
		if (found) {
			msg("'%s' may be %s or %s: write more of it", name, found->name, c->name);
			return NULL;
		}
		found = c;
	}
	if (!found)
		msg("'%s' is not a command: see sluicectl --help", name);
	return found;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },	{ "pin-dir", required_argument, NULL, 'p' },
		{ "verbose", no_argument, NULL, 'v' },	{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },	{ "completion", no_argument, NULL, 'c' },
		{},
	};
	const struct command *c;
	char *args[64];
	int opt, n = 0, i;

	msg_init("sluicectl");
	/* "+": options after the command are the command's, but --json is understood anywhere. */
	while ((opt = getopt_long(argc, argv, "+jvhV", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			show_options.json = 1;
			break;
		case 'p':
			show_options.pin_dir = optarg;
			break;
		case 'v':
			msg_verbose(1);
			break;
		case 'c':
			completion_begin();
			for (c = commands; c->name; c++)
				completion_command(c->name, c->arguments);
			completion_end();
			return EXIT_DONE;
		case 'h':
			usage(stdout);
			return EXIT_DONE;
		case 'V':
			puts("sluicectl " SLUICE_VERSION);
			return EXIT_DONE;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	c = command_find(argv[optind]);
	if (!c)
		return EXIT_USAGE;
	args[n++] = (char *)c->name;
	/* replay reads its options by itself. */
	if (c->run == cmd_replay && show_options.json)
		args[n++] = "--json";
	for (i = optind + 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json") && c->run != cmd_replay) {
			show_options.json = 1;
		} else if (!strcmp(argv[i], "--pin-dir") && i + 1 < argc) {
			show_options.pin_dir = argv[++i];
		} else if (!strcmp(argv[i], "--help") && c->run != cmd_replay) {
			command_usage(c);
			return EXIT_DONE;
		} else if (n < 63) {
			args[n++] = argv[i];
		} else {
			msg("too many arguments");
			return EXIT_USAGE;
		}
	}
	args[n] = NULL;
	optind = 1;
	return c->run(n, args);
}
