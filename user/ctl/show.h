/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SHOW_H
#define SLUICE_SHOW_H
/* The pinned maps for all commands. */
#include "lib/pins.h"

extern const char *show_pin_dir; /* --pin-dir, or where sluiced pins its maps */

/* Whether a command without arguments was given some; reports it. */
int arguments_refused(int argc, const char *command);
/* Opens the pinned maps; EXIT_DONE, or another code with a message. */
int show_open(struct pins *p);

#endif
