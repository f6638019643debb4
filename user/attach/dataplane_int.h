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

#endif
