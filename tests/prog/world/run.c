// SPDX-License-Identifier: GPL-2.0-only
/* A frame through a program (BPF_PROG_TEST_RUN). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "expect.h"
#include "load.h"
#include "run.h"

#define RUN_NS 1000 /* that a program takes, by the clock that is held */
enum program sink = INGRESS;
unsigned int frames; /* run since the counters were looked at */

/* As egress_probe() does it; on all CPUs, because the program may run on any. */
static void clone_set(__u32 ifindex, int clone)
{
	const __u32 note[] = { ifindex, 0, (clone - 1) & 3, clone > 4 };
	int cpus = libbpf_num_possible_cpus(), cpu;
	__u32 zero = 0, size = bpf_map__value_size(skel->maps.scratch);
	__u8 *space = calloc(cpus, size);

	cr_assert(space && !bpf_map_lookup_elem(bpf_map__fd(skel->maps.scratch), &zero, space));
	for (cpu = 0; cpu < cpus; cpu++)
		memcpy(space + cpu * size, note, sizeof(note));
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
		.cb[4] = s.note,
		.tstamp = s.tstamp,
	};
	struct result r = {};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len, .data_out = r.out.b,
			    .data_size_out = sizeof(r.out.b), .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
			    .ctx_out = &r.ctx, .ctx_size_out = sizeof(r.ctx), .repeat = s.repeat ?: 1);
	int err;

	if (held_ns)
		clock_pass(RUN_NS);
	if (s.clone)
		clone_set(ctx.ifindex, s.clone);
	err = bpf_prog_test_run_opts(world_program(p), &opts);
	if (s.clone)
		clone_set(0, 1);
	cr_assert(!err, "%stest run of program %d, %u bytes: %s", fixture_text, p, f->len, strerror(errno));
	r.verdict = (int)opts.retval;
	r.out.len = opts.data_size_out;
	frames += s.repeat ?: 1;
	return r;
}

/* Packets that XDP passes without counting go on to tc, as they do on an interface. */
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
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len, .data_out = r.out.b,
			    .data_size_out = sizeof(r.out.b), .ctx_in = &in, .ctx_size_in = sizeof(in), .ctx_out = &out,
			    .ctx_size_out = sizeof(out), .repeat = 1);
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
	cr_assert(opts.retval >= XDP_DROP && opts.retval <= XDP_TX, "%sXDP says %u", fixture_text, opts.retval);
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

struct queue_note note_of(const struct result *r)
{
	struct queue_note n;

	memcpy(&n, r->ctx.cb, sizeof(n));
	return n;
}
