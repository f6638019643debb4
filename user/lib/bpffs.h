/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BPFFS_H
#define SLUICE_BPFFS_H
#include <stdio.h>

/* Whether pins can be made and read at /sys/fs/bpf. */
enum bpffs_state {
	BPFFS_MOUNTED,
	BPFFS_NO_SYS, /* /sys itself is missing, as in a chroot */
	BPFFS_HIDDEN, /* the machine has it, and this mount namespace another /sys over it, as 'ip netns exec' makes it */
	BPFFS_MISSING, /* nobody has mounted it */
	BPFFS_STATES,
};
enum bpffs_state bpffs_state(void);

extern const char *const bpffs_what[BPFFS_STATES]; /* what is wrong; NULL: nothing */
extern const char
	*const bpffs_fix[BPFFS_STATES]; /* the command against it, of which HIDDEN has an argument to fill in */

/* The pin of this name in a directory there. */
static inline void pin_path(char *path, size_t size, const char *dir, const char *name)
{
	snprintf(path, size, "%s/%s", dir, name);
}

#endif
