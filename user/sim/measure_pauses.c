// SPDX-License-Identifier: GPL-2.0-only
/* Pauses, and what was in headroom and buffers: see measure_rooms.h. */
#include "sim/measure_rooms.h"
#include "sim/net.h"

struct json_object *pauses_result(void)
{
	struct json_object *o = json_object_new_object();
	uint64_t xoffs = 0, xons = 0, ns = 0, over = 0, peak = 0;
	uint32_t i, c, stopped = 0;

	for (i = 0; i < net.ports_count; i++) {
		const struct sim_port *p = &net.ports[i];
		uint64_t paused = 0;

		xoffs += p->xoffs;
		xons += p->xons;
		for (c = 1; c < CLASSES; c++)
			paused += p->paused_ns[c];
		ns += paused;
		stopped += !!paused;
	}
	for (i = 0; i < net.nodes_count; i++) {
		over = net.nodes[i].over_peak > over ? net.nodes[i].over_peak : over;
		peak = net.nodes[i].peak_bytes > peak ? net.nodes[i].peak_bytes : peak;
	}
	result_count(o, "xoffs", xoffs);
	result_count(o, "xons", xons);
	result_number(o, "paused_us", ns / 1e3);
	result_count(o, "ports_paused", stopped);
	result_count(o, "headroom_peak_bytes", over);
	result_count(o, "buffer_peak_bytes", peak);
	return o;
}
