// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl flows: selects flows by filters, order and number, and prints them once or repeatedly. The lines are in
 * flow_text.c and flow_json.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ctl/flows.h"
#include "ctl/pods.h"
#include "ctl/show.h"
#include "lib/arguments.h"

#define FLOWS_WIDE 132			   /* columns of a terminal that a line fits into */
#define FLOWS_FIRST_NS (250 * 1000 * 1000) /* time over which the sending rate is measured for the first output */

static __u64 queue_of(const struct flow_row *r)
{
	return flow_queue_ns(&r->flow);
}

static __u64 rate_of(const struct flow_row *r)
{
	return r->flow.cc.rate_bps;
}
static __u64 w_of(const struct flow_row *r)
{
	return r->flow.cc.w;
}
static __u64 u_of(const struct flow_row *r)
{
	return r->flow.cc.u;
}
static __u64 bytes_of(const struct flow_row *r)
{
	return r->flow.tx.bytes;
}
static __u64 sent_of(const struct flow_row *r)
{
	return r->sent_bps;
}
static __u64 feedbacks_of(const struct flow_row *r)
{
	return r->flow.rx.feedbacks;
}
static __u64 last_of(const struct flow_row *r)
{
	return r->flow.tx.last_ns;
}

const struct flow_sort flow_sorts[] = {
	{ "sent", sent_of, "what it sends now" },
	{ "rate", rate_of, "R" },
	{ "w", w_of, "W" },
	{ "u", u_of, "U" },
	{ "queue", queue_of, "the longest queue of its path" },
	{ "bytes", bytes_of, "what it has sent" },
	{ "feedbacks", feedbacks_of, "FB" },
	{ "last", last_of, "when it sent last" },
	{ "ends", NULL, "local and remote addresses and ports" },
	{},
};

static const struct flow_sort *sort_by;
static int sort_up;

static int sort_compare(const void *a, const void *b)
{
	const struct flow_row *x = a, *y = b;
	__u64 v = sort_by->value ? sort_by->value(x) : 0, w = sort_by->value ? sort_by->value(y) : 0;
	int order = v < w ? 1 : v > w ? -1 : memcmp(&x->key, &y->key, sizeof(x->key));

	return sort_up ? -order : order;
}

void flow_list_sort(struct flow_list *l, const struct flow_sort *by, int up)
{
	sort_by = by;
	sort_up = up;
	if (l->n)
		qsort(l->row, l->n, sizeof(*l->row), sort_compare);
}

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
	double watch_s;	  /* 0: once */
	int measured;	  /* sending rates are needed: there are two looks or more */
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

int peer_parse(const char *text, struct peer_key *peer)
{
	int err = prefix_parse(text, peer);

	if (err)
		msg("--peer '%s' is neither an address nor a prefix: write for example 10.2.0.2 or 10.2.0.0/16 (host bits 0)",
		    text);
	return err;
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
	static const struct option options[] = {
		{ "sort", required_argument, NULL, 's' },
		{ "peer", required_argument, NULL, 'p' },
		{ "port", required_argument, NULL, 'P' },
		{ "held-by", required_argument, NULL, 'h' },
		POD_OPTIONS,
		{ "top", required_argument, NULL, 't' },
		{ "all", no_argument, NULL, 'a' },
		{ "watch", optional_argument, NULL, 'w' },
		{},
	};
	int opt, err = 0;

	while (!err && (opt = getopt_long(argc, argv, "+", options, NULL)) != -1) {
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
		case 'w':
			/* Also as a separate word, which getopt leaves to us. */
			if (!optarg && optind < argc && argv[optind][0] != '-')
				optarg = argv[optind++];
			err = seconds_parse("--watch", optarg ?: "1", 3600, &w->watch_s);
			break;
		default:
			err = pod_wish_take(&w->pod, opt, optarg) ? 0 : -EINVAL;
		}
	}
	if (!err && optind < argc) {
		msg("flows takes options, not '%s': see sluicectl flows --help", argv[optind]);
		err = -EINVAL;
	}
	/* The most active flows send most: R of an idle flow is high. A screen may have no room for the others. */
	if (!err && !w->sort && (w->top || (w->watch_s && !out_json && isatty(STDOUT_FILENO))))
		w->sort = &flow_sorts[0];
	w->measured = w->watch_s || w->sort == &flow_sorts[0];
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

#define TIME_COLUMNS 25

/* The prefix of each line in a log: the time, or its title in front of the heading. */
static void time_print(char *buf, size_t size, int heading)
{
	time_t t = time(NULL);
	struct tm tm;

	if (heading)
		snprintf(buf, size, "%-*s", TIME_COLUMNS, "TIME");
	else
		strftime(buf, size, "%Y-%m-%dT%H:%M:%S%z ", localtime_r(&t, &tm));
}

static void flows_text(const struct flows_wish *w, const struct flow_list *l, unsigned int spent)
{
	int redraw = w->watch_s && isatty(STDOUT_FILENO), log = w->watch_s && !redraw;
	unsigned int columns = 0, lines = 0, width, n = l->n, i;
	char prefix[40] = "", line[512];
	static int headed;

	screen_size(&columns, &lines);
	width = redraw || (columns && columns < FLOWS_WIDE) ? columns ?: 80 : 0;
	/* The heading, the lines with the numbers of omitted flows, and the cursor. */
	if (redraw && lines > 5 && n > lines - 4)
		n = lines - 4;
	if (redraw)
		fputs("\033[H\033[2J", stdout);
	if (log)
		time_print(prefix, sizeof(prefix), 0);
	if (!l->n)
		printf("%sno flows%s\n", prefix,
		       w->has_peer || w->port || w->held_by || pod_wish_given(&w->pod) ? " of these" : "");
	for (i = 0; i <= n && l->n; i++) {
		flow_line(i ? &l->row[i - 1] : NULL, l, w->measured, width, line, sizeof(line));
		if (columns && redraw && strlen(line) > columns)
			line[columns] = 0;
		/* A log has one heading. */
		if (log && !i && headed++)
			continue;
		if (log)
			time_print(prefix, sizeof(prefix), !i);
		printf("%s%s\n", prefix, line);
	}
	if (n < l->n)
		printf("and %u more\n", l->n - n);
	if (spent && !log)
		printf("and %u of UDP that sent for a moment: --all lists %s\n", spent, spent == 1 ? "it" : "them");
}

static int flows_json(const struct flows_wish *w, const struct flow_list *l)
{
	unsigned int i;

	out_array(NULL);
	for (i = 0; i < l->n; i++)
		flow_json(&l->row[i], l, w->measured);
	if (!w->watch_s)
		return out_done();
	/* One line for each look. */
	puts(out_line());
	out_drop();
	return EXIT_DONE;
}

/* The pods that flows are of. Once one was there, it may go. */
static struct pods pods;

static int flows_name(const struct flows_wish *w, struct flow_list *l, const struct pins *p)
{
	int first = !pods.next_ns;

	pods_read(&pods, p);
	l->pods = &pods;
	return first ? pod_wish_check(&w->pod, &pods) : 0;
}

/* One look. before: the previous look, ordered, which this one replaces. The first of several shows nothing. */
static int flows_look(const struct flows_wish *w, struct flow_list *before)
{
	struct flow_list l, shown;
	struct pins p;
	int err = show_open(&p), quiet = w->measured && !before->now_ns;
	unsigned int spent;

	if (err)
		return err;
	err = flow_list_read(&l, &p);
	if (err)
		msg("reading the flows: %s", strerror(-err));
	else if ((err = flows_name(w, &l, &p)))
		flow_list_free(&l);
	pins_close(&p);
	if (err)
		return EXIT_FAILED;
	if (w->measured)
		flow_list_order(&l, quiet ? NULL : before);
	if (quiet) {
		*before = l;
		return 0;
	}
	shown = l;
	shown.row = malloc((l.n ?: 1) * sizeof(*l.row));
	if (!shown.row) {
		flow_list_free(&l);
		msg("reading the flows: %s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (l.n)
		memcpy(shown.row, l.row, l.n * sizeof(*l.row));
	spent = flows_filter(w, &shown);
	if (out_json)
		err = flows_json(w, &shown);
	else
		flows_text(w, &shown, spent);
	free(shown.row);
	flow_list_free(before);
	*before = l;
	return err;
}

int cmd_flows(int argc, char **argv)
{
	struct flow_list before = {};
	struct flows_wish w = {};
	const struct timespec first = { 0, FLOWS_FIRST_NS };
	struct timespec pause;
	int err;

	if (flows_parse(argc, argv, &w))
		return EXIT_USAGE;
	pause.tv_sec = w.watch_s;
	pause.tv_nsec = (w.watch_s - pause.tv_sec) * 1e9;
	err = w.measured ? flows_look(&w, &before) : 0;
	if (!err && w.measured)
		nanosleep(&first, NULL);
	while (!err) {
		err = flows_look(&w, &before);
		if (!err && (fflush(stdout) || ferror(stdout))) {
			msg("writing: %s", strerror(errno));
			err = EXIT_FAILED;
		}
		if (!w.watch_s || nanosleep(&pause, NULL))
			break;
	}
	flow_list_free(&before);
	pods_free(&pods);
	return err;
}
