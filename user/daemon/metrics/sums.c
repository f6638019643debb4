// SPDX-License-Identifier: GPL-2.0-only
/* Sums up the flows and VOQs of a tick: by state, by peer, the busiest, and into histograms. */
#include <stdlib.h>
#include <string.h>
#include "daemon/metrics/pods.h"
#include "daemon/metrics/state.h"
#include "daemon/metrics/sums.h"
#include "lib/prefixes.h"

#define METRICS_ACTIVE_NS (2 * NSEC_PER_SEC) /* a flow is active if it sent within this time */
#define METRICS_PACKET_BYTES 1514	     /* a full packet, whose wait for credit is reported */

const __u64 metrics_bounds[BUCKETS] = { 1000,	  2000,	     5000,	10000,	   20000,     50000,	100000,
					200000,	  500000,    1000000,	2000000,   5000000,   10000000, 20000000,
					50000000, 100000000, 200000000, 500000000, 1000000000 };

static void histogram_add(struct histogram *h, __u64 ns)
{
	unsigned int i;

	for (i = 0; i < BUCKETS && ns > metrics_bounds[i]; i++)
		;
	h->count[i]++;
	h->sum_s += ns / 1e9;
}

void tick_begin(struct metrics *m)
{
	unsigned int i;
	struct peer v;

	m->fresh = false;
	m->ctl = *m->pins->ctl;
	memset(m->state, 0, sizeof(m->state));
	m->tops = 0;
	pods_told_begin(m->pods);
	for (i = 0; i < m->peers; i++) {
		struct peer_sum *p = &m->peer[i];

		*p = (struct peer_sum){ .key = p->key };
		if (map_find(m->pins->peers, "peers", &p->key, &v) <= 0)
			continue;
		p->rtt_ns = v.t_ns;
		p->measured_ns = v.measured_ns;
		p->rtt_changes = v.t_changes;
	}
}

/* The queue at the hops or, if they are not reported, the excess of the round trip over one without queues. */
static __u64 queue_ns(const struct flow *f)
{
	if (flow_is_bare(f))
		return f->ceiling.delay_ns;
	return flow_queue_ns(f);
}

static void top_add(struct metrics *m, const struct flow_key *key, const struct flow *f, __u64 queue, const char *held)
{
	unsigned int i = m->tops;

	if (i == m->tops_max && (!i || m->top[--i].tx_bytes >= f->tx.bytes))
		return;
	for (; i && m->top[i - 1].tx_bytes < f->tx.bytes; i--)
		m->top[i] = m->top[i - 1];
	m->top[i] = (struct top_flow){ .key = *key,
				       .held = held,
				       .tx_bytes = f->tx.bytes,
				       .rate_bps = f->cc.rate_bps,
				       .window_bytes = q12_to_bytes(f->cc.w),
				       .queue_ns = queue };
	if (m->tops < m->tops_max)
		m->tops++;
}

static __u64 key_hash(const struct flow_key *key)
{
	const __u8 *byte = (const __u8 *)key;
	__u64 hash = 0xcbf29ce484222325ULL; /* FNV-1a */
	unsigned int i;

	for (i = 0; i < sizeof(*key); i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ULL;
	return hash;
}

/* The index in flow_hold_names of the constraint on a flow, by the bytes that it sent since the previous tick. */
static unsigned int held_by(struct metrics *m, const struct flow_key *key, const struct flow *f, __u64 now)
{
	__u64 hash = key_hash(key);
	struct sent *s = &m->sent[hash % METRICS_SENT_SLOTS], was = *s;
	const char *why;
	unsigned int i;

	*s = (struct sent){ hash, f->tx.bytes, now };
	if (was.flow == hash && now > was.at_ns && now < was.at_ns + METRICS_ACTIVE_NS && f->tx.bytes >= was.tx_bytes)
		why = flow_holds(key, f, &m->ctl, now, (f->tx.bytes - was.tx_bytes) * 8e9 / (now - was.at_ns));
	else
		why = flow_why(key, f, &m->ctl, now);
	for (i = FLOW_HOLDS - 1; i && strcmp(why, flow_hold_names[i]); i--)
		;
	return i;
}

static void flow_seen(void *metrics, const struct flow_key *key, const struct flow *f, __u64 now)
{
	struct metrics *m = metrics;
	struct peer_sum *p;
	enum flow_state state;
	unsigned int held;
	__u64 queue = 0, age = 0;

	if (!m->wanted)
		return;
	if (m->fresh)
		tick_begin(m);
	state = flow_state(f, &m->ctl);
	m->state[state].flows++;
	if (now > f->tx.last_ns + METRICS_ACTIVE_NS || state == FLOW_CLOSED)
		return;
	histogram_add(&m->pacing, pacer_wait_ns(now, f->tx.clock_ns));
	if (f->rx.fb_ns) {
		age = age_ns(now, f->rx.fb_ns);
		queue = queue_ns(f);
		histogram_add(&m->age, age);
		if (age < METRICS_ACTIVE_NS)
			histogram_add(&m->queue, queue);
	}
	held = held_by(m, key, f, now);
	pods_told_flow(m->pods, f, f->rx.fb_ns ? (int)held : -1);
	top_add(m, key, f, queue, f->rx.fb_ns ? flow_hold_names[held] : NULL);
	p = prefixes_find(m->peer, m->peers, sizeof(*m->peer), &key->remote);
	if (!p)
		return;
	p->flows++;
	if (!f->rx.fb_ns)
		return;
	p->held[held]++;
	p->rate_bps += f->cc.rate_bps;
	p->window_bytes += q12_to_bytes(f->cc.w);
	p->u = f->cc.u > p->u ? f->cc.u : p->u;
	p->queue_ns = queue > p->queue_ns ? queue : p->queue_ns;
	p->age_ns = age > p->age_ns ? age : p->age_ns;
}

/* Only counts a VOQ whose packets wait for credit: not idle, not at this rack's switch, and with credits flowing. */
static void voq_seen(void *metrics, const struct voq *v, __u64 now)
{
	struct metrics *m = metrics;
	struct hiercc_voq voq = v->voq;
	__u64 departure_ns;
	__u32 total;

	if (!m->wanted || now > v->voq.last_ns + METRICS_ACTIVE_NS || voq_is_at_tor(v))
		return;
	if (hiercc_send(&voq, &v->params, now, METRICS_PACKET_BYTES, &total, &departure_ns) != HIERCC_ALONE)
		histogram_add(&m->credit, departure_ns - now);
}

static void prediction_seen(void *metrics, __u64 lead_ns)
{
	struct metrics *m = metrics;

	if (m->wanted)
		histogram_add(&m->lead, lead_ns);
}

struct watcher sums_watcher(struct metrics *m)
{
	return (struct watcher){ m, flow_seen, voq_seen, prediction_seen };
}

void peers_take(struct metrics *m, const struct config *c)
{
	unsigned int i;

	free(m->peer);
	free(m->top);
	m->tops = m->tops_max = m->peers = 0;
	m->peer = calloc(c->peers_count + 1, sizeof(*m->peer));
	m->top = calloc(c->metrics.flows + 1, sizeof(*m->top));
	pods_told_take(m, c);
	if (!m->peer || !m->top)
		return;
	m->tops_max = c->metrics.flows;
	m->peers = c->peers_count;
	for (i = 0; i < m->peers; i++)
		m->peer[i].key = c->peers[i].key;
	qsort(m->peer, m->peers, sizeof(*m->peer), prefixes_order);
}
