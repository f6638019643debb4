// SPDX-License-Identifier: GPL-2.0-only
/* The operator's tool: a table of commands. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
	{ "status", cmd_status, "", "mode, daemon, interfaces" },
	{ "flows", cmd_flows, "", "window, rate and last telemetry of every flow" },
	{ "stats", cmd_stats, "[--all]", "counters, one for each thing that can happen to a packet" },
	{ "bypass", cmd_bypass, "on|off", "pass every packet untouched, or work again" },
	{ "replay", cmd_replay, "[OPTION]... FILE", "recorded feedback through Algorithm 1 (no root)" },
	{},
};

static void usage(FILE *to)
{
	const struct command *c;

	fputs("usage: sluicectl [--json] [--pin-dir DIR] COMMAND [ARGUMENT]...\n\n", to);
	for (c = commands; c->name; c++)
		fprintf(to, "  %-8s %-18s %s\n", c->name, c->arguments, c->help);
	fputs("\n"
	      "  --json          output as JSON; keys carry their unit\n"
	      "  --pin-dir DIR   where the maps are pinned (" SLUICE_PIN_DIR ")\n"
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
		{ "version", no_argument, NULL, 'V' },	{},
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
			printf("usage: sluicectl %s %s\n%s\n", c->name, c->arguments, c->help);
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
