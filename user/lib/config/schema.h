/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_SCHEMA_H
#define SLUICE_CONFIG_SCHEMA_H
#include <cyaml/cyaml.h>
#include "lib/config/keys.h"

/*
 * The schema by which libcyaml reads the file, into an array of struct config_text for each mapping: the keys, which of
 * them take a list or other keys, and the length of texts. It does not interpret texts. It is made anew when another
 * table is passed than the last time.
 */
const cyaml_schema_value_t *config_schema(const struct config_table *top);

#endif
