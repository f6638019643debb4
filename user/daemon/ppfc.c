// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop of a switch that pauses its neighbours. All bytes are the tracepoints' (bpf/pause/pfc.bpf.h), all decisions
 * sluice/pause/ppfc.h's and sluice/pause/pfc.h's.
 *
 *  1. A port has a slot, its index in the map pfc_slots, which is mapped here: what waits in its queue by the
 *     slot of the port by which it came, and what its own neighbour was told.
 *  2. A round reads the queues, each cell with its growth since the round before; predicts; and looks at the ingress
 *     counters. What is to be told goes out in one frame to each neighbour, past the qdisc.
 *  3. While all queues are short and nothing is in force there is no timer: the loop names a length, and the tracepoint
 *     of the first queue above it rings. The first round after that has no growth to go by: it looks at thresholds only.
 *  4. The bytes are read while they are written. Cells that do not fit together are a packet apart, once.
 *
 * Who dies leaves no pause behind: XOFF lasts for 100 frames, P-PFC's for as long as its queue.
 */
#include <arpa/inet.h>
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
#include "attach/nic.h"
#include "daemon/ppfc.h"
#include "lib/net.h"
#include "sluice/once.h"
#include "sluice/pause/ppfc.h"

#define PPFC_QUIET_NS (10 * 1000 * 1000ULL) /* all queues are short for so long before the loop sleeps */
#define PPFC_THRESH 4			    /* T_thresh by Equation 5: see sluice/pause/ppfc.h */

/* What a port has in a queue. */
struct cell {
	__u32 bytes;
	__s32 growth; /* since the round before */
};

struct ppfc_port {
	__u32 ifindex; /* 0: the slot is free */
	__u32 flags;   /* PFC_F_* */
	__u64 bps;
	__u8 mac[6];
	char name[IFNAMSIZ];
	struct pfc_params params;
	struct pfc_frame frame; /* what its neighbour is to be told in this round */
	__u32 paused_for[PFC_PRIORITIES]; /* slot of the queue for which it was paused last */
};

/* A queue of this round. */
struct queue_name {
	__u32 slot, prio;
};

struct ppfc {
	const struct pins *pins;
	const struct config *config;
	int epoll_fd, timer_fd, socket_fd;
	struct ring_buffer *ring;
	struct pfc_slot *slots; /* mapped */
	struct ppfc_port ports[PFC_SLOTS];
	__u32 used[PFC_SLOTS], count; /* slots of ports that are counted */
	int enabled; /* there are ports whose neighbours are paused */
	int awake;
	struct ppfc_params params;
	struct ppfc_random random;
	__u64 shared;	  /* of the buffer, what is not headroom */
	__u32 wake_bytes; /* of a queue */
	__u64 round_ns;
	__u64 quiet_ns;	  /* since when all are short; 0: they are not */
	struct cell cells[PFC_SLOTS][PFC_SLOTS][PFC_PRIORITIES]; /* egress, ingress */
	struct ppfc_queue queues[PFC_SLOTS * PFC_PRIORITIES];
	struct queue_name names[PFC_SLOTS * PFC_PRIORITIES];
	__u32 queues_count;
	__u64 totals[PFC_SLOTS]; /* as of the last tick */
	__u64 storms[PFC_SLOTS][PFC_PRIORITIES]; /* as of the last tick; also of ports that are not counted */
	const struct watcher *watcher; /* or NULL */
	int silent[PFC_SLOTS]; /* the NIC has no other counters: nic_follow() */
	struct msg_limit send_limit, storm_limit, buffer_limit, nic_limit;
};

static int ppfc_acts(const struct pins *pins)
{
	return pins->ctl->mode == MODE_ENFORCE && !pins->ctl->bypass;
}

/* --- frames --- */

static void frame_begin(struct ppfc_port *port)
{
	pfc_build(&port->frame, port->mac);
}

/* Past the qdisc, in which it would wait behind what it is about. */
static void frame_send(struct ppfc *p, struct ppfc_port *port)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = port->ifindex };

	if (!port->frame.vector[1])
		return;
	if (ppfc_acts(p->pins) && sendto(p->socket_fd, &port->frame, sizeof(port->frame), MSG_DONTWAIT,
				   (struct sockaddr *)&to, sizeof(to)) < 0)
		msg_limited(&p->send_limit, 60, "%s: sending a PFC frame: %s", port->name, strerror(errno));
	frame_begin(port);
}

static void frames_send(struct ppfc *p)
{
	__u32 k;

	for (k = 0; k < p->count; k++)
		frame_send(p, &p->ports[p->used[k]]);
}

/* --- a round --- */

static int port_does(const struct ppfc_port *port, __u32 flag)
{
	return port->flags & flag && !(port->flags & PFC_F_DOWN);
}

static const struct cell *cell_read(struct ppfc *p, __u32 out, __u32 in, __u32 prio)
{
	struct cell *c = &p->cells[out][in][prio];
	__u64 bytes = READ_ONCE(p->slots[out].bytes[in][prio]);

	bytes = bytes < PFC_BYTES_MAX ? bytes : PFC_BYTES_MAX - 1;
	c->growth = (__s64)bytes - c->bytes;
	c->bytes = bytes;
	return c;
}

/* One egress queue, and what is in it added to the ingress counters. */
static void queue_read(struct ppfc *p, __u32 out, __u32 prio)
{
	struct ppfc_queue *q = &p->queues[p->queues_count];
	struct pfc_class *of = &p->slots[out].of[prio], *in;
	const struct cell *c;
	__u32 k;

	*q = (struct ppfc_queue){ .bps = p->ports[out].bps };
	p->names[p->queues_count++] = (struct queue_name){ out, prio };
	c = cell_read(p, out, 0, prio);
	q->bytes = c->bytes;
	q->increment = c->growth;
	for (k = 0; k < p->count; k++) {
		c = cell_read(p, out, p->used[k], prio);
		q->bytes += c->bytes;
		q->increment += c->growth;
		in = &p->slots[p->used[k]].of[prio];
		in->in_bytes += c->bytes;
		in->in_growth += c->growth;
	}
	of->out_bytes = q->bytes;
	of->out_growth = q->increment;
}

/* All queues. Returns what is in them together, with what is of priorities that are not paused. */
static __u64 queues_read(struct ppfc *p)
{
	__u64 used = 0;
	__u32 k, prio;

	p->queues_count = 0;
	for (k = 0; k < p->count; k++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			p->slots[p->used[k]].of[prio].in_bytes = p->slots[p->used[k]].of[prio].in_growth = 0;
	for (k = 0; k < p->count; k++) {
		used += READ_ONCE(p->slots[p->used[k]].total);
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			if (p->config->lossless >> prio & 1)
				queue_read(p, p->used[k], prio);
	}
	return used;
}

/* What those under pause will add to the queues for which they were paused. */
static void queues_expect(struct ppfc *p, __u64 now, __u64 elapsed_ns)
{
	__u32 q, k;

	for (q = 0; q < p->queues_count; q++) {
		const struct queue_name *name = &p->names[q];

		for (k = 0; k < p->count; k++) {
			__u32 in = p->used[k];

			if (p->ports[in].paused_for[name->prio] == name->slot)
				p->queues[q].returning += ppfc_returning(&p->slots[in].of[name->prio].told, &p->params, now,
									 p->cells[name->slot][in][name->prio].growth,
									 elapsed_ns);
		}
	}
}

/* Algorithms 2 and 3 for one queue. */
static void queue_pause(struct ppfc *p, __u32 n, __u64 now, __u64 elapsed_ns)
{
	const struct queue_name *name = &p->names[n];
	struct ppfc_share shares[PFC_SLOTS];
	__u32 slots[PFC_SLOTS], count = 0, k, quanta;

	for (k = 0; k < p->count; k++) {
		const struct cell *c = &p->cells[name->slot][p->used[k]][name->prio];

		if (!port_does(&p->ports[p->used[k]], PFC_F_PREDICT))
			continue;
		slots[count] = p->used[k];
		shares[count++] = (struct ppfc_share){ .increment = c->growth, .bytes = c->bytes };
	}
	ppfc_choose(shares, count, &p->params, &p->random);
	for (k = 0; k < count; k++) {
		struct ppfc_port *port = &p->ports[slots[k]];
		struct pfc_class *of = &p->slots[slots[k]].of[name->prio];

		if (!shares[k].drawn)
			continue;
		quanta = ppfc_duration(&shares[k], &p->queues[n], &p->params, elapsed_ns, port->bps);
		if (p->config->fixed_ns)
			quanta = pfc_ns_quanta(p->config->fixed_ns, port->bps);
		if (!ppfc_tell(&of->told, now, quanta, port->bps, &shares[k], elapsed_ns))
			continue;
		of->predicted++;
		if (p->watcher)
			p->watcher->predicted(p->watcher->ctx, p->slots[0].remaining_ns);
		port->paused_for[name->prio] = name->slot;
		pfc_set(&port->frame, name->prio, quanta);
	}
}

static void round_predict(struct ppfc *p, __u64 now, __u64 free, __u64 elapsed_ns)
{
	__s64 growth = 0;
	__u32 q;

	queues_expect(p, now, elapsed_ns);
	for (q = 0; q < p->queues_count; q++)
		growth += ppfc_growth(&p->queues[q]);
	p->slots[0].remaining_ns = ppfc_remaining(free, growth, elapsed_ns);
	if (!ppfc_predict(p->queues, p->queues_count, &p->params, free, elapsed_ns))
		return;
	for (q = 0; q < p->queues_count; q++)
		if (p->queues[q].acts)
			queue_pause(p, q, now, elapsed_ns);
}

/* XOFF and XON. Returns whether anything is in force. */
static int port_threshold(struct ppfc *p, __u32 slot, __u64 now, __u64 free)
{
	struct ppfc_port *port = &p->ports[slot];
	int in_force = 0;
	__u64 pause_ns;
	__u32 prio;

	for (prio = 0; prio < PFC_PRIORITIES; prio++) {
		struct pfc_class *of = &p->slots[slot].of[prio];
		enum pfc_act act;

		if (!(p->config->lossless >> prio & 1))
			continue;
		act = pfc_ingress(&of->told, &port->params, now, of->in_bytes, free, &pause_ns);
		of->xoffs += act == PFC_XOFF;
		of->refreshes += act == PFC_REFRESH;
		of->xons += act == PFC_XON;
		if (act != PFC_NOTHING)
			pfc_set(&port->frame, prio, pfc_ns_quanta(pause_ns, port->bps));
		in_force |= of->told.xoff || of->told.predict_ns > now;
	}
	return in_force;
}

static int queues_are_short(const struct ppfc *p)
{
	__u32 k;

	for (k = 0; k < p->count; k++)
		if (READ_ONCE(p->slots[p->used[k]].total) > p->wake_bytes)
			return 0;
	return 1;
}

static void ppfc_round(struct ppfc *p)
{
	__u64 now = now_ns(), elapsed_ns = p->round_ns ? now - p->round_ns : 0, used, free;
	int in_force = 0;
	__u32 k;

	if (p->pins->ctl->bypass) {
		p->round_ns = 0;
		return;
	}
	used = queues_read(p);
	free = p->shared > used ? p->shared - used : 0;
	p->slots[0].remaining_ns = PPFC_NEVER;
	if (elapsed_ns)
		round_predict(p, now, free, elapsed_ns);
	for (k = 0; k < p->count; k++)
		if (port_does(&p->ports[p->used[k]], PFC_F_PAUSE))
			in_force |= port_threshold(p, p->used[k], now, free);
	frames_send(p);
	p->slots[0].round_ns = p->round_ns = now;
	p->slots[0].elapsed_ns = elapsed_ns;
	p->slots[0].free_bytes = free;
	if (in_force || !queues_are_short(p))
		p->quiet_ns = 0;
	else if (!p->quiet_ns)
		p->quiet_ns = now;
}

/* --- sleep --- */

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
	timerfd_settime(p->timer_fd, 0, &every, NULL);
	p->awake = 1;
}

static void ppfc_sleep(struct ppfc *p)
{
	timerfd_settime(p->timer_fd, 0, &(struct itimerspec){}, NULL);
	p->awake = 0;
	alarms_set(p, p->wake_bytes);
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
	if (p->quiet_ns && p->round_ns - p->quiet_ns >= PPFC_QUIET_NS)
		ppfc_sleep(p);
}

int ppfc_fd(const struct ppfc *p)
{
	return p->epoll_fd;
}

/* --- configuration --- */

/* What its neighbour was told holds no more. */
static void told_forget(struct pfc_slot *s)
{
	__u32 prio;

	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		s->of[prio].told = (struct pfc_told){};
}

/* The port of an entry in pfc_ports, in its slot. Returns whether it obeys. */
static int port_take(struct ppfc *p, __u32 ifindex, const struct pfc_port *v)
{
	struct ppfc_port *port = &p->ports[v->slot % PFC_SLOTS];
	struct link_info link;
	struct port known;

	if (map_find(p->pins->ports, "ports", &ifindex, &known) <= 0)
		return 0;
	if (!(v->flags & PFC_F_COUNT))
		return !!(v->flags & PFC_F_OBEY);
	if (port->ifindex != ifindex)
		memset(port, 0, sizeof(*port));
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

/* Only who pauses needs one, and may need a right for it. */
static int socket_open(struct ppfc *p)
{
	int one = 1;

	if (p->socket_fd >= 0)
		return 0;
	p->socket_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (p->socket_fd >= 0 && !setsockopt(p->socket_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return 0;
	msg_limited(&p->send_limit, 60, "pfc: a packet socket: %s: nobody is paused; it wants CAP_NET_RAW, and AF_PACKET where a service manager restricts address families",
		    strerror(errno));
	if (p->socket_fd >= 0)
		close(p->socket_fd);
	p->socket_fd = -1;
	return -1;
}

/* NICs that do PFC: what they counted, and whether they are to go on with it. */
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
		if (nic_follow(name, &v, ppfc_acts(p->pins), &p->slots[v.slot].nic, &p->silent[v.slot], &p->nic_limit) &&
		    !bpf_map_update_elem(p->pins->pfc_ports, &ifindex, &v, BPF_EXIST))
			nic_tell(name, &v);
	}
}

/* The buffer, and the parameters that follow from it and from the ports. */
static void params_apply(struct ppfc *p)
{
	const struct config *c = p->config;
	unsigned int k, pausing = 0, priorities = __builtin_popcount(c->lossless);
	__u64 fastest = 0, headroom = 0;
	char text[UNITS_STRLEN];

	p->enabled = 0;
	for (k = 0; k < p->count; k++) {
		const struct ppfc_port *port = &p->ports[p->used[k]];
		struct link_info link = { .mtu = 1500 };

		if (!(port->flags & PFC_F_PAUSE))
			continue;
		link_get(port->name, &link);
		pausing++;
		headroom += priorities * config_headroom(c, port->bps, link.mtu + 14);
		fastest = port->bps > fastest ? port->bps : fastest;
	}
	if (!pausing || c->mode == MODE_OBSERVE)
		return;
	if (headroom >= c->buffer_bytes) {
		msg_limited(&p->buffer_limit, 60,
			    "pfc: buffer '%s' is no more than the headroom of its ports at their speeds, %llu bytes: nobody is paused; write more, or fewer priorities (lossless)",
			    units_bytes_format(c->buffer_bytes, text), headroom);
		return;
	}
	if (socket_open(p))
		return;
	p->enabled = 1;
	p->shared = c->buffer_bytes - headroom;
	ppfc_params_init(&p->params, p->shared, c->buffer_bytes, pausing, fastest, c->delay_ns);
	p->params.t_thresh_ns = c->t_thresh_ns ?: PPFC_THRESH * p->params.t_thresh_ns;
	if (p->params.t_thresh_ns >= PFC_NS_MAX)
		p->params.t_thresh_ns = PFC_NS_MAX - 1;
	if (c->k_max_bytes)
		p->params.k_max = c->k_max_bytes;
	p->params.r = c->ppfc_r;
	for (k = 0; k < p->count; k++) {
		struct ppfc_port *port = &p->ports[p->used[k]];
		struct link_info link = { .mtu = 1500 };

		link_get(port->name, &link);
		pfc_params_init(&port->params, p->shared, port->bps, link.mtu + 14, c->interval_ns);
		if (c->xoff_bytes) {
			port->params.alpha = 0;
			port->params.xoff = c->xoff_bytes;
		}
	}
	/* Long before a queue is acted on, so that its growth is known by then. */
	p->wake_bytes = p->params.k_max / 4;
	if (c->xoff_bytes && c->xoff_bytes / 4 < p->wake_bytes)
		p->wake_bytes = c->xoff_bytes / 4;
	p->wake_bytes += !p->wake_bytes;
}

static void seed_apply(struct ppfc *p)
{
	__u64 seed;

	if (p->config->pfc.seeded)
		seed = p->config->pfc.seed;
	else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = now_ns();
	ppfc_seed(&p->random, seed);
}

void ppfc_apply(struct ppfc *p, const struct config *config)
{
	int fresh = p->config != config, obeys;

	p->config = config;
	memset(p->silent, 0, sizeof(p->silent));
	alarms_set(p, 0);
	ports_take(p, &obeys);
	p->pins->ctl->pfc = obeys;
	params_apply(p);
	if (fresh)
		seed_apply(p);
	if (!p->enabled && p->awake)
		timerfd_settime(p->timer_fd, 0, &(struct itimerspec){}, NULL);
	p->awake = 0;
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
			msg_limited(&p->storm_limit, 10,
				    "%s: priority %u: its neighbour has paused it for %llu ms without a break: it sends again, and pauses are ignored until none comes for as long, or XON does (%llu storms)",
				    name, prio, v->params.storm_ns / 1000000, v->storms[prio]);
		said[prio] = v->storms[prio];
	}
}

/*
 * Who throws away a queue (a qdisc that is replaced, a link that goes down) tells nobody: what has not changed for a
 * second and is not there any more is forgotten.
 */
static void queue_forget(struct ppfc *p, __u32 slot)
{
	struct pfc_slot *s = &p->slots[slot];
	__u64 total = READ_ONCE(s->total);
	struct link_load load;

	if (total && total == p->totals[slot] && !link_load_get(p->ports[slot].ifindex, &load) && !load.backlog_bytes &&
	    total == READ_ONCE(s->total)) {
		memset(s->bytes, 0, sizeof(s->bytes));
		s->total = 0;
	}
	p->totals[slot] = total;
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
	/* What an earlier daemon has told runs out by itself. */
	for (slot = 0; slot < PFC_SLOTS; slot++)
		told_forget(&p->slots[slot]);
	*ppfc = p;
	return 0;
}

static void ppfc_let_go(struct ppfc *p)
{
	__u32 k, prio;

	alarms_set(p, 0);
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
