// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pods of this machine, as they come and go: links whose other end is in another network
 * namespace.
 *
 *  1. All of them are in the pods map, by which egress finds the sockets behind them.
 *  2. On a node those that lead to a pod CIDR, by a route or as ports of a bridge with such a route, are a hop
 *     (pod.bpf.h) if they have a queue and its rate is known: a tbf, as made by the CNI bandwidth plugin, or an htb
 *     whose packets go through one class. A veth without one cannot queue, and gets no program of ours.
 *  3. The state is read anew, in four dumps and one for each htb, at most once a second and only after a change.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include "attach/hook/filter.h"
#include "attach/hook/tcx.h"
#include "attach/port/pods.h"
#include "attach/port/port.h"
#include "attach/prog/prog_room.h"
#include "attach/state/state.h"
#include "lib/maps.h"
#include "lib/net.h"
#include "lib/qdisc.h"
#include "lib/route.h"
#include "sluice.skel.h"

static int pod_compare(const void *a, const void *b)
{
	__u32 x = ((const struct pod_link *)a)->ifindex, y = ((const struct pod_link *)b)->ifindex;

	return x < y ? -1 : x > y;
}

static struct pod_link *pod_find(const struct pods_list *l, __u32 ifindex)
{
	struct pod_link key = { .ifindex = ifindex };

	return l->n ? bsearch(&key, l->link, l->n, sizeof(key), pod_compare) : NULL;
}

static const char *pod_name(__u32 ifindex, char *buf)
{
	return if_indextoname(ifindex, buf) ?: "a veth that is gone";
}

static void pod_note(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx)
{
	struct pods_list *l = ctx;

	if (l->n == l->room) {
		unsigned int room = l->room ? 2 * l->room : 64;
		struct pod_link *more = realloc(l->link, room * sizeof(*more));

		if (!more)
			return;
		l->link = more;
		l->room = room;
	}
	l->link[l->n++] = (struct pod_link){ .ifindex = ifindex, .netnsid = netnsid, .master = master };
}

static void pod_note_route(__u32 ifindex, void *ctx)
{
	struct pods_list *l = ctx;
	struct pod_link *pod = pod_find(l, ifindex);
	unsigned int i;

	if (pod)
		pod->routed = 1;
	for (i = 0; !pod && i < l->n; i++)
		if (l->link[i].master == ifindex)
			l->link[i].routed = 1;
}

struct pods_ctx {
	struct dataplane *dp;
	struct pods_list now;
};

static void pod_note_qdisc(const struct pods_list *l, const struct qdisc_found *f)
{
	struct pod_link *pod = pod_find(l, f->ifindex);

	if (!pod || !pod->routed)
		return;
	if (f->parent == TC_H_INGRESS && !strcmp(f->q.kind, "ingress"))
		pod->ingress = 1;
	if (f->parent != TC_H_ROOT)
		return;
	pod->bps = f->tbf_bps;
	if (!strcmp(f->q.kind, "htb")) {
		pod->htb = f->q.handle;
		pod->htb_default = f->htb_default;
	}
}

static int pods_note_qdiscs(const struct pods_list *l)
{
	struct qdisc_found *list;
	int n = qdiscs_read(0, &list), i;

	for (i = 0; i < n; i++)
		pod_note_qdisc(l, &list[i]);
	free(list);
	return n < 0 ? n : 0;
}

/* Says why a pod behind an htb gets no stamp. Not before the second look: its classes may be about to come. */
static void pod_tell_htb(struct dataplane *dp, struct pod_link *pod)
{
	const struct pod_link *was = pod_find(&dp->port.pods, pod->ifindex);
	struct msg_limit *limit = &dp->port.htb_limit[pod->verdict];
	char name[IFNAMSIZ];

	if (!was || was->verdict != pod->verdict) {
		dp->port.pods_changed = 1;
		return;
	}
	pod->told = 1;
	if (was->told)
		return;
	if (pod->verdict == HTB_SEVERAL)
		msg_limited(
			limit, 24 * 3600,
			"%s: filters share packets out among several leaf classes of its htb, so its rate is not one number: the pod behind it gets no stamp; with one leaf class, or with tbf, it gets one",
			pod_name(pod->ifindex, name));
	else
		msg_limited(
			limit, 24 * 3600,
			"%s: its htb sends unshaped what no filter takes, because it has no leaf class %x:%x (its default): the pod behind it gets no stamp; to fix: make htb with 'default' of the class that has the pod's rate",
			pod_name(pod->ifindex, name), TC_H_MAJ(pod->htb) >> 16, TC_H_MIN(pod->htb_default));
}

/* Reads the rates of pods from the classes of their htb. */
static int pods_judge_htb(struct dataplane *dp, const struct pods_list *now)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < now->n && !err; i++) {
		struct pod_link *pod = &now->link[i];

		if (!pod->htb)
			continue;
		err = htb_default_get(pod->ifindex, pod->htb, pod->htb_default, &pod->verdict, &pod->bps);
		if (pod->verdict == HTB_UNSHAPED || pod->verdict == HTB_SEVERAL)
			pod_tell_htb(dp, pod);
	}
	return err;
}

#define POD_UNKNOWN (-1) /* netnsid of a link that is not in the map */

/* Updates the pods map to the current links. Those that find no room are tried again at the next look. */
static void pods_apply(struct dataplane *dp, struct pods_list *now)
{
	__u32 ifindex, next;
	int more = map_next(dp->pins.pods, "pods", NULL, &next);
	unsigned int i;

	while (more > 0) {
		ifindex = next;
		more = map_next(dp->pins.pods, "pods", &ifindex, &next);
		if (!pod_find(now, ifindex))
			map_remove(dp->pins.pods, "pods", &ifindex);
	}
	for (i = 0; i < now->n; i++) {
		const struct pod_link *was = pod_find(&dp->port.pods, now->link[i].ifindex);

		if (was && was->netnsid == now->link[i].netnsid)
			continue;
		if (!bpf_map_update_elem(dp->pins.pods, &now->link[i].ifindex, &now->link[i].netnsid, BPF_ANY))
			continue;
		now->link[i].netnsid = POD_UNKNOWN;
		msg_limited(
			&dp->port.limit, 60,
			"more pods than the map has room for: older connections of some are paced and not windowed");
	}
}

/*
 * Whether pod_hop is attached by tcx: where the kernel has it, and nothing of ours is at clsact there already. A clsact
 * that comes or goes empties the pod's queue, and fills the bucket of its tbf.
 */
static int pod_takes_tcx(const struct pod_link *pod, const struct port *port)
{
	int at_clsact = port->flags & PORT_F_POD && !(port->flags & PORT_F_TCX);

	return pod->ingress || port->flags & PORT_F_TCX || (!at_clsact && kernel_has_tcx());
}

static int pod_attach(struct dataplane *dp, const struct config *c, const struct pod_link *pod, struct port *port)
{
	char name[IFNAMSIZ];
	struct link_info link;
	int err, made = 0, tcx = pod_takes_tcx(pod, port);

	if (!if_indextoname(pod->ifindex, name) || link_get(name, &link) ||
	    link.ifindex != pod->ifindex)
		return -ENODEV; /* it is gone meanwhile */
	if (tcx && !kernel_has_tcx())
		return -EBUSY;
	err = tcx ? 0 : clsact_make(pod->ifindex, &made);
	if (err)
		return err;
	if (tcx)
		port->flags = PORT_F_POD | PORT_F_TCX;
	else
		port->flags = PORT_F_POD | (port->flags & PORT_F_OUR_CLSACT) | (made ? PORT_F_OUR_CLSACT : 0);
	port->speed_bps = pod->bps;
	port->speed = telem_speed_fit(pod->bps);
	port->mtu = link.mtu;
	port->switch_id = c->node.id;
	port->count_ns = config_count_ns(c);
	port->netns_cookie = link.netns_cookie;
	memcpy(port->name, link.name, sizeof(port->name));
	err = bpf_map_update_elem(dp->pins.ports, &pod->ifindex, port, BPF_ANY) ? -errno : 0;
	if (!err)
		err = filter_set(dp->pin.dir, pod->ifindex, BPF_TC_EGRESS,
				 bpf_program__fd(dp->prog.of[SET_PODS]->progs.pod_hop), tcx);
	if (err)
		port_remove(dp, pod->ifindex, port);
	return err;
}

/*
 * Attaches pod_hop if the pod has a queue. Not before the second look: the bandwidth plugin may be about to add a qdisc
 * `ingress` after the tbf, which our clsact would block. Returns whether it is attached.
 */
static int pod_follow(struct dataplane *dp, const struct config *c, const struct pod_link *pod)
{
	const struct pod_link *was = pod_find(&dp->port.pods, pod->ifindex);
	struct port port = {};
	int had = map_find(dp->pins.ports, "ports", &pod->ifindex, &port), err;
	char name[IFNAMSIZ];

	if (had < 0)
		return 0;
	had = had && !(port.flags & PORT_F_LEFT);
	if (had && !(port.flags & PORT_F_POD))
		return 0; /* the configuration manages it */
	if (had && was && was->bps == pod->bps && (!pod->ingress || port.flags & PORT_F_TCX))
		return 1;
	if (!had && (!was || !was->bps)) {
		dp->port.pods_changed = 1;
		return 0;
	}
	err = pod_attach(dp, c, pod, &port);
	if (err == -EBUSY)
		msg_limited(
			&dp->port.pod_limit, 60,
			"%s: has a qdisc 'ingress' in the place of clsact, and this kernel has no tcx (Linux 6.6 has): the pod behind it gets no stamp",
			pod_name(pod->ifindex, name));
	else if (err == -E2BIG)
		msg_limited(&dp->port.pod_limit, 60,
			    "more pods with a queue than the %u that find room: the others get no stamp", PORTS_MAX);
	else if (err && err != -ENODEV)
		msg_limited(&dp->port.pod_limit, 60, "%s: attaching to a pod's veth: %s", pod_name(pod->ifindex, name),
			    strerror(-err));
	return !err;
}

static int pod_drop(__u32 ifindex, const struct port *port, void *ctx)
{
	struct pods_ctx *p = ctx;
	const struct pod_link *pod = pod_find(&p->now, ifindex);

	if (port->flags & PORT_F_POD && (!pod || !pod->bps))
		port_remove(p->dp, ifindex, port);
	return 0;
}

void pods_forget(struct dataplane *dp)
{
	free(dp->port.pods.link);
	dp->port.pods = (struct pods_list){};
}

void pods_follow(struct dataplane *dp, const struct config *c)
{
	struct pods_ctx p = { .dp = dp };
	unsigned int i, stamped = 0;
	int err;

	err = links_behind(pod_note, &p.now);
	if (p.now.n)
		qsort(p.now.link, p.now.n, sizeof(*p.now.link), pod_compare);
	if (!err)
		pods_apply(dp, &p.now);
	if (!err && c->node.uplink) {
		err = routes_meeting(c->pod_cidrs, c->node.pod_cidrs_count, pod_note_route, &p.now);
		if (!err)
			err = pods_note_qdiscs(&p.now);
		if (!err)
			err = pods_judge_htb(dp, &p.now);
		if (!err)
			err = pins_each_port(&dp->pins, pod_drop, &p);
		for (i = 0; !err && i < p.now.n; i++)
			if (p.now.link[i].bps)
				stamped += pod_follow(dp, c, &p.now.link[i]);
	}
	if (err) { /* EINTR: it changed during the dump */
		if (err != -EINTR)
			msg_limited(&dp->port.pod_limit, 60, "looking for pods: %s", strerror(-err));
		dp->port.pods_changed = 1;
		free(p.now.link);
		return;
	}
	if (stamped != dp->port.pods_stamped)
		msg_info("pods with a queue: %u -> %u, by the tbf or htb of their veths", dp->port.pods_stamped,
			 stamped);
	dp->port.pods_stamped = stamped;
	pods_forget(dp);
	dp->port.pods = p.now;
}
