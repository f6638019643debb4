// SPDX-License-Identifier: GPL-2.0-only
/* An interface according to configuration and kernel, and advice on its qdiscs. */
#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include "attach/hook/tcx.h"
#include "attach/net/domain.h"
#include "attach/net/routes.h"
#include "attach/port/port_describe.h"
#include "attach/qdisc/advice.h"
#include "lib/net.h"

__u64 port_speed(const struct config_interface *i, const struct link_info *link, const struct qdisc_info *q,
		 __u64 known_bps)
{
	__u64 bps = link->speed_bps ?: known_bps;

	if (i->speed_bps)
		return i->speed_bps;
	if (i->rate_bps)
		return i->rate_bps;
	if (!link->speed_bps && q->shaper_bps) /* what is known may be the shaper's earlier rate */
		return q->shaper_bps;
	return q->shaper_bps && (!bps || q->shaper_bps < bps) ? q->shaper_bps : bps;
}

int interface_takes_tcx(const struct config_interface *i)
{
	return i->attach == CONFIG_ATTACH_AUTO && kernel_has_tcx();
}

/* Whether an interface cannot be used as it is, and why. -ENODEV: not yet, which is no reason to refuse it. */
static int port_refused(const struct config_interface *i, const struct link_info *link, const struct qdisc_info *q,
			__u64 speed_bps, char *why)
{
	if (link->type != ARPHRD_ETHER) {
		snprintf(why, REFUSAL_STRLEN, "is not an Ethernet device: name one that is");
		return -EOPNOTSUPP;
	}
	if (q->ingress && !interface_takes_tcx(i)) {
		snprintf(
			why, REFUSAL_STRLEN,
			"has a qdisc 'ingress' where clsact has to be, and %s; clsact can do the same: 'tc qdisc del dev %s ingress', 'tc qdisc add dev %s clsact', and add its filters again",
			kernel_has_tcx() ? "'attach: clsact' rules out tcx" : "this kernel has no tcx (Linux 6.6 has)",
			i->name, i->name);
		return -EBUSY;
	}
	if (!speed_bps && i->pattern) /* of many ports some have no cable yet */
		return -ENODEV;
	if (!speed_bps) {
		snprintf(why, REFUSAL_STRLEN,
			 "the driver does not know the speed: write 'speed: 25Gbit' for this interface");
		return -EINVAL;
	}
	return 0;
}

int dataplane_interface_refused(const struct config_interface *i, char *why)
{
	struct link_info link;
	struct qdisc_info q;
	int err = link_get(i->name, &link) ?: qdisc_get(link.ifindex, &q);

	if (!err)
		return port_refused(i, &link, &q, port_speed(i, &link, &q, 0), why);
	snprintf(why, REFUSAL_STRLEN, "looking at the interface: %s", strerror(-err));
	return err;
}

int port_describe(const struct config *c, const struct config_interface *i, const struct link_info *link,
		  struct port *port)
{
	char why[REFUSAL_STRLEN];
	struct qdisc_info q;
	int err = qdisc_get(link->ifindex, &q);
	__u32 vrf;

	if (err) {
		msg("%s: reading the qdiscs: %s", i->name, strerror(-err));
		return err;
	}
	err = kernel_tcx();
	if (err < 0) {
		msg("%s: reading whether this kernel has tcx: %s", i->name, strerror(-err));
		return err;
	}
	port->speed_bps = port_speed(i, link, &q, port->speed_bps);
	err = port_refused(i, link, &q, port->speed_bps, why);
	if (err && err != -ENODEV)
		msg("%s: %s", i->name, why);
	if (err)
		return err;
	if (i->role == PORT_F_HOST) {
		err = domain_get(link->ifindex, &port->domain, &vrf);
		if (err)
			msg("%s: looking for its VRF or bridge: %s: its flows are in domain 0", i->name,
			    strerror(-err));
	}
	port->speed = telem_speed_fit(port->speed_bps);
	port->mtu = link->mtu;
	port->switch_id = i->id;
	port->ecn_bytes = i->ecn_bytes;
	port->flags = i->role | i->voqs;
	port->count_ns = config_count_ns(c);
	if (config_is_uplink(c, i->name)) {
		port->flags |= PORT_F_STAMP;
		port->switch_id = c->node.id;
	}
	memcpy(port->name, link->name, sizeof(port->name));
	memcpy(port->configured, i->configured, sizeof(port->configured));
	port->netns_cookie = link->netns_cookie;
	if (interface_takes_tcx(i))
		port->flags |= PORT_F_TCX;
	/* The qdisc `sluice` with classes has no departure times; it obeys pauses all the same. */
	if (!link_lacks_times(link->ifindex, &q) && !(i->classes_count && i->queue == CONFIG_QUEUE_SLUICE))
		port->flags |= PORT_F_EDT;
	else if (link_may_keep_times(link->ifindex, &q))
		port->flags |= PORT_F_EDT_MAYBE;
	if (q.leaves && q.ours == q.leaves)
		port->flags |= PORT_F_QUEUE;
	if (i->classes_count)
		port->flags |= PORT_F_CLASSES;
	/* Below mq each queue has its own classes and backlog. */
	if (q.unreadable || ((i->classes_count || (i->role == PORT_F_SWITCH && i->pfc)) &&
			     (!strcmp(q.root, "mq") || !strcmp(q.root, "mqprio"))))
		port->flags |= PORT_F_NO_QUEUE;
	return 0;
}

/* A speed that is not the interface's own is worth a line: queue and rate are judged by it. */
static void port_advise_speed(const struct config_interface *i, const struct port *port, const struct link_info *link,
			      const struct qdisc_info *q)
{
	if (!q->shaper_bps)
		return;
	if (!i->speed_bps && port->speed_bps == q->shaper_bps)
		msg_info("%s: speed %.6g Mbit/s, by the %s at its root; the driver says %.6g", i->name,
			 port->speed_bps / 1e6, q->root, link->speed_bps / 1e6);
	if (i->speed_bps > q->shaper_bps)
		msg("%s: speed is %.6g Mbit/s in the configuration, and the %s at its root sends no more than %.6g: its queue is not kept low; leave 'speed' out, or write the shaper's rate",
		    i->name, i->speed_bps / 1e6, q->root, q->shaper_bps / 1e6);
}

void port_advise(const struct config_interface *i, const struct port *port, int by_nic)
{
	const char *unmarked = i->ecn_bytes ? ", and get no ECN marks" : "";
	struct advice times, length;
	struct link_info link;
	struct qdisc_info q;
	int err;

	err = link_get(i->name, &link) ?: qdisc_get(link.ifindex, &q);
	if (err) {
		msg("%s: reading the qdiscs: %s: they are not checked", i->name, strerror(-err));
		return;
	}
	port_advise_speed(i, port, &link, &q);
	advice_get(ADVICE_TIMES, i->name, &times);
	advice_get(ADVICE_LENGTH, i->name, &length);
	if (port->flags & PORT_F_CLASSES && port->flags & PORT_F_NO_QUEUE) {
		msg("%s: classes need one root qdisc with a queue for each, and it is %s: packets pass without its stamp%s; to fix: see 'A port with several queues' in docs/configuration.md",
		    i->name, q.root[0] ? q.root : "none as long as it is down", unmarked);
		return;
	}
	if (i->role == PORT_F_HOST && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): departure times are not honoured there, TCP sockets pace themselves; to fix: %s",
		    i->name, q.root[0] ? q.root : "none as long as it is down", times.text);
	if (i->pfc && i->role == PORT_F_SWITCH && port->flags & PORT_F_NO_QUEUE) {
		msg("%s: pfc needs one root qdisc whose length can be read, and it is %s: what waits there is not counted, and its neighbour is not paused; to fix: %s (or tbf, htb)",
		    i->name, q.root[0] ? q.root : "none as long as it is down", length.text);
		return;
	}
	if (i->pfc && !by_nic && !(port->flags & (PORT_F_EDT | PORT_F_QUEUE)))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): pauses of its neighbour are counted and hold nothing (pfc_unheld); to fix: %s",
		    i->name, q.root[0] ? q.root : "none as long as it is down", times.text);
	if (port->flags & PORT_F_VOQ_UP && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): VOQs are filled in there and hold nothing; to fix: %s",
		    i->name, q.root[0] ? q.root : "none as long as it is down", times.text);
	if (!(port->flags & (PORT_F_SWITCH | PORT_F_STAMP)) || !(port->flags & PORT_F_NO_QUEUE))
		return;
	if (q.leaves > PORT_QUEUES_MAX)
		msg("%s: %u transmit queues below %s, of which %u at most can be read for every packet: packets pass without its stamp%s; to fix: ethtool -L %s combined %u, or one root qdisc",
		    i->name, q.leaves, q.root, PORT_QUEUES_MAX, unmarked, i->name, PORT_QUEUES_MAX);
	else
		msg("%s: the queue of %s cannot be read: packets pass without its stamp%s; to fix: %s (or tbf, htb)",
		    i->name, q.root, unmarked, length.text);
}
