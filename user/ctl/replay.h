/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_REPLAY_H
#define SLUICE_REPLAY_H
#ifdef __bpf__
#error "a header of the host"
#endif

#include "sluice/cc/hpcc.h"

/* The subcommand `sluicectl replay`, argv[0] = "replay". Returns the exit code. */
int cmd_replay(int argc, char **argv);
/* Its i-th option, "--eta"; NULL: there are no more. Valid until the next call. */
const char *replay_option(unsigned int i);
/* Also sets out_json. state: of a flow before its first row. Returns 0, -EINVAL, or 1 if only the help was requested. */
int replay_options_parse(int argc, char **argv, const char **name, struct hpcc_params *params,
			 struct hpcc_state *state);

#endif
