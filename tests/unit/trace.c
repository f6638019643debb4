// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define QLEN_MAX ((1 << 27) - 1)

static const double table_mbps[] = {
	10, 100, 1000, 2500, 5000, 10000, 14000, 20000, 25000, 40000, 50000, 56000, 100000, 200000, 400000, 800000,
};

double trace_random(struct trace *t, double min, double max)
{
	return min + (max - min) * erand48(t->rng);
}

double trace_random_log(struct trace *t, double min, double max)
{
	return exp(trace_random(t, log(min), log(max)));
}

static int trace_chance(struct trace *t, double chance)
{
	return erand48(t->rng) < chance;
}

static uint64_t trace_speed(struct trace *t)
{
	double bps = 0;

	if (!t->cfg.table_speeds)
		return trace_random_log(t, t->cfg.bps_min, t->cfg.bps_max);
	while (bps < t->cfg.bps_min || bps > t->cfg.bps_max)
		bps = table_mbps[(int)trace_random(t, 0, 16)] * 1e6;
	return bps;
}

static void trace_hop_init(struct trace *t, int i)
{
	struct trace_hop *h = &t->now.hop[i];

	memset(h, 0, sizeof(*h));
	h->bps = trace_speed(t);
	/* Far beyond the fields of the wire, still exact in a double. */
	t->clock_offset[i] = floor(trace_random(t, 0, 4e15));
	h->ts_ns = t->clock_offset[i] + t->time_ns;
	t->served_ns[i] = h->ts_ns;
	h->tx_bytes = trace_random(t, 0, 1e15);
	t->load[i] = trace_random(t, 0, 1);
}

void trace_init(struct trace *t, const struct trace_cfg *cfg)
{
	int i;

	memset(t, 0, sizeof(*t));
	t->cfg = *cfg;
	t->rng[0] = cfg->seed;
	t->rng[1] = cfg->seed >> 16;
	t->rng[2] = 0x5e1f;
	t->now.hops = cfg->hops ? cfg->hops : 1 + (int)trace_random(t, 0, MODEL_HOPS);
	t->now.path_id = trace_random(t, 0, 4096);
	for (i = 0; i < MODEL_HOPS; i++)
		trace_hop_init(t, i);
}

static void trace_load_step(struct trace *t, int i)
{
	struct trace_hop *h = &t->now.hop[i];
	double bdp = h->bps * t->cfg.t_ns / 8e9;

	switch (t->cfg.load) {
	case TRACE_WALK:
		t->load[i] = fmin(fmax(t->load[i] + trace_random(t, -0.1, 0.1), 0.001), 1.2);
		break;
	case TRACE_INCAST:
		t->load[i] = trace_random(t, 0.2, 1);
		if (trace_chance(t, 0.005))
			h->qlen_bytes += bdp * trace_random_log(t, 1, 400);
		/* A switch that drops excess bytes, so that the queue ends some time. */
		if (trace_chance(t, 0.01))
			h->qlen_bytes *= trace_random(t, 0, 0.5);
		break;
	case TRACE_IDLE:
		t->load[i] = trace_chance(t, 0.2) ? trace_random_log(t, 1e-3, 1) : 0;
		break;
	}
}

/* The queue over the time since the last report: bytes in, bytes out, bytes left. */
static void trace_hop_step(struct trace *t, int i, double ts_ns)
{
	struct trace_hop *h = &t->now.hop[i];
	double dt = ts_ns - t->served_ns[i];
	double in, out;

	trace_load_step(t, i);
	if (dt > 0) {
		in = h->qlen_bytes + t->load[i] * h->bps * dt / 8e9;
		out = floor(fmin(in, h->bps * dt / 8e9));
		h->tx_bytes += out;
		h->qlen_bytes = floor(in - out);
		t->served_ns[i] = ts_ns;
	}
	h->qlen_bytes = fmin(h->qlen_bytes, fmin(QLEN_MAX, 500 * h->bps * t->cfg.t_ns / 8e9));
	h->ts_ns = ts_ns;
}

static void trace_change(struct trace *t)
{
	int i;

	if (trace_chance(t, t->cfg.path)) {
		t->now.path_id = (t->now.path_id + 1 + (int)trace_random(t, 0, 100)) & 0xfff;
		if (!t->cfg.hops)
			t->now.hops = 1 + (int)trace_random(t, 0, MODEL_HOPS);
		for (i = 0; i < MODEL_HOPS; i++)
			trace_hop_init(t, i);
	}
	if (trace_chance(t, t->cfg.hop_count))
		t->now.hops = t->now.hops == 1		? 2 :
			      t->now.hops == MODEL_HOPS ? MODEL_HOPS - 1 :
			      trace_chance(t, 0.5)	? t->now.hops - 1 :
							  t->now.hops + 1;
	if (trace_chance(t, t->cfg.speed))
		t->now.hop[0].bps = trace_speed(t);
}

void trace_next(struct trace *t, struct trace_row *row)
{
	double dt = t->cfg.interval_ns * trace_random_log(t, 0.1, 2.5);
	double sent;
	int i, long_gap;

	if (t->rows > TRACE_HISTORY && trace_chance(t, t->cfg.reorder)) {
		*row = t->history[(int)trace_random(t, 0, TRACE_HISTORY)];
		row->snd_nxt = t->now.snd_nxt;
		return;
	}
	trace_change(t);
	if (trace_chance(t, t->cfg.pause))
		dt = trace_random_log(t, dt, t->cfg.pause_ns);
	t->time_ns += fmax(1, floor(dt));
	/* A clock that stood still for half a wrap of 24 bits is not to be told from one that ran.
	 */
	long_gap = dt > 4e6;
	for (i = 0; i < MODEL_HOPS; i++) {
		/* Not all hops see the same time pass; sometimes none does. */
		double jitter = floor(trace_random(t, 0, fmin(t->cfg.interval_ns / 4, 1e6)));
		double ts_ns = t->clock_offset[i] + t->time_ns + jitter;

		if (long_gap || !trace_chance(t, t->cfg.still))
			trace_hop_step(t, i, ts_ns);
	}
	/* The flow sends about a window per T, and the feedback is about a window old. */
	sent = fmax(1, dt / t->cfg.t_ns * 10000);
	t->now.seq += sent;
	t->now.snd_nxt = t->now.seq + 10000;
	t->now.arrival_ns = t->time_ns + trace_random(t, -t->cfg.noise_ns, t->cfg.noise_ns);
	t->history[t->rows++ % TRACE_HISTORY] = t->now;
	*row = t->now;
}

void trace_model_ack(const struct trace_row *row, int quantised, struct model_ack *ack)
{
	unsigned int i;

	memset(ack, 0, sizeof(*ack));
	ack->seq = row->seq;
	ack->snd_nxt = row->snd_nxt;
	ack->path_id = row->path_id;
	ack->hops = row->hops;
	for (i = 0; i < row->hops; i++) {
		const struct trace_hop *h = &row->hop[i];
		double tx = h->tx_bytes, qlen = h->qlen_bytes;

		if (quantised) { /* Figure 7 of the paper */
			tx = floor(tx / 128) * 128;
			qlen = fmin(floor(qlen / 80 + 0.5), 65535) * 80;
		}
		ack->hop[i] = (struct model_hop){ h->bps, h->ts_ns, tx, qlen };
	}
}
