// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convergence to fairness on a star: flows that start a few at a time share one link, by the engine
 * of sim.h. What "Convergence to fairness in RDMA congestion control" shows in its figures 1 to 6
 * and 8: group flows start every gap RTTs, each sends size BDPs (20 are its 1 MB at 100 Gbit/s).
 *
 *	star [NAME=VALUE ...]      prints one JSON object; the names are in the table below
 *
 * jain_rtts: from the last start until Jain's index of the flows' R, each a mean of 5 RTTs, is at
 * least 0.95 for 5 RTTs; null if a flow ended before, or never. spread_rtts: between the first and
 * the last completion. With size=0 flows are endless: convergence after the last of the joins.
 */
#include "sim.h"

#include "sluice/cc/swift.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAMPLES_PER_RTT 4
#define JAIN_RTTS 5
#define HISTORY (SAMPLES_PER_RTT * JAIN_RTTS)
#define JAIN_FAIR 0.95

static double o_senders = 16, o_group = 2, o_gap = 5, o_size = 20, o_variant, o_swift;

static const struct sim_param params[] = {
	{ "senders", &o_senders, 1, SIM_FLOWS, "flows" },
	{ "group", &o_group, 1, SIM_FLOWS, "that start together" },
	{ "gap", &o_gap, 0, 1e6, "RTTs between groups" },
	{ "size", &o_size, 0, 1e6, "of a flow, BDPs; 0: endless" },
	{ "variant", &o_variant, 0, HPCC_VARIANTS - 1, "enum hpcc_variant" },
	{ "swift", &o_swift, 0, 1, "1: by delay instead of telemetry" },
	SIM_PARAMS,
};

static struct swift_params swift;
static double rates[SIM_FLOWS][HISTORY];
static double fair_since = -1, jain_rtts = -1, jain_sum, jain_count;

enum hpcc_kind flow_decide(struct flow *f, const struct hpcc_ack *ack, const struct packet *pkt)
{
	struct hpcc_ack with_random = *ack;
	struct swift_ack sample = {
		.seq = ack->seq, .snd_nxt = ack->snd_nxt, .delay_ns = sim.now - pkt->sent_ns
	};

	with_random.random = sample.random = sim_uniform() * 0x1p32;
	return o_swift ? swift_new_ack(&f->cc, &f->p, &swift, &sample)
		       : hpcc_new_ack(&f->cc, &f->p, &with_random);
}

void flow_committed(struct flow *f)
{
	(void)f;
}

static double rtts(double ns)
{
	return ns / (o_t * US);
}

/* Jain's index of those that send; 0 as soon as one has ended. */
static double jain(void)
{
	double sum = 0, squares = 0, r;
	uint32_t i, k;

	for (i = 0; i < sim.flow_count; i++) {
		if (sim.flows[i].done_ns)
			return 0;
		for (r = 0, k = 0; k < HISTORY; k++)
			r += rates[i][k];
		sum += r;
		squares += r * r;
	}
	return sum * sum / (squares * sim.flow_count);
}

void sim_sampled(void)
{
	uint64_t last_ns = sim.flows[sim.flow_count - 1].start_ns;
	static uint32_t slot;
	uint32_t i;
	double j;

	slot = (slot + 1) % HISTORY;
	for (i = 0; i < sim.flow_count; i++)
		rates[i][slot] = sim.now < sim.flows[i].start_ns ? 0 : sim.flows[i].cc.rate_bps;
	if (sim.now < last_ns)
		return;
	j = jain();
	if (j) {
		jain_sum += j;
		jain_count++;
	}
	if (j < JAIN_FAIR)
		fair_since = -1;
	else if (fair_since < 0)
		fair_since = sim.now;
	if (jain_rtts < 0 && fair_since >= 0 && rtts(sim.now - fair_since) >= JAIN_RTTS)
		jain_rtts = rtts(fair_since - last_ns);
}

int sim_over(void)
{
	uint32_t i;

	for (i = 0; i < sim.flow_count; i++)
		if (!sim.flows[i].done_ns)
			return 0;
	return 1;
}

static void star_begin(void)
{
	uint64_t t_ns = o_t * US;
	uint32_t i;

	/* An ACK waits for an RTT at most: the last packets of a flow are few. */
	sim_begin(t_ns / 400, t_ns, t_ns / SAMPLES_PER_RTT);
	sim.link_count = 1;
	sim.flow_count = o_senders;
	sim_link_init(&sim.links[0], o_burst);
	for (i = 0; i < sim.flow_count; i++) {
		struct flow *f = &sim.flows[i];

		f->hops = 1;
		f->size = o_size * o_rate * o_t / 8;
		sim_flow_init(f);
		hpcc_params_variant(&f->p, (enum hpcc_variant)o_variant);
		hpcc_init(&f->cc, &f->p);
		swift_params_init(&swift, &f->p, f->hops);
		f->nic.burst = f->nic.tokens = 1600;
		sim_flow_start(f, (uint64_t)(i / (uint32_t)o_group * o_gap * t_ns +
					     sim_uniform() * t_ns / 4));
	}
}

static void star_print(void)
{
	double first = INFINITY, last = 0, start = INFINITY;
	uint32_t i;

	for (i = 0; i < sim.flow_count; i++) {
		start = fmin(start, sim.flows[i].start_ns);
		first = fmin(first, sim.flows[i].done_ns);
		last = fmax(last, sim.flows[i].done_ns);
	}
	printf("{\"jain_rtts\":");
	printf(jain_rtts < 0 ? "null" : "%.1f", jain_rtts);
	printf(",\"jain_mean\":%.4f,", jain_sum / jain_count);
	if (first > 0)
		printf("\"spread_rtts\":%.1f,\"last_rtts\":%.1f,", rtts(last - first),
		       rtts(last - start));
	printf("\"utilisation\":%.4f,",
	       sim.links[0].tx_bytes * 8e3 / (sim.now - start) / o_rate);
	sim_print_queues();
	printf("}\n");
}

int main(int argc, char **argv)
{
	o_time = 20;
	o_warmup = 0;
	o_t = 4000;
	o_rtt = 3700;
	if (!sim_options("star", params, sizeof(params) / sizeof(params[0]), argc, argv))
		return 2;
	star_begin();
	sim_run();
	star_print();
	return 0;
}
