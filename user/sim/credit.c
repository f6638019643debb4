// SPDX-License-Identifier: GPL-2.0-only
/* See credit.h. Host ports are known by the number of their host, racks by the number of their leaf. */
#include <stdlib.h>
#include <string.h>
#include "sim/credit.h"
#include "sim/engine.h"
#include "sim/net.h"
#include "sim/result.h"
#include "sim/scheme.h"
#include "sluice/rack/hiercc.h"

#define MESSAGE_BYTES 100

/* Of a rack, for one host of another. */
struct voq {
	struct hiercc_voq voq;
	struct hiercc_hop hop;
	struct rx_counter counter;
	uint32_t held;		      /* bytes that wait for their departure */
	uint32_t *flows, flows_count; /* that passed it */
};

/* Of a host: what is due to each rack. */
struct grants {
	struct hiercc_port port;
	struct hiercc_due *due;	  /* by rack */
	struct hiercc_seen *seen; /* by rack */
	uint64_t round_ns;
};

struct message {
	uint32_t rack, host, total, due;
	uint16_t at;
	uint32_t next; /* of those that have arrived */
};

struct credit_rules credit_rules;
static struct hiercc_params params;
static struct hiercc_hop_params hop_params;
static struct voq *voqs; /* [rack][host] */
static struct grants *grants;
static uint32_t *rack_of; /* by host */
static uint32_t racks, queue_max;
static uint64_t queue_sum, queue_count; /* what packets found in their VOQs, with themselves */
static struct message *messages;
static uint32_t messages_count, messages_free = NONE;
static uint64_t message_ns; /* on its way */
static uint64_t spent_ns;   /* on the messages of the current round */

static uint32_t leaf_of(uint32_t host)
{
	return net.ports[net.ports[net.nodes[net.hosts[host]].ports_first].peer].node;
}

static struct voq *voq_of(uint32_t rack, uint32_t host)
{
	return &voqs[(size_t)rack * net.hosts_count + host];
}

int credit_is_rack_port(uint32_t node, uint32_t port)
{
	const struct sim_node *next = &net.nodes[net.ports[net.ports[port].peer].node];

	return !net.nodes[node].is_host && next->is_host;
}

struct json_object *credit_result(void)
{
	struct json_object *o;

	if (!credit_rules.on)
		return NULL;
	o = json_object_new_object();
	result_number(o, "mean", queue_count ? queue_sum / (double)queue_count : 0);
	result_count(o, "max", queue_max);
	result_count(o, "c0", params.c0);
	result_count(o, "q0", hop_params.q0);
	result_count(o, "v_high", hop_params.v_high);
	return o;
}

/* --- the sender's rack --- */

/* The rate is at the flow when a packet would be. */
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
		hiercc_rate(&v->hop, &hop_params, v->held, hiercc_credit_rate(&v->voq, &params));
	for (i = 0; v->hop.rate != before && i < v->flows_count; i++)
		flow_tell(v, v->flows[i]);
}

void credit_on_rate(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];

	f->hop_bps = f->hop_told_bps ?: 1;
	flow_rate_changed(i);
}

int credit_holds(uint32_t node, uint32_t i)
{
	struct sim_packet *p = &net.packets[i];
	struct sim_flow *f = &traffic.list[p->flow];
	uint32_t rack, total = 0;
	__u64 departure = engine.now_ns;
	struct voq *v;

	if (!credit_rules.on)
		return 0;
	rack = rack_of[f->from];
	if (rack == rack_of[p->to] || leaf_of(f->from) != node)
		return 0;
	v = voq_of(rack, p->to);
	if (!f->voq_mark) {
		v->flows = list_add(v->flows, &v->flows_count, sizeof(*v->flows));
		v->flows[v->flows_count - 1] = p->flow;
		if (credit_rules.rates)
			flow_tell(v, p->flow);
	}
	rx_count(&v->counter, &f->voq_mark, engine.now_ns, params.epoch_ns);
	hiercc_send(&v->voq, &params, engine.now_ns, p->bytes, &total, &departure);
	p->voq_total = total;
	p->voq_flows = rx_counted(&v->counter);
	/* Those of one flow stay in order. */
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

void credit_left(const struct sim_packet *p)
{
	voq_of(rack_of[traffic.list[p->flow].from], p->to)->held -= p->bytes;
}

/* --- the receiver's rack --- */

void credit_arrived(uint32_t node, const struct sim_packet *p)
{
	uint32_t rack;

	if (!credit_rules.on)
		return;
	rack = rack_of[traffic.list[p->flow].from];
	if (rack == rack_of[p->to] || leaf_of(p->to) != node)
		return;
	hiercc_see(&grants[p->to].seen[rack], p->voq_total, p->voq_flows, p->bytes, 1, params.debt_max);
}

static void message_send(uint32_t host, uint32_t rack)
{
	const struct hiercc_due *d = &grants[host].due[rack];
	uint32_t i = messages_free;

	if (i != NONE) {
		messages_free = messages[i].next;
	} else {
		i = messages_count;
		messages = list_add(messages, &messages_count, sizeof(*messages));
	}
	messages[i] = (struct message){
		.rack = rack, .host = host, .total = d->granted, .due = d->listed, .at = engine.now_ns / HIERCC_AT_NS
	};
	event_at(
		engine.now_ns + spent_ns + message_ns +
			(credit_rules.reorder && random_part() < credit_rules.reorder ? 3 * credit_rules.period_ns : 0),
		EVENT_CREDIT, i);
	spent_ns += credit_rules.cost_ns;
}

void credit_on_message(uint32_t i)
{
	const struct message m = messages[i];
	struct voq *v = voq_of(m.rack, m.host);

	messages[i].next = messages_free;
	messages_free = i;
	hiercc_credit(&v->voq, &params, engine.now_ns, m.total, m.due, m.at);
	voq_rate(v);
}

/* One round for one host: what was noted is judged, credit is dealt out, and who sent of late is told. */
static void host_grant(uint32_t host)
{
	struct grants *g = &grants[host];
	uint32_t i;

	hiercc_budget(&g->port, engine.now_ns - g->round_ns);
	g->round_ns = engine.now_ns;
	for (i = 0; i < racks; i++)
		if (g->seen[i].bytes)
			hiercc_learn(&g->port, g->due, i, &params, &g->seen[i], engine.now_ns);
	while (hiercc_grant(&g->port, g->due) != HIERCC_NONE)
		;
	for (i = 0; i < racks; i++) {
		if (!g->due[i].sent || engine.now_ns - g->due[i].epoch_ns > 2 * params.epoch_ns ||
		    random_part() < credit_rules.lose)
			continue;
		message_send(host, i);
		if (random_part() < credit_rules.repeat)
			message_send(host, i);
	}
}

void credit_on_grant(uint32_t node)
{
	uint32_t i;

	spent_ns = 0;
	for (i = 0; i < net.hosts_count; i++)
		if (leaf_of(i) == node)
			host_grant(i);
	event_at(engine.now_ns + credit_rules.period_ns + (uint64_t)(random_part() * credit_rules.late_ns), EVENT_GRANT,
		 node);
}

/* --- all --- */

/* The way between the racks that are furthest apart, without the links of hosts. */
static uint64_t racks_way_ns(void)
{
	uint32_t port, to = net.hosts_count - 1, node = leaf_of(0);
	uint64_t ns = 0;

	for (;;) {
		port = net.paths[net.nodes[node].routes[to].first];
		node = net.ports[net.ports[port].peer].node;
		if (net.nodes[node].is_host)
			return ns;
		ns += net.ports[port].delay_ns + port_time_ns(&net.ports[port], MESSAGE_BYTES);
	}
}

static void racks_number(void)
{
	uint32_t i, leaf, last = NONE;

	rack_of = grow(NULL, net.hosts_count, sizeof(*rack_of));
	for (i = 0; i < net.hosts_count; i++) {
		leaf = leaf_of(i);
		racks += leaf != last; /* hosts of a leaf have numbers in a row */
		rack_of[i] = racks - 1;
		if (leaf != last)
			event_at(1, EVENT_GRANT, leaf);
		last = leaf;
	}
}

double credit_memory(double hosts, double leaves)
{
	return hosts * leaves * (sizeof(struct voq) + sizeof(struct hiercc_due) + sizeof(struct hiercc_seen)) +
	       hosts * sizeof(struct grants);
}

void credit_begin(void)
{
	const struct sim_port *p = &net.ports[net.nodes[net.hosts[0]].ports_first];
	uint64_t rate = p->bps / 8, rtt = scheme_rules.hpcc.t_ns;
	uint32_t i, k;

	if (!credit_rules.on)
		return;
	racks_number();
	message_ns = racks_way_ns();
	hiercc_params_init(&params, rate, 2 * message_ns, credit_rules.period_ns + credit_rules.late_ns / 2);
	if (credit_rules.c0)
		hiercc_params_c0(&params, credit_rules.c0);
	hiercc_hop_params_init(&hop_params, rate, 2 * p->delay_ns + port_time_ns(p, rules.frame),
			       rate * rtt / NS_PER_S);
	voqs = grow(NULL, (size_t)racks * net.hosts_count, sizeof(*voqs));
	memset(voqs, 0, (size_t)racks * net.hosts_count * sizeof(*voqs));
	grants = grow(NULL, net.hosts_count, sizeof(*grants));
	for (i = 0; i < net.hosts_count; i++) {
		const struct sim_port *port = &net.ports[net.nodes[net.hosts[i]].ports_first];

		grants[i] = (struct grants){ .due = grow(NULL, racks, sizeof(struct hiercc_due)),
					     .seen = grow(NULL, racks, sizeof(struct hiercc_seen)) };
		memset(grants[i].due, 0, racks * sizeof(struct hiercc_due));
		memset(grants[i].seen, 0, racks * sizeof(struct hiercc_seen));
		hiercc_port_init(&grants[i].port, port->bps / 8.0 * credit_rules.eta);
		for (k = 0; k < racks; k++) {
			hiercc_voq_init(&voq_of(k, i)->voq, 1);
			hiercc_hop_init(&voq_of(k, i)->hop, &hop_params);
		}
	}
}

void credit_end(void)
{
	uint32_t i;

	if (!credit_rules.on)
		return;
	for (i = 0; i < net.hosts_count; i++) {
		free(grants[i].due);
		free(grants[i].seen);
	}
	for (i = 0; i < racks * net.hosts_count; i++)
		free(voqs[i].flows);
	free(voqs);
	free(grants);
	free(rack_of);
	free(messages);
}
