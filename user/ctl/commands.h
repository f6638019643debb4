/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_COMMANDS_H
#define SLUICE_COMMANDS_H
/* Commands, for the table of sluicectl.c. argv: the command and its arguments. Each returns the exit code. */

int cmd_status(int argc, char **argv);
int cmd_flows(int argc, char **argv);
int cmd_voqs(int argc, char **argv);
int cmd_credits(int argc, char **argv);
int cmd_queue(int argc, char **argv);
int cmd_pods(int argc, char **argv);
int cmd_ports(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_bypass(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_int(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_support(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);

#endif
