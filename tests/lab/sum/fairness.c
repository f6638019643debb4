// SPDX-License-Identifier: GPL-2.0-only
/* Fairness among the flows of a run: Jain's index over windows of time. */
#include "sum.h"

#define FAIR_JAIN 0.95
#define FAIR_RTTS 5

/* Jain's index of the flows that were there for half of the bin or more; < 0: less than two were.
 */
static double jain_bin(const struct run *run, uint64_t from_us, uint64_t to_us)
{
	double rate[FLOWS_MAX];
	int i, count = 0;

	for (i = 0; i < (run->longs ? run->longs : run->flows); i++) {
		const struct flow *f = &run->flow[i];
		uint64_t from = max_u64(from_us, f->start_us);
		uint64_t to = f->end_us ? min_u64(to_us, f->end_us) : to_us;

		if (from < to && 2 * (to - from) >= to_us - from_us)
			rate[count++] = port_rate_bps(run, f->port, from, to);
	}
	return count < 2 ? -1 : jain(rate, count);
}

/* One number a second; the rest at the end counts from half a second on, or if it is all there
 * is. */
json_object *jain_seconds(const struct run *run)
{
	json_object *array = json_object_new_array();
	uint64_t from, to;

	for (from = run->from_us; from < run->to_us; from = to) {
		double index;

		to = min_u64(from + 1000000, run->to_us);
		if (to - from < 500000 && from != run->from_us)
			break;
		index = jain_bin(run, from, to);
		json_object_array_add(array, json_number(index < 0 ? 1 : index, 4));
	}
	return array;
}

/* Mean and least of Jain's indices of windows. */
struct jain_windows {
	double sum, min;
	int count;
};

static void jain_add(struct jain_windows *w, double index)
{
	if (index < 0)
		return;
	w->sum += index;
	w->min = !w->count || index < w->min ? index : w->min;
	w->count++;
}

static json_object *jain_json(const struct jain_windows *w)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "mean", json_number(w->count ? w->sum / w->count : 1, 4));
	json_object_object_add(object, "min", json_number(w->count ? w->min : 1, 4));
	return object;
}

json_object *jain_100ms(const struct run *run)
{
	struct jain_windows w = { 0 };
	uint64_t from;

	for (from = run->from_us; from + 100000 <= run->to_us; from += 100000)
		jain_add(&w, jain_bin(run, from, from + 100000));
	return jain_json(&w);
}

/* Of the long flow and the flow that joined it, over the windows, from its start on, that it is there for as
 * a whole; null where none stays for so long. */
json_object *jain_joined(const struct run *run)
{
	struct jain_windows w = { 0 };
	uint64_t from;
	int i;

	for (i = 0; i < run->flows; i++) {
		const struct flow *f = &run->flow[i];

		for (from = f->start_us; from + 100000 <= f->end_us; from += 100000) {
			double rate[] = { port_rate_bps(run, run->steady.port, from, from + 100000),
					  port_rate_bps(run, f->port, from, from + 100000) };

			jain_add(&w, jain(rate, 2));
		}
	}
	return w.count ? jain_json(&w) : NULL;
}

/*
 * Flows that start one after the other, all times in milliseconds. together: from the last start to
 * the first completion. fair: from the last start to the end of the first five RTTs over which, and
 * over every five that begin within the next five, Jain's index of the rates is 0.95 or more; null:
 * not while they were together. spread: from the first completion to the last.
 */
void fairness_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	uint64_t span_us = FAIR_RTTS * max_u64(run->base_us, lab->rtt_us), us;
	uint64_t start = 0, first = run->to_us, last = 0, since = 0, fair = 0;
	int i;

	for (i = 0; i < run->flows; i++) {
		uint64_t end = run->flow[i].end_us ? run->flow[i].end_us : run->to_us;

		start = max_u64(start, run->flow[i].start_us);
		first = min_u64(first, end);
		last = max_u64(last, end);
	}
	for (us = start; !fair && us + span_us <= first; us += 1000) {
		if (jain_bin(run, us, us + span_us) < FAIR_JAIN)
			since = 0;
		else if (!since)
			since = us;
		if (since && us - since >= span_us)
			fair = since + span_us;
	}
	json_object_object_add(object, "together_ms", json_number(first > start ? (first - start) / 1e3 : 0, 1));
	json_object_object_add(object, "fair_ms", fair ? json_number((fair - start) / 1e3, 1) : NULL);
	json_object_object_add(object, "spread_ms", json_number((last - first) / 1e3, 1));
}
