// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots of arriving VOQs: their lists, their making and end, the claims of their VOQs, learnt or refused and logged, and
 * the messages of credit to their racks.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/credits_port.h"
#include "daemon/credits_slot.h"
#include "lib/maps.h"
#include "sluice/once.h"

#define CREDITS_REFUSED 4 /* claims reported within CREDITS_REFUSED_NS: a single one is a sender's restart */
#define CREDITS_REFUSED_NS (10 * NSEC_PER_SEC)

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

__u32 slot_new(struct credits *c, const struct arrival_key *key)
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

void slot_activate(struct credits *c, __u32 i)
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

void slot_to_port(struct credits *c, __u32 i, __u32 port)
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

/* --- claims --- */

static void slot_refused(struct credits *c, __u32 i, const char *what, __u64 now)
{
	const struct arrival *a = &c->arrivals[i];
	struct peer_key to = { .prefixlen = a->key.prefixlen, .addr = a->key.addr };
	struct slot *s = &c->slots[i];
	char tor[INET_ADDRSTRLEN], dst[PREFIX_STRLEN], from[PREFIX_STRLEN];

	if (now - s->refused_ns > CREDITS_REFUSED_NS) {
		s->refused_ns = now;
		s->refused = 0;
	}
	if (++s->refused < CREDITS_REFUSED)
		return;
	s->refused = 0;
	inet_ntop(AF_INET, &a->key.tor, tor, sizeof(tor));
	msg_limited(
		&c->refused_limit, 60,
		"rack %s, VOQ to %s: %s, %u times: two racks with one 'hiercc: id' (one of them sends from %s; each host's 'sluicectl status' has its id), a forged VOQ block, or heavy loss",
		tor, prefix_format(&to, dst), what, CREDITS_REFUSED, addr_format(&a->from, from));
}

/* Reports that the sender really sent more than it was granted. */
static void slot_overruns(struct credits *c, __u32 i)
{
	const struct arrival *a = &c->arrivals[i];
	char from[PREFIX_STRLEN];

	msg_limited(
		&c->overrun_limit, 3600,
		"%s sends more than it was granted: its interface has no fq, or its C0 is more than the %llu bytes of here; credit holds nothing then",
		addr_format(&a->from, from), a->params.c0);
}

/* S covers at least the arrivals, unless two send under one name. */
static int slot_exceeds(struct slot *s, const struct hiercc_due *d, const struct hiercc_params *p)
{
	__u64 sent = d->sent - s->base_sent, came = d->bytes - s->base_bytes;

	if (came > sent + p->debt_max && came - sent > came / 8)
		return 1;
	if (came > 64 * p->debt_max) {
		s->base_sent = d->sent;
		s->base_bytes = d->bytes;
	}
	return 0;
}

/* Counts the arrivals since the last look, to find the share that leaves by a pod's veth. */
static void slot_weigh(struct credits *c, __u32 i, const struct hiercc_seen *seen)
{
	struct credit_port *port = &c->ports[c->slots[i].port];
	__u64 inner = READ_ONCE(c->arrivals[i].inner_bytes);
	struct slot *s = &c->slots[i];

	port->bytes += seen->bytes - s->bytes;
	port->inner_bytes += inner - s->inner_bytes;
	s->bytes = seen->bytes;
	s->inner_bytes = inner;
}

/* Reports claims refused since the last look, whether a packet or this daemon judged them. */
static void slot_say(struct credits *c, __u32 i, const struct hiercc_claims *new, __u64 now)
{
	struct hiercc_claims *old = &c->slots[i].claims;
	__u64 k;

	for (k = 0; k < CREDITS_REFUSED && k < new->jumped - old->jumped; k++)
		slot_refused(c, i, "what it says to have sent jumps, or is less than what arrives", now);
	/* If several racks are in one prefix, each sees its VOQ in part. */
	for (k = 0; k < CREDITS_REFUSED && k < new->unseen - old->unseen; k++)
		if (c->arrivals[i].key.prefixlen == 128)
			slot_refused(c, i, "it says to have sent more than arrives", now);
	if (new->cut - old->cut > new->unseen - old->unseen)
		slot_overruns(c, i);
	*old = *new;
}

void slot_learn(struct credits *c, __u32 i)
{
	struct slot *s = &c->slots[i];
	struct arrival *a = &c->arrivals[i];
	struct hiercc_due *d = &c->credits[i].due;
	struct hiercc_ring *r = &c->rings[s->port].ring;
	__u64 now = ring_enter(c, s->port);
	struct hiercc_seen seen = hiercc_seen_now(&a->seen);
	struct hiercc_claims claims;
	enum hiercc_claim claim;

	hiercc_ring_clock(r, now, 0);
	claim = hiercc_ring_learn(r, d, i, &a->params, &seen, now);
	hiercc_claims_count(&a->claims, d, &a->params, claim);
	if (!s->base_sent || claim == HIERCC_FIRST || a->claims.jumped != s->claims.jumped) {
		s->base_sent = d->sent;
		s->base_bytes = d->bytes;
	} else if (slot_exceeds(s, d, &a->params)) {
		a->claims.jumped++;
		s->base_sent = d->sent;
		s->base_bytes = d->bytes;
	}
	claims = a->claims;
	ring_leave(c, s->port, now);
	slot_weigh(c, i, &seen);
	slot_say(c, i, &claims, now);
}

/* --- messages --- */

static int told_compare(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

/* The message entry for a VOQ. */
static struct wire_credit told_entry(struct credits *c, __u32 i)
{
	const struct arrival_key *key = &c->arrivals[i].key;
	struct credit *credit = &c->credits[i];
	__u32 port = c->slots[i].port;
	__u64 now = ring_enter(c, port);
	struct wire_credit e = { .total = htonl((__u32)credit->due.granted),
				 .prefixlen = key->prefixlen,
				 .flags = WIRE_CREDIT_ARRIVAL | (credit->due.listed ? WIRE_CREDIT_DUE : 0),
				 .at = htons(now / HIERCC_AT_NS) };

	hiercc_told(&credit->told, &credit->due, now);
	ring_leave(c, port, now);
	memcpy(e.addr, &key->addr, sizeof(e.addr));
	return e;
}

static void told_send(struct credits *c, const __u64 *told, __u32 n)
{
	const struct arrival *first = &c->arrivals[(__u32)told[0]];
	struct wire_credit entries[WIRE_REPORTS_MAX];
	struct message m = { .type = WIRE_CREDIT,
			     .from = first->to,
			     .to = first->from,
			     .tor = first->key.tor,
			     .entries = entries,
			     .n = n };
	__u32 k;

	for (k = 0; k < n; k++)
		entries[k] = told_entry(c, told[k]);
	messages_send(c->messages, &m, c->config, c->pins->ctl->seq_base_ns);
}

void credits_tell(struct credits *c)
{
	__u32 from, to;

	qsort(c->told, c->told_count, sizeof(*c->told), told_compare);
	for (from = 0; from < c->told_count; from = to) {
		for (to = from + 1; to < c->told_count && to - from < WIRE_REPORTS_MAX; to++)
			if (c->told[to] >> 32 != c->told[from] >> 32)
				break;
		told_send(c, &c->told[from], to - from);
	}
	c->told_count = 0;
}
