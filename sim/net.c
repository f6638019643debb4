// SPDX-License-Identifier: GPL-2.0-only
/* Nodes, links and paths, the pool of packets, and ports that send: see net.h. */
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/net.h"
#include "sluice/wire/telemetry.h"

struct link {
	uint32_t a, b;
	uint64_t bps, delay_ns;
};

struct sim_net net;
struct net_ends net_ends;
struct switch_rules rules;
static struct link *links;
static uint32_t links_count;

/* --- building --- */

uint32_t net_node(int is_host, uint64_t buffer_bytes)
{
	uint32_t i = net.nodes_count;
	struct sim_node *n;

	net.nodes = list_add(net.nodes, &net.nodes_count, sizeof(*net.nodes));
	n = &net.nodes[i];
	n->is_host = is_host;
	n->buffer_bytes = buffer_bytes;
	n->number = is_host ? net.hosts_count : i - net.hosts_count;
	if (is_host) {
		net.hosts = list_add(net.hosts, &net.hosts_count, sizeof(*net.hosts));
		net.hosts[n->number] = i;
	}
	return i;
}

void net_join(uint32_t a, uint32_t b, uint64_t bps, uint64_t delay_ns)
{
	links = list_add(links, &links_count, sizeof(*links));
	links[links_count - 1] = (struct link){ a, b, bps, delay_ns };
	net.nodes[a].ports++;
	net.nodes[b].ports++;
}

static void port_begin(uint32_t i, uint32_t node, uint32_t peer, const struct link *l)
{
	struct sim_port *p = &net.ports[i];
	int c;

	*p = (struct sim_port){ .node = node, .peer = peer, .bps = l->bps, .delay_ns = l->delay_ns };
	p->sending = p->wire_first = p->wire_last = NONE;
	p->turn = 1;
	p->id = i;
	for (c = 0; c < CLASSES; c++)
		p->queue[c] = (struct sim_queue){ .first = NONE, .last = NONE, .weight = 1 };
}

static void ports_lay(void)
{
	uint32_t i, at = 0, *used = grow(NULL, net.nodes_count, sizeof(*used));

	for (i = 0; i < net.nodes_count; i++) {
		net.nodes[i].ports_first = at;
		used[i] = at;
		at += net.nodes[i].ports;
	}
	net.ports_count = at;
	net.ports = grow(NULL, at, sizeof(*net.ports));
	for (i = 0; i < links_count; i++) {
		const struct link *l = &links[i];
		uint32_t a = used[l->a]++, b = used[l->b]++;

		port_begin(a, l->a, b, l);
		port_begin(b, l->b, a, l);
	}
	free(used);
}

/* Most switches have the same ports for a host as for the previous one: then both routes share the older list. */
static void route_share(struct route *r, const struct route *before)
{
	if (r->count != before->count ||
	    memcmp(&net.paths[r->first], &net.paths[before->first], r->count * sizeof(*net.paths)))
		return;
	net.paths_count -= r->count;
	r->first = before->first;
}

/* Breadth-first from the host: each switch takes the ports whose neighbours are one hop nearer. */
static int routes_to(uint32_t host, uint32_t *distance, uint32_t *order)
{
	uint32_t i, k, n, head = 0, tail = 0, start = net.hosts[host];
	struct route *r;

	for (i = 0; i < net.nodes_count; i++)
		distance[i] = NONE;
	distance[start] = 0;
	order[tail++] = start;
	while (head < tail) {
		n = order[head++];
		if (n != start && net.nodes[n].is_host)
			continue; /* hosts forward nothing */
		for (k = 0; k < net.nodes[n].ports; k++) {
			uint32_t next = net.ports[net.ports[net.nodes[n].ports_first + k].peer].node;

			if (distance[next] == NONE) {
				distance[next] = distance[n] + 1;
				order[tail++] = next;
			}
		}
	}
	if (tail < net.nodes_count)
		return -1;
	for (i = 0; i < net.nodes_count; i++) {
		if (net.nodes[i].is_host)
			continue;
		r = &net.nodes[i].routes[host];
		r->first = net.paths_count;
		for (k = 0; k < net.nodes[i].ports; k++) {
			uint32_t port = net.nodes[i].ports_first + k, next = net.ports[net.ports[port].peer].node;

			if (distance[next] + 1 != distance[i] || (net.nodes[next].is_host && next != start))
				continue;
			net.paths = list_add(net.paths, &net.paths_count, sizeof(*net.paths));
			net.paths[net.paths_count - 1] = port;
			r->count++;
		}
		if (host)
			route_share(r, r - 1);
	}
	return 0;
}

int net_build(void)
{
	uint32_t i, *distance, *order;
	int err = 0;

	ports_lay();
	for (i = 0; i < net.nodes_count; i++) {
		if (net.nodes[i].is_host)
			continue;
		net.nodes[i].routes = grow(NULL, net.hosts_count, sizeof(struct route));
		memset(net.nodes[i].routes, 0, net.hosts_count * sizeof(struct route));
	}
	distance = grow(NULL, net.nodes_count, sizeof(*distance));
	order = grow(NULL, net.nodes_count, sizeof(*order));
	for (i = 0; i < net.hosts_count && !err; i++)
		err = routes_to(i, distance, order);
	free(distance);
	free(order);
	net.packets_free = NONE;
	return err;
}

void net_free(void)
{
	uint32_t i;

	for (i = 0; i < net.nodes_count; i++)
		free(net.nodes[i].routes);
	free(net.nodes);
	free(net.ports);
	free(net.packets);
	free(net.hosts);
	free(net.paths);
	free(links);
	net = (struct sim_net){};
	links = NULL;
	links_count = 0;
}

uint32_t net_port_to(uint32_t node, uint32_t host, uint32_t flow)
{
	const struct route *r = &net.nodes[node].routes[host];
	uint64_t h;

	if (r->count == 1)
		return net.paths[r->first];
	/* A different hash at each switch, or all flows that share one choice share all of them. */
	h = (flow + 1) * 0x9e3779b97f4a7c15ULL ^ (node + 1) * 0xc2b2ae3d27d4eb4fULL;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ULL;
	return net.paths[r->first + (h >> 32) % r->count];
}

/* --- packets --- */

uint32_t packet_new(void)
{
	uint32_t i = net.packets_free;

	if (i != NONE) {
		net.packets_free = net.packets[i].next;
		memset(&net.packets[i], 0, sizeof(*net.packets));
	} else {
		i = net.packets_count;
		net.packets = list_add(net.packets, &net.packets_count, sizeof(*net.packets));
	}
	net.packets[i].next = NONE;
	return i;
}

void packet_free(uint32_t p)
{
	net.packets[p].next = net.packets_free;
	net.packets_free = p;
}

/* --- ports --- */

static uint64_t port_time_ps(const struct sim_port *p, uint64_t bytes)
{
	return bytes * 8 * NS_PER_S * 1000 / p->bps;
}

uint64_t port_time_ns(const struct sim_port *p, uint64_t bytes)
{
	return (port_time_ps(p, bytes) + 999) / 1000;
}

int port_is_paused(const struct sim_port *p, uint32_t class)
{
	return p->obey[class].until_ns > engine.now_ns;
}

/* Takes the next packet of the queues: control first, then data by deficit round robin. */
static uint32_t queue_next(struct sim_port *p)
{
	struct sim_queue *q = &p->queue[0];
	uint32_t i, tries;

	if (q->first == NONE) {
		for (tries = 0; tries < 2 * CLASSES; tries++) {
			q = &p->queue[p->turn];
			if (q->first != NONE && !port_is_paused(p, p->turn) &&
			    q->deficit >= net.packets[q->first].bytes)
				break;
			if (q->first == NONE)
				q->deficit = 0;
			p->turn = p->turn % (CLASSES - 1) + 1;
			q = &p->queue[p->turn];
			if (q->first != NONE)
				q->deficit += q->weight * 16384;
			q = NULL;
		}
		if (!q)
			return NONE;
		q->deficit -= net.packets[q->first].bytes;
	}
	i = q->first;
	q->first = net.packets[i].next;
	if (q->first == NONE)
		q->last = NONE;
	q->bytes -= net.packets[i].bytes;
	p->bytes -= net.packets[i].bytes;
	return i;
}

static void wire_put(uint32_t port, uint32_t i, uint64_t left_ns)
{
	struct sim_port *p = &net.ports[port];

	net.packets[i].next = NONE;
	net.packets[i].due_ns = left_ns + p->delay_ns;
	if (p->wire_first == NONE) {
		p->wire_first = i;
		event_at(net.packets[i].due_ns, EVENT_WIRE, port);
	} else {
		net.packets[p->wire_last].next = i;
	}
	p->wire_last = i;
}

/*
 * Sends one packet if the port is free. It is on the wire from now on, and arrives with its last bit; EVENT_FREE comes
 * when that has left, if a packet waits by then.
 */
void port_kick(uint32_t port)
{
	struct sim_port *p = &net.ports[port];
	int is_host = net.nodes[p->node].is_host;
	uint64_t start_ps = engine.now_ns * 1000, left_ns;
	uint32_t i;

	if (p->free_ps > start_ps) {
		if (!p->waking) {
			p->waking = 1;
			event_at((p->free_ps + 999) / 1000, EVENT_FREE, port);
		}
		return;
	}
	i = is_host ? net_ends.host_next(net.nodes[p->node].number) : queue_next(p);
	if (i == NONE)
		return;
	p = &net.ports[port];
	/* Back to back, the last packet's fraction of a nanosecond is not lost. */
	if (p->free_ps + 1000 > start_ps && p->free_ps < start_ps)
		start_ps = p->free_ps;
	p->free_ps = start_ps + port_time_ps(p, net.packets[i].bytes);
	left_ns = (p->free_ps + 999) / 1000;
	if (!is_host)
		net_ends.switch_sent(port, &net.packets[i]);
	p->tx_bytes += net.packets[i].bytes;
	wire_put(port, i, left_ns);
	if (!p->waking && (is_host || p->bytes)) {
		p->waking = 1;
		event_at(left_ns, EVENT_FREE, port);
	}
}

void net_on_free(uint32_t port)
{
	net.ports[port].waking = 0;
	port_kick(port);
}

void net_on_wire(uint32_t port)
{
	struct sim_port *p = &net.ports[port];
	uint32_t i = p->wire_first, peer = p->peer;
	const struct sim_node *n = &net.nodes[net.ports[peer].node];

	p->wire_first = net.packets[i].next;
	if (p->wire_first == NONE)
		p->wire_last = NONE;
	else
		event_at(net.packets[p->wire_first].due_ns, EVENT_WIRE, port);
	if (n->is_host)
		net_ends.host_receive(n->number, i);
	else
		net_ends.switch_receive(net.ports[peer].node, peer, i);
}
