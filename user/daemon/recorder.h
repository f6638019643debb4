/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RECORDER_H
#define SLUICE_RECORDER_H
/* Keeps the daemon's record of itself up to date (lib/record.h). */
#include "lib/config.h"
#include "lib/pins.h"
#include "lib/record.h"

struct recorder {
	struct daemon_record record;
	char path[RECORD_PATH]; /* of the file that recorder_look() saw, */
	__u64 seen;		/* its digest, */
	int seen_err;		/* or why there is none */
	struct msg_limit limit;
};

/* To be called before the configuration is read: a change during that is reported as one, not missed. */
void recorder_look(struct recorder *r, const char *config_path);
/* The configuration that recorder_look() saw is in force. */
void recorder_commit(struct recorder *r, const struct pins *pins, const struct config *c);
/* Once a second. */
void recorder_tick(struct recorder *r, const struct pins *pins, const struct config *c, __u64 now_ns);

#endif
