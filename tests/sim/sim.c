// SPDX-License-Identifier: GPL-2.0-only
#include "sim.h"

#include "sluice/pacer.h"
#include "sluice/wire/telemetry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHARGED_BYTES 1382 /* what the sender's qdisc charges for it: the size before egress */

double o_rate = 100, o_rtt = 4000, o_t = 4037, o_n = 16, o_eta = 0.95, o_stage = 5, o_time = 60,
       o_warmup = 2, o_seed = 1, o_burst = 5000, o_jitter = 20, o_ack = 2, o_spread, o_slack = 1,
       o_stall, o_every = 20, o_dequeue, o_exact;

struct sim sim;

enum event_type { EV_DEPART, EV_ENQUEUE, EV_DEQUEUE, EV_RECEIVE, EV_DELACK, EV_ACK, EV_SAMPLE, EV_CALL };

struct event {
	uint64_t ns, order, id; /* id: of the delayed ACK, so that a late one is known */
	enum event_type type;
	uint32_t acked;
	void (*call)(struct packet *pkt); /* of EV_CALL */
	struct packet pkt;
};

static const char *program;
static struct event *heap;
static size_t heap_count, heap_size;
static uint64_t rng;

double sim_uniform(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) * 0x1p-53;
}

void *sim_allocate(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p) {
		fprintf(stderr, "%s: no memory for %zu bytes; a shorter time= needs less\n",
			program, bytes);
		exit(1);
	}
	return p;
}

static int event_before(const struct event *a, const struct event *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->order < b->order);
}

static void event_add(struct event e)
{
	static uint64_t order;
	size_t i = heap_count++;

	e.order = order++;
	if (i == heap_size) {
		heap_size = 2 * heap_size + 64;
		heap = sim_allocate(heap, heap_size * sizeof(*heap));
	}
	for (; i && event_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
}

static void event_at(uint64_t ns, enum event_type type, const struct packet *pkt, uint32_t acked,
		     uint64_t id)
{
	event_add((struct event){ .ns = ns, .id = id, .type = type, .acked = acked, .pkt = *pkt });
}

void sim_at(uint64_t ns, void (*call)(struct packet *pkt), const struct packet *pkt)
{
	event_add((struct event){ .ns = ns, .type = EV_CALL, .call = call, .pkt = *pkt });
}

static struct event event_next(void)
{
	struct event top = heap[0], last = heap[--heap_count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < heap_count) {
		if (child + 1 < heap_count && event_before(&heap[child + 1], &heap[child]))
			child++;
		if (!event_before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

/* When a packet that arrives now leaves. */
static uint64_t bucket_leave(struct bucket *b, uint32_t bytes)
{
	uint64_t t = sim.now > b->free_ns ? sim.now : b->free_ns;
	double per_ns = o_rate / 8000, wait;

	b->tokens = fmin(b->burst, b->tokens + (t - b->free_ns) * per_ns);
	wait = b->tokens < bytes ? ceil((bytes - b->tokens) / per_ns) : 0;
	b->tokens += wait * per_ns - bytes;
	b->free_ns = t + (uint64_t)wait;
	return b->free_ns;
}

static void flow_send(struct flow *f)
{
	uint32_t window = (q12_to_bytes(f->cc.w) + SEGMENT_BYTES - 1) / SEGMENT_BYTES + o_slack;
	double held = fmax(2, f->cc.rate_bps / 8e3 / SEGMENT_BYTES); /* TCP small queues: 1 ms */
	struct packet pkt = { .flow = f - sim.flows };
	uint64_t t;

	while (f->inflight < window && f->waiting < held && (!f->size || f->snd_nxt < f->size)) {
		t = pacer_departure(sim.now, f->clock_ns, 0);
		f->clock_ns = t + pacer_cost_ns(SEGMENT_BYTES, f->cc.rate_bps);
		f->snd_nxt += SEGMENT_BYTES;
		pkt.seq = f->snd_nxt;
		t += sim_uniform() * o_jitter * US;
		if (t < f->departed_ns)
			t = f->departed_ns;
		f->departed_ns = t;
		f->inflight++;
		f->waiting++;
		event_at(t, EV_DEPART, &pkt, 0, 0);
	}
}

static void flow_acknowledge(struct flow *f)
{
	event_at(sim.now + o_rtt * US, EV_ACK, &f->newest, f->unacked, 0);
	f->unacked = 0;
	f->delack_id++;
}

struct hpcc_ack flow_ack(const struct flow *f, const struct packet *pkt)
{
	struct hpcc_ack ack = {
		.seq = pkt->seq,
		.snd_nxt = f->snd_nxt,
		.path_id = 1,
		.hops = f->hops,
		.gap_ns = f->fb_rx_ns ? (int64_t)(pkt->rx_ns - f->fb_rx_ns) : HPCC_GAP_UNKNOWN,
	};

	memcpy(ack.hop, pkt->hop, sizeof(pkt->hop));
	return ack;
}

/* feedback_take() of bpf/host/feedback.bpf.h. */
static void flow_feedback(struct flow *f, const struct packet *pkt)
{
	struct hpcc_ack ack = flow_ack(f, pkt);
	enum hpcc_kind kind;

	if (f->clock_ns > sim.now)
		ack.snd_nxt -= (f->clock_ns - sim.now) * (f->cc.rate_bps / 8000) / 1000000;
	kind = flow_decide(f, &ack, pkt);
	if (kind != HPCC_SKIPPED)
		f->fb_rx_ns = pkt->rx_ns;
	if (kind == HPCC_FULL && sim.now >= sim.warmup_ns)
		flow_committed(f);
}

static void link_stamp(const struct link *l, struct packet *pkt)
{
	struct hpcc_hop *hop = &pkt->hop[pkt->at];

	*hop = telem_unpack(
		telem_pack(telem_speed_fit(o_rate * 1e6), sim.now, l->tx_bytes, l->backlog));
	if (o_exact) { /* of the speeds of the table only */
		hop->tx_bytes = l->tx_bytes & HPCC_TX_MASK;
		hop->qlen_bytes = l->backlog;
	}
}

static void link_forward(struct link *l, struct packet *pkt)
{
	l->tx_bytes += SEGMENT_BYTES;
	if (o_dequeue)
		link_stamp(l, pkt);
	pkt->at++;
	event_at(sim.now + sim.route_ns,
		 pkt->at < sim.flows[pkt->flow].hops ? EV_ENQUEUE : EV_RECEIVE, pkt, 0, 0);
}

static void event_handle(struct event *e)
{
	struct packet *pkt = &e->pkt;
	struct flow *f = &sim.flows[pkt->flow];
	struct link *l = &sim.links[f->link[pkt->at % SIM_LINKS]];
	uint64_t t;
	uint32_t i;

	switch (e->type) {
	case EV_DEPART:
		f->waiting--;
		pkt->sent_ns = sim.now;
		event_at(bucket_leave(&f->nic, CHARGED_BYTES) + sim.route_ns, EV_ENQUEUE, pkt, 0,
			 0);
		flow_send(f);
		break;
	case EV_ENQUEUE:
		if (!o_dequeue)
			link_stamp(l, pkt);
		t = bucket_leave(&l->bucket, SEGMENT_BYTES);
		if (t == sim.now) {
			link_forward(l, pkt);
			break;
		}
		l->backlog += SEGMENT_BYTES;
		event_at(t, EV_DEQUEUE, pkt, 0, 0);
		break;
	case EV_DEQUEUE:
		l->backlog -= SEGMENT_BYTES;
		link_forward(l, pkt);
		break;
	case EV_RECEIVE:
		pkt->rx_ns = sim.now;
		f->newest = *pkt;
		f->rx_bytes += SEGMENT_BYTES;
		if (f->size && !f->done_ns && f->rx_bytes >= f->size)
			f->done_ns = sim.now;
		if (++f->unacked >= o_ack + floor(sim_uniform() * o_spread))
			flow_acknowledge(f);
		else if (f->unacked == 1)
			event_at(sim.now + sim.delack_ns, EV_DELACK, pkt, 0, f->delack_id);
		break;
	case EV_DELACK:
		if (e->id == f->delack_id)
			flow_acknowledge(f);
		break;
	case EV_ACK:
		f->inflight -= e->acked;
		flow_feedback(f, pkt);
		flow_send(f);
		break;
	case EV_SAMPLE:
		for (i = 0; i < sim.link_count && sim.now >= sim.warmup_ns; i++)
			sim.links[i].sample[sim.samples] = sim.links[i].backlog;
		sim.samples += sim.now >= sim.warmup_ns;
		sim_sampled();
		event_at(sim.now + sim.sample_ns, EV_SAMPLE, pkt, 0, 0);
		break;
	case EV_CALL:
		e->call(pkt);
		break;
	}
}

/* As net_burst() of tests/lab/net.sh: at least 50 us of the speed. */
double sim_burst_bytes(double bytes)
{
	return fmax(bytes, o_rate * 50 / 8);
}

void sim_begin(uint64_t route_ns, uint64_t delack_ns, uint64_t sample_ns)
{
	struct packet none = {};

	rng = (uint64_t)o_seed * 0x9e3779b97f4a7c15ULL;
	sim.warmup_ns = o_warmup * 1e9;
	sim.route_ns = route_ns;
	sim.delack_ns = delack_ns;
	sim.sample_ns = sample_ns;
	event_at(0, EV_SAMPLE, &none, 0, 0);
}

void sim_link_init(struct link *l, double burst)
{
	l->bucket.burst = l->bucket.tokens = burst;
	l->sample = sim_allocate(NULL, (o_time * 1e9 / sim.sample_ns + 2) * sizeof(*l->sample));
}

void sim_flow_init(struct flow *f)
{
	f->p.t_ns = o_t * US;
	f->p.w_init = q12_from_bytes(o_rate * o_t / 8);
	f->p.w_min = q12_from_bytes(W_MIN_BYTES);
	f->p.eta = o_eta * Q24_ONE;
	f->p.max_stage = o_stage;
	f->p.w_ai = (f->p.w_init * (Q24_ONE - f->p.eta) >> 24) / o_n;
	hpcc_init(&f->cc, &f->p);
}

void sim_flow_start(struct flow *f, uint64_t start_ns)
{
	f->start_ns = sim.now = start_ns;
	flow_send(f);
	sim.now = 0;
}

void sim_run(void)
{
	uint64_t end = o_time * 1e9, busy_until = 0, stall_ns = 0;
	uint32_t i;
	int warm = 0;

	for (;;) {
		struct event e = event_next();

		/* A tbf and a sampler wait for the CPU like everybody else. */
		sim.now = e.ns > busy_until ? e.ns : busy_until;
		if (sim.now > end || sim_over())
			break;
		if (o_stall > 0 && sim.now > stall_ns) {
			busy_until = sim.now + (uint64_t)(sim_uniform() * o_stall * US);
			stall_ns = sim.now + (uint64_t)(-log(1 - sim_uniform()) * o_every * MS);
		}
		if (!warm && sim.now >= sim.warmup_ns) {
			warm = 1;
			for (i = 0; i < sim.flow_count; i++)
				sim.flows[i].rx_warm = sim.flows[i].rx_bytes;
			for (i = 0; i < sim.link_count; i++)
				sim.links[i].tx_warm = sim.links[i].tx_bytes;
		}
		event_handle(&e);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The distribution of what waited, bytes. */
void sim_print_queues(void)
{
	uint32_t i;

	printf("\"queue\":[");
	for (i = 0; i < sim.link_count; i++) {
		uint32_t *s = sim.links[i].sample;

		qsort(s, sim.samples, sizeof(*s), compare);
		printf("%s{\"p50\":%u,\"p95\":%u,\"p99\":%u,\"max\":%u}", i ? "," : "",
		       s[sim.samples / 2], s[sim.samples * 95ULL / 100],
		       s[sim.samples * 99ULL / 100], s[sim.samples - 1]);
	}
	printf("]");
}

static void usage(const struct sim_param *params, size_t count)
{
	size_t i;

	fprintf(stderr, "usage: %s [NAME=VALUE ...]\n", program);
	for (i = 0; i < count; i++)
		fprintf(stderr, "  %-9s %-6g %s\n", params[i].name, *params[i].value,
			params[i].help);
}

static int param_set(const struct sim_param *params, size_t count, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t i, length = equals ? (size_t)(equals - text) : 0;
	char *end;
	double v;

	for (i = 0; equals && i < count; i++) {
		if (strlen(params[i].name) != length || memcmp(params[i].name, text, length))
			continue;
		v = strtod(equals + 1, &end);
		if (end == equals + 1 || *end || !(v >= params[i].min && v <= params[i].max)) {
			fprintf(stderr, "%s: %s: a number from %g to %g is needed\n", program,
				text, params[i].min, params[i].max);
			return 0;
		}
		*params[i].value = v;
		return 1;
	}
	fprintf(stderr, "%s: '%s' is not known\n", program, text);
	usage(params, count);
	return 0;
}

int sim_options(const char *name, const struct sim_param *params, size_t count, int argc,
		char **argv)
{
	int i;

	program = name;
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(params, count);
		exit(0);
	}
	for (i = 1; i < argc; i++)
		if (!param_set(params, count, argv[i]))
			return 0;
	return 1;
}
