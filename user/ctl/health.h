/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HEALTH_H
#define SLUICE_HEALTH_H
/* What sluicectl status tells beside the configured state: files that have changed, peers, counters, changes of ours. */
#include "ctl/daemon_seen.h"
#include "lib/pins.h"

/* --- health.c --- */

/* A file that the daemon has read, compared with what it is now. */
enum file_state {
	FILE_AS_READ,
	FILE_CHANGED,
	FILE_UNREADABLE, /* it cannot be compared */
	FILE_UNKNOWN,	 /* the daemon has recorded none */
	FILE_STATES,
};
extern const char *const file_state_names[FILE_STATES];
enum file_state config_file_state(const struct daemon_seen *d);
enum file_state key_file_state(const struct daemon_seen *d);

/* Hosts in the prefixes of peers: those that strip, and why others get plain packets. */
enum host_plain {
	HOST_NEVER_ANSWERED,
	HOST_FELL_SILENT,
	HOST_ASKED_ANEW, /* bypass, or a restart, has ended, and it was not heard since */
	HOST_PLAIN_REASONS,
};
extern const char *const host_plain_names[HOST_PLAIN_REASONS];
extern const char *const host_plain_hints[HOST_PLAIN_REASONS];
/* Hosts whose sequences were too old within the last minute, and the one with the largest difference. */
struct hosts_sequences {
	unsigned int n;
	struct sluice_addr addr;
	__u64 by_ns;
};
struct hosts_seen {
	unsigned int strip, plain[HOST_PLAIN_REASONS];
	struct hosts_sequences old;  /* what they send is older than what is held of them */
	struct hosts_sequences held; /* what they hold is newer than what this host sent */
};
/* at: a time of struct host, in units of 2^WIRE_HELD_SHIFT ns. */
int host_is_recent(__u32 at, __u64 now_ns);
void hosts_see(struct hosts_seen *h, const struct pins *p);

/*
 * Calls fn for each thing that points to a problem. counter: its name, or NULL if it is none; n: how much that grew
 * within over_ns.
 */
typedef void (*warning_fn)(const char *counter, __u64 n, __u64 over_ns, const char *text, void *ctx);
void warnings_each(const struct pins *p, const struct daemon_seen *d, unsigned int flows, warning_fn fn, void *ctx);

/* --- health_kernel.c --- */

/* The same for programs that are gone, programs in front of ours, and another default congestion control. */
void kernel_warnings_each(const struct pins *p, const struct daemon_seen *d, warning_fn fn, void *ctx);
/* The default congestion control of this network namespace; "" if it cannot be read. */
void default_control(char *name, size_t size);

/* --- health_changes.c --- */

/*
 * Calls fn for each change of ours to this machine, in this network namespace. was: "" if it is an addition. kind:
 * "clsact", "filters", "tcx", "xdp", "qdisc", "pfc", "route" or "sysctl".
 */
typedef void (*change_fn)(const char *kind, const char *object, const char *was, const char *is, void *ctx);
void changes_each(const struct pins *p, const char *pin_dir, change_fn fn, void *ctx);

#endif
