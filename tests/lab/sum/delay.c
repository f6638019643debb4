// SPDX-License-Identifier: GPL-2.0-only
/* How long probes and packets of UDP took. */
#include "sum.h"

json_object *probe_figures(const struct run *run)
{
	uint64_t *values = calloc(run->probes + 1, sizeof(*values)), lost = 0;
	json_object *object;
	size_t i, count = 0;

	for (i = 0; i < run->probes; i++) {
		if (run->probe[i].t_us < run->from_us || run->probe[i].t_us > run->to_us)
			continue;
		if (run->probe[i].rtt_us)
			values[count++] = run->probe[i].rtt_us;
		else
			lost++;
	}
	object = json_percentiles(values, count, 0);
	json_int(object, "base", run->base_us);
	json_int(object, "lost", lost);
	free(values);
	return object;
}

/* From the sender's port to the receiver, of the packets that left in the window; NULL: of none it is known. */
json_object *latency_figures(const struct run *run)
{
	uint64_t *values = calloc(run->latency.rows + 1, sizeof(*values));
	json_object *object = NULL;
	size_t row, count = 0;
	double sum = 0;

	for (row = 0; row < run->latency.rows; row++) {
		const uint64_t *cell = series_row(&run->latency, row);

		if (cell[0] >= run->from_us && cell[0] <= run->to_us) {
			values[count++] = cell[1];
			sum += cell[1];
		}
	}
	if (count) {
		object = json_percentiles(values, count, 1);
		json_int(object, "mean", sum / count);
		json_int(object, "count", count);
	}
	free(values);
	return object;
}
