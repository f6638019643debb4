/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LAB_SUM_H
#define LAB_SUM_H
/*
 * lab-sum: the data of a lab (input, params, series, window, run), computation (statistics, json, and a file for
 * each kind of figure), and output (figures, pictures, table). See main.c.
 */
#include <json-c/json.h>

#include "../lab.h"

#define FLOWS_MAX 4096
#define QUEUES_MAX 8
#define PACKET_WIRE 1514
#define PACKET_PAYLOAD 1448
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
	char name[64], kernel[256], missing[256], ran[256], podcc[256], telemetry[16], app[64], attach[64], nic[16],
		queue[16], aqm[128];
	uint64_t senders, parallel, long_flows, rate_bps, rtt_us, buffer_bytes, time_us, warmup_us, size_bytes,
		stagger_us, join_bytes, auth, gso, seed;
	/* LAB=racks and fabric */
	uint64_t racks, servers, uplink, burst, burst_bytes, incast_bytes, churn_us, lose, repeat, reorder, kill_us;
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
	struct flow steady;  /* of a join: the long flow */
	struct probe *probe;
	size_t probes;
	uint64_t zero_us, from_us, to_us;
};

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- input.c --- */

/* NULL if a file to be read cannot be opened; one that cannot be written ends the program. */
FILE *file_open(const char *dir, const char *name, const char *mode);
/* Ends the program if what was written did not reach the file. */
void file_close(FILE *file);
/* The value of a line KEY=VALUE; a line with another key changes nothing. */
void value_read(const char *line, const char *key, char *text, size_t size);
void number_read(const char *line, const char *key, uint64_t *number);

/* --- params.c --- */

/* Reads DIR/params; ends the program where there are none. */
void lab_read(struct lab *lab);
/* The member "params" of results.json. */
json_object *lab_params(const struct lab *lab);

/* --- series.c --- */

/* Reads rows of uint64_t. -1: there is no such file, or it has fewer than two rows. The caller frees series->cell. */
int series_read(const char *dir, const char *name, size_t columns, struct series *series);
uint64_t *series_row(const struct series *series, size_t row);
uint64_t series_end_us(const struct series *series);
/* A counter at any time, evenly between two samples. */
double series_at(const struct series *series, size_t column, double us);
/* The bytes per second that a port carried between two times. */
double port_rate_bps(const struct run *run, int port, double from_us, double to_us);
/* When the port began to carry a long flow; 0: it did not. */
uint64_t port_begun_us(const struct run *run, int port);

/* --- window.c --- */

/*
 * Both fill flow[] and the window of a run: with LAB=racks, and without. 0, or -1 where nothing is left to measure, which
 * is said on stderr.
 */
int window_find_racks(const struct lab *lab, struct run *run, const char *raw);
int window_find(const struct lab *lab, struct run *run, const char *raw);

/* --- run.c --- */

/* Reads the run in DIR/name: 0, or -1 where it left too little. The caller frees what it read by run_free(). */
int run_read(const struct lab *lab, struct run *run, const char *name);
void run_free(struct run *run);

/* --- statistics.c --- */

/* Nearest rank: the smallest value that at least `part` of all do not exceed. */
uint64_t percentile(const uint64_t *sorted, size_t count, double part);
/* Jain's index, from 1/count to 1; 1 if all rates are 0. */
double jain(const double *rate, int count);
/* Spearman's, from -1 to 1; 0 where all of one side are equal. */
double rank_correlation(const double *a, const double *b, int n);

/* --- json.c --- */

/* A number with as many decimals as are worth reading. */
json_object *json_number(double value, int decimals);
void json_int(json_object *object, const char *key, uint64_t value);
/* p50, p95 (if wanted), p99 and max. */
json_object *json_percentiles(uint64_t *values, size_t count, int p95);
/* The words of a text as an array of strings. */
json_object *words(const char *text);

/* --- fairness.c --- */

json_object *jain_seconds(const struct run *run);
json_object *jain_100ms(const struct run *run);
json_object *jain_joined(const struct run *run);
void fairness_figures(json_object *object, const struct lab *lab, const struct run *run);

/* --- queue.c --- */

json_object *queue_figures(const struct run *run, int queue, uint64_t *start_max);
/* The bytes that left the port. */
double queue_rate_bps(const struct run *run, int queue, uint64_t from_us, uint64_t to_us);
/* 0, or -1 where a bottleneck was none, or had nothing to send, which is said on stderr. */
int queues_hold(const struct lab *lab, const struct run *run);
uint64_t queue_drops(const struct run *run, int queue);
/* When, after its peak, the queue was at most `bytes`; from zero, in microseconds. */
uint64_t queue_settled_us(const struct run *run, int queue, uint64_t bytes);
/* The most that waited at the port between two times. */
uint64_t queue_max(const struct run *run, uint64_t from_us, uint64_t to_us);
void governed_figures(json_object *object, const struct run *run);
json_object *ports_figures(const struct lab *lab, const struct run *run);
json_object *classes_figures(const struct lab *lab, const struct run *run);

/* --- delay.c --- */

json_object *probe_figures(const struct run *run);
json_object *latency_figures(const struct run *run);

/* --- completion.c --- */

json_object *fct_figures(const struct run *run);
json_object *fct_percentiles(const struct run *run, uint64_t bytes);
json_object *slowdown_figures(const struct lab *lab, const struct run *run);
json_object *recovery_figures(const struct lab *lab, const struct run *run, double *before_bps);

/* --- web.c --- */

void web_figures(json_object *object, const struct run *run);

/* --- racks.c --- */

void fabric_figures(json_object *object, const struct lab *lab, const struct run *run);
void burst_figures(json_object *object, const struct lab *lab, const struct run *run);
json_object *racks_figures(const struct lab *lab, const struct run *run);
void kill_figures(json_object *object, const struct lab *lab, const struct run *run);

/* --- pfc.c --- */

void losses_figures(json_object *object, const struct run *run);
json_object *pauses_figures(const struct lab *lab, const struct run *run);

/* --- figures.c --- */

json_object *run_figures(const struct lab *lab, const struct run *run);

/* --- pictures.c --- */

void queue_write(const struct run *run, int queue);
void rates_write(const struct run *run);
void probe_write(const struct run *run);
void flows_write(const struct lab *lab, const struct run *run);

/* --- table.c --- */

void table_print(const struct lab *lab, json_object *results);

#endif
