/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_LINES_H
#define SLUICE_CONFIG_LINES_H

#include <cyaml/cyaml.h>
#include <stddef.h>

/*
 * What is wrong with the shape of the file at path, by its schema: words, types and lengths. Says the first thing with
 * its line and what to write instead, and returns -EINVAL; 0: nothing that is looked for here.
 */
int config_lint(const char *path, const cyaml_schema_value_t *schema);

/*
 * The line that a message is about, which begins with the way to it: "interfaces: eth0: speed 'fast' is ...". Each word
 * is a key, or a value of an entry of a list; a value in quotes is looked for below. 0: the file does not say it.
 */
unsigned int config_line(const char *path, const char *message);

#endif
