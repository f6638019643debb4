/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_PORT_H
#define SLUICE_PPFC_PORT_H
/* Ports with pauses (sluice/pause/pfc.h): their entries in pfc_ports, and the settings of their NICs. */
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

/*
 * Makes, changes or removes the entry of an interface in pfc_ports, by its configuration, its link and its NIC, which
 * is set accordingly. Received pauses are kept, unless the link is down. 0, or -errno with a message.
 */
int ppfc_port_set(const struct pins *pins, const struct config *c, const struct config_interface *i,
		  const struct link_info *link, const struct port *port);
/* Its NIC gets its previous setting. 0, or -errno with a message: then the entry stays, for another try. */
int ppfc_port_forget(const struct pins *pins, __u32 ifindex);
/* Whether the NIC obeys pauses. */
int ppfc_port_by_nic(const struct pins *pins, __u32 ifindex);
/* Whether its entry matches the state of the link. */
int ppfc_port_follows(const struct pins *pins, __u32 ifindex, int up);

#endif
