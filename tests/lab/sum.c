// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab-sum: turns the raw data of a lab into results.json, one CSV per picture, and a table.
 *
 *	lab-sum DIR
 *
 * 1. DIR/params: what was asked for, and what ran. Per control DIR/CC/raw: queue.bin and
 *    ports.bin (lab-sample), probe.csv (lab-probe), flows.csv (lab-flows), meta; with APP=web
 *    bulk and what redis-benchmark said (web.sh). Raw times have the clock of the machine measured
 *    on.
 * 2. Zero is the start of the first flow: of finite ones as lab-flows has it, of long ones when
 *    their port began to carry data. Figures are of the window from the start of the last long
 *    flow (of the first finite one; with ATTACH=late of Sluice) plus the warm-up, to the end of
 *    the measurement (of the last finite flow).
 * 3. Byte counters between two samples are taken to grow evenly.
 * 4. With LAB=racks all flows are lab-flows', the long ones first: their rates are of what the receiver read
 *    (received.bin), and voqs.bin (lab-sample) has the VOQs of each rack.
 * 5. With LAB=pfc a run is of a control and a mechanism: its directory is CC-MECH, and meta has both. Of UDP there
 *    are the latencies of all packets (latency.bin, lab-flows). pauses.csv (lab-sample) has what was sent to each port.
 */
#include "lab.h"

#include <json-c/json.h>
#include <math.h>

#define FLOWS_MAX 4096
#define QUEUES_MAX 8
#define PACKET_WIRE 1514
#define PACKET_PAYLOAD 1448
#define GOVERNED_PACKETS 16
#define GOVERNED_FOR_US 100000
#define FAIR_JAIN 0.95
#define FAIR_RTTS 5
#define PORTS_MAX 64

/* A time series of rows of `columns` numbers; column 0 is the time. */
struct series {
	uint64_t *cell;
	size_t rows, columns;
};

struct flow {
	uint64_t start_us, end_us, bytes; /* end 0: did not end */
	uint64_t lost;			  /* packets of UDP: the end is that of the others */
	int port;			  /* column of the port series, less one */
};

struct probe {
	uint64_t t_us, rtt_us; /* 0: lost */
};

struct lab {
	char dir[2048];
	char name[64], kernel[256], missing[256], ran[256], podcc[256], telemetry[16], app[64], attach[64];
	uint64_t senders, parallel, long_flows, rate_bps, rtt_us, buffer_bytes, time_us, warmup_us,
		size_bytes, stagger_us, join_bytes, auth, seed;
	/* LAB=racks */
	uint64_t racks, servers, uplink, burst, burst_bytes, churn_us, lose, repeat, reorder, kill_us;
	char hiercc[256], longs[256]; /* longs: how many long flows each rack has */
	/* LAB=pfc */
	uint64_t headroom_bytes;
	uint64_t rate[PORTS_MAX]; /* of each sender, bit/s */
	uint64_t core;
	char groups[64], shape[16], rates[4096], pfc[256];
};

struct run {
	char cc[64], mech[16], dir[3072]; /* mech: of LAB=pfc */
	struct series queue, ports, voqs, latency;
	int queues, classes; /* columns of the queue series: of the ports, then of the classes */
	char port_names[512], class_names[512], paths[4096];
	uint64_t base_us, attached_us, retransmits, last_pause_us;
	struct flow flow[FLOWS_MAX]; /* finite ones, or each sender's long one */
	int flows, finite;
	int longs, recorded; /* of racks: flows that have no end, and those of which it is known what arrived */
	uint64_t killed[3];  /* when the receiver's daemon was killed, started, ready; 0: was not */
	struct flow steady; /* of a join: the long flow */
	struct probe *probe;
	size_t probes;
	uint64_t zero_us, from_us, to_us;
};

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static FILE *file_open(const char *dir, const char *name, const char *mode)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, mode);
	if (!file && *mode == 'w')
		die("lab-sum: cannot write %s: %s", path, strerror(errno));
	return file;
}

static void file_close(FILE *file)
{
	if (fclose(file))
		die("lab-sum: writing: %s", strerror(errno));
}

/* ---- reading ---- */

static void value_read(const char *line, const char *key, char *text, size_t size)
{
	size_t length = strlen(key);

	if (strncmp(line, key, length) || line[length] != '=')
		return;
	snprintf(text, size, "%s", line + length + 1);
	text[strcspn(text, "\n")] = 0;
}

static void number_read(const char *line, const char *key, uint64_t *number)
{
	char text[64] = "";

	value_read(line, key, text, sizeof(text));
	if (*text)
		*number = number_parse(key, text);
}

static void lab_read(struct lab *lab)
{
	FILE *file = file_open(lab->dir, "params", "r");
	char line[4096], text[4096] = "", *word, *save = NULL;
	int i;

	if (!file)
		die("lab-sum: %s has no params: nothing was measured", lab->dir);
	while (fgets(line, sizeof(line), file)) {
		value_read(line, "lab", lab->name, sizeof(lab->name));
		value_read(line, "kernel", lab->kernel, sizeof(lab->kernel));
		value_read(line, "missing", lab->missing, sizeof(lab->missing));
		value_read(line, "ran", lab->ran, sizeof(lab->ran));
		value_read(line, "podcc", lab->podcc, sizeof(lab->podcc));
		value_read(line, "telemetry", lab->telemetry, sizeof(lab->telemetry));
		value_read(line, "app", lab->app, sizeof(lab->app));
		value_read(line, "attach", lab->attach, sizeof(lab->attach));
		number_read(line, "senders", &lab->senders);
		number_read(line, "parallel", &lab->parallel);
		number_read(line, "long_flows", &lab->long_flows);
		number_read(line, "rate_bps", &lab->rate_bps);
		number_read(line, "rtt_us", &lab->rtt_us);
		number_read(line, "buffer_bytes", &lab->buffer_bytes);
		number_read(line, "time_us", &lab->time_us);
		number_read(line, "seed", &lab->seed);
		number_read(line, "warmup_us", &lab->warmup_us);
		number_read(line, "size_bytes", &lab->size_bytes);
		number_read(line, "stagger_us", &lab->stagger_us);
		number_read(line, "join_bytes", &lab->join_bytes);
		number_read(line, "auth", &lab->auth);
		number_read(line, "racks", &lab->racks);
		number_read(line, "servers", &lab->servers);
		number_read(line, "uplink", &lab->uplink);
		number_read(line, "burst", &lab->burst);
		number_read(line, "burst_bytes", &lab->burst_bytes);
		number_read(line, "churn_us", &lab->churn_us);
		number_read(line, "lose_percent", &lab->lose);
		number_read(line, "repeat_percent", &lab->repeat);
		number_read(line, "reorder_percent", &lab->reorder);
		number_read(line, "kill_us", &lab->kill_us);
		value_read(line, "hiercc", lab->hiercc, sizeof(lab->hiercc));
		value_read(line, "longs", lab->longs, sizeof(lab->longs));
		number_read(line, "headroom_bytes", &lab->headroom_bytes);
		value_read(line, "groups", lab->groups, sizeof(lab->groups));
		number_read(line, "core", &lab->core);
		value_read(line, "shape", lab->shape, sizeof(lab->shape));
		value_read(line, "rates", lab->rates, sizeof(lab->rates));
		value_read(line, "sender_rates", text, sizeof(text));
		value_read(line, "pfc", lab->pfc, sizeof(lab->pfc));
	}
	fclose(file);
	word = strtok_r(text, " ", &save);
	for (i = 0; i < PORTS_MAX && word; i++, word = strtok_r(NULL, " ", &save))
		lab->rate[i] = number_parse("sender_rates", word);
	if (!lab->long_flows && !lab->racks)
		lab->long_flows = lab->senders;
}

static int series_read(const char *dir, const char *name, size_t columns, struct series *series)
{
	FILE *file = file_open(dir, name, "r");
	long size;

	if (!file)
		return -1;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	series->columns = columns;
	series->rows = size / (columns * sizeof(uint64_t));
	series->cell = malloc(size + 1);
	if (!series->cell ||
	    fread(series->cell, columns * sizeof(uint64_t), series->rows, file) != series->rows)
		die("lab-sum: cannot read %s/%s", dir, name);
	fclose(file);
	return series->rows < 2 ? -1 : 0;
}

static uint64_t *series_row(const struct series *series, size_t row)
{
	return series->cell + row * series->columns;
}

static uint64_t series_end_us(const struct series *series)
{
	return series_row(series, series->rows - 1)[0];
}

/* A counter at any time, evenly between two samples. */
static double series_at(const struct series *series, size_t column, double us)
{
	size_t low = 0, high = series->rows - 1;
	const uint64_t *a, *b;

	if (us <= series_row(series, 0)[0])
		return series_row(series, 0)[column];
	if (us >= series_row(series, high)[0])
		return series_row(series, high)[column];
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (series_row(series, middle)[0] <= us)
			low = middle;
		else
			high = middle;
	}
	a = series_row(series, low);
	b = series_row(series, high);
	return a[column] + (double)(b[column] - a[column]) * (us - a[0]) / (b[0] - a[0]);
}

static double port_rate_bps(const struct run *run, int port, double from_us, double to_us)
{
	return (series_at(&run->ports, port + 1, to_us) -
		series_at(&run->ports, port + 1, from_us)) *
	       8e6 / (to_us - from_us);
}

/* When the port began to carry a long flow; 0: it did not. */
static uint64_t port_begun_us(const struct run *run, int port)
{
	uint64_t first = series_row(&run->ports, 0)[port + 1];
	size_t row;

	for (row = 0; row < run->ports.rows; row++)
		if (series_row(&run->ports, row)[port + 1] - first >= LAB_BEGUN_BYTES)
			return series_row(&run->ports, row)[0];
	return 0;
}

static void probes_read(struct run *run, const char *raw)
{
	FILE *file = file_open(raw, "probe.csv", "r");
	char line[128], *rtt;
	size_t room = 0;

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (*line == 't')
			continue;
		if (run->probes == room) {
			room = room ? 2 * room : 4096;
			run->probe = realloc(run->probe, room * sizeof(*run->probe));
			if (!run->probe)
				die("lab-sum: out of memory");
		}
		run->probe[run->probes].t_us = strtoull(line, &rtt, 10);
		run->probe[run->probes++].rtt_us = *rtt == ',' ? strtoull(rtt + 1, NULL, 10) : 0;
	}
	fclose(file);
}

static int flows_read(const struct lab *lab, struct run *run, const char *raw)
{
	FILE *file = file_open(raw, "flows.csv", "r");
	char line[256];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file) && run->flows < FLOWS_MAX) {
		struct flow *f = &run->flow[run->flows];
		char *at = strchr(line, ',');

		if (*line == 'f' || !at)
			continue;
		f->start_us = strtoull(at + 1, &at, 10);
		f->end_us = strtoull(at + 1, &at, 10);
		f->bytes = strtoull(at + 1, &at, 10);
		f->lost = *at == ',' ? strtoull(at + 1, &at, 10) : 0;
		f->port = lab->join_bytes ? 1 : run->flows;
		if (run->flows >= run->recorded && lab->racks)
			f->port = -1;
		run->flows++;
	}
	fclose(file);
	return run->flows ? 0 : -1;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The same as window_find() of racks. */
static int window_find_racks(const struct lab *lab, struct run *run, const char *raw)
{
	uint64_t last_start = 0, last_end = 0, end = series_end_us(&run->queue);
	int i;

	run->longs = lab->long_flows;
	if (flows_read(lab, run, raw) || run->flows < run->longs)
		return -1;
	run->finite = run->flows > run->longs;
	run->zero_us = run->flow[0].start_us;
	for (i = 0; i < run->flows; i++) {
		struct flow *f = &run->flow[i];

		if (i < run->longs)
			last_start = max_u64(last_start, f->start_us);
		else
			last_end = max_u64(last_end, f->end_us ? f->end_us : end);
	}
	run->from_us = (run->longs ? last_start : run->zero_us) + lab->warmup_us;
	run->to_us = run->longs ? min_u64(series_end_us(&run->ports), run->zero_us + lab->time_us) : last_end;
	if (run->from_us >= run->to_us) {
		fprintf(stderr, "lab-sum: %s: nothing is left after the warm-up\n", run->cc);
		return -1;
	}
	for (i = 0; i < run->longs; i++) {
		run->flow[i].end_us = run->to_us;
		run->flow[i].bytes = series_at(&run->ports, i + 1, run->to_us);
	}
	return 0;
}

/* Fills flow[] and the window (2. above). */
static int window_find(const struct lab *lab, struct run *run, const char *raw)
{
	uint64_t last_start = 0, last_end = 0, end = series_end_us(&run->queue), begun;
	int i;

	run->finite = lab->size_bytes || lab->join_bytes;
	if (run->finite && flows_read(lab, run, raw))
		return -1;
	run->zero_us = UINT64_MAX;
	if (!lab->size_bytes) {
		int longs = lab->join_bytes ? 1 : lab->long_flows;

		for (i = 0; i < longs; i++) {
			begun = port_begun_us(run, i);
			if (!begun) {
				fprintf(stderr, "lab-sum: %s: flow %d never began\n", run->cc, i);
				return -1;
			}
			run->zero_us = min_u64(run->zero_us, begun);
			last_start = max_u64(last_start, begun);
			run->steady = (struct flow){.start_us = begun, .end_us = end, .port = i};
			if (!run->finite)
				run->flow[run->flows++] = run->steady;
		}
		last_start = max_u64(last_start, run->attached_us);
		run->from_us = last_start + lab->warmup_us;
		run->to_us = lab->join_bytes ? end : min_u64(end, last_start + lab->time_us);
	} else {
		for (i = 0; i < run->flows; i++) {
			run->zero_us = min_u64(run->zero_us, run->flow[i].start_us);
			last_end =
				max_u64(last_end, run->flow[i].end_us ? run->flow[i].end_us : end);
		}
		run->from_us = run->zero_us + lab->warmup_us;
		run->to_us = last_end;
	}
	if (run->from_us >= run->to_us) {
		fprintf(stderr, "lab-sum: %s: nothing is left after the warm-up\n", run->cc);
		return -1;
	}
	for (i = 0; !run->finite && i < run->flows; i++) {
		run->flow[i].end_us = run->to_us;
		run->flow[i].bytes = series_at(&run->ports, i + 1, run->to_us) -
				     series_at(&run->ports, i + 1, run->flow[i].start_us);
	}
	return 0;
}

static int run_read(const struct lab *lab, struct run *run, const char *name)
{
	char raw[4000], line[8192];
	FILE *file;
	char *at;

	memset(run, 0, sizeof(*run));
	snprintf(run->cc, sizeof(run->cc), "%s", name);
	snprintf(run->dir, sizeof(run->dir), "%s/%s", lab->dir, name);
	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	file = file_open(raw, "meta", "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		value_read(line, "cc", run->cc, sizeof(run->cc));
		value_read(line, "mech", run->mech, sizeof(run->mech));
		value_read(line, "ports", run->port_names, sizeof(run->port_names));
		value_read(line, "classes", run->class_names, sizeof(run->class_names));
		value_read(line, "paths", run->paths, sizeof(run->paths));
		number_read(line, "base_us", &run->base_us);
		number_read(line, "attached_us", &run->attached_us);
		number_read(line, "last_pause_us", &run->last_pause_us);
		number_read(line, "retransmits", &run->retransmits);
		if (sscanf(line, "killed=%lu %lu %lu", &run->killed[0], &run->killed[1], &run->killed[2]) < 3)
			continue;
	}
	fclose(file);
	run->queues = 1;
	for (at = run->port_names; *at; at++)
		run->queues += *at == ' ';
	run->classes = *run->class_names != 0;
	for (at = run->class_names; *at; at++)
		run->classes += *at == ' ';
	if (run->queues + run->classes > QUEUES_MAX ||
	    series_read(raw, "queue.bin", 1 + 3 * (run->queues + run->classes), &run->queue))
		return -1;
	run->recorded = lab->long_flows + lab->burst + (lab->size_bytes ? lab->senders : 0);
	if (series_read(raw, lab->racks ? "received.bin" : "ports.bin",
			1 + (lab->racks ? (uint64_t)run->recorded : lab->long_flows), &run->ports))
		return -1;
	if (lab->racks && series_read(raw, "voqs.bin", 1 + 3 * lab->racks, &run->voqs))
		run->voqs.rows = 0;
	if (series_read(raw, "latency.bin", 2, &run->latency))
		run->latency.rows = 0;
	probes_read(run, raw);
	return lab->racks ? window_find_racks(lab, run, raw) : window_find(lab, run, raw);
}

/* ---- figures ---- */

/* A number with as many decimals as are worth reading. */
static json_object *json_number(double value, int decimals)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f", decimals, value);
	return json_object_new_double_s(value, text);
}

static void json_int(json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

/* Nearest rank: the smallest value that at least `part` of all do not exceed. */
static uint64_t percentile(const uint64_t *sorted, size_t count, double part)
{
	size_t rank = part * count;

	if (!count)
		return 0;
	if (rank < part * count)
		rank++;
	return sorted[rank ? rank - 1 : 0];
}

/* p50, p95 (if wanted), p99 and max. */
static json_object *json_percentiles(uint64_t *values, size_t count, int p95)
{
	json_object *object = json_object_new_object();

	qsort(values, count, sizeof(*values), compare_u64);
	json_int(object, "p50", percentile(values, count, 0.50));
	if (p95)
		json_int(object, "p95", percentile(values, count, 0.95));
	json_int(object, "p99", percentile(values, count, 0.99));
	json_int(object, "max", count ? values[count - 1] : 0);
	return object;
}

static double jain(const double *rate, int count)
{
	double sum = 0, squares = 0;
	int i;

	for (i = 0; i < count; i++) {
		sum += rate[i];
		squares += rate[i] * rate[i];
	}
	return squares > 0 ? sum * sum / (count * squares) : 1;
}

/* Jain's index of the flows that were there for half of the bin or more; < 0: less than two were.
 */
static double jain_bin(const struct run *run, uint64_t from_us, uint64_t to_us)
{
	double rate[FLOWS_MAX];
	int i, count = 0;

	for (i = 0; i < (run->longs ? run->longs : run->flows); i++) {
		const struct flow *f = &run->flow[i];
		uint64_t from = max_u64(from_us, f->start_us);
		uint64_t to = f->end_us ? min_u64(to_us, f->end_us) : to_us;

		if (from < to && 2 * (to - from) >= to_us - from_us)
			rate[count++] = port_rate_bps(run, f->port, from, to);
	}
	return count < 2 ? -1 : jain(rate, count);
}

/* One number a second; what is left at the end counts from half a second on, or if it is all there
 * is. */
static json_object *jain_seconds(const struct run *run)
{
	json_object *array = json_object_new_array();
	uint64_t from, to;

	for (from = run->from_us; from < run->to_us; from = to) {
		double index;

		to = min_u64(from + 1000000, run->to_us);
		if (to - from < 500000 && from != run->from_us)
			break;
		index = jain_bin(run, from, to);
		json_object_array_add(array, json_number(index < 0 ? 1 : index, 4));
	}
	return array;
}

/* Mean and least of Jain's indices of windows. */
struct jain_windows {
	double sum, min;
	int count;
};

static void jain_add(struct jain_windows *w, double index)
{
	if (index < 0)
		return;
	w->sum += index;
	w->min = !w->count || index < w->min ? index : w->min;
	w->count++;
}

static json_object *jain_json(const struct jain_windows *w)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "mean", json_number(w->count ? w->sum / w->count : 1, 4));
	json_object_object_add(object, "min", json_number(w->count ? w->min : 1, 4));
	return object;
}

static json_object *jain_100ms(const struct run *run)
{
	struct jain_windows w = {0};
	uint64_t from;

	for (from = run->from_us; from + 100000 <= run->to_us; from += 100000)
		jain_add(&w, jain_bin(run, from, from + 100000));
	return jain_json(&w);
}

/* Of the long flow and who has joined it, over the windows, from its start on, that it is there for as
 * a whole; null where none stays for so long. */
static json_object *jain_joined(const struct run *run)
{
	struct jain_windows w = {0};
	uint64_t from;
	int i;

	for (i = 0; i < run->flows; i++) {
		const struct flow *f = &run->flow[i];

		for (from = f->start_us; from + 100000 <= f->end_us; from += 100000) {
			double rate[] = {port_rate_bps(run, run->steady.port, from, from + 100000),
					 port_rate_bps(run, f->port, from, from + 100000)};

			jain_add(&w, jain(rate, 2));
		}
	}
	return w.count ? jain_json(&w) : NULL;
}

/*
 * Flows that start one after the other, all times in milliseconds. together: from the last start to
 * the first completion. fair: from the last start to the end of the first five RTTs over which, and
 * over every five that begin within the next five, Jain's index of the rates is 0.95 or more; null:
 * not while they were together. spread: from the first completion to the last.
 */
static void fairness_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	uint64_t span_us = FAIR_RTTS * max_u64(run->base_us, lab->rtt_us), us;
	uint64_t start = 0, first = run->to_us, last = 0, since = 0, fair = 0;
	int i;

	for (i = 0; i < run->flows; i++) {
		uint64_t end = run->flow[i].end_us ? run->flow[i].end_us : run->to_us;

		start = max_u64(start, run->flow[i].start_us);
		first = min_u64(first, end);
		last = max_u64(last, end);
	}
	for (us = start; !fair && us + span_us <= first; us += 1000) {
		if (jain_bin(run, us, us + span_us) < FAIR_JAIN)
			since = 0;
		else if (!since)
			since = us;
		if (since && us - since >= span_us)
			fair = since + span_us;
	}
	json_object_object_add(object, "together_ms",
			       json_number(first > start ? (first - start) / 1e3 : 0, 1));
	json_object_object_add(object, "fair_ms",
			       fair ? json_number((fair - start) / 1e3, 1) : NULL);
	json_object_object_add(object, "spread_ms", json_number((last - first) / 1e3, 1));
}

static json_object *queue_figures(const struct run *run, int queue, uint64_t *start_max)
{
	uint64_t *values = calloc(run->queue.rows, sizeof(*values));
	json_object *object;
	size_t row, count = 0;

	*start_max = 0;
	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] >= run->from_us && cell[0] <= run->to_us)
			values[count++] = cell[1 + 3 * queue];
		else if (cell[0] >= run->zero_us && cell[0] < run->from_us)
			*start_max = max_u64(*start_max, cell[1 + 3 * queue]);
	}
	object = json_percentiles(values, count, 1);
	free(values);
	return object;
}

/* What left the port. */
static double queue_rate_bps(const struct run *run, int queue, uint64_t from_us, uint64_t to_us)
{
	size_t column = 1 + 3 * queue + 1;

	return (series_at(&run->queue, column, to_us) - series_at(&run->queue, column, from_us)) *
	       8e6 / (to_us - from_us);
}

static uint64_t queue_drops(const struct run *run, int queue)
{
	size_t column = 1 + 3 * queue + 2;

	return series_row(&run->queue, run->queue.rows - 1)[column] -
	       series_row(&run->queue, 0)[column];
}

/* When, after its peak, the queue was at most `bytes`; from zero, in microseconds. */
static uint64_t queue_settled_us(const struct run *run, int queue, uint64_t bytes)
{
	uint64_t peak = 0, settled = 0;
	size_t row;

	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] < run->zero_us)
			continue;
		if (cell[1 + 3 * queue] > peak) {
			peak = cell[1 + 3 * queue];
			settled = 0;
		}
		if (!settled && cell[1 + 3 * queue] <= bytes)
			settled = cell[0];
	}
	return settled ? settled - run->zero_us : 0;
}

/*
 * After attaching late: how long until the queue stays below 16 packets for 100 ms (null: never),
 * and for what share of the time from there to the end it does. A small share was a lull, not
 * control.
 */
static void governed_figures(json_object *object, const struct run *run)
{
	uint64_t since = 0, governed = 0;
	size_t row, below = 0, all = 0;

	for (row = 0; run->attached_us && row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);
		int low = cell[1] < GOVERNED_PACKETS * PACKET_WIRE;

		if (cell[0] < run->attached_us)
			continue;
		if (!low && !governed)
			since = below = all = 0;
		else if (!since)
			since = cell[0];
		if (since && cell[0] - since >= GOVERNED_FOR_US)
			governed = since;
		below += since && low;
		all += since != 0;
	}
	json_object_object_add(object, "governed_ms",
			       governed ? json_number((governed - run->attached_us) / 1e3, 1)
					: NULL);
	json_object_object_add(object, "governed_share",
			       governed ? json_number((double)below / all, 4) : NULL);
}

static json_object *probe_figures(const struct run *run)
{
	uint64_t *values = calloc(run->probes + 1, sizeof(*values)), lost = 0;
	json_object *object;
	size_t i, count = 0;

	for (i = 0; i < run->probes; i++) {
		if (run->probe[i].t_us < run->from_us || run->probe[i].t_us > run->to_us)
			continue;
		if (run->probe[i].rtt_us)
			values[count++] = run->probe[i].rtt_us;
		else
			lost++;
	}
	object = json_percentiles(values, count, 0);
	json_int(object, "base", run->base_us);
	json_int(object, "lost", lost);
	free(values);
	return object;
}

/* From the sender's port to the receiver, of the packets that left in the window; NULL: of none it is known. */
static json_object *latency_figures(const struct run *run)
{
	uint64_t *values = calloc(run->latency.rows + 1, sizeof(*values));
	json_object *object = NULL;
	size_t row, count = 0;
	double sum = 0;

	for (row = 0; row < run->latency.rows; row++) {
		const uint64_t *cell = series_row(&run->latency, row);

		if (cell[0] >= run->from_us && cell[0] <= run->to_us) {
			values[count++] = cell[1];
			sum += cell[1];
		}
	}
	if (count) {
		object = json_percentiles(values, count, 1);
		json_int(object, "mean", sum / count);
		json_int(object, "count", count);
	}
	free(values);
	return object;
}

/* Of flows of UDP: packets that did not arrive, and how much longer all together took to leave than at their speeds. */
static void losses_figures(json_object *object, const struct run *run)
{
	uint64_t lost = 0, held_us = 0, of[2];
	char raw[4000], line[256];
	FILE *file;

	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	file = file_open(raw, "flows.csv", "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*u,%*u,%*[^,],%*u,%lu,%lu", &of[0], &of[1]) != 2 &&
		    sscanf(line, "%*u,%*u,,%*u,%lu,%lu", &of[0], &of[1]) != 2)
			continue;
		lost += of[0];
		held_us += of[1];
	}
	if (file)
		fclose(file);
	json_int(object, "lost", lost);
	json_int(object, "held_us", held_us);
}

static json_object *fct_figures(const struct run *run)
{
	json_object *array = json_object_new_array();
	int i;

	for (i = run->longs; run->finite && i < run->flows; i++) {
		const struct flow *f = &run->flow[i];

		json_object_array_add(
			array, f->end_us && !f->lost ? json_number((f->end_us - f->start_us) / 1e3, 3) : NULL);
	}
	return array;
}

/*
 * The latencies that redis-benchmark has in the file, all its runs together, in microseconds. Of
 * each run it prints a line for some percentiles, "P% <= MS milliseconds (cumulative count N)": the
 * requests between two lines count as the slower one.
 */
static json_object *redis_figures(const char *raw, const char *name)
{
	FILE *file = file_open(raw, name, "r");
	size_t count = 0, room = 0, before = 0;
	uint64_t *values = NULL;
	json_object *object;
	char line[512];
	int wanted = 0;

	if (!file)
		return NULL;
	while (fgets(line, sizeof(line), file)) {
		size_t total;
		double ms;

		if (strstr(line, "Latency by percentile distribution")) {
			wanted = 1;
			before = 0;
		} else if (*line == '\n') {
			wanted = 0;
		}
		if (!wanted || sscanf(line, "%*f%% <= %lf milliseconds (cumulative count %zu)", &ms,
				      &total) != 2)
			continue;
		for (; before < total; before++) {
			if (count == room) {
				room = room ? 2 * room : 1024;
				values = realloc(values, room * sizeof(*values));
				if (!values)
					die("lab-sum: out of memory");
			}
			values[count++] = ms * 1e3 + 0.5;
		}
	}
	fclose(file);
	if (!count)
		return NULL;
	object = json_percentiles(values, count, 0);
	json_int(object, "count", count);
	free(values);
	return object;
}

/* Payload of all downloads, between the two lines of RAW/bulk; -1: unknown. */
static double bulk_bps(const char *raw)
{
	FILE *file = file_open(raw, "bulk", "r");
	uint64_t us[2], bytes[2];
	int found = 0;

	while (file && found < 2 && fscanf(file, "%lu %lu", &us[found], &bytes[found]) == 2)
		found++;
	if (file)
		fclose(file);
	if (found < 2 || us[1] <= us[0])
		return -1;
	return (bytes[1] - bytes[0]) * 8e6 / (us[1] - us[0]);
}

/* redis_us, with the median on the idle lab as its base, and bulk_bps. */
static void web_figures(json_object *object, const struct run *run)
{
	json_object *redis, *idle;
	double bps;
	char raw[4000];

	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	redis = redis_figures(raw, "redis.log");
	idle = redis_figures(raw, "redis-idle.log");
	if (redis && idle)
		json_int(redis, "base", json_object_get_int64(json_object_object_get(idle, "p50")));
	json_object_put(idle);
	json_object_object_add(object, "redis_us", redis);
	bps = bulk_bps(raw);
	json_object_object_add(object, "bulk_bps", bps < 0 ? NULL : json_number(bps, 0));
}

/* When each flow would end if all that are there shared the port evenly, in microseconds of
 * transmission. */
static void sharing_simulate(const struct lab *lab, const struct run *run, double *fct_us)
{
	double left[FLOWS_MAX], now = run->zero_us, bytes_per_us;
	int i, done = 0;

	bytes_per_us = lab->rate_bps / 8e6 * PACKET_PAYLOAD / PACKET_WIRE;
	for (i = 0; i < run->flows; i++)
		left[i] = run->flow[i].bytes;
	while (done < run->flows) {
		double next = 1e300, share;
		int active = 0;

		for (i = 0; i < run->flows; i++)
			active += left[i] > 0 && run->flow[i].start_us <= now;
		share = bytes_per_us / (active ? active : 1);
		for (i = 0; i < run->flows; i++) {
			double event = run->flow[i].start_us > now ? run->flow[i].start_us
								   : now + left[i] / share;

			if (left[i] > 0 && event < next)
				next = event;
		}
		for (i = 0; i < run->flows; i++) {
			if (left[i] <= 0 || run->flow[i].start_us > now)
				continue;
			left[i] -= share * (next - now);
			if (left[i] < 1e-3) {
				left[i] = 0;
				fct_us[i] = next - run->flow[i].start_us;
				done++;
			}
		}
		now = next;
	}
}

static json_object *slowdown_figures(const struct lab *lab, const struct run *run)
{
	json_object *object = json_object_new_object();
	double ideal[FLOWS_MAX], min = 1e300, max = 0, sum = 0;
	int i, count = 0;

	sharing_simulate(lab, run, ideal);
	for (i = 0; i < run->flows; i++) {
		double slowdown;

		if (!run->flow[i].end_us || run->flow[i].lost)
			continue;
		slowdown = (run->flow[i].end_us - run->flow[i].start_us) / ideal[i];
		min = slowdown < min ? slowdown : min;
		max = slowdown > max ? slowdown : max;
		sum += slowdown;
		count++;
	}
	json_object_object_add(object, "min", json_number(count ? min : 0, 4));
	json_object_object_add(object, "mean", json_number(count ? sum / count : 0, 4));
	json_object_object_add(object, "max", json_number(max, 4));
	return object;
}

/*
 * After each joiner left, the bottleneck carries nothing but the long flow (and the probe). How
 * long until it has 95 % of the rate of the half second before the first joined, over one base RTT
 * from that moment on; 0: at once, null: not again.
 */
static json_object *recovery_figures(const struct lab *lab, const struct run *run,
				     double *before_bps)
{
	json_object *array = json_object_new_array();
	uint64_t span_us = max_u64(run->base_us, lab->rtt_us), us, limit,
		 first = run->flow[0].start_us;
	int i;

	*before_bps = queue_rate_bps(run, 0, max_u64(run->from_us, first - 500000), first);
	for (i = 0; i < run->flows; i++) {
		uint64_t left = run->flow[i].end_us;

		limit = (i + 1 < run->flows ? run->flow[i + 1].start_us : run->to_us) - span_us;
		for (us = left; left && us <= limit; us += 100)
			if (queue_rate_bps(run, 0, us, us + span_us) >= 0.95 * *before_bps)
				break;
		json_object_array_add(array, left && us <= limit ? json_number((us - left) / 1e3, 1)
								 : NULL);
	}
	return array;
}

/* What the long flows got together. */
static double longs_rate_bps(const struct run *run, uint64_t from_us, uint64_t to_us)
{
	double sum = 0;
	int i;

	for (i = 0; i < run->longs; i++)
		sum += port_rate_bps(run, i, from_us, to_us);
	return sum;
}

/* Percentiles of the completion times, in microseconds, and how many there are. */
static json_object *fct_percentiles(const struct run *run)
{
	uint64_t *values = calloc(run->flows, sizeof(*values));
	json_object *object;
	size_t count = 0;
	int i;

	for (i = run->longs; i < run->flows; i++)
		if (run->flow[i].end_us)
			values[count++] = run->flow[i].end_us - run->flow[i].start_us;
	object = json_percentiles(values, count, 1);
	json_int(object, "count", count);
	json_int(object, "all", run->flows - run->longs);
	free(values);
	return object;
}

/* The most that waited at the port between two times. */
static uint64_t queue_max(const struct run *run, uint64_t from_us, uint64_t to_us)
{
	uint64_t most = 0;
	size_t row;

	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] >= from_us && cell[0] <= to_us)
			most = max_u64(most, cell[1]);
	}
	return most;
}

/*
 * The long flows beside the burst, by their rate over one base RTT: in the 100 ms before, the least of it, and
 * how long after the last short flow was complete it was back at 95 %: 0: at once, null: not again.
 */
static void burst_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	uint64_t start = run->flow[run->longs].start_us, end = 0, us;
	uint64_t span_us = max_u64(run->base_us, lab->rtt_us);
	double before = longs_rate_bps(run, start - 100000, start), lowest = before, rate;
	int i;

	for (i = run->longs; i < run->flows; i++)
		end = max_u64(end, run->flow[i].end_us ? run->flow[i].end_us : run->to_us);
	for (us = start; us + span_us <= run->to_us && us < end + 20 * span_us; us += 100) {
		rate = longs_rate_bps(run, us, us + span_us);
		lowest = rate < lowest ? rate : lowest;
	}
	for (us = end; us + span_us <= run->to_us; us += 100)
		if (longs_rate_bps(run, us, us + span_us) >= 0.95 * before)
			break;
	json_int(object, "queue_burst_max_bytes", queue_max(run, start, run->to_us));
	json_object_object_add(object, "burst_ms", json_number((end - start) / 1e3, 1));
	json_int(object, "long_before_bps", before);
	json_int(object, "long_lowest_bps", lowest);
	json_object_object_add(object, "long_back_ms",
			       us + span_us <= run->to_us ? json_number((us - end) / 1e3, 1) : NULL);
}

/*
 * Each rack: what its long flows got, and the bytes in its VOQs that no credit covered. longs: how many each
 * has, in the order of the flows.
 */
static json_object *racks_figures(const struct lab *lab, const struct run *run)
{
	uint64_t *values = calloc(run->voqs.rows + 1, sizeof(*values));
	json_object *array = json_object_new_array();
	char longs[256], *word, *save = NULL;
	uint64_t rack, k;
	int flow = 0;

	snprintf(longs, sizeof(longs), "%s", lab->longs);
	word = strtok_r(longs, " ", &save);
	for (rack = 0; rack < lab->racks; rack++, word = strtok_r(NULL, " ", &save)) {
		json_object *object = json_object_new_object();
		uint64_t count = word ? number_parse("longs", word) : 0;
		double rate = 0;
		size_t row, seen = 0;

		for (k = 0; k < count && flow < run->longs; k++, flow++)
			rate += port_rate_bps(run, flow, run->from_us, run->to_us);
		json_int(object, "flows", count);
		json_int(object, "rate_bps", rate);
		for (row = 0; row < run->voqs.rows; row++) {
			const uint64_t *cell = series_row(&run->voqs, row);

			if (cell[0] >= run->from_us && cell[0] <= run->to_us)
				values[seen++] = cell[1 + 3 * rack];
		}
		if (seen)
			json_object_object_add(object, "voq_bytes", json_percentiles(values, seen, 1));
		json_object_array_add(array, object);
	}
	free(values);
	return array;
}

/*
 * When, from a time on, a number of each rack that has long flows has been seen to grow, in all of them; in ms,
 * null: never. column: 1 credit, 2 packets without.
 */
static json_object *racks_grown_ms(const struct lab *lab, const struct run *run, int column, uint64_t from_us,
				   uint64_t to_us)
{
	uint64_t rack, last = 0, first_row = 0;
	char longs[256], *word, *save = NULL;

	while (first_row + 1 < run->voqs.rows && series_row(&run->voqs, first_row)[0] < from_us)
		first_row++;
	snprintf(longs, sizeof(longs), "%s", lab->longs);
	word = strtok_r(longs, " ", &save);
	for (rack = 0; rack < lab->racks; rack++, word = strtok_r(NULL, " ", &save)) {
		size_t row, cell = 1 + 3 * rack + column;

		if (!word || !number_parse("longs", word))
			continue;
		for (row = first_row; row < run->voqs.rows && series_row(&run->voqs, row)[0] <= to_us; row++)
			if (series_row(&run->voqs, row)[cell] > series_row(&run->voqs, first_row)[cell])
				break;
		if (row >= run->voqs.rows || series_row(&run->voqs, row)[0] > to_us)
			return NULL;
		last = max_u64(last, series_row(&run->voqs, row)[0]);
	}
	return last ? json_number((last - from_us) / 1e3, 1) : NULL;
}

/*
 * From the kill: until packets of all racks leave without credit, and the rate of all long flows while it is
 * dead. From when the daemon was started again, and from when it said that it is ready: until all have credit.
 * And the most that waited at the port from the kill on.
 */
static void kill_figures(json_object *object, const struct lab *lab, const struct run *run)
{
	uint64_t killed = run->killed[0], started = run->killed[1], ready = run->killed[2];

	json_object_object_add(object, "alone_ms", racks_grown_ms(lab, run, 2, killed, started));
	json_int(object, "dead_bps", longs_rate_bps(run, killed, started));
	json_object_object_add(object, "credited_ms", racks_grown_ms(lab, run, 1, ready, run->to_us));
	json_object_object_add(object, "restart_ms", json_number((ready - started) / 1e3, 1));
	json_int(object, "queue_kill_max_bytes", queue_max(run, killed, run->to_us));
}

/* Of a value among n: how many are below it, and half of those that are equal. */
static double rank(const double *value, int n, int i)
{
	int k, below = 0, same = 0;

	for (k = 0; k < n; k++) {
		below += value[k] < value[i];
		same += value[k] == value[i];
	}
	return below + (same - 1) / 2.0;
}

/* Spearman's. */
static double rank_correlation(const double *a, const double *b, int n)
{
	double xy = 0, xx = 0, yy = 0;
	int i;

	for (i = 0; i < n; i++) {
		double x = rank(a, n, i) - (n - 1) / 2.0, y = rank(b, n, i) - (n - 1) / 2.0;

		xy += x * y;
		xx += x * x;
		yy += y * y;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static json_object *pauses_add(json_object *object, const char *key, const double *counts)
{
	static const char *const names[] = {"predicted", "xoffs", "refreshes", "xons", "paused_us"};
	json_object *sum = json_object_new_object();
	int i;

	if (key)
		json_object_object_add(sum, strchr(key, ':') ? "port" : "receiver", json_object_new_string(key));
	json_int(sum, "sent", counts[0] + counts[1]);
	for (i = 0; i < 5; i++)
		json_int(sum, names[i], counts[i]);
	if (object)
		json_object_array_add(object, sum);
	return sum;
}

/*
 * What the switch sent: all together, to each group, to each port. sent: pauses that are no repetition. rank: of
 * those of the first group, the correlation with the share of the queue; rank_rate: with the sender's rate. last_us:
 * when the last of them was seen. NULL: nothing was noted.
 */
static json_object *pauses_figures(const struct lab *lab, const struct run *run)
{
	double all[5] = {}, group[5], sent[PORTS_MAX], share[PORTS_MAX], rate[PORTS_MAX];
	json_object *object, *groups, *ports, *cores;
	char raw[4000], line[256], name[32], text[64], *word, *save = NULL;
	int i, k, first = 0, number = 0, core = 0;
	FILE *file;

	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	file = file_open(raw, "pauses.csv", "r");
	if (!file)
		return NULL;
	groups = json_object_new_array();
	ports = json_object_new_array();
	cores = json_object_new_array();
	snprintf(text, sizeof(text), "%s", lab->groups);
	if (!fgets(line, sizeof(line), file))
		*line = 0;
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		uint64_t count = number_parse("groups", word), in;

		memset(group, 0, sizeof(group));
		for (in = 0; in < count && first < PORTS_MAX && fgets(line, sizeof(line), file); in++, first++) {
			double of[5];

			if (sscanf(line, "%31[^,],%lf,%lf,%lf,%lf,%lf,%lf", name, &of[0], &of[1], &of[2], &of[3], &of[4],
				   &share[first]) != 7)
				die("lab-sum: %s/pauses.csv: %s", raw, line);
			sent[first] = of[0] + of[1];
			rate[first] = lab->rate[first];
			for (k = 0; k < 5; k++) {
				group[k] += of[k];
				all[k] += of[k];
			}
			json_object_object_add(pauses_add(ports, name, of), "share", json_number(share[first], 4));
		}
		snprintf(name, sizeof(name), "r%d", ++number);
		pauses_add(groups, name, group);
	}
	/* What is left is of ports between switches. */
	for (; fgets(line, sizeof(line), file); core++) {
		if (sscanf(line, "%31[^,],%lf,%lf,%lf,%lf,%lf", name, &group[0], &group[1], &group[2], &group[3],
			   &group[4]) != 6)
			die("lab-sum: %s/pauses.csv: %s", raw, line);
		pauses_add(cores, name, group);
	}
	fclose(file);
	i = number_parse("groups", strtok_r(strcpy(text, lab->groups), " ", &save));
	object = pauses_add(NULL, NULL, all);
	json_object_object_add(object, "last_us",
			       run->last_pause_us ? json_object_new_int64((int64_t)(run->last_pause_us - run->zero_us)) : NULL);
	json_object_object_add(object, "rank", json_number(rank_correlation(share, sent, i), 3));
	json_object_object_add(object, "rank_rate", json_number(rank_correlation(rate, sent, i), 3));
	json_object_object_add(object, "groups", groups);
	json_object_object_add(object, "ports", ports);
	if (core)
		json_object_object_add(object, "cores", cores);
	else
		json_object_put(cores);
	return object;
}

static json_object *ports_figures(const struct lab *lab, const struct run *run)
{
	json_object *array = json_object_new_array();
	double used;
	char names[512], *name, *save = NULL;
	uint64_t start_max;
	int queue = 0;

	snprintf(names, sizeof(names), "%s", run->port_names);
	for (name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save), queue++) {
		json_object *object = json_object_new_object();

		json_object_object_add(object, "port", json_object_new_string(name));
		json_object_object_add(object, "queue_bytes",
				       queue_figures(run, queue, &start_max));
		json_int(object, "queue_start_max_bytes", start_max);
		used = queue_rate_bps(run, queue, run->from_us, run->to_us) / lab->rate_bps;
		json_object_object_add(object, "utilisation", json_number(used, 4));
		json_int(object, "drops", queue_drops(run, queue));
		json_object_array_add(array, object);
	}
	return array;
}

/* NAME=PERCENT ...: what each class of the bottleneck made of its share. */
static json_object *classes_figures(const struct lab *lab, const struct run *run)
{
	json_object *array = json_object_new_array();
	char names[512], *name, *save = NULL;
	uint64_t start_max;
	int queue = run->queues;

	snprintf(names, sizeof(names), "%s", run->class_names);
	for (name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save), queue++) {
		json_object *object = json_object_new_object();
		char *share = strchr(name, '=');
		double percent = share ? atof(share + 1) : 100;

		if (share)
			*share = 0;
		json_object_object_add(object, "class", json_object_new_string(name));
		json_object_object_add(object, "share", json_number(percent / 100, 4));
		json_object_object_add(object, "queue_bytes", queue_figures(run, queue, &start_max));
		json_object_object_add(object, "utilisation",
				       json_number(queue_rate_bps(run, queue, run->from_us, run->to_us) * 100 /
							   (lab->rate_bps * percent), 4));
		json_int(object, "drops", queue_drops(run, queue));
		json_object_array_add(array, object);
	}
	return array;
}

static json_object *words(const char *text)
{
	json_object *array = json_object_new_array();
	char copy[4096], *word, *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		json_object_array_add(array, json_object_new_string(word));
	return array;
}

static json_object *run_figures(const struct lab *lab, const struct run *run)
{
	json_object *object = json_object_new_object(), *rates, *latency, *pauses;
	uint64_t start_max, drops = 0;
	double before_bps, used;
	int i;

	json_object_object_add(object, "cc", json_object_new_string(run->cc));
	if (*run->mech) {
		json_object_object_add(object, "mech", json_object_new_string(run->mech));
		losses_figures(object, run);
		pauses = pauses_figures(lab, run);
		if (pauses)
			json_object_object_add(object, "pauses", pauses);
	}
	json_object_object_add(object, "queue_bytes", queue_figures(run, 0, &start_max));
	json_int(object, "queue_start_max_bytes", start_max);
	used = queue_rate_bps(run, 0, run->from_us, run->to_us) / lab->rate_bps;
	json_object_object_add(object, "utilisation", json_number(used, 4));
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
	if (run->queues > 1)
		json_object_object_add(object, "ports", ports_figures(lab, run));
	if (run->classes)
		json_object_object_add(object, "classes", classes_figures(lab, run));
	if (*run->paths)
		json_object_object_add(object, "paths", words(run->paths));
	if (!run->finite || run->longs) {
		rates = json_object_new_array();
		for (i = 0; i < (run->longs ? run->longs : run->flows); i++)
			json_object_array_add(
				rates, json_object_new_int64(port_rate_bps(
					       run, run->flow[i].port, run->from_us, run->to_us)));
		json_object_object_add(object, "rates_bps", rates);
	}
	if (lab->racks)
		json_object_object_add(object, "racks", racks_figures(lab, run));
	if (lab->racks && run->finite)
		json_object_object_add(object, "fct_us", fct_percentiles(run));
	if (lab->burst)
		burst_figures(object, lab, run);
	if (run->killed[2])
		kill_figures(object, lab, run);
	if (*lab->app)
		web_figures(object, run);
	if (*lab->attach)
		governed_figures(object, run);
	if (lab->size_bytes) {
		json_object_object_add(object, "jain_100ms", jain_100ms(run));
		json_int(object, "queue_below_10_packets_us",
			 queue_settled_us(run, 0, 10 * PACKET_WIRE));
	}
	/* What would be ideal is known where all flows share one port. */
	if (lab->size_bytes && run->queues == 1) {
		double wire = (double)run->flows * lab->size_bytes * PACKET_WIRE / PACKET_PAYLOAD;

		json_object_object_add(object, "fct_ideal_ms",
				       json_number(wire * 8e3 / lab->rate_bps, 3));
		json_object_object_add(object, "slowdown", slowdown_figures(lab, run));
		if (lab->stagger_us)
			fairness_figures(object, lab, run);
	}
	if (lab->join_bytes) {
		json_object_object_add(object, "recovery_ms",
				       recovery_figures(lab, run, &before_bps));
		json_object_object_add(object, "jain_100ms", jain_joined(run));
		json_int(object, "rate_before_bps", before_bps);
	}
	return object;
}

static json_object *lab_params(const struct lab *lab)
{
	json_object *object = json_object_new_object();

	json_int(object, "senders", lab->senders);
	if (lab->parallel > 1)
		json_int(object, "parallel", lab->parallel);
	json_int(object, "rate_bps", lab->rate_bps);
	json_int(object, "rtt_us", lab->rtt_us);
	json_int(object, "buffer_bytes", lab->buffer_bytes);
	json_int(object, "time_us", lab->time_us);
	json_int(object, "warmup_us", lab->warmup_us);
	json_int(object, "size_bytes", lab->size_bytes);
	json_int(object, "stagger_us", lab->stagger_us);
	json_int(object, "join_bytes", lab->join_bytes);
	if (lab->racks) {
		json_int(object, "racks", lab->racks);
		json_int(object, "servers", lab->servers);
		json_int(object, "uplink", lab->uplink);
		json_object_object_add(object, "longs", words(lab->longs));
		json_int(object, "burst", lab->burst);
		json_int(object, "burst_bytes", lab->burst_bytes);
		json_int(object, "churn_us", lab->churn_us);
		json_int(object, "lose_percent", lab->lose);
		json_int(object, "repeat_percent", lab->repeat);
		json_int(object, "reorder_percent", lab->reorder);
		json_int(object, "kill_us", lab->kill_us);
		json_object_object_add(object, "hiercc", json_object_new_string(lab->hiercc));
	}
	if (*lab->groups) {
		json_object_object_add(object, "groups", words(lab->groups));
		json_object_object_add(object, "rates", json_object_new_string(lab->rates));
		json_int(object, "headroom_bytes", lab->headroom_bytes);
		json_object_object_add(object, "shape", json_object_new_string(lab->shape));
		if (strcmp(lab->shape, "star"))
			json_int(object, "core", lab->core);
		json_object_object_add(object, "pfc", json_object_new_string(lab->pfc));
	}
	if (*lab->telemetry)
		json_object_object_add(object, "telemetry", json_object_new_string(lab->telemetry));
	json_object_object_add(object, "auth", json_object_new_boolean(lab->auth));
	json_int(object, "seed", lab->seed);
	if (*lab->podcc)
		json_object_object_add(object, "podcc", words(lab->podcc));
	if (*lab->app)
		json_object_object_add(object, "app", json_object_new_string(lab->app));
	if (*lab->attach)
		json_object_object_add(object, "attach", json_object_new_string(lab->attach));
	return object;
}

/* ---- pictures ---- */

static void queue_write(const struct run *run, int queue)
{
	char name[32] = "queue.csv";
	FILE *file;
	size_t row;

	if (queue)
		snprintf(name, sizeof(name), "queue%d.csv", queue + 1);
	file = file_open(run->dir, name, "w");
	fprintf(file, "t_us,bytes\n");
	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] >= run->zero_us)
			fprintf(file, "%lu,%lu\n", cell[0] - run->zero_us, cell[1 + 3 * queue]);
	}
	file_close(file);
}

/* Bins of 100 ms, of 10 ms where there is less than 3 s. */
static void rates_write(const struct run *run)
{
	uint64_t end = series_end_us(&run->ports), us, i, columns = run->ports.columns - 1;
	uint64_t bin_us = run->to_us - run->zero_us < 3000000 ? 10000 : 100000;
	FILE *file = file_open(run->dir, "rates.csv", "w");

	fprintf(file, "t_ms");
	for (i = 0; i < columns; i++)
		fprintf(file, ",f%lu_bps", i);
	fprintf(file, "\n");
	for (us = run->zero_us; us + bin_us <= end; us += bin_us) {
		fprintf(file, "%lu", (us - run->zero_us) / 1000);
		for (i = 0; i < columns; i++)
			fprintf(file, ",%.0f", port_rate_bps(run, i, us, us + bin_us));
		fprintf(file, "\n");
	}
	file_close(file);
}

static void probe_write(const struct run *run)
{
	FILE *file = file_open(run->dir, "probe.csv", "w");
	size_t i;

	fprintf(file, "t_us,rtt_us\n");
	for (i = 0; i < run->probes; i++)
		if (run->probe[i].t_us >= run->zero_us && run->probe[i].rtt_us)
			fprintf(file, "%lu,%lu\n", run->probe[i].t_us - run->zero_us,
				run->probe[i].rtt_us);
	file_close(file);
}

/* A long flow has no fct_ms, one that did not end has no end_us either. */
static void flow_write(const struct run *run, FILE *file, int number, const struct flow *f,
		       int finite)
{
	fprintf(file, "%d,%lu,", number, f->start_us - run->zero_us);
	if (f->end_us)
		fprintf(file, "%lu", f->end_us - run->zero_us);
	fprintf(file, ",%lu,", f->bytes);
	if (f->end_us && finite)
		fprintf(file, "%.3f", (f->end_us - f->start_us) / 1e3);
	fprintf(file, "\n");
}

static void flows_write(const struct lab *lab, const struct run *run)
{
	FILE *file = file_open(run->dir, "flows.csv", "w");
	int i, number = 0;

	fprintf(file, "flow,start_us,end_us,bytes,fct_ms\n");
	if (lab->join_bytes) {
		struct flow f = run->steady;

		f.end_us = run->to_us;
		f.bytes =
			series_at(&run->ports, 1, f.end_us) - series_at(&run->ports, 1, f.start_us);
		flow_write(run, file, number++, &f, 0);
	}
	for (i = 0; i < run->flows; i++)
		flow_write(run, file, number++, &run->flow[i], run->finite && i >= run->longs);
	file_close(file);
}

/* ---- the table ---- */

static double member(json_object *object, const char *key, const char *inner)
{
	json_object *value = json_object_object_get(object, key);

	if (inner)
		value = json_object_object_get(value, inner);
	return json_object_get_double(value);
}

/* Least, mean and most of an array; what is null in it is left out. */
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

/* Of racks: what the others have not. */
static void table_racks(const struct lab *lab, json_object *run)
{
	json_object *racks = json_object_object_get(run, "racks"), *back;
	size_t i;

	if (json_object_object_get(run, "fct_us"))
		printf("\n%-11s completion ms %.1f / %.1f / %.1f (p50, p99, max) of %.0f", "",
		       member(run, "fct_us", "p50") / 1e3, member(run, "fct_us", "p99") / 1e3,
		       member(run, "fct_us", "max") / 1e3, member(run, "fct_us", "count"));
	if (lab->burst) {
		back = json_object_object_get(run, "long_back_ms");
		printf("\n%-11s burst: queue max %.1f KB, over after %.1f ms; long flows %.1f Mbit/s before, least "
		       "%.1f, back at 95 %% ", "", member(run, "queue_burst_max_bytes", NULL) / 1e3,
		       member(run, "burst_ms", NULL), member(run, "long_before_bps", NULL) / 1e6,
		       member(run, "long_lowest_bps", NULL) / 1e6);
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

		printf("%s%.1f Mbit/s, VOQ %.1f / %.1f / %.1f", i ? "; " : "\n            racks: ",
		       member(rack, "rate_bps", NULL) / 1e6, member(rack, "voq_bytes", "p50") / 1e3,
		       member(rack, "voq_bytes", "p99") / 1e3, member(rack, "voq_bytes", "max") / 1e3);
	}
	printf(" KB");
}

/* Of LAB=pfc: what packets and senders waited for. */
static void table_pauses(json_object *run)
{
	json_object *pauses = json_object_object_get(run, "pauses");
	size_t i;

	if (json_object_object_get(run, "latency_us"))
		printf("\n%-11s packets ms %.1f / %.1f / %.1f (p50, p99, max), %.0f lost; senders held up for %.1f ms", "",
		       member(run, "latency_us", "p50") / 1e3, member(run, "latency_us", "p99") / 1e3,
		       member(run, "latency_us", "max") / 1e3, member(run, "lost", NULL),
		       member(run, "held_us", NULL) / 1e3);
	if (!pauses)
		return;
	printf("\n%-11s pauses: %.0f predicted, %.0f XOFF (%.0f repeated, %.0f ended), %.1f ms together; by group", "",
	       member(pauses, "predicted", NULL), member(pauses, "xoffs", NULL), member(pauses, "refreshes", NULL),
	       member(pauses, "xons", NULL), member(pauses, "paused_us", NULL) / 1e3);
	for (i = 0; i < json_object_array_length(json_object_object_get(pauses, "groups")); i++)
		printf(" %.0f", member(json_object_array_get_idx(json_object_object_get(pauses, "groups"), i), "sent", NULL));
	printf("; rank with the queue %.2f, with the rates %.2f", member(pauses, "rank", NULL),
	       member(pauses, "rank_rate", NULL));
}

/* A run by its control, and by its mechanism if it has one. */
static const char *run_name(json_object *run)
{
	static char name[128];
	json_object *mech = json_object_object_get(run, "mech");

	snprintf(name, sizeof(name), "%s%s%s", json_object_get_string(json_object_object_get(run, "cc")),
		 mech ? "-" : "", mech ? json_object_get_string(mech) : "");
	return name;
}

static void table_print(const struct lab *lab, json_object *results)
{
	json_object *runs = json_object_object_get(results, "runs"), *run, *array;
	double min, mean, max, base;
	size_t i;

	printf("\n%s, %lu senders, %.4g Mbit/s, RTT %.4g ms, buffer %.4g KB, Linux %s\n", lab->name,
	       lab->senders, lab->rate_bps / 1e6, lab->rtt_us / 1e3, lab->buffer_bytes / 1e3,
	       lab->kernel);
	if (*lab->podcc)
		printf("the pods have: %s\n", lab->podcc);
	if (*lab->missing)
		printf("missing here: %s\n", lab->missing);
	printf("              queue KB                  at start          Jain         probe over "
	       "base ms"
	       "      retrans-\n");
	printf("control       p50    p95    p99    max     max    use    mean  min    p50    p99    "
	       "max"
	       "     mits   drops\n");
	for (i = 0; i < json_object_array_length(runs); i++) {
		run = json_object_array_get_idx(runs, i);
		array_figures(json_object_object_get(run, "jain"), &min, &mean, &max);
		base = member(run, "probe_us", "base");
		printf("%-11s %6.1f %6.1f %6.1f %6.1f  %6.1f  %.3f   %.3f %.3f %6.2f %6.2f %6.2f  "
		       "%6.0f  %6.0f\n",
		       run_name(run),
		       member(run, "queue_bytes", "p50") / 1e3,
		       member(run, "queue_bytes", "p95") / 1e3,
		       member(run, "queue_bytes", "p99") / 1e3,
		       member(run, "queue_bytes", "max") / 1e3,
		       member(run, "queue_start_max_bytes", NULL) / 1e3,
		       member(run, "utilisation", NULL), mean, min,
		       (member(run, "probe_us", "p50") - base) / 1e3,
		       (member(run, "probe_us", "p99") - base) / 1e3,
		       (member(run, "probe_us", "max") - base) / 1e3,
		       member(run, "retransmits", NULL), member(run, "drops", NULL));
	}
	for (i = 0; i < json_object_array_length(runs); i++) {
		run = json_object_array_get_idx(runs, i);
		printf("%-11s", run_name(run));
		if (lab->size_bytes) {
			array_figures(json_object_object_get(run, "fct_ms"), &min, &mean, &max);
			printf(" completion ms %.1f / %.1f / %.1f (min, mean, max)", min, mean,
			       max);
			if (!lab->stagger_us)
				printf("; queue below 10 packets after %.1f ms",
				       member(run, "queue_below_10_packets_us", NULL) / 1e3);
			if (!lab->stagger_us && json_object_object_get(run, "fct_ideal_ms"))
				printf("; last / ideal %.3f",
				       max / member(run, "fct_ideal_ms", NULL));
			if (lab->stagger_us && json_object_object_get(run, "slowdown"))
				printf("; against processor sharing %.2f / %.2f / %.2f; "
				       "Jain 100 ms %.3f / %.3f (mean, min)",
				       member(run, "slowdown", "min"),
				       member(run, "slowdown", "mean"),
				       member(run, "slowdown", "max"),
				       member(run, "jain_100ms", "mean"),
				       member(run, "jain_100ms", "min"));
			if (json_object_object_get(run, "fair_ms"))
				printf("; fair %.1f ms after the last start",
				       member(run, "fair_ms", NULL));
			if (json_object_object_get(run, "spread_ms"))
				printf("; all complete within %.1f ms",
				       member(run, "spread_ms", NULL));
		} else if (lab->join_bytes) {
			table_array(" joiner's completion ms",
				    json_object_object_get(run, "fct_ms"), " %.1f");
			table_array("; long flow back at 95 % after ms",
				    json_object_object_get(run, "recovery_ms"), " %.1f");
			if (json_object_object_get(run, "jain_100ms"))
				printf("; Jain 100 ms %.3f / %.3f (mean, min)",
				       member(run, "jain_100ms", "mean"),
				       member(run, "jain_100ms", "min"));
		} else {
			array = json_object_object_get(run, "rates_bps");
			if (json_object_object_get(run, "paths"))
				printf(" %s", json_object_to_json_string_ext(
						      json_object_object_get(run, "paths"),
						      JSON_C_TO_STRING_PLAIN));
			table_array(" rates bit/s", array, " %.0f");
		}
		if (lab->racks)
			table_racks(lab, run);
		if (json_object_object_get(run, "mech"))
			table_pauses(run);
		if (json_object_object_get(run, "governed_ms"))
			printf("\n%-11s queue below 16 packets %.1f ms after attaching, then for "
			       "%.1f %% of the time",
			       "", member(run, "governed_ms", NULL),
			       100 * member(run, "governed_share", NULL));
		else if (*lab->attach)
			printf("\n%-11s queue never below 16 packets for 100 ms after attaching",
			       "");
		if (*lab->app)
			printf("\n%-11s redis ms %.1f / %.1f / %.1f (p50, p99, max), idle %.1f; "
			       "downloads %.1f Mbit/s of payload",
			       "", member(run, "redis_us", "p50") / 1e3,
			       member(run, "redis_us", "p99") / 1e3,
			       member(run, "redis_us", "max") / 1e3,
			       member(run, "redis_us", "base") / 1e3,
			       member(run, "bulk_bps", NULL) / 1e6);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	json_object *results = json_object_new_object(), *runs = json_object_new_array();
	static struct lab lab;
	static struct run run;
	char ran[256], path[4096], *cc, *save = NULL;
	int queue, failed = 0;

	if (argc != 2)
		die("usage: lab-sum DIR");
	snprintf(lab.dir, sizeof(lab.dir), "%s", argv[1]);
	lab_read(&lab);
	snprintf(ran, sizeof(ran), "%s", lab.ran);
	for (cc = strtok_r(ran, " ", &save); cc; cc = strtok_r(NULL, " ", &save)) {
		if (run_read(&lab, &run, cc)) {
			fprintf(stderr, "lab-sum: %s left nothing to add up\n", cc);
			failed = 1;
			continue;
		}
		for (queue = 0; queue < run.queues; queue++)
			queue_write(&run, queue);
		rates_write(&run);
		probe_write(&run);
		flows_write(&lab, &run);
		json_object_array_add(runs, run_figures(&lab, &run));
		free(run.queue.cell);
		free(run.ports.cell);
		free(run.probe);
		free(run.voqs.cell);
		free(run.latency.cell);
	}
	json_object_object_add(results, "lab", json_object_new_string(lab.name));
	json_object_object_add(results, "kernel", json_object_new_string(lab.kernel));
	json_object_object_add(results, "params", lab_params(&lab));
	json_object_object_add(results, "missing", words(lab.missing));
	json_object_object_add(results, "runs", runs);
	snprintf(path, sizeof(path), "%s/results.json", lab.dir);
	if (json_object_to_file_ext(path, results,
				    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED))
		die("lab-sum: cannot write %s: %s", path, json_util_get_last_err());
	table_print(&lab, results);
	json_object_put(results);
	return failed;
}
