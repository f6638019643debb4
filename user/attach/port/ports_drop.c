// SPDX-License-Identifier: GPL-2.0-only
/* Interfaces that are no longer configured, and those that went away. */
#include <net/if.h>
#include <string.h>
#include "attach/hook/tcx.h"
#include "attach/hook/xdp.h"
#include "attach/port/port.h"
#include "attach/port/ports_drop.h"
#include "attach/port/ppfc_port.h"
#include "attach/prog/bpf_id.h"
#include "attach/state/state.h"
#include "lib/maps.h"

/* The configured name of an interface; NULL: it was not configured. */
static const char *port_known(const struct dataplane *dp, __u32 ifindex)
{
	unsigned int k;

	for (k = 0; k < CONFIG_INTERFACES; k++)
		if (dp->port.known[k].ifindex == ifindex)
			return dp->port.known[k].name;
	return NULL;
}

struct drop_ctx {
	struct dataplane *dp;
	const struct config *c; /* NULL: drop all */
	int err;		/* the first error of a detach */
};

/* --- leaving --- */

/*
 * From the next epoch egress passes packets there unchanged, so that flows know that nothing governs them, and ingress,
 * which continues to strip, answers nothing: peers that send there soon find us silent, and ports_leave() removes the
 * rest.
 */
static int port_begin_to_leave(struct dataplane *dp, __u32 ifindex, const struct port *port)
{
	struct port leaving = *port;

	leaving.flags |= PORT_F_LEAVING;
	return port_update(dp, ifindex, &leaving, "it stays attached until the next SIGHUP");
}

static int port_count_leaving(__u32 ifindex, const struct port *port, void *ctx)
{
	(void)ifindex;
	*(__u32 *)ctx += !!(port->flags & PORT_F_LEAVING);
	return 0;
}

static void ports_count_leaving(struct dataplane *dp)
{
	int err;
	__u32 n = 0;

	err = pins_each_port(&dp->pins, port_count_leaving, &n);
	if (err) {
		msg("ports: reading the map: %s: the next SIGHUP looks for interfaces that leave", strerror(-err));
		return;
	}
	dp->pins.ctl->ports_leaving = n;
}

static int port_detach(struct dataplane *dp, __u32 ifindex, const struct port *port, const char *name)
{
	int err;

	if (port->flags & PORT_F_POD)
		return port_remove(dp, ifindex, port);
	err = port_vacate(dp, ifindex, port);
	if (!err)
		msg_info("%s: %s -> detached: no longer in the configuration", name, port_role(port));
	return err;
}

static int port_leave(__u32 ifindex, const struct port *port, void *ctx)
{
	struct dataplane *dp = ctx;
	char name[IFNAMSIZ];

	if (port->flags & PORT_F_LEAVING)
		port_detach(dp, ifindex, port, if_indextoname(ifindex, name) ?: port->name);
	return 0;
}

void ports_leave(struct dataplane *dp)
{
	int err = pins_each_port(&dp->pins, port_leave, dp);

	if (err)
		msg("ports: reading the map: %s: interfaces that leave stay until the next SIGHUP", strerror(-err));
	ports_count_leaving(dp);
}

/* --- removal --- */

static int port_drop(__u32 ifindex, const struct port *port, void *ctx)
{
	struct drop_ctx *d = ctx;
	const char *known = port_known(d->dp, ifindex);
	char name[IFNAMSIZ] = "";
	unsigned int k;
	int err;

	if (port->flags & PORT_F_POD && d->c && d->c->node.uplink)
		return 0; /* pods_follow() handles it */
	if (!if_indextoname(ifindex, name)) {
		msg_info("%s%sinterface %u went away: forgotten", known ?: "", known ? ": " : "", ifindex);
		xdp_forget(ifindex, counters_id(&d->dp->pins));
		tcx_remove(d->dp->pin.dir, ifindex, BPF_TC_EGRESS);
		tcx_remove(d->dp->pin.dir, ifindex, BPF_TC_INGRESS);
		map_remove(d->dp->pins.ports, "ports", &ifindex);
		classes_forget(d->dp, ifindex, 0);
		ppfc_port_forget(&d->dp->pins, ifindex);
		return 0;
	}
	for (k = 0; d->c && k < d->c->interfaces_count; k++)
		if (!strcmp(name, d->c->interfaces[k].name))
			return 0;
	if (!d->c)
		err = port_remove(d->dp, ifindex, port);
	else if (port->flags & PORT_F_LEFT)
		err = 0;
	else if (!(port->flags & PORT_F_HOST))
		err = port_detach(d->dp, ifindex, port, name);
	else
		err = port_begin_to_leave(d->dp, ifindex, port);
	d->err = d->err ?: err;
	return 0;
}

int ports_drop(struct dataplane *dp, const struct config *c)
{
	struct drop_ctx d = { .dp = dp, .c = c };
	int err = pins_each_port(&dp->pins, port_drop, &d);

	if (err)
		msg("ports: reading the map: %s: interfaces that are no longer in the configuration stay attached",
		    strerror(-err));
	ports_count_leaving(dp);
	return err ?: d.err;
}
