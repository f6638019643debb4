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
 *  3. The tracepoints of the root qdisc count the bytes in a queue by ingress port and priority. Packets (arrive.bpf.h)
 *     and the daemon (user/daemon/ppfc.c) read the counts and pause the neighbours.
 *
 * A packet that a qdisc refuses is dropped before the tracepoint, and not counted. If a qdisc drops packets that it has
 * taken (codel), or is handed one back, its own backlog shows it, and the sum is set to that: the correction is charged
 * to the current packet, because the dropped one is not known. All counts restart when the queue is empty.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/class.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/once.h"
#include "sluice/pause/pfc.h"
#include "sluice/queue/note.h"
#include "sluice/pause/qdisc.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define PFC_BULK 64 /* packets that a qdisc hands out at once */

static inline struct pfc_port *pfc_port_get(__u32 ifindex)
{
	return bpf_map_lookup_elem(&pfc_ports, &ifindex);
}

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
	verdict = pfc_take(ctx);
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

	if (!ctl || !ctl->pfc)
		return 0;
	ip = proto == ETH_P_IP || proto == ETH_P_IPV6 ? pkt_bytes(ctx, WIRE_ETH_BYTES, 2) : 0;
	pfc_look(ctx, &w, ip ? class_tos(ip[0], ip[1]) : 0);
	return pfc_wait(ctx, &w);
}

/* ---- 3. Counting ---- */

/* The port of a root qdisc; NULL: its queue is not counted, or belongs to another network namespace. */
static inline struct pfc_port *pfc_port_of(struct Qdisc *q)
{
	struct net_device *dev = q->dev_queue->dev;
	struct pfc_port *p = pfc_port_get(dev->ifindex);

	return p && p->flags & PFC_F_COUNT && p->netns_cookie == dev->nd_net.net->net_cookie ? p : 0;
}

static inline struct pfc_slot *pfc_slot_at(__u32 slot)
{
	return bpf_map_lookup_elem(&pfc_slots, &slot);
}

static inline struct pfc_slot *pfc_slot_get(const struct pfc_port *p)
{
	return pfc_slot_at(p->slot);
}

/* The flag of a packet with a VLAN tag; before 6.2 the tag field of a packet without one is stale. */
struct sk_buff___present {
	__u8 vlan_present : 1;
} __attribute__((preserve_access_index));

static inline __u16 pfc_tci(struct sk_buff *skb)
{
	struct sk_buff___present *old = (void *)skb;

	if (bpf_core_field_exists(old->vlan_present) && !BPF_CORE_READ_BITFIELD_PROBED(old, vlan_present))
		return 0;
	return BPF_CORE_READ(skb, vlan_tci);
}

/* Where a packet is counted: under its ingress port and priority. */
struct pfc_place {
	struct pfc_slot *s;
	__u64 *cell, *queue, *ingress, *used;
};

/* Returns whether there is one. */
static inline int pfc_place_find(struct pfc_place *at, const struct pfc_port *p, struct sk_buff *skb, __u8 tos)
{
	struct pfc_port *in = pfc_port_get(BPF_CORE_READ(skb, skb_iif));
	__u32 prio = pfc_prio(p, tos, p->trust == PFC_TRUST_PCP ? pfc_tci(skb) : 0);
	__u32 slot = in && in->netns_cookie == p->netns_cookie ? in->slot : 0;
	struct pfc_slot *ingress = pfc_slot_at(slot), *all = pfc_slot_at(0);

	VERIFIER_FORGET(slot);
	if (!ingress || !all || slot >= PFC_SLOTS || prio >= PFC_PRIORITIES)
		return 0;
	at->cell = &at->s->bytes[slot][prio];
	at->queue = &at->s->queue_bytes[prio];
	at->ingress = &ingress->ingress_bytes[prio];
	at->used = &all->used_bytes;
	return 1;
}

/* Adds to the cell and its sums. The last sum is over all ports, so other CPUs add to it at the same time. */
static inline void pfc_cell_add(struct pfc_place *at, __s64 bytes)
{
	*at->cell += bytes;
	*at->queue += bytes;
	__sync_fetch_and_add(at->ingress, bytes);
}

static inline void pfc_charge(struct pfc_place *at, __s64 bytes)
{
	pfc_cell_add(at, bytes);
	at->s->total += bytes;
	__sync_fetch_and_add(at->used, bytes);
}

/* Sets the sum to the backlog: the current packet is charged with the unseen bytes. */
static inline void pfc_amend(struct pfc_place *at, __u64 backlog, int left)
{
	__s64 unseen = backlog - at->s->total;

	/* A packet handed back to the qdisc is the next that leaves. */
	if (unseen < 0 || (unseen && left)) {
		at->s->amended += unseen < 0 ? -unseen : unseen;
		at->s->inexact = 1;
		pfc_charge(at, unseen);
	}
	if ((__s64)*at->cell < 0) {
		at->s->inexact = 1;
		pfc_cell_add(at, -(__s64)*at->cell);
	}
}

/* Empties the cells of one ingress port. */
VERIFIED_ONCE int pfc_cells_clear(struct pfc_slot *s, __u32 slot)
{
	struct pfc_slot *ingress = pfc_slot_at(slot);
	__u32 prio;

	if (!s || !ingress || slot >= PFC_SLOTS)
		return 0;
	for (prio = 0; prio < PFC_PRIORITIES; prio++) {
		__u64 bytes = s->bytes[slot][prio];

		if (!bytes)
			continue;
		s->bytes[slot][prio] = 0;
		__sync_fetch_and_add(&ingress->ingress_bytes[prio], -bytes);
	}
	return 0;
}

VERIFIED_ONCE int pfc_slot_clear(struct pfc_slot *s)
{
	struct pfc_slot *all = pfc_slot_at(0);
	__u32 i;

	if (!s || !all)
		return 0;
	for (i = 0; i < PFC_SLOTS; i++)
		pfc_cells_clear(s, i);
	for (i = 0; i < PFC_PRIORITIES; i++)
		WRITE_ONCE(s->queue_bytes[i], 0); /* or clang makes it a call of memset() */
	__sync_fetch_and_add(&all->used_bytes, -s->total);
	s->total = 0;
	s->inexact = 0;
	return 0;
}

static inline int pfc_enqueued(struct Qdisc *q, struct sk_buff *skb)
{
	struct pfc_port *p = pfc_port_of(q);
	struct class_skb k = {};
	struct pfc_place at = {};

	at.s = p ? pfc_slot_get(p) : 0;
	if (!at.s)
		return 0;
	class_skb_read(skb, &k);
	if (!pfc_place_find(&at, p, skb, k.tos))
		return 0;
	pfc_charge(&at, k.bytes);
	pfc_amend(&at, q->qstats.backlog, 0);
	if (at.s->wake_bytes && at.s->total > at.s->wake_bytes) {
		__u32 slot = p->slot;

		at.s->wake_bytes = 0;
		bpf_ringbuf_output(&pfc_alarms, &slot, sizeof(slot), 0);
	}
	return 0;
}

static inline int pfc_dequeued(struct Qdisc *q, int packets, struct sk_buff *skb)
{
	struct pfc_place at = {};
	struct class_skb k = {};
	struct pfc_port *p;
	int i;

	if (!skb) /* every other time: the qdisc is asked until it has no more packets */
		return 0;
	p = pfc_port_of(q);
	at.s = p ? pfc_slot_get(p) : 0;
	if (!at.s)
		return 0;
	for (i = 0; i < PFC_BULK && i < packets && skb; i++) {
		class_skb_read(skb, &k);
		if (!k.bytes) /* as in class_dequeue */
			break;
		if (!pfc_place_find(&at, p, skb, k.tos))
			break;
		pfc_charge(&at, -(__s64)k.bytes);
		skb = BPF_CORE_READ(skb, next);
	}
	if (at.cell)
		pfc_amend(&at, q->qstats.backlog, 1);
	if (at.s->inexact && !q->qstats.backlog)
		pfc_slot_clear(at.s);
	return 0;
}

#endif
