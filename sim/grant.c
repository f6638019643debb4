// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credit at the receiver's leaf. See rack.h.
 *
 *  1. grant_arrival(): a packet is noted, and with `arrival` its port grants what is due by then, as BPF would
 *     (hiercc_ring.h).
 *  2. grant_passes(): totals ride on packets back to a rack.
 *  3. A VOQ that gets credit at another's packet, and was told nothing lately, is sent a message made from that packet.
 *  4. grant_on_round(): the round of the daemon. With `arrival` it is the second line: it grants the credit that
 *     packets have left over, and tells racks without packets back.
 */
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/grant.h"
#include "sim/rack.h"
#include "sim/result.h"
#include "sim/voq.h"

/* The credit of a host, due to each rack. */
struct grants {
	struct hiercc_port port;
	struct hiercc_ring ring;
	struct hiercc_due *due;	  /* by rack */
	struct hiercc_seen *seen; /* by rack */
	struct hiercc_told *told; /* by rack */
	uint64_t round_ns;
};

struct message {
	uint32_t rack, host, total, due;
	uint16_t at;
	uint32_t next; /* next of the messages that have arrived */
};

static struct grants *grants;
static struct message *messages;
static uint32_t messages_count, messages_free = NONE;
static uint64_t messages_sent, totals_ridden;
static uint64_t spent_ns; /* time spent on messages in the current round */

static int is_between_racks(const struct sim_flow *f)
{
	return racks.rack_of[f->from] != racks.rack_of[f->to];
}

static void message_send(uint32_t host, uint32_t rack, uint64_t late_ns)
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
	event_at(engine.now_ns + spent_ns + racks.message_ns + late_ns, EVENT_CREDIT, i);
}

static void total_told(uint32_t host, uint32_t rack)
{
	hiercc_told(&grants[host].told[rack], &grants[host].due[rack], engine.now_ns);
}

/* Sends a message, which may be lost, repeated or late. */
static void voq_tell(uint32_t host, uint32_t rack)
{
	int late = credit_rules.reorder && random_part() < credit_rules.reorder, times = 1;

	total_told(host, rack);
	if (random_part() < credit_rules.lose)
		return;
	times += random_part() < credit_rules.repeat;
	while (times--) {
		message_send(host, rack, late ? 3 * credit_rules.period_ns : 0);
		spent_ns += credit_rules.cost_ns;
		messages_sent++;
	}
}

void grant_on_message(uint32_t i)
{
	const struct message m = messages[i];

	messages[i].next = messages_free;
	messages_free = i;
	voq_credit(m.rack, m.host, m.total, m.due, m.at);
}

/* --- at packet arrival --- */

/* Grants by at most `steps` turns; tells one VOQ at a time that has not heard of its credit for long. */
static void ring_grant(uint32_t host, uint32_t steps)
{
	struct grants *g = &grants[host];
	uint32_t i;

	while (steps-- && (i = hiercc_ring_next(&g->ring)) != HIERCC_NONE) {
		hiercc_ring_grant(&g->ring, &g->due[i], i);
		hiercc_ring_note(&g->ring, &g->told[i], i);
	}
	i = hiercc_ring_untold(&g->ring);
	if (i != HIERCC_NONE &&
	    hiercc_ring_tells(&g->ring, &g->due[i], &g->told[i], engine.now_ns, racks.params.window_ns / HIERCC_QUIET))
		voq_tell(host, i);
}

void grant_arrival(uint32_t node, const struct sim_packet *p)
{
	uint32_t rack, host = p->to;
	struct grants *g;

	if (!credit_rules.on)
		return;
	rack = racks.rack_of[traffic.list[p->flow].from];
	if (rack == racks.rack_of[host] || rack_leaf(host) != node)
		return;
	g = &grants[host];
	hiercc_see(&g->seen[rack], p->voq_total, p->voq_flows, p->bytes, 1, racks.params.debt_max);
	if (!credit_rules.arrival || !hiercc_ring_enter(&g->ring, engine.now_ns))
		return;
	spent_ns = 0;
	if (hiercc_ring_leased(&g->ring, engine.now_ns)) {
		hiercc_ring_clock(&g->ring, engine.now_ns, p->bytes);
		hiercc_ring_learn(&g->ring, &g->due[rack], rack, &racks.params, &g->seen[rack], engine.now_ns);
		ring_grant(host, HIERCC_STEPS);
	}
	hiercc_ring_leave(&g->ring, engine.now_ns);
}

/* A packet going back also triggers grants: so the port continues while nothing arrives at this leaf. */
static void ring_turn(uint32_t host)
{
	struct grants *g = &grants[host];

	if (!hiercc_ring_enter(&g->ring, engine.now_ns))
		return;
	spent_ns = 0;
	if (hiercc_ring_leased(&g->ring, engine.now_ns)) {
		hiercc_ring_clock(&g->ring, engine.now_ns, 0);
		ring_grant(host, HIERCC_STEPS);
	}
	hiercc_ring_leave(&g->ring, engine.now_ns);
}

void grant_passes(uint32_t node, struct sim_packet *p)
{
	const struct sim_flow *f = &traffic.list[p->flow];
	uint32_t rack;

	if (!credit_rules.on || !credit_rules.arrival || !is_between_racks(f))
		return;
	rack = racks.rack_of[f->from];
	if (p->credit && rack_leaf(f->from) == node) {
		p->credit = 0;
		voq_credit(rack, f->to, p->credit_total, p->credit_due, p->credit_at);
	} else if (rack_leaf(f->to) == node && grants[f->to].due[rack].sent) {
		const struct hiercc_due *d = &grants[f->to].due[rack];

		ring_turn(f->to);
		total_told(f->to, rack);
		totals_ridden++;
		p->credit = random_part() >= credit_rules.lose;
		p->credit_total = d->granted;
		p->credit_due = d->listed;
		p->credit_at = engine.now_ns / HIERCC_AT_NS;
		spent_ns = 0;
		if (p->credit && random_part() < credit_rules.repeat)
			message_send(f->to, rack, 0);
		if (p->credit && random_part() < credit_rules.reorder) {
			p->credit = 0;
			message_send(f->to, rack, 3 * credit_rules.period_ns);
		}
	}
}

/* --- the daemon --- */

/* One round for one host: judges the notes, deals out credit, and tells racks that sent lately. */
static void host_grant(uint32_t host)
{
	struct grants *g = &grants[host];
	uint32_t i;

	hiercc_budget(&g->port, engine.now_ns - g->round_ns);
	g->round_ns = engine.now_ns;
	for (i = 0; i < racks.count; i++)
		if (g->seen[i].bytes)
			hiercc_learn(&g->port, g->due, i, &racks.params, &g->seen[i], engine.now_ns);
	while (hiercc_grant(&g->port, g->due) != HIERCC_NONE)
		;
	for (i = 0; i < racks.count; i++)
		if (g->due[i].sent && engine.now_ns - g->due[i].epoch_ns <= 2 * racks.params.epoch_ns)
			voq_tell(host, i);
}

/* The same when packets grant: renews the lease, and tells racks without packets back. */
static void host_repair(uint32_t host)
{
	struct grants *g = &grants[host];
	uint32_t i;

	g->ring.lease_ns = engine.now_ns + 4 * (credit_rules.period_ns + credit_rules.late_ns);
	if (!hiercc_ring_enter(&g->ring, engine.now_ns))
		return;
	hiercc_ring_clock(&g->ring, engine.now_ns, 0);
	for (i = 0; i < racks.count; i++)
		if (g->seen[i].bytes)
			hiercc_ring_learn(&g->ring, &g->due[i], i, &racks.params, &g->seen[i], engine.now_ns);
	ring_grant(host, HIERCC_RING);
	hiercc_ring_leave(&g->ring, engine.now_ns);
	for (i = 0; i < racks.count; i++)
		if (g->due[i].sent && (g->due[i].granted != g->told[i].granted || g->due[i].listed) &&
		    engine.now_ns - g->told[i].at_ns >= racks.params.window_ns)
			voq_tell(host, i);
}

void grant_on_round(uint32_t node)
{
	uint32_t i;

	spent_ns = 0;
	for (i = 0; i < net.hosts_count; i++)
		if (rack_leaf(i) == node && credit_rules.arrival)
			host_repair(i);
		else if (rack_leaf(i) == node)
			host_grant(i);
	event_at(engine.now_ns + credit_rules.period_ns + (uint64_t)(random_part() * credit_rules.late_ns), EVENT_GRANT,
		 node);
}

/* --- all --- */

void grants_result(struct json_object *o)
{
	uint64_t away = 0, jumps = 0;
	uint32_t i;

	for (i = 0; i < net.hosts_count; i++) {
		away += grants[i].ring.turned_away;
		jumps += grants[i].ring.jumps;
	}
	result_count(o, "messages", messages_sent);
	result_count(o, "totals_ridden", totals_ridden);
	result_count(o, "turned_away", away);
	result_count(o, "late_clocks", jumps);
}

double grants_memory(double hosts, double leaves)
{
	return hosts * leaves * (sizeof(struct hiercc_due) + sizeof(struct hiercc_seen) + sizeof(struct hiercc_told)) +
	       hosts * sizeof(struct grants);
}

static void *by_rack(size_t size)
{
	void *list = grow(NULL, racks.count, size);

	memset(list, 0, racks.count * size);
	return list;
}

void grants_begin(void)
{
	uint32_t i;

	if (!credit_rules.on)
		return;
	grants = grow(NULL, net.hosts_count, sizeof(*grants));
	for (i = 0; i < net.hosts_count; i++) {
		const struct sim_port *p = &net.ports[net.nodes[net.hosts[i]].ports_first];
		double rate = p->bps / 8.0 * credit_rules.eta;

		grants[i] = (struct grants){ .due = by_rack(sizeof(struct hiercc_due)),
					     .seen = by_rack(sizeof(struct hiercc_seen)),
					     .told = by_rack(sizeof(struct hiercc_told)) };
		hiercc_port_init(&grants[i].port, rate);
		hiercc_ring_init(&grants[i].ring, rate, credit_rules.period_ns + credit_rules.late_ns,
				 racks.params.delta);
	}
}

void grants_end(void)
{
	uint32_t i;

	if (!credit_rules.on)
		return;
	for (i = 0; i < net.hosts_count; i++) {
		free(grants[i].due);
		free(grants[i].seen);
		free(grants[i].told);
	}
	free(grants);
	free(messages);
}
