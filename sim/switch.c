// SPDX-License-Identifier: GPL-2.0-only
/* A switch's work on a packet: buffer, ECN, PFC and telemetry. See net.h. */
#include <stdlib.h>
#include "sim/engine.h"
#include "sim/grant.h"
#include "sim/predict.h"
#include "sim/rack.h"
#include "sim/switch.h"
#include "sim/voq.h"

#define PAUSE_BYTES 84 /* a PFC frame with its FCS, preamble and gap */

/* --- telemetry --- */

static void stamp(struct sim_port *p, struct sim_packet *packet)
{
	if (rules.stamp_none || !packet->carries || !packet->class || packet->hops >= HPCC_MAX_HOPS)
		return;
	if (credit_rules.on && credit_rules.port_free && rack_has_port(p->node, p - net.ports) && packet->voq_flows)
		return;
	/* Bytes that came in for a port are those that have left it, plus those that still wait. */
	packet->hop[packet->hops++] = telem_pack(p->speed, engine.now_ns, p->tx_bytes + (rules.rx_rate ? p->bytes : 0),
						 p->queue[packet->class].bytes);
	packet->path_id ^= p->id;
}

/* --- ECN --- */

/* RED by the queue, with thresholds in proportion to the speed. */
static int is_marked(const struct sim_port *p, const struct sim_packet *packet)
{
	double queue = p->queue[packet->class].bytes, least = rules.ecn_min * (p->bps / 25e9),
	       most = rules.ecn_max * (p->bps / 25e9);

	if (!rules.ecn || queue <= least)
		return 0;
	return queue > most || random_part() < (queue - least) / (most - least) * rules.ecn_most;
}

/* --- pauses --- */

/* A frame under way. It does not share the wire with data, so data does not delay it. */
struct pause {
	uint32_t port, class; /* port and class that have to obey */
	uint32_t quanta;
	uint32_t next; /* next of the frames that have arrived */
};
static struct pause *pauses;
static uint32_t pauses_count, pauses_free = NONE;
static uint64_t round_spent_ns; /* time spent on pauses in the current round */

static void pause_send(struct sim_port *p, uint32_t class, uint64_t ns)
{
	uint32_t i = pauses_free;

	if (i != NONE) {
		pauses_free = pauses[i].next;
	} else {
		i = pauses_count;
		pauses = list_add(pauses, &pauses_count, sizeof(*pauses));
	}
	pauses[i] = (struct pause){ .port = p->peer, .class = class, .quanta = pfc_ns_quanta(ns, p->bps) };
	event_at(engine.now_ns + round_spent_ns + p->delay_ns + port_time_ns(p, PAUSE_BYTES), EVENT_PAUSE, i);
	round_spent_ns += rules.round_ns ? rules.round_cost_ns : 0;
}

/* Undoes the accounting of a pause that now ends at another time. */
void net_on_pause(uint32_t i)
{
	struct pause f = pauses[i];
	struct sim_port *p = &net.ports[f.port];
	struct pfc_obey *o = &p->obey[f.class];

	pauses[i].next = pauses_free;
	pauses_free = i;
	if (o->until_ns > engine.now_ns)
		p->paused_ns[f.class] -= o->until_ns - engine.now_ns;
	pfc_hear(o, &p->obey_params, engine.now_ns, f.quanta);
	if (o->until_ns > engine.now_ns) {
		p->paused_ns[f.class] += o->until_ns - engine.now_ns;
		event_at(o->until_ns, EVENT_KICK, f.port);
	} else {
		port_kick(f.port);
	}
}

static uint64_t buffer_free(const struct sim_node *n)
{
	return n->used_bytes < n->buffer_bytes ? n->buffer_bytes - n->used_bytes : 0;
}

/* Pauses or resumes the neighbour at an ingress port, by its counter; no resume while headroom is in use. */
static void pause_decide(struct sim_port *in, uint32_t class)
{
	uint64_t free = in->over_bytes[class] ? 0 : buffer_free(&net.nodes[in->node]);
	__u64 ns;

	switch (pfc_ingress(&in->told[class], &in->pfc, engine.now_ns, in->in_bytes[class], free, &ns)) {
	case PFC_NOTHING:
		return;
	case PFC_XOFF:
		in->xoffs++;
		break;
	case PFC_XON:
		in->xons++;
		break;
	case PFC_REFRESH:
		break;
	}
	pause_send(in, class, ns);
}

/* A packet has entered a queue. The frame to its neighbour is made from it, and leaves at once. */
static void pause_at_arrival(const struct sim_port *out, struct sim_port *in, uint32_t class)
{
	if (rules.predict)
		predict_arrival(out, in, class, buffer_free(&net.nodes[in->node]), pause_send);
	pause_decide(in, class);
	round_spent_ns = 0;
}

/* The least time that a pause of a port of the switch holds: it has to be repeated before that. */
static uint64_t pause_least_ns(const struct sim_node *n)
{
	uint64_t least = NEVER_NS;
	uint32_t i;

	for (i = 0; i < n->ports; i++)
		if (net.ports[n->ports_first + i].pfc.pause_ns < least)
			least = net.ports[n->ports_first + i].pfc.pause_ns;
	return least;
}

void net_on_round(uint32_t node)
{
	struct sim_node *n = &net.nodes[node];
	uint32_t i, c;

	round_spent_ns = 0;
	if (rules.predict && !rules.arrival)
		predict_round(node, buffer_free(n), pause_send);
	for (i = 0; i < n->ports; i++)
		for (c = 1; c < CLASSES; c++)
			if (rules.round_ns || net.ports[n->ports_first + i].told[c].xoff)
				pause_decide(&net.ports[n->ports_first + i], c);
	round_spent_ns = 0;
	event_at(engine.now_ns + (rules.round_ns ? rules.round_ns + (uint64_t)(random_part() * rules.round_late_ns) :
						   pause_least_ns(n) / 4),
		 EVENT_SWITCH, node);
}

/* --- buffer --- */

/* Takes the packet into the buffer. Returns whether there is room. */
static int buffer_take(struct sim_node *n, struct sim_port *in, const struct sim_port *out, const struct sim_packet *p)
{
	uint64_t free = buffer_free(n);
	uint32_t c = p->class;

	if (rules.pfc && (in->told[c].xoff || free < p->bytes)) {
		if (in->over_bytes[c] + p->bytes > in->headroom)
			return 0;
		in->over_bytes[c] += p->bytes;
		if (in->over_bytes[c] > in->over_peak)
			in->over_peak = in->over_bytes[c];
	} else {
		if (!rules.pfc && (out->queue[c].bytes + p->bytes > free * rules.alpha || free < p->bytes))
			return 0;
		n->used_bytes += p->bytes;
		if (n->used_bytes > n->peak_bytes)
			n->peak_bytes = n->used_bytes;
	}
	in->in_bytes[c] += p->bytes;
	if (rules.predict)
		predict_count(out, in, c, p->bytes);
	return 1;
}

static void buffer_leave(struct sim_node *n, struct sim_port *in, const struct sim_port *out,
			 const struct sim_packet *p)
{
	uint32_t over = in->over_bytes[p->class] < p->bytes ? in->over_bytes[p->class] : p->bytes;

	in->over_bytes[p->class] -= over;
	n->used_bytes -= p->bytes - over;
	in->in_bytes[p->class] -= p->bytes;
	if (rules.predict)
		predict_count(out, in, p->class, -(int32_t)p->bytes);
}

static void queue_put(struct sim_port *p, uint32_t i)
{
	struct sim_packet *packet = &net.packets[i];
	struct sim_queue *q = &p->queue[packet->class];

	packet->next = NONE;
	if (q->first == NONE)
		q->first = i;
	else
		net.packets[q->last].next = i;
	q->last = i;
	q->bytes += packet->bytes;
	p->bytes += packet->bytes;
	if (p->bytes > p->peak_bytes)
		p->peak_bytes = p->bytes;
}

/* The packet enters the queue of its port. */
static void switch_enqueue(uint32_t egress, uint32_t i)
{
	struct sim_packet *packet = &net.packets[i];
	struct sim_port *out = &net.ports[egress];

	if (packet->class && is_marked(out, packet)) {
		packet->ce = 1;
		net.marked++;
	}
	if (rules.stamp_enqueue)
		stamp(out, packet);
	queue_put(out, i);
	port_kick(egress);
}

void switch_receive(uint32_t node, uint32_t ingress, uint32_t i)
{
	struct sim_packet *packet = &net.packets[i];
	uint32_t egress = net_port_to(node, packet->to, packet->flow);
	struct sim_port *in = &net.ports[ingress];
	struct sim_node *n = &net.nodes[node];

	packet->ingress = ingress;
	if (packet->class) {
		if (!buffer_take(n, in, &net.ports[egress], packet)) {
			n->dropped++;
			net.dropped++;
			packet_free(i);
			return;
		}
		if (rules.arrival)
			pause_at_arrival(&net.ports[egress], in, packet->class);
		grant_arrival(node, packet);
		if (voq_holds(node, i))
			return;
	} else {
		grant_passes(node, packet);
	}
	switch_enqueue(egress, i);
}

void net_on_voq(uint32_t i)
{
	const struct sim_packet *packet = &net.packets[i];
	uint32_t node = net.ports[packet->ingress].node;

	voq_leave(packet);
	switch_enqueue(net_port_to(node, packet->to, packet->flow), i);
}

void switch_sent(uint32_t port, struct sim_packet *packet)
{
	struct sim_port *p = &net.ports[port], *in = &net.ports[packet->ingress];

	if (!packet->class)
		return;
	buffer_leave(&net.nodes[p->node], in, p, packet);
	if (rules.pfc && !rules.round_ns && in->told[packet->class].xoff)
		pause_decide(in, packet->class);
	if (!rules.stamp_enqueue)
		stamp(p, packet);
}

void switches_begin(void)
{
	uint32_t i;

	for (i = 0; i < net.ports_count; i++) {
		struct sim_port *p = &net.ports[i];

		p->speed = telem_speed_fit(p->bps);
		pfc_obey_init(&p->obey_params, p->bps);
		pfc_params_init(&p->pfc, net.nodes[p->node].buffer_bytes, p->bps, rules.frame, rules.round_ns);
		p->pfc.alpha = rules.alpha * Q24_ONE;
		p->headroom = pfc_headroom(p->bps, 2 * p->delay_ns,
					   rules.arrival ? 0 : rules.round_ns + rules.round_late_ns, rules.frame);
	}
	if (rules.predict)
		predict_begin();
	for (i = 0; rules.pfc && i < net.nodes_count; i++)
		if (!net.nodes[i].is_host)
			event_at(rules.round_ns, EVENT_SWITCH, i);
}
