// SPDX-License-Identifier: GPL-2.0-only
/* The table at stdout: two lines to a run, or more where its lab has more to say. */
#include "sum.h"

static double member(json_object *object, const char *key, const char *inner)
{
	json_object *value = json_object_object_get(object, key);

	if (inner)
		value = json_object_object_get(value, inner);
	return json_object_get_double(value);
}

/* Least, mean and most of an array; nulls are left out. */
static void array_figures(json_object *array, double *min, double *mean, double *max)
{
	size_t i, count = 0;

	*min = 1e300;
	*mean = *max = 0;
	for (i = 0; i < json_object_array_length(array); i++) {
		json_object *value = json_object_array_get_idx(array, i);
		double number = json_object_get_double(value);

		if (!value)
			continue;
		*min = number < *min ? number : *min;
		*max = number > *max ? number : *max;
		*mean += number;
		count++;
	}
	*mean = count ? *mean / count : 0;
	*min = count ? *min : 0;
}

static void table_array(const char *label, json_object *array, const char *format)
{
	size_t i;

	printf("%s", label);
	for (i = 0; i < json_object_array_length(array) && i < 12; i++) {
		json_object *value = json_object_array_get_idx(array, i);

		if (value)
			printf(format, json_object_get_double(value));
		else
			printf(" never");
	}
	if (i < json_object_array_length(array))
		printf(" ...");
}

/* LAB=racks: the columns that the others do not have. */
static void table_racks(const struct lab *lab, json_object *run)
{
	json_object *racks = json_object_object_get(run, "racks"), *back;
	size_t i;

	if (json_object_object_get(run, "fct_us"))
		printf("\n%-14s completion ms %.1f / %.1f / %.1f (p50, p99, max) of %.0f", "",
		       member(run, "fct_us", "p50") / 1e3, member(run, "fct_us", "p99") / 1e3,
		       member(run, "fct_us", "max") / 1e3, member(run, "fct_us", "count"));
	if (json_object_object_get(run, "mice_us"))
		printf("\n%-14s mice ms %.1f / %.1f (p50, p99) of %.0f of %.0f; incast p99 %.1f ms, queue max %.1f KB; long flows "
		       "%.1f Mbit/s",
		       "", member(run, "mice_us", "p50") / 1e3, member(run, "mice_us", "p99") / 1e3,
		       member(run, "mice_us", "count"), member(run, "mice_us", "all"),
		       member(run, "incast_us", "p99") / 1e3, member(run, "queue_incast_max_bytes", NULL) / 1e3,
		       member(run, "long_bps", NULL) / 1e6);
	if (lab->burst) {
		back = json_object_object_get(run, "long_back_ms");
		printf("\n%-14s burst: queue max %.1f KB, over after %.1f ms; long flows %.1f Mbit/s before, least "
		       "%.1f, back at 95 %% ",
		       "", member(run, "queue_burst_max_bytes", NULL) / 1e3, member(run, "burst_ms", NULL),
		       member(run, "long_before_bps", NULL) / 1e6, member(run, "long_lowest_bps", NULL) / 1e6);
		printf(back ? "after %.1f ms" : "never", json_object_get_double(back));
	}
	if (json_object_object_get(run, "queue_kill_max_bytes")) {
		printf("\n            killed: without credit after %.1f ms, %.1f Mbit/s; ready %.1f ms after the start, credit %.1f ms after that; queue max %.1f KB",
		       member(run, "alone_ms", NULL), member(run, "dead_bps", NULL) / 1e6,
		       member(run, "restart_ms", NULL), member(run, "credited_ms", NULL),
		       member(run, "queue_kill_max_bytes", NULL) / 1e3);
	}
	for (i = 0; i < json_object_array_length(racks); i++) {
		json_object *rack = json_object_array_get_idx(racks, i);

		printf("%s%.1f Mbit/s, VOQ %.1f / %.1f / %.1f",
		       i ? "; " : "\n            racks: ", member(rack, "rate_bps", NULL) / 1e6,
		       member(rack, "voq_bytes", "p50") / 1e3, member(rack, "voq_bytes", "p99") / 1e3,
		       member(rack, "voq_bytes", "max") / 1e3);
	}
	printf(" KB");
}

/* LAB=pfc: how long packets and senders waited. */
static void table_pauses(json_object *run)
{
	json_object *pauses = json_object_object_get(run, "pauses");
	size_t i;

	if (json_object_object_get(run, "latency_us"))
		printf("\n%-14s packets ms %.1f / %.1f / %.1f (p50, p99, max), %.0f lost; senders held up for %.1f ms",
		       "", member(run, "latency_us", "p50") / 1e3, member(run, "latency_us", "p99") / 1e3,
		       member(run, "latency_us", "max") / 1e3, member(run, "lost", NULL),
		       member(run, "held_us", NULL) / 1e3);
	if (!pauses)
		return;
	printf("\n%-14s pauses: %.0f predicted, %.0f XOFF (%.0f repeated, %.0f ended), %.1f ms together; by group", "",
	       member(pauses, "predicted", NULL), member(pauses, "xoffs", NULL), member(pauses, "refreshes", NULL),
	       member(pauses, "xons", NULL), member(pauses, "paused_us", NULL) / 1e3);
	for (i = 0; i < json_object_array_length(json_object_object_get(pauses, "groups")); i++)
		printf(" %.0f",
		       member(json_object_array_get_idx(json_object_object_get(pauses, "groups"), i), "sent", NULL));
	printf("; rank with the queue %.2f, with the rates %.2f", member(pauses, "rank", NULL),
	       member(pauses, "rank_rate", NULL));
}

/* A run by its control, and by its mechanism if it has one. */
static const char *run_name(const struct lab *lab, json_object *run)
{
	static char name[128];
	const char *cc = json_object_get_string(json_object_object_get(run, "cc"));
	json_object *mech = json_object_object_get(run, "mech");

	if (!strcmp(lab->name, "fabric")) /* its loops, the mechanism among them */
		return cc;
	snprintf(name, sizeof(name), "%s%s%s", cc,
		 mech ? "-" : "", mech ? json_object_get_string(mech) : "");
	return name;
}

static void table_head(const struct lab *lab)
{
	printf("\n%s, %lu senders, %.4g Mbit/s, RTT %.4g ms, buffer %.4g KB, Linux %s\n", lab->name, lab->senders,
	       lab->rate_bps / 1e6, lab->rtt_us / 1e3, lab->buffer_bytes / 1e3, lab->kernel);
	if (*lab->podcc)
		printf("the pods have: %s\n", lab->podcc);
	if (*lab->missing)
		printf("missing here: %s\n", lab->missing);
	printf("                 queue KB                  at start          Jain         probe over base ms"
	       "      retrans-\n");
	printf("control          p50    p95    p99    max     max    use    mean  min    p50    p99    max"
	       "     mits   drops\n");
}

static void table_row(const struct lab *lab, json_object *run)
{
	double min, mean, max, base = member(run, "probe_us", "base");

	array_figures(json_object_object_get(run, "jain"), &min, &mean, &max);
	printf("%-14s %6.1f %6.1f %6.1f %6.1f  %6.1f  %.3f   %.3f %.3f %6.2f %6.2f %6.2f  %6.0f  %6.0f\n",
	       run_name(lab, run), member(run, "queue_bytes", "p50") / 1e3, member(run, "queue_bytes", "p95") / 1e3,
	       member(run, "queue_bytes", "p99") / 1e3, member(run, "queue_bytes", "max") / 1e3,
	       member(run, "queue_start_max_bytes", NULL) / 1e3, member(run, "utilisation", NULL), mean, min,
	       (member(run, "probe_us", "p50") - base) / 1e3, (member(run, "probe_us", "p99") - base) / 1e3,
	       (member(run, "probe_us", "max") - base) / 1e3, member(run, "retransmits", NULL),
	       member(run, "drops", NULL));
}

/* Flows of one size. */
static void table_sized(const struct lab *lab, json_object *run)
{
	double min, mean, max;

	array_figures(json_object_object_get(run, "fct_ms"), &min, &mean, &max);
	printf(" completion ms %.1f / %.1f / %.1f (min, mean, max)", min, mean, max);
	if (!lab->stagger_us)
		printf("; queue below 10 packets after %.1f ms", member(run, "queue_below_10_packets_us", NULL) / 1e3);
	if (!lab->stagger_us && json_object_object_get(run, "fct_ideal_ms"))
		printf("; last / ideal %.3f", max / member(run, "fct_ideal_ms", NULL));
	if (lab->stagger_us && json_object_object_get(run, "slowdown"))
		printf("; against processor sharing %.2f / %.2f / %.2f; Jain 100 ms %.3f / %.3f (mean, min)",
		       member(run, "slowdown", "min"), member(run, "slowdown", "mean"), member(run, "slowdown", "max"),
		       member(run, "jain_100ms", "mean"), member(run, "jain_100ms", "min"));
	if (json_object_object_get(run, "fair_ms"))
		printf("; fair %.1f ms after the last start", member(run, "fair_ms", NULL));
	if (json_object_object_get(run, "spread_ms"))
		printf("; all complete within %.1f ms", member(run, "spread_ms", NULL));
}

static void table_joins(json_object *run)
{
	table_array(" joiner's completion ms", json_object_object_get(run, "fct_ms"), " %.1f");
	table_array("; long flow back at 95 % after ms", json_object_object_get(run, "recovery_ms"), " %.1f");
	if (json_object_object_get(run, "jain_100ms"))
		printf("; Jain 100 ms %.3f / %.3f (mean, min)", member(run, "jain_100ms", "mean"),
		       member(run, "jain_100ms", "min"));
}

static void table_long(json_object *run)
{
	json_object *paths = json_object_object_get(run, "paths");

	if (paths)
		printf(" %s", json_object_to_json_string_ext(paths, JSON_C_TO_STRING_PLAIN));
	table_array(" rates bit/s", json_object_object_get(run, "rates_bps"), " %.0f");
}

static void table_attached(json_object *run)
{
	if (json_object_object_get(run, "governed_ms"))
		printf("\n%-14s queue below 16 packets %.1f ms after attaching, then for %.1f %% of the time", "",
		       member(run, "governed_ms", NULL), 100 * member(run, "governed_share", NULL));
	else
		printf("\n%-14s queue never below 16 packets for 100 ms after attaching", "");
}

static void table_web(json_object *run)
{
	printf("\n%-14s redis ms %.1f / %.1f / %.1f (p50, p99, max), idle %.1f; downloads %.1f Mbit/s of payload", "",
	       member(run, "redis_us", "p50") / 1e3, member(run, "redis_us", "p99") / 1e3,
	       member(run, "redis_us", "max") / 1e3, member(run, "redis_us", "base") / 1e3,
	       member(run, "bulk_bps", NULL) / 1e6);
}

void table_print(const struct lab *lab, json_object *results)
{
	json_object *runs = json_object_object_get(results, "runs"), *run;
	size_t i;

	table_head(lab);
	for (i = 0; i < json_object_array_length(runs); i++)
		table_row(lab, json_object_array_get_idx(runs, i));
	for (i = 0; i < json_object_array_length(runs); i++) {
		run = json_object_array_get_idx(runs, i);
		printf("%-14s", run_name(lab, run));
		if (lab->size_bytes)
			table_sized(lab, run);
		else if (lab->join_bytes)
			table_joins(run);
		else
			table_long(run);
		if (lab->racks)
			table_racks(lab, run);
		if (json_object_object_get(run, "mech"))
			table_pauses(run);
		if (*lab->attach)
			table_attached(run);
		if (*lab->app)
			table_web(run);
		printf("\n");
	}
}
