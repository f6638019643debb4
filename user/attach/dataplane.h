/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DATAPLANE_H
#define SLUICE_DATAPLANE_H
/* Loading, pinning, adopting, attaching and detaching of the BPF programs. */
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

struct dataplane;

/*
 * Takes the lock of the pin directory, loads the programs over the maps pinned there (or new ones),
 * and attaches to the interfaces of the configuration. On an error everything that this call did is
 * undone and its exit code (EXIT_*) returned; 0 when all is in place.
 */
int dataplane_open(struct config *c, struct dataplane **dp);

/*
 * Loads the programs that a new configuration wants beside those that are loaded, and looks whether its interfaces can
 * be used, and NICs can do what it asks of them. Changes nothing but the names of interfaces in c, which become what
 * they are called now; to be called before dataplane_reload().
 */
int dataplane_prepare(struct dataplane *dp, struct config *c);

/*
 * A new configuration while running. Peers, mode, HPCC parameters and interfaces follow. Peers and hosts' interfaces that
 * it has no more fall silent and are stripped for until the other side has noticed: see dataplane_linger().
 */
int dataplane_reload(struct dataplane *dp, const struct config *c);

/*
 * Links or qdiscs changed: drops interfaces that went away, attaches those that came back, and follows those whose name
 * changed, in c as well.
 */
void dataplane_follow(struct dataplane *dp, struct config *c);

/* What leaves has lingered long enough: wait for the one, then call the other. */
int dataplane_linger_fd(const struct dataplane *dp);
void dataplane_linger(struct dataplane *dp);

/* Routes changed: the next tick looks whether those to peers have room. */
void dataplane_routes_changed(struct dataplane *dp);

/* Likewise for the qdiscs of the interfaces. */
void dataplane_qdiscs_changed(struct dataplane *dp);

/* Once a second: heartbeat, routes, qdiscs, pods, and flows that are idle or closed are forgotten. */
void dataplane_tick(struct dataplane *dp, struct config *c);

/* Who is told from now on; NULL: nobody. */
void dataplane_watch(struct dataplane *dp, const struct watcher *w);

/* Its maps, as long as it is open. */
const struct pins *dataplane_pins(const struct dataplane *dp);

/* What receivers have to say of flows to which nothing goes back: wait for the one, then call the other. */
int dataplane_reports_fd(const struct dataplane *dp);
void dataplane_reports(struct dataplane *dp, const struct config *c);

/* What other racks send here, to be granted: likewise. */
int dataplane_credits_fd(const struct dataplane *dp);
void dataplane_credits(struct dataplane *dp);

/* What hosts behind this switch are to be told: likewise. */
int dataplane_tor_fd(const struct dataplane *dp);
void dataplane_tor(struct dataplane *dp, const struct config *c);

/* Queues of a switch whose neighbours may have to be paused: likewise. */
int dataplane_ppfc_fd(const struct dataplane *dp);
void dataplane_ppfc(struct dataplane *dp);

/* Leaves everything attached (the next daemon adopts it). */
void dataplane_close(struct dataplane *dp);

/*
 * Takes everything of ours from the machine: bypass first, so that peers go over to plain packets
 * while we still strip; then filters, routes, the congestion control, pins. Works on what the pin
 * directory says, with or without a running daemon's struct. Returns EXIT_*.
 */
int dataplane_detach(struct dataplane *dp);
int dataplane_detach_dir(const char *pin_dir);

/* From the kernel's BTF: 1, 0, or -errno where there is no BTF. */
int kernel_has_kfunc(void);   /* bpf_cast_to_kern_ctx: a program may look at the qdisc */
int kernel_has_tcp_ops(void); /* a TCP congestion control can be a BPF program */

/*
 * Would a first start be refused, because the route r to a peer is of exactly its prefix, not ours, and leaves no room
 * for telemetry? Then r gets the MTU that does, and why (of ROUTE_STRLEN) says so.
 */
int dataplane_route_refused(const struct config *c, const struct config_peer *p, const struct link_info *link,
			    struct route *r, char *why);

/* Loads all programs that this kernel wants and throws them away: 0, or -errno. */
int programs_try(void);

#endif
