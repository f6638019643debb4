// SPDX-License-Identifier: GPL-2.0-only
/* Counters and high-water marks of flows and ports between two records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ipfix/marks.h"
#include "lib/hops.h"
#include "sluice/cc/hpcc.h"

void marks_look(struct marks *m, __u64 now_ns)
{
	m->before_ns = m->now_ns;
	m->now_ns = now_ns;
	m->look++;
	m->crowded = m->beyond != m->beyond_then;
	m->beyond_then = m->beyond;
}

void marks_look_failed(struct marks *m)
{
	m->now_ns = 0;
}

/* FNV-1a. */
static struct flow_mark **flow_bucket(struct marks *m, const struct flow_key *key)
{
	const __u8 *byte = (const __u8 *)key;
	__u32 hash = 2166136261;
	unsigned int i;

	for (i = 0; i < sizeof(*key); i++)
		hash = (hash ^ byte[i]) * 16777619;
	return &m->bucket[hash % (sizeof(m->bucket) / sizeof(m->bucket[0]))];
}

/* --- flows --- */

static void flow_mark_begin(struct flow_mark *f, __u64 now_ns)
{
	f->begin_ns = now_ns;
	f->begin_bytes = f->flow.tx.bytes;
	f->begin_feedbacks = f->flow.rx.feedbacks;
	f->u = 0;
	f->hops = 0;
}

/*
 * The whole of a flow that began between two looks is in its first record. Of others nothing is known before this look: the
 * first one finds them, or the look before had no room for them.
 */
static struct flow_mark *flow_mark_make(struct marks *m, const struct flow_key *key, const struct flow *flow)
{
	struct flow_mark **bucket = flow_bucket(m, key), *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->key = *key;
	if (m->before_ns && !m->crowded) {
		flow_mark_begin(f, m->before_ns);
	} else {
		f->flow = *flow;
		flow_mark_begin(f, m->now_ns);
	}
	f->next = *bucket;
	*bucket = f;
	m->flows++;
	return f;
}

static __u32 hop_busy_ppm(const struct flow *was, const struct flow *now, unsigned int i)
{
	__u64 ns, bytes = hop_sent(was, now, i, &ns);

	return ns ? bytes * 8e15 / ns / now->cc.last[i].bps : BUSY_UNKNOWN;
}

static void hop_mark_raise(struct hop_mark *mark, const struct hpcc_hop *hop, __u32 busy_ppm)
{
	__u64 queue_ns = hop->bps ? hop->qlen_bytes * 8e9 / hop->bps : 0;

	if (hop->qlen_bytes > mark->queue_bytes)
		mark->queue_bytes = hop->qlen_bytes;
	if (queue_ns > mark->queue_ns)
		mark->queue_ns = queue_ns;
	if (busy_ppm != BUSY_UNKNOWN && (mark->busy_ppm == BUSY_UNKNOWN || busy_ppm > mark->busy_ppm))
		mark->busy_ppm = busy_ppm;
}

/* A look without a new feedback says nothing new. Marks are those of one path: another one begins anew. */
static void flow_mark_raise(struct flow_mark *f, const struct flow *now)
{
	unsigned int i, hops = now->cc.hops < HPCC_MAX_HOPS ? now->cc.hops : HPCC_MAX_HOPS;

	if (!now->rx.feedbacks || now->rx.fb_ns == f->flow.rx.fb_ns)
		return;
	if (now->cc.u > f->u)
		f->u = now->cc.u;
	if (f->hops != hops || f->flow.cc.path_id != now->cc.path_id)
		for (i = 0; i < hops; i++)
			f->hop[i] = (struct hop_mark){ .busy_ppm = BUSY_UNKNOWN };
	f->hops = hops;
	for (i = 0; i < hops; i++)
		hop_mark_raise(&f->hop[i], &now->cc.last[i], hop_busy_ppm(&f->flow, now, i));
}

int marks_flow(struct marks *m, const struct flow_key *key, const struct flow *flow)
{
	struct flow_mark *f = *flow_bucket(m, key);

	while (f && memcmp(&f->key, key, sizeof(*key)))
		f = f->next;
	if (!f && m->flows >= MARKS_MAX) {
		m->beyond++;
		return 0;
	}
	if (!f)
		f = flow_mark_make(m, key, flow);
	if (!f)
		return -ENOMEM;
	/* An entry that was removed and made again counts from 0. */
	if (flow->tx.bytes < f->flow.tx.bytes) {
		memset(&f->flow, 0, sizeof(f->flow));
		flow_mark_begin(f, f->begin_ns);
	}
	flow_mark_raise(f, flow);
	f->flow = *flow;
	f->look = m->look;
	return 0;
}

void marks_each_flow(struct marks *m, void (*fn)(const struct flow_mark *f, void *ctx), void *ctx)
{
	struct flow_mark **at, *f;
	unsigned int i;

	for (i = 0; i < sizeof(m->bucket) / sizeof(m->bucket[0]); i++)
		for (at = &m->bucket[i]; (f = *at);) {
			if (f->flow.tx.bytes != f->begin_bytes)
				fn(f, ctx);
			flow_mark_begin(f, m->now_ns);
			if (!mark_is_gone(f, m)) {
				at = &f->next;
				continue;
			}
			*at = f->next;
			free(f);
			m->flows--;
		}
}

/* --- ports --- */

static void port_mark_begin(struct port_mark *p, __u64 now_ns)
{
	p->begin_ns = now_ns;
	p->begin_bytes = p->load.tx_bytes;
	p->begin_drops = p->load.drops;
	p->backlog_bytes = 0;
}

int marks_port(struct marks *m, __u32 ifindex, const struct port *port, const struct link_load *load)
{
	struct port_mark *p = m->port;

	while (p < m->port + m->ports && p->ifindex != ifindex)
		p++;
	if (p == m->port + m->ports) {
		p = realloc(m->port, (m->ports + 1) * sizeof(*p));
		if (!p)
			return -ENOMEM;
		m->port = p;
		p += m->ports++;
		*p = (struct port_mark){ .ifindex = ifindex, .load = *load };
		port_mark_begin(p, m->now_ns);
	}
	/* Counters of an interface or a qdisc that was made again count from 0. */
	if (load->tx_bytes < p->begin_bytes)
		p->begin_bytes = 0;
	if (load->drops < p->begin_drops)
		p->begin_drops = 0;
	if (load->backlog_bytes > p->backlog_bytes)
		p->backlog_bytes = load->backlog_bytes;
	p->port = *port;
	p->load = *load;
	p->look = m->look;
	return 0;
}

void marks_each_port(struct marks *m, void (*fn)(const struct port_mark *p, void *ctx), void *ctx)
{
	unsigned int i, n = 0;

	for (i = 0; i < m->ports; i++) {
		if (m->port[i].look != m->look)
			continue;
		fn(&m->port[i], ctx);
		port_mark_begin(&m->port[i], m->now_ns);
		m->port[n++] = m->port[i];
	}
	m->ports = n;
}

void marks_free(struct marks *m)
{
	struct flow_mark *f, *next;
	unsigned int i;

	for (i = 0; i < sizeof(m->bucket) / sizeof(m->bucket[0]); i++)
		for (f = m->bucket[i]; f; f = next) {
			next = f->next;
			free(f);
		}
	free(m->port);
	memset(m, 0, sizeof(*m));
}
