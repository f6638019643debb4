/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CASES_H
#define CASES_H
/* One measurement: a program, the packets that it gets, and the scene that it finds. One row of cases.c each. */
#include "packet.h"
#include "world.h"

/* Fields that advance with each packet: the clocks of two hops, if present, or S of the VOQ. */
enum moves { MOVES_NOTHING, MOVES_ECHO, MOVES_TELEM, MOVES_VOQ };

struct bench_case {
	const char *name;
	const char *what;
	const char *program;
	enum sluice_stat stat; /* that its packets end in; STAT_MAX: it counts nothing */
	struct ip_spec ip;
	const struct wire_spec *wire; /* NULL: a packet without our headers */
	const struct int_spec *intmd; /* NULL: without INT-MD */
	enum moves moves;
	int arp; /* and not ip */
	int xdp;
	int companion; /* the packet's, and not the packet */
	int inside; /* the test run's own packet, which has a socket, and no clone of it */
	struct settings scene;
};

extern const struct bench_case bench_cases[];
extern const unsigned int bench_cases_count;

/* NULL: there is none of that name. */
const struct bench_case *bench_case_find(const char *name);
/* The empty program at the hook of c. */
const struct bench_case *bench_case_empty(const struct bench_case *c);

#endif
