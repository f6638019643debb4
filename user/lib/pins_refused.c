// SPDX-License-Identifier: GPL-2.0-only
/* The message to a person where the pinned maps cannot be opened. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/bpffs.h"
#include "lib/pins.h"
#include "lib/record.h"

/* Whether the maps have no version yet (struct control, abi). */
static int pins_are_unfinished(const char *dir)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0, *value = NULL;
	char path[512];
	int fd, is;

	snprintf(path, sizeof(path), "%s/control", dir);
	fd = bpf_obj_get(path);
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.value_size >= sizeof(*value))
		value = malloc(info.value_size);
	is = value && !bpf_map_lookup_elem(fd, &zero, value) && !*value;
	free(value);
	if (fd >= 0)
		close(fd);
	return is;
}

/* The maps are another version's, whose number is in the record of its daemon. */
static void version_refuse(const char *dir)
{
	const char *own = program_invocation_short_name;
	struct daemon_record r;
	int whole;

	if (record_read(dir, &r, &whole))
		msg("%s: the maps there are of another version of Sluice: use its own %s", dir, own);
	else
		msg("%s: the maps there are of another version of Sluice, %s, and this %s is %s: use its own %s", dir,
		    r.head.version, own, SLUICE_VERSION, own);
}

void pins_refused(const char *dir, int err)
{
	enum bpffs_state state = bpffs_state();
	char caps[64];

	caps_missing(caps, sizeof(caps), CAPS_READ);
	if (err == -ENOENT && state != BPFFS_MOUNTED && !strncmp(dir, "/sys/fs/bpf/", 12))
		msg("%s: nothing is pinned there, and %s: run %s'%s'", dir, bpffs_what[state],
		    state == BPFFS_HIDDEN ? "it by " : "", bpffs_fix[state]);
	else if (err == -ENOENT)
		msg("%s: nothing is pinned there: is sluiced running? (--pin-dir DIR for another place)", dir);
	else if (err == -EPERM || err == -EACCES)
		msg("%s: not allowed: reading BPF maps needs root, or %s%sread and write access to what is pinned there (CAP_DAC_OVERRIDE)",
		    dir, caps, *caps ? " and " : "");
	else if (err == -EPROTO && pins_are_unfinished(dir))
		msg("%s: sluiced is starting there, or takes over from another version: try again in a moment", dir);
	else if (err == -EPROTO)
		version_refuse(dir);
	else
		msg("%s: %s", dir, strerror(-err));
}
