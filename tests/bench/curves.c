// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost against number: of flows whose packets take turns, of VOQs by which 100,000 flows leave, and of hops that a packet
 * tells of. As JSON. The method is that of prog.c: all points take turns in each round, the empty program is one of them.
 *
 *  1. Points of few flows are cold to the extent that other points' flows have evicted them; then all of them are touched
 *     once, so that everything that fits a cache is in it. Many flows fit no cache.
 *  2. VOQs: the same packets with VOQs and without, so that both include as many hosts.
 *  3. Hops: one flow, whose packets come in bursts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "run.h"

#define VOQ_FLOWS 100000
#define FLOW_HOSTS 64 /* at which the flows of the first curve end */
#define FIT_MAX 20000 /* flows that a cache may hold */
#define PACKETS (8 * BURST)

struct point {
	const char *curve;
	const char *name;
	unsigned int n;
	struct bench_case c;
	struct wire_spec wire;
	int makes; /* flows, or VOQs, that no other point makes */
	struct run run;
};

static struct point *points[64];
static unsigned int points_count;

static struct point *add(const char *curve, const char *name, unsigned int n, unsigned int flows, unsigned int hosts)
{
	struct point *p = calloc(1, sizeof(*p));
	const struct bench_case *c = bench_case_find(name);

	if (!p || !c || points_count == sizeof(points) / sizeof(points[0]))
		world_die(name);
	if (!world_program(c->program))
		return NULL;
	p->curve = curve;
	p->name = name;
	p->n = n;
	p->c = *c;
	p->run.c = &p->c;
	p->run.flows = flows;
	p->run.hosts = hosts;
	p->run.cold = flows > 1;
	p->run.settle = flows > 1 && flows <= FIT_MAX ? flows : BURST;
	p->makes =
		!strcmp(name, "edt_only") || !strcmp(name, "egress_data_voq") || flows == 1 || flows == RUN_FLOWS_MAX;
	points[points_count++] = p;
	return p;
}

/* The same case with packets that carry n hops. A hop is stamped behind those that exist. */
static void hops_set(struct point *p, unsigned int hops)
{
	unsigned int i;

	p->wire = *p->c.wire;
	for (i = 0; i < hops; i++)
		p->wire.hop[i] = p->wire.echo_hop[i] = 12ULL << 60;
	if (p->wire.echo)
		p->wire.echo_hops = hops;
	else
		p->wire.nhop = strcmp(p->name, "hop_map") ? hops : hops - 1;
	p->c.wire = &p->wire;
}

static void points_make(void)
{
	static const char *const by_flows[] = { "egress_data", "ingress_data", "edt_only" };
	static const char *const by_voqs[] = { "egress_data", "egress_data_voq" };
	static const char *const by_hops[] = { "hop_map", "ingress_data", "ingress_ack_feedback" };
	unsigned int i, n;
	struct point *p;

	add("empty", "empty", 1, 1, 1);
	for (n = 1000; n <= 1000000; n *= 10)
		for (i = 0; i < sizeof(by_flows) / sizeof(by_flows[0]); i++)
			add("flows", by_flows[i], n, n, FLOW_HOSTS);
	for (n = 10; n <= VOQ_FLOWS; n *= 10)
		for (i = 0; i < sizeof(by_voqs) / sizeof(by_voqs[0]); i++)
			add("voqs", by_voqs[i], n, VOQ_FLOWS, n);
	for (n = 1; n <= 5; n++)
		for (i = 0; i < sizeof(by_hops) / sizeof(by_hops[0]); i++) {
			p = add("hops", by_hops[i], n, 1, 1);
			if (p)
				hops_set(p, n);
		}
}

static void print(unsigned int rounds)
{
	struct utsname uts;
	unsigned int i;

	uname(&uts);
	printf("{\"kernel\":\"%s\",\"points\":[", uts.release);
	for (i = 0; i < points_count; i++) {
		printf("%s\n{\"curve\":\"%s\",\"case\":\"%s\",\"n\":%u,", i ? "," : "", points[i]->curve,
		       points[i]->name, points[i]->n);
		run_json(&points[i]->run, &points[0]->run, rounds);
		putchar('}');
	}
	puts("]}");
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 2 ? atoi(argv[1]) : 7, i, k;

	if (argc > 2 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench-curves [ROUNDS]\n");
		return 2;
	}
	/* Those of the first curve, and of each point of the second. */
	world_open(RUN_FLOWS_MAX + 5 * VOQ_FLOWS + 1000);
	points_make();
	for (i = 0; i < points_count; i++) {
		run_begin(&points[i]->run);
		if (points[i]->makes)
			run_flows_make(&points[i]->run);
	}
	for (k = 0; k < rounds; k++)
		for (i = 0; i < points_count; i++)
			run_round(&points[i]->run, k, PACKETS);
	print(rounds);
	world_close();
	return 0;
}
