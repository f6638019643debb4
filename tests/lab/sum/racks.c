// SPDX-License-Identifier: GPL-2.0-only
/* LAB=racks and fabric: VOQs, bursts beside long flows, and a daemon that is killed. */
#include "sum.h"

#define MOUSE_BYTES 10000 /* RACKS_MOUSE */

/* When the first of the short flows of that size starts; the end of the run, if there is none. */
static uint64_t flows_start(const struct run *run, uint64_t bytes)
{
	int i;

	for (i = run->longs; i < run->flows; i++)
		if (run->flow[i].bytes == bytes)
			return run->flow[i].start_us;
	return run->to_us;
}

/* The sum of the long flows. */
static double longs_rate_bps(const struct run *run, uint64_t from_us, uint64_t to_us)
{
	double sum = 0;
	int i;

	for (i = 0; i < run->longs; i++)
		sum += port_rate_bps(run, i, from_us, to_us);
	return sum;
}

/*
 * The long flows beside the burst, by their rate over one base RTT: in the 100 ms before, the least of it, and
 * how long after the last short flow was complete it was back at 95 %: 0: at once, null: not again.
 */
void burst_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	uint64_t start = flows_start(run, lab->burst_bytes), end = 0, us, to = run->to_us;
	uint64_t span_us = max_u64(run->base_us, lab->rtt_us);
	double before = longs_rate_bps(run, start - 100000, start), lowest = before, rate;
	int i;

	for (i = run->longs; i < run->flows; i++)
		if (run->flow[i].bytes == lab->burst_bytes)
			end = max_u64(end, run->flow[i].end_us ? run->flow[i].end_us : run->to_us);
	if (lab->incast_bytes)
		to = flows_start(run, lab->incast_bytes);
	for (us = start; us + span_us <= run->to_us && us < end + 20 * span_us; us += 100) {
		rate = longs_rate_bps(run, us, us + span_us);
		lowest = rate < lowest ? rate : lowest;
	}
	for (us = end; us + span_us <= run->to_us; us += 100)
		if (longs_rate_bps(run, us, us + span_us) >= 0.95 * before)
			break;
	json_int(object, "queue_burst_max_bytes", queue_max(run, start, to));
	json_object_object_add(object, "burst_ms", json_number((end - start) / 1e3, 1));
	json_int(object, "long_before_bps", before);
	json_int(object, "long_lowest_bps", lowest);
	json_object_object_add(object, "long_back_ms",
			       us + span_us <= run->to_us ? json_number((us - end) / 1e3, 1) : NULL);
}

/* LAB=fabric: of the short flows of each kind, which are told by their size, and of the queue from the incast on. */
void fabric_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	json_object_object_add(object, "burst_us", fct_percentiles(run, lab->burst_bytes));
	json_object_object_add(object, "incast_us", fct_percentiles(run, lab->incast_bytes));
	json_object_object_add(object, "mice_us", fct_percentiles(run, MOUSE_BYTES));
	json_int(object, "queue_incast_max_bytes", queue_max(run, flows_start(run, lab->incast_bytes), run->to_us));
	json_int(object, "long_bps", longs_rate_bps(run, run->from_us, run->to_us));
}

/*
 * Each rack: what its long flows got, and the bytes in its VOQs that no credit covered. longs: how many each
 * has, in the order of the flows.
 */
json_object *racks_figures(const struct lab *lab, const struct run *run)
{
	uint64_t *values = calloc(run->voqs.rows + 1, sizeof(*values));
	json_object *array = json_object_new_array();
	char longs[256], *word, *save = NULL;
	uint64_t rack, k;
	int flow = 0;

	snprintf(longs, sizeof(longs), "%s", lab->longs);
	word = strtok_r(longs, " ", &save);
	for (rack = 0; rack < lab->racks; rack++, word = strtok_r(NULL, " ", &save)) {
		json_object *object = json_object_new_object();
		uint64_t count = word ? number_parse("longs", word) : 0;
		double rate = 0;
		size_t row, seen = 0;

		for (k = 0; k < count && flow < run->longs; k++, flow++)
			rate += port_rate_bps(run, flow, run->from_us, run->to_us);
		json_int(object, "flows", count);
		json_int(object, "rate_bps", rate);
		for (row = 0; row < run->voqs.rows; row++) {
			const uint64_t *cell = series_row(&run->voqs, row);

			if (cell[0] >= run->from_us && cell[0] <= run->to_us)
				values[seen++] = cell[1 + 3 * rack];
		}
		if (seen)
			json_object_object_add(object, "voq_bytes", json_percentiles(values, seen, 1));
		json_object_array_add(array, object);
	}
	free(values);
	return array;
}

/*
 * When, from a time on, a number of each rack that has long flows has been seen to grow, in all of them; in ms,
 * null: never. column: 1 credit, 2 packets without.
 */
static json_object *racks_grown_ms(const struct lab *lab, const struct run *run, int column, uint64_t from_us,
				   uint64_t to_us)
{
	uint64_t rack, last = 0, first_row = 0;
	char longs[256], *word, *save = NULL;

	while (first_row + 1 < run->voqs.rows && series_row(&run->voqs, first_row)[0] < from_us)
		first_row++;
	snprintf(longs, sizeof(longs), "%s", lab->longs);
	word = strtok_r(longs, " ", &save);
	for (rack = 0; rack < lab->racks; rack++, word = strtok_r(NULL, " ", &save)) {
		size_t row, cell = 1 + 3 * rack + column;

		if (!word || !number_parse("longs", word))
			continue;
		for (row = first_row; row < run->voqs.rows && series_row(&run->voqs, row)[0] <= to_us; row++)
			if (series_row(&run->voqs, row)[cell] > series_row(&run->voqs, first_row)[cell])
				break;
		if (row >= run->voqs.rows || series_row(&run->voqs, row)[0] > to_us)
			return NULL;
		last = max_u64(last, series_row(&run->voqs, row)[0]);
	}
	return last ? json_number((last - from_us) / 1e3, 1) : NULL;
}

/*
 * From the kill: until packets of all racks leave without credit, and the rate of all long flows while it is
 * dead. From when the daemon was started again, and from when it said that it is ready: until all have credit.
 * And the most that waited at the port from the kill on.
 */
void kill_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	uint64_t killed = run->killed[0], started = run->killed[1], ready = run->killed[2];

	json_object_object_add(object, "alone_ms", racks_grown_ms(lab, run, 2, killed, started));
	json_int(object, "dead_bps", longs_rate_bps(run, killed, started));
	json_object_object_add(object, "credited_ms", racks_grown_ms(lab, run, 1, ready, run->to_us));
	json_object_object_add(object, "restart_ms", json_number((ready - started) / 1e3, 1));
	json_int(object, "queue_kill_max_bytes", queue_max(run, killed, run->to_us));
}
