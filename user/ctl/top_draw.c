// SPDX-License-Identifier: GPL-2.0-only
/* The screen of sluicectl top: totals, ports, flows, or the help instead. Columns of a flow are in flow_text.c. */
#include <curses.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/out.h"
#include "ctl/top.h"
#include "lib/names.h"

#define TOP_ALIVE_NS (3 * NSEC_PER_SEC)
#define TOP_AIRY 16 /* screens with more lines have an empty one between ports and flows */

static void colour_on(const struct top *t, int pair)
{
	if (!t->batch)
		attron(t->colours ? COLOR_PAIR(pair) : A_BOLD);
}

static void colour_off(const struct top *t, int pair)
{
	if (!t->batch)
		attroff(t->colours ? COLOR_PAIR(pair) : A_BOLD);
}

/* A line of the screen, cut to it; of --batch the next one. */
static void line_put(const struct top *t, int y, const char *text)
{
	if (t->batch)
		puts(text);
	else if (y < t->lines)
		mvaddnstr(y, 0, text, t->columns);
}

/* The titles of columns: reversed, from edge to edge. */
static void titles_put(const struct top *t, int y, const char *text)
{
	if (!t->batch && y < t->lines) {
		attron(A_REVERSE);
		mvhline(y, 0, ' ', t->columns);
	}
	line_put(t, y, text);
	if (!t->batch)
		attroff(A_REVERSE);
}

/* "2026-11-22T00:47:32+0000 " */
static int time_format(char *buf, size_t size)
{
	time_t t = time(NULL);
	struct tm tm;

	return strftime(buf, size, "%Y-%m-%dT%H:%M:%S%z ", localtime_r(&t, &tm));
}

static int totals_draw(const struct top *t)
{
	const struct control *c = &t->flows.ctl;
	__u64 sent = 0, now = now_ns();
	unsigned int i, plain = 0;
	int dead = now > c->heartbeat_ns + TOP_ALIVE_NS, at = 0;
	char text[256];

	for (i = 0; i < t->flows.n; i++) {
		sent += t->flows.row[i].sent_bps;
		plain += !(t->flows.row[i].flow.tx.flags & (FLOW_F_TELEM | FLOW_F_CLOSED));
	}
	if (t->batch)
		at = time_format(text, sizeof(text));
	snprintf(text + at, sizeof(text) - at, "%s%s  %u flow%s  %.1f Mbit/s%s", mode_name(c->mode),
		 c->bypass ? ", BYPASS" : "", t->flows.n, PLURAL(t->flows.n), sent / 1e6, t->paused ? "  PAUSED" : "");
	if (pod_wish_given(&t->pod))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  of %s%s%s", t->pod.namespace ?: "",
			 t->pod.namespace ? "/" : "", t->pod.name ?: "*");
	if (plain)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  %u plain", plain);
	if (t->flows.n > t->shown_n)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "  %u of UDP not listed: they sent for a moment", t->flows.n - t->shown_n);
	if (c->bypass)
		colour_on(t, COLOUR_BAD);
	line_put(t, 0, text);
	if (c->bypass)
		colour_off(t, COLOUR_BAD);
	if (!dead)
		return 1;
	colour_on(t, COLOUR_BAD);
	snprintf(text, sizeof(text), "sluiced: no sign for %.0f s", age_ns(now, c->heartbeat_ns) / 1e9);
	line_put(t, 1, text);
	colour_off(t, COLOUR_BAD);
	return 2;
}

#define PORT_POD_FROM 90 /* the screen width with which a port's pod is shown */

/* The pod behind a port, at the end of its line; NULL: the title. */
static void port_pod_add(const struct top *t, const struct top_port *p, char *text, size_t size)
{
	const struct pod *pod = p ? pods_find_link(&t->pods, p->ifindex) : NULL;
	size_t n = strlen(text);
	char name[POD_STRLEN];

	if (t->columns >= PORT_POD_FROM && t->pods.n && (!p || pod))
		snprintf(text + n, size - n, "  %s", pod ? pod_format(pod, name) : "POD");
}

static int ports_draw(const struct top *t, int y)
{
	const struct top_port *p;
	int most = t->batch ? TOP_PORTS : t->flows.n ? t->lines / 3 : t->lines - y - 4, full;
	__u64 queue_us;
	char text[512], name[16];
	unsigned int i;

	if (t->columns < 70)
		snprintf(text, sizeof(text), "%-8s %9s %5s %9s", "PORT", "TX Mb/s", "LOAD", "QUEUE us");
	else
		snprintf(text, sizeof(text), "%-16s %9s %5s %9s %9s %12s", "PORT", "TX Mb/s", "LOAD", "QUEUE us",
			 "RX Mb/s", "QUEUE BYTES");
	port_pod_add(t, NULL, text, sizeof(text));
	titles_put(t, y++, text);
	for (i = 0; i < t->ports && (int)i < most; i++) {
		p = &t->port[i];
		snprintf(name, sizeof(name), "%.15s", p->port.name);
		if (!p->here) {
			snprintf(text, sizeof(text), "%-8s in another network namespace", name);
			line_put(t, y++, text);
			continue;
		}
		queue_us = p->port.speed_bps ? p->load.backlog_bytes * 8e6 / p->port.speed_bps : 0;
		full = p->port.speed_bps ? p->tx_bps * 100 / p->port.speed_bps : 0;
		if (t->columns < 70)
			snprintf(text, sizeof(text), "%-8.8s %9.1f %4d%% %9llu", name, p->tx_bps / 1e6, full, queue_us);
		else
			snprintf(text, sizeof(text), "%-16s %9.1f %4d%% %9llu %9.1f %12llu", name, p->tx_bps / 1e6,
				 full, queue_us, p->rx_bps / 1e6, p->load.backlog_bytes);
		port_pod_add(t, p, text, sizeof(text));
		line_put(t, y++, text);
	}
	if (t->ports_all > i) {
		snprintf(text, sizeof(text), "and %u more ports", t->ports_all - i);
		line_put(t, y++, text);
	}
	return y;
}

static void flow_draw(const struct top *t, int y, const struct flow_row *r)
{
	char line[FLOW_LINE_STRLEN];

	flow_line(r, &t->flows, 1, t->batch ? 0 : t->columns, line);
	if (r)
		line_put(t, y, line);
	else
		titles_put(t, y, line);
}

static void flows_draw(const struct top *t, int y)
{
	unsigned int i;
	int odd;

	flow_draw(t, y++, NULL);
	if (!t->flows.n) {
		line_put(t, y, pod_wish_given(&t->pod) ? "no flows of these pods" : "no flows from or to here");
		line_put(t, y + 1, "what a switch forwards is in its ports, voqs and credits");
	}
	for (i = t->first; t->shown && i < t->shown_n && (t->batch || y < t->lines - 1); i++, y++) {
		odd = !(t->shown[i].flow.tx.flags & (FLOW_F_TELEM | FLOW_F_CLOSED));
		if (odd)
			colour_on(t, COLOUR_ODD);
		flow_draw(t, y, &t->shown[i]);
		if (odd)
			colour_off(t, COLOUR_ODD);
	}
}

const struct top_key top_keys[] = {
	{ 's', "sent", "by what it sends now" },
	{ 'r', "rate", "by R" },
	{ 'w', "w", "by W" },
	{ 'u', "u", "by U" },
	{ 'k', "queue", "by the queue of its path" },
	{ 'b', "bytes", "by what it has sent" },
	{ 'e', "ends", "by addresses and ports" },
	{},
};

static void help_draw(const struct top *t)
{
	const struct top_key *k;
	char text[128];
	int y = 0;

	line_put(t, y++, "sort flows (the same key again: reversed)");
	for (k = top_keys; k->key; k++) {
		snprintf(text, sizeof(text), "  %c      %s", k->key, k->help);
		line_put(t, y++, text);
	}
	line_put(t, y++, "up, down, page up, page down, home");
	line_put(t, y++, "space    stop and go on");
	line_put(t, y++, "q        quit");
	line_put(t, y++, "any key  back");
}

void top_draw(struct top *t)
{
	char text[128];
	int y;

	t->lines = t->batch ? INT_MAX : LINES;
	t->columns = t->batch ? INT_MAX : COLS;
	if (t->batch) {
		flows_draw(t, ports_draw(t, totals_draw(t)));
		return;
	}
	erase();
	if (t->help) {
		help_draw(t);
	} else {
		y = totals_draw(t);
		y = ports_draw(t, y);
		flows_draw(t, y + (t->lines > TOP_AIRY));
		snprintf(text, sizeof(text), "q quit  h help  sorted by %s%s", t->sort->name,
			 t->up ? ", smallest first" : "");
		line_put(t, t->lines - 1, text);
	}
	refresh();
}
