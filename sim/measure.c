// SPDX-License-Identifier: GPL-2.0-only
/* Samples over time, and the result at the end: see measure.h. */
#include "sim/carriage.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/grant.h"
#include "sim/measure.h"
#include "sim/measure_rooms.h"
#include "sim/rtt.h"
#include "sim/net.h"
#include "sim/port_name.h"
#include "sim/series.h"
#include "sim/voq.h"

static const struct scenario *scenario;

int measure_begin(const struct scenario *s)
{
	scenario = s;
	if (queues_begin(s))
		return -1;
	port_names_begin();
	latency_begin(s);
	fair_begin(s);
	event_at(s->run.sample_ns, EVENT_MEASURE, 0);
	return 0;
}

static int is_over(void)
{
	return engine.now_ns >= scenario->run.time_ns &&
	       (!scenario->run.drain || traffic.acked + traffic.endless == traffic.count);
}

void measure_on_sample(uint32_t unused)
{
	(void)unused;
	queues_count_sent(scenario);
	recovery_sample(scenario);
	if (engine.now_ns > scenario->run.warmup_ns && engine.now_ns <= scenario->run.time_ns) {
		queues_sample();
		fair_sample();
	}
	series_sample();
	/* A deadlocked network ends too. */
	if (is_over() || (engine.now_ns >= scenario->run.time_ns && engine.now_ns >= 20 * scenario->run.time_ns)) {
		engine.stopped = 1;
		return;
	}
	event_at(engine.now_ns + scenario->run.sample_ns, EVENT_MEASURE, 0);
}

static struct json_object *companions_result(void)
{
	struct json_object *o = json_object_new_object();
	double bytes = (double)traffic.companions * carriage_rules.bytes;

	result_count(o, "sent", traffic.companions);
	result_number(o, "share", bytes ? bytes / (bytes + traffic.sent_bytes) : 0);
	return o;
}

struct json_object *measure_result(void)
{
	struct json_object *o = json_object_new_object(), *loads = json_object_new_array(), *fair = fair_result();
	struct json_object *voqs = voqs_result(), *rtt = rtt_result();
	uint32_t i;

	json_object_object_add(o, "scheme", json_object_new_string(scenario->scheme));
	result_count(o, "seed", scenario->run.seed);
	result_count(o, "hosts", net.hosts_count);
	result_number(o, "time_us", engine.now_ns / 1e3);
	result_count(o, "events", engine.events);
	json_object_object_add(o, "queue_bytes", queues_result());
	result_number(o, "use", queues_use());
	json_object_object_add(o, "latency_us", latency_result());
	if (fair)
		json_object_object_add(o, "jain", fair);
	result_count(o, "dropped", net.dropped);
	result_count(o, "marked", net.marked);
	result_count(o, "sent_again", traffic.sent_again);
	json_object_object_add(o, "companions", companions_result());
	json_object_object_add(o, "pauses", pauses_result());
	json_object_object_add(o, "all", load_result(scenario, NONE));
	for (i = 0; i < scenario->loads_count; i++)
		json_object_array_add(loads, load_result(scenario, i));
	json_object_object_add(o, "loads", loads);
	if (rtt)
		json_object_object_add(o, "base_rtt_us", rtt);
	if (voqs) {
		grants_result(voqs);
		json_object_object_add(o, "voq_bytes", voqs);
	}
	return o;
}

void measure_end(void)
{
	recovery_end();
	queues_end();
	fair_end();
	port_names_end();
}
