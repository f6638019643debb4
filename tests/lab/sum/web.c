// SPDX-License-Identifier: GPL-2.0-only
/* APP=web: requests to redis beside downloads. */
#include "sum.h"

/*
 * The latencies that redis-benchmark has in the file, all its runs together, in microseconds. Of
 * each run it prints a line for some percentiles, "P% <= MS milliseconds (cumulative count N)": the
 * requests between two lines count as the slower one.
 */
static json_object *redis_figures(const char *raw, const char *name)
{
	FILE *file = file_open(raw, name, "r");
	size_t count = 0, room = 0, before = 0;
	uint64_t *values = NULL;
	json_object *object;
	char line[512];
	int wanted = 0;

	if (!file)
		return NULL;
	while (fgets(line, sizeof(line), file)) {
		size_t total;
		double ms;

		if (strstr(line, "Latency by percentile distribution")) {
			wanted = 1;
			before = 0;
		} else if (*line == '\n') {
			wanted = 0;
		}
		if (!wanted || sscanf(line, "%*f%% <= %lf milliseconds (cumulative count %zu)", &ms, &total) != 2)
			continue;
		for (; before < total; before++) {
			if (count == room) {
				room = room ? 2 * room : 1024;
				values = realloc(values, room * sizeof(*values));
				if (!values)
					die("lab-sum: out of memory");
			}
			values[count++] = ms * 1e3 + 0.5;
		}
	}
	fclose(file);
	if (!count)
		return NULL;
	object = json_percentiles(values, count, 0);
	json_int(object, "count", count);
	free(values);
	return object;
}

/* Payload of all downloads, between the two lines of RAW/bulk; -1: unknown. */
static double bulk_bps(const char *raw)
{
	FILE *file = file_open(raw, "bulk", "r");
	uint64_t us[2], bytes[2];
	int found = 0;

	while (file && found < 2 && fscanf(file, "%lu %lu", &us[found], &bytes[found]) == 2)
		found++;
	if (file)
		fclose(file);
	if (found < 2 || us[1] <= us[0])
		return -1;
	return (bytes[1] - bytes[0]) * 8e6 / (us[1] - us[0]);
}

/* redis_us, with the median on the idle lab as its base, and bulk_bps. */
void web_figures(json_object *object, const struct run *run)
{
	json_object *redis, *idle;
	double bps;
	char raw[4000];

	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	redis = redis_figures(raw, "redis.log");
	idle = redis_figures(raw, "redis-idle.log");
	if (redis && idle)
		json_int(redis, "base", json_object_get_int64(json_object_object_get(idle, "p50")));
	json_object_put(idle);
	json_object_object_add(object, "redis_us", redis);
	bps = bulk_bps(raw);
	json_object_object_add(object, "bulk_bps", bps < 0 ? NULL : json_number(bps, 0));
}
