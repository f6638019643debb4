/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_MEASURE_H
#define SLUICE_SIM_MEASURE_H
/*
 * The results: completion times of flows against the ideal (alone, at the speed of the path), queues, pauses, use of
 * ports, latency of packets, fairness.
 */
#include <json-c/json.h>
#include <stdint.h>
#include "sim/scenario.h"

/* Returns 0, or -1 with a message. */
int measure_begin(const struct scenario *s);
void measure_on_sample(uint32_t unused); /* EVENT_MEASURE */
void measure_on_data(uint64_t sent_ns);	 /* called when a data packet has arrived at its host */
struct json_object *measure_result(void);
void measure_print(struct json_object *result);
void measure_end(void);

#endif
