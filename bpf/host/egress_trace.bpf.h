/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_EGRESS_TRACE_BPF_H
#define SLUICE_EGRESS_TRACE_BPF_H
/* Records of departures and drops for `sluicectl trace` (trace.bpf.h). */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "pause/pfc.bpf.h"
#include "host/departure.bpf.h"
#include "host/flow.bpf.h"
#include "host/trace.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/types.h"

/* Unacknowledged bytes of the packet's socket. Returns whether they are known. */
static inline int egress_inflight(struct __sk_buff *ctx, __u32 *bytes)
{
	struct bpf_sock *sk = (struct bpf_sock *)ctx->sk;
	struct bpf_tcp_sock *tcp;

	sk = sk ? bpf_sk_fullsock(sk) : 0;
	tcp = sk ? bpf_tcp_sock(sk) : 0;
	if (!tcp)
		return 0;
	*bytes = tcp->snd_nxt - tcp->snd_una;
	return 1;
}

/* A record of the packet as it leaves, or would have left. paused: pfc_hold() has held it. */
VERIFIED_ONCE int egress_trace(struct __sk_buff *ctx, const struct egress_pkt *p, const struct flow *f, __u32 verdict,
			       int paused)
{
	enum trace_event event = verdict == STAT_PROBE_SENT ? TRACE_PROBE : TRACE_DEPARTURE;
	const struct control *ctl = control_get();
	struct trace_departure *d;
	struct pfc_port *port;
	struct trace *t;

	if (!p || !f || !ctl)
		return 0;
	if (verdict == STAT_TX_HORIZON || verdict == STAT_TX_BEYOND || verdict == STAT_TX_SPOOFED)
		event = TRACE_DROP;
	t = trace_begin(ctx, &p->key, event, p->now_ns);
	if (!t)
		return 0;
	t->verdict = verdict;
	d = &t->departure;
	d->departure_ns = event == TRACE_DROP ? p->now_ns + flow_waits_ns(f, p->now_ns) : egress_leaves_ns(ctx, p, f);
	d->w_bytes = flow_window_bytes(f);
	d->rate_bps = flow_clock_bps(f, p->key.proto != IPPROTO_TCP);
	d->tx_bytes = f->tx.bytes;
	d->inflight_bytes = 0;
	d->inflight_known = egress_inflight(ctx, &d->inflight_bytes);
	if (event == TRACE_DROP || d->departure_ns <= p->now_ns)
		d->held = HELD_NOT;
	else if ((verdict == STAT_TX_DATA || verdict == STAT_TX_UDP_GSO || verdict == STAT_TX_BESIDE) &&
		 p->payload_bytes && ctl->mode == MODE_ENFORCE)
		d->held = f->tx.held ?: HELD_SOCKET;
	else
		d->held = paused ? HELD_PAUSE : HELD_SOCKET;
	port = pfc_port_get(t->ifindex);
	d->priority = port ? pfc_prio(port, p->tos, ctx->vlan_present ? ctx->vlan_tci : 0) : p->tos >> 5;
	bpf_ringbuf_submit(t, 0);
	return 0;
}

static inline void egress_tell(struct __sk_buff *ctx, const struct egress_pkt *p, enum sluice_stat verdict, int paused)
{
	const struct flow *f = bpf_map_lookup_elem(&flows, &p->key);

	if (f)
		egress_trace(ctx, p, f, verdict, paused);
}

#endif
