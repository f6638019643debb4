/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUIET_BPF_H
#define SLUICE_QUIET_BPF_H
/*
 * Most packets of a flow with companions only need to be counted, and a departure time if their stack is not ours.
 *
 *  1. A flow is quiet between two companions: the last one found a peer that strips, and the next one is not due.
 *     egress_flow() then checks nothing else.
 *  2. A socket whose congestion control is ours paces itself, so its packets need not even the flow: when a companion
 *     of it leaves, a note at the socket holds how long it is quiet (sock_note_data). Until then sock_is_quiet() counts
 *     its bytes there, by TCP's own clock, and the flow gets the sum with the next packet that is checked. Feedback
 *     comes by companions only, so the position that they see is never behind. When U rises above eta, the congestion
 *     control ends the wait for T (sock_note_hear). A socket that switches to another congestion control is held by its
 *     departure times again. ACKs of any socket have such a note for a T.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/flow.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/companion.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define QUIET_UNHEARD 4 /* notes of data without a call from its congestion control: it may be another one by now */
#define TCP_WORDS_OFFSET 12
#define TCP_FLAGS_OFFSET 13
#define TCP_FLAGS_SPECIAL 7 /* FIN, SYN, RST */

struct sock_note {
	struct companion_quiet data; /* how long its data is not checked */
	__u64 acks_until_ns;	     /* how long its ACKs are not checked */
	__u64 base;		     /* bytes that the flow had sent at the note */
	__u64 since;		     /* bytes that its socket has sent since, not yet counted in the flow */
	__u32 epoch;
	__u32 ifindex;
	__u32 l4_offset;
	__u32 unheard; /* notes of data since the last call from its congestion control, which was ours */
};

/*
 * writer: egress; cc_control: data, unheard; reader: egress. A socket sends with its lock held, so there is one at a time
 * life:   that of the socket; full: never
 */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sock_note);
} sock_notes SEC(".maps");

/* --- 1. the flow --- */

/* The limits of the flow's companions. */
static inline void companion_due_params(struct companion_params *due, const struct flow *f)
{
	companion_params_init(due, f->tx.segment, f->params.t_ns);
	if (f->ceiling.w) /* what no hop reports is seen by them alone */
		ceiling_companions(&f->ceiling, due);
}

/* Whether a packet whose weight is known is quiet. */
static inline int egress_is_quiet(const struct egress_pkt *p, const struct flow *f)
{
	struct companion_params due;

	if (f->path.telemetry != TELEMETRY_COMPANION || !f->companion.count || !p->payload_bytes || f->path.hiercc ||
	    f->beside.echoes || p->syn || p->fin || p->rst || !(f->tx.flags & FLOW_F_TELEM))
		return 0;
	companion_due_params(&due, f);
	return !companion_is_due(&f->companion, &due, &f->cc, &f->params, f->tx.bytes + p->weight, p->now_ns);
}

/* --- 2. a socket --- */

/* The note at the packet's socket; NULL: it has no socket here, or no note. flags: BPF_SK_STORAGE_GET_F_CREATE or 0. */
static inline struct sock_note *sock_note_of(struct __sk_buff *ctx, __u64 flags)
{
	struct bpf_sock *sk = ctx->sk;

	return sk ? bpf_sk_storage_get(&sock_notes, sk, 0, flags) : 0;
}

/* The counter of a packet that leaves without a check of its flow, or STAT_MAX: it has to be checked. */
static inline enum sluice_stat sock_is_quiet(struct __sk_buff *ctx, const struct control *ctl)
{
	struct sock_note *note = sock_note_of(ctx, 0);
	__u64 now_ns = ctx->tstamp, since;
	const __u8 *tcp;
	__u32 l4;

	if (!note || note->epoch != ctl->epoch || note->ifindex != ctx->ifindex || !now_ns || ctl->bypass || ctl->pfc ||
	    ctl->trace_on || ctl->mode != MODE_ENFORCE || ctx->len > 0xffff /* BIG TCP has its header elsewhere */)
		return STAT_MAX;
	l4 = note->l4_offset;
	VERIFIER_AT_MOST(l4, WIRE_ETH_BYTES + sizeof(struct ipv6hdr), STAT_MAX);
	tcp = (const __u8 *)(long)ctx->data + l4;
	VERIFIER_FORGET(tcp);
	if (tcp + sizeof(struct tcphdr) > (const __u8 *)(long)ctx->data_end || tcp[TCP_FLAGS_OFFSET] & TCP_FLAGS_SPECIAL)
		return STAT_MAX;
	if (ctx->len <= l4 + (tcp[TCP_WORDS_OFFSET] >> 4) * 4)
		return now_ns < note->acks_until_ns ? STAT_TX_PLAIN_ACK : STAT_MAX;
	since = note->since + ctx->wire_len;
	if (!companion_is_quiet(&note->data, note->base + since, now_ns))
		return STAT_MAX;
	note->since = since;
	return STAT_TX_BESIDE;
}

/* Moves the bytes that the socket has counted to the flow; from here on each packet is checked again. */
static inline void sock_note_take(struct __sk_buff *ctx, struct flow *f)
{
	struct sock_note *note;

	if (f->path.telemetry != TELEMETRY_COMPANION)
		return;
	note = sock_note_of(ctx, 0);
	if (!note)
		return;
	__sync_fetch_and_add(&f->tx.bytes, note->since);
	note->since = 0;
	note->data.until_ns = note->acks_until_ns = 0;
}

static inline struct sock_note *sock_note_make(struct __sk_buff *ctx, const struct egress_pkt *p, __u32 epoch)
{
	struct sock_note *note = sock_note_of(ctx, BPF_SK_STORAGE_GET_F_CREATE);

	if (!note)
		return 0;
	note->epoch = epoch;
	note->ifindex = ctx->ifindex;
	note->l4_offset = p->l4_offset;
	return note;
}

/* After checked data of a flow that has sent its first companions: notes how long no other packet needs a check. */
static inline void sock_note_data(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
				  const struct control *ctl, __u64 sent)
{
	struct companion_params due;
	struct sock_note *note;

	if (!f->tx.own_cc || f->companion.count < COMPANION_FIRST || f->path.hiercc || f->beside.echoes)
		return;
	note = sock_note_make(ctx, p, ctl->epoch);
	if (!note || note->unheard++ >= QUIET_UNHEARD)
		return;
	note->base = sent;
	companion_due_params(&due, f);
	companion_quiet_init(&note->data, &f->companion, &due, &f->cc, &f->params);
}

/*
 * Whether the packet is an ACK of a local socket that has nothing to take along. Then the next ones are not checked for
 * a T; an echo may wait that long.
 */
static inline int egress_is_quiet_ack(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
				      const struct control *ctl)
{
	struct sock_note *note;

	if (p->payload_bytes || f->path.telemetry != TELEMETRY_COMPANION || f->beside.echoes || p->syn || p->fin ||
	    p->rst || p->key.proto != IPPROTO_TCP || !(f->tx.flags & FLOW_F_TELEM) || !ctx->sk || !ctx->tstamp)
		return 0;
	f->tx.last_ns = ctx->tstamp;
	note = sock_note_make(ctx, p, ctl->epoch);
	if (note)
		note->acks_until_ns = ctx->tstamp + f->params.t_ns;
	return 1;
}

/* Called by our congestion control with each ACK. In a queue, and after a commit, companions do not wait for T. */
static inline void sock_note_hear(struct sock *sk, const struct flow *f)
{
	struct companion_params due;
	struct sock_note *note;

	if (f->path.telemetry != TELEMETRY_COMPANION)
		return;
	note = bpf_sk_storage_get(&sock_notes, sk, 0, 0);
	if (!note)
		return;
	note->unheard = 0;
	if (!note->data.until_ns ||
	    (!companion_is_busy(&f->cc, &f->params) && !companion_is_spent(&f->companion, &f->cc)))
		return;
	companion_due_params(&due, f);
	companion_quiet_init(&note->data, &f->companion, &due, &f->cc, &f->params);
}

#endif
