// SPDX-License-Identifier: GPL-2.0-only
/* Latency of data packets: see measure_rooms.h. */
#include "sim/engine.h"
#include "sim/histogram.h"
#include "sim/measure.h"
#include "sim/measure_rooms.h"

static struct histogram latency; /* ns */
static uint64_t sent_from, sent_to;

void latency_begin(const struct scenario *s)
{
	sent_from = s->run.warmup_ns;
	sent_to = s->run.time_ns;
}

void measure_on_data(uint64_t sent_ns)
{
	if (sent_ns >= sent_from && sent_ns <= sent_to)
		histogram_add(&latency, engine.now_ns - sent_ns);
}

struct json_object *latency_result(void)
{
	struct json_object *o = json_object_new_object();

	result_count(o, "packets", latency.count);
	if (!latency.count)
		return o;
	result_number(o, "mean", histogram_mean(&latency) / 1e3);
	result_number(o, "p50", histogram_percentile(&latency, 0.5) / 1e3);
	result_number(o, "p95", histogram_percentile(&latency, 0.95) / 1e3);
	result_number(o, "p99", histogram_percentile(&latency, 0.99) / 1e3);
	result_number(o, "p999", histogram_percentile(&latency, 0.999) / 1e3);
	result_number(o, "max", latency.max / 1e3);
	return o;
}
