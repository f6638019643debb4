// SPDX-License-Identifier: GPL-2.0-only
/*
 * The busiest pods with a queue, one by one.
 *
 *  1. The tick sums up active flows by the veth that leads to their pod: that of the queue in front of it, or the one
 *     by which its packets came.
 *  2. When the text is made, which walks the ports anyway, each veth gets a load: the bytes that left it, of which half
 *     are forgotten in a minute or so. Those of the largest load are told. So the set hardly changes with a moment's
 *     traffic, and a pod that was busy long ago leaves it.
 *  3. Only those that are told are looked up by name.
 */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/metrics/list.h"
#include "daemon/metrics/pods.h"
#include "daemon/metrics/pod_names.h"
#include "daemon/metrics/state.h"
#include "lib/net.h"

#define VETH_SLOTS (1 << 14)
#define VETHS_MAX (VETH_SLOTS / 4 * 3) /* veths whose flows are summed up */
#define LOAD_FORGET_S 60.

struct veth_sum {
	__u32 ifindex, tick; /* of another tick: a free slot */
	__u32 flows, held[FLOW_HOLDS];
};

struct veth_load {
	__u32 ifindex;
	__u64 tx_bytes;
	double load;
};

struct pod_told {
	__u32 ifindex;
	double load;
	struct port port;
	char name[2 * sizeof(((struct port *)0)->name)]; /* of the veth, as in a label */
	struct pod_name pod;
};

struct pods_told {
	const struct pins *pins;
	struct pod_names *names;
	__u32 tick;
	unsigned int veths; /* with flows in this tick */
	struct veth_sum sum[VETH_SLOTS];
	struct veth_load was[PORTS_MAX], now[PORTS_MAX]; /* by ifindex; now: in the order of the walk */
	unsigned int was_n, now_n;
	__u64 was_ns, now_ns; /* when they were looked at; now_ns 0: it begins */
	unsigned int n, max;
	struct pod_told told[METRICS_PODS_MAX]; /* by load, descending */
};

/* --- flows --- */

/* The slot of a veth, or the free one that it may take. */
static struct veth_sum *veth_slot(struct pods_told *p, __u32 ifindex)
{
	unsigned int i = ifindex * 0x9e3779b1U >> 18;

	while (p->sum[i].tick == p->tick && p->sum[i].ifindex != ifindex)
		i = (i + 1) % VETH_SLOTS;
	return &p->sum[i];
}

void pods_told_begin(struct pods_told *p)
{
	if (!p)
		return;
	p->tick++;
	p->veths = 0;
}

void pods_told_flow(struct pods_told *p, const struct flow *f, int held)
{
	__u32 ifindex = f->path.pod_ifindex ?: f->tx.source;
	struct veth_sum *s;

	if (!p || !ifindex)
		return;
	s = veth_slot(p, ifindex);
	if (s->tick != p->tick) {
		if (p->veths == VETHS_MAX)
			return;
		p->veths++;
		*s = (struct veth_sum){ .ifindex = ifindex, .tick = p->tick };
	}
	s->flows++;
	if (held >= 0)
		s->held[held]++;
}

void pods_told_tick(struct pods_told *p)
{
	if (p)
		pod_names_tick(p->names);
}

/* --- the busiest --- */

static int by_veth(const void *a, const void *b)
{
	__u32 x = ((const struct veth_load *)a)->ifindex, y = ((const struct veth_load *)b)->ifindex;

	return x < y ? -1 : x > y;
}

/* Whether a comes before the one with that load. */
static int is_busier(const struct veth_load *a, const struct pod_told *b)
{
	return a->load != b->load ? a->load > b->load : a->ifindex < b->ifindex;
}

static void busiest_add(struct pods_told *p, const struct veth_load *l, const struct port *port)
{
	unsigned int i = p->n;

	if (i == p->max && (!i || !is_busier(l, &p->told[--i])))
		return;
	for (; i && is_busier(l, &p->told[i - 1]); i--)
		p->told[i] = p->told[i - 1];
	p->told[i] = (struct pod_told){ .ifindex = l->ifindex, .load = l->load, .port = *port };
	if (p->n < p->max)
		p->n++;
}

void pods_told_port(struct pods_told *p, __u32 ifindex, const struct port *port)
{
	struct veth_load l = { .ifindex = ifindex, .tx_bytes = port->tx_bytes }, *was;
	double s;

	if (!p || p->now_n == PORTS_MAX)
		return;
	if (!p->now_ns) {
		p->now_ns = now_ns();
		p->n = 0;
	}
	was = p->was_n ? bsearch(&l, p->was, p->was_n, sizeof(l), by_veth) : NULL;
	l.load = was && was->tx_bytes <= l.tx_bytes ? l.tx_bytes - was->tx_bytes : l.tx_bytes;
	if (was) {
		s = (p->now_ns - p->was_ns) / 1e9;
		l.load += was->load * (LOAD_FORGET_S / (LOAD_FORGET_S + s));
	}
	p->now[p->now_n++] = l;
	busiest_add(p, &l, port);
}

/* The loads become those of before. */
static void busiest_end(struct pods_told *p)
{
	memcpy(p->was, p->now, p->now_n * sizeof(*p->now));
	qsort(p->was, p->now_n, sizeof(*p->was), by_veth);
	p->was_n = p->now_n;
	p->was_ns = p->now_ns;
	if (!p->now_n)
		p->n = 0;
	p->now_n = 0;
	p->now_ns = 0;
}

/* --- the text --- */

/* The bytes that still wait, at the speed of the port since the last packet (pod_stamp.bpf.h). */
static __u64 backlog_left(const struct port *p, __u64 now)
{
	double left = p->backlog_bytes - p->speed_bps / 8e9 * age_ns(now, p->sampled_ns);

	return left > 0 ? left : 0;
}

/* Copies the name of an interface as the value of a label. */
static void label_copy(char *to, const char *name, size_t size)
{
	for (; size && *name; name++, size--) {
		if (*name == '"' || *name == '\\')
			*to++ = '\\';
		*to++ = *name;
	}
	*to = 0;
}

static void pod_name_take(struct pods_told *p, struct pod_told *t)
{
	__s32 netnsid;

	label_copy(t->name, t->port.name, sizeof(t->port.name) - 1);
	t->pod = (struct pod_name){};
	if (!bpf_map_lookup_elem(p->pins->pods, &t->ifindex, &netnsid))
		pod_names_find(p->names, netnsid, &t->pod);
}

/* The labels of a pod, with the bracket open: a name that is not known is left away. */
static void pod_labels(FILE *f, const char *metric, const struct pod_told *t)
{
	fprintf(f, "%s{port=\"%s\"", metric, t->name);
	if (t->pod.pod)
		fprintf(f, ",pod=\"%s\",namespace=\"%s\"", t->pod.pod, t->pod.namespace);
}

static double pod_value(enum metric n, const struct pod_told *t, const struct veth_sum *s, __u64 now)
{
	switch (n) {
	case METRIC_POD_SPEED:
		return t->port.speed_bps / 8.;
	case METRIC_POD_TX:
		return t->port.tx_bytes;
	case METRIC_POD_BACKLOG:
		return backlog_left(&t->port, now);
	default:
		return s->flows;
	}
}

static void pod_text(FILE *f, enum metric n, const char *metric, struct pods_told *p, const struct pod_told *t)
{
	static const struct veth_sum none;
	const struct veth_sum *s = veth_slot(p, t->ifindex);
	unsigned int k;

	if (s->tick != p->tick)
		s = &none;
	for (k = 0; n == METRIC_POD_HELD && k < FLOW_HOLDS; k++) {
		pod_labels(f, metric, t);
		fprintf(f, ",by=\"%s\"} %u\n", flow_hold_names[k], s->held[k]);
	}
	if (n == METRIC_POD_HELD)
		return;
	pod_labels(f, metric, t);
	fprintf(f, "} %.15g\n", pod_value(n, t, s, now_ns()));
}

void pods_told_text(FILE *f, const struct metrics *m)
{
	struct pods_told *p = m->pods;
	const char *metric;
	unsigned int n, i;

	if (p)
		busiest_end(p);
	for (i = 0; p && i < p->n; i++)
		pod_name_take(p, &p->told[i]);
	for (n = METRIC_POD_SPEED; n <= METRIC_POD_HELD; n++) {
		metric = metric_begin(f, n);
		for (i = 0; p && i < p->n; i++)
			pod_text(f, n, metric, p, &p->told[i]);
	}
}

/* --- begin and end --- */

void pods_told_free(struct metrics *m)
{
	if (m->pods)
		pod_names_close(m->pods->names);
	free(m->pods);
	m->pods = NULL;
}

/* A reload keeps what is known: otherwise pods would be told without names until bundles are read again. */
void pods_told_take(struct metrics *m, const struct config *c)
{
	if (m->pods && (!c->metrics.pods || !pod_names_are_of(m->pods->names, c->metrics.bundles)))
		pods_told_free(m);
	if (!c->metrics.pods)
		return;
	if (!m->pods) {
		m->pods = calloc(1, sizeof(*m->pods));
		if (!m->pods)
			return;
		m->pods->pins = m->pins;
		m->pods->tick = 1;
		m->pods->names = pod_names_open(c->metrics.bundles);
	}
	m->pods->max = c->metrics.pods;
	m->pods->n = 0;
	if (!m->pods->names)
		pods_told_free(m);
	else
		pod_names_tick(m->pods->names);
}
