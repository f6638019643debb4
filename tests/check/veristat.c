// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verifier's bill for each BPF program on this kernel, one line each:
 *
 *	KERNEL PROGRAM INSTRUCTIONS STATES STACK
 *
 * INSTRUCTIONS: verified, of the 10^6 that it allows. STATES: kept at the same time, at most (its memory). STACK: bytes,
 * the sum over the program and all of its functions. Programs that the daemon would not load on this kernel are left out
 * (user/attach/prog/programs.c). NAME:plain is the program without wings (abi/control.h), as most configurations load it.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "sluice.skel.h"
#include "sluice_queue.skel.h"
#include "sluice_xdp.skel.h"

#define LOG_BYTES 65536
#define LOG_STATS 4 /* BPF_LOG_STATS */
#define PROGRAMS 32

struct bill {
	struct bpf_program *program;
	char log[LOG_BYTES];
};

static char kernel[16];
static const char *as = ""; /* what follows the names of programs */

static unsigned int stack_sum(const char *log)
{
	const char *at = strstr(log, "stack depth ");
	unsigned int sum = 0;
	char *end;

	for (at = at ? at + strlen("stack depth ") : ""; *at >= '0' && *at <= '9'; at = *end == '+' ? end + 1 : end)
		sum += strtoul(at, &end, 10);
	return sum;
}

static int bill_print(const struct bill *b)
{
	const char *at = strstr(b->log, "\nprocessed "); /* Linux 7.2 has another line with this ending */
	unsigned int insns, peak;

	if (!at ||
	    sscanf(at, "\nprocessed %u insns (limit %*u) max_states_per_insn %*u total_states %*u peak_states %u",
		   &insns, &peak) != 2) {
		fprintf(stderr, "veristat: %s: the verifier says '%s'\n", bpf_program__name(b->program), b->log);
		return 1;
	}
	printf("%s %s%s %u %u %u\n", kernel, bpf_program__name(b->program), as, insns, peak, stack_sum(b->log));
	return 0;
}

/* Loads an object, and prints what each of its programs cost. Returns 0, or 1 with a message. */
static int object_bill(struct bpf_object *object)
{
	static struct bill bills[PROGRAMS];
	struct bpf_program *program;
	unsigned int n = 0, i;
	int err;

	bpf_object__for_each_program (program, object) {
		if (!bpf_program__autoload(program))
			continue;
		if (n == PROGRAMS) {
			fprintf(stderr, "veristat: more than %d programs: raise PROGRAMS\n", PROGRAMS);
			return 1;
		}
		bills[n].program = program;
		bpf_program__set_log_buf(program, bills[n].log, sizeof(bills[n].log));
		bpf_program__set_log_level(program, LOG_STATS);
		n++;
	}
	err = bpf_object__load(object);
	if (err) {
		fprintf(stderr, "veristat: %s: %s\n", bpf_object__name(object), strerror(-err));
		return 1;
	}
	for (i = 0, err = 0; i < n; i++)
		err |= bill_print(&bills[i]);
	return err;
}

static int kernel_has(const char *name, __u32 kind)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, name, kind) : -1;

	btf__free(btf);
	return id > 0;
}

/* The qdisc, which not every build and not every kernel has. */
static int queue_bill(void)
{
#ifdef SLUICE_QUEUE_LEFT_OUT
	return 0;
#else
	struct sluice_queue_bpf *s;
	int err;

	if (!kernel_has("bpf_struct_ops_Qdisc_ops", BTF_KIND_STRUCT))
		return 0;
	s = sluice_queue_bpf__open();
	if (!s)
		return 1;
	err = object_bill(s->obj);
	sluice_queue_bpf__destroy(s);
	return err;
#endif
}

/* The object of hosts and switches as a kernel with or without kfuncs loads it. */
static struct sluice_bpf *object_open(int kfunc)
{
	struct sluice_bpf *s = sluice_bpf__open();

	if (!s)
		return NULL;
	s->rodata->qdisc_kfuncs = kfunc;
	bpf_program__set_autoload(s->progs.hop, kfunc);
	bpf_program__set_autoload(s->progs.hop_map, !kfunc);
	bpf_program__set_autoload(s->progs.backlog_enqueue, !kfunc);
	bpf_program__set_autoload(s->progs.backlog_dequeue, !kfunc);
	return s;
}

/* The programs that have wings, without them. */
static int plain_bill(int kfunc)
{
	struct sluice_bpf *s = object_open(kfunc);
	struct bpf_program *p;
	int err;

	if (!s)
		return 1;
	s->rodata->wings = 0;
	bpf_object__for_each_program (p, s->obj) {
		if (p != s->progs.egress && p != s->progs.ingress && p != s->progs.hop && p != s->progs.hop_map)
			bpf_program__set_autoload(p, false);
	}
	bpf_map__set_autocreate(s->maps.tcp_cc, false);
	as = ":plain";
	err = object_bill(s->obj);
	as = "";
	sluice_bpf__destroy(s);
	return err;
}

int main(void)
{
	int kfunc = kernel_has("bpf_cast_to_kern_ctx", BTF_KIND_FUNC), err;
	struct sluice_xdp_bpf *xdp;
	struct sluice_bpf *s;
	struct utsname u;
	unsigned int major, minor;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return 1;
	snprintf(kernel, sizeof(kernel), "%u.%u", major, minor);
	s = object_open(kfunc);
	xdp = sluice_xdp_bpf__open();
	if (!s || !xdp) {
		fprintf(stderr, "veristat: opening the objects: %m\n");
		return 1;
	}
	err = object_bill(s->obj) | plain_bill(kfunc) | object_bill(xdp->obj) | queue_bill();
	sluice_bpf__destroy(s);
	sluice_xdp_bpf__destroy(xdp);
	return err;
}
