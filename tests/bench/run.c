// SPDX-License-Identifier: GPL-2.0-only
/*
 * A round of a case: the scene is set, caches are emptied or not (after a rehearsal), some packets settle it, and then
 * bursts are timed. The mean of the middle half of the bursts counts, which leaves out what an interrupt fell into.
 *
 * Flow n goes to host n modulo hosts, by a port of its own; the packets of a burst are of flows that are far apart, so that
 * nothing can be fetched ahead. Checksums are those of flow 0: no program looks at them.
 */
#include "run.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_FIRST 1024
#define STRIDE 7919 /* a prime that divides no number of flows */
#define BURSTS_MAX 4096
#define XDP_SHARE \
	4 /* one in this many of its packets is sent: for each burst of XDP the kernel changes code, and waits */

/* The hops last reported to each flow, by any case: they advance, or they would be out of date. */
static __u32 *visits[MOVES_VOQ + 1];

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median_of(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double spread_of(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n - 1 - n / 4] - v[n / 4];
}

static double middle_mean(double *v, unsigned int n)
{
	unsigned int i, from = n / 4, to = n - n / 4;
	double sum = 0;

	qsort(v, n, sizeof(*v), compare);
	for (i = from; i < to; i++)
		sum += v[i];
	return sum / (to - from);
}

double run_net(const struct run *r, const struct run *base, unsigned int rounds)
{
	double v[ROUNDS_MAX];
	unsigned int i;

	for (i = 0; i < rounds; i++)
		v[i] = r->ns[i] - base->ns[i];
	return median_of(v, rounds);
}

void run_json(const struct run *r, const struct run *base, unsigned int rounds)
{
	double v[ROUNDS_MAX];

	memcpy(v, r->ns, sizeof(v));
	printf("\"median_ns\":%.1f,\"min_ns\":%.1f,\"spread_ns\":%.1f,\"net_ns\":%.1f,\"rounds\":%u",
	       median_of(v, rounds), v[0], spread_of(v, rounds), run_net(r, base, rounds), rounds);
}

/* --- packets --- */

/* The last three bytes of B's address in the IP header at ip, and A's port behind it. */
static unsigned int at_b(const struct bench_case *c, unsigned int ip)
{
	return ip + (c->ip.v6 ? 8 + 13 : 12 + 1) + (c->ip.reply ? 0 : c->ip.v6 ? 16 : 4);
}

static void frame_make(struct run *r)
{
	const struct bench_case *c = r->c;
	struct frame inner = c->arp ? frame_arp() : frame_of(c->ip);
	unsigned int ip;

	r->frame = inner;
	if (c->arp)
		return;
	if (c->wire)
		r->frame = frame_wrap(&inner, *c->wire);
	if (c->companion)
		r->frame = companion_of(&inner, 2, 0);
	if (c->moves)
		r->at_moves = c->moves == MOVES_VOQ  ? at_voq(&r->frame) + 4 :
			      c->moves == MOVES_ECHO ? at_echo(&r->frame) + 12 :
						       at_hop(&r->frame, 0);
	if (c->intmd)
		r->frame = frame_with_int(r->frame, *c->intmd);
	ip = c->companion ? 14 : 14 + r->frame.len - inner.len;
	r->at_host[0] = at_b(c, 14);
	r->at_host[1] = at_b(c, ip);
	r->at_port = ip + (c->ip.v6 ? 40 : 20) + (c->ip.reply ? 2 : 0);
}

/* The two hops go on by 2 us and 12.8 kB, a load of half of their speed. */
static void hops_move(struct run *r, __u32 step)
{
	__u64 hop = 12ULL << 60 | (step * 2000ULL & 0xffffff) << 36 | (step * 100ULL & 0xfffff) << 16;
	unsigned int at = r->at_moves, hops = r->c->moves == MOVES_ECHO ? r->c->wire->echo_hops : r->c->wire->nhop;

	for (; hops; hops--, at += 8)
		put64(r->frame.b + at, hop);
}

/* Makes the packet one of flow n. */
static void frame_name(struct run *r, unsigned int n)
{
	__u32 host = HOST_ADDRESS(n % r->hosts), i;

	if (r->c->arp)
		return;
	for (i = 0; i < 2; i++) {
		r->frame.b[r->at_host[i]] = host >> 16;
		put16(r->frame.b + r->at_host[i] + 1, host & 0xffff);
	}
	put16(r->frame.b + r->at_port, PORT_FIRST + n / r->hosts);
	if (r->c->moves == MOVES_VOQ) /* one VOQ of all flows */
		put32(r->frame.b + r->at_moves, *visits[MOVES_VOQ] += r->frame.len);
	else if (r->c->moves)
		hops_move(r, ++visits[r->c->moves][n]);
	if (r->c->wire && r->c->wire->key) {
		put64(r->frame.b + at_auth(&r->frame), world_ns());
		frame_sign(&r->frame, r->c->wire->key);
	}
}

/* How a burst differs from the one that is measured. */
enum { TO_MEASURE, TO_MAKE = 1 /* flows are in order */, AT_TC = 2 /* what XDP would do; see XDP_SHARE */ };

/* The next burst, of flows in turn. */
static double burst_run(struct run *r, int how)
{
	struct settings scene = r->c->scene;
	struct burst b = {
		.program = world_program(r->c->xdp && how & AT_TC ? "ingress" : r->c->program),
		.xdp = r->c->xdp && !(how & AT_TC),
		.inside = r->c->inside && !(how & TO_MAKE),
		.frame = r->frame.b,
		.bytes = r->frame.len,
		.pauses = scene.pauses,
		.device = scene.device,
		.echo = scene.echoes && r->flows == 1 ? &r->first : NULL,
	};
	struct head *heads = world_heads();
	unsigned int i, n, bytes = r->frame.len < HEAD_BYTES ? r->frame.len : HEAD_BYTES;

	for (i = 0; i < BURST; i++) {
		n = how & TO_MAKE ? r->turn % r->flows : (__u64)r->turn * STRIDE % r->flows;
		r->turn++;
		frame_name(r, n);
		memcpy(heads[i].b, r->frame.b, bytes);
	}
	world_drain();
	return world_burst(&b);
}

/* --- rounds --- */

void run_flows_make(struct run *r)
{
	unsigned int done;

	world_scene(&r->c->scene, 1);
	for (done = 0; done < r->flows; done += BURST) {
		if (done % (64 * BURST) == 0) /* no peer is to fall silent meanwhile */
			world_scene(&r->c->scene, 0);
		burst_run(r, TO_MAKE | AT_TC);
	}
	r->turn = 0;
}

void run_begin(struct run *r)
{

	frame_make(r);
	if (r->c->moves && !visits[r->c->moves])
		visits[r->c->moves] = calloc(RUN_FLOWS_MAX, sizeof(__u32));
	if (r->c->moves && !visits[r->c->moves])
		world_die("memory for flows");
	address_parse(&r->first.local, r->c->ip.v6 ? "fd00:1::1" : "10.1.0.1");
	address_parse(&r->first.remote, r->c->ip.v6 ? "fd00:1::" : "10.1.0.0");
	r->first.remote.b[13] = HOST_ADDRESS(0) >> 16;
	r->first.remote.b[14] = HOST_ADDRESS(0) >> 8 & 0xff;
	r->first.remote.b[15] = HOST_ADDRESS(0) & 0xff;
	r->first.local_port = htons(PORT_FIRST);
	r->first.remote_port = htons(PORT_B);
	r->first.proto = r->c->ip.udp ? 17 : 6;
	world_hosts(r->hosts);
}

static const char *const counters[] = {
#define RUN_NAME(symbol, name, kind, help) name,
	SLUICE_STATS(RUN_NAME)
#undef RUN_NAME
};

/* Ends the program: the packets ended in these counters, and not in the expected one. */
static void astray(const struct run *r, const __u64 *before, __u64 sent)
{
	__u64 moved;
	int i;

	fprintf(stderr, "bench: %s%s, %u flows: %llu packets did not all end as they should; what counted:\n",
		r->c->name, r->cold ? " (cold)" : "", r->flows, sent);
	for (i = 0; i < STAT_MAX; i++) {
		moved = world_counter(i) - before[i];
		if (moved)
			fprintf(stderr, "  %s %llu\n", counters[i], moved);
	}
	exit(1);
}

static void packets_run(struct run *r, unsigned int packets, int how)
{
	unsigned int done;

	for (done = 0; done < packets; done += BURST)
		burst_run(r, how);
}

/* Packets of the case change the state that it has to find. */
static int scene_wears(const struct bench_case *c)
{
	return c->scene.edt || c->scene.echoes || c->moves;
}

/* Clears the state that another case left in the flows of the next round, and reports hops to them. */
static void rehearse(struct run *r, unsigned int packets)
{
	__u32 turn = r->turn;

	packets_run(r, r->settle + packets, AT_TC);
	r->turn = turn;
	world_scene(&r->c->scene, scene_wears(r->c)); /* also, the hosts are heard again */
}

void run_round(struct run *r, unsigned int round, unsigned int packets)
{
	const struct bench_case *c = r->c;
	unsigned int bursts = (packets + BURST - 1) / BURST, i;
	__u64 before[STAT_MAX];
	double ns[BURSTS_MAX];

	if (c->xdp)
		bursts = (bursts + XDP_SHARE - 1) / XDP_SHARE;
	world_scene(&c->scene, scene_wears(c));
	if (r->cold) {
		rehearse(r, bursts * BURST);
		world_caches_empty();
	}
	packets_run(r, r->settle, TO_MEASURE);
	for (i = 0; i < STAT_MAX; i++)
		before[i] = world_counter(i);
	for (i = 0; i < bursts && i < BURSTS_MAX; i++)
		ns[i] = burst_run(r, TO_MEASURE);
	r->ns[round] = middle_mean(ns, i);
	/* If others had the CPU for a while, the next feedback is of another kind. */
	if (c->stat != STAT_MAX && world_counter(c->stat) - before[c->stat] < i * BURST * 9ULL / 10)
		astray(r, before, i * BURST);
}
