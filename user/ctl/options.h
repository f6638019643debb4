/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CTL_OPTIONS_H
#define SLUICE_CTL_OPTIONS_H
/* Options of commands: for parsing, --help and the completion. */
#include "lib/util.h"

struct command_option {
	const char *command;
	int letter;	   /* as option_next() returns it; 0: the command parses it itself */
	const char *name;  /* "--sort", or the argument FILE */
	const char *value; /* "": takes none */
	const char *help;
};
extern const struct command_option command_options[]; /* the last has no command */

/* The next option of this command, with its value in optarg; -1: there is none left; '?' after a message. */
int option_next(int argc, char **argv, const char *command);
/* The value of --peer, with an error message: 0 or -EINVAL. */
int peer_parse(const char *text, struct peer_key *peer);

#endif
