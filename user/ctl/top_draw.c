// SPDX-License-Identifier: GPL-2.0-only
/* The screen of sluicectl top: totals, ports, flows, or the help instead. Columns of a flow are in flow_text.c. */
#include <curses.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/out.h"
#include "ctl/top.h"
#include "lib/names.h"

#define TOP_ALIVE_NS (3 * NSEC_PER_SEC)
#define TOP_BELOW 7 /* lines around the ports if there are no flows: titles, "more", what is said of flows, keys */
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
		mvaddnstr(y, 0, text, columns_cut(text, t->columns));
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

static void port_put(const struct top *t, int y, const struct port_line *line)
{
	const struct port_span *s;

	line_put(t, y, line->text);
	for (s = line->span; t->colours && s < line->span + line->spans; s++)
		if (y < t->lines && s->at < t->columns)
			mvchgat(y, s->at, s->columns, A_NORMAL, s->pair, NULL);
}

/* The number of ports that there is room for, with their titles in line y. */
static int ports_room(const struct top *t, int y)
{
	int flowless = t->lines - y - TOP_BELOW, third = t->lines / 3;

	if (t->batch || t->ports_only)
		return INT_MAX;
	return t->flows.n || flowless < third ? third : flowless;
}

static int ports_draw(const struct top *t, int y)
{
	struct port_look look = { t->batch ? 0 : t->columns, t->utf8, top_ports_queue_us(&t->ports),
				  t->pods.n ? &t->pods : NULL };
	const struct top_port **list;
	struct port_line line;
	unsigned int i, n;

	port_line(NULL, &look, &line);
	titles_put(t, y++, line.text);
	n = top_ports_busiest(&t->ports, ports_room(t, y - 1), &list);
	for (i = t->ports_only ? t->first : 0; i < n && (!t->ports_only || y < t->lines - 1); i++) {
		port_line(list[i], &look, &line);
		port_put(t, y++, &line);
	}
	free(list);
	if (t->ports.n > n) {
		snprintf(line.text, sizeof(line.text), "and %u more port%s: p shows all", t->ports.n - n,
			 PLURAL(t->ports.n - n));
		line_put(t, y++, line.text);
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

	if (y >= t->lines - 1)
		return;
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
	line_put(t, y++, "p        all ports and no flows, and back");
	line_put(t, y++, "c        colours on and off");
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
		if (t->ports_only) {
			snprintf(text, sizeof(text), "q quit  h help  p flows too  %u port%s", t->ports.n,
				 PLURAL(t->ports.n));
		} else {
			flows_draw(t, y + (t->lines > TOP_AIRY));
			snprintf(text, sizeof(text), "q quit  h help  sorted by %s%s", t->sort->name,
				 t->up ? ", smallest first" : "");
		}
		move(t->lines - 1, 0);
		clrtoeol();
		line_put(t, t->lines - 1, text);
	}
	refresh();
}
