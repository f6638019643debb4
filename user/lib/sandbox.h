/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SANDBOX_H
#define SLUICE_SANDBOX_H
/*
 * Sandboxes of Kubernetes pods, as container runtimes describe them in files: an OCI bundle for each container, whose
 * config.json has the pod's names as annotations and the path of its network namespace. No runtime is asked.
 */
#include <stddef.h>

#define POD_NAME_MAX 253     /* a DNS subdomain (RFC 1123) */
#define POD_NAMESPACE_MAX 63 /* a DNS label */

#define SANDBOXES_MAX 10000	   /* sandboxes that are read */
#define SANDBOX_BUNDLES_MAX 100000 /* containers in which they are looked for */
#define SANDBOX_FILE_MAX (1 << 20) /* bytes of a config.json */

struct sandbox {
	char name[POD_NAME_MAX + 1];
	char namespace[POD_NAMESPACE_MAX + 1];
	char netns[4096]; /* path of its network namespace */
};

enum sandbox_kind {
	SANDBOX_POD,	   /* the sandbox is filled in */
	SANDBOX_HOST,	   /* a pod in the network namespace of its node, or without the path of its own */
	SANDBOX_OTHER,	   /* a container that is no sandbox of Kubernetes */
	SANDBOX_MALFORMED, /* no JSON, or a name that Kubernetes does not allow */
	/* Of files alone. */
	SANDBOX_ABSENT,	    /* no bundle, or one that is being made or removed */
	SANDBOX_LARGE,	    /* more than SANDBOX_FILE_MAX bytes */
	SANDBOX_UNREADABLE, /* it cannot be read */
};

/* The directories of bundles of containerd, k3s and CRI-O; NULL is behind the last. */
extern const char *const sandbox_dirs[];

/* Reads the text of a config.json. */
enum sandbox_kind sandbox_parse(const char *text, size_t n, struct sandbox *s);

/*
 * Reads the file of the bundle id in an open directory: config.json, or userdata/config.json (CRI-O). text: room for
 * SANDBOX_FILE_MAX bytes.
 */
enum sandbox_kind sandbox_read(int dir, const char *id, char *text, struct sandbox *s);

/* The number of bundles of each sort. */
struct sandboxes_seen {
	unsigned int directories; /* that exist */
	unsigned int pods, host, other;
	unsigned int malformed, large, unreadable; /* unreadable: files, and directories that exist */
	unsigned int beyond;			   /* not read, because there are too many */
};

/*
 * Calls fn for the sandbox of each pod with a network namespace of its own. dirs: directories of bundles, NULL at their
 * end. One that does not exist has none.
 */
void sandboxes_each(const char *const *dirs, void (*fn)(const struct sandbox *s, void *ctx), void *ctx,
		    struct sandboxes_seen *seen);

#endif
