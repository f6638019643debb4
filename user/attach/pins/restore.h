/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_RESTORE_H
#define SLUICE_ATTACH_RESTORE_H
#include "lib/config.h"

struct control;

/*
 * Restores missing pins in dir, as far as running programs hold the maps, and reports restored and lost ones. c: its
 * interfaces count if all pins are missing; NULL: all. 0, or -errno with a message if that cannot be determined.
 */
int pins_restore(const char *dir, const struct config *c);
/* The same for the congestion control that control names. */
void cc_pin_restore(const char *dir, const struct control *ctl);

#endif
