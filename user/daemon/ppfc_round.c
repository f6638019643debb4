// SPDX-License-Identifier: GPL-2.0-only
/*
 * A round: queues are read and compared with thresholds, and neighbours are paused; what packets decided since the last
 * one is followed up; and the tracepoints' counts are corrected.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include "daemon/ppfc_round.h"
#include "lib/net.h"
#include "sluice/once.h"
#include "sluice/trylock.h"

/*
 * While asleep the loop renews the lease in ticks, once a second, and one may be late. While awake, in rounds: then it
 * is no longer than the shortest default of a neighbour's watchdog, or a dead daemon's pauses would look like a storm.
 */
#define LEASE_ASLEEP_NS (3 * NSEC_PER_SEC)
#define LEASE_AWAKE_NS (NSEC_PER_SEC / 10)

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

/* --- packets' decisions between two rounds (bpf/pause/arrive.bpf.h): their parameters, and the follow-up --- */

void lease_end(struct ppfc *p)
{
	WRITE_ONCE(p->slots[0].rule.lease_ns, 0);
}

void lease_extend(struct ppfc *p)
{
	if (p->enabled)
		WRITE_ONCE(p->slots[0].rule.lease_ns, now_ns() + (p->awake ? LEASE_AWAKE_NS : LEASE_ASLEEP_NS));
}

void rule_apply(struct ppfc *p)
{
	struct pfc_rule *r = &p->slots[0].rule;
	struct link_info link;
	__u32 k;

	lease_end(p);
	r->predict = p->params;
	r->shared_bytes = p->shared;
	r->fixed_ns = p->config->fixed_ns;
	r->lossless = p->config->lossless;
	r->predicts = r->slots = 0;
	for (k = 0; k < p->count; k++) {
		const struct ppfc_port *port = &p->ports[p->used[k]];
		struct pfc_slot *s = &p->slots[p->used[k]];

		if (link_get(port->name, &link))
			link.mtu = MTU_UNKNOWN;
		s->thresholds = port->params;
		s->bps = port->bps;
		s->window_ns = ppfc_window_ns(port->bps, link.mtu + 14);
		if (port->flags & PFC_F_PREDICT && !(port->flags & PFC_F_DOWN))
			r->predicts |= 1ULL << p->used[k];
		r->slots = p->used[k] >= r->slots ? p->used[k] + 1 : r->slots;
	}
	lease_extend(p);
}

static __u64 told_at_packets(const struct pfc_class *of)
{
	return of->packets.predicted + of->packets.xoffs + of->packets.refreshes + of->packets.xons;
}

void packets_begin(struct ppfc_port *port, const struct pfc_slot *s)
{
	__u32 prio;

	for (prio = 0; prio < PFC_PRIORITIES; prio++) {
		port->told_at_packets[prio] = told_at_packets(&s->of[prio]);
		port->predicted_at_packets[prio] = s->of[prio].packets.predicted;
	}
}

/* Reports pauses predicted by packets to the watcher, each with the queue's state when its port was drawn. */
static void packets_watch(struct ppfc *p, struct ppfc_port *port, const struct pfc_class *of, __u32 prio)
{
	__u64 *seen = &port->predicted_at_packets[prio], predicted = READ_ONCE(of->packets.predicted);

	for (; *seen < predicted; ++*seen)
		if (p->watcher)
			p->watcher->predicted(p->watcher->ctx,
					      p->slots[of->paused_for % PFC_SLOTS].arrivals[prio].remaining_ns);
	*seen = predicted;
}

static void class_follow(struct ppfc *p, __u32 slot, __u32 prio, __u64 now)
{
	struct ppfc_port *port = &p->ports[slot];
	const struct pfc_class *of = &p->slots[slot].of[prio];
	__u64 told = told_at_packets(of), xoff, predicted;

	packets_watch(p, port, of, prio);
	if (told == port->told_at_packets[prio])
		return;
	port->told_at_packets[prio] = told;
	/* If nothing waits the frame has left. */
	if (!READ_ONCE(p->slots[slot].total))
		return;
	xoff = of->told.xoff && of->told.until_ns > now ? of->told.until_ns - now : 0;
	predicted = ppfc_pauses(&of->told, now) ? of->told.predict_ns - now : 0;
	pfc_set(&port->frame, prio, pfc_ns_quanta(xoff > predicted ? xoff : predicted, port->bps));
}

/* Repeats pauses that packets sent since the last round, if their frames wait in a queue. */
static void packets_follow(struct ppfc *p, __u64 now)
{
	__u32 k, prio;

	for (k = 0; k < p->count; k++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			if (p->config->lossless >> prio & 1)
				class_follow(p, p->used[k], prio, now);
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

/* --- counts --- */

/*
 * Corrects the counts of the tracepoints. Each cell of a queue is also in three sums, kept beside it so that a packet
 * has them without a walk (bpf/pause/pfc.bpf.h). If the two diverge (a slot got another port, a queue was forgotten here
 * while a packet was counted) they differ by a constant number of bytes; if a sum is read in the middle of a packet they
 * do not. So a difference seen SUM_TIMES times is subtracted.
 */

static void sum_settle(__u64 *sum, __u64 is, struct sum_error *e)
{
	__s64 bytes = READ_ONCE(*sum) - is;

	e->times = bytes && (bytes == e->bytes || !e->times) ? e->times + 1 : !!bytes;
	e->bytes = bytes;
	if (e->times < SUM_TIMES)
		return;
	__sync_fetch_and_sub(sum, bytes);
	e->times = 0;
}

void counts_settle(struct ppfc *p)
{
	__u64 in[PFC_SLOTS][PFC_PRIORITIES] = {}, used = 0;
	__u32 k, slot, prio;

	for (k = 0; k < p->count; k++) {
		struct pfc_slot *s = &p->slots[p->used[k]];
		__u64 queue[PFC_PRIORITIES] = {};

		for (slot = 0; slot < PFC_SLOTS; slot++) {
			for (prio = 0; prio < PFC_PRIORITIES; prio++) {
				__u64 bytes = READ_ONCE(s->bytes[slot][prio]);

				queue[prio] += bytes;
				in[slot][prio] += bytes;
			}
		}
		used += READ_ONCE(s->total);
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			sum_settle(&s->queue_bytes[prio], queue[prio], &p->queue_errors[p->used[k]][prio]);
	}
	for (slot = 0; slot < PFC_SLOTS; slot++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			sum_settle(&p->slots[slot].ingress_bytes[prio], in[slot][prio], &p->ingress_errors[slot][prio]);
	sum_settle(&p->slots[0].used_bytes, used, &p->used_error);
}

static void cells_clear(struct ppfc *p, struct pfc_slot *s)
{
	__u32 in, prio;

	for (in = 0; in < PFC_SLOTS; in++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			__sync_fetch_and_sub(&p->slots[in].ingress_bytes[prio],
					     __atomic_exchange_n(&s->bytes[in][prio], 0, __ATOMIC_RELAXED));
	memset(s->queue_bytes, 0, sizeof(s->queue_bytes));
	__sync_fetch_and_sub(&p->slots[0].used_bytes, __atomic_exchange_n(&s->total, 0, __ATOMIC_RELAXED));
}

/*
 * Replacing a qdisc, or losing the link, discards a queue without an event. A count that has not changed for a second
 * while the kernel reports an empty queue is reset.
 */
void queue_forget(struct ppfc *p, __u32 slot)
{
	struct pfc_slot *s = &p->slots[slot];
	__u64 total = READ_ONCE(s->total);
	struct link_load load;

	if (total && total == p->totals[slot] && !link_load_get(p->ports[slot].ifindex, &load) && !load.backlog_bytes &&
	    total == READ_ONCE(s->total))
		cells_clear(p, s);
	p->totals[slot] = total;
}
