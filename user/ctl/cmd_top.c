// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl top: the whole screen, again every second: totals, ports with a minute of their load and queues
 * (top_ports.c), flows; drawn by top_draw.c. With --batch the same as text, for logs and pipes.
 *
 * Keys sort; the same key again reverses the order. Nothing on the machine is changed.
 */
#include <curses.h>
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ctl/commands.h"
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/options.h"
#include "ctl/out.h"
#include "ctl/show.h"
#include "ctl/top.h"
#include "lib/arguments.h"

#define TOP_SECOND_NS (1000 * 1000 * 1000LL)

/* --- reading --- */

static void top_sort(struct top *t)
{
	struct flow_list sorted = t->flows;
	unsigned int i;

	free(t->shown);
	t->shown = malloc((t->flows.n ?: 1) * sizeof(*t->shown));
	t->shown_n = 0;
	if (!t->shown)
		return;
	for (i = 0; i < t->flows.n; i++)
		if (!row_is_spent(&t->flows.row[i], &t->flows))
			t->shown[t->shown_n++] = t->flows.row[i];
	sorted.row = t->shown;
	sorted.n = t->shown_n;
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
		err = top_ports_read(&t->ports, &p);
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

/* With colours, if they are wanted and the terminal has them. */
static void top_colours(struct top *t, bool wanted)
{
	if (wanted && !t->colours_ready && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(COLOUR_BAD, COLOR_RED, -1);
		init_pair(COLOUR_ODD, COLOR_YELLOW, -1);
		init_pair(COLOUR_LOAD, COLOR_GREEN, -1);
		init_pair(COLOUR_QUEUE, COLOR_CYAN, -1);
		t->colours_ready = true;
	}
	t->colours = wanted && t->colours_ready;
}

/* Whether to continue. */
static int top_key(struct top *t, int key)
{
	const struct top_key *k;
	unsigned int page = LINES > 8 ? LINES / 2 : 1, n = t->ports_only ? t->ports.n : t->shown_n,
		     last = n ? n - 1 : 0;

	if (t->help && key != 'q') {
		t->help = false;
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
		t->help = true;
		break;
	case ' ':
		t->paused = !t->paused;
		break;
	case 'p':
		t->ports_only = !t->ports_only;
		t->first = 0;
		break;
	case 'c':
		top_colours(t, !t->colours);
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
		if (t->first >= (t->ports_only ? t->ports.n : t->shown_n))
			t->first = 0;
	}
}

/* As text, a second apart. Rates need two looks: the first one shows nothing. */
static int top_print(struct top *t)
{
	struct timespec pause = { .tv_nsec = TOP_SECOND_NS / 4 };
	unsigned int i;
	int err;

	for (i = 0; !t->count || i < t->count; i++) {
		if (nanosleep(&pause, NULL))
			return 0;
		pause = (struct timespec){ .tv_sec = 1 };
		err = top_read(t);
		if (err)
			return err;
		if (i)
			putchar('\n');
		top_draw(t);
		if (fflush(stdout) || ferror(stdout)) {
			msg("writing: %s", strerror(errno));
			return -EIO;
		}
	}
	return 0;
}

static int top_parse(int argc, char **argv, struct top *t)
{
	int opt, err = 0;

	while (!err && (opt = option_next(argc, argv, "top")) != -1) {
		if (opt == 'b')
			t->batch = true;
		else if (opt == 'n')
			err = number_parse("--count", optarg, 1U << 30, &t->count);
		else
			err = pod_wish_take(&t->pod, opt, optarg) ? 0 : -EINVAL;
	}
	if (err)
		return err;
	if (t->count && !t->batch) {
		msg("top --count is of --batch: add that, or leave it out");
		return -EINVAL;
	}
	if (optind == argc && !out_json)
		return 0;
	msg("top takes only options and has no JSON: sluicectl flows has filters, and --json");
	return -EINVAL;
}

static void top_free(struct top *t)
{
	flow_list_free(&t->flows);
	free(t->shown);
	pods_free(&t->pods);
	top_ports_free(&t->ports);
}

/* The terminal becomes the screen of top, and what it was. */
static int top_screen(struct top *t)
{
	SCREEN *screen;
	int err;

	setlocale(LC_ALL, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		msg("the terminal '%s' is not known here: set TERM, or use sluicectl top --batch",
		    getenv("TERM") ?: "");
		return -ENOTTY;
	}
	/* The font of the console has no eighths of a block. */
	t->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8") && strcmp(getenv("TERM") ?: "", "linux");
	top_colours(t, !getenv("NO_COLOR"));
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	err = top_loop(t);
	endwin();
	delscreen(screen);
	return err;
}

int cmd_top(int argc, char **argv)
{
	struct top t = { .sort = flow_sorts };
	struct pins p;
	int err;

	if (top_parse(argc, argv, &t))
		return EXIT_USAGE;
	if (!t.batch && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))) {
		msg("top needs a terminal: add --batch");
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
	err = pod_wish_check(&t.pod, &t.pods) ? -ENOENT : t.batch ? top_print(&t) : top_screen(&t);
	top_free(&t);
	if (!err)
		return EXIT_DONE;
	if (err == -ENOENT || err == -ENOTTY || err == -EIO)
		return EXIT_FAILED;
	/* The reason, now that the screen is restored: the pins are gone, or else what the reading met. */
	if (!show_open(&p)) {
		pins_close(&p);
		msg("reading the maps: %s", strerror(-err));
	}
	return EXIT_FAILED;
}
