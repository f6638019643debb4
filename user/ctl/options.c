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
	{ "flows", 'p', "--peer", "PREFIX", "whose remote address is or lies there" },
	{ "flows", 'P', "--port", "N", "whose local or remote port it is" },
	{ "flows", 'h', "--held-by", "WHY", "rate, hop, credit, pause, window or none; the column WHY" },
	{ "flows", POD_OPTION, "--pod", "POD", "of the pod of this name" },
	{ "flows", NAMESPACE_OPTION, "--namespace", "NS", "of the pods in this namespace of Kubernetes" },
	{ "flows", 't', "--top", "N", "only N flows (those that send most, or by --sort)" },
	{ "flows", 'a', "--all", "", "UDP, too, that sent for a moment, as DNS does" },
	{ "why", POD_OPTION, "--pod", "POD", "a flow of the pod of this name; its only one without FLOW" },
	{ "why", NAMESPACE_OPTION, "--namespace", "NS", "a flow of the pods in this namespace of Kubernetes" },
	{ "top", POD_OPTION, "--pod", "POD", "only flows of the pod of this name" },
	{ "top", NAMESPACE_OPTION, "--namespace", "NS", "only flows of the pods in this namespace of Kubernetes" },
	{ "top", 'b', "--batch", "", "as text, each second, without a terminal" },
	{ "top", 'n', "--count", "N", "with --batch: N times; -n N is the same" },
	{ "trace", 'p', "--peer", "PREFIX", "of flows whose remote address is or lies there" },
	{ "trace", 'P', "--port", "N", "of flows whose local or remote port it is" },
	{ "trace", 'e', "--every", "N", "one of N, by chance" },
	{ "trace", 'c', "--count", "N", "no more than that" },
	{ "trace", 'f', "--for", "SECONDS", "no longer than that; else until it is interrupted" },
	{ "trace", 'w', "--write", "FILE",
	  "the packets as pcapng, each with its line as comment; FILE may not be there yet" },
	{ "stats", 0, "--all", "", "also those that are 0" },
	{ "clean", 0, "--dry-run", "", "say what would go, and take nothing off" },
	{ "support", 0, "FILE", "", "sluice-support-HOST-TIME.tar in this directory; it may not be there yet" },
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
	opt = getopt_long(argc, argv, !strcmp(command, "top") ? "+n:" : "+", options, NULL);
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
