/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TRACE_BPF_H
#define SLUICE_TRACE_BPF_H
/*
 * Single decisions for `sluicectl trace`, each with its packet.
 *
 *  1. Off, this costs a packet one read of control. On, a record is made when the packet is as on the wire: at the end
 *     of egress, and at ingress before anything is stripped.
 *  2. Feedback is decided on without a packet (feedback_take()), so it is noted in the scratch space, and the caller
 *     that has the packet puts it into the ring.
 *  3. Records are chosen at random: with every second packet, say, a flow with one ACK for two would show only one
 *    kind.
 *  4. Tracing is a lease: the tracer keeps extending trace_until_ns, so a killed one leaves nothing enabled.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/hpcc.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

static inline int trace_is_on(const struct control *ctl)
{
	return ctl->trace_on;
}

static inline int trace_wants(const struct control *ctl, const struct flow_key *key, __u64 now_ns)
{
	const __u32 *remote = (const __u32 *)&key->remote, *addr = (const __u32 *)&ctl->trace_addr,
		    *mask = (const __u32 *)&ctl->trace_mask;
	__u32 every = ctl->trace_every;

	return now_ns < ctl->trace_until_ns &&
	       (!ctl->trace_port || key->local_port == ctl->trace_port || key->remote_port == ctl->trace_port) &&
	       !(((remote[0] & mask[0]) ^ addr[0]) | ((remote[1] & mask[1]) ^ addr[1]) |
		 ((remote[2] & mask[2]) ^ addr[2]) | ((remote[3] & mask[3]) ^ addr[3])) &&
	       (every < 2 || !(bpf_get_prandom_u32() % every));
}

/* A record without the decision; NULL: it is not wanted, or there is no room. */
static __always_inline struct trace *trace_begin(ctx_t *ctx, const struct flow_key *key, enum trace_event event,
						 __u64 now_ns)
{
	const struct control *ctl = control_get();
	__u32 bytes;
	struct trace *t;

	if (!ctl || !trace_wants(ctl, key, now_ns))
		return 0;
	t = bpf_ringbuf_reserve(&trace, sizeof(*t), 0);
	if (!t) {
		stats_count(STAT_TRACE_LOST);
		return 0;
	}
	t->ns = now_ns;
	t->key = *key;
	t->event = event;
	t->verdict = STAT_MAX;
	t->ifindex = ctx_ifindex(ctx);
	t->pad = 0;
	bytes = ctx_bytes(ctx);
	t->packet_bytes = bytes;
	t->kept_bytes = 0;
	if (bytes > sizeof(t->packet))
		bytes = sizeof(t->packet);
	VERIFIER_AT_LEAST(bytes, WIRE_ETH_BYTES, t);
	VERIFIER_FORGET(bytes);
	if (bytes <= sizeof(t->packet) && !ctx_load(ctx, 0, t->packet, bytes)) /* always */
		t->kept_bytes = bytes;
	return t;
}

/* Notes the state before the decision on the feedback in the scratch space. */
VERIFIED_ONCE int trace_feedback_before(const struct flow *f, __u32 delay_ns)
{
	struct scratch_space *space = scratch_get();
	struct trace_feedback *t;
	int i;

	if (!f || !space)
		return 0;
	t = &space->traced;
	t->w_before = f->cc.w;
	t->rate_before_bps = f->cc.rate_bps;
	t->w_ai = f->params.w_ai;
	t->delay_ns = delay_ns;
	t->flows = f->rx.flows;
	t->compared = f->cc.hops == space->ack.hops && f->cc.path_id == space->ack.path_id;
	for (i = 0; i < HPCC_MAX_HOPS; i++) {
		t->ts_before_ns[i] = f->cc.last[i].ts_ns;
		t->tx_before_bytes[i] = f->cc.last[i].tx_bytes;
	}
	return 0;
}

/* Notes the state after the decision. */
VERIFIED_ONCE int trace_feedback_after(const struct flow *f, const struct feedback *fb, __u32 kind)
{
	struct scratch_space *space = scratch_get();
	struct trace_feedback *t;

	if (!f || !fb || !space)
		return 0;
	t = &space->traced;
	t->now_ns = fb->now_ns;
	t->ack = space->ack;
	t->w = f->cc.w;
	t->wc = f->cc.wc;
	t->u = f->cc.u;
	t->rate_bps = f->cc.rate_bps;
	t->t_ns = f->params.t_ns;
	t->kind = kind;
	t->form = fb->form;
	t->probe = fb->probe;
	t->bare = flow_is_bare(f);
	t->variant = f->params.variant;
	t->inc_stage = f->cc.inc_stage;
	t->bottleneck = f->cc.bottleneck;
	return 0;
}

/* Puts the notes since now_ns into the ring, with the packet that brought the feedback. */
VERIFIED_ONCE int trace_feedback_put(ctx_t *ctx, const struct flow_key *key, __u64 now_ns)
{
	struct scratch_space *space = scratch_get();
	struct trace *t;

	if (!key || !space || space->traced.now_ns != now_ns)
		return 0;
	space->traced.now_ns = 0; /* a message has several, and only some are traced */
	t = trace_begin(ctx, key, TRACE_FEEDBACK, now_ns);
	if (!t)
		return 0;
	t->feedback = space->traced;
	bpf_ringbuf_submit(t, 0);
	return 0;
}

#endif
