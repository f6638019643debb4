// SPDX-License-Identifier: GPL-2.0-only
/* The programs are loaded, and the maps get what a host usually has. */
#include <bpf/btf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice_xdp.skel.h"
#include "clock.h"
#include "load.h"

#define FLOWS_USUAL 1024 /* of the maps of flows */

struct sluice_bpf *skel;

static struct world_spec spec;
/* The programs that have run; each is in an object of its own, which shares the maps of skel. */
static struct {
	struct sluice_bpf *tc;
	struct sluice_xdp_bpf *xdp;
	int fd;
	__u8 wings;
} loaded[PROGRAMS];
static __u8 wings_used;

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

/* The object of tc without programs: each is loaded when it first runs, as the verifier takes longer than a test. */
static struct sluice_bpf *tc_open(const struct world_spec *s)
{
	struct sluice_bpf *tc = sluice_bpf__open();
	struct bpf_program *prog;

	cr_assert(tc, "opening the object: %s", strerror(errno));
	bpf_object__for_each_program (prog, tc->obj)
		bpf_program__set_autoload(prog, false);
	bpf_map__set_autocreate(tc->maps.tcp_cc, false);
	tc->rodata->wire_port = s->wire_port ?: PORT_WIRE;
	tc->rodata->qdisc_kfuncs = !s->no_kfuncs && kernel_has_kfunc();
	tc->rodata->wings = wings_used;
	return tc;
}

/* The maps of skel in the place of those of an object that is about to be loaded. */
static void maps_share(struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, obj) {
		struct bpf_map *ours = bpf_object__find_map_by_name(skel->obj, bpf_map__name(map));

		if (strstr(bpf_map__name(map), ".rodata")) /* its constants differ */
			continue;
		cr_assert(!ours || bpf_map__fd(ours) < 0 || !bpf_map__reuse_fd(map, bpf_map__fd(ours)), "sharing maps");
	}
}

/* The maps, and the programs at tracepoints where they are asked for. */
static void tc_load(const struct world_spec *s)
{
	int err;

	skel = tc_open(s);
	bpf_program__set_autoload(skel->progs.backlog_enqueue, s->tracepoints);
	bpf_program__set_autoload(skel->progs.backlog_dequeue, s->tracepoints);
	bpf_program__set_autoload(skel->progs.class_enqueue, s->tracepoints);
	bpf_program__set_autoload(skel->progs.class_dequeue, s->tracepoints);
	bpf_program__set_autoload(skel->progs.pfc_enqueue, s->tracepoints);
	bpf_program__set_autoload(skel->progs.pfc_dequeue, s->tracepoints);
	bpf_map__set_max_entries(skel->maps.flows, s->flows ?: FLOWS_USUAL);
	bpf_map__set_max_entries(skel->maps.rx_states, s->flows ?: FLOWS_USUAL);
	bpf_map__set_max_entries(skel->maps.flow_paths, s->flows ?: FLOWS_USUAL);
	if (s->counters_mapped) {
		bpf_map__set_type(skel->maps.stats, BPF_MAP_TYPE_ARRAY);
		bpf_map__set_map_flags(skel->maps.stats, BPF_F_MMAPABLE);
	}
	err = sluice_bpf__load(skel);
	cr_assert(!err, "loading the maps: %s", strerror(-err));
}

static struct sluice_bpf *tc_program_load(enum program p)
{
	struct sluice_bpf *tc = tc_open(&spec);
	struct bpf_program *programs[] = {
		[EGRESS] = tc->progs.egress,   [INGRESS] = tc->progs.ingress, [HOP] = tc->progs.hop,
		[HOP_MAP] = tc->progs.hop_map, [POD_HOP] = tc->progs.pod_hop, [TOR_INGRESS] = tc->progs.tor,
		[PFC_INGRESS] = tc->progs.pfc,
	};
	int err;

	maps_share(tc->obj);
	bpf_program__set_autoload(programs[p], true);
	err = sluice_bpf__load(tc);
	cr_assert(!err, "loading program %d: %s", p, strerror(-err));
	loaded[p].fd = bpf_program__fd(programs[p]);
	loaded[p].wings = wings_used;
	return tc;
}

static struct sluice_xdp_bpf *xdp_program_load(void)
{
	struct sluice_xdp_bpf *xdp = sluice_xdp_bpf__open();
	int err;

	cr_assert(xdp, "opening the object of XDP: %s", strerror(errno));
	xdp->rodata->wire_port = spec.wire_port ?: PORT_WIRE;
	bpf_program__set_flags(xdp->progs.ingress_xdp, spec.frags ? BPF_F_XDP_HAS_FRAGS : 0);
	maps_share(xdp->obj);
	err = sluice_xdp_bpf__load(xdp);
	cr_assert(!err, "loading the program of XDP: %s", strerror(-err));
	loaded[INGRESS_XDP].fd = bpf_program__fd(xdp->progs.ingress_xdp);
	return xdp;
}

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

void world_make_spec(struct world_spec s)
{
	if (geteuid())
		cr_skip_test("needs root: loads BPF programs");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		cr_skip_test("needs a kernel with BTF");
	libbpf_set_print(quiet);
	cr_assert(!unshare(CLONE_NEWNET), "a network namespace: %s", strerror(errno));
	spec = s;
	wings_used = s.wings;
	tc_load(&s);
	world_fill();
}

void world_make(void)
{
	world_make_with();
}

const void *world_counters(void)
{
	void *at = mmap(NULL, STAT_MAX * sizeof(__u64), PROT_READ, MAP_SHARED, bpf_map__fd(skel->maps.stats), 0);

	cr_assert(at != MAP_FAILED, "mapping the counters: %s", strerror(errno));
	return at;
}

/*
 * Some sandboxes run no tracing program while a process of theirs is on the CPU, so that what an interrupt does
 * on top of it goes unseen, here the dequeue of a packet that had to wait. Timers run where they were armed: on
 * the sender's CPU, which this process keeps to itself as long as it does not sleep.
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
			  skel->links.class_dequeue,
		  "attaching: %s", strerror(errno));
}

void world_drop(void)
{
	unsigned int p;

	for (p = 0; p < PROGRAMS; p++) {
		sluice_xdp_bpf__destroy(loaded[p].xdp);
		sluice_bpf__destroy(loaded[p].tc);
	}
	sluice_bpf__destroy(skel);
}

void wings_use(__u8 wings)
{
	wings_used |= wings;
}

static int program_get(enum program p)
{
	/* hop_map runs everywhere; the daemon takes it only where hop cannot be had. */
	if (p == HOP && !kernel_has_kfunc())
		return -1;
	if (p == INGRESS_XDP && !loaded[p].xdp)
		loaded[p].xdp = xdp_program_load();
	if (wings_used & ~loaded[p].wings) {
		sluice_bpf__destroy(loaded[p].tc);
		loaded[p].tc = NULL;
	}
	if (p != INGRESS_XDP && !loaded[p].tc)
		loaded[p].tc = tc_program_load(p);
	return loaded[p].fd;
}

int world_program(enum program p)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* tests/fuzz/cpus.c has a thread for each CPU */
	int fd;

	pthread_mutex_lock(&lock);
	fd = program_get(p);
	pthread_mutex_unlock(&lock);
	return fd;
}

void world_needs(enum program p)
{
	if (world_program(p) < 0)
		cr_skip_test("this kernel cannot load program %d (bpf_cast_to_kern_ctx, Linux 6.2)", p);
}
