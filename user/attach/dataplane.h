/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DATAPLANE_H
#define SLUICE_DATAPLANE_H
/* Loading, pinning, adopting, attaching and detaching of the BPF programs. */
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

struct dataplane;

/*
 * A start has three steps. Of an error in the first all is undone and its exit code (EXIT_*) returned; of an error in the
 * second, or of the caller's in between, dataplane_undo() undoes it.
 *
 *  1. dataplane_load() takes the lock of the pin directory, and loads the programs over the maps pinned there or new
 *     ones. From then on the maps can be used.
 *  2. dataplane_attach() attaches to the interfaces of the configuration. 0, or -errno with a message.
 *  3. dataplane_commit() tells the programs of it, by the epoch. It follows dataplane_reload() as well.
 */
int dataplane_load(const struct config *c, struct dataplane **dp);
int dataplane_attach(struct dataplane *dp, struct config *c);
void dataplane_commit(struct dataplane *dp, const struct config *c);
/* Returns the exit code of a start that ends with err. Nobody uses the maps any more. */
int dataplane_undo(struct dataplane *dp, int err);

/*
 * Loads the programs that a new configuration wants beside those that are loaded, and looks whether its interfaces can
 * be used, and NICs can do what it asks of them. Changes nothing but the names of interfaces in c, which become what
 * they are called now; to be called before dataplane_reload().
 */
int dataplane_prepare(struct dataplane *dp, struct config *c);

/*
 * A new configuration while running. Peers, mode, HPCC parameters and interfaces follow. Peers and hosts' interfaces that
 * it has no more fall silent and are stripped for until the other side has noticed: see dataplane_linger(). To be
 * followed by dataplane_commit(), also where it failed in part (-errno).
 */
int dataplane_reload(struct dataplane *dp, struct config *c);

/* Tells the map of peers what was measured of a prefix. 0, or -errno with a message. */
int dataplane_peer_changed(struct dataplane *dp, const struct config *c, const struct config_peer *p);
/* T in force of such prefixes is another one: what follows from it, and flows with their next packet. */
void dataplane_rtts_changed(struct dataplane *dp, const struct config *c);

/* To be called within what takes long, between one interface and the next. */
struct between {
	void (*fn)(void *ctx);
	void *ctx;
};

/*
 * Links or qdiscs changed: drops interfaces that went away, attaches those that came back, and follows those whose name
 * changed, in c as well. 1: something was attached anew.
 */
int dataplane_follow(struct dataplane *dp, struct config *c, const struct between *between);

/* What leaves has lingered long enough: wait for the one, then call the other. */
int dataplane_linger_fd(const struct dataplane *dp);
void dataplane_linger(struct dataplane *dp);

/* Routes changed: the next tick looks whether those to peers have room. */
void dataplane_routes_changed(struct dataplane *dp);

/* Once a second, the first of all: heartbeat, and what follows the clock. */
void dataplane_beat(struct dataplane *dp, const struct config *c);

/* Once a second: routes and pods. */
void dataplane_tick(struct dataplane *dp, const struct config *c);

/* Its maps, as long as it is open. */
const struct pins *dataplane_pins(const struct dataplane *dp);

/* Those that are not pinned, as file descriptors. */
struct dataplane_maps {
	int reports, arrival_news, rate_asks, pfc_alarms; /* rings */
	int rx_states;
	__u32 flows_room; /* of the pinned map of flows */
};
void dataplane_maps(const struct dataplane *dp, struct dataplane_maps *m);

/*
 * Takes everything of ours from the machine: bypass first, so that peers go over to plain packets
 * while we still strip; then filters, routes, the congestion control, pins. Works on what the pin
 * directory says, with or without a running daemon's struct. Pauses have to be let go before. Returns EXIT_*.
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
int xdp_try(void); /* the same of the program of XDP */
/* The same of the qdisc `sluice`, with why not. */
int queue_try(char *why, size_t size);

#endif
