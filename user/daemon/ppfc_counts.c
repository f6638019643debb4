// SPDX-License-Identifier: GPL-2.0-only
/*
 * Corrects the counts of the tracepoints. Each cell of a queue is also in three sums, kept beside it so that a packet
 * has them without a walk (bpf/pause/pfc.bpf.h). If the two diverge (a slot got another port, a queue was forgotten here
 * while a packet was counted) they differ by a constant number of bytes; if a sum is read in the middle of a packet they
 * do not. So a difference seen SUM_TIMES times is subtracted.
 */
#include <string.h>
#include "daemon/ppfc_int.h"
#include "lib/net.h"
#include "sluice/once.h"

static void sum_settle(__u64 *sum, __u64 is, struct sum_error *e)
{
	__s64 bytes = READ_ONCE(*sum) - is;

	e->times = bytes && (bytes == e->bytes || !e->times) ? e->times + 1 : !!bytes;
	e->bytes = bytes;
	if (e->times < SUM_TIMES)
		return;
	__sync_fetch_and_sub(sum, bytes);
	e->times = 0;
}

void counts_settle(struct ppfc *p)
{
	__u64 in[PFC_SLOTS][PFC_PRIORITIES] = {}, used = 0;
	__u32 k, slot, prio;

	for (k = 0; k < p->count; k++) {
		struct pfc_slot *s = &p->slots[p->used[k]];
		__u64 queue[PFC_PRIORITIES] = {};

		for (slot = 0; slot < PFC_SLOTS; slot++) {
			for (prio = 0; prio < PFC_PRIORITIES; prio++) {
				__u64 bytes = READ_ONCE(s->bytes[slot][prio]);

				queue[prio] += bytes;
				in[slot][prio] += bytes;
			}
		}
		used += READ_ONCE(s->total);
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			sum_settle(&s->queue_bytes[prio], queue[prio], &p->queue_errors[p->used[k]][prio]);
	}
	for (slot = 0; slot < PFC_SLOTS; slot++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			sum_settle(&p->slots[slot].ingress_bytes[prio], in[slot][prio], &p->ingress_errors[slot][prio]);
	sum_settle(&p->slots[0].used_bytes, used, &p->used_error);
}

static void cells_clear(struct ppfc *p, struct pfc_slot *s)
{
	__u32 in, prio;

	for (in = 0; in < PFC_SLOTS; in++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			__sync_fetch_and_sub(&p->slots[in].ingress_bytes[prio],
					     __atomic_exchange_n(&s->bytes[in][prio], 0, __ATOMIC_RELAXED));
	memset(s->queue_bytes, 0, sizeof(s->queue_bytes));
	__sync_fetch_and_sub(&p->slots[0].used_bytes, __atomic_exchange_n(&s->total, 0, __ATOMIC_RELAXED));
}

/*
 * Replacing a qdisc, or losing the link, discards a queue without an event. A count that has not changed for a second
 * while the kernel reports an empty queue is reset.
 */
void queue_forget(struct ppfc *p, __u32 slot)
{
	struct pfc_slot *s = &p->slots[slot];
	__u64 total = READ_ONCE(s->total);
	struct link_load load;

	if (total && total == p->totals[slot] && !link_load_get(p->ports[slot].ifindex, &load) && !load.backlog_bytes &&
	    total == READ_ONCE(s->total))
		cells_clear(p, s);
	p->totals[slot] = total;
}
