// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maps of a sender, a receiver and a switch in one, as the daemon would fill them.
 *
 * A case differs from another in what its flows, their port and their peer are told. That is written into the state of
 * all flows (scene_set() of driver.bpf.c), and into the peer for those to come.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>

#include "loaded.h"

#define BASE_RTT_NS 100000

const struct siphash_key world_key = { 1, 2 };

static const char *const devices[] = { [DEVICE_HOST] = "bench0", [DEVICE_SWITCH] = "bench1" };
struct world world;

void world_die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void sh(const char *command)
{
	errno = 0;
	if (system(command))
		world_die(command);
}

void address_parse(struct sluice_addr *a, const char *text)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET6, text, a->b) == 1)
		return;
	a->b[10] = a->b[11] = 0xff;
	inet_pton(AF_INET, text, a->b + 12);
}

void map_set(const struct bpf_map *map, const void *key, const void *value)
{
	if (bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY))
		world_die(bpf_map__name(map));
}

void map_get(const struct bpf_map *map, const void *key, void *value)
{
	if (bpf_map_lookup_elem(bpf_map__fd(map), key, value))
		world_die(bpf_map__name(map));
}

__u64 world_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

__u32 world_ifindex(enum device device)
{
	return if_nametoindex(devices[device]);
}

__u64 world_counter(enum sluice_stat stat)
{
	int cpus = libbpf_num_possible_cpus(), i;
	__u64 v[cpus], sum = 0;

	map_get(world.sluice->maps.stats, &stat, v);
	for (i = 0; i < cpus; i++)
		sum += v[i];
	return sum;
}

/* --- making it --- */

static struct sluice_bpf *dataplane_open(unsigned int flows, int hop)
{
	struct sluice_bpf *s = sluice_bpf__open();
	unsigned int i;

	if (!s)
		world_die("the data plane");
	struct bpf_program *unused[] = { s->progs.backlog_enqueue, s->progs.backlog_dequeue, s->progs.cc_init,
					 s->progs.cc_event,	   s->progs.cc_segments,     s->progs.cc_control,
					 s->progs.cc_ssthresh,	   s->progs.cc_undo_cwnd };

	for (i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		bpf_program__set_autoload(unused[i], false);
	bpf_program__set_autoload(s->progs.hop, hop);
	bpf_map__set_autocreate(s->maps.tcp_cc, false);
	bpf_map__set_max_entries(s->maps.flows, flows);
	bpf_map__set_max_entries(s->maps.rx_states, flows);
	bpf_map__set_max_entries(s->maps.voqs, 2 * HOSTS_MAX);
	bpf_map__set_max_entries(s->maps.hosts, 4 * HOSTS_MAX);
	s->rodata->qdisc_kfuncs = hop;
	return s;
}

static void dataplane_load(unsigned int flows)
{
	world.sluice = dataplane_open(flows, 1);
	if (!sluice_bpf__load(world.sluice))
		return;
	/* Before Linux 6.2 only hop_map can be had. */
	sluice_bpf__destroy(world.sluice);
	world.sluice = dataplane_open(flows, 0);
	if (sluice_bpf__load(world.sluice))
		world_die("loading the data plane");
}

/* Maps of other by the name of one of the data plane are that one. */
static void maps_share(struct bpf_object *other)
{
	struct bpf_map *map, *ours;

	bpf_object__for_each_map (map, other) {
		ours = bpf_object__find_map_by_name(world.sluice->obj, bpf_map__name(map));
		if (ours && bpf_map__reuse_fd(map, bpf_map__fd(ours)))
			world_die(bpf_map__name(map));
	}
}

static int record_drop(void *ctx, void *record, size_t size)
{
	(void)ctx;
	(void)record;
	(void)size;
	return 0;
}

static void programs_load(unsigned int flows)
{
	dataplane_load(flows);
	world.xdp = sluice_xdp_bpf__open();
	world.bench = bench_bpf__open();
	world.edt = edt_bpf__open();
	if (!world.xdp || !world.bench || !world.edt)
		world_die("the programs");
	maps_share(world.xdp->obj);
	maps_share(world.bench->obj);
	if (sluice_xdp_bpf__load(world.xdp) || bench_bpf__load(world.bench) || edt_bpf__load(world.edt))
		world_die("loading the programs");
	world.ring = ring_buffer__new(bpf_map__fd(world.sluice->maps.trace), record_drop, NULL, NULL);
	if (!world.ring)
		world_die("the ring");
}

/* Packets sent to a device run into entry(), and end there. */
static void device_attach(enum device device)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = world_ifindex(device), .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, first, .prog_fd = bpf_program__fd(world.bench->progs.entry), .priority = 1,
			    .handle = 1);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, then, .prog_fd = bpf_program__fd(world.bench->progs.drop), .priority = 2,
			    .handle = 1);

	if (bpf_tc_hook_create(&hook) || bpf_tc_attach(&hook, &first) || bpf_tc_attach(&hook, &then))
		world_die("attaching to a device");
}

static void devices_make(void)
{
	if (unshare(CLONE_NEWNET))
		world_die("a network namespace");
	/* Without IPv6 addresses, or the devices would send packets of their own. */
	sh("ip link add bench0 type veth peer name bench1 && ip link set bench0 addrgenmode none up && "
	   "ip link set bench1 addrgenmode none up && "
	   "tc qdisc add dev bench1 root tbf rate 100gbit burst 1mb limit 10mb");
}

static void ports_fill(void)
{
	struct port port = {
		.count_ns = RX_COUNT_RTTS * BASE_RTT_NS,
		.speed_bps = SPEED_BPS,
		.speed = telem_speed_fit(SPEED_BPS),
		.flags = PORT_F_HOST,
		.mtu = MTU,
		.switch_id = 1,
	};
	__u32 ifindex = world_ifindex(DEVICE_HOST);

	map_set(world.sluice->maps.ports, &ifindex, &port);
	port.flags = PORT_F_SWITCH | PORT_F_STAMP;
	ifindex = world_ifindex(DEVICE_SWITCH);
	map_set(world.sluice->maps.ports, &ifindex, &port);
}

static void arrival_fill(void)
{
	struct arrival_key key = { .prefixlen = 128, .tor = htonl(VOQ_TOR) };
	struct arrival a = { .ifindex = world_ifindex(DEVICE_HOST), .watched = 1 };
	struct credit_ring ring = {};
	__u32 slot = 7;

	address_parse(&key.addr, "10.1.0.1");
	map_set(world.sluice->maps.arrival_slots, &key, &slot);
	hiercc_params_arrival(&a.params, SPEED_BPS / 8, BASE_RTT_NS, 1000, BASE_RTT_NS);
	map_set(world.sluice->maps.arrivals, &slot, &a);
	hiercc_ring_init(&ring.ring, SPEED_BPS / 8, BASE_RTT_NS, HIERCC_DELTA_BYTES);
	map_set(world.sluice->maps.credit_rings, &a.ring, &ring);
}

static void maps_fill(void)
{
	struct control control = { .abi = SLUICE_ABI, .mode = MODE_ENFORCE, .tor = htonl(1), .epoch = 1 };
	struct peer peer = {
		.t_ns = BASE_RTT_NS,
		.eta = Q24_ONE * 95 / 100,
		.flows = 16,
		.max_stage = 5,
		.delay = 1,
		.voq_period_ns = BASE_RTT_NS,
	};
	struct peer_key v4 = { .prefixlen = 96 + 8 }, v6 = { .prefixlen = 16 };
	struct auth_keys keys = { .key = { world_key }, .n = 1 };
	__u32 zero = 0;

	map_set(world.sluice->maps.control, &zero, &control);
	map_set(world.sluice->maps.auth_keys, &zero, &keys);
	address_parse(&v4.addr, "10.0.0.0");
	map_set(world.sluice->maps.peers, &v4, &peer);
	address_parse(&v6.addr, "fd00::");
	map_set(world.sluice->maps.peers, &v6, &peer);
	ports_fill();
	arrival_fill();
}

void world_open(unsigned int flows)
{
	if (geteuid()) {
		fprintf(stderr, "bench: needs root: loads BPF programs\n");
		exit(1);
	}
	devices_make();
	programs_load(flows);
	device_attach(DEVICE_HOST);
	device_attach(DEVICE_SWITCH);
	maps_fill();
	world_hosts(1);
	world.heads = mmap(NULL, BURST * sizeof(*world.heads), PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(world.bench->maps.heads), 0);
	if (world.heads == MAP_FAILED)
		world_die("the heads of packets");
	world.kernel_clock = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (world.kernel_clock < 0)
		world_die("the kernel's own clock of programs");
}

void world_close(void)
{
	close(world.kernel_clock);
	ring_buffer__free(world.ring);
	edt_bpf__destroy(world.edt);
	bench_bpf__destroy(world.bench);
	sluice_xdp_bpf__destroy(world.xdp);
	sluice_bpf__destroy(world.sluice);
}
