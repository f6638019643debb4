/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PORT_H
#define SLUICE_ATTACH_PORT_H
#include "lib/config.h"

struct dataplane;

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
/* Reports the programs of others that run before those of a port, which is number k of the configuration, once. */
void port_before_watch(struct dataplane *dp, unsigned int k, const struct port *port);

#endif
