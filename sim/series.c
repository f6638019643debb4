// SPDX-License-Identifier: GPL-2.0-only
/* See series.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "sim/csv.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/measure_rooms.h"
#include "sim/net.h"
#include "sim/port_name.h"
#include "sim/series.h"

#define POINTS 1000 /* number in run.time, unless run.series is set */

/* A flow that was not done at the last look, and the bytes that it had received by then. */
struct ongoing {
	uint32_t flow;
	uint64_t received;
};

static const struct scenario *scenario;
static const char *file;
static FILE *to;
static uint32_t every, rounds; /* samples per point of the series */
static uint64_t last_ns;
static uint64_t last_pauses, last_dropped, last_marked;
static uint64_t last_sent[SERIES_PORTS]; /* bytes */
static struct ongoing *ongoing;
static uint32_t ongoing_count, flows_known;
static uint64_t *load_bytes; /* of each load, since the previous point */

static void series_put(const char *what, const char *which, double value)
{
	fprintf(to, "%.3f,%s,", engine.now_ns / 1e3, what);
	csv_put(to, which);
	fprintf(to, ",%.0f\n", value);
}

static double bps(uint64_t bytes)
{
	return bytes * 8e9 / (engine.now_ns - last_ns);
}

static void ports_put(void)
{
	uint32_t i, most = 0;

	for (i = 0; i < watched.count; i++) {
		const struct sim_port *p = &net.ports[watched.ports[i]];

		most = p->bytes > most ? p->bytes : most;
		if (i >= SERIES_PORTS)
			continue;
		series_put("queue_bytes", port_name(watched.ports[i]).text, p->bytes);
		series_put("tx_bps", port_name(watched.ports[i]).text, bps(p->tx_bytes - last_sent[i]));
		last_sent[i] = p->tx_bytes;
	}
	series_put("queue_bytes_max", "all", most);
}

static void flow_put(uint32_t flow, uint64_t bytes)
{
	char text[16];

	if (flow >= SERIES_FLOWS || traffic.list[flow].start_ns >= engine.now_ns)
		return;
	snprintf(text, sizeof(text), "%u", flow);
	series_put("flow_bps", text, bps(bytes));
}

static void flows_put(void)
{
	uint32_t i, left = 0;

	for (; flows_known < traffic.count; flows_known++) {
		ongoing = list_add(ongoing, &ongoing_count, sizeof(*ongoing));
		ongoing[ongoing_count - 1].flow = flows_known;
	}
	memset(load_bytes, 0, scenario->loads_count * sizeof(*load_bytes));
	for (i = 0; i < ongoing_count; i++) {
		struct ongoing o = ongoing[i];
		const struct sim_flow *f = &traffic.list[o.flow];

		load_bytes[f->group] += f->rcv_nxt - o.received;
		flow_put(o.flow, f->rcv_nxt - o.received);
		o.received = f->rcv_nxt;
		if (!f->done_ns)
			ongoing[left++] = o;
	}
	ongoing_count = left;
	for (i = 0; i < scenario->loads_count; i++)
		series_put("load_bps", scenario->loads[i].name, bps(load_bytes[i]));
}

static void totals_put(void)
{
	uint64_t pauses = 0;
	uint32_t i;

	for (i = 0; i < net.ports_count; i++)
		pauses += net.ports[i].xoffs + net.ports[i].predicted;
	series_put("pauses", "all", pauses - last_pauses);
	series_put("dropped", "all", net.dropped - last_dropped);
	series_put("marked", "all", net.marked - last_marked);
	last_pauses = pauses;
	last_dropped = net.dropped;
	last_marked = net.marked;
}

void series_sample(void)
{
	if (!to || ++rounds % every)
		return;
	ports_put();
	flows_put();
	totals_put();
	last_ns = engine.now_ns;
}

int series_begin(const struct scenario *s, const char *path)
{
	uint64_t period = s->run.series_ns ?: s->run.time_ns / POINTS;

	if (!path)
		return 0;
	scenario = s;
	file = path;
	every = period > s->run.sample_ns ? period / s->run.sample_ns : 1;
	to = fopen(path, "we");
	if (!to) {
		msg("--series %s: %s", path, strerror(errno));
		return -1;
	}
	if (watched.count > SERIES_PORTS)
		msg("--series: run.queue names %u ports: %s has the first %u, and queue_bytes_max of all",
		    watched.count, path, SERIES_PORTS);
	load_bytes = grow(NULL, s->loads_count, sizeof(*load_bytes));
	fputs("time_us,what,which,value\n", to);
	return 0;
}

int series_end(void)
{
	int bad;

	if (!to)
		return 0;
	free(ongoing);
	free(load_bytes);
	bad = ferror(to);
	bad |= fclose(to);
	if (bad)
		msg("--series %s: not all could be written: %s", file, strerror(errno));
	return bad ? -1 : 0;
}
