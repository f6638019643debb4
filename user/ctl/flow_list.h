/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FLOW_LIST_H
#define SLUICE_FLOW_LIST_H
/* All flows at one moment, for commands that read them more than once. */
#include <stdbool.h>
#include "lib/pins.h"

struct flow_row {
	struct flow_key key;
	struct flow flow;
	bool paused; /* flow_is_paused() */
	/* From earlier lists, if any (flow_list_order): */
	__u64 sent_bps;	 /* since the previous list; 0 if the flow was not in it */
	const char *why; /* its constraint, and since when; a new reason has to be seen at two looks in a row */
	__u64 why_since_ns;
	const char *why_next; /* a new reason, seen once; NULL: none */
	__u64 why_next_ns;
	bool why_from_start; /* the reason was there at the first look */
};

struct pods;
struct pod_wish;

struct flow_list {
	struct flow_row *row;
	unsigned int n, room;
	__u64 now_ns;
	struct control ctl;
	const struct pods *pods; /* by which the flows of pods are named; NULL: they are not */
};

/* Fills an empty list. 0, or -errno with an empty list. */
int flow_list_read(struct flow_list *l, const struct pins *p);
void flow_list_free(struct flow_list *l);
/* Removes the flows of other pods, if one is wished. */
void flow_list_keep(struct flow_list *l, const struct pod_wish *pod);

/* Sorts by key, for flow_list_row(); fills in values that need an earlier list, also ordered (NULL: there is none). */
void flow_list_order(struct flow_list *l, const struct flow_list *before);
const struct flow_row *flow_list_row(const struct flow_list *l, const struct flow_key *k);

/* A value to sort flows by, the largest first. */
struct flow_sort {
	const char *name;
	__u64 (*value)(const struct flow_row *r); /* NULL: by key */
	const char *help;
};
extern const struct flow_sort flow_sorts[]; /* the last has no name */

/* up: smallest first. */
void flow_list_sort(struct flow_list *l, const struct flow_sort *by, int up);

#endif
