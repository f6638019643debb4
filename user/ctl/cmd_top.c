// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl top: the whole screen, again every second: totals, ports with their queues, flows (top_draw.c).
 *
 * Keys sort; the same key again reverses the order. Nothing on the machine is changed.
 */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ctl/top.h"

#define TOP_SECOND_NS (1000 * 1000 * 1000LL)

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

/* 0, or the error of pins_open() or of reading. */
static int top_read(struct top *t)
{
	struct flow_list l;
	struct pins p;
	int err = pins_open(show_pin_dir, &p);

	if (err)
		return err;
	err = flow_list_read(&l, &p);
	if (!err) {
		pods_read(&t->pods, &p);
		l.pods = &t->pods;
		flow_list_keep(&l, &t->pod);
		flow_list_order(&l, t->flows.now_ns ? &t->flows : NULL);
		flow_list_free(&t->flows);
		t->flows = l;
		top_ports_read(t, &p);
		top_sort(t);
	}
	pins_close(&p);
	return err;
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

/* Whether to continue. */
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

/* Runs until q, or until the terminal or the pins are gone: 0, or as top_read(). */
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

static int top_parse(int argc, char **argv, struct pod_wish *pod)
{
	static const struct option options[] = { POD_OPTIONS, {} };
	int opt;

	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1)
		if (!pod_wish_take(pod, opt, optarg))
			return -EINVAL;
	if (optind == argc && !out_json)
		return 0;
	msg("top takes only options and fills a terminal: for the rest there is sluicectl flows --watch, with --json too");
	return -EINVAL;
}

static void top_free(struct top *t)
{
	flow_list_free(&t->flows);
	free(t->shown);
	pods_free(&t->pods);
}

int cmd_top(int argc, char **argv)
{
	struct top t = { .sort = flow_sorts };
	SCREEN *screen;
	struct pins p;
	int err;

	if (top_parse(argc, argv, &t.pod))
		return EXIT_USAGE;
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
	if (pod_wish_check(&t.pod, &t.pods)) {
		top_free(&t);
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
	top_free(&t);
	if (!err)
		return EXIT_DONE;
	/* Prints the reason, now that the screen is restored. */
	err = show_open(&p);
	if (!err)
		pins_close(&p);
	return EXIT_FAILED;
}
