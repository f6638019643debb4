// SPDX-License-Identifier: GPL-2.0-only
/*
 * The credit scheduler: how much more each VOQ of each rack may send to the ports of this host. Arriving packets grant
 * credit (bpf/rack/grant.bpf.h); this file enables that, and grants when no packets arrive.
 *
 *  1. A VOQ has a slot, its index in the maps arrivals (arrived bytes and accepted claims) and credits (grants). The
 *     first packet of a VOQ without a slot is reported by a ring (news), which gets it one. The port that grants it has
 *     a ring of VOQs in the map credit_rings (credits_ring.c).
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
#include "daemon/credits_int.h"
#include "sluice/once.h"

#define CREDITS_AGE_STEPS 16 /* number of CREDITS_AGE_STEP in a tick */

/* --- messages --- */

void slot_tell(struct credits *c, __u32 i)
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

/* Sends the totals of all slots to be told, rack by rack. */
static void credits_tell(struct credits *c)
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

void credits_wake(struct credits *c)
{
	__u64 period = config_period_ns(c->config);
	struct itimerspec every = { { 0, period }, { 0, period } };

	timerfd_settime(c->timer_fd, 0, &every, NULL);
	c->awake = 1;
}

void credits_sleep(struct credits *c)
{
	timerfd_settime(c->timer_fd, 0, &(struct itimerspec){}, NULL);
	c->awake = 0;
}

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
