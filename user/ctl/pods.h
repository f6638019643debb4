/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CTL_PODS_H
#define SLUICE_CTL_PODS_H
/*
 * The pods of this machine by name. A sandbox (lib/sandbox.h) has the name and the network namespace of a pod; the
 * number of that namespace leads to the links and addresses by which flows know the pod.
 */
#include <getopt.h>
#include <stdbool.h>
#include "lib/pins.h"
#include "lib/sandbox.h"

extern const char
	*show_bundles_dir; /* --bundles: the directory of bundles, in place of those of known runtimes; or NULL */

struct pod {
	char name[POD_NAME_MAX + 1];
	char namespace[POD_NAMESPACE_MAX + 1];
	__s32 netnsid;
};

struct pod_veth {
	__u32 ifindex;
	__s32 netnsid;
	const struct pod *pod; /* NULL: it has no name */
};

struct pod_address {
	struct sluice_addr addr;
	const struct pod *pod;
};

struct pods {
	struct pod *pod;	     /* by number of their network namespace */
	struct pod_veth *veth;	     /* every link into another network namespace, by ifindex */
	struct pod_address *address; /* by address */
	unsigned int n, room, veths, veths_room, addresses, addresses_room;
	struct sandboxes_seen seen;
	unsigned int gone;	/* sandboxes whose network namespace is not there */
	unsigned int apart;	/* sandboxes to which no link of this network namespace leads */
	unsigned int unreached; /* pods whose addresses cannot be read */
	int unreached_err;	/* why, of one of them: -errno */
	int links_err;		/* 0, or the list of links may lack some: -errno */
	bool elsewhere;		/* the interfaces of the pins are in another network namespace: no names */
	__u64 next_ns;
};

/* Reads them anew, at most every few seconds. pins: NULL, or those whose flows are to be named. */
void pods_read(struct pods *p, const struct pins *pins);
void pods_free(struct pods *p);
/* The directories that are read; NULL is behind the last. */
const char *const *pods_dirs(void);

/* NULL: none has that link, or is the local side of that flow. */
const struct pod *pods_find_link(const struct pods *p, __u32 ifindex);
const struct pod *pods_find_flow(const struct pods *p, const struct flow_key *k, const struct flow *f);

/* Sandboxes and files that led to no name, though they might have. */
unsigned int pods_skipped(const struct pods *p);
/* Reports that there is no pod at all, and what to do; option: what asked for one. */
void pods_none_say(const char *option, const struct pods *p);

/* "NAMESPACE/NAME" */
#define POD_STRLEN (POD_NAMESPACE_MAX + POD_NAME_MAX + 2)
const char *pod_format(const struct pod *pod, char *buf);
/* JSON: its names as members of the open object; nothing for NULL. */
void pod_json(const struct pod *pod);

/* --pod and --namespace, options of several commands. */
struct pod_wish {
	const char *name, *namespace; /* NULL: any */
};
enum { POD_OPTION = 'o', NAMESPACE_OPTION = 'N' };
/* Whether the option is one of these. */
int pod_wish_take(struct pod_wish *w, int option, const char *value);
int pod_wish_given(const struct pod_wish *w);
/* 0, or -ENOENT with a message: there is no such pod. */
int pod_wish_check(const struct pod_wish *w, const struct pods *p);
int pod_wish_meets(const struct pod_wish *w, const struct pod *pod);

#endif
