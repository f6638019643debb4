// SPDX-License-Identifier: GPL-2.0-only
/* The pinned maps for all commands: their place, and a message if they cannot be opened. */
#include <errno.h>
#include <string.h>
#include "ctl/show.h"
#include "lib/bpffs.h"
#include "lib/record.h"

const char *show_pin_dir = SLUICE_PIN_DIR;

int arguments_refused(int argc, const char *command)
{
	if (argc <= 1)
		return 0;
	msg("%s takes no arguments", command);
	return 1;
}

/* The maps are another version's, whose number is in the record of its daemon. */
static void version_refuse(void)
{
	struct daemon_record r;
	int whole;

	if (record_read(show_pin_dir, &r, &whole))
		msg("%s: the maps there are of another version of Sluice: use its own sluicectl", show_pin_dir);
	else
		msg("%s: the maps there are of another version of Sluice, %s, and this sluicectl is %s: use its own sluicectl",
		    show_pin_dir, r.head.version, SLUICE_VERSION);
}

int show_open(struct pins *p)
{
	int err = pins_open(show_pin_dir, p);
	enum bpffs_state state;
	char caps[64];

	if (!err)
		return EXIT_DONE;
	caps_missing(caps, sizeof(caps), CAPS_READ);
	state = bpffs_state();
	if (err == -ENOENT && state != BPFFS_MOUNTED && !strncmp(show_pin_dir, "/sys/fs/bpf/", 12))
		msg("%s: nothing is pinned there, and %s: run %s'%s'", show_pin_dir, bpffs_what[state],
		    state == BPFFS_HIDDEN ? "it by " : "", bpffs_fix[state]);
	else if (err == -ENOENT)
		msg("%s: nothing is pinned there: is sluiced running? (--pin-dir DIR for another place)", show_pin_dir);
	else if (err == -EPERM || err == -EACCES)
		msg("%s: not allowed: reading BPF maps needs root, or %s%sread and write access to what is pinned there (CAP_DAC_OVERRIDE)",
		    show_pin_dir, caps, *caps ? " and " : "");
	else if (err == -EPROTO)
		version_refuse();
	else
		msg("%s: %s", show_pin_dir, strerror(-err));
	return EXIT_FAILED;
}
