/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DATAPLANE_INT_H
#define SLUICE_DATAPLANE_INT_H
/* Shared by the files of the data plane. What each of them gives to the others is under its name. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <time.h>
#include "attach/dataplane.h"
#include "attach/state/state.h"
#include "lib/bpffs.h"
#include "lib/net.h"
#include "sluice.skel.h"

/* --- pin_dir.c --- */

struct dataplane *dataplane_new(void);
/* Leaves everything attached (the next daemon adopts it). */
void dataplane_close(struct dataplane *dp);
/* Makes the pin directory if it is missing, and takes its lock. 0, or -errno with a message. */
int pin_dir_lock(struct dataplane *dp, const char *dir);
/* Pins again those that somebody removed since dataplane_keep(). */
void pins_watch(struct dataplane *dp);

/* --- peers.c --- */

#define DP_LINGER_SILENCES 3		    /* number of silences after which peers go plain */
#define DP_SILENT_NS (100 * 1000 * 1000ULL) /* a silence is this long, or base RTTs as below: egress_peer() */
#define DP_SILENT_RTTS 4

struct leaving {
	__u64 longest_ns; /* base RTT */
	unsigned int peers;
};

/*
 * Makes the peers map match the configuration, and marks peers that it no longer has as leaving. c gets the measured T
 * of its prefixes.
 */
int peers_apply(struct dataplane *dp, struct config *c);
/* How long the other side may take to notice that we are silent. Its base RTT is assumed to equal ours. */
__u64 linger_ns(const struct dataplane *dp, struct leaving *l);
/* Starts the time of leaving peers and ports: the programs know of them, by the epoch. */
void linger_begin(struct dataplane *dp);
struct timespec timespec_of(__u64 ns);

/* --- routes.c --- */

/* Whether a start or reload is refused because of a route to a peer: all of them, with messages. */
int routes_check(struct dataplane *dp, const struct config *c);
/* Prepares the route of every peer, even if one fails. Returns the first error. */
int routes_prepare(struct dataplane *dp, const struct link_info *link, const struct config *c);
/* Gives room to routes that came after their interface, or after it came back. */
void routes_follow(struct dataplane *dp, const struct config *c);
/* Removes those of our routes by the interface that no peer of the configuration needs. */
void routes_clean(struct dataplane *dp, const struct link_info *link, const struct config *c);
/* An event is handled: the next one reads the routes anew. */
void routes_forget(struct dataplane *dp);
/* Removes all routes of ours that leave by the interface. */
int routes_remove(__u32 ifindex);

/* --- port_describe.c --- */

/*
 * Fills in a port from configuration and kernel; -errno with a message when it cannot be used. A driver reports no
 * speed while there is no link: the port keeps its speed.
 */
int port_describe(const struct config *c, const struct config_interface *i, const struct link_info *link,
		  struct port *port);
/* Reports why the qdiscs of a port are unsuitable. by_nic: its NIC obeys pauses. */
void port_advise(const struct config_interface *i, const struct port *port, int by_nic);

/* --- port.c --- */

/* Attaches an interface, or what is new about it. 0, or -errno with a message; one that was attached stays so. */
int port_add(struct dataplane *dp, const struct config *c, const struct config_interface *i);
/* On an error something stays attached, with a message, and the port is still known. */
int port_remove(struct dataplane *dp, __u32 ifindex, const struct port *port);
/*
 * As port_remove(), in the middle of traffic. Adding or removing a clsact loses packets that are being sent: Linux
 * deactivates the device meanwhile (qdisc_graft(): of 60 times one or two packets each, at veth). So ours stays, empty,
 * until the daemon ends, or for the next attachment.
 */
int port_vacate(struct dataplane *dp, __u32 ifindex, const struct port *port);
/* Changes its entry; -errno with a message that ends in the consequence. */
int port_update(struct dataplane *dp, __u32 ifindex, const struct port *port, const char *effect);
/* Removes the classes n and above of a port. */
void classes_forget(struct dataplane *dp, __u32 ifindex, __u32 n);

/* --- domain.c --- */

/* The routing domain of an interface, and its VRF (0: none). 0, or -errno: both are 0. */
int domain_get(__u32 ifindex, __u16 *domain, __u32 *vrf);
/* Notes the VRFs of all ports, and whether there are several domains. */
void domains_apply(struct dataplane *dp);

/* --- ports_drop.c --- */

/*
 * Detaches and forgets the ports that the configuration lacks (NULL: all), and those that went away. A host's port
 * begins to leave: ports_leave() completes that.
 */
int ports_drop(struct dataplane *dp, const struct config *c);
/* A port that cannot be detached stays, continues to strip, and is retried with the next reload. */
void ports_leave(struct dataplane *dp);

/* --- ports.c --- */

/* Whether interfaces would be refused: reports all of them, before anything is changed. */
int ports_check(const struct dataplane *dp, const struct config *c);
/*
 * A missing interface is an error only if nothing is attached yet (must_exist). A start ends at the first error; a
 * reload serves the other interfaces, and returns the last.
 */
int ports_apply(struct dataplane *dp, const struct config *c, int must_exist);
/* Handles interfaces that went, came back, or changed name, qdisc, MTU or speed. 1: something was attached anew. */
int ports_follow(struct dataplane *dp, const struct config *c, const struct between *between);
/*
 * Gives the interfaces of the configuration their current names. anew: it has just been read, and a name in it means
 * the interface that has it now; else an attached interface keeps its place.
 */
void ports_name(struct dataplane *dp, struct config *c, int anew);

/* --- pin_swap.c: pins of another version --- */

#define ADOPT_DIR 300  /* below the pin directory, which has less than 256 */
#define ADOPT_PATH 600 /* with a file name */

/* The maps of PINS come first. */
extern const char *const pin_names[];

/* Opens a pin; the fd, or -1 with errno. */
int pin_get(const char *dir, const char *name);
/* Removes a directory below pin_dir, with the pins in it. */
void dir_remove(const char *pin_dir, const char *name);
/*
 * The pins in `new` replace the others. control comes last: it identifies the version. A daemon that was killed after
 * that has left a `new` without it.
 */
int pins_swap(const char *pin_dir);
/* XDP programs are identified by their counters: call this while those are pinned. tc strips telemetry meanwhile. */
void old_xdp_remove(const char *pin_dir);
/*
 * The programs of the congestion control live as long as the sockets that use it, and read W in maps that are no longer
 * written: they fall back to Reno, and if flows are carried entry by entry (own_cc) receive windows are cut down to W.
 */
void old_retire(const char *pin_dir);

/* Completes an adoption that was killed. With the lock held; before all else. */
int adopt_recover(const char *pin_dir);
/* Pins the layout of this version's maps, unless it is pinned. */
int adopt_layout_pin(struct dataplane *dp, const char *dir);
/* The layout pinned there. NULL: there is none, or it cannot be read; errno has the reason. The caller frees it. */
struct btf *adopt_layout_read(const char *dir);
/* Removes all pins of a directory, whichever version made them. */
void adopt_pins_remove(const char *dir);

/* --- adopt.c: maps of another version --- */

/* Reads the layout of the other version; -EPROTO: it cannot be read, with a message. Makes dp->adopt. */
int adopt_open(struct dataplane *dp);
/* Between opening and loading the object: decides which maps are shared. */
int adopt_plan(struct dataplane *dp);
/* The other version's control. */
const struct control *adopt_control(const struct dataplane *dp);
/* The object is loaded: control is filled, and dp->pins are opened. */
int adopt_fill(struct dataplane *dp);
/* Fills the maps and replaces the other version's. On an error before the replacement nothing has changed. */
int adopt_commit(struct dataplane *dp);
int adopt_is_committed(const struct dataplane *dp);
/* The programs are replaced. Also completes an earlier run that did not get this far. */
void adopt_finish(struct dataplane *dp);
void adopt_close(struct dataplane *dp);

/* --- pods.c --- */

/* Follows the pods of this network namespace. Wants to be called again while pods_changed. */
void pods_follow(struct dataplane *dp, const struct config *c);
/* Forgets the state of pods_follow(): it puts all its programs in place again. */
void pods_forget(struct dataplane *dp);

/* --- watch.c --- */

/* Whether programs of a port are gone, and are to be put back now: says so. */
int port_is_touched(struct dataplane *dp, __u32 ifindex, const struct port *port);
/* Whether programs of a pod's veth are gone: then pods_follow() puts all of them in place. */
void pods_watch(struct dataplane *dp);
/* Reports the programs of others that run before those of a port, which is number k of the configuration, once. */
void port_before_watch(struct dataplane *dp, unsigned int k, const struct port *port);

/* --- queue.c: the qdisc `sluice` --- */

/* Registers and pins it if possible; otherwise fills queue_why, and prints that if it can be fixed. */
void queue_register(struct dataplane *dp);
/* Removes the name and the pins, if there are any. Qdiscs that are in place continue. */
void queue_unregister(const char *pin_dir);

/* --- queue_apply.c: interfaces with `queue: sluice` --- */

/* Whether one of them would be refused; reports it, before anything is changed. */
int queues_check(const struct dataplane *dp, const struct config *c);
/*
 * Installs it where the configuration wants it, and puts the previous qdisc back where we have installed it and the
 * configuration (NULL: none) does not want it. The first error, with a message.
 */
int queues_apply(struct dataplane *dp, const struct config *c);
/* Serves interfaces and transmit queues that came, and reports what somebody else replaced. */
void queues_follow(struct dataplane *dp, const struct config *c);

/* --- restore.c --- */

/*
 * Restores missing pins in dir, as far as running programs hold the maps, and reports restored and lost ones. c: its
 * interfaces count if all pins are missing; NULL: all. 0, or -errno with a message if that cannot be determined.
 */
int pins_restore(const char *dir, const struct config *c);
/* The same for the congestion control that control names. */
void cc_pin_restore(const char *dir, const struct control *ctl);

/* --- leftover.c --- */

/*
 * The pin directory that has this map under this name, among all in this bpffs mount down to the third level. 0: none.
 */
int map_owner_find(const char *name, __u32 map, char *dir, size_t size);

/* A filter at our place, or a link at tcx, whose program is ours by name. */
struct left_filter {
	__u32 ifindex, stats_id;
	__u32 tcx_prog; /* at tcx: the program; 0: it is a filter */
	enum bpf_tc_attach_point where;
	char program[16], owner[256]; /* where its counters are pinned; "": nowhere */
	__u64 heartbeat_ns;	      /* when the daemon whose maps it holds was last alive */
};

/* Fills in program, stats_id and heartbeat_ns, from the maps that the program holds; -ENOENT: it is not ours. */
int left_filter_describe(struct left_filter *f, __u32 prog_id);
struct leftover {
	const char *pin_dir;
	__u32 stats_id;
	__u32 old_id;	/* of older counters, whose programs a killed adoption has not replaced; 0: none */
	int interfaces; /* of this network namespace */
};

void leftover_find(const char *pin_dir, struct leftover *l);
/* Whether there is any, in any network namespace. */
int leftover_anywhere(const struct leftover *l);
/* For links_each(). */
void leftover_egress_remove(__u32 ifindex, void *ctx);
void leftover_xdp_remove(__u32 ifindex, void *ctx);
void leftover_ingress_remove(__u32 ifindex, void *ctx);

#endif
