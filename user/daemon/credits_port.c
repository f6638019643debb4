// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ports that VOQs arrive by: their speeds, and their rings (sluice/rack/hiercc_ring.h), which packets and this daemon
 * share, one at a time. The work of each arriving packet is repeated here once a period: for VOQs without further
 * arrivals.
 */
#include <bpf/bpf.h>
#include <string.h>
#include "daemon/credits_port.h"
#include "sluice/once.h"

/* --- a round --- */

void port_visit(struct credits *c, __u32 port, __u64 now)
{
	struct credit_port *p = &c->ports[port];

	if (p->round == c->round)
		return;
	p->round = c->round;
	c->visited[c->visited_count++] = port;
	/* For as long as hops do not report a port that grants credit. */
	WRITE_ONCE(c->rings[port].ring.lease_ns, now + c->pins->ctl->credit_life_ns);
}

void slot_tell(struct credits *c, __u32 i)
{
	struct slot *s = &c->slots[i];

	if (s->told_round == c->round)
		return;
	s->told_round = c->round;
	c->told[c->told_count++] = (__u64)c->arrivals[i].key.tor << 32 | i;
}

/* --- rings --- */

void slot_watch(struct credits *c, __u32 i, __u32 watched)
{
	__atomic_store_n(&c->arrivals[i].watched, watched, __ATOMIC_SEQ_CST);
}

__u64 ring_enter(struct credits *c, __u32 port)
{
	struct hiercc_ring *r = &c->rings[port].ring;
	__u64 now;

	do
		now = now_ns();
	while (!hiercc_ring_enter(r, now));
	return now;
}

void ring_leave(struct credits *c, __u32 port, __u64 since)
{
	hiercc_ring_leave(&c->rings[port].ring, since);
}

/*
 * A broken lock's CPU came back: VOQs may be missing from the ring, or be in it twice. Those that are due credit enter
 * it anew.
 */
static void ring_repair(struct credits *c, __u32 port)
{
	struct hiercc_ring *r = &c->rings[port].ring;
	__u32 k, i;

	if (r->broken == c->ports[port].broken)
		return;
	c->ports[port].broken = r->broken;
	hiercc_ring_clear(r);
	for (k = 0; k < c->active_count; k++) {
		i = c->active[k];
		if (c->slots[i].port != port)
			continue;
		c->credits[i].due.listed = 0;
		c->credits[i].told.waits = 0;
		if (hiercc_ring_owed(&c->credits[i].due))
			hiercc_ring_enlist(r, &c->credits[i].due, i);
	}
}

void port_grant(struct credits *c, __u32 port)
{
	struct hiercc_ring *r = &c->rings[port].ring;
	__u64 now = ring_enter(c, port), quiet_ns;
	__u32 i, n;

	ring_repair(c, port);
	hiercc_ring_clock(r, now, 0);
	for (n = 0; n < HIERCC_RING && (i = hiercc_ring_next(r)) != HIERCC_NONE; n++) {
		hiercc_ring_grant(r, &c->credits[i].due, i);
		hiercc_ring_note(r, &c->credits[i].told, i);
	}
	c->rings[port].asked = 0;
	for (n = 0; n < HIERCC_RING && (i = hiercc_ring_untold(r)) != HIERCC_NONE; n++) {
		quiet_ns = c->arrivals[i].params.window_ns / HIERCC_QUIET;
		if (hiercc_ring_tells(r, &c->credits[i].due, &c->credits[i].told, now, quiet_ns))
			slot_tell(c, i);
		else if (c->credits[i].told.waits)
			break;
	}
	ring_leave(c, port, now);
}

void ring_move(struct credits *c, __u32 i, __u32 port)
{
	__u32 was = c->slots[i].port;
	__u64 since;

	if (was != CREDITS_NONE) {
		since = ring_enter(c, was);
		if (port == CREDITS_NONE)
			slot_watch(c, i, 0);
		else
			c->arrivals[i].ring = port;
		hiercc_ring_drop(&c->rings[was].ring, &c->credits[i].due, i);
		ring_leave(c, was, since);
	} else if (port != CREDITS_NONE) {
		c->arrivals[i].ring = port;
	}
	c->slots[i].port = port;
}

void ring_params(struct credits *c, __u32 i)
{
	const struct hiercc_params *p = &c->peers[c->slots[i].peer].params;
	__u32 port = c->slots[i].port;
	__u64 since;

	if (port == CREDITS_NONE) {
		c->arrivals[i].params = *p;
		return;
	}
	since = ring_enter(c, port);
	c->arrivals[i].params = *p;
	ring_leave(c, port, since);
}

/* --- ports --- */

void credit_port_read(struct credits *c, struct credit_port *p)
{
	struct port port;

	p->speed_bps = 0;
	if (bpf_map_lookup_elem(c->pins->ports, &p->ifindex, &port))
		return;
	p->speed_bps = port.speed_bps;
	p->flags = port.flags;
}

void port_rate(struct credits *c, __u32 port)
{
	const struct credit_port *p = &c->ports[port];
	struct hiercc_ring *r = &c->rings[port].ring;
	double rate = p->speed_bps / 8. * c->config->credit_eta;
	__u64 since, most_ns = config_period_ns(c->config) * 5 / 4;

	if (p->flags & PORT_F_POD && p->inner_bytes && p->bytes > p->inner_bytes && p->bytes < 4 * p->inner_bytes)
		rate *= (double)p->bytes / p->inner_bytes;
	since = ring_enter(c, port);
	hiercc_ring_speed(r, rate < HIERCC_RATE_MAX ? rate : HIERCC_RATE_MAX - 1);
	r->most_ns = most_ns < HIERCC_NS_MAX ? most_ns : HIERCC_NS_MAX - 1;
	r->delta = c->config->voq.delta ?: HIERCC_DELTA_BYTES;
	ring_leave(c, port, since);
}

__u32 port_index(struct credits *c, __u32 ifindex)
{
	struct credit_port *p;
	__u32 i, gone = CREDITS_NONE;

	for (i = 0; i < c->ports_count; i++) {
		if (c->ports[i].ifindex == ifindex)
			return i;
		if (!c->ports[i].speed_bps && !c->ports[i].slots)
			gone = i;
	}
	if (gone != CREDITS_NONE)
		i = gone;
	else if (c->ports_count < CREDIT_RINGS)
		i = c->ports_count++;
	else
		return CREDITS_NONE;
	p = &c->ports[i];
	*p = (struct credit_port){ .ifindex = ifindex };
	memset(&c->rings[i], 0, sizeof(c->rings[i]));
	hiercc_ring_init(&c->rings[i].ring, 0, 0, 0);
	c->rings[i].ifindex = ifindex;
	credit_port_read(c, p);
	port_rate(c, i);
	return i;
}
