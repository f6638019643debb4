// SPDX-License-Identifier: GPL-2.0-only
/* Queues of the sampled ports, and the bytes that these ports sent: see measure_rooms.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "sim/engine.h"
#include "sim/histogram.h"
#include "sim/measure_rooms.h"
#include "sim/net.h"
#include "sim/port_name.h"

#define QUEUE_MAX (1U << 28) /* longer queues count as this */
#define WORST_MAX 10	     /* ports named in the result */

struct watched watched;
/* Bytes that each port had sent by the end of the warm-up, and by the end of run.time. */
static uint64_t *tx_from, *tx_to;
static uint64_t counted_ns; /* time between the two */
static uint32_t *lengths;   /* samples of each length, in bytes */
static uint64_t samples;
static struct histogram *by_port; /* nonzero samples */
static double queue_sum;

/* Fills the list of ports. Returns 0, or -1 with a message. */
static int watch(const char *what)
{
	uint32_t i, host = NONE;
	__u64 number;

	if (!strncmp(what, "host-", 5)) {
		if (digits_parse(what + 5, &number) || number >= net.hosts_count) {
			msg("run.queue '%s': there are hosts 0 to %u", what, net.hosts_count - 1);
			return -1;
		}
		host = number;
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
		watched.ports = list_add(watched.ports, &watched.count, sizeof(*watched.ports));
		watched.ports[watched.count - 1] = i;
	}
	return 0;
}

int queues_begin(const struct scenario *s)
{
	if (watch(s->run.queue))
		return -1;
	tx_from = calloc(watched.count, sizeof(*tx_from));
	tx_to = calloc(watched.count, sizeof(*tx_to));
	lengths = calloc(QUEUE_MAX, sizeof(*lengths));	   /* only the used part takes memory */
	by_port = calloc(watched.count, sizeof(*by_port)); /* as above */
	if (!tx_from || !tx_to || !lengths || !by_port) {
		msg("no memory for what is measured: %s", strerror(ENOMEM));
		return -1;
	}
	return 0;
}

void queues_count_sent(const struct scenario *s)
{
	int is_warm = engine.now_ns > s->run.warmup_ns;
	uint32_t i;

	if (engine.now_ns > s->run.time_ns)
		return;
	for (i = 0; i < watched.count; i++)
		*(is_warm ? &tx_to[i] : &tx_from[i]) = net.ports[watched.ports[i]].tx_bytes;
	counted_ns = is_warm ? counted_ns + s->run.sample_ns : 0;
}

void queues_sample(void)
{
	uint32_t i;

	for (i = 0; i < watched.count; i++) {
		uint32_t bytes = net.ports[watched.ports[i]].bytes;

		lengths[bytes < QUEUE_MAX ? bytes : QUEUE_MAX - 1]++;
		queue_sum += bytes;
		if (bytes)
			histogram_add(&by_port[i], bytes);
		samples++;
	}
}

/* The length that this part of all samples does not exceed. */
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

struct worst {
	uint32_t port;
	double mean, p99;
	uint32_t max;
};

static int worst_before(const struct worst *a, const struct worst *b)
{
	return a->p99 > b->p99 || (a->p99 == b->p99 && a->max > b->max);
}

static struct worst worst_of(uint32_t i)
{
	const struct sim_port *p = &net.ports[watched.ports[i]];
	struct histogram *h = &by_port[i];

	if (!h->count)
		return (struct worst){ .port = watched.ports[i], .max = p->peak_bytes };
	h->buckets[0] += samples / watched.count - h->count;
	h->count = samples / watched.count;
	return (struct worst){ watched.ports[i], histogram_mean(h), histogram_percentile(h, 0.99), p->peak_bytes };
}

/* The ports with the longest queues, by their p99; ports that sent nothing are left out. */
static struct json_object *worst_result(void)
{
	struct json_object *list = json_object_new_array();
	struct worst worst[WORST_MAX + 1];
	uint32_t i, k, n = 0;

	for (i = 0; i < watched.count; i++) {
		struct worst one = worst_of(i);

		for (k = n; k && worst_before(&one, &worst[k - 1]); k--)
			worst[k] = worst[k - 1];
		worst[k] = one;
		n += one.max && n < WORST_MAX;
	}
	for (i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();
		struct port_name name = port_name(worst[i].port);

		json_object_object_add(o, "port", json_object_new_string(name.text));
		result_number(o, "mean", worst[i].mean);
		result_number(o, "p99", worst[i].p99);
		result_count(o, "max", worst[i].max);
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *queues_result(void)
{
	struct json_object *o = json_object_new_object();
	uint32_t i, most = 0;

	for (i = 0; i < watched.count; i++)
		if (net.ports[watched.ports[i]].peak_bytes > most)
			most = net.ports[watched.ports[i]].peak_bytes;
	result_number(o, "mean", samples ? queue_sum / samples : 0);
	result_count(o, "p50", queue_percentile(0.5));
	result_count(o, "p95", queue_percentile(0.95));
	result_count(o, "p99", queue_percentile(0.99));
	result_count(o, "p999", queue_percentile(0.999));
	result_count(o, "max", most);
	json_object_object_add(o, "worst", worst_result());
	return o;
}

double queues_use(void)
{
	double bits = 0, room = 0;
	uint32_t i;

	for (i = 0; i < watched.count; i++) {
		bits += tx_to[i] > tx_from[i] ? (tx_to[i] - tx_from[i]) * 8.0 : 0;
		room += net.ports[watched.ports[i]].bps * (counted_ns / 1e9);
	}
	return room ? bits / room : 0;
}

void queues_end(void)
{
	free(watched.ports);
	free(tx_from);
	free(tx_to);
	free(lengths);
	free(by_port);
}
