// SPDX-License-Identifier: GPL-2.0-only
/* Pauses, and the use of headroom and buffers: see measure_rooms.h. */
#include "sim/engine.h"
#include "sim/measure_rooms.h"
#include "sim/net.h"
#include "sim/port_name.h"

/* How long its neighbour has paused the port. A current pause counts until now. */
static uint64_t port_held_ns(const struct sim_port *p)
{
	uint64_t ns = 0;
	uint32_t c;

	for (c = 1; c < CLASSES; c++) {
		ns += p->paused_ns[c];
		if (p->obey[c].until_ns > engine.now_ns)
			ns -= p->obey[c].until_ns - engine.now_ns;
	}
	return ns;
}

static void held_port_add(struct json_object *list, uint32_t port)
{
	const struct sim_port *p = &net.ports[port];
	struct port_name name = port_name(port);
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "port", json_object_new_string(name.text));
	result_count(o, "xoffs", p->xoffs);
	result_count(o, "predicted", p->predicted);
	result_number(o, "paused_us", port_held_ns(p) / 1e3);
	result_count(o, "headroom_peak_bytes", p->over_peak);
	json_object_array_add(list, o);
}

struct json_object *pauses_result(void)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	uint64_t xoffs = 0, predicted = 0, xons = 0, ns = 0, over = 0, peak = 0;
	uint32_t i, stopped = 0;

	for (i = 0; i < net.ports_count; i++) {
		const struct sim_port *p = &net.ports[i];
		uint64_t held = port_held_ns(p);

		xoffs += p->xoffs;
		predicted += p->predicted;
		xons += p->xons;
		ns += held;
		stopped += !!held;
		over = p->over_peak > over ? p->over_peak : over;
		if (p->xoffs || p->predicted || held || p->over_peak)
			held_port_add(list, i);
	}
	for (i = 0; i < net.nodes_count; i++)
		peak = net.nodes[i].peak_bytes > peak ? net.nodes[i].peak_bytes : peak;
	result_count(o, "xoffs", xoffs);
	result_count(o, "predicted", predicted);
	result_count(o, "xons", xons);
	result_number(o, "paused_us", ns / 1e3);
	result_count(o, "ports_paused", stopped);
	result_count(o, "headroom_peak_bytes", over);
	result_count(o, "buffer_peak_bytes", peak);
	json_object_object_add(o, "ports", list);
	return o;
}
