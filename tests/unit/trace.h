/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TEST_TRACE_H
#define SLUICE_TEST_TRACE_H
/*
 * Random feedback of a flow whose path is up to five fluid queues: the true measurements, at
 * full width. Tests cut it to the fields of the wire for the core and leave it whole for the model.
 */
#include <stdint.h>

#include "model.h"

#define TRACE_HISTORY 8

struct trace_hop {
	uint64_t bps, ts_ns, tx_bytes, qlen_bytes;
};

struct trace_row {
	uint64_t seq, snd_nxt;
	int64_t arrival_ns; /* at the receiver, with the noise of queues further on */
	unsigned int path_id, hops;
	struct trace_hop hop[MODEL_HOPS];
};

enum trace_load {
	TRACE_WALK,   /* from idle to 20 % too much */
	TRACE_INCAST, /* now and then hundreds of BDPs at once */
	TRACE_IDLE,   /* mostly nothing, not even a byte */
};

struct trace_cfg {
	unsigned int seed;
	enum trace_load load;
	double t_ns;
	double bps_min, bps_max;
	int hops;	    /* 0: any, and another after a change of path */
	int table_speeds;   /* only speeds that the telemetry can name */
	double interval_ns; /* between feedbacks, on average */
	double noise_ns;    /* of arrivals */
	/* chances per row */
	double reorder;	  /* an older feedback once more */
	double still;	  /* the clock of a hop stands still */
	double path;	  /* the path changes, and its hops */
	double hop_count; /* a hop more or less under the same pathID */
	double speed;	  /* a hop changes its speed */
	double pause;	  /* a pause of up to pause_ns */
	double pause_ns;
};

struct trace {
	struct trace_cfg cfg;
	unsigned short rng[3];
	struct trace_row now;
	double load[MODEL_HOPS];
	double clock_offset[MODEL_HOPS];
	double served_ns[MODEL_HOPS]; /* up to when the queue has run; reports may be older */
	struct trace_row history[TRACE_HISTORY];
	unsigned long rows;
	double time_ns;
};

double trace_random(struct trace *t, double min, double max);
double trace_random_log(struct trace *t, double min, double max);
void trace_init(struct trace *t, const struct trace_cfg *cfg);
void trace_next(struct trace *t, struct trace_row *row);

/* As the model wants it; quantised: in the units of the telemetry, but never wrapped. */
void trace_model_ack(const struct trace_row *row, int quantised, struct model_ack *ack);

#endif
