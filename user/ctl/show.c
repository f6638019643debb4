// SPDX-License-Identifier: GPL-2.0-only
/* The pinned maps for all commands: their place, and a message if they cannot be opened. */
#include "ctl/show.h"

const char *show_pin_dir = SLUICE_PIN_DIR;

int arguments_refused(int argc, const char *command)
{
	if (argc <= 1)
		return 0;
	msg("%s takes no arguments", command);
	return 1;
}

int show_open(struct pins *p)
{
	int err = pins_open(show_pin_dir, p);

	if (!err)
		return EXIT_DONE;
	pins_refused(show_pin_dir, err);
	return EXIT_FAILED;
}
