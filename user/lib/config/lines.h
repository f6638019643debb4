/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_LINES_H
#define SLUICE_CONFIG_LINES_H

#include <cyaml/cyaml.h>

/*
 * Checks the shape of the file at path by its schema: keys, lists, and lengths of texts. Says the first thing that is wrong
 * with its line and what to write instead, and returns -EINVAL; 0: nothing that is looked for here.
 */
int config_lint(const char *path, const cyaml_schema_value_t *schema);

/*
 * Says what is wrong with a value of the file at path, with its line. The message begins with the way to the value:
 * "interfaces: eth0: speed 'fast' is ...".
 */
void config_bad(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
