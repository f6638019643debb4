/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_OPTIONS_H
#define SLUICE_OPTIONS_H
/* The command line of sluiced. */

struct options {
	const char *config_path, *pin_dir; /* pin_dir: NULL if not given */
	int check, detach;
};

/* -1: continue with o; else the daemon ends with this exit code (EXIT_*). */
int options_parse(int argc, char **argv, struct options *o);

#endif
