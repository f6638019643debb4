// SPDX-License-Identifier: GPL-2.0-only
/* Flows that end: their completion times, and what the long flow has while they come and go. */
#include "sum.h"

json_object *fct_figures(const struct run *run)
{
	json_object *array = json_object_new_array();
	int i;

	for (i = run->longs; run->finite && i < run->flows; i++) {
		const struct flow *f = &run->flow[i];

		json_object_array_add(array,
				      f->end_us && !f->lost ? json_number((f->end_us - f->start_us) / 1e3, 3) : NULL);
	}
	return array;
}

/* Percentiles of the completion times of all short flows, or of those of one size, in microseconds, and how many there are. */
json_object *fct_percentiles(const struct run *run, uint64_t bytes)
{
	uint64_t *values = calloc(run->flows, sizeof(*values));
	json_object *object;
	size_t count = 0, all = 0;
	int i;

	for (i = run->longs; i < run->flows; i++) {
		if (bytes && run->flow[i].bytes != bytes)
			continue;
		all++;
		if (run->flow[i].end_us)
			values[count++] = run->flow[i].end_us - run->flow[i].start_us;
	}
	object = json_percentiles(values, count, 1);
	json_int(object, "count", count);
	json_int(object, "all", all);
	free(values);
	return object;
}

/* When each flow would end if all that are there shared the port evenly, in microseconds of
 * transmission. */
static void sharing_simulate(const struct lab *lab, const struct run *run, double *fct_us)
{
	double left[FLOWS_MAX], now = run->zero_us, bytes_per_us;
	int i, done = 0;

	bytes_per_us = lab->rate_bps / 8e6 * PACKET_PAYLOAD / PACKET_WIRE;
	for (i = 0; i < run->flows; i++)
		left[i] = run->flow[i].bytes;
	while (done < run->flows) {
		double next = 1e300, share;
		int active = 0;

		for (i = 0; i < run->flows; i++)
			active += left[i] > 0 && run->flow[i].start_us <= now;
		share = bytes_per_us / (active ? active : 1);
		for (i = 0; i < run->flows; i++) {
			double event = run->flow[i].start_us > now ? run->flow[i].start_us : now + left[i] / share;

			if (left[i] > 0 && event < next)
				next = event;
		}
		for (i = 0; i < run->flows; i++) {
			if (left[i] <= 0 || run->flow[i].start_us > now)
				continue;
			left[i] -= share * (next - now);
			if (left[i] < 1e-3) {
				left[i] = 0;
				fct_us[i] = next - run->flow[i].start_us;
				done++;
			}
		}
		now = next;
	}
}

json_object *slowdown_figures(const struct lab *lab, const struct run *run)
{
	json_object *object = json_object_new_object();
	double ideal[FLOWS_MAX], min = 1e300, max = 0, sum = 0;
	int i, count = 0;

	sharing_simulate(lab, run, ideal);
	for (i = 0; i < run->flows; i++) {
		double slowdown;

		if (!run->flow[i].end_us || run->flow[i].lost)
			continue;
		slowdown = (run->flow[i].end_us - run->flow[i].start_us) / ideal[i];
		min = slowdown < min ? slowdown : min;
		max = slowdown > max ? slowdown : max;
		sum += slowdown;
		count++;
	}
	json_object_object_add(object, "min", json_number(count ? min : 0, 4));
	json_object_object_add(object, "mean", json_number(count ? sum / count : 0, 4));
	json_object_object_add(object, "max", json_number(max, 4));
	return object;
}

/*
 * After each joiner left, the bottleneck carries nothing but the long flow (and the probe). How
 * long until it has 95 % of the rate of the half second before the first joined, over one base RTT
 * from that moment on; 0: at once, null: not again.
 */
json_object *recovery_figures(const struct lab *lab, const struct run *run, double *before_bps)
{
	json_object *array = json_object_new_array();
	uint64_t span_us = max_u64(run->base_us, lab->rtt_us), us, limit, first = run->flow[0].start_us;
	int i;

	*before_bps = queue_rate_bps(run, 0, max_u64(run->from_us, first - 500000), first);
	for (i = 0; i < run->flows; i++) {
		uint64_t left = run->flow[i].end_us;

		limit = (i + 1 < run->flows ? run->flow[i + 1].start_us : run->to_us) - span_us;
		for (us = left; left && us <= limit; us += 100)
			if (queue_rate_bps(run, 0, us, us + span_us) >= 0.95 * *before_bps)
				break;
		json_object_array_add(array, left && us <= limit ? json_number((us - left) / 1e3, 1) : NULL);
	}
	return array;
}
