/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SCENARIO_KEYS_H
#define SLUICE_SIM_SCENARIO_KEYS_H
#include "lib/config/keys.h"

extern const struct config_table scenario_top;

#endif
