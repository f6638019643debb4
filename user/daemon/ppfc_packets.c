// SPDX-License-Identifier: GPL-2.0-only
/* Packets' decisions between two rounds (bpf/pause/arrive.bpf.h): their parameters, and the follow-up in a round. */
#include "daemon/ppfc_int.h"
#include "lib/net.h"
#include "sluice/once.h"

#define MTU_UNKNOWN 1500 /* for a link that no longer exists */
/*
 * While asleep the loop renews the lease in ticks, once a second, and one may be late. While awake, in rounds: then it
 * is no longer than the shortest default of a neighbour's watchdog, or a dead daemon's pauses would look like a storm.
 */
#define LEASE_ASLEEP_NS (3 * NSEC_PER_SEC)
#define LEASE_AWAKE_NS (NSEC_PER_SEC / 10)

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

void packets_follow(struct ppfc *p, __u64 now)
{
	__u32 k, prio;

	for (k = 0; k < p->count; k++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			if (p->config->lossless >> prio & 1)
				class_follow(p, p->used[k], prio, now);
}
