// SPDX-License-Identifier: GPL-2.0-only
/* The data plane of a pin directory: its lock, and everything closed with it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/dataplane_int.h"
#include "lib/bpffs.h"

int pin_dir_lock(struct dataplane *dp, const char *dir)
{
	enum bpffs_state state = bpffs_state();
	int err, made;

	if (strlen(dir) >= sizeof(dp->pin_dir))
		return -ENAMETOOLONG;
	strcpy(dp->pin_dir, dir);
	if (state == BPFFS_HIDDEN)
		msg("%s: run it by '%s', which leaves /sys as it is", bpffs_what[state], bpffs_fix[state]);
	else if (state != BPFFS_MOUNTED)
		msg("%s: run '%s'", bpffs_what[state], bpffs_fix[state]);
	if (state != BPFFS_MOUNTED)
		return -ENOENT;
	made = !mkdir(dir, 0700);
	if (!made && errno != EEXIST) {
		err = -errno;
		msg("%s: %s", dir, strerror(-err));
		return err;
	}
	dp->lock_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dp->lock_fd < 0) {
		err = -errno;
		msg("%s: %s: run it as root, or as its owner", dir, strerror(-err));
		if (made)
			rmdir(dir);
		return err;
	}
	if (flock(dp->lock_fd, LOCK_EX | LOCK_NB)) {
		err = -errno;
		if (err != -EWOULDBLOCK) {
			msg("%s: locking the directory: %s", dir, strerror(-err));
			if (made)
				rmdir(dir);
			return err;
		}
		msg("%s: another sluiced is running there: stop it, or give this one another pin_dir", dir);
		return -EBUSY;
	}
	return 0;
}

struct dataplane *dataplane_new(void)
{
	struct dataplane *dp = calloc(1, sizeof(*dp));

	if (!dp)
		return NULL;
	dp->lock_fd = dp->linger_fd = -1;
	libbpf_init();
	xdp_init();
	return dp;
}

void dataplane_close(struct dataplane *dp)
{
	unsigned int k;

	if (!dp)
		return;
	pins_release(dp);
	pins_close(&dp->pins);
	adopt_close(dp);
	pods_forget(dp);
	for (k = 0; k < RELOADS_MAX && dp->more[k]; k++)
		sluice_bpf__destroy(dp->more[k]);
	if (dp->skel && dp->skel->skeleton)
		sluice_bpf__destroy(dp->skel);
	else
		free(dp->skel);
	free(dp->elf);
	if (dp->linger_fd >= 0)
		close(dp->linger_fd);
	if (dp->lock_fd >= 0)
		close(dp->lock_fd);
	free(dp);
}
