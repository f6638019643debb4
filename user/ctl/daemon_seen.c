// SPDX-License-Identifier: GPL-2.0-only
/* The state of the daemon: the holder of its lock by /proc/locks, its heartbeat, its record. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include "ctl/daemon_seen.h"
#include "sluice/once.h"

#define DAEMON_ALIVE_NS (3 * NSEC_PER_SEC)
#define DAEMON_BEAT_NS (3 * NSEC_PER_SEC / 2) /* the daemon's heartbeat is once a second */

const char *const daemon_state_names[DAEMON_STATES] = {
	[DAEMON_GONE] = "not running",
	[DAEMON_STARTS] = "starting",
	[DAEMON_HANGS] = "hung",
	[DAEMON_RUNS] = "running",
};

/* The process that holds the flock of the directory: its pid, or 0 if none is visible here. */
static __u32 lock_holder(const char *dir)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned int major, minor, pid, found = 0;
	unsigned long inode;
	char line[160];
	struct stat st;

	if (!f)
		return 0;
	if (stat(dir, &st))
		st.st_ino = 0;
	/* "1: FLOCK  ADVISORY  WRITE 708 00:1b:15021 0 EOF"; one that waits has "->" in front of FLOCK. */
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*u: FLOCK %*s %*s %u %x:%x:%lu", &pid, &major, &minor, &inode) == 4 &&
		    inode == st.st_ino && major == major(st.st_dev) && minor == minor(st.st_dev))
			found = pid;
	fclose(f);
	return found;
}

/* The pid of a process in its own PID namespace; 0 if that cannot be read. */
static __u32 pid_inside(__u32 pid)
{
	char path[64], line[256], *last;
	__u32 inside = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && !inside && fgets(line, sizeof(line), f)) {
		last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');
		inside = last ? strtoul(last, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
	return inside;
}

static int program_is_replaced(__u32 pid)
{
	static const char gone[] = " (deleted)";
	char path[64], file[512];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, file, sizeof(file));
	return n > (ssize_t)sizeof(gone) && !memcmp(file + n - strlen(gone), gone, strlen(gone));
}

static int beat_comes(const struct control *ctl)
{
	__u64 last_ns = READ_ONCE(ctl->heartbeat_ns), end_ns = now_ns() + DAEMON_BEAT_NS;
	const struct timespec pause = { 0, NSEC_PER_SEC / 20 };

	while (READ_ONCE(ctl->heartbeat_ns) == last_ns && now_ns() < end_ns)
		nanosleep(&pause, NULL);
	return READ_ONCE(ctl->heartbeat_ns) != last_ns;
}

void daemon_see(struct daemon_seen *d, const char *pin_dir, const struct control *ctl)
{
	__u32 holder = lock_holder(pin_dir), inside = holder ? pid_inside(holder) : 0;
	int fresh = age_ns(now_ns(), READ_ONCE(ctl->heartbeat_ns)) < DAEMON_ALIVE_NS;

	*d = (struct daemon_seen){ .pid = holder };
	if (holder && inside && inside != ctl->pid)
		d->state = DAEMON_STARTS;
	else if (holder)
		d->state = fresh ? DAEMON_RUNS : DAEMON_HANGS;
	else
		d->state = fresh && beat_comes(ctl) ? DAEMON_RUNS : DAEMON_GONE;
	d->recorded = !record_read(pin_dir, &d->record, &d->whole) && d->record.head.pid == ctl->pid;
	d->replaced = d->state == DAEMON_RUNS && holder && program_is_replaced(holder);
	d->now_ns = now_ns();
	d->age_ns = age_ns(d->now_ns, READ_ONCE(ctl->heartbeat_ns));
}
