// SPDX-License-Identifier: GPL-2.0-only
/* The text that Prometheus reads: counters, and the sums of the last tick. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "daemon/metrics/list.h"
#include "daemon/metrics/pods.h"
#include "daemon/metrics/state.h"
#include "daemon/metrics/text.h"
#include "lib/classes.h"
#include "lib/queues.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void text_histogram(FILE *f, enum metric n, const struct histogram *h)
{
	const char *name = metric_begin(f, n);
	__u64 sum = 0;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		sum += h->count[i];
		fprintf(f, "%s_bucket{le=\"%g\"} %llu\n", name, metrics_bounds[i] / 1e9, sum);
	}
	sum += h->count[i];
	fprintf(f, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.15g\n%s_count %llu\n", name, sum, name, h->sum_s, name, sum);
}

static void text_daemon(FILE *f, const struct metrics *m)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	const char *name;
	unsigned int i;

	name = metric_begin(f, METRIC_INFO);
	fprintf(f, "%s{version=\"" SLUICE_VERSION "\",mode=\"%s\",congestion_control=\"%s\"} 1\n", name,
		mode_name(m->ctl.mode), m->ctl.cc_name);
	metric_value(f, METRIC_BYPASS, m->ctl.bypass);
	name = metric_begin(f, METRIC_FLOWS);
	for (i = 0; i < FLOW_STATES; i++)
		fprintf(f, "%s{state=\"%s\"} %llu\n", name, flow_state_names[i], m->state[i].flows);
	if (!bpf_obj_get_info_by_fd(m->pins->flows, &info, &len))
		metric_value(f, METRIC_FLOWS_LIMIT, info.max_entries);
}

/* The managed interfaces, and the number of pods. */
struct ports {
	const struct pins *pins;
	const char *pin_dir;
	struct pods_told *told;
	unsigned int n, pods;
	struct {
		__u32 ifindex;
		struct port port;
		struct port_classes classes;
		struct class_seen queue[CLASSES_MAX];
		unsigned int classes_n;
		int has_nic; /* the NIC does PFC */
		struct pfc_nic nic;
	} at[CONFIG_INTERFACES];
};

/* Reads the counters of a port's NIC; 0 if it does no PFC. */
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

	if (port->flags & PORT_F_LEFT)
		return 0;
	if (port->flags & PORT_F_POD) {
		p->pods++;
		pods_told_port(p->told, ifindex, port);
		return 0;
	}
	if (p->n == sizeof(p->at) / sizeof(p->at[0]))
		return 0;
	p->at[p->n].ifindex = ifindex;
	p->at[p->n].port = *port;
	p->at[p->n].classes_n = classes_get(p->pins, p->pin_dir, ifindex, &p->at[p->n].classes, p->at[p->n].queue);
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

static double class_value(enum metric n, const struct class_seen *q)
{
	return n == METRIC_CLASS_BACKLOG ? q->backlog_bytes : n == METRIC_CLASS_TX ? q->tx_bytes : q->sojourn_ns / 1e9;
}

/* The qdiscs sluice: one series for each port that has them, and verdict. */
static void text_queues(FILE *f, const struct metrics *m, const struct ports *p)
{
	struct queue_seen *list, sum;
	unsigned int i, k, n, from, to;
	const char *name;

	name = metric_begin(f, METRIC_QUEUE_PACKETS);
	if (!p->n || queues_list(m->pin_dir, p->at[0].port.netns_cookie, 0, &list, &n))
		return;
	for (i = 0; i < p->n; i++) {
		for (from = 0; from < n && list[from].ifindex != p->at[i].ifindex; from++)
			;
		for (to = from; to < n && list[to].ifindex == p->at[i].ifindex; to++)
			;
		queues_sum(list + from, to - from, 0, &sum);
		for (k = 0; from < to && k < QUEUE_VERDICTS; k++)
			fprintf(f, "%s{port=\"%s\",verdict=\"%s\"} %llu\n", name, p->at[i].port.name,
				queue_verdict_names[k], sum.packets[k]);
	}
	free(list);
}

static void text_ports(FILE *f, const struct metrics *m)
{
	struct ports *p = calloc(1, sizeof(*p));
	const char *name;
	unsigned int n, i, k;

	if (!p)
		return;
	p->pins = m->pins;
	p->pin_dir = m->pin_dir;
	p->told = m->pods;
	pins_each_port(m->pins, metrics_port_read, p);
	for (n = METRIC_PORT_SPEED; n <= METRIC_PORT_FLOWS; n++) {
		name = metric_begin(f, n);
		for (i = 0; i < p->n; i++)
			fprintf(f, "%s{port=\"%s\",role=\"%s\"} %.15g\n", name, p->at[i].port.name,
				port_role(&p->at[i].port), port_value(n, &p->at[i].port));
	}
	for (n = METRIC_CLASS_BACKLOG; n <= METRIC_CLASS_TX; n++) {
		name = metric_begin(f, n);
		for (i = 0; i < p->n; i++)
			for (k = 0; k < p->at[i].classes_n; k++)
				fprintf(f, "%s{port=\"%s\",class=\"%u\"} %.15g\n", name, p->at[i].port.name, k + 1,
					class_value(n, &p->at[i].queue[k]));
	}
	for (n = METRIC_NIC_REQUESTS; n <= METRIC_NIC_INDICATIONS; n++) {
		name = metric_begin(f, n);
		for (i = 0; i < p->n; i++)
			for (k = 0; p->at[i].has_nic && k < PFC_PRIORITIES; k++)
				fprintf(f, "%s{port=\"%s\",priority=\"%u\"} %llu\n", name, p->at[i].port.name, k,
					n == METRIC_NIC_REQUESTS ? p->at[i].nic.requests[k] :
								   p->at[i].nic.indications[k]);
	}
	text_queues(f, m, p);
	metric_value(f, METRIC_PODS, p->pods);
	pods_told_text(f, m);
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
	case METRIC_PEER_MEASURED:
		return p->measured_ns / 1e9;
	case METRIC_PEER_CHANGES:
		return p->rtt_changes;
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
	const char *name;
	unsigned int n, i, k;

	for (n = METRIC_PEER_FLOWS; n <= METRIC_PEER_CHANGES; n++) {
		name = metric_begin(f, n);
		for (i = 0; n == METRIC_PEER_HELD && i < m->peers; i++)
			for (k = 0; k < FLOW_HOLDS; k++)
				fprintf(f, "%s{peer=\"%s\",by=\"%s\"} %llu\n", name,
					prefix_format(&m->peer[i].key, remote), flow_hold_names[k], m->peer[i].held[k]);
		for (i = 0; n != METRIC_PEER_HELD && i < m->peers; i++)
			fprintf(f, "%s{peer=\"%s\"} %.15g\n", name, prefix_format(&m->peer[i].key, remote),
				peer_value(n, &m->peer[i]));
	}
	for (n = METRIC_TOP_HELD; n <= METRIC_TOP_QUEUE; n++) {
		name = metric_begin(f, n);
		for (i = 0; i < m->tops; i++) {
			const struct flow_key *key = &m->top[i].key;
			int by = n == METRIC_TOP_HELD;
			char domain[24] = "";

			if (by && !m->top[i].held)
				continue;
			if (key->domain)
				snprintf(domain, sizeof(domain), ",domain=\"%u\"", key->domain);
			fprintf(f,
				"%s{local=\"%s\",local_port=\"%u\",remote=\"%s\",remote_port=\"%u\",protocol=\"%s\"%s%s%s%s} %.15g\n",
				name, addr_format(&key->local, local), ntohs(key->local_port),
				addr_format(&key->remote, remote), ntohs(key->remote_port), flow_protocol(key), domain,
				by ? ",by=\"" : "", by ? m->top[i].held : "", by ? "\"" : "", top_value(n, &m->top[i]));
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
	metric_value(f, METRIC_CPU,
		     u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	if (resident)
		metric_value(f, METRIC_MEMORY, (double)resident * sysconf(_SC_PAGESIZE));
	metric_value(f, METRIC_START, m->start);
}

struct MHD_Response *text_make(struct metrics *m)
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
		counter_begin(f, i);
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
