// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes of a host to its peers, with an MTU that leaves room for telemetry in data. Companions need none, so where all
 * peers have them no route is read, except for ours of an earlier configuration. The routes of all prefixes and
 * interfaces are read together, once for each event.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include "attach/net/routes.h"
#include "lib/net.h"
#include "lib/route.h"
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
 * True if the best route, which has exactly the prefix of the peer, is that of a directly connected subnet. It stays as
 * it is, and the two halves of the prefix get routes of ours, which are narrower.
 */
static int route_is_halved(const struct route_found *f, const struct config_peer *p)
{
	return f->exact && !f->best->has_gateway && p->key.prefixlen < 128;
}

static struct config_peer peer_half(const struct config_peer *p, int upper)
{
	struct config_peer half = *p;
	__u32 bit = half.key.prefixlen++;

	if (upper)
		half.key.addr.b[bit / 8] |= 0x80 >> bit % 8;
	return half;
}

static int in_data(const struct config_peer *p)
{
	return p->telemetry != TELEMETRY_COMPANION;
}

/* Whether telemetry goes in the data to any peer. */
static int routes_matter(const struct config *c)
{
	unsigned int k;

	for (k = 0; k < c->peers_count && !in_data(&c->peers[k]); k++)
		;
	return k < c->peers_count;
}

/* Wants the prefixes of all peers, and halves of those with telemetry in the data, in a table. */
static int routes_want_peers(struct routes *rs, const struct config *c, __u32 table)
{
	unsigned int k, upper;
	int err = 0;

	for (k = 0; k < c->peers_count; k++) {
		const struct config_peer *p = &c->peers[k];

		err = err ?: routes_want(rs, &p->key, table);
		for (upper = 0; upper < 2 && in_data(p) && p->key.prefixlen < 128; upper++) {
			struct config_peer half = peer_half(p, upper);

			err = err ?: routes_want(rs, &half.key, table);
		}
	}
	return err;
}

/* The tables of a host's interfaces: main, and those of VRFs. */
static unsigned int tables_of(const struct config *c, __u32 *tables)
{
	unsigned int k, i, n = 1;

	tables[0] = RT_TABLE_MAIN;
	for (k = 0; k < c->interfaces_count; k++) {
		if (c->interfaces[k].role != PORT_F_HOST)
			continue;
		tables[n] = link_table(if_nametoindex(c->interfaces[k].name));
		for (i = 0; tables[i] != tables[n]; i++)
			;
		n += i == n;
	}
	return n;
}

struct routes *dataplane_routes_read(const struct config *c, int all, int *err)
{
	struct routes *rs = routes_new();
	__u32 tables[CONFIG_INTERFACES + 1];
	unsigned int n = tables_of(c, tables), i;

	*err = rs ? 0 : -ENOMEM;
	for (i = 0; i < n && !*err; i++)
		*err = routes_want_peers(rs, c, tables[i]);
	*err = *err ?: routes_read(rs, !all && !routes_matter(c));
	if (!*err)
		return rs;
	routes_free(rs);
	return NULL;
}

/* Those of the event that is being handled, until routes_forget(). NULL: with a message; *err has the reason. */
static struct routes *routes_of(struct peer_routes *pr, const struct config *c, int *err)
{
	*err = 0;
	if (!pr->read) {
		pr->read = dataplane_routes_read(c, 0, err);
		if (*err)
			msg_limited(&pr->limit, 60, "reading the routes: %s: they stay as they are", strerror(-*err));
	}
	return pr->read;
}

void routes_forget(struct peer_routes *pr)
{
	routes_free(pr->read);
	pr->read = NULL;
}

static int interface_is_host(const struct config *c, __u32 ifindex)
{
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (c->interfaces[k].role == PORT_F_HOST && if_nametoindex(c->interfaces[k].name) == ifindex)
			return 1;
	return 0;
}

int dataplane_peer_refused(const struct config *c, const struct config_peer *p, const struct routes *rs, char *why,
			   char *fix)
{
	const __u32 *table = routes_tables(rs);
	char name[IFNAMSIZ], text[PREFIX_STRLEN];
	struct link_info link;
	struct route_found *f;
	unsigned int have;
	struct route r;
	int err;

	*fix = '\0';
	for (; *table; table++) {
		f = routes_find(rs, &p->key, *table);
		if (!f || !f->best || !f->exact || route_is_halved(f, p) || !interface_is_host(c, f->best->ifindex) ||
		    !if_indextoname(f->best->ifindex, name))
			continue;
		err = link_get(name, &link);
		if (err) {
			snprintf(why, REFUSAL_STRLEN, "%s: looking at its route: %s", prefix_format(&p->key, text),
				 strerror(-err));
			return err;
		}
		r = *f->best;
		if (!route_shrinks(c, p, &link, &r, &have))
			continue;
		route_has_no_room(c, p, &link, have, why);
		route_format(&p->key, &r, fix);
		return -EMSGSIZE;
	}
	return 0;
}

int routes_check(struct peer_routes *pr, const struct config *c)
{
	char why[REFUSAL_STRLEN], fix[ROUTE_STRLEN];
	struct routes *rs;
	unsigned int k;
	int err, e;

	if (!routes_matter(c))
		return 0;
	rs = routes_of(pr, c, &err);
	for (k = 0; rs && k < c->peers_count; k++) {
		e = in_data(&c->peers[k]) ? dataplane_peer_refused(c, &c->peers[k], rs, why, fix) : 0;
		if (e && *fix)
			msg("%s: run 'ip route change %s'", why, fix);
		else if (e)
			msg("%s", why);
		err = err ?: e;
	}
	return err;
}

/* Packets follow the administrator's routes again. Our route on another interface is handled there. */
static int route_withdraw(struct peer_routes *pr, const struct link_info *link, struct route_found *f, const char *why)
{
	char text[PREFIX_STRLEN], hop[ROUTE_STRLEN];
	const struct route *ours = f->ours;
	int err;

	if (!ours || ours->ifindex != link->ifindex)
		return 0;
	prefix_format(&f->prefix, text);
	route_hop_format(ours, hop);
	err = route_remove(&f->prefix, ours);
	if (err) {
		msg_limited(&pr->limit, 60, "%s: removing the route to %s %s, for %s: %s", link->name, text, hop, why,
			    strerror(-err));
		return err;
	}
	f->ours = NULL;
	msg_info("%s: route to %s: %s mtu %u -> none, for %s", link->name, text, hop, ours->mtu, why);
	return 0;
}

/* Makes our route r, if it is not. have: the MTU without it. */
static int route_set(struct peer_routes *pr, const struct link_info *link, struct route_found *f, const struct route *r,
		     unsigned int have)
{
	char text[PREFIX_STRLEN], was[ROUTE_STRLEN], is[ROUTE_STRLEN];
	const struct route *ours = f->ours;
	int err;

	if (ours && route_is_alike(r, ours))
		return 0;
	err = route_add(&f->prefix, r, !!ours);
	prefix_format(&f->prefix, text);
	route_hop_format(r, is);
	if (err) {
		msg_limited(&pr->limit, 60, "%s: adding a route to %s with MTU %u: %s", link->name, text, r->mtu,
			    strerror(-err));
		route_withdraw(pr, link, f, "it cannot follow the one that covers it");
		return err;
	}
	f->ours = routes_keep(pr->read, r);
	if (ours && strcmp(route_hop_format(ours, was), is))
		msg_info("%s: route to %s: %s mtu %u -> %s mtu %u, as the one that covers it", link->name, text, was,
			 ours->mtu, is, r->mtu);
	else if (ours && ours->mtu == r->mtu)
		msg_info("%s: route to %s: has the congctl, windows and the like that the one that covers it has now",
			 link->name, text);
	else
		msg_info("%s: route to %s: MTU %u -> %u, to leave room for telemetry", link->name, text,
			 ours ? ours->mtu : have, r->mtu);
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
static int route_prepare_halves(struct peer_routes *pr, const struct link_info *link, const struct config *c,
				const struct config_peer *p, __u32 table)
{
	struct route_found *f;
	unsigned int have;
	struct route r;
	int upper, err = 0, e;

	for (upper = 0; upper < 2; upper++) {
		struct config_peer half = peer_half(p, upper);

		f = peer_of(c, &half.key) ? NULL : routes_find(pr->read, &half.key, table);
		if (!f)
			continue;
		if (f->best)
			r = *f->best;
		if (f->best && !f->exact && r.ifindex == link->ifindex && route_shrinks(c, p, link, &r, &have))
			e = route_set(pr, link, f, &r, have);
		else
			e = route_withdraw(pr, link, f, "another route leads there");
		err = err ?: e;
	}
	return err;
}

/*
 * Gives the prefix a route of ours, whose MTU leaves room, exactly if a wider route without room covers it and leaves
 * by this interface. Both are checked each time: the administrator may change the wider one.
 */
static int route_prepare(struct peer_routes *pr, const struct link_info *link, const struct config *c,
			 const struct config_peer *p, __u32 table)
{
	struct route_found *f = routes_find(pr->read, &p->key, table);
	char text[PREFIX_STRLEN], why[ROUTE_STRLEN], change[ROUTE_STRLEN], name[IFNAMSIZ] = "?";
	unsigned int have;
	struct route r;
	int err;

	if (!f) /* the interface has become the port of a VRF meanwhile: that is the next event */
		return 0;
	if (!in_data(p))
		return route_withdraw(pr, link, f, "telemetry goes beside the data there");
	if (!f->best) {
		msg_limited(
			&pr->limit, 60,
			"%s: no single route covers %s: none is added; where routes within it have an MTU above %u, large packets go without telemetry (tx_mtu)",
			link->name, prefix_format(&p->key, text), route_fits(c, p, link->mtu));
		return route_withdraw(pr, link, f, "no single route covers it any more");
	}
	r = *f->best;
	if (r.ifindex != link->ifindex) {
		if_indextoname(r.ifindex, name);
		snprintf(why, sizeof(why), "the one that covers it leaves by %s", name);
		return route_withdraw(pr, link, f, why);
	}
	if (!route_shrinks(c, p, link, &r, &have))
		return route_withdraw(pr, link, f, "the one that covers it leaves room");
	if (!f->exact)
		return route_set(pr, link, f, &r, have);
	err = route_withdraw(pr, link, f, "there is another to exactly that prefix");
	if (route_is_halved(f, p))
		return err ?: route_prepare_halves(pr, link, c, p, table);
	msg_limited(&pr->limit, 60, "%s: %s: run 'ip route change %s'", link->name,
		    route_has_no_room(c, p, link, have, why), route_format(&p->key, &r, change));
	return err ?: -EMSGSIZE;
}

int routes_prepare(struct peer_routes *pr, const struct link_info *link, const struct config *c)
{
	__u32 table = link_table(link->ifindex);
	unsigned int k;
	int err, e;

	if (!routes_of(pr, c, &err))
		return err;
	for (k = 0; k < c->peers_count; k++) {
		e = route_prepare(pr, link, c, &c->peers[k], table);
		err = err ?: e;
	}
	return err;
}

struct cleaning {
	struct peer_routes *pr;
	const struct config *c;
	const struct link_info *link;
	__u32 table;
	int removed, err;
};

/* Whether a prefix is that of a peer, or half of that of a peer in a directly connected subnet. */
static int route_is_wanted(const struct cleaning *w, const struct peer_key *prefix, __u32 table)
{
	const struct config_peer *p = peer_of(w->c, prefix);
	struct peer_key whole = *prefix;
	struct route_found *f;
	unsigned int have;
	struct route r;

	if (p)
		return 1;
	if (!whole.prefixlen)
		return 0;
	whole.prefixlen--;
	whole.addr.b[whole.prefixlen / 8] &= ~(0x80 >> whole.prefixlen % 8);
	p = peer_of(w->c, &whole);
	f = p ? routes_find(w->pr->read, &whole, table) : NULL;
	if (!f || !f->best)
		return 0;
	r = *f->best;
	return r.ifindex == w->link->ifindex && route_is_halved(f, p) && route_shrinks(w->c, p, w->link, &r, &have);
}

static void route_clean(const struct peer_key *prefix, const struct route *r, void *ctx)
{
	struct cleaning *w = ctx;
	struct route_found *f = routes_find(w->pr->read, prefix, r->table);
	int err;

	if (r->ifindex != w->link->ifindex || (r->table != RT_TABLE_MAIN && r->table != w->table))
		return;
	if ((f && !f->ours) || route_is_wanted(w, prefix, r->table)) /* withdrawn already, or needed */
		return;
	err = route_remove(prefix, r);
	w->err = w->err ?: err;
	w->removed += !err;
}

void routes_clean(struct peer_routes *pr, const struct link_info *link, const struct config *c)
{
	struct cleaning w = { .pr = pr, .c = c, .link = link, .table = link_table(link->ifindex) };
	int err;

	if (!routes_of(pr, c, &err))
		return;
	routes_each_ours(pr->read, route_clean, &w);
	if (w.err)
		msg("%s: removing routes of ours that no peer needs any more: %s: the next SIGHUP tries again",
		    link->name, strerror(-w.err));
	if (w.removed)
		msg_info("%s: routes of ours: %d removed, as no peer of the configuration needs them any more",
			 link->name, w.removed);
}

void routes_follow(struct peer_routes *pr, const struct config *c)
{
	struct link_info link;
	unsigned int k;

	for (k = 0; routes_matter(c) && k < c->interfaces_count; k++) {
		if (c->interfaces[k].role != PORT_F_HOST || link_get(c->interfaces[k].name, &link))
			continue;
		routes_prepare(pr, &link, c);
		routes_clean(pr, &link, c);
	}
	routes_forget(pr);
}

int routes_remove(__u32 ifindex)
{
	char name[IFNAMSIZ] = "?";
	int err = route_remove_ours(ifindex);

	if (!err)
		return 0;
	if_indextoname(ifindex, name);
	msg("%s: removing the routes with room for telemetry: %s: run 'ip route flush dev %s proto %u', and the same with ip -6",
	    name, strerror(-err), name, ROUTE_PROTO);
	return err;
}
