// SPDX-License-Identifier: GPL-2.0-only
/* Forgets idle and closed flows. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include "daemon/age.h"

#define AGE_CLOSED_NS (5 * NSEC_PER_SEC)
#define AGE_CROWDED_NS (1000 * 1000 * 1000ULL)

struct age_ctx {
	struct age *age;
	__u64 now_ns, timeout_ns;
	__u32 flows; /* flows seen */
};

static int flow_age(const struct flow_key *key, const struct flow *f, void *ctx)
{
	struct age_ctx *x = ctx;
	struct age *a = x->age;
	__u64 last = f->tx.last_ns > f->rx.last_ns ? f->tx.last_ns : f->rx.last_ns;
	__u64 limit = f->tx.flags & FLOW_F_CLOSED ? AGE_CLOSED_NS : x->timeout_ns;

	/* A walk through a large map takes longer than a period of credit. */
	if (x->flows++ % 64 == 0) {
		credits_run(a->credits);
		ppfc_run(a->ppfc);
	}
	rtts_flow(a->rtts, key, f, x->now_ns);
	if (a->watcher)
		a->watcher->flow(a->watcher->ctx, key, f, x->now_ns);
	if (a->crowded && f->rx.feedbacks < 2) /* at most the reply to one PROBE */
		limit = AGE_CROWDED_NS;
	if (x->now_ns > last + limit) {
		bpf_map_delete_elem(a->pins->flows, key);
		if (f->rx.kept)
			bpf_map_delete_elem(a->rx_states, key);
		if (f->rx.paths)
			bpf_map_delete_elem(a->flow_paths, key);
	}
	return 0;
}

/*
 * Walks the flow map, unless it was empty and no entry was added since: a walk through one of a million entries takes 2
 * ms, empty or not. A program counts an entry after adding it, so the next walk sees an entry that this one missed.
 */
void age_tick(struct age *a, const struct config *c, __u64 now_ns)
{
	struct age_ctx x = { .age = a, .now_ns = now_ns, .timeout_ns = c->flow_timeout_ns };
	__u64 made = 0;
	int err = pins_stat(a->pins, STAT_FLOW_MADE, &made);

	if (!err && a->empty && made == a->made)
		return;
	if (!err)
		err = pins_each_flow(a->pins, flow_age, &x);
	if (err)
		msg_limited(&a->limit, 60, "looking for idle flows: %s", strerror(-err));
	a->empty = !err && !x.flows;
	a->made = made;
	/* One-packet flows (a scan, a flood, a resolver) must not keep others out. */
	a->crowded = x.flows > a->flows_room - a->flows_room / 8;
	if (a->crowded)
		msg_limited(
			&a->crowded_limit, 60,
			"the flow map is nearly full (%u of %u): flows of a packet or two are forgotten after 1 s; a larger max_flows makes room",
			x.flows, a->flows_room);
}
