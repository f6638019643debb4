/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ECHO_BPF_H
#define SLUICE_ECHO_BPF_H
/*
 * The echo slot of a flow: the telemetry of its reverse flow, on its way back to the sender. Ingress stores it, the
 * next packet of the flow takes it along at egress.
 *
 * The credit granted to the VOQ of that flow goes along (grant.bpf.h).
 *
 * The slot is a seqlock whose version is odd while it is written. A CPU that finds it odd drops its telemetry, because
 * the other CPU's is as new; egress reads without a lock, compares the versions before and after, and goes without an
 * echo if they differ (echo_torn). slot->sent is the version that went out last.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/grant.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/once.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* Stores an echo in the slot, unless another CPU is writing it (see above). */
static inline void ingress_echo_store(struct flow *f, const struct ingress_pkt *p)
{
	struct flow_echo *e = &f->echo;
	__u32 v = READ_ONCE(e->version);
	int i;

	if (v & 1 || __sync_val_compare_and_swap(&e->version, v, v + 1) != v)
		return;
	e->seq = p->seq;
	e->nhop_path = p->nhop_path;
	e->hops = p->nhop;
	e->form = p->form;
	e->flows = p->flows;
	e->voq = p->voq_slot;
	e->rx_ns = p->now_ns;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		e->hop[i] = p->hop[i];
	__sync_fetch_and_add(&e->version, 1);
	if (!f->beside.echoes)
		f->beside.echoes = 1;
}

/*
 * Writes the flow's waiting echo, if there is an unsent one, after the other blocks, and its header fields. The caller
 * stores echo_version in slot->sent when the packet that carries it is on its way. Returns 0 if the blocks do not fit,
 * which never happens. Global like msg_parse(): the rest of egress_flow() is verified once, not for each combination of
 * blocks. All of the slot is read by READ_ONCE, which keeps the reads between the two reads of the version: clang had
 * moved those of hops and form before the first.
 */
VERIFIED_ONCE int egress_echo(const struct flow *f, struct egress_head *head, struct egress_pkt *p)
{
	const struct flow_echo *slot;
	__u32 version, n, form, at, voq;
	struct wire_echo *e;
	__u64 age, ride;
	int i;

	if (!f || !head || !p)
		return 0;
	at = p->telem_bytes + p->voq_bytes;
	VERIFIER_AT_MOST(at, sizeof(struct wire_telem) + sizeof(struct wire_voq), 0);
	e = (struct wire_echo *)(head->blocks + at);
	slot = &f->echo;
	version = READ_ONCE(slot->version);
	n = READ_ONCE(slot->hops);
	form = READ_ONCE(slot->form);
	voq = READ_ONCE(slot->voq);
	VERIFIER_FORGET(n);
	if (version == slot->sent || version & 1 || n > HPCC_MAX_HOPS)
		return 1;
	age = (p->now_ns - READ_ONCE(slot->rx_ns)) >> WIRE_AGE_SHIFT;
	e->seq = bpf_htonl(READ_ONCE(slot->seq));
	e->age = bpf_htons(age > 0xffff ? 0xffff : age);
	e->nhop_path = bpf_htons(READ_ONCE(slot->nhop_path));
	e->flows = bpf_htons(READ_ONCE(slot->flows));
	e->reserved = 0;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		*(__be64 *)e->hop[i] = bpf_cpu_to_be64(READ_ONCE(slot->hop[i]));
	if (READ_ONCE(slot->version) != version) {
		stats_count(STAT_ECHO_TORN);
		return 1;
	}
	ride = has_racks() && voq && n < HPCC_MAX_HOPS ? grant_ride(voq - 1, &p->key.local, p->now_ns) : 0;
	if (ride) {
		*(__be64 *)e->hop[n++] = bpf_cpu_to_be64(ride);
		head->hdr.flags |= WIRE_F_RIDE;
	}
	p->echo_version = version;
	p->echo_bytes = WIRE_ECHO_BYTES(n);
	head->hdr.echo_hops = n;
	head->hdr.flags |= WIRE_F_ECHO | (form == RX_WINDOW ? WIRE_F_WINDOW : 0);
	return 1;
}

#endif
