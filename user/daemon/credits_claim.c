// SPDX-License-Identifier: GPL-2.0-only
/* Claims of VOQs to have sent bytes: learnt, or refused and logged. */
#include <arpa/inet.h>
#include "daemon/credits_int.h"
#include "sluice/once.h"

#define CREDITS_REFUSED 4 /* claims reported within CREDITS_REFUSED_NS: a single one is a sender's restart */
#define CREDITS_REFUSED_NS (10 * NSEC_PER_SEC)

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
