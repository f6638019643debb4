// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/pods.h"

static int flow_list_add(const struct flow_key *key, const struct flow *f, void *ctx)
{
	struct flow_list *l = ctx;
	struct flow_row *row;

	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 256;
		row = realloc(l->row, l->room * sizeof(*row));
		if (!row)
			return -ENOMEM;
		l->row = row;
	}
	l->row[l->n++] = (struct flow_row){ .key = *key, .flow = *f };
	return 0;
}

int flow_list_read(struct flow_list *l, const struct pins *p)
{
	unsigned int i;
	int err;

	memset(l, 0, sizeof(*l));
	l->ctl = *p->ctl;
	err = pins_each_flow(p, flow_list_add, l);
	l->now_ns = now_ns();
	for (i = 0; i < l->n; i++)
		l->row[i].paused = flow_is_paused(p, &l->row[i].flow, l->now_ns);
	if (err)
		flow_list_free(l);
	return err;
}

void flow_list_free(struct flow_list *l)
{
	free(l->row);
	memset(l, 0, sizeof(*l));
}

void flow_list_keep(struct flow_list *l, const struct pod_wish *pod)
{
	unsigned int i, n = 0;

	for (i = 0; i < l->n && pod_wish_given(pod); i++)
		if (pod_wish_meets(pod, row_pod(&l->row[i], l)))
			l->row[n++] = l->row[i];
	l->n = pod_wish_given(pod) ? n : l->n;
}

static int row_compare(const void *a, const void *b)
{
	return memcmp(&((const struct flow_row *)a)->key, &((const struct flow_row *)b)->key, sizeof(struct flow_key));
}

const struct flow_row *flow_list_row(const struct flow_list *l, const struct flow_key *k)
{
	struct flow_row wanted = { .key = *k };

	return l->n ? bsearch(&wanted, l->row, l->n, sizeof(wanted), row_compare) : NULL;
}

static void row_follow(struct flow_row *r, const struct flow_row *was, const struct flow_list *l)
{
	const char *why = flow_holds(&r->key, &r->flow, &l->ctl, l->now_ns, r->sent_bps);

	r->why = was->why;
	r->why_since_ns = was->why_since_ns;
	r->why_from_start = was->why_from_start;
	if (!strcmp(why, was->why))
		return;
	r->why_next = why;
	r->why_next_ns = l->now_ns;
	if (!was->why_next || strcmp(why, was->why_next))
		return;
	r->why = why;
	r->why_since_ns = was->why_next_ns;
	r->why_next = NULL;
	r->why_from_start = false;
}

void flow_list_order(struct flow_list *l, const struct flow_list *before)
{
	const struct flow_row *was;
	struct flow_row *r;
	__u64 ns;

	if (l->n)
		qsort(l->row, l->n, sizeof(*l->row), row_compare);
	for (r = l->row; r < l->row + l->n; r++) {
		was = before ? flow_list_row(before, &r->key) : NULL;
		/* An entry that was removed and made again counts from 0. */
		if (was && was->flow.tx.bytes > r->flow.tx.bytes)
			was = NULL;
		ns = before && was ? l->now_ns - before->now_ns : 0;
		if (ns)
			r->sent_bps = (r->flow.tx.bytes - was->flow.tx.bytes) * 8e9 / ns;
		if (was && was->why) {
			row_follow(r, was, l);
			continue;
		}
		/* The first look has no sending rates, so constraints that depend on them come with the second. */
		if (before)
			r->why = ns ? flow_holds(&r->key, &r->flow, &l->ctl, l->now_ns, r->sent_bps) :
				      flow_why(&r->key, &r->flow, &l->ctl, l->now_ns);
		r->why_since_ns = was ? before->now_ns : l->now_ns;
		r->why_from_start = !before || was;
	}
}

/* --- by a value --- */

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
