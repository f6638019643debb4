// SPDX-License-Identifier: GPL-2.0-only
/*
 * See topology_file.h.
 *
 *  1. The file is read: Nodes, Tiers and Podsize, then the keys of each tier, from the leaves up.
 *  2. A value that is missing, or contradicts another one, is refused with its line.
 *  3. Two tiers are a leaf-spine, three a fat tree, whose spines divide the cores among them.
 */
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include "sim/engine.h"
#include "sim/lines.h"
#include "sim/topology_file.h"

#define TIERS_LEAST 2
#define TIERS_MOST 3
#define BPS_PER_GBPS 1000000000ULL

struct number {
	uint64_t is;
	unsigned int line; /* 0: the file lacks it */
};

struct tier {
	struct number speed, down, up, latency, inside, bundle, oversubscribed;
	unsigned int line;
};

struct topology_file {
	struct number nodes, tiers, podsize;
	struct tier tier[TIERS_MOST];
};

struct key {
	const char *name;
	size_t at; /* in struct topology_file, or in struct tier */
	uint64_t least, most;
	const char *advice; /* NULL: the range */
};

#define KEY(type, title, member, from, to, what)                                                       \
	{                                                                                              \
		.name = title, .at = offsetof(type, member), .least = from, .most = to, .advice = what \
	}

static const struct key head_keys[] = {
	KEY(struct topology_file, "Nodes", nodes, 2, 100000, NULL),
	KEY(struct topology_file, "Tiers", tiers, TIERS_LEAST, TIERS_MOST, NULL),
	KEY(struct topology_file, "Podsize", podsize, 1, 100000, NULL),
	{},
};

/* Oversubscribed is what the numbers of ports say already, and is not used. */
static const struct key tier_keys[] = {
	KEY(struct tier, "Downlink_speed_Gbps", speed, 1, 1000, NULL),
	KEY(struct tier, "Radix_Down", down, 1, 10000, NULL),
	KEY(struct tier, "Radix_Up", up, 1, 10000, NULL),
	KEY(struct tier, "Downlink_Latency_ns", latency, 0, 1000000000, NULL),
	KEY(struct tier, "Switch_Latency_ns", inside, 0, 0,
	    "switches take no time of their own here: write 0, and add it to Downlink_Latency_ns"),
	KEY(struct tier, "Bundle", bundle, 1, 1, "one link joins two switches here: write 1"),
	KEY(struct tier, "Oversubscribed", oversubscribed, 1, 10000, NULL),
	{},
};

/* --- 1. --- */

static int value_take(const struct lines *l, const struct key *keys, void *of)
{
	const struct key *k = keys;
	struct number *n;

	while (k->name && strcasecmp(k->name, l->word[0]))
		k++;
	if (!k->name)
		return lines_bad(l, l->number, "'%s' is not a key %s: remove the line, or correct its name", l->word[0],
				 keys == head_keys ? "before the first tier" : "of a tier");
	n = (struct number *)((char *)of + k->at);
	if (n->line)
		return lines_bad(l, l->number, "%s is in line %u already: remove one of them", k->name, n->line);
	if (l->words != 2 || lines_number(l->word[1], k->least, k->most, &n->is)) {
		if (k->advice)
			return lines_bad(l, l->number, "%s: %s", k->name, k->advice);
		return lines_bad(l, l->number, "not a number from %llu to %llu: write for example '%s %llu'",
				 (unsigned long long)k->least, (unsigned long long)k->most, k->name,
				 (unsigned long long)k->least);
	}
	n->line = l->number;
	return 0;
}

/* The line of "Tier 1". Returns 0 and the tier, or -1 with a message. */
static int tier_take(const struct lines *l, struct topology_file *f, struct tier **tier)
{
	uint64_t number;

	if (!f->tiers.line)
		return lines_bad(l, l->number, "a tier before the number of them: write 'Tiers 2' above it");
	if (l->words != 2 || lines_number(l->word[1], 0, f->tiers.is - 1, &number))
		return lines_bad(l, l->number, "not a tier from 0 to %u: write for example 'Tier 0'",
				 (unsigned int)f->tiers.is - 1);
	*tier = &f->tier[number];
	if ((*tier)->line)
		return lines_bad(l, l->number, "tier %u is in line %u already: remove one of them",
				 (unsigned int)number, (*tier)->line);
	(*tier)->line = l->number;
	return 0;
}

static int file_take(struct lines *l, struct topology_file *f)
{
	struct tier *tier = NULL;
	int next = 0, err = 0;

	while (!err && (next = lines_next(l)) == 1) {
		if (!strcasecmp(l->word[0], "Tier"))
			err = tier_take(l, f, &tier);
		else
			err = tier ? value_take(l, tier_keys, tier) : value_take(l, head_keys, f);
	}
	return err ?: next;
}

/* --- 2. --- */

static int is_missing(const struct lines *l, const struct number *n, unsigned int line, const char *name)
{
	if (!n->line)
		lines_bad(l, line, "%s is missing: write it below this line", name);
	return !n->line;
}

static int tier_check(const struct lines *l, const struct topology_file *f, unsigned int number)
{
	const struct tier *t = &f->tier[number];
	int top = number == f->tiers.is - 1;

	if (!t->line)
		return lines_bad(l, f->tiers.line, "tier %u is missing: write 'Tier %u' and its keys", number, number);
	if (is_missing(l, &t->speed, t->line, "Downlink_speed_Gbps") ||
	    is_missing(l, &t->down, t->line, "Radix_Down") ||
	    is_missing(l, &t->latency, t->line, "Downlink_Latency_ns") ||
	    (!top && is_missing(l, &t->up, t->line, "Radix_Up")))
		return -1;
	if (top && t->up.line)
		return lines_bad(l, t->up.line, "the highest tier has no ports up: remove the line");
	return 0;
}

/* Each switch of a tier above the leaves has one port for each part below it. */
static int radix_check(const struct lines *l, const struct tier *t, uint64_t parts, const char *what)
{
	if (t->down.is == parts)
		return 0;
	return lines_bad(l, t->down.line, "Radix_Down %u, and %u %s are below: write 'Radix_Down %u'",
			 (unsigned int)t->down.is, (unsigned int)parts, what, (unsigned int)parts);
}

static int file_check(const struct lines *l, const struct topology_file *f)
{
	uint64_t hosts, pod = f->podsize.is;
	unsigned int i;

	if (is_missing(l, &f->nodes, 1, "Nodes") || is_missing(l, &f->tiers, 1, "Tiers") ||
	    is_missing(l, &f->podsize, 1, "Podsize"))
		return -1;
	for (i = 0; i < f->tiers.is; i++)
		if (tier_check(l, f, i))
			return -1;
	hosts = f->tier[0].down.is;
	if (pod % hosts)
		return lines_bad(l, f->podsize.line,
				 "Podsize %u: write a multiple of the %u hosts of a leaf, its Radix_Down",
				 (unsigned int)pod, (unsigned int)hosts);
	if (f->tiers.is == 2 && f->nodes.is != pod)
		return lines_bad(l, f->podsize.line, "two tiers are one pod of all %u nodes: write 'Podsize %u'",
				 (unsigned int)f->nodes.is, (unsigned int)f->nodes.is);
	if (f->nodes.is % pod)
		return lines_bad(l, f->podsize.line, "Podsize %u: write a divisor of %u, the Nodes", (unsigned int)pod,
				 (unsigned int)f->nodes.is);
	if (radix_check(l, &f->tier[1], pod / hosts, "leaves of a pod"))
		return -1;
	if (f->tiers.is == 2)
		return 0;
	if (f->tier[2].latency.is != f->tier[1].latency.is)
		return lines_bad(l, f->tier[2].latency.line,
				 "all links between switches have one delay here: write %u, that of tier 1",
				 (unsigned int)f->tier[1].latency.is);
	return radix_check(l, &f->tier[2], f->nodes.is / pod, "pods");
}

/* --- 3. --- */

static void file_apply(const struct topology_file *f, struct scenario *s)
{
	const struct tier *leaf = &f->tier[0], *spine = &f->tier[1], *core = &f->tier[2];

	s->topology.kind = f->tiers.is == 2 ? TOPOLOGY_LEAF_SPINE : TOPOLOGY_FAT_TREE;
	s->topology.hosts = leaf->down.is;
	s->topology.leaves = f->podsize.is / leaf->down.is;
	s->topology.spines = leaf->up.is;
	s->topology.pods = f->nodes.is / f->podsize.is;
	s->topology.cores = leaf->up.is * spine->up.is;
	s->topology.speed = leaf->speed.is * BPS_PER_GBPS;
	s->topology.uplink = spine->speed.is * BPS_PER_GBPS;
	s->topology.core = core->speed.is * BPS_PER_GBPS;
	s->topology.delay_ns = leaf->latency.is;
	s->topology.uplink_delay_ns = spine->latency.is;
}

int topology_file_read(const char *path, struct scenario *s)
{
	struct topology_file f = {};
	struct lines l;
	int err;

	if (lines_open(&l, path, "topology"))
		return -1;
	err = file_take(&l, &f) ?: file_check(&l, &f);
	lines_close(&l);
	if (!err)
		file_apply(&f, s);
	return err;
}
