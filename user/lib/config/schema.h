/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_SCHEMA_H
#define SLUICE_CONFIG_SCHEMA_H
#include <cyaml/cyaml.h>
#include "lib/config/keys.h"

/*
 * The file as libcyaml is to read it, into an array of struct config_text for each mapping: which keys there are, which
 * of them take a list or other keys, and how long texts are. What a text means is not its business. Made anew when it is
 * asked for by another table than the last time.
 */
const cyaml_schema_value_t *config_schema(const struct config_table *top);

#endif
