/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_COUNT_BPF_H
#define SLUICE_COUNT_BPF_H
/*
 * The bytes that wait at a port with pauses: the tracepoints of its root qdisc count them by ingress port and priority.
 * Packets (arrive.bpf.h) and the daemon (user/daemon/ppfc.c) read the counts and pause the neighbours.
 *
 * A packet that a qdisc refuses is dropped before the tracepoint, and not counted. If a qdisc drops packets that it has
 * taken (codel), or is handed one back, its own backlog shows it, and the sum is set to that: the correction is charged
 * to the current packet, because the dropped one is not known. All counts restart when the queue is empty.
 */
#include "pause/pfc.bpf.h"

#define PFC_BULK 64 /* packets that a qdisc hands out at once */

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
