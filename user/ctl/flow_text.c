// SPDX-License-Identifier: GPL-2.0-only
/*
 * A flow in words: a line of a table, with fewer columns on a narrow screen. With 40 columns that is the remote
 * address, the local port, the sending rate, the constraint, and its duration.
 */
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "lib/config.h"
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/pods.h"
#include "lib/names.h"

const char *row_why(const struct flow_row *r, const struct flow_list *l)
{
	return r->paused ? flow_hold_names[HELD_PAUSE] : r->why ?: flow_why(&r->key, &r->flow, &l->ctl, l->now_ns);
}

int row_is_spent(const struct flow_row *r, const struct flow_list *l)
{
	return r->key.proto == IPPROTO_UDP && r->flow.rx.feedbacks <= 1 &&
	       l->now_ns > r->flow.tx.last_ns + NSEC_PER_SEC;
}

const struct pod *row_pod(const struct flow_row *r, const struct flow_list *l)
{
	return l->pods ? pods_find_flow(l->pods, &r->key, &r->flow) : NULL;
}

const char *flow_control(const struct flow *f)
{
	return flow_is_bare(f) ? "delay" : "hpcc";
}

const char *flow_format(const struct flow_key *k, char *buf)
{
	char local[PREFIX_STRLEN], remote[PREFIX_STRLEN];

	size_t n = snprintf(buf, FLOW_STRLEN, "%s:%u -> %s:%u", addr_format(&k->local, local), ntohs(k->local_port),
			    addr_format(&k->remote, remote), ntohs(k->remote_port));

	if (k->domain && n < FLOW_STRLEN)
		snprintf(buf + n, FLOW_STRLEN - n, " domain %u", k->domain);
	return buf;
}

/* --- the cells --- */

enum when { ALWAYS, WATCHED, ONCE };

struct column {
	const char *title;
	int width;    /* negative: left aligned */
	int from, to; /* screen widths, in columns, with which it is shown */
	enum when when;
	void (*text)(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size);
};

/* Keeps the end of a text that does not fit: it has the port. */
static void tail_copy(char *buf, size_t size, const char *text, size_t width)
{
	size_t n = strlen(text);

	snprintf(buf, size, "%s", n > width ? text + n - width : text);
}

static void end_text(const struct sluice_addr *a, __be16 port, char *buf, size_t size, size_t width)
{
	char addr[PREFIX_STRLEN], text[PREFIX_STRLEN + 8];

	snprintf(text, sizeof(text), "%s:%u", addr_format(a, addr), ntohs(port));
	tail_copy(buf, size, text, width);
}

static void remote_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	end_text(&r->key.remote, r->key.remote_port, buf, size, 21);
}

static void remote_addr_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	char addr[PREFIX_STRLEN];

	(void)l;
	tail_copy(buf, size, addr_format(&r->key.remote, addr), 15);
}

static void local_port_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%u", ntohs(r->key.local_port));
}

static void local_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	end_text(&r->key.local, r->key.local_port, buf, size, 21);
}

static void rate_format(__u64 bps, char *buf, size_t size)
{
	snprintf(buf, size, bps < 999995000 ? "%.2f" : "%.0f", bps / 1e6);
}

static void sent_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	rate_format(r->sent_bps, buf, size);
}

static void rate_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	if (r->flow.tx.flags & FLOW_F_TELEM)
		rate_format(r->flow.cc.rate_bps, buf, size);
	else
		snprintf(buf, size, "-");
}

/* Only TCP has a window, and a flow whose peer is plain obeys none of ours. */
static void w_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	if (r->key.proto == IPPROTO_TCP && r->flow.tx.flags & FLOW_F_TELEM)
		snprintf(buf, size, "%llu", q12_to_bytes(r->flow.cc.w));
	else
		snprintf(buf, size, "-");
}

/* The first feedback begins the record that U is measured from. */
static void u_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	if (r->flow.rx.feedbacks > 1)
		snprintf(buf, size, "%.3f", (double)r->flow.cc.u / Q24_ONE);
	else
		snprintf(buf, size, "-");
}

static void protocol_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%s", flow_protocol(&r->key));
}

static void queue_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%llu", flow_queue_ns(&r->flow) / 1000);
}

static void why_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	snprintf(buf, size, "%s", row_why(r, l));
}

/* At most four letters; ">": at least, because it was so at the first look. */
static void since_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	__u64 s = age_ns(l->now_ns, r->why_since_ns) / NSEC_PER_SEC;
	const char *more = r->why_from_start ? ">" : "";

	if (s < 60)
		snprintf(buf, size, "%s%llus", more, s);
	else if (s < 3600)
		snprintf(buf, size, "%s%llum", more, s / 60);
	else if (s < 2 * 86400)
		snprintf(buf, size, "%s%lluh", more, s / 3600);
	else
		snprintf(buf, size, "%s%llud", more, s / 86400);
}

static void age_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	if (r->flow.rx.fb_ns)
		snprintf(buf, size, "%.1f", age_ns(l->now_ns, r->flow.rx.fb_ns) / 1e6);
	else
		snprintf(buf, size, "-");
}

static void state_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	snprintf(buf, size, "%s", flow_state_names[flow_state(&r->flow, &l->ctl)]);
}

static void ends_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	char ends[FLOW_STRLEN];

	(void)l;
	snprintf(buf, size, "%s", flow_format(&r->key, ends));
}

static void sent_exact_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%.3f", r->sent_bps / 1e6);
}

static void rate_exact_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	if (r->flow.tx.flags & FLOW_F_TELEM)
		snprintf(buf, size, "%.3f", r->flow.cc.rate_bps / 1e6);
	else
		snprintf(buf, size, "-");
}

static void hops_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%u", r->flow.cc.hops ?: r->flow.rx.told_hops);
}

static void feedbacks_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%llu", r->flow.rx.feedbacks);
}

static void sharing_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	(void)l;
	if (r->flow.rx.flows)
		snprintf(buf, size, "%u", r->flow.rx.flows);
	else
		snprintf(buf, size, "-");
}

/* With other special features of its control; preceded by one space more. */
static void state_long_text(const struct flow_row *r, const struct flow_list *l, char *buf, size_t size)
{
	const struct flow *f = &r->flow;
	char by[40] = "";

	if (flow_is_bare(f))
		snprintf(by, sizeof(by), ", by delay: %u us", f->ceiling.delay_ns / 1000);
	else if (f->rx.form != RX_HOPS)
		snprintf(by, sizeof(by), ", told by %s", feedback_name(f->rx.form));
	snprintf(buf, size, " %s%s%s%s", flow_state_names[flow_state(f, &l->ctl)], f->params.variant ? ", " : "",
		 f->params.variant ? variant_name(f->params.variant) : "", by);
}

/* --- the line --- */

/* clang-format off */
static const struct column columns[] = {
	{ "REMOTE",    -15,   0,      59, ALWAYS,  remote_addr_text },
	{ "REMOTE",    -21,  60, INT_MAX, ALWAYS,  remote_text },
	{ "LOCAL",     -21, 131, INT_MAX, ALWAYS,  local_text },
	{ "LPORT",       5,   0,     130, ALWAYS,  local_port_text },
	{ "Mbit/s",      6,   0,      59, WATCHED, sent_text },
	{ "SENT Mb/s",   9,  60, INT_MAX, WATCHED, sent_text },
	{ "R Mb/s",      9,  60, INT_MAX, WATCHED, rate_text },
	{ "R Mb/s",      9,   0, INT_MAX, ONCE,    rate_text },
	{ "W BYTES",     9, 100, INT_MAX, ALWAYS,  w_text },
	{ "U",           6,  80, INT_MAX, ALWAYS,  u_text },
	{ "QUEUE us",    8,  70, INT_MAX, ALWAYS,  queue_text },
	{ "FB ms",       7,  90, INT_MAX, ALWAYS,  age_text },
	{ "PROT",       -4,  80, INT_MAX, ALWAYS,  protocol_text },
	{ "WHY",        -6,   0, INT_MAX, ALWAYS,  why_text },
	{ "FOR",         4,   0, INT_MAX, WATCHED, since_text },
	{ "STATE",     -15, 115, INT_MAX, ALWAYS,  state_text },
	{},
};

/* For lines of unlimited length. */
static const struct column wide_columns[] = {
	{ "LOCAL -> REMOTE", -48, 0, INT_MAX, ALWAYS,  ends_text },
	{ "SENT Mb/s",        10, 0, INT_MAX, WATCHED, sent_exact_text },
	{ "W BYTES",          10, 0, INT_MAX, ALWAYS,  w_text },
	{ "R Mbit/s",         12, 0, INT_MAX, ALWAYS,  rate_exact_text },
	{ "U",                 6, 0, INT_MAX, ALWAYS,  u_text },
	{ "HOPS",              5, 0, INT_MAX, ALWAYS,  hops_text },
	{ "QUEUE us",         10, 0, INT_MAX, ALWAYS,  queue_text },
	{ "FB",                8, 0, INT_MAX, ALWAYS,  feedbacks_text },
	{ "N",                 5, 0, INT_MAX, ALWAYS,  sharing_text },
	{ "PROTO",            -5, 0, INT_MAX, ALWAYS,  protocol_text },
	{ "WHY",              -6, 0, INT_MAX, ALWAYS,  why_text },
	{ " STATE",            0, 0, INT_MAX, ALWAYS,  state_long_text },
	{},
};
/* clang-format on */

#define POD_FROM 110   /* the screen width with which the pod is shown, */
#define POD_COLUMNS 30 /* in these at least */

/* The pod, at the end of the line: it has all of the rest of a screen, and the end of a name that does not fit. */
static void pod_column_put(const struct flow_row *r, const struct flow_list *l, size_t width, char *buf, size_t size)
{
	const struct pod *pod = r ? row_pod(r, l) : NULL;
	char text[POD_STRLEN];
	size_t n = strlen(buf);

	if (r)
		snprintf(text, sizeof(text), "-");
	else
		snprintf(text, sizeof(text), "POD");
	if (pod)
		pod_format(pod, text);
	if (n + 2 > size)
		return;
	buf[n++] = ' ';
	tail_copy(buf + n, size - n, text, width > n ? width - n : POD_STRLEN);
}

void flow_line(const struct flow_row *r, const struct flow_list *l, int watched, int width, char *buf)
{
	int named = l->pods && l->pods->n && (!width || width >= POD_FROM), screen = width;
	const struct column *c;
	char cell[FLOW_STRLEN];
	size_t n = 0, size = FLOW_LINE_STRLEN;

	*buf = 0;
	if (named && width)
		width -= POD_COLUMNS;
	for (c = width ? columns : wide_columns; c->title; c++) {
		if (width < c->from || width > c->to || c->when == (watched ? ONCE : WATCHED))
			continue;
		if (r)
			c->text(r, l, cell, sizeof(cell));
		n += snprintf(buf + n, size - n, "%s%*s", n ? " " : "", c->width, r ? cell : c->title);
		if (n >= size)
			return;
	}
	if (named)
		pod_column_put(r, l, screen, buf, size);
}
