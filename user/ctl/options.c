// SPDX-License-Identifier: GPL-2.0-only
/* Options of commands, in one table: what is parsed, what --help says, what the completion offers. */
#include <getopt.h>
#include <string.h>
#include "ctl/options.h"
#include "ctl/pods.h"
#include "lib/config.h"

const struct command_option command_options[] = {
	{ "flows", 's', "--sort", "KEY",
	  "sent, rate, w, u, queue, bytes, feedbacks, last or ends; -KEY: the smallest first" },
	{ "flows", 'p', "--peer", "PREFIX", "only flows to this address or prefix" },
	{ "flows", 'P', "--port", "N", "only flows with this local or remote port" },
	{ "flows", 'h', "--held-by", "WHY",
	  "rate, hop, credit, pause, window or none; only flows held by it (column WHY)" },
	{ "flows", POD_OPTION, "--pod", "POD", "only flows of this pod" },
	{ "flows", NAMESPACE_OPTION, "--namespace", "NS", "only flows of the pods in this Kubernetes namespace" },
	{ "flows", 't', "--top", "N", "only the first N flows: by sending rate, or by --sort" },
	{ "flows", 'a', "--all", "", "also short UDP flows, such as those of DNS" },
	{ "why", POD_OPTION, "--pod", "POD", "a flow of this pod; its only flow if FLOW is omitted" },
	{ "why", NAMESPACE_OPTION, "--namespace", "NS", "a flow of the pods in this Kubernetes namespace" },
	{ "top", POD_OPTION, "--pod", "POD", "only flows of this pod" },
	{ "top", NAMESPACE_OPTION, "--namespace", "NS", "only flows of the pods in this Kubernetes namespace" },
	{ "top", 'b', "--batch", "", "as text, each second, without a terminal; -b is the same" },
	{ "top", 'n', "--count", "N", "with --batch: N times; -n N is the same" },
	{ "trace", 'p', "--peer", "PREFIX", "only flows to this address or prefix" },
	{ "trace", 'P', "--port", "N", "only flows with this local or remote port" },
	{ "trace", 'e', "--every", "N", "one decision in N, chosen at random" },
	{ "trace", 'c', "--count", "N", "stop after N decisions" },
	{ "trace", 'f', "--for", "SECONDS", "stop after SECONDS; by default it runs until Ctrl-C" },
	{ "trace", 'w', "--write", "FILE",
	  "the packets as pcapng, each with its line as a comment; FILE must not exist" },
	{ "stats", 0, "--all", "", "also counters that are 0" },
	{ "clean", 0, "--dry-run", "", "print what would be removed, and remove nothing" },
	{ "support", 0, "FILE", "", "the archive (sluice-support-HOST-TIME.tar); it must not exist" },
	{ "support", 0, "--config", "FILE", "the configuration of sluiced (" CONFIG_PATH ")" },
	{},
};

int option_next(int argc, char **argv, const char *command)
{
	struct option options[16] = {};
	const struct command_option *o;
	int n = 0, opt;

	for (o = command_options; o->command; o++)
		if (!strcmp(o->command, command) && o->letter)
			options[n++] = (struct option){ o->name + 2, *o->value ? required_argument : no_argument, NULL,
							o->letter };
	opt = getopt_long(argc, argv, !strcmp(command, "top") ? "+bn:" : "+", options, NULL);
	if (opt == '?')
		msg("see %s --help", argv[0]);
	return opt;
}

int peer_parse(const char *text, struct peer_key *peer)
{
	int err = prefix_parse(text, peer);

	if (err)
		msg("--peer '%s' is neither an address nor a prefix: write for example 10.2.0.2 or 10.2.0.0/16 (host bits 0)",
		    text);
	return err;
}
