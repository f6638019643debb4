/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_MEASURE_ROOMS_H
#define SLUICE_SIM_MEASURE_ROOMS_H
/*
 * The parts of measure.h, one per measurement. A part with state begins before the run and ends after it; samples are
 * those between run.warmup and run.time.
 */
#include "sim/result.h"
#include "sim/scenario.h"

/* --- queues of the ports that run.queue names: measure_queues.c --- */

struct watched {
	uint32_t *ports, count;
};
extern struct watched watched;

/* Returns 0, or -1 with a message. */
int queues_begin(const struct scenario *s);
void queues_sample(void);
/* Notes the bytes that the ports have sent: at the end of the warm-up, and repeatedly until the end of run.time. */
void queues_count_sent(const struct scenario *s);
struct json_object *queues_result(void);
double queues_use(void); /* used share of the speed of these ports */
void queues_end(void);

/* --- latency: measure_latency.c --- */

void latency_begin(const struct scenario *s);
struct json_object *latency_result(void); /* of the packets that left their hosts between run.warmup and run.time */

/* --- fairness: measure_fair.c --- */

void fair_begin(const struct scenario *s);
void fair_sample(void);
struct json_object *fair_result(void); /* NULL: no two flows ran at once */
void fair_end(void);

/* --- recovery from a burst: measure_recovery.c --- */

void recovery_sample(const struct scenario *s);
/* "recovered_us", if the load has endless flows and others have flows that ended. */
void recovery_add(struct json_object *load, const struct scenario *s, uint32_t group);
void recovery_end(void);

/* --- computed at the end: measure_flows.c, measure_pauses.c --- */

struct json_object *load_result(const struct scenario *s, uint32_t group); /* NONE: all loads together */
struct json_object *pauses_result(void);

#endif
