/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ROUTE_H
#define SLUICE_ROUTE_H
/*
 * Routes. A managed prefix needs a route whose MTU leaves room for telemetry. Sluice's routes carry their own protocol
 * number, which identifies them after a crash.
 */
#include "lib/util.h"

#define ROUTE_PROTO 83

struct route {
	__u32 ifindex;
	__u32 table; /* RT_TABLE_MAIN, or that of a VRF */
	__u32 mtu;   /* 0: the interface's */
	__u32 metric;
	__u8 protocol; /* ROUTE_PROTO: one of ours */
	__u8 scope;    /* RT_SCOPE_*: without a gateway, LINK */
	__u8 onlink;   /* the gateway is on the interface, whatever the addresses are */
	__u8 has_gateway;
	__u8 has_source;
	struct sluice_addr gateway, source;
	/* Other metrics of the route (congctl, initcwnd, hoplimit ...), as the kernel gave them, except the MTU. */
	__u16 metrics_len;
	__u8 metrics[192] __attribute__((aligned(4)));
};
/*
 * What routes lead to prefixes, from one dump of each family for all of them: a dump of 100,000 routes takes a tenth of
 * a second. First routes_want(), then routes_read(), then routes_find().
 */
struct route_found {
	struct peer_key prefix;
	__u32 table;
	/*
	 * The narrowest route that is not ours and covers the whole prefix, with the lowest metric; NULL: there is none, or
	 * it has several next hops or none, one of the other family or in a tunnel, or is for some packets only (TOS,
	 * source). Narrower routes within the prefix are ignored.
	 */
	const struct route *best;
	const struct route *ours; /* our route of exactly the prefix; NULL: none. Who changes it says so here */
	int best_len;
	int exact; /* best is the route of exactly this prefix, not of a wider one */
};
struct routes;
struct routes *routes_new(void);
int routes_want(struct routes *rs, const struct peer_key *prefix, __u32 table);
/* The tables that prefixes were wanted of, ended by 0. */
const __u32 *routes_tables(const struct routes *rs);
/* only_ours: best is not looked for, which spares the kernel and us all other routes. 0, or -errno. */
int routes_read(struct routes *rs, int only_ours);
/* NULL: it was not wanted. */
struct route_found *routes_find(const struct routes *rs, const struct peer_key *prefix, __u32 table);
/* A copy that lives as long as rs; NULL: no memory. */
const struct route *routes_keep(struct routes *rs, const struct route *r);
/* Calls fn for each route of ours by any interface, also to prefixes that were not wanted; only after routes_read(). */
typedef void our_route_fn(const struct peer_key *prefix, const struct route *r, void *ctx);
void routes_each_ours(const struct routes *rs, our_route_fn *fn, void *ctx);
void routes_free(struct routes *rs);
/* Whether both send packets the same way, of the same size. */
int route_is_alike(const struct route *a, const struct route *b);
/*
 * Adds a route of ours to the prefix that sends packets as r does, or replaces an existing one (replace); -EEXIST if
 * there is one and replace is 0.
 */
int route_add(const struct peer_key *prefix, const struct route *r, int replace);
/* Removes our route, of the table and by the interface of r; 0 also if it was gone. */
int route_remove(const struct peer_key *prefix, const struct route *r);
/* The route as arguments of 'ip route change', limited to those of the path. */
#define ROUTE_STRLEN (4 * PREFIX_STRLEN)
const char *route_format(const struct peer_key *prefix, const struct route *r, char *buf);
const char *route_hop_format(const struct route *r, char *buf);
/* Removes the routes of ROUTE_PROTO by this interface: 0, or -errno. */
int route_remove_ours(__u32 ifindex);
/* Calls fn for each of them, of this network namespace. 0, or -errno. */
int route_each_ours(our_route_fn *fn, void *ctx);

/*
 * The interface of every route of the table main or of a VRF whose destination is within one of the prefixes or covers
 * one, except for default and multipath routes.
 */
int routes_meeting(const struct peer_key *prefixes, unsigned int count, void (*fn)(__u32 ifindex, void *ctx),
		   void *ctx);

#endif
