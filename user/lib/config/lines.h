/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_LINES_H
#define SLUICE_CONFIG_LINES_H

#include <cyaml/cyaml.h>

/*
 * Checks the shape of the file at path by its schema: keys, lists, and lengths of texts. Prints every mistake with its
 * line and what to write instead, and returns -EINVAL; 0: no such mistake.
 */
int config_lint(const char *path, const cyaml_schema_value_t *schema);

/*
 * Reports a wrong value of the file at path, with its line, and returns -EINVAL. The message begins with the path to the value: "interfaces:
 * eth0: speed 'fast' is ...".
 */
int config_bad(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
