// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop of a switch that pauses its neighbours. All bytes come from the tracepoints (bpf/pause/pfc.bpf.h), all
 * decisions from sluice/pause/ppfc.h and sluice/pause/pfc.h.
 *
 *  1. A port has a slot, its index in the map pfc_slots, which is mapped here: the bytes in its queue by the slot of
 *     their ingress port, and the pauses sent to its own neighbour.
 *  2. A round reads the queues, each cell with its growth since the round before, and checks the ingress counters. Each
 *     neighbour gets one frame, which bypasses the qdisc.
 *  3. While all queues are short and nothing is in force there is no timer: the loop sets a length, and the tracepoint
 *     of the first queue above it wakes it. The first round after that has no growth to tell. In bypass it sleeps
 *     without a length, and a tick ends that.
 *  4. The bytes are read while they are written. Inconsistent cells are a packet apart, once.
 *  5. Packets predict and check thresholds themselves when they enter a queue (bpf/pause/arrive.bpf.h), while the lease
 *     runs that this loop renews in each round and in each tick. Then a round is the second line: it ends XOFF,
 *     refreshes it, and sends what packets could not. Packets alone predict: a round that is shorter than a frame
 *     takes two frames for a burst (10 Mbit/s, 100 us, four flows of DCTCP: 8 pauses without cause in 10 s).
 *
 * A daemon that dies leaves no pause behind: the lease lapses, XOFF lasts for 100 frames, P-PFC's for as long as its queue.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "attach/port/nic.h"
#include "daemon/ppfc.h"
#include "daemon/ppfc_round.h"
#include "lib/maps.h"
#include "lib/net.h"
#include "sluice/once.h"

#define PPFC_QUIET_NS (10 * 1000 * 1000ULL) /* all queues are short for this long before the loop sleeps */

/* --- sleep --- */

/* Sets the queue length at which the tracepoint wakes the loop; 0: never. */
static void alarms_set(struct ppfc *p, __u32 bytes)
{
	__u32 k;

	for (k = 0; k < p->count; k++)
		WRITE_ONCE(p->slots[p->used[k]].wake_bytes, bytes);
}

static void ppfc_wake(struct ppfc *p)
{
	__u64 ns = p->config->interval_ns;
	struct itimerspec every = { { 0, ns }, { 0, ns } };

	alarms_set(p, 0);
	p->round_ns = p->quiet_ns = 0;
	p->bypassed = false;
	timerfd_settime(p->timer_fd, 0, &every, NULL);
	p->awake = true;
}

static void ppfc_sleep(struct ppfc *p)
{
	timerfd_settime(p->timer_fd, 0, &(struct itimerspec){}, NULL);
	p->awake = false;
	p->bypassed = p->pins->ctl->bypass;
	lease_extend(p);
	alarms_set(p, p->bypassed ? 0 : p->wake_bytes);
}

static int alarm_take(void *ctx, void *data, size_t bytes)
{
	struct ppfc *p = ctx;

	(void)data;
	(void)bytes;
	if (p->enabled && !p->awake) {
		ppfc_wake(p);
		ppfc_round(p);
	}
	return 0;
}

void ppfc_run(struct ppfc *p)
{
	__u64 ticks;

	ring_buffer__consume(p->ring);
	if (!p->awake || read(p->timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	ppfc_round(p);
	if (p->pins->ctl->bypass || (p->quiet_ns && p->round_ns - p->quiet_ns >= PPFC_QUIET_NS))
		ppfc_sleep(p);
}

int ppfc_fd(const struct ppfc *p)
{
	return p->epoll_fd;
}

/* --- configuration --- */

/* Forgets all pauses sent to the neighbour. */
static void told_forget(struct pfc_slot *s)
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

/* Reads the counters of NICs that do PFC, and restores their setting if it was lost. */
static void nics_follow(struct ppfc *p)
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

	p->enabled = false;
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
	p->enabled = true;
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
	p->awake = false;
	if (p->enabled)
		ppfc_wake(p);
	nics_follow(p);
}

/* --- time --- */

static void storms_say(struct ppfc *p, const struct pfc_port *v, const char *name)
{
	__u64 *said = p->storms[v->slot % PFC_SLOTS];
	__u32 prio;

	for (prio = 0; prio < PFC_PRIORITIES; prio++) {
		if (v->storms[prio] > said[prio])
			msg_limited(
				&p->storm_limit, 10,
				"%s: priority %u: its neighbour has paused it for %llu ms without a break: it sends again, and pauses are ignored until none comes for as long, or XON does (%llu storms)",
				name, prio, v->params.storm_ns / 1000000, v->storms[prio]);
		said[prio] = v->storms[prio];
	}
}

void ppfc_tick(struct ppfc *p)
{
	__u32 ifindex, next, k;
	struct pfc_port v;
	struct port port;
	int more = !bpf_map_get_next_key(p->pins->pfc_ports, NULL, &next);

	while (more) {
		ifindex = next;
		if (!bpf_map_lookup_elem(p->pins->pfc_ports, &ifindex, &v) &&
		    !bpf_map_lookup_elem(p->pins->ports, &ifindex, &port))
			storms_say(p, &v, port.name);
		more = !bpf_map_get_next_key(p->pins->pfc_ports, &ifindex, &next);
	}
	for (k = 0; k < p->count; k++)
		queue_forget(p, p->used[k]);
	counts_settle(p);
	if (p->enabled && p->bypassed && !p->pins->ctl->bypass)
		ppfc_wake(p);
	lease_extend(p);
	nics_follow(p);
}

void ppfc_watch(struct ppfc *p, const struct watcher *w)
{
	p->watcher = w;
}

/* --- begin and end --- */

int ppfc_open(const struct pins *pins, int alarms_fd, struct ppfc **ppfc)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct ppfc *p = calloc(1, sizeof(*p));
	__u32 slot;
	int err;

	if (!p)
		return -ENOMEM;
	p->pins = pins;
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	p->socket_fd = -1;
	p->ring = ring_buffer__new(alarms_fd, alarm_take, p, NULL);
	errno = p->ring ? 0 : errno;
	p->slots = mmap(NULL, PFC_SLOTS * sizeof(*p->slots), PROT_READ | PROT_WRITE, MAP_SHARED, pins->pfc_slots, 0);
	if (!p->ring || p->slots == MAP_FAILED || p->epoll_fd < 0 || p->timer_fd < 0 ||
	    epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->timer_fd, &ev) ||
	    epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(p->ring), &ev)) {
		err = errno ? -errno : -ENOMEM;
		ppfc_close(p);
		return err;
	}
	/* Pauses from an earlier daemon run out by themselves. */
	lease_end(p);
	for (slot = 0; slot < PFC_SLOTS; slot++)
		told_forget(&p->slots[slot]);
	*ppfc = p;
	return 0;
}

static void ppfc_let_go(struct ppfc *p)
{
	__u32 k, prio;

	alarms_set(p, 0);
	lease_end(p);
	for (k = 0; k < p->count; k++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			if (p->slots[p->used[k]].of[prio].told.xoff)
				pfc_set(&p->ports[p->used[k]].frame, prio, 0);
	frames_send(p);
}

void ppfc_close(struct ppfc *p)
{
	if (!p)
		return;
	if (p->slots && p->slots != MAP_FAILED) {
		if (p->enabled)
			ppfc_let_go(p);
		munmap(p->slots, PFC_SLOTS * sizeof(*p->slots));
	}
	ring_buffer__free(p->ring);
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	if (p->timer_fd >= 0)
		close(p->timer_fd);
	if (p->socket_fd >= 0)
		close(p->socket_fd);
	free(p);
}
