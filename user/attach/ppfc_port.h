/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_PORT_H
#define SLUICE_PPFC_PORT_H
/* Which ports have pauses (sluice/pause/pfc.h): their entries in pfc_ports, and what their NICs are told. */
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

/*
 * The entry of an interface in pfc_ports, by its configuration, its link and its NIC, which is told what it has to do:
 * made, changed, or taken away. What was heard is kept, but for a link that is down. 0, or -errno with a message.
 */
int ppfc_port_set(const struct pins *pins, const struct config *c, const struct config_interface *i,
		  const struct link_info *link, const struct port *port);
/* Whether there was one. Its NIC does what it did before. */
int ppfc_port_forget(const struct pins *pins, __u32 ifindex);
/* Does the NIC obey pauses? */
int ppfc_port_by_nic(const struct pins *pins, __u32 ifindex);
/* Whether it says of the link what is so. */
int ppfc_port_follows(const struct pins *pins, __u32 ifindex, int up);

#endif
