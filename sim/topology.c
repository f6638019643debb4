// SPDX-License-Identifier: GPL-2.0-only
/* Networks described by a few words. */
#include <stdlib.h>
#include "lib/util.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/net.h"
#include "sim/scenario.h"

/* A switch with hosts. */
static uint32_t leaf(const struct scenario *s, uint32_t hosts)
{
	uint32_t sw = net_node(0, s->sw.buffer), i;

	for (i = 0; i < hosts; i++)
		net_join(net_node(1, 0), sw, s->topology.speed, s->topology.delay_ns);
	return sw;
}

static void up(const struct scenario *s, uint32_t a, uint32_t b, uint64_t bps)
{
	net_join(a, b, bps, s->topology.uplink_delay_ns);
}

static uint64_t uplink_bps(const struct scenario *s)
{
	return s->topology.uplink ?: s->topology.speed;
}

/* Two switches, and hosts at each. */
static void dumbbell(const struct scenario *s)
{
	uint32_t left = leaf(s, s->topology.hosts), right = leaf(s, s->topology.hosts);

	up(s, left, right, uplink_bps(s));
}

/* A chain of switches: a long flow passes all of them, others one link each. */
static void parking(const struct scenario *s)
{
	uint32_t i, last = leaf(s, s->topology.hosts), next;

	for (i = 1; i < s->topology.leaves; i++) {
		next = leaf(s, s->topology.hosts);
		up(s, last, next, uplink_bps(s));
		last = next;
	}
}

/* Joins leaves to each spine. spines[] gets the spines. */
static void leaves_and_spines(const struct scenario *s, uint32_t *spines)
{
	uint32_t i, k;

	for (k = 0; k < s->topology.spines; k++)
		spines[k] = net_node(0, s->sw.buffer);
	for (i = 0; i < s->topology.leaves; i++) {
		uint32_t l = leaf(s, s->topology.hosts);

		for (k = 0; k < s->topology.spines; k++)
			up(s, l, spines[k], uplink_bps(s));
	}
}

/*
 * Pods of leaves and spines; the cores are divided equally among the spines of a pod. HPCC, section 5.1: 5 pods of 4
 * leaves with 16 hosts each and 4 spines, 16 cores.
 */
static void fat_tree(const struct scenario *s)
{
	uint32_t each = s->topology.cores / s->topology.spines, pod, k, c;
	uint32_t *cores = grow(NULL, s->topology.cores, sizeof(*cores));
	uint32_t *spines = grow(NULL, s->topology.spines, sizeof(*spines));

	for (c = 0; c < s->topology.cores; c++)
		cores[c] = net_node(0, s->sw.buffer);
	for (pod = 0; pod < s->topology.pods; pod++) {
		leaves_and_spines(s, spines);
		for (k = 0; k < s->topology.spines; k++)
			for (c = 0; c < each; c++)
				up(s, spines[k], cores[k * each + c], s->topology.core ?: uplink_bps(s));
	}
	free(cores);
	free(spines);
}

int topology_build(const struct scenario *s)
{
	uint32_t *spines;

	if (s->topology.kind == TOPOLOGY_FAT_TREE && s->topology.cores % s->topology.spines) {
		msg("topology: cores %u are no multiple of spines %u: each spine of a pod has as many cores",
		    s->topology.cores, s->topology.spines);
		return -1;
	}
	switch (s->topology.kind) {
	case TOPOLOGY_STAR:
		leaf(s, s->topology.hosts);
		break;
	case TOPOLOGY_DUMBBELL:
		dumbbell(s);
		break;
	case TOPOLOGY_PARKING:
		parking(s);
		break;
	case TOPOLOGY_LEAF_SPINE:
		spines = grow(NULL, s->topology.spines, sizeof(*spines));
		leaves_and_spines(s, spines);
		free(spines);
		break;
	case TOPOLOGY_FAT_TREE:
		fat_tree(s);
		break;
	}
	if (net_build()) {
		msg("topology: a host cannot be reached from all others: it takes spines, and cores where there are pods");
		return -1;
	}
	return 0;
}

/* The one-way delay of `bytes` bytes, by the first of the shortest paths. */
static uint64_t way_ns(uint32_t from, uint32_t to, uint64_t bytes, uint32_t *hops)
{
	uint32_t port = net.nodes[net.hosts[from]].ports_first;
	uint64_t ns = 0;

	for (*hops = 0;; ++*hops) {
		const struct sim_port *p = &net.ports[port];
		uint32_t node = net.ports[p->peer].node;

		ns += p->delay_ns + port_time_ns(p, bytes);
		if (net.nodes[node].is_host)
			return ns;
		port = net.paths[net.nodes[node].routes[to].first];
	}
}

__u64 topology_rtt_ns(__u32 *hops)
{
	uint64_t most = 0, rtt;
	uint32_t to, h;

	*hops = 0;
	for (to = 1; to < net.hosts_count; to++) {
		rtt = way_ns(0, to, host_rules.payload + host_rules.header, &h) + way_ns(to, 0, host_rules.ack, &h);
		if (rtt > most) {
			most = rtt;
			*hops = h;
		}
	}
	return most;
}
