// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interfaces: from their lines in the configuration to their attached programs, and back.
 *
 *  1. Filters have one fixed handle and priority, so attaching replaces an earlier daemon's filters, without a gap, and
 *     detaching removes only ours.
 *  2. A host's routes to its peers get an MTU that leaves room for telemetry; the route protocol marks them as ours.
 *  3. The ports map survives: it records who made the clsact qdisc, and what is attached where and how.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include "attach/hook/filter.h"
#include "attach/net/domain.h"
#include "attach/port/port.h"
#include "attach/port/port_describe.h"
#include "attach/port/ports.h"
#include "attach/port/ports_drop.h"
#include "attach/port/ppfc_port.h"
#include "attach/port/watch.h"
#include "attach/prog/tracepoints.h"
#include "attach/qdisc/queue_apply.h"
#include "attach/state/between.h"
#include "attach/state/state.h"
#include "lib/maps.h"
#include "lib/net.h"
#include "lib/qdisc.h"

/* --- renamed --- */

/* The attached interfaces, with their names in the configuration that attached them. */
struct names {
	struct {
		__u32 ifindex;
		char configured[IFNAMSIZ];
	} of[CONFIG_INTERFACES];
	unsigned int n;
};

static int name_note(__u32 ifindex, const struct port *port, void *ctx)
{
	struct names *names = ctx;

	if (port->flags & (PORT_F_POD | PORT_F_LEAVING | PORT_F_LEFT) || names->n == CONFIG_INTERFACES)
		return 0;
	names->of[names->n].ifindex = ifindex;
	memcpy(names->of[names->n++].configured, port->configured, IFNAMSIZ);
	return 0;
}

/*
 * The current name of the interface that was attached for this one of the configuration; NULL: there is none. The ifindex
 * identifies an interface, whatever its name; a reused ifindex has no filter of ours.
 */
static const char *name_now(const struct names *names, const char *pin_dir, const char *configured, char buf[IFNAMSIZ])
{
	__u32 prog_id;
	unsigned int k;

	for (k = 0; k < names->n; k++)
		if (!strcmp(names->of[k].configured, configured) &&
		    !filter_find(pin_dir, names->of[k].ifindex, BPF_TC_EGRESS, &prog_id) &&
		    if_indextoname(names->of[k].ifindex, buf))
			return buf;
	return NULL;
}

static int name_is_configured(const struct config *c, const char *name)
{
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (!strcmp(c->interfaces[k].configured, name))
			return 1;
	return 0;
}

/* Another interface of the configuration has this device. */
static int device_is_taken(const struct config *c, const struct config_interface *i, const char *name)
{
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (&c->interfaces[k] != i && !strcmp(c->interfaces[k].name, name))
			return 1;
	return 0;
}

void ports_name(struct dataplane *dp, struct config *c, int anew)
{
	struct names names = {};
	int err = pins_each_port(&dp->pins, name_note, &names);
	char device[IFNAMSIZ], now[IFNAMSIZ];
	const char *name;
	unsigned int k;

	if (err)
		msg("ports: reading the map: %s: interfaces may have other names now", strerror(-err));
	for (k = 0; k < c->interfaces_count; k++) {
		struct config_interface *i = &c->interfaces[k];

		if (i->pattern) /* its name decides: it takes the entry of the next one */
			continue;
		name = NULL;
		if (!anew || !if_nametoindex(i->configured))
			name = name_now(&names, dp->pin.dir, i->configured, now);
		/* The configuration already has that one's new name, or the old name belongs to another interface. */
		if (!name || name_is_configured(c, name))
			name = config_device_name(i->configured, device);
		if (!strcmp(i->name, name) || device_is_taken(c, i, name) || config_interface_rename(c, i, name))
			continue;
		if (strcmp(name, config_device_name(i->configured, device)))
			msg("%s: is now called %s, and keeps its role: write %s in the configuration and send SIGHUP; with the next SIGHUP or start an interface called %s comes first",
			    i->configured, name, name, i->configured);
		else
			msg_info("%s: is the name in the configuration of an interface again", name);
	}
}

/* --- all of them --- */

/* Attaches each. A start ends at the first error; a reload goes on, and returns the last. */
static int ports_add(struct dataplane *dp, const struct config *c, int must_exist)
{
	unsigned int k, waiting = 0, first = 0;
	int err, failed = 0;

	for (k = 0; k < c->interfaces_count; k++) {
		err = port_add(dp, c, &c->interfaces[k]);
		if (err == -ENODEV && c->interfaces[k].pattern)
			first = waiting++ ? first : k;
		else if (err == -ENODEV && !must_exist)
			msg("%s: will be attached as soon as it exists", c->interfaces[k].name);
		else if (err && !dp->prog.running)
			return err;
		else if (err)
			failed = err;
	}
	if (waiting)
		msg("interfaces: %u that match a pattern have no speed yet (%s%s): they are attached when the driver reports one; for those that never do write 'speed'",
		    waiting, c->interfaces[first].name, waiting > 1 ? " ..." : "");
	return failed;
}

int ports_apply(struct dataplane *dp, const struct config *c, int must_exist)
{
	int err, failed;

	/* Before the first port stamps, and until the last one is gone. */
	err = tracepoints_apply(&dp->prog, c, 1);
	if (err)
		return err;
	qdiscs_hold();
	failed = queues_apply(&dp->qdisc, c);
	if (!failed || dp->prog.running)
		failed = ports_add(dp, c, must_exist) ?: failed;
	qdiscs_release();
	if (failed && !dp->prog.running)
		return failed;
	err = ports_drop(dp, c) ?: tracepoints_apply(&dp->prog, c, 0);
	domains_apply(&dp->pins);
	return err ?: failed;
}

/* One that is not there, or has no speed yet, is attached as soon as it is, or has. */
static int port_check(const struct dataplane *dp, const struct config *c, const struct config_interface *i)
{
	struct port port = {};
	struct link_info link;
	int err = link_get(i->name, &link);

	if (err == -ENODEV)
		return 0;
	if (err) {
		msg("%s: looking at the interface: %s", i->name, strerror(-err));
		return err;
	}
	if (map_find(dp->pins.ports, "ports", &link.ifindex, &port) < 0)
		return -EIO;
	err = port_describe(c, i, &link, &port);
	return err == -ENODEV ? 0 : err;
}

int ports_check(const struct dataplane *dp, const struct config *c)
{
	unsigned int k;
	int err = 0, e;

	qdiscs_hold();
	for (k = 0; k < c->interfaces_count; k++) {
		e = port_check(dp, c, &c->interfaces[k]);
		err = err ?: e;
	}
	qdiscs_release();
	return err;
}

static void port_change_say(const struct config_interface *i, const struct port *was, const struct port *now)
{
	if (i->pattern && strcmp(now->name, was->name))
		msg_info("%s: was called %s, and matches '%s'", i->name, was->name, i->pattern);
	if ((now->flags ^ was->flags) & PORT_F_EDT)
		msg_info("%s: departure times: %s (the qdisc changed)", i->name,
			 now->flags & PORT_F_EDT ? "off -> on" : "on -> off");
	if (now->domain != was->domain)
		msg_info("%s: domain: %u -> %u, by its VRF or bridge: its flows begin again", i->name, was->domain,
			 now->domain);
	if (now->mtu != was->mtu)
		msg_info("%s: MTU: %u -> %u, by the interface: routes to peers follow it", i->name, was->mtu, now->mtu);
	if (now->speed_bps != was->speed_bps)
		msg_info(
			"%s: speed: %.6g -> %.6g Mbit/s, by the driver or the shaper at its root: first windows and R follow it",
			i->name, was->speed_bps / 1e6, now->speed_bps / 1e6);
	if ((now->flags ^ was->flags) & PORT_F_NO_QUEUE && now->flags & (PORT_F_SWITCH | PORT_F_STAMP))
		msg_info("%s: queue: %s (the qdisc changed)", i->name,
			 now->flags & PORT_F_NO_QUEUE ? "read -> cannot be read: packets pass without its stamp" :
							"could not be read -> read");
}

/* One that is not attached: it appeared, or has a speed now. Returns whether it is attached. */
static int port_appeared(struct dataplane *dp, const struct config *c, const struct config_interface *i,
			 const struct link_info *link)
{
	struct port port = {};

	if (port_describe(c, i, link, &port))
		return 0;
	if (!i->pattern)
		msg_info("%s: reappeared", i->name);
	return !port_add(dp, c, i);
}

/* Returns whether its port has changed. */
static int port_follow(struct dataplane *dp, const struct config *c, unsigned int k)
{
	const struct config_interface *i = &c->interfaces[k];
	struct link_info link;
	struct port port, now;
	char device[IFNAMSIZ];
	int found;

	if (link_get(i->name, &link))
		return 0;
	if (strcmp(config_device_name(i->name, device), i->name)) {
		msg_limited(&dp->port.limit, 60,
			    "%s: is a name of %s by now, which has its own role: leave one of them out", i->name,
			    device);
		return 0;
	}
	found = map_find(dp->pins.ports, "ports", &link.ifindex, &port);
	if (found <= 0)
		return found < 0 ? 0 : port_appeared(dp, c, i, &link);
	if (!(port.flags & (PORT_F_TCX | PORT_F_LEFT)))
		port_before_watch(dp, k, &port);
	now = port;
	if (port_describe(c, i, &link, &now))
		return 0;
	now.flags |= port.flags & (PORT_F_OUR_CLSACT | PORT_F_TCX | PORT_F_XDP | PORT_F_XDP_GENERIC | PORT_F_XDP_TX);
	if (now.flags == port.flags && now.mtu == port.mtu && now.speed_bps == port.speed_bps &&
	    now.domain == port.domain && !strcmp(now.name, port.name) && !strcmp(now.configured, port.configured) &&
	    ppfc_port_follows(&dp->pins, link.ifindex, link.up) && !port_is_touched(dp, link.ifindex, &port))
		return 0;
	port_change_say(i, &port, &now);
	port_add(dp, c, i);
	return 1;
}

int ports_follow(struct dataplane *dp, const struct config *c, const struct between *between)
{
	unsigned int k;
	int changed = 0;

	ports_drop(dp, c);
	qdiscs_hold();
	queues_follow(&dp->qdisc, c);
	for (k = 0; k < c->interfaces_count; k++) {
		between->fn(between->ctx);
		changed |= port_follow(dp, c, k);
	}
	qdiscs_release();
	if (changed || dp->pins.ctl->domains)
		domains_apply(&dp->pins);
	return changed;
}
