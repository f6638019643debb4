// SPDX-License-Identifier: GPL-2.0-only
/* Finds the BPF file system, and why it is not there. */
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include "lib/bpffs.h"

#define BPFFS_AT "/sys/fs/bpf"

const char *const bpffs_what[BPFFS_STATES] = {
	[BPFFS_NO_SYS] = "/sys is not mounted",
	[BPFFS_HIDDEN] = BPFFS_AT " is hidden here, as by 'ip netns exec'",
	[BPFFS_MISSING] = BPFFS_AT " is not a BPF file system",
};

const char *const bpffs_fix[BPFFS_STATES] = {
	[BPFFS_NO_SYS] = "mount -t sysfs sysfs /sys && mount -t bpf bpf " BPFFS_AT,
	[BPFFS_HIDDEN] = "nsenter --net=/run/netns/NAME",
	[BPFFS_MISSING] = "mount -t bpf bpf " BPFFS_AT,
};

static int is_mounted(const char *at, unsigned int magic)
{
	struct statfs fs;

	return !statfs(at, &fs) && (unsigned int)fs.f_type == magic;
}

/* Whether process 1 has it; only root may look. */
static int is_mounted_elsewhere(void)
{
	FILE *f = fopen("/proc/1/mounts", "re");
	char line[1024], at[256], type[64];
	int is = 0;

	while (f && !is && fgets(line, sizeof(line), f))
		is = sscanf(line, "%*s %255s %63s", at, type) == 2 && !strcmp(at, BPFFS_AT) && !strcmp(type, "bpf");
	if (f)
		fclose(f);
	return is;
}

enum bpffs_state bpffs_state(void)
{
	if (is_mounted(BPFFS_AT, BPF_FS_MAGIC))
		return BPFFS_MOUNTED;
	if (!is_mounted("/sys", SYSFS_MAGIC))
		return BPFFS_NO_SYS;
	return is_mounted_elsewhere() ? BPFFS_HIDDEN : BPFFS_MISSING;
}
