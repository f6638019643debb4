// SPDX-License-Identifier: GPL-2.0-only
/* The result for people. */
#include <math.h>
#include <stdio.h>
#include "sim/measure.h"

static double number(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_double(v) : NAN;
}

void measure_print(struct json_object *r)
{
	struct json_object *queue = json_object_object_get(r, "queue_bytes"),
			   *worst = json_object_object_get(queue, "worst"),
			   *latency = json_object_object_get(r, "latency_us"),
			   *pauses = json_object_object_get(r, "pauses"), *loads = json_object_object_get(r, "loads");
	size_t i;

	printf("%s: %.0f hosts, %.3f ms, %.0f events\n", json_object_get_string(json_object_object_get(r, "scheme")),
	       number(r, "hosts"), number(r, "time_us") / 1e3, number(r, "events"));
	printf("queues, KB: p50 %.1f, p95 %.1f, p99 %.1f, max %.1f; use %.3f; %.0f dropped\n",
	       number(queue, "p50") / 1e3, number(queue, "p95") / 1e3, number(queue, "p99") / 1e3,
	       number(queue, "max") / 1e3, number(r, "use"), number(r, "dropped"));
	if (json_object_array_length(worst)) {
		queue = json_object_array_get_idx(worst, 0);
		printf("longest queue: %s, p99 %.1f KB, max %.1f\n",
		       json_object_get_string(json_object_object_get(queue, "port")), number(queue, "p99") / 1e3,
		       number(queue, "max") / 1e3);
	}
	if (number(latency, "packets") > 0)
		printf("latency of packets, us: mean %.2f, p50 %.2f, p95 %.2f, p99 %.2f, p99.9 %.2f\n",
		       number(latency, "mean"), number(latency, "p50"), number(latency, "p95"), number(latency, "p99"),
		       number(latency, "p999"));
	printf("pauses: %.0f, %.0f ports held for %.1f us in all\n",
	       number(pauses, "xoffs") + number(pauses, "predicted"), number(pauses, "ports_paused"),
	       number(pauses, "paused_us"));
	printf("\n%-16s %9s %9s %10s %10s %10s %10s\n", "LOAD", "FLOWS", "DONE", "SLOWDOWN", "p95", "p99", "p99.9");
	for (i = 0; i < json_object_array_length(loads); i++) {
		struct json_object *l = json_object_array_get_idx(loads, i), *s = json_object_object_get(l, "slowdown");

		printf("%-16s %9.0f %9.0f %10.3f %10.3f %10.3f %10.3f\n",
		       json_object_get_string(json_object_object_get(l, "name")), number(l, "flows"), number(l, "done"),
		       number(s, "p50"), number(s, "p95"), number(s, "p99"), number(s, "p999"));
	}
}
