// SPDX-License-Identifier: GPL-2.0-only
/*
 * Section 5 of P-PFC (TPDS 2020): many to one through a switch with a shared buffer. The core (ppfc.h, pfc.h)
 * runs as it is; prints one JSON object.
 *
 *	sender --hop--> switch: ingress counters, egress queue --hop--> receiver
 *
 * Up to three groups of senders, each to a receiver of its own (Figure 8). All ports have the same speed. A
 * sender obeys at its next packet and is spaced at its rate from the end of the pause. mech:
 *
 *	0	none: what does not fit is lost, and not sent again
 *	1	PFC, XOFF and XON on the ingress counters
 *	2	P-PFC, with PFC beneath
 *
 * cc: 0 senders keep their rate, as RDMA does until its control reacts; 1 DCQCN with the parameters of Table 2,
 * whose times are for 40 Gbit/s and are longer where the ports are slower.
 */
#include "sim.h"

#include "sluice/pause/ppfc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_MAX 64
#define GROUPS 3
#define CNP_NS (50 * US)
#define TIMER_NS (55 * US)
#define COUNTER_BYTES 10e6
#define STAGE_FAST 5

static double o_mech = 2, o_cc, o_senders = 16, o_second, o_third, o_size = 1000, o_mix, o_packet = 1000,
	      o_shared = 4000, o_kmin = 40, o_kmax, o_thresh, o_fraction = 0.8, o_hop = 1, o_interval = 1,
	      o_late, o_fixed, o_share = 1, o_return = 1, o_alpha = 1, o_pause, o_stagger = 1,
	      o_ahead, o_bins;

static const struct sim_param params[] = {
	{ "mech", &o_mech, 0, 2, "see above" },
	{ "cc", &o_cc, 0, 1, "see above" },
	{ "senders", &o_senders, 1, PORTS_MAX, "of the first group" },
	{ "second", &o_second, 0, PORTS_MAX, "of the second" },
	{ "third", &o_third, 0, PORTS_MAX, "of the third" },
	{ "size", &o_size, 0, 1e6, "of each flow, KB; 0: endless" },
	{ "mix", &o_mix, 0, 1, "1: rates of the first group are 1:10:20:40, 3:5:4:4 of 16 (Figure 9)" },
	{ "packet", &o_packet, 100, 10000, "bytes" },
	{ "shared", &o_shared, 1, 1e6, "shared buffer, KB" },
	{ "kmin", &o_kmin, 0, 1e6, "K_min of ECN, KB" },
	{ "kmax", &o_kmax, 0, 1e6, "K_max of ECN, KB; 0: the default of ppfc_params_init()" },
	{ "thresh", &o_thresh, 0, 1e6, "T_thresh, us; 0: Equation 5" },
	{ "fraction", &o_fraction, 0.01, 1, "R" },
	{ "hop", &o_hop, 0, 1e6, "delay of a link, us" },
	{ "interval", &o_interval, 0.1, 1e6, "between two rounds, us" },
	{ "late", &o_late, 0, 10, "and at random so much more, of it" },
	{ "fixed", &o_fixed, 0, 1e6, "all pauses of P-PFC last so long, us (Figure 10); 0: Algorithm 3" },
	{ "share", &o_share, 0, 1, "0: Algorithm 3 by the letter: at the speed of the egress port" },
	{ "return", &o_return, 0, 1, "0: those under pause are not expected back" },
	{ "alpha", &o_alpha, 0, 63, "XOFF is the free buffer by this; 0: an equal part of the buffer" },
	{ "pause", &o_pause, 0, 1e6, "of XOFF, us; 0: the default of pfc_params_init()" },
	{ "stagger", &o_stagger, 0, 1e9, "flows begin at random within so long, us" },
	{ "ahead", &o_ahead, 0, 1e6, "senders have given departures for so long ahead, us: these leave in a pause" },
	{ "bins", &o_bins, 0, 1, "1: print the queue over time" },
	SIM_PARAMS,
};

/* A sender, its link, and the port of the switch at its end. */
static struct port {
	struct pfc_obey obey;
	struct pfc_told told;
	double bps; /* of the flow without a control */
	uint64_t clock_ns, wake_ns, left, sent, blocked_ns;
	uint32_t group, held, last, at_xoff; /* held: in the egress queue, bytes; last: in the round before */
	uint32_t pauses, xoffs, refreshes, xons;
	double share; /* of the queue, sum of the rounds in which there was one */
	/* DCQCN */
	double target, alpha, counted;
	uint64_t cnp_ns, timer_id;
	uint32_t by_time, by_bytes;
} ports[PORTS_MAX];

static struct group {
	uint64_t free_ns, left_bytes, last_ns;
	uint32_t held, last, peak, busy;
} groups[GROUPS];

static struct ppfc_params pp;
static struct pfc_params fp;
static struct pfc_obey_params op;
static struct ppfc_random rng;
static uint64_t shared, headroom, used, used_peak, over_peak, lost, round_ns, first_ns = ~0ULL;
static uint32_t count, acted;
static double *latency, scale;
static size_t latencies, latency_room;

static uint64_t wire_ns(void)
{
	return o_packet * 8e3 / o_rate;
}

static uint64_t hop_ns(void)
{
	return o_hop * US;
}

/* A PFC frame with its preamble and gap. */
static uint64_t frame_ns(void)
{
	return 84 * 8e3 / o_rate;
}

static uint64_t buffer_free(void)
{
	return used < shared ? shared - used : 0;
}

/* ---- Senders ---- */

static void port_try(struct port *p);

static void port_wake(struct packet *pkt)
{
	struct port *p = &ports[pkt->flow];

	if (p->wake_ns == sim.now) {
		p->wake_ns = 0;
		port_try(p);
	}
}

static void switch_arrive(struct packet *pkt);
static void port_increase(struct port *p);

static void port_try(struct port *p)
{
	struct packet pkt = { .flow = p - ports };
	uint64_t at = pacer_departure(sim.now, p->clock_ns, pfc_asked(&p->obey, &op, sim.now, 0));

	if (!p->left)
		return;
	if (at > sim.now) {
		if (p->wake_ns != at)
			sim_at(at, port_wake, &pkt);
		p->wake_ns = at;
		return;
	}
	p->blocked_ns += at - p->clock_ns; /* nothing else keeps it from sending */
	p->clock_ns = at + pacer_cost_ns(o_packet, p->bps);
	p->left -= p->left < o_packet ? p->left : o_packet;
	p->sent += o_packet;
	p->counted += o_packet;
	if (o_cc && p->counted >= COUNTER_BYTES) {
		p->counted = 0;
		p->by_bytes++;
		port_increase(p);
	}
	pkt.sent_ns = sim.now;
	sim_at(sim.now + wire_ns() + hop_ns(), switch_arrive, &pkt);
	port_try(p);
}

/* DCQCN: F fast steps, then by R_AI. */
static void port_increase(struct port *p)
{
	if (p->by_time > STAGE_FAST || p->by_bytes > STAGE_FAST)
		p->target = fmin(p->target + 40e6 * o_rate / 40000, o_rate * 1e6);
	p->bps = (p->bps + p->target) / 2;
}

static void port_timer(struct packet *pkt)
{
	struct port *p = &ports[pkt->flow];

	if (pkt->seq != p->timer_id)
		return;
	p->alpha *= 1 - 1 / 256.0;
	p->by_time++;
	port_increase(p);
	sim_at(sim.now + TIMER_NS * scale, port_timer, pkt);
}

static void port_cnp(struct packet *pkt)
{
	struct port *p = &ports[pkt->flow];
	struct packet timer = { .flow = pkt->flow, .seq = ++p->timer_id };

	/* As in the simulator that the papers use: the target falls once between two increases. */
	if (p->by_time || p->by_bytes)
		p->target = p->bps;
	p->bps = fmax(p->bps * (1 - p->alpha / 2), o_rate * 1e6 / 400);
	p->alpha = p->alpha * (1 - 1 / 256.0) + 1 / 256.0;
	p->by_time = p->by_bytes = 0;
	p->counted = 0;
	sim_at(sim.now + TIMER_NS * scale, port_timer, &timer);
}

/* The end of a pause is that of the frame, whatever left in it. */
static void port_told(struct packet *pkt)
{
	struct port *p = &ports[pkt->flow];
	uint32_t gone = pfc_ns_quanta(o_ahead * US, op.bps);

	if (pkt->seq && pkt->seq <= gone)
		return;
	pfc_hear(&p->obey, &op, sim.now, pkt->seq ? pkt->seq - gone : 0);
	port_try(p);
}

/* A PFC frame goes by the port's own wire. */
static void port_tell(struct port *p, uint32_t quanta)
{
	struct packet frame = { .flow = p - ports, .seq = quanta };

	sim_at(sim.now + hop_ns() + frame_ns() + (quanta ? (uint64_t)(o_ahead * US) : 0), port_told, &frame);
}

/* ---- Switch ---- */

static void switch_leave(struct packet *pkt)
{
	struct port *p = &ports[pkt->flow];
	struct group *g = &groups[p->group];
	struct packet cnp = { .flow = pkt->flow };

	used -= o_packet;
	p->held -= o_packet;
	g->held -= o_packet;
	g->left_bytes += o_packet;
	g->last_ns = sim.now;
	if (!p->group) {
		if (latencies == latency_room) {
			latency_room = 2 * latency_room + 1024;
			latency = sim_allocate(latency, latency_room * sizeof(*latency));
		}
		latency[latencies++] = (sim.now + hop_ns() - pkt->sent_ns) / 1e3;
	}
	if (pkt->at && (!p->cnp_ns || sim.now - p->cnp_ns >= CNP_NS * scale)) {
		p->cnp_ns = sim.now;
		sim_at(sim.now + 3 * hop_ns(), port_cnp, &cnp);
	}
}

/* ECN of DCQCN: RED between K_min and K_max, P_max 1. */
static int is_marked(uint32_t queue)
{
	return o_cc && queue > o_kmin * 1e3 &&
	       sim_uniform() < (queue - o_kmin * 1e3) / (pp.k_max - o_kmin * 1e3);
}

static void switch_arrive(struct packet *pkt)
{
	struct port *p = &ports[pkt->flow];
	struct group *g = &groups[p->group];

	if (used + o_packet > shared + headroom * count) {
		lost++;
		return;
	}
	if (sim.now < first_ns)
		first_ns = sim.now;
	pkt->at = is_marked(g->held);
	used += o_packet;
	p->held += o_packet;
	g->held += o_packet;
	used_peak = used > used_peak ? used : used_peak;
	g->peak = g->held > g->peak ? g->held : g->peak;
	if (p->told.xoff && p->held > p->at_xoff && p->held - p->at_xoff > over_peak)
		over_peak = p->held - p->at_xoff;
	g->free_ns = (g->free_ns > sim.now ? g->free_ns : sim.now) + wire_ns();
	sim_at(g->free_ns, switch_leave, pkt);
}

static void switch_pfc(void)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct port *p = &ports[i];
		__u64 pause_ns;
		enum pfc_act act = pfc_ingress(&p->told, &fp, sim.now, p->held, buffer_free(), &pause_ns);

		if (act == PFC_NOTHING)
			continue;
		if (act == PFC_XOFF)
			p->at_xoff = p->held;
		p->xoffs += act == PFC_XOFF;
		p->refreshes += act == PFC_REFRESH;
		p->xons += act == PFC_XON;
		port_tell(p, pfc_ns_quanta(pause_ns, op.bps));
	}
}

/* Algorithms 2 and 3 for the queue of a group. */
static void switch_pause(uint32_t group, const struct ppfc_queue *q, uint64_t elapsed_ns)
{
	struct ppfc_share shares[PORTS_MAX] = {};
	uint32_t i, quanta;

	for (i = 0; i < count; i++) {
		if (ports[i].group == group)
			shares[i] = (struct ppfc_share){ .bytes = ports[i].held,
							 .increment = (int64_t)ports[i].held - ports[i].last };
	}
	ppfc_choose(shares, count, &pp, &rng);
	for (i = 0; i < count; i++) {
		struct port *p = &ports[i];

		if (!shares[i].drawn)
			continue;
		quanta = ppfc_duration(&shares[i], q, &pp, elapsed_ns, op.bps);
		if (!o_share)
			quanta = pfc_ns_quanta(pfc_bytes_ns(shares[i].bytes + shares[i].increment, q->bps),
					       op.bps);
		if (o_fixed)
			quanta = pfc_ns_quanta(o_fixed * US, op.bps);
		if (!ppfc_tell(&p->told, sim.now, quanta, op.bps, &shares[i], elapsed_ns))
			continue;
		p->pauses++;
		port_tell(p, quanta);
	}
}

static void switch_predict(uint64_t elapsed_ns)
{
	struct ppfc_queue queues[GROUPS];
	uint32_t i;

	for (i = 0; i < GROUPS; i++)
		queues[i] = (struct ppfc_queue){ .bytes = groups[i].held,
						 .increment = (int64_t)groups[i].held - groups[i].last,
						 .bps = o_rate * 1e6 };
	for (i = 0; o_return && i < count; i++)
		queues[ports[i].group].returning += ppfc_returning(
			&ports[i].told, &pp, sim.now, (int64_t)ports[i].held - ports[i].last, elapsed_ns);
	acted += ppfc_predict(queues, GROUPS, &pp, buffer_free(), elapsed_ns) != 0;
	for (i = 0; i < GROUPS; i++) {
		if (queues[i].acts)
			switch_pause(i, &queues[i], elapsed_ns);
	}
}

/* The loop of the switch. */
static void switch_round(struct packet *pkt)
{
	uint64_t elapsed_ns = sim.now - round_ns;
	uint32_t i;

	if (o_mech == 2)
		switch_predict(elapsed_ns);
	if (o_mech)
		switch_pfc();
	round_ns = sim.now;
	for (i = 0; i < GROUPS; i++) {
		groups[i].last = groups[i].held;
		groups[i].busy += groups[i].held != 0;
	}
	for (i = 0; i < count; i++) {
		ports[i].last = ports[i].held;
		if (groups[ports[i].group].held)
			ports[i].share += (double)ports[i].held / groups[ports[i].group].held;
	}
	sim_at(sim.now + (uint64_t)((1 + sim_uniform() * o_late) * o_interval * US), switch_round, pkt);
}

/* ---- The run ---- */

enum hpcc_kind flow_decide(struct flow *f, const struct hpcc_ack *ack, const struct packet *pkt)
{
	(void)f, (void)ack, (void)pkt;
	return HPCC_SKIPPED;
}

void flow_committed(struct flow *f)
{
	(void)f;
}

static struct {
	uint32_t queue[4096], used;
} bins;

void sim_sampled(void)
{
	if (bins.used < sizeof(bins.queue) / sizeof(bins.queue[0]))
		bins.queue[bins.used++] = groups[0].held;
}

int sim_over(void)
{
	uint32_t i;

	if (used || !o_size || sim.now < o_stagger * US + wire_ns() + 2 * hop_ns())
		return 0;
	for (i = 0; i < count; i++)
		if (ports[i].left || pfc_state(&ports[i].obey, &op, sim.now) == PFC_PAUSED)
			return 0;
	return 1;
}

static double mix_rate(uint32_t i)
{
	return i < 3 ? 1 / 40.0 : i < 8 ? 0.25 : i < 12 ? 0.5 : 1;
}

static void switch_begin(void)
{
	uint64_t bps = o_rate * 1e6, pause_loop = 2 * hop_ns() + (1 + o_late) * o_interval * US;
	struct packet none = {};
	uint32_t i;

	sim_begin(0, 0, fmax(1, o_time * 1e9 / 4096));
	count = o_senders + o_second + o_third;
	count = count < PORTS_MAX ? count : PORTS_MAX;
	scale = fmax(1, 40000 / o_rate);
	shared = o_shared * 1e3;
	headroom = pfc_headroom(bps, pause_loop, o_ahead * US, o_packet);
	pfc_obey_init(&op, bps);
	pfc_params_init(&fp, shared, bps, o_packet, o_interval * US);
	fp.alpha = o_alpha * Q24_ONE;
	if (!o_alpha)
		fp.xoff = shared / count;
	if (o_pause)
		fp.pause_ns = o_pause * US;
	ppfc_params_init(&pp, shared, shared + headroom * count, count, bps,
			 hop_ns() + frame_ns() + o_ahead * US);
	if (o_kmax)
		pp.k_max = o_kmax * 1e3;
	if (o_thresh)
		pp.t_thresh_ns = o_thresh * US;
	pp.r = o_fraction * Q24_ONE;
	ppfc_seed(&rng, o_seed);
	for (i = 0; i < count; i++) {
		struct port *p = &ports[i];

		p->group = i < o_senders ? 0 : i < o_senders + o_second ? 1 : 2;
		p->bps = bps * (o_mix && !p->group ? mix_rate(i) : 1);
		p->target = p->bps;
		p->alpha = 1;
		p->left = o_size ? o_size * 1e3 : 1ULL << 60;
		none.flow = i;
		p->wake_ns = p->clock_ns = 1 + sim_uniform() * o_stagger * US;
		sim_at(p->wake_ns, port_wake, &none);
	}
	sim_at(1, switch_round, &none);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Spearman's, with the mean of their ranks for equals. */
static double rank(const double *v, uint32_t n, uint32_t i)
{
	uint32_t k, below = 0, same = 0;

	for (k = 0; k < n; k++) {
		below += v[k] < v[i];
		same += v[k] == v[i];
	}
	return below + (same - 1) / 2.0;
}

/* Of the pauses of the first group with the share of the queue, or with the rate. */
static double rank_correlation(int by_rate)
{
	double share[PORTS_MAX], pauses[PORTS_MAX], xy = 0, xx = 0, yy = 0;
	uint32_t i, n = o_senders;

	for (i = 0; i < n; i++) {
		share[i] = by_rate ? ports[i].bps : ports[i].share;
		pauses[i] = ports[i].pauses + ports[i].xoffs;
	}
	for (i = 0; i < n; i++) {
		double x = rank(share, n, i) - (n - 1) / 2.0, y = rank(pauses, n, i) - (n - 1) / 2.0;

		xy += x * y;
		xx += x * x;
		yy += y * y;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static void switch_print(void)
{
	uint32_t i, g, predicted = 0, xoffs = 0, refreshes = 0, xons = 0;
	double blocked = 0, sum = 0;
	size_t k;

	qsort(latency, latencies, sizeof(*latency), compare);
	for (k = 0; k < latencies; k++)
		sum += latency[k];
	for (i = 0; i < count; i++) {
		predicted += ports[i].pauses;
		xoffs += ports[i].xoffs;
		refreshes += ports[i].refreshes;
		xons += ports[i].xons;
		blocked += ports[i].blocked_ns / 1e3;
	}
	printf("{\"queue_max\":%u,\"buffer_max\":%llu,\"latency_p99_us\":%.1f,\"latency_p50_us\":%.1f,"
	       "\"latency_mean_us\":%.1f,\"throughput\":%.4f,\"lost\":%llu,\"predicted\":%u,\"xoffs\":%u,"
	       "\"refreshes\":%u,\"xons\":%u,\"paused_us\":%.0f,\"acted\":%u,\"headroom\":%llu,\"headroom_used\":%llu,"
	       "\"t_thresh_us\":%.1f,\"rank\":%.3f,\"rank_rate\":%.3f,\"groups\":[",
	       groups[0].peak, (unsigned long long)used_peak,
	       latencies ? latency[latencies * 99 / 100] : 0, latencies ? latency[latencies / 2] : 0,
	       latencies ? sum / latencies : 0,
	       groups[0].left_bytes * 8e3 / o_rate / (double)(groups[0].last_ns - first_ns),
	       (unsigned long long)lost, predicted, xoffs, refreshes, xons, blocked, acted,
	       (unsigned long long)headroom, (unsigned long long)over_peak, pp.t_thresh_ns / 1e3,
	       rank_correlation(0), rank_correlation(1));
	for (g = 0; g < GROUPS; g++) {
		uint32_t pauses = 0;

		for (i = 0; i < count; i++)
			pauses += ports[i].group == g ? ports[i].pauses + ports[i].xoffs : 0;
		printf("%s{\"pauses\":%u,\"queue_max\":%u}", g ? "," : "", pauses, groups[g].peak);
	}
	printf("],\"ports\":[");
	for (i = 0; i < count; i++)
		printf("%s{\"share\":%.4f,\"pauses\":%u,\"paused_us\":%.0f}", i ? "," : "",
		       ports[i].share / fmax(1, groups[ports[i].group].busy), ports[i].pauses + ports[i].xoffs,
		       ports[i].blocked_ns / 1e3);
	printf("]");
	if (o_bins) {
		printf(",\"queue\":[");
		for (i = 0; i < bins.used; i++)
			printf("%s%u", i ? "," : "", bins.queue[i]);
		printf("]");
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	o_rate = 40000;
	o_time = 0.02;
	o_warmup = 0;
	if (!sim_options("pfc", params, sizeof(params) / sizeof(params[0]), argc, argv))
		return 2;
	switch_begin();
	sim_run();
	switch_print();
	return 0;
}
