// SPDX-License-Identifier: GPL-2.0-only
/* A round: queues are read and compared with thresholds, and neighbours are paused. */
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include "daemon/ppfc_int.h"
#include "lib/net.h"
#include "sluice/once.h"
#include "sluice/trylock.h"

/* --- frames --- */

void frame_begin(struct ppfc_port *port)
{
	pfc_build(&port->frame, port->mac);
}

/* Bypasses the qdisc, where it would wait behind the very queue that it is about. */
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

void frames_send(struct ppfc *p)
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

/* Reads one egress queue, and adds its bytes to the ingress counters. */
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

/* Reads all queues. Returns their total bytes, including priorities that are not paused. */
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

/* Adds the bytes that paused ports will bring to the queues that they were paused for. */
static void queues_expect(struct ppfc *p, __u64 now, __u64 elapsed_ns)
{
	__u32 q, k;

	for (q = 0; q < p->queues_count; q++) {
		const struct queue_name *name = &p->names[q];

		for (k = 0; k < p->count; k++) {
			__u32 in = p->used[k];

			if (p->slots[in].of[name->prio].paused_for == name->slot)
				p->queues[q].returning +=
					ppfc_returning(&p->slots[in].of[name->prio].told, now,
						       p->cells[name->slot][in][name->prio].growth, elapsed_ns);
		}
	}
}

/* How long the free buffer would last. */
static __u64 round_remaining(struct ppfc *p, __u64 now, __u64 free, __u64 elapsed_ns)
{
	__s64 growth = 0;
	__u32 q;

	queues_expect(p, now, elapsed_ns);
	for (q = 0; q < p->queues_count; q++)
		growth += ppfc_growth(&p->queues[q]);
	return ppfc_remaining(free, growth, elapsed_ns);
}

/*
 * XOFF or XON of one priority. The frame leaves at the end of the round: an XOFF that a packet sends in between is
 * overridden at the neighbour until it is refreshed.
 */
static enum pfc_act class_threshold(struct pfc_class *of, const struct pfc_params *params, __u64 now, __u64 free,
				    __u64 *pause_ns)
{
	struct pfc_told would = of->told;
	enum pfc_act act = pfc_ingress(&would, params, now, of->in_bytes, free, pause_ns);
	__u64 lock_ns = now_ns();

	if (act == PFC_NOTHING || trylock_enter(&of->lock_ns, lock_ns) == TRYLOCK_TAKEN)
		return PFC_NOTHING;
	act = pfc_ingress(&of->told, params, now, of->in_bytes, free, pause_ns);
	trylock_leave(&of->lock_ns, lock_ns);
	return act;
}

/* XOFF and XON. Returns true if anything is in force. */
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
		act = class_threshold(of, &port->params, now, free, &pause_ns);
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

void ppfc_round(struct ppfc *p)
{
	__u64 now = now_ns(), elapsed_ns = p->round_ns ? now - p->round_ns : 0, used, free;
	int in_force = 0;
	__u32 k;

	if (p->pins->ctl->bypass) {
		p->round_ns = 0;
		return;
	}
	lease_extend(p);
	used = queues_read(p);
	free = p->shared > used ? p->shared - used : 0;
	p->slots[0].remaining_ns = elapsed_ns ? round_remaining(p, now, free, elapsed_ns) : PPFC_NEVER;
	packets_follow(p, now);
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
