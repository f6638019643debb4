// SPDX-License-Identifier: GPL-2.0-only
/* Claims of VOQs to have sent bytes: learnt, or refused and logged. */
#include <arpa/inet.h>
#include "daemon/credits_int.h"
#include "sluice/once.h"

#define CREDITS_REFUSED 4 /* claims within CREDITS_REFUSED_NS that are said: one is a sender's restart */
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

/* Its sender really sent more than it was granted. */
static void slot_overruns(struct credits *c, __u32 i)
{
	const struct arrival *a = &c->arrivals[i];
	char from[PREFIX_STRLEN];

	msg_limited(
		&c->overrun_limit, 3600,
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

void slot_learn(struct credits *c, __u32 i, __u64 now)
{
	struct slot *s = &c->slots[i];
	struct arrival *a = &c->arrivals[i];
	struct hiercc_due *d = &c->due[i];
	const struct hiercc_params *p = &c->peers[s->peer].params;
	struct credit_port *port = &c->ports[s->port];
	struct hiercc_seen seen;
	__u64 bytes = d->bytes, inner;
	enum hiercc_claim claim;

	/* Bytes first: the claim is then of these or of later ones. */
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
