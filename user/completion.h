/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_COMPLETION_H
#define SLUICE_COMPLETION_H
/* A completion for bash: begin, each command of the table, end. */
void completion_begin(void);
/* arguments as in the help: "[IFACE]...", "on|off", "[--all] FILE". */
void completion_command(const char *name, const char *arguments);
void completion_end(void);

#endif
