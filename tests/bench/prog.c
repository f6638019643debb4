// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of the data plane's programs for each packet, in nanoseconds. driver.bpf.c has the method.
 *
 *  1. Each case is measured warm, with bursts of one flow, and cold, with packets of many flows in turn whose state is in
 *     no cache.
 *  2. Each round goes through all cases and both modes, so that a disturbance falls on all of them. Of the rounds the
 *     median, the least and the spread (from the first quarter to the last) are printed.
 *  3. The empty program is one of the cases. "net" is the median of what a case cost beyond it in the same round.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "run.h"

#define COLD_FLOWS 16384
#define COLD_HOSTS 64
#define RUNS_MAX 256

static const char *const modes[] = { "warm", "cold" };
static struct run *runs[RUNS_MAX];
static unsigned int runs_count;

static struct run *base_of(const struct run *r)
{
	unsigned int i;

	for (i = 0; i < runs_count; i++)
		if (runs[i]->c == bench_case_empty(r->c) && runs[i]->cold == r->cold)
			return runs[i];
	return runs[0];
}

static void add(const struct bench_case *c, int cold)
{
	struct run *r = calloc(1, sizeof(*r));

	if (!r || runs_count == RUNS_MAX)
		world_die("memory for another case");
	r->c = c;
	r->cold = cold;
	r->flows = cold ? COLD_FLOWS : 1;
	r->hosts = cold ? COLD_HOSTS : 1;
	r->settle = BURST;
	runs[runs_count++] = r;
}

/* All cases that this kernel can load, or those whose names begin with only, with their empty program. */
static void runs_make(const char *only)
{
	unsigned int i, cold;

	for (i = 0; i < bench_cases_count; i++) {
		const struct bench_case *c = &bench_cases[i];

		if (!world_program(c->program) ||
		    (only && c != bench_case_empty(c) && strncmp(c->name, only, strlen(only))))
			continue;
		for (cold = 0; cold < 2; cold++)
			add(c, cold);
	}
}

static void print_json(unsigned int rounds, unsigned int packets)
{
	struct utsname uts;
	unsigned int i;

	uname(&uts);
	printf("{\"kernel\":\"%s\",\"rounds\":%u,\"packets\":%u,\"cold_flows\":%u,\"cases\":[", uts.release, rounds,
	       packets, COLD_FLOWS);
	for (i = 0; i < runs_count; i++) {
		printf("%s\n{\"case\":\"%s\",\"mode\":\"%s\",\"what\":\"%s\",", i ? "," : "", runs[i]->c->name,
		       modes[runs[i]->cold], runs[i]->c->what);
		run_json(runs[i], base_of(runs[i]), rounds);
		putchar('}');
	}
	puts("]}");
}

static void print_table(unsigned int rounds, unsigned int packets)
{
	unsigned int i, k;

	printf("%-28s | %23s | %23s | %u rounds of %u packets; ns a packet\n", "", "warm", "cold", rounds, packets);
	printf("%-28s | %7s %7s %7s | %7s %7s %7s |\n", "case", "median", "net", "spread", "median", "net", "spread");
	for (i = 0; i + 1 < runs_count; i += 2) {
		printf("%-28s |", runs[i]->c->name);
		for (k = i; k < i + 2; k++) {
			double net = run_net(runs[k], base_of(runs[k]), rounds), v[ROUNDS_MAX];

			memcpy(v, runs[k]->ns, sizeof(v));
			printf(" %7.0f %7.0f %7.0f |", median_of(v, rounds), net, spread_of(v, rounds));
		}
		printf(" %s\n", runs[i]->c->what);
	}
}

static const char usage[] = "usage: bench-prog [--json] [--rounds N] [--packets N] [--only PREFIX]\n"
			    "--only: the cases whose names begin so\n";

/* Returns whether to go on. */
static int options_parse(int argc, char **argv, unsigned int *rounds, unsigned int *packets, const char **only,
			 int *json)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },	     { "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'p' }, { "only", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },	     {},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "jr:p:o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			*json = 1;
			break;
		case 'r':
			*rounds = atoi(optarg);
			break;
		case 'p':
			*packets = atoi(optarg);
			break;
		case 'o':
			*only = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			return 0;
		}
	}
	return optind == argc && *rounds >= 1 && *rounds <= ROUNDS_MAX && *packets >= BURST && *packets <= 1000000;
}

int main(int argc, char **argv)
{
	unsigned int rounds = 11, packets = 8 * BURST, i, k;
	const char *only = NULL;
	int json = 0;

	if (!options_parse(argc, argv, &rounds, &packets, &only, &json)) {
		fprintf(stderr, "%s1 to %d rounds of %d to 1000000 packets\n", usage, ROUNDS_MAX, BURST);
		return 2;
	}
	world_open(8 * COLD_FLOWS);
	runs_make(only);
	for (i = 0; i < runs_count; i++) {
		run_begin(runs[i]);
		run_flows_make(runs[i]);
	}
	for (k = 0; k < rounds; k++)
		for (i = 0; i < runs_count; i++)
			run_round(runs[i], k, packets);
	(json ? print_json : print_table)(rounds, packets);
	world_close();
	return 0;
}
