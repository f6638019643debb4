/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DAEMON_SEEN_H
#define SLUICE_DAEMON_SEEN_H
/* Whether the daemon of a pin directory lives, as seen from outside. */
#include "lib/record.h"
#include "sluice/abi/abi.h"

enum daemon_state {
	DAEMON_GONE,
	DAEMON_STARTS, /* a process has the pin directory, and has not finished its start */
	DAEMON_HANGS,  /* the process is there, and its heartbeat is not */
	DAEMON_RUNS,
	DAEMON_STATES,
};
extern const char *const daemon_state_names[DAEMON_STATES];

struct daemon_seen {
	enum daemon_state state;
	__u32 pid;	      /* as it is known here; 0: it runs in another PID namespace, or is gone */
	int recorded, whole;  /* the record is there, and is this daemon's; and all of it can be read */
	int replaced;	      /* its program file is no longer there: an upgrade, without a restart */
	__u64 now_ns, age_ns; /* age of its last sign of life */
	struct daemon_record record;
};

/*
 * A killed daemon has a fresh heartbeat for a while, and its pid may be that of a zombie or of another process. So the
 * process counts that holds the lock of the pin directory. A process in another PID namespace (a container's, seen from
 * inside another one) is not visible: then this waits for the next heartbeat.
 */
void daemon_see(struct daemon_seen *d, const char *pin_dir, const struct control *ctl);

#endif
