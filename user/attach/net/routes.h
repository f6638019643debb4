/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_ROUTES_H
#define SLUICE_ATTACH_ROUTES_H
#include "lib/config.h"
#include "lib/net.h"
#include "lib/route.h"

/* Those to peers. */
struct peer_routes {
	struct routes *read; /* for the event that is being handled; NULL: not yet */
	struct msg_limit limit;
};

/* Whether a start or reload is refused because of a route to a peer: all of them, with messages. */
int routes_check(struct peer_routes *pr, const struct config *c);
/* Prepares the route of every peer, even if one fails. Returns the first error. */
int routes_prepare(struct peer_routes *pr, const struct link_info *link, const struct config *c);
/* Gives room to routes that came after their interface, or after it came back. */
void routes_follow(struct peer_routes *pr, const struct config *c);
/* Removes those of our routes by the interface that no peer of the configuration needs. */
void routes_clean(struct peer_routes *pr, const struct link_info *link, const struct config *c);
/* To be called when an event is handled: the next one reads the routes again. */
void routes_forget(struct peer_routes *pr);
/* Removes all routes of ours that leave by the interface. */
int routes_remove(__u32 ifindex);

/*
 * Why a first start is refused: `sluicectl check` asks the same functions as start and reload. -errno, and why (of
 * REFUSAL_STRLEN) has the reason; 0: it is not.
 */
#define REFUSAL_STRLEN ROUTE_STRLEN
/* The route to a peer has exactly its prefix and leaves no room for telemetry. fix: the arguments of 'ip route change'. */
int dataplane_peer_refused(const struct config *c, const struct config_peer *p, const struct routes *rs, char *why,
			   char *fix);
/* The routes to all peers, also of those that need no room (all). To be freed; NULL: *err has the reason. */
struct routes *dataplane_routes_read(const struct config *c, int all, int *err);

#endif
