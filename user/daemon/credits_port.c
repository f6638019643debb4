// SPDX-License-Identifier: GPL-2.0-only
/* The ports by which VOQs arrive: their speeds and rates. */
#include <bpf/bpf.h>
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

void port_rate(const struct credits *c, struct credit_port *p)
{
	double rate = p->speed_bps / 8. * c->config->credit_eta;

	if (p->flags & PORT_F_POD && p->inner_bytes && p->bytes > p->inner_bytes && p->bytes < 4 * p->inner_bytes)
		rate *= (double)p->bytes / p->inner_bytes;
	p->port.rate = rate < HIERCC_RATE_MAX ? rate : HIERCC_RATE_MAX - 1;
	p->port.delta = c->config->voq.delta ?: HIERCC_DELTA_BYTES;
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
	else if (c->ports_count < PORTS_MAX)
		i = c->ports_count++;
	else
		return CREDITS_NONE;
	p = &c->ports[i];
	*p = (struct credit_port){ .ifindex = ifindex };
	hiercc_port_init(&p->port, 0);
	credit_port_read(c, p);
	port_rate(c, p);
	return i;
}

void port_unlist(struct credits *c, __u32 i)
{
	hiercc_unlist(&c->ports[c->slots[i].port].port, c->due, i);
}
