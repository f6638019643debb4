// SPDX-License-Identifier: GPL-2.0-only
/* The ports that VOQs arrive by: their speeds and rates. */
#include <bpf/bpf.h>
#include <string.h>
#include "daemon/credits_int.h"

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
