// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl flows: selects flows by filters, order and number, and prints them. The lines are in flow_text.c and
 * flow_json.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl/commands.h"
#include "ctl/flow_json.h"
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/options.h"
#include "ctl/out.h"
#include "ctl/pods.h"
#include "ctl/show.h"
#include "lib/arguments.h"

#define FLOWS_WIDE 132			     /* columns of a terminal that a line fits into */
#define FLOWS_BETWEEN_NS (250 * 1000 * 1000) /* time over which the sending rate is measured */

/* --- arguments --- */

struct flows_wish {
	const struct flow_sort *sort; /* NULL: map order */
	int up;			      /* smallest first */
	struct peer_key peer;
	int has_peer;
	unsigned int port; /* 0: any */
	const char *held_by;
	struct pod_wish pod;
	unsigned int top; /* 0: all */
	int all;	  /* also those that are spent */
	int measured;	  /* sending rates are needed: there are two looks */
};

static int flows_sort_parse(struct flows_wish *w, const char *name)
{
	const struct flow_sort *s;

	w->up = *name == '-';
	name += w->up;
	for (s = flow_sorts; s->name; s++)
		if (!strcmp(s->name, name))
			w->sort = s;
	if (w->sort)
		return 0;
	msg("--sort '%s' is not a key: write sent, rate, w, u, queue, bytes, feedbacks, last or ends; -KEY for the smallest first",
	    name);
	return -EINVAL;
}

static int held_by_parse(struct flows_wish *w, const char *name)
{
	unsigned int i;

	for (i = 0; i < FLOW_HOLDS; i++)
		if (!strcmp(flow_hold_names[i], name))
			w->held_by = flow_hold_names[i];
	if (w->held_by)
		return 0;
	msg("--held-by '%s' is unknown: write rate, hop, credit, pause, window or none, as in the column WHY", name);
	return -EINVAL;
}

static int flows_parse(int argc, char **argv, struct flows_wish *w)
{
	int opt, err = 0;

	while (!err && (opt = option_next(argc, argv, "flows")) != -1) {
		switch (opt) {
		case 's':
			err = flows_sort_parse(w, optarg);
			break;
		case 'p':
			err = peer_parse(optarg, &w->peer);
			w->has_peer = 1;
			break;
		case 'P':
			err = number_parse("--port", optarg, 65535, &w->port);
			break;
		case 'h':
			err = held_by_parse(w, optarg);
			break;
		case 't':
			err = number_parse("--top", optarg, 1U << 30, &w->top);
			break;
		case 'a':
			w->all = 1;
			break;
		default:
			err = pod_wish_take(&w->pod, opt, optarg) ? 0 : -EINVAL;
		}
	}
	if (!err && optind < argc) {
		msg("flows takes options, not '%s': see sluicectl flows --help", argv[optind]);
		err = -EINVAL;
	}
	/* The most active flows send most: R of an idle flow is high. */
	if (!err && !w->sort && w->top)
		w->sort = &flow_sorts[0];
	w->measured = w->sort == &flow_sorts[0];
	return err;
}

/* --- output --- */

static int flows_wants(const struct flows_wish *w, const struct flow_list *l, const struct flow_row *r)
{
	return (!w->has_peer || addr_in_prefix(&r->key.remote, &w->peer)) &&
	       (!w->port || ntohs(r->key.local_port) == w->port || ntohs(r->key.remote_port) == w->port) &&
	       (!w->held_by || !strcmp(w->held_by, row_why(r, l))) &&
	       (!pod_wish_given(&w->pod) || pod_wish_meets(&w->pod, row_pod(r, l)));
}

/* Returns how many it leaves out because they are spent. */
static unsigned int flows_filter(const struct flows_wish *w, struct flow_list *l)
{
	unsigned int i, n = 0, spent = 0;

	for (i = 0; i < l->n; i++) {
		if (!flows_wants(w, l, &l->row[i]))
			continue;
		if (!w->all && !out_json && row_is_spent(&l->row[i], l))
			spent++;
		else
			l->row[n++] = l->row[i];
	}
	l->n = n;
	if (w->sort)
		flow_list_sort(l, w->sort, w->up);
	if (w->top && l->n > w->top)
		l->n = w->top;
	return spent;
}

static void flows_text(const struct flows_wish *w, const struct flow_list *l, unsigned int spent)
{
	unsigned int columns = 0, lines = 0, i;
	char line[FLOW_LINE_STRLEN];

	screen_size(&columns, &lines);
	if (!l->n)
		printf("no flows%s\n",
		       w->has_peer || w->port || w->held_by || pod_wish_given(&w->pod) ? " of these" : "");
	for (i = 0; i <= l->n && l->n; i++) {
		flow_line(i ? &l->row[i - 1] : NULL, l, w->measured, columns < FLOWS_WIDE ? columns : 0, line);
		puts(line);
	}
	if (spent)
		printf("and %u of UDP that sent for a moment: --all lists %s\n", spent, spent == 1 ? "it" : "them");
}

static void flows_json(const struct flows_wish *w, const struct flow_list *l)
{
	unsigned int i;

	out_array(NULL);
	for (i = 0; i < l->n; i++)
		flow_json(&l->row[i], l, w->measured);
	out_done();
}

/* One look. */
static int flows_read(struct flow_list *l, struct pods *pods)
{
	struct pins p;
	int err = show_open(&p);

	if (err)
		return err;
	err = flow_list_read(l, &p);
	if (err)
		msg("reading the flows: %s", strerror(-err));
	else
		pods_read(pods, &p);
	l->pods = pods;
	pins_close(&p);
	return err ? EXIT_FAILED : EXIT_DONE;
}

/* The second look of two, which is after the first by enough to tell what was sent in between. */
static int flows_read_again(struct flow_list *l, struct pods *pods)
{
	const struct timespec pause = { 0, FLOWS_BETWEEN_NS };
	struct flow_list before = *l;
	int err;

	flow_list_order(&before, NULL);
	nanosleep(&pause, NULL);
	err = flows_read(l, pods);
	if (!err)
		flow_list_order(l, &before);
	flow_list_free(&before);
	return err;
}

int cmd_flows(int argc, char **argv)
{
	struct flows_wish w = {};
	struct flow_list l = {};
	struct pods pods = {};
	unsigned int spent;
	int err;

	if (flows_parse(argc, argv, &w))
		return EXIT_USAGE;
	err = flows_read(&l, &pods);
	if (!err && pod_wish_check(&w.pod, &pods))
		err = EXIT_FAILED;
	if (!err && w.measured)
		err = flows_read_again(&l, &pods);
	if (!err) {
		spent = flows_filter(&w, &l);
		if (out_json)
			flows_json(&w, &l);
		else
			flows_text(&w, &l, spent);
		if (fflush(stdout) || ferror(stdout)) {
			msg("writing: %s", strerror(errno));
			err = EXIT_FAILED;
		}
	}
	flow_list_free(&l);
	pods_free(&pods);
	return err;
}
