/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PORT_DESCRIBE_H
#define SLUICE_ATTACH_PORT_DESCRIBE_H
#include "attach/net/routes.h"
#include "lib/config.h"
#include "lib/net.h"

/*
 * Fills in a port from configuration and kernel; -errno with a message when it cannot be used. A driver reports no
 * speed while there is no link: the port keeps its speed. -ENODEV, without a message: a port by pattern has none yet.
 */
int port_describe(const struct config *c, const struct config_interface *i, const struct link_info *link,
		  struct port *port);
/* Reports why the qdiscs of a port are unsuitable. by_nic: its NIC obeys pauses. */
void port_advise(const struct config_interface *i, const struct port *port, int by_nic);

/* Why a first start is refused (net/routes.h): -errno, and why (of REFUSAL_STRLEN) has the reason; 0: it is not. */
int dataplane_interface_refused(const struct config_interface *i, char *why);
/* Whether its programs are attached by tcx: the kernel has it, and the configuration does not want clsact. */
int interface_takes_tcx(const struct config_interface *i);
/* The speed of a port: as configured, or that of a shaper at its root, or the driver's; known_bps if that tells none. */
__u64 port_speed(const struct config_interface *i, const struct link_info *link, const struct qdisc_info *q,
		 __u64 known_bps);

#endif
