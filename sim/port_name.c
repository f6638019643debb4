// SPDX-License-Identifier: GPL-2.0-only
/* See port_name.h. */
#include <stdio.h>
#include <stdlib.h>
#include "sim/net.h"
#include "sim/port_name.h"

#define KINDS 4

static const char *const kinds[KINDS] = { "host", "leaf", "spine", "core" };
/* For each node: its distance to the nearest host, and its number within its kind. */
static uint32_t *far, *number;

static uint32_t kind_of(uint32_t node)
{
	return far[node] < KINDS ? far[node] : KINDS - 1;
}

static int has_neighbour(uint32_t node, uint32_t distance)
{
	const struct sim_node *n = &net.nodes[node];
	uint32_t i;

	for (i = 0; i < n->ports; i++)
		if (far[net.ports[net.ports[n->ports_first + i].peer].node] == distance)
			return 1;
	return 0;
}

void port_names_begin(void)
{
	uint32_t i, distance, left = net.nodes_count - net.hosts_count, count[KINDS] = { 0 };

	far = grow(NULL, net.nodes_count, sizeof(*far));
	number = grow(NULL, net.nodes_count, sizeof(*number));
	for (i = 0; i < net.nodes_count; i++)
		far[i] = net.nodes[i].is_host ? 0 : NONE;
	for (distance = 0; left; distance++)
		for (i = 0; i < net.nodes_count; i++)
			if (far[i] == NONE && has_neighbour(i, distance)) {
				far[i] = distance + 1;
				left--;
			}
	for (i = 0; i < net.nodes_count; i++)
		number[i] = count[kind_of(i)]++;
}

struct port_name port_name(uint32_t port)
{
	uint32_t node = net.ports[port].node, next = net.ports[net.ports[port].peer].node;
	struct port_name name;

	snprintf(name.text, sizeof(name.text), "%s-%u:%s-%u", kinds[kind_of(node)], number[node], kinds[kind_of(next)],
		 number[next]);
	return name;
}

void port_names_end(void)
{
	free(far);
	free(number);
}
