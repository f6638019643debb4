/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_POD_NAMES_H
#define SLUICE_POD_NAMES_H
/* The names of pods, by the number of their network namespace, as they come and go. */
#include <linux/types.h>

struct pod_names;

/* bundles: a directory of OCI bundles in place of sandbox_dirs, or NULL. NULL: there is no memory. */
struct pod_names *pod_names_open(const char *bundles);
/* Whether they are read from there. */
int pod_names_are_of(const struct pod_names *n, const char *bundles);
void pod_names_close(struct pod_names *n);

/* Once a second: takes note of new and removed bundles, for a few milliseconds at most. */
void pod_names_tick(struct pod_names *n);

struct pod_name {
	const char *pod, *namespace; /* until the next tick */
};
/* Whether the pod with that network namespace has a name. */
int pod_names_find(struct pod_names *n, __s32 netnsid, struct pod_name *name);

#endif
