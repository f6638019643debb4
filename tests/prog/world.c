// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sluice.skel.h"
#include "sluice_xdp.skel.h"
#include "world.h"

#define RUN_NS 1000 /* that a program takes, by the clock that is held */

static struct sluice_bpf *skel;
static struct sluice_xdp_bpf *xdp;
enum program sink = INGRESS;
static __u64 counted[STAT_MAX];
static unsigned int flows_known; /* entries of the flow map then, and those that a test has put there since */
static __u64 held_ns; /* the time at which the programs' clock stands; 0: it runs */
static unsigned int frames; /* run since the counters were looked at */
static int counters_mapped;
static char fixture_text[256];

static const char *const stat_names[] = {
#define STAT_NAME(symbol, name, kind, help) name,
	SLUICE_STATS(STAT_NAME)
#undef STAT_NAME
};

/* Does the counter end a packet's way, or is it counted in addition? */
static const enum sluice_stat_kind stat_kinds[] = {
#define STAT_KIND(symbol, name, kind, help) STAT_KIND_##kind,
	SLUICE_STATS(STAT_KIND)
#undef STAT_KIND
};

static int stat_is_also(int stat)
{
	return stat_kinds[stat] == STAT_KIND_ALSO;
}

/* --- life --- */

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, ap) : 0;
}

static int kernel_has_kfunc(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id;

	if (!btf)
		return 0;
	id = btf__find_by_name_kind(btf, "bpf_cast_to_kern_ctx", BTF_KIND_FUNC);
	btf__free(btf);
	return id > 0;
}

static void world_load(unsigned int max_flows, __u16 wire_port, int tracepoints, int kfuncs, int frags)
{
	struct bpf_map *map;
	int err;

	if (geteuid())
		cr_skip_test("needs root: loads BPF programs");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		cr_skip_test("needs a kernel with BTF");
	libbpf_set_print(quiet);
	cr_assert(!unshare(CLONE_NEWNET), "a network namespace: %s", strerror(errno));
	skel = sluice_bpf__open();
	cr_assert(skel, "opening the object: %s", strerror(errno));
	/* hop_map runs everywhere; the daemon takes it only where hop cannot be had. */
	if (!kernel_has_kfunc())
		bpf_program__set_autoload(skel->progs.hop, false);
	bpf_program__set_autoload(skel->progs.backlog_enqueue, tracepoints);
	bpf_program__set_autoload(skel->progs.backlog_dequeue, tracepoints);
	bpf_program__set_autoload(skel->progs.class_enqueue, tracepoints);
	bpf_program__set_autoload(skel->progs.class_dequeue, tracepoints);
	bpf_program__set_autoload(skel->progs.pfc_enqueue, tracepoints);
	bpf_program__set_autoload(skel->progs.pfc_dequeue, tracepoints);
	bpf_program__set_autoload(skel->progs.cc_init, false);
	bpf_program__set_autoload(skel->progs.cc_control, false);
	bpf_program__set_autoload(skel->progs.cc_ssthresh, false);
	bpf_program__set_autoload(skel->progs.cc_undo_cwnd, false);
	bpf_map__set_autocreate(skel->maps.tcp_cc, false);
	bpf_map__set_max_entries(skel->maps.flows, max_flows);
	bpf_map__set_max_entries(skel->maps.rx_states, max_flows);
	if (counters_mapped) {
		bpf_map__set_type(skel->maps.stats, BPF_MAP_TYPE_ARRAY);
		bpf_map__set_map_flags(skel->maps.stats, BPF_F_MMAPABLE);
	}
	skel->rodata->wire_port = wire_port;
	skel->rodata->qdisc_kfuncs = kfuncs && kernel_has_kfunc();
	err = sluice_bpf__load(skel);
	cr_assert(!err, "loading the programs: %s", strerror(-err));
	xdp = sluice_xdp_bpf__open();
	cr_assert(xdp, "opening the object of XDP: %s", strerror(errno));
	xdp->rodata->wire_port = wire_port;
	bpf_program__set_flags(xdp->progs.ingress_xdp, frags ? BPF_F_XDP_HAS_FRAGS : 0);
	bpf_object__for_each_map(map, xdp->obj) {
		struct bpf_map *ours = bpf_object__find_map_by_name(skel->obj, bpf_map__name(map));

		cr_assert(!ours || !bpf_map__reuse_fd(map, bpf_map__fd(ours)), "sharing maps");
	}
	err = sluice_xdp_bpf__load(xdp);
	cr_assert(!err, "loading the program of XDP: %s", strerror(-err));
}

static void clock_hold(void);

static void world_fill(void)
{
	struct peer peer = peer_usual();
	struct port port = port_usual();

	clock_hold();
	control_set(MODE_DRY_RUN, 0);
	horizon_set(10 * 1000 * 1000, 0);
	port_set(WORLD_IFINDEX, &port);
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
}

void world_make(void)
{
	world_load(1024, PORT_WIRE, 0, 1, 0);
	world_fill();
}

void world_make_frags(void)
{
	world_load(1024, PORT_WIRE, 0, 1, 1);
	world_fill();
}

void world_make_small(void)
{
	world_load(1, PORT_WIRE, 0, 1, 0);
	world_fill();
}

void world_make_wire_port(__u16 port)
{
	world_load(1024, port, 0, 1, 0);
	world_fill();
}

const void *world_make_mapped(void)
{
	void *at;

	counters_mapped = 1;
	world_make();
	at = mmap(NULL, STAT_MAX * sizeof(__u64), PROT_READ, MAP_SHARED, bpf_map__fd(skel->maps.stats), 0);
	cr_assert(at != MAP_FAILED, "mapping the counters: %s", strerror(errno));
	return at;
}

void world_make_old(void)
{
	world_load(1024, PORT_WIRE, 0, 0, 0);
	world_fill();
}

void world_make_tracepoints(void)
{
	world_load(1024, PORT_WIRE, 1, 0, 0);
	world_fill();
}

/*
 * Some sandboxes run no tracing program while a process of theirs is on the CPU, so that what an interrupt does
 * on top of it goes unseen, here the dequeue of a packet that had to wait. Timers run where they were armed: on
 * the CPU of who sends, which this keeps to itself as long as it does not sleep.
 */
static void keep_the_cpu(void)
{
	struct sched_param p = { .sched_priority = 1 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert(!sched_setaffinity(0, sizeof(one), &one), "one CPU: %s", strerror(errno));
	cr_assert(!sched_setscheduler(0, SCHED_RR, &p), "real time: %s", strerror(errno));
}

void world_trace(void)
{
	clock_release();
	keep_the_cpu();
	skel->links.backlog_enqueue = bpf_program__attach(skel->progs.backlog_enqueue);
	skel->links.backlog_dequeue = bpf_program__attach(skel->progs.backlog_dequeue);
	skel->links.class_enqueue = bpf_program__attach(skel->progs.class_enqueue);
	skel->links.class_dequeue = bpf_program__attach(skel->progs.class_dequeue);
	skel->links.pfc_enqueue = bpf_program__attach(skel->progs.pfc_enqueue);
	skel->links.pfc_dequeue = bpf_program__attach(skel->progs.pfc_dequeue);
	cr_assert(skel->links.pfc_enqueue && skel->links.pfc_dequeue, "attaching: %s", strerror(errno));
	cr_assert(skel->links.backlog_enqueue && skel->links.backlog_dequeue && skel->links.class_enqueue &&
			  skel->links.class_dequeue, "attaching: %s",
		  strerror(errno));
}

void world_drop(void)
{
	sluice_xdp_bpf__destroy(xdp);
	sluice_bpf__destroy(skel);
}

/* --- running a program --- */

int world_program(enum program p)
{
	const struct bpf_program *programs[] = {
		[EGRESS] = skel->progs.egress,
		[INGRESS] = skel->progs.ingress,
		[HOP] = skel->progs.hop,
		[HOP_MAP] = skel->progs.hop_map,
		[POD_HOP] = skel->progs.pod_hop,
		[INGRESS_XDP] = xdp->progs.ingress_xdp,
		[TOR_INGRESS] = skel->progs.tor,
		[PFC_INGRESS] = skel->progs.pfc,
	};

	return bpf_program__fd(programs[p]);
}

void world_needs(enum program p)
{
	if (world_program(p) < 0)
		cr_skip_test("this kernel cannot load program %d (bpf_cast_to_kern_ctx, Linux 6.2)", p);
}

/* As egress_probe() does it; on all CPUs, for which one runs the program is not known. */
static void clone_set(__u32 ifindex)
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	__u32 zero = 0, size = bpf_map__value_size(skel->maps.scratch);
	__u8 *space = calloc(cpus, size);

	cr_assert(space && !bpf_map_lookup_elem(bpf_map__fd(skel->maps.scratch), &zero, space));
	for (cpu = 0; cpu < cpus; cpu++)
		memcpy(space + cpu * size, &ifindex, sizeof(ifindex));
	cr_assert(!bpf_map_update_elem(bpf_map__fd(skel->maps.scratch), &zero, space, BPF_ANY));
	free(space);
}

static struct result world_run_skb(enum program p, const struct frame *f, struct run_spec s)
{
	struct __sk_buff ctx = {
		.ifindex = s.ifindex ?: WORLD_IFINDEX,
		.ingress_ifindex = s.ingress_ifindex,
		.gso_size = s.gso_size,
		.gso_segs = s.gso_segs,
		.wire_len = s.wire_len,
		.mark = s.mark,
		.tstamp = s.tstamp,
	};
	struct result r = {};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len,
			    .data_out = r.out.b, .data_size_out = sizeof(r.out.b), .ctx_in = &ctx,
			    .ctx_size_in = sizeof(ctx), .ctx_out = &r.ctx,
			    .ctx_size_out = sizeof(r.ctx), .repeat = 1);
	int err;

	if (held_ns)
		clock_pass(RUN_NS);
	if (s.clone)
		clone_set(ctx.ifindex);
	err = bpf_prog_test_run_opts(world_program(p), &opts);
	if (s.clone)
		clone_set(0);
	cr_assert(!err, "%stest run of program %d, %u bytes: %s", fixture_text, p, f->len,
		  strerror(errno));
	r.verdict = (int)opts.retval;
	r.out.len = opts.data_size_out;
	frames++;
	return r;
}

/* What XDP passes and has not counted goes on to tc, as it does on an interface. */
static struct result world_run_xdp(const struct frame *f, struct run_spec s)
{
	static const int verdicts[] = {
		[XDP_DROP] = VERDICT_DROP,
		[XDP_PASS] = VERDICT_PASS,
		[XDP_TX] = VERDICT_REDIRECT,
	};
	static const __u32 mark = 0x51d1ce01;
	__u32 meta = s.marked ? sizeof(mark) : 0;
	struct xdp_md in = { .data = meta, .data_end = meta + (s.linear ?: f->len) }, out = {};
	__u8 with_mark[sizeof(mark) + FRAME_MAX];
	struct result r = {};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len,
			    .data_out = r.out.b, .data_size_out = sizeof(r.out.b), .ctx_in = &in,
			    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out),
			    .repeat = 1);
	int err;

	if (held_ns)
		clock_pass(RUN_NS);
	if (s.marked) {
		memcpy(with_mark, &mark, sizeof(mark));
		memcpy(with_mark + sizeof(mark), f->b, f->len);
		opts.data_in = with_mark;
		opts.data_size_in += sizeof(mark);
	}
	err = bpf_prog_test_run_opts(world_program(INGRESS_XDP), &opts);
	cr_assert(!err, "%stest run of XDP, %u bytes: %s", fixture_text, f->len, strerror(errno));
	cr_assert(opts.retval >= XDP_DROP && opts.retval <= XDP_TX, "%sXDP says %u", fixture_text,
		  opts.retval);
	r.counted = out.data > out.data_meta && get32(r.out.b) == ntohl(mark);
	if (s.marked) { /* tc gets it without */
		cr_assert(!memcmp(r.out.b, (const __u8[]){ 0, 0, 0, 0 }, 4), "%sthe mark came through", fixture_text);
		opts.data_size_out -= sizeof(mark);
		memmove(r.out.b, r.out.b + sizeof(mark), opts.data_size_out);
	}
	if (opts.retval == XDP_PASS && !r.counted) {
		r.out.len = opts.data_size_out;
		if (!s.marked)
			expect_frame(&r.out, f);
		return world_run_skb(INGRESS, s.marked ? &r.out : f, s);
	}
	r.verdict = verdicts[opts.retval];
	r.out.len = opts.data_size_out - (out.data - out.data_meta);
	memmove(r.out.b, r.out.b + (out.data - out.data_meta), r.out.len);
	frames++;
	return r;
}

struct result world_run(enum program p, const struct frame *f, struct run_spec s)
{
	if (p == INGRESS_XDP)
		return world_run_xdp(f, s);
	return world_run_skb(p, f, s);
}

/* --- complaints --- */

void fixture(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(fixture_text, sizeof(fixture_text) - 3, fmt, ap);
	va_end(ap);
	if (n > 0)
		strcat(fixture_text, ": ");
}

const char *world_fixture(void)
{
	return fixture_text;
}

static __u64 stat_read(__u32 which)
{
	static int cpus;
	__u64 sum = 0;
	int i;

	cpus = cpus ?: libbpf_num_possible_cpus();
	{
		__u64 v[cpus];

		if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.stats), &which, v))
			return 0;
		for (i = 0; i < cpus; i++)
			sum += v[i];
	}
	return sum;
}

/* Each flow that is made is counted by what made it; which that was is for the tests that name it. */
static int stat_is_cause(int which)
{
	return which == STAT_FLOW_MADE_TX || which == STAT_FLOW_MADE_SYNACK || which == STAT_FLOW_MADE_RX ||
	       which == STAT_FLOW_MADE_PROBE;
}

static const char *counted_diff(const int *stats, int frames_known)
{
	static char text[512];
	unsigned int ends = 0, ran = frames, caused = 0;
	int want[STAT_MAX] = {}, i, wrong = 0;
	char *out = text;

	for (; *stats >= 0; stats++)
		want[*stats]++;
	if (sink == INGRESS_XDP)
		want[STAT_RX_XDP] = want[STAT_RX_DATA] + want[STAT_RX_PROBE] + want[STAT_RX_PROBE_OLD] +
				    want[STAT_RX_PROBE_LIMITED] + want[STAT_RX_PROBE_REPLY] +
				    want[STAT_RX_FEEDBACK] + want[STAT_RX_CREDIT] + want[STAT_RX_RATE] + want[STAT_RX_INT_COPY];
	want[STAT_FLOW_MADE] = flows_count() - flows_known;
	flows_known += want[STAT_FLOW_MADE];
	out += sprintf(out, "counters:");
	for (i = 0; i < STAT_MAX; i++) {
		__u64 now = stat_read(i), moved = now - counted[i];

		counted[i] = now;
		if (!stat_is_also(i))
			ends += moved;
		if (stat_is_cause(i)) {
			caused += moved;
			if (!want[i])
				continue;
		}
		if (moved == (__u64)want[i])
			continue;
		wrong = 1;
		if (out < text + sizeof(text) - 64)
			out += sprintf(out, " %s +%llu, not +%d;", stat_names[i], moved, want[i]);
	}
	frames = 0;
	if (caused != (unsigned int)want[STAT_FLOW_MADE]) {
		wrong = 1;
		if (out < text + sizeof(text) - 64)
			out += sprintf(out, " %u flows have a cause, not %d;", caused, want[STAT_FLOW_MADE]);
	}
	if (!wrong && (ends == ran || !frames_known))
		return NULL;
	if (!wrong)
		sprintf(out, " %u packets ended in %u counters", ran, ends);
	return text;
}

const char *world_counted(const int *stats)
{
	return counted_diff(stats, 1);
}

const char *world_counted_attached(const int *stats)
{
	return counted_diff(stats, 0);
}

const char *world_ended(void)
{
	static char text[64];
	__u64 ends = 0;
	unsigned int i, ran = frames;

	for (i = 0; i < STAT_MAX; i++) {
		__u64 now = stat_read(i);

		if (!stat_is_also(i))
			ends += now - counted[i];
		counted[i] = now;
	}
	frames = 0;
	flows_known = flows_count();
	if (ends == ran)
		return NULL;
	snprintf(text, sizeof(text), "%u packets ended in %llu counters", ran, ends);
	return text;
}

const char *world_diff(const struct frame *want, const struct frame *got)
{
	return frame_diff(want, got);
}

const char *world_damaged(enum program p, const struct frame *good, unsigned int from)
{
	const char *why = NULL;
	struct frame in;

	for (; from < good->len && !why; from++) {
		in = *good;
		in.b[from] ^= 0x10;
		run(p, &in);
		why = world_ended();
	}
	return why;
}

const char *world_untouched(enum program p, const struct frame *f, enum sluice_stat stat,
			    struct run_spec s)
{
	struct result r = world_run(p, f, s);
	const char *why = frame_diff(f, &r.out);
	static char text[64];

	if (why)
		return why;
	if (r.verdict != VERDICT_PASS) {
		snprintf(text, sizeof(text), "verdict %d, not %d", r.verdict, VERDICT_PASS);
		return text;
	}
	return world_counted((const int[]){ stat, -1 });
}

/* --- the maps --- */

static void clock_write(__u64 is_real, __u64 ns)
{
	const __u64 value[] = { is_real, ns };
	__u32 zero = 0;
	const struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, ".data.clock");

	cr_assert(map && !bpf_map_update_elem(bpf_map__fd(map), &zero, value, BPF_ANY), "setting the clock: %s",
		  strerror(errno));
	held_ns = is_real ? 0 : ns;
}

static void clock_hold(void)
{
	clock_write(0, clock_ns());
}

void clock_pass(__u64 ns)
{
	cr_assert(held_ns, "the clock is not held");
	clock_write(0, held_ns + ns);
}

void clock_release(void)
{
	clock_write(1, 0);
}

__u64 clock_ns(void)
{
	struct timespec t;

	if (held_ns)
		return held_ns;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void map_set(const struct bpf_map *map, const void *key, const void *value)
{
	cr_assert(!bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY), "%s: %s",
		  bpf_map__name(map), strerror(errno));
}

int world_map(const char *name)
{
	return bpf_object__find_map_fd_by_name(skel->obj, name);
}

static int map_get(const struct bpf_map *map, const void *key, void *value)
{
	return !bpf_map_lookup_elem(bpf_map__fd(map), key, value);
}

void control_set(enum sluice_mode mode, int bypass)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.abi = SLUICE_ABI;
	c.mode = mode;
	c.bypass = bypass;
	map_set(skel->maps.control, &zero, &c);
}

void pauses_set(__u32 ifindex, const struct pfc_port *pauses)
{
	map_set(skel->maps.pfc_ports, &ifindex, pauses);
}

struct pfc_port pauses_get(__u32 ifindex)
{
	struct pfc_port p = {};

	cr_assert(map_get(skel->maps.pfc_ports, &ifindex, &p));
	return p;
}

void pauses_count(__u32 n)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.pfc = n;
	map_set(skel->maps.control, &zero, &c);
}

struct pfc_slot pauses_slot(__u32 slot)
{
	struct pfc_slot s = {};

	cr_assert(map_get(skel->maps.pfc_slots, &slot, &s));
	return s;
}

void pauses_slot_set(__u32 slot, const struct pfc_slot *s)
{
	map_set(skel->maps.pfc_slots, &slot, s);
}

static int alarm_count(void *ctx, void *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	++*(unsigned int *)ctx;
	return 0;
}

unsigned int alarms_taken(void)
{
	unsigned int n = 0;
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(skel->maps.pfc_alarms), alarm_count, &n, NULL);

	cr_assert(ring, "the ring of alarms: %s", strerror(errno));
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return n;
}

void pod_set(__u32 ifindex)
{
	__s32 netnsid = 0;

	map_set(skel->maps.pods, &ifindex, &netnsid);
}

void rwnd_set(int on)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.rwnd = on;
	map_set(skel->maps.control, &zero, &c);
}

void horizon_set(__u64 ns, int mark)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.horizon_ns = ns;
	c.horizon_mark = mark;
	map_set(skel->maps.control, &zero, &c);
}

void keys_set(const struct siphash_key *key, unsigned int n)
{
	struct auth_keys keys = { .n = n };
	struct control c = {};
	__u32 zero = 0;

	memcpy(keys.key, key, n * sizeof(*key));
	map_set(skel->maps.keys, &zero, &keys);
	map_get(skel->maps.control, &zero, &c);
	c.auth = n > 0;
	map_set(skel->maps.control, &zero, &c);
}

void seq_base_set(__u64 ns)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.seq_base_ns = ns;
	map_set(skel->maps.control, &zero, &c);
}

void tor_set(__u32 tor)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.tor = htonl(tor);
	map_set(skel->maps.control, &zero, &c);
}

void doubt_set(__u64 ns)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.doubt_ns = ns;
	map_set(skel->maps.control, &zero, &c);
}

__u32 control_next_epoch(void)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.epoch++;
	map_set(skel->maps.control, &zero, &c);
	return c.epoch;
}

/* Of 100 Gbit/s, code 12, which is in the table: factor 1. */
struct port port_usual(void)
{
	struct port p = {
		.speed_bps = WORLD_BPS,
		.speed = { .code = 12, .scale_q16 = 1 << 16 },
		.flags = PORT_F_HOST | PORT_F_XDP_TX,
		.mtu = WORLD_MTU,
		.switch_id = 0x123,
		.name = "world",
	};

	return p;
}

void port_set(__u32 ifindex, const struct port *port)
{
	map_set(skel->maps.ports, &ifindex, port);
}

void port_change(__u32 ifindex, const struct port *port)
{
	port_set(ifindex, port);
	control_next_epoch();
}

void port_remove(__u32 ifindex)
{
	bpf_map_delete_elem(bpf_map__fd(skel->maps.ports), &ifindex);
}

struct port port_get(__u32 ifindex)
{
	struct port p;

	cr_assert(map_get(skel->maps.ports, &ifindex, &p), "%sno port %u", fixture_text, ifindex);
	return p;
}

void classes_set(__u32 ifindex, const struct port_classes *classes)
{
	map_set(skel->maps.classes, &ifindex, classes);
}

void class_queue_set(__u32 ifindex, __u32 class, const struct class_queue *queue)
{
	struct class_key key = { ifindex, class };

	map_set(skel->maps.class_queues, &key, queue);
}

struct class_queue class_queue_get(__u32 ifindex, __u32 class)
{
	struct class_key key = { ifindex, class };
	struct class_queue q;

	cr_assert(map_get(skel->maps.class_queues, &key, &q), "%sno class %u of port %u", fixture_text, class,
		  ifindex);
	return q;
}

struct peer peer_usual(void)
{
	struct peer p = {
		.t_ns = WORLD_T_NS,
		.eta = Q24_ONE * 95 / 100,
		.flows = 100,
		.max_stage = 5,
	};

	return p;
}

void peers_leave(int leave)
{
	struct peer peer = peer_usual();

	peer.leaving = leave;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

void port_leaves(__u32 ifindex, int leave)
{
	struct port port = port_get(ifindex);
	struct control c = {};
	__u32 zero = 0;

	port.flags &= ~PORT_F_LEAVING;
	port.flags |= leave ? PORT_F_LEAVING : 0;
	port_set(ifindex, &port);
	map_get(skel->maps.control, &zero, &c);
	c.ports_leaving = leave;
	map_set(skel->maps.control, &zero, &c);
}

void peer_set(const char *address, __u32 prefixlen, const struct peer *peer)
{
	struct peer_key k = { .prefixlen = prefixlen };

	if (inet_pton(AF_INET6, address, k.addr.b) != 1) {
		cr_assert(inet_pton(AF_INET, address, k.addr.b + 12) == 1, "%s?", address);
		k.addr.b[10] = k.addr.b[11] = 0xff;
	}
	map_set(skel->maps.peers, &k, peer);
}

void encoding_set(enum sluice_encoding encoding)
{
	struct peer peer = peer_usual();

	peer.encoding = encoding;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

struct sluice_addr addr_of(int v6, enum who who)
{
	struct frame f = tcp(.v6 = v6, .from = who);
	struct sluice_addr a = {};

	if (v6) {
		memcpy(a.b, f.b + 14 + 8, 16);
	} else {
		a.b[10] = a.b[11] = 0xff;
		memcpy(a.b + 12, f.b + 14 + 12, 4);
	}
	return a;
}

struct flow_key flow_key_of(struct ip_spec s)
{
	struct frame f = frame_of(s);
	unsigned int l4 = 14 + (s.v6 ? 40 : 20);
	struct flow_key k = { .proto = s.udp ? 17 : 6 };

	k.local = addr_of(s.v6, s.from ?: s.reply ? HOST_B : HOST_A);
	k.remote = addr_of(s.v6, s.to ?: s.reply ? HOST_A : HOST_B);
	memcpy(&k.local_port, f.b + l4, 2);
	memcpy(&k.remote_port, f.b + l4 + 2, 2);
	return k;
}

int flow_exists(struct ip_spec s)
{
	struct flow_key k = flow_key_of(s);
	struct flow f;

	return map_get(skel->maps.flows, &k, &f);
}

struct flow flow_get(struct ip_spec s)
{
	struct flow_key k = flow_key_of(s);
	struct flow f;

	cr_assert(map_get(skel->maps.flows, &k, &f), "%sno such flow", fixture_text);
	return f;
}

void flow_set(struct ip_spec s, const struct flow *f)
{
	struct flow_key k = flow_key_of(s);

	flows_known += !flow_exists(s);
	map_set(skel->maps.flows, &k, f);
}

struct voq_key voq_key_of(int v6, enum who who, __u32 prefixlen)
{
	struct voq_key k = { .addr = addr_of(v6, who), .prefixlen = prefixlen };
	unsigned int bit;

	for (bit = prefixlen; bit < 128; bit++)
		k.addr.b[bit / 8] &= ~(0x80 >> bit % 8);
	return k;
}

int voq_exists(struct voq_key k)
{
	struct voq v;

	return map_get(skel->maps.voqs, &k, &v);
}

struct voq voq_get(struct voq_key k)
{
	struct voq v;

	cr_assert(map_get(skel->maps.voqs, &k, &v), "%sno such VOQ", fixture_text);
	return v;
}

void voq_set(struct voq_key k, const struct voq *v)
{
	map_set(skel->maps.voqs, &k, v);
}

static struct voq_key voq_to_nobody(unsigned int n)
{
	struct voq_key k = { .addr.b = { 0xff }, .prefixlen = 128 };

	memcpy(k.addr.b + 1, &n, sizeof(n));
	return k;
}

static unsigned int voqs_nobodys;

void voqs_fill(void)
{
	struct voq_key k = voq_to_nobody(0);
	struct voq v = {};

	while (!bpf_map_update_elem(bpf_map__fd(skel->maps.voqs), &k, &v, BPF_NOEXIST))
		k = voq_to_nobody(++voqs_nobodys);
	cr_assert(errno == E2BIG, "VOQ %u: %s", voqs_nobodys, strerror(errno));
}

void voqs_make_room(void)
{
	struct voq_key k = voq_to_nobody(--voqs_nobodys);

	cr_assert(!bpf_map_delete_elem(bpf_map__fd(skel->maps.voqs), &k), "%s", strerror(errno));
}

int report_get(struct ip_spec s, struct rx_flow *r)
{
	struct flow_key k = flow_key_of(s);

	return map_get(skel->maps.rx_states, &k, r);
}

void report_set(struct ip_spec s, const struct rx_flow *r)
{
	struct flow_key k = flow_key_of(s);

	map_set(skel->maps.rx_states, &k, r);
}

unsigned int flows_count(void)
{
	struct flow_key k, next;
	unsigned int n = 0;
	int more = !bpf_map_get_next_key(bpf_map__fd(skel->maps.flows), NULL, &next);

	while (more) {
		n++;
		k = next;
		more = !bpf_map_get_next_key(bpf_map__fd(skel->maps.flows), &k, &next);
	}
	return n;
}

struct taken {
	void *out;
	size_t each;
	unsigned int n, most;
};

static int ring_take(void *ctx, void *data, size_t size)
{
	struct taken *t = ctx;

	cr_assert_eq(size, t->each);
	if (t->n < t->most)
		memcpy(t->out + t->each * t->n++, data, size);
	return 0;
}

static unsigned int taken(const struct bpf_map *map, void *out, size_t each, unsigned int most)
{
	struct taken t = { out, each, 0, most };
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(map), ring_take, &t, NULL);

	cr_assert(ring);
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return t.n;
}

unsigned int reports_taken(struct report *out, unsigned int most)
{
	return taken(skel->maps.reports, out, sizeof(*out), most);
}

void trace_set(const struct control *wish)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.trace_on = wish->trace_on;
	c.trace_every = wish->trace_every;
	c.trace_port = wish->trace_port;
	c.trace_addr = wish->trace_addr;
	c.trace_mask = wish->trace_mask;
	c.trace_until_ns = wish->trace_until_ns;
	map_set(skel->maps.control, &zero, &c);
}

unsigned int traces_taken(struct trace *out, unsigned int most)
{
	return taken(skel->maps.trace, out, sizeof(*out), most);
}

void credit_alive(__u64 credit_ns, __u64 life_ns)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	c.credit_ns = credit_ns;
	c.credit_life_ns = life_ns;
	map_set(skel->maps.control, &zero, &c);
}

void arrival_slot_set(const struct arrival_key *key, __u32 slot)
{
	map_set(skel->maps.arrival_slots, key, &slot);
}

void arrival_set(__u32 slot, const struct arrival *a)
{
	map_set(skel->maps.arrivals, &slot, a);
}

struct arrival arrival_get(__u32 slot)
{
	struct arrival a;

	cr_assert(map_get(skel->maps.arrivals, &slot, &a), "%sthere is no such slot", fixture_text);
	return a;
}

unsigned int asks_taken(struct tor_news *out, unsigned int most)
{
	return taken(skel->maps.asks, out, sizeof(*out), most);
}

unsigned int news_taken(struct arrival_news *out, unsigned int most)
{
	return taken(skel->maps.news, out, sizeof(*out), most);
}

int host_exists(int v6, enum who who)
{
	struct sluice_addr a = addr_of(v6, who);
	struct host h;

	return map_get(skel->maps.hosts, &a, &h);
}

struct host host_get(int v6, enum who who)
{
	struct sluice_addr a = addr_of(v6, who);
	struct host h;

	cr_assert(map_get(skel->maps.hosts, &a, &h), "%sthe host is not known", fixture_text);
	return h;
}

void host_set(int v6, enum who who, const struct host *h)
{
	struct sluice_addr a = addr_of(v6, who);

	map_set(skel->maps.hosts, &a, h);
}

void hosts_strip(void)
{
	struct host h = { .heard_ns = clock_ns(), .capable = 1 };

	host_set(0, HOST_A, &h);
	host_set(0, HOST_B, &h);
	host_set(1, HOST_A, &h);
	host_set(1, HOST_B, &h);
}

/* --- a link --- */

void sh(const char *fmt, ...)
{
	char command[512];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = system(command);
	cr_assert(!status, "%s: status %d", command, status);
}

__u32 link_make(const char *near_options)
{
	struct port port = port_usual();
	__u32 ifindex;

	/* Without IPv6 the kernel itself sends nothing: no neighbour solicitations in between. */
	if (!access("/proc/sys/net/ipv6", F_OK))
		sh("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6");
	sh("ip link add " LINK_NEAR " mtu 9000 %s type veth peer name " LINK_FAR " mtu 9000",
	   near_options);
	sh("ip link set " LINK_NEAR " up && ip link set " LINK_FAR " up");
	ifindex = if_nametoindex(LINK_NEAR);
	port_set(ifindex, &port);
	return ifindex;
}

void qdisc_stats(const char *device, __u64 *tx_bytes, __u64 *backlog_bytes)
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command),
		 "tc -s -j qdisc show dev %s root | jq -r '\"\\([.[].bytes]|add) \\([.[].backlog]|add)\"'",
		 device);
	f = popen(command, "r");
	cr_assert(f && fscanf(f, "%llu %llu", tx_bytes, backlog_bytes) == 2, "%s", command);
	pclose(f);
}

/* `buffer`: SO_RCVBUFFORCE or SO_SNDBUFFORCE, which gets room for 8 MB. */
static int socket_at(const char *device, __be16 protocol, int buffer)
{
	struct sockaddr_ll a = {
		.sll_family = AF_PACKET,
		.sll_protocol = protocol,
		.sll_ifindex = if_nametoindex(device),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, protocol), room = 8 << 20;

	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) &&
			  !setsockopt(fd, SOL_SOCKET, buffer, &room, sizeof(room)),
		  "packet socket at %s: %s", device, strerror(errno));
	return fd;
}

int packet_socket(const char *device)
{
	/* Room for all segments of a packet at once: each holds on to the whole. */
	return socket_at(device, htons(ETH_P_ALL), SO_RCVBUFFORCE);
}

void packet_send(int fd, const struct frame *f)
{
	cr_assert(send(fd, f->b, f->len, 0) == (ssize_t)f->len, "sending %u bytes: %s", f->len,
		  strerror(errno));
}

void send_frames(const char *device, unsigned int n, __u8 tos, int v6)
{
	struct frame f = udp(.v6 = v6, .dport = 53, .payload = FRAME_BYTES - (v6 ? 62 : 42), .tos = tos);
	/* What waits is charged to the socket, which would block. */
	int fd = socket_at(device, 0, SO_SNDBUFFORCE);

	while (n--)
		packet_send(fd, &f);
	/* It ends with the test. */
}

int packet_catch(int fd, struct frame *f, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct sockaddr_ll from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while (poll(&p, 1, wait_ms) == 1) {
		n = recvfrom(fd, f->b, sizeof(f->b), 0, (struct sockaddr *)&from, &len);
		cr_assert(n >= 0, "receiving: %s", strerror(errno));
		if (from.sll_pkttype == PACKET_OUTGOING)
			continue;
		f->len = n;
		return 1;
	}
	if (held_ns)
		clock_pass(wait_ms * 1000000ULL);
	return 0;
}

void link_attach(enum program p, const char *device, int ingress)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = if_nametoindex(device));
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .prog_fd = world_program(p));
	static int priority;
	struct port port;
	int err;

	if (p == INGRESS_XDP) {
		err = bpf_xdp_attach(hook.ifindex, world_program(p), XDP_FLAGS_SKB_MODE, NULL);
		cr_assert(!err, "attaching to XDP: %s", strerror(-err));
		port = port_get(hook.ifindex);
		port.flags |= PORT_F_XDP;
		port_set(hook.ifindex, &port);
		return;
	}
	sh("tc qdisc show dev %s | grep -q clsact || tc qdisc add dev %s clsact", device, device);
	opts.priority = ++priority;
	hook.attach_point = ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS;
	err = bpf_tc_attach(&hook, &opts);
	cr_assert(!err, "attaching: %s", strerror(-err));
}

void flow_runs_of(struct ip_spec s, __u64 tx_bytes)
{
	struct frame in = frame_of(s);
	struct flow f;

	hosts_strip();
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(s);
	f.tx_bytes = tx_bytes;
	flow_set(s, &f);
}

void batch_sign(__u8 *at, unsigned int bytes, unsigned int n, int v6, const struct siphash_key *key, __u64 seq)
{
	struct sluice_addr src = addr_of(v6, HOST_B), dst = addr_of(v6, HOST_A);
	__u32 word[204] = {};
	__u8 *text = (__u8 *)word;

	put64(at + bytes - 16, seq);
	memcpy(text, &src, 16);
	memcpy(text + 16, &dst, 16);
	memcpy(text + 32, at + 4, 8);
	put64(text + 40, seq);
	memcpy(text + 48, at + 12, 24 * n);
	put64(at + bytes - 8, siphash(key, word, 12 + 6 * n, 204));
}

struct frame frame_of_batch(int v6, const __u8 *at, unsigned int bytes)
{
	struct frame f = udp(.v6 = v6, .reply = 1, .sport = PORT_WIRE, .dport = PORT_WIRE, .payload = bytes);

	put16(f.b + at_udp(&f) + 6, 0);
	memcpy(f.b + at_udp(&f) + 8, at, bytes);
	return f;
}
