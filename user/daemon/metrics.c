// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics for Prometheus, by libmicrohttpd.
 *
 *  1. The tick of the daemon, once a second, looks at flows and VOQs anyway (to forget the idle ones). What it sees
 *     is summed up here on the way: by state, by peer, the busiest, and into histograms. A request reads no flows.
 *  2. The text is made by the first request after a tick, and is the answer to all until the next one: who asks
 *     more often than once a second costs next to nothing, and learns nothing.
 *  3. The library runs in the daemon's own epoll and never waits. A client that does not read, or only connects, stays
 *     for METRICS_TIMEOUT_S at most, and shorter where places get scarce: a new client takes the place of the oldest one
 *     of the address that has most, so that nobody is kept waiting by who holds connections open.
 *  4. Series are bounded: counters, managed ports, configured peers, and so many flows as are asked for (none).
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "daemon/metrics.h"

/* So many that who has just connected is not the oldest again before its request is here. */
#define METRICS_CLIENTS 256
/* Places that are kept free: the library takes in up to 10 clients before it looks at those that are to go. */
#define METRICS_PLACES (METRICS_CLIENTS - 12)
#define METRICS_ROUNDS 32 /* of serving, before others have their turn */
#define METRICS_TIMEOUT_S 3
#define METRICS_CLIENT_BYTES 8192 /* of a request and the head of its answer */
#define METRICS_ACTIVE_NS (2 * NSEC_PER_SEC) /* a flow is active that sent something within this */
#define METRICS_RETRY_TICKS 30
#define METRICS_SENT_SLOTS (1 << 16)
#define METRICS_PACKET_BYTES 1514 /* a full packet, whose wait for credit is told */
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* All that is not a counter of stats.h, in the order in which it is told: X(symbol, name, type, help). */
#define METRICS(X)                                                                                 \
	X(INFO, "sluice_info", "gauge", "Always 1; the labels say what runs.")                     \
	X(BYPASS, "sluice_bypass", "gauge", "1 while every packet is passed untouched.")           \
	X(FLOWS, "sluice_flows", "gauge", "Flows in the flow map, by state as in sluicectl flows.") \
	X(FLOWS_LIMIT, "sluice_flows_limit", "gauge", "Flows for which the flow map has room.")    \
	X(QUEUE, "sluice_flow_queue_delay_seconds", "histogram",                                   \
	  "Longest queue on the path of each active flow with feedback, sampled once a second.")   \
	X(AGE, "sluice_flow_feedback_age_seconds", "histogram",                                    \
	  "Age of the last feedback of each active flow that has had any, sampled once a second.") \
	X(PACING, "sluice_flow_pacing_delay_seconds", "histogram",                                 \
	  "How far the departure clock of each active flow is ahead, sampled once a second.")      \
	X(CREDIT, "sluice_voq_credit_delay_seconds", "histogram",                                  \
	  "How long a full packet to each active VOQ would wait for its credit, sampled once a second.") \
	X(LEAD, "sluice_pfc_prediction_lead_seconds", "histogram",                                 \
	  "How long the buffer would have lasted, by the prediction, at each pause by prediction.") \
	X(PORT_SPEED, "sluice_port_speed_bytes_per_second", "gauge", "Speed of a managed interface.") \
	X(PORT_MTU, "sluice_port_mtu_bytes", "gauge", "MTU of a managed interface.")               \
	X(PORT_EDT, "sluice_port_departure_times", "gauge",                                        \
	  "1 if every leaf of the root qdisc is fq, so that packets wait for their departure times.") \
	X(PORT_UNREADABLE, "sluice_port_queue_unreadable", "gauge",                                \
	  "1 if the length of the queue cannot be read, so that nothing is stamped there.")        \
	X(PORT_FLOWS, "sluice_port_flows", "gauge", "Flows that arrive by an interface, as its host counts them (N).") \
	X(CLASS_BACKLOG, "sluice_port_class_backlog_bytes", "gauge", "Queue of a class of a switch port.") \
	X(CLASS_SOJOURN, "sluice_port_class_sojourn_seconds", "gauge",                             \
	  "How long the packet that left a class last had been in it.")                            \
	X(CLASS_TX, "sluice_port_class_tx_bytes_total", "counter", "Wire bytes that left a class.") \
	X(NIC_REQUESTS, "sluice_port_nic_pfc_requests_total", "counter", "PFC frames that the NIC of an interface sent by itself.") \
	X(NIC_INDICATIONS, "sluice_port_nic_pfc_indications_total", "counter",                     \
	  "PFC frames that the NIC of an interface received and obeyed by itself.")                \
	X(PODS, "sluice_pods", "gauge", "Pods whose own queue is read.")                           \
	X(PEER_FLOWS, "sluice_peer_flows", "gauge", "Active flows to a prefix of the configuration.") \
	X(PEER_HELD, "sluice_peer_held_flows", "gauge", "Its active flows with feedback, by what holds them, as in sluicectl top.") \
	X(PEER_RATE, "sluice_peer_rate_bytes_per_second", "gauge", "Sum of R of its active flows with feedback.") \
	X(PEER_WINDOW, "sluice_peer_window_bytes", "gauge", "Sum of W of its active flows with feedback.") \
	X(PEER_U, "sluice_peer_utilisation_ratio", "gauge", "Largest U of its active flows with feedback.") \
	X(PEER_QUEUE, "sluice_peer_queue_delay_seconds", "gauge", "Longest queue of its active flows with feedback.") \
	X(PEER_AGE, "sluice_peer_feedback_age_seconds", "gauge", "Largest age of feedback of its active flows.") \
	X(PEER_RTT, "sluice_peer_base_rtt_seconds", "gauge", "base_rtt of the configuration.")     \
	X(TOP_HELD, "sluice_top_flow_held", "gauge",                                                \
	  "1 for one of the busiest flows with feedback; by says what holds it, as in sluicectl top.")                       \
	X(TOP_TX, "sluice_top_flow_tx_bytes_total", "counter", "Wire bytes sent of one of the busiest flows.") \
	X(TOP_RATE, "sluice_top_flow_rate_bytes_per_second", "gauge", "R of one of the busiest flows.") \
	X(TOP_WINDOW, "sluice_top_flow_window_bytes", "gauge", "W of one of the busiest flows.")   \
	X(TOP_QUEUE, "sluice_top_flow_queue_delay_seconds", "gauge", "Longest queue on its path.") \
	X(CPU, "process_cpu_seconds_total", "counter", "CPU time of sluiced; packets are not in it.") \
	X(MEMORY, "process_resident_memory_bytes", "gauge", "Memory of sluiced; maps are not in it.") \
	X(START, "process_start_time_seconds", "gauge", "When sluiced began, in seconds since 1970.")

enum metric {
#define METRIC_ENUM(symbol, name, type, help) METRIC_##symbol,
	METRICS(METRIC_ENUM)
#undef METRIC_ENUM
	METRIC_MAX,
};

static const struct metric_about {
	const char *name, *type, *help;
} about[METRIC_MAX] = {
#define METRIC_ABOUT(symbol, name, type, help) { name, type, help },
	METRICS(METRIC_ABOUT)
#undef METRIC_ABOUT
};

/* Bounds of buckets in ns; one more takes the rest. */
static const __u64 bounds[] = { 1000,	  2000,	    5000,     10000,	20000,	   50000,     100000,
				200000,	  500000,   1000000,  2000000,	5000000,   10000000,  20000000,
				50000000, 100000000, 200000000, 500000000, 1000000000 };
#define BUCKETS (sizeof(bounds) / sizeof(bounds[0]))

struct histogram {
	__u64 count[BUCKETS + 1];
	double sum_s;
};

/* What a flow had sent at the tick before. Of two flows in one slot neither is measured: both are taken by flow_why(). */
struct sent {
	__u64 flow; /* hash of its key */
	__u64 tx_bytes, at_ns;
};

/* Of the flows to one prefix. */
struct peer_sum {
	struct peer_key key;
	__u64 rtt_ns;
	__u64 flows, held[FLOW_HOLDS], rate_bps, window_bytes, queue_ns, age_ns;
	q24_t u;
};

struct top_flow {
	struct flow_key key;
	const char *held; /* NULL: no feedback */
	__u64 tx_bytes, rate_bps, window_bytes, queue_ns;
};

struct state_sum {
	const char *name;
	__u64 flows;
};

/* A connection, from the library's call at its start to that at its end. */
struct client {
	struct MHD_Connection *connection; /* NULL: a free place */
	struct sluice_addr addr; /* 0: by a socket of the file system */
	__u64 number;		 /* in the order in which they came */
	int told_to_go;
};

struct metrics {
	const struct pins *pins;
	struct watcher watcher;
	int epoll_fd; /* with that of http in it */
	struct MHD_Daemon *http;
	struct client client[METRICS_CLIENTS];
	__u64 clients; /* that ever came */
	struct MHD_Response *text; /* since the last tick; NULL: not asked for yet */
	int wanted;
	struct sockaddr_storage listen;
	socklen_t listen_len;
	char listen_text[128];
	unsigned int ticks;
	time_t start;
	struct msg_limit limit;

	/* Of the tick that runs, or ran last. */
	int fresh; /* it begins */
	struct control ctl;
	struct state_sum state[FLOW_STATES];
	struct peer_sum *peer; /* by prefix length, the longest first, then address */
	unsigned int peers;
	struct top_flow *top; /* by bytes, most first */
	unsigned int tops, tops_max;
	struct sent *sent; /* METRICS_SENT_SLOTS */
	struct histogram queue, age, pacing, credit, lead; /* since the start */
};

/* --- what a tick sees --- */

static int peer_order(const void *a, const void *b)
{
	const struct peer_sum *x = a, *y = b;

	if (x->key.prefixlen != y->key.prefixlen)
		return x->key.prefixlen < y->key.prefixlen ? 1 : -1;
	return memcmp(&x->key.addr, &y->key.addr, sizeof(x->key.addr));
}

/* The longest prefix that an address is in: one search in those of each length. */
static struct peer_sum *peer_sum_find(struct metrics *m, const struct sluice_addr *addr)
{
	struct peer_sum want = {}, *found;
	unsigned int i = 0, n, bit;

	while (i < m->peers) {
		want.key.prefixlen = m->peer[i].key.prefixlen;
		for (n = i; n < m->peers && m->peer[n].key.prefixlen == want.key.prefixlen; n++)
			;
		want.key.addr = *addr;
		for (bit = want.key.prefixlen; bit < 128; bit++)
			want.key.addr.b[bit / 8] &= ~(0x80 >> bit % 8);
		found = bsearch(&want, &m->peer[i], n - i, sizeof(want), peer_order);
		if (found)
			return found;
		i = n;
	}
	return NULL;
}

static void histogram_add(struct histogram *h, __u64 ns)
{
	unsigned int i;

	for (i = 0; i < BUCKETS && ns > bounds[i]; i++)
		;
	h->count[i]++;
	h->sum_s += ns / 1e9;
}

static void tick_begin(struct metrics *m)
{
	unsigned int i;

	m->fresh = 0;
	m->ctl = *m->pins->ctl;
	memset(m->state, 0, sizeof(m->state));
	m->tops = 0;
	for (i = 0; i < m->peers; i++) {
		struct peer_sum *p = &m->peer[i];

		*p = (struct peer_sum){ .key = p->key, .rtt_ns = p->rtt_ns };
	}
}

/* Of hops, or, where they are not told, what the round trip was longer than without queues. */
static __u64 queue_ns(const struct flow *f)
{
	if (f->fallback.swift && f->delay.sample_ns)
		return f->delay.sample_ns > f->params.t_ns ? f->delay.sample_ns - f->params.t_ns : 0;
	return flow_queue_ns(f);
}

static void top_add(struct metrics *m, const struct flow_key *key, const struct flow *f, __u64 queue, const char *held)
{
	unsigned int i = m->tops;

	if (i == m->tops_max && (!i || m->top[--i].tx_bytes >= f->tx.bytes))
		return;
	for (; i && m->top[i - 1].tx_bytes < f->tx.bytes; i--)
		m->top[i] = m->top[i - 1];
	m->top[i] = (struct top_flow){ .key = *key, .held = held, .tx_bytes = f->tx.bytes, .rate_bps = f->cc.rate_bps,
				       .window_bytes = q12_to_bytes(f->cc.w), .queue_ns = queue };
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

/* What holds a flow, by what it sent since the tick before: its place in flow_hold_names. */
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
	top_add(m, key, f, queue, f->rx.fb_ns ? flow_hold_names[held] : NULL);
	p = peer_sum_find(m, &key->remote);
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

/* As its packets find it: not idle, not at the switch of this rack, and credits have not stopped. */
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

const struct watcher *metrics_watcher(const struct metrics *m)
{
	return &m->watcher;
}

/* --- text --- */

static void head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void metric_head(FILE *f, enum metric n)
{
	head(f, about[n].name, about[n].type, about[n].help);
}

static void metric_value(FILE *f, enum metric n, double v)
{
	metric_head(f, n);
	fprintf(f, "%s %.15g\n", about[n].name, v);
}

static void counter_head(FILE *f, unsigned int stat)
{
	char name[64];

	snprintf(name, sizeof(name), "sluice_%s_total", stat_names[stat]);
	head(f, name, "counter", stat_help[stat]);
}

void metrics_list(FILE *f)
{
	unsigned int i;

	for (i = 0; i < STAT_MAX; i++)
		counter_head(f, i);
	for (i = 0; i < METRIC_MAX; i++)
		metric_head(f, i);
}

static void text_histogram(FILE *f, enum metric n, const struct histogram *h)
{
	const char *name = about[n].name;
	__u64 sum = 0;
	unsigned int i;

	metric_head(f, n);
	for (i = 0; i < BUCKETS; i++) {
		sum += h->count[i];
		fprintf(f, "%s_bucket{le=\"%g\"} %llu\n", name, bounds[i] / 1e9, sum);
	}
	sum += h->count[i];
	fprintf(f, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.15g\n%s_count %llu\n", name, sum, name, h->sum_s, name, sum);
}

static void text_daemon(FILE *f, const struct metrics *m)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	unsigned int i;

	metric_head(f, METRIC_INFO);
	fprintf(f, "%s{version=\"" SLUICE_VERSION "\",mode=\"%s\",congestion_control=\"%s\"} 1\n",
		about[METRIC_INFO].name, mode_name(m->ctl.mode), m->ctl.cc_name);
	metric_value(f, METRIC_BYPASS, m->ctl.bypass);
	metric_head(f, METRIC_FLOWS);
	for (i = 0; i < FLOW_STATES; i++)
		fprintf(f, "%s{state=\"%s\"} %llu\n", about[METRIC_FLOWS].name, flow_state_names[i],
			m->state[i].flows);
	if (!bpf_obj_get_info_by_fd(m->pins->flows, &info, &len))
		metric_value(f, METRIC_FLOWS_LIMIT, info.max_entries);
}

/* The managed interfaces, and how many pods there are. */
struct ports {
	const struct pins *pins;
	unsigned int n, pods;
	struct {
		__u32 ifindex;
		struct port port;
		struct port_classes classes;
		struct class_queue queue[CLASSES_MAX];
		int has_nic; /* that does PFC: */
		struct pfc_nic nic;
	} at[64];
};

/* What the NIC of a port counts, if it does PFC. */
static int nic_read(const struct pins *pins, __u32 ifindex, struct pfc_nic *n)
{
	struct pfc_port v;
	struct pfc_slot s;

	if (bpf_map_lookup_elem(pins->pfc_ports, &ifindex, &v) || !(v.flags & PFC_F_NIC) ||
	    bpf_map_lookup_elem(pins->pfc_slots, &v.slot, &s))
		return 0;
	*n = s.nic;
	return 1;
}

static int metrics_port_read(__u32 ifindex, const struct port *port, void *ctx)
{
	struct ports *p = ctx;
	struct class_key key = { .ifindex = ifindex };

	if (port->flags & PORT_F_LEFT)
		return 0;
	if (port->flags & PORT_F_POD) {
		p->pods++;
		return 0;
	}
	if (p->n == sizeof(p->at) / sizeof(p->at[0]))
		return 0;
	p->at[p->n].ifindex = ifindex;
	p->at[p->n].port = *port;
	if (bpf_map_lookup_elem(p->pins->classes, &ifindex, &p->at[p->n].classes) ||
	    p->at[p->n].classes.n > CLASSES_MAX)
		p->at[p->n].classes.n = 0;
	for (; key.class < p->at[p->n].classes.n; key.class ++)
		bpf_map_lookup_elem(p->pins->class_queues, &key, &p->at[p->n].queue[key.class]);
	p->at[p->n].has_nic = nic_read(p->pins, ifindex, &p->at[p->n].nic);
	p->n++;
	return 0;
}

static double port_value(enum metric n, const struct port *p)
{
	switch (n) {
	case METRIC_PORT_SPEED:
		return p->speed_bps / 8.;
	case METRIC_PORT_MTU:
		return p->mtu;
	case METRIC_PORT_EDT:
		return !!(p->flags & PORT_F_EDT);
	case METRIC_PORT_UNREADABLE:
		return !!(p->flags & PORT_F_NO_QUEUE);
	default:
		return rx_counted(&p->count);
	}
}

static double class_value(enum metric n, const struct class_queue *q)
{
	return n == METRIC_CLASS_BACKLOG ? q->backlog_bytes :
	       n == METRIC_CLASS_TX	 ? q->tx_bytes :
					   q->sojourn_ns / 1e9;
}

static void text_ports(FILE *f, const struct metrics *m)
{
	struct ports *p = calloc(1, sizeof(*p));
	unsigned int n, i, k;

	if (!p)
		return;
	p->pins = m->pins;
	pins_each_port(m->pins, metrics_port_read, p);
	for (n = METRIC_PORT_SPEED; n <= METRIC_PORT_FLOWS; n++) {
		metric_head(f, n);
		for (i = 0; i < p->n; i++)
			fprintf(f, "%s{port=\"%s\",role=\"%s\"} %.15g\n", about[n].name, p->at[i].port.name,
				port_role(&p->at[i].port), port_value(n, &p->at[i].port));
	}
	for (n = METRIC_CLASS_BACKLOG; n <= METRIC_CLASS_TX; n++) {
		metric_head(f, n);
		for (i = 0; i < p->n; i++)
			for (k = 0; k < p->at[i].classes.n; k++)
				fprintf(f, "%s{port=\"%s\",class=\"%u\"} %.15g\n", about[n].name,
					p->at[i].port.name, k + 1, class_value(n, &p->at[i].queue[k]));
	}
	for (n = METRIC_NIC_REQUESTS; n <= METRIC_NIC_INDICATIONS; n++) {
		metric_head(f, n);
		for (i = 0; i < p->n; i++)
			for (k = 0; p->at[i].has_nic && k < PFC_PRIORITIES; k++)
				fprintf(f, "%s{port=\"%s\",priority=\"%u\"} %llu\n", about[n].name,
					p->at[i].port.name, k,
					n == METRIC_NIC_REQUESTS ? p->at[i].nic.requests[k] :
								   p->at[i].nic.indications[k]);
	}
	metric_value(f, METRIC_PODS, p->pods);
	free(p);
}

static double peer_value(enum metric n, const struct peer_sum *p)
{
	switch (n) {
	case METRIC_PEER_FLOWS:
		return p->flows;
	case METRIC_PEER_RATE:
		return p->rate_bps / 8.;
	case METRIC_PEER_WINDOW:
		return p->window_bytes;
	case METRIC_PEER_U:
		return (double)p->u / Q24_ONE;
	case METRIC_PEER_QUEUE:
		return p->queue_ns / 1e9;
	case METRIC_PEER_AGE:
		return p->age_ns / 1e9;
	default:
		return p->rtt_ns / 1e9;
	}
}

static double top_value(enum metric n, const struct top_flow *t)
{
	return n == METRIC_TOP_HELD   ? 1 :
	       n == METRIC_TOP_TX     ? t->tx_bytes :
	       n == METRIC_TOP_RATE   ? t->rate_bps / 8. :
	       n == METRIC_TOP_WINDOW ? t->window_bytes :
					t->queue_ns / 1e9;
}

static void text_peers_and_flows(FILE *f, const struct metrics *m)
{
	char local[PREFIX_STRLEN], remote[PREFIX_STRLEN];
	unsigned int n, i, k;

	for (n = METRIC_PEER_FLOWS; n <= METRIC_PEER_RTT; n++) {
		metric_head(f, n);
		for (i = 0; n == METRIC_PEER_HELD && i < m->peers; i++)
			for (k = 0; k < FLOW_HOLDS; k++)
				fprintf(f, "%s{peer=\"%s\",by=\"%s\"} %llu\n", about[n].name,
					prefix_format(&m->peer[i].key, remote), flow_hold_names[k], m->peer[i].held[k]);
		for (i = 0; n != METRIC_PEER_HELD && i < m->peers; i++)
			fprintf(f, "%s{peer=\"%s\"} %.15g\n", about[n].name,
				prefix_format(&m->peer[i].key, remote), peer_value(n, &m->peer[i]));
	}
	for (n = METRIC_TOP_HELD; n <= METRIC_TOP_QUEUE; n++) {
		metric_head(f, n);
		for (i = 0; i < m->tops; i++) {
			const struct flow_key *key = &m->top[i].key;
			int by = n == METRIC_TOP_HELD;

			if (by && !m->top[i].held)
				continue;
			fprintf(f, "%s{local=\"%s\",local_port=\"%u\",remote=\"%s\",remote_port=\"%u\",protocol=\"%s\"%s%s%s} %.15g\n",
				about[n].name, addr_format(&key->local, local), ntohs(key->local_port),
				addr_format(&key->remote, remote), ntohs(key->remote_port),
				key->proto == IPPROTO_UDP ? "udp" : "tcp", by ? ",by=\"" : "", by ? m->top[i].held : "",
				by ? "\"" : "", top_value(n, &m->top[i]));
		}
	}
}

static void text_process(FILE *f, const struct metrics *m)
{
	unsigned long total, resident = 0;
	struct rusage u = {};
	FILE *statm = fopen("/proc/self/statm", "re");

	if (statm && fscanf(statm, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	if (statm)
		fclose(statm);
	getrusage(RUSAGE_SELF, &u);
	metric_value(f, METRIC_CPU, u.ru_utime.tv_sec + u.ru_stime.tv_sec +
		     (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	if (resident)
		metric_value(f, METRIC_MEMORY, (double)resident * sysconf(_SC_PAGESIZE));
	metric_value(f, METRIC_START, m->start);
}

/* NULL where the counters cannot be read, or there is no memory. */
static struct MHD_Response *text_make(struct metrics *m)
{
	struct MHD_Response *response = NULL;
	__u64 stats[STAT_MAX];
	size_t bytes = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &bytes);
	unsigned int i;

	if (!f)
		return NULL;
	if (pins_stats(m->pins, stats)) {
		fclose(f);
		free(text);
		return NULL;
	}
	for (i = 0; i < STAT_MAX; i++) {
		counter_head(f, i);
		fprintf(f, "sluice_%s_total %llu\n", stat_names[i], stats[i]);
	}
	text_daemon(f, m);
	text_histogram(f, METRIC_QUEUE, &m->queue);
	text_histogram(f, METRIC_AGE, &m->age);
	text_histogram(f, METRIC_PACING, &m->pacing);
	text_histogram(f, METRIC_CREDIT, &m->credit);
	text_histogram(f, METRIC_LEAD, &m->lead);
	text_ports(f, m);
	text_peers_and_flows(f, m);
	text_process(f, m);
	if (!fclose(f))
		response = MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	else
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, METRICS_TYPE);
	return response;
}

/* --- requests --- */

static enum MHD_Result answer_words(struct MHD_Connection *c, unsigned int status, const char *words)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(words), (void *)words, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result answer(void *metrics, struct MHD_Connection *c, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_bytes, void **state)
{
	struct metrics *m = metrics;

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_words(c, MHD_HTTP_METHOD_NOT_ALLOWED, "sluiced takes GET and HEAD\n");
	if (strcmp(url, "/metrics"))
		return answer_words(c, MHD_HTTP_NOT_FOUND, "sluiced has its metrics at /metrics\n");
	if (!m->text)
		m->text = text_make(m);
	if (!m->text)
		return answer_words(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "sluiced cannot read its counters\n");
	return MHD_queue_response(c, MHD_HTTP_OK, m->text);
}

/* --- clients --- */

static struct sluice_addr client_addr(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *at = info ? info->client_addr : NULL;
	struct sluice_addr addr = {};

	if (at && at->sa_family == AF_INET) {
		addr.b[10] = addr.b[11] = 0xff;
		memcpy(&addr.b[12], &((const struct sockaddr_in *)at)->sin_addr, 4);
	} else if (at && at->sa_family == AF_INET6) {
		memcpy(&addr, &((const struct sockaddr_in6 *)at)->sin6_addr, sizeof(addr));
	}
	return addr;
}

/* How many of the same address have not been told to go. */
static unsigned int clients_of(const struct metrics *m, const struct sluice_addr *addr)
{
	unsigned int i, n = 0;

	for (i = 0; i < METRICS_CLIENTS; i++)
		n += m->client[i].connection && !m->client[i].told_to_go &&
		     !memcmp(&m->client[i].addr, addr, sizeof(*addr));
	return n;
}

/*
 * The oldest of the address that has most: its end of the connection is closed, and the library does the rest. Whoever
 * has half of the places has most: nobody else has to be counted then, which a flood would make expensive.
 */
static void client_dismiss(struct metrics *m, const struct sluice_addr *newest)
{
	const union MHD_ConnectionInfo *info;
	unsigned int i, n, most = 0, of_newest = clients_of(m, newest);
	int alone = of_newest >= METRICS_PLACES / 2;
	struct client *victim = NULL;

	for (i = 0; i < METRICS_CLIENTS; i++) {
		struct client *c = &m->client[i];

		if (!c->connection || c->told_to_go || (alone && memcmp(&c->addr, newest, sizeof(*newest))))
			continue;
		n = alone ? of_newest : clients_of(m, &c->addr);
		if (n > most || (n == most && c->number < victim->number)) {
			most = n;
			victim = c;
		}
	}
	if (!victim)
		return;
	victim->told_to_go = 1;
	info = MHD_get_connection_info(victim->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
}

static void client_follow(void *metrics, struct MHD_Connection *connection, void **place,
			  enum MHD_ConnectionNotificationCode code)
{
	struct metrics *m = metrics;
	struct client *c = *place, *free_place = NULL;
	unsigned int i, n = 0;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c)
			c->connection = NULL;
		return;
	}
	for (i = 0; i < METRICS_CLIENTS; i++) {
		if (!m->client[i].connection)
			free_place = &m->client[i];
		else
			n += !m->client[i].told_to_go;
	}
	if (!free_place)
		return;
	*free_place = (struct client){ .connection = connection, .addr = client_addr(connection), .number = m->clients++ };
	*place = free_place;
	if (n >= METRICS_PLACES)
		client_dismiss(m, &free_place->addr);
}

/* --- listening --- */

/* What an earlier daemon left; one that still listens keeps its place. */
static void socket_stale_remove(const struct sockaddr_un *at)
{
	struct stat st;
	int fd;

	if (lstat(at->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) && errno == ECONNREFUSED)
		unlink(at->sun_path);
	if (fd >= 0)
		close(fd);
}

/* Open, or -errno. */
static int listen_open(const struct metrics *m)
{
	const int one = 1;
	int fd = socket(m->listen.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;
	mode_t mask;

	if (fd < 0)
		return -errno;
	if (m->listen.ss_family == AF_UNIX)
		socket_stale_remove((const struct sockaddr_un *)&m->listen);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	mask = umask(0117); /* owner and group */
	err = bind(fd, (const struct sockaddr *)&m->listen, m->listen_len) || listen(fd, SOMAXCONN) ? -errno : 0;
	umask(mask);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void http_open(struct metrics *m)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = listen_open(m);

	if (fd < 0) {
		msg_limited(&m->limit, 600,
			    "metrics: %s: %s: there are none for now, and all else goes on; this is tried again every %u s, or write another metrics: listen",
			    m->listen_text, strerror(-fd), METRICS_RETRY_TICKS);
		return;
	}
	m->http = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, m, MHD_OPTION_LISTEN_SOCKET, fd,
				   MHD_OPTION_CONNECTION_LIMIT, METRICS_CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT,
				   METRICS_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				   (size_t)METRICS_CLIENT_BYTES, MHD_OPTION_NOTIFY_CONNECTION, client_follow, m,
				   MHD_OPTION_END);
	if (!m->http) {
		close(fd);
		msg_limited(&m->limit, 600, "metrics: %s: libmicrohttpd does not start: there are none", m->listen_text);
		return;
	}
	if (epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, MHD_get_daemon_info(m->http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, &ev))
		msg("metrics: waiting for clients: %s: they are answered once a second until the next start", strerror(errno));
	msg_info("metrics: at %s", m->listen_text);
}

static void http_close(struct metrics *m)
{
	if (m->text)
		MHD_destroy_response(m->text);
	m->text = NULL;
	if (!m->http)
		return;
	MHD_stop_daemon(m->http); /* closes the sockets, and with its epoll it leaves ours */
	m->http = NULL;
	if (m->listen.ss_family == AF_UNIX && unlink(((struct sockaddr_un *)&m->listen)->sun_path) && errno != ENOENT)
		msg("metrics: removing the socket %s: %s: it stays, and nobody listens there; the next sluiced removes it", m->listen_text,
		    strerror(errno));
}

void metrics_serve(struct metrics *m)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;
	int rounds = 0;

	/* What is at hand, but not for ever: the rest comes back by the epoll. */
	while (m->http && MHD_run(m->http) == MHD_YES && rounds++ < METRICS_ROUNDS &&
	       MHD_get_timeout(m->http, &wait_ms) == MHD_YES && !wait_ms)
		;
}

void metrics_tick(struct metrics *m)
{
	if (!m->wanted)
		return;
	if (m->fresh) /* no flow at all */
		tick_begin(m);
	m->fresh = 1;
	if (m->text)
		MHD_destroy_response(m->text); /* those who are being sent it keep it */
	m->text = NULL;
	if (!m->http && !(++m->ticks % METRICS_RETRY_TICKS))
		http_open(m);
	metrics_serve(m); /* clients whose time is over */
}

int metrics_fd(const struct metrics *m)
{
	return m->epoll_fd;
}

/* --- configuration --- */

static void peers_take(struct metrics *m, const struct config *c)
{
	unsigned int i;

	free(m->peer);
	free(m->top);
	m->tops = m->tops_max = m->peers = 0;
	m->peer = calloc(c->peers_count + 1, sizeof(*m->peer));
	m->top = calloc(c->metrics.flows + 1, sizeof(*m->top));
	if (!m->peer || !m->top)
		return;
	m->tops_max = c->metrics.flows;
	m->peers = c->peers_count;
	for (i = 0; i < m->peers; i++) {
		m->peer[i].key = c->peers[i].key;
		m->peer[i].rtt_ns = c->peers[i].base_rtt_ns;
	}
	qsort(m->peer, m->peers, sizeof(*m->peer), peer_order);
}

void metrics_reload(struct metrics *m, const struct config *c)
{
	int wanted = c->metrics.wanted;

	if (m->wanted && (!wanted || memcmp(&m->listen, &c->metrics.listen.at, sizeof(m->listen)))) {
		http_close(m);
		msg_info("metrics: no longer at %s", m->listen_text);
	}
	m->wanted = wanted;
	if (!wanted)
		return;
	peers_take(m, c);
	m->listen = c->metrics.listen.at;
	m->listen_len = c->metrics.listen.len;
	snprintf(m->listen_text, sizeof(m->listen_text), "%s", c->metrics.listen.text);
	m->limit.next_ns = 0; /* whoever has just written it wants to know */
	tick_begin(m);
	m->fresh = 1;
	if (!m->http)
		http_open(m);
}

int metrics_open(const struct pins *pins, const struct config *c, struct metrics **metrics)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->sent = calloc(METRICS_SENT_SLOTS, sizeof(*m->sent));
	if (!m->sent) {
		free(m);
		return -ENOMEM;
	}
	m->pins = pins;
	m->watcher = (struct watcher){ m, flow_seen, voq_seen, prediction_seen };
	m->start = time(NULL);
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll_fd < 0) {
		free(m->sent);
		free(m);
		return -errno;
	}
	signal(SIGPIPE, SIG_IGN); /* a client that left */
	metrics_reload(m, c);
	*metrics = m;
	return 0;
}

void metrics_close(struct metrics *m)
{
	if (!m)
		return;
	http_close(m);
	close(m->epoll_fd);
	free(m->peer);
	free(m->top);
	free(m->sent);
	free(m);
}
