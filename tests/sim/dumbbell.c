// SPDX-License-Identifier: GPL-2.0-only
/*
 * What Algorithm 1 (HPCC, SIGCOMM 2019) gives in the lab's dumbbell: a packet simulation that runs
 * the core (hpcc.h, pacer.h, telemetry.h) as it is. Flows are dealt in turn to the paths
 *
 *	A  link 0 and link 1        B  link 0        C  link 1
 *
 *  1. A sender hands packets out while fewer than ceil(W/segment) + slack are unacknowledged
 *     (tcp_cc.bpf.h) and fq holds less than 1 ms of them (TCP small queues); they leave by the
 *     departure clock at R (egress.bpf.h), jitter later, through a tbf of the links' speed.
 *  2. A link is a tbf that stamps at enqueue (hop.bpf.h). Receivers acknowledge every ack packets,
 *     or fewer than spread more; an ACK takes rtt and brings the newest telemetry (ingress.bpf.h).
 *  3. stall: one CPU runs everything; now and then it is away for up to so long.
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
#include "sluice/hpcc.h"
#include "sluice/pacer.h"
#include "sluice/telemetry.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT_BYTES 1466 /* a full packet between the hosts: MTU 1368, encapsulated */
#define CHARGED_BYTES 1382 /* what the sender's qdisc charges for it: the size before egress */
#define W_MIN_BYTES 1514
#define LINKS 2
#define PATHS 3
#define FLOWS_MAX (PATHS * 32)
#define US 1000ULL
#define MS (1000 * US)
#define ROUTE_NS (10 * US) /* one cable and one switch */
#define DELACK_NS (40 * MS)
#define SAMPLE_NS MS

static double o_senders = 3, o_rate = 100, o_rtt = 4000, o_t = 4037, o_n = 16, o_eta = 0.95,
	      o_stage = 5, o_time = 60, o_warmup = 2, o_seed = 1, o_burst = 5000, o_jitter = 20,
	      o_ack = 2, o_spread, o_slack = 1, o_stall, o_every = 20, o_dequeue, o_exact,
	      o_hop_ewma;

static const struct {
	const char *name;
	double *value, min, max;
	const char *help;
} params[] = {
	{ "senders", &o_senders, PATHS, FLOWS_MAX, "flows, a multiple of 3" },
	{ "rate", &o_rate, 1, 800000, "speed of every link, Mbit/s" },
	{ "rtt", &o_rtt, 1, 1e6, "delay of the ACKs and what hosts add under load, us" },
	{ "t", &o_t, 1, 1e6, "T as configured (base_rtt), us" },
	{ "n", &o_n, 1, 1e6, "N of W_AI = W_init * (1 - eta) / N" },
	{ "eta", &o_eta, 0.01, 1, "target utilisation" },
	{ "stage", &o_stage, 0, 1e6, "maxStage" },
	{ "time", &o_time, 0.1, 10000, "simulated seconds" },
	{ "warmup", &o_warmup, 0, 10000, "of which the first are not counted" },
	{ "seed", &o_seed, 1, 1e9, "of the random numbers" },
	{ "burst", &o_burst, SEGMENT_BYTES, 1e9, "tokens of a link's tbf, bytes" },
	{ "jitter", &o_jitter, 0, 1e6, "departures are late by up to so much, us" },
	{ "ack", &o_ack, 1, 1000, "packets that an ACK covers" },
	{ "spread", &o_spread, 0, 1000, "and fewer than so many more, at random" },
	{ "slack", &o_slack, 0, 1000, "segments on top of the window" },
	{ "stall", &o_stall, 0, 1e6, "the CPU is away for up to so long, us" },
	{ "every", &o_every, 0.01, 1e6, "on average so often, ms" },
	{ "dequeue", &o_dequeue, 0, 1, "1: stamp at dequeue, as in the paper" },
	{ "exact", &o_exact, 0, 1, "1: telemetry not rounded to the units of Figure 7" },
	{ "hop_ewma", &o_hop_ewma, 0, 1, "1: average each hop, then take the maximum" },
};

enum event_type { EV_DEPART, EV_ENQUEUE, EV_DEQUEUE, EV_RECEIVE, EV_DELACK, EV_ACK, EV_SAMPLE };

struct packet {
	uint64_t seq, rx_ns;
	struct hpcc_hop hop[LINKS];
	uint32_t flow, at; /* at: links passed */
};

struct event {
	uint64_t ns, order, id; /* id: of the delayed ACK, so that a late one is known */
	enum event_type type;
	uint32_t acked;
	struct packet pkt;
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
	struct hpcc_state cc, hop_cc[LINKS]; /* hop_cc: what each hop alone would say */
	struct bucket nic;
	uint64_t clock_ns, departed_ns, snd_nxt, fb_rx_ns;
	uint32_t inflight, waiting, hops, link[LINKS];
	/* receiver */
	struct packet newest;
	uint64_t delack_id, rx_bytes, rx_warm;
	uint32_t unacked;
	/* over the commits after the warm-up */
	double commits, u_sum, u_squares, hop_sum, rate_sum, pull_sum;
};

static struct link links[LINKS];
static struct flow flows[FLOWS_MAX];
static struct event *heap;
static size_t heap_count, heap_size;
static uint64_t now, warmup_ns, rng;
static uint32_t flow_count, samples;

static double uniform(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) * 0x1p-53;
}

static void *allocate(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p) {
		fprintf(stderr, "dumbbell: no memory for %zu bytes; a shorter time= needs less\n",
			bytes);
		exit(1);
	}
	return p;
}

static int event_before(const struct event *a, const struct event *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->order < b->order);
}

static void event_at(uint64_t ns, enum event_type type, const struct packet *pkt, uint32_t acked,
		     uint64_t id)
{
	static uint64_t order;
	struct event e = { ns, order++, id, type, acked, *pkt };
	size_t i = heap_count++;

	if (i == heap_size) {
		heap_size = 2 * heap_size + 64;
		heap = allocate(heap, heap_size * sizeof(*heap));
	}
	for (; i && event_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
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
	uint64_t t = now > b->free_ns ? now : b->free_ns;
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
	struct packet pkt = { .flow = f - flows };
	uint64_t t;

	while (f->inflight < window && f->waiting < held) {
		t = pacer_departure(now, f->clock_ns, 0);
		f->clock_ns = t + pacer_cost_ns(SEGMENT_BYTES, f->cc.rate_bps);
		f->snd_nxt += SEGMENT_BYTES;
		pkt.seq = f->snd_nxt;
		t += uniform() * o_jitter * US;
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
	event_at(now + o_rtt * US, EV_ACK, &f->newest, f->unacked, 0);
	f->unacked = 0;
	f->delack_id++;
}

/* U of each hop alone; with hop_ewma the largest of them decides in the place of Algorithm 1's. */
static enum hpcc_kind flow_decide(struct flow *f, const struct hpcc_ack *ack)
{
	struct hpcc_ack one = *ack;
	enum hpcc_kind kind;
	q24_t u = 0;
	int i;

	one.hops = 1;
	for (i = 0; i < ack->hops; i++) {
		one.hop[0] = ack->hop[i];
		if (hpcc_observe(&f->hop_cc[i], &f->p, &one) != HPCC_SKIPPED)
			hpcc_record(&f->hop_cc[i], &one);
		if (f->hop_cc[i].u > u)
			u = f->hop_cc[i].u;
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

/* ingress_feedback() of bpf/ingress.bpf.h. */
static void flow_feedback(struct flow *f, const struct packet *pkt)
{
	struct hpcc_ack ack = {
		.seq = pkt->seq,
		.snd_nxt = f->snd_nxt,
		.path_id = 1,
		.hops = f->hops,
		.gap_ns = f->fb_rx_ns ? (int64_t)(pkt->rx_ns - f->fb_rx_ns) : HPCC_GAP_UNKNOWN,
	};
	enum hpcc_kind kind;
	double u;

	memcpy(ack.hop, pkt->hop, sizeof(pkt->hop));
	if (f->clock_ns > now)
		ack.snd_nxt -= (f->clock_ns - now) * (f->cc.rate_bps / 8000) / 1000000;
	kind = flow_decide(f, &ack);
	if (kind != HPCC_SKIPPED)
		f->fb_rx_ns = pkt->rx_ns;
	if (kind != HPCC_FULL || now < warmup_ns)
		return;
	u = (double)f->cc.u / Q24_ONE;
	f->commits++;
	f->u_sum += u;
	f->u_squares += u * u;
	f->hop_sum += (double)f->hop_cc[0].u / Q24_ONE;
	f->rate_sum += f->cc.rate_bps;
	f->pull_sum += f->cc.inc_stage ? 0 : 1 - o_eta / u;
}

static void link_stamp(const struct link *l, struct packet *pkt)
{
	struct hpcc_hop *hop = &pkt->hop[pkt->at];

	*hop = telem_unpack(
		telem_pack(telem_speed_fit(o_rate * 1e6), now, l->tx_bytes, l->backlog));
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
	event_at(now + ROUTE_NS, pkt->at < flows[pkt->flow].hops ? EV_ENQUEUE : EV_RECEIVE, pkt,
		 0, 0);
}

static void event_handle(struct event *e)
{
	struct packet *pkt = &e->pkt;
	struct flow *f = &flows[pkt->flow];
	struct link *l = &links[f->link[pkt->at % LINKS]];
	uint64_t t;
	int i;

	switch (e->type) {
	case EV_DEPART:
		f->waiting--;
		event_at(bucket_leave(&f->nic, CHARGED_BYTES) + ROUTE_NS, EV_ENQUEUE, pkt, 0, 0);
		flow_send(f);
		break;
	case EV_ENQUEUE:
		if (!o_dequeue)
			link_stamp(l, pkt);
		t = bucket_leave(&l->bucket, SEGMENT_BYTES);
		if (t == now) {
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
		pkt->rx_ns = now;
		f->newest = *pkt;
		f->rx_bytes += SEGMENT_BYTES;
		if (++f->unacked >= o_ack + floor(uniform() * o_spread))
			flow_acknowledge(f);
		else if (f->unacked == 1)
			event_at(now + DELACK_NS, EV_DELACK, pkt, 0, f->delack_id);
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
		for (i = 0; i < LINKS && now >= warmup_ns; i++)
			links[i].sample[samples] = links[i].backlog;
		samples += now >= warmup_ns;
		event_at(now + SAMPLE_NS, EV_SAMPLE, pkt, 0, 0);
		break;
	}
}

/* As net_burst() of tests/lab/net.sh: at least 50 us of the speed. */
static double burst_bytes(double bytes)
{
	return fmax(bytes, o_rate * 50 / 8);
}

static void sim_begin(void)
{
	struct packet first = {};
	uint32_t i, k;

	rng = (uint64_t)o_seed * 0x9e3779b97f4a7c15ULL;
	warmup_ns = o_warmup * 1e9;
	flow_count = o_senders;
	for (i = 0; i < LINKS; i++) {
		links[i].bucket.burst = links[i].bucket.tokens = burst_bytes(o_burst);
		links[i].sample = allocate(NULL, (o_time * 1000 + 2) * sizeof(uint32_t));
	}
	for (i = 0; i < flow_count; i++) {
		struct flow *f = &flows[i];

		f->hops = i % PATHS == 0 ? 2 : 1;
		f->link[0] = i % PATHS == 2;
		f->link[1] = 1;
		/* As flow_params() of bpf/flow.bpf.h. */
		f->p.t_ns = o_t * US;
		f->p.w_init = q12_from_bytes(o_rate * o_t / 8);
		f->p.w_min = q12_from_bytes(W_MIN_BYTES);
		f->p.eta = o_eta * Q24_ONE;
		f->p.max_stage = o_stage;
		f->p.w_ai = (f->p.w_init * (Q24_ONE - f->p.eta) >> 24) / o_n;
		hpcc_init(&f->cc, &f->p);
		for (k = 0; k < LINKS; k++)
			hpcc_init(&f->hop_cc[k], &f->p);
		f->nic.burst = f->nic.tokens = burst_bytes(1600);
		now = uniform() * 5 * MS;
		flow_send(f);
	}
	now = 0;
	event_at(0, EV_SAMPLE, &first, 0, 0);
}

static void sim_run(void)
{
	uint64_t end = o_time * 1e9, busy_until = 0, stall_ns = 0;
	uint32_t i;
	int warm = 0;

	for (;;) {
		struct event e = event_next();

		/* A tbf and a sampler wait for the CPU like everybody else. */
		now = e.ns > busy_until ? e.ns : busy_until;
		if (now > end)
			break;
		if (o_stall > 0 && now > stall_ns) {
			busy_until = now + (uint64_t)(uniform() * o_stall * US);
			stall_ns = now + (uint64_t)(-log(1 - uniform()) * o_every * MS);
		}
		if (!warm && now >= warmup_ns) {
			warm = 1;
			for (i = 0; i < flow_count; i++)
				flows[i].rx_warm = flows[i].rx_bytes;
			for (i = 0; i < LINKS; i++)
				links[i].tx_warm = links[i].tx_bytes;
		}
		event_handle(&e);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

#define PRINT_FLOWS(key, format, expression)                                                       \
	do {                                                                                       \
		printf("\"%s\":[", key);                                                           \
		for (i = 0; i < flow_count; i++) {                                                 \
			const struct flow *f = &flows[i];                                          \
												   \
			printf("%s" format, i ? "," : "", expression);                             \
		}                                                                                  \
		printf("]");                                                                       \
	} while (0)

static void sim_print(void)
{
	double span = o_time - o_warmup, per_path = flow_count / PATHS;
	double c_bps = o_rate * 1e6, a_bps = flows[0].p.w_ai / 4096.0 * 8e6 / o_t;
	uint32_t i;

	printf("{");
	PRINT_FLOWS("rates_bps", "%.0f", (f->rx_bytes - f->rx_warm) * 8 / span);
	printf(",\"utilisation\":[");
	for (i = 0; i < LINKS; i++)
		printf("%s%.4f", i ? "," : "",
		       (links[i].tx_bytes - links[i].tx_warm) * 8 / span / c_bps);
	printf("],\"queue\":[");
	for (i = 0; i < LINKS; i++) {
		uint32_t *s = links[i].sample;

		qsort(s, samples, sizeof(*s), compare);
		printf("%s{\"p50\":%u,\"p95\":%u,\"p99\":%u,\"max\":%u}", i ? "," : "",
		       s[samples / 2], s[samples * 95ULL / 100], s[samples * 99ULL / 100],
		       s[samples - 1]);
	}
	printf("],");
	PRINT_FLOWS("r_bps", "%.0f", f->rate_sum / f->commits);
	printf(",");
	PRINT_FLOWS("u", "%.4f", f->u_sum / f->commits);
	printf(",");
	PRINT_FLOWS("u_sd", "%.4f",
		    sqrt(fmax(0, f->u_squares / f->commits - pow(f->u_sum / f->commits, 2))));
	printf(",");
	PRINT_FLOWS("u_first_hop", "%.4f", f->hop_sum / f->commits);
	printf(",\"fluid\":{\"max_min\":[");
	/* 2 R per_path = U C and R = a / (1 - eta/U) */
	for (i = 0; i < flow_count; i++)
		printf("%s%.0f", i ? "," : "", o_eta * c_bps / (2 * per_path) + a_bps);
	printf("],\"proportional\":[");
	for (i = 0; i < flow_count; i++)
		printf("%s%.0f", i ? "," : "", o_eta * c_bps / per_path * (i % PATHS ? 2 : 1) / 3);
	printf("],");
	PRINT_FLOWS("balance", "%.0f", a_bps * f->commits / f->pull_sum);
	printf("}}\n");
}

static void usage(void)
{
	size_t i;

	fprintf(stderr, "usage: dumbbell [NAME=VALUE ...]\n");
	for (i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		fprintf(stderr, "  %-9s %-6g %s\n", params[i].name, *params[i].value,
			params[i].help);
}

static int param_set(const char *text)
{
	const char *equals = strchr(text, '=');
	size_t i, length = equals ? (size_t)(equals - text) : 0;
	char *end;
	double v;

	for (i = 0; equals && i < sizeof(params) / sizeof(params[0]); i++) {
		if (strlen(params[i].name) != length || memcmp(params[i].name, text, length))
			continue;
		v = strtod(equals + 1, &end);
		if (end == equals + 1 || *end || !(v >= params[i].min && v <= params[i].max)) {
			fprintf(stderr, "dumbbell: %s: a number from %g to %g is needed\n", text,
				params[i].min, params[i].max);
			return 0;
		}
		*params[i].value = v;
		return 1;
	}
	fprintf(stderr, "dumbbell: '%s' is not known\n", text);
	usage();
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage();
		return 0;
	}
	for (i = 1; i < argc; i++)
		if (!param_set(argv[i]))
			return 2;
	if (fmod(o_senders, PATHS) != 0 || o_warmup > o_time / 2) {
		fprintf(stderr, "dumbbell: senders= is to be a multiple of %d, warmup= at most "
				"half of time=\n", PATHS);
		return 2;
	}
	sim_begin();
	sim_run();
	sim_print();
	return 0;
}
