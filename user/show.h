/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SHOW_H
#define SLUICE_SHOW_H
/* What every command of sluicectl is given besides its own arguments. */
struct show_options {
	const char *pin_dir;
	int json;
};
extern struct show_options show_options;

int cmd_status(int argc, char **argv);
int cmd_flows(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_bypass(int argc, char **argv);

#endif
