// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl int: the paths of flows, from their telemetry. Flows with the same pathID, number of hops and speeds share
 * a path; the newest feedback of any of them has the latest reports of its hops. All flows are read repeatedly, for a
 * fifth of a second at most, until each path has had news: the rate of a hop is the advance of its counter between two
 * of them. As text a hop is a sentence whose words fit the terminal, so that text and JSON are apart.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl/commands.h"
#include "ctl/flow_list.h"
#include "ctl/hop.h"
#include "ctl/out.h"
#include "ctl/show.h"
#include "lib/hops.h"
#include "lib/names.h"

#define PATHS_PAUSE_NS (5 * 1000 * 1000)
#define PATHS_FOR_NS (200 * 1000 * 1000ULL) /* with at least two looks */
#define PATHS_WIDE 110			    /* terminal columns that a line fits into */
#define PATHS_OLD_NS (10 * NSEC_PER_SEC)    /* the path of a flow without feedback for this long is stale */

struct path {
	__u16 id;
	__u8 hops, form;
	struct flow flow; /* flow with the newest feedback */
	unsigned int flows;
	__u64 bytes[HPCC_MAX_HOPS], ns[HPCC_MAX_HOPS]; /* between the last two reports seen; ns 0: no rate */
	int own; /* the first hop is the port of this machine, and its speed and bytes are the real ones */
};

struct paths {
	struct path *path;
	unsigned int n, old; /* flows without recent feedback */
};

static unsigned int flow_hops(const struct flow *f)
{
	unsigned int n = f->cc.hops ?: f->rx.told_hops;

	return n < HPCC_MAX_HOPS ? n : HPCC_MAX_HOPS;
}

/* Hops that are not reported have no speeds to compare. */
static int path_is(const struct path *p, const struct flow *f)
{
	unsigned int i;

	if (p->id != f->cc.path_id || p->hops != flow_hops(f) || p->form != f->rx.form)
		return 0;
	for (i = 0; i < f->cc.hops && i < HPCC_MAX_HOPS; i++)
		if (p->flow.cc.last[i].bps != f->cc.last[i].bps)
			return 0;
	return 1;
}

static int paths_add(struct paths *s, const struct flow *f)
{
	struct path *p;
	unsigned int i;

	for (i = 0; i < s->n && !path_is(&s->path[i], f); i++)
		;
	if (i == s->n) {
		p = realloc(s->path, (s->n + 1) * sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->path = p;
		s->path[s->n++] =
			(struct path){ .id = f->cc.path_id, .hops = flow_hops(f), .form = f->rx.form, .flow = *f };
	}
	p = &s->path[i];
	p->flows++;
	if (f->rx.fb_ns > p->flow.rx.fb_ns)
		p->flow = *f;
	return 0;
}

/* Computes rates from a flow's news and the same flow's previous news. */
static void path_rate(struct path *p, const struct flow_row *row, const struct flow_list *before)
{
	const struct flow_row *was = flow_list_row(before, &row->key);
	__u64 ns, bytes;
	unsigned int i;

	if (!was || was->flow.rx.fb_ns == row->flow.rx.fb_ns || row->flow.rx.fb_ns < p->flow.rx.fb_ns)
		return;
	p->flow = row->flow;
	for (i = 0; i < row->flow.cc.hops && i < HPCC_MAX_HOPS; i++) {
		bytes = hop_sent(&was->flow, &row->flow, i, &ns);
		if (ns) {
			p->bytes[i] = bytes;
			p->ns[i] = ns;
		}
	}
}

/* Whether some path that will have a rate lacks one. */
static int paths_follow(struct paths *s, const struct flow_list *l, const struct flow_list *before)
{
	unsigned int i, k;
	int wanted = 0;

	for (i = 0; i < l->n; i++)
		for (k = 0; k < s->n; k++)
			if (l->row[i].flow.cc.hops && path_is(&s->path[k], &l->row[i].flow))
				path_rate(&s->path[k], &l->row[i], before);
	for (k = 0; k < s->n; k++)
		wanted |= s->path[k].flow.cc.hops && !s->path[k].ns[0];
	return wanted;
}

static int paths_read(struct paths *s, const struct pins *p)
{
	const struct timespec pause = { 0, PATHS_PAUSE_NS };
	struct flow_list before, l;
	__u64 until = now_ns() + PATHS_FOR_NS;
	unsigned int i;
	int err = flow_list_read(&before, p), wanted;
	double ratio;

	if (err)
		return err;
	for (i = 0; i < before.n && !err; i++) {
		const struct flow *f = &before.row[i].flow;

		if (!flow_hops(f) || before.now_ns > f->rx.fb_ns + PATHS_OLD_NS)
			s->old++;
		else
			err = paths_add(s, f);
	}
	flow_list_order(&before, NULL);
	for (wanted = s->n && !err; wanted; wanted = wanted && now_ns() < until) {
		nanosleep(&pause, NULL);
		err = flow_list_read(&l, p);
		if (err)
			break;
		flow_list_order(&l, NULL);
		wanted = paths_follow(s, &l, &before);
		flow_list_free(&before);
		before = l;
	}
	flow_list_free(&before);
	for (i = 0; i < s->n; i++) {
		ratio = hop_own(p, &s->path[i].flow);
		s->path[i].own = ratio > 0;
		if (s->path[i].own)
			s->path[i].bytes[0] *= ratio;
	}
	return err;
}

static int path_compare(const void *a, const void *b)
{
	const struct path *p = a, *q = b;

	return p->flows != q->flows ? (p->flows < q->flows ? 1 : -1) : p->id - q->id;
}

static __u64 path_rate_bps(const struct path *p, unsigned int i)
{
	return p->ns[i] ? p->bytes[i] * 8e9 / p->ns[i] : 0;
}

static void path_text(const struct path *p, __u64 now)
{
	const struct hpcc_hop *h = p->flow.cc.last;
	unsigned int i, columns, lines;
	int width;
	char rate[HOP_STRLEN], speed[HOP_STRLEN], text[2 * HOP_STRLEN + 64];

	screen_size(&columns, &lines);
	width = columns && columns < PATHS_WIDE ? 0 :
						  10; /* words are not aligned one below another if they do not fit */
	snprintf(text, sizeof(text), "%u hop%s, %u flow%s, feedback %llu us ago", p->hops, PLURAL(p->hops), p->flows,
		 PLURAL(p->flows), age_ns(now, p->flow.rx.fb_ns) / 1000);
	words_print(text, printf("path 0x%03x:", p->id), 2);
	if (!p->flow.cc.hops) {
		snprintf(text, sizeof(text), "their receiver tells %s, and not the hops", feedback_name(p->form));
		words_print(text, printf("  "), 2);
	}
	for (i = 0; i < p->flow.cc.hops && i < HPCC_MAX_HOPS; i++) {
		hop_speed_text(h[i].bps, p->own && !i, speed);
		if (!p->ns[i])
			snprintf(rate, sizeof(rate), "no second report");
		else if (p->own && !i)
			snprintf(rate, sizeof(rate), "sends %.3f Mbit/s (%.0f %%)", path_rate_bps(p, i) / 1e6,
				 path_rate_bps(p, i) * 100. / h[i].bps);
		else
			snprintf(rate, sizeof(rate), "is %.0f %% busy", path_rate_bps(p, i) * 100. / h[i].bps);
		snprintf(text, sizeof(text), "%*s%s %*s%s queue %*u bytes, %llu us%s", 2 * width, speed,
			 width ? " " : ",", -3 * width, rate, width ? "" : ",", width ? 8 : 0, h[i].qlen_bytes,
			 hop_queue_ns(&h[i]) / 1000, i == p->flow.cc.bottleneck ? "  <- bottleneck" : "");
		words_print(text, printf("  hop %u  ", i + 1), 9);
	}
}

static void path_json(const struct path *p, __u64 now)
{
	const struct hpcc_hop *h = p->flow.cc.last;
	unsigned int i;

	out_object(NULL);
	out_u64("path_id", p->id);
	out_u64("hop_count", p->hops);
	out_u64("flows", p->flows);
	out_string("feedback", feedback_name(p->form));
	out_u64("feedback_age_ns", age_ns(now, p->flow.rx.fb_ns));
	out_array("hops");
	for (i = 0; i < p->flow.cc.hops && i < HPCC_MAX_HOPS; i++) {
		out_object(NULL);
		out_u64("hop", i + 1);
		out_u64("speed_bps", h[i].bps);
		out_bool("speed_is_bound", !p->own || i);
		if (p->ns[i])
			out_u64("tx_rate_bps", path_rate_bps(p, i));
		out_u64("qlen_bytes", h[i].qlen_bytes);
		out_u64("queue_ns", hop_queue_ns(&h[i]));
		out_bool("bottleneck", i == p->flow.cc.bottleneck);
		out_end();
	}
	out_end();
	out_end();
}

int cmd_int(int argc, char **argv)
{
	struct paths s = {};
	struct pins p;
	unsigned int i;
	char old[64];
	__u64 now;
	int err;

	(void)argv;
	if (arguments_refused(argc, "int"))
		return EXIT_USAGE;
	err = show_open(&p);
	if (err)
		return err;
	err = paths_read(&s, &p);
	pins_close(&p);
	now = now_ns();
	if (err) {
		msg("reading the flows: %s", strerror(-err));
		free(s.path);
		return EXIT_FAILED;
	}
	if (s.n)
		qsort(s.path, s.n, sizeof(*s.path), path_compare);
	out_array(NULL);
	for (i = 0; i < s.n; i++) {
		if (out_json)
			path_json(&s.path[i], now);
		else
			path_text(&s.path[i], now);
	}
	free(s.path);
	if (out_json)
		return out_done();
	if (!s.n)
		words_print("no paths: no feedback with hops came in the last 10 s", 0, 0);
	if (s.old) {
		snprintf(old, sizeof(old), "%u flow%s without hops in the last 10 s", s.old, PLURAL(s.old));
		words_print(old, 0, 0);
	}
	return EXIT_DONE;
}
