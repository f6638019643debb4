/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PAUSE_ARRIVE_BPF_H
#define SLUICE_PAUSE_ARRIVE_BPF_H
/*
 * Pauses decided when a packet enters the queue of a switch port (sluice/pause/arrive.h), while the daemon's lease
 * runs:
 *
 *  1. pfc_queue_arrive(): the growth of the queue; at the end of a window Algorithm 1 for it and Algorithm 2, which marks
 *     ports.
 *  2. pfc_predicted(): the packet of a marked port becomes the frame to its neighbour (tell.bpf.h).
 *  3. pfc_threshold_arrive(): XOFF, if the packet takes its port's bytes here past the threshold.
 *
 * The packet is not counted yet: the qdisc's tracepoint counts it, if it is taken. So it is added to each sum here.
 *
 * There are two locks (trylock.h); a CPU that finds one taken does nothing, and the next packet repeats the check. The
 * lock of a queue (pfc_arrivals) is taken once in a window and for the packets of marked ports. The lock of a neighbour
 * (pfc_class) has two kinds of writers, packets of all queues and the daemon. It is not a compare-and-swap on one word,
 * because four fields belong together and the core decides by all of them; and it is held until the frame has left, so
 * that two frames do not contradict each other and an unsent pause is undone.
 *
 * The free memory is exact, at the price of an atomic addition with each packet (pfc_charge()): the daemon's last round
 * would be older than the headroom allows, and summing all totals would read 64 cache lines that other CPUs write.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "pause/count.bpf.h"
#include "pause/tell.bpf.h"
#include "port/class.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/once.h"
#include "sluice/pause/arrive.h"
#include "sluice/trylock.h"

static inline __u32 pfc_bytes(__u64 bytes)
{
	return bytes < PFC_BYTES_MAX ? bytes : (__s64)bytes < 0 ? 0 : PFC_BYTES_MAX - 1;
}

/* ---- 1. The queue ---- */

/* Fills in the queues of one priority as this packet sees them. */
VERIFIED_ONCE int pfc_queues_see(struct pfc_work *w, __u32 prio)
{
	__u32 i;

	if (!w || prio >= PFC_PRIORITIES)
		return 0;
	for (i = 1; i < PFC_SLOTS && i < w->a.slots; i++) {
		const struct pfc_slot *s = pfc_slot_at(i);

		if (s)
			w->queues[i] = ppfc_seen(&s->arrivals[prio].meter, w->a.now_ns, pfc_bytes(s->queue_bytes[prio]),
						 s->bps, w->a.elapsed_ns);
	}
	return 0;
}

/* Adds the bytes that will return to the queues. */
VERIFIED_ONCE int pfc_queues_expect(struct pfc_work *w, __u32 prio)
{
	__u32 i, to;

	if (!w || prio >= PFC_PRIORITIES)
		return 0;
	for (i = 1; i < PFC_SLOTS && i < w->a.slots; i++) {
		const struct pfc_slot *s = pfc_slot_at(i);

		if (!s)
			continue;
		to = s->of[prio].paused_for;
		VERIFIER_FORGET(to);
		if (to < PFC_SLOTS)
			w->queues[to].returning += ppfc_returning(&s->of[prio].told, w->a.now_ns, 0, w->a.elapsed_ns);
	}
	for (i = 1; i < PFC_SLOTS && i < w->a.slots; i++)
		ppfc_seen_end(&w->queues[i]);
	return 0;
}

/* Feeds the queues of one priority to Algorithm 1. */
VERIFIED_ONCE int pfc_queues_blame(struct pfc_work *w, const struct ppfc_params *p, __u32 prio)
{
	__u32 i;

	if (!w || !p)
		return 0;
	for (i = 1; i < PFC_SLOTS && i < w->a.slots; i++) {
		int first = i < w->a.out || (i == w->a.out && prio < w->a.prio);

		if (i != w->a.out || prio != w->a.prio)
			ppfc_blame_add(&w->blame, &w->own, &w->queues[i], first, p, w->a.elapsed_ns);
	}
	return 0;
}

/* Algorithm 1 for the queue of this packet. */
static inline int pfc_queue_is_to_blame(struct pfc_work *w, struct pfc_arrivals *v, const struct pfc_rule *r)
{
	__u32 prio = w->a.prio, out;

	if (w->a.waiting <= r->predict.k_max || v->meter.increment <= 0)
		return 0;
	pfc_queues_see(w, prio);
	pfc_queues_expect(w, prio);
	out = w->a.out;
	VERIFIER_AT_MOST(out, PFC_SLOTS - 1, 0);
	w->own = w->queues[out];
	w->own.bytes = w->a.waiting;
	w->blame = (struct ppfc_blame){};
	pfc_queues_blame(w, &r->predict, prio);
	for (prio = 0; prio < PFC_PRIORITIES; prio++) {
		if (prio == w->a.prio || !(r->lossless >> prio & 1))
			continue;
		pfc_queues_see(w, prio);
		pfc_queues_expect(w, prio);
		pfc_queues_blame(w, &r->predict, prio);
	}
	v->remaining_ns = ppfc_remaining(w->a.free, w->blame.total + ppfc_growth(&w->own), w->a.elapsed_ns);
	return ppfc_blames(&w->blame, &w->own, &r->predict, w->a.free, w->a.elapsed_ns);
}

/* Starts a window of the queue: notes each port's bytes, and its growth in the window before. */
VERIFIED_ONCE int pfc_window_turn(struct pfc_slot *s, struct pfc_work *w, __u64 predicts, int whole)
{
	struct pfc_arrivals *v;
	__u32 i, bytes, prio;

	if (!s || !w)
		return 0;
	prio = w->a.prio;
	VERIFIER_AT_MOST(prio, PFC_PRIORITIES - 1, 0);
	v = &s->arrivals[prio];
	for (i = 0; i < PFC_SLOTS && i < w->a.slots; i++) {
		bytes = pfc_bytes(s->bytes[i][prio]) + (i == w->a.in ? w->a.bytes : 0);
		v->increment[i] = whole ? (__s32)(bytes - v->last[i]) : 0;
		v->last[i] = bytes;
		w->shares[i] = (struct ppfc_share){ .bytes = predicts >> i & 1 ? bytes : 0 };
	}
	return 0;
}

VERIFIED_ONCE __u32 pfc_port_draw(struct pfc_work *w, __u32 at)
{
	return w ? ppfc_draw_at(w->shares, PFC_SLOTS, at) : 0;
}

/*
 * Algorithm 2, as ppfc_draw_ports(). Returns a bit mask of the drawn slots. It covers all slots; unused ones have no
 * share: Linux 6.12 and older forget the bound of a number with which a loop is compared.
 */
VERIFIED_ONCE __u64 pfc_ports_draw(struct pfc_work *w, const struct ppfc_params *p, struct ppfc_random *random)
{
	__u64 drawn = 0, queue, held = 0;
	__u32 i;

	if (!w || !p || !random)
		return 0;
	for (i = 0; i < PFC_SLOTS; i++)
		if (i >= w->a.slots)
			w->shares[i].bytes = 0;
	queue = ppfc_draw_begin(w->shares, PFC_SLOTS);
	for (i = 0; i < PFC_SLOTS && ppfc_draws_on(held, queue, p); i++)
		held += pfc_port_draw(w, ppfc_draw(random, queue - held));
	for (i = 0; i < PFC_SLOTS; i++)
		drawn |= (__u64)(w->shares[i].drawn & 1) << i;
	return drawn;
}

/* Ends a window of the queue if it is over, and marks ports anew. Under the queue's lock. */
static inline void pfc_window_arrive(struct pfc_slot *out, struct pfc_arrivals *v, struct pfc_work *w,
				     const struct pfc_rule *r)
{
	enum ppfc_step step;
	__u32 known = v->known;

	/* This CPU's clock was read before that of a faster CPU. */
	if ((__s64)(w->a.now_ns - v->meter.begun_ns) < 0)
		w->a.now_ns = v->meter.begun_ns;
	step = ppfc_meter_step(&v->meter, w->a.now_ns, w->a.waiting, out->window_ns);
	w->a.elapsed_ns = v->meter.elapsed_ns;
	if (step == PPFC_STEP_NONE)
		return;
	v->marked = 0;
	/* The ports' shares only matter for marks, which start at k_max: they are known from half of that on. */
	v->known = w->a.waiting > r->predict.k_max / 2;
	if (!v->known)
		return;
	pfc_window_turn(out, w, r->predicts, known && step == PPFC_STEP_ENDS);
	if (step == PPFC_STEP_ENDS && pfc_queue_is_to_blame(w, v, r))
		v->marked = pfc_ports_draw(w, &r->predict, &v->random);
}

/* A packet enters a queue, whose lock is held. Returns the quanta of its port's pause, computed from w->share; 0: none. */
VERIFIED_ONCE __u32 pfc_queue_arrive(struct pfc_slot *out, struct pfc_work *w, const struct pfc_rule *r, __u64 in_bps)
{
	struct pfc_arrivals *v;
	struct ppfc_queue q;
	__u32 in, prio;

	if (!out || !w || !r)
		return 0;
	prio = w->a.prio;
	VERIFIER_AT_MOST(prio, PFC_PRIORITIES - 1, 0);
	v = &out->arrivals[prio];
	pfc_window_arrive(out, v, w, r);
	in = w->a.in;
	VERIFIER_AT_MOST(in, PFC_SLOTS - 1, 0);
	VERIFIER_AT_MOST(prio, PFC_PRIORITIES - 1, 0);
	if (!(v->marked >> in & 1))
		return 0;
	w->share = ppfc_share_now(pfc_bytes(out->bytes[in][prio]) + w->a.bytes, v->last[in], v->increment[in]);
	if (w->share.increment <= 0)
		return 0;
	v->marked &= ~(1ULL << in);
	if (r->fixed_ns)
		return pfc_ns_quanta(r->fixed_ns, in_bps);
	q = (struct ppfc_queue){ .bps = out->bps, .increment = v->meter.increment, .bytes = w->a.waiting };
	return ppfc_duration(&w->share, &q, &r->predict, v->meter.elapsed_ns, in_bps);
}

/* ---- 2. Prediction ---- */

/* The queue's verdict on this packet: the quanta of its port's pause; 0: none. */
static inline __u32 pfc_predict(struct pfc_work *w, const struct pfc_rule *r, struct pfc_slot *out, __u64 in_bps)
{
	struct pfc_arrivals *v;
	__u32 quanta;
	__u64 lock_ns = w->a.now_ns;

	if (w->a.prio >= PFC_PRIORITIES)
		return 0;
	v = &out->arrivals[w->a.prio];
	if ((__s64)(lock_ns - READ_ONCE(v->meter.begun_ns)) < (__s64)out->window_ns &&
	    !(READ_ONCE(v->marked) >> (w->a.in % PFC_SLOTS) & 1))
		return 0;
	if (trylock_enter(&v->lock_ns, lock_ns) == TRYLOCK_TAKEN)
		return 0;
	quanta = pfc_queue_arrive(out, w, r, in_bps);
	trylock_leave(&v->lock_ns, lock_ns);
	return quanta;
}

/* Leaves the pause to the port's next packet. No lock: if ports are drawn at the same time one more has a mark. */
static inline void pfc_mark_again(struct pfc_slot *out, __u32 prio, __u32 in)
{
	VERIFIER_FORGET(prio);
	if (prio < PFC_PRIORITIES)
		__sync_fetch_and_or(&out->arrivals[prio].marked, 1ULL << in % PFC_SLOTS);
}

/* Pauses the neighbour of a drawn port, unless it is paused. Returns 0 if another CPU holds its lock. */
static inline int pfc_predicted(struct __sk_buff *ctx, struct pfc_work *w, struct pfc_slot *in,
				const struct pfc_port *port, __u32 quanta)
{
	__u32 prio = w->a.prio;
	__u64 now_ns = w->a.now_ns;
	struct pfc_class *of;
	struct pfc_told was;

	VERIFIER_AT_MOST(prio, PFC_PRIORITIES - 1, 1);
	of = &in->of[prio];
	if (trylock_enter(&of->lock_ns, now_ns) == TRYLOCK_TAKEN)
		return 0;
	was = of->told;
	if (ppfc_tell(&of->told, now_ns, quanta, port->params.bps, &w->share, w->a.elapsed_ns)) {
		of->paused_for = w->a.out;
		of->packets.predicted++;
		if (!pfc_frame_send(ctx, port, prio, quanta)) {
			of->packets.predicted--;
			of->told = was;
		}
	}
	trylock_leave(&of->lock_ns, now_ns);
	return 1;
}

/* ---- 3. Thresholds ---- */

static inline void pfc_threshold_arrive(struct __sk_buff *ctx, struct pfc_work *w, struct pfc_slot *in,
					const struct pfc_port *port)
{
	__u64 now_ns = w->a.now_ns, free = w->a.free, bytes, pause_ns;
	__u32 prio = w->a.prio;
	struct pfc_class *of;
	struct pfc_told was;
	enum pfc_act act;

	VERIFIER_AT_MOST(prio, PFC_PRIORITIES - 1, );
	of = &in->of[prio];
	bytes = pfc_bytes(READ_ONCE(in->ingress_bytes[prio])) + w->a.bytes;
	was = of->told;
	if (pfc_ingress(&was, &in->thresholds, now_ns, bytes, free, &pause_ns) == PFC_NOTHING ||
	    trylock_enter(&of->lock_ns, now_ns) == TRYLOCK_TAKEN)
		return;
	was = of->told;
	act = pfc_ingress(&of->told, &in->thresholds, now_ns, bytes, free, &pause_ns);
	if (act != PFC_NOTHING && !pfc_frame_send(ctx, port, prio, pfc_ns_quanta(pause_ns, port->params.bps))) {
		of->told = was;
		act = PFC_NOTHING;
	}
	of->packets.xoffs += act == PFC_XOFF;
	of->packets.refreshes += act == PFC_REFRESH;
	of->packets.xons += act == PFC_XON;
	trylock_leave(&of->lock_ns, now_ns);
}

/* ---- The packet ---- */

/* The priority of a packet, as the tracepoints compute it. */
static inline __u32 pfc_prio_of(struct __sk_buff *ctx, const struct pfc_port *p)
{
	__u16 proto = bpf_ntohs(ctx->protocol);
	__u32 offset = WIRE_ETH_BYTES;
	const __u8 *ip;

	if (p->trust == PFC_TRUST_PCP)
		return pfc_prio(p, 0, ctx->vlan_present ? ctx->vlan_tci : 0);
	if (proto == ETH_P_8021Q || proto == ETH_P_8021AD)
		offset += 4;
	ip = pkt_bytes(ctx, offset, 2);
	return pfc_prio(p, ip ? class_tos(ip[0], ip[1]) : 0, 0);
}

/* Fills in the current packet. */
static inline void pfc_arrival_read(struct __sk_buff *ctx, struct pfc_arrival *a, const struct pfc_slot *all,
				    const struct pfc_slot *out, __u32 prio)
{
	a->prio = prio;
	a->slots = all->rule.slots;
	a->bytes = ctx->wire_len < PFC_FRAME_BYTES ? PFC_FRAME_BYTES : ctx->wire_len;
	a->waiting = pfc_bytes(READ_ONCE(out->queue_bytes[prio])) + a->bytes;
	a->free = all->rule.shared_bytes - READ_ONCE(all->used_bytes) - a->bytes;
	if ((__s64)a->free < 0)
		a->free = 0;
}

/* The packet enters the queue of port p. */
static inline int pfc_decide(struct __sk_buff *ctx, const struct pfc_port *p, __u32 prio, __u64 now_ns)
{
	struct pfc_slot *all = pfc_slot_at(0), *out, *in;
	const struct pfc_port *port;
	struct pfc_work *w;
	__u32 quanta = 0;

	if (!all || now_ns > READ_ONCE(all->rule.lease_ns) || !(p->flags & PFC_F_COUNT) || prio >= PFC_PRIORITIES)
		return 0;
	out = pfc_slot_get(p);
	w = pfc_work_get();
	if (!out || !w || !out->window_ns)
		return 0;
	port = ctx->ingress_ifindex ? pfc_port_get(ctx->ingress_ifindex) : 0;
	in = port ? pfc_slot_get(port) : 0;
	pfc_arrival_read(ctx, &w->a, all, out, prio);
	w->a.now_ns = now_ns;
	w->a.out = p->slot;
	w->a.in = in ? port->slot : 0;
	if (all->rule.predicts)
		quanta = pfc_predict(w, &all->rule, out, port ? port->params.bps : 0);
	if (!in || !port->slot)
		return 0;
	if (quanta && !pfc_predicted(ctx, w, in, port, quanta))
		pfc_mark_again(out, w->a.prio, port->slot);
	if (port->flags & PFC_F_PAUSE && in->thresholds.pause_ns)
		pfc_threshold_arrive(ctx, w, in, port);
	return 0;
}

/* The last step at the egress of a switch port: the packet waits for the end of a pause, and may cause one. */
VERIFIED_ONCE int pfc_arrive(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	const struct pfc_port *p;
	__u64 now_ns;
	__u32 prio;

	if (!ctl || !ctl->pfc || ctl->bypass)
		return 0;
	p = pfc_port_get(ctx->ifindex);
	if (!p)
		return 0;
	prio = pfc_prio_of(ctx, p);
	if (prio >= PFC_PRIORITIES || !(p->lossless >> prio & 1))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (ctl->mode == MODE_ENFORCE)
		pfc_obey(ctx, p, prio, now_ns);
	return pfc_decide(ctx, p, prio, now_ns);
}

#endif
