// SPDX-License-Identifier: GPL-2.0-only
/* See memory.h. */
#include <stdio.h>
#include <unistd.h>
#include "lib/util.h"
#include "sim/flow.h"
#include "sim/grant.h"
#include "sim/histogram.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/voq.h"

#define LINK_BYTES 24 /* per link, while the network is built */
#define FLOW_BYTES 40 /* per flow: its first event, its place in the measurements */

static double have; /* bytes; 0: not determined yet */

/* The size of a network. */
struct extent {
	double hosts, racks, switches, links;
};

static struct extent extent_of(const struct scenario *s)
{
	double hosts = s->topology.hosts, leaves = s->topology.leaves, spines = s->topology.spines,
	       pods = s->topology.pods, cores = s->topology.cores;
	struct extent e = { .racks = 1 };

	switch (s->topology.kind) {
	case TOPOLOGY_STAR:
		break;
	case TOPOLOGY_DUMBBELL:
		e = (struct extent){ .racks = 2, .links = 1 };
		break;
	case TOPOLOGY_PARKING:
		e = (struct extent){ .racks = leaves, .links = leaves - 1 };
		break;
	case TOPOLOGY_LEAF_SPINE:
		e = (struct extent){ .racks = leaves, .switches = spines, .links = leaves * spines };
		break;
	case TOPOLOGY_FAT_TREE:
		e = (struct extent){ .racks = pods * leaves, .switches = pods * spines + cores };
		e.links = pods * (leaves * spines + cores);
		break;
	}
	e.hosts = e.racks * hosts;
	e.switches += e.racks;
	e.links += e.hosts;
	return e;
}

/* Available bytes; the total if the kernel does not report them. */
static double available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb ? kb * 1024.0 : sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

struct part {
	const char *what;
	double bytes;
	const char *advice;
};
enum { PART_PORTS, PART_ROUTES, PART_VOQS, PART_FLOWS, PARTS };

static void parts_of(const struct scenario *s, double flows, struct part parts[PARTS])
{
	struct extent e = extent_of(s);

	parts[PART_PORTS] = (struct part){
		"hosts and ports",
		/* A port with a queue uses a page of its histogram. */
		(e.hosts + e.switches) * sizeof(struct sim_node) +
			e.links * (2 * sizeof(struct sim_port) + LINK_BYTES) + e.hosts * 4096,
		"fewer topology.hosts, leaves or pods",
	};
	parts[PART_ROUTES] = (struct part){
		"routes, hosts times switches",
		e.hosts * e.switches * sizeof(struct route),
		"fewer topology.hosts, leaves or spines",
	};
	parts[PART_VOQS] = (struct part){
		"VOQs, hosts times racks",
		s->hiercc.mode == HIERCC_OFF ? 0 : voqs_memory(e.hosts, e.racks) + grants_memory(e.hosts, e.racks),
		"fewer topology.hosts or leaves, or hiercc.mode=off",
	};
	parts[PART_FLOWS] = (struct part){
		"flows",
		flows * (sizeof(struct sim_flow) + FLOW_BYTES),
		"a shorter run.time, less share, or a smaller count",
	};
}

int memory_check(const struct scenario *s, double flows)
{
	struct part parts[PARTS], *most = parts;
	double needed = 0;
	int i;

	have = have ?: available();
	parts_of(s, flows, parts);
	for (i = 0; i < PARTS; i++) {
		needed += parts[i].bytes;
		if (parts[i].bytes > most->bytes)
			most = &parts[i];
	}
	if (needed > have)
		msg("this needs %.1f GB of memory (%.1f GB for %s), and %.1f GB are available: write %s", needed / 1e9,
		    most->bytes / 1e9, most->what, have / 1e9, most->advice);
	else if (flows >= NONE)
		msg("%.3g flows are more than have a number: write %s", flows, parts[PART_FLOWS].advice);
	else
		return 0;
	return -1;
}
