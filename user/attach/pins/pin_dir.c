// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pin directory: its lock, and its pins.
 *
 * Somebody may remove pins while the daemon runs: without them sluicectl finds nothing, the next daemon adopts nothing,
 * and the congestion control stays registered. The daemon has all pinned objects open, and pins them again, in a
 * directory of the same name if that is gone. Links at tcx are made again (port/watch.c).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/hook/tcx.h"
#include "attach/pins/pin_dir.h"
#include "attach/pins/pins_room.h"
#include "lib/bpffs.h"
#include "sluice.skel.h"

int pin_dir_lock(struct pins_room *room, const char *dir)
{
	enum bpffs_state state = bpffs_state();
	int err, made;

	if (strlen(dir) >= sizeof(room->dir))
		return -ENAMETOOLONG;
	strcpy(room->dir, dir);
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
	room->lock_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (room->lock_fd < 0) {
		err = -errno;
		msg("%s: %s: run it as root, or as its owner", dir, strerror(-err));
		if (made)
			rmdir(dir);
		return err;
	}
	if (flock(room->lock_fd, LOCK_EX | LOCK_NB)) {
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

/* --- pins that somebody removes --- */

void pins_release(struct pins_room *room)
{
	while (room->kept_n)
		close(room->kept[--room->kept_n].fd);
}

void pins_keep(struct pins_room *room)
{
	DIR *d = opendir(room->dir);
	struct dirent *e;
	char path[512];
	int fd;

	pins_release(room);
	if (!d)
		msg_limited(&room->limit, 60, "%s: %s: pins that somebody removes there are not put back", room->dir,
			    strerror(errno));
	while (d && (e = readdir(d)) && room->kept_n < KEPT_PINS) {
		if (tcx_pin_is(e->d_name) || strlen(e->d_name) >= sizeof(room->kept[0].name) || e->d_type == DT_DIR)
			continue;
		pin_path(path, sizeof(path), room->dir, e->d_name);
		fd = bpf_obj_get(path);
		if (fd < 0) {
			msg("%s: %s: if somebody removes it, it is not put back", path, strerror(errno));
			continue;
		}
		strcpy(room->kept[room->kept_n].name, e->d_name);
		room->kept[room->kept_n++].fd = fd;
	}
	if (d)
		closedir(d);
}

/* Whether the directory is ours; it is made again if it is gone. Not if another daemon has one of that name by now. */
static int pin_dir_is_ours(struct pins_room *room)
{
	struct stat ours, now;
	int fd;

	if (room->lock_fd < 0 || fstat(room->lock_fd, &ours))
		return 0;
	if (!stat(room->dir, &now))
		return now.st_ino == ours.st_ino && now.st_dev == ours.st_dev;
	if (errno != ENOENT || mkdir(room->dir, 0700))
		return 0;
	fd = open(room->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return 0;
	}
	close(room->lock_fd);
	room->lock_fd = fd;
	return 1;
}

void pins_watch(struct pins_room *room)
{
	unsigned int i, back = 0;
	char path[512];

	for (i = 0; i < room->kept_n; i++) {
		pin_path(path, sizeof(path), room->dir, room->kept[i].name);
		if (!access(path, F_OK) || errno != ENOENT || !pin_dir_is_ours(room))
			continue;
		if (!bpf_obj_pin(room->kept[i].fd, path))
			back++;
		else
			msg_limited(&room->limit, 60, "%s: it was removed, and pinning it again fails: %s", path,
				    strerror(errno));
	}
	if (back)
		msg("%s: %u pin%s had been removed: pinned again", room->dir, back, PLURAL(back));
}
