// SPDX-License-Identifier: GPL-2.0-only
/*
 * include/sluice compiled for BPF: every function passes the verifier, and what it computes in the
 * kernel is what it computes here, bit by bit, over a life of a flow with values of all kinds.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core_case.h"
#include "core.skel.h"

#define ROUNDS 3000

static struct core_bpf *core;

static void core_load(void)
{
	core = core_bpf__open_and_load();
	cr_assert(core, "the verifier said no: build/core.bpf.o");
}

static void core_drop(void)
{
	core_bpf__destroy(core);
}

TestSuite(core, .init = core_load, .fini = core_drop, .timeout = 120);

#define X(name, call)                                \
	static void name##_here(struct core_case *c) \
	{                                            \
		call;                                \
	}
CORE_PROGRAMS(X)
#undef X

static unsigned short rng[3] = { 1, 2, 3 };

static __u32 below(__u32 limit)
{
	return nrand48(rng) % limit;
}

/* Small numbers as often as large ones. */
static __u64 any(void)
{
	return ((__u64)nrand48(rng) << 33 ^ (__u64)nrand48(rng) << 16 ^ nrand48(rng)) >> below(64);
}

static void bytes_any(void *to, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		((__u8 *)to)[i] = below(4) ? below(256) : below(2) ? 0 : 0xff;
}

/* A flow begins: parameters within their ranges. */
static void case_begin(struct core_case *c)
{
	struct hpcc_params *p = &c->params;

	memset(c, 0, sizeof(*c));
	p->t_ns = 1000 + any() % 50000000;
	p->w_init = (3000 + any() % 10000000) * Q12_ONE;
	p->w_min = hpcc_w_min(p->w_init, 1514, p->t_ns);
	p->packet = 1514;
	p->w_ai = any() % (p->w_init / 20);
	p->eta = Q24_ONE / 2 + below(Q24_ONE / 2);
	p->max_stage = below(8);
	hpcc_params_variant(p, below(HPCC_VARIANTS));
	hpcc_init(&c->state, p);
	rx_init(&c->rx, p);
	hiercc_params_init(&c->voq_params, 1 + any() % HIERCC_RATE_MAX, p->t_ns, p->t_ns / 2);
	hiercc_voq_init(&c->voq, 1);
	hiercc_hop_params_init(&c->hop_params, 1 + any() % HIERCC_RATE_MAX, p->t_ns / 6, p->w_init >> 12);
	hiercc_hop_init(&c->hop, &c->hop_params);
	hiercc_port_init(&c->port, any() % HIERCC_RATE_MAX);
	hiercc_ring_init(&c->ring, any() % HIERCC_RATE_MAX, any() % HIERCC_NS_MAX, 128 + below(HIERCC_DELTA_MAX - 128));
	pfc_obey_init(&c->obey_params, 1 + any() % PFC_BPS_MAX);
	c->gate = (struct pfc_params){ 1 + any() % PFC_NS_MAX, below(4) * Q24_ONE, 100000, 3000 };
	ppfc_params_init(&c->ppfc, 500000, 600000, 16, c->obey_params.bps, p->t_ns);
	ppfc_seed(&c->random, any());
	bytes_any(&c->key, sizeof(c->key));
	c->ack.hops = 1 + below(HPCC_MAX_HOPS);
}

/* The next feedback, message and packet. */
static void case_next(struct core_case *c)
{
	struct hpcc_ack *a = &c->ack;
	__u64 dt = 1 + any() % (2 * c->params.t_ns);
	int i;

	c->now_ns += dt;
	a->seq += below(5000);
	a->snd_nxt = a->seq + below(100000);
	a->gap_ns = below(4) ? (__s64)dt : HPCC_GAP_UNKNOWN;
	a->random = nrand48(rng) << 1;
	a->path_id = !below(50);
	for (i = 0; i < HPCC_MAX_HOPS; i++) {
		a->hop[i].bps = 10000000000;
		a->hop[i].ts_ns = (a->hop[i].ts_ns + dt) & HPCC_TS_MASK;
		a->hop[i].tx_bytes = (a->hop[i].tx_bytes + below(dt * 13 / 10 + 1)) & HPCC_TX_MASK;
		a->hop[i].qlen_bytes = below(3) ? 0 : any() & HPCC_TX_MASK;
	}
	c->sample = (struct ceiling_sample){ .seq = a->seq,
					     .snd_nxt = a->snd_nxt,
					     .w = c->state.w,
					     .rtt_ns = below(8) ? any() % (8 * c->params.t_ns) : 0,
					     .queue_ns = below(2) ? any() % c->params.t_ns : 0,
					     .there = any(),
					     .clock = below(4),
					     .full = below(2),
					     .flows = below(30) };
	c->n = below(3) ? below(20) : any();
	c->mark = below(2) ? below(256) : any();
	c->bytes = any();
	c->report = below(2);
	bytes_any(c->word, sizeof(c->word));
	c->seen.claim += (__u64)below(100000) << 32 | below(2);
	c->seen.bytes += below(100000);
	c->seen.packets += below(100);
	c->voq.sent += below(100000);
	for (i = 0; i < 4; i++) {
		c->queue[i] = (struct ppfc_queue){ .bps = c->obey_params.bps,
						   .bytes = any() % 1000000,
						   .increment = (__s64)below(200000) - 100000,
						   .returning = below(2) * below(100000) };
		c->share[i] = (struct ppfc_share){ .bytes = below(3) * below(100000),
						   .increment = (__s64)below(20000) - 10000 };
	}
	bytes_any(c->stack, sizeof(c->stack));
	if (below(2))
		pfc_build((struct pfc_frame *)c->stack, c->stack);
	bytes_any(&c->values, sizeof(c->values));
	intmd_source(c->hdr, below(4), 0);
	if (!below(4))
		c->hdr[below(INTMD_HDR_BYTES)] ^= 1 << below(8);
}

static void agree(const char *name, void (*here)(struct core_case *))
{
	struct bpf_program *prog = bpf_object__find_program_by_name(core->obj, name);
	__u8 packet[64] = { 0 };
	static struct core_case want;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet));

		if (i % 100 == 0)
			case_begin(&want);
		case_next(&want);
		core->bss->core_case = want;
		cr_assert_eq(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0);
		here(&want);
		cr_assert(!memcmp(&want, &core->bss->core_case, sizeof(want)),
			  "%s, round %d: verdict %d in the kernel, %d here", name, i, core->bss->core_case.verdict,
			  want.verdict);
		/* The results of rx_flows() and hpcc_params_variant() must be in their ranges. */
		if (!want.params.w_ai || want.params.variant >= HPCC_VARIANTS)
			case_begin(&want);
	}
}

#define X(name, call)                      \
	Test(core, name)                   \
	{                                  \
		agree(#name, name##_here); \
	}
CORE_PROGRAMS(X)
#undef X
