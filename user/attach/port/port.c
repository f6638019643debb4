// SPDX-License-Identifier: GPL-2.0-only
/* One interface: its attached programs and its state, and its end. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include "attach/hook/attached.h"
#include "attach/hook/filter.h"
#include "attach/hook/xdp.h"
#include "attach/net/routes.h"
#include "attach/port/port.h"
#include "attach/port/port_describe.h"
#include "attach/port/ppfc_port.h"
#include "attach/prog/bpf_id.h"
#include "attach/prog/prog_room.h"
#include "attach/state/state.h"
#include "lib/maps.h"
#include "lib/net.h"
#include "lib/route.h"
#include "sluice.skel.h"

/* --- its classes --- */

void classes_forget(struct dataplane *dp, __u32 ifindex, __u32 n)
{
	struct class_key key = { .ifindex = ifindex, .class = n };

	if (!n)
		map_remove(dp->pins.classes, "classes", &ifindex);
	for (; key.class < CLASSES_MAX; key.class ++)
		map_remove(dp->pins.class_queues, "class_queues", &key);
}

/*
 * Passes the classes of a port to the data plane; a known queue keeps its state. The qdisc `sluice` has the queues of its
 * classes itself.
 */
static int classes_apply(struct dataplane *dp, const struct config_interface *i, __u32 ifindex, const struct port *port)
{
	static const struct class_queue empty;
	struct port_classes v = { .netns_cookie = port->netns_cookie };
	struct class_key key = { .ifindex = ifindex };

	classes_forget(dp, ifindex, i->queue == CONFIG_QUEUE_SLUICE ? 0 : i->classes_count);
	if (!i->classes_count)
		return 0;
	config_classes_value(i, port->speed_bps, &v);
	for (; i->queue != CONFIG_QUEUE_SLUICE && key.class < v.n; key.class ++) {
		if (bpf_map_update_elem(dp->pins.class_queues, &key, &empty, BPF_NOEXIST) && errno != EEXIST)
			return -errno;
	}
	return bpf_map_update_elem(dp->pins.classes, &ifindex, &v, BPF_ANY) ? -errno : 0;
}

/* --- its end --- */

/* Removes its programs, routes and state, except for its entry and clsact. */
static int port_take_off(struct dataplane *dp, __u32 ifindex, const struct port *port)
{
	int err = ppfc_port_forget(&dp->pins, ifindex), e;

	e = filter_remove(dp->pin.dir, ifindex, BPF_TC_EGRESS);
	err = err ?: e;
	if (port->flags & PORT_F_HOST) {
		xdp_remove(ifindex, counters_id(&dp->pins));
		e = filter_remove(dp->pin.dir, ifindex, BPF_TC_INGRESS);
		err = err ?: e;
		e = routes_remove(ifindex);
		err = err ?: e;
	}
	if (port->flags & PORT_F_SWITCH) { /* tor or pfc, if any */
		e = filter_remove(dp->pin.dir, ifindex, BPF_TC_INGRESS);
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

int port_update(struct dataplane *dp, __u32 ifindex, const struct port *port, const char *effect)
{
	int err = bpf_map_update_elem(dp->pins.ports, &ifindex, port, BPF_EXIST) ? -errno : 0;

	if (err)
		msg("%s: the ports map: %s: %s", port->name, strerror(-err), effect);
	return err;
}

int port_vacate(struct dataplane *dp, __u32 ifindex, const struct port *port)
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

/* --- in front of its programs --- */

static void before_say(const struct before *b, void *ctx)
{
	char text[BEFORE_STRLEN];

	msg("%s: %s; to fix: %s", (const char *)ctx, before_format(b, text), before_advice(b));
}

/* Tells lists apart, in which a number is never 0. */
static void before_sum(const struct before *b, void *ctx)
{
	__u32 *sum = ctx;

	*sum = (*sum + b->where) * 31 + (b->prog_id ?: b->priority);
}

void port_before_watch(struct dataplane *dp, unsigned int k, const struct port *port)
{
	__u32 ifindex = dp->port.known[k].ifindex, sum = 0;
	struct attached a;

	attached_see(&dp->pins, dp->pin.dir, ifindex, port, &a);
	before_each(dp->pin.dir, ifindex, !a.clsact, a.ingress, before_sum, &sum);
	if (sum && sum != dp->port.known[k].before)
		before_each(dp->pin.dir, ifindex, !a.clsact, a.ingress, before_say, (void *)port->name);
	dp->port.known[k].before = sum;
}

/* --- attaching --- */

/* The ingress program of a switch port; NULL: it needs none. */
static struct bpf_program *switch_ingress(struct dataplane *dp, const struct config_interface *i)
{
	if (i->voqs == PORT_F_VOQ_UP)
		return dp->prog.of[SET_VOQS]->progs.tor;
	return i->pfc ? dp->prog.of[SET_PFC]->progs.pfc : NULL;
}

/* An interface on its way to being attached. */
struct port_plan {
	const struct config_interface *i;
	struct link_info link;
	struct port port, old; /* as planned, and as an earlier attachment left it */
	int had;	       /* it is attached already */
	int made;	       /* its clsact was just made */
	int had_pauses;
};

/* Reads the interface, and its existing attachment. */
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
	dp->port.known[i - c->interfaces].ifindex = p->link.ifindex;
	snprintf(dp->port.known[i - c->interfaces].name, IFNAMSIZ, "%s", i->name);
	if (p->had && (p->old.flags & (PORT_F_HOST | PORT_F_SWITCH | PORT_F_POD)) != i->role) {
		port_vacate(dp, p->link.ifindex, &p->old);
		p->had = 0;
	}
	if (p->had && dp->prog.running) /* moving to clsact would empty its queue */
		p->port.flags |= p->old.flags & PORT_F_TCX;
	return 0;
}

/* Makes routes of a host's interface to its peers, with room for telemetry, and removes our others. */
static int port_routes(struct dataplane *dp, const struct config *c, struct port_plan *p)
{
	int err = routes_prepare(&dp->routes, &p->link, c);

	/* Once attached, packets that find no room pass plain, and the rest has to continue. */
	if (err && !p->had)
		return err;
	if (p->had)
		routes_clean(&dp->routes, &p->link, c);
	return 0;
}

/*
 * Makes its clsact, unless it is attached by tcx. Then one that an earlier daemon made stays, empty, until the end: if it
 * went, so would the queue. Somebody may have replaced it by a qdisc `ingress` meanwhile.
 */
static int port_clsact(struct port_plan *p)
{
	struct qdisc_info q;
	int err;

	if (p->port.flags & PORT_F_TCX) {
		if (p->old.flags & PORT_F_OUR_CLSACT) {
			err = qdisc_get(p->link.ifindex, &q);
			if (err) {
				msg("%s: reading the qdiscs: %s", p->i->name, strerror(-err));
				return err;
			}
			if (!q.clsact)
				p->old.flags &= ~PORT_F_OUR_CLSACT;
		}
		p->port.flags |= p->old.flags & PORT_F_OUR_CLSACT;
		if (p->had && !(p->old.flags & PORT_F_TCX))
			msg_info("%s: attached by clsact -> tcx", p->i->name);
		return 0;
	}
	err = clsact_make(p->link.ifindex, &p->made);
	if (err)
		msg("%s: adding the clsact qdisc: %s", p->i->name, strerror(-err));
	else if (p->made || p->old.flags & PORT_F_OUR_CLSACT)
		p->port.flags |= PORT_F_OUR_CLSACT;
	return err;
}

/* Writes its map entries, which the programs read from their first packet on. */
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

/* Attaches its filters. Ingress first: once egress asks peers whether they strip, so must we. */
static int port_programs(struct dataplane *dp, struct port_plan *p)
{
	__u32 ifindex = p->link.ifindex;
	int tcx = p->port.flags & PORT_F_TCX, err = 0;
	struct bpf_program *in;
	struct sluice_bpf *s;

	if (p->i->role == PORT_F_HOST) {
		if (!p->had || p->old.flags & PORT_F_LEAVING)
			dp->pins.ctl->doubt_ns = now_ns();
		s = dp->prog.of[SET_HOST];
		err = filter_set(dp->pin.dir, ifindex, BPF_TC_INGRESS, bpf_program__fd(s->progs.ingress), tcx);
		if (!err)
			err = filter_set(dp->pin.dir, ifindex, BPF_TC_EGRESS, bpf_program__fd(s->progs.egress), tcx);
	} else {
		s = dp->prog.of[SET_SWITCH];
		in = switch_ingress(dp, p->i);
		if (in)
			err = filter_set(dp->pin.dir, ifindex, BPF_TC_INGRESS, bpf_program__fd(in), tcx);
		else if (p->old.flags & PORT_F_VOQ_UP || p->had_pauses)
			filter_remove(dp->pin.dir, ifindex, BPF_TC_INGRESS);
		if (!err)
			err = filter_set(dp->pin.dir, ifindex, BPF_TC_EGRESS,
					 bpf_program__fd(s->rodata->qdisc_kfuncs ? s->progs.hop : s->progs.hop_map),
					 tcx);
	}
	if (err)
		msg("%s: attaching the %s: %s", p->i->name, tcx ? "tcx link" : "filter", strerror(-err));
	return err;
}

/* Moves the sink of a host's interface to XDP, if available. */
static void port_xdp(struct dataplane *dp, const struct config *c, struct port_plan *p)
{
	const struct xdp_maps m = { .pins = &dp->pins, .obj = dp->prog.skel->obj, .running = dp->prog.running };

	p->port.flags |= xdp_apply(&m, c, p->i, &p->link, !p->had);
	if (bpf_map_update_elem(dp->pins.ports, &p->link.ifindex, &p->port, BPF_EXIST))
		msg("%s: the ports map: %s: sluicectl does not know where telemetry is stripped", p->i->name,
		    strerror(errno));
}

int port_add(struct dataplane *dp, const struct config *c, const struct config_interface *i)
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
	err = port_clsact(&p);
	if (err)
		goto remove;
	err = port_maps(dp, c, &p) ?: port_programs(dp, &p);
	if (err)
		goto remove;
	if (i->role == PORT_F_HOST)
		port_xdp(dp, c, &p);
	if ((!p.had || p.old.flags & PORT_F_LEAVING) && dp->prog.running)
		msg_info("%s: attached (%s%s): %s", i->name, i->pattern ? "matches " : "configured", i->pattern ?: "",
			 port_role(&p.port));
	port_before_watch(dp, i - c->interfaces, &p.port);
	if (!p.had || (i->ecn_bytes && !p.old.ecn_bytes))
		port_advise(i, &p.port, ppfc_port_by_nic(&dp->pins, p.link.ifindex));
	return 0;
remove:
	if (!p.had) {
		p.port.flags |= p.old.flags & PORT_F_OUR_CLSACT;
		port_remove(dp, p.link.ifindex, &p.port);
	}
	return err;
}
