/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUIET_BPF_H
#define SLUICE_QUIET_BPF_H
/*
 * What most packets beside companions need is to be counted, and a departure time where their stack is not ours.
 *
 *  1. A flow is quiet between two companions: the one that left last found a peer that strips, and the next one is not
 *     due. egress_flow() then asks for nothing else.
 *  2. A socket whose congestion control is ours paces itself, so its packets need not even the flow: when a companion of
 *     it leaves, a note at the socket says until when it is quiet (own_note_write). Up to then own_is_quiet() counts there
 *     what leaves, by TCP's own clock, and the flow gets the sum with the next packet that is looked at.
 *     Feedback comes by companions only, so what they see of the flow's position is never behind. When U rises above eta,
 *     the congestion control ends the wait for T (own_note_hurry).
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/flow.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/companion.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define TCP_FLAGS_OFFSET 13
#define TCP_FLAGS_SPECIAL 7 /* FIN, SYN, RST */
#define TCP_HEADER_BYTES_MAX 60

struct own_note {
	struct companion_quiet quiet;
	__u64 base;  /* what the flow had sent, bytes, */
	__u64 since; /*   and its socket since then, without the flow's knowledge */
	__u32 epoch;
	__u32 ifindex;
	__u32 l4_offset;
	__u32 pad;
};

/*
 * writer: egress; cc_control: quiet.from_ns; reader: egress. A socket sends with its lock held, so there is one at a time
 * life:   that of the socket; full: never
 */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct own_note);
} own_notes SEC(".maps");

/* --- 1. the flow --- */

/* The limits of the flow's companions. */
static inline void companion_due_params(struct companion_params *due, const struct flow *f)
{
	companion_params_init(due, f->tx.segment, f->params.t_ns);
}

/* Of a packet whose weight is known. */
static inline int egress_is_quiet(const struct egress_pkt *p, const struct flow *f)
{
	struct companion_params due;

	if (f->path.telemetry != TELEMETRY_COMPANION || !f->companion.count || !p->payload_bytes || f->path.hiercc ||
	    f->beside.echoes || p->syn || p->fin || p->rst || !(f->tx.flags & FLOW_F_TELEM))
		return 0;
	companion_due_params(&due, f);
	return !companion_is_due(&f->companion, &due, &f->cc, &f->params, f->tx.bytes + p->weight, p->now_ns);
}

/* --- 2. a socket of ours --- */

/* The packet leaves without a look at its flow. */
static inline int own_is_quiet(struct __sk_buff *ctx, const struct control *ctl)
{
	struct bpf_sock *sk = ctx->sk;
	struct own_note *note;
	const __u8 *at;
	__u64 since;
	__u32 l4;

	if (!sk)
		return 0;
	note = bpf_sk_storage_get(&own_notes, sk, 0, 0);
	if (!note || note->epoch != ctl->epoch || note->ifindex != ctx->ifindex || ctl->bypass || ctl->pfc ||
	    ctl->trace_on || ctl->mode != MODE_ENFORCE)
		return 0;
	since = note->since + ctx->wire_len;
	l4 = note->l4_offset;
	VERIFIER_AT_MOST(l4, WIRE_ETH_BYTES + sizeof(struct ipv6hdr), 0);
	if (!ctx->tstamp || !companion_is_quiet(&note->quiet, note->base + since, ctx->tstamp) ||
	    ctx->len <= l4 + TCP_HEADER_BYTES_MAX)
		return 0;
	at = (const __u8 *)(long)ctx->data + l4;
	VERIFIER_FORGET(at);
	if (at + sizeof(struct tcphdr) > (const __u8 *)(long)ctx->data_end || at[TCP_FLAGS_OFFSET] & TCP_FLAGS_SPECIAL)
		return 0;
	note->since = since;
	return 1;
}

/* The flow gets to know what its socket has sent meanwhile; from here on each packet is looked at again. */
static inline void own_note_take(struct __sk_buff *ctx, struct flow *f)
{
	struct bpf_sock *sk = ctx->sk;
	struct own_note *note;

	if (!sk || f->path.telemetry != TELEMETRY_COMPANION)
		return;
	note = bpf_sk_storage_get(&own_notes, sk, 0, 0);
	if (!note)
		return;
	__sync_fetch_and_add(&f->tx.bytes, note->since);
	note->since = 0;
	note->quiet.until_ns = 0;
}

/* After a packet that was looked at, of a flow that has sent its first companions: until when no other needs to be. */
static inline void own_note_write(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
				  const struct control *ctl, __u64 sent)
{
	struct bpf_sock *sk = ctx->sk;
	struct companion_params due;
	struct own_note *note;

	if (!sk || !f->tx.own_cc || f->companion.count < COMPANION_FIRST || f->path.hiercc || f->beside.echoes)
		return;
	note = bpf_sk_storage_get(&own_notes, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!note)
		return;
	note->base = sent;
	note->epoch = ctl->epoch;
	note->ifindex = ctx->ifindex;
	note->l4_offset = p->l4_offset;
	companion_due_params(&due, f);
	companion_quiet_init(&note->quiet, &f->companion, &due, companion_is_busy(&f->cc, &f->params));
}

/* A queue stands: companions do not wait for T. */
static inline void own_note_hurry(struct sock *sk, const struct flow *f)
{
	struct own_note *note;

	if (f->path.telemetry != TELEMETRY_COMPANION || !companion_is_busy(&f->cc, &f->params))
		return;
	note = bpf_sk_storage_get(&own_notes, sk, 0, 0);
	if (note)
		note->quiet.from_ns = 0;
}

#endif
