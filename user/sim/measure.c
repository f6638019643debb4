// SPDX-License-Identifier: GPL-2.0-only
/* Samples as time goes on, and the result at the end: see measure.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "sim/carriage.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/measure.h"
#include "sim/net.h"

#define QUEUE_MAX (1U << 28) /* longer ones are counted as that */
#define JAIN_FAIR 0.95
#define JAIN_ROUNDS 10 /* samples that a rate is the mean of */
#define JAIN_HOLDS 5   /* such means in a row, after which it counts as fair */

static const struct scenario *scenario;
static uint32_t *watched, watched_count; /* ports */
/* Bytes that each had sent by the end of the warm-up, and by the end of run.time. */
static uint64_t *tx_from, *tx_to;
static uint64_t counted_ns; /* between the two */
static uint32_t *lengths;   /* samples of each length, in bytes */
static uint64_t samples;
static double queue_sum;
static struct {
	struct {
		uint32_t flow;
		uint64_t before; /* received, JAIN_ROUNDS samples ago */
	} * active;
	uint32_t count_active, known, rounds; /* known: flows of the list that were looked at */
	double sum, count, least;
	uint32_t fair;	   /* means in a row above JAIN_FAIR */
	uint64_t since_ns; /* when the first of them was over */
	uint64_t
		fair_ns; /* when it came to be fair after the last start, before any flow was done; NEVER_NS: not yet */
	uint64_t last_start_ns;
} jain;

static int watch(const char *what)
{
	uint32_t i, host = NONE;
	char *end;

	if (!strncmp(what, "host-", 5)) {
		host = strtoul(what + 5, &end, 10);
		if (*end || host >= net.hosts_count) {
			msg("run.queue '%s': there are hosts 0 to %u", what, net.hosts_count - 1);
			return -1;
		}
	} else if (strcmp(what, "all") && strcmp(what, "to-hosts")) {
		msg("run.queue '%s': write all, to-hosts or host-N", what);
		return -1;
	}
	for (i = 0; i < net.ports_count; i++) {
		const struct sim_port *p = &net.ports[i];
		const struct sim_node *next = &net.nodes[net.ports[p->peer].node];

		if (net.nodes[p->node].is_host || (strcmp(what, "all") && !next->is_host) ||
		    (host != NONE && next->number != host))
			continue;
		watched = list_add(watched, &watched_count, sizeof(*watched));
		watched[watched_count - 1] = i;
	}
	return 0;
}

int measure_begin(const struct scenario *s)
{
	scenario = s;
	if (watch(s->run.queue))
		return -1;
	tx_from = calloc(watched_count, sizeof(*tx_from));
	tx_to = calloc(watched_count, sizeof(*tx_to));
	lengths = calloc(QUEUE_MAX, sizeof(*lengths)); /* of which only what is used takes memory */
	if (!tx_from || !tx_to || !lengths) {
		msg("no memory for what is measured: %s", strerror(ENOMEM));
		return -1;
	}
	jain.fair_ns = NEVER_NS;
	jain.least = 1;
	event_at(s->run.sample_ns, EVENT_MEASURE, 0);
	return 0;
}

static void queues_sample(void)
{
	uint32_t i;

	for (i = 0; i < watched_count; i++) {
		uint32_t bytes = net.ports[watched[i]].bytes;

		lengths[bytes < QUEUE_MAX ? bytes : QUEUE_MAX - 1]++;
		queue_sum += bytes;
		samples++;
	}
}

/* Jain's index of what flows received since it was looked at last, while two or more go on. */
static void jain_sample(void)
{
	double sum = 0, squares = 0, index, got;
	uint32_t i, left = 0, n = 0;

	if (++jain.rounds % JAIN_ROUNDS)
		return;
	for (; jain.known < traffic.count; jain.known++) {
		jain.active = list_add(jain.active, &jain.count_active, sizeof(*jain.active));
		jain.active[jain.count_active - 1].flow = jain.known;
	}
	for (i = 0; i < jain.count_active; i++) {
		const struct sim_flow *f = &traffic.list[jain.active[i].flow];

		if (f->done_ns)
			continue;
		got = f->rcv_nxt - jain.active[i].before;
		jain.active[left].flow = jain.active[i].flow;
		jain.active[left++].before = f->rcv_nxt;
		if (f->start_ns + JAIN_ROUNDS * scenario->run.sample_ns > engine.now_ns)
			continue;
		sum += got;
		squares += got * got;
		n++;
		if (f->start_ns > jain.last_start_ns) {
			jain.last_start_ns = f->start_ns;
			jain.fair_ns = NEVER_NS;
			jain.fair = 0;
		}
	}
	jain.count_active = left;
	if (n < 2 || !squares)
		return;
	index = sum * sum / (squares * n);
	jain.sum += index;
	jain.count++;
	jain.least = fmin(jain.least, index);
	if (index < JAIN_FAIR)
		jain.fair = 0;
	else if (!jain.fair++)
		jain.since_ns = engine.now_ns;
	if (jain.fair == JAIN_HOLDS && jain.fair_ns == NEVER_NS && !traffic.done)
		jain.fair_ns = jain.since_ns;
}

static int is_over(void)
{
	return engine.now_ns >= scenario->run.time_ns &&
	       (!scenario->run.drain || traffic.done + traffic.endless == traffic.count);
}

void measure_on_sample(uint32_t unused)
{
	uint64_t warm = scenario->run.warmup_ns;
	uint32_t i;

	(void)unused;
	for (i = 0; engine.now_ns <= scenario->run.time_ns && i < watched_count; i++)
		*(engine.now_ns <= warm ? &tx_from[i] : &tx_to[i]) = net.ports[watched[i]].tx_bytes;
	if (engine.now_ns <= scenario->run.time_ns)
		counted_ns = engine.now_ns <= warm ? 0 : counted_ns + scenario->run.sample_ns;
	if (engine.now_ns > warm && engine.now_ns <= scenario->run.time_ns) {
		queues_sample();
		jain_sample();
	}
	/* A network that stands still ends all the same. */
	if (is_over() || (engine.now_ns >= scenario->run.time_ns && engine.now_ns >= 20 * scenario->run.time_ns)) {
		engine.stopped = 1;
		return;
	}
	event_at(engine.now_ns + scenario->run.sample_ns, EVENT_MEASURE, 0);
}

/* --- the result --- */

static void add_number(struct json_object *o, const char *key, double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", v);
	json_object_object_add(o, key, isfinite(v) ? json_object_new_double_s(v, text) : NULL);
}

static void add_count(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

/* The length that a part of all samples does not exceed. */
static uint32_t queue_percentile(double part)
{
	uint64_t seen = 0, wanted = ceil(part * samples);
	uint32_t bytes;

	for (bytes = 0; bytes < QUEUE_MAX - 1; bytes++) {
		seen += lengths[bytes];
		if (seen >= wanted)
			break;
	}
	return bytes;
}

static struct json_object *queue_result(void)
{
	struct json_object *o = json_object_new_object();
	uint32_t i, most = 0;

	for (i = 0; i < watched_count; i++)
		if (net.ports[watched[i]].peak_bytes > most)
			most = net.ports[watched[i]].peak_bytes;
	add_number(o, "mean", samples ? queue_sum / samples : 0);
	add_count(o, "p50", queue_percentile(0.5));
	add_count(o, "p95", queue_percentile(0.95));
	add_count(o, "p99", queue_percentile(0.99));
	add_count(o, "p999", queue_percentile(0.999));
	add_count(o, "max", most);
	return o;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double percentile(const double *sorted, uint32_t n, double part)
{
	uint32_t i = ceil(part * n);

	return n ? sorted[i ? i - 1 : 0] : NAN;
}

/* Slowdown of the flows of a group whose size is in [from, to). */
static struct json_object *slowdown_result(uint32_t group, double from, double to)
{
	struct json_object *o = json_object_new_object();
	double *list = grow(NULL, traffic.count ?: 1, sizeof(*list)), sum = 0;
	uint32_t i, n = 0;

	for (i = 0; i < traffic.count; i++) {
		const struct sim_flow *f = &traffic.list[i];

		if (f->group != group || !f->done_ns || f->size < from || f->size >= to ||
		    f->start_ns < scenario->run.warmup_ns)
			continue;
		list[n] = (f->done_ns - f->start_ns) / (double)flow_ideal_ns(f);
		sum += list[n++];
	}
	qsort(list, n, sizeof(*list), compare);
	add_count(o, "flows", n);
	if (n) {
		add_number(o, "mean", sum / n);
		add_number(o, "p50", percentile(list, n, 0.5));
		add_number(o, "p95", percentile(list, n, 0.95));
		add_number(o, "p99", percentile(list, n, 0.99));
		add_number(o, "p999", percentile(list, n, 0.999));
		add_number(o, "max", list[n - 1]);
	}
	free(list);
	return o;
}

static struct json_object *load_result(uint32_t group)
{
	static const double edges[] = { 0, 3e3, 10e3, 30e3, 100e3, 300e3, 1e6, 3e6, 10e6, INFINITY };
	struct json_object *o = json_object_new_object(), *by_size = json_object_new_array(), *one;
	uint64_t first = NEVER_NS, last = 0, begun = NEVER_NS, bytes = 0;
	uint32_t i, n = 0, done = 0;

	for (i = 0; i < traffic.count; i++) {
		const struct sim_flow *f = &traffic.list[i];

		if (f->group != group)
			continue;
		n++;
		bytes += f->rcv_nxt;
		begun = f->start_ns < begun ? f->start_ns : begun;
		if (!f->done_ns)
			continue;
		done++;
		first = f->done_ns < first ? f->done_ns : first;
		last = f->done_ns > last ? f->done_ns : last;
	}
	json_object_object_add(o, "name", json_object_new_string(scenario->loads[group].name));
	add_count(o, "flows", n);
	add_count(o, "done", done);
	add_count(o, "received_bytes", bytes);
	if (done) {
		add_number(o, "first_done_us", (first - begun) / 1e3);
		add_number(o, "last_done_us", (last - begun) / 1e3);
	}
	json_object_object_add(o, "slowdown", slowdown_result(group, 0, INFINITY));
	for (i = 0; edges[i] < INFINITY; i++) {
		one = slowdown_result(group, edges[i], edges[i + 1]);
		add_count(one, "from_bytes", edges[i]);
		json_object_array_add(by_size, one);
	}
	json_object_object_add(o, "slowdown_by_size", by_size);
	return o;
}

static struct json_object *pause_result(void)
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
	add_count(o, "xoffs", xoffs);
	add_count(o, "xons", xons);
	add_number(o, "paused_us", ns / 1e3);
	add_count(o, "ports_paused", stopped);
	add_count(o, "headroom_peak_bytes", over);
	add_count(o, "buffer_peak_bytes", peak);
	return o;
}

/* Of the speed of all ports that are watched, the part that was used. */
static double use(void)
{
	double bits = 0, room = 0;
	uint32_t i;

	for (i = 0; i < watched_count; i++) {
		bits += tx_to[i] > tx_from[i] ? (tx_to[i] - tx_from[i]) * 8.0 : 0;
		room += net.ports[watched[i]].bps * (counted_ns / 1e9);
	}
	return room ? bits / room : 0;
}

static struct json_object *companion_result(void)
{
	struct json_object *o = json_object_new_object();
	double bytes = (double)traffic.companions * carriage_rules.bytes;

	add_count(o, "sent", traffic.companions);
	add_number(o, "share", bytes ? bytes / (bytes + traffic.sent_bytes) : 0);
	return o;
}

struct json_object *measure_result(void)
{
	struct json_object *o = json_object_new_object(), *loads = json_object_new_array(), *fair;
	uint32_t i;

	json_object_object_add(o, "scheme", json_object_new_string(scenario->scheme));
	add_count(o, "seed", scenario->run.seed);
	add_count(o, "hosts", net.hosts_count);
	add_number(o, "time_us", engine.now_ns / 1e3);
	add_count(o, "events", engine.events);
	json_object_object_add(o, "queue_bytes", queue_result());
	add_number(o, "use", use());
	if (jain.count) {
		fair = json_object_new_object();
		add_number(fair, "mean", jain.sum / jain.count);
		add_number(fair, "least", jain.least);
		if (jain.fair_ns != NEVER_NS)
			add_number(fair, "after_us", (jain.fair_ns - jain.last_start_ns) / 1e3);
		json_object_object_add(o, "jain", fair);
	}
	add_count(o, "dropped", net.dropped);
	add_count(o, "marked", net.marked);
	add_count(o, "sent_again", traffic.sent_again);
	json_object_object_add(o, "companions", companion_result());
	json_object_object_add(o, "pauses", pause_result());
	for (i = 0; i < scenario->loads_count; i++)
		json_object_array_add(loads, load_result(i));
	json_object_object_add(o, "loads", loads);
	return o;
}

void measure_end(void)
{
	free(watched);
	free(tx_from);
	free(tx_to);
	free(lengths);
	free(jain.active);
}
