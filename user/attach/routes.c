// SPDX-License-Identifier: GPL-2.0-only
/* Routes of a host to its peers, with an MTU that leaves room for telemetry. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "attach/dataplane_int.h"
#include "lib/net.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/wire.h"

#define ROUTE_V6_MIN 1280 /* RFC 8200, section 5 */

static int peer_is_v4(const struct config_peer *p)
{
	return addr_is_v4(&p->key.addr) && p->key.prefixlen >= 96;
}

static unsigned int route_room(const struct config *c, const struct config_peer *p)
{
	unsigned int outer = peer_is_v4(p) ? 20 : 40;

	return (p->encoding == ENCODING_INT_MD ? INTMD_OVERHEAD_BYTES(outer) : WIRE_OVERHEAD_BYTES(outer)) +
	       (p->hiercc ? WIRE_VOQ_BYTES : 0) + (c->keys.n ? WIRE_AUTH_BYTES : 0);
}

/* IPv6 requires 1280 bytes of every path; at an MTU of 1500 that leaves room for INT-MD of two or three hops. */
static unsigned int route_fits(const struct config *c, const struct config_peer *p, unsigned int mtu)
{
	unsigned int fits = mtu - route_room(c, p);

	return !peer_is_v4(p) && fits < ROUTE_V6_MIN && mtu > ROUTE_V6_MIN ? ROUTE_V6_MIN : fits;
}

/* True if the MTU of the route leaves no room for telemetry in data. Then r gets one that does, have the old one. */
static int route_shrinks(const struct config *c, const struct config_peer *p, const struct link_info *link,
			 struct route *r, unsigned int *have)
{
	unsigned int fits = route_fits(c, p, link->mtu);

	*have = r->mtu ?: link->mtu;
	if (*have <= fits || p->telemetry == TELEMETRY_COMPANION)
		return 0;
	r->mtu = fits;
	return 1;
}

static const char *route_has_no_room(const struct config *c, const struct config_peer *p, const struct link_info *link,
				     unsigned int have, char *buf)
{
	char text[PREFIX_STRLEN];

	snprintf(buf, ROUTE_STRLEN, "the route to %s has MTU %u; telemetry needs %u bytes of %u",
		 prefix_format(&p->key, text), have, route_room(c, p), link->mtu);
	return buf;
}

/*
 * True if r, which has exactly the prefix of the peer, is that of a directly connected subnet. It stays as it is, and
 * the two halves of the prefix get routes of ours, which are narrower.
 */
static int route_is_halved(const struct route *r, const struct config_peer *p)
{
	return r->exact && !r->has_gateway && p->key.prefixlen < 128;
}

static struct config_peer peer_half(const struct config_peer *p, int upper)
{
	struct config_peer half = *p;
	__u32 bit = half.key.prefixlen++;

	if (upper)
		half.key.addr.b[bit / 8] |= 0x80 >> bit % 8;
	return half;
}

int dataplane_peer_refused(const struct config *c, const struct config_peer *p, char *why, char *fix)
{
	char name[IFNAMSIZ], text[PREFIX_STRLEN];
	struct link_info link;
	unsigned int have, k;
	struct route r;
	int err = route_covering(&p->key, &r, NULL);

	*fix = '\0';
	if (err == -ENETUNREACH)
		return 0;
	if (err)
		goto unknown;
	if (!r.exact || route_is_halved(&r, p) || !if_indextoname(r.ifindex, name))
		return 0;
	for (k = 0; k < c->interfaces_count; k++)
		if (!strcmp(c->interfaces[k].name, name) && c->interfaces[k].role == PORT_F_HOST)
			break;
	if (k == c->interfaces_count)
		return 0;
	err = link_get(name, &link);
	if (err)
		goto unknown;
	if (!route_shrinks(c, p, &link, &r, &have))
		return 0;
	route_has_no_room(c, p, &link, have, why);
	route_format(&p->key, &r, fix);
	return -EMSGSIZE;
unknown:
	prefix_format(&p->key, text);
	snprintf(why, REFUSAL_STRLEN, "%s: looking at its route: %s", text, strerror(-err));
	return err;
}

int routes_check(const struct config *c)
{
	char why[REFUSAL_STRLEN], fix[ROUTE_STRLEN];
	unsigned int k;
	int err = 0, e;

	for (k = 0; k < c->peers_count; k++) {
		e = dataplane_peer_refused(c, &c->peers[k], why, fix);
		if (e && *fix)
			msg("%s: run 'ip route change %s'", why, fix);
		else if (e)
			msg("%s", why);
		err = err ?: e;
	}
	return err;
}

/* Packets follow the administrator's routes again. Our route on another interface is handled there. */
static int route_withdraw(struct dataplane *dp, const struct link_info *link, const struct config_peer *p,
			  const struct route *ours, const char *why)
{
	char text[PREFIX_STRLEN], hop[ROUTE_STRLEN];
	int err;

	if (ours->ifindex != link->ifindex)
		return 0;
	prefix_format(&p->key, text);
	route_hop_format(ours, hop);
	err = route_remove(&p->key, ours->ifindex);
	if (err)
		msg_limited(&dp->route_limit, 60, "%s: removing the route to %s %s, for %s: %s", link->name, text, hop,
			    why, strerror(-err));
	else
		msg_info("%s: route to %s: %s mtu %u -> none, for %s", link->name, text, hop, ours->mtu, why);
	return err;
}

/* Makes our route correct, if it is not. have: the MTU without it. */
static int route_set(struct dataplane *dp, const struct link_info *link, const struct config_peer *p,
		     const struct route *r, const struct route *ours, unsigned int have)
{
	char text[PREFIX_STRLEN], was[ROUTE_STRLEN], is[ROUTE_STRLEN];
	int err;

	if (route_is_alike(r, ours))
		return 0;
	err = route_add(&p->key, r, !!ours->ifindex);
	prefix_format(&p->key, text);
	route_hop_format(r, is);
	if (err) {
		msg_limited(&dp->route_limit, 60, "%s: adding a route to %s with MTU %u: %s", link->name, text, r->mtu,
			    strerror(-err));
		route_withdraw(dp, link, p, ours, "it cannot follow the one that covers it");
		return err;
	}
	if (ours->ifindex && strcmp(route_hop_format(ours, was), is))
		msg_info("%s: route to %s: %s mtu %u -> %s mtu %u, as the one that covers it", link->name, text, was,
			 ours->mtu, is, r->mtu);
	else if (ours->mtu == r->mtu)
		msg_info("%s: route to %s: has the congctl, windows and the like that the one that covers it has now",
			 link->name, text);
	else
		msg_info("%s: route to %s: MTU %u -> %u, to leave room for telemetry", link->name, text,
			 ours->ifindex ? ours->mtu : have, r->mtu);
	return 0;
}

static const struct config_peer *peer_of(const struct config *c, const struct peer_key *key)
{
	unsigned int k;

	for (k = 0; k < c->peers_count; k++)
		if (!memcmp(key, &c->peers[k].key, sizeof(*key)))
			return &c->peers[k];
	return NULL;
}

/* A half that is a peer itself, or that other routes lead to, is handled there. */
static int route_prepare_halves(struct dataplane *dp, const struct link_info *link, const struct config *c,
				const struct config_peer *p)
{
	struct route r, ours;
	unsigned int have;
	int upper, err = 0, e;

	for (upper = 0; upper < 2; upper++) {
		struct config_peer half = peer_half(p, upper);

		if (peer_of(c, &half.key))
			continue;
		e = route_covering(&half.key, &r, &ours);
		if (e && e != -ENETUNREACH) {
			msg("%s: reading the routes: %s", link->name, strerror(-e));
			return e;
		}
		if (!e && !r.exact && r.ifindex == link->ifindex && route_shrinks(c, p, link, &r, &have))
			e = route_set(dp, link, &half, &r, &ours, have);
		else
			e = route_withdraw(dp, link, &half, &ours, "another route leads there");
		err = err ?: e;
	}
	return err;
}

/*
 * Gives the prefix a route of ours, whose MTU leaves room, exactly if a wider route without room covers it and leaves
 * by this interface. Both are checked each time: the administrator may change the wider one.
 */
static int route_prepare(struct dataplane *dp, const struct link_info *link, const struct config *c,
			 const struct config_peer *p)
{
	char text[PREFIX_STRLEN], why[ROUTE_STRLEN], change[ROUTE_STRLEN], name[IFNAMSIZ] = "?";
	unsigned int have;
	struct route r, ours;
	int err = route_covering(&p->key, &r, &ours);

	if (p->telemetry == TELEMETRY_COMPANION && (!err || err == -ENETUNREACH))
		return route_withdraw(dp, link, p, &ours, "telemetry goes beside the data there");
	if (err == -ENETUNREACH) {
		msg_limited(
			&dp->route_limit, 60,
			"%s: no single route covers %s: none is added; where routes within it have an MTU above %u, large packets go without telemetry (tx_mtu)",
			link->name, prefix_format(&p->key, text), route_fits(c, p, link->mtu));
		return route_withdraw(dp, link, p, &ours, "no single route covers it any more");
	}
	if (err) {
		msg("%s: reading the routes: %s", link->name, strerror(-err));
		return err;
	}
	if (r.ifindex != link->ifindex) {
		if_indextoname(r.ifindex, name);
		snprintf(why, sizeof(why), "the one that covers it leaves by %s", name);
		return route_withdraw(dp, link, p, &ours, why);
	}
	if (!route_shrinks(c, p, link, &r, &have))
		return route_withdraw(dp, link, p, &ours, "the one that covers it leaves room");
	if (!r.exact)
		return route_set(dp, link, p, &r, &ours, have);
	err = route_withdraw(dp, link, p, &ours, "there is another to exactly that prefix");
	if (route_is_halved(&r, p))
		return err ?: route_prepare_halves(dp, link, c, p);
	msg_limited(&dp->route_limit, 60, "%s: %s: run 'ip route change %s'", link->name,
		    route_has_no_room(c, p, link, have, why), route_format(&p->key, &r, change));
	return err ?: -EMSGSIZE;
}

int routes_prepare(struct dataplane *dp, const struct link_info *link, const struct config *c)
{
	unsigned int k;
	int err = 0, e;

	for (k = 0; k < c->peers_count; k++) {
		e = route_prepare(dp, link, c, &c->peers[k]);
		err = err ?: e;
	}
	return err;
}

struct wanted {
	const struct config *c;
	const struct link_info *link;
};

/* Whether a prefix is that of a peer, or half of that of a peer in a directly connected subnet. */
static int route_is_wanted(const struct peer_key *prefix, const void *ctx)
{
	const struct wanted *w = ctx;
	const struct config_peer *p = peer_of(w->c, prefix);
	struct peer_key whole = *prefix;
	unsigned int have;
	struct route r;
	int err;

	if (p)
		return 1;
	if (!whole.prefixlen)
		return 0;
	whole.prefixlen--;
	whole.addr.b[whole.prefixlen / 8] &= ~(0x80 >> whole.prefixlen % 8);
	p = peer_of(w->c, &whole);
	if (!p)
		return 0;
	err = route_covering(&whole, &r, NULL);
	if (err) /* if the routes cannot be read it stays */
		return err != -ENETUNREACH;
	return r.ifindex == w->link->ifindex && route_is_halved(&r, p) && route_shrinks(w->c, p, w->link, &r, &have);
}

void routes_clean(const struct link_info *link, const struct config *c)
{
	const struct wanted w = { c, link };
	int removed = route_remove_ours(link->ifindex, route_is_wanted, &w);

	if (removed < 0)
		msg("%s: removing routes of ours that no peer needs any more: %s: the next SIGHUP tries again",
		    link->name, strerror(-removed));
	if (removed > 0)
		msg_info("%s: routes of ours: %d removed, as no peer of the configuration needs them any more",
			 link->name, removed);
}

void routes_follow(struct dataplane *dp, const struct config *c)
{
	struct link_info link;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++) {
		if (c->interfaces[k].role != PORT_F_HOST || link_get(c->interfaces[k].name, &link))
			continue;
		routes_prepare(dp, &link, c);
		routes_clean(&link, c);
	}
}

int routes_remove(__u32 ifindex)
{
	char name[IFNAMSIZ] = "?";
	int err = route_remove_ours(ifindex, NULL, NULL);

	if (err >= 0)
		return 0;
	if_indextoname(ifindex, name);
	msg("%s: removing the routes with room for telemetry: %s: run 'ip route flush dev %s proto %u', and the same with ip -6",
	    name, strerror(-err), name, ROUTE_PROTO);
	return err;
}
