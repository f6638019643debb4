/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PFC_BPF_H
#define SLUICE_PFC_BPF_H
/*
 * Pauses (pfc.h), of ports of the daemon's choice only:
 *
 *  1. At tc ingress (`pfc` on a switch port, and in front of all else in `ingress` and `tor`) a PFC frame is checked,
 *     noted by priority, and consumed, as by a MAC. A malformed frame changes nothing, is counted, and goes on.
 *  2. Egress and hop: a packet that leaves in a pause gets the end of it as its departure. The clock of a flow
 *     continues from there (egress_departure()); a packet without a clock leaves when the pause ends (pfc_hold()). Where
 *     the interface has the qdisc `sluice` the packet gets its priority instead, and the qdisc obeys (pause/qdisc.h).
 *
 * count.bpf.h counts what waits, by which neighbours are paused.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "pause/held.bpf.h"
#include "port/class.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/once.h"
#include "sluice/pause/pfc.h"
#include "sluice/pause/qdisc.h"
#include "sluice/queue/note.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

static inline __u32 pfc_prio(const struct pfc_port *p, __u8 tos, __u16 tci)
{
	return p->trust == PFC_TRUST_PCP ? tci >> 13 : tos >> 5;
}

/* The pauses that the qdisc of the port obeys; NULL: egress delays the packets. */
static inline struct queue_pauses *pfc_queue_get(const struct pfc_port *p, __u32 ifindex)
{
	struct queue_port key = { .netns_cookie = p->netns_cookie, .ifindex = ifindex };

	return bpf_map_lookup_elem(&queue_pauses, &key);
}

/* ---- 1. Hearing ---- */

/* One class of a frame. */
VERIFIED_ONCE int pfc_class_hear(struct pfc_port *p, __u32 prio, __u32 quanta, __u64 now_ns, __u32 ifindex)
{
	struct queue_pauses *queue;

	if (!p || prio >= PFC_PRIORITIES)
		return 0;
	if (!(p->lossless >> prio & 1)) {
		stats_count(STAT_PFC_LOSSY);
		return 0;
	}
	switch (pfc_hear(&p->obey[prio], &p->params, now_ns, quanta)) {
	case PFC_PAUSES:
	case PFC_REFRESHES:
		p->heard[prio]++;
		break;
	case PFC_STORM_BEGINS:
		p->storms[prio]++;
		stats_count(STAT_PFC_STORM);
		break;
	case PFC_STORM_IGNORED:
		stats_count(STAT_PFC_STORM);
		break;
	default:
		p->resumed[prio]++;
	}
	queue = pfc_queue_get(p, ifindex);
	if (queue)
		WRITE_ONCE(queue->until_ns[prio], pfc_asked(&p->obey[prio], &p->params, now_ns, 0));
	return 0;
}

/* Returns an enum sluice_stat. */
VERIFIED_ONCE int pfc_take(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	struct pfc_port *p = pfc_port_get(ctx->ifindex);
	const struct pfc_frame *f;
	__u32 vector, prio;
	__u64 now_ns;

	if (!ctl || !p || !(p->flags & PFC_F_OBEY))
		return STAT_PFC_UNWANTED;
	f = pkt_bytes(ctx, 0, sizeof(*f));
	if (!f)
		return STAT_PFC_BAD_LENGTH;
	switch (pfc_check(f, ctx->len)) {
	case PFC_OK:
		break;
	case PFC_BAD_GROUP:
		return STAT_PFC_BAD_GROUP;
	case PFC_LINK_PAUSE:
		return STAT_PFC_LINK_PAUSE;
	case PFC_BAD_VECTOR:
		return STAT_PFC_BAD_VECTOR;
	case PFC_BAD_LENGTH:
		return STAT_PFC_BAD_LENGTH;
	default:
		return STAT_PFC_BAD_OPCODE;
	}
	if (ctl->bypass)
		return STAT_PFC_RX;
	now_ns = bpf_ktime_get_ns();
	vector = f->vector[1];
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		if (vector >> prio & 1)
			pfc_class_hear(p, prio, pfc_quanta(f, prio), now_ns, ctx->ifindex);
	return STAT_PFC_RX;
}

/* Whether the packet was a PFC frame, now consumed: to be counted as STAT_PFC_RX. */
static inline int pfc_consumes(struct __sk_buff *ctx)
{
	enum sluice_stat verdict;

	if (ctx->protocol != bpf_htons(PFC_ETHERTYPE))
		return 0;
	verdict = has_pauses() ? pfc_take(ctx) : STAT_PFC_UNWANTED;
	if (verdict == STAT_PFC_RX)
		return 1;
	stats_count(verdict);
	return 0;
}

static inline int pfc_handle(struct __sk_buff *ctx)
{
	if (!pfc_consumes(ctx))
		return TC_ACT_UNSPEC;
	stats_count(STAT_PFC_RX);
	return TC_ACT_SHOT;
}

/* ---- 2. Obeying ---- */

/* Fills in how pauses apply to a packet of a lossless priority. */
static inline void pfc_wait_fill(struct pfc_wait *w, const struct pfc_port *p, __u32 ifindex, __u32 prio, __u64 now_ns)
{
	__u64 until_ns = pfc_asked(&p->obey[prio], &p->params, now_ns, 0);

	w->until_ns = until_ns > now_ns ? until_ns : 0;
	w->class = prio + 1;
	if (pfc_queue_get(p, ifindex))
		w->note = queue_note_class(prio);
	else
		w->departure_ns = w->until_ns;
}

/* Fills in how pauses apply to a packet with this type of service. */
VERIFIED_ONCE int pfc_look(struct __sk_buff *ctx, struct pfc_wait *w, __u32 tos)
{
	const struct control *ctl = control_get();
	struct pfc_port *p;
	__u32 prio;

	if (!w)
		return 0;
	*w = (struct pfc_wait){};
	if (!ctl || !ctl->pfc || ctl->bypass || ctl->mode != MODE_ENFORCE)
		return 0;
	p = pfc_port_get(ctx->ifindex);
	if (!p)
		return 0;
	prio = pfc_prio(p, tos, ctx->vlan_present ? ctx->vlan_tci : 0);
	if (prio >= PFC_PRIORITIES || !(p->lossless >> prio & 1))
		return 0;
	pfc_wait_fill(w, p, ctx->ifindex, prio, bpf_ktime_get_ns());
	return 0;
}

/* Tells the qdisc the packet's priority, beside what its note says already. */
static inline void pfc_note(struct __sk_buff *ctx, __u32 class)
{
	struct queue_note none = { .mark = ctx->cb[4] };

	if (queue_note_is_valid(&none)) {
		ctx->cb[4] |= class;
		return;
	}
	*(volatile __u64 *)&ctx->cb[0] = 0;
	ctx->cb[2] = ctx->cb[3] = 0;
	ctx->cb[4] = QUEUE_NOTE_MARK | class;
}

/* Delays the packet to the end of the pause. Returns whether that can be honoured. */
static inline int pfc_hold_until(struct __sk_buff *ctx, __u64 until)
{
	__u32 ifindex = ctx->ifindex;
	const struct port *port = bpf_map_lookup_elem(&ports, &ifindex);

	if (!port || !(port->flags & PORT_F_EDT) ||
	    (until > ctx->tstamp && bpf_skb_set_tstamp(ctx, until, BPF_SKB_TSTAMP_DELIVERY_MONO))) {
		stats_count(STAT_PFC_UNHELD);
		return 0;
	}
	stats_count(STAT_PFC_HELD);
	return 1;
}

static inline int pfc_wait(struct __sk_buff *ctx, const struct pfc_wait *w)
{
	if (!w->note)
		return w->departure_ns && pfc_hold_until(ctx, w->departure_ns);
	pfc_note(ctx, w->note);
	if (w->until_ns)
		stats_count(STAT_PFC_HELD);
	return w->until_ns != 0;
}

/* A packet of a lossless priority enters the queue of a switch port. */
static inline void pfc_obey(struct __sk_buff *ctx, const struct pfc_port *p, __u32 prio, __u64 now_ns)
{
	struct pfc_wait w = {};

	pfc_wait_fill(&w, p, ctx->ifindex, prio, now_ns);
	pfc_wait(ctx, &w);
}

/* Leaves the packet to the qdisc, or gives it the end of the pause if it has no departure. Returns whether it waits. */
static inline int pfc_hold(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	__u16 proto = bpf_ntohs(ctx->protocol);
	struct pfc_wait w;
	const __u8 *ip;

	if (!has_pauses() || !ctl || !ctl->pfc)
		return 0;
	ip = proto == ETH_P_IP || proto == ETH_P_IPV6 ? pkt_bytes(ctx, WIRE_ETH_BYTES, 2) : 0;
	pfc_look(ctx, &w, ip ? class_tos(ip[0], ip[1]) : 0);
	return pfc_wait(ctx, &w);
}

#endif
