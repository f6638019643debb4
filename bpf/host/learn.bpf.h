/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_LEARN_BPF_H
#define SLUICE_LEARN_BPF_H
/* Learns from a DATA message: its VOQ, the path (for the echo), and from the echo, which is feedback. */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/pod_stamp.bpf.h"
#include "rack/credit.bpf.h"
#include "host/auth.bpf.h"
#include "host/echo.bpf.h"
#include "host/encoding.bpf.h"
#include "host/feedback.bpf.h"
#include "host/flow.bpf.h"
#include "host/report.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* Adds the hop to the pod after those of the packet. */
static inline void ingress_pod_hop(struct flow *f, struct ingress_pkt *p)
{
	struct pod_stamp stamp = {};
	__u32 n = p->nhop;

	if (!pod_stamp(f, &stamp, p->nhop_path, HPCC_MAX_HOPS))
		return;
	VERIFIER_AT_MOST(n, HPCC_MAX_HOPS - 1, );
	p->hop[n] = stamp.hop;
	p->nhop = n + 1;
	p->nhop_path = stamp.nhop_path;
}

/* Whether the inner packet, which was checked, has payload. */
static inline int ingress_has_payload(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	__u32 at = p->inner + (m->ip.v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	const __u8 *doff;

	if (p->key.proto != IPPROTO_TCP)
		return 1;
	doff = pkt_bytes(ctx, at + 12, 1);
	return doff && WIRE_ETH_BYTES + m->ip.total > at + (*doff >> 4) * 4;
}

/* The flow in the other direction, made if the message may make it; NULL: there is none. */
static __always_inline struct flow *learn_flow_get(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p,
						   int make, __u64 floor, const struct control *ctl)
{
	struct flow *f = bpf_map_lookup_elem(&flows, &p->key);

	if (f)
		return f;
	if (make && p->auth_seq && p->auth_seq <= floor) {
		stats_count(STAT_RX_REPLAYED);
		return 0;
	}
	if (make) {
		if (flow_make(&p->key, ctx_ifindex(ctx), ctl->epoch, STAT_FLOW_MADE_RX) == FLOW_FULL)
			stats_count(STAT_RX_FLOW_FULL);
		f = bpf_map_lookup_elem(&flows, &p->key);
	}
	if (!f && m->hdr.flags & WIRE_F_ECHO)
		stats_count(STAT_FB_NO_FLOW);
	return f;
}

/* True if the message has an echo that was not taken before. */
static __always_inline int learn_echo_is_new(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p,
					     struct flow *f, int has_telem, __u64 floor)
{
	if (!(m->hdr.flags & WIRE_F_ECHO))
		return 0;
	if (!p->auth_seq || auth_takes_echo(f, floor, p->auth_seq))
		return 1;
	/* Another segment of the packet whose echo was taken is no replay. */
	if (!has_telem && (p->auth_seq != f->auth.echo_seq || !ingress_has_payload(ctx, m, p)))
		stats_count(STAT_RX_REPLAYED);
	return 0;
}

/* Takes the path for the echo that goes back: with the hop to a pod, N, and in the form that the prefix configures. */
static __always_inline void learn_telem_take(ctx_t *ctx, struct ingress_pkt *p, struct flow *f,
					     const struct wire_telem *telem, const struct control *ctl)
{
	int i;

	for (i = 0; i < HPCC_MAX_HOPS; i++)
		p->hop[i] = bpf_be64_to_cpu(*(const __be64 *)telem->hop[i]);
	if (arrival_needs_pod_hop(f, ctl, p->now_ns))
		ingress_pod_hop(f, p);
	p->flows = report_flows(f, ctx_ifindex(ctx), p->now_ns, 0);
	if ((f->path.feedback == RX_HOPS && !f->rx.kept) || report_make(f))
		ingress_echo_store(f, p);
}

/* Takes the credit of our VOQ to the sender of this packet, from the last hop of its echo. */
static __always_inline void learn_ride_take(ctx_t *ctx, __u32 at, const struct ingress_pkt *p)
{
	const __be64 *ride = pkt_bytes(ctx, at, sizeof(*ride));

	if (ride)
		credit_rides(&p->key.remote, bpf_be64_to_cpu(*ride), p->now_ns);
}

/* Takes the echo, which is feedback for the flow that we send. */
static __always_inline void learn_echo_take(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p,
					    struct flow *f, const struct control *ctl, struct feedback *fb)
{
	__u32 form = RX_HOPS, at = m->offset + wire_echo_offset(&m->hdr), hops = m->hdr.echo_hops;
	const struct wire_echo *echo;

	if (m->hdr.flags & WIRE_F_RIDE && hops) {
		hops--;
		if (has_racks())
			learn_ride_take(ctx, at + WIRE_ECHO_BYTES(hops), p);
	}
	echo = pkt_bytes(ctx, at, sizeof(*echo));
	if (!echo) { /* fewer than two hops, before a UDP datagram of a few bytes */
		stats_count(STAT_FB_SKIPPED);
		return;
	}
	if (m->hdr.flags & (WIRE_F_WINDOW | WIRE_F_RATIO)) {
		form = RX_WINDOW;
		if (hops != 1 || m->hdr.flags & WIRE_F_RATIO) {
			stats_count(STAT_FB_BAD_FORM);
			return;
		}
	}
	feedback_begin(fb, ctl, p->now_ns);
	fb->form = form;
	fb->hops = hops;
	fb->seq = bpf_ntohl(echo->seq);
	fb->flows = bpf_ntohs(echo->flows);
	fb->nhop_path = bpf_ntohs(echo->nhop_path);
	fb->rx_ns = p->now_ns - ((__u64)bpf_ntohs(echo->age) << WIRE_AGE_SHIFT);
	feedback_hops(fb, echo->hop);
	feedback_take(f, fb);
}

/*
 * Learns from a DATA message. Both blocks are read at their full length, whatever they hold: the headers of the inner
 * packet follow, so the bytes are there. Inlined with its steps, as ingress_reply() is: as separate functions, which
 * clang 19 would make, they take the stack past 512 bytes ("combined stack size of 5 calls is 560").
 */
static __always_inline struct flow *ingress_learn(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p,
						  struct host *h, const struct control *ctl, struct feedback *fb)
{
	const struct wire_telem *telem;
	__u64 floor = auth_floor(h);
	int make, has_echo, voq;
	struct flow *f;

	/* Before the telemetry, which may invalidate packet addresses. */
	voq = has_racks() && m->hdr.flags & WIRE_F_VOQ && !encoding_is_copy(ctx, m) && arrival_read(ctx, m, p);
	telem = encoding_read(ctx, m, p);
	/* Data without telemetry may be the first packet here of a flow whose telemetry is beside it. */
	make = telem || voq || !(encoding_is_in(m) || m->hdr.flags & WIRE_F_ECHO);
	f = learn_flow_get(ctx, m, p, make, floor, ctl);
	if (!f)
		return 0;
	if (p->auth_seq && (telem || voq) && !auth_takes_telem(f, floor, p->auth_seq, p->now_ns)) {
		stats_count(STAT_RX_REPLAYED);
		return f;
	}
	if (voq)
		arrival_see(f, ctx_ifindex(ctx), p->now_ns);
	else if (telem && f->rx.voq_in)
		f->rx.voq_in = f->rx.voq_pod = 0;
	has_echo = learn_echo_is_new(ctx, m, p, f, !!telem, floor);
	if (!telem && !has_echo) {
		/* Neither telemetry nor echo: the flow counts as active, unless this is a replay. */
		if (make && (!p->auth_seq || auth_takes_telem(f, floor, p->auth_seq, p->now_ns)))
			report_flows(f, ctx_ifindex(ctx), p->now_ns, 0);
		return f;
	}
	f->rx.last_ns = p->now_ns;
	if (f->path.epoch != ctl->epoch)
		flow_refresh(f, &p->key, f->path.ifindex, ctl->epoch);
	if (telem)
		learn_telem_take(ctx, p, f, telem, ctl);
	if (has_echo) {
		learn_echo_take(ctx, m, p, f, ctl, fb);
		host_note_rate(h, f, p->now_ns);
	}
	return f;
}

#endif
