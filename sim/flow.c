// SPDX-License-Identifier: GPL-2.0-only
/* Flows: see flow.h. */
#include "sim/engine.h"
#include "sim/flow.h"

struct host_rules host_rules;
struct traffic traffic;

uint64_t flow_wire_bytes(uint64_t payload)
{
	return payload + (payload + host_rules.payload - 1) / host_rules.payload * host_rules.header;
}

uint64_t flow_inflight(const struct sim_flow *f)
{
	uint64_t out = flow_wire_bytes(f->snd_nxt) - flow_wire_bytes(f->snd_una);
	uint64_t away = flow_wire_bytes(f->sacked) + flow_wire_bytes(f->hole_end - f->hole);

	return out > away ? out - away : 0;
}

uint64_t flow_ideal_ns(const struct sim_flow *f)
{
	uint64_t slowest = NEVER_NS, total = 0, wire = flow_wire_bytes(f->size);
	uint64_t first = f->size < host_rules.payload ? wire : host_rules.payload + host_rules.header;
	uint32_t port = net.nodes[net.hosts[f->from]].ports_first, number = f - traffic.list;

	for (;;) {
		const struct sim_port *p = &net.ports[port];
		const struct sim_node *n = &net.nodes[net.ports[p->peer].node];

		slowest = p->bps < slowest ? p->bps : slowest;
		total += p->delay_ns + port_time_ns(p, first);
		if (n->is_host)
			break;
		port = net_port_to(net.ports[p->peer].node, f->to, number);
	}
	return total + (wire - first) * 8 * NS_PER_S / slowest;
}

uint32_t flow_add(uint32_t from, uint32_t to, uint64_t size, uint64_t start_ns, uint32_t group, uint32_t class)
{
	uint32_t i = traffic.count;
	struct sim_flow *f;

	traffic.list = list_add(traffic.list, &traffic.count, sizeof(*traffic.list));
	f = &traffic.list[i];
	f->from = from;
	f->to = to;
	f->size = size;
	f->start_ns = start_ns;
	f->group = group;
	f->class = class;
	f->next = NONE;
	traffic.endless += !size;
	if (start_ns != NEVER_NS)
		event_at(start_ns, EVENT_FLOW, i);
	return i;
}

uint32_t trigger_add(uint32_t waits)
{
	traffic.triggers = list_add(traffic.triggers, &traffic.triggers_count, sizeof(*traffic.triggers));
	traffic.triggers[traffic.triggers_count - 1] = (struct trigger){ .left = waits, .first = NONE };
	return traffic.triggers_count;
}

void trigger_starts(uint32_t trigger, uint32_t flow)
{
	struct trigger *t = &traffic.triggers[trigger - 1];

	traffic.list[flow].next = t->first;
	t->first = flow;
}

static void trigger_fire(struct trigger *t)
{
	uint32_t i;

	if (!t->left || --t->left)
		return;
	for (i = t->first; i != NONE; i = traffic.list[i].next) {
		traffic.list[i].start_ns = engine.now_ns;
		event_at(engine.now_ns, EVENT_FLOW, i);
	}
}

void flow_acknowledged(struct sim_flow *f)
{
	if (!f->size || f->snd_una < f->size || f->acked_ns)
		return;
	f->acked_ns = engine.now_ns;
	traffic.acked++;
	if (f->fires)
		trigger_fire(&traffic.triggers[f->fires - 1]);
}
