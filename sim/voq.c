// SPDX-License-Identifier: GPL-2.0-only
/* See rack.h. Host ports are identified by the number of their host, racks by the number of their leaf. */
#include <stdlib.h>
#include <string.h>
#include "sim/control.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/host.h"
#include "sim/rack.h"
#include "sim/result.h"
#include "sim/voq.h"

/* The VOQ of a rack, for one host of another. */
struct voq {
	struct hiercc_voq voq;
	struct hiercc_hop hop;
	struct rx_counter counter;
	uint32_t held;		      /* bytes waiting for their departure */
	uint32_t *flows, flows_count; /* flows that passed it */
};

static struct hiercc_hop_params hop_params;
static struct voq *voqs; /* [rack][host] */
static uint32_t queue_max;
static uint64_t queue_sum, queue_count; /* bytes found in their VOQs by packets, themselves included */

static struct voq *voq_of(uint32_t rack, uint32_t host)
{
	return &voqs[(size_t)rack * net.hosts_count + host];
}

struct json_object *voqs_result(void)
{
	struct json_object *o;

	if (!credit_rules.on)
		return NULL;
	o = json_object_new_object();
	result_number(o, "mean", queue_count ? queue_sum / (double)queue_count : 0);
	result_count(o, "max", queue_max);
	result_count(o, "c0", racks.params.c0);
	result_count(o, "q0", hop_params.q0);
	result_count(o, "v_high", hop_params.v_high);
	return o;
}

/* --- credit and rates --- */

/* The flow gets the rate after the delay of a packet. */
static void flow_tell(const struct voq *v, uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];
	const struct sim_port *p = &net.ports[net.nodes[net.hosts[f->from]].ports_first];

	f->hop_told_bps = 8 * v->hop.rate;
	event_at(engine.now_ns + p->delay_ns, EVENT_RATE, i);
}

static void voq_rate(struct voq *v)
{
	uint64_t before = v->hop.rate;
	uint32_t i;

	if (!credit_rules.rates)
		return;
	hiercc_stop(&v->hop, &hop_params, v->held);
	if (hiercc_arrival(&v->hop, &hop_params, engine.now_ns, v->voq.sent))
		hiercc_rate(&v->hop, &hop_params, v->held, hiercc_credit_rate(&v->voq, &racks.params));
	for (i = 0; v->hop.rate != before && i < v->flows_count; i++)
		flow_tell(v, v->flows[i]);
}

void voq_credit(uint32_t rack, uint32_t host, uint32_t total, int due, uint16_t at)
{
	struct voq *v = voq_of(rack, host);

	hiercc_credit(&v->voq, &racks.params, engine.now_ns, total, due, at);
	voq_rate(v);
}

void voq_on_rate(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];

	f->hop_bps = f->hop_told_bps ?: 1;
	flow_rate_changed(i);
}

int voq_holds(uint32_t node, uint32_t i)
{
	struct sim_packet *p = &net.packets[i];
	struct sim_flow *f = &traffic.list[p->flow];
	uint32_t rack, total = 0;
	__u64 departure = engine.now_ns;
	struct voq *v;

	if (!credit_rules.on)
		return 0;
	rack = racks.rack_of[f->from];
	if (rack == racks.rack_of[p->to] || rack_leaf(f->from) != node)
		return 0;
	v = voq_of(rack, p->to);
	if (!f->voq_mark) {
		v->flows = list_add(v->flows, &v->flows_count, sizeof(*v->flows));
		v->flows[v->flows_count - 1] = p->flow;
		if (credit_rules.rates)
			flow_tell(v, p->flow);
	}
	rx_count(&v->counter, &f->voq_mark, engine.now_ns, racks.params.epoch_ns);
	hiercc_send(&v->voq, &racks.params, engine.now_ns, p->bytes, &total, &departure);
	p->voq_total = total;
	p->voq_flows = rx_counted(&v->counter);
	/* Packets of one flow stay in order. */
	departure = departure > f->voq_left_ns ? departure : f->voq_left_ns;
	f->voq_left_ns = departure;
	v->held += p->bytes;
	if (v->held > queue_max)
		queue_max = v->held;
	if (engine.now_ns >= credit_rules.warmup_ns) {
		queue_sum += v->held;
		queue_count++;
	}
	voq_rate(v);
	event_at(departure, EVENT_VOQ, i);
	return 1;
}

void voq_leave(const struct sim_packet *p)
{
	voq_of(racks.rack_of[traffic.list[p->flow].from], p->to)->held -= p->bytes;
}

/* --- all --- */

double voqs_memory(double hosts, double leaves)
{
	return hosts * leaves * sizeof(struct voq);
}

void voqs_begin(void)
{
	const struct sim_port *p = &net.ports[net.nodes[net.hosts[0]].ports_first];
	uint64_t rate = p->bps / 8, rtt = scheme_rules.hpcc.t_ns;
	uint32_t i, k;

	if (!credit_rules.on)
		return;
	hiercc_hop_params_init(&hop_params, rate, 2 * p->delay_ns + port_time_ns(p, rules.frame),
			       rate * rtt / NS_PER_S);
	voqs = grow(NULL, (size_t)racks.count * net.hosts_count, sizeof(*voqs));
	memset(voqs, 0, (size_t)racks.count * net.hosts_count * sizeof(*voqs));
	for (i = 0; i < net.hosts_count; i++)
		for (k = 0; k < racks.count; k++) {
			hiercc_voq_init(&voq_of(k, i)->voq, 1);
			hiercc_hop_init(&voq_of(k, i)->hop, &hop_params);
		}
}

void voqs_end(void)
{
	uint32_t i;

	if (!credit_rules.on)
		return;
	for (i = 0; i < racks.count * net.hosts_count; i++)
		free(voqs[i].flows);
	free(voqs);
}
