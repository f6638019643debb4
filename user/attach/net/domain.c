// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routing domains: where an address means a host of its own.
 *
 *  1. An interface in a VRF has the VRF's domain; so have a bridge in it and the bridge's ports. The port of another
 *     bridge has the bridge's, unless this host has an address there and so routes that network itself. All others have
 *     domain 0: between them a flow may move (several uplinks, a failover). The slave of a bond has the bond's.
 *  2. The number is the ifindex of the VRF or the bridge, folded into 16 bits. Two that fold into one share their flows,
 *     as if there were no domains.
 *  3. Sockets of a VRF, and the daemon's messages into it, name the VRF: the map domains leads from it to the domain.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include "attach/net/domain.h"
#include "lib/maps.h"
#include "lib/net.h"

#define DOMAIN_DEPTH 8 /* more masters than a device has above it */

static __u16 domain_number(__u32 ifindex)
{
	__u16 n = ifindex ^ ifindex >> 16;

	return n ?: 1;
}

int domain_get(__u32 ifindex, __u16 *domain, __u32 *vrf)
{
	__u32 bridge = 0, at = ifindex;
	struct link_kin link;
	int i, err;

	*domain = 0;
	*vrf = 0;
	for (i = 0; i < DOMAIN_DEPTH; i++) {
		err = link_kin_get(at, &link);
		if (err)
			return err;
		if (!strcmp(link.kind, "vrf")) {
			*vrf = at;
			*domain = domain_number(at);
			return 0;
		}
		if (!strcmp(link.kind, "bridge"))
			bridge = at;
		if (!link.master)
			break;
		at = link.master;
	}
	if (!bridge || bridge == ifindex)
		return 0;
	err = link_has_address(bridge);
	if (!err)
		*domain = domain_number(bridge);
	return err < 0 ? err : 0;
}

struct domains_ctx {
	const struct pins *pins;
	__u32 ports;   /* in another domain than 0 */
	__u32 vrf[64]; /* those in the map */
	unsigned int n;
};

static int domain_note(__u32 ifindex, const struct port *port, void *ctx)
{
	struct domains_ctx *c = ctx;
	__u32 vrf, value;
	__u16 domain;

	if (!port->domain)
		return 0;
	c->ports++;
	if (domain_get(ifindex, &domain, &vrf) || !vrf || c->n == sizeof(c->vrf) / sizeof(c->vrf[0]))
		return 0;
	value = domain;
	if (!bpf_map_update_elem(c->pins->domains, &vrf, &value, BPF_ANY))
		c->vrf[c->n++] = vrf;
	return 0;
}

static int domain_is_noted(const struct domains_ctx *c, __u32 vrf)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (c->vrf[i] == vrf)
			return 1;
	return 0;
}

void domains_apply(const struct pins *pins)
{
	struct domains_ctx c = { .pins = pins };
	__u32 vrf, next;
	int err = pins_each_port(pins, domain_note, &c), more;

	if (err) {
		msg("ports: reading the map: %s: sockets of VRFs are paced and not windowed until the next SIGHUP",
		    strerror(-err));
		return;
	}
	more = map_next(pins->domains, "domains", NULL, &next);
	while (more > 0) {
		vrf = next;
		more = map_next(pins->domains, "domains", &vrf, &next);
		if (!domain_is_noted(&c, vrf))
			map_remove(pins->domains, "domains", &vrf);
	}
	pins->ctl->domains = c.ports;
}
