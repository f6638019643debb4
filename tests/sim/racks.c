// SPDX-License-Identifier: GPL-2.0-only
/*
 * Section 2.2 of HierCC (APNet 2021): long flows from some racks to one host, and a burst of short ones
 * from all of them. The core (hiercc.h, hpcc.h) runs as it is; prints one JSON object.
 *
 *	server --hop--> ToR: VOQ --uplink--> spine --> ToR: port --hop--> server
 *
 * Every flow has a server of its own, with a link of the port's speed. cc:
 *
 *	0	HPCC alone
 *	1	and HierCC: what leaves a rack is covered by credit
 *	2	and Equation 1: flows send no faster than their ToR tells them
 *	3	Equation 1 without HPCC, as in the paper; a window of 8 BDPs is all that is left of it
 *
 * A VOQ is what egress makes of it: a departure time that is given on arrival and not corrected.
 */
#include "sim.h"

#include "sluice/rack/hiercc.h"
#include "sluice/wire/telemetry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RACKS_MAX 16
#define BINS_MAX 4096
#define QUEUE_MAX 1024
#define SPINE_HOPS 4 /* of the six cables between two servers */

static double o_cc = 1, o_racks = 4, o_long = 2, o_short = 16, o_size = 0.5, o_at = 1000,
	      o_period = 4, o_c0, o_uplink = 4, o_eta_credit = 0.98, o_lose, o_repeat, o_reorder,
	      o_weight = 1, o_dead, o_bins, o_port = 1, o_held = 1, o_first;

static const struct sim_param params[] = {
	{ "cc", &o_cc, 0, 3, "see above" },
	{ "racks", &o_racks, 1, RACKS_MAX, "that send" },
	{ "long", &o_long, 0, 64, "long flows, one in each rack in turn" },
	{ "short", &o_short, 0, 64, "short flows, likewise" },
	{ "size", &o_size, 0.01, 1000, "of a short flow, BDPs" },
	{ "at", &o_at, 0, 1e9, "when the short ones begin, us" },
	{ "period", &o_period, 0.1, 1e6, "between two grants, us" },
	{ "c0", &o_c0, 0, 1e6, "C0, KB; 0: the default" },
	{ "uplink", &o_uplink, 0.1, 100, "speed of an uplink, in that of a port" },
	{ "credit", &o_eta_credit, 0.01, 1, "eta of the credits" },
	{ "lose", &o_lose, 0, 0.9, "of the credit messages" },
	{ "repeat", &o_repeat, 0, 0.9, "likewise" },
	{ "reorder", &o_reorder, 0, 0.9, "likewise, late by three periods" },
	{ "port", &o_port, 0, 1, "0: HPCC leaves the receiver's port to the credits" },
	{ "held", &o_held, 0, 1, "Q_voq: 1 what waits, 0 what credit does not cover" },
	{ "first", &o_first, 0, 1000, "rate_first is the port's by so much; 0: the default" },
	{ "weight", &o_weight, 1, 1000, "F that the first rack claims for each of its flows" },
	{ "dead", &o_dead, 0, 1e9, "no credits after so many us; 0: always" },
	{ "bins", &o_bins, 0, 1, "1: print the long flows' rate over time" },
	SIM_PARAMS,
};

/* A port of a switch: first in, first out. */
struct fifo {
	double mbps;
	uint64_t free_ns, tx_bytes;
	uint32_t backlog, peak;
};

static struct rack {
	struct hiercc_voq voq;
	struct hiercc_hop hop;
	struct rx_counter counter;
	struct fifo uplink;
	uint64_t rx_bytes, rx_warm, queue_sum, queue_count;
	uint32_t queue_peak, held; /* held: bytes that wait for their departure */
} racks[RACKS_MAX];

/* What is not in struct flow. */
static struct extra {
	uint32_t mark, rack;
	uint64_t wake_ns;  /* when it looks again whether it may send; 0: it waits for news */
	uint64_t hop_rate; /* R of Equation 1, bytes/s */
	uint64_t acked, left_ns, leaves_ns;
} extras[SIM_FLOWS];

static struct hiercc_params hp;
static struct hiercc_hop_params fp;
static struct hiercc_seen seen[RACKS_MAX];
static struct hiercc_due due[RACKS_MAX];
static struct hiercc_port port_credit;
static struct fifo port;
static uint64_t queue_seen[QUEUE_MAX]; /* packets that found so many at the port, with themselves */
static uint64_t granted_ns, short_done_ns, long_bytes, bins[BINS_MAX], waited_max_ns;
static uint32_t bin_count, verdicts[4], peak_burst;

static uint64_t hop_ns(void)
{
	return o_rtt * US / (2 * (SPINE_HOPS + 2));
}

static void flow_try(struct flow *f);

static void flow_wake(struct packet *pkt)
{
	if (extras[pkt->flow].wake_ns != sim.now)
		return;
	extras[pkt->flow].wake_ns = 0;
	flow_try(&sim.flows[pkt->flow]);
}

static void tor_arrive(struct packet *pkt);

static uint64_t flow_rate_bps(const struct flow *f)
{
	const struct extra *x = &extras[f - sim.flows];
	uint64_t rate = o_cc == 3 ? o_rate * 1e6 : f->cc.rate_bps;

	return o_cc >= 2 && x->hop_rate * 8 < rate ? x->hop_rate * 8 : rate;
}

/* A packet now, or at the clock's time; W and R are looked at again when that has come. */
static void flow_try(struct flow *f)
{
	struct extra *x = &extras[f - sim.flows];
	uint64_t window = q12_to_bytes(o_cc == 3 ? 8 * f->p.w_init : f->cc.w);
	struct packet pkt = { .flow = f - sim.flows };

	if (sim.now < f->start_ns || (f->size && f->snd_nxt >= f->size) ||
	    f->snd_nxt - x->acked >= window || !flow_rate_bps(f))
		return;
	f->clock_ns = x->left_ns + (x->left_ns ? pacer_cost_ns(SEGMENT_BYTES, flow_rate_bps(f)) : 0);
	if (f->clock_ns > sim.now) {
		if (x->wake_ns != f->clock_ns)
			sim_at(f->clock_ns, flow_wake, &pkt);
		x->wake_ns = f->clock_ns;
		return;
	}
	x->left_ns = sim.now;
	f->snd_nxt += SEGMENT_BYTES;
	pkt.seq = f->snd_nxt;
	pkt.sent_ns = sim.now;
	sim_at(sim.now + hop_ns(), tor_arrive, &pkt);
	flow_try(f);
}

static void fifo_stamp(const struct fifo *q, struct packet *pkt)
{
	pkt->hop[pkt->at++] = telem_unpack(
		telem_pack(telem_speed_fit(q->mbps * 1e6), sim.now, q->tx_bytes, q->backlog));
}

/* Returns when the packet has left. */
static uint64_t fifo_enqueue(struct fifo *q, struct packet *pkt)
{
	uint64_t from = q->free_ns > sim.now ? q->free_ns : sim.now;

	if (!o_dequeue)
		fifo_stamp(q, pkt);
	q->free_ns = from + (uint64_t)(SEGMENT_BYTES * 8e3 / q->mbps);
	q->backlog += SEGMENT_BYTES;
	if (q->backlog > q->peak)
		q->peak = q->backlog;
	return q->free_ns;
}

static void fifo_dequeue(struct fifo *q, struct packet *pkt)
{
	q->backlog -= SEGMENT_BYTES;
	q->tx_bytes += SEGMENT_BYTES;
	if (o_dequeue)
		fifo_stamp(q, pkt);
}

static void flow_acked(struct packet *pkt)
{
	struct flow *f = &sim.flows[pkt->flow];
	struct hpcc_ack ack = flow_ack(f, pkt);

	if (pkt->seq > extras[pkt->flow].acked)
		extras[pkt->flow].acked = pkt->seq;
	if (flow_decide(f, &ack, pkt) != HPCC_SKIPPED)
		f->fb_rx_ns = pkt->rx_ns;
	flow_try(f);
}

static void flow_receive(struct packet *pkt)
{
	struct flow *f = &sim.flows[pkt->flow];

	pkt->rx_ns = sim.now;
	f->rx_bytes += SEGMENT_BYTES;
	if (!f->size)
		long_bytes += SEGMENT_BYTES;
	else if (!f->done_ns && f->rx_bytes >= f->size)
		f->done_ns = short_done_ns = sim.now;
	sim_at(sim.now + o_rtt * US / 2, flow_acked, pkt);
}

static void port_leave(struct packet *pkt)
{
	fifo_dequeue(&port, pkt);
	sim_at(sim.now + hop_ns(), flow_receive, pkt);
}

/* What the VOQ says of itself rides in rx_ns: S << 32 | F. */
static void port_arrive(struct packet *pkt)
{
	struct extra *x = &extras[pkt->flow];

	racks[x->rack].rx_bytes += SEGMENT_BYTES;
	hiercc_see(&seen[x->rack], pkt->rx_ns >> 32, pkt->rx_ns, SEGMENT_BYTES, 1, hp.debt_max);
	sim_at(fifo_enqueue(&port, pkt), port_leave, pkt);
	if (sim.now >= sim.warmup_ns)
		queue_seen[port.backlog / SEGMENT_BYTES < QUEUE_MAX ? port.backlog / SEGMENT_BYTES : QUEUE_MAX - 1]++;
	if (sim.now >= o_at * US && port.backlog > peak_burst)
		peak_burst = port.backlog;
}

static void uplink_leave(struct packet *pkt)
{
	fifo_dequeue(&racks[extras[pkt->flow].rack].uplink, pkt);
	sim_at(sim.now + SPINE_HOPS * hop_ns(), port_arrive, pkt);
}

static void voq_leave(struct packet *pkt)
{
	struct rack *r = &racks[extras[pkt->flow].rack];

	r->held -= SEGMENT_BYTES;
	sim_at(fifo_enqueue(&r->uplink, pkt), uplink_leave, pkt);
}

/* The rate of Equation 1 gets to a server. */
static void flow_told(struct packet *pkt)
{
	extras[pkt->flow].hop_rate = pkt->seq;
	flow_try(&sim.flows[pkt->flow]);
}

static void rack_tell(const struct rack *r)
{
	struct packet pkt = { .seq = r->hop.rate };
	uint32_t i;

	for (i = 0; i < sim.flow_count; i++) {
		if (&racks[extras[i].rack] != r)
			continue;
		pkt.flow = i;
		sim_at(sim.now + hop_ns(), flow_told, &pkt);
	}
}

/* With every packet, and from time to time: who is told to be slow sends few to ask with. */
static void rack_rate(struct rack *r)
{
	uint64_t before = r->hop.rate;
	uint32_t q = hiercc_queue(&r->voq, &hp);

	if (o_cc < 2)
		return;
	if (o_held)
		q = r->held;
	hiercc_stop(&r->hop, &fp, q);
	if (hiercc_arrival(&r->hop, &fp, sim.now, r->voq.sent))
		hiercc_rate(&r->hop, &fp, q, hiercc_credit_rate(&r->voq, &hp));
	if (r->hop.rate != before)
		rack_tell(r);
}

static void tor_arrive(struct packet *pkt)
{
	struct extra *x = &extras[pkt->flow];
	struct rack *r = &racks[x->rack];
	__u64 departure = sim.now;
	uint32_t total = 0;

	rx_count(&r->counter, &x->mark, sim.now, hp.epoch_ns);
	if (o_cc)
		verdicts[hiercc_send(&r->voq, &hp, sim.now, SEGMENT_BYTES, &total, &departure)]++;
	pkt->rx_ns = (uint64_t)total << 32 | (uint32_t)(rx_counted(&r->counter) * (r == racks ? o_weight : 1));
	/* Behind those of its flow that came before. */
	if (departure < x->leaves_ns)
		departure = x->leaves_ns;
	x->leaves_ns = departure;
	if (departure - sim.now > waited_max_ns)
		waited_max_ns = departure - sim.now;
	r->held += SEGMENT_BYTES;
	if (r->held > r->queue_peak)
		r->queue_peak = r->held;
	if (sim.now >= sim.warmup_ns) {
		r->queue_sum += r->held;
		r->queue_count++;
	}
	rack_rate(r);
	sim_at(departure, voq_leave, pkt);
}

static void rack_credit(struct packet *pkt)
{
	hiercc_credit(&racks[pkt->flow].voq, &hp, sim.now, pkt->seq, pkt->at, pkt->sent_ns / HIERCC_AT_NS);
}

/* The loop of the receiver's daemon: late by up to half a period, as timers are. */
static void port_grant(struct packet *pkt)
{
	uint32_t i, k, times;

	hiercc_budget(&port_credit, sim.now - granted_ns);
	granted_ns = sim.now;
	for (i = 0; i < o_racks; i++) {
		hiercc_learn(&port_credit, due, i, &hp, &seen[i], sim.now);
		rack_rate(&racks[i]);
	}
	while (hiercc_grant(&port_credit, due) != HIERCC_NONE)
		;
	for (i = 0; i < o_racks; i++) {
		struct packet message = { .flow = i, .seq = due[i].granted, .at = due[i].listed,
					  .sent_ns = sim.now };

		if (!due[i].sent || sim.now - due[i].epoch_ns > 2 * hp.epoch_ns ||
		    (o_dead && sim.now > o_dead * US))
			continue;
		times = (sim_uniform() >= o_lose) * (1 + (sim_uniform() < o_repeat));
		for (k = 0; k < times; k++)
			sim_at(sim.now + SPINE_HOPS * hop_ns() +
				       (sim_uniform() < o_reorder ? 3 * o_period * US : 0),
			       rack_credit, &message);
	}
	sim_at(sim.now + (uint64_t)((1 + sim_uniform() / 2) * o_period * US), port_grant, pkt);
}

enum hpcc_kind flow_decide(struct flow *f, const struct hpcc_ack *ack, const struct packet *pkt)
{
	(void)pkt;
	return hpcc_new_ack(&f->cc, &f->p, ack);
}

void flow_committed(struct flow *f)
{
	(void)f;
}

void sim_sampled(void)
{
	static uint64_t last;

	if (bin_count < BINS_MAX)
		bins[bin_count++] = long_bytes - last;
	last = long_bytes;
	if (sim.now >= sim.warmup_ns && !racks[0].rx_warm) {
		uint32_t i;

		for (i = 0; i < o_racks; i++)
			racks[i].rx_warm = racks[i].rx_bytes;
	}
}

int sim_over(void)
{
	return 0;
}

static void racks_begin(void)
{
	uint64_t rate = o_rate * 1e6 / 8, rtt = o_rtt * US;
	struct packet none = {};
	uint32_t i;

	sim_begin(0, 0, o_t * US);
	hiercc_params_init(&hp, rate, rtt * SPINE_HOPS / (SPINE_HOPS + 2), 1.25 * o_period * US);
	if (o_first)
		hp.rate_first = rate / o_first;
	if (o_c0)
		hiercc_params_c0(&hp, o_c0 * 1000);
	hiercc_hop_params_init(&fp, rate, rtt / (SPINE_HOPS + 2), rate * rtt / 1000000000);
	hiercc_port_init(&port_credit, rate * o_eta_credit);
	port.mbps = o_rate;
	for (i = 0; i < o_racks; i++) {
		hiercc_voq_init(&racks[i].voq, 1);
		hiercc_hop_init(&racks[i].hop, &fp);
		racks[i].uplink.mbps = o_rate * o_uplink;
	}
	sim.flow_count = o_long + o_short;
	for (i = 0; i < sim.flow_count; i++) {
		struct flow *f = &sim.flows[i];
		int is_short = i >= o_long;

		f->hops = o_port ? 2 : 1;
		sim_flow_init(f);
		extras[i].rack = (is_short ? i - (uint32_t)o_long : i) % (uint32_t)o_racks;
		extras[i].hop_rate = rate;
		f->size = is_short ? o_size * rate * rtt / 1e9 : 0;
		f->start_ns = 1 + (is_short ? o_at * US : 0);
		none.flow = i;
		extras[i].wake_ns = f->start_ns;
		sim_at(f->start_ns, flow_wake, &none);
	}
	if (o_cc)
		sim_at(1, port_grant, &none);
}

/* Bytes of the long flows in a bin, as a part of what the port holds. */
static double bin_load(uint32_t bin)
{
	return bins[bin] * 8 / (o_t * o_rate);
}

/* Bytes that the queue of the port is not above for 99 % of the packets. */
static uint32_t port_p99(void)
{
	uint64_t all = 0, below = 0;
	uint32_t i;

	for (i = 0; i < QUEUE_MAX; i++)
		all += queue_seen[i];
	for (i = 0; i < QUEUE_MAX && (below += queue_seen[i]) < 0.99 * all; i++)
		;
	return i * SEGMENT_BYTES;
}

static void racks_print(void)
{
	uint32_t i, first = o_at / o_t, last = short_done_ns / (o_t * US), n = first < 40 ? first / 2 : 20;
	double full = 0, back = -1, lowest = 1, total = 0;
	double span = (sim.now - sim.warmup_ns) / 1e9;

	for (i = first - n; i < first; i++)
		full += bin_load(i) / n;
	for (i = last + 1; o_short && i + 3 < bin_count; i++) {
		double load = (bin_load(i) + bin_load(i + 1) + bin_load(i + 2)) / 3;

		lowest = fmin(lowest, load);
		if (back < 0 && load >= 0.95 * full)
			back = (i + 1) * o_t - short_done_ns / 1e3;
	}
	printf("{\"port_p99\":%u,\"peak\":%u,\"peak_burst\":%u,\"c0\":%llu,\"long_full\":%.4f,\"long_lowest\":%.4f,"
	       "\"burst_us\":%.1f,\"back_us\":",
	       port_p99(), port.peak, peak_burst, hp.c0, full, lowest,
	       o_short ? short_done_ns / 1e3 - o_at : 0);
	printf(back < 0 ? "null" : "%.1f", back);
	printf(",\"waited_us\":%.1f,\"covered\":%u,\"waits\":%u,\"alone\":%u,\"racks\":[",
	       waited_max_ns / 1e3, verdicts[HIERCC_COVERED], verdicts[HIERCC_WAITS],
	       verdicts[HIERCC_ALONE]);
	for (i = 0; i < o_racks; i++) {
		struct rack *r = &racks[i];
		double load = (r->rx_bytes - r->rx_warm) * 8 / span / (o_rate * 1e6);

		total += load;
		printf("%s{\"load\":%.4f,\"queue\":%.0f,\"queue_peak\":%u}", i ? "," : "", load,
		       (double)r->queue_sum / fmax(1, r->queue_count), r->queue_peak);
	}
	printf("],\"load\":%.4f,\"q0\":%u,\"v_high\":%u", total, fp.q0, fp.v_high);
	if (o_bins) {
		printf(",\"long\":[");
		for (i = 0; i < bin_count; i++)
			printf("%s%.3f", i ? "," : "", bin_load(i));
		printf("]");
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	o_rate = 25000;
	o_rtt = 12;
	o_t = 13;
	o_n = 18;
	o_time = 0.003;
	o_warmup = 0.0002;
	o_jitter = 0;
	o_dequeue = 1;
	if (!sim_options("racks", params, sizeof(params) / sizeof(params[0]), argc, argv))
		return 2;
	racks_begin();
	sim_run();
	racks_print();
	return 0;
}
