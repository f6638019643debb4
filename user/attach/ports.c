// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interfaces: from their lines in the configuration to what is attached to them, and back.
 *
 *  1. Filters have one fixed handle and priority, so attaching replaces what an earlier daemon left, without a gap, and
 *     detaching removes nothing but ours.
 *  2. A host's routes to its peers get an MTU that leaves room for telemetry; the route protocol says that they are ours.
 *  3. The ports map is what survives: who made the clsact qdisc, and what is attached where.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include "attach/bpf_id.h"
#include "attach/dataplane_int.h"
#include "attach/filter.h"
#include "attach/ppfc_port.h"
#include "lib/net.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/wire.h"
#include "sluice.skel.h"

/* All that are ours. */
static int routes_remove(__u32 ifindex)
{
	char name[IFNAMSIZ] = "?";
	int err = route_remove_ours(ifindex, NULL, NULL);

	if (err >= 0)
		return 0;
	if_indextoname(ifindex, name);
	msg("%s: removing the routes with room for telemetry: %s: run 'ip route flush dev %s proto %u', and the same with ip -6", name,
	    strerror(-err), name, ROUTE_PROTO);
	return err;
}

/* --- routes: room for telemetry --- */

#define ROUTE_V6_MIN 1280 /* RFC 8200, section 5 */

static int peer_is_v4(const struct config_peer *p)
{
	return addr_is_v4(&p->key.addr) && p->key.prefixlen >= 96;
}

static unsigned int route_room(const struct config *c, const struct config_peer *p)
{
	unsigned int outer = peer_is_v4(p) ? 20 : 40;

	return (p->encoding == ENCODING_INT_MD ? INTMD_OVERHEAD_BYTES(outer) :
								WIRE_OVERHEAD_BYTES(outer)) +
	       (p->hiercc ? WIRE_VOQ_BYTES : 0) + (c->keys.n ? WIRE_AUTH_BYTES : 0);
}

/* IPv6 wants 1280 bytes of every path; at an MTU of 1500 that leaves room for INT-MD of two or three hops. */
static unsigned int route_fits(const struct config *c, const struct config_peer *p, unsigned int mtu)
{
	unsigned int fits = mtu - route_room(c, p);

	return !peer_is_v4(p) && fits < ROUTE_V6_MIN && mtu > ROUTE_V6_MIN ? ROUTE_V6_MIN : fits;
}

/* Has the route a larger MTU than leaves room for telemetry? Then r has that which does, and have what it had. */
static int route_shrinks(const struct config *c, const struct config_peer *p, const struct link_info *link,
			 struct route *r, unsigned int *have)
{
	unsigned int fits = route_fits(c, p, link->mtu);

	*have = r->mtu ?: link->mtu;
	if (*have <= fits)
		return 0;
	r->mtu = fits;
	return 1;
}

static const char *route_has_no_room(const struct config *c, const struct config_peer *p, const struct link_info *link,
				     unsigned int have, char *buf)
{
	char text[PREFIX_STRLEN];

	snprintf(buf, ROUTE_STRLEN, "the route to %s has MTU %u; telemetry needs %u bytes of %u",
		 prefix_format(&p->key, text), have, route_room(c, p), link->mtu);
	return buf;
}

int dataplane_route_refused(const struct config *c, const struct config_peer *p, const struct link_info *link,
			    struct route *r, char *why)
{
	unsigned int have;

	if (!r->exact || !route_shrinks(c, p, link, r, &have))
		return 0;
	route_has_no_room(c, p, link, have, why);
	return 1;
}

/* Packets go as the administrator's routes say again. Ours on another interface is for its own turn. */
static int route_withdraw(struct dataplane *dp, const struct link_info *link, const struct config_peer *p,
			  const struct route *ours, const char *why)
{
	char text[PREFIX_STRLEN], hop[ROUTE_STRLEN];
	int err;

	if (ours->ifindex != link->ifindex)
		return 0;
	prefix_format(&p->key, text);
	route_hop_format(ours, hop);
	err = route_remove(&p->key, ours->ifindex);
	if (err)
		msg_limited(&dp->route_limit, 60, "%s: removing the route to %s %s, for %s: %s", link->name, text, hop, why,
			    strerror(-err));
	else
		msg_info("%s: route to %s: %s mtu %u -> none, for %s", link->name, text, hop, ours->mtu, why);
	return err;
}

/* Our route is what it should be, or becomes so. have: the MTU without it. */
static int route_set(struct dataplane *dp, const struct link_info *link, const struct config_peer *p, const struct route *r,
		     const struct route *ours, unsigned int have)
{
	char text[PREFIX_STRLEN], was[ROUTE_STRLEN], is[ROUTE_STRLEN];
	int err;

	if (route_is_alike(r, ours))
		return 0;
	err = route_add(&p->key, r, !!ours->ifindex);
	prefix_format(&p->key, text);
	route_hop_format(r, is);
	if (err) {
		msg_limited(&dp->route_limit, 60, "%s: adding a route to %s with MTU %u: %s", link->name,
			    text, r->mtu, strerror(-err));
		route_withdraw(dp, link, p, ours, "it cannot follow the one that covers it");
		return err;
	}
	if (ours->ifindex && strcmp(route_hop_format(ours, was), is))
		msg_info("%s: route to %s: %s mtu %u -> %s mtu %u, as the one that covers it", link->name, text, was,
			 ours->mtu, is, r->mtu);
	else if (ours->mtu == r->mtu)
		msg_info("%s: route to %s: has the congctl, windows and the like that the one that covers it has now", link->name,
			 text);
	else
		msg_info("%s: route to %s: MTU %u -> %u, to leave room for telemetry", link->name, text,
			 ours->ifindex ? ours->mtu : have, r->mtu);
	return 0;
}

/*
 * The prefix has a route of ours, whose MTU leaves room, where and only where a wider one that does not covers it and
 * leaves by this interface. Both are looked at each time: the wider one is the administrator's to change.
 */
static int route_prepare(struct dataplane *dp, const struct link_info *link, const struct config *c,
			 const struct config_peer *p)
{
	char text[PREFIX_STRLEN], why[ROUTE_STRLEN], change[ROUTE_STRLEN], name[IFNAMSIZ] = "?";
	unsigned int have;
	struct route r, ours;
	int err = route_covering(&p->key, &r, &ours);

	if (err == -ENETUNREACH) {
		msg_limited(&dp->route_limit, 60,
			    "%s: no single route covers %s: none is added; where routes within it have an MTU above %u, large packets go without telemetry (tx_mtu)",
			    link->name, prefix_format(&p->key, text), route_fits(c, p, link->mtu));
		return route_withdraw(dp, link, p, &ours, "no single route covers it any more");
	}
	if (err) {
		msg("%s: reading the routes: %s", link->name, strerror(-err));
		return err;
	}
	if (r.ifindex != link->ifindex) {
		if_indextoname(r.ifindex, name);
		snprintf(why, sizeof(why), "the one that covers it leaves by %s", name);
		return route_withdraw(dp, link, p, &ours, why);
	}
	if (!route_shrinks(c, p, link, &r, &have))
		return route_withdraw(dp, link, p, &ours, "the one that covers it leaves room");
	if (!r.exact)
		return route_set(dp, link, p, &r, &ours, have);
	err = route_withdraw(dp, link, p, &ours, "there is another to exactly that prefix");
	msg_limited(&dp->route_limit, 60, "%s: %s: run 'ip route change %s'", link->name,
		    route_has_no_room(c, p, link, have, why), route_format(&p->key, &r, change));
	return err ?: -EMSGSIZE;
}

/* All of them: what one prefix lacks is no reason not to follow the routes of the others. The first error. */
static int routes_prepare(struct dataplane *dp, const struct link_info *link,
			  const struct config *c)
{
	unsigned int k;
	int err = 0, e;

	for (k = 0; k < c->peers_count; k++) {
		e = route_prepare(dp, link, c, &c->peers[k]);
		err = err ?: e;
	}
	return err;
}

static int route_is_wanted(const struct peer_key *prefix, const void *ctx)
{
	const struct config *c = ctx;
	unsigned int k;

	for (k = 0; k < c->peers_count; k++)
		if (!memcmp(prefix, &c->peers[k].key, sizeof(*prefix)))
			return 1;
	return 0;
}

/* --- ports --- */

/* The classes of a port are no more than n. */
static void classes_forget(struct dataplane *dp, __u32 ifindex, __u32 n)
{
	struct class_key key = { .ifindex = ifindex, .class = n };

	if (!n)
		map_remove(dp->pins.classes, "classes", &ifindex);
	for (; key.class < CLASSES_MAX; key.class ++)
		map_remove(dp->pins.class_queues, "class_queues", &key);
}

/* Tells the data plane of the classes of a port; a queue that is known keeps its state. */
static int classes_apply(struct dataplane *dp, const struct config_interface *i, __u32 ifindex,
			 const struct port *port)
{
	static const struct class_queue empty;
	struct port_classes v = { .netns_cookie = port->netns_cookie };
	struct class_key key = { .ifindex = ifindex };

	classes_forget(dp, ifindex, i->classes_count);
	if (!i->classes_count)
		return 0;
	config_classes_value(i, port->speed_bps, &v);
	for (; key.class < v.n; key.class ++) {
		if (bpf_map_update_elem(dp->pins.class_queues, &key, &empty, BPF_NOEXIST) && errno != EEXIST)
			return -errno;
	}
	return bpf_map_update_elem(dp->pins.classes, &ifindex, &v, BPF_ANY) ? -errno : 0;
}

/* Its programs, routes and what is known of it, but for its entry and clsact. */
static int port_take_off(struct dataplane *dp, __u32 ifindex, const struct port *port)
{
	int pauses = ppfc_port_forget(&dp->pins, ifindex), err, e;

	err = filter_remove(ifindex, BPF_TC_EGRESS);
	if (port->flags & PORT_F_HOST) {
		xdp_remove(ifindex, counters_id(&dp->pins));
		e = filter_remove(ifindex, BPF_TC_INGRESS);
		err = err ?: e;
		e = routes_remove(ifindex);
		err = err ?: e;
	}
	if (port->flags & PORT_F_VOQ_UP || (port->flags & PORT_F_SWITCH && pauses)) {
		e = filter_remove(ifindex, BPF_TC_INGRESS);
		err = err ?: e;
	}
	if (!err)
		classes_forget(dp, ifindex, 0);
	return err;
}

int port_remove(struct dataplane *dp, __u32 ifindex, const struct port *port)
{
	int err = port_take_off(dp, ifindex, port);

	if (!err && port->flags & PORT_F_OUR_CLSACT)
		err = clsact_remove(ifindex);
	if (!err)
		map_remove(dp->pins.ports, "ports", &ifindex);
	return err; /* it is still known, for another try */
}

/* Changes its entry; -errno with a message that ends in what follows from it. */
static int port_update(struct dataplane *dp, __u32 ifindex, const struct port *port, const char *effect)
{
	int err = bpf_map_update_elem(dp->pins.ports, &ifindex, port, BPF_EXIST) ? -errno : 0;

	if (err)
		msg("%s: the ports map: %s: %s", port->name, strerror(-err), effect);
	return err;
}

/*
 * As port_remove(), in the middle of traffic. A clsact that comes or goes takes what is being sent along: Linux deactivates the
 * device meanwhile (qdisc_graft(): of 60 times one or two packets each, at veth). So ours stays, empty, until the daemon ends,
 * or for the next time.
 */
static int port_vacate(struct dataplane *dp, __u32 ifindex, const struct port *port)
{
	struct port left = *port;
	int err;

	if (!(port->flags & PORT_F_OUR_CLSACT))
		return port_remove(dp, ifindex, port);
	err = port_take_off(dp, ifindex, port);
	if (err)
		return err;
	left.flags = PORT_F_OUR_CLSACT | PORT_F_LEFT;
	return port_update(dp, ifindex, &left, "it is detached, and still in the map until the next SIGHUP");
}

/*
 * Fills in a port from configuration and kernel; -errno with a message when it cannot be used. A driver tells no speed
 * while there is no link: the port keeps the one that it has.
 */
static int port_describe(const struct config *c, const struct config_interface *i,
			 const struct link_info *link, struct port *port)
{
	struct qdisc_info q;
	int err = qdisc_get(link->ifindex, &q);

	if (err) {
		msg("%s: reading the qdiscs: %s", i->name, strerror(-err));
		return err;
	}
	if (link->type != ARPHRD_ETHER) {
		msg("%s: is not an Ethernet device: name one that is", i->name);
		return -EOPNOTSUPP;
	}
	if (q.ingress) {
		msg("%s: has a qdisc 'ingress' where clsact has to be, which can do the same: 'tc qdisc del dev %s ingress', 'tc qdisc add dev %s clsact', and add its filters again",
		    i->name, i->name, i->name);
		return -EBUSY;
	}
	port->speed_bps = i->speed_bps ?: link->speed_bps ?: port->speed_bps;
	if (!port->speed_bps) {
		msg("%s: the driver does not know the speed: write 'speed: 25Gbit' for this interface",
		    i->name);
		return -EINVAL;
	}
	port->speed = telem_speed_fit(port->speed_bps);
	port->mtu = link->mtu;
	port->switch_id = i->id;
	port->flags = i->role | i->voqs;
	port->count_ns = config_count_ns(c);
	if (config_is_uplink(c, i->name)) {
		port->flags |= PORT_F_STAMP;
		port->switch_id = c->node.id;
	}
	memcpy(port->name, link->name, sizeof(port->name));
	memcpy(port->configured, i->configured, sizeof(port->configured));
	port->netns_cookie = link->netns_cookie;
	if (q.leaves && q.fq == q.leaves)
		port->flags |= PORT_F_EDT;
	if (i->classes_count)
		port->flags |= PORT_F_CLASSES;
	/* Below mq each queue has classes, and a backlog, of its own. */
	if (q.unreadable || ((i->classes_count || (i->role == PORT_F_SWITCH && i->pfc)) &&
			     (!strcmp(q.root, "mq") || !strcmp(q.root, "mqprio"))))
		port->flags |= PORT_F_NO_QUEUE;
	return 0;
}

/* by_nic: its NIC obeys pauses. */
static void port_advise(const struct config_interface *i, const struct port *port, int by_nic)
{
	struct link_info link;
	struct qdisc_info q;
	int err;

	err = link_get(i->name, &link) ?: qdisc_get(link.ifindex, &q);
	if (err) {
		msg("%s: reading the qdiscs: %s: whether they suit is not said", i->name, strerror(-err));
		return;
	}
	if (port->flags & PORT_F_CLASSES && port->flags & PORT_F_NO_QUEUE) {
		msg("%s: classes need one root qdisc with a queue for each, and it is %s: packets pass without its stamp; to mend: see 'A port with several queues' in docs/configuration.md",
		    i->name, q.root[0] ? q.root : "none as long as it is down");
		return;
	}
	if (i->role == PORT_F_HOST && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): departure times are not honoured there, TCP sockets pace themselves; to mend: tc qdisc replace dev %s root fq",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
	if (i->pfc && i->role == PORT_F_SWITCH && port->flags & PORT_F_NO_QUEUE) {
		msg("%s: pfc needs one root qdisc whose length can be read, and it is %s: what waits there is not counted, and its neighbour is not paused; to mend: tc qdisc replace dev %s root fq (or tbf, htb)",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
		return;
	}
	if (i->pfc && !by_nic && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): pauses of its neighbour are counted and hold nothing (pfc_unheld); to mend: tc qdisc replace dev %s root fq, or with fq below tbf or htb",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
	if (port->flags & PORT_F_VOQ_UP && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): VOQs are filled in there and hold nothing; to mend: tc qdisc replace dev %s root fq",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
	if (port->flags & (PORT_F_SWITCH | PORT_F_STAMP) && port->flags & PORT_F_NO_QUEUE)
		msg("%s: the queue of %s cannot be read: packets pass without its stamp; to mend: tc qdisc replace dev %s root fq (or tbf, htb)",
		    i->name, q.root, i->name);
}

/* What takes in what comes by a switch port; NULL: nothing has to. */
static struct bpf_program *switch_ingress(struct dataplane *dp, const struct config_interface *i)
{
	return i->voqs == PORT_F_VOQ_UP ? dp->of[SET_VOQS]->progs.tor :
	       i->pfc			? dp->of[SET_PFC]->progs.pfc :
					  NULL;
}

/* An interface on its way to being attached. */
struct port_plan {
	const struct config_interface *i;
	struct link_info link;
	struct port port, old; /* as it is to be, and as an earlier attachment left it */
	int had;	       /* it is attached already */
	int made;	       /* its clsact was made just now */
	int had_pauses;
};

/* What the interface is, and what of it is attached already. */
static int port_find(struct dataplane *dp, const struct config *c, struct port_plan *p)
{
	const struct config_interface *i = p->i;
	int err = link_get(i->name, &p->link);

	if (err) {
		msg("%s: no such interface: %s", i->name, strerror(-err));
		return err;
	}
	p->had = map_find(dp->pins.ports, "ports", &p->link.ifindex, &p->old);
	if (p->had < 0)
		return p->had;
	p->had = p->had && !(p->old.flags & PORT_F_LEFT);
	p->port.speed_bps = p->old.speed_bps;
	err = port_describe(c, i, &p->link, &p->port);
	if (err)
		return err;
	dp->known[i - c->interfaces].ifindex = p->link.ifindex;
	snprintf(dp->known[i - c->interfaces].name, IFNAMSIZ, "%s", i->name);
	if (p->had && (p->old.flags & (PORT_F_HOST | PORT_F_SWITCH | PORT_F_POD)) != i->role) {
		port_vacate(dp, p->link.ifindex, &p->old);
		p->had = 0;
	}
	return 0;
}

/* Routes of a host's interface to its peers, with room for telemetry, and no others of ours. */
static int port_routes(struct dataplane *dp, const struct config *c, struct port_plan *p)
{
	int err = routes_prepare(dp, &p->link, c), taken;

	/* Once attached, what finds no room is passed plainly, and the rest has to go on. */
	if (err && !p->had)
		return err;
	taken = p->had ? route_remove_ours(p->link.ifindex, route_is_wanted, c) : 0;
	if (taken < 0)
		msg("%s: removing routes of ours whose prefixes are no peers any more: %s: the next SIGHUP tries again",
		    p->i->name, strerror(-taken));
	if (taken > 0)
		msg_info("%s: routes of ours: %d removed, as their prefixes are no peers of the configuration any more",
			 p->i->name, taken);
	return 0;
}

/* Its entries in the maps, which the programs look at from their first packet on. */
static int port_maps(struct dataplane *dp, const struct config *c, struct port_plan *p)
{
	const struct config_interface *i = p->i;
	struct port *port = &p->port;
	struct pfc_port pauses;
	int err;

	port->backlog_bytes = p->old.backlog_bytes;
	port->tx_bytes = p->old.tx_bytes;
	port->unseen_bytes = p->old.unseen_bytes;
	port->count = p->old.count;
	err = classes_apply(dp, i, p->link.ifindex, port);
	if (err) {
		msg("%s: the maps of classes: %s", i->name, strerror(-err));
		return err;
	}
	if (bpf_map_update_elem(dp->pins.ports, &p->link.ifindex, port, BPF_ANY)) {
		err = -errno;
		msg("%s: the ports map: %s", i->name, strerror(-err));
		return err;
	}
	p->had_pauses = map_find(dp->pins.pfc_ports, "pfc_ports", &p->link.ifindex, &pauses) != 0;
	return ppfc_port_set(&dp->pins, c, i, &p->link, port);
}

/* Its filters. Ingress first: once egress asks peers whether they strip, so must we. */
static int port_programs(struct dataplane *dp, struct port_plan *p)
{
	__u32 ifindex = p->link.ifindex;
	struct bpf_program *in;
	struct sluice_bpf *s;
	int err = 0;

	if (p->i->role == PORT_F_HOST) {
		if (!p->had || p->old.flags & PORT_F_LEAVING)
			dp->pins.ctl->doubt_ns = now_ns();
		s = dp->of[SET_HOST];
		err = filter_set(ifindex, BPF_TC_INGRESS, bpf_program__fd(s->progs.ingress));
		if (!err)
			err = filter_set(ifindex, BPF_TC_EGRESS, bpf_program__fd(s->progs.egress));
	} else {
		s = dp->of[SET_SWITCH];
		in = switch_ingress(dp, p->i);
		if (in)
			err = filter_set(ifindex, BPF_TC_INGRESS, bpf_program__fd(in));
		else if (p->old.flags & PORT_F_VOQ_UP || p->had_pauses)
			filter_remove(ifindex, BPF_TC_INGRESS);
		if (!err)
			err = filter_set(ifindex, BPF_TC_EGRESS,
					 bpf_program__fd(s->rodata->qdisc_kfuncs ? s->progs.hop : s->progs.hop_map));
	}
	if (err)
		msg("%s: attaching the filter: %s", p->i->name, strerror(-err));
	return err;
}

/* Where a host's interface takes telemetry off: at XDP, where that can be had. */
static void port_xdp(struct dataplane *dp, const struct config *c, struct port_plan *p)
{
	p->port.flags |= xdp_apply(dp, c, p->i, &p->link, !p->had);
	if (bpf_map_update_elem(dp->pins.ports, &p->link.ifindex, &p->port, BPF_EXIST))
		msg("%s: the ports map: %s: sluicectl does not know where telemetry is taken off", p->i->name,
		    strerror(errno));
}

static int port_add(struct dataplane *dp, const struct config *c, const struct config_interface *i)
{
	struct port_plan p = { .i = i };
	int err = port_find(dp, c, &p);

	if (err)
		return err;
	if (i->role == PORT_F_HOST) {
		err = port_routes(dp, c, &p);
		if (err)
			goto remove;
	}
	err = clsact_make(p.link.ifindex, &p.made);
	if (err) {
		msg("%s: adding the clsact qdisc: %s", i->name, strerror(-err));
		goto remove;
	}
	if (p.made || p.old.flags & PORT_F_OUR_CLSACT)
		p.port.flags |= PORT_F_OUR_CLSACT;
	err = port_maps(dp, c, &p) ?: port_programs(dp, &p);
	if (err)
		goto remove;
	if (i->role == PORT_F_HOST)
		port_xdp(dp, c, &p);
	if ((!p.had || p.old.flags & PORT_F_LEAVING) && dp->running)
		msg_info("%s: attached, as the configuration has it: %s", i->name, port_role(&p.port));
	if (!p.had)
		port_advise(i, &p.port, ppfc_port_by_nic(&dp->pins, p.link.ifindex));
	return 0;
remove:
	if (!p.had) {
		if (p.made || p.old.flags & PORT_F_OUR_CLSACT)
			p.port.flags |= PORT_F_OUR_CLSACT;
		port_remove(dp, p.link.ifindex, &p.port);
	}
	return err;
}

/* --- all of them --- */

/* The name that an interface had; NULL: it was none of the configuration. */
static const char *port_known(const struct dataplane *dp, __u32 ifindex)
{
	unsigned int k;

	for (k = 0; k < CONFIG_INTERFACES; k++)
		if (dp->known[k].ifindex == ifindex)
			return dp->known[k].name;
	return NULL;
}

struct drop_ctx {
	struct dataplane *dp;
	const struct config *c; /* NULL: drop all */
	int err;		/* of the first that could not be taken off */
};

/* --- that leave --- */

/*
 * With the next epoch egress passes what leaves there as it is, so that flows know that nothing governs them, and ingress,
 * which strips on, answers nothing: who sends there finds us silent in a moment, and ports_leave() takes the rest.
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
		msg("ports: reading the map: %s: whether an interface leaves is looked at with the next SIGHUP", strerror(-err));
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
		msg_info("%s: %s -> detached, as the configuration has it no more", name, port_role(port));
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

/* What could not be taken off stays, strips on, and is tried again with the next reload. */
void ports_leave(struct dataplane *dp)
{
	int err = pins_each_port(&dp->pins, port_leave, dp);

	if (err)
		msg("ports: reading the map: %s: interfaces that leave stay until the next SIGHUP", strerror(-err));
	ports_count_leaving(dp);
}

/* --- that go --- */

static int port_drop(__u32 ifindex, const struct port *port, void *ctx)
{
	struct drop_ctx *d = ctx;
	const char *known = port_known(d->dp, ifindex);
	char name[IFNAMSIZ] = "";
	unsigned int k;
	int err;

	if (port->flags & PORT_F_POD && d->c && d->c->node.uplink)
		return 0; /* pods_follow() */
	if (!if_indextoname(ifindex, name)) {
		msg_info("%s%sinterface %u went away: forgotten", known ?: "", known ? ": " : "", ifindex);
		xdp_forget(ifindex, counters_id(&d->dp->pins));
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
		msg("ports: reading the map: %s: interfaces that the configuration does not have any more stay attached", strerror(-err));
	ports_count_leaving(dp);
	return err ?: d.err;
}

/* --- that have another name --- */

struct name_ctx {
	const char *configured;
	char name[IFNAMSIZ]; /* what the interface is called now; "": there is none */
	__u32 ifindex;
};

/*
 * By its number an interface is the same, whatever it is called; a number that was given away again has no filter of
 * ours.
 */
static int port_is_named(__u32 ifindex, const struct port *port, void *ctx)
{
	struct name_ctx *n = ctx;

	if (!(port->flags & (PORT_F_POD | PORT_F_LEAVING | PORT_F_LEFT)) && !strcmp(port->configured, n->configured) &&
	    filter_is_set(ifindex, BPF_TC_EGRESS) && if_indextoname(ifindex, n->name))
		n->ifindex = ifindex;
	return 0;
}

static int name_is_configured(const struct config *c, const char *name)
{
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (!strcmp(c->interfaces[k].configured, name))
			return 1;
	return 0;
}

void ports_name(struct dataplane *dp, struct config *c, int anew)
{
	const char *name;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++) {
		struct config_interface *i = &c->interfaces[k];
		struct name_ctx n = { .configured = i->configured };
		int err = 0;

		if (!anew || !if_nametoindex(i->configured))
			err = pins_each_port(&dp->pins, port_is_named, &n);
		if (err)
			msg("%s: the ports map: %s: whether it has another name now is not known", i->configured, strerror(-err));
		/* The configuration speaks of that one by its new name already, or of another that had it. */
		name = !n.ifindex || name_is_configured(c, n.name) ? i->configured : n.name;
		if (!strcmp(i->name, name) || config_interface_rename(c, i, name))
			continue;
		if (strcmp(name, i->configured))
			msg("%s: is called %s now, and stays what it is: write %s in the configuration and send SIGHUP; with the next SIGHUP or start an interface that is called %s comes first",
			    i->configured, name, name, i->configured);
		else
			msg_info("%s: is the name in the configuration of an interface again", name);
	}
}

int ports_apply(struct dataplane *dp, const struct config *c, int must_exist)
{
	int err, failed = 0;
	unsigned int k;

	/* Before the first port stamps, and until the last one is gone. */
	err = tracepoints_apply(dp, c, 1);
	if (err)
		return err;
	for (k = 0; k < c->interfaces_count; k++) {
		err = port_add(dp, c, &c->interfaces[k]);
		if (err == -ENODEV && !must_exist)
			msg("%s: attached as soon as it is there", c->interfaces[k].name);
		else if (err && !dp->running)
			return err;
		else if (err)
			failed = err;
	}
	err = ports_drop(dp, c) ?: tracepoints_apply(dp, c, 0);
	return err ?: failed;
}

int ports_check(const struct dataplane *dp, const struct config *c)
{
	struct link_info link;
	unsigned int k;
	int err = 0;

	for (k = 0; !err && k < c->interfaces_count; k++) {
		struct port port = {};

		err = link_get(c->interfaces[k].name, &link);
		if (err == -ENODEV) {
			err = 0; /* it is attached as soon as it is there */
			continue;
		}
		if (err)
			msg("%s: looking at the interface: %s", c->interfaces[k].name, strerror(-err));
		else if (map_find(dp->pins.ports, "ports", &link.ifindex, &port) < 0)
			err = -EIO;
		else
			err = port_describe(c, &c->interfaces[k], &link, &port);
	}
	return err;
}

void routes_follow(struct dataplane *dp, const struct config *c)
{
	struct link_info link;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (c->interfaces[k].role == PORT_F_HOST && !link_get(c->interfaces[k].name, &link))
			routes_prepare(dp, &link, c);
}

int ports_follow(struct dataplane *dp, const struct config *c, const struct between *between)
{
	struct link_info link;
	struct port port, now;
	unsigned int k;
	int changed = 0, found;

	ports_drop(dp, c);
	for (k = 0; k < c->interfaces_count; k++) {
		const struct config_interface *i = &c->interfaces[k];

		between->fn(between->ctx);
		if (link_get(i->name, &link))
			continue;
		found = map_find(dp->pins.ports, "ports", &link.ifindex, &port);
		if (found < 0)
			continue;
		if (!found) {
			msg_info("%s: is there again", i->name);
			port_add(dp, c, i);
			changed = 1;
			continue;
		}
		now = port;
		if (port_describe(c, i, &link, &now))
			continue;
		now.flags |= port.flags & (PORT_F_OUR_CLSACT | PORT_F_XDP | PORT_F_XDP_GENERIC | PORT_F_XDP_TX);
		if (now.flags == port.flags && now.mtu == port.mtu && now.speed_bps == port.speed_bps &&
		    !strcmp(now.name, port.name) && !strcmp(now.configured, port.configured) &&
		    ppfc_port_follows(&dp->pins, link.ifindex, link.up))
			continue;
		if ((now.flags ^ port.flags) & PORT_F_EDT)
			msg_info("%s: departure times: %s (the qdisc changed)", i->name,
				 now.flags & PORT_F_EDT ? "off -> on" : "on -> off");
		if (now.mtu != port.mtu)
			msg_info("%s: MTU: %u -> %u, by the interface: routes to peers go by it", i->name, port.mtu, now.mtu);
		if (now.speed_bps != port.speed_bps)
			msg_info("%s: speed: %.0f -> %.0f Mbit/s, by the driver: first windows and R go by it", i->name,
				 port.speed_bps / 1e6, now.speed_bps / 1e6);
		if ((now.flags ^ port.flags) & PORT_F_NO_QUEUE && now.flags & (PORT_F_SWITCH | PORT_F_STAMP))
			msg_info("%s: queue: %s (the qdisc changed)", i->name, now.flags & PORT_F_NO_QUEUE ?
				 "read -> cannot be read: packets pass without its stamp" : "could not be read -> read");
		port_add(dp, c, i);
		changed = 1;
	}
	return changed;
}
