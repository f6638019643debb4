// SPDX-License-Identifier: GPL-2.0-only
/* The scene of a case, and bursts of packets in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>

#include "loaded.h"

#define AHEAD_NS \
	NSEC_PER_SEC /* of a departure clock: it stays ahead all through the case, and the horizon is the departure */
#define CACHES_BYTES (64U << 20)
#define PAUSES_PORTS 16

const struct bpf_program *world_program(const char *name)
{
	struct bpf_object *objects[] = { world.sluice->obj, world.xdp->obj, world.bench->obj, world.edt->obj };
	const struct bpf_program *prog;
	unsigned int i;

	for (i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		prog = bpf_object__find_program_by_name(objects[i], name);
		if (prog && bpf_program__fd(prog) >= 0)
			return prog;
	}
	return NULL;
}

void world_hosts(unsigned int n)
{
	static const char *const of[] = { "10.1.0.0", "fd00:1::" };
	static unsigned int there;
	struct host h = { .heard_ns = world_ns(), .capable = 1 };
	struct host_key k = {};
	struct sluice_addr a;
	unsigned int i;

	for (; there < n; there++) {
		for (i = 0; i < 2; i++) {
			address_parse(&a, of[i]);
			a.b[13] = HOST_ADDRESS(there) >> 16;
			a.b[14] = HOST_ADDRESS(there) >> 8;
			a.b[15] = (__u8)HOST_ADDRESS(there);
			memcpy(k.b, &a, sizeof(k.b));
			map_set(world.sluice->maps.hosts, &k, &h);
		}
	}
}

static void control_choose(const struct settings *s)
{
	struct control control;
	__u32 zero = 0;

	map_get(world.sluice->maps.control, &zero, &control);
	control.auth = s->auth;
	control.trace_on = s->traced;
	control.rwnd = s->rwnd;
	control.trace_every = 1;
	control.trace_until_ns = ~0ULL;
	map_set(world.sluice->maps.control, &zero, &control);
}

/* A lease that does not end, or none. */
static void ring_choose(const struct settings *s)
{
	struct credit_ring r;
	__u32 port = 0;

	map_get(world.sluice->maps.credit_rings, &port, &r);
	r.ring.lease_ns = s->leased ? ~0ULL >> 1 : 0;
	map_set(world.sluice->maps.credit_rings, &port, &r);
}

/* For the flows to come. */
static void peer_choose(const char *prefix, unsigned int bits, const struct settings *s)
{
	struct peer_key key = { .prefixlen = bits };
	struct peer peer;

	address_parse(&key.addr, prefix);
	map_get(world.sluice->maps.peers, &key, &peer);
	peer.encoding = s->encoding;
	peer.feedback = s->feedback;
	peer.hiercc = s->voq ? VOQS_HERE : VOQS_OFF;
	map_set(world.sluice->maps.peers, &key, &peer);
}

/* Sixteen ports; the waiting packets came in by the other device. The queue does not grow, so nobody is paused. */
static void pauses_choose(const struct settings *s)
{
	struct pfc_port p = { .flags = PFC_F_OBEY | PFC_F_COUNT | PFC_F_PAUSE | PFC_F_PREDICT, .lossless = 1 };
	struct pfc_slot slot = { .bps = SPEED_BPS, .window_ns = PPFC_WINDOW_NS };
	__u32 n, ifindex, zero = 0;
	struct control control;

	map_get(world.sluice->maps.control, &zero, &control);
	control.pfc = s->pauses;
	map_set(world.sluice->maps.control, &zero, &control);
	pfc_obey_init(&p.params, SPEED_BPS);
	pfc_params_init(&slot.thresholds, 4000000, SPEED_BPS, MTU + 14, 100000);
	for (n = 1; n <= PAUSES_PORTS; n++) {
		slot.queue_bytes[0] = slot.bytes[2][0] = n == 1 && s->pauses == 2 ? 400000 : 0;
		map_set(world.sluice->maps.pfc_slots, &n, &slot);
	}
	slot = (struct pfc_slot){ .used_bytes = s->pauses == 2 ? 400000 : 0 };
	slot.rule = (struct pfc_rule){ .lease_ns = s->pauses % 3 ? ~0ULL : 0,
				       .shared_bytes = 4000000,
				       .predicts = ~1ULL,
				       .slots = PAUSES_PORTS + 1,
				       .lossless = 1 };
	ppfc_params_init(&slot.rule.predict, 4000000, 4000000, PAUSES_PORTS, SPEED_BPS, 1000);
	map_set(world.sluice->maps.pfc_slots, &zero, &slot);
	p.slot = 1;
	ifindex = world_ifindex(DEVICE_SWITCH);
	map_set(world.sluice->maps.pfc_ports, &ifindex, &p);
	p.slot = 2;
	ifindex = world_ifindex(DEVICE_HOST);
	map_set(world.sluice->maps.pfc_ports, &ifindex, &p);
}

static __u32 port_choose(const struct settings *s)
{
	__u32 ifindex = world_ifindex(s->device);
	struct port port;

	map_get(world.sluice->maps.ports, &ifindex, &port);
	port.flags = s->device == DEVICE_HOST ? PORT_F_HOST : PORT_F_SWITCH | PORT_F_STAMP;
	port.flags |= (s->edt ? PORT_F_EDT : 0) | (s->stamp ? PORT_F_STAMP : 0);
	map_set(world.sluice->maps.ports, &ifindex, &port);
	return port.flags;
}

void world_scene(const struct settings *s, int fresh)
{
	static struct settings last = { .device = DEVICE_SWITCH + 1 };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	__u64 now_ns = world_ns();

	world.bench->bss->scene_hosts_only = !fresh && !memcmp(&last, s, sizeof(last));
	control_choose(s);
	ring_choose(s);
	pauses_choose(s);
	peer_choose("10.0.0.0", 96 + 8, s);
	peer_choose("fd00::", 16, s);
	world.bench->bss->scene = (struct scene){
		.now_ns = now_ns,
		.clock_ns = s->edt ? now_ns + AHEAD_NS : 0,
		.ifindex = world_ifindex(s->device),
		.port_flags = port_choose(s),
		.feedback = s->feedback,
		.encoding = s->encoding,
		.hiercc = s->voq ? VOQS_HERE : VOQS_OFF,
		.echo = s->echoes,
		.beside = s->beside,
		.own = s->own,
	};
	if (bpf_prog_test_run_opts(bpf_program__fd(world.bench->progs.scene_set), &opts))
		world_die("the scene");
	last = *s;
}

void world_drain(void)
{
	ring_buffer__consume(world.ring);
}

/* Line by line: a memset() of so much may go past the caches. */
void world_caches_empty(void)
{
	static volatile __u8 *memory;
	size_t i;

	if (!memory)
		memory = malloc(CACHES_BYTES);
	if (!memory)
		world_die("memory to fill caches with");
	for (i = 0; i < CACHES_BYTES; i += 64)
		memory[i]++;
}

struct head *world_heads(void)
{
	return world.heads;
}

/* Of entry(): nanoseconds, and runs. */
static void kernel_clock_read(__u64 *ns, __u64 *runs)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(world.bench->progs.entry), &info, &len))
		world_die("the time of a program");
	*ns = info.run_time_ns;
	*runs = info.run_cnt;
}

static double burst_tc(const struct burst *b)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = b->frame, .data_size_in = b->bytes, .repeat = BURST);
	__u64 ns, runs, ns_before, runs_before;

	kernel_clock_read(&ns_before, &runs_before);
	if (bpf_prog_test_run_opts(bpf_program__fd(world.bench->progs.driver), &opts))
		world_die("a burst");
	kernel_clock_read(&ns, &runs);
	if (runs < runs_before + BURST) {
		errno = ENOBUFS;
		world_die("packets that did not come to their program");
	}
	return (double)(ns - ns_before) / (runs - runs_before);
}

/* XDP's packets, and those that have a socket. */
static double burst_inside(const struct burst *b)
{
	const struct bpf_program *driver = b->xdp ? world.bench->progs.driver_xdp : world.bench->progs.driver_inside;
	struct __sk_buff ctx = { .ifindex = world_ifindex(b->device),
				 .ingress_ifindex = b->pauses ? world_ifindex(DEVICE_HOST) : 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = b->frame, .data_size_in = b->bytes, .repeat = BURST,
		    .ctx_in = b->inside ? &ctx : NULL, .ctx_size_in = b->inside ? sizeof(ctx) : 0);

	if (bpf_prog_test_run_opts(bpf_program__fd(driver), &opts))
		world_die("a burst in a test run");
	if (!world.bench->bss->counted) {
		errno = ENOBUFS;
		world_die("packets that could not be put back");
	}
	return (double)world.bench->bss->spent_ns / world.bench->bss->counted;
}

/* Where in the map of programs it is, in which it is put when it is wanted first. */
static __u32 target_of(const struct burst *b)
{
	static const struct bpf_program *there[2][TARGETS];
	const struct bpf_map *map = b->xdp ? world.bench->maps.targets_xdp : world.bench->maps.targets;
	int fd = bpf_program__fd(b->program);
	__u32 i;

	for (i = 0; i < TARGETS; i++) {
		if (there[!!b->xdp][i] == b->program)
			return i;
		if (!there[!!b->xdp][i]) {
			map_set(map, &i, &fd);
			there[!!b->xdp][i] = b->program;
			return i;
		}
	}
	errno = ENOSPC;
	world_die("TARGETS");
}

double world_burst(const struct burst *b)
{
	world.bench->bss->target = target_of(b);
	world.bench->bss->head_bytes = b->bytes < HEAD_BYTES ? b->bytes : HEAD_BYTES;
	world.bench->bss->frame_bytes = b->bytes;
	world.bench->bss->device = world_ifindex(b->device);
	world.bench->bss->echo_waits = !!b->echo;
	if (b->echo)
		world.bench->bss->echo_flow = *b->echo;
	world.bench->bss->next = world.bench->bss->roomy = 0;
	world.bench->bss->started_ns = world.bench->bss->spent_ns = 0;
	world.bench->bss->passes = world.bench->bss->counted = 0;
	return b->xdp || b->inside ? burst_inside(b) : burst_tc(b);
}
