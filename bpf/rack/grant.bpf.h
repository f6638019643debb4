/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_GRANT_BPF_H
#define SLUICE_GRANT_BPF_H
/*
 * HierCC (hiercc_ring.h) where packets arrive: the port of a VOQ grants credit with each of them, while the daemon's lease
 * runs. The daemon makes rings, lets them grant and repairs them (user/daemon/credits_ring.c).
 *
 *  1. grant_arrived(): a packet of a VOQ that is watched has been noted; what the port can give by then is dealt out.
 *  2. grant_ask(): a VOQ that has heard nothing for long is told by the daemon, which is woken for it, once for each port at
 *     a time.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"

#define GRANT_QUIET_NS 20000 /* a daemon that is woken more often than this does nothing else */

/* A turn of the port's WRR; whoever calls is at the ring. Returns whether there may be another. */
VERIFIED_ONCE int grant_turn(struct credit_ring *p)
{
	struct credit *c;
	__u32 i;

	if (!p)
		return 0;
	i = hiercc_ring_next(&p->ring);
	if (i == HIERCC_NONE)
		return 0;
	c = bpf_map_lookup_elem(&credits, &i);
	if (!c) /* never: two that are at a ring may find a VOQ twice, but no other numbers than were put there */
		return 1;
	hiercc_ring_grant(&p->ring, &c->due, i);
	hiercc_ring_note(&p->ring, &c->told, i);
	return 1;
}

static inline void grant_turns(struct credit_ring *p)
{
	int i;

	for (i = 0; i < HIERCC_STEPS && grant_turn(p); i++)
		;
}

/* The VOQ that was granted credit first and has not heard of it: if that was long ago the daemon is asked to tell. */
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

/* A packet of so many bytes of the VOQ in this slot was noted in a. What it claims is judged, and its port grants. */
VERIFIED_ONCE int grant_arrived(struct arrival *a, __u32 slot, __u32 bytes, __u64 now_ns)
{
	struct credit_ring *p;
	struct hiercc_seen seen;
	struct credit *c;
	__u32 ring;

	if (!a)
		return 0;
	ring = READ_ONCE(a->ring);
	p = bpf_map_lookup_elem(&credit_rings, &ring);
	c = bpf_map_lookup_elem(&credits, &slot);
	if (!p || !c || !hiercc_ring_leased(&p->ring, now_ns) || !hiercc_ring_enter(&p->ring, now_ns))
		return 0;
	/* The daemon takes a slot from its port while it is at the ring. */
	if (READ_ONCE(a->watched) && READ_ONCE(a->ring) == ring) {
		seen = hiercc_seen_now(&a->seen);
		hiercc_ring_clock(&p->ring, now_ns, bytes);
		hiercc_claims_count(&a->claims, &c->due, &a->params,
				    hiercc_ring_learn(&p->ring, &c->due, slot, &a->params, &seen, now_ns));
		grant_turns(p);
		grant_ask(p, a->params.window_ns / HIERCC_QUIET, now_ns);
	}
	hiercc_ring_leave(&p->ring, now_ns);
	return 0;
}

#endif
