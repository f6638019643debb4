// SPDX-License-Identifier: GPL-2.0-only
/*
 * What Algorithm 1 (HPCC, SIGCOMM 2019) gives in the lab's dumbbell, by the engine of sim.h. Flows
 * are dealt in turn to the paths
 *
 *	A  link 0 and link 1        B  link 0        C  link 1
 *
 *	dumbbell [NAME=VALUE ...]      prints one JSON object; the names are in the table below
 *
 * What the paper predicts (appendix A.3): the fixed point of R = R * eta/U + a, a = W_AI/T, is
 * R = a / (1 - eta/U), U = max over the hops. Without noise A's U is that of either link, so all
 * rates are equal: fluid.max_min. But each u is a count of whole packets in one ACK interval, and
 * line 7 takes the maximum of two such before line 9 averages: A sees a mean U above both links'
 * ("biased upwards by other congested links on the path ... towards proportional fairness").
 * That excess is 1 to 2 % at 100 Mbit/s and 4 ms, and 1 - eta/U = a/R would be 0.7 % for equal
 * rates at N = 16. So the smaller W_AI, the smaller A's share, even below the proportional one
 * (fluid.proportional). Averaging each hop first (hop_ewma=1, not Algorithm 1) gives most of it
 * back where timing is clean.
 *
 * fluid.balance is the same fixed point with the U's that occurred: a / mean of (1 - eta/U), where
 * commits that only add count as 0. It is r_bps, the mean of R, as long as W stays below W_init.
 * The rate is less than R where the window is too small for the real RTT (T too short, ACKs late),
 * which also makes traffic clump, U noisier and A's share smaller.
 */
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATHS 3

static double o_senders = 3, o_hop_ewma;

static const struct sim_param params[] = {
	{ "senders", &o_senders, PATHS, SIM_FLOWS, "flows, a multiple of 3" },
	SIM_PARAMS,
	{ "hop_ewma", &o_hop_ewma, 0, 1, "1: average each hop, then take the maximum" },
};

/* By flow: what each hop alone would say, and sums over the commits after the warm-up. */
static struct record {
	struct hpcc_state hop_cc[SIM_LINKS];
	double commits, u_sum, u_squares, hop_sum, rate_sum, pull_sum;
} records[SIM_FLOWS];

/* U of each hop alone; with hop_ewma the largest of them decides in the place of Algorithm 1's. */
enum hpcc_kind flow_decide(struct flow *f, const struct hpcc_ack *ack, const struct packet *pkt)
{
	struct record *r = &records[f - sim.flows];
	struct hpcc_ack one = *ack;
	enum hpcc_kind kind;
	q24_t u = 0;
	int i;

	(void)pkt;
	one.hops = 1;
	for (i = 0; i < ack->hops; i++) {
		one.hop[0] = ack->hop[i];
		if (hpcc_observe(&r->hop_cc[i], &f->p, &one) != HPCC_SKIPPED)
			hpcc_record(&r->hop_cc[i], &one);
		if (r->hop_cc[i].u > u)
			u = r->hop_cc[i].u;
	}
	if (!o_hop_ewma)
		return hpcc_new_ack(&f->cc, &f->p, ack);
	kind = hpcc_observe(&f->cc, &f->p, ack);
	if (kind == HPCC_FAST) {
		if (ack->seq > f->cc.last_update_seq)
			kind = HPCC_FULL;
		f->cc.u = u;
		hpcc_wind(&f->cc, &f->p, kind == HPCC_FULL);
		if (kind == HPCC_FULL)
			f->cc.last_update_seq = ack->snd_nxt;
		f->cc.rate_bps = hpcc_rate_bps(f->cc.w, f->p.t_ns);
	}
	if (kind != HPCC_SKIPPED)
		hpcc_record(&f->cc, ack);
	return kind;
}

void flow_committed(struct flow *f)
{
	struct record *r = &records[f - sim.flows];
	double u = (double)f->cc.u / Q24_ONE;

	r->commits++;
	r->u_sum += u;
	r->u_squares += u * u;
	r->hop_sum += (double)r->hop_cc[0].u / Q24_ONE;
	r->rate_sum += f->cc.rate_bps;
	r->pull_sum += f->cc.inc_stage ? 0 : 1 - o_eta / u;
}

void sim_sampled(void)
{
}

int sim_over(void)
{
	return 0;
}

static void dumbbell_begin(void)
{
	uint32_t i, k;

	sim_begin(10 * US, 40 * MS, MS);
	sim.link_count = 2;
	sim.flow_count = o_senders;
	for (i = 0; i < sim.link_count; i++)
		sim_link_init(&sim.links[i], sim_burst_bytes(o_burst));
	for (i = 0; i < sim.flow_count; i++) {
		struct flow *f = &sim.flows[i];

		f->hops = i % PATHS == 0 ? 2 : 1;
		f->link[0] = i % PATHS == 2;
		f->link[1] = 1;
		sim_flow_init(f);
		for (k = 0; k < SIM_LINKS; k++)
			hpcc_init(&records[i].hop_cc[k], &f->p);
		f->nic.burst = f->nic.tokens = sim_burst_bytes(1600);
		sim_flow_start(f, sim_uniform() * 5 * MS);
	}
}

#define PRINT_FLOWS(key, format, expression)                                                       \
	do {                                                                                       \
		printf("\"%s\":[", key);                                                           \
		for (i = 0; i < sim.flow_count; i++) {                                             \
			const struct flow *f = &sim.flows[i];                                      \
			const struct record *r = &records[i];                                      \
												   \
			(void)f;                                                                   \
			(void)r;                                                                   \
			printf("%s" format, i ? "," : "", expression);                             \
		}                                                                                  \
		printf("]");                                                                       \
	} while (0)

static void dumbbell_print(void)
{
	double span = o_time - o_warmup, per_path = sim.flow_count / PATHS;
	double c_bps = o_rate * 1e6, a_bps = sim.flows[0].p.w_ai / 4096.0 * 8e6 / o_t;
	uint32_t i;

	printf("{");
	PRINT_FLOWS("rates_bps", "%.0f", (f->rx_bytes - f->rx_warm) * 8 / span);
	printf(",\"utilisation\":[");
	for (i = 0; i < sim.link_count; i++)
		printf("%s%.4f", i ? "," : "",
		       (sim.links[i].tx_bytes - sim.links[i].tx_warm) * 8 / span / c_bps);
	printf("],");
	sim_print_queues();
	printf(",");
	PRINT_FLOWS("r_bps", "%.0f", r->rate_sum / r->commits);
	printf(",");
	PRINT_FLOWS("u", "%.4f", r->u_sum / r->commits);
	printf(",");
	PRINT_FLOWS("u_sd", "%.4f",
		    sqrt(fmax(0, r->u_squares / r->commits - pow(r->u_sum / r->commits, 2))));
	printf(",");
	PRINT_FLOWS("u_first_hop", "%.4f", r->hop_sum / r->commits);
	printf(",\"fluid\":{\"max_min\":[");
	/* 2 R per_path = U C and R = a / (1 - eta/U) */
	for (i = 0; i < sim.flow_count; i++)
		printf("%s%.0f", i ? "," : "", o_eta * c_bps / (2 * per_path) + a_bps);
	printf("],\"proportional\":[");
	for (i = 0; i < sim.flow_count; i++)
		printf("%s%.0f", i ? "," : "", o_eta * c_bps / per_path * (i % PATHS ? 2 : 1) / 3);
	printf("],");
	PRINT_FLOWS("balance", "%.0f", a_bps * r->commits / r->pull_sum);
	printf("}}\n");
}

int main(int argc, char **argv)
{
	if (!sim_options("dumbbell", params, sizeof(params) / sizeof(params[0]), argc, argv))
		return 2;
	if (fmod(o_senders, PATHS) != 0 || o_warmup > o_time / 2) {
		fprintf(stderr, "dumbbell: senders= is to be a multiple of %d, warmup= at most "
				"half of time=\n", PATHS);
		return 2;
	}
	dumbbell_begin();
	sim_run();
	dumbbell_print();
	return 0;
}
