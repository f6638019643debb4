// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workload. Listed flows and those of a matrix begin at their times; incasts and Poisson arrivals are drawn as time
 * advances, until run.time.
 */
#include <stdlib.h>
#include "lib/util.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/matrix.h"
#include "sim/memory.h"
#include "sim/scenario.h"
#include "sim/sizes.h"

struct running {
	const struct load *load;
	struct sizes sizes;
	struct matrix matrix;
	double mean_ns; /* mean time between two arrivals */
	double next_ns; /* time of the next one, with its fraction: the mean is right to less than a nanosecond */
};

static const struct scenario *scenario;
static struct running *running;

static uint64_t load_size(const struct running *r)
{
	return r->sizes.count ? sizes_draw(&r->sizes, random_uniform()) : r->load->size;
}

static uint32_t host_other_than(uint32_t host)
{
	uint32_t other = random_uniform() * (net.hosts_count - 1);

	return other + (other >= host);
}

/* Starts flows from the host `from` and those after it, cyclically, except for the receiver itself. */
static void flows_start(uint32_t group, const struct running *r)
{
	const struct load *l = r->load;
	uint32_t i, flow, from = l->from;

	for (i = 0; i < l->count; i++, from += l->step) {
		from %= net.hosts_count;
		if (from == l->to)
			from = (from + 1) % net.hosts_count;
		flow = flow_add(from, l->to, load_size(r),
				l->start_ns + i / l->together * l->gap_ns + (uint64_t)(random_uniform() * l->jitter_ns),
				group, l->class);
		traffic.list[flow].limit_bps = l->rate;
	}
}

/* Starts the flows of a matrix, or has them wait for their triggers. */
static void matrix_start(uint32_t group, const struct running *r)
{
	const struct matrix *m = &r->matrix;
	uint32_t i, flow, before = traffic.triggers_count;

	for (i = 1; i <= m->triggers_count; i++)
		trigger_add(m->triggers[i].waits);
	for (i = 0; i < m->count; i++) {
		const struct matrix_flow *f = &m->flows[i];

		flow = flow_add(f->from, f->to, f->size, f->trigger ? NEVER_NS : r->load->start_ns + f->start_ns, group,
				r->load->class);
		traffic.list[flow].limit_bps = r->load->rate;
		traffic.list[flow].fires = f->fires ? before + f->fires : 0;
		if (f->trigger)
			trigger_starts(before + f->trigger, flow);
	}
}

/* Drawn hosts, each once, send to another drawn host. */
static void incast_start(uint32_t group, const struct running *r)
{
	uint32_t to = r->load->to_given ? r->load->to : random_uniform() * net.hosts_count;
	uint32_t i, k, *hosts = grow(NULL, net.hosts_count, sizeof(*hosts));

	for (i = 0; i < net.hosts_count; i++)
		hosts[i] = i;
	hosts[to] = hosts[net.hosts_count - 1];
	for (i = 0; i < r->load->count; i++) {
		k = i + random_uniform() * (net.hosts_count - 1 - i);
		flow_add(hosts[k], to, load_size(r), engine.now_ns, group, r->load->class);
		hosts[k] = hosts[i];
	}
	free(hosts);
}

void load_on_next(uint32_t i)
{
	struct running *r = &running[i];
	uint32_t from, to;

	if (engine.now_ns >= scenario->run.time_ns)
		return;
	if (r->load->kind == LOAD_INCAST) {
		incast_start(i, r);
	} else {
		to = r->load->to_given ? r->load->to : random_uniform() * net.hosts_count;
		from = host_other_than(to);
		flow_add(from, to, load_size(r), engine.now_ns, i, r->load->class);
	}
	r->next_ns += random_exponential(r->mean_ns);
	event_at(r->next_ns, EVENT_LOAD, i);
}

/* Computes the mean bytes per arrival, and so the time between two arrivals that makes the share. */
static void running_mean(struct running *r)
{
	const struct load *l = r->load;
	double bytes = r->sizes.count ? sizes_mean(&r->sizes) : l->size, hosts_bps = 0;
	uint32_t i;

	if (l->kind == LOAD_INCAST)
		bytes *= l->count;
	for (i = 0; i < net.hosts_count; i++)
		hosts_bps += net.ports[net.nodes[net.hosts[i]].ports_first].bps;
	r->mean_ns = l->share ? bytes * 8e9 / (l->share * hosts_bps) : l->period_ns;
}

static int load_check(const struct load *l)
{
	if ((l->kind == LOAD_FLOWS || l->to_given) && l->to >= net.hosts_count)
		msg("loads: %s: to %u: there are %u hosts, from 0 on", l->name, l->to, net.hosts_count);
	else if (l->kind == LOAD_INCAST && l->count >= net.hosts_count)
		msg("loads: %s: count %u: there are %u hosts, and one receives", l->name, l->count, net.hosts_count);
	else if (!l->file == (l->kind == LOAD_MATRIX))
		msg("loads: %s: %s", l->name,
		    l->file ? "a file is of kind: matrix: write that too" :
			      "a matrix without its file: write file: flows.cm");
	else if (l->kind == LOAD_MATRIX)
		return 0;
	else if (l->kind != LOAD_FLOWS && !l->share && !l->period_ns)
		msg("loads: %s: how often is not said: write share, for example 0.5, or period", l->name);
	else if (l->kind != LOAD_FLOWS && !l->size && !l->sizes)
		msg("loads: %s: flows of no size: write size or sizes", l->name);
	else
		return 0;
	return -1;
}

static int matrix_take(const struct load *l, struct matrix *m)
{
	if (matrix_load(l->file, m))
		return -1;
	if (m->nodes <= net.hosts_count)
		return 0;
	msg("loads: %s: %s has %u nodes, and the topology %u hosts: write a larger topology, or name another file",
	    l->name, l->file, m->nodes, net.hosts_count);
	return -1;
}

/* The expected number of flows. */
static double running_flows(const struct running *r)
{
	double arrivals = (scenario->run.time_ns - (double)r->load->start_ns) / r->mean_ns;

	if (r->load->kind == LOAD_MATRIX)
		return r->matrix.count;
	if (r->load->kind == LOAD_FLOWS)
		return r->load->count;
	return arrivals < 0 ? 0 : arrivals * (r->load->kind == LOAD_INCAST ? r->load->count : 1);
}

int loads_begin(const struct scenario *s)
{
	double count = 0;
	uint32_t i;

	scenario = s;
	running = grow(NULL, s->loads_count, sizeof(*running));
	for (i = 0; i < s->loads_count; i++)
		running[i] = (struct running){ .load = &s->loads[i] };
	for (i = 0; i < s->loads_count; i++) {
		struct running *r = &running[i];

		if (load_check(r->load) || (r->load->sizes && sizes_load(r->load->sizes, &r->sizes)) ||
		    (r->load->file && matrix_take(r->load, &r->matrix)))
			return -1;
		running_mean(r);
		count += running_flows(r);
		if (memory_check(s, count))
			return -1;
		if (r->load->kind == LOAD_FLOWS)
			flows_start(i, r);
		else if (r->load->kind == LOAD_MATRIX)
			matrix_start(i, r);
		else
			event_at(r->next_ns = r->load->start_ns + random_exponential(r->mean_ns), EVENT_LOAD, i);
	}
	return 0;
}

void loads_end(void)
{
	uint32_t i;

	for (i = 0; i < scenario->loads_count; i++) {
		sizes_free(&running[i].sizes);
		matrix_free(&running[i].matrix);
	}
	free(running);
}
