/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TOP_H
#define SLUICE_TOP_H
/* State of `sluicectl top`, and the drawing of its screen. */
#include <stdbool.h>
#include "ctl/flow_list.h"
#include "ctl/pods.h"
#include "ctl/spark.h"
#include "lib/net.h"

struct top_port {
	__u32 ifindex;
	struct port port;
	struct link_load load;
	__u64 tx_bps, rx_bps;
	__u32 load_percent, queue_us;
	struct spark loads, queues; /* the same, once a second */
	bool here;		    /* it is in this network namespace */
};

struct top_ports {
	struct top_port *port; /* ordered by ifindex */
	unsigned int n, room;
	__u64 now_ns;
};

/* Reads all ports; their rates are those since the previous look. 0, or -errno. */
int top_ports_read(struct top_ports *all, const struct pins *pins);
void top_ports_free(struct top_ports *all);
/*
 * Lists the ports with the most load in the last minute, `most` at most, by ifindex; the caller frees the list. Returns
 * how many there are.
 */
unsigned int top_ports_busiest(const struct top_ports *all, unsigned int most, const struct top_port ***list);
/* The longest queue of all ports in the last minute, rounded up: the highest column of their histories. */
__u32 top_ports_queue_us(const struct top_ports *all);

/* How ports are shown. */
struct port_look {
	int columns;		 /* of the screen; 0: unlimited, without bars and histories */
	bool utf8;		 /* bars and histories are in UTF-8, else in ASCII */
	__u32 queue_us;		 /* top_ports_queue_us() */
	const struct pods *pods; /* NULL: no pod is shown */
};

struct port_line {
	char text[1024];
	struct port_span {
		int at, columns;
		int pair; /* COLOUR_* */
	} span[4];	  /* what has a colour */
	unsigned int spans;
};
/* The line of a port, or the titles if p is NULL. */
void port_line(const struct top_port *p, const struct port_look *look, struct port_line *line);

struct top {
	struct flow_list flows; /* ordered by key */
	struct flow_row *shown; /* the same, as sorted, without those that are spent */
	unsigned int shown_n;
	struct pods pods;
	struct pod_wish pod; /* whose flows are shown */
	struct top_ports ports;
	const struct flow_sort *sort;
	bool up, help, paused;
	bool ports_only;    /* all ports, and no flows */
	unsigned int first; /* first flow shown, or port with ports_only */
	bool colours;	    /* shown now */
	bool colours_ready; /* the terminal has them, and curses knows */
	bool utf8;
	/* The room for it: of the terminal, or none of --batch, which prints lines. */
	bool batch;
	int lines, columns;
	unsigned int count; /* with --batch: times; 0: until it is interrupted */
};

enum { COLOUR_BAD = 1, COLOUR_ODD, COLOUR_LOAD, COLOUR_QUEUE };

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
