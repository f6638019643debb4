// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl top: the whole screen, again every second: totals, ports with their queues, flows.
 *
 * Keys sort; the same key again turns the order round. Nothing on the machine is changed. The columns of a flow are in
 * flow_text.c.
 */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/config.h"
#include "ctl/flows.h"
#include "lib/net.h"
#include "ctl/show.h"

#define TOP_SECOND_NS (1000 * 1000 * 1000LL)
#define TOP_ALIVE_NS (3 * NSEC_PER_SEC)
#define TOP_PORTS 64 /* that are listed */

struct top_port {
	__u32 ifindex;
	struct port port;
	struct link_load load;
	__u64 tx_bps, rx_bps;
	int here; /* in this network namespace */
};

struct top {
	struct flow_list flows; /* ordered by key */
	struct flow_row *shown; /* the same, as sorted */
	struct top_port port[TOP_PORTS];
	unsigned int ports, ports_all;
	__u64 now_ns;
	const struct flow_sort *sort;
	int up, help, paused;
	unsigned int first; /* flow that is shown first */
	int colours;
};

enum { COLOUR_BAD = 1, COLOUR_ODD };

/* --- reading --- */

static int top_port_add(__u32 ifindex, const struct port *port, void *ctx)
{
	struct top *t = ctx;
	struct top_port *p = &t->port[t->ports];

	if (port->flags & PORT_F_LEFT)
		return 0;
	t->ports_all++;
	if (t->ports == TOP_PORTS)
		return 0;
	memset(p, 0, sizeof(*p));
	p->ifindex = ifindex;
	p->port = *port;
	p->here = !link_load_get(ifindex, &p->load);
	t->ports++;
	return 0;
}

static void top_ports_read(struct top *t, const struct pins *pins)
{
	struct top_port was[TOP_PORTS];
	unsigned int n = t->ports, i, k;
	__u64 before_ns = t->now_ns, ns;

	memcpy(was, t->port, sizeof(was));
	t->ports = t->ports_all = 0;
	pins_each_port(pins, top_port_add, t);
	t->now_ns = now_ns();
	ns = before_ns ? t->now_ns - before_ns : 0;
	for (i = 0; i < t->ports; i++)
		for (k = 0; k < n && ns; k++)
			if (was[k].ifindex == t->port[i].ifindex && was[k].load.tx_bytes <= t->port[i].load.tx_bytes) {
				t->port[i].tx_bps = (t->port[i].load.tx_bytes - was[k].load.tx_bytes) * 8e9 / ns;
				t->port[i].rx_bps = (t->port[i].load.rx_bytes - was[k].load.rx_bytes) * 8e9 / ns;
			}
}

static void top_sort(struct top *t)
{
	struct flow_list sorted = t->flows;

	free(t->shown);
	t->shown = malloc((t->flows.n ?: 1) * sizeof(*t->shown));
	if (!t->shown)
		return;
	if (t->flows.n)
		memcpy(t->shown, t->flows.row, t->flows.n * sizeof(*t->shown));
	sorted.row = t->shown;
	flow_list_sort(&sorted, t->sort, t->up);
}

/* 0, or what pins_open() or reading says. */
static int top_read(struct top *t)
{
	struct flow_list l;
	struct pins p;
	int err = pins_open(show_pin_dir, &p);

	if (err)
		return err;
	err = flow_list_read(&l, &p);
	if (!err) {
		flow_list_order(&l, t->flows.now_ns ? &t->flows : NULL);
		flow_list_free(&t->flows);
		t->flows = l;
		top_ports_read(t, &p);
		top_sort(t);
	}
	pins_close(&p);
	return err;
}

/* --- drawing --- */

static void colour_on(const struct top *t, int pair)
{
	attron(t->colours ? COLOR_PAIR(pair) : A_BOLD);
}

static void colour_off(const struct top *t, int pair)
{
	attroff(t->colours ? COLOR_PAIR(pair) : A_BOLD);
}

/* A line of the screen, cut to it. */
static void line_put(int y, const char *text)
{
	if (y < LINES)
		mvaddnstr(y, 0, text, COLS);
}

static int totals_draw(const struct top *t)
{
	const struct control *c = &t->flows.ctl;
	__u64 sent = 0, now = now_ns();
	unsigned int i, plain = 0;
	char text[256];
	int dead = now > c->heartbeat_ns + TOP_ALIVE_NS;

	for (i = 0; i < t->flows.n; i++) {
		sent += t->flows.row[i].sent_bps;
		plain += !(t->flows.row[i].flow.tx.flags & (FLOW_F_TELEM | FLOW_F_CLOSED));
	}
	snprintf(text, sizeof(text), "%s%s  %u flows  %.1f Mbit/s%s", mode_name(c->mode), c->bypass ? ", BYPASS" : "",
		 t->flows.n, sent / 1e6, t->paused ? "  PAUSED" : "");
	if (plain)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  %u plain", plain);
	if (c->bypass)
		colour_on(t, COLOUR_BAD);
	line_put(0, text);
	if (c->bypass)
		colour_off(t, COLOUR_BAD);
	if (!dead)
		return 1;
	colour_on(t, COLOUR_BAD);
	snprintf(text, sizeof(text), "sluiced: no sign for %.0f s", age_ns(now, c->heartbeat_ns) / 1e9);
	line_put(1, text);
	colour_off(t, COLOUR_BAD);
	return 2;
}

static int ports_draw(const struct top *t, int y)
{
	const struct top_port *p;
	int most = t->flows.n ? LINES / 3 : LINES - y - 4, full;
	__u64 queue_us;
	char text[256], name[16];
	unsigned int i;

	attron(A_REVERSE);
	if (COLS < 70)
		snprintf(text, sizeof(text), "%-8s %9s %5s %9s", "PORT", "TX Mb/s", "LOAD", "QUEUE us");
	else
		snprintf(text, sizeof(text), "%-16s %9s %5s %9s %9s %12s", "PORT", "TX Mb/s", "LOAD", "QUEUE us",
			 "RX Mb/s", "QUEUE BYTES");
	line_put(y++, text);
	attroff(A_REVERSE);
	for (i = 0; i < t->ports && (int)i < most; i++) {
		p = &t->port[i];
		snprintf(name, sizeof(name), "%.15s", p->port.name);
		if (!p->here) {
			snprintf(text, sizeof(text), "%-8s in another network namespace", name);
			line_put(y++, text);
			continue;
		}
		queue_us = p->port.speed_bps ? p->load.backlog_bytes * 8e6 / p->port.speed_bps : 0;
		full = p->port.speed_bps ? p->tx_bps * 100 / p->port.speed_bps : 0;
		if (COLS < 70)
			snprintf(text, sizeof(text), "%-8.8s %9.1f %4d%% %9llu", name, p->tx_bps / 1e6, full, queue_us);
		else
			snprintf(text, sizeof(text), "%-16s %9.1f %4d%% %9llu %9.1f %12llu", name, p->tx_bps / 1e6,
				 full, queue_us, p->rx_bps / 1e6, p->load.backlog_bytes);
		line_put(y++, text);
	}
	if (t->ports_all > i) {
		snprintf(text, sizeof(text), "and %u more ports", t->ports_all - i);
		line_put(y++, text);
	}
	return y;
}

static void flow_draw(const struct top *t, int y, const struct flow_row *r)
{
	char line[512];

	flow_line(r, &t->flows, 1, COLS, line, sizeof(line));
	line_put(y, line);
}

static void flows_draw(const struct top *t, int y)
{
	unsigned int i;
	int odd;

	attron(A_REVERSE);
	flow_draw(t, y++, NULL);
	attroff(A_REVERSE);
	if (!t->flows.n)
		line_put(y, "no flows from or to here; what a switch forwards is in its ports, voqs and credits");
	for (i = t->first; t->shown && i < t->flows.n && y < LINES - 1; i++, y++) {
		odd = !(t->shown[i].flow.tx.flags & (FLOW_F_TELEM | FLOW_F_CLOSED));
		if (odd)
			colour_on(t, COLOUR_ODD);
		flow_draw(t, y, &t->shown[i]);
		if (odd)
			colour_off(t, COLOUR_ODD);
	}
}

static const struct top_key {
	int key;
	const char *sort;
	const char *help;
} top_keys[] = {
	{ 's', "sent", "by what it sends now" },
	{ 'r', "rate", "by R" },
	{ 'w', "w", "by W" },
	{ 'u', "u", "by U" },
	{ 'k', "queue", "by the queue of its path" },
	{ 'b', "bytes", "by what it has sent" },
	{ 'e', "ends", "by addresses and ports" },
	{},
};

static void help_draw(void)
{
	const struct top_key *k;
	char text[128];
	int y = 0;

	line_put(y++, "sort flows (the same key again: reversed)");
	for (k = top_keys; k->key; k++) {
		snprintf(text, sizeof(text), "  %c      %s", k->key, k->help);
		line_put(y++, text);
	}
	line_put(y++, "up, down, page up, page down, home");
	line_put(y++, "space    stop and go on");
	line_put(y++, "q        quit");
	line_put(y++, "any key  back");
}

static void top_draw(const struct top *t)
{
	char text[128];
	int y;

	erase();
	if (t->help) {
		help_draw();
	} else {
		y = totals_draw(t);
		y = ports_draw(t, y);
		flows_draw(t, y);
		snprintf(text, sizeof(text), "q quit  h help  by %s%s", t->sort->name, t->up ? ", smallest first" : "");
		line_put(LINES - 1, text);
	}
	refresh();
}

/* --- keys --- */

static void top_sort_by(struct top *t, const char *name)
{
	const struct flow_sort *s;

	for (s = flow_sorts; s->name; s++) {
		if (strcmp(s->name, name))
			continue;
		t->up = s == t->sort && !t->up;
		t->sort = s;
	}
	t->first = 0;
	top_sort(t);
}

/* Whether to go on. */
static int top_key(struct top *t, int key)
{
	const struct top_key *k;
	unsigned int page = LINES > 8 ? LINES / 2 : 1, last = t->flows.n ? t->flows.n - 1 : 0;

	if (t->help && key != 'q') {
		t->help = 0;
		return 1;
	}
	for (k = top_keys; k->key; k++)
		if (k->key == key)
			top_sort_by(t, k->sort);
	switch (key) {
	case 'q':
		return 0;
	case 'h':
	case '?':
		t->help = 1;
		break;
	case ' ':
		t->paused = !t->paused;
		break;
	case KEY_DOWN:
		t->first += t->first < last;
		break;
	case KEY_UP:
		t->first -= t->first > 0;
		break;
	case KEY_NPAGE:
		t->first = t->first + page < last ? t->first + page : last;
		break;
	case KEY_PPAGE:
		t->first = t->first > page ? t->first - page : 0;
		break;
	case KEY_HOME:
		t->first = 0;
		break;
	}
	return 1;
}

/* Until q, or the terminal or the pins are gone: 0, or as top_read(). */
static int top_loop(struct top *t)
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
	__s64 left;
	__u64 next = now_ns() + TOP_SECOND_NS / 4; /* the first rates soon */
	int key, err = 0;

	for (;;) {
		top_draw(t);
		left = (__s64)(next - now_ns());
		if (left > 0 && poll(&in, 1, left / 1000000 + 1) > 0 && in.revents & (POLLHUP | POLLERR | POLLNVAL))
			return 0;
		while ((key = getch()) != ERR)
			if (!top_key(t, key))
				return 0;
		if (now_ns() < next)
			continue;
		next = now_ns() + TOP_SECOND_NS;
		if (!t->paused)
			err = top_read(t);
		if (err)
			return err;
		if (t->first >= t->flows.n)
			t->first = 0;
	}
}

int cmd_top(int argc, char **argv)
{
	struct top t = { .sort = flow_sorts };
	SCREEN *screen;
	struct pins p;
	int err;

	(void)argv;
	if (argc > 1 || out_json) {
		msg("top takes no arguments and fills a terminal: for the rest there is sluicectl flows --watch, with --json too");
		return EXIT_USAGE;
	}
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		msg("top wants a terminal: use sluicectl flows --watch");
		return EXIT_FAILED;
	}
	err = show_open(&p);
	if (err)
		return err;
	pins_close(&p);
	err = top_read(&t);
	if (err) {
		msg("reading the maps: %s", strerror(-err));
		return EXIT_FAILED;
	}
	setlocale(LC_ALL, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		msg("the terminal '%s' is not known here: set TERM, or use sluicectl flows --watch",
		    getenv("TERM") ?: "");
		return EXIT_FAILED;
	}
	t.colours = has_colors() && !getenv("NO_COLOR");
	if (t.colours) {
		start_color();
		use_default_colors();
		init_pair(COLOUR_BAD, COLOR_RED, -1);
		init_pair(COLOUR_ODD, COLOR_YELLOW, -1);
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	err = top_loop(&t);
	endwin();
	delscreen(screen);
	flow_list_free(&t.flows);
	free(t.shown);
	if (!err)
		return EXIT_DONE;
	/* Says why, now that the screen is ours again. */
	err = show_open(&p);
	if (!err)
		pins_close(&p);
	return EXIT_FAILED;
}
