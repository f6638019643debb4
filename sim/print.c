// SPDX-License-Identifier: GPL-2.0-only
/* The result for people. */
#include <stdio.h>
#include "sim/measure.h"
#include "sim/result.h"

void measure_print(struct json_object *r)
{
	struct json_object *queue = json_object_object_get(r, "queue_bytes"),
			   *worst = json_object_object_get(queue, "worst"),
			   *latency = json_object_object_get(r, "latency_us"),
			   *pauses = json_object_object_get(r, "pauses"), *loads = json_object_object_get(r, "loads");
	size_t i;

	printf("%s: %.0f hosts, %.3f ms, %.0f events\n", json_object_get_string(json_object_object_get(r, "scheme")),
	       result_get(r, "hosts"), result_get(r, "time_us") / 1e3, result_get(r, "events"));
	printf("queues, KB: p50 %.1f, p95 %.1f, p99 %.1f, max %.1f; use %.3f; %.0f dropped\n",
	       result_get(queue, "p50") / 1e3, result_get(queue, "p95") / 1e3, result_get(queue, "p99") / 1e3,
	       result_get(queue, "max") / 1e3, result_get(r, "use"), result_get(r, "dropped"));
	if (json_object_array_length(worst)) {
		queue = json_object_array_get_idx(worst, 0);
		printf("longest queue: %s, p99 %.1f KB, max %.1f\n",
		       json_object_get_string(json_object_object_get(queue, "port")), result_get(queue, "p99") / 1e3,
		       result_get(queue, "max") / 1e3);
	}
	if (result_get(latency, "packets") > 0)
		printf("latency of packets, us: mean %.2f, p50 %.2f, p95 %.2f, p99 %.2f, p99.9 %.2f\n",
		       result_get(latency, "mean"), result_get(latency, "p50"), result_get(latency, "p95"),
		       result_get(latency, "p99"), result_get(latency, "p999"));
	printf("pauses: %.0f, %.0f ports held for %.1f us in all\n",
	       result_get(pauses, "xoffs") + result_get(pauses, "predicted"), result_get(pauses, "ports_paused"),
	       result_get(pauses, "paused_us"));
	printf("\n%-16s %9s %9s %10s %10s %10s %10s %11s %11s\n", "LOAD", "FLOWS", "DONE", "SLOWDOWN", "p95", "p99",
	       "p99.9", "FIRST, us", "LAST, us");
	for (i = 0; i < json_object_array_length(loads); i++) {
		struct json_object *l = json_object_array_get_idx(loads, i), *s = json_object_object_get(l, "slowdown");

		printf("%-16s %9.0f %9.0f %10.3f %10.3f %10.3f %10.3f %11.1f %11.1f\n",
		       json_object_get_string(json_object_object_get(l, "name")), result_get(l, "flows"),
		       result_get(l, "done"), result_get(s, "p50"), result_get(s, "p95"), result_get(s, "p99"),
		       result_get(s, "p999"), result_get(l, "first_acked_us"), result_get(l, "last_acked_us"));
	}
}
