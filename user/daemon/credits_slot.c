// SPDX-License-Identifier: GPL-2.0-only
/* Slots of arriving VOQs: their lists, their making and end, and the news that need them. */
#include <bpf/bpf.h>
#include <string.h>
#include "daemon/credits_int.h"
#include "lib/maps.h"

/* --- lists of slots --- */

static void list_append(struct credits *c, struct slot_list *l, __u32 i)
{
	c->slots[i].prev = l->last;
	c->slots[i].next = CREDITS_NONE;
	if (l->last == CREDITS_NONE)
		l->first = i;
	else
		c->slots[l->last].next = i;
	l->last = i;
}

static void list_remove(struct credits *c, struct slot_list *l, __u32 i)
{
	struct slot *s = &c->slots[i];

	if (s->prev == CREDITS_NONE)
		l->first = s->next;
	else
		c->slots[s->prev].next = s->next;
	if (s->next == CREDITS_NONE)
		l->last = s->prev;
	else
		c->slots[s->next].prev = s->prev;
}

/* --- slots --- */

__u32 peer_find(const struct credits *c, const struct sluice_addr *a)
{
	__u32 k, best = CREDITS_NONE;

	for (k = 0; k < c->config->peers_count; k++) {
		const struct peer_key *p = &c->config->peers[k].key;

		if (addr_in_prefix(a, p) &&
		    (best == CREDITS_NONE || p->prefixlen > c->config->peers[best].key.prefixlen))
			best = k;
	}
	return best;
}

void slot_free(struct credits *c, __u32 i)
{
	bpf_map_delete_elem(c->pins->arrival_slots, &c->arrivals[i].key);
	ring_move(c, i, CREDITS_NONE);
	memset(&c->arrivals[i], 0, sizeof(c->arrivals[i]));
	memset(&c->credits[i], 0, sizeof(c->credits[i]));
	list_remove(c, &c->idle, i);
	c->slots[i].state = SLOT_FREE;
	list_append(c, &c->free, i);
}

/* Makes a slot for a VOQ that has none, or returns CREDITS_NONE. */
static __u32 slot_make(struct credits *c, const struct arrival_key *key)
{
	struct slot *s;
	__u32 i;

	if (c->free.first == CREDITS_NONE && c->idle.first != CREDITS_NONE)
		slot_free(c, c->idle.first);
	i = c->free.first;
	if (i == CREDITS_NONE) {
		msg_limited(
			&c->full_limit, 60,
			"more than %u VOQs at once: those that find no room get no credit and go by HPCC alone; a larger hiercc: voqs, after a restart, makes room",
			c->room);
		return CREDITS_NONE;
	}
	s = &c->slots[i];
	memset(&c->arrivals[i], 0, sizeof(c->arrivals[i]));
	memset(&c->credits[i], 0, sizeof(c->credits[i]));
	c->arrivals[i].key = *key;
	if (bpf_map_update_elem(c->pins->arrival_slots, key, &i, BPF_ANY))
		return CREDITS_NONE;
	list_remove(c, &c->free, i);
	*s = (struct slot){ .state = SLOT_IDLE, .port = CREDITS_NONE };
	list_append(c, &c->idle, i);
	return i;
}

static void slot_activate(struct credits *c, __u32 i)
{
	struct slot *s = &c->slots[i];

	list_remove(c, &c->idle, i);
	s->state = SLOT_ACTIVE;
	s->at = c->active_count;
	c->active[c->active_count++] = i;
	c->ports[s->port].slots++;
}

void slot_deactivate(struct credits *c, __u32 i)
{
	struct slot *s = &c->slots[i];
	__u32 last = c->active[--c->active_count];

	c->active[s->at] = last;
	c->slots[last].at = s->at;
	c->ports[s->port].slots--;
	s->state = SLOT_IDLE;
	list_append(c, &c->idle, i);
}

void slot_watch(struct credits *c, __u32 i, __u32 watched)
{
	__atomic_store_n(&c->arrivals[i].watched, watched, __ATOMIC_SEQ_CST);
}

/* Moves a slot to another port, if that turns out to grant it. */
static void slot_to_port(struct credits *c, __u32 i, __u32 port)
{
	struct slot *s = &c->slots[i];

	if (s->port == port)
		return;
	if (s->state == SLOT_ACTIVE) {
		c->ports[s->port].slots--;
		c->ports[port].slots++;
	}
	ring_move(c, i, port);
	c->arrivals[i].ifindex = c->ports[port].ifindex;
}

void slots_forget(struct credits *c)
{
	struct arrival_key key;
	__u32 i;

	while (map_next(c->pins->arrival_slots, "arrival_slots", NULL, &key) > 0)
		if (map_remove(c->pins->arrival_slots, "arrival_slots", &key) < 0)
			break;
	memset(c->arrivals, 0, c->room * sizeof(*c->arrivals));
	memset(c->credits, 0, c->room * sizeof(*c->credits));
	memset(c->rings, 0, CREDIT_RINGS * sizeof(*c->rings));
	c->free = c->idle = (struct slot_list){ CREDITS_NONE, CREDITS_NONE };
	for (i = 0; i < c->room; i++) {
		c->slots[i].state = SLOT_FREE;
		list_append(c, &c->free, i);
	}
	c->active_count = c->ports_count = 0;
}

/* --- news --- */

/* A VOQ of this port, and maybe others, has credit to hear of. */
static void ask_take(struct credits *c, __u32 i)
{
	if (i >= c->room || c->slots[i].state != SLOT_ACTIVE)
		return;
	port_visit(c, c->slots[i].port, now_ns());
	slot_tell(c, i);
}

int news_take(void *ctx, void *data, size_t size)
{
	const struct arrival_news *n = data;
	struct credits *c = ctx;
	struct arrival *a;
	struct slot *s;
	__u32 i, port, bytes;
	__u64 now;

	if (size >= sizeof(struct arrival_ask) && size < sizeof(*n) && c->enabled)
		ask_take(c, ((const struct arrival_ask *)data)->slot);
	if (size < sizeof(*n) || !c->enabled)
		return 0;
	now = now_ns();
	port = port_index(c, n->ifindex);
	if (port == CREDITS_NONE) {
		msg_limited(&c->ports_limit, 60, "more than %u ports: the others get no credit", CREDIT_RINGS);
		return 0;
	}
	if (bpf_map_lookup_elem(c->pins->arrival_slots, &n->key, &i) || i >= c->room ||
	    c->slots[i].state == SLOT_FREE) {
		i = slot_make(c, &n->key);
		if (i == CREDITS_NONE)
			return 0;
		c->slots[i].peer = peer_find(c, &n->from);
		if (c->slots[i].peer == CREDITS_NONE) { /* the configuration has just changed */
			slot_free(c, i);
			return 0;
		}
		ring_params(c, i);
	}
	s = &c->slots[i];
	a = &c->arrivals[i];
	/* A flow's first packet does not know its pod yet. */
	if (s->port == CREDITS_NONE || c->ports[port].flags & PORT_F_POD || !c->ports[s->port].speed_bps ||
	    c->ports[s->port].ifindex != a->ifindex)
		slot_to_port(c, i, port);
	a->from = n->from;
	a->to = n->to;
	a->last_ns = now;
	/* Also if ingress watches by now: this packet came before that. */
	bytes = hiercc_see(&a->seen, n->claim >> 32, n->claim, n->bytes, n->packets, a->params.debt_max);
	__sync_fetch_and_add(&a->inner_bytes, n->bytes ? n->inner_bytes : bytes);
	slot_watch(c, i, 1);
	if (s->state != SLOT_ACTIVE)
		slot_activate(c, i);
	if (!c->awake)
		credits_wake(c);
	port_visit(c, s->port, now);
	slot_learn(c, i);
	return 0;
}
