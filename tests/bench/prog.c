// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the programs of the data plane cost a packet, in nanoseconds and as a multiple of an empty tc
 * program. driver.bpf.c has the method. Each round goes through all cases, so that a disturbance
 * falls on all of them; of a round the mean of the middle half counts, which leaves out what an
 * interrupt fell into (the clock itself may tick in steps of 10 ns, so that a median is too coarse),
 * and of the rounds the median and the least are printed.
 *
 * A case also names the counter that its packets must end in: a program that takes an early way out
 * is fast, and would be measured with pride.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "sluice/abi/abi.h" /* first: the skeletons use its structs */

#include "bench.skel.h"
#include "packet.h"
#include "sluice.skel.h"
#include "sluice_xdp.skel.h"

#define BASE_RTT_NS 100000
#define SPEED_BPS 100000000000ULL
#define MTU 1500
#define DEVICE "bench"
#define ROUNDS_MAX 1000

static struct sluice_bpf *skel;
static struct sluice_xdp_bpf *xdp;
static struct bench_bpf *bench;
static struct ring_buffer *ring; /* of what is traced */
static __u32 host_port, switch_port; /* ifindex: loopback, and a veth with a queue */

struct bench_case {
	const char *name;
	const char *what;
	const struct bpf_program *program;
	struct frame frame;
	enum sluice_stat stat; /* STAT_MAX: the program counts nothing */
	unsigned int echo_waits;
	int xdp; /* index of the empty program of XDP, with which those of XDP are compared; 0: of tc */
	unsigned int moves; /* offset of two hops whose clocks must go on; 0: none */
	enum rx_feedback feedback; /* what is computed of the telemetry that comes */
	int auth; /* messages are authenticated */
	int voq; /* packets go by VOQs */
	enum sluice_encoding encoding; /* that a source uses */
	int traced; /* each decision is recorded */
	__u32 ifindex;
	double round_ns[ROUNDS_MAX];
};

#define VOQ_TOR 0x0a010002

static struct bench_case cases[48];
static unsigned int cases_count;

static void die(const char *what)
{
	fprintf(stderr, "bench-prog: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void sh(const char *command)
{
	errno = 0;
	if (system(command))
		die(command);
}

/* --- the world that the programs find --- */

static void address(struct sluice_addr *a, const char *text)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET6, text, a->b) == 1)
		return;
	a->b[10] = a->b[11] = 0xff;
	inet_pton(AF_INET, text, a->b + 12);
}

static void map_set(const struct bpf_map *map, const void *key, const void *value)
{
	if (bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY))
		die(bpf_map__name(map));
}

static __u64 clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static const struct siphash_key auth_key = { 1, 2 };

static void auth_set(int on)
{
	struct auth_keys keys = { .key = { auth_key }, .n = 1 };
	struct control control;
	__u32 zero = 0;

	map_set(skel->maps.auth_keys, &zero, &keys);
	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.control), &zero, &control))
		die("the control map");
	control.auth = on;
	map_set(skel->maps.control, &zero, &control);
}

static void trace_choose(int on)
{
	struct control control;
	__u32 zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.control), &zero, &control))
		die("the control map");
	control.trace_on = on;
	control.trace_every = 1;
	control.trace_until_ns = ~0ULL;
	map_set(skel->maps.control, &zero, &control);
}

static int record_drop(void *ctx, void *record, size_t size)
{
	(void)ctx;
	(void)record;
	(void)size;
	return 0;
}

/* From now on, packets over IPv4 ask for telemetry in this encoding, and go by VOQs or not. */
static void peer_choose(enum sluice_encoding encoding, enum rx_feedback feedback, int voq)
{
	struct peer_key v4 = { .prefixlen = 96 + 8 };
	struct control control;
	struct peer peer;
	__u32 zero = 0;

	address(&v4.addr, "10.0.0.0");
	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.peers), &v4, &peer) ||
	    bpf_map_lookup_elem(bpf_map__fd(skel->maps.control), &zero, &control))
		die("the peer");
	peer.encoding = encoding;
	peer.feedback = feedback;
	peer.hiercc = voq;
	map_set(skel->maps.peers, &v4, &peer);
	control.epoch++;
	map_set(skel->maps.control, &zero, &control);
}

/* The peers have just been heard: nobody answers here, and after 100 ms they would count as silent. */
static void hosts_hear(void)
{
	static const char *const hosts[] = { "10.1.0.1", "10.1.0.2", "fd00:1::1", "fd00:1::2" };
	struct host h = { .heard_ns = clock_ns(), .capable = 1 };
	struct sluice_addr a;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		address(&a, hosts[i]);
		map_set(skel->maps.hosts, &a, &h);
	}
}

/* What arrives of one VOQ is watched. */
static void voq_fill(void)
{
	struct arrival_key key = { .prefixlen = 128, .tor = htonl(VOQ_TOR) };
	struct arrival a = { .ifindex = host_port, .watched = 1 };
	__u32 slot = 7;

	address(&key.addr, "10.1.0.1");
	map_set(skel->maps.arrival_slots, &key, &slot);
	map_set(skel->maps.arrivals, &slot, &a);
}

static void maps_fill(void)
{
	struct control control = { .abi = SLUICE_ABI, .mode = MODE_ENFORCE, .tor = htonl(1) };
	struct peer peer = {
		.t_ns = BASE_RTT_NS,
		.eta = Q24_ONE * 95 / 100,
		.flows = 16,
		.max_stage = 5,
		.fallback = 1,
		.voq_period_ns = BASE_RTT_NS,
	};
	struct port port = {
		.count_ns = RX_COUNT_RTTS * BASE_RTT_NS,
		.speed_bps = SPEED_BPS,
		.speed = telem_speed_fit(SPEED_BPS),
		.flags = PORT_F_HOST,
		.mtu = MTU,
		.switch_id = 1,
	};
	struct peer_key v4 = { .prefixlen = 96 + 8 }, v6 = { .prefixlen = 16 };
	__u32 zero = 0;

	map_set(skel->maps.control, &zero, &control);
	address(&v4.addr, "10.0.0.0");
	map_set(skel->maps.peers, &v4, &peer);
	address(&v6.addr, "fd00::");
	map_set(skel->maps.peers, &v6, &peer);
	map_set(skel->maps.ports, &host_port, &port);
	port.flags = PORT_F_SWITCH | PORT_F_STAMP;
	map_set(skel->maps.ports, &switch_port, &port);
	voq_fill();
	hosts_hear();
}

static __u64 stat_read(__u32 stat)
{
	int cpus = libbpf_num_possible_cpus(), i;
	__u64 v[cpus], sum = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.stats), &stat, v))
		die("stats");
	for (i = 0; i < cpus; i++)
		sum += v[i];
	return sum;
}

static void programs_load(void)
{
	struct bpf_program *unused[] = { skel->progs.backlog_enqueue, skel->progs.backlog_dequeue,
					 skel->progs.cc_init,	      skel->progs.cc_control,
					 skel->progs.cc_ssthresh,     skel->progs.cc_undo_cwnd };
	unsigned int i;

	for (i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		bpf_program__set_autoload(unused[i], false);
	bpf_map__set_autocreate(skel->maps.tcp_cc, false);
	skel->rodata->qdisc_kfuncs = 1;
	if (!sluice_bpf__load(skel))
		return;
	/* Before Linux 6.2 only hop_map can be had. */
	sluice_bpf__destroy(skel);
	skel = sluice_bpf__open();
	if (!skel)
		die("the data plane");
	bpf_program__set_autoload(skel->progs.hop, false);
	bpf_program__set_autoload(skel->progs.backlog_enqueue, false);
	bpf_program__set_autoload(skel->progs.backlog_dequeue, false);
	bpf_program__set_autoload(skel->progs.cc_init, false);
	bpf_program__set_autoload(skel->progs.cc_control, false);
	bpf_program__set_autoload(skel->progs.cc_ssthresh, false);
	bpf_program__set_autoload(skel->progs.cc_undo_cwnd, false);
	bpf_map__set_autocreate(skel->maps.tcp_cc, false);
	if (sluice_bpf__load(skel))
		die("loading the data plane");
}

static void xdp_load(void)
{
	struct bpf_map *map, *ours;

	xdp = sluice_xdp_bpf__open();
	if (!xdp)
		die("the data plane at XDP");
	bpf_object__for_each_map(map, xdp->obj) {
		ours = bpf_object__find_map_by_name(skel->obj, bpf_map__name(map));
		if (ours && bpf_map__reuse_fd(map, bpf_map__fd(ours)))
			die(bpf_map__name(map));
	}
	if (sluice_xdp_bpf__load(xdp))
		die("loading the data plane at XDP");
}

static void world_make(void)
{
	if (geteuid()) {
		fprintf(stderr, "bench-prog: needs root: loads BPF programs\n");
		exit(1);
	}
	if (unshare(CLONE_NEWNET))
		die("a network namespace");
	sh("ip link add " DEVICE " type veth peer name " DEVICE "2 && ip link set " DEVICE " up && "
	   "ip link set " DEVICE "2 up && "
	   "tc qdisc add dev " DEVICE " root tbf rate 100gbit burst 1mb limit 10mb");
	host_port = 1;
	switch_port = if_nametoindex(DEVICE);
	skel = sluice_bpf__open();
	if (!skel)
		die("the data plane");
	programs_load();
	xdp_load();
	bench = bench_bpf__open();
	if (!bench || bpf_map__reuse_fd(bench->maps.flows, bpf_map__fd(skel->maps.flows)) ||
	    bench_bpf__load(bench))
		die("the driver");
	ring = ring_buffer__new(bpf_map__fd(skel->maps.trace), record_drop, NULL, NULL);
	if (!ring)
		die("the ring");
	maps_fill();
}

/* --- cases --- */

static struct bench_case *add(const char *name, const char *what, const struct bpf_program *program,
			      struct frame frame, enum sluice_stat stat)
{
	struct bench_case *c = &cases[cases_count++];

	c->name = name;
	c->what = what;
	c->program = program;
	c->frame = frame;
	c->stat = stat;
	c->ifindex = host_port;
	return c;
}

/* Two hops of 100 Gbit/s. */
#define TWO_HOPS { 12ULL << 60, 12ULL << 60 }

#define TWO_INT_HOPS { { 1, 0, 1000, 1, 100000000 }, { 2, 0, 1000, 1, 100000000 } }

static void cases_make(void)
{
	struct frame data = tcp(.payload = 1316, .options = 12), ack = tcp(.options = 12);
	struct frame data6 = tcp(.v6 = 1, .payload = 1276, .options = 12);
	struct frame back = tcp(.reply = 1, .payload = 1316, .options = 12);
	struct frame back6 = tcp(.v6 = 1, .reply = 1, .payload = 1276, .options = 12);
	struct frame int_data = tcp(.payload = 1200, .options = 12); /* the hops have to fit as well */
	struct frame back_ack = tcp(.reply = 1, .options = 12), f;
	unsigned int base, i;
	struct bench_case *c;

	add("empty", "a program that returns at once", bench->progs.empty, data, STAT_MAX);
	add("egress_data", "full packet, v4: telemetry in", skel->progs.egress, data, STAT_TX_DATA);
	c = add("egress_data_traced", "full packet, v4: telemetry in, and a record of it", skel->progs.egress, data,
		STAT_TX_DATA);
	c->traced = 1;
	add("egress_data_v6", "full packet, v6", skel->progs.egress, data6, STAT_TX_DATA);
	c = add("egress_data_echo", "full packet, v4, with an echo of two hops", skel->progs.egress, data,
		STAT_TX_DATA);
	c->echo_waits = 1;
	c = add("egress_ack_echo", "ACK with an echo of two hops", skel->progs.egress, ack, STAT_TX_DATA);
	c->echo_waits = 1;
	c = add("egress_data_voq", "full packet, v4, by a VOQ", skel->progs.egress, data, STAT_TX_DATA);
	c->voq = 1;
	c = add("egress_data_auth", "full packet, v4, with a tag", skel->progs.egress, data, STAT_TX_DATA);
	c->auth = 1;
	c = add("egress_data_echo_auth", "full packet, v4, with an echo of two hops and a tag",
		skel->progs.egress, data, STAT_TX_DATA);
	c->echo_waits = 1;
	c->auth = 1;
	add("egress_ack_plain", "ACK with nothing to say", skel->progs.egress, ack, STAT_TX_PLAIN_ACK);
	f = tcp(.to = HOST_STRANGER, .payload = 1316, .options = 12);
	add("egress_no_peer", "full packet to somebody else", skel->progs.egress, f, STAT_TX_NO_PEER);
	f = udp(.payload = 1316);
	add("egress_udp", "full datagram, v4: telemetry in", skel->progs.egress, f, STAT_TX_DATA);
	c = add("egress_stamp", "full packet, v4: telemetry in, with a node's own hop", skel->progs.egress, data,
		STAT_TX_DATA);
	c->ifindex = switch_port;
	c = add("egress_int", "full packet, v4: INT-MD in", skel->progs.egress, int_data, STAT_TX_DATA);
	c->encoding = ENCODING_INT_MD;
	c = add("egress_int_stamp", "full packet, v4: INT-MD in, with a node's own hop", skel->progs.egress, int_data,
		STAT_TX_DATA);
	c->encoding = ENCODING_INT_MD;
	c->ifindex = switch_port;
	f = frame_arp();
	add("egress_other", "neither TCP nor UDP", skel->progs.egress, f, STAT_TX_OTHER);

	f = wrap(&data, .room = 5);
	if (bpf_program__fd(skel->progs.hop) >= 0) {
		c = add("hop", "stamp, queue read from a tbf", skel->progs.hop, f, STAT_HOP_STAMPED);
		c->ifindex = switch_port;
	}
	c = add("hop_map", "stamp, queue from the ports map", skel->progs.hop_map, f, STAT_HOP_STAMPED);
	c->ifindex = switch_port;
	f = wrap(&data);
	f = with_int(f, .left = 3);
	if (bpf_program__fd(skel->progs.hop) >= 0) {
		c = add("hop_int", "stamp of INT-MD, queue read from a tbf", skel->progs.hop, f, STAT_HOP_STAMPED);
		c->ifindex = switch_port;
	}
	c = add("hop_map_int", "stamp of INT-MD, queue from the ports map", skel->progs.hop_map, f,
		STAT_HOP_STAMPED);
	c->ifindex = switch_port;
	c = add("hop_other", "a packet without telemetry", skel->progs.hop_map, data, STAT_HOP_OTHER);
	c->ifindex = switch_port;

	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS);
	add("ingress_data", "full packet, v4: stripped, telemetry kept", skel->progs.ingress, f,
	    STAT_RX_DATA);
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS, .voq = 1, .voq_tor = VOQ_TOR, .voq_total = 1, .voq_flows = 1,
		 .voq_prefixlen = 128);
	add("ingress_data_voq", "full packet, v4, of a VOQ that is watched", skel->progs.ingress, f, STAT_RX_DATA);
	f = wrap(&back6, .room = 5, .nhop = 2, .hop = TWO_HOPS);
	add("ingress_data_v6", "full packet, v6", skel->progs.ingress, f, STAT_RX_DATA);
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS, .echo = 1, .echo_hops = 2,
		 .echo_hop = TWO_HOPS);
	c = add("ingress_data_feedback", "full packet with feedback of two hops", skel->progs.ingress, f,
		STAT_FB_FAST);
	c->moves = at_echo(&f) + 12;
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS);
	c = add("ingress_data_ratio", "full packet, v4: U measured of two hops", skel->progs.ingress, f, STAT_RX_DATA);
	c->moves = at_hop(&f, 0);
	c->feedback = RX_RATIO;
	c = add("ingress_data_window", "full packet, v4: W computed of two hops", skel->progs.ingress, f, STAT_RX_DATA);
	c->moves = at_hop(&f, 0);
	c->feedback = RX_WINDOW;
	f = wrap(&back_ack, .echo = 1, .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 });
	add("ingress_ack_window", "ACK with W", skel->progs.ingress, f, STAT_FB_WINDOW);
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS, .key = &auth_key);
	c = add("ingress_data_auth", "full packet, v4, with a tag", skel->progs.ingress, f, STAT_RX_DATA);
	c->auth = 1;
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS, .echo = 1, .echo_hops = 2,
		 .echo_hop = TWO_HOPS, .key = &auth_key);
	c = add("ingress_data_feedback_auth", "full packet with feedback of two hops and a tag",
		skel->progs.ingress, f, STAT_FB_FAST);
	c->moves = at_echo(&f) + 12;
	c->auth = 1;
	f = wrap(&back_ack, .echo = 1, .echo_hops = 2, .echo_hop = TWO_HOPS);
	c = add("ingress_ack_feedback", "ACK with feedback of two hops", skel->progs.ingress, f,
		STAT_FB_FAST);
	c->moves = at_echo(&f) + 12;
	c = add("ingress_ack_traced", "ACK with feedback of two hops, and a record of it", skel->progs.ingress, f,
		STAT_FB_FAST);
	c->moves = at_echo(&f) + 12;
	c->traced = 1;
	f = wrap(&back);
	f = with_int(f, .left = 1, .hops = 2, .hop = TWO_INT_HOPS);
	add("ingress_int", "full packet, v4: INT-MD of two hops stripped and kept", skel->progs.ingress, f,
	    STAT_RX_DATA);
	add("ingress_other", "full packet that is not ours", skel->progs.ingress, back, STAT_RX_OTHER);
	c = add("pod_hop", "full packet to a pod, queue read from a tbf", skel->progs.pod_hop, back,
		STAT_POD_SAMPLED);
	c->ifindex = switch_port;

	base = cases_count;
	add("empty_xdp", "a program of XDP that returns at once", bench->progs.empty_xdp, data, STAT_MAX);
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS);
	add("xdp_data", "full packet, v4: stripped at XDP", xdp->progs.ingress_xdp, f, STAT_RX_XDP);
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS, .voq = 1, .voq_tor = VOQ_TOR, .voq_total = 1, .voq_flows = 1,
		 .voq_prefixlen = 128);
	add("xdp_data_voq", "full packet, v4, of a VOQ that is watched", xdp->progs.ingress_xdp, f, STAT_RX_XDP);
	f = wrap(&back6, .room = 5, .nhop = 2, .hop = TWO_HOPS);
	add("xdp_data_v6", "full packet, v6", xdp->progs.ingress_xdp, f, STAT_RX_XDP);
	f = wrap(&back, .room = 5, .nhop = 2, .hop = TWO_HOPS, .echo = 1, .echo_hops = 2,
		 .echo_hop = TWO_HOPS);
	c = add("xdp_data_feedback", "full packet with feedback of two hops", xdp->progs.ingress_xdp, f,
		STAT_FB_FAST);
	c->moves = at_echo(&f) + 12;
	f = wrap(&back);
	f = with_int(f, .left = 1, .hops = 2, .hop = TWO_INT_HOPS);
	add("xdp_int", "full packet, v4: INT-MD of two hops stripped and kept", xdp->progs.ingress_xdp, f,
	    STAT_RX_XDP);
	add("xdp_other", "full packet that is not ours", xdp->progs.ingress_xdp, back, STAT_MAX);
	for (i = base; i < cases_count; i++)
		cases[i].xdp = base;
}

/* Leaves the empty program, the one of XDP where it is wanted, and one more. */
static int cases_keep(const char *name)
{
	unsigned int i;

	for (i = 1; i < cases_count; i++) {
		if (strcmp(cases[i].name, name))
			continue;
		cases_count = 2;
		if (cases[i].xdp) {
			cases[1] = cases[cases[i].xdp];
			cases[i].xdp = cases[1].xdp = 1;
			cases_count = 3;
		}
		cases[cases_count - 1] = cases[i];
		return 0;
	}
	return -ENOENT;
}

/* The flow from A to B exists, has an echo of two hops, and its feedback is not the first. */
static void flow_make(void)
{
	struct frame data = tcp(.payload = 100);
	struct flow_key key = { .proto = 6, .local_port = htons(PORT_A), .remote_port = htons(PORT_B) };
	struct __sk_buff ctx = { .ifindex = host_port };
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data.b, .data_size_in = data.len,
			    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = 1);
	struct flow f;

	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.egress), &opts))
		die("the first packet");
	address(&key.local, "10.1.0.1");
	address(&key.remote, "10.1.0.2");
	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.flows), &key, &f))
		die("the flow");
	f.echo.hops = 2;
	f.echo.nhop_path = 2 << 12;
	f.tx.bytes = 1ULL << 40;
	f.cc.last_update_seq = 1ULL << 41; /* the round does not end: every feedback is of one kind */
	map_set(skel->maps.flows, &key, &f);
	bench->bss->echo_flow = key;
}

/* The flow whose telemetry comes is told so. */
/* --- measuring --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
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

/* The two hops of the feedback go on by 2 us and 12.8 kB, a load of half of their speed. */
static void hops_advance(struct bench_case *c)
{
	static __u64 steps; /* of all cases: they are feedback for one flow */
	__u64 hop = 12ULL << 60;

	if (!c->moves)
		return;
	steps++;
	hop |= (steps * 2000 & 0xffffff) << 36 | (steps * 100 & 0xfffff) << 16;
	put64(c->frame.b + c->moves, hop);
	put64(c->frame.b + c->moves + 8, hop);
}

/* The next message of its sender. */
static void tag_advance(struct bench_case *c)
{
	if (!c->auth || c->stat == STAT_TX_DATA)
		return;
	put64(c->frame.b + at_auth(&c->frame), clock_ns());
	frame_sign(&c->frame, &auth_key);
}

/*
 * XDP is measured by the kernel's own clock: a test run that repeats such a program has the kernel
 * change its code first, which takes milliseconds and empties the caches.
 */
static __u64 run_time_ns(int fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		die("the time of a program");
	return info.run_time_ns;
}

static double run(struct bench_case *c, unsigned int packets)
{
	struct __sk_buff ctx = { .ifindex = c->ifindex };
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = c->frame.b,
			    .data_size_in = c->frame.len, .ctx_in = c->xdp ? NULL : &ctx,
			    .ctx_size_in = c->xdp ? 0 : sizeof(ctx), .repeat = c->xdp ? 1 : 2);
	int fd = bpf_program__fd(c->program), driver = bpf_program__fd(bench->progs.driver), clock = -1;
	double *ns = calloc(packets, sizeof(*ns)), m;
	__u64 before = 0, counted;
	unsigned int i;
	__u32 zero = 0;

	if (!ns || (!c->xdp && bpf_map_update_elem(bpf_map__fd(bench->maps.target), &zero, &fd, BPF_ANY)))
		die(c->name);
	if (c->xdp) {
		clock = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (clock < 0)
			die("the kernel's own clock of programs");
	}
	bench->bss->echo_waits = c->echo_waits;
	auth_set(c->auth);
	trace_choose(c->traced);
	peer_choose(c->encoding, c->feedback, c->voq);
	if (c->stat != STAT_MAX)
		before = stat_read(c->stat);
	for (i = 0; i < packets; i++) {
		if (i % 64 == 0) {
			hosts_hear();
			ring_buffer__consume(ring);
		}
		hops_advance(c);
		tag_advance(c);
		if (c->xdp)
			ns[i] = -(double)run_time_ns(fd);
		if (bpf_prog_test_run_opts(c->xdp ? fd : driver, &opts))
			die(c->name);
		ns[i] = c->xdp ? ns[i] + run_time_ns(fd) : bench->bss->last_ns;
	}
	if (c->xdp)
		close(clock);
	if (c->stat != STAT_MAX) {
		/* A pause, in which others had the CPU, makes the next feedback one of another kind. */
		counted = stat_read(c->stat) - before;
		if (counted < packets * 9ULL / 10) {
			fprintf(stderr, "bench-prog: %s: only %llu of %u packets ended as they should\n",
				c->name, counted, packets);
			exit(1);
		}
	}
	m = middle_mean(ns, packets);
	free(ns);
	return m;
}

/* The empty program alone: nanoseconds of one turn of the kernel's loop. */
static double run_empty(void)
{
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = cases[0].frame.b,
			    .data_size_in = cases[0].frame.len, .repeat = 1000000);
	double ns[5];
	int i;

	for (i = 0; i < 5; i++) {
		if (bpf_prog_test_run_opts(bpf_program__fd(bench->progs.empty), &opts))
			die("the empty program");
		ns[i] = opts.duration;
	}
	return median(ns, 5);
}

/* --- output --- */

static void print(int json, unsigned int rounds, unsigned int packets)
{
	double empty_ns = run_empty(), frame_ns[2][ROUNDS_MAX];
	struct utsname uts;
	unsigned int i, k;

	uname(&uts);
	if (json)
		printf("{\"kernel\":\"%s\",\"rounds\":%u,\"packets\":%u,\"empty_ns\":%.1f,\"programs\":[",
		       uts.release, rounds, packets, empty_ns);
	else
		printf("%-22s %9s %9s %8s   %u rounds of %u packets, Linux %s\n", "program",
		       "median ns", "min ns", "x empty", rounds, packets, uts.release);
	memcpy(frame_ns[0], cases[0].round_ns, sizeof(frame_ns[0]));
	memcpy(frame_ns[1], cases[cases[cases_count - 1].xdp].round_ns, sizeof(frame_ns[1]));
	for (i = 0; i < cases_count; i++) {
		double *ns = cases[i].round_ns, least, middle;

		/* Without the driver's share, which is what the empty program's runs showed in that round. */
		for (k = 0; k < rounds; k++)
			ns[k] += empty_ns - frame_ns[cases[i].xdp > 0][k];
		middle = median(ns, rounds);
		least = ns[0];
		if (json)
			printf("%s{\"name\":\"%s\",\"what\":\"%s\",\"median_ns\":%.1f,\"min_ns\":%.1f,\"ratio\":%.1f}",
			       i ? "," : "", cases[i].name, cases[i].what, middle, least,
			       middle / empty_ns);
		else
			printf("%-22s %9.0f %9.0f %8.1f   %s\n", cases[i].name, middle, least,
			       middle / empty_ns, cases[i].what);
	}
	if (json)
		puts("]}");
}

int main(int argc, char **argv)
{
	static const char usage[] =
		"usage: bench-prog [--json] [--rounds N] [--packets N] [--only PROGRAM]\n";
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },	    { "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'p' }, { "only", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },	     {},
	};
	unsigned int rounds = 21, packets = 2000, i, k;
	const char *only = NULL;
	int opt, json = 0;

	while ((opt = getopt_long(argc, argv, "jr:p:o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			json = 1;
			break;
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'p':
			packets = atoi(optarg);
			break;
		case 'o':
			only = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (rounds < 1 || rounds > ROUNDS_MAX || packets < 10 || packets > 10000000) {
		fprintf(stderr, "bench-prog: 1 to %d rounds of 10 packets or more\n", ROUNDS_MAX);
		return 2;
	}
	world_make();
	cases_make();
	if (only && cases_keep(only)) {
		fprintf(stderr, "bench-prog: there is no '%s'\n", only);
		return 2;
	}
	flow_make();
	for (i = 0; i < cases_count; i++) /* caches, JIT, and the first feedback */
		run(&cases[i], 100);
	for (k = 0; k < rounds; k++)
		for (i = 0; i < cases_count; i++)
			cases[i].round_ns[k] = run(&cases[i], packets);
	print(json, rounds, packets);
	bench_bpf__destroy(bench);
	sluice_bpf__destroy(skel);
	return 0;
}
