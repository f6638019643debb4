// SPDX-License-Identifier: GPL-2.0-only
/* The figures of a run: the keys of one member of "runs" in results.json, in their order. */
#include "sum.h"

static void queues_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	uint64_t start_max;
	double used;

	json_object_object_add(object, "queue_bytes", queue_figures(run, 0, &start_max));
	json_int(object, "queue_start_max_bytes", start_max);
	used = queue_rate_bps(run, 0, run->from_us, run->to_us) / lab->rate_bps;
	json_object_object_add(object, "utilisation", json_number(used, 4));
}

static void packets_figures(json_object *object, const struct run *run)
{
	json_object *latency;
	uint64_t drops = 0;
	int i;

	json_object_object_add(object, "jain", jain_seconds(run));
	json_object_object_add(object, "probe_us", probe_figures(run));
	latency = latency_figures(run);
	if (latency)
		json_object_object_add(object, "latency_us", latency);
	json_object_object_add(object, "fct_ms", fct_figures(run));
	json_int(object, "retransmits", run->retransmits);
	for (i = 0; i < run->queues; i++)
		drops += queue_drops(run, i);
	json_int(object, "drops", drops);
	json_int(object, "measured_from_us", run->from_us - run->zero_us);
	json_int(object, "measured_to_us", run->to_us - run->zero_us);
}

static json_object *rates_figures(const struct run *run)
{
	json_object *rates = json_object_new_array();
	int i;

	for (i = 0; i < (run->longs ? run->longs : run->flows); i++)
		json_object_array_add(
			rates, json_object_new_int64(port_rate_bps(run, run->flow[i].port, run->from_us, run->to_us)));
	return rates;
}

/* Flows of one size. The ideal is known if all of them share one port. */
static void sized_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	double wire = (double)run->flows * lab->size_bytes * PACKET_WIRE / PACKET_PAYLOAD;

	json_object_object_add(object, "jain_100ms", jain_100ms(run));
	json_int(object, "queue_below_10_packets_us", queue_settled_us(run, 0, 10 * PACKET_WIRE));
	if (run->queues != 1)
		return;
	json_object_object_add(object, "fct_ideal_ms", json_number(wire * 8e3 / lab->rate_bps, 3));
	json_object_object_add(object, "slowdown", slowdown_figures(lab, run));
	if (lab->stagger_us)
		fairness_figures(object, lab, run);
}

static void joins_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	double before_bps;

	json_object_object_add(object, "recovery_ms", recovery_figures(lab, run, &before_bps));
	json_object_object_add(object, "jain_100ms", jain_joined(run));
	json_int(object, "rate_before_bps", before_bps);
}

static void mech_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	json_object *pauses;

	json_object_object_add(object, "mech", json_object_new_string(run->mech));
	losses_figures(object, run);
	pauses = pauses_figures(lab, run);
	if (pauses)
		json_object_object_add(object, "pauses", pauses);
}

json_object *run_figures(const struct lab *lab, const struct run *run)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "cc", json_object_new_string(run->cc));
	if (*run->mech)
		mech_figures(object, lab, run);
	queues_figures(object, lab, run);
	packets_figures(object, run);
	if (run->queues > 1)
		json_object_object_add(object, "ports", ports_figures(lab, run));
	if (run->classes)
		json_object_object_add(object, "classes", classes_figures(lab, run));
	if (*run->paths)
		json_object_object_add(object, "paths", words(run->paths));
	if (!run->finite || run->longs)
		json_object_object_add(object, "rates_bps", rates_figures(run));
	if (lab->racks)
		json_object_object_add(object, "racks", racks_figures(lab, run));
	if (lab->racks && run->finite)
		json_object_object_add(object, "fct_us", fct_percentiles(run, 0));
	if (lab->incast_bytes)
		fabric_figures(object, lab, run);
	if (lab->burst)
		burst_figures(object, lab, run);
	if (run->killed[2])
		kill_figures(object, lab, run);
	if (*lab->app)
		web_figures(object, run);
	if (*lab->attach)
		governed_figures(object, run);
	if (lab->size_bytes)
		sized_figures(object, lab, run);
	if (lab->join_bytes)
		joins_figures(object, lab, run);
	return object;
}
