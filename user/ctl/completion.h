/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_COMPLETION_H
#define SLUICE_COMPLETION_H
/*
 * A completion for bash: begin, each command of the tables, end. Of a command: its arguments as in the help ("[IFACE]...",
 * "on|off", "FILE"), each option, then completion_values() and each option that takes a value, with its help: values
 * that are words are at its start, up to a semicolon ("drop or mark", "rate, hop or none; the column WHY").
 */
void completion_begin(void);
void completion_command(const char *name, const char *arguments);
void completion_option(const char *name);
void completion_values(void);
void completion_value(const char *option, const char *value, const char *help);
void completion_command_end(const char *arguments);
void completion_end(void);

#endif
