// SPDX-License-Identifier: GPL-2.0-only
/* The queues of a run: what waited, what left and what was dropped. */
#include "sum.h"

#define GOVERNED_PACKETS 16
#define GOVERNED_FOR_US 100000

/* The part of its rate that a bottleneck sends: less is no traffic, more is no bottleneck. A short run sends its tokens, too. */
#define USED_LEAST 0.01
#define USED_MOST 1.1

json_object *queue_figures(const struct run *run, int queue, uint64_t *start_max)
{
	uint64_t *values = calloc(run->queue.rows, sizeof(*values));
	json_object *object;
	size_t row, count = 0;

	*start_max = 0;
	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] >= run->from_us && cell[0] <= run->to_us)
			values[count++] = cell[1 + 3 * queue];
		else if (cell[0] >= run->zero_us && cell[0] < run->from_us)
			*start_max = max_u64(*start_max, cell[1 + 3 * queue]);
	}
	object = json_percentiles(values, count, 1);
	free(values);
	return object;
}

double queue_rate_bps(const struct run *run, int queue, uint64_t from_us, uint64_t to_us)
{
	size_t column = 1 + 3 * queue + 1;

	return (series_at(&run->queue, column, to_us) - series_at(&run->queue, column, from_us)) * 8e6 /
	       (to_us - from_us);
}

int queues_hold(const struct lab *lab, const struct run *run)
{
	char names[512], *name, *save = NULL;
	int queue = 0, wrong = 0;
	double used;

	snprintf(names, sizeof(names), "%s", run->port_names);
	for (name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save), queue++) {
		used = queue_rate_bps(run, queue, run->from_us, run->to_us) / lab->rate_bps;
		if (used >= USED_LEAST && used <= USED_MOST)
			continue;
		fprintf(stderr,
			used < USED_LEAST ?
				"lab-sum: %s: the bottleneck %s was idle or not read: it sent %.2f %% of its rate\n" :
				"lab-sum: %s: the bottleneck %s held nothing back: it sent %.0f %% of its rate\n",
			run->cc, name, used * 100);
		wrong = 1;
	}
	return wrong ? -1 : 0;
}

uint64_t queue_drops(const struct run *run, int queue)
{
	size_t column = 1 + 3 * queue + 2;

	return series_row(&run->queue, run->queue.rows - 1)[column] - series_row(&run->queue, 0)[column];
}

uint64_t queue_settled_us(const struct run *run, int queue, uint64_t bytes)
{
	uint64_t peak = 0, settled = 0;
	size_t row;

	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] < run->zero_us)
			continue;
		if (cell[1 + 3 * queue] > peak) {
			peak = cell[1 + 3 * queue];
			settled = 0;
		}
		if (!settled && cell[1 + 3 * queue] <= bytes)
			settled = cell[0];
	}
	return settled ? settled - run->zero_us : 0;
}

uint64_t queue_max(const struct run *run, uint64_t from_us, uint64_t to_us)
{
	uint64_t most = 0;
	size_t row;

	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] >= from_us && cell[0] <= to_us)
			most = max_u64(most, cell[1]);
	}
	return most;
}

/*
 * After attaching late: how long until the queue stays below 16 packets for 100 ms (null: never),
 * and for what share of the time from there to the end it does. A small share was a lull, not
 * control.
 */
void governed_figures(json_object *object, const struct run *run)
{
	uint64_t since = 0, governed = 0;
	size_t row, below = 0, all = 0;

	for (row = 0; run->attached_us && row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);
		int low = cell[1] < GOVERNED_PACKETS * PACKET_WIRE;

		if (cell[0] < run->attached_us)
			continue;
		if (!low && !governed)
			since = below = all = 0;
		else if (!since)
			since = cell[0];
		if (since && cell[0] - since >= GOVERNED_FOR_US)
			governed = since;
		below += since && low;
		all += since != 0;
	}
	json_object_object_add(object, "governed_ms",
			       governed ? json_number((governed - run->attached_us) / 1e3, 1) : NULL);
	json_object_object_add(object, "governed_share", governed ? json_number((double)below / all, 4) : NULL);
}

json_object *ports_figures(const struct lab *lab, const struct run *run)
{
	json_object *array = json_object_new_array();
	double used;
	char names[512], *name, *save = NULL;
	uint64_t start_max;
	int queue = 0;

	snprintf(names, sizeof(names), "%s", run->port_names);
	for (name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save), queue++) {
		json_object *object = json_object_new_object();

		json_object_object_add(object, "port", json_object_new_string(name));
		json_object_object_add(object, "queue_bytes", queue_figures(run, queue, &start_max));
		json_int(object, "queue_start_max_bytes", start_max);
		used = queue_rate_bps(run, queue, run->from_us, run->to_us) / lab->rate_bps;
		json_object_object_add(object, "utilisation", json_number(used, 4));
		json_int(object, "drops", queue_drops(run, queue));
		json_object_array_add(array, object);
	}
	return array;
}

/* NAME=PERCENT ...: how much of its share each class of the bottleneck used. */
json_object *classes_figures(const struct lab *lab, const struct run *run)
{
	json_object *array = json_object_new_array();
	char names[512], *name, *save = NULL;
	uint64_t start_max;
	int queue = run->queues;

	snprintf(names, sizeof(names), "%s", run->class_names);
	for (name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save), queue++) {
		json_object *object = json_object_new_object();
		char *share = strchr(name, '=');
		double percent = share ? atof(share + 1) : 100;

		if (share)
			*share = 0;
		json_object_object_add(object, "class", json_object_new_string(name));
		json_object_object_add(object, "share", json_number(percent / 100, 4));
		json_object_object_add(object, "queue_bytes", queue_figures(run, queue, &start_max));
		json_object_object_add(object, "utilisation",
				       json_number(queue_rate_bps(run, queue, run->from_us, run->to_us) * 100 /
							   (lab->rate_bps * percent),
						   4));
		json_int(object, "drops", queue_drops(run, queue));
		json_object_array_add(array, object);
	}
	return array;
}
