/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_H
#define SLUICE_SIM_H
/*
 * What the packet simulations share: a discrete-event engine with senders, links and receivers
 * that run the core (hpcc.h, pacer.h, telemetry.h) as it is.
 *
 *  1. A sender hands packets out while fewer than ceil(W/segment) + slack are unacknowledged
 *     (tcp_cc.bpf.h) and fq holds less than 1 ms of them (TCP small queues); they leave by the
 *     departure clock at R (egress.bpf.h), jitter later, through a tbf of the links' speed.
 *  2. A link is a tbf that stamps at enqueue (hop.bpf.h). Receivers acknowledge every ack packets,
 *     or fewer than spread more; an ACK takes rtt and brings the newest telemetry (ingress.bpf.h).
 *  3. stall: one CPU runs everything; now and then it is away for up to so long.
 *
 * A simulation is a topology: it fills links and flows, starts them, and defines the four
 * functions at the end of this file.
 */
#include "sluice/cc/hpcc.h"

#include <stddef.h>
#include <stdint.h>

#define SIM_LINKS 2
#define SIM_FLOWS 96
#define SEGMENT_BYTES 1462 /* a full packet between the hosts: MTU 1364, encapsulated */
#define W_MIN_BYTES 1514
#define US 1000ULL
#define MS (1000 * US)

struct sim_param {
	const char *name;
	double *value, min, max;
	const char *help;
};

/* Of every simulation; its own table comes after. */
#define SIM_PARAMS                                                                                 \
	{ "rate", &o_rate, 1, 800000, "speed of every link, Mbit/s" },                             \
	{ "rtt", &o_rtt, 1, 1e6, "delay of the ACKs and what hosts add under load, us" },          \
	{ "t", &o_t, 1, 1e6, "T as configured (base_rtt), us" },                                   \
	{ "n", &o_n, 1, 1e6, "N of W_AI = W_init * (1 - eta) / N" },                               \
	{ "eta", &o_eta, 0.01, 1, "target utilisation" },                                          \
	{ "stage", &o_stage, 0, 1e6, "maxStage" },                                                 \
	{ "time", &o_time, 0.001, 10000, "simulated seconds" },                                    \
	{ "warmup", &o_warmup, 0, 10000, "of which the first are not counted" },                   \
	{ "seed", &o_seed, 1, 1e9, "of the random numbers" },                                      \
	{ "burst", &o_burst, SEGMENT_BYTES, 1e9, "tokens of a link's tbf, bytes" },                \
	{ "jitter", &o_jitter, 0, 1e6, "departures are late by up to so much, us" },               \
	{ "ack", &o_ack, 1, 1000, "packets that an ACK covers" },                                  \
	{ "spread", &o_spread, 0, 1000, "and fewer than so many more, at random" },                \
	{ "slack", &o_slack, 0, 1000, "segments on top of the window" },                           \
	{ "stall", &o_stall, 0, 1e6, "the CPU is away for up to so long, us" },                    \
	{ "every", &o_every, 0.01, 1e6, "on average so often, ms" },                               \
	{ "dequeue", &o_dequeue, 0, 1, "1: stamp at dequeue, as in the paper" },                   \
	{ "exact", &o_exact, 0, 1, "1: telemetry not rounded to the units of Figure 7" }

extern double o_rate, o_rtt, o_t, o_n, o_eta, o_stage, o_time, o_warmup, o_seed, o_burst, o_jitter,
	o_ack, o_spread, o_slack, o_stall, o_every, o_dequeue, o_exact;

struct packet {
	uint64_t seq, rx_ns, sent_ns;
	struct hpcc_hop hop[SIM_LINKS];
	uint32_t flow, at; /* at: links passed */
};

/* sch_tbf: a packet leaves when there are tokens for all of it. */
struct bucket {
	double tokens, burst;
	uint64_t free_ns; /* when the last packet left, or will */
};

struct link {
	struct bucket bucket;
	uint64_t tx_bytes, tx_warm;
	uint32_t backlog, *sample;
};

struct flow {
	/* sender */
	struct hpcc_params p;
	struct hpcc_state cc;
	struct bucket nic;
	uint64_t start_ns, size, clock_ns, departed_ns, snd_nxt, fb_rx_ns; /* size 0: endless */
	uint32_t inflight, waiting, hops, link[SIM_LINKS];
	/* receiver */
	struct packet newest;
	uint64_t delack_id, rx_bytes, rx_warm, done_ns;
	uint32_t unacked;
};

struct sim {
	struct link links[SIM_LINKS];
	struct flow flows[SIM_FLOWS];
	uint32_t link_count, flow_count, samples;
	uint64_t now, warmup_ns;
	uint64_t route_ns;  /* one cable and one switch */
	uint64_t delack_ns; /* longest delay of an ACK */
	uint64_t sample_ns;
};

extern struct sim sim;

double sim_uniform(void);
void *sim_allocate(void *old, size_t bytes);
double sim_burst_bytes(double bytes);
/* From the command line; 0 if it is wrong, which has been said. --help ends the program. */
int sim_options(const char *name, const struct sim_param *params, size_t count, int argc,
		char **argv);
void sim_begin(uint64_t route_ns, uint64_t delack_ns, uint64_t sample_ns);
void sim_link_init(struct link *l, double burst);
/* As flow_params() of bpf/host/flow.bpf.h; sends from start_ns on. */
void sim_flow_init(struct flow *f);
void sim_flow_start(struct flow *f, uint64_t start_ns);
void sim_run(void);
/* For a topology with parts of its own: call is called at that time, with a copy of the packet. */
void sim_at(uint64_t ns, void (*call)(struct packet *pkt), const struct packet *pkt);
void sim_print_queues(void);

/* Of the simulation: */
/* What an ACK tells of the packet that it is for. */
struct hpcc_ack flow_ack(const struct flow *f, const struct packet *pkt);
enum hpcc_kind flow_decide(struct flow *f, const struct hpcc_ack *ack, const struct packet *pkt);
void flow_committed(struct flow *f); /* Wc, after the warm-up */
void sim_sampled(void);		     /* every sample_ns */
int sim_over(void);		     /* before the time is */

#endif
