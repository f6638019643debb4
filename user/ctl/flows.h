/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FLOWS_H
#define SLUICE_FLOWS_H
#include "ctl/flow_list.h"

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
