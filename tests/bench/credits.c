// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of HierCC with many VOQs and flows in the maps: memory of an entry, a round of the credit loop by how many
 * are active of how many there are, and what a tick of a second looks through. As JSON.
 *
 *  1. The maps are the real ones, without programs. The scheduler is called by its inner functions; what ingress would
 *     have noted is written into the maps.
 *  2. A round is one of a port of 25 Gbit/s with 100 us to deal out, of VOQs of racks of ten hosts each that all send
 *     more than they are granted; its messages go to the loopback device of a network namespace of its own.
 *  3. The median of the rounds counts.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "daemon/credits.h"
#include "daemon/credits_port.h"
#include "daemon/credits_slot.h"
#include "sluice.skel.h"

#define VOQS 100000
#define FLOWS 1000000
#define ROUNDS 300
#define PERIOD_NS 100000
#define LOOPBACK 1
#define HOSTS 10 /* of a rack */

static struct sluice_bpf *skel;
static struct pins pins;
static struct config_peer peers[] = { { .key = { .prefixlen = 96 + 8, .addr.b = { [10] = 0xff, [11] = 0xff, 127 } },
					.base_rtt_ns = 100000, .hiercc = VOQS_HERE } };
static struct config config = { .peers = peers, .peers_count = 1, .flow_timeout_ns = 60 * NSEC_PER_SEC,
				.credit_eta = 1, .tor = 7, .port = WIRE_PORT_DEFAULT };
static struct credits *c;

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void maps_make(void)
{
	struct bpf_program *prog;

	skel = sluice_bpf__open();
	if (!skel)
		die("opening the object");
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, false);
	bpf_map__set_autocreate(skel->maps.tcp_cc, false);
	bpf_map__set_max_entries(skel->maps.flows, FLOWS);
	bpf_map__set_max_entries(skel->maps.voqs, VOQS + 1);
	bpf_map__set_max_entries(skel->maps.arrival_slots, VOQS);
	bpf_map__set_max_entries(skel->maps.arrivals, VOQS);
	bpf_map__set_max_entries(skel->maps.credits, VOQS);
	if (sluice_bpf__load(skel))
		die("making the maps");
#define BENCH_FD(name) pins.name = bpf_map__fd(skel->maps.name);
	PINS(BENCH_FD)
#undef BENCH_FD
	pins.ctl = mmap(NULL, sizeof(*pins.ctl), PROT_READ | PROT_WRITE, MAP_SHARED, pins.control, 0);
	if (pins.ctl == MAP_FAILED)
		die("the control map");
}

/* Of a map, as the kernel accounts for it. */
static void memory_print(const char *name, int fd, unsigned int entries, const char *end)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "memlock: %llu", &bytes);
	if (f)
		fclose(f);
	printf("    {\"map\": \"%s\", \"entries\": %u, \"bytes\": %llu, \"bytes_per_entry\": %llu}%s\n", name,
	       entries, bytes, bytes / entries, end);
}

static void maps_fill(void)
{
	struct flow flow = { .tx.last_ns = now_ns(), .rx.feedbacks = 100 };
	struct voq voq = { .voq.last_ns = now_ns() };
	__u32 i;

	for (i = 0; i < FLOWS; i++) {
		struct flow_key key = { .proto = IPPROTO_TCP };

		memcpy(&key.remote.b[12], &i, sizeof(i));
		if (bpf_map_update_elem(pins.flows, &key, &flow, BPF_ANY))
			die("a flow");
	}
	for (i = 0; i < VOQS; i++) {
		struct voq_key key = { .prefixlen = 128 };

		memcpy(&key.addr.b[12], &i, sizeof(i));
		if (bpf_map_update_elem(pins.voqs, &key, &voq, BPF_ANY))
			die("a VOQ");
	}
}

static void voq_sends(__u32 i)
{
	struct arrival_news n = { .key = { .addr.b = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 }, .prefixlen = 128,
					   .tor = htonl(1 + i / HOSTS) },
				  .from.b = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 2 },
				  .to.b = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 },
				  .claim = 1000000ULL << 32 | 4, .bytes = 1500, .inner_bytes = 1400, .packets = 1,
				  .ifindex = LOOPBACK };
	__u32 slot;

	n.key.addr.b[15] = i % HOSTS;
	if (!bpf_map_lookup_elem(pins.arrival_slots, &n.key, &slot))
		n.claim = c->arrivals[slot].seen.claim + (1500ULL << 32); /* it goes on */
	news_take(c, &n, sizeof(n));
}

static int u64_compare(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

/* All active ones become idle, without waiting. */
static void all_rest(void)
{
	__u32 k, i;

	for (k = c->active_count; k-- > 0;) {
		i = c->active[k];
		hiercc_ring_drop(&c->rings[c->slots[i].port].ring, &c->credits[i].due, i);
		slot_watch(c, i, 0);
		slot_deactivate(c, i);
	}
}

/* The median of rounds with `active` VOQs, ns. */
static __u64 rounds_measure(unsigned int active)
{
	static __u64 took[ROUNDS];
	__u64 begun;
	__u32 i, r;

	all_rest();
	for (i = 0; i < active; i++)
		voq_sends(i);
	for (r = 0; r < ROUNDS; r++) {
		for (i = 0; i < c->active_count; i++) {
			struct arrival *a = &c->arrivals[c->active[i]];

			hiercc_see(&a->seen, (a->seen.claim >> 32) + 15000, 4, 15000, 10, 1 << 30);
			a->last_ns = now_ns();
		}
		begun = now_ns();
		c->rings[0].ring.clock_ns = begun - PERIOD_NS;
		credits_round(c);
		took[r] = now_ns() - begun;
	}
	qsort(took, ROUNDS, sizeof(*took), u64_compare);
	return took[ROUNDS / 2];
}

static int flow_look(const struct flow_key *key, const struct flow *f, void *ctx)
{
	(void)key;
	*(__u64 *)ctx += f->rx.feedbacks;
	return 0;
}

int main(void)
{
	static const unsigned int active[] = { 1, 10, 100, 1000 };
	struct port port = { .speed_bps = 25000000000ULL, .flags = PORT_F_HOST };
	struct messages *messages;
	__u32 ifindex = LOOPBACK, i, k;
	__u64 few[4], begun, sum = 0, made;
	struct voq_age_ctx age;

	msg_init("bench");
	libbpf_set_print(NULL);
	if (unshare(CLONE_NEWNET) || system("ip link set lo up"))
		die("a network namespace");
	maps_make();
	if (bpf_map_update_elem(pins.ports, &ifindex, &port, BPF_ANY) || messages_open(-1, &messages) ||
	    credits_open(&pins, bpf_map__fd(skel->maps.arrival_news), messages, &c))
		die("the scheduler");
	credits_apply(c, &config);
	c->peers[0].params.debt_max = HIERCC_BYTES_MAX / 2;
	printf("{\n  \"memory\": [\n");
	memory_print("flows", pins.flows, FLOWS, ",");
	memory_print("voqs", pins.voqs, VOQS, ",");
	memory_print("arrival_slots", pins.arrival_slots, VOQS, ",");
	memory_print("arrivals", pins.arrivals, VOQS, ",");
	memory_print("credits", pins.credits, VOQS, ",");
	memory_print("credit_rings", pins.credit_rings, CREDIT_RINGS, ",");
	printf("    {\"map\": \"(daemon)\", \"entries\": %u, \"bytes\": %zu, \"bytes_per_entry\": %zu}\n  ],\n", VOQS,
	       VOQS * (sizeof(struct slot) + 12), sizeof(struct slot) + 12);
	for (k = 0; k < 4; k++)
		few[k] = rounds_measure(active[k]);
	begun = now_ns();
	for (i = 0; i < VOQS; i++)
		voq_sends(i);
	made = (now_ns() - begun) / VOQS;
	maps_fill();
	printf("  \"rounds\": [\n");
	for (k = 0; k < 4; k++)
		printf("    {\"active\": %u, \"of_%u_ns\": %llu, \"of_%u_ns\": %llu}%s\n", active[k], active[3], few[k],
		       VOQS, rounds_measure(active[k]), k < 3 ? "," : "");
	printf("  ],\n  \"slot_made_ns\": %llu,\n", made);
	all_rest();
	begun = now_ns();
	pins_each_flow(&pins, flow_look, &sum);
	printf("  \"tick_flows_ns\": %llu,\n", now_ns() - begun);
	age = (struct voq_age_ctx){ c, now_ns() };
	c->voq_cursor = 0;
	begun = now_ns();
	pins_some_voqs(&pins, &c->voq_cursor, CREDITS_AGE_STEP, voq_age, &age);
	printf("  \"tick_voqs_ns\": %llu\n}\n", now_ns() - begun);
	return sum ? 0 : 1;
}
