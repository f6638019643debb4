// SPDX-License-Identifier: GPL-2.0-only
/* Durations of flows: see measure_rooms.h. */
#include <math.h>
#include <stdlib.h>
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/measure_rooms.h"

#define SHORT_BYTES 100e3 /* flows below this size are short */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double percentile(const double *sorted, uint32_t n, double part)
{
	uint32_t i = ceil(part * n);

	return n ? sorted[i ? i - 1 : 0] : NAN;
}

/* Whether a flow belongs to that load; NONE: to any. */
static int is_of(const struct sim_flow *f, uint32_t group)
{
	return group == NONE || f->group == group;
}

/* Slowdown of the flows of a group whose size is in [from, to). */
static struct json_object *slowdown_result(const struct scenario *s, uint32_t group, double from, double to)
{
	struct json_object *o = json_object_new_object();
	double *list = grow(NULL, traffic.count ?: 1, sizeof(*list)), sum = 0;
	uint32_t i, n = 0;

	for (i = 0; i < traffic.count; i++) {
		const struct sim_flow *f = &traffic.list[i];

		if (!is_of(f, group) || !f->done_ns || f->size < from || f->size >= to ||
		    f->start_ns < s->run.warmup_ns)
			continue;
		list[n] = (f->done_ns - f->start_ns) / (double)flow_ideal_ns(f);
		sum += list[n++];
	}
	qsort(list, n, sizeof(*list), compare);
	result_count(o, "flows", n);
	if (n) {
		result_number(o, "mean", sum / n);
		result_number(o, "p50", percentile(list, n, 0.5));
		result_number(o, "p95", percentile(list, n, 0.95));
		result_number(o, "p99", percentile(list, n, 0.99));
		result_number(o, "p999", percentile(list, n, 0.999));
		result_number(o, "max", list[n - 1]);
	}
	free(list);
	return o;
}

struct json_object *load_result(const struct scenario *s, uint32_t group)
{
	static const double edges[] = { 0, 3e3, 10e3, 30e3, 100e3, 300e3, 1e6, 3e6, 10e6, INFINITY };
	struct json_object *o = json_object_new_object(), *by_size = json_object_new_array(), *one;
	uint64_t first = NEVER_NS, last = 0, begun = NEVER_NS, bytes = 0, acked_first = NEVER_NS, acked_last = 0;
	uint32_t i, n = 0, done = 0;

	for (i = 0; i < traffic.count; i++) {
		const struct sim_flow *f = &traffic.list[i];

		if (!is_of(f, group))
			continue;
		n++;
		bytes += f->rcv_nxt;
		begun = f->start_ns < begun ? f->start_ns : begun;
		if (!f->done_ns)
			continue;
		done++;
		first = f->done_ns < first ? f->done_ns : first;
		last = f->done_ns > last ? f->done_ns : last;
		if (!f->acked_ns)
			continue;
		acked_first = f->acked_ns < acked_first ? f->acked_ns : acked_first;
		acked_last = f->acked_ns > acked_last ? f->acked_ns : acked_last;
	}
	if (group != NONE)
		json_object_object_add(o, "name", json_object_new_string(s->loads[group].name));
	result_count(o, "flows", n);
	result_count(o, "done", done);
	result_count(o, "received_bytes", bytes);
	if (done) {
		result_number(o, "first_done_us", (first - begun) / 1e3);
		result_number(o, "last_done_us", (last - begun) / 1e3);
	}
	if (acked_last) {
		result_number(o, "first_acked_us", (acked_first - begun) / 1e3);
		result_number(o, "last_acked_us", (acked_last - begun) / 1e3);
	}
	recovery_add(o, s, group);
	json_object_object_add(o, "slowdown", slowdown_result(s, group, 0, INFINITY));
	json_object_object_add(o, "slowdown_short", slowdown_result(s, group, 0, SHORT_BYTES));
	json_object_object_add(o, "slowdown_long", slowdown_result(s, group, SHORT_BYTES, INFINITY));
	for (i = 0; edges[i] < INFINITY; i++) {
		one = slowdown_result(s, group, edges[i], edges[i + 1]);
		result_count(one, "from_bytes", edges[i]);
		json_object_array_add(by_size, one);
	}
	json_object_object_add(o, "slowdown_by_size", by_size);
	return o;
}
