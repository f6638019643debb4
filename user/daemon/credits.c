// SPDX-License-Identifier: GPL-2.0-only
/*
 * The credit scheduler: how much more each VOQ of each rack may send to the ports of this host. Arriving packets grant
 * credit (bpf/rack/grant.bpf.h); this file enables that, and grants when no packets arrive.
 *
 *  1. A VOQ has a slot, its index in the maps arrivals (arrived bytes and accepted claims) and credits (grants). The
 *     first packet of a VOQ without a slot is reported by a ring (news), which gets it one. The port that grants it has
 *     a ring of VOQs in the map credit_rings (credits_port.c).
 *  2. Slots with arriving packets are active, and watched: ingress notes S, F and bytes in their entries, and their
 *     port grants. Once a period the same is done here for each of them, and the lease is renewed without which packets
 *     do not grant: they stop when this daemon is gone.
 *  3. Totals go to their racks, up to WIRE_REPORTS_MAX in one message: for VOQs that have not heard of their credit,
 *     when packets ask for it (struct arrival_ask), and once a round trip for all that have heard nothing (a message
 *     may get lost).
 *  4. A slot that has been silent for two epochs and is due nothing becomes inactive: its next packet is news again.
 *     While no slot is active there is no timer. Only active VOQs cost work in a round, however many others there are.
 *  5. A slot that was idle for flow_timeout, or is the longest idle one when another is needed, is freed. An ingress
 *     program that holds its index at that moment notes a packet in an entry that belongs to another VOQ by then: less
 *     than debt_max, as any claim. It grants nothing: it checks again once it holds the ring.
 *  6. The port that grants a VOQ is the veth of its pod, if that has a queue, else its ingress port. Ingress reports a
 *     pod's veth when it knows it, and reports again for a slot that is not watched: when a veth is gone the watch on
 *     its slots is removed.
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
#include "daemon/credits_port.h"
#include "daemon/credits_slot.h"
#include "lib/maps.h"
#include "lib/net.h"
#include "sluice/once.h"

#define CREDITS_ANY_ORDER (1U << 31) /* as reorder of hiercc_see(): no S is too far behind */
#define CREDITS_AGE_STEPS 16	     /* number of CREDITS_AGE_STEP in a tick */
#define CREDITS_LIFE_PERIODS 4

/* --- a round --- */

static void round_begin(struct credits *c)
{
	if (!++c->round)
		c->round = 1;
	c->visited_count = 0;
}

/* Grants from the visited ports, and sends the totals. */
static void round_end(struct credits *c)
{
	__u32 k;

	for (k = 0; k < c->visited_count; k++)
		port_grant(c, c->visited[k]);
	credits_tell(c);
}

int slot_rests(struct credits *c, __u32 i, __u64 now)
{
	const struct arrival *a = &c->arrivals[i];
	const struct hiercc_params *p = &a->params;
	const struct hiercc_due *d = &c->credits[i].due;
	__u64 last = READ_ONCE(a->last_ns);

	if (READ_ONCE(d->listed) || last + CREDITS_IDLE_EPOCHS * p->epoch_ns > now)
		return 0;
	slot_watch(c, i, 0);
	/* A packet that came meanwhile would stay unnoticed until the next one. */
	if (READ_ONCE(a->seen.bytes) == READ_ONCE(d->bytes) && !READ_ONCE(d->listed))
		return 1;
	slot_watch(c, i, 1);
	return 0;
}

void credits_round(struct credits *c)
{
	__u64 now = now_ns();
	__u32 k, i;

	round_begin(c);
	for (k = c->active_count; k-- > 0;) {
		i = c->active[k];
		port_visit(c, c->slots[i].port, now);
		slot_learn(c, i);
		if (slot_rests(c, i, now)) {
			slot_deactivate(c, i);
			continue;
		}
		if (READ_ONCE(c->credits[i].told.at_ns) + c->arrivals[i].params.window_ns <= now)
			slot_tell(c, i);
	}
	round_end(c);
	c->pins->ctl->credit_ns = now;
}

/* --- sleep --- */

static void credits_wake(struct credits *c)
{
	__u64 period = config_period_ns(c->config);
	struct itimerspec every = { { 0, period }, { 0, period } };

	timerfd_settime(c->timer_fd, 0, &every, NULL);
	c->awake = true;
}

void credits_sleep(struct credits *c)
{
	timerfd_settime(c->timer_fd, 0, &(struct itimerspec){}, NULL);
	c->awake = false;
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

/* The slot of the VOQ that a packet reports, with the peer that it is from; CREDITS_NONE: it gets none. */
static __u32 news_slot(struct credits *c, const struct arrival_news *n)
{
	__u32 i;

	if (!bpf_map_lookup_elem(c->pins->arrival_slots, &n->key, &i) && i < c->room && c->slots[i].state != SLOT_FREE)
		return i;
	i = slot_new(c, &n->key);
	if (i == CREDITS_NONE)
		return i;
	c->slots[i].peer = peer_find(c, &n->from);
	if (c->slots[i].peer == CREDITS_NONE) { /* the configuration has just changed */
		slot_free(c, i);
		return CREDITS_NONE;
	}
	ring_params(c, i);
	return i;
}

/* The slot is watched from now on: its VOQ has a packet. */
static void news_note(struct credits *c, const struct arrival_news *n, __u32 i, __u64 now)
{
	struct arrival *a = &c->arrivals[i];
	__u32 bytes;

	a->from = n->from;
	a->to = n->to;
	a->last_ns = now;
	/*
	 * If ingress watches by now, this packet came before that, and ingress may have noted a newer S: the sender did not
	 * begin anew, however far this S is behind.
	 */
	bytes = hiercc_see(&a->seen, n->claim >> 32, n->claim, n->bytes, n->packets,
			   a->watched ? CREDITS_ANY_ORDER : a->params.debt_max);
	__sync_fetch_and_add(&a->inner_bytes, n->bytes ? n->inner_bytes : bytes);
	slot_watch(c, i, 1);
}

int news_take(void *ctx, void *data, size_t size)
{
	const struct arrival_news *n = data;
	struct credits *c = ctx;
	struct slot *s;
	__u32 i, port;
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
	i = news_slot(c, n);
	if (i == CREDITS_NONE)
		return 0;
	s = &c->slots[i];
	/* A flow's first packet does not know its pod yet. */
	if (s->port == CREDITS_NONE || c->ports[port].flags & PORT_F_POD || !c->ports[s->port].speed_bps ||
	    c->ports[s->port].ifindex != c->arrivals[i].ifindex)
		slot_to_port(c, i, port);
	news_note(c, n, i, now);
	if (s->state != SLOT_ACTIVE)
		slot_activate(c, i);
	if (!c->awake)
		credits_wake(c);
	port_visit(c, s->port, now);
	slot_learn(c, i);
	return 0;
}

/* --- the loop --- */

/* News come at any time, and requests of packets do not wait for the timer. */
void credits_run(struct credits *c)
{
	__u64 ticks;
	int due = c->awake && read(c->timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks);

	round_begin(c);
	ring_buffer__consume(c->ring);
	if (!c->awake || !c->enabled)
		return;
	round_end(c);
	if (!due)
		return;
	credits_round(c);
	if (!c->active_count)
		credits_sleep(c);
}

int credits_fd(const struct credits *c)
{
	return c->epoll_fd;
}

/* --- configuration --- */

/* Updates this rack's number: the configured one, or the address of its sending interface. */
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
		return; /* a changed address does not make it another rack */
	if (!tor && name && !link_address(name, &addr)) {
		memcpy(&tor, &addr.b[12], sizeof(tor));
		if (!addr_is_v4(&addr))
			for (k = 0; k < 12; k += 4)
				tor = tor * 31 + *(__be32 *)&addr.b[k];
	}
	if (!tor) {
		msg_limited(
			&c->id_limit, 60,
			"%s has no address yet, by which this rack would be known: HierCC waits for one; or write 'hiercc: {id: ...}'",
			name ?: "the first host interface");
		return;
	}
	if (tor != ctl->tor)
		msg_info("HierCC: this rack is %s", inet_ntop(AF_INET, &tor, text, sizeof(text)));
	ctl->tor = tor;
}

static struct port port_fastest(const struct credits *c)
{
	struct port port, fastest = {};
	__u32 ifindex, next;
	int more = map_next(c->pins->ports, "ports", NULL, &next);

	while (more > 0) {
		ifindex = next;
		if (map_find(c->pins->ports, "ports", &ifindex, &port) > 0 &&
		    port.flags & (PORT_F_HOST | PORT_F_VOQ_UP | PORT_F_VOQ_DOWN) && port.speed_bps > fastest.speed_bps)
			fastest = port;
		more = map_next(c->pins->ports, "ports", &ifindex, &next);
	}
	return fastest;
}

/*
 * A VOQ from this peer may be due three times its sender's C0. The sender derives C0 from its own port, which is
 * assumed to be like ours unless configured.
 */
static void peer_params(const struct peer *v, const struct port *fastest, struct credit_peer *p)
{
	__u64 rate = (v->voq_bps ?: fastest->speed_bps) / 8;

	hiercc_params_arrival(&p->params, rate, v->t_ns, hiercc_gap_ns(rate, fastest->mtu + WIRE_ETH_BYTES),
			      v->voq_period_ns);
	if (v->voq_c0)
		hiercc_params_c0(&p->params, v->voq_c0);
	hiercc_params_tune(&p->params, &v->voq);
	p->rtt_ns = v->t_ns;
}

/*
 * Makes the VOQ of a peer's whole prefix, for use when there is no room for one per host. Egress fills it in with its
 * first packet.
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

/* Other racks may continue to send, which does not matter then: the ring stays full. */
static void credits_off(struct credits *c, int was)
{
	if (c->awake)
		credits_sleep(c);
	if (was) {
		slots_forget(c);
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, ring_buffer__epoll_fd(c->ring), NULL);
	}
	c->pins->ctl->tor = 0;
	c->pins->ctl->credit_ns = 0;
}

/* Makes the parameters of each peer, and the lifetime of credit. 0, or -ENOMEM. */
static int credit_peers_make(struct credits *c)
{
	const struct config *config = c->config;
	struct port fastest = port_fastest(c);
	__u64 limit = CREDITS_LIFE_PERIODS * NSEC_PER_SEC;
	unsigned int k;

	free(c->peers);
	c->peers = calloc(config->peers_count, sizeof(*c->peers));
	if (!c->peers)
		return -ENOMEM;
	for (k = 0; k < config->peers_count; k++) {
		struct peer v = config_peer_value(config, &config->peers[k]);

		peer_params(&v, &fastest, &c->peers[k]);
		if (v.hiercc != VOQS_HERE)
			continue;
		voq_make_merged(c, &config->peers[k].key);
		if (v.voq_limit_ns < limit)
			limit = v.voq_limit_ns;
	}
	c->pins->ctl->credit_life_ns = limit / 4 > CREDITS_LIFE_PERIODS * config_period_ns(config) ?
					       limit / 4 :
					       CREDITS_LIFE_PERIODS * config_period_ns(config);
	return 0;
}

/* The ring has old news, which are dropped silently. */
static void credits_on(struct credits *c)
{
	c->enabled = false;
	ring_buffer__consume(c->ring);
	c->enabled = true;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(c->ring),
		      &(struct epoll_event){ .events = EPOLLIN }) &&
	    errno != EEXIST)
		msg("HierCC: waiting for news of VOQs: %s: no credit is sent until a restart", strerror(errno));
}

/* Assigns slots to the peers of the new configuration; slots without a peer are freed. */
static void credits_reload(struct credits *c)
{
	unsigned int k, i;

	for (i = 0; i < c->room; i++) {
		if (c->slots[i].state == SLOT_FREE)
			continue;
		c->slots[i].peer = peer_find(c, &c->arrivals[i].from);
		if (c->slots[i].peer != CREDITS_NONE)
			ring_params(c, i);
	}
	for (i = 0; i < c->room; i++) {
		if (c->slots[i].state == SLOT_FREE || c->slots[i].peer != CREDITS_NONE)
			continue;
		if (c->slots[i].state == SLOT_ACTIVE)
			slot_deactivate(c, i);
		slot_free(c, i);
	}
	for (k = 0; k < c->ports_count; k++) {
		credit_port_read(c, &c->ports[k]);
		port_rate(c, k);
	}
	if (c->awake)
		credits_wake(c); /* with its new period */
}

void credits_apply(struct credits *c, const struct config *config)
{
	int was = c->enabled;

	c->config = config;
	c->enabled = config_hiercc(config);
	if (!c->enabled) {
		credits_off(c, was);
		return;
	}
	if (credit_peers_make(c)) {
		msg("HierCC: %s: it is off until the next SIGHUP", strerror(ENOMEM));
		c->enabled = false;
		credits_off(c, was); /* slots have peers of the previous configuration */
		return;
	}
	if (config->tor || !was)
		id_follow(c);
	if (was)
		credits_reload(c);
	else
		credits_on(c);
}

/* --- ageing --- */

int voq_age(const struct voq_key *key, const struct voq *v, void *ctx)
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
		port_rate(c, k);
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
	c->credits = c->arrivals ? map_memory(pins->credits, sizeof(*c->credits), &room, &bytes) : NULL;
	if (c->credits && room < c->room)
		c->room = room;
	c->rings = c->credits ? map_memory(pins->credit_rings, sizeof(*c->rings), &room, &bytes) : NULL;
	if (c->rings && room < CREDIT_RINGS) { /* of no version */
		credits_close(c);
		return -EPROTO;
	}
	c->slots = calloc(c->room, sizeof(*c->slots));
	c->active = calloc(c->room, sizeof(*c->active));
	c->told = calloc(c->room, sizeof(*c->told));
	c->ports = calloc(CREDIT_RINGS, sizeof(*c->ports));
	c->visited = calloc(CREDIT_RINGS, sizeof(*c->visited));
	if (!c->ring || !c->rings || !c->slots || !c->active || !c->told || !c->ports || !c->visited ||
	    c->epoll_fd < 0 || c->timer_fd < 0 || epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev)) {
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
	if (c->credits)
		munmap(c->credits, c->room * sizeof(*c->credits));
	if (c->rings)
		munmap(c->rings, CREDIT_RINGS * sizeof(*c->rings));
	free(c->slots);
	free(c->active);
	free(c->told);
	free(c->ports);
	free(c->visited);
	free(c->peers);
	free(c);
}
