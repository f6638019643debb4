// SPDX-License-Identifier: GPL-2.0-only
/* The operator's tool: a table of commands. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "ctl/commands.h"
#include "ctl/completion.h"
#include "ctl/options.h"
#include "ctl/out.h"
#include "ctl/pods.h"
#include "ctl/probe.h"
#include "ctl/replay.h"
#include "ctl/show.h"
#include "lib/config.h"
#include "lib/knobs.h"
#include "lib/names.h"
#include "lib/util.h"

/* clang-format off */
#define COMMAND(name, arguments, help) { #name, cmd_##name, arguments, help, NULL }
/* clang-format on */

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *arguments;
	const char *help;
	/* The names of its options, if it parses all of them itself, including --json and --help. NULL: those below. */
	const char *(*option)(unsigned int i);
} commands[] = {
	COMMAND(probe, "[IFACE]...", "what the kernel, interfaces and qdiscs support, and how to fix what is missing"),
	COMMAND(check, "[FILE]", "check a configuration, and whether its interfaces support it"),
	COMMAND(status, "", "overall health: daemon, interfaces, peers, changes, warnings"),
	COMMAND(flows, "[OPTION]...", "window, rate and last telemetry of every flow"),
	COMMAND(why, "[OPTION]... FLOW", "what limits a flow, its last feedback and the decision that followed"),
	COMMAND(trace, "[OPTION]...", "decisions packet by packet, as they are made, and the packets themselves"),
	COMMAND(int, "", "the hops of every path: speed, rate, queue and number of flows"),
	COMMAND(top, "[OPTION]...", "totals, ports with a minute of load and queue, and flows, in full screen"),
	COMMAND(voqs, "", "HierCC: traffic to other racks, its credit and queue"),
	COMMAND(credits, "", "HierCC: traffic from other racks, and the credit granted to it"),
	COMMAND(queue, "[IFACE]", "the qdiscs `sluice`: flows, waiting packets, next departure, drops"),
	COMMAND(pods, "", "the pods on this machine, as its container runtime names them"),
	COMMAND(ports, "", "pauses by port and priority: queues, frames received and sent"),
	COMMAND(stats, "[--all]", "counters, one for each thing that can happen to a packet"),
	COMMAND(set, "[KEY VALUE]", "show or change run-time settings; the next reload resets them"),
	COMMAND(bypass, "on|off", "turn bypass on or off; with bypass on, every packet passes untouched"),
	COMMAND(clean, "[--dry-run]", "clean up after a sluiced that is no longer running"),
	COMMAND(support, "[OPTION]... [FILE]", "collect a diagnostics archive for a bug report"),
	{ "replay", cmd_replay, "[OPTION]... FILE", "run recorded feedback through Algorithm 1 (no root needed)",
	  replay_option },
	{},
};

static void command_usage(const struct command *c)
{
	const struct command_option *o;
	char text[32];

	printf("usage: sluicectl %s%s%s\n%s\n", c->name, c->arguments[0] ? " " : "", c->arguments, c->help);
	for (o = command_options; o->command; o++) {
		if (strcmp(o->command, c->name))
			continue;
		snprintf(text, sizeof(text), "%s %s", o->name, o->value);
		printf("  %-19s %s\n", text, o->help);
	}
}

static void command_complete(const struct command *c)
{
	const struct command_option *o;
	const struct knob *k;
	const char *name;
	unsigned int i;

	completion_command(c->name, c->arguments);
	for (o = command_options; o->command; o++)
		if (!strcmp(o->command, c->name) && o->name[0] == '-')
			completion_option(o->name);
	for (i = 0; c->option && (name = c->option(i)); i++)
		completion_option(name);
	for (k = knobs; c->run == cmd_set && k->name; k++)
		completion_option(k->name);
	completion_values();
	for (o = command_options; o->command; o++)
		if (!strcmp(o->command, c->name) && o->value[0])
			completion_value(o->name, o->value, o->help);
	for (k = knobs; c->run == cmd_set && k->name; k++)
		completion_value(k->name, "", k->values);
	completion_command_end(c->arguments);
}

static void complete(void)
{
	const struct command *c;

	completion_begin();
	for (c = commands; c->name; c++)
		command_complete(c);
	completion_end();
}

static void usage(FILE *to)
{
	const struct command *c;

	fputs("usage: sluicectl [--json] [--pin-dir DIR] [--bundles DIR] COMMAND [ARGUMENT]...\n\n", to);
	for (c = commands; c->name; c++)
		fprintf(to, "  %-8s %-18s %s\n", c->name, c->arguments, c->help);
	fputs("\n"
	      "  --json          output as JSON; keys carry their unit\n"
	      "  --pin-dir DIR   where the maps are pinned (" SLUICE_PIN_DIR ")\n"
	      "  --bundles DIR   where the container runtime keeps its bundles, if not in the default directory of\n"
	      "                  containerd, k3s or CRI-O\n"
	      "  --completion    print the completion for bash: source <(sluicectl --completion)\n"
	      "  --verbose       also print libbpf's messages\n"
	      "  --help, --version; help COMMAND\n"
	      "\n"
	      "A command may be shortened as long as it stays unique.\n"
	      "Exit codes: 0 done, 1 failed, 2 usage, 3 not supported here, 4 failed and undone.\n",
	      to);
}

static void command_unknown(const char *name)
{
	const struct command *c;
	struct nearest n;

	nearest_begin(&n, name);
	for (c = commands; c->name; c++)
		nearest_offer(&n, c->name);
	if (n.best)
		msg("'%s' is not a command: did you mean %s? See sluicectl --help", name, n.best);
	else
		msg("'%s' is not a command: see sluicectl --help", name);
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
		command_unknown(name);
	return found;
}

/* --- the command line --- */

/* Parses options before the command; later ones are its own. Returns -1 to go on with argv[optind], or an exit code. */
static int options_take(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },	     { "pin-dir", required_argument, NULL, 'p' },
		{ "bundles", required_argument, NULL, 'P' }, { "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },	     { "version", no_argument, NULL, 'V' },
		{ "completion", no_argument, NULL, 'c' },    {},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "+jvhV", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			out_json = 1;
			break;
		case 'p':
			show_pin_dir = optarg;
			break;
		case 'P':
			show_bundles_dir = optarg;
			break;
		case 'v':
			msg_verbose(1);
			break;
		case 'c':
			complete();
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
	if (optind < argc)
		return -1;
	usage(stderr);
	return EXIT_USAGE;
}

/* argv: the command and its arguments, among which --json, --pin-dir, --bundles and --help are also accepted. */
static int command_call(const struct command *c, int argc, char **argv)
{
	char *args[64], named[32];
	int n = 1, i;

	/* getopt's messages on the options of a command begin with this. */
	snprintf(named, sizeof(named), "sluicectl %s", c->name);
	args[0] = named;
	if (c->option && out_json)
		args[n++] = "--json";
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json") && !c->option) {
			out_json = 1;
		} else if (!strcmp(argv[i], "--pin-dir") && i + 1 < argc) {
			show_pin_dir = argv[++i];
		} else if (!strcmp(argv[i], "--bundles") && i + 1 < argc) {
			show_bundles_dir = argv[++i];
		} else if ((!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) && !c->option) {
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

int main(int argc, char **argv)
{
	const struct command *c;
	int code;

	msg_init("sluicectl");
	code = options_take(argc, argv);
	if (code >= 0)
		return code;
	argc -= optind;
	argv += optind;
	if (!strcmp(argv[0], "help")) {
		if (argc == 1) {
			usage(stdout);
			return EXIT_DONE;
		}
		/* "help flows" is "flows --help". */
		argv[0] = argv[1];
		argv[1] = "--help";
	}
	c = command_find(argv[0]);
	return c ? command_call(c, argc, argv) : EXIT_USAGE;
}
