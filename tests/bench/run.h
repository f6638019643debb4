/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RUN_H
#define RUN_H
/* One case with n flows, measured again and again. */
#include "cases.h"

#define ROUNDS_MAX 1000
#define RUN_FLOWS_MAX 1000000

struct run {
	const struct bench_case *c;
	unsigned int flows;  /* whose packets take turns, */
	unsigned int hosts;  /*   number of their addresses */
	unsigned int settle; /* packets in front of those that count */
	int cold;	     /* and before these all caches are emptied */

	struct frame frame;
	unsigned int at_host[2],
		at_port; /* what names the flow: an address (twice where there are two headers), and a port */
	unsigned int at_moves;
	__u32 turn;	       /* packets until now */
	struct flow_key first; /* flow 0 */
	double ns[ROUNDS_MAX]; /* of each round */
};

void run_begin(struct run *r);
/* Makes its flows, with what they know after a first packet. */
void run_flows_make(struct run *r);
/* A round of n packets; bursts are whole. */
void run_round(struct run *r, unsigned int round, unsigned int packets);

/* These sort v. */
double median_of(double *v, unsigned int n);
/* Between the first and the last quarter. */
double spread_of(double *v, unsigned int n);
/* The median of what r costs beyond base, round by round. */
double run_net(const struct run *r, const struct run *base, unsigned int rounds);
/* The median, least and spread of r as members of JSON. */
void run_json(const struct run *r, const struct run *base, unsigned int rounds);

#endif
