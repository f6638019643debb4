// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ports of sluicectl top: what they carry, and the last minute of it. A screen without room for all has those with
 * the most load in that minute, by interface number all the same, so that lines seldom move.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/top.h"
#include "lib/names.h"

/* --- reading --- */

static int top_port_add(__u32 ifindex, const struct port *port, void *ctx)
{
	struct top_ports *all = ctx;
	struct top_port *p;

	if (port->flags & PORT_F_LEFT)
		return 0;
	if (all->n == all->room) {
		all->room = all->room ? 2 * all->room : 64;
		p = realloc(all->port, all->room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		all->port = p;
	}
	all->port[all->n++] = (struct top_port){ .ifindex = ifindex, .port = *port };
	return 0;
}

static int port_compare(const void *a, const void *b)
{
	const struct top_port *x = a, *y = b;

	return x->ifindex < y->ifindex ? -1 : x->ifindex > y->ifindex;
}

/* While qdiscs are being changed a look has no queues. */
static int top_ports_load(struct top_ports *all)
{
	struct link_load *load = all->n ? calloc(all->n, sizeof(*load)) : NULL;
	unsigned int i;
	int err;

	if (!all->n)
		return 0;
	if (!load)
		return -ENOMEM;
	for (i = 0; i < all->n; i++)
		load[i].ifindex = all->port[i].ifindex;
	err = link_loads_get(load, all->n);
	for (i = 0; i < all->n; i++) {
		all->port[i].load = load[i];
		all->port[i].here = load[i].ifindex;
	}
	free(load);
	return err == -EINTR ? 0 : err;
}

static __u64 rate_since(__u64 was, __u64 is, __u64 ns)
{
	return is > was && ns ? (is - was) * 8e9 / ns : 0;
}

/* part / whole of scale, as far as 32 bits go. */
static __u32 part_of(__u64 part, __u64 whole, __u32 scale)
{
	double value = whole ? (double)part * scale / whole : 0;

	return value < UINT_MAX ? value : UINT_MAX;
}

/* was: at the previous look; NULL: it was not there. An interface whose counter went back is another one. */
static void top_port_follow(struct top_port *p, const struct top_port *was, __u64 ns)
{
	p->queue_us = part_of(p->load.backlog_bytes, p->port.speed_bps, 8000000);
	if (!was || !p->here || was->load.tx_bytes > p->load.tx_bytes)
		return;
	p->loads = was->loads;
	p->queues = was->queues;
	p->tx_bps = rate_since(was->load.tx_bytes, p->load.tx_bytes, ns);
	p->rx_bps = rate_since(was->load.rx_bytes, p->load.rx_bytes, ns);
	p->load_percent = part_of(p->tx_bps, p->port.speed_bps, 100);
	spark_add(&p->loads, p->load_percent);
	spark_add(&p->queues, p->queue_us);
}

int top_ports_read(struct top_ports *all, const struct pins *pins)
{
	struct top_ports before = *all;
	const struct top_port *was;
	unsigned int i;
	int err;

	*all = (struct top_ports){};
	err = pins_each_port(pins, top_port_add, all);
	if (all->n)
		qsort(all->port, all->n, sizeof(*all->port), port_compare);
	err = err ?: top_ports_load(all);
	all->now_ns = now_ns();
	for (i = 0; i < all->n; i++) {
		was = before.n ? bsearch(&all->port[i], before.port, before.n, sizeof(*was), port_compare) : NULL;
		top_port_follow(&all->port[i], was, all->now_ns - before.now_ns);
	}
	top_ports_free(&before);
	return err;
}

void top_ports_free(struct top_ports *all)
{
	free(all->port);
	*all = (struct top_ports){};
}

/* --- those that are shown --- */

/* The busiest first; of equally busy ones, that with the longer queue. */
static int busy_compare(const void *a, const void *b)
{
	const struct top_port *x = *(const struct top_port *const *)a, *y = *(const struct top_port *const *)b;
	__u32 load_x = spark_max(&x->loads), load_y = spark_max(&y->loads);
	__u32 queue_x = spark_max(&x->queues), queue_y = spark_max(&y->queues);

	if (load_x != load_y)
		return load_x > load_y ? -1 : 1;
	if (queue_x != queue_y)
		return queue_x > queue_y ? -1 : 1;
	return port_compare(x, y);
}

static int listed_compare(const void *a, const void *b)
{
	return port_compare(*(const struct top_port *const *)a, *(const struct top_port *const *)b);
}

unsigned int top_ports_busiest(const struct top_ports *all, unsigned int most, const struct top_port ***list)
{
	unsigned int i, n = all->n < most ? all->n : most;

	*list = all->n ? malloc(all->n * sizeof(struct top_port *)) : NULL;
	if (!*list)
		return 0;
	for (i = 0; i < all->n; i++)
		(*list)[i] = &all->port[i];
	if (n < all->n) {
		qsort(*list, all->n, sizeof(struct top_port *), busy_compare);
		qsort(*list, n, sizeof(struct top_port *), listed_compare);
	}
	return n;
}

/* --- the line --- */

enum cell {
	CELL_NAME,
	CELL_TX,
	CELL_LOAD,
	CELL_BAR,
	CELL_LOADS,
	CELL_QUEUE,
	CELL_QUEUES,
	CELL_RX,
	CELL_BYTES,
};

/* clang-format off */
static const struct port_column {
	enum cell cell;
	const char *title;
	int width;    /* negative: left aligned */
	int from, to; /* screen widths, in columns, with which it is shown */
} columns[] = {
	{ CELL_NAME,   "PORT",         -8,   0,      61 },
	{ CELL_NAME,   "PORT",        -12,  62,      99 },
	{ CELL_NAME,   "PORT",        -15, 100, INT_MAX },
	{ CELL_TX,     "TX Mb/s",       8,   0, INT_MAX },
	{ CELL_LOAD,   "LOAD",          4,   0, INT_MAX },
	{ CELL_BAR,    "",             -8,  80, INT_MAX },
	{ CELL_LOADS,  "0-100% 1min", -12,  62,      99 },
	{ CELL_LOADS,  "0-100% 1min", -20, 100,     119 },
	{ CELL_LOADS,  "0-100% 1min", -30, 120,     191 },
	{ CELL_LOADS,  "0-100% 1min", -60, 192, INT_MAX },
	{ CELL_QUEUE,  "QUEUE us",      8,   0, INT_MAX },
	{ CELL_QUEUES, NULL,          -12,  48,      99 },
	{ CELL_QUEUES, NULL,          -20, 100,     119 },
	{ CELL_QUEUES, NULL,          -30, 120,     191 },
	{ CELL_QUEUES, NULL,          -60, 192, INT_MAX },
	{ CELL_RX,     "RX Mb/s",       8,  80, INT_MAX },
	{ CELL_BYTES,  "QUEUE BYTES",  12, 132, INT_MAX },
	{},
};

/* For lines of unlimited length. */
static const struct port_column wide_columns[] = {
	{ CELL_NAME,   "PORT",        -16,   0, INT_MAX },
	{ CELL_TX,     "TX Mb/s",       9,   0, INT_MAX },
	{ CELL_LOAD,   "LOAD",          5,   0, INT_MAX },
	{ CELL_QUEUE,  "QUEUE us",      9,   0, INT_MAX },
	{ CELL_RX,     "RX Mb/s",       9,   0, INT_MAX },
	{ CELL_BYTES,  "QUEUE BYTES",  12,   0, INT_MAX },
	{},
};
/* clang-format on */

#define PORT_QUEUE_MIN_US 100 /* the highest column of a history of queues is at least this */

__u32 top_ports_queue_us(const struct top_ports *all)
{
	__u32 most = PORT_QUEUE_MIN_US, max;
	unsigned int i;

	for (i = 0; i < all->n; i++) {
		max = spark_max(&all->port[i].queues);
		most = max > most ? max : most;
	}
	return spark_scale(most);
}

/* "0-500us 1min": the scale of the histories of queues. */
static void queues_title(__u32 us, char *buf, size_t size)
{
	if (us < 1000)
		snprintf(buf, size, "0-%uus 1min", us);
	else if (us < 1000000)
		snprintf(buf, size, "0-%ums 1min", us / 1000);
	else
		snprintf(buf, size, "0-%us 1min", us / 1000000);
}

/* The text of a cell; pair: its colour, if it has one. */
static void cell_format(const struct port_column *c, const struct top_port *p, const struct port_look *look,
			char buf[SPARK_STRLEN], int *pair)
{
	size_t width = abs(c->width), n = strlen(p->port.name);

	*pair = 0;
	switch (c->cell) {
	case CELL_NAME:
		/* The end of a long name is more telling than its start. */
		snprintf(buf, SPARK_STRLEN, "%s", p->port.name + (n > width ? n - width : 0));
		break;
	case CELL_TX:
		snprintf(buf, SPARK_STRLEN, "%.1f", p->tx_bps / 1e6);
		break;
	case CELL_LOAD:
		snprintf(buf, SPARK_STRLEN, "%u%%", p->load_percent);
		break;
	case CELL_BAR:
		bar_format(p->load_percent, 100, width, look->utf8, buf);
		*pair = COLOUR_LOAD;
		break;
	case CELL_LOADS:
		spark_format(&p->loads, width, 100, look->utf8, buf);
		*pair = COLOUR_LOAD;
		break;
	case CELL_QUEUE:
		snprintf(buf, SPARK_STRLEN, "%u", p->queue_us);
		break;
	case CELL_QUEUES:
		spark_format(&p->queues, width, look->queue_us, look->utf8, buf);
		*pair = COLOUR_QUEUE;
		break;
	case CELL_RX:
		snprintf(buf, SPARK_STRLEN, "%.1f", p->rx_bps / 1e6);
		break;
	case CELL_BYTES:
		snprintf(buf, SPARK_STRLEN, "%llu", p->load.backlog_bytes);
		break;
	}
}

#define PORT_POD_FROM 110   /* the screen width with which a port's pod is shown, */
#define PORT_POD_COLUMNS 30 /* in these at least */

void port_line(const struct top_port *p, const struct port_look *look, struct port_line *line)
{
	int named = look->pods && (!look->columns || look->columns >= PORT_POD_FROM), pair, at = 0;
	int screen = look->columns - (named && look->columns ? PORT_POD_COLUMNS : 0);
	const struct port_column *c;
	const struct pod *pod;
	char cell[SPARK_STRLEN], name[POD_STRLEN];
	size_t n = 0, size = sizeof(line->text);

	line->spans = 0;
	if (p && !p->here) {
		snprintf(line->text, size, "%-8s in another network namespace", p->port.name);
		return;
	}
	for (c = look->columns ? columns : wide_columns; c->width; c++) {
		if (screen < c->from || screen > c->to)
			continue;
		pair = 0;
		if (p)
			cell_format(c, p, look, cell, &pair);
		else if (c->title)
			snprintf(cell, sizeof(cell), "%s", c->title);
		else
			queues_title(look->queue_us, cell, sizeof(cell));
		/* Bars and histories fill their columns, with more bytes. */
		n += snprintf(line->text + n, size - n, "%s%*s", n ? " " : "", pair ? 0 : c->width, cell);
		at += at > 0;
		if (pair)
			line->span[line->spans++] = (struct port_span){ at, abs(c->width), pair };
		at += abs(c->width);
	}
	pod = p && named ? pods_find_link(look->pods, p->ifindex) : NULL;
	if (named && (!p || pod))
		snprintf(line->text + n, size - n, "  %s", pod ? pod_format(pod, name) : "POD");
}
