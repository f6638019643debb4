/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TOP_H
#define SLUICE_TOP_H
/* State of `sluicectl top`, and the drawing of its screen. */
#include <stdbool.h>
#include "ctl/flow_list.h"
#include "ctl/pods.h"
#include "lib/net.h"

#define TOP_PORTS 64 /* most ports listed */

struct top_port {
	__u32 ifindex;
	struct port port;
	struct link_load load;
	__u64 tx_bps, rx_bps;
	bool here; /* it is in this network namespace */
};

struct top {
	struct flow_list flows; /* ordered by key */
	struct flow_row *shown; /* the same, as sorted, without those that are spent */
	unsigned int shown_n;
	struct pods pods;
	struct pod_wish pod; /* whose flows are shown */
	struct top_port port[TOP_PORTS];
	unsigned int ports, ports_all;
	__u64 now_ns;
	const struct flow_sort *sort;
	bool up, help, paused;
	unsigned int first; /* first flow shown */
	bool colours;
	/* The room for it: of the terminal, or none of --batch, which prints lines. */
	bool batch;
	int lines, columns;
	unsigned int count; /* with --batch: times; 0: until it is interrupted */
};

enum { COLOUR_BAD = 1, COLOUR_ODD };

/* A key that sorts. */
struct top_key {
	int key;
	const char *sort;
	const char *help;
};
extern const struct top_key top_keys[]; /* the last has no key */

/* The whole screen, or as many lines as there are. */
void top_draw(struct top *t);

#endif
