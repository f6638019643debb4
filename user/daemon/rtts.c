// SPDX-License-Identifier: GPL-2.0-only
/*
 * T of each prefix.
 *
 *  1. Flows note their smallest round trips (bpf/host/delay.bpf.h). Once a second those of each prefix become one T;
 *     base_rtt.h has the rules.
 *  2. It is stored in the prefix's entry in the peers map, for display; and if base_rtt is auto it is the T in force:
 *     flows take it with their next packet, by the epoch, and values derived from T are updated.
 *  3. The map outlives the daemon: the next one continues from there, and so does a new configuration.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/rtts.h"
#include "lib/prefixes.h"
#include "sluice/cc/base_rtt.h"

#define RTTS_SILENT_TICKS 20 /* ticks with flows but no round trip, before it is reported */

struct rtts_peer {
	struct peer_key key; /* first: the look-up key */
	unsigned int peer;   /* its index in the configuration */
	struct base_rtt rtt;
	unsigned int silent; /* ticks in a row with flows and without a round trip */
	int flows;	     /* some of its flows have just sent */
	int bounded;	     /* it was reported that another key limits T */
};

struct rtts {
	struct rtts_peer *peer;
	unsigned int n;
	struct msg_limit silent;
};

int rtts_open(struct rtts **r)
{
	*r = calloc(1, sizeof(**r));
	return *r ? 0 : -ENOMEM;
}

void rtts_close(struct rtts *r)
{
	if (!r)
		return;
	free(r->peer);
	free(r);
}

int rtts_apply(struct rtts *r, const struct config *c)
{
	struct rtts_peer *peer = calloc(c->peers_count + 1, sizeof(*peer));
	unsigned int k;

	free(r->peer);
	r->peer = peer;
	r->n = peer ? c->peers_count : 0;
	if (!peer)
		return -ENOMEM;
	for (k = 0; k < c->peers_count; k++) {
		peer[k].key = c->peers[k].key;
		peer[k].peer = k;
		peer[k].rtt.t_ns = peer[k].rtt.low_ns = c->peers[k].measured_ns;
	}
	qsort(peer, r->n, sizeof(*peer), prefixes_order);
	return 0;
}

/* Whether not even the number of hops is reported. */
static int flow_is_blind(const struct flow *f)
{
	return !f->cc.hops && !f->rx.told_hops;
}

void rtts_flow(struct rtts *r, const struct flow_key *key, const struct flow *f, __u64 now_ns)
{
	struct rtts_peer *p;

	if (now_ns > f->tx.last_ns + BASE_RTT_FRESH_NS)
		return;
	p = prefixes_find(r->peer, r->n, sizeof(*r->peer), &key->remote);
	if (!p)
		return;
	p->flows = 1;
	base_rtt_look(&p->rtt, &f->delay.least, flow_is_blind(f), now_ns);
}

/* --- once in a second --- */

/* Reports once that another key keeps T below the measured value. */
static __u64 rtt_bound(struct rtts_peer *p, const struct config *c, const struct config_peer *peer)
{
	char most[UNITS_STRLEN], is[UNITS_STRLEN];
	__u64 max_ns = config_rtt_max_ns(c, peer);

	if (p->rtt.t_ns <= max_ns) {
		p->bounded = 0;
		return p->rtt.t_ns;
	}
	if (!p->bounded)
		msg("peers: %s: base_rtt auto: %s was measured, and T stays %s: hiercc: limit or a round of credit leave no more; see docs/configuration.md, base_rtt",
		    peer->prefix, units_time_format(p->rtt.t_ns / 100 * 100, is),
		    units_time_format(max_ns / 100 * 100, most));
	p->bounded = 1;
	return max_ns;
}

static void rtt_say(const struct config_peer *peer, enum base_rtt_change change, __u64 was_ns)
{
	char was[UNITS_STRLEN], is[UNITS_STRLEN];

	units_time_format(peer->base_rtt_ns / 100 * 100, is);
	if (change == BASE_RTT_FIRST)
		msg_info("peers: %s: base_rtt auto: %s, as measured", peer->prefix, is);
	else
		msg_info("peers: %s: base_rtt auto: %s -> %s, as measured: %s", peer->prefix,
			 units_time_format(was_ns / 100 * 100, was), is,
			 change == BASE_RTT_SHORTER ? "a round trip was shorter" :
						      "none was as short for a while, queues taken off");
}

/* No host there answers, or none with a measurable round trip. */
static void rtt_silent(struct rtts *r, struct rtts_peer *p, const struct config_peer *peer)
{
	p->silent = p->flows && !p->rtt.t_ns ? p->silent + 1 : 0;
	p->flows = 0;
	if (!peer->rtt_auto || p->silent < RTTS_SILENT_TICKS)
		return;
	p->silent = 0;
	msg_limited(
		&r->silent, 600,
		"peers: %s: base_rtt auto: flows have gone there for 20 s, and no round trip could be measured: first windows are those of 10 packets; write base_rtt if it stays like this, and see sluicectl stats (rx_probe_reply, fb_skipped)",
		peer->prefix);
}

/* Returns 1 if the T in force has changed. */
static int rtt_decide(struct rtts *r, struct rtts_peer *p, struct dataplane *dp, struct config *c, __u64 now_ns)
{
	struct config_peer *peer = &c->peers[p->peer];
	enum base_rtt_change change = base_rtt_tick(&p->rtt, now_ns);
	__u64 was_ns = peer->base_rtt_ns;

	rtt_silent(r, p, peer);
	if (change == BASE_RTT_SAME)
		return 0;
	peer->measured_ns = p->rtt.t_ns;
	peer->rtt_changes += change != BASE_RTT_FIRST;
	if (peer->rtt_auto)
		peer->base_rtt_ns = rtt_bound(p, c, peer);
	if (dataplane_peer_changed(dp, c, peer) || !peer->rtt_auto ||
	    (was_ns == peer->base_rtt_ns && change != BASE_RTT_FIRST))
		return 0;
	rtt_say(peer, change, was_ns);
	return 1;
}

int rtts_tick(struct rtts *r, struct dataplane *dp, struct config *c, __u64 now_ns)
{
	unsigned int k;
	int changed = 0;

	for (k = 0; k < r->n; k++)
		changed |= rtt_decide(r, &r->peer[k], dp, c, now_ns);
	if (changed)
		dataplane_rtts_changed(dp, c);
	return changed;
}
