/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DATAPLANE_H
#define SLUICE_DATAPLANE_H
/* Loading, pinning, adopting, attaching and detaching of the BPF programs. */
#include "attach/state/between.h"
#include "lib/config.h"
#include "lib/net.h"
#include "lib/route.h"
#include "lib/pins.h"

struct dataplane;

/*
 * A start has three steps. An error in the first undoes everything and returns its exit code (EXIT_*); after an error
 * in the second, or of the caller in between, dataplane_undo() does so.
 *
 *  1. dataplane_load() takes the lock of the pin directory, and loads the programs over the maps pinned there or new
 *     ones. From then on the maps can be used.
 *  2. dataplane_attach() attaches to the interfaces of the configuration. 0, or -errno with a message.
 *  3. dataplane_commit() makes the programs use it, by the epoch. It follows dataplane_reload() as well.
 */
int dataplane_load(const struct config *c, struct dataplane **dp);
int dataplane_attach(struct dataplane *dp, struct config *c);
void dataplane_commit(struct dataplane *dp, const struct config *c);
/* Returns the exit code of a start that ends with err. The maps must no longer be in use. */
int dataplane_undo(struct dataplane *dp, int err);

/*
 * Loads the additional programs that a new configuration wants, and checks that its interfaces are usable, and NICs
 * support it. Changes only the names of interfaces in c, to their current ones; to be called before dataplane_reload().
 */
int dataplane_prepare(struct dataplane *dp, struct config *c);

/*
 * Applies a new configuration while running: peers, mode, HPCC parameters and interfaces. Peers and host interfaces
 * that it no longer has fall silent, and their packets are stripped until the other side has noticed: see
 * dataplane_linger(). To be followed by dataplane_commit(), even after a partial failure (-errno).
 */
int dataplane_reload(struct dataplane *dp, struct config *c);

/* Writes the measured T of a prefix to the peers map. 0, or -errno with a message. */
int dataplane_peer_changed(struct dataplane *dp, const struct config *c, const struct config_peer *p);
/* T of such prefixes has changed: updates the values derived from it, and flows with their next packet. */
void dataplane_rtts_changed(struct dataplane *dp, const struct config *c);

/*
 * Links or qdiscs changed: drops interfaces that went away, attaches those that came back, and follows renamed ones, in
 * c as well. 1: something was attached anew.
 */
int dataplane_follow(struct dataplane *dp, struct config *c, const struct between *between);

/* Once a second: whether programs are gone that the kernel does not report. Then dataplane_follow() puts them back. */
int dataplane_is_touched(struct dataplane *dp);

/* Leaving peers and interfaces have lingered long enough: wait for the fd, then call the function. */
int dataplane_linger_fd(const struct dataplane *dp);
void dataplane_linger(struct dataplane *dp);

/* Routes changed: the next tick checks whether those to peers have room. */
void dataplane_routes_changed(struct dataplane *dp);

/* All that is to be pinned is: keeps it open, to pin it again if somebody removes it. After a start, and a reload. */
void dataplane_keep(struct dataplane *dp);

/* Once a second, before all else: heartbeat, and work that depends on the clock. */
void dataplane_beat(struct dataplane *dp, const struct config *c);

/* Once a second: routes and pods. */
void dataplane_tick(struct dataplane *dp, const struct config *c);

/* Its maps, as long as it is open. */
const struct pins *dataplane_pins(const struct dataplane *dp);

/* The unpinned maps, as file descriptors. */
struct dataplane_maps {
	int reports, arrival_news, rate_asks, pfc_alarms; /* rings */
	int rx_states;
	int flow_paths;
	__u32 flows_room; /* capacity of the pinned map of flows */
};
void dataplane_maps(const struct dataplane *dp, struct dataplane_maps *m);

/*
 * Removes everything of ours from the machine: bypass first, so that peers switch to plain packets while we still
 * strip; then filters, routes, the congestion control, pins. Works from the pin directory, with or without a running
 * daemon's struct. Pauses have to be released before. Returns EXIT_*.
 */
int dataplane_detach(struct dataplane *dp);
int dataplane_detach_dir(const char *pin_dir);

#endif
