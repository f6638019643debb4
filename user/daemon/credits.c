// SPDX-License-Identifier: GPL-2.0-only
/*
 * The credit scheduler: which VOQ of which rack may send how much more to the ports of this host.
 *
 *  1. A VOQ has a slot, its index in the maps arrivals (ingress: what came) and credits (here: what was
 *     granted). The first packet of one that has none is told by a ring (news) and gets it a slot.
 *  2. Slots of which packets arrive are active, and watched: ingress notes S, F and bytes in their entries.
 *     Once a period, for each of them: hiercc_budget() of its port, once, for the
 *     time that has really passed, and hiercc_learn(). Then for each of these ports hiercc_grant() to its end.
 *  3. Totals of those that were granted some, and once a round trip of all that have sent (a message may get
 *     lost), go to their racks, up to WIRE_REPORTS_MAX in one message.
 *  4. What has been silent for two epochs and is due nothing is not active any more: its next packet is news
 *     again. While nothing is active there is no timer. So the work of a round is that of the active VOQs, however
 *     many there are.
 *  5. A slot that was idle for flow_timeout, or is the longest idle one when another is needed, is freed.
 *     An ingress program that holds its index at that moment notes a packet in what is
 *     another's by then: less than debt_max, as any claim.
 *  6. The port that grants a VOQ is the veth of its pod, where that has a queue, else the one by which it comes.
 *     Ingress tells when it knows a pod's veth, and tells again of a slot that is not watched: where a
 *     veth is gone its slots' watch is taken off.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "daemon/credits.h"
#include "lib/net.h"
#include "sluice/once.h"

#define CREDITS_NONE 0xffffffffU
#define CREDITS_IDLE_EPOCHS 2
#define CREDITS_AGE_STEP 256 /* VOQs of this host that are looked at in one go, */
#define CREDITS_AGE_STEPS 16 /*   and how often in a tick */
#define CREDITS_LIFE_PERIODS 4
#define CREDITS_REFUSED 4     /* claims within CREDITS_REFUSED_NS that are said: one is a sender's restart */
#define CREDITS_REFUSED_NS (10 * NSEC_PER_SEC)

enum slot_state {
	SLOT_FREE,
	SLOT_IDLE,
	SLOT_ACTIVE,
};

/* What only this file knows of a VOQ; the index is that of arrivals and credits. */
struct slot {
	__u32 prev, next; /* among those that are idle, or free */
	__u32 at;	  /* in credits.active */
	__u32 port, peer;
	__u32 told_round;
	__u64 told_ns;	  /* last message */
	__u64 inner_bytes; /* of the arrival, as far as it was looked at */
	__u64 base_sent, base_bytes; /* S and bytes since which they are compared */
	__u64 refused_ns;
	__u32 refused;
	enum slot_state state;
};

struct credit_port {
	struct hiercc_port port;
	__u64 speed_bps; /* 0: it is gone */
	__u64 granted_ns;
	__u64 bytes, inner_bytes; /* that arrived: how much less of them leaves by a pod's veth */
	__u32 ifindex;
	__u32 flags; /* PORT_F_* */
	__u32 slots; /* active ones */
	__u32 round;
};

struct credit_peer {
	struct hiercc_params params;
	__u64 rtt_ns;
};

struct slot_list {
	__u32 first, last;
};

struct credits {
	const struct pins *pins;
	const struct config *config;
	struct messages *messages;
	struct ring_buffer *ring;
	int epoll_fd, timer_fd;
	int enabled; /* a peer has hiercc */
	int awake;   /* the timer runs, and the ring is looked at by its clock */
	__u32 room;
	__u32 round;
	struct arrival *arrivals; /* the maps */
	struct hiercc_due *due;
	struct slot *slots;
	struct slot_list free, idle; /* idle: the longest is the first */
	__u32 *active, active_count;
	__u64 *told; /* rack << 32 | slot */
	__u32 told_count;
	struct credit_port *ports;
	__u32 ports_count;
	__u32 *visited, visited_count; /* ports with active slots, in this round */
	struct credit_peer *peers; /* as in config */
	__u32 voq_cursor;
	const struct watcher *watcher; /* or NULL */
	struct msg_limit full_limit, refused_limit, overrun_limit, ports_limit, id_limit;
};

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

/* --- ports --- */

static void credit_port_read(struct credits *c, struct credit_port *p)
{
	struct port port;

	p->speed_bps = 0;
	if (bpf_map_lookup_elem(c->pins->ports, &p->ifindex, &port))
		return;
	p->speed_bps = port.speed_bps;
	p->flags = port.flags;
}

/*
 * Credit is counted in bytes of the wire. What leaves by a pod's veth has none of our headers, so that credit for
 * more than its speed makes it full.
 */
static void port_rate(const struct credits *c, struct credit_port *p)
{
	double rate = p->speed_bps / 8. * c->config->credit_eta;

	if (p->flags & PORT_F_POD && p->inner_bytes && p->bytes > p->inner_bytes && p->bytes < 4 * p->inner_bytes)
		rate *= (double)p->bytes / p->inner_bytes;
	p->port.rate = rate < HIERCC_RATE_MAX ? rate : HIERCC_RATE_MAX - 1;
	p->port.delta = c->config->voq.delta ?: HIERCC_DELTA_BYTES;
}

/* Its index, or CREDITS_NONE. */
static __u32 port_index(struct credits *c, __u32 ifindex)
{
	struct credit_port *p;
	__u32 i, gone = CREDITS_NONE;

	for (i = 0; i < c->ports_count; i++) {
		if (c->ports[i].ifindex == ifindex)
			return i;
		if (!c->ports[i].speed_bps && !c->ports[i].slots)
			gone = i;
	}
	if (gone != CREDITS_NONE)
		i = gone;
	else if (c->ports_count < PORTS_MAX)
		i = c->ports_count++;
	else
		return CREDITS_NONE;
	p = &c->ports[i];
	*p = (struct credit_port){ .ifindex = ifindex };
	hiercc_port_init(&p->port, 0);
	credit_port_read(c, p);
	port_rate(c, p);
	return i;
}

static void port_unlist(struct credits *c, __u32 i)
{
	hiercc_unlist(&c->ports[c->slots[i].port].port, c->due, i);
}

/* --- slots --- */

/* The configuration's peer with the longest prefix, or CREDITS_NONE. */
static __u32 peer_find(const struct credits *c, const struct sluice_addr *a)
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

static void slot_free(struct credits *c, __u32 i)
{
	bpf_map_delete_elem(c->pins->arrival_slots, &c->arrivals[i].key);
	memset(&c->arrivals[i], 0, sizeof(c->arrivals[i]));
	memset(&c->due[i], 0, sizeof(c->due[i]));
	list_remove(c, &c->idle, i);
	c->slots[i].state = SLOT_FREE;
	list_append(c, &c->free, i);
}

/* A slot for a VOQ that has none, or CREDITS_NONE. */
static __u32 slot_make(struct credits *c, const struct arrival_key *key)
{
	struct slot *s;
	__u32 i;

	if (c->free.first == CREDITS_NONE && c->idle.first != CREDITS_NONE)
		slot_free(c, c->idle.first);
	i = c->free.first;
	if (i == CREDITS_NONE) {
		msg_limited(&c->full_limit, 60,
			    "more than %u VOQs at once: those that find no room get no credit and go by HPCC alone; a larger hiercc: voqs, after a restart, makes room",
			    c->room);
		return CREDITS_NONE;
	}
	s = &c->slots[i];
	memset(&c->arrivals[i], 0, sizeof(c->arrivals[i]));
	memset(&c->due[i], 0, sizeof(c->due[i]));
	c->arrivals[i].key = *key;
	if (bpf_map_update_elem(c->pins->arrival_slots, key, &i, BPF_ANY))
		return CREDITS_NONE;
	list_remove(c, &c->free, i);
	*s = (struct slot){ .state = SLOT_IDLE, .port = CREDITS_NONE };
	list_append(c, &c->idle, i);
	return i;
}

static void slot_activate(struct credits *c, __u32 i, __u64 now)
{
	struct slot *s = &c->slots[i];
	struct credit_port *p = &c->ports[s->port];

	list_remove(c, &c->idle, i);
	s->state = SLOT_ACTIVE;
	s->at = c->active_count;
	c->active[c->active_count++] = i;
	/* What a port had to give while nobody was there is gone. */
	if (!p->slots++)
		p->granted_ns = now;
}

static void slot_deactivate(struct credits *c, __u32 i)
{
	struct slot *s = &c->slots[i];
	__u32 last = c->active[--c->active_count];

	c->active[s->at] = last;
	c->slots[last].at = s->at;
	c->ports[s->port].slots--;
	s->state = SLOT_IDLE;
	list_append(c, &c->idle, i);
}

static void slot_watch(struct credits *c, __u32 i, __u32 watched)
{
	__atomic_store_n(&c->arrivals[i].watched, watched, __ATOMIC_SEQ_CST);
}

/* The port that grants it may be another than was thought. */
static void slot_to_port(struct credits *c, __u32 i, __u32 port, __u64 now)
{
	struct slot *s = &c->slots[i];

	if (s->port == port)
		return;
	if (s->state == SLOT_ACTIVE) {
		port_unlist(c, i);
		c->ports[s->port].slots--;
		if (!c->ports[port].slots++)
			c->ports[port].granted_ns = now;
	}
	s->port = port;
	c->arrivals[i].ifindex = c->ports[port].ifindex;
}

/* --- news --- */

static void credits_wake(struct credits *c);

static int news_take(void *ctx, void *data, size_t size)
{
	const struct arrival_news *n = data;
	struct credits *c = ctx;
	struct arrival *a;
	struct slot *s;
	__u32 i, port;
	__u64 now;

	if (size < sizeof(*n) || !c->enabled)
		return 0;
	now = now_ns();
	port = port_index(c, n->ifindex);
	if (port == CREDITS_NONE) {
		msg_limited(&c->ports_limit, 60, "more than %u ports: the others get no credit", PORTS_MAX);
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
	}
	s = &c->slots[i];
	a = &c->arrivals[i];
	/* A flow's first packet does not know of its pod yet. */
	if (s->port == CREDITS_NONE || c->ports[port].flags & PORT_F_POD || !c->ports[s->port].speed_bps)
		slot_to_port(c, i, port, now);
	a->from = n->from;
	a->to = n->to;
	a->last_ns = now;
	/* Also where ingress watches by now: this packet came before it did. */
	hiercc_see(&a->seen, n->claim >> 32, n->claim, n->bytes, n->packets,
		   c->peers[s->peer].params.debt_max);
	__sync_fetch_and_add(&a->inner_bytes, n->inner_bytes);
	slot_watch(c, i, 1);
	if (s->state != SLOT_ACTIVE)
		slot_activate(c, i, now);
	if (!c->awake)
		credits_wake(c);
	return 0;
}

/* --- what is claimed --- */

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
	msg_limited(&c->refused_limit, 60,
		    "rack %s, VOQ to %s: %s, %u times: two racks with one 'hiercc: id' (one of them sends from %s; each host's 'sluicectl status' has its id), a forged VOQ block, or heavy loss",
		    tor, prefix_format(&to, dst), what, CREDITS_REFUSED, addr_format(&a->from, from));
}

/* It really sent more than it was granted. */
static void slot_overruns(struct credits *c, __u32 i)
{
	const struct arrival *a = &c->arrivals[i];
	char from[PREFIX_STRLEN];

	msg_limited(&c->overrun_limit, 3600,
		    "%s sends more than it was granted: its interface has no fq, or its C0 is more than the %llu bytes of here; credit holds nothing then",
		    addr_format(&a->from, from), c->peers[c->slots[i].peer].params.c0);
}

/* S says at least what arrives, unless two send under one name. */
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

static void slot_learn(struct credits *c, __u32 i, __u64 now)
{
	struct slot *s = &c->slots[i];
	struct arrival *a = &c->arrivals[i];
	struct hiercc_due *d = &c->due[i];
	const struct hiercc_params *p = &c->peers[s->peer].params;
	struct credit_port *port = &c->ports[s->port];
	struct hiercc_seen seen;
	__u64 bytes = d->bytes, inner;
	enum hiercc_claim claim;

	/* Bytes first: what is claimed is then of these or of later ones. */
	seen.bytes = READ_ONCE(a->seen.bytes);
	seen.packets = READ_ONCE(a->seen.packets);
	inner = READ_ONCE(a->inner_bytes);
	seen.claim = READ_ONCE(a->seen.claim);
	port->bytes += seen.bytes - bytes;
	port->inner_bytes += inner - s->inner_bytes;
	s->inner_bytes = inner;
	claim = hiercc_learn(&port->port, c->due, i, p, &seen, now);
	if ((claim == HIERCC_LEARNED || claim == HIERCC_CUT) && slot_exceeds(s, d, p))
		claim = HIERCC_JUMPED;
	if (claim == HIERCC_FIRST || claim == HIERCC_JUMPED) {
		s->base_sent = d->sent;
		s->base_bytes = d->bytes;
	}
	if (claim == HIERCC_JUMPED) {
		a->claims_jumped++;
		slot_refused(c, i, "what it says to have sent jumps, or is less than what arrives", now);
	}
	if (claim != HIERCC_CUT)
		return;
	a->claims_cut++;
	/* The VOQ of a prefix that several racks are in is seen by each in part. */
	if (d->unseen == p->debt_max && a->key.prefixlen == 128)
		slot_refused(c, i, "it says to have sent more than arrives", now);
	else if (d->unseen < p->debt_max)
		slot_overruns(c, i);
}

/* --- messages --- */

static void slot_tell(struct credits *c, __u32 i)
{
	struct slot *s = &c->slots[i];

	if (s->told_round == c->round)
		return;
	s->told_round = c->round;
	c->told[c->told_count++] = (__u64)c->arrivals[i].key.tor << 32 | i;
}

static int told_compare(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

static void told_send(struct credits *c, const __u64 *told, __u32 n, __u64 now)
{
	const struct arrival *first = &c->arrivals[(__u32)told[0]];
	struct wire_credit entries[WIRE_REPORTS_MAX];
	struct message m = { .type = WIRE_CREDIT, .from = first->to, .to = first->from, .tor = first->key.tor,
			     .entries = entries, .n = n };
	__u32 k;

	for (k = 0; k < n; k++) {
		__u32 i = told[k];

		entries[k] = (struct wire_credit){ .total = htonl((__u32)c->due[i].granted),
						   .prefixlen = c->arrivals[i].key.prefixlen,
						   .flags = c->due[i].listed ? WIRE_CREDIT_DUE : 0,
						   .at = htons(now / HIERCC_AT_NS) };
		memcpy(entries[k].addr, &c->arrivals[i].key.addr, sizeof(entries[k].addr));
		c->slots[i].told_ns = now;
	}
	messages_send(c->messages, &m, c->config, c->pins->ctl->seq_base_ns);
}

/* All that are to be told, rack by rack. */
static void credits_tell(struct credits *c, __u64 now)
{
	__u32 from, to;

	qsort(c->told, c->told_count, sizeof(*c->told), told_compare);
	for (from = 0; from < c->told_count; from = to) {
		for (to = from + 1; to < c->told_count && to - from < WIRE_REPORTS_MAX; to++)
			if (c->told[to] >> 32 != c->told[from] >> 32)
				break;
		told_send(c, &c->told[from], to - from, now);
	}
	c->told_count = 0;
}

/* --- a round --- */

static void port_visit(struct credits *c, __u32 port, __u64 now)
{
	struct credit_port *p = &c->ports[port];

	if (p->round == c->round)
		return;
	p->round = c->round;
	hiercc_budget(&p->port, now - p->granted_ns);
	p->granted_ns = now;
	c->visited[c->visited_count++] = port;
}

static void port_grant(struct credits *c, struct credit_port *p)
{
	__u32 i;

	while ((i = hiercc_grant(&p->port, c->due)) != HIERCC_NONE)
		slot_tell(c, i);
}

/* Whether it is active no longer. */
static int slot_rests(struct credits *c, __u32 i, __u64 now)
{
	const struct hiercc_params *p = &c->peers[c->slots[i].peer].params;
	const struct arrival *a = &c->arrivals[i];
	__u64 last = READ_ONCE(a->last_ns);

	if (c->due[i].listed || last + CREDITS_IDLE_EPOCHS * p->epoch_ns > now)
		return 0;
	slot_watch(c, i, 0);
	/* One that came meanwhile would wait for the next to be known. */
	if (READ_ONCE(a->seen.bytes) == c->due[i].bytes)
		return 1;
	slot_watch(c, i, 1);
	return 0;
}

static void credits_round(struct credits *c)
{
	__u64 now = now_ns();
	__u32 k, i;

	if (!++c->round)
		c->round = 1;
	c->visited_count = 0;
	for (k = c->active_count; k-- > 0;) {
		i = c->active[k];
		port_visit(c, c->slots[i].port, now);
		slot_learn(c, i, now);
		if (slot_rests(c, i, now)) {
			slot_deactivate(c, i);
			continue;
		}
		if (c->slots[i].told_ns + c->peers[c->slots[i].peer].rtt_ns <= now)
			slot_tell(c, i);
	}
	for (k = 0; k < c->visited_count; k++)
		port_grant(c, &c->ports[c->visited[k]]);
	credits_tell(c, now);
	c->pins->ctl->credit_ns = now;
}

/* --- sleep --- */

static void credits_wake(struct credits *c)
{
	__u64 period = config_period_ns(c->config);
	struct itimerspec every = { { 0, period }, { 0, period } };

	/* Until then the ring is looked at by the timer: it is not asked to wake us for each. */
	epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, ring_buffer__epoll_fd(c->ring), NULL);
	timerfd_settime(c->timer_fd, 0, &every, NULL);
	c->awake = 1;
}

static void credits_sleep(struct credits *c)
{
	timerfd_settime(c->timer_fd, 0, &(struct itimerspec){}, NULL);
	epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(c->ring),
		  &(struct epoll_event){ .events = EPOLLIN });
	c->awake = 0;
}

void credits_run(struct credits *c)
{
	__u64 ticks;

	if (c->awake && read(c->timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	ring_buffer__consume(c->ring);
	if (!c->awake || !c->enabled)
		return;
	credits_round(c);
	if (!c->active_count)
		credits_sleep(c);
}

int credits_fd(const struct credits *c)
{
	return c->epoll_fd;
}

/* --- ageing --- */

struct voq_age_ctx {
	struct credits *c;
	__u64 now_ns;
};

static int voq_age(const struct voq_key *key, const struct voq *v, void *ctx)
{
	const struct voq_age_ctx *a = ctx;
	const struct config *config = a->c->config;
	const struct watcher *w = a->c->watcher;
	__u32 k;

	if (w)
		w->voq(w->ctx, v, a->now_ns);
	if (a->now_ns < v->voq.last_ns + config->flow_timeout_ns)
		return 0;
	for (k = 0; k < config->peers_count; k++) {
		const struct config_peer *p = &config->peers[k];

		if (p->hiercc == VOQS_HERE && p->key.prefixlen == key->prefixlen &&
		    !memcmp(&p->key.addr, &key->addr, sizeof(key->addr)))
			return 0;
	}
	bpf_map_delete_elem(a->c->pins->voqs, key);
	return 0;
}

static void id_follow(struct credits *c);

void credits_tick(struct credits *c)
{
	struct voq_age_ctx a = { c, now_ns() };
	__u32 k, i;

	for (k = 0; k < CREDITS_AGE_STEPS; k++) {
		if (pins_some_voqs(c->pins, &c->voq_cursor, CREDITS_AGE_STEP, voq_age, &a) || !c->voq_cursor)
			break;
		credits_run(c);
	}
	while (c->idle.first != CREDITS_NONE &&
	       c->arrivals[c->idle.first].last_ns + c->config->flow_timeout_ns < a.now_ns)
		slot_free(c, c->idle.first);
	if (!c->enabled)
		return;
	id_follow(c);
	for (k = 0; k < c->ports_count; k++) {
		struct credit_port *p = &c->ports[k];

		credit_port_read(c, p);
		port_rate(c, p);
		if (p->bytes > 1 << 20) {
			p->bytes /= 2;
			p->inner_bytes /= 2;
		}
	}
	for (k = 0; k < c->active_count; k++) {
		i = c->active[k];
		if (!c->ports[c->slots[i].port].speed_bps)
			slot_watch(c, i, 0);
	}
}

void credits_watch(struct credits *c, const struct watcher *w)
{
	c->watcher = w;
}

/* --- configuration --- */

/* This rack's number: the configuration's, or the address of the interface by which it sends. */
static void id_follow(struct credits *c)
{
	struct control *ctl = c->pins->ctl;
	const char *name = c->config->node.uplink;
	struct sluice_addr addr;
	__be32 tor = c->config->tor;
	char text[INET_ADDRSTRLEN];
	unsigned int k;

	for (k = 0; !name && k < c->config->interfaces_count; k++)
		if (c->config->interfaces[k].role == PORT_F_HOST)
			name = c->config->interfaces[k].name;
	if (!tor && ctl->tor)
		return; /* an address that changes does not make it another rack */
	if (!tor && name && !link_address(name, &addr)) {
		memcpy(&tor, &addr.b[12], sizeof(tor));
		if (!addr_is_v4(&addr))
			for (k = 0; k < 12; k += 4)
				tor = tor * 31 + *(__be32 *)&addr.b[k];
	}
	if (!tor) {
		msg_limited(&c->id_limit, 60,
			    "%s has no address yet, by which this rack would be known: HierCC waits for one; or write 'hiercc: {id: ...}'",
			    name);
		return;
	}
	if (tor != ctl->tor)
		msg_info("HierCC: this rack is %s", inet_ntop(AF_INET, &tor, text, sizeof(text)));
	ctl->tor = tor;
}

static __u64 fastest_bps(const struct credits *c)
{
	__u32 ifindex, next;
	__u64 fastest = 0;
	struct port port;
	int more = map_next(c->pins->ports, "ports", NULL, &next);

	while (more > 0) {
		ifindex = next;
		if (map_find(c->pins->ports, "ports", &ifindex, &port) > 0 &&
		    port.flags & (PORT_F_HOST | PORT_F_VOQ_UP | PORT_F_VOQ_DOWN) &&
		    port.speed_bps > fastest)
			fastest = port.speed_bps;
		more = map_next(c->pins->ports, "ports", &ifindex, &next);
	}
	return fastest;
}

/*
 * What a VOQ from there may be due: twice C0, by which its sender goes. That derives C0 from its own port, which
 * is taken to be like ours, if not told.
 */
static void peer_params(const struct peer *v, __u64 fastest, struct credit_peer *p)
{
	hiercc_params_init(&p->params, (v->voq_bps ?: fastest) / 8, v->t_ns, v->voq_period_ns);
	if (v->voq_c0)
		hiercc_params_c0(&p->params, v->voq_c0);
	hiercc_params_tune(&p->params, &v->voq);
	p->rtt_ns = v->t_ns;
}

/*
 * The VOQ that is for all of a peer's prefix, where there is no room for one of each host. Egress fills it in with
 * its first packet.
 */
static void voq_make_merged(struct credits *c, const struct peer_key *prefix)
{
	static const struct voq empty;
	struct voq_key key = { .addr = prefix->addr, .prefixlen = prefix->prefixlen };

	if (key.prefixlen && bpf_map_update_elem(c->pins->voqs, &key, &empty, BPF_NOEXIST) && errno != EEXIST)
		msg_limited(&c->full_limit, 60,
			    "no room for the VOQ of a prefix (%s): a larger hiercc: voqs, after a restart, makes room",
			    strerror(errno));
}

/* Forgets all VOQs that arrive. */
static void slots_forget(struct credits *c)
{
	struct arrival_key key;
	__u32 i;

	while (map_next(c->pins->arrival_slots, "arrival_slots", NULL, &key) > 0)
		if (map_remove(c->pins->arrival_slots, "arrival_slots", &key) < 0)
			break;
	memset(c->arrivals, 0, c->room * sizeof(*c->arrivals));
	memset(c->due, 0, c->room * sizeof(*c->due));
	c->free = c->idle = (struct slot_list){ CREDITS_NONE, CREDITS_NONE };
	for (i = 0; i < c->room; i++) {
		c->slots[i].state = SLOT_FREE;
		list_append(c, &c->free, i);
	}
	c->active_count = c->ports_count = 0;
}

void credits_apply(struct credits *c, const struct config *config)
{
	struct control *ctl = c->pins->ctl;
	int was = c->enabled;
	__u64 limit = CREDITS_LIFE_PERIODS * NSEC_PER_SEC, fastest, now = now_ns();
	unsigned int k, i;

	c->config = config;
	c->enabled = config_hiercc(config);
	if (!c->enabled) {
		if (c->awake)
			credits_sleep(c);
		if (was) {
			slots_forget(c);
			/* What others send is of no interest: the ring stays full. */
			epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, ring_buffer__epoll_fd(c->ring), NULL);
		}
		ctl->tor = 0;
		ctl->credit_ns = 0;
		return;
	}
	fastest = fastest_bps(c);
	free(c->peers);
	c->peers = calloc(config->peers_count, sizeof(*c->peers));
	if (!c->peers) {
		msg("HierCC: %s: it is off until the next SIGHUP", strerror(ENOMEM));
		c->enabled = 0;
		return;
	}
	for (k = 0; k < config->peers_count; k++) {
		struct peer v = config_peer_value(config, &config->peers[k]);

		peer_params(&v, fastest, &c->peers[k]);
		if (v.hiercc != VOQS_HERE)
			continue;
		voq_make_merged(c, &config->peers[k].key);
		if (v.voq_limit_ns < limit)
			limit = v.voq_limit_ns;
	}
	ctl->credit_life_ns = limit / 4 > CREDITS_LIFE_PERIODS * config_period_ns(config) ?
				      limit / 4 :
				      CREDITS_LIFE_PERIODS * config_period_ns(config);
	if (config->tor || !was)
		id_follow(c);
	if (!was) {
		/* Without a word on what is in the ring, which is old. */
		c->enabled = 0;
		ring_buffer__consume(c->ring);
		c->enabled = 1;
		if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(c->ring),
			      &(struct epoll_event){ .events = EPOLLIN }) && errno != EEXIST)
			msg("HierCC: waiting for news of VOQs: %s: no credit is sent until a restart", strerror(errno));
		return;
	}
	for (i = 0; i < c->room; i++)
		if (c->slots[i].state != SLOT_FREE)
			c->slots[i].peer = peer_find(c, &c->arrivals[i].from);
	/* Those whose peer is gone. */
	for (i = 0; i < c->room; i++) {
		if (c->slots[i].state == SLOT_FREE || c->slots[i].peer != CREDITS_NONE)
			continue;
		if (c->slots[i].state == SLOT_ACTIVE) {
			port_unlist(c, i);
			slot_deactivate(c, i);
		}
		slot_free(c, i);
	}
	for (k = 0; k < c->ports_count; k++) {
		credit_port_read(c, &c->ports[k]);
		port_rate(c, &c->ports[k]);
		c->ports[k].granted_ns = now;
	}
	if (c->awake)
		credits_wake(c); /* by its new period */
}

/* --- begin and end --- */

static void *map_memory(int fd, size_t value_bytes, __u32 *room, size_t *bytes)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	void *at;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return NULL;
	*room = info.max_entries;
	*bytes = value_bytes * info.max_entries;
	if (info.value_size != value_bytes) {
		errno = EPROTO;
		return NULL;
	}
	at = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

int credits_open(const struct pins *pins, int news_fd, struct messages *messages, struct credits **credits)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct credits *c = calloc(1, sizeof(*c));
	size_t bytes;
	__u32 room;
	int err;

	if (!c)
		return -ENOMEM;
	c->pins = pins;
	c->messages = messages;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->ring = ring_buffer__new(news_fd, news_take, c, NULL);
	errno = c->ring ? 0 : errno;
	c->arrivals = map_memory(pins->arrivals, sizeof(*c->arrivals), &c->room, &bytes);
	c->due = c->arrivals ? map_memory(pins->credits, sizeof(*c->due), &room, &bytes) : NULL;
	if (c->due && room < c->room)
		c->room = room;
	c->slots = calloc(c->room, sizeof(*c->slots));
	c->active = calloc(c->room, sizeof(*c->active));
	c->told = calloc(c->room, sizeof(*c->told));
	c->ports = calloc(PORTS_MAX, sizeof(*c->ports));
	c->visited = calloc(PORTS_MAX, sizeof(*c->visited));
	if (!c->ring || !c->arrivals || !c->due || !c->slots || !c->active || !c->told || !c->ports ||
	    !c->visited || c->epoll_fd < 0 || c->timer_fd < 0 ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev)) {
		err = errno ? -errno : -ENOMEM;
		credits_close(c);
		return err;
	}
	slots_forget(c);
	*credits = c;
	return 0;
}

void credits_close(struct credits *c)
{
	if (!c)
		return;
	ring_buffer__free(c->ring);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	if (c->timer_fd >= 0)
		close(c->timer_fd);
	if (c->arrivals)
		munmap(c->arrivals, c->room * sizeof(*c->arrivals));
	if (c->due)
		munmap(c->due, c->room * sizeof(*c->due));
	free(c->slots);
	free(c->active);
	free(c->told);
	free(c->ports);
	free(c->visited);
	free(c->peers);
	free(c);
}
