/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_GRANT_BPF_H
#define SLUICE_GRANT_BPF_H
/*
 * HierCC (hiercc_ring.h) at packet arrival: the port of a VOQ grants credit with each of them, while the daemon's lease
 * runs. The daemon makes rings, lets them grant and repairs them (user/daemon/credits_port.c).
 *
 *  1. grant_arrived(): a packet of a watched VOQ has been noted; the port's credit is dealt out.
 *  2. grant_ride(): a packet goes back to a rack, and takes its VOQ's granted total along. Credit is dealt out here,
 *    too.
 *  3. grant_ask(): a VOQ that has heard nothing for long is told by the daemon, which is woken for it, once for each
 *     port at a time.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/voq.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define GRANT_QUIET_NS 20000 /* a daemon woken more often than this would do nothing else */

/*
 * A turn of the WRR of a port, by its number: Linux 6.1 takes no pointer to a structure with an array of others. The
 * caller holds the ring. Returns whether there may be another.
 */
VERIFIED_ONCE int grant_turn(__u32 ring)
{
	struct credit_ring *p = bpf_map_lookup_elem(&credit_rings, &ring);
	struct credit *c;
	__u32 i;

	if (!p)
		return 0;
	i = hiercc_ring_next(&p->ring);
	if (i == HIERCC_NONE)
		return 0;
	c = bpf_map_lookup_elem(&credits, &i);
	if (!c) /* unreachable: two CPUs in a ring may find a VOQ twice, but only numbers that were put there */
		return 1;
	hiercc_ring_grant(&p->ring, &c->due, i);
	hiercc_ring_note(&p->ring, &c->told, i);
	return 1;
}

static inline void grant_turns(__u32 ring)
{
	int i;

	for (i = 0; i < HIERCC_STEPS && grant_turn(ring); i++)
		;
}

/* Checks the first VOQ that has not heard of its credit: if it was granted long ago the daemon is asked to tell. */
static inline void grant_ask(struct credit_ring *p, __u64 quiet_ns, __u64 now_ns)
{
	struct arrival_ask ask = {};
	struct credit *c;

	if (p->asked)
		return;
	ask.slot = hiercc_ring_untold(&p->ring);
	c = bpf_map_lookup_elem(&credits, &ask.slot);
	if (!c || !hiercc_ring_tells(&p->ring, &c->due, &c->told, now_ns,
				     quiet_ns > GRANT_QUIET_NS ? quiet_ns : GRANT_QUIET_NS))
		return;
	if (bpf_ringbuf_output(&arrival_news, &ask, sizeof(ask), 0)) {
		stats_count(STAT_ARRIVAL_LOST);
		return; /* the daemon's round finds it */
	}
	p->asked = 1;
	stats_count(STAT_ARRIVAL_ASK);
}

/* A packet of the VOQ in this slot was noted in a. Its claim is judged, and its port grants credit. */
VERIFIED_ONCE int grant_arrived(struct arrival *a, __u32 slot, __u32 bytes, __u64 now_ns)
{
	struct credit_ring *p;
	struct hiercc_seen seen;
	struct credit *c;
	__u64 away;
	__u32 ring;

	if (!a)
		return 0;
	ring = READ_ONCE(a->ring);
	p = bpf_map_lookup_elem(&credit_rings, &ring);
	c = bpf_map_lookup_elem(&credits, &slot);
	if (!p || !c || !hiercc_ring_leased(&p->ring, now_ns) || !hiercc_ring_enter(&p->ring, now_ns))
		return 0;
	/* The daemon removes a slot from its port while it holds the ring. */
	if (READ_ONCE(a->watched) && READ_ONCE(a->ring) == ring) {
		seen = hiercc_seen_now(&a->seen);
		away = p->ring.turned_away;
		hiercc_ring_clock(&p->ring, now_ns, bytes);
		hiercc_claims_count(&a->claims, &c->due, &a->params,
				    hiercc_ring_learn(&p->ring, &c->due, slot, &a->params, &seen, now_ns));
		if (p->ring.turned_away != away)
			stats_count(STAT_ARRIVAL_AWAY);
		grant_turns(ring);
		grant_ask(p, a->params.window_ns / HIERCC_QUIET, now_ns);
	}
	hiercc_ring_leave(&p->ring, now_ns);
	return 0;
}

/*
 * A packet of `local` goes back to the rack whose VOQ has this slot: the struct wire_ride for it, as a number, or 0.
 * The slot may have become another VOQ's: that of another destination yields nothing, and that of another rack no more
 * than its sender's S allows.
 */
VERIFIED_ONCE __u64 grant_ride(__u32 slot, const struct sluice_addr *local, __u64 now_ns)
{
	struct scratch_space *space = scratch_get();
	__u32 ring, flags = WIRE_CREDIT_ARRIVAL;
	struct credit_ring *p;
	struct arrival *a;
	struct credit *c;

	if (!local || !space)
		return 0;
	a = bpf_map_lookup_elem(&arrivals, &slot);
	c = bpf_map_lookup_elem(&credits, &slot);
	if (!a || !c || !READ_ONCE(a->watched))
		return 0;
	voq_name(&space->ride_key, local, a->key.prefixlen);
	ring = READ_ONCE(a->ring);
	p = bpf_map_lookup_elem(&credit_rings, &ring);
	if (!p || !addr_equal(&space->ride_key.addr, &a->key.addr) || !hiercc_ring_leased(&p->ring, now_ns))
		return 0;
	if (hiercc_ring_enter(&p->ring, now_ns)) {
		hiercc_ring_clock(&p->ring, now_ns, 0);
		grant_turns(ring);
		hiercc_told(&c->told, &c->due, now_ns);
		grant_ask(p, a->params.window_ns / HIERCC_QUIET, now_ns);
		hiercc_ring_leave(&p->ring, now_ns);
	}
	if (!READ_ONCE(c->due.sent))
		return 0;
	stats_count(STAT_TX_RIDE);
	flags |= READ_ONCE(c->due.listed) ? WIRE_CREDIT_DUE : 0;
	return (READ_ONCE(c->due.granted) << 32) | (now_ns / HIERCC_AT_NS & 0xffff) << 16 |
	       (a->key.prefixlen & 0xff) << 8 | flags;
}

#endif
