// SPDX-License-Identifier: GPL-2.0-only
/* See rack.h. */
#include <stdlib.h>
#include "sim/engine.h"
#include "sim/rack.h"

#define MESSAGE_BYTES 100

struct credit_rules credit_rules;
struct sim_racks racks;

uint32_t rack_leaf(uint32_t host)
{
	return net.ports[net.ports[net.nodes[net.hosts[host]].ports_first].peer].node;
}

int rack_has_port(uint32_t node, uint32_t port)
{
	const struct sim_node *next = &net.nodes[net.ports[net.ports[port].peer].node];

	return !net.nodes[node].is_host && next->is_host;
}

/* The delay between the racks that are furthest apart, without the hosts' links. */
static uint64_t racks_way_ns(void)
{
	uint32_t port, to = net.hosts_count - 1, node = rack_leaf(0);
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

	racks.rack_of = grow(NULL, net.hosts_count, sizeof(*racks.rack_of));
	for (i = 0; i < net.hosts_count; i++) {
		leaf = rack_leaf(i);
		racks.count += leaf != last; /* hosts of a leaf are numbered consecutively */
		racks.rack_of[i] = racks.count - 1;
		if (leaf != last)
			event_at(1, EVENT_GRANT, leaf);
		last = leaf;
	}
}

static void params_begin(const struct sim_port *p, uint64_t rate)
{
	uint64_t rtt_ns = 2 * racks.message_ns, period_ns = credit_rules.period_ns + credit_rules.late_ns / 2;

	if (credit_rules.arrival)
		hiercc_params_arrival(&racks.params, rate, rtt_ns, 2 * port_time_ns(p, rules.frame), period_ns);
	else
		hiercc_params_init(&racks.params, rate, rtt_ns, credit_rules.period_ns + credit_rules.late_ns / 2);
	if (credit_rules.c0)
		hiercc_params_c0(&racks.params, credit_rules.c0);
}

void racks_begin(void)
{
	const struct sim_port *p = &net.ports[net.nodes[net.hosts[0]].ports_first];

	if (!credit_rules.on)
		return;
	racks_number();
	racks.message_ns = racks_way_ns();
	params_begin(p, p->bps / 8);
}

void racks_end(void)
{
	free(racks.rack_of);
}
