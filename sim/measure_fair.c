// SPDX-License-Identifier: GPL-2.0-only
/* Jain's index of the flows' received bytes: see measure_rooms.h. */
#include <math.h>
#include <stdlib.h>
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/measure_rooms.h"

#define JAIN_FAIR 0.95
#define JAIN_ROUNDS 10 /* samples averaged for a rate */
#define JAIN_HOLDS 5   /* means in a row after which the flows count as fair */

static const struct scenario *scenario;
static struct {
	struct {
		uint32_t flow;
		uint64_t before; /* bytes received, JAIN_ROUNDS samples ago */
	} * active;
	uint32_t count_active, known, rounds; /* known: flows of the list that were checked */
	double sum, count, least;
	uint32_t fair;	   /* means in a row above JAIN_FAIR */
	uint64_t since_ns; /* end of the first of them */
	uint64_t
		fair_ns; /* when the flows became fair after the last start, before any flow ended; NEVER_NS: not yet */
	uint64_t last_start_ns;
} jain;

void fair_begin(const struct scenario *s)
{
	scenario = s;
	jain.fair_ns = NEVER_NS;
	jain.least = 1;
}

/* Jain's index of the bytes that flows received since the last sample, while two or more are running. */
void fair_sample(void)
{
	double sum = 0, squares = 0, index, got;
	uint32_t i, left = 0, n = 0;

	if (++jain.rounds % JAIN_ROUNDS)
		return;
	for (; jain.known < traffic.count; jain.known++) {
		jain.active = list_add(jain.active, &jain.count_active, sizeof(*jain.active));
		jain.active[jain.count_active - 1].flow = jain.known;
	}
	for (i = 0; i < jain.count_active; i++) {
		const struct sim_flow *f = &traffic.list[jain.active[i].flow];

		if (f->done_ns)
			continue;
		got = f->rcv_nxt - jain.active[i].before;
		jain.active[left].flow = jain.active[i].flow;
		jain.active[left++].before = f->rcv_nxt;
		if (f->start_ns > engine.now_ns || f->start_ns + JAIN_ROUNDS * scenario->run.sample_ns > engine.now_ns)
			continue;
		sum += got;
		squares += got * got;
		n++;
		if (f->start_ns > jain.last_start_ns) {
			jain.last_start_ns = f->start_ns;
			jain.fair_ns = NEVER_NS;
			jain.fair = 0;
		}
	}
	jain.count_active = left;
	if (n < 2 || !squares)
		return;
	index = sum * sum / (squares * n);
	jain.sum += index;
	jain.count++;
	jain.least = fmin(jain.least, index);
	if (index < JAIN_FAIR)
		jain.fair = 0;
	else if (!jain.fair++)
		jain.since_ns = engine.now_ns;
	if (jain.fair == JAIN_HOLDS && jain.fair_ns == NEVER_NS && !traffic.done)
		jain.fair_ns = jain.since_ns;
}

struct json_object *fair_result(void)
{
	struct json_object *o;

	if (!jain.count)
		return NULL;
	o = json_object_new_object();
	result_number(o, "mean", jain.sum / jain.count);
	result_number(o, "least", jain.least);
	if (jain.fair_ns != NEVER_NS)
		result_number(o, "after_us", (jain.fair_ns - jain.last_start_ns) / 1e3);
	return o;
}

void fair_end(void)
{
	free(jain.active);
}
