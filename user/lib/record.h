/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RECORD_H
#define SLUICE_RECORD_H
/* The record that a daemon keeps of itself in the pin directory (the map `daemon`), for sluicectl. No program reads it. */
#include "lib/util.h"

#define RECORD_FORM 1 /* goes up with every change of struct daemon_head */
#define RECORD_PATH 256
#define RECORD_PIN "daemon"

/* The first part of the record: sluicectl of another version reads it, too. */
struct daemon_head {
	__u32 form;
	__u32 pid;	  /* in the PID namespace of the daemon */
	__u64 started_ns; /* CLOCK_MONOTONIC, as all times here */
	char version[32];
	__u64 config_digest;	       /* of the file that is in force, as it was read */
	__s64 key_mtime_ns;	       /* since 1970: last change of the key file when it was read; 0: there is none */
	char config_path[RECORD_PATH]; /* absolute; "": longer than this */
	char key_path[RECORD_PATH];
};

/*
 * The counters once a minute, the newer copy first, so that sluicectl can tell what grew in the last one to two minutes.
 */
struct daemon_record {
	struct daemon_head head;
	__u64 stats_ns[2];
	__u64 stats[2][STAT_MAX];
};

/* Makes and pins the map if that is missing or another version's. 0, or -errno. */
int record_store(const char *pin_dir, const struct daemon_record *r);
/*
 * -ENOENT: no daemon has recorded anything; -EPROTO: a form that this version cannot read. whole: 0 if only the head is
 * filled in, because the daemon is of another version.
 */
int record_read(const char *pin_dir, struct daemon_record *r, int *whole);

/* The file in the current directory, or by its absolute path; "" if that is too long. */
void path_absolute(const char *path, char *absolute);
/* A digest of the content, to recognise a change. 0, or -errno. */
int file_digest(const char *path, __u64 *digest);
/* Time of the last change since 1970; 0 if it cannot be read: errno has the reason. */
__s64 file_mtime_ns(const char *path);

#endif
