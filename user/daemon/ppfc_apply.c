// SPDX-License-Identifier: GPL-2.0-only
/* The configuration of the pauses: ports, buffer, thresholds, NICs. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "attach/nic.h"
#include "daemon/ppfc_int.h"
#include "lib/maps.h"
#include "lib/net.h"

#define MTU_UNKNOWN 1500 /* for a link that no longer exists */

void told_forget(struct pfc_slot *s)
{
	__u32 prio;

	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		s->of[prio].told = (struct pfc_told){};
}

/* Puts the port of an entry in pfc_ports into its slot. Returns true if it obeys. */
static int port_take(struct ppfc *p, __u32 ifindex, const struct pfc_port *v)
{
	struct ppfc_port *port = &p->ports[v->slot % PFC_SLOTS];
	struct link_info link;
	struct port known;

	if (map_find(p->pins->ports, "ports", &ifindex, &known) <= 0)
		return 0;
	if (!(v->flags & PFC_F_COUNT))
		return !!(v->flags & PFC_F_OBEY);
	if (port->ifindex != ifindex) {
		memset(port, 0, sizeof(*port));
		packets_begin(port, &p->slots[v->slot % PFC_SLOTS]);
	}
	port->ifindex = ifindex;
	port->flags = v->flags;
	port->bps = known.speed_bps;
	memcpy(port->name, known.name, sizeof(port->name));
	if (!link_get(port->name, &link))
		memcpy(port->mac, link.mac, sizeof(port->mac));
	frame_begin(port);
	if (v->flags & PFC_F_DOWN)
		told_forget(&p->slots[v->slot]);
	p->used[p->count++] = v->slot;
	return !!(v->flags & PFC_F_OBEY);
}

static void ports_take(struct ppfc *p, int *obeys)
{
	__u32 ifindex, next, slot;
	struct pfc_port v;
	int more = map_next(p->pins->pfc_ports, "pfc_ports", NULL, &next);
	__u64 found = 0;

	*obeys = 0;
	p->count = 0;
	while (more > 0) {
		ifindex = next;
		if (map_find(p->pins->pfc_ports, "pfc_ports", &ifindex, &v) > 0 && v.slot && v.slot < PFC_SLOTS)
			*obeys |= port_take(p, ifindex, &v);
		more = map_next(p->pins->pfc_ports, "pfc_ports", &ifindex, &next);
	}
	for (slot = 0; slot < p->count; slot++)
		found |= 1ULL << p->used[slot];
	for (slot = 0; slot < PFC_SLOTS; slot++)
		if (!(found >> slot & 1))
			memset(&p->ports[slot], 0, sizeof(p->ports[slot]));
}

/* Only a daemon that pauses needs a socket, and may lack the capability for it. */
static int socket_open(struct ppfc *p)
{
	int one = 1;

	if (p->socket_fd >= 0)
		return 0;
	p->socket_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (p->socket_fd >= 0 && !setsockopt(p->socket_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return 0;
	msg_limited(
		&p->send_limit, 60,
		"pfc: a packet socket: %s: nobody is paused; it wants CAP_NET_RAW, and AF_PACKET where a service manager restricts address families",
		strerror(errno));
	if (p->socket_fd >= 0)
		close(p->socket_fd);
	p->socket_fd = -1;
	return -1;
}

void nics_follow(struct ppfc *p)
{
	__u32 ifindex, next;
	char name[IFNAMSIZ];
	struct pfc_port v;
	int more = map_next(p->pins->pfc_ports, "pfc_ports", NULL, &next);

	while (more > 0) {
		ifindex = next;
		more = map_next(p->pins->pfc_ports, "pfc_ports", &ifindex, &next);
		if (map_find(p->pins->pfc_ports, "pfc_ports", &ifindex, &v) <= 0 || !(v.flags & PFC_F_NIC) ||
		    v.slot >= PFC_SLOTS || !if_indextoname(ifindex, name))
			continue;
		if (nic_follow(name, &v, ppfc_acts(p->pins), &p->slots[v.slot].nic, &p->silent[v.slot],
			       &p->nic_limit) &&
		    !bpf_map_update_elem(p->pins->pfc_ports, &ifindex, &v, BPF_EXIST))
			nic_tell(name, &v);
	}
}

/* The headroom of all ports that pause, their number, and the speed of the fastest. */
static __u64 headroom_sum(const struct ppfc *p, unsigned int *pausing, __u64 *fastest)
{
	unsigned int k, priorities = __builtin_popcount(p->config->lossless);
	__u64 headroom = 0;

	*pausing = 0;
	*fastest = 0;
	for (k = 0; k < p->count; k++) {
		const struct ppfc_port *port = &p->ports[p->used[k]];
		struct link_info link;

		if (!(port->flags & PFC_F_PAUSE))
			continue;
		if (link_get(port->name, &link))
			link.mtu = MTU_UNKNOWN;
		++*pausing;
		headroom += priorities * config_headroom(p->config, port->bps, link.mtu + 14);
		*fastest = port->bps > *fastest ? port->bps : *fastest;
	}
	return headroom;
}

/* Parameters of the prediction. */
static void prediction_apply(struct ppfc *p, unsigned int pausing, __u64 fastest)
{
	const struct config *c = p->config;

	ppfc_params_init(&p->params, p->shared, c->buffer_bytes, pausing, fastest, c->delay_ns);
	if (c->t_thresh_ns)
		p->params.t_thresh_ns = c->t_thresh_ns;
	if (c->k_max_bytes)
		p->params.k_max = c->k_max_bytes;
	p->params.r = c->ppfc_r;
}

/* XOFF of each port, and the queue that ends the loop's sleep. */
static void thresholds_apply(struct ppfc *p)
{
	const struct config *c = p->config;
	unsigned int k;

	for (k = 0; k < p->count; k++) {
		struct ppfc_port *port = &p->ports[p->used[k]];
		struct link_info link;

		if (link_get(port->name, &link))
			link.mtu = MTU_UNKNOWN;
		pfc_params_init(&port->params, p->shared, port->bps, link.mtu + 14, c->interval_ns);
		if (c->xoff_bytes) {
			port->params.alpha = 0;
			port->params.xoff = c->xoff_bytes;
		}
	}
	/* Well below the action threshold, so that the growth is known by then. */
	p->wake_bytes = p->params.k_max / 4;
	if (c->xoff_bytes && c->xoff_bytes / 4 < p->wake_bytes)
		p->wake_bytes = c->xoff_bytes / 4;
	p->wake_bytes += !p->wake_bytes;
}

/* Sets the buffer, and the parameters derived from it and from the ports. */
static void params_apply(struct ppfc *p)
{
	const struct config *c = p->config;
	unsigned int pausing;
	__u64 fastest, headroom = headroom_sum(p, &pausing, &fastest);
	char text[UNITS_STRLEN];

	p->enabled = 0;
	lease_end(p);
	if (!pausing || c->mode == MODE_OBSERVE)
		return;
	if (headroom >= c->buffer_bytes) {
		msg_limited(
			&p->buffer_limit, 60,
			"pfc: buffer '%s' is no more than the headroom of its ports at their speeds, %llu bytes: nobody is paused; write more, or fewer priorities (lossless)",
			units_bytes_format(c->buffer_bytes, text), headroom);
		return;
	}
	if (socket_open(p))
		return;
	p->enabled = 1;
	p->shared = c->buffer_bytes - headroom;
	prediction_apply(p, pausing, fastest);
	thresholds_apply(p);
	rule_apply(p);
}

static void seed_apply(struct ppfc *p)
{
	__u32 slot, prio;
	__u64 seed;

	if (p->config->pfc.seeded)
		seed = p->config->pfc.seed;
	else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = now_ns();
	for (slot = 0; slot < PFC_SLOTS; slot++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			ppfc_seed(&p->slots[slot].arrivals[prio].random, seed + 1 + slot * PFC_PRIORITIES + prio);
}

void ppfc_apply(struct ppfc *p, const struct config *config)
{
	int fresh = p->config != config, obeys, k;

	p->config = config;
	memset(p->silent, 0, sizeof(p->silent));
	alarms_set(p, 0);
	ports_take(p, &obeys);
	p->pins->ctl->pfc = obeys;
	for (k = 0; k < SUM_TIMES; k++)
		counts_settle(p);
	if (fresh)
		seed_apply(p);
	params_apply(p);
	if (!p->enabled && p->awake)
		timerfd_settime(p->timer_fd, 0, &(struct itimerspec){}, NULL);
	p->awake = 0;
	if (p->enabled)
		ppfc_wake(p);
	nics_follow(p);
}
